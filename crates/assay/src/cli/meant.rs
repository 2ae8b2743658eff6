//! Suggestions for invalid command lines: equivalents of other tools' words, and the help of the requested command.

use std::ffi::OsString;
use std::path::Path;

use assay_core::catalogue;
use assay_machine::system::quoted;
use assay_study::file::{fields, fio_job, presets};
use assay_workloads::KINDS;

/// Words of other tools for our commands and options. After each tab follows an answer: an option, a command, or a
/// sentence, optionally limited to commands with a given option.
const WORDS: &str = include_str!("meant.tsv");
/// Options by which a user accepts data loss or changes of the machine; no hint suggests them.
pub(super) const CONSENTS: [&str; 4] = ["--destroy", "--yes", "--as-root", "--allow-tunable"];

/// Returns the answers for a word of another tool, the best first.
fn answers(wrong: &str) -> impl Iterator<Item = &'static str> {
    let is_of = |row: &&str| {
        row.split('\t').next().is_some_and(|forms| forms.split(' ').any(|form| form == wrong))
    };
    WORDS.lines().find(is_of).into_iter().flat_map(|row| row.split('\t').skip(1))
}

pub(super) fn first_answer(wrong: &str) -> Option<String> {
    answers(wrong).next().map(str::to_owned)
}

/// Returns whether a command has an option, ignoring text after its name.
fn has_option(command: &clap::Command, option: &str) -> bool {
    let name = option.split(' ').next().and_then(|word| word.strip_prefix("--"));
    if option.starts_with("--set ") && !takes_keys(command) {
        return false;
    }
    name.is_some() && command.get_arguments().any(|it| it.get_long() == name)
}

/// Returns whether `--set` of a command sets study keys.
fn takes_keys(command: &clap::Command) -> bool {
    ["run", "plan"].contains(&command.get_name())
}

/// Suggests the key that a word resembles: `--runs-per-trial` becomes `--set runs_per_trial=VALUE`.
fn similar_key(wrong: &str, command: &clap::Command) -> Option<String> {
    if !takes_keys(command) {
        return None;
    }
    let name = wrong.strip_prefix("--")?.replace('-', "_");
    if KINDS.iter().any(|kind| kind.about.name == name) {
        let is_preset = presets::find(&name).is_some();
        return is_preset.then(|| format!("assay {} {name}", command.get_name()));
    }
    // Keys of lists have no single place.
    let lists = [fields::QUESTION.label, fields::PUBLISHED.label];
    let mut tables = fields::tables().filter(|table| !lists.contains(&table.label));
    let named = tables.find(|table| table.find(&name).is_some())?;
    let is_part = fields::STUDY.find(named.label).is_some();
    let table = if is_part { format!("{}.", named.label) } else { String::new() };
    Some(format!("--set {table}{name}=VALUE"))
}

/// Returns the first answer that applies to the command, or else a study key of a similar name.
fn known_answer(wrong: &str, command: &clap::Command) -> Option<String> {
    let answer = answers(wrong).find_map(|answer| match answer.split_once(": ") {
        Some((option, sentence)) => has_option(command, option).then_some(sentence),
        None => (!answer.starts_with("--") || has_option(command, answer)).then_some(answer),
    });
    answer.map(str::to_owned).or_else(|| similar_key(wrong, command))
}

/// Returns whether an option is a fio job-file key, given to a command that can run job files.
fn is_of_fio(wrong: &str, command: &clap::Command) -> bool {
    let name = wrong.trim_start_matches('-').replace('-', "_");
    let mut keys = [&fio_job::TRANSLATED[..], &fio_job::ALWAYS_ACTIVE, &fio_job::REPORT_ONLY]
        .into_iter()
        .flatten();
    ["assay", "check", "plan", "run"].contains(&command.get_name()) && keys.any(|key| *key == name)
}

/// Suggests a replacement for an unknown option, or the command that has it; never consent.
fn instead_of_option(
    wrong: &str,
    command: &clap::Command,
    path: &str,
    words: &[OsString],
    definition: &clap::Command,
) -> Option<String> {
    if CONSENTS.contains(&wrong) {
        return known_answer(wrong, command);
    }
    if has_option(command, wrong) {
        return Some(format!("{path} {wrong}"));
    }
    if let Some(answer) = known_answer(wrong, command) {
        return Some(answer);
    }
    // `run` takes more options than `check`, also for the same study.
    if path == "assay check"
        && let Some(run) = definition.find_subcommand("run")
    {
        let of_run = known_answer(wrong, run);
        let option = of_run.or_else(|| has_option(run, wrong).then(|| wrong.to_owned()));
        if let Some(option) = option.filter(|option| option.starts_with("--")) {
            return Some(format!("assay run {} {option}", study_of_check(words)));
        }
    }
    if is_of_fio(wrong, command) {
        return Some("assay run FILE.fio".to_owned());
    }
    if path == "assay"
        && let Some(other) = definition.get_subcommands().find(|other| has_option(other, wrong))
    {
        return Some(format!("assay {} {wrong}", other.get_name()));
    }
    let names = command.get_arguments().filter_map(clap::Arg::get_long);
    let names = names.filter(|name| !CONSENTS.contains(&format!("--{name}").as_str()));
    let similar = catalogue::nearest(wrong.trim_start_matches('-'), names)?;
    Some(format!("--{similar}"))
}

