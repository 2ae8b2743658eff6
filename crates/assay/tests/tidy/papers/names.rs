//! Names in backticks: paths, tests and modules, words of programs, rows of registries, variables.

use super::text::{blocks, quoted, regex};
use super::tree::{Tree, ends, is_known};

/// Registry words: what stands before a name, and the page or folder that lists the names.
const REGISTRIES: [(&str, &str); 4] =
    [("rule", "rules"), ("probe", "probes"), ("factor", "factors"), ("figure", "figures")];

/// Names of things that are no part of the project, or that others make with it.
const OF_OTHERS: [&str; 3] = ["cargo-mutants", "posix_spawn", "busybox-static"];

/// Faults of a page in the names that it gives.
pub fn faults(tree: &Tree, text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for block in blocks(text).iter().filter(|block| !block.kind.is_fenced()) {
        let mut add = |fault: String| found.push((block.line, fault));
        for word in quoted(&block.text) {
            if let Some(fault) = fault(tree, word) {
                add(fault);
            }
        }
        let bare = regex(r"\b(?:docs|crates|xtask|studies|reference)/[\w/.-]*\w");
        for path in bare.find_iter(&block.text.replace('`', " ")) {
            if !tree.has(path.as_str()) && !block.text.contains(&format!("/{}", path.as_str())) {
                add(format!("there is no {}", path.as_str()));
            }
        }
        rows(tree, &block.text).into_iter().for_each(&mut add);
        let variable = regex(r"\bASSAY_[A-Z_]+\b");
        for name in variable.find_iter(&block.text).filter(|name| !is_known(name.as_str())) {
            add(format!("no program reads {}", name.as_str()));
        }
    }
    found
}

/// What is wrong with one name.
fn fault(tree: &Tree, word: &str) -> Option<String> {
    let is = |pattern: &str| regex(pattern).is_match(word);
    let format = is(r"^[a-z-]+/[0-9]+$");
    let outside = is(r"^(/|~|\.|target/|ASSAY_HOME)") || OF_OTHERS.contains(&word);
    let path = is(r"^[\w./{},*<>-]+$")
        && (word.contains('/') || is(r"\.(rs|md|js|css|py)$"))
        && !word.contains("//");
    if outside || format {
        return None;
    }
    if path {
        return (!tree.has(word)).then(|| format!("there is no {word}"));
    }
    if is(r"^[a-z][a-z0-9_]*\.\.\.$") {
        let start = format!("fn {}", word.trim_end_matches("..."));
        let has = tree.sources().any(|(_, text)| text.contains(&start));
        return (!has).then(|| format!("no test begins with {word}"));
    }
    if is(r"^\w+(::\w+)+(\(\))?$") {
        return (!knows_path(tree, word.trim_end_matches("()"))).then(|| format!("no {word}"));
    }
    let code = is(r"^[A-Za-z]\w*_\w+(\(\))?$") || is(r"^[A-Z]{4,}$") || is(r"^[A-Z]\w*[a-z][A-Z]");
    let dashed = is(r"^[a-z0-9]+(-[a-z0-9]+)+$");
    let plain = word.trim_end_matches("()");
    let simple = is(r"^[\w-]+(\(\))?$");
    ((code || dashed) && simple && plain.len() > 3 && !is_known(plain))
        .then(|| format!("nothing is called {word}"))
}

/// `a::b`: whatever is called `a`, a module or a type, has a `b`.
fn knows_path(tree: &Tree, path: &str) -> bool {
    let parts: Vec<&str> = path.split("::").collect();
    parts.windows(2).all(|pair| {
        let [owner, own] = pair else { return true };
        if owner.starts_with("assay_") && owner != own {
            let folder = format!("crates/{}/src/", owner.replace('_', "-"));
            return tree.has(&format!("{folder}{own}.rs")) || tree.has(&format!("{folder}{own}"));
        }
        let makes = |text: &str| {
            let words = ["struct", "enum", "trait", "type", "mod"];
            words.iter().any(|word| has_word(text, &format!("{word} {owner}")))
        };
        tree.files.iter().filter(|(name, _)| ends(name, "rs")).any(|(name, text)| {
            let folder = name.contains(&format!("/{owner}/"));
            let owns = || folder || name.ends_with(&format!("/{owner}.rs")) || makes(text);
            let inner = name.ends_with(&format!("/{owner}/{own}.rs"))
                || name.contains(&format!("/{owner}/{own}/"));
            // One look through the text instead of five, in most of them.
            (inner || has_word(text, own)) && owns()
        })
    })
}

/// Whether a text has some words, not as a part of longer ones.
fn has_word(text: &str, word: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(letter) && !text[at + word.len()..].starts_with(letter)
    })
}

/// Names after the word of a registry: "rule `x`", "presets `x`".
fn rows(tree: &Tree, text: &str) -> Vec<String> {
    let named = regex(r"\b(rule|probe|factor|figure|preset)s? `([a-z0-9-]+)`");
    let mut wrong = Vec::new();
    for found in named.captures_iter(text) {
        let page = REGISTRIES.iter().find(|(word, _)| *word == &found[1]).map(|(_, page)| *page);
        let known = match page {
            Some("factors") => {
                tree.text("docs/reference/factors.md").contains(&format!("`{}`", &found[2]))
            }
            Some(page) => tree.registry(page).contains(&&found[2]),
            None => tree.presets().contains(&&found[2]),
        };
        if !known {
            wrong.push(format!("there is no {} {}", &found[1], &found[2]));
        }
    }
    wrong
}
