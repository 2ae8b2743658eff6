//! docs/stability.md names each format that programs write or read, each command and each exit code, and no other.

use std::collections::BTreeSet;

use super::text::{quoted, regex};
use super::tree::{Tree, ends};

const PAGE: &str = "docs/stability.md";
const REFERENCE: &str = "docs/reference/commands.md";

/// Whether a file is a part of what is shipped, tests apart.
fn is_shipped(name: &str) -> bool {
    let of_tests = ["tests", "crates/assay-lab/", "crates/assay-simulation/"];
    let own = name.starts_with("crates/") && name.contains("/src/") && ends(name, "rs");
    own && !of_tests.iter().any(|part| name.contains(part))
}

/// Formats that stand in a program as a text of their own.
fn formats(program: &str) -> Vec<String> {
    let own = program.split("mod tests {").next().unwrap_or_default();
    let format = regex(r#""(assay-[a-z-]+/[0-9]+)""#);
    format.captures_iter(own).map(|hit| hit[1].to_owned()).collect()
}

#[test]
fn the_page_of_what_is_stable_has_every_format() {
    let tree = Tree::of_today();
    let programs = tree.files.iter().filter(|(name, _)| is_shipped(name));
    let written: BTreeSet<String> = programs.flat_map(|(_, text)| formats(text)).collect();
    let named = regex("`(assay-[a-z-]+/[0-9]+)`");
    let told = named.captures_iter(tree.text(PAGE)).map(|hit| hit[1].to_owned());
    assert_eq!(told.collect::<BTreeSet<_>>(), written, "{PAGE}, and what programs say");
    let program = "const A: &str = \"assay-a/1\";\nmod tests {\n \"assay-b/2\" }";
    assert_eq!(formats(program), ["assay-a/1"]);
}

/// What stands in backticks between the marks of the page.
fn commands(page: &str) -> BTreeSet<&str> {
    let between = page
        .split_once("<!-- commands -->\n")
        .and_then(|(_, rest)| rest.split_once("<!-- /commands -->").map(|(commands, _)| commands));
    quoted(between.unwrap_or_default()).into_iter().collect()
}

#[test]
fn the_page_of_what_is_stable_has_every_command() {
    let tree = Tree::of_today();
    let headings = tree.text(REFERENCE).lines().filter_map(|line| line.strip_prefix("## assay "));
    assert_eq!(commands(tree.text(PAGE)), headings.collect::<BTreeSet<_>>());
    let page = "<!-- commands -->\n`a`, `b`\n<!-- /commands --> `c`";
    assert_eq!(commands(page).into_iter().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn the_page_of_what_is_stable_has_every_exit_code() {
    let tree = Tree::of_today();
    let (_, told) = tree.text(REFERENCE).split_once("Exit codes: ").unwrap();
    let told = told.split('.').next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let row = regex(r"(?m)^\| ([0-9]+) \| (.+) \|$");
    let rows = row.captures_iter(tree.text(PAGE)).map(|row| format!("{} {}", &row[1], &row[2]));
    assert_eq!(rows.collect::<Vec<_>>().join(", "), told);
}
