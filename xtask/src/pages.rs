//! `cargo xtask pages`: the reference under docs/reference and the man pages under docs/man, written
//! from the registries and the definition of the command line.

use std::fs;

use crate::build::root;
use crate::lab::Done;
use crate::options::Options;

const REFERENCE: &str = "docs/reference";
const MAN: &str = "docs/man";

/// Writes the pages, or tells which ones are stale.
pub fn run(options: &Options) -> Done<bool> {
    if options.has("--check") {
        return Ok(stale()?.is_empty());
    }
    fs::create_dir_all(root().join(MAN)).map_err(|error| format!("{MAN}: {error}"))?;
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
    for folder in [REFERENCE, MAN] {
        let entries = fs::read_dir(root().join(folder)).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.path().is_file()) {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if !pages.iter().any(|(page, _)| *page == name) {
                stale.push(format!("{name} is made by nothing: remove it"));
            }
        }
    }
    for line in &stale {
        println!("xtask: {line}");
    }
    Ok(stale)
}

/// Path and text of each page.
fn pages() -> Done<Vec<(String, String)>> {
    let reference = assay::cli::reference_pages().map_err(|failure| failure.message)?;
    let mut pages: Vec<(String, String)> =
        reference.into_iter().map(|(name, text)| (format!("{REFERENCE}/{name}"), text)).collect();
    let mut definition = assay::cli::definition().disable_help_subcommand(true);
    definition.build();
    man_pages(&definition, &mut pages)?;
    Ok(pages)
}

/// The manual pages of a command and of all below it.
fn man_pages(command: &clap::Command, pages: &mut Vec<(String, String)>) -> Done<()> {
    pages.push(man_page(command.clone())?);
    let mut inner = command.get_subcommands().filter(|inner| inner.get_name() != "help");
    inner.try_for_each(|inner| man_pages(inner, pages))
}

fn man_page(command: clap::Command) -> Done<(String, String)> {
    let man = clap_mangen::Man::new(command);
    let mut page = Vec::new();
    man.render(&mut page).map_err(|error| error.to_string())?;
    let text = String::from_utf8(page).map_err(|error| error.to_string())?;
    Ok((format!("{MAN}/{}", man.get_filename()), text))
}
