//! The first screen: what was asked, the answer with its interval, how far it can be trusted, and
//! the figure that shows it.

use maud::{Markup, html};

use super::parts::figure;
use crate::report::document::{self, Standing, trust_word};
use crate::report::figure::Figure;
use crate::results::findings::{Findings, Trust};

/// The first screen of a result.
pub(super) fn screen(findings: &Findings, lead: Option<&Figure>) -> Markup {
    html! {
        header.first {
            p.kind {
                (findings.study.kind)
                @if is_simulated(findings) { " of a simulated drive: what the tool makes of the law that was put in" }
                " \u{b7} " (day(findings))
            }
            h1 { (findings.study.title) }
            @for note in &findings.study.notes { p.note { (note) } }
            p.answer { (document::answer(findings)) }
            (trust(&document::standing(findings)))
            @if let Some(lead) = lead { (figure(lead)) }
        }
    }
}

fn is_simulated(findings: &Findings) -> bool {
    let targets = &findings.environment.targets;
    !targets.is_empty() && targets.iter().all(|target| target.drive == "simulated")
}

fn day(findings: &Findings) -> String {
    findings.study.started.replace('T', " ").chars().take(16).collect()
}

/// How many rows can be trusted, and which rules speak against the others.
fn trust(standing: &Standing<'_>) -> Markup {
    html! {
        p.trust {
            "Trust: "
            @for (trust, count) in &standing.rows {
                span class={ "chip " (tone(*trust)) } { (count) " " (trust_word(*trust)) } " "
            }
            @if standing.rows.is_empty() { "not judged: the numbers were brought along. " }
            @if !standing.rules.is_empty() { "Against it: " (standing.rules.join(", ")) ". " }
            @if standing.absent > 0 { (standing.absent) " numbers are not there, with their reasons below." }
        }
    }
}

fn tone(trust: Trust) -> &'static str {
    match trust {
        Trust::Trusted => "good",
        Trust::Suspect => "doubtful",
        Trust::Invalid => "bad",
    }
}
