//! Words that user-visible texts avoid, counted per crate and for the pages: the counts in `crates/words.toml` may only
//! fall. Subjects of commits are `area: verb ...`, at most 72 characters.
//!
//! `UPDATE_EXPECT=1 cargo test -p assay --test tidy` lowers the counts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::markdown::{self, regex};
use super::source::literals;
use super::{files, in_crate, root, rust_files};

const NUMBERS: &str = "crates/words.toml";
/// The last commit before subjects were checked.
const UNCHECKED: &str = "fb827294";
/// Words that texts avoid, each with the word to use instead.
const WORDS: [(&str, &str); 27] = [
    (r"surely", "95% confidence"),
    (r"told apart", "differ"),
    (r"speaks?", "triggers"),
    (r"beside", "next to, with"),
    (r"stands?", "is"),
    (r"lies", "is"),
    (r"as given|lent", "virtual device"),
    (r"in line", "resync"),
    (r"for good", "steady state, permanently"),
    (r"blind|no statement", "inconclusive"),
    (r"would have been found", "detectable"),
    (r"an? side", "per side"),
    (r"puts? back", "restore"),
    (r"(is|are|was) no", "is not a"),
    (r"arms?", "configuration"),
    (r"lead-ins?", "warm-up"),
    (r"honest|liars?", "honors, drops flushes"),
    (r"promises?|promised", "acknowledged write"),
    (r"cuts", "crash points"),
    (r"stor(y|ies)", "counterexample"),
    (r"fleets?", "hosts"),
    (r"[0-9] %", "no space before %"),
    (r"operations per second", "IOPS"),
    (r"processors?", "CPU"),
    (r"file systems?", "filesystem"),
    (r"of (its|their) own", "name the thing"),
    (r"(is|are|was) told", "name who reports it"),
];

fn count(text: &str) -> usize {
    WORDS
        .iter()
        .map(|(word, _)| {
            let edge = if word.ends_with('%') { "" } else { r"\b" };
            regex(&format!(r"\b(?:{word}){edge}")).find_iter(text).count()
        })
        .sum()
}

fn is_page(path: &Path) -> bool {
    let is_markdown = path.extension().is_some_and(|end| end == "md");
    is_markdown && !path.ends_with("CHANGELOG.md") && !path.starts_with(root().join("docs/data"))
}

fn counts() -> BTreeMap<String, usize> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in rust_files() {
        let Some((area, inner)) = in_crate(&path) else { continue };
        if inner.contains("test") {
            continue;
        }
        let code = text.split("\nmod tests {").next().unwrap_or(&text);
        let words: usize = literals(code).iter().map(|(_, literal)| count(literal)).sum();
        *found.entry(area.to_owned()).or_default() += words;
    }
    let pages = files(&root()).into_iter().filter(|path| is_page(path));
    let words = pages.flat_map(|path| markdown::blocks(&fs::read_to_string(path).unwrap()));
    let words = words.filter(|block| !block.kind.is_fenced()).map(|block| count(&block.text)).sum();
    found.insert("pages".to_owned(), words);
    found
}

#[test]
fn avoided_words_only_get_fewer() {
    let (path, found) = (root().join(NUMBERS), counts());
    let lines = found.iter().map(|(area, words)| format!("{area} = {words}\n"));
    let text = format!(
        "# Words that user-visible texts avoid, per crate (crates/assay/tests/tidy/dialect.rs).\n{}",
        lines.collect::<String>()
    );
    let known = fs::read_to_string(&path).unwrap_or_default();
    let allowed: BTreeMap<String, usize> = toml::from_str(&known).unwrap();
    let more =
        |(area, words): &(&String, &usize)| allowed.get(*area).is_none_or(|most| most < words);
    let above: Vec<_> = found.iter().filter(more).collect();
    if std::env::var_os("UPDATE_EXPECT").is_some() && (above.is_empty() || known.is_empty()) {
        fs::write(&path, &text).unwrap();
    }
    assert!(above.is_empty(), "use the words of {WORDS:?} instead: {above:?} of {allowed:?}");
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        text,
        "fewer: UPDATE_EXPECT=1 lowers the counts"
    );
}

#[test]
fn subjects_of_commits_name_area_and_verb() {
    let git = |words: &[&str]| Command::new("git").args(words).current_dir(root()).output();
    let log = git(&["log", "--no-merges", "--format=%s", &format!("{UNCHECKED}..HEAD")]);
    let Some(log) = log.ok().filter(|log| log.status.success()) else {
        assay_testkit::needs::skip("git or the history is missing");
        return;
    };
    let subject = regex(r"^[a-z0-9-]+: [a-z].*[^. ]$");
    let log = String::from_utf8(log.stdout).unwrap();
    let is_wrong = |line: &&str| line.chars().count() > 72 || !subject.is_match(line);
    let wrong: Vec<&str> = log.lines().filter(is_wrong).collect();
    assert!(wrong.is_empty(), "`area: verb ...`, at most 72 characters: {wrong:?}");
}
