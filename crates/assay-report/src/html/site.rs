//! The index of a site: all results in a table that sorts and filters, each with a link to its page.

use std::fmt::Write;

use maud::{Markup, html};

use super::collection::listed::{head, table};
use super::shell;
use crate::document::NONE;
use assay_core::quantity::units::show;
use assay_study::results::bundle::Listed;

pub const INDEX: &str = "index.html";
const FOLDER: &str = "results";
const TITLE: &str = "Results";

#[derive(Clone, Debug)]
pub struct SiteEntry {
    pub id: String,
    /// List entry of the result, or why the result is unreadable.
    pub listed: Result<Listed, String>,
}

pub fn page_name(id: &str) -> String {
    format!("{FOLDER}/{id}.html")
}

pub fn trials_name(id: &str) -> String {
    format!("{FOLDER}/{id}.every-trial.csv")
}

pub fn index(entries: &[SiteEntry]) -> String {
    let unreadable = entries.iter().filter(|entry| entry.listed.is_err()).count() as u64;
    let heads = html! {
        (head("ID", false)) (head("Title", false)) (head("Kind", false)) (head("Target", false))
        (head("Started", false)) (head("Trials", true)) (head("Headline", false)) (head("Trust", false))
    };
    let rows = html! { @for entry in entries { (row(entry)) } };
    let body = html! {
        h1 { (TITLE) }
        p.answer {
            (show::count(entries.len() as u64)) " in total, newest first."
            @if unreadable > 0 { " " (show::count(unreadable)) " cannot be read." }
        }
        (table("results", &heads, &rows))
    };
    shell(TITLE, &[], &body)
}

fn row(entry: &SiteEntry) -> Markup {
    let id = &entry.id;
    let listed = match &entry.listed {
        Ok(listed) => listed,
        Err(reason) => {
            return html! { tr {
                th scope="row" { (id) } @for _ in 0..5 { td { (NONE) } }
                td.w.bad { "cannot be read: " (reason) } td { (NONE) }
            } };
        }
    };
    let drives = if listed.drives.is_empty() { &listed.targets } else { &listed.drives };
    let started: String = listed.started.replace('T', " ").chars().take(16).collect();
    let headline = listed.headline.as_ref();
    html! { tr {
        th scope="row" { a href=(encoded(&page_name(id))) { (id) } }
        td.w { (listed.title) }
        td { (listed.kind) @if listed.foreign { "; foreign" } }
        td.w { (cell(&drives.join(" and "))) }
        td { (cell(&started)) }
        td.n {
            (show::count(listed.trials as u64))
            @if listed.trials < listed.planned { " of " (show::count(listed.planned as u64)) }
        }
        td.w { (cell(headline.map_or("", |headline| &headline.text))) }
        td.w { (cell(headline.map_or("", |headline| &headline.trust))) }
    } }
}

fn cell(text: &str) -> &str {
    if text.is_empty() { NONE } else { text }
}

/// Returns a relative path as a link; the name of a result may contain any printable character.
pub(crate) fn encoded(path: &str) -> String {
    let mut link = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            link.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(link, "%{byte:02X}");
        }
    }
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_survive_any_name() {
        assert_eq!(
            encoded("results/20261124-103107-a3f9.html"),
            "results/20261124-103107-a3f9.html"
        );
        assert_eq!(encoded("a b:\"#?%é"), "a%20b%3A%22%23%3F%25%C3%A9");
    }
}
