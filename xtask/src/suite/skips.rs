//! Tests that skip: what they say, and whether they may.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::append;
use crate::build::root;
use crate::lab::Done;

/// The committed list, from the top of the workspace.
const EXPECTED: &str = "crates/assay/tests/expected-skips.txt";

/// Tests and why they skipped.
pub type Skips = BTreeMap<String, String>;

/// Reads lines `name: reason`; empty lines and those with `#` are left out.
fn read(text: &str) -> Skips {
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pair = |line: &str| {
        let (name, reason) = line.split_once(": ").unwrap_or((line, "no reason given"));
        (name.trim().to_owned(), reason.trim().to_owned())
    };
    lines.map(pair).collect()
}

/// What is wrong with the skips of a full run; what is merely to be updated is printed.
pub fn judge(skipped: &Skips, expected: &Skips, ran: &BTreeSet<String>, strict: bool) -> bool {
    let names = |of: &Skips, other: &Skips| -> Vec<String> {
        of.keys().filter(|name| !other.contains_key(*name)).cloned().collect()
    };
    let (new, mut gone) = (names(skipped, expected), names(expected, skipped));
    // Of another turn it is not known.
    gone.retain(|name| ran.contains(name));
    if !gone.is_empty() {
        println!("xtask: {EXPECTED} may shrink where these always run: {}", gone.join(", "));
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
    listed(&root().join(EXPECTED))
}

/// What tests appended to a list so far.
pub fn listed(path: &Path) -> Skips {
    read(&std::fs::read_to_string(path).unwrap_or_default())
}

/// Appends some to a list, as tests do.
pub fn tell(skipped: &Skips, list: &Path) -> Done<()> {
    let lines: Vec<String> =
        skipped.iter().map(|(name, reason)| format!("{name}: {reason}\n")).collect();
    append(list, &lines.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_skip_fails_and_an_old_one_does_not() {
        let expected = read("# why\nold: no such hardware\n");
        let ran = BTreeSet::from(["old".to_owned()]);
        let judged = |skipped: &str, strict| judge(&read(skipped), &expected, &ran, strict);
        assert!(judged("old: no such hardware", true));
        assert!(judged("", true));
        assert!(!judged("old: x\nnew: y", true));
        assert!(judged("new: y", false));
    }

    /// The list that is committed has no line for it: nobody may go without on a machine like CI's.
    #[test]
    fn a_browser_that_is_missing_is_judged_like_a_test() {
        let missing = read("browser: there is no chromedriver");
        assert!(!judge(&missing, &expected(), &BTreeSet::new(), true));
        assert!(judge(&missing, &expected(), &BTreeSet::new(), false));
    }
}
