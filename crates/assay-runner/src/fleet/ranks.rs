//! Finds the rank of a process from its options or from the environment variables of launchers.

use super::MOST_RANKS;
use assay_core::outside;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankPlace {
    /// Starts at 0.
    pub rank: u32,
    pub ranks: u32,
}

impl RankPlace {
    pub const fn leads(self) -> bool {
        self.rank == 0
    }

    pub fn new(rank: u32, ranks: u32) -> Result<Self, String> {
        if ranks < 2 {
            return Err("--coordinator needs at least two ranks; for one host, remove the option"
                .to_owned());
        }
        if ranks > MOST_RANKS {
            return Err(format!("--coordinator supports at most {MOST_RANKS} ranks"));
        }
        if rank >= ranks {
            let last = ranks - 1;
            return Err(format!(
                "rank {rank} of {ranks}: ranks start at 0, so the last rank is {last}"
            ));
        }
        Ok(Self { rank, ranks })
    }
}

struct Launcher {
    name: &'static str,
    rank: &'static str,
    ranks: Option<&'static str>,
}

/// Innermost first: an mpirun inside a Slurm allocation determines the rank.
const LAUNCHERS: &[Launcher] = &[
    Launcher {
        name: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        ranks: Some("OMPI_COMM_WORLD_SIZE"),
    },
    Launcher { name: "MPICH or Intel MPI", rank: "PMI_RANK", ranks: Some("PMI_SIZE") },
    Launcher { name: "MVAPICH", rank: "MV2_COMM_WORLD_RANK", ranks: Some("MV2_COMM_WORLD_SIZE") },
    Launcher { name: "Slurm", rank: "SLURM_PROCID", ranks: Some("SLURM_NTASKS") },
    Launcher { name: "PMIx", rank: "PMIX_RANK", ranks: None },
    Launcher { name: "an indexed Kubernetes Job", rank: "JOB_COMPLETION_INDEX", ranks: None },
];

/// The rank of this process as `2/4`, or the rank alone if a launcher does not set the size.
const RANK: &str = "ASSAY_RANK";
const RANKS: &str = "ASSAY_RANKS";

/// Returns the rank: `ASSAY_RANK` before variables of launchers; `ASSAY_RANKS` if only the size is missing.
pub fn place(variable: &dyn Fn(&str) -> Option<String>) -> Result<RankPlace, String> {
    let ranks = variable(RANKS).map(|text| parse_number(RANKS, &text)).transpose()?;
    if let Some(text) = variable(RANK) {
        return parse_place(&text, ranks);
    }
    let mut without_size = None;
    for launcher in LAUNCHERS {
        let Some(text) = variable(launcher.rank) else { continue };
        let rank = parse_number(launcher.rank, &text)?;
        let size = launcher.ranks.and_then(|name| Some((name, variable(name)?)));
        if let Some((name, text)) = size {
            let size = parse_number(name, &text)?;
            check_size(size, ranks, name)?;
            return RankPlace::new(rank, size);
        }
        if let Some(ranks) = ranks {
            return RankPlace::new(rank, ranks);
        }
        without_size = without_size.or(Some(launcher));
    }
    Err(match without_size {
        Some(launcher) => format!(
            "{} ({}) gives the rank but not the number of ranks; set {RANKS}",
            launcher.rank, launcher.name
        ),
        None => format!("no launcher sets the rank; set it on each host, such as {RANK}=2/4"),
    })
}

/// Parses the value of `ASSAY_RANK`, such as 2/4; `ranks` is the value of `ASSAY_RANKS`, if set.
fn parse_place(text: &str, ranks: Option<u32>) -> Result<RankPlace, String> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let parts = text.split_once('/').and_then(|(rank, size)| Some((number(rank)?, number(size)?)));
    let (rank, size) = parts.ok_or_else(|| {
        format!("{RANK} is {}; use the form 2/4, counted from 0", outside::spelled(text))
    })?;
    check_size(size, ranks, RANK)?;
    RankPlace::new(rank, size)
}

fn parse_number(name: &str, text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| {
        format!("{name} is {}, not a number; set the rank with {RANK}", outside::spelled(text))
    })
}

/// Rejects a size in the variable `name` that differs from `ASSAY_RANKS`.
fn check_size(size: u32, ranks: Option<u32>, name: &str) -> Result<(), String> {
    match ranks {
        Some(ranks) if ranks != size => {
            Err(format!("{RANKS} is {ranks}, and {name} is {size}; unset one of them"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(known: &[(&str, &str)]) -> Result<RankPlace, String> {
        place(&|name: &str| {
            known.iter().find(|(own, _)| *own == name).map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn each_launcher_is_understood() {
        let third = Ok(RankPlace { rank: 2, ranks: 4 });
        for launcher in LAUNCHERS {
            let mut known = vec![(launcher.rank, "2")];
            if let Some(name) = launcher.ranks {
                known.push((name, "4"));
                assert_eq!(of(&known), third, "{}", launcher.name);
                assert_eq!(of(&[&known[..], &[(RANKS, "4")]].concat()), third);
                let told = of(&[&known[..], &[(RANKS, "5")]].concat()).unwrap_err();
                assert!(told.contains("unset one of them"), "{told}");
            } else {
                let told = of(&known).unwrap_err();
                assert!(told.contains(launcher.rank) && told.contains(RANKS), "{told}");
                known.push((RANKS, "4"));
                assert_eq!(of(&known), third, "{}", launcher.name);
            }
        }
    }

    #[test]
    fn our_variable_comes_first_and_the_innermost_launcher_before_the_outer_one() {
        let slurm = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2")];
        let mpi = [("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "8")];
        let both = [&slurm[..], &mpi].concat();
        assert_eq!(of(&both), Ok(RankPlace { rank: 3, ranks: 8 }));
        assert_eq!(
            of(&[&both[..], &[(RANK, "1/2")]].concat()),
            Ok(RankPlace { rank: 1, ranks: 2 })
        );
        let pmix = [&slurm[..], &[("PMIX_RANK", "0")]].concat();
        assert_eq!(of(&pmix), Ok(RankPlace { rank: 0, ranks: 2 }));
    }

    #[test]
    fn a_rank_that_does_not_exist_is_refused_with_advice() {
        for text in ["", "2", "a/b", "-1/4", "1/2/3", "1/99999999999"] {
            assert!(of(&[(RANK, text)]).unwrap_err().contains("the form 2/4"), "{text}");
        }
        assert!(of(&[(RANK, "4/4")]).unwrap_err().contains('3'));
        assert!(of(&[(RANK, "0/1")]).unwrap_err().contains("at least two ranks"));
        assert!(of(&[(RANK, "0/5000")]).unwrap_err().contains("at most 4096 ranks"));
        assert!(of(&[(RANK, "0/4"), (RANKS, "5")]).is_err());
        assert!(of(&[]).unwrap_err().contains("ASSAY_RANK=2/4"));
        let odd = [("SLURM_PROCID", "x\u{1b}[2J"), ("SLURM_NTASKS", "4")];
        let told = of(&odd).unwrap_err();
        assert!(!told.contains('\u{1b}'), "{told:?}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(rank in ".*", size in ".*", ranks in ".*") {
            let _ = of(&[(RANK, &rank), (RANKS, &ranks)]);
            if let Ok(place) = of(&[("SLURM_PROCID", &rank), ("SLURM_NTASKS", &size), (RANKS, &ranks)]) {
                prop_assert!(place.rank < place.ranks && place.ranks <= MOST_RANKS);
            }
        }
    }
}
