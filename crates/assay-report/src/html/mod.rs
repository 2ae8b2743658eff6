//! A page: one self-contained file, complete without its script.
//!
//! It contains a [`document::Document`], figures and their data; this module only adds the layout. `maud` escapes texts
//! from results, and the page's policy blocks all loading and all scripts except the page's own.

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
use assay_study::findings::{Findings, facts::Unknown};

pub use articles::page as articles;
pub use data::every_trial;

/// The script of a page; the page is complete without it.
const SCRIPT: &str = include_str!("page.js");

/// The style of all pages: colors by theme, then the rules.
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
                    nav aria-label="Contents" { ul { @for (id, name) in contents { li { a href=(id) { (name) } } } } }
                }
                main id="main" tabindex="-1" { (body) }
                footer { p {
                    "Created by assay " (env!("CARGO_PKG_VERSION")) ". This file is self-contained: it loads no other files."
                } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

#[derive(Clone, Copy, Debug)]
pub enum PagePlace<'a> {
    Alone,
    Beside(&'a str),
    /// To the index of its site, and to files named by [`site`].
    Site,
}

/// Up to this number of trials, the page contains their values.
pub const MOST_TRIALS: usize = 2_000;

/// Up to this number of compared results, the page also contains each of them.
const MOST_COMPARED: usize = 21;

pub fn every_trial_name(stem: &str, id: &str) -> String {
    format!("{stem}.{id}.every-trial.csv")
}

pub fn is_large(findings: &Findings) -> bool {
    // Every trial has at most one value per metric.
    let cells = findings.measurements.iter().filter(|cell| cell.primary);
    cells.map(|cell| cell.trials.len()).sum::<usize>() > MOST_TRIALS
}

pub fn page(evidence: &Evidence, place: PagePlace<'_>) -> String {
    pages(std::slice::from_ref(evidence), place)
}

/// The page of several results, the first one first: a comparison, then its results.
pub fn pages(results: &[Evidence], place: PagePlace<'_>) -> String {
    let title = results.first().map_or_else(|| "assay".to_owned(), |first| title(&first.findings));
    let is_compared = results.first().is_some_and(|one| one.findings.study.kind == "compare");
    let is_crowded = is_compared && results.len() > MOST_COMPARED;
    let shown = if is_crowded { &results[..1] } else { results };
    let parts: Vec<parts::HtmlPart> =
        shown.iter().enumerate().map(|(index, one)| parts::part(index, one, place)).collect();
    // The contents name the sections of the first result, and each other result as a whole.
    let (first, others) = parts.split_at(parts.len().min(1));
    let sections = first.iter().flat_map(parts::HtmlPart::contents);
    let sections = sections.chain(others.iter().map(parts::HtmlPart::whole));
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
    let mut contents: Vec<(String, &str)> = Vec::new();
    if let PagePlace::Site = place {
        contents.push((format!("../{}", site::INDEX), "All results"));
    }
    contents.extend(sections);
    contents.extend(meanings.iter().map(|_| ("#words".to_owned(), "Glossary")));
    shell(&title, &contents, &html! { (body) @if let Some(words) = &meanings { (words) } })
}

/// Title of a page for a list of tabs: subject, kind, day and machine.
fn title(findings: &Findings) -> String {
    let subject = document::subject(findings);
    let day = findings.study.started.get(..10).unwrap_or_default();
    let environment = &findings.environment;
    let cpu = Some(&environment.cpu).filter(|_| !environment.unknown.contains(&Unknown::Cpu));
    let cpu = cpu.map(|cpu| format!(" \u{b7} {cpu}")).unwrap_or_default();
    format!("{subject} \u{b7} {} {day}{cpu}", findings.study.kind)
}
