//! The virtual machines whose power studies of durability take.

use std::path::PathBuf;

use clap::Args;

use assay_base::failure::{Failure, Outcome};
use assay_base::quantity::Bytes;
use assay_runner::real::guest::{self, Wish, driven};
use assay_study::study::Study;
use assay_system::system::System;

/// The least memory that a kernel with its work gets along with.
const LEAST_MEMORY: Bytes = Bytes(256 << 20);
/// More processors than QEMU gives to a machine of its kind.
const MOST_CPUS: usize = 255;

/// The virtual machines of a durability study.
#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "clap takes the names of the options from them")]
pub struct VmArguments {
    /// Memory of each VM of a durability study [default: 1 GiB]
    #[arg(long, value_name = "SIZE")]
    vm_memory: Option<String>,
    /// CPUs of each VM [default: 2]
    #[arg(long, value_name = "N")]
    vm_cpus: Option<usize>,
    /// Use this unpacked kernel package (boot and lib/modules)
    #[arg(long, value_name = "DIR")]
    vm_kernel: Option<PathBuf>,
    /// Download a kernel with apt into the cache if none here fits
    #[arg(long)]
    vm_fetch: bool,
}

impl VmArguments {
    fn are_there(&self) -> bool {
        self.vm_memory.is_some()
            || self.vm_cpus.is_some()
            || self.vm_kernel.is_some()
            || self.vm_fetch
    }

    fn wish(&self) -> Outcome<Wish> {
        let mut wish =
            Wish { kernel: self.vm_kernel.clone(), fetch: self.vm_fetch, ..Wish::default() };
        if let Some(text) = &self.vm_memory {
            let memory: Bytes =
                text.parse().map_err(|error| Failure::mistake(format!("--vm-memory: {error}")))?;
            if memory < LEAST_MEMORY {
                return Err(Failure::mistake(format!(
                    "--vm-memory {memory}: too small; use at least {LEAST_MEMORY}"
                )));
            }
            wish.memory_bytes = memory.0;
        }
        if let Some(cpus) = self.vm_cpus {
            if !(1..=MOST_CPUS).contains(&cpus) {
                return Err(Failure::mistake(format!("--vm-cpus {cpus}: use 1 to {MOST_CPUS}")));
            }
            wish.cpus = cpus;
        }
        Ok(wish)
    }

    /// Prepares a study whose power cuts happen in virtual machines; other studies stay as they are.
    ///
    /// # Errors
    /// The user's mistake: an option of virtual machines for a study without any, a place of this machine for a
    /// study that writes in virtual machines (`has_places`), or the power of this machine beside theirs.
    pub fn for_machines(&self, study: Study, has_places: bool) -> Outcome<Study> {
        let mistake = |what: &str| Err(Failure::mistake(what));
        if !study.makes_machines() {
            if self.are_there() {
                return mistake(
                    "--vm-...: this study uses no virtual machines; only durability studies do, with --set method=kill \
                     or --set write_to=ext4; --scratch runs any study on a loop device",
                );
            }
            return Ok(study);
        }
        if study.outlives_cuts() {
            return mistake(
                "method plug cuts the power of this machine; leave out the other methods",
            );
        }
        if has_places {
            return mistake(
                "this study writes in virtual machines, not on this machine; leave TARGET, --scratch and --destroy out",
            );
        }
        driven::keep(self.wish()?);
        Ok(study.in_machines())
    }

    /// What is missing for such machines here, found before the first trial; a kernel that may be fetched is, where that is
    /// not only looked at.
    ///
    /// # Errors
    /// Refused where there can be none of them.
    pub fn see_machines(&self, system: &dyn System, study: &Study, fetch: bool) -> Outcome<()> {
        let own = self.wish()?;
        let wish = Wish { fetch: own.fetch && fetch, ..own };
        for wanted in study.machines() {
            guest::ready(system, &wish, &wanted)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use assay_base::failure::Kind;
    use assay_study::study::presets;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        vm: VmArguments,
    }

    #[test]
    fn sizes_with_which_nothing_would_run_are_the_users_mistake() {
        for (words, told) in [
            (["--vm-memory", "10 MiB"], "use at least 256 MiB"),
            (["--vm-memory", "much"], "--vm-memory"),
            (["--vm-cpus", "0"], "1 to 255"),
        ] {
            let line = Line::try_parse_from(["assay"].iter().chain(&words)).unwrap();
            let failure = line.vm.wish().unwrap_err();
            assert_eq!(failure.kind, Kind::Mistake, "{words:?}");
            assert!(failure.message.contains(told), "{failure}");
        }
    }

    #[test]
    fn a_study_without_virtual_machines_is_refused() {
        let depth = || presets::find("queue-depth").unwrap().unwrap();
        let line = Line::try_parse_from(["assay", "--vm-cpus", "1"]).unwrap();
        let failure = line.vm.for_machines(depth(), false).unwrap_err();
        assert_eq!(failure.kind, Kind::Mistake);
        assert!(failure.message.contains("--scratch"), "{failure}");
        let line = Line::try_parse_from(["assay"]).unwrap();
        assert!(line.vm.for_machines(depth(), true).is_ok());
    }

    #[test]
    fn machines_need_no_place_and_have_no_plug() {
        let line = Line::try_parse_from(["assay"]).unwrap();
        let of = |grades: &[&str], has_places| {
            let mut study = presets::find("durability").unwrap().unwrap();
            let grades = grades.iter().map(|grade| (*grade).to_owned()).collect();
            study.factors.insert("method".to_owned(), grades);
            line.vm.for_machines(study, has_places)
        };
        assert!(!of(&["plug"], true).unwrap().makes_machines());
        assert_eq!(of(&["kill", "plug"], false).unwrap_err().kind, Kind::Mistake);
        assert_eq!(of(&["kill"], true).unwrap_err().kind, Kind::Mistake);
        assert!(of(&["kill"], false).unwrap().makes_machines());
    }
}
