//! The words of 24 November 2026: whoever wrote one of them into a script finds that it goes on working.

use std::ffi::OsString;

use super::{PAGE_COLUMNS, definition, meant, read};

/// Each command, option, alias and level of a closed list of that day, with the shortest whole line that
/// has it; and what was meant by words of other tools. Nothing is ever taken out.
const RECORDED: &str = include_str!("../../tests/program/words-2026-11-24.txt");

fn is_understood(line: &str) -> bool {
    let words = shell_words::split(&format!("assay {line}")).unwrap();
    let words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    // Help and the version are told, too.
    read(&words, PAGE_COLUMNS).map_or_else(|error| !error.use_stderr(), |_| true)
}

#[test]
#[ignore = "nightly: 2 s"]
fn no_word_of_that_day_is_lost() {
    let lines = || RECORDED.lines().filter_map(|line| line.split_once(": "));
    let lines = || lines().filter(|(word, _)| !word.starts_with('#'));
    let (wrong, ours): (Vec<_>, Vec<_>) = lines().partition(|(word, _)| word.starts_with("wrong "));
    let lost: Vec<_> = ours.iter().filter(|(_, line)| !is_understood(line)).collect();
    assert!(lost.is_empty(), "{lost:#?}");
    assert!(ours.len() > 300, "{}", ours.len());
    let definition = definition();
    // What was a word of other tools alone may be one of ours by now.
    let is_ours = |word: &str, command: &clap::Command| {
        let long = word.strip_prefix("--");
        long.is_some() && command.get_arguments().any(|own| own.get_long() == long)
    };
    let answers = |word: &str| {
        let mut commands = definition.get_subcommands().chain([&definition]);
        commands.any(|own| meant::instead(word, own).is_some() || is_ours(word, own))
    };
    let lost: Vec<_> =
        wrong.iter().filter(|(word, _)| !answers(word.trim_start_matches("wrong "))).collect();
    assert!(lost.is_empty(), "{lost:#?}");
    assert!(wrong.len() >= 15, "{}", wrong.len());
}

#[test]
fn what_never_was_a_word_is_none() {
    for line in ["chekc", "check --never", "list nothing", "run depth --json=x", "resume --title x"]
    {
        assert!(!is_understood(line), "{line}");
    }
}
