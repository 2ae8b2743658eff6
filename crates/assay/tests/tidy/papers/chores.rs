//! Commands of developers: chores, tests of a crate, programs of the workspace.

use super::text::commands;
use super::tree::Tree;

/// What may follow `cargo`.
const CARGO: [&str; 12] = [
    "build",
    "clippy",
    "deny",
    "fmt",
    "install",
    "machete",
    "mutants",
    "package",
    "run",
    "test",
    "uninstall",
    "xtask",
];

/// Faults of a page in the commands that it shows.
pub fn faults(tree: &Tree, text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, command) in commands(text) {
        let mut words = command.split_whitespace().skip_while(|word| word.contains('='));
        if words.next() != Some("cargo") {
            continue;
        }
        let words: Vec<&str> = words.collect();
        let wrong = match words[..] {
            ["xtask", ref rest @ ..] => chore(tree, rest),
            ["test" | "mutants", ref rest @ ..] => tested(tree, rest),
            [first, ref rest @ ..] if CARGO.contains(&first) => packages(tree, rest),
            [] => Vec::new(),
            _ => vec!["cargo has no such command".to_owned()],
        };
        found.extend(wrong.into_iter().map(|wrong| (line, format!("`{command}`: {wrong}"))));
    }
    found
}

/// A chore with its options.
fn chore(tree: &Tree, words: &[&str]) -> Vec<String> {
    let Some((name, options)) = words.split_first() else { return Vec::new() };
    let Some((_, usage)) = tree.chores().into_iter().find(|(own, _)| own == name) else {
        return if *name == "help" { Vec::new() } else { vec![format!("no chore {name}")] };
    };
    let known: Vec<&str> =
        usage.split(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_')).collect();
    let own = options.iter().take_while(|word| **word != "--");
    let mut wrong = Vec::new();
    let mut takes = false;
    for word in own {
        let option = word.starts_with("--");
        if option && !known.contains(word) {
            wrong.push(format!("{name} has no option {word}"));
        }
        // A word after an option may be its value.
        if !option && !takes && !known.contains(word) {
            wrong.push(format!("{name} takes no {word}"));
        }
        takes = option;
    }
    wrong
}

/// The crates that are named.
fn packages(tree: &Tree, words: &[&str]) -> Vec<String> {
    let named = words.windows(2).filter(|pair| ["-p", "--package"].contains(&pair[0]));
    let is_known = |name: &str| {
        name == "xtask" || tree.files.contains_key(&format!("crates/{name}/Cargo.toml"))
    };
    named.filter(|pair| !is_known(pair[1])).map(|pair| format!("no crate {}", pair[1])).collect()
}

/// Tests of a crate by a part of their names.
fn tested(tree: &Tree, words: &[&str]) -> Vec<String> {
    let mut wrong = packages(tree, words);
    let value = |option: &str| words.windows(2).find(|pair| pair[0] == option).map(|pair| pair[1]);
    let Some(package) = value("-p").filter(|_| wrong.is_empty()) else { return wrong };
    let target = value("--test");
    let folder = format!("crates/{package}/tests/");
    if let Some(target) = target
        && !tree.has(&format!("{folder}{target}.rs"))
        && !tree.has(&format!("{folder}{target}"))
    {
        wrong.push(format!("{package} has no tests/{target}"));
    }
    let Some(last) = words.iter().rposition(|word| *word == "--") else { return wrong };
    let tests = tree.tests(package, target);
    let filters = words[last + 1..].iter().filter(|word| !word.starts_with('-'));
    let lost = filters.filter(|filter| !tests.iter().any(|test| test.contains(**filter)));
    wrong.extend(lost.map(|filter| format!("no test of {package} has {filter} in its name")));
    wrong
}
