//! The first screen: subject, answer, trust and leading figures. A check answers with numbers in large type.

use maud::{Markup, html};

use super::blocks;
use super::parts::figure;
use crate::document::{self, Large, Section, TrustOverview};
use assay_core::exhibit::figure::Figure;
use assay_study::findings::{Findings, SentenceRole, Trust, shown::Rating};

/// The first screen of a result: the matrix of many configurations, the leading figures and their sections.
pub(super) fn screen(findings: &Findings, lead: &[Figure], sections: &[&Section]) -> Markup {
    let large = document::large(findings);
    let answer = document::answer(findings);
    // The sentence on the agreement of single results already states that n is 1.
    let states_single = answer.topic == "agreement";
    let answer = answer.text;
    let summary = findings.summary.iter();
    let disturbances = summary.clone().filter(|it| it.role == SentenceRole::Disturbance);
    // Only a check of several targets has large numbers and the answer.
    let has_several = large.len() > 1;
    let others = summary.filter(|sentence| !has_several || sentence.text != answer);
    let tables = html! { @for one in sections { (blocks::leading_section(one)) } };
    html! {
        header.first {
            p.kind {
                (findings.study.kind)
                @if is_simulated(findings) { " of a simulated drive" }
                " \u{b7} " (day(findings))
            }
            h1 { (document::subject(findings)) }
            p.measured { (document::identity(findings)) }
            @let conditions = document::conditions(findings);
            @if !conditions.is_empty() {
                details.conditions.paper { summary { "Conditions" } p.measured { (conditions.join("; ")) } }
            }
            @for note in &findings.study.notes { p.note { (note) } }
            @if large.is_empty() {
                @for sentence in disturbances.filter(|it| it.text != answer) { p.warn { (sentence.text) } }
                @match document::largest_change(findings) {
                    Some(change) => { p.answer { (blocks::sentence(&change)) } p.because { (answer) } }
                    None => p.answer { (answer) },
                }
                (trust_paragraphs(&document::standing(findings), states_single))
            } @else {
                @if has_several { p.answer { (answer) } }
                (trust_paragraphs(&document::standing(findings), states_single))
                @if let [one] = large.as_slice() { (numbers(one)) }
                @if let Some(method) = document::method(findings) { p.note { (method) } }
                ul.said { @for sentence in others { li { (sentence.text) } } }
            }
            @if let Some(matrix) = document::matrix(findings) { (blocks::leading_section(&matrix)) }
            @if findings.are_windows() { (tables) }
            @for one in lead { (figure(one)) }
            @if !findings.are_windows() { (tables) }
        }
    }
}

fn numbers(large: &Large) -> Markup {
    html! {
        ul.tiles { @for number in &large.numbers {
            li class=(tone(number.rating)) {
                span.of { (number.workload) }
                b.value { (number.value) }
                @if let Some(other) = &number.other { span.other { (other) } }
                span.range { (number.interval) @if number.wide { " " b.wide { "wide" } } }
                span.mark { (mark(number.rating)) " " (number.rating.words()) }
            }
        } }
    }
}

fn is_simulated(findings: &Findings) -> bool {
    let targets = &findings.environment.targets;
    !targets.is_empty() && targets.iter().all(|target| target.drive == "simulated")
}

fn day(findings: &Findings) -> String {
    findings.study.started.replace('T', " ").chars().take(16).collect()
}

fn trust_paragraphs(standing: &TrustOverview<'_>, states_single: bool) -> Markup {
    html! {
        p.trust {
            @if !standing.is_single { "Trust: " }
            @else if !states_single { "n = 1 each: no interval. " }
            @for (index, (rating, count)) in standing.rows.iter().enumerate() {
                @if index > 0 { ", " }
                span class=(tone(*rating)) { (count) " " (rating.words()) }
            }
            @if !standing.rows.is_empty() { ". " }
            @if standing.rows.iter().any(|(rating, _)| rating.is_lent) {
                "Virtual device: the host's cache is invisible to this guest. "
            }
            @if standing.rows.is_empty() && !standing.is_single { "not judged, because the numbers were imported. " }
            @if standing.absent == 1 { "1 row could not be measured; the reason is below." }
            @else if standing.absent > 0 { (standing.absent) " rows could not be measured; the reasons are below." }
        }
        @for effect in [Trust::Invalid, Trust::Suspect] {
            @if standing.rules.iter().any(|(lowered, _)| *lowered == effect) {
                p.trust {
                    "Rules that make numbers " (effect.word()) ": "
                    @for (lowered, rule) in &standing.rules { @if *lowered == effect { code { (rule) } " " } }
                }
            }
        }
    }
}

fn tone(rating: Rating) -> &'static str {
    match rating.trust {
        // No rule objects, but none can confirm the drive either.
        Trust::Trusted if rating.is_lent => "given",
        Trust::Trusted => "good",
        Trust::Suspect => "doubtful",
        Trust::Invalid => "bad",
    }
}

fn mark(rating: Rating) -> &'static str {
    match rating.trust {
        Trust::Trusted if rating.is_lent => "\u{2022}",
        Trust::Trusted => "\u{2713}",
        Trust::Suspect => "?",
        Trust::Invalid => "\u{2717}",
    }
}
