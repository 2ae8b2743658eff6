//! A page: one file that needs nothing else, complete without its script.
//!
//! What stands on it is a [`document::Document`], figures and the data behind them; what is new here is only
//! their form. Texts from results are escaped by `maud`, and the page's own policy lets it load
//! nothing and run nothing but the script that it came with.

mod articles;
mod blocks;
pub(super) mod collection;
mod data;
mod first;
mod parts;
mod policy;
pub mod site;
#[cfg(test)]
mod tests;
mod words;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::document;
use super::evidence::Evidence;
use super::svg;
use assay_study::findings::Findings;
use assay_study::findings::facts::Unknown;

pub use articles::page as articles;
pub use data::every_trial;

/// The script of a page; everything is on the page without it.
const SCRIPT: &str = include_str!("page.js");

/// The style of all pages: colours by theme, then the rules.
fn style() -> String {
    let [light, dark] = [svg::Theme::Light, svg::Theme::Dark].map(svg::variables);
    format!(
        ":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{}\n{}",
        svg::RULES,
        include_str!("page.css")
    )
}

pub fn shell(title: &str, contents: &[(String, &str)], body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy::content_security_policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content=(concat!("assay ", env!("CARGO_PKG_VERSION")));
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(style())) }
            }
            body {
                a.skip href="#main" { "Skip to contents" }
                @if !contents.is_empty() {
                    nav aria-label="Contents" {
                        ul { @for (id, name) in contents { li { a href=(id) { (name) } } } }
                    }
                }
                main id="main" tabindex="-1" { (body) }
                footer { p {
                    "Created by assay " (env!("CARGO_PKG_VERSION")) ". This file is self-contained: it loads no other \
                     files."
                } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    Alone,
    Beside(&'a str),
    /// To the index of its site, and to files that [`site`] names.
    Site,
}

/// Trials up to which their values stand on the page itself.
pub const MOST_TRIALS: usize = 2_000;

/// Compared results up to which the page shows each as well, with the comparison itself.
const MOST_COMPARED: usize = 21;

pub fn every_trial_name(stem: &str, id: &str) -> String {
    format!("{stem}.{id}.every-trial.csv")
}

pub fn is_large(findings: &Findings) -> bool {
    // Every trial has as many values as there are metrics, or fewer.
    let most = findings.measurements.iter().filter(|cell| cell.primary);
    most.map(|cell| cell.trials.len()).sum::<usize>() > MOST_TRIALS
}

pub fn page(evidence: &Evidence, place: Place<'_>) -> String {
    pages(std::slice::from_ref(evidence), place)
}

/// The page of several results, the first of which is told first: a comparison, then what it
/// compares.
pub fn pages(results: &[Evidence], place: Place<'_>) -> String {
    let title = results.first().map_or_else(|| "assay".to_owned(), |first| title(&first.findings));
    let is_compared = results.first().is_some_and(|one| one.findings.study.kind == "compare");
    let is_crowded = is_compared && results.len() > MOST_COMPARED;
    let shown = if is_crowded { &results[..1] } else { results };
    let parts: Vec<parts::Part> =
        shown.iter().enumerate().map(|(index, one)| parts::part(index, one, place)).collect();
    // Of what is compared, each as a whole: its own sections are alike.
    let (first, others) = parts.split_at(parts.len().min(1));
    let sections = first.iter().flat_map(parts::Part::contents);
    let sections = sections.chain(others.iter().map(parts::Part::whole));
    let sections = sections.map(|(id, name)| (format!("#{id}"), name));
    let (body, meanings) = words::linked(&html! {
        @for (index, part) in parts.iter().enumerate() {
            @if is_compared && index > 0 {
                details.section { summary { h2 { (part.whole().1) } } (part.body) }
            } @else { (part.body) }
        }
        @if is_crowded {
            p { "Not shown: each of the " (results.len() - 1) " results (assay report --all writes a page for each)." }
        }
    });
    let end = meanings.iter().map(|_| ("#words".to_owned(), "Glossary"));
    let contents: Vec<(String, &str)> =
        back(place).into_iter().chain(sections).chain(end).collect();
    shell(&title, &contents, &html! { (body) @if let Some(words) = &meanings { (words) } })
}

/// The way back to the index of the site, where there is one.
fn back(place: Place<'_>) -> Option<(String, &'static str)> {
    matches!(place, Place::Site).then(|| (format!("../{}", site::INDEX), "All results"))
}

/// What a page is called in a list of tabs: subject, kind, day and machine.
fn title(findings: &Findings) -> String {
    let subject = document::subject(findings);
    let day = findings.study.started.get(..10).unwrap_or_default();
    let environment = &findings.environment;
    let cpu = Some(&environment.cpu).filter(|_| !environment.unknown.contains(&Unknown::Cpu));
    let cpu = cpu.map(|cpu| format!(" \u{b7} {cpu}")).unwrap_or_default();
    format!("{subject} \u{b7} {} {day}{cpu}", findings.study.kind)
}
