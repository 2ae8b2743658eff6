//! Commands: each file parses arguments, calls the library, and prints.

mod aa_test;
mod add;
mod advise;
mod advised;
mod apply;
mod articles;
mod build;
mod bundle;
mod by_place;
mod calc;
mod check;
mod check_options;
mod collection;
mod commands;
mod compare;
mod completions;
mod confirm;
mod doctor;
#[cfg(test)]
mod endings;
mod explain;
mod export;
mod fitness;
mod fleet;
mod front;
mod gate;
#[cfg(test)]
mod harmless;
mod import;
mod internal;
mod inventory;
mod label;
mod like;
mod list;
mod meant;
mod options;
mod output;
mod pages;
mod peer;
mod plan;
mod progress;
mod race;
mod reboots;
mod recorded;
#[cfg(test)]
mod refusals;
mod registries;
mod remove;
mod replayed;
mod report;
mod restore;
mod resume;
mod revisions;
mod run;
mod running;
mod schemas;
mod show;
mod studies;
mod study_arguments;
mod study_help;
mod undo;
mod verify;
mod vm;
mod watch;
mod watchdog;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use assay_core::failure::{Failure, Outcome};
use assay_machine::system::System;

/// Forms of a result name; `store::is_short_for` compares them.
const ID: &str = "Result ID, or its unique beginning or end";
/// The same if a path is also valid.
const ID_OR_BUNDLE: &str = "ID, or its unique beginning or end, or a bundle";
const LATEST: &str = " [default: the latest]";

pub use output::hand_over;
pub use pages::reference_pages;
#[cfg(feature = "schema")]
pub use schemas::generated_schemas;

/// Benchmark storage; compare settings, commands and commits.
#[derive(Debug, Parser)]
#[command(name = "assay", version = VERSION, about, propagate_version = true)]
pub struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
}

/// Version, commit if the build set `ASSAY_COMMIT`, and target.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ASSAY_BUILT"), ")");

/// Text for new users who type only the program's name.
const GUIDE: &str = "\
Benchmark storage; compare settings, commands and commits. Start with:

  assay check --quick     benchmark this directory in about 15 s (no root)
  assay check /mnt/card   benchmark a card, stick or other drive
  assay run queue-depth   run a study that compares settings
  assay list presets      list the included studies

  assay show              show the latest result
  assay doctor            show what this machine can measure
  assay --help            list all commands
";

const EXAMPLES: &str = "\
Examples:
  assay check                    benchmark this directory
  assay check --quick /mnt/card  benchmark a card in about 15 s
  assay run queue-depth          run a study that compares settings
  assay plan queue-depth         show what a study would run, change and detect
  assay import trials.csv        import trials from a table
  assay show                     show the latest result
  assay watch                    show live I/O latency and throughput
  assay list presets             list the included studies
  assay articles                 show published claims with verdicts
";

/// Width of generated pages, and of help without a terminal.
const PAGE_COLUMNS: usize = 80;
/// Width of help: longer lines are hard to read, shorter ones too narrow for words.
const HELP_COLUMNS: std::ops::RangeInclusive<usize> = 20..=100;

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::CheckArguments),
    Run(run::RunArguments),
    Plan(plan::PlanArguments),
    Resume(resume::ResumeArguments),
    Restore(restore::RestoreArguments),
    Show(show::ShowArguments),
    Report(report::ReportArguments),
    Compare(compare::CompareArguments),
    Advise(advise::AdviseArguments),
    AaTest(aa_test::AaTestArguments),
    Watch(watch::WatchArguments),
    Verify(verify::VerifyArguments),
    List(list::ListArguments),
    Note(label::NoteArguments),
    Remove(remove::RemoveArguments),
    Import(import::ImportArguments),
    Export(export::ExportArguments),
    Collection(collection::CollectionArguments),
    Calc(calc::CalcArguments),
    Peer(peer::PeerArguments),
    Doctor(doctor::DoctorArguments),
    Articles(articles::ArticlesArguments),
    Completions(completions::CompletionsArguments),
    #[command(flatten)]
    Internal(internal::InternalCommand),
}

