//! The number of lines may only fall: `crates/lines.toml` against the tree.
//!
//! Production lines are the lines of all Rust files, comments and blanks included, without test lines. Test lines are
//! the files below `tests` or `benches` and all items under `#[cfg(test)]`. Markdown lines exclude generated pages.
//!
//! A count above its number fails: delete lines elsewhere. A count below it fails, too:
//! `UPDATE_EXPECT=1 cargo test -p assay --test ratchet` lowers the numbers. A move from crate to crate edits two
//! numbers; their sum, `total`, may not grow. Only an issue raises `total`.

#![allow(clippy::disallowed_methods, reason = "this test reads the source tree")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[allow(dead_code, reason = "the tidy tests use the rest")]
#[path = "tidy/source.rs"]
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

const NUMBERS: &str = "crates/lines.toml";
const GENERATED: &str = "<!-- made by `cargo xtask pages`";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lines {
    production: u64,
    test: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    crates: BTreeMap<String, Lines>,
    total: Lines,
    markdown: u64,
}

fn read_tree(root: &Path) -> BTreeMap<String, String> {
    let is_counted =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "rs" || end == "md");
    let mut files = BTreeMap::new();
    for path in source::files(root).into_iter().filter(is_counted) {
        let relative = path.strip_prefix(root).unwrap().display().to_string();
        files.insert(relative, fs::read_to_string(&path).unwrap());
    }
    files
}

fn count(files: &BTreeMap<String, String>) -> Counts {
    let mut counts = Counts::default();
    let modules = test_modules(files);
    for (path, text) in files {
        let lines = text.lines().count() as u64;
        if Path::new(path).extension().is_some_and(|end| end == "md") {
            counts.markdown += if text.starts_with(GENERATED) { 0 } else { lines };
            continue;
        }
        let is_test = lies_in_test_folder(path) || modules.contains(path);
        let test = if is_test { lines } else { test_lines(text) };
        let own = counts.crates.entry(crate_of(path)).or_default();
        own.production += lines - test;
        own.test += test;
    }
    for own in counts.crates.values() {
        counts.total.production += own.production;
        counts.total.test += own.test;
    }
    counts
}

fn crate_of(path: &str) -> String {
    let mut parts = path.split('/');
    let first = parts.next().unwrap();
    if first == "crates" { parts.next().unwrap() } else { first }.to_owned()
}

/// Returns whether a file is below `benches`, or below a `tests` folder outside `src`.
fn lies_in_test_folder(path: &str) -> bool {
    let folders: Vec<&str> = path.split('/').collect();
    let folders = &folders[..folders.len() - 1];
    let position = |name: &str| folders.iter().position(|folder| *folder == name);
    match (position("tests"), position("src")) {
        (Some(tests), Some(src)) => tests < src || position("benches").is_some(),
        (Some(_), None) => true,
        (None, _) => position("benches").is_some(),
    }
}

/// Returns the module files under `#[cfg(test)]`, with the files below them.
fn test_modules(files: &BTreeMap<String, String>) -> BTreeSet<String> {
    let declaration = regex_lite::Regex::new(
        r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;",
    )
    .unwrap();
    let mut found = BTreeSet::new();
    for (path, text) in files.iter().filter(|(_, text)| has_tests(text)) {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
        let is_root = ["mod.rs", "lib.rs", "main.rs"].contains(&file);
        let base = if is_root { folder } else { path.trim_end_matches(".rs") };
        for module in declaration.captures_iter(&source::blanked(text)) {
            let own = format!("{base}/{}", &module[1]);
            let below = format!("{own}/");
            let is_own = |path: &&String| **path == format!("{own}.rs") || path.starts_with(&below);
            found.extend(files.keys().filter(is_own).cloned());
        }
    }
    found
}

fn has_tests(text: &str) -> bool {
    ["#[cfg(test", "#[cfg(all(test", "#[test]"].iter().any(|mark| text.contains(mark))
}

fn test_lines(text: &str) -> u64 {
    if !has_tests(text) {
        return 0;
    }
    let ranges = test_ranges(&source::blanked(text));
    let mut position = 0;
    let mut lines = 0;
    for line in text.split_inclusive('\n') {
        let begin = position + line.len() - line.trim_start().len();
        lines += u64::from(ranges.iter().any(|range| range.contains(&begin)));
        position += line.len();
    }
    lines
}

fn test_ranges(code: &str) -> Vec<Range<usize>> {
    let mark = regex_lite::Regex::new(r"#\[cfg\((?:test|all\(test[^\]]*)\)\]|#\[test\]").unwrap();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for found in mark.find_iter(code) {
        if ranges.last().is_none_or(|last| found.start() >= last.end) {
            ranges.push(found.start()..found.end() + item_length(&code[found.end()..]));
        }
    }
    ranges
}