/// Returns the study of an `assay check` line: that of `--for`, if given.
fn study_of_check(words: &[OsString]) -> &str {
    let mut words = words.iter().filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        if let Some(name) = word.strip_prefix("--for=") {
            return name;
        }
        if word == "--for" {
            return words.next().unwrap_or("check");
        }
    }
    "check"
}

/// Suggests a command for an unknown first word: a command of another tool, a study, a file or a directory.
fn instead_of_command(wrong: &str) -> Option<String> {
    if let Some(ours) = first_answer(wrong) {
        return Some(ours);
    }
    let extension = Path::new(wrong).extension().and_then(|end| end.to_str());
    let is_study_file = matches!(extension, Some("toml" | "fio" | "job" | "ini"));
    let command = if is_study_file || presets::find(wrong).is_some() {
        "run"
    } else if matches!(extension, Some("csv" | "json")) {
        "import"
    } else if wrong.starts_with(['.', '/']) {
        "check"
    } else {
        return None;
    };
    Some(format!("assay {command} {}", quoted(wrong)))
}

/// Suggests the command for lines in hyperfine's form.
fn instead_of_lines(words: &[OsString]) -> Option<String> {
    let words = words.iter().skip(1).filter_map(|word| word.to_str());
    let lines = words.filter(|word| word.contains(' ') && !word.starts_with('-'));
    let lines: Vec<String> = lines.map(|line| format!(" --command {}", quoted(line))).collect();
    let lines = lines.concat();
    (!lines.is_empty()).then(|| format!("assay run{lines}"))
}

/// Suggests a replacement for an unknown word; an option only if the command has it.
pub(super) fn instead(wrong: &str, words: &[OsString], root: &clap::Command) -> Option<String> {
    let (command, path) = named(words, root);
    let is_first = path == "assay";
    let ours = if is_first && let Some(line) = instead_of_lines(words) {
        line
    } else if wrong.starts_with('-') {
        instead_of_option(wrong, command, &path, words, root)?
    } else if is_first && let Some(line) = instead_of_command(wrong) {
        line
    } else {
        let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        let similar = catalogue::nearest(wrong, inner.map(clap::Command::get_name))?;
        format!("{path} {similar}")
    };
    let is_typed = ours.starts_with("--") || ours.starts_with("assay ");
    Some(if is_typed { format!("use `{ours}`") } else { ours })
}

/// Returns the error for a line without a study: lists the presets and shows how to run one.
pub(super) fn no_study(path: &str) -> String {
    let names: Vec<&str> = presets::all().map(|(name, _)| name).collect();
    let rows = names.chunks(3).map(|row| {
        let row: Vec<String> = row.iter().map(|name| format!("  {name:<22}")).collect();
        let row = row.concat();
        format!("{}\n", row.trim_end())
    });
    format!(
        "no study: name a preset (see `assay list presets`) or a study file:\n{}\
         Usage: {path} STUDY [TARGET]... [OPTIONS]",
        rows.collect::<String>()
    )
}

