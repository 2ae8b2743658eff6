//! What was meant by a command line that nobody can run: words that other tools use, and the help
//! of the command that was asked for.

use std::ffi::OsString;

use assay_study::study::fields;

/// What people type for our commands.
const COMMANDS: &[(&str, &str)] = &[
    ("bench", "check"),
    ("benchmark", "check"),
    ("cleanup", "restore"),
    ("continue", "resume"),
    ("delete", "remove"),
    ("diff", "compare"),
    ("history", "list results"),
    ("html", "report"),
    ("info", "doctor"),
    ("iostat", "watch"),
    ("load", "import"),
    ("ls", "list"),
    ("measure", "check"),
    ("monitor", "watch"),
    ("presets", "list presets"),
    ("preview", "plan"),
    ("recommend", "advise"),
    ("recover", "restore"),
    ("results", "list results"),
    ("revert", "advise undo"),
    ("rm", "remove"),
    ("save", "export"),
    ("serve", "report --all"),
    ("share", "export"),
    ("speed", "check"),
    ("start", "run"),
    ("studies", "list presets"),
    ("test", "check"),
    ("title", "note"),
    ("web", "report --all"),
];

/// What people type for our options, and what those are called here: the first that the command has.
const OPTIONS: &[(&str, &[&str])] = &[
    ("--area", &["--set area.size=SIZE"]),
    ("--bs", &["--set block_size=LEVEL"]),
    ("--duration", &["--budget"]),
    ("--every", &["--interval"]),
    ("--export-json", &["--json"]),
    ("--export-markdown", &["--markdown", "--format"]),
    ("--fast", &["--quick"]),
    ("--for", &["--duration"]),
    ("--iodepth", &["--set queue_depth=LEVEL"]),
    ("--max-runs", &["--replicates"]),
    ("--min-runs", &["--replicates"]),
    ("--no-shell", &["--set shell=false"]),
    ("--parameter-scan", &["--parameter-list NAME VALUE,VALUE"]),
    ("--port", &["--listen ADDRESS:PORT"]),
    ("--reference", &["--baseline"]),
    ("--repeat", &["--replicates"]),
    ("--runs", &["--replicates"]),
    ("--runtime", &["--set runtime=TIME", "--budget", "--duration"]),
    ("--size", &["--set area.size=SIZE", "--area"]),
    ("--threads", &["--set threads=LEVEL"]),
    ("--time", &["--set runtime=TIME", "--budget", "--duration"]),
    ("-N", &["--set shell=false"]),
    ("-i", &["--set ignore_failure=true"]),
    ("-p", &["--prepare"]),
    ("-r", &["--replicates"]),
];

/// Why what other tools need to be told is left out here.
const NOTHING_IS_FORCED: &str = "Assay has no force option; name what to overwrite or change.";
const RUN_ONCE_BEFORE: &str =
    "Assay already runs each command once as a warm-up; remove the option.";
const NOTHING_IS_ASKED: &str = "this command does not prompt; remove the option.";

/// What other tools need to be told and this one does by itself; some of it only beside an option of ours.
const NEEDLESS: &[(&str, Option<&str>, &str)] = &[
    ("--force", None, NOTHING_IS_FORCED),
    ("--warmup", Some("--command"), RUN_ONCE_BEFORE),
    ("--yes", None, NOTHING_IS_ASKED),
    ("-w", Some("--command"), RUN_ONCE_BEFORE),
];

/// Options by which a user takes the loss of data or a change of the machine upon himself: he knows them, or
/// reads of them in the help, and no hint puts them into his hands.
pub(super) const CONSENTS: [&str; 4] = ["--destroy", "--yes", "--as-root", "--allow-tunable"];

/// Whether a line of the parser's advises one of them.
pub(super) fn is_harmful_tip(line: &str) -> bool {
    line.starts_with("tip:") && CONSENTS.iter().any(|option| line.contains(option))
}

/// Whether a command has an option, by the name that is typed; what may follow it does not matter.
fn has(command: &clap::Command, option: &str) -> bool {
    let name = option.split(' ').next().and_then(|word| word.strip_prefix("--"));
    if option.starts_with("--set ") && !takes_keys(command) {
        return false;
    }
    name.is_some() && command.get_arguments().any(|own| own.get_long() == name)
}

/// Whether `--set` of a command sets keys of a study.
fn takes_keys(command: &clap::Command) -> bool {
    ["run", "plan"].contains(&command.get_name())
}

/// The option that sets the key that a word is called like: `--runs-per-trial` is `--set runs_per_trial=VALUE`.
fn key(wrong: &str, command: &clap::Command) -> Option<String> {
    let name = wrong.strip_prefix("--").filter(|_| takes_keys(command))?.replace('-', "_");
    let named = fields::tables().find(|table| table.find(&name).is_some())?;
    let is_part = fields::STUDY.find(named.label).is_some();
    let table = if is_part { format!("{}.", named.label) } else { String::new() };
    Some(format!("--set {table}{name}=VALUE"))
}

