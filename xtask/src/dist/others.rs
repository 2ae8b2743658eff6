//! Licences of the packages that a program is made of: most of them ask that their text goes with it.
//!
//! Each text stands once, below the packages that have it; texts that differ in white space alone are one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::read;
use crate::carried::{self, text};
use crate::lab::Done;
use crate::sbom;

/// The file, beside the licences of the program itself.
pub const NAME: &str = "LICENSE-OTHERS";
/// How the names of such files begin, without regard to case.
const NAMES: [&str; 6] = ["copying", "copyright", "licence", "license", "notice", "unlicense"];
const LINE: &str =
    "--------------------------------------------------------------------------------";

/// Those of the program for a target.
pub fn licences(target: &str) -> Done<Vec<u8>> {
    of(&carried::metadata(target)?).map(String::into_bytes)
}

/// A text without its white space, and what is told of it.
type Texts = BTreeMap<String, (String, BTreeSet<String>)>;

fn of(metadata: &Value) -> Done<String> {
    let (mut texts, mut without) = (Texts::new(), Vec::new());
    for (package, _) in sbom::inside(metadata)?.values() {
        // What has no source is of the workspace itself.
        if package["source"].is_null() {
            continue;
        }
        let folder = Path::new(text(package, "manifest_path")).parent().unwrap_or(Path::new("/"));
        let called = format!("{} {}", text(package, "name"), text(package, "version"));
        let found = files(folder)?;
        if found.is_empty() {
            let licence = carried::expression(text(package, "license"));
            without.push(format!("{called}: {licence}, without a text of its own\n"));
        }
        for (name, text) in found {
            let bare = text.split_whitespace().collect();
            let (_, owners) = texts.entry(bare).or_insert_with(|| (text, BTreeSet::new()));
            owners.insert(format!("{called} ({name})\n"));
        }
    }
    let mut all = String::from("Licences of the packages that this program is made of.\n");
    for (text, owners) in texts.into_values() {
        let owners: String = owners.into_iter().collect();
        // Writing to a string cannot fail.
        let _ = write!(all, "\n{LINE}\n{owners}{LINE}\n\n{}\n", text.trim_end());
    }
    if !without.is_empty() {
        let _ = write!(all, "\n{LINE}\n{}", without.concat());
    }
    Ok(all)
}

/// Texts of licences that lie in the folder of a package, by their names.
fn files(folder: &Path) -> Done<BTreeMap<String, String>> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut found = BTreeMap::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let small = name.to_lowercase();
        if entry.path().is_file() && NAMES.iter().any(|start| small.starts_with(start)) {
            let text = read(&entry.path())?;
            found.insert(name, String::from_utf8_lossy(&text).into_owned());
        }
    }
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::lab::Scratch;

    #[test]
    fn each_text_stands_once_with_all_that_have_it_and_who_has_none_is_named() {
        let scratch = Scratch::new("others").unwrap();
        let package = |name: &str, files: &[(&str, &str)]| {
            let folder = scratch.folder(name, 0o755, None).unwrap();
            for (file, text) in files {
                fs::write(folder.join(file), text).unwrap();
            }
            let manifest = folder.join("Cargo.toml").display().to_string();
            let source = (name != "assay").then_some("registry");
            json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Zlib",
                "manifest_path": manifest, "source": source })
        };
        let packages = [
            package("assay", &[("LICENSE-MIT", "Our own.")]),
            package("a", &[("LICENSE", "Do what\nyou like.\n"), ("lib.rs", "no licence")]),
            package("b", &[("Licence.txt", "Do what you like."), ("NOTICE", "Tell of b.")]),
            package("c", &[]),
            package("d", &[("LICENSE", "Nobody needs it.")]),
        ];
        let needed = |name: &str| json!({ "pkg": name, "dep_kinds": [{ "kind": null }] });
        let nodes = [
            json!({ "id": "assay", "deps": [needed("a"), needed("b")] }),
            json!({ "id": "b", "deps": [needed("c")] }),
        ];
        let all = of(&json!({ "packages": packages, "resolve": { "nodes": nodes } })).unwrap();
        assert_eq!(all.matches("you like.").count(), 1, "{all}");
        for wanted in [
            format!("{LINE}\na 1.0.0 (LICENSE)\nb 1.0.0 (Licence.txt)\n{LINE}\n"),
            "b 1.0.0 (NOTICE)\n".to_owned(),
            "c 1.0.0: MIT OR Zlib, without a text of its own\n".to_owned(),
        ] {
            assert!(all.contains(&wanted), "{wanted}: {all}");
        }
        for other in ["Our own.", "no licence", "Nobody needs it."] {
            assert!(!all.contains(other), "{other}: {all}");
        }
    }
}
