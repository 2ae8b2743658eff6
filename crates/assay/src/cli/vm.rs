//! `assay run --vm`: the study in a small virtual machine, its result among those of this machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use clap::Args;

use super::compare::Against;
use super::in_vm::{self, Ending, Said};
use super::output;
use super::progress::Progress;
use super::running::{self, Printing};
use crate::store;
use assay_base::failure::{Failure, Kind, Outcome};
use assay_base::quantity::Bytes;
use assay_machine::factors::layers;
use assay_report::preview::{self, Preview};
use assay_runner::real::guest::{self, Ready, Stream, Wish};
use assay_runner::real::signals;
use assay_runner::runner::{self, Consented};
use assay_study::plan::allocation::Quick;
use assay_study::results::headline;
use assay_study::study::{Order, Study, Target, file};
use assay_system::system::{System, identity};
use assay_verdict::analysis;

/// Room on the drive beside the study's own device.
const BESIDE: Bytes = Bytes(512 << 20);
/// Of a study that has none.
const SMALLEST: Bytes = Bytes(1 << 30);
/// The least memory that a kernel with a study gets along with.
const LEAST_MEMORY: Bytes = Bytes(256 << 20);
/// More processors than QEMU gives to a machine of its kind.
const MOST_CPUS: usize = 255;

/// A virtual machine for the study.
#[derive(Debug, Args)]
pub struct VmArguments {
    /// In a small virtual machine, without root (needs QEMU)
    ///
    /// On loop devices in it, with what this kernel lacks; speeds are its own.
    #[arg(long)]
    vm: bool,
    /// Its memory
    #[arg(long, value_name = "SIZE", requires = "vm", default_value = "1 GiB")]
    vm_memory: String,
    /// Its processors
    #[arg(long, value_name = "N", requires = "vm", default_value_t = 2)]
    vm_cpus: usize,
    /// Its drive, a file that grows as it is written; as large as the study needs where it is not given
    #[arg(long, value_name = "SIZE", requires = "vm")]
    vm_size: Option<String>,
    /// An unpacked kernel package with boot and lib/modules, instead of a kernel that is installed
    #[arg(long, value_name = "DIR", requires = "vm")]
    vm_kernel: Option<PathBuf>,
    /// Download a kernel by apt where none here has the parts; it is kept in the cache directory
    #[arg(long, requires = "vm")]
    vm_fetch: bool,
}

/// A study that is to run there, and how.
pub struct Errand {
    /// The study.
    pub study: Study,
    /// How a quick look is divided.
    pub quick: Option<Quick>,
    /// What it may do beside, as words of the command.
    pub permitted: Vec<String>,
    /// The same as the runner takes it.
    pub consented: Consented,
    /// How its result is told.
    pub how: Printing,
    /// What it is compared with.
    pub against: Against,
}

impl VmArguments {
    /// Whether one is wanted.
    pub fn is_asked(&self) -> bool {
        self.vm
    }

    fn wish(&self, study: &Study) -> Outcome<Wish> {
        let memory = bytes("--vm-memory", &self.vm_memory)?;
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
        let own = match &study.target {
            Some(Target::Loop(bytes)) => Bytes(bytes.0.saturating_add(BESIDE.0)),
            _ => SMALLEST,
        };
        let size = self.vm_size.as_deref().map(|text| bytes("--vm-size", text)).transpose()?;
        if let Some(size) = size.filter(|size| *size < own) {
            return Err(Failure::mistake(format!(
                "--vm-size {size}: the study's devices and results need {own}"
            )));
        }
        Ok(Wish {
            memory_bytes: memory.0,
            cpus: self.vm_cpus,
            drive_bytes: size.unwrap_or(own).0.next_multiple_of(1 << 20),
            kernel: self.vm_kernel.clone(),
            fetch: self.vm_fetch,
            carried: layers::carried(&study.factors),
        })
    }

    /// A study that makes virtual machines of its own, ready to be run here: each is as this line wishes it. The same study
    /// where it makes none.
    ///
    /// # Errors
    /// A mistake in an option.
    pub fn for_machines(&self, study: Study) -> Outcome<Result<Study, Study>> {
        if self.vm && study.outlives_cuts() {
            return Err(Failure::mistake(
                "--vm: the grade plug takes the power of this machine: a study of it has no other grades and no --vm \
                 (grade=kill takes the power of a virtual machine)",
            ));
        }
        if !study.makes_machines() {
            return Ok(Err(study));
        }
        if !self.vm {
            return Err(Failure::mistake(
                "what this study writes is cut in virtual machines: say --vm (they need QEMU), or leave out what asks \
                 for them: grade and on",
            ));
        }
        guest::driven::keep(Wish { drive_bytes: 0, ..self.wish(&study)? });
        Ok(Ok(study.in_machines()))
    }

