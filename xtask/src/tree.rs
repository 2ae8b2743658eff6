//! How many packages the default build carries.

use std::collections::BTreeSet;
use std::fs;

use crate::build::{cargo_text, root};
use crate::lab::Done;

const MOST: usize = 200;
/// About 30 is the budget; completions for shells, words of commands, archives of results
/// (docs/decisions/2026-11-24-foreign.md) and regular expressions (2026-11-25-own-numbers.md there) made it
/// four more.
const MOST_DIRECT: usize = 34;
/// Every crate that the product is made of: what one alone needs is a direct package, too.
const CRATES: [&str; 19] = [
    "assay",
    "assay-base",
    "assay-claims",
    "assay-durable",
    "assay-fleet",
    "assay-guest",
    "assay-importers",
    "assay-kinds",
    "assay-load",
    "assay-machine",
    "assay-replay",
    "assay-report",
    "assay-runner",
    "assay-stats",
    "assay-study",
    "assay-sys",
    "assay-system",
    "assay-texts",
    "assay-verdict",
];

/// Counts the normal packages of the default tree; build and test packages are not counted.
pub fn check() -> Done<bool> {
    let all = packages(&[])?.len();
    let direct = packages(&["--depth", "1"])?.len();
    println!(
        "xtask: packages of the default tree: {direct} direct (at most {MOST_DIRECT}), {all} in all (at most {MOST})"
    );
    Ok(all <= MOST && direct <= MOST_DIRECT)
}

/// The page that tells the counts, and the marks between which it does.
pub const PAGE: &str = "docs/dependencies.md";
const MARKS: [&str; 2] = ["<!-- counted -->\n", "<!-- /counted -->"];

/// The page with the counts of today.
pub fn page() -> Done<String> {
    let text = fs::read_to_string(root().join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let (before, rest) = text.split_once(MARKS[0]).ok_or(format!("{PAGE} has no place for it"))?;
    let (_, after) = rest.split_once(MARKS[1]).ok_or(format!("{PAGE} has no end of it"))?;
    let count = |more: &[&str]| -> Done<[usize; 2]> {
        let direct = packages(&[more, &["--depth", "1"]].concat())?.len();
        Ok([direct, packages(more)?.len()])
    };
    let ([direct, all], [own, without]) = (count(&[])?, count(&["--no-default-features"])?);
    let told = format!(
        "The default tree has {direct} direct third-party packages, {all} packages in all; without \
         `bpf` and `serve`\nit has {own} and {without}.\n"
    );
    Ok([before, MARKS[0], &told, MARKS[1], after].concat())
}

fn packages(more: &[&str]) -> Done<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for name in CRATES {
        let words = ["tree", "--edges", "normal", "--prefix", "none", "--package", name];
        for line in cargo_text(&[&words, more].concat())?.lines() {
            let line = line.trim_end_matches(" (*)");
            // Our own crates show the folder that they lie in.
            if !line.is_empty() && !line.contains("(/") {
                found.insert(line.to_owned());
            }
        }
    }
    Ok(found)
}
