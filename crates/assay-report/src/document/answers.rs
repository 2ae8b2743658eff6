//! Answers to the study's questions.

use super::{Block, Section};
use assay_study::findings::{Findings, answers::Answer, fitness::FitBound, gate::GateAnswer};

pub const QUESTIONS: &str = "questions";

pub(super) fn questions(findings: &Findings) -> Option<Section> {
    let answers = &findings.answers;
    if answers.all.is_empty() {
        return None;
    }
    // The last answers are those to the bounds; their texts come from the bounds, which have more details.
    let bounds: Vec<_> = answers.requirements.iter().flat_map(|fitness| &fitness.bounds).collect();
    let first_bound = answers.all.len().saturating_sub(bounds.len());
    let (plain, bounded) = answers.all.split_at(first_bound);
    let mut items = Vec::new();
    for (index, answer) in plain.iter().enumerate() {
        // If the study has a gate (a pass/fail rule), the first answer is its outcome.
        let gate = if index == 0 { answers.gate.as_ref() } else { None };
        items.push(answer_text(answer, gate));
    }
    items.extend(bounds.iter().take(bounded.len()).map(|bound| bound_text(bound)));
    Some(Section::titled(QUESTIONS, vec![Block::List(items)]))
}

fn bound_text(bound: &FitBound) -> String {
    let support = support(&bound.reasons, bound.published.as_deref());
    format!("{} {}:{support}", bound.ask, bound.outcome.words().to_uppercase())
}

fn answer_text(answer: &Answer, gate: Option<&GateAnswer>) -> String {
    let support = support(&answer.reasons, answer.published.as_deref());
    if answer.max_rate.is_some() {
        // A question without a verdict has a descriptive answer.
        return format!("{} {}{support}", answer.ask, answer.answer);
    }
    let word = gate.map_or(answer.verdict.word(), |gate| gate.outcome.word());
    format!("{} {}: {}{support}", answer.ask, word.to_uppercase(), answer.answer)
}

/// The reasons of an answer and the published value, each after a space.
fn support(reasons: &[String], published: Option<&str>) -> String {
    let mut text: String = reasons.iter().flat_map(|reason| [" ", reason.as_str()]).collect();
    if let Some(published) = published {
        text.extend([" Published: ", published.trim_end_matches('.'), "."]);
    }
    text
}
