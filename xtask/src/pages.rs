//! `cargo xtask pages` writes the reference under docs/reference from the registries and the definition of the command
//! line; with `--man DIRECTORY` it writes the manual pages, which no tree keeps, instead.

use std::fs;
use std::path::Path;

use crate::build::root;
use crate::lab::Done;
use crate::options::Options;

const REFERENCE: &str = "docs/reference";

/// Writes the pages, or tells which ones are stale.
pub fn run(options: &Options) -> Done<bool> {
    if options.has("--check") {
        return Ok(stale()?.is_empty());
    }
    let pages = match options.text("--man") {
        Some(folder) => man_pages(Path::new(folder))?,
        None => pages()?,
    };
    for (name, text) in pages {
        let path = root().join(&name);
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("{name}: {error}"))?;
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

/// Path and text of the manual page of each command.
fn man_pages(folder: &Path) -> Done<Vec<(String, String)>> {
    let mut definition = assay::cli::definition().disable_help_subcommand(true);
    definition.build();
    let mut pages = Vec::new();
    add_man_pages(&definition, folder, &mut pages)?;
    Ok(pages)
}

/// Adds the manual pages of a command and of all below it.
fn add_man_pages(
    command: &clap::Command,
    folder: &Path,
    pages: &mut Vec<(String, String)>,
) -> Done<()> {
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page).map_err(|error| error.to_string())?;
    let text = String::from_utf8(page).map_err(|error| error.to_string())?;
    pages.push((folder.join(man.get_filename()).display().to_string(), text));
    for inner in command.get_subcommands() {
        if inner.get_name() != "help" {
            add_man_pages(inner, folder, pages)?;
        }
    }
    Ok(())
}
