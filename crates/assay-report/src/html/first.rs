//! The first screen: what was measured, the answer, how far it can be trusted, and the figure that
//! shows it. Of a check the answer is its numbers, large.

use maud::{Markup, html};

use super::blocks;
use super::parts::figure;
use crate::document::{self, Large, Section, Standing, Stands};
use crate::figure::Figure;
use assay_study::findings::said::Said;
use assay_study::findings::{Findings, Trust};

/// The first screen of a result, with the figures that lead and the sections that belong to them.
pub(super) fn screen(findings: &Findings, lead: &[Figure], sections: &[&Section]) -> Markup {
    let large = document::large(findings);
    let answer = document::answer(findings).text;
    // What is the answer itself is not said twice.
    let warned =
        findings.sentences().filter(|(said, text)| **said == Said::NotAlone && **text != answer);
    let is_answered = large.len() > 1;
    let tables = html! { @for one in sections { (blocks::leading(one)) } };
    let rest = findings.summary.iter().filter(|text| !is_answered || **text != answer);
    html! {
        header.first {
            p.kind {
                (findings.study.kind)
                @if is_simulated(findings) { " of a simulated drive" }
                " \u{b7} " (day(findings))
            }
            h1 { (document::subject(findings)) }
            p.measured { (document::measured_on(findings)) }
            @for note in &findings.study.notes { p.note { (note) } }
            @if large.is_empty() {
                @for (_, sentence) in warned { p.warn { (sentence) } }
                p.answer { (answer) }
                (trust(&document::standing(findings)))
            } @else {
                @if is_answered { p.answer { (answer) } }
                (trust(&document::standing(findings)))
                div.targets { @for one in &large { (numbers(one)) } }
                @if let Some(method) = document::method(findings) { p.note { (method) } }
                ul.said { @for sentence in rest { li { (sentence) } } }
            }
            @if findings.windows.is_some() { (tables) }
            @for one in lead { (figure(one)) }
            @if findings.windows.is_none() { (tables) }
        }
    }
}

/// The numbers of one target.
fn numbers(large: &Large) -> Markup {
    html! {
        section.target {
            @if let Some(name) = &large.target { h2 { (name) } }
            ul.tiles {
                @for number in &large.numbers {
                    li class=(tone(number.stands)) {
                        span.of { (number.workload) }
                        b.value { (number.value) }
                        @if let Some(other) = &number.other { span.other { (other) } }
                        span.range { (number.interval) @if number.wide { " " b.wide { "wide" } } }
                        span.mark { (mark(number.stands)) " " (number.stands.words()) }
                    }
                }
            }
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
            @if standing.is_single { "n = 1 each: no interval. " } @else { "Trust: " }
            @for (stands, count) in &standing.rows {
                span class={ "chip " (tone(*stands)) } { (count) " " (stands.words()) } " "
            }
            @if standing.rows.iter().any(|(stands, _)| stands.lent) {
                "Virtual device: the host's cache is invisible to this guest. "
            }
            @if standing.rows.is_empty() && !standing.is_single { "not judged, because the numbers were imported. " }
            @if !standing.rules.is_empty() {
                "Triggered rules: "
                @for rule in &standing.rules { code { (rule) } " " }
            }
            @if standing.absent == 1 { "1 row could not be measured; the reason is below." }
            @else if standing.absent > 0 { (standing.absent) " rows could not be measured; the reasons are below." }
        }
    }
}

fn tone(stands: Stands) -> &'static str {
    match stands.trust {
        // Nothing speaks against it, and nothing for the drive.
        Trust::Trusted if stands.lent => "given",
        Trust::Trusted => "good",
        Trust::Suspect => "doubtful",
        Trust::Invalid => "bad",
    }
}

fn mark(stands: Stands) -> &'static str {
    match stands.trust {
        Trust::Trusted if stands.lent => "\u{2022}",
        Trust::Trusted => "\u{2713}",
        Trust::Suspect => "?",
        Trust::Invalid => "\u{2717}",
    }
}
