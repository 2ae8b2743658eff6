//! Answers to the study's questions.

use super::{Block, Section};
use assay_study::findings::Findings;
use assay_study::findings::answers::Answer;
use assay_study::findings::fitness::FitBound;
use assay_study::findings::gate::GateAnswer;

pub const QUESTIONS: &str = "questions";

pub(super) fn questions(findings: &Findings) -> Option<Section> {
    if findings.answers.all.is_empty() {
        return None;
    }
    // A gate, which is answered first, has no bound.
    let bounds = findings.answers.requirements.iter().flat_map(|fitness| &fitness.bounds);
    let bounds: Vec<&FitBound> = bounds.collect();
    let first = findings.answers.all.len().saturating_sub(bounds.len());
    let told = |(at, answer): (usize, &Answer)| match at
        .checked_sub(first)
        .and_then(|at| bounds.get(at))
    {
        Some(bound) => of_bound(bound),
        None => item(answer, findings.answers.gate.as_ref().filter(|_| at == 0)),
    };
    let items = findings.answers.all.iter().enumerate().map(told).collect();
    Some(Section::titled(QUESTIONS, vec![Block::List(items)]))
}

fn of_bound(bound: &FitBound) -> String {
    let FitBound { ask, outcome: ended, reasons: because, published, .. } = bound;
    let published =
        published.iter().map(|text| format!(" Published: {}.", text.trim_end_matches('.')));
    let because = because.iter().map(|text| format!(" {text}"));
    let rest: String = because.chain(published).collect();
    format!("{ask} {}:{rest}", ended.words().to_uppercase())
}

fn item(answer: &Answer, gate: Option<&GateAnswer>) -> String {
    let word = gate.map_or(answer.verdict.word(), |gate| gate.outcome.word());
    let published =
        answer.published.iter().map(|text| format!(" Published: {}.", text.trim_end_matches('.')));
    let because = answer.reasons.iter().map(|text| format!(" {text}"));
    let rest: String = because.chain(published).collect();
    if answer.max_rate.is_some() {
        // A question without a verdict has a descriptive answer.
        return format!("{} {}{rest}", answer.ask, answer.answer);
    }
    format!("{} {}: {}{rest}", answer.ask, word.to_uppercase(), answer.answer)
}
