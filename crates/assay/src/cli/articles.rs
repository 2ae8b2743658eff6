//! `assay articles`: what the source articles conclude, and what becomes of it.

use std::path::PathBuf;

use clap::Args;

use super::output;
use assay_analysis::articles::{self, Article};
use assay_core::failure::Outcome;
use assay_machine::system::System;

/// Show published claims, checked against their own numbers
///
/// Shows every claim with a verdict: supported, contradicted, not shown or no data. Assay computes each verdict from
/// the published numbers. Needs no hardware.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay articles               list all claims with verdicts
  assay articles 004           show one article with its numbers
  assay articles schedulers    find an article by a word
  assay articles -o a.html     write all articles as one page
  assay articles --json        include the published tables, for scripts")]
pub struct ArticlesArguments {
    /// Article number, or a word of its title or data
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Write a page with figures; - for standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(system: &dyn System, arguments: &ArticlesArguments) -> Outcome<()> {
    let all = articles::all()?;
    let chosen: Vec<&Article> = match &arguments.name {
        Some(name) => articles::named(&all, name)?,
        None => all.iter().collect(),
    };
    if arguments.json {
        output::document(&assay_report::articles::json(&chosen));
        return Ok(());
    }
    if let Some(path) = &arguments.output {
        return output::page(system, path, &assay_report::html::articles(&chosen));
    }
    let documents = match &arguments.name {
        Some(_) => chosen.into_iter().map(assay_report::articles::full).collect(),
        None => vec![assay_report::articles::overview(&chosen)],
    };
    let (width, colour) = (output::columns(system), output::colour(system));
    let pages = documents.iter().map(|it| assay_report::text::render(it, width, colour));
    output::painted(&pages.collect::<Vec<_>>().join("\n"));
    Ok(())
}
