//! `assay completions`: prints the shell script that requests candidates from this program.

use std::ffi::{OsStr, OsString};

use clap::{Args, Command, ValueEnum};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};

use super::list::ListKind;
use super::{definition, output, registries};
use crate::store;
use assay_core::failure::Outcome;
use assay_machine::probes;
use assay_machine::system::{System, devices};
use assay_study::file::{Study, fields, presets, text};
use assay_workloads::metrics;

/// Environment variable with the shell of a request.
const VARIABLE: &str = "ASSAY_COMPLETE";

/// Print shell completions
///
/// Load the script at the start of the shell, so that it fits the installed version.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(assay completions bash)                in ~/.bashrc
  source <(assay completions zsh)                 in ~/.zshrc, after compinit
  assay completions fish | source                 in ~/.config/fish/config.fish")]
pub struct CompletionsArguments {
    /// Shell: bash, zsh or fish
    #[arg(value_name = "SHELL", value_parser = ["bash", "zsh", "fish"])]
    shell: String,
}

pub fn run(arguments: &CompletionsArguments) -> Outcome<()> {
    output::document(&script(&arguments.shell)?);
    Ok(())
}

fn script(shell: &str) -> Outcome<String> {
    let shells = Shells::builtins();
    let completer = shells.completer(shell).ok_or_else(|| mistake!("unknown shell `{shell}`"))?;
    let mut text = Vec::new();
    // Without this, the first completion after zsh loads `_assay` finds nothing.
    let autoload = "[[ $funcstack[1] == _assay ]] && _clap_dynamic_completer_assay\n";
    completer
        .write_registration(VARIABLE, "assay", "assay", "assay", &mut text)
        .map_err(|error| refused!("cannot write the script: {error}"))?;
    if shell == "zsh" {
        text.extend(autoload.bytes());
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Prints the candidates that a shell's script requests; returns false if none does.
pub(super) fn complete(system: &dyn System, words: &[OsString]) -> Outcome<bool> {
    if system.variable(VARIABLE).is_none_or(|shell| shell.is_empty()) {
        return Ok(false);
    }
    let environment = CompleteEnv::with_factory(|| completed(system, words)).var(VARIABLE);
    environment.try_complete(words, None).map_err(|error| mistake!("{VARIABLE}: {error}"))
}

fn completed(system: &dyn System, words: &[OsString]) -> Command {
    let after = |command: &str| {
        let index = words.iter().position(|word| word == command)?;
        words.get(index + 1)?.to_str()
    };
    let study =
        after("run").or(after("plan")).and_then(presets::find).unwrap_or_else(presets::check);
    let kind = after("list").and_then(|word| ListKind::from_str(word, true).ok());
    let names = kind.map(|kind| names(system, kind)).unwrap_or_default();
    let (keys, results) = (study.map(|study| keys(&study)).unwrap_or_default(), results(system));
    let presets: Vec<String> = presets::names().map(str::to_owned).collect();
    // Returns an argument's values, and whether paths are valid, too.
    attach(definition(), &|arg, value| {
        Some(match (arg, value) {
            // Consent is never completed.
            ("destroy", _) => return None,
            ("preset", _) => (presets.clone(), false),
            ("entry", _) => (names.clone(), false),
            (_, "USE") => (presets::fitness().map(|(name, _)| name.to_owned()).collect(), true),
            (_, "STUDY") => (presets.clone(), true),
            (_, "ID") => (results.clone(), false),
            (_, "ID|PATH" | "RESULT|AREA") => (results.clone(), true),
            (_, "NAME=VALUE,VALUE" | "NAME=LEVEL") => (keys.clone(), false),
            (_, "METRIC") => (metrics::names().into_iter().map(str::to_owned).collect(), false),
            (_, "TARGET" | "FILE" | "PATH" | "DIR" | "DIRECTORY") => (Vec::new(), true),
            _ => return None,
        })
    })
}

/// Values by the names of argument and value, and whether paths are valid, too.
type Values<'a> = dyn Fn(&str, &str) -> Option<(Vec<String>, bool)> + 'a;

/// Adds the candidates to the arguments of a command and its subcommands.
fn attach(command: Command, values: &Values<'_>) -> Command {
    let command = command.mut_args(|arg| {
        let name = arg.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
        let Some((candidates, has_paths)) = values(arg.get_id().as_str(), name) else { return arg };
        arg.add(ArgValueCompleter::new(move |current: &OsStr| {
            let is_begun = |word: &&String| word.as_bytes().starts_with(current.as_encoded_bytes());
            let matches = candidates.iter().filter(is_begun).map(CompletionCandidate::new);
            let paths = has_paths.then(|| PathCompleter::any().complete(current));
            matches.chain(paths.into_iter().flatten()).collect()
        }))
    });
    command.mut_subcommands(|inner| attach(inner, values))
}

fn results(system: &dyn System) -> Vec<String> {
    let paths = store::all_results(system).unwrap_or_default();
    paths.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
}

/// Returns factors and study keys as `--set` takes them.
fn keys(study: &Study) -> Vec<String> {
    let factors = registries::factors_described().into_iter();
    let mut found: Vec<String> = factors.map(|(about, _)| format!("{}=", about.name)).collect();
    for table in fields::tables() {
        let names = table
            .rows
            .iter()
            .flat_map(|field| [field.name.to_owned(), format!("{}.{}", table.label, field.name)]);
        found.extend(names.filter(|name| text::is_key(study, name)).map(|name| format!("{name}=")));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns the names of a list, without reading drives and probes.
fn names(system: &dyn System, kind: ListKind) -> Vec<String> {
    match kind {
        ListKind::Results => results(system),
        ListKind::Drives => devices::drives(system).into_iter().map(|drive| drive.name).collect(),
        ListKind::Presets => presets::names().map(str::to_owned).collect(),
        ListKind::Probes => probes::names().into_iter().map(str::to_owned).collect(),
        _ => kind.entries(system).unwrap_or_default().into_iter().map(|entry| entry.name).collect(),
    }
}

#[cfg(test)]
mod tests {
    use assay_machine::system::Fake;

    use super::*;

    fn candidates(line: &str) -> Vec<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let fake = Fake::new();
        fake.set_variable("ASSAY_HOME", "/home").put("/home/results/20261120-ab12/plan.json", "{}");
        let (mut command, last) = (completed(&fake, &words), words.len() - 1);
        let found = clap_complete::engine::complete(&mut command, words, last, None).unwrap();
        found.iter().map(|one| one.get_value().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn values_of_arguments_are_completed() {
        for (line, value) in [
            ("assay run ", "queue-depth"),
            ("assay run queue-depth --set sch", "scheduler="),
            ("assay show ", "20261120-ab12"),
            ("assay list metrics io", "iops"),
            ("assay check --for ", "etcd"),
        ] {
            let found = candidates(line);
            assert!(found.iter().any(|one| one == value), "{line}: {found:?}");
        }
        assert!(candidates("assay run check --destroy ").iter().all(|one| one.starts_with('-')));
        assert!(!candidates("assay ").iter().any(|one| one == "watchdog"));
        assert!(["bash", "zsh", "fish"].iter().all(|shell| script(shell).is_ok()));
    }
}
