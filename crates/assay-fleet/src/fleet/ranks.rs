//! Which rank a process is, and of how many: as it was told, or as launchers leave it in the environment.
//! No library of theirs is asked.

use super::MOST_RANKS;

/// One of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 0.
    pub rank: u32,
    pub ranks: u32,
}

impl Place {
    /// Whether it is the one whom the others dial.
    pub const fn leads(self) -> bool {
        self.rank == 0
    }

    /// # Errors
    /// Why there is no such place.
    pub fn new(rank: u32, ranks: u32) -> Result<Self, String> {
        match (rank, ranks) {
            (_, 0 | 1) => {
                Err("--coordinator needs at least two ranks; leave it out for one host".to_owned())
            }
            (_, many) if many > MOST_RANKS => {
                Err(format!("--coordinator supports at most {MOST_RANKS} ranks"))
            }
            (rank, ranks) if rank >= ranks => Err(format!(
                "rank {rank} of {ranks}: ranks start at 0, so the last is {}",
                ranks - 1
            )),
            _ => Ok(Self { rank, ranks }),
        }
    }
}

/// Where a launcher tells rank and size.
struct Launcher {
    name: &'static str,
    rank: &'static str,
    ranks: Option<&'static str>,
}

/// Innermost first: an mpirun inside of an allocation of Slurm counts by its own ranks.
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
    Launcher { name: "an indexed Job of Kubernetes", rank: "JOB_COMPLETION_INDEX", ranks: None },
];

/// The names of the variables, for help.
pub fn variables() -> impl Iterator<Item = &'static str> {
    LAUNCHERS.iter().map(|own| own.rank)
}

/// The place of a process: what was typed (`2/4`) before what the environment tells, `ranks` where only the
/// size is missing.
///
/// # Errors
/// What to type.
pub fn place(
    typed: Option<&str>,
    ranks: Option<u32>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Place, String> {
    if let Some(text) = typed {
        let parts = text.split_once('/');
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let read = parts.and_then(|(rank, of)| Some((number(rank)?, number(of)?)));
        let (rank, of) =
            read.ok_or_else(|| format!("--rank {text}: use the form 2/4, counted from 0"))?;
        agrees(of, ranks, "--rank")?;
        return Place::new(rank, of);
    }
    let mut without_size = None;
    for launcher in LAUNCHERS {
        let Some(text) = variable(launcher.rank) else { continue };
        let rank = number(launcher.rank, &text)?;
        let told = launcher.ranks.and_then(|name| Some((name, variable(name)?)));
        match (told, ranks) {
            (Some((name, text)), _) => {
                let of = number(name, &text)?;
                agrees(of, ranks, name)?;
                return Place::new(rank, of);
            }
            (None, Some(of)) => return Place::new(rank, of),
            (None, None) => without_size = without_size.or(Some(launcher)),
        }
    }
    Err(match without_size {
        Some(launcher) => format!(
            "{} ({}) gives the rank but not the number of ranks; add --ranks N",
            launcher.rank, launcher.name
        ),
        None => "no launcher gives this rank; set it on each host, such as --rank 2/4".to_owned(),
    })
}

fn number(name: &str, text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| {
        format!(
            "{name} is {}, not a number; set the rank with --rank",
            assay_base::outside::spelled(text)
        )
    })
}

/// Refuses two sizes.
fn agrees(told: u32, asked: Option<u32>, name: &str) -> Result<(), String> {
    match asked {
        Some(asked) if asked != told => {
            Err(format!("--ranks {asked}, and {name} is {told}; leave one of them out"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(
        typed: Option<&str>,
        ranks: Option<u32>,
        known: &[(&str, &str)],
    ) -> Result<Place, String> {
        let variable = |name: &str| {
            known.iter().find(|(own, _)| *own == name).map(|(_, text)| (*text).to_owned())
        };
        place(typed, ranks, &variable)
    }

    #[test]
    fn each_launcher_is_understood() {
        let third = Ok(Place { rank: 2, ranks: 4 });
        for launcher in LAUNCHERS {
            let mut known = vec![(launcher.rank, "2")];
            if let Some(name) = launcher.ranks {
                known.push((name, "4"));
                assert_eq!(of(None, None, &known), third, "{}", launcher.name);
                assert_eq!(of(None, Some(4), &known), third);
                assert!(of(None, Some(5), &known).unwrap_err().contains("leave one of them out"));
            } else {
                assert_eq!(of(None, Some(4), &known), third, "{}", launcher.name);
                let told = of(None, None, &known).unwrap_err();
                assert!(told.contains(launcher.rank) && told.contains("--ranks N"), "{told}");
            }
        }
    }

    #[test]
    fn what_is_typed_comes_first_and_the_innermost_launcher_before_the_outer_one() {
        let slurm = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2")];
        let both =
            [slurm.as_slice(), &[("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "8")]]
                .concat();
        assert_eq!(of(None, None, &both), Ok(Place { rank: 3, ranks: 8 }));
        assert_eq!(of(Some("1/2"), None, &both), Ok(Place { rank: 1, ranks: 2 }));
        let pmix = [slurm.as_slice(), &[("PMIX_RANK", "0")]].concat();
        assert_eq!(of(None, None, &pmix), Ok(Place { rank: 0, ranks: 2 }));
    }

    #[test]
    fn what_is_no_place_is_refused_with_advice() {
        for typed in ["", "2", "a/b", "-1/4", "1/2/3", "1/99999999999"] {
            assert!(of(Some(typed), None, &[]).unwrap_err().contains("the form 2/4"), "{typed}");
        }
        assert!(of(Some("4/4"), None, &[]).unwrap_err().contains('3'));
        assert!(of(Some("0/1"), None, &[]).unwrap_err().contains("at least two ranks"));
        assert!(of(Some("0/5000"), None, &[]).unwrap_err().contains("at most 4096 ranks"));
        assert!(of(Some("0/4"), Some(5), &[]).is_err());
        assert!(of(None, None, &[]).unwrap_err().contains("--rank 2/4"));
        let odd = [("SLURM_PROCID", "x\u{1b}[2J"), ("SLURM_NTASKS", "4")];
        let told = of(None, None, &odd).unwrap_err();
        assert!(!told.contains('\u{1b}'), "{told:?}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(typed in ".*", size in ".*", ranks in proptest::option::of(any::<u32>())) {
            let _ = of(Some(&typed), ranks, &[]);
            let known = [("SLURM_PROCID", typed.as_str()), ("SLURM_NTASKS", size.as_str())];
            if let Ok(place) = of(None, ranks, &known) {
                prop_assert!(place.rank < place.ranks && place.ranks <= MOST_RANKS);
            }
        }
    }
}
