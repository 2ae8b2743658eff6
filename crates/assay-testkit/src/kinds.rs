//! What a kind of work keeps in its folder for tests of other crates, each as JSON: `rare.json` has work that
//! no study is shipped with, `told.json` what findings have of its own, `spelled.json` which of its parameters
//! have names as levels (each letter counts) and how amounts that no example has are written, and
//! `journal.json` how a journal tells that a trial began and that it ended, where trials are recorded.

use std::collections::BTreeMap;
use std::fs;

use crate::Done;

const FOLDERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assay-workloads/src");

/// The texts of a file by the kinds that have one.
pub fn kept(file: &str) -> Done<BTreeMap<String, String>> {
    let told = |error: std::io::Error| format!("{FOLDERS}: {error}");
    let mut found = BTreeMap::new();
    for folder in fs::read_dir(FOLDERS).map_err(told)? {
        let folder = folder.map_err(told)?;
        if let Ok(text) = fs::read_to_string(folder.path().join(file)) {
            let kind = folder.file_name().to_string_lossy().into_owned();
            found.insert(kind, text.trim_end().to_owned());
        }
    }
    Ok(found)
}
