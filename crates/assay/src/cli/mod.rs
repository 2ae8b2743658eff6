//! Commands: each file parses its arguments, calls the library, and prints.

mod add;
mod advise;
mod apply;
mod articles;
mod boots;
mod build;
mod bundle;
mod by_place;
mod calc;
mod check;
mod collection;
mod commands;
mod compare;
mod completions;
mod confirm;
mod doctor;
mod explain;
mod export;
mod hold_pages;
mod import;
mod in_vm;
mod inventory;
mod label;
mod list;
mod meant;
mod micro;
mod output;
mod pages;
mod peer;
mod plan;
mod progress;
mod remove;
mod report;
mod restore;
mod resume;
mod run;
mod running;
mod selftest;
#[cfg(feature = "serve")]
mod serve;
mod show;
mod stacks;
mod studies;
mod study_arguments;
mod tree;
mod undo;
mod vm;
mod watch;
mod watchdog;
#[cfg(test)]
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};

use assay_core::failure::{Failure, Outcome};
use assay_core::system::System;

pub use completions::script as completion;
pub use pages::reference_pages;

/// Carefully controlled performance studies of storage and the machine around it.
#[derive(Debug, Parser)]
#[command(name = "assay", version = VERSION, about, propagate_version = true, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

/// Version, commit where whoever built it told (`ASSAY_COMMIT`), and target.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("ASSAY_BUILT"), ")");

/// What a newcomer reads who types the name alone.
const GUIDE: &str = "\
Honest speed of storage, and how far each number can be trusted. Begin with:

  assay check --quick     this directory, in about 15 s; needs no root
  assay check /mnt/card   a card, a stick or another drive, in about a minute
  assay run depth         a study: settings compared, with verdicts

assay show brings the newest result back, assay doctor tells what this machine
can measure, and assay --help has all commands.
";

const EXAMPLES: &str = "\
Examples:
  assay check                    honest speed of the storage under this directory
  assay check --quick /mnt/card  the same for a card, in about 15 s
  assay run depth /mnt/card      a study: settings compared, with verdicts
  assay plan depth /mnt/card     what that would do, and what it can see
  assay import trials.csv        verdicts on numbers of your own
  assay show                     the newest result again
  assay watch                    what the disks do at this moment
  assay list presets             which studies are shipped
  assay articles                 published figures, judged again

Exit codes: 0 done, 1 a gate failed, 2 a mistake in the command, 3 the machine
refused, 4 something was not put back, 5 some trials were lost or not kept, 130
interrupted (finished trials are kept).";

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::Arguments),
    Run(run::Arguments),
    Explain(explain::Arguments),
    Plan(plan::Arguments),
    Resume(resume::Arguments),
    Restore(restore::Arguments),
    Show(show::Arguments),
    Report(report::Arguments),
    Compare(compare::Arguments),
    Confirm(confirm::Arguments),
    Advise(advise::Arguments),
    Apply(apply::Arguments),
    Undo(undo::Arguments),
    Selftest(selftest::Arguments),
    #[cfg(feature = "serve")]
    Serve(serve::Arguments),
    Watch(watch::Arguments),
    List(list::Arguments),
    Note(label::NoteArguments),
    Rename(label::RenameArguments),
    Remove(remove::Arguments),
    Import(import::Arguments),
    Export(export::Arguments),
    Bundle(bundle::Arguments),
    Add(add::Arguments),
    Collection(collection::Arguments),
    Calc(calc::Arguments),
    Peer(peer::Arguments),
    Doctor(doctor::Arguments),
    Articles(articles::Arguments),
    Completions(completions::Arguments),
    #[command(hide = true)]
    Stacks(stacks::Arguments),
    #[command(hide = true)]
    HoldPages(hold_pages::Arguments),
    #[command(hide = true)]
    Tree(tree::Arguments),
    #[command(hide = true)]
    Micro(micro::Arguments),
    #[command(hide = true)]
    InVm(in_vm::Arguments),
    #[command(hide = true)]
    Watchdog(watchdog::Arguments),
}

/// Parses the command line. What is not a command to run (help, version, a mistake) is told, and
/// the exit code handed back.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Arguments, ExitCode> {
    let words: Vec<OsString> = arguments.into_iter().collect();
    Arguments::try_parse_from(&words).map_err(|error| {
        if error.use_stderr() {
            return output::fail(&Failure::mistake(one_line(&error, &words)));
        }
        output::text(&error.render().to_string());
        ExitCode::SUCCESS
    })
}

/// A parser's message as one line.
fn one_line(error: &clap::Error, words: &[OsString]) -> String {
    let text = error.render().to_string();
    let wrong = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg]
        .into_iter()
        .filter_map(|kind| error.get(kind));
    let mut meant = wrong.filter_map(|word| match word {
        // `--size=1GiB` is told with its value.
        ContextValue::String(word) => meant::instead(word.split('=').next().unwrap_or(word)),
        _ => None,
    });
    let meant = meant.next();
    let wanted = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        // Where we know better.
        .filter(|line| meant.is_none() || !line.starts_with("tip:"))
        .filter(|line| !line.is_empty());
    let message = wanted.collect::<Vec<_>>().join(" ");
    let help = meant::help(words, &definition());
    let message = message.trim_start_matches("error: ");
    match meant {
        Some(meant) => format!("{message}: {meant} See {help}"),
        None => format!("{message}; see {help}"),
    }
}

