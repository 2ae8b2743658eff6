//! `--vm`: the virtual machines whose power studies of durability take.

use std::path::PathBuf;

use clap::Args;

use assay_base::failure::{Failure, Outcome};
use assay_base::quantity::Bytes;
use assay_runner::real::guest::{Wish, driven};
use assay_study::study::Study;
use assay_system::system::System;

/// The least memory that a kernel with its work gets along with.
const LEAST_MEMORY: Bytes = Bytes(256 << 20);
/// More processors than QEMU gives to a machine of its kind.
const MOST_CPUS: usize = 255;

/// Virtual machines of a study.
#[derive(Debug, Args)]
pub struct VmArguments {
    /// Make the virtual machines of a durability study, without root (needs QEMU)
    #[arg(long)]
    vm: bool,
    /// Memory of each
    #[arg(long, value_name = "SIZE", requires = "vm", default_value = "1 GiB")]
    vm_memory: String,
    /// Processors of each
    #[arg(long, value_name = "N", requires = "vm", default_value_t = 2)]
    vm_cpus: usize,
    /// An unpacked kernel package with boot and lib/modules, instead of a kernel that is installed
    #[arg(long, value_name = "DIR", requires = "vm")]
    vm_kernel: Option<PathBuf>,
    /// Download a kernel by apt where none here has the parts; it is kept in the cache directory
    #[arg(long, requires = "vm")]
    vm_fetch: bool,
}

impl VmArguments {
    /// Whether they are wanted.
    pub fn is_asked(&self) -> bool {
        self.vm
    }

    fn wish(&self) -> Outcome<Wish> {
        let memory: Bytes = self
            .vm_memory
            .parse()
            .map_err(|error| Failure::mistake(format!("--vm-memory: {error}")))?;
        if memory < LEAST_MEMORY {
            return Err(Failure::mistake(format!(
                "--vm-memory {memory}: a kernel and a study need {LEAST_MEMORY} at least"
            )));
        }
        if !(1..=MOST_CPUS).contains(&self.vm_cpus) {
            return Err(Failure::mistake(format!(
                "--vm-cpus {}: say 1 to {MOST_CPUS}",
                self.vm_cpus
            )));
        }
        Ok(Wish {
            memory_bytes: memory.0,
            cpus: self.vm_cpus,
            kernel: self.vm_kernel.clone(),
            fetch: self.vm_fetch,
        })
    }

    /// The study, with virtual machines where it makes some: each is as this line wishes it.
    ///
    /// # Errors
    /// A mistake: in an option, without `--vm` where there are machines, and with it where there are none.
    pub fn for_machines(&self, study: Study) -> Outcome<Study> {
        if self.vm && study.outlives_cuts() {
            return Err(Failure::mistake(
                "--vm: the grade plug takes the power of this machine: a study of it has no other grades and no --vm \
                 (grade=kill takes the power of a virtual machine)",
            ));
        }
        if self.vm != study.makes_machines() {
            return Err(Failure::mistake(if self.vm {
                "--vm: this study makes no virtual machines: only studies of durability do, with --set grade=kill or \
                 --set on=ext4; --lab runs any study on a loop device"
            } else {
                "what this study writes is cut in virtual machines: say --vm (they need QEMU), or leave out what asks \
                 for them: grade and on"
            }));
        }
        if !self.vm {
            return Ok(study);
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
            driven::ready_for(system, &wish, &wanted).map_err(Failure::refused)?;
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
            (["--vm-memory", "10 MiB"], "need 256 MiB at least"),
            (["--vm-memory", "much"], "--vm-memory"),
            (["--vm-cpus", "0"], "say 1 to 255"),
        ] {
            let line = Line::try_parse_from(["assay", "--vm"].iter().chain(&words)).unwrap();
            let failure = line.vm.wish().unwrap_err();
            assert_eq!(failure.kind, Kind::Mistake, "{words:?}");
            assert!(failure.message.contains(told), "{failure}");
        }
    }

    #[test]
    fn a_study_without_virtual_machines_is_refused() {
        let line = Line::try_parse_from(["assay", "--vm"]).unwrap();
        let failure = line.vm.for_machines(presets::find("depth").unwrap().unwrap()).unwrap_err();
        assert_eq!(failure.kind, Kind::Mistake);
        assert!(failure.message.contains("--lab"), "{failure}");
    }

    #[test]
    fn a_plug_is_pulled_of_no_virtual_machine() {
        let line = Line::try_parse_from(["assay", "--vm"]).unwrap();
        let of = |grades: &[&str]| {
            let mut study = presets::find("durability").unwrap().unwrap();
            let grades = grades.iter().map(|grade| (*grade).to_owned()).collect();
            study.factors.insert("grade".to_owned(), grades);
            line.vm.for_machines(study)
        };
        assert_eq!(of(&["plug"]).unwrap_err().kind, Kind::Mistake);
        assert_eq!(of(&["kill", "plug"]).unwrap_err().kind, Kind::Mistake);
        assert!(of(&["kill"]).unwrap().makes_machines());
    }
}
