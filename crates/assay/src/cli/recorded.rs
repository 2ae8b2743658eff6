//! What `assay run` and `assay plan` do with a study whose trials were recorded, the options that are for
//! such studies alone, and labels of trials. What they are called, their kind says.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::output;
use super::progress::Progress;
use super::running::{self, Unended};
use assay_base::failure::{Failure, Outcome};
use assay_kinds::work::Entry;
use assay_kinds::work::recorded::{self, RecordOption, RecordOptions, Recording, Source};
use assay_runner::runner::Context;
use assay_runner::runner::recorded::{self as runner, Wanted};
use assay_study::study::Study;
use assay_system::system::{System, identity};

/// Restarts at most.
const MOST_RESTARTS: i64 = 100;

/// What is said of recorded trials alone.
#[derive(Debug, Default)]
pub struct RecordArguments {
    by: Option<String>,
    count: Option<u32>,
    source: Option<PathBuf>,
    /// How often the machine is to be restarted for more of them.
    pub restarts: Option<u32>,
    /// Whether it is done, and not shown alone.
    pub is_sure: bool,
}

impl Args for RecordArguments {
    fn augment_args(command: Command) -> Command {
        match recorded::kind() {
            Some((_, recording)) => command.args(args(&recording.options)),
            None => command,
        }
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

fn args(options: &RecordOptions) -> [Arg; 5] {
    let arg = |option: RecordOption| Arg::new(option.name).long(option.name).help(option.help);
    let most = i64::from(options.most);
    let factors = PossibleValuesParser::new((options.factors)());
    [
        arg(options.by).value_name("WHAT").value_parser(factors),
        arg(options.count).value_name("N").value_parser(value_parser!(u32).range(1..=most)),
        arg(options.source).value_name("PATH").value_parser(value_parser!(PathBuf)),
        arg(options.restarts)
            .value_name("N")
            .conflicts_with(options.source.name)
            .value_parser(value_parser!(u32).range(1..=MOST_RESTARTS)),
        arg(options.sure).action(ArgAction::SetTrue).requires(options.restarts.name),
    ]
}

impl FromArgMatches for RecordArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let Some((_, Recording { options, .. })) = recorded::kind() else {
            return Ok(Self::default());
        };
        Ok(Self {
            by: matches.get_one(options.by.name).cloned(),
            count: matches.get_one(options.count.name).copied(),
            source: matches.get_one(options.source.name).cloned(),
            restarts: matches.get_one(options.restarts.name).copied(),
            is_sure: matches.get_flag(options.sure.name),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl RecordArguments {
    /// Whether anything is said.
    fn is_there(&self) -> bool {
        self.by.is_some()
            || self.count.is_some()
            || self.source.is_some()
            || self.restarts.is_some()
    }

    /// The study with what is said; none where its trials are not recorded.
    ///
    /// # Errors
    /// The user's mistake where it is said of another study.
    pub fn of(&self, mut study: Study, has_targets: bool) -> Outcome<Result<Study, Study>> {
        let records = study.workload.iter_mut().find_map(|own| own.work.records_mut());
        let Some(records) = records else {
            return match recorded::kind().filter(|_| self.is_there()) {
                Some((entry, recording)) => Err(of_another(entry, recording)),
                None => Ok(Err(study)),
            };
        };
        let Recording { many, options, .. } = records.recording();
        if has_targets {
            return Err(Failure::mistake(format!(
                "{many} belong to a machine, not to a target; leave TARGET out (for another machine: --{} FILE)",
                options.source.name
            )));
        }
        if let Some(factor) = &self.by {
            records.group_by(factor);
        }
        if let Some(count) = self.count {
            records.take_newest(count);
        }
        Ok(Ok(study))
    }

    /// Where they are recorded.
    pub fn source(&self) -> Source {
        self.source.clone().map_or(Source::Own, Source::At)
    }
}

/// That an option is for studies of another kind.
fn of_another(entry: &Entry, recording: &Recording) -> Failure {
    let RecordOptions { by, count, source, restarts, .. } = &recording.options;
    Failure::mistake(format!(
        "--{}, --{}, --{} and --{} are for studies of {}: assay run {}",
        by.name, count.name, source.name, restarts.name, recording.many, entry.about.name
    ))
}

/// Reads trials and keeps them.
pub fn run(
    system: &dyn System,
    study: Study,
    arguments: &RecordArguments,
    quiet: bool,
) -> Outcome<Unended> {
    let stop = running::stop_on_signals(&running::LOOKS)?;
    let wanted =
        Wanted { study, source: arguments.source(), results: running::results_directory(system)? };
    let mut progress = Progress::new(quiet);
    let mut tell = |event| progress.show(&event);
    let mut context = Context { system, runs_as: None, stop: &stop, tell: &mut tell };
    let finished = runner::run(system, wanted, &mut context);
    progress.finish();
    finished.map(Unended::from)
}

/// What reading would give, without keeping it.
pub fn preview(system: &dyn System, study: Study, arguments: &RecordArguments) -> Outcome<()> {
    let results = identity::results_directory(system).ok();
    let (study, found) = runner::read(system, study, &arguments.source(), results.as_deref())?;
    let records = runner::asked(&study)?.records;
    let Recording { many, told_by, .. } = records.recording();
    let mut text = format!(
        "reads {} {many} from {told_by} (skips {} older ones) and changes nothing\n",
        found.records.len(),
        found.older
    );
    let groups = runner::groups(&found.records).into_iter();
    let by = records.factor();
    text.extend(groups.map(|(group, count)| format!("  {by} {group}: {count}\n")));
    text += "their order was not randomized: differences between groups get no verdict\n";
    output::text(&text);
    Ok(())
}

/// Labels trials: `assay note KIND TEXT`, `assay note KIND:WHICH TEXT`.
///
/// # Errors
/// As the kind's.
pub fn note(
    system: &dyn System,
    (entry, recording, which): (&Entry, &Recording, Option<&str>),
    label: &str,
) -> Outcome<()> {
    let results = identity::results_directory(system)?;
    let count = (recording.labels.give)(system, &results, which, label)?;
    let Recording { one, many, options, .. } = recording;
    let way =
        format!("group by it with: assay run {} --{} label", entry.about.name, options.by.name);
    output::message(&match (label.trim(), count) {
        ("", 1) => format!("the {one} has no label"),
        ("", _) => format!("{count} {many} have no label"),
        (label, 1) => format!("the {one} is labelled {label}; {way}"),
        (label, _) => format!("{count} {many} are labelled {label}; {way}"),
    });
    Ok(())
}
