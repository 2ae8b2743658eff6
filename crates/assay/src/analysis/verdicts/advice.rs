//! What to do: the best arm of each workload, as a candidate until fresh trials confirm it.

use super::words;
use crate::quantity::Better;
use crate::results::findings::{Advice, AdviceStatus, Comparison, Rank, Verdict};

/// How far the numbers have been confirmed, and whether they can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) enum Stage {
    /// A study that ran here.
    Measured,
    /// Numbers that were brought along.
    Imported,
    /// Fresh trials of an earlier study's winner.
    Confirming,
}

/// One advice a workload at most: an arm that is better than its baseline and that no other arm,
/// other baselines included, clearly beats. The best of many looks better than it is (R5).
pub(super) fn advice(comparisons: &[Comparison], ranks: &[Rank], stage: Stage) -> Vec<Advice> {
    let mut workloads: Vec<&str> =
        comparisons.iter().map(|found| found.workload.as_str()).collect();
    workloads.dedup();
    workloads
        .into_iter()
        .filter_map(|workload| {
            let best = best(comparisons, ranks, workload)?;
            Some(Advice {
                text: words::advice(best, stage),
                evidence: vec![best.id.clone()],
                status: match stage {
                    Stage::Confirming => AdviceStatus::Confirmed,
                    Stage::Measured | Stage::Imported => AdviceStatus::Candidate,
                },
            })
        })
        .collect()
}

fn best<'a>(
    comparisons: &'a [Comparison],
    ranks: &[Rank],
    workload: &str,
) -> Option<&'a Comparison> {
    let better = comparisons.iter().filter(|found| {
        found.primary && found.workload == workload && found.verdict == Some(Verdict::Better)
    });
    let Some(rank) = ranks.iter().find(|rank| rank.workload == workload) else {
        return better.max_by(|one, other| gain(one).total_cmp(&gain(other)));
    };
    let unbeaten = rank.places.iter().filter(|place| place.from_to[0] == 1);
    unbeaten.into_iter().find_map(|place| better.clone().find(|found| found.arm == place.arm))
}

/// How much better an arm is, by its estimate; only comparisons of one metric are held together.
fn gain(found: &Comparison) -> f64 {
    let amount = match (&found.difference, found.ratio) {
        (Some(difference), _) => difference.value,
        (None, Some(ratio)) => ratio.ln(),
        (None, None) => 0.0,
    };
    if found.better == Better::Higher { amount } else { -amount }
}
