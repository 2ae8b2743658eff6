//! How many packages the default build carries, and whether what builds share is compiled once.

use std::collections::{BTreeMap, BTreeSet};
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
    Ok(all <= MOST && direct <= MOST_DIRECT && is_compiled_once()?)
}

/// What `.ci/run` builds one after the other.
const BUILDS: [&[&str]; 4] =
    [&[], &["--package", "xtask"], &["--workspace"], &["--package", "assay"]];

/// Whether each crate of ours has the same features in all of these builds: it, and all that stands on it, is
/// compiled again else.
fn is_compiled_once() -> Done<bool> {
    let mut told = Vec::new();
    for build in BUILDS {
        told.push(cargo_text(
            &[&["tree", "--prefix", "none", "--format", "{p}|{f}"], build].concat(),
        )?);
    }
    let again = again(told.iter().map(String::as_str));
    for (package, features) in &again {
        println!("xtask: {package} is compiled again for other features: {features}");
    }
    Ok(again.is_empty())
}

/// Our own crates that have several sets of features.
fn again<'t>(told: impl Iterator<Item = &'t str>) -> Vec<(&'t str, String)> {
    let mut forms: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (package, features) in told.flat_map(str::lines).filter_map(|line| line.split_once('|')) {
        // Our own crates show the folder that they lie in.
        if package.contains("(/") {
            forms.entry(package).or_default().insert(features.trim_end_matches(" (*)").trim());
        }
    }
    let several = forms.into_iter().filter(|(_, features)| features.len() > 1);
    several.map(|(package, features)| (package, Vec::from_iter(features).join("; "))).collect()
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
    let crates = CRATES.iter().flat_map(|name| ["--package", name]);
    // A crate that was told as what another one needs would be told without what it needs itself.
    let words = ["tree", "--edges", "normal", "--prefix", "none", "--no-dedupe"];
    let words: Vec<&str> = words.into_iter().chain(crates).chain(more.iter().copied()).collect();
    let told = cargo_text(&words)?;
    // Our own crates show the folder that they lie in.
    let foreign = told.lines().filter(|line| !line.is_empty() && !line.contains("(/"));
    Ok(foreign.map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_with_other_features_in_another_build_is_named() {
        let one = "own v1 (/w/own)|bpf\nserde v1.0|std\nown v1 (/w/own)|bpf (*)\n";
        let other = "own v1 (/w/own)|bpf,default\nserde v1.0|alloc\n";
        assert_eq!(again([one, one].into_iter()), []);
        let found = again([one, other].into_iter());
        assert_eq!(found, [("own v1 (/w/own)", "bpf; bpf,default".to_owned())]);
    }
}