/// Returns the command that the words name, and its typed form.
pub(super) fn named<'d>(
    words: &[OsString],
    definition: &'d clap::Command,
) -> (&'d clap::Command, String) {
    let named = words.iter().skip(1).filter_map(|word| word.to_str());
    let mut command = definition;
    let mut path = "assay".to_owned();
    for word in named.filter(|word| !word.starts_with('-')) {
        let Some(next) = command.find_subcommand(word) else { break };
        path = format!("{path} {word}");
        command = next;
    }
    (command, path)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap::error::ErrorKind;

    use assay_testkit::needs::{count, is_in_full, is_sampled};

    use super::super::refusals::is_command;
    use super::super::{CommandLine, PAGE_COLUMNS, definition, read};
    use super::*;

    fn foreign() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
        let rows = WORDS.lines().map(|row| row.split('\t').collect::<Vec<_>>());
        let words =
            rows.flat_map(|row| row[0].split(' ').map(move |word| (word, row[1..].to_vec())));
        words.filter(|(word, _)| word.starts_with('-'))
    }

    #[test]
    fn what_is_meant_exists() {
        let definition = definition();
        for row in WORDS.lines() {
            let (theirs, ours) = row.split_once('\t').unwrap();
            let commands = ours.split('\t').filter(|ours| ours.starts_with("assay "));
            commands.for_each(|ours| assert!(is_command(ours), "{row}"));
            let own = theirs.split(' ').find(|word| definition.find_subcommand(word).is_some());
            assert_eq!(own, None, "is one of ours");
        }
    }

    fn commands(command: &clap::Command, path: &[&str]) -> Vec<String> {
        let own = [path, &[command.get_name()]].concat();
        let below = command.get_subcommands().flat_map(|below| commands(below, &own));
        std::iter::once(own.join(" ")).chain(below).collect()
    }

    fn told(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = read(&words, PAGE_COLUMNS).err().filter(clap::Error::use_stderr)?;
        Some(super::super::explained(&error, &words).replace('\n', " "))
    }

    #[test]
    fn no_hint_puts_an_option_of_consent_into_the_users_hands() {
        let mistyped = [
            "--force",
            "--yes",
            "--destory",
            "--destroy-all",
            "--as-rot",
            "--allow-tunabel",
            "--allow",
            "-y",
            "-f",
        ];
        let mut hints = 0;
        for command in commands(&CommandLine::command(), &[]) {
            for word in mistyped {
                for line in [format!("{command} {word}"), format!("{command} {word} x y")] {
                    let Some(told) = told(&line) else { continue };
                    let others = told.replace(&format!("`{word}`"), "");
                    let named = CONSENTS.iter().find(|option| others.contains(**option));
                    assert_eq!(named, None, "{line}: {told}");
                    hints += 1;
                }
            }
        }
        assert!(hints > 300, "{hints}");
        assert!(told("assay check --quik").unwrap().contains("--quick"));
        let told = told("assay advise undo --yes").unwrap();
        assert!(told.contains("does not prompt; remove the option"));
    }

    fn hint(told: &str) -> Option<&str> {
        told.split_once(": use `")?.1.split('`').next()
    }

    #[test]
    #[ignore = "nightly: 4 s"]
    fn a_hint_names_an_option_only_to_a_command_that_has_it() {
        let mut heard = std::collections::BTreeSet::new();
        let (mut hints, mut silent) = (0, 0);
        for (at, command) in (0..).zip(commands(&CommandLine::command(), &[])) {
            if !(command == "assay run" || is_sampled(at, 4)) {
                continue;
            }
            for (word, _) in foreign() {
                for line in [format!("{command} {word}"), format!("{command} {word} 10s")] {
                    let Some(told) = told(&line) else { continue };
                    let Some(hint) = hint(&told) else {
                        silent += 1;
                        continue;
                    };
                    let is_whole = hint.starts_with("assay ");
                    let words =
                        if is_whole { hint.to_owned() } else { format!("{command} {hint}") };
                    let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
                    let unknown = read(&words, PAGE_COLUMNS)
                        .is_err_and(|error| error.kind() == ErrorKind::UnknownArgument);
                    assert!(!unknown, "{line}: {told}");
                    heard.insert(word);
                    hints += 1;
                }
            }
        }
        let least = count(25, 100);
        assert!(hints > least && silent > least, "{hints} hints, {silent} without one");
        let is_typed = |answers: &[&str]| answers[0].starts_with('-') && !answers[0].contains(": ");
        let silent = foreign().filter(|(word, answers)| is_typed(answers) && !heard.contains(word));
        let unheard: Vec<_> = silent.collect();
        assert!(unheard.is_empty() || !is_in_full(), "no command has what {unheard:?} stand for");
    }

    #[test]
    fn one_word_means_to_each_command_what_that_has() {
        let hint = |line: &str| {
            let told = told(line).unwrap();
            hint(&told).map(str::to_owned)
        };
        let is = |line: &str, ours: &str| assert_eq!(hint(line).as_deref(), Some(ours), "{line}");
        is("assay watch --time 10s", "--duration");
        is("assay watch --for=10s", "--duration");
        is("assay peer --runtime 1h", "--duration");
        is("assay check --time 10s", "--budget");
        is("assay run queue-depth --duration 10s", "--budget");
        is("assay run queue-depth --time 10s", "--set runtime=TIME");
        is("assay plan queue-depth --must-detect=9%", "--set gate.must_detect=VALUE");
        is("assay run check --metric p99", "--set gate.metric=VALUE");
        is("assay run --command true --ignore-failure", "--set ignore_failure=VALUE");
        is("assay report --export-markdown a.md", "--format");
        is("assay compare A B --export-json", "--json");
        is("assay advise confirm --runs 10", "--replicates");
        is("assay check --set a=1", "assay run check --set");
        is("assay check --for=etcd --set a=1", "assay run etcd --set");
        is("assay check --for etcd --set a=1", "assay run etcd --set");
        is("assay check --iodepth=32", "assay run check --set queue_depth=LEVEL");
        for line in ["assay doctor --time 10s", "assay show --size 1G", "assay list --fast"] {
            assert_eq!(hint(line), None, "{line}");
        }
        assert!(told("assay run --command true --warmup 3").unwrap().contains("remove the option"));
        assert!(!told("assay watch --warmup 3").unwrap().contains("remove the option"));
    }

    #[test]
    fn the_help_is_that_of_the_command() {
        let of = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            named(&words, &definition()).1
        };
        assert_eq!(of(&["assay", "check", "--size"]), "assay check");
        assert_eq!(of(&["assay", "--quiet", "calc", "raid", "x"]), "assay calc raid");
        assert_eq!(of(&["assay", "bench"]), "assay");
    }
}
