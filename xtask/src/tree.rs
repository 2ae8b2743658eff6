//! How many packages the default build carries.

use std::collections::BTreeSet;

use crate::build::cargo_text;
use crate::lab::Done;

const MOST: usize = 200;
/// About 30 is the budget; completions for shells made it one more.
const MOST_DIRECT: usize = 31;
const CRATES: [&str; 4] = ["assay", "assay-load", "assay-stats", "assay-sys"];

/// Counts the normal packages of the default tree; build and test packages are not counted.
pub fn check() -> Done<bool> {
    let all = packages(&[])?.len();
    let direct = packages(&["--depth", "1"])?.len();
    println!(
        "xtask: packages of the default tree: {direct} direct (at most {MOST_DIRECT}), {all} in all (at most {MOST})"
    );
    Ok(all <= MOST && direct <= MOST_DIRECT)
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
