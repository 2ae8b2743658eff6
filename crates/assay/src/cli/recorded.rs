//! Options of `assay run` and `assay plan` for recorded trials, and trial labels. The kind of work defines the names.

use clap::{Args, value_parser};

use super::output;
use super::progress::ProgressLine;
use super::running::{self, Unended};
use assay_core::failure::Outcome;
use assay_machine::system::{System, identity};
use assay_runner::run::Context;
use assay_runner::run::recorded as runner;
use assay_study::file::Study;
use assay_study::plan::recorded as plan;
use assay_workloads::KindEntry;
use assay_workloads::recorded::{RecordSource, RecordingNames};

/// Options for recording boots by rebooting.
#[derive(Debug, Default, Args)]
pub struct RebootArguments {
    /// Reboot N times and record each boot (root); shows the plan without --yes
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=100))]
    pub reboots: Option<u32>,
    /// Confirm --reboots (restarts this machine)
    #[arg(long, requires = "reboots")]
    pub yes: bool,
}

impl RebootArguments {
    /// Checks the options for recorded trials, and returns whether the study has any. Fails for targets, for reboots of
    /// another machine, and for reboots in studies of other kinds.
    pub fn are_recorded(&self, study: &Study, has_targets: bool) -> Outcome<bool> {
        let Some(asked) = plan::asked(study) else {
            if self.reboots.is_some() {
                return Err(mistake!(
                    "--reboots: this study records no boots; use assay run boot --reboots N"
                ));
            }
            return Ok(false);
        };
        if has_targets {
            return Err(mistake!(
                "{} belong to a machine, not to a target; remove TARGET (to read the boots of another machine, use \
                 --set journal=FILE)",
                asked.records.recording().many
            ));
        }
        if self.reboots.is_some() && asked.records.source() != RecordSource::Own {
            return Err(mistake!(
                "--reboots records boots of this machine, but journal names another source; remove one of the two"
            ));
        }
        Ok(true)
    }
}

pub fn run(system: &dyn System, study: Study, quiet: bool) -> Outcome<Unended> {
    let stop = running::stop_on_signals(&running::LOOKS)?;
    let results = running::results_directory(system)?;
    let mut progress = ProgressLine::new(quiet);
    let mut tell = |event| progress.show(&event);
    let mut context = Context { system, runs_as: None, stop: &stop, tell: &mut tell };
    let finished = runner::run(system, study, results.as_deref(), &mut context);
    progress.finish();
    finished.map(Unended::from)
}

pub fn preview(system: &dyn System, study: Study) -> Outcome<()> {
    let results = identity::results_directory(system).ok();
    let (study, found) = runner::read(system, study, results.as_deref())?;
    let records = runner::asked(&study)?.records;
    let RecordingNames { many, told_by, .. } = records.recording();
    let mut text = format!(
        "reads {} {many} from {told_by} (skips {} older records) and changes nothing\n",
        found.records.len(),
        found.older
    );
    let groups = runner::groups(&found.records).into_iter();
    let by = records.factor();
    text.extend(groups.map(|(group, count)| format!("  {by} {group}: {count}\n")));
    text += "the order was not randomized, so Assay gives no verdict on groups\n";
    output::text(&text);
    Ok(())
}

/// Labels trials: `assay note KIND TEXT`, `assay note KIND:WHICH TEXT`.
pub fn note(
    system: &dyn System,
    entry: &KindEntry,
    recording: &RecordingNames,
    which: Option<&str>,
    label: &str,
) -> Outcome<()> {
    let results = identity::results_directory(system)?;
    let count = (recording.labels.give)(system, &results, which, label)?;
    let RecordingNames { one, many, .. } = recording;
    let way = format!("to group by label: assay run {} --set group_by=label", entry.about.name);
    output::message(&match (label.trim(), count) {
        ("", 1) => format!("the {one} has no label"),
        ("", _) => format!("{count} {many} have no label"),
        (label, 1) => format!("the {one} is labeled {label}; {way}"),
        (label, _) => format!("{count} {many} are labeled {label}; {way}"),
    });
    Ok(())
}
