//! Verdicts: arms against their baseline, and what else a grid of arms can be asked (rules R3 to
//! R8, R10, R11). Pure; the one place where better, worse and equivalent are said.

mod arms;
mod bound;
mod checks;
mod comparisons;
mod effects;
mod noise;
mod notes;
mod outliers;
mod pairs;
mod ranks;
mod trends;
mod words;

pub(super) use comparisons::correct;
pub(super) use outliers::mark;
pub(super) use words::across as across_words;

use crate::results::design::Design;
use crate::results::findings::{
    Advice, AdviceStatus, Check, Comparison, Effect, Interaction, NoiseFloor, Rank, Trend, Verdict,
};
use crate::results::measurements::Measurements;

use arms::Question;

/// The verdict across days, where nothing can be shown to be equivalent.
pub(super) fn verdict_of_ends(ends: [f64; 2], higher_is_better: bool) -> Verdict {
    match (ends[0] > 1.0, ends[1] < 1.0) {
        (true, _) if higher_is_better => Verdict::Better,
        (_, true) if !higher_is_better => Verdict::Better,
        (false, false) => Verdict::Inconclusive,
        _ => Verdict::Worse,
    }
}

/// Error of each of so many comparisons in a study.
pub(super) fn error_of_family(design: &Design, comparisons: usize) -> f64 {
    bound::Bound::of(design, comparisons).alpha
}

/// Everything that comparing arms says.
pub(super) struct Verdicts {
    pub comparisons: Vec<Comparison>,
    pub effects: Vec<Effect>,
    pub interactions: Vec<Interaction>,
    pub trends: Vec<Trend>,
    pub ranks: Vec<Rank>,
    pub noise_floor: Option<NoiseFloor>,
    pub advice: Vec<Advice>,
    pub checks: Vec<Check>,
    /// Whether it ran to confirm an earlier study's winner.
    pub confirms: bool,
}

/// Compares all arms of all workloads. `confirms` says that the study ran to confirm an earlier
/// one's winner.
pub(super) fn verdicts(measured: &Measurements, confirms: bool) -> Verdicts {
    let design = &measured.design;
    let questions: Vec<Question<'_>> = arms::questions(measured);
    let primary: Vec<&Question<'_>> =
        questions.iter().filter(|question| question.primary).collect();
    let judged = design.margin.is_some();
    // Without a margin there are ratios alone, and of the metric that matters most.
    let asked = questions.iter().filter(|question| judged || question.primary);
    let comparisons: Vec<Comparison> =
        asked.flat_map(|question| comparisons::comparisons(design, question)).collect();
    let grid = |found: bool| if found && judged { primary.as_slice() } else { &[] };
    let several = design.factors.len() > 1;
    let effects =
        grid(several).iter().flat_map(|question| effects::effects(design, question)).collect();
    let interactions =
        grid(several).iter().flat_map(|question| effects::interactions(design, question)).collect();
    let trends = grid(true).iter().flat_map(|question| trends::trends(design, question)).collect();
    let ranks: Vec<Rank> =
        grid(true).iter().filter_map(|question| ranks::rank(design, question)).collect();
    let noise_floor = noise::floor(&primary);
    Verdicts {
        confirms,
        advice: advice(&comparisons, &ranks, confirms),
        checks: checks::checks(design, &primary, noise_floor.as_ref()),
        comparisons,
        effects,
        interactions,
        trends,
        ranks,
        noise_floor,
    }
}

/// The best arm of each workload that is better than its baseline. The best of many looks better
/// than it is (R5), so it is a candidate until fresh trials have confirmed it.
fn advice(comparisons: &[Comparison], ranks: &[Rank], confirmed: bool) -> Vec<Advice> {
    let mut workloads: Vec<&str> =
        comparisons.iter().map(|found| found.workload.as_str()).collect();
    workloads.dedup();
    workloads
        .into_iter()
        .filter_map(|workload| {
            let mut better = comparisons.iter().filter(|found| {
                found.primary
                    && found.workload == workload
                    && found.verdict == Some(Verdict::Better)
            });
            let places = ranks.iter().find(|rank| rank.workload == workload);
            let best = match places {
                Some(rank) => rank
                    .places
                    .iter()
                    .find_map(|place| better.clone().find(|found| found.arm == place.arm))?,
                None => better.next()?,
            };
            Some(Advice {
                text: words::advice(best, confirmed),
                evidence: vec![best.id.clone()],
                status: if confirmed { AdviceStatus::Confirmed } else { AdviceStatus::Candidate },
            })
        })
        .collect()
}

#[cfg(test)]
mod sentences_tests;
#[cfg(test)]
mod tests;
