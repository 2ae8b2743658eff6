//! `assay run`: runs a study from its file.

use clap::Args;

use super::compare::Against;
use super::fleet::FleetArguments;
use super::recorded::{self, RebootArguments};
use super::study_arguments::StudyArguments;
use super::{confirm, gate, race, reboots, running, vm};
use assay_analysis::inference;
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_runner::run::Request;
use assay_study::file::Study;
use assay_workloads::check_option::OptionExample;
use assay_workloads::recorded::kind;

/// Examples of the help, including one of recorded work.
const FIRST: &str = "\
Examples:
  assay plan queue-depth                 show actions, time and sensitivity
  assay run queue-depth                  run a preset in this directory
  assay run depth.toml /mnt/card         run a study file on a card
  assay run queue-depth --set queue_depth=1,4  set levels of a factor
  assay run queue-depth --budget 10m     stop at the replicate nearest to 10 min
  assay run queue-depth --gate 5%        exit 1 if a configuration regresses
  assay run --rev main,HEAD --command X  compare two commits
  assay run queue-depth --watch          show live device statistics
  assay run durability --set method=kill
                                         kill VMs to test durability
  srun -N4 assay run queue-depth /mnt/x --coordinator n0:7711
                                         run on four hosts together
";
const LAST: &str = "  assay run small-memory --help          show the options of this study
  assay list factors                     list what can vary";

const LINE_COLUMNS: usize = 39;

fn examples() -> String {
    let shown =
        |OptionExample { line, does }: OptionExample| format!("  {line:LINE_COLUMNS$}{does}\n");
    let of_records = kind().map(|(_, recording)| shown(recording.example));
    [FIRST, &of_records.unwrap_or_default(), LAST].concat()
}

/// Run a study: compare settings, commands or commits
///
/// A study file defines a target, workloads, and factors with levels. Trials run in random order, with six replicates
/// of each configuration by default. Assay compares each configuration with the baseline of the same replicate. Each
/// comparison has one of four verdicts: better, worse, equivalent within the margin, or inconclusive.
#[derive(Debug, Args)]
#[command(
    after_help = "More options: assay run STUDY --help (one study), assay run --help (all)",
    after_long_help = examples()
)]
pub struct RunArguments {
    #[command(flatten)]
    of_study: StudyArguments,
    /// Show live device statistics
    ///
    /// The page also shows the progress of the study.
    #[arg(long, conflicts_with = "quiet")]
    watch: bool,
    #[command(flatten)]
    waiting: running::Waiting,
    #[command(flatten)]
    of_reboots: RebootArguments,
    #[command(flatten)]
    against: Against,
    #[command(flatten)]
    how: running::Printing,
    #[command(flatten)]
    of_fleet: Box<FleetArguments>,
}

pub fn run(system: &dyn System, mut arguments: RunArguments) -> Outcome<()> {
    arguments.against.take_gate(system, &mut arguments.of_study)?;
    let (study, mut targets) = arguments.of_study.study(system)?;
    arguments.against.check_junit(system, &study)?;
    arguments.against.check_race(&study)?;
    let study = vm::in_machines(study, arguments.of_study.names_places())?;
    arguments.of_fleet.refuse_with_others(&[
        (arguments.watch, "--watch"),
        (study.stop.confirm, "stop.confirm"),
        (study.makes_machines(), "a study in virtual machines"),
    ])?;
    if arguments.of_reboots.are_recorded(&study, arguments.of_study.has_targets())? {
        arguments.of_fleet.refuse_records()?;
        if let Some(count) = arguments.of_reboots.reboots {
            return reboots::run(system, study, count, arguments.of_reboots.yes);
        }
        let ran = recorded::run(system, study, arguments.how.quiet)?;
        return running::conclude(system, ran, arguments.how);
    }
    if study.stop.confirm && arguments.watch {
        return Err(mistake!(
            "--watch shows one study, but stop.confirm adds a second study; remove one of the two"
        ));
    }
    if study.makes_machines() {
        if arguments.watch {
            return Err(mistake!(
                "--watch: the devices are inside virtual machines; remove --watch"
            ));
        }
        vm::check_machines(system, &study)?;
        // Virtual machines need no target; they run in sequence from here.
        targets = vec![".".to_owned()];
    }
    conduct(system, arguments, study, targets)
}

fn conduct(
    system: &dyn System,
    arguments: RunArguments,
    study: Study,
    targets: Vec<String>,
) -> Outcome<()> {
    let quick = arguments.of_study.quick();
    let gate = study.gate.clone();
    let consented = arguments.of_study.permitted.consented(&arguments.of_study.destroy)?;
    let request = Request {
        consented: arguments.waiting.with(consented),
        results: running::results_directory(system)?,
        quick,
        read: Some(inference::trial_metric),
        ..Request::bare(study, targets)
    };
    if request.study.stop.confirm {
        return race_and_confirm(system, request, arguments);
    }
    let quiet = arguments.how.quiet;
    let host = arguments.of_fleet.own_host(system, request.study.hosts)?;
    let ran = match &host {
        Some(host) => host.run(system, request, quiet),
        None if arguments.watch => running::run_on_page(system, request),
        None => running::run(system, request, quiet),
    };
    let ran = ran.map_err(|failure| gate::inconclusive_if_broken(failure, gate.as_ref()))?;
    if let Some(host) = host.filter(|host| !host.place.leads()) {
        return host.ended(system, ran, quiet);
    }
    let (how, against) = (arguments.how, arguments.against);
    let code = against.inconclusive_code();
    let ended = running::end(system, ran, |findings, is_stored| {
        against.print(system, findings, is_stored, how)
    });
    ended.map_err(|failure| failure.blind_by(code))
}

/// Runs a race and then fresh trials of its winner, which give the result.
fn race_and_confirm(system: &dyn System, request: Request<'_>, given: RunArguments) -> Outcome<()> {
    let RunArguments { how, against, .. } = given;
    let code = against.inconclusive_code();
    let consented = request.consented.clone();
    let stop = running::stop_on_signals(&running::RESTORES)?;
    let ran = running::run_with(system, request, &stop, how.quiet)?;
    let mut wanted = None;
    let ended = running::end(system, ran, |findings, is_stored| {
        wanted = race::to_confirm(findings, is_stored);
        // Prints only the document of the fresh trials.
        if how.json && wanted.is_some() {
            return Ok(());
        }
        against.print(system, findings, is_stored, how)
    });
    let ended = ended.map_err(|failure| failure.blind_by(code));
    let Some(id) = wanted else { return ended };
    let asked = confirm::Confirmation { result: Some(&id), ..confirm::Confirmation::default() };
    let confirmed = confirm::confirm(system, &asked, consented, &stop, how);
    running::report_problems([ended, confirmed].into_iter().filter_map(Result::err).collect())
}
