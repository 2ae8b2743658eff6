//! Test data of a workload kind for tests of other crates, in its folder, as JSON: `rare.json` (workloads of no shipped
//! study), `told.json` (its findings), `spelled.json` (parameters with case-sensitive names as levels, and spellings of
//! amounts without an example) and `journal.json` (journal lines at the begin and end of a recorded trial).

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
