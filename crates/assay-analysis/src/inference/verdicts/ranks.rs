//! Ranks of arms with their possible range: arms without a significant difference share ranks.

use assay_core::quantity::{Better, Scale};
use assay_core::stats::Sample;
use assay_study::findings::{Comparison, Rank, RankRange};
use assay_study::results::{course::RATE, design::Design};

use super::arms::{Question, Runs};
use super::pairs::{pairs, signed_interval};
use super::{bound::ErrorBound, words};
use crate::inference::cells;

const FEWEST_ARMS: usize = 3;

/// The ranks of a workload's valid arms, if comparable. `with_invalid` has all arms: an invalid one may be a baseline.
pub(super) fn rank(
    design: &Design,
    question: &Question<'_>,
    with_invalid: &[&Question<'_>],
    comparisons: &[Comparison],
) -> Option<Rank> {
    if question.scale != Scale::Ratio || !design.order.tells_arms_from_time() {
        return None;
    }
    // A higher load is not a better configuration.
    let is_load = design.varied().all(|factor| factor.name == RATE);
    let runs = arms_to_rank(question);
    if is_load || runs.len() < FEWEST_ARMS {
        return None;
    }
    let bound = ErrorBound::new(design, pairs_of(runs.len()) * question.sharing);
    let table = RankTable::new(question.better, &runs, &bound);
    let is_same =
        |one: &&&Question<'_>| one.workload == question.workload && one.metric == question.metric;
    let all_arms: &Question<'_> = with_invalid.iter().find(is_same).copied().unwrap_or(question);
    let mut ranks: Vec<RankRange> = Vec::new();
    for (index, arm) in runs.iter().enumerate() {
        ranks.push(RankRange {
            configuration: arm.arm.clone(),
            rank_range: [1 + table.ahead[index], runs.len() - table.behind[index]],
            geometric_mean: row_value(design, all_arms, arm),
        });
    }
    let sign = question.better.sign();
    ranks.sort_by(|a, b| (sign * b.geometric_mean).total_cmp(&(sign * a.geometric_mean)));
    let (workload, metric) = (question.workload.to_owned(), question.metric.to_owned());
    let mut rank = Rank { workload, metric, ranks, text: String::new() };
    rank.text = words::rank(&rank, design, comparisons);
    Some(rank)
}

/// The arms with a rank: not an arm with one trial among arms with several, however good it looks.
fn arms_to_rank<'q, 'a>(question: &'q Question<'a>) -> Vec<&'q Runs<'a>> {
    let most = question.arms.iter().map(|runs| runs.first.len()).max().unwrap_or(0);
    let fewest = if most >= ENOUGH { 2 } else { 1 };
    question.arms.iter().filter(|runs| runs.first.len() >= fewest).collect()
}

/// The best of some arms, and the arms that could be the best.
pub(super) struct BestArm {
    pub best: usize,
    pub candidates: Vec<bool>,
}

/// The arm with the best mean, and all arms that no other arm beats significantly; `tables` share the error.
pub(super) fn could_be_best(
    design: &Design,
    better: Better,
    runs: &[&Runs<'_>],
    tables: usize,
) -> Option<BestArm> {
    find_best(better, runs, &ErrorBound::new(design, pairs_of(runs.len()) * tables))
}

pub(super) const fn pairs_of(arms: usize) -> usize {
    arms * arms.saturating_sub(1) / 2
}

/// As [`could_be_best`], with a given bound for the difference of each pair.
pub(super) fn find_best(better: Better, runs: &[&Runs<'_>], bound: &ErrorBound) -> Option<BestArm> {
    let table = RankTable::new(better, runs, bound);
    let sign = better.sign();
    let best = (0..runs.len())
        .max_by(|a, b| (sign * table.means[*a]).total_cmp(&(sign * table.means[*b])))?;
    Some(BestArm { best, candidates: table.ahead.iter().map(|ahead| *ahead == 0).collect() })
}

/// By arm: its mean, and how many arms are significantly better and worse.
struct RankTable {
    means: Vec<f64>,
    ahead: Vec<usize>,
    behind: Vec<usize>,
}

impl RankTable {
    /// Counts for each arm how many others are significantly ahead of it and behind it.
    fn new(better: Better, runs: &[&Runs<'_>], bound: &ErrorBound) -> Self {
        let count = runs.len();
        let means = runs.iter().map(|runs| mean(&own_levels(runs))).collect();
        let mut table = Self { means, ahead: vec![0; count], behind: vec![0; count] };
        for first in 0..count {
            for second in first + 1..count {
                let differences = pairs(runs[first], runs[second]).differences();
                let ends = Sample::of(&differences).and_then(|sample| bound.interval(&sample));
                let (winner, loser) = match ends.map(|ends| signed_interval(ends, better.sign())) {
                    Some([low, _]) if low > 0.0 => (second, first),
                    Some([_, high]) if high < 0.0 => (first, second),
                    _ => continue,
                };
                table.behind[winner] += 1;
                table.ahead[loser] += 1;
            }
        }
        table
    }
}

/// The number of an arm's row in the table of measurements.
fn row_value(design: &Design, question: &Question<'_>, runs: &Runs<'_>) -> f64 {
    let baseline = question.baseline_of(design, runs.arm).map(|base| base.trials);
    cells::row_value(runs.trials, baseline).unwrap_or_else(|| mean(&own_levels(runs)).exp())
}

/// With this many undisturbed runs the disturbed ones are left out, as for cells.
const ENOUGH: usize = 3;

/// The logarithms of an arm's undisturbed runs, if enough, else of all.
pub(super) fn own_levels(runs: &Runs<'_>) -> Vec<f64> {
    let undisturbed = |replicate: &u32| runs.undisturbed_run(*replicate).map(|run| run.level);
    let levels: Vec<f64> = runs.first.keys().filter_map(undisturbed).collect();
    if levels.len() < ENOUGH {
        return runs.first.values().map(|run| run.level).collect();
    }
    levels
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
