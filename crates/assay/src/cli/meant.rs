//! What was meant by a command line that nobody can run: words that other tools use, and the help
//! of the command that was asked for.

use std::ffi::OsString;

/// What people type for our commands.
const COMMANDS: &[(&str, &str)] = &[
    ("bench", "check"),
    ("benchmark", "check"),
    ("cleanup", "restore"),
    ("continue", "restore resume"),
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
    ("revert", "restore undo"),
    ("rm", "remove"),
    ("save", "export"),
    ("share", "export"),
    ("speed", "check"),
    ("start", "run"),
    ("studies", "list presets"),
    ("test", "check"),
    ("title", "note"),
    ("web", "serve"),
];

/// What people type for our options.
const OPTIONS: &[(&str, &str)] = &[
    ("--bs", "--set size=LEVEL"),
    ("--conclude", "--cleanup"),
    ("--duration", "--budget"),
    ("--export-json", "--json"),
    ("--export-markdown", "--markdown"),
    ("--fast", "--quick"),
    ("--iodepth", "--set depth=LEVEL"),
    ("--max-runs", "--runs"),
    ("--min-runs", "--runs"),
    ("--parameter-list", "--levels NAME VALUE,VALUE"),
    ("--parameter-scan", "--levels NAME VALUE,VALUE"),
    ("--port", "--listen ADDRESS:PORT"),
    ("--reference", "--baseline"),
    ("--repeat", "--replicates"),
    ("--runs", "--replicates"),
    ("--runtime", "--budget"),
    ("--setup", "--prepare"),
    ("--shell", "--no-shell"),
    ("--size", "--area"),
    ("--threads", "--set threads=LEVEL"),
    ("--time", "--budget"),
    ("-N", "--no-shell"),
    ("-i", "--ignore-failure"),
    ("-p", "--prepare"),
    ("-r", "--runs"),
];

/// What other tools need to be told and this one does by itself.
const NEEDLESS: &[(&str, &str)] = &[
    ("--force", "nothing is forced here; what may be overwritten or changed is said by name."),
    ("--warmup", "each command is run once before anything counts: leave it out."),
    ("--yes", "this command asks nothing: leave it out."),
    ("-w", "each command is run once before anything counts: leave it out."),
];

/// Options by which a user takes the loss of data or a change of the machine upon himself: he knows them, or
/// reads of them in the help, and no hint puts them into his hands.
pub(super) const CONSENTS: [&str; 4] = ["--destroy", "--yes", "--as-root", "--allow-tunable"];

/// Whether a line of the parser's advises one of them.
pub(super) fn is_harmful_tip(line: &str) -> bool {
    line.starts_with("tip:") && CONSENTS.iter().any(|option| line.contains(option))
}

/// A sentence on what was meant instead of a word that is none of ours.
pub(super) fn instead(wrong: &str) -> Option<String> {
    if let Some((_, why)) = NEEDLESS.iter().find(|(theirs, _)| *theirs == wrong) {
        return Some((*why).to_owned());
    }
    let known = if wrong.starts_with('-') { OPTIONS } else { COMMANDS };
    let (_, ours) = known.iter().find(|(theirs, _)| *theirs == wrong)?;
    let ours = if wrong.starts_with('-') { (*ours).to_owned() } else { format!("assay {ours}") };
    Some(format!("did you mean `{ours}`?"))
}

/// The help that tells more: that of the command, where one of ours was named.
pub(super) fn help(words: &[OsString], definition: &clap::Command) -> String {
    let named = words.iter().skip(1).filter_map(|word| word.to_str());
    let mut command = definition;
    let mut path = "assay".to_owned();
    for word in named.filter(|word| !word.starts_with('-')) {
        let Some(next) = command.find_subcommand(word) else { break };
        path = format!("{path} {word}");
        command = next;
    }
    format!("{path} --help")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use clap::error::ErrorKind;

    use super::super::{Arguments, PAGE_COLUMNS, definition, read};
    use super::*;

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
        let options: Vec<String> = definition
            .get_subcommands()
            .flat_map(|command| command.get_arguments().filter_map(|one| one.get_long()))
            .map(|long| format!("--{long}"))
            .collect();
        for (theirs, ours) in OPTIONS {
            let word = ours.split(' ').next().unwrap();
            assert!(options.iter().any(|known| known == word), "{theirs}: {ours}");
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
        let told = told("assay restore undo --yes").unwrap();
        assert!(told.contains("this command asks nothing: leave it out. See assay restore undo"));
    }

    #[test]
    fn the_help_is_that_of_the_command() {
        let of = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            help(&words, &definition())
        };
        assert_eq!(of(&["assay", "check", "--size"]), "assay check --help");
        assert_eq!(of(&["assay", "--quiet", "calc", "raid", "x"]), "assay calc raid --help");
        assert_eq!(of(&["assay", "bench"]), "assay --help");
    }
}