    /// What is missing for such machines here, found before the first trial; a kernel that may be fetched is, where that is
    /// not only looked at.
    ///
    /// # Errors
    /// Refused where there can be none of them.
    pub fn see_machines(&self, system: &dyn System, study: &Study, fetch: bool) -> Outcome<()> {
        let own = self.wish(study)?;
        let fetch = own.fetch && fetch;
        let wish = Wish { drive_bytes: 0, fetch, ..own };
        study.machines().into_iter().try_for_each(|wanted| {
            guest::driven::ready_for(system, &wish, wanted).map(|_| ()).map_err(Failure::refused)
        })
    }

    /// What a study would do there, and what it would tell.
    ///
    /// # Errors
    /// A mistake, or refused where no trial of it could be run.
    pub fn preview(
        &self,
        system: &dyn System,
        study: Study,
        consented: &Consented,
        quick: Option<Quick>,
    ) -> Outcome<(Preview, Order)> {
        suits(&study)?;
        // A plan downloads nothing, and tells what is missing beside what would be.
        let ready = guest::ready(system, &Wish { fetch: false, ..self.wish(&study)? });
        let lacks = match ready {
            Ok(ready) => ready.lacks,
            Err(failure) if failure.kind == Kind::Refused => vec![failure.message],
            Err(failure) => return Err(failure),
        };
        let seen = runner::preview_in_vm(system, study, consented, quick)?;
        let (preview, order) = shown(&seen, lacks);
        let by_pilot = quick.is_some_and(|quick| quick.replicates.is_none());
        Ok((Preview { by_pilot, ..preview }, order))
    }

    /// Runs a study there, and shows its result as one of this machine's is shown.
    ///
    /// # Errors
    /// Those of a study that runs here; refused without QEMU, a kernel, or room.
    pub fn run(&self, system: &dyn System, order: Errand) -> Outcome<()> {
        suits(&order.study)?;
        let wish = self.wish(&order.study)?;
        // Without a place for the result all of it would be in vain.
        let results = identity::results_directory(system)?;
        system.create_directory(&results).map_err(|error| {
            let place = results.display();
            Failure::refused(format!(
                "{place} cannot be made: {error}; set ASSAY_HOME to a directory with room"
            ))
        })?;
        let ready = guest::ready(system, &wish)?;
        for reason in &ready.lacks {
            output::message(&format!("not in the virtual machine: {reason}"));
        }
        // Before minutes of work, not after them.
        let (study, quick) = (order.study.clone(), order.quick);
        let seen = runner::preview_in_vm(system, study, &order.consented, quick)?;
        if !order.how.quiet {
            let (preview, _) = shown(&seen, Vec::new());
            output::message(&preview::estimate(&preview));
            preview.lacks.iter().for_each(|lack| output::message(lack));
            let (kernel, cpus) = (ready.kernel(), self.vm_cpus);
            let memory = Bytes(wish.memory_bytes);
            output::message(&format!(
                "a virtual machine starts: Linux {kernel}, {cpus} processors, {memory} of memory"
            ));
        }
        let (ended, ending) = conducted(system, ready, &order)?;
        let id = guest::bring(system, &ended, &results)?;
        concluded(system, id, ending, order)
    }
}

/// The preview of a study there, with what an emulated machine gives no verdict on.
fn shown(seen: &runner::Preview, lacks: Vec<String>) -> (Preview, Order) {
    let runner::Preview { study, plan, sites, .. } = seen;
    let emulated = guest::is_emulated();
    let told = emulated.then(|| {
        format!(
            "KVM, which this machine does not offer: the virtual machine is emulated; {}",
            analysis::emulated(plan)
        )
    });
    let lacks: Vec<String> = told.into_iter().chain(lacks).collect();
    let mut foresight = analysis::foresee(plan, None);
    foresight.retain(|own| !emulated || analysis::is_judged_when_emulated(plan, &own.workload));
    let changes =
        ["nothing of this machine: devices and settings are the virtual one's".to_owned()];
    let told = (&sites[..], &changes[..], &lacks[..]);
    (preview::make(study, plan, told, Vec::new(), foresight), plan.design.order)
}

fn bytes(option: &str, text: &str) -> Outcome<Bytes> {
    text.parse().map_err(|error| Failure::mistake(format!("{option}: {error}")))
}

