//! `cargo xtask pages`: the reference under docs/reference, written from the registries.

use std::fs;

use crate::build::root;
use crate::lab::Done;
use crate::options::Options;

const FOLDER: &str = "docs/reference";

/// Writes the pages, or tells which ones are stale.
pub fn run(options: &Options) -> Done<bool> {
    if options.has("--check") {
        return Ok(stale()?.is_empty());
    }
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| format!("{FOLDER}: {error}"))?;
    for (name, text) in pages()? {
        fs::write(folder.join(&name), text).map_err(|error| format!("{FOLDER}/{name}: {error}"))?;
        println!("written to {FOLDER}/{name}");
    }
    Ok(true)
}

/// Pages that differ from what the program says, and pages that it does not know.
pub fn stale() -> Done<Vec<String>> {
    let folder = root().join(FOLDER);
    let pages = pages()?;
    let mut stale = Vec::new();
    for (name, text) in &pages {
        if fs::read_to_string(folder.join(name)).ok().as_ref() != Some(text) {
            stale.push(format!("{FOLDER}/{name} is stale: run cargo xtask pages"));
        }
    }
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !pages.iter().any(|(page, _)| *page == name) {
            stale.push(format!("{FOLDER}/{name} is made by nothing: remove it"));
        }
    }
    for line in &stale {
        println!("xtask: {line}");
    }
    Ok(stale)
}

/// File name and text of each page.
fn pages() -> Done<Vec<(String, String)>> {
    assay::cli::reference_pages().map_err(|failure| failure.message)
}