/// Parses the command line. Prints help, version or an error, and returns the exit code as `Err`, if there is nothing
/// to run.
pub fn parse(
    system: &dyn System,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<CommandLine, ExitCode> {
    let words: Vec<OsString> = arguments.into_iter().collect();
    match completions::complete(system, &words) {
        Ok(false) => {}
        Ok(true) => return Err(ExitCode::SUCCESS),
        Err(failure) => return Err(output::fail(&failure)),
    }
    let columns = output::columns(system).clamp(*HELP_COLUMNS.start(), *HELP_COLUMNS.end());
    read(&words, columns).map_err(|error| {
        if error.use_stderr() {
            return output::fail(&Failure::mistake(explained(&error, &words)));
        }
        let study_page = study_help::page(system, &words, &error, columns);
        output::text(&study_page.unwrap_or_else(|| error.render().to_string()));
        output::check_written()
            .map_or_else(|failure| output::fail(&failure), |()| ExitCode::SUCCESS)
    })
}

/// Returns the parsed arguments, or the text to print, in the given width.
fn read(words: &[OsString], columns: usize) -> Result<CommandLine, clap::Error> {
    // Only help and mistakes need the pages of all commands.
    let with_pages = |error: clap::Error| match error.kind() {
        ErrorKind::DisplayVersion => Err(error),
        _ => full_definition(columns).try_get_matches_from(words),
    };
    let matches = CommandLine::command().try_get_matches_from(words).or_else(with_pages)?;
    CommandLine::from_arg_matches(&matches)
        .map_err(|error| error.format(&mut full_definition(columns)))
}

/// Returns the command-line definition, with help in the given width.
fn full_definition(columns: usize) -> clap::Command {
    let mut command = CommandLine::command().term_width(columns);
    for name in ["run", "plan"] {
        command = command.mut_subcommand(name, options::arrange);
    }
    let page = front::page(&command, columns);
    command.override_help(page)
}

/// Returns the message for a mistake on the command line, with a suggestion or the help to see.
fn explained(error: &clap::Error, words: &[OsString]) -> String {
    let definition = CommandLine::command();
    let (_, path) = meant::named(words, &definition);
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let texts = |kind| match error.get(kind) {
        Some(ContextValue::Strings(texts)) => texts.as_slice(),
        _ => &[],
    };
    let missing = texts(ContextKind::InvalidArg);
    let message = match error.kind() {
        ErrorKind::InvalidSubcommand | ErrorKind::UnknownArgument => {
            // Removes the value of `--size=1GiB`.
            let argument = text(ContextKind::InvalidArg).split('=').next().unwrap_or_default();
            let command = text(ContextKind::InvalidSubcommand);
            let (kind, wrong) = if !command.is_empty() {
                ("command", command)
            } else if argument.starts_with('-') {
                ("option", argument)
            } else {
                ("argument", argument)
            };
            let suggestion = meant::instead(wrong, words, &definition);
            let suggestion = suggestion.unwrap_or_else(|| format!("see {path} --help"));
            format!("unknown {kind} `{wrong}`: {suggestion}")
        }
        ErrorKind::MissingRequiredArgument if missing == ["<STUDY>"] => {
            return meant::no_study(&path);
        }
        _ => {
            let value = text(ContextKind::InvalidValue);
            let mut message = parser_message(error, value, texts(ContextKind::ValidValue));
            if error.kind() == ErrorKind::ArgumentConflict {
                message += "; remove one of them";
            }
            match texts(ContextKind::ValidValue) {
                [] => format!("{message}; see {path} --help"),
                _ => message,
            }
        }
    };
    front::in_lines(&message, PAGE_COLUMNS - "assay: ".len())
}

/// Returns the message of the parser as one line; for a wrong value, the similar valid ones, or else all.
fn parser_message(error: &clap::Error, value: &str, valid: &[String]) -> String {
    let similar: Vec<&str> =
        valid.iter().map(String::as_str).filter(|known| known.contains(value)).collect();
    if !value.is_empty() && !valid.is_empty() {
        let known = match similar.as_slice() {
            [] => valid.join(", "),
            several => format!("`{}`", several.join("` or `")),
        };
        return format!("unknown value `{value}`: use {known}");
    }
    let text = error.render().to_string();
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty());
    // Joins the lines of missing arguments, and appends a tip after a semicolon.
    let message = lines.collect::<Vec<_>>().join(" ").replace(" tip: ", "; ");
    message.trim_start_matches("error: ").to_owned()
}

pub fn run(system: &dyn System, arguments: CommandLine) -> ExitCode {
    let Some(command) = arguments.command else {
        output::text(GUIDE);
        return ExitCode::SUCCESS;
    };
    match dispatch(system, command).and_then(|()| output::check_written()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output::fail(&failure),
    }
}