/// Refuses what has no sense in a machine that has nothing of this one.
pub(super) fn suits(study: &Study) -> Outcome<()> {
    let runs = study.workload.iter().find(|own| own.work.kind().runs_programs);
    if let Some(own) = runs {
        return Err(Failure::mistake(format!(
            "--vm: the work {} runs programs of this machine, which the virtual machine does not have",
            own.name
        )));
    }
    if let Some(own) = study.workload.iter().find(|own| own.work.is_others()) {
        return Err(Failure::mistake(format!(
            "--vm: {} is the work of others, and nobody else works there",
            own.name
        )));
    }
    if study.meter.is_some() {
        return Err(Failure::mistake(
            "--vm: a meter tells the power of this machine, not of the virtual one",
        ));
    }
    Ok(())
}

/// What has come from the study, line by line.
struct Heard {
    progress: Progress,
    rest: Vec<u8>,
    ending: Option<Ending>,
}

impl Heard {
    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        if stream == Stream::Err {
            output::passed_on(bytes);
            return;
        }
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            match serde_json::from_slice(&line) {
                Ok(Said::Event(event)) => self.progress.show(&event),
                Ok(Said::Ended(ending)) => self.ending = Some(ending),
                // Of this very program: only a machine that dies says half a line.
                Err(_) => {}
            }
        }
    }
}

/// Runs the study, with progress and signals as if it ran here.
fn conducted(system: &dyn System, ready: Ready, order: &Errand) -> Outcome<(guest::Ended, Ending)> {
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let caught = signals::catch(move |times| {
        if times > 2 {
            // The machine has no files with a name, and dies with this process.
            return Some(output::told(&Failure::interrupted("ended at once; nothing is kept")));
        }
        counted.store(times, Ordering::Relaxed);
        None
    });
    caught.map_err(|error| Failure::refused(format!("signals cannot be caught: {error}")))?;
    let progress = Progress::new(order.how.quiet);
    let mut heard = Heard { progress, rest: Vec::new(), ending: None };
    let text = file::write(&order.study.clone().settled())?;
    let command = (text, words(order));
    let ended =
        guest::run(system, ready, command, &asked, &mut |stream, bytes| heard.take(stream, bytes));
    heard.progress.finish();
    let ended = ended?;
    let ending = heard.ending.unwrap_or_else(|| Ending {
        failure: Some(match asked.load(Ordering::Relaxed) {
            0 => Failure::refused(format!(
                "assay ended in the virtual machine with exit code {}: it may have too little memory \
                 (--vm-memory)",
                ended.code
            )),
            _ => Failure::interrupted("interrupted; nothing is left behind"),
        }),
        trials: 0,
    });
    Ok((ended, ending))
}

/// The command there.
fn words(order: &Errand) -> Vec<String> {
    let mut words = vec!["assay".to_owned(), in_vm::COMMAND.to_owned(), guest::STUDY.to_owned()];
    if let Some(quick) = &order.quick {
        words.push("--quick".to_owned());
        let named = quick.replicates.map(|count| ["--replicates".to_owned(), count.to_string()]);
        words.extend(named.into_iter().flatten());
    }
    words.extend(order.permitted.iter().cloned());
    words
}