/// A sentence on what was meant instead of a word that is none of ours; an option only if the command has it.
pub(super) fn instead(wrong: &str, command: &clap::Command) -> Option<String> {
    let needless = |(theirs, beside, _): &&(&str, Option<&str>, &str)| {
        *theirs == wrong && beside.is_none_or(|option| has(command, option))
    };
    if let Some((_, _, why)) = NEEDLESS.iter().find(needless) {
        return Some((*why).to_owned());
    }
    let ours = if wrong.starts_with('-') {
        let ours = OPTIONS.iter().find(|(theirs, _)| *theirs == wrong);
        let ours = ours.and_then(|(_, ours)| ours.iter().find(|option| has(command, option)));
        ours.map(|option| (*option).to_owned()).or_else(|| key(wrong, command))?
    } else {
        let (_, ours) = COMMANDS.iter().find(|(theirs, _)| *theirs == wrong)?;
        format!("assay {ours}")
    };
    Some(format!("did you mean `{ours}`?"))
}

/// The command that words name, as far as they are ours, and how it is typed.
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

    use assay_lab::needs::{count, is_in_full, is_sampled};

    use super::super::{Arguments, PAGE_COLUMNS, definition, read};
    use super::*;

    /// Every word of another tool that stands for one of our options, or for nothing.
    fn foreign() -> impl Iterator<Item = &'static str> {
        let options = OPTIONS.iter().map(|(theirs, _)| *theirs);
        options.chain(NEEDLESS.iter().map(|(theirs, ..)| *theirs))
    }

    #[test]
    fn what_is_meant_exists() {
        let definition = definition();
        for (theirs, ours) in COMMANDS {
            let words = format!("assay {ours}");
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            let parsed = read(&words, PAGE_COLUMNS);
            // What else it needs is told then.
            let known = parsed.map_err(|error| error.kind());
            let fine = matches!(known, Ok(_) | Err(ErrorKind::MissingRequiredArgument));
            assert!(fine, "{theirs}: {ours}");
            assert!(definition.find_subcommand(theirs).is_none(), "{theirs} is one of ours");
        }
    }

    /// Every command of the program, as the words that name it.
    fn commands(command: &clap::Command, path: &[&str]) -> Vec<String> {
        let own = [path, &[command.get_name()]].concat();
        let below = command.get_subcommands().flat_map(|below| commands(below, &own));
        std::iter::once(own.join(" ")).chain(below).collect()
    }

    /// What is told of a line that nobody can run.
    fn told(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = read(&words, PAGE_COLUMNS).err().filter(clap::Error::use_stderr)?;
        Some(super::super::one_line(&error, &words))
    }

    #[test]
    fn no_hint_puts_an_option_of_consent_into_the_users_hands() {
        let mistyped = [
            "--force",
            "--yes",
            "--yess",
            "--ye",
            "--destory",
            "--destro",
            "--destroy-all",
            "--as-rot",
            "--asroot",
            "--allow-tunabel",
            "--allow-tunables",
            "--allow",
            "-y",
            "-f",
        ];
        let mut hints = 0;
        for command in commands(&Arguments::command(), &[]) {
            for word in mistyped {
                for line in [format!("{command} {word}"), format!("{command} {word} x y")] {
                    let Some(told) = told(&line) else { continue };
                    let others = told.replace(&format!("'{word}'"), "");
                    let named = CONSENTS.iter().find(|option| others.contains(**option));
                    assert_eq!(named, None, "{line}: {told}");
                    hints += 1;
                }
            }
        }
        assert!(hints > 500, "{hints}");
        // Other slips are helped with as ever.
        assert!(told("assay check --quik").unwrap().contains("--quick"));
        let told = told("assay advise undo --yes").unwrap();
        assert!(told.contains("does not prompt; remove the option"));
    }

    /// What a text says that was meant.
    fn hint(told: &str) -> Option<&str> {
        told.split_once("did you mean `")?.1.split('`').next()
    }

    /// Of every command and every foreign word: what is said of it is an option that this very command has,
    /// as its own parser tells.
    #[test]
    #[ignore = "nightly: 4 s"]
    fn a_hint_names_an_option_only_to_a_command_that_has_it() {
        let mut heard = std::collections::BTreeSet::new();
        let (mut hints, mut silent) = (0, 0);
        for (at, command) in (0..).zip(commands(&Arguments::command(), &[])) {
            if !(command == "assay run" || is_sampled(at, 4)) {
                continue;
            }
            for word in foreign() {
                for line in [format!("{command} {word}"), format!("{command} {word} 10s")] {
                    let Some(told) = told(&line) else { continue };
                    // What is not an option is a value: a unit, a name.
                    let Some(hint) = hint(&told).filter(|hint| hint.starts_with('-')) else {
                        silent += 1;
                        continue;
                    };
                    let words = format!("{command} {hint}");
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
        let needless = |word: &str| NEEDLESS.iter().any(|(theirs, ..)| *theirs == word);
        let unheard: Vec<&str> =
            foreign().filter(|word| !needless(word) && !heard.contains(word)).collect();
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
        is("assay run --command true --ignore-failure", "--set ignore_failure=VALUE");
        is("assay report --export-markdown a.md", "--format");
        is("assay compare A B --export-json", "--json");
        is("assay advise confirm --runs 10", "--replicates");
        for line in ["assay doctor --time 10s", "assay show --size 1G", "assay list --fast"] {
            assert_eq!(hint(line), None, "{line}");
        }
        // What is true of commands that are timed is said of them alone.
        assert!(told("assay run --command true --warmup 3").unwrap().contains(RUN_ONCE_BEFORE));
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
