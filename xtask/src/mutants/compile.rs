//! Building the copy once, without the changes that do not compile.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::areas::Mutant;
use super::run::{self, Stop};
use super::tree::{self, Put, Source, Tree};
use crate::build::cargo;
use crate::lab::Done;
use crate::programs::Program;

/// Each round may uncover what the one before stopped at.
const ROUNDS: usize = 30;
const LIMIT: Duration = Duration::from_secs(3600);

/// The programs of tests, and which changes are not in them.
pub struct Built {
    pub programs: Vec<Program>,
    pub dropped: Vec<bool>,
}

/// Builds until nothing is complained of.
pub fn build(work: &Path, files: &[Source], mutants: &[Mutant], stop: &Stop) -> Done<Built> {
    let mut dropped = vec![false; mutants.len()];
    for _ in 0..ROUNDS {
        let tree = tree::write(&work.join("tree"), files, mutants, &dropped)?;
        let ended = run::run(&mut cargo_test(work, &tree), &work.join("build.log"), LIMIT, stop)?;
        let messages: Vec<Value> =
            ended.text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if ended.well {
            let programs = messages.iter().filter_map(Program::of).collect();
            return Ok(Built { programs, dropped });
        }
        let errors: Vec<&Value> = messages
            .iter()
            .map(|told| &told["message"])
            .filter(|m| m["level"] == "error")
            .collect();
        let named: BTreeSet<usize> =
            errors.iter().flat_map(|error| at_fault(error, &tree)).collect();
        if named.is_empty() {
            let told = errors.iter().find_map(|error| error["rendered"].as_str());
            let told = told.map_or_else(|| last_lines(&ended.text), str::to_owned);
            return Err(format!("the copy cannot be compiled:\n{told}"));
        }
        println!("xtask: {} changes do not compile and are left out", named.len());
        for number in named {
            dropped[number] = true;
        }
    }
    Err(format!("the copy does not compile after {ROUNDS} rounds"))
}

fn cargo_test(work: &Path, tree: &Tree) -> Command {
    let words = ["test", "--workspace", "--no-run", "--no-fail-fast", "--message-format", "json"];
    let mut command = cargo(&words);
    // Two programs may be linked at a time; what lints say of the changes is not asked for.
    // Chores test little of the product, and take long to compile.
    command.args(
        ["xtask", "assay-mutate", "assay-schemas"].into_iter().flat_map(|name| ["--exclude", name]),
    );
    command.args(["--jobs", "2"]).current_dir(&tree.folder);
    command.env("CARGO_TARGET_DIR", work.join("build")).env("RUSTFLAGS", "--cap-lints allow");
    command.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "none");
    command
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('{')).collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// The changes that an error of the compiler names: by where it is, or else by what it mentions.
fn at_fault(error: &Value, tree: &Tree) -> BTreeSet<usize> {
    let spans: Vec<&Value> = error["spans"].as_array().into_iter().flatten().collect();
    let is_first = |span: &&&Value| span["is_primary"] == true;
    let first: BTreeSet<usize> =
        spans.iter().filter(is_first).flat_map(|span| covered(span, tree)).collect();
    if !first.is_empty() {
        return first;
    }
    let others = error["children"].as_array().into_iter().flatten();
    let others = others.filter_map(|child| child["spans"].as_array()).flatten();
    spans.into_iter().chain(others).flat_map(|span| covered(span, tree)).collect()
}

/// The innermost change around a place of the copy, or all within it.
fn covered(span: &Value, tree: &Tree) -> Vec<usize> {
    let file = span["file_name"].as_str().unwrap_or_default();
    let ends =
        [&span["byte_start"], &span["byte_end"]].map(|end| end.as_u64().unwrap_or(0) as usize);
    let span_of = ends[0]..ends[1];
    let put = tree.put.get(file).map(Vec::as_slice).unwrap_or_default();
    let around = put.iter().filter(|put| holds(&put.whole, &span_of));
    match around.min_by_key(|put| put.whole.len()) {
        Some(put) => vec![put.number],
        None => put
            .iter()
            .filter(|put| holds(&span_of, &put.whole))
            .map(|put: &Put| put.number)
            .collect(),
    }
}

fn holds(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod own_tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;

    fn tree() -> Tree {
        let put = |number, whole| Put { number, whole };
        let own = vec![put(0, 10..50), put(1, 20..30), put(2, 60..70)];
        Tree { folder: PathBuf::new(), put: [("a.rs".to_owned(), own)].into() }
    }

    fn span(file: &str, start: usize, end: usize, first: bool) -> Value {
        json!({"file_name": file, "byte_start": start, "byte_end": end, "is_primary": first})
    }

    fn told(spans: &[Value], others: &[Value]) -> Vec<usize> {
        let error = json!({"spans": spans, "children": [{"spans": others}]});
        at_fault(&error, &tree()).into_iter().collect()
    }

    #[test]
    fn the_innermost_change_is_at_fault() {
        assert_eq!(told(&[span("a.rs", 22, 25, true)], &[]), [1]);
        assert_eq!(told(&[span("a.rs", 32, 35, true)], &[]), [0]);
        assert_eq!(told(&[span("a.rs", 5, 55, true)], &[]), [0, 1]);
        assert_eq!(told(&[span("a.rs", 22, 25, true), span("a.rs", 62, 63, false)], &[]), [1]);
    }

    #[test]
    fn what_an_error_only_mentions_is_asked_last() {
        let elsewhere = span("a.rs", 80, 90, true);
        assert_eq!(told(&[elsewhere.clone(), span("a.rs", 62, 63, false)], &[]), [2]);
        assert_eq!(told(std::slice::from_ref(&elsewhere), &[span("a.rs", 62, 63, false)]), [2]);
        assert!(told(&[elsewhere, span("b.rs", 22, 25, true)], &[]).is_empty());
    }
}