/// Shows what came, and ends as the study ended there.
pub(super) fn concluded(
    system: &dyn System,
    id: Option<String>,
    ending: Ending,
    order: Errand,
) -> Outcome<()> {
    let failure = ending.failure.map(|failure| match (failure.kind, &id) {
        (Kind::Interrupted, Some(id)) => Failure::interrupted(format!(
            "interrupted; {} finished trials are kept: assay show {id}",
            ending.trials
        )),
        (Kind::Interrupted, None) => Failure::interrupted("interrupted; nothing is left behind"),
        _ => failure,
    });
    let Some(id) = id else {
        return Err(failure
            .unwrap_or_else(|| Failure::refused("the virtual machine brought back no result")));
    };
    let directory = store::find_kept(system, &id)?;
    let findings = store::findings_at(system, &directory)?;
    // Where it cannot be kept, a list has a line less.
    let _ = headline::keep(system, &directory, &assay_report::document::headline(&findings));
    if failure.as_ref().is_some_and(|failure| failure.kind == Kind::Interrupted) {
        return failure.map_or(Ok(()), Err);
    }
    let told = order.against.tell(system, &findings, true, order.how);
    running::gravest(failure.into_iter().chain(told.err()).collect())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use assay_machine::factors::layers::Carried;
    use assay_study::study::presets;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        vm: VmArguments,
    }

    fn wish(words: &[&str], preset: &str) -> Outcome<Wish> {
        let line = Line::try_parse_from(["assay", "--vm"].iter().chain(words)).unwrap();
        line.vm.wish(&presets::find(preset).unwrap()?.in_lab())
    }

    #[test]
    fn a_study_gets_the_programs_and_modules_of_its_levels_and_room_for_its_device() {
        let wished = wish(&[], "filesystems").unwrap();
        let Carried { programs, modules } = wished.carried;
        assert!(programs.contains(&("mkfs.xfs", "xfsprogs")), "{programs:?}");
        assert!(modules.contains(&"btrfs") && !modules.contains(&"f2fs"), "{modules:?}");
        assert!(wished.drive_bytes >= (1 << 30) + BESIDE.0, "{}", wished.drive_bytes);
        assert_eq!((wished.memory_bytes, wished.cpus, wished.fetch), (1 << 30, 2, false));
        assert_eq!(wish(&[], "depth").unwrap().carried.programs, []);
    }

    #[test]
    fn sizes_with_which_nothing_would_run_are_the_users_mistake() {
        for (words, told) in [
            (["--vm-memory", "10 MiB"], "need 256 MiB at least"),
            (["--vm-memory", "much"], "--vm-memory"),
            (["--vm-cpus", "0"], "say 1 to 255"),
            (["--vm-size", "1 MiB"], "the study's devices and results need"),
        ] {
            let failure = wish(&words, "filesystems").unwrap_err();
            assert_eq!(failure.kind, Kind::Mistake, "{words:?}");
            assert!(failure.message.contains(told), "{failure}");
        }
    }

    #[test]
    fn a_plan_says_what_gets_no_verdict_where_the_machine_is_emulated() {
        let machine = include_str!("../../../assay-system/tests/fixtures/machines/sata-ssd.txt");
        let fake = assay_system::system::Fake::recorded(machine).unwrap();
        let line = Line::try_parse_from(["assay", "--vm"]).unwrap();
        let study = presets::find("raid-chunk").unwrap().unwrap().in_lab();
        let consented = Consented::default();
        let (preview, _) = line.vm.preview(&fake, study, &consented, None).unwrap();
        assert!(preview.trial_count > 0 && preview::estimate(&preview).contains(" trials, "));
        let told = preview.lacks.iter().filter(|lack| lack.contains("no verdict there"));
        assert_eq!(told.count(), usize::from(guest::is_emulated()), "{:?}", preview.lacks);
        let mine = |change: &String| change.starts_with("nothing of this machine");
        assert!(preview.changes.iter().any(mine), "{:?}", preview.changes);
    }

    #[test]
    fn work_that_is_of_this_machine_is_refused() {
        for name in ["live", "command"] {
            let Some(Ok(study)) = presets::find(name) else { continue };
            let failure = suits(&study).unwrap_err();
            assert!(failure.message.starts_with("--vm: "), "{failure}");
        }
        assert_eq!(
            suits(&presets::find("live").unwrap().unwrap()).unwrap_err().kind,
            Kind::Mistake
        );
        assert_eq!(suits(&presets::find("depth").unwrap().unwrap()), Ok(()));
    }

    #[test]
    fn a_plug_is_pulled_of_no_virtual_machine() {
        let line = Line::try_parse_from(["assay", "--vm"]).unwrap();
        let of = |grades: &[&str]| {
            let mut study = presets::find("durability").unwrap().unwrap();
            let grades = grades.iter().map(|grade| (*grade).to_owned()).collect();
            study.factors.insert("grade".to_owned(), grades);
            line.vm.for_machines(study).map(|made| made.is_ok())
        };
        assert_eq!(of(&["plug"]).unwrap_err().kind, Kind::Mistake);
        assert_eq!(of(&["kill", "plug"]).unwrap_err().kind, Kind::Mistake);
        assert_eq!(of(&["kill"]), Ok(true));
    }

    #[test]
    fn what_comes_in_pieces_is_heard_whole() {
        let mut heard = Heard { progress: Progress::new(true), rest: Vec::new(), ending: None };
        let said = Said::Ended(Ending { failure: Some(Failure::partial("lost")), trials: 7 });
        let line = serde_json::to_string(&said).unwrap() + "\n";
        let (first, second) = line.as_bytes().split_at(20);
        heard.take(Stream::Out, first);
        assert!(heard.ending.is_none());
        heard.take(Stream::Out, second);
        let ending = heard.ending.unwrap();
        assert_eq!((ending.trials, ending.failure), (7, Some(Failure::partial("lost"))));
    }

    #[test]
    fn the_command_there_has_what_the_line_says() {
        let order = |quick| Errand {
            study: presets::find("depth").unwrap().unwrap(),
            quick,
            permitted: vec!["--as-root".to_owned()],
            consented: Consented::default(),
            how: Printing { json: false, markdown: false, quiet: true },
            against: Against::default(),
        };
        assert_eq!(words(&order(None)).join(" "), "assay in-vm /lab/study.toml --as-root");
        let quick = order(Some(Quick { replicates: Some(3) }));
        assert_eq!(
            words(&quick).join(" "),
            "assay in-vm /lab/study.toml --quick --replicates 3 --as-root"
        );
    }
}
