//! `assay run STUDY --help`: the options of one study.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{ArgAction, ArgMatches, Command};

use super::commands::CommandArguments;
use super::options::{self, LineSubject};
use super::{full_definition, output, studies};
use assay_machine::system::System;
use assay_study::file::Study;

/// Returns the page if the line names a study or commands.
pub(super) fn page(
    system: &dyn System,
    words: &[OsString],
    error: &clap::Error,
    columns: usize,
) -> Option<String> {
    let name = words.get(1)?.to_str().filter(|name| ["run", "plan"].contains(name))?;
    let whole = (error.kind() == ErrorKind::DisplayHelp).then(|| full_definition(columns))?;
    let command = whole.find_subcommand(name)?;
    let subject = subject(system, command.clone(), words)?;
    let takes_target = options::trials(&subject);
    let target = if takes_target { " [TARGET]..." } else { "" };
    let word = if subject.of_commands { "--command LINE..." } else { subject.word.as_str() };
    let mut help = options::show_fitting(command.clone(), &subject)
        .term_width(columns)
        .mut_arg("study", |arg| arg.hide(true))
        .mut_arg("targets", |arg| arg.hide(!takes_target))
        .about(subject.study.title.clone())
        .long_about(describe(&subject.study))
        .override_usage(format!("assay {name} {word}{target} [OPTIONS]"))
        .after_help(format!("assay {name} --help shows the options of all studies."))
        .after_long_help(format!("assay {name} --help shows the options of all studies."));
    let is_long = words.iter().any(|word| word == "--help");
    let page = if is_long { help.render_long_help() } else { help.render_help() };
    Some(page.to_string())
}

/// Parses the subject of the line, ignoring the help option.
fn subject(system: &dyn System, command: Command, words: &[OsString]) -> Option<LineSubject> {
    let command = command.ignore_errors(true).mut_arg("help", |arg| arg.action(ArgAction::Count));
    let matches = command.try_get_matches_from(words.iter().skip(1)).ok()?;
    let lines: Vec<String> = texts(&matches, "lines");
    if !lines.is_empty() {
        let study = CommandArguments::of_lines(lines).study(false).ok()?;
        return Some(LineSubject { study, of_commands: true, word: String::new() });
    }
    let word = texts(&matches, "study").pop()?;
    match studies::quietly(system, &word) {
        Ok(study) => Some(LineSubject { study, of_commands: false, word }),
        Err(failure) => {
            output::message(&failure.message);
            None
        }
    }
}

fn texts(matches: &ArgMatches, name: &str) -> Vec<String> {
    matches.try_get_many::<String>(name).ok().flatten().into_iter().flatten().cloned().collect()
}

fn describe(study: &Study) -> String {
    let mut lines = vec![study.title.clone(), String::new(), "Workloads:".to_owned()];
    lines.extend(study.workload.iter().map(|work| format!("  {}: {}", work.name, work.words())));
    if !study.factors.is_empty() {
        lines.push("\nFactors (--set changes the levels):".to_owned());
    }
    let factors = study.factors.iter();
    lines.extend(factors.map(|(name, levels)| format!("  {name} = {}", levels.join(", "))));
    lines.join("\n")
}