/// Returns the length of the item after an attribute: to its semicolon, or to its closing brace.
fn item_length(code: &str) -> usize {
    let (mut braces, mut brackets) = (0_u32, 0_i32);
    for (at, letter) in code.bytes().enumerate() {
        match letter {
            b'(' | b'[' if braces == 0 => brackets += 1,
            b')' | b']' if braces == 0 => brackets -= 1,
            b';' if braces == 0 && brackets == 0 => return at + 1,
            b'{' if braces > 0 || brackets == 0 => braces += 1,
            b'}' if braces > 0 => {
                braces -= 1;
                if braces == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    code.len()
}

fn parse(text: &str) -> Counts {
    let table: toml::Table = text.parse().unwrap();
    let lines =
        |value: &toml::Value| Lines { production: number(&value[0]), test: number(&value[1]) };
    let crates = table["crates"].as_table().unwrap();
    Counts {
        crates: crates.iter().map(|(name, value)| (name.clone(), lines(value))).collect(),
        total: lines(&table["total"]),
        markdown: number(&table["markdown"]),
    }
}

fn number(value: &toml::Value) -> u64 {
    value.as_integer().unwrap().try_into().unwrap()
}

fn print(counts: &Counts) -> String {
    let mut text = String::from(
        "# Lines that exist, and no more may: [production, test] per crate (crates/assay/tests/ratchet.rs).\n\
         # A move edits two numbers. Only an issue raises `total` or `markdown`.\n",
    );
    let Counts { crates, total, markdown } = counts;
    let _ = writeln!(text, "total = [{}, {}]", total.production, total.test);
    let _ = writeln!(text, "markdown = {markdown}\n\n[crates]");
    for (name, Lines { production, test }) in crates {
        let _ = writeln!(text, "{name} = [{production}, {test}]");
    }
    text
}

/// Returns the limits after a change: lowered if a count fell, never raised.
fn lowered(allowed: &Counts, counted: &Counts) -> Counts {
    let lower = |old: Lines, new: Lines| Lines {
        production: old.production.min(new.production),
        test: old.test.min(new.test),
    };
    let kept = allowed.crates.iter().filter_map(|(name, old)| {
        let new = counted.crates.get(name)?;
        Some((name.clone(), lower(*old, *new)))
    });
    Counts {
        crates: kept.collect(),
        total: lower(allowed.total, counted.total),
        markdown: allowed.markdown.min(counted.markdown),
    }
}

fn faults(allowed: &Counts, counted: &Counts) -> Vec<String> {
    let mut faults = Vec::new();
    let mut compare = |what: String, allowed: u64, counted: u64| {
        if counted > allowed {
            let more = counted - allowed;
            faults.push(format!("{what}: {counted} lines, {allowed} allowed: delete {more}"));
        } else if counted < allowed {
            faults.push(format!("{what}: {counted} lines, {NUMBERS} has {allowed}: lower it"));
        }
    };
    let names: BTreeSet<&String> = allowed.crates.keys().chain(counted.crates.keys()).collect();
    for name in names {
        let own = |counts: &Counts| counts.crates.get(name).copied().unwrap_or_default();
        let (allowed, counted) = (own(allowed), own(counted));
        compare(format!("{name}, production"), allowed.production, counted.production);
        compare(format!("{name}, test"), allowed.test, counted.test);
    }
    compare("total, production".to_owned(), allowed.total.production, counted.total.production);
    compare("total, test".to_owned(), allowed.total.test, counted.total.test);
    compare("Markdown".to_owned(), allowed.markdown, counted.markdown);
    faults
}

#[test]
fn line_counts_only_fall() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let counted = count(&read_tree(&root));
    let mut allowed = parse(&fs::read_to_string(root.join(NUMBERS)).unwrap());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        allowed = lowered(&allowed, &counted);
        fs::write(root.join(NUMBERS), print(&allowed)).unwrap();
    }
    let faults = faults(&allowed, &counted);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

fn tree(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn tests_are_counted_apart() {
    let counts = count(&tree(&[
        (
            "crates/a/src/lib.rs",
            "mod b;\n#[cfg(test)]\nmod tests;\n\n#[cfg(test)]\nmod more {\n    fn f() {}\n}\n",
        ),
        ("crates/a/src/tests.rs", "fn t() {}\n"),
        ("crates/a/src/tests/deep.rs", "fn t() {}\n"),
        ("crates/a/src/b.rs", "// #[cfg(test)]\nfn b() {}\n#[test]\nfn t() {}\n"),
        ("crates/a/tests/whole.rs", "fn t() {}\n"),
        ("xtask/src/main.rs", "fn main() {}\n"),
        ("README.md", "# A\n"),
        ("docs/reference/a.md", "<!-- made by `cargo xtask pages` -->\n# A\n"),
    ]));
    assert_eq!(counts.crates["a"], Lines { production: 3, test: 12 });
    assert_eq!(counts.crates["xtask"], Lines { production: 1, test: 0 });
    assert_eq!(counts.total, Lines { production: 4, test: 12 });
    assert_eq!(counts.markdown, 1);
}

#[test]
fn one_added_line_fails_and_a_move_passes() {
    let before = tree(&[("crates/a/src/lib.rs", "1\n2\n"), ("crates/b/src/lib.rs", "3\n")]);
    let allowed = parse(&print(&count(&before)));
    assert_eq!(faults(&allowed, &count(&before)), Vec::<String>::new());

    let more = tree(&[("crates/a/src/lib.rs", "1\n2\n"), ("crates/b/src/lib.rs", "3\n4\n")]);
    assert_eq!(faults(&allowed, &count(&more)).len(), 2, "the crate and the total");
    assert_eq!(lowered(&allowed, &count(&more)), allowed);

    let moved = tree(&[("crates/a/src/lib.rs", "1\n"), ("crates/b/src/lib.rs", "3\n2\n")]);
    let mut edited = parse(&print(&allowed));
    assert_eq!(faults(&edited, &count(&moved)).len(), 2);
    edited.crates.get_mut("a").unwrap().production -= 1;
    edited.crates.get_mut("b").unwrap().production += 1;
    assert_eq!(faults(&edited, &count(&moved)), Vec::<String>::new());

    let fewer = tree(&[("crates/a/src/lib.rs", "1\n"), ("crates/b/src/lib.rs", "3\n")]);
    let found = faults(&allowed, &count(&fewer));
    assert_eq!(found[0], "a, production: 1 lines, crates/lines.toml has 2: lower it");
    assert_eq!(faults(&lowered(&allowed, &count(&fewer)), &count(&fewer)), Vec::<String>::new());
}
