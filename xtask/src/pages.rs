//! `cargo xtask pages` writes the reference under docs/reference from the registries and the definition of the command
//! line; with `--man DIRECTORY` it writes the manual pages, which no tree keeps, instead.

use std::fs;

use crate::build::root;
use crate::lab::Done;
use crate::options::Options;

const REFERENCE: &str = "docs/reference";

/// Writes the pages, or tells which ones are stale.
pub fn run(options: &Options) -> Done<bool> {
    if options.has("--check") {
        return Ok(stale()?.is_empty());
    }
    if let Some(folder) = options.text("--man") {
        let definition = assay::cli::definition();
        fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(definition, folder))
            .map_err(|error| format!("{folder}: {error}"))?;
        return Ok(true);
    }
    for (name, text) in pages()? {
        fs::write(root().join(&name), text).map_err(|error| format!("{name}: {error}"))?;
        println!("written to {name}");
    }
    Ok(true)
}

/// Pages that differ from what the program says, and pages that it does not know.
pub fn stale() -> Done<Vec<String>> {
    let pages = pages()?;
    let mut stale = Vec::new();
    for (name, text) in &pages {
        if fs::read_to_string(root().join(name)).ok().as_ref() != Some(text) {
            stale.push(format!("{name} is stale: run cargo xtask pages"));
        }
    }
    let entries = fs::read_dir(root().join(REFERENCE)).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.path().is_file()) {
        let name = format!("{REFERENCE}/{}", entry.file_name().to_string_lossy());
        if !pages.iter().any(|(page, _)| *page == name) {
            stale.push(format!("{name} is made by nothing: remove it"));
        }
    }
    for line in &stale {
        println!("xtask: {line}");
    }
    Ok(stale)
}

/// Path and text of each page of the reference.
fn pages() -> Done<Vec<(String, String)>> {
    let reference = assay::cli::reference_pages().map_err(|failure| failure.message)?;
    Ok(reference.into_iter().map(|(name, text)| (format!("{REFERENCE}/{name}"), text)).collect())
}
