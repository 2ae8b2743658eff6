//! Text is generated from data at the end and never parsed: code that creates or shows findings must not search in a
//! text.
//!
//! Limits: it does not see words in variables or in arms of a `match`.

use super::source::blanked;
use super::{in_house, rust_files};

const LOOKING: [&str; 18] = [
    "starts_with",
    "ends_with",
    "contains",
    "strip_prefix",
    "strip_suffix",
    "trim_start_matches",
    "trim_end_matches",
    "split",
    "split_once",
    "rsplit",
    "rsplit_once",
    "splitn",
    "find",
    "rfind",
    "matches",
    "match_indices",
    "replace",
    "replacen",
];

const ROOMS: [&str; 8] =
    ["findings", "inference", "plan", "report", "results", "rules", "run", "store"];

/// A metric's name contains its unit: a contract with importers.
const UNIT: &str = "the unit in the name of a metric";

/// Permitted searches: file, words, and origin of the text.
const ALLOWED: [(&str, &str, &str); 23] = [
    ("report/exporters/custom_is_better.rs", "_per", UNIT),
    ("report/exporters/openmetrics.rs", "_per_", UNIT),
    ("report/exporters/openmetrics.rs", "_trials", UNIT),
    ("report/figures/series.rs", "_bytes_per_s", UNIT),
    ("report/articles.rs", ".csv", "the name of a file"),
    ("report/layout.rs", "GLUE", "a mark of ours that no text has: where lines may not break"),
    ("report/markdown.rs", "www.", "any text: forums make links of it"),
    ("run/abilities.rs", "LEVEL_MARK", "a mark of ours"),
    ("report/text.rs", "WWW", "any text: forums make links of it"),
    ("results/foreign.rs", "END", "the name of a result"),
    ("report/html/collection.rs", "devices/", "the name of a file"),
    ("report/html/collection/evidence.rs", ".json", "the name of a file"),
    ("store/collection.rs", "ROWS", "the name of a file"),
    ("store/parcel/incoming.rs", "BEGINNING", "the name of a directory"),
    ("store/parcel/limits.rs", ".json", "the name of a file"),
    ("results/imported.rs", "source-", "the name of a file"),
    ("results/vouch.rs", "simulated::PREFIX", "a target as the user writes it"),
    ("run/now.rs", "simulated::PREFIX", "a target as the user writes it"),
    ("run/places.rs", "simulated::PREFIX", "a target as the user writes it"),
    ("run/resolve.rs", "simulated::PREFIX", "a target as the user writes it"),
    ("store/commands.rs", "simulated::PREFIX", "a target as the user writes it"),
    ("run/abilities.rs", "Max locked memory", "a file of the kernel"),
    // The environments of bundles contain only these words.
    ("rules/cached.rs", "LOOP_IN_MEMORY", "a reason that was stored"),
];

/// Further ones, in files with several.
const KERNEL: [(&str, &str); 2] = [("rules/kernel_log.rs", "ata"), ("rules/kernel_log.rs", "usb ")];

fn looked_for(text: &str) -> Vec<(usize, String)> {
    let code = blanked(text);
    let end = code.find("mod tests {").unwrap_or(code.len());
    let mut found = Vec::new();
    for name in LOOKING {
        let call = format!(".{name}(");
        for (at, _) in code[..end].match_indices(&call) {
            let argument = text[at + call.len()..].trim_start().trim_start_matches('&');
            found.extend(words(argument).map(|words| (at, words)));
        }
    }
    for operator in ["== ", "!= "] {
        for (at, _) in code[..end].match_indices(operator) {
            let other = text[at + operator.len()..].trim_start_matches("Some(");
            let several = |words: &String| words.trim().contains(' ');
            found.extend(words(other).filter(several).map(|words| (at, words)));
        }
    }
    let line = |at: usize| 1 + text[..at].matches('\n').count();
    found.into_iter().map(|(at, words)| (line(at), words)).collect()
}

/// Returns the literal with letters, or the name of a constant, at the start of a text.
fn words(text: &str) -> Option<String> {
    let literal = text.strip_prefix('"').and_then(|rest| rest.split('"').next());
    let own = literal.or_else(|| constant(text))?;
    own.contains(|c: char| c.is_alphabetic()).then(|| own.to_owned())
}

fn constant(text: &str) -> Option<&str> {
    let path = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let own = text.split(|c: char| !path(c)).next()?;
    let last = own.rsplit("::").next()?;
    let shouts = |c: char| c.is_ascii_uppercase() || c == '_';
    (last.len() > 2 && last.chars().all(shouts)).then_some(own)
}

fn is_test(name: &str) -> bool {
    name.contains("tests") || name.contains("testing")
}

#[test]
fn words_are_never_parsed_back() {
    let mut wrong = Vec::new();
    for (name, text) in rust_files() {
        let Some(own) = in_house(&name) else { continue };
        if is_test(&own) || !ROOMS.iter().any(|room| own.starts_with(&format!("{room}/"))) {
            continue;
        }
        for (line, words) in looked_for(&text) {
            let allowed = ALLOWED.iter().any(|(file, known, _)| *file == own && *known == words)
                || KERNEL.contains(&(&*own, &*words));
            if !allowed {
                wrong.push(format!("{name}:{line}: looks for {words:?} in a text"));
            }
        }
    }
    assert!(wrong.is_empty(), "carry it as data:\n{}", wrong.join("\n"));
}

#[test]
fn what_is_allowed_is_there() {
    let files = rust_files();
    let known = ALLOWED.iter().map(|(file, words, _)| (*file, *words)).chain(KERNEL);
    for (file, words) in known {
        let own = files.iter().find(|(name, _)| in_house(name).as_deref() == Some(file));
        let there = own.is_some_and(|(_, text)| looked_for(text).iter().any(|(_, w)| w == words));
        assert!(there, "{file} no longer looks for {words:?}: take it off the list");
    }
}

#[test]
fn a_look_into_a_text_is_seen() {
    let one = |text: &str| looked_for(text).into_iter().map(|(_, words)| words).collect::<Vec<_>>();
    assert_eq!(one("note.starts_with(\"fragile\")"), ["fragile"]);
    assert_eq!(one("note\n.contains(\n&\"depth of\")"), ["depth of"]);
    assert_eq!(one("text.contains(words::NOT_ALONE)"), ["words::NOT_ALONE"]);
    assert_eq!(one("value == \"not recorded\" || name == \"order\""), ["not recorded"]);
    assert_eq!(one("text.split(\", \").find(own); // .contains(\"a\")"), Vec::<String>::new());
    assert_eq!(one("fn f() {}\nmod tests {\n x.contains(\"told\");\n}"), Vec::<String>::new());
}
