//! `assay report`: a result as a page for people.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::by_place::ByPlace;
use super::output;
use crate::store;
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_report::evidence::Evidence;
use assay_report::html::site::{self, SiteEntry};
use assay_report::html::{self, PagePlace};
use assay_report::markdown;
use assay_study::results::bundle;

/// Write results as HTML or Markdown pages
///
/// The page is one file without external resources, and works without JavaScript. With several results, the page starts
/// with a comparison. For results with over 2,000 trials, a linked file next to the page contains the values. With
/// --all, Assay writes a directory with a page per result and a sortable index.html, which you can serve or open from
/// disk.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay report                          write assay-ID.html of the latest result
  assay report 20261120-1031 -o a.html  write one result to this file
  assay report 20261120 20261119        compare two results and show each
  assay report --by platform BARE GUEST in percent of bare metal
  assay report --all -o site            write a page per result and an index
  assay report --format markdown        write text for a wiki and SVG figures")]
pub struct ReportArguments {
    #[arg(value_name = "ID|PATH", help = format!("{}{}", super::ID_OR_BUNDLE, super::LATEST))]
    results: Vec<String>,
    /// Write a page per result and an index (with -o DIR)
    #[arg(long, requires = "output", conflicts_with_all = ["results", "by", "format"])]
    all: bool,
    #[command(flatten)]
    places: ByPlace,
    /// Write to this file (--all: directory); - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Choose the format
    #[arg(long, value_enum, default_value_t = ReportFormat::Html)]
    format: ReportFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// One page
    Html,
    /// Text with separate SVG files; none to standard output
    Markdown,
}

pub fn run(system: &dyn System, arguments: &ReportArguments) -> Outcome<()> {
    if arguments.all
        && let Some(folder) = &arguments.output
    {
        return write_site(system, folder);
    }
    let results = evidence(system, &arguments.results, &arguments.places)?;
    let is_piped = arguments.output.as_deref() == Some(Path::new("-"));
    let is_html = arguments.format == ReportFormat::Html;
    let path = path(arguments, &results, if is_html { "html" } else { "md" });
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if !is_piped {
        output::may_be_written(system, &path)?;
    }
    if is_html {
        let place = if is_piped { PagePlace::Alone } else { PagePlace::Beside(&stem) };
        let page = html::pages(&results, place);
        for large in results.iter().filter(|it| !is_piped && html::is_large(&it.findings)) {
            let name = html::every_trial_name(&stem, &large.findings.study.id);
            let table = store::every_trial(system, large)?;
            output::file(system, &path.with_file_name(name), table.as_bytes())?;
        }
        return output::page(system, &path, &page);
    }
    let report = markdown::report(&results, &stem);
    if is_piped {
        // Figures would be separate files.
        let lines = report.text.split_inclusive('\n').filter(|line| !line.starts_with("!["));
        return output::page(system, &path, &lines.collect::<String>());
    }
    for (name, text) in &report.figures {
        output::file(system, &path.with_file_name(name), text.as_bytes())?;
    }
    output::page(system, &path, &report.text)
}

fn write_site(system: &dyn System, folder: &Path) -> Outcome<()> {
    if folder == Path::new("-") {
        return Err(mistake!("--all writes several files; give a directory with -o DIR"));
    }
    output::may_be_folder(system, folder)?;
    let mut entries: Vec<SiteEntry> = Vec::new();
    for directory in store::all_results(system)? {
        let id = bundle::id_of(&directory);
        // The user's result precedes root's result with the same ID.
        if entries.last().is_some_and(|last| last.id == id) {
            continue;
        }
        let read = || -> Outcome<_> {
            let evidence = store::evidence_at(system, &directory)?;
            let is_large = html::is_large(&evidence.findings);
            // The page does not contain the values of every trial if there are many.
            let trials = is_large.then(|| store::every_trial(system, &evidence)).transpose()?;
            let listed = bundle::listed(system, &directory)?;
            Ok((listed, html::page(&evidence, PagePlace::Site), trials))
        };
        let listed = match read() {
            Ok((listed, page, trials)) => {
                output::page_below(system, folder, &site::page_name(&id), &page)?;
                if let Some(trials) = trials {
                    output::page_below(system, folder, &site::trials_name(&id), &trials)?;
                }
                Ok(listed)
            }
            Err(failure) => {
                output::message(&failure.message);
                // Replaces local paths, which mean nothing to other readers of the site.
                Err(failure.message.replace(&directory.display().to_string(), &id))
            }
        };
        entries.push(SiteEntry { id, listed });
    }
    if entries.is_empty() {
        return Err(mistake!("no results yet; run assay check"));
    }
    output::page_below(system, folder, site::INDEX, &site::index(&entries))?;
    output::text(&folder.join(site::INDEX).display().to_string());
    Ok(())
}

/// Returns the requested results; several of them with their comparison first.
fn evidence(system: &dyn System, words: &[String], places: &ByPlace) -> Outcome<Vec<Evidence>> {
    let wanted: Vec<Option<&str>> = match words {
        [] if places.is_asked() => {
            return Err(mistake!("--by platform needs results; give one per platform"));
        }
        [] => vec![None],
        some => some.iter().map(|word| Some(word.as_str())).collect(),
    };
    let found = wanted.iter().map(|word| store::evidence_at(system, &store::find(system, *word)?));
    let mut results = found.collect::<Outcome<Vec<Evidence>>>()?;
    if places.is_asked() {
        results.insert(0, Evidence::bare(places.findings(system, words, None, None)?));
    } else if results.len() > 1 && results.iter().all(|it| it.findings.race.is_none()) {
        // A race appears next to the fresh trials of its winner, without a comparison.
        let findings: Vec<_> = results.iter().map(|result| result.findings.clone()).collect();
        let compared = store::compare(&findings, store::days::variation(system, &findings))?;
        results.insert(0, Evidence::compared(compared, &results));
    }
    Ok(results)
}

fn path(arguments: &ReportArguments, results: &[Evidence], extension: &str) -> PathBuf {
    let id = match results {
        [one] => one.findings.study.id.as_str(),
        _ => "comparison",
    };
    arguments.output.clone().unwrap_or_else(|| format!("assay-{id}.{extension}").into())
}
