//! Tests that skip: what they say, and whether they may.

use std::collections::BTreeMap;
use std::path::Path;

use crate::build::root;

/// The committed list, from the top of the workspace.
pub const EXPECTED: &str = "crates/assay/tests/expected-skips.txt";

/// Tests and why they skipped.
pub type Skips = BTreeMap<String, String>;

/// Reads lines `name: reason`; empty lines and those with `#` are left out.
pub fn read(text: &str) -> Skips {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pair = |line: &str| {
        let (name, reason) = line.split_once(": ").unwrap_or((line, "no reason given"));
        (name.trim().to_owned(), reason.trim().to_owned())
    };
    lines.map(pair).collect()
}

/// The same from what tests print on standard error: `SKIP name: reason`.
pub fn printed(text: &str) -> Skips {
    let told: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("SKIP ")).collect();
    read(&told.join("\n"))
}

/// What is wrong with the skips of a full run; what is merely to be updated is printed.
pub fn judge(skipped: &Skips, expected: &Skips, strict: bool) -> bool {
    let names = |of: &Skips, other: &Skips| -> Vec<String> {
        of.keys().filter(|name| !other.contains_key(*name)).cloned().collect()
    };
    let (new, gone) = (names(skipped, expected), names(expected, skipped));
    if !gone.is_empty() {
        println!("xtask: {EXPECTED} may shrink: these ran: {}", gone.join(", "));
    }
    if new.is_empty() {
        return true;
    }
    let word = if strict { "not allowed to skip" } else { "skipped beyond the list" };
    println!("xtask: {word}: {}", new.join(", "));
    !strict
}

/// The committed list.
pub fn expected() -> Skips {
    read(&text(&root().join(EXPECTED)))
}

/// Content of a file, empty where there is none.
pub fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_skip_fails_and_an_old_one_does_not() {
        let expected = read("# why\nold: no such hardware\n");
        assert!(judge(&read("old: no such hardware"), &expected, true));
        assert!(judge(&read(""), &expected, true));
        assert!(!judge(&read("old: x\nnew: y"), &expected, true));
        assert!(judge(&read("new: y"), &expected, false));
    }

    #[test]
    fn printed_skips_are_found_among_other_lines() {
        let skips = printed("test a ... ok\nSKIP loops: needs root\nwarning: x: y\n");
        assert_eq!(skips, read("loops: needs root"));
    }
}
