//! `cargo xtask pages`: the reference under docs/reference and the man pages under docs/man, written
//! from the registries and the definition of the command line, and JSON Schemas from the types of documents.

use std::fs;

use serde_json::Value;

use crate::build::{built, root};
use crate::lab::{Done, call};
use crate::options::Options;
use crate::tree;

const REFERENCE: &str = "docs/reference";
const MAN: &str = "docs/man";
const SCHEMAS: &str = "docs/reference/schemas";

/// Writes the pages, or tells which ones are stale.
pub fn run(options: &Options) -> Done<bool> {
    if options.has("--check") {
        return Ok(stale()?.is_empty());
    }
    for folder in [SCHEMAS, MAN] {
        fs::create_dir_all(root().join(folder)).map_err(|error| format!("{folder}: {error}"))?;
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
    for folder in [REFERENCE, MAN, SCHEMAS] {
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
    pages.push((tree::PAGE.to_owned(), tree::page()?));
    pages.extend(schemas()?);
    man_pages(&definition, &mut pages)?;
    Ok(pages)
}

/// The schema of each document. A program of its own makes them: its parser is no chore's to wait for.
fn schemas() -> Done<Vec<(String, String)>> {
    // As tests are built: alone it would have other features, and be compiled again.
    let program = built("assay-schemas", &["--workspace"])?;
    let told = call(&program.display().to_string(), &[&root().display().to_string()])?;
    let told: Value = serde_json::from_str(&told).map_err(|error| error.to_string())?;
    let all = told.as_object().ok_or("there are no schemas")?;
    Ok(all
        .iter()
        .map(|(name, text)| (format!("{SCHEMAS}/{name}"), format!("{text:#}\n")))
        .collect())
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