/// Runs a command and returns its exit code.
pub fn run(system: &dyn System, arguments: Arguments) -> ExitCode {
    let Some(command) = arguments.command else {
        output::text(GUIDE);
        return ExitCode::SUCCESS;
    };
    match dispatch(system, command).and_then(|()| output::kept()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output::fail(&failure),
    }
}

fn dispatch(system: &dyn System, command: Command) -> Outcome<()> {
    match command {
        Command::Check(arguments) => check::run(system, arguments),
        Command::Run(arguments) => run::run(system, arguments),
        Command::Plan(arguments) => plan::run(system, &arguments),
        Command::Explain(arguments) => explain::run(system, &arguments),
        Command::Resume(arguments) => resume::run(system, &arguments),
        Command::Restore(arguments) => restore::run(system, &arguments),
        Command::Compare(arguments) => compare::run(system, &arguments),
        Command::Confirm(arguments) => confirm::run(system, &arguments),
        Command::Advise(arguments) => advise::run(system, &arguments),
        Command::Apply(arguments) => apply::run(system, &arguments),
        Command::Undo(arguments) => undo::run(system, &arguments),
        Command::Selftest(arguments) => selftest::run(system, arguments),
        Command::Show(arguments) => show::run(system, &arguments),
        Command::Report(arguments) => report::run(system, &arguments),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::run(system, &arguments),
        Command::Watch(arguments) => watch::run(system, &arguments),
        Command::List(arguments) => list::run(system, &arguments),
        Command::Note(arguments) => label::note(system, arguments),
        Command::Rename(arguments) => label::rename(system, arguments),
        Command::Remove(arguments) => remove::run(system, &arguments),
        Command::Import(arguments) => import::run(system, &arguments),
        Command::Export(arguments) => export::run(system, &arguments),
        Command::Bundle(arguments) => bundle::run(system, &arguments),
        Command::Add(arguments) => add::run(system, &arguments),
        Command::Collection(arguments) => collection::run(system, &arguments),
        Command::Articles(arguments) => articles::run(system, &arguments),
        Command::Calc(arguments) => calc::run(system, &arguments),
        Command::Peer(arguments) => peer::run(system, &arguments),
        Command::Doctor(arguments) => {
            doctor::run(system, &arguments);
            Ok(())
        }
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Stacks(arguments) => stacks::run(system, &arguments),
        Command::HoldPages(arguments) => hold_pages::run(system, &arguments),
        Command::Micro(arguments) => micro::run(&arguments),
        Command::Tree(arguments) => tree::run(system, &arguments),
        Command::InVm(arguments) => in_vm::run(system, &arguments),
        Command::Watchdog(arguments) => watchdog::run(system, &arguments),
    }
}

/// The definition of the command line, for generated pages and completions: without what nobody types.
pub fn definition() -> clap::Command {
    let whole = Arguments::command();
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set());
    clap::Command::new("assay")
        .version(VERSION)
        .about(whole.get_about().cloned().unwrap_or_default())
        .after_help(EXAMPLES)
        .propagate_version(true)
        .subcommands(shown.cloned().collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        definition().debug_assert();
    }

    #[test]
    fn a_mistake_is_one_line_with_advice() {
        let error = Arguments::try_parse_from(["assay", "check", "--quik"]).unwrap_err();
        let words = ["assay", "check", "--quik"].map(OsString::from);
        let line = one_line(&error, &words);
        assert!(!line.contains('\n') && line.contains("--quick"), "{line}");
    }

    /// Lines of a text that call the program, without their remarks: each as it stands, and cut off where
    /// a text in quotation marks begins, which may go on in the next line.
    fn calls(text: &str) -> Vec<Vec<Vec<String>>> {
        let calls = |line: &&str| {
            line.strip_prefix("assay ").is_some_and(|rest| rest.starts_with(char::is_alphabetic))
        };
        let lines = text.lines().map(str::trim).filter(calls);
        let bare = lines.map(|line| line.split("  ").next().unwrap_or(line));
        bare.map(|line| {
            let whole = line.split(['#', '|']).next().unwrap_or(line);
            let whole = whole.split(" >").next().unwrap_or(whole);
            let cut = line.split(['#', '|', '"', '>']).next().unwrap_or(line);
            [whole, cut].iter().filter_map(|line| shell_words::split(line).ok()).collect()
        })
        .collect()
    }

    #[test]
    fn every_command_that_the_texts_show_is_one() {
        let mut shown: Vec<String> = vec![include_str!("../../../../README.md").to_owned()];
        let mut commands = definition();
        shown.push(commands.render_long_help().to_string());
        shown.extend(
            commands.get_subcommands_mut().map(|command| command.render_long_help().to_string()),
        );
        let mut seen = 0;
        for readings in shown.iter().flat_map(|text| calls(text)) {
            let parses = |call: &Vec<String>| {
                // A text in quotation marks, cut off above, stands for one word.
                let cut = ["note", "rename"].contains(&call[1].as_str()).then_some("text");
                let words = || call.iter().map(String::as_str);
                Arguments::try_parse_from(words()).is_ok()
                    || Arguments::try_parse_from(words().chain(cut)).is_ok()
            };
            assert!(readings.iter().any(parses), "{readings:?} is no command");
            seen += 1;
        }
        assert!(seen > 20, "{seen}");
    }
}