fn dispatch(system: &dyn System, command: Command) -> Outcome<()> {
    match command {
        Command::Check(arguments) => check::run(system, arguments),
        Command::Run(arguments) => run::run(system, arguments),
        Command::Plan(arguments) => plan::run(system, &arguments),
        Command::Resume(arguments) => resume::run(system, &arguments),
        Command::Restore(arguments) => restore::run(system, &arguments),
        Command::Compare(arguments) => compare::run(system, &arguments),
        Command::Advise(arguments) => advise::run(system, &arguments),
        Command::AaTest(arguments) => aa_test::run(system, arguments),
        Command::Show(arguments) => show::run(system, &arguments),
        Command::Report(arguments) => report::run(system, &arguments),
        Command::Watch(arguments) => watch::run(system, &arguments),
        Command::Verify(arguments) => verify::run(system, &arguments),
        Command::List(arguments) => list::run(system, &arguments),
        Command::Note(arguments) => label::note(system, arguments),
        Command::Remove(arguments) => remove::run(system, &arguments),
        Command::Import(arguments) => import::run(system, &arguments),
        Command::Export(arguments) => export::run(system, &arguments),
        Command::Collection(arguments) => collection::run(system, &arguments),
        Command::Articles(arguments) => articles::run(system, &arguments),
        Command::Calc(arguments) => calc::run(system, &arguments),
        Command::Peer(arguments) => peer::run(system, &arguments),
        Command::Doctor(arguments) => {
            doctor::run(system, &arguments);
            Ok(())
        }
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Internal(own) => own.run(system),
    }
}

/// Returns the command-line definition for generated pages and completions, without internal commands.
pub fn definition() -> clap::Command {
    let full = full_definition(PAGE_COLUMNS);
    let shown = full.get_subcommands().filter(|command| !command.is_hide_set());
    clap::Command::new("assay")
        .version(VERSION)
        .about(full.get_about().cloned().unwrap_or_default())
        .after_help(format!("{EXAMPLES}\n{}", front::CODES))
        .propagate_version(true)
        .subcommands(shown.cloned().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_stays_within_its_limits() {
        let definition = definition();
        definition.clone().debug_assert();
        assert!(definition.get_subcommands().count() <= 23);
        let run = definition.find_subcommand("run").unwrap();
        let options = run.get_arguments().filter(|argument| argument.get_long().is_some());
        let is_own = |option: &&clap::Arg| !["help", "version"].contains(&option.get_id().as_str());
        assert!(options.filter(is_own).count() <= 32);
    }

    #[test]
    fn a_slip_is_one_line_with_the_right_word() {
        let words = ["assay", "check", "--quik"].map(OsString::from);
        let error = read(&words, PAGE_COLUMNS).unwrap_err();
        let line = explained(&error, &words);
        assert!(!line.contains('\n') && line.contains("--quick"), "{line}");
    }

    /// Returns the lines of a text that run the program, without comments: complete, and cut at a quoted text, which
    /// may continue on the next line.
    fn calls(text: &str, indent: &str) -> Vec<Vec<Vec<String>>> {
        let called = |line: &&str| {
            line.strip_prefix("assay ").is_some_and(|rest| rest.starts_with(char::is_alphabetic))
        };
        let lines = text.lines().filter_map(|line| line.strip_prefix(indent)).filter(called);
        let bare = lines.map(|line| line.split("  ").next().unwrap_or(line));
        bare.map(|line| {
            let whole = line.split(['#', '|']).next().unwrap_or(line);
            let whole = whole.split(" >").next().unwrap_or(whole);
            let cut = line.split(['#', '|', '"', '>']).next().unwrap_or(line);
            [whole, cut].iter().filter_map(|line| shell_words::split(line).ok()).collect()
        })
        .collect()
    }

    fn helps(command: &mut clap::Command) -> Vec<String> {
        let own = [command.render_long_help().to_string(), command.render_help().to_string()];
        own.into_iter().chain(command.get_subcommands_mut().flat_map(helps)).collect()
    }

    fn is_understood(words: &[&str]) -> bool {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        read(&words, PAGE_COLUMNS).map_or_else(|error| !error.use_stderr(), |_| true)
    }

    #[test]
    fn every_command_that_the_texts_show_is_one() {
        // In help, calls are indented by two columns, unlike prose that starts with the name. tests/program/papers.rs
        // checks other pages.
        let mut shown = vec![GUIDE.to_owned()];
        shown.extend(reference_pages().unwrap().into_iter().map(|(_, page)| page));
        let mut commands = definition();
        commands.build();
        shown.extend(helps(&mut commands));
        let shown: Vec<_> = shown.iter().flat_map(|text| calls(text, "  ")).collect();
        let mut seen = 0;
        for readings in shown {
            let parses = |call: &Vec<String>| {
                let mut words: Vec<&str> = call.iter().map(String::as_str).collect();
                if is_understood(&words) {
                    return true;
                }
                // Replaces the quoted text that was cut off.
                words.push("text");
                call[1] == "note" && is_understood(&words)
            };
            assert!(readings.iter().any(parses), "{readings:?} is no command");
            seen += 1;
        }
        assert!(seen > 100, "{seen}");
    }
}
