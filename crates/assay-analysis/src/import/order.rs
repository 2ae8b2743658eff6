//! Detects the order of trials from their positions alone.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use assay_core::quantity::level_number;
use assay_study::file::Order;

/// Fewest replicates for a remark on an identical order in all of them.
const FEWEST_REPLICATES: usize = 3;

/// A trial with its position in time. Workloads and arms are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OrderedTrial {
    pub order: u32,
    pub lead_in: bool,
    pub workload: usize,
    pub arm: usize,
    pub replicate: u32,
}

/// Trials of one workload in time order: replicate and arm.
type Run = Vec<(u32, usize)>;
type Pass<'a> = &'a [(u32, usize)];

/// The order that all workloads of a study have; `Sequential` if one workload is sequential.
pub(super) fn order(trials: &[OrderedTrial]) -> Order {
    let runs = runs(trials);
    if runs.values().any(is_sequential) {
        return Order::Sequential;
    }
    // The replicates of each workload; `None` if replicates of any workload overlap in time.
    let passes: Option<Vec<_>> = runs.values().map(passes).collect();
    match passes {
        Some(passes) if passes.is_empty() => Order::Unknown,
        Some(_) if starts_with_lead_ins(trials) => Order::Random,
        Some(passes) if passes.iter().all(|passes| is_chained(passes)) => Order::Chained,
        Some(_) => Order::Rcbd,
        None => Order::Unknown,
    }
}

/// Workloads whose replicates, if there are enough of them, all run their arms in the same order.
pub(super) fn fixed_order(trials: &[OrderedTrial]) -> Vec<usize> {
    let is_fixed = |run: &Run| {
        let Some(passes) = passes(run) else { return false };
        let arms = |pass: &Pass<'_>| -> Vec<usize> { pass.iter().map(|(_, arm)| *arm).collect() };
        passes.len() >= FEWEST_REPLICATES
            && passes.windows(2).all(|pair| arms(&pair[0]) == arms(&pair[1]))
    };
    let mut workloads = runs(trials);
    workloads.retain(|_, run| is_fixed(run));
    workloads.into_keys().collect()
}

/// Trials by workload, in time order, without lead-ins and workloads of one arm. Metrics of a trial share its position.
fn runs(trials: &[OrderedTrial]) -> BTreeMap<usize, Run> {
    let mut in_time: Vec<&OrderedTrial> = trials.iter().filter(|trial| !trial.lead_in).collect();
    in_time.sort_by_key(|trial| trial.order);
    in_time.dedup_by_key(|trial| trial.order);
    let mut runs: BTreeMap<usize, Run> = BTreeMap::new();
    for trial in in_time {
        runs.entry(trial.workload).or_default().push((trial.replicate, trial.arm));
    }
    runs.retain(|_, run| arms(run).len() > 1);
    runs
}

fn arms(run: &[(u32, usize)]) -> BTreeSet<usize> {
    run.iter().map(|(_, arm)| *arm).collect()
}

/// Whether each arm ran all its trials before the next arm began.
fn is_sequential(run: &Run) -> bool {
    let blocks = run.chunk_by(|one, next| one.1 == next.1).count();
    run.iter().any(|(replicate, _)| *replicate != run[0].0) && blocks == arms(run).len()
}

/// Arms of each replicate in time order; `None` unless each replicate ends before the next one begins.
fn passes(run: &Run) -> Option<Vec<Pass<'_>>> {
    let blocks: Vec<Pass<'_>> = run.chunk_by(|one, next| one.0 == next.0).collect();
    let mut replicates: Vec<u32> = blocks.iter().map(|block| block[0].0).collect();
    replicates.sort_unstable();
    let is_whole = replicates.windows(2).all(|pair| pair[0] != pair[1]);
    (is_whole && blocks.iter().all(|block| block.len() == arms(block).len())).then_some(blocks)
}

/// Whether the first trial of each replicate is a lead-in.
fn starts_with_lead_ins(trials: &[OrderedTrial]) -> bool {
    let mut trials: Vec<&OrderedTrial> = trials.iter().collect();
    trials.sort_by_key(|trial| (trial.replicate, trial.order));
    let mut replicates = trials.chunk_by(|one, next| one.replicate == next.replicate);
    !trials.is_empty() && replicates.all(|replicate| replicate[0].lead_in)
}

/// Whether each replicate starts with the last arm of the one before.
fn is_chained(passes: &[Pass<'_>]) -> bool {
    let arm = |trial: Option<&(u32, usize)>| trial.map(|(_, arm)| *arm);
    passes.len() > 1 && passes.windows(2).all(|pair| arm(pair[0].last()) == arm(pair[1].first()))
}

/// Sorts numbers and sizes by value and other levels by name; returns their indices.
pub(super) fn levels_in_order(names: &[String]) -> Vec<usize> {
    let mut levels: Vec<usize> = (0..names.len()).collect();
    let sizes: Option<Vec<f64>> = names.iter().map(|level| level_number(level)).collect();
    levels.sort_by(|&one, &other| {
        let by_size = sizes.as_ref().map(|sizes| sizes[one].total_cmp(&sizes[other]));
        by_size.unwrap_or(Ordering::Equal).then_with(|| names[one].cmp(&names[other]))
    });
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a1 b1 b2 a2`: arm and replicate in time order; capitals are another workload, and `-a1` is a warm-up.
    fn placed(text: &str) -> Vec<OrderedTrial> {
        let trial = |(order, word): (usize, &str)| {
            let lead_in = word.starts_with('-');
            let word = word.trim_start_matches('-');
            let letter = word.as_bytes()[0];
            OrderedTrial {
                order: order as u32,
                lead_in,
                workload: usize::from(letter.is_ascii_uppercase()),
                arm: usize::from(letter.to_ascii_lowercase() - b'a'),
                replicate: word[1..].parse().unwrap(),
            }
        };
        text.split_whitespace().enumerate().map(trial).collect()
    }

    fn of(text: &str) -> Order {
        order(&placed(text))
    }

    #[test]
    fn one_arm_after_the_other_is_sequential() {
        assert_eq!(of("a1 a2 b1 b2"), Order::Sequential);
        assert_eq!(of("a1 a2 a3 b1 b2 b3 c1 c2"), Order::Sequential);
        assert_eq!(of("a1 b1 a2 b2 A1 A2 B1 B2"), Order::Sequential);
    }

    #[test]
    fn one_replicate_cannot_be_sequential() {
        assert_eq!(of("a1 b1 c1"), Order::Rcbd);
    }

    #[test]
    fn complete_replicates_are_blocks() {
        assert_eq!(of("a1 b1 a2 b2"), Order::Rcbd);
        assert_eq!(of("c1 a1 b1 a2 b2 c2"), Order::Rcbd);
        assert_eq!(of("a1 A1 b1 B1 B2 a2 b2 A2"), Order::Rcbd);
    }

    #[test]
    fn chains_are_seen() {
        assert_eq!(of("a1 b1 b2 a2 a3 b3"), Order::Chained);
        assert_eq!(of("a1 b1 c1 c2 a2 b2"), Order::Chained);
        assert_eq!(of("a1 b1 A1 B1 B2 A2 b2 a2"), Order::Chained);
    }

    #[test]
    fn lead_ins_of_all_replicates_are_seen() {
        assert_eq!(of("-a1 a1 b1 -b2 b2 a2"), Order::Random);
        // By chance it is also a chain.
        assert_eq!(of("-a1 a1 b1 -a2 a2 b2 -b3 b3 a3"), Order::Random);
        assert_eq!(of("-a1 a1 b1 b2 a2"), Order::Chained);
        assert_eq!(of("-a1 a1 b1 a2 b2"), Order::Rcbd);
    }

    #[test]
    fn what_is_missing_from_a_replicate_takes_nothing_from_the_others() {
        assert_eq!(of("a1 b1 c1 a2 b2"), Order::Rcbd);
        assert_eq!(of("a1 c1 b2 a2"), Order::Rcbd);
    }

    #[test]
    fn what_fits_nothing_is_unknown() {
        assert_eq!(of("a1 b1 a2 b2 a1"), Order::Unknown);
        assert_eq!(of("a1 a2 b1 b2 a3 b3"), Order::Unknown);
        assert_eq!(of("a1 a2 a3"), Order::Unknown);
        assert_eq!(of(""), Order::Unknown);
    }

    #[test]
    fn metrics_of_one_trial_are_one_trial() {
        let mut trials = placed("a1 b1 b2 a2");
        trials.extend(placed("a1 b1 b2 a2"));
        assert_eq!(order(&trials), Order::Chained);
    }

    #[test]
    fn the_same_order_throughout_is_seen() {
        assert_eq!(fixed_order(&placed("a1 b1 a2 b2 a3 b3")), [0]);
        assert_eq!(fixed_order(&placed("a1 b1 a2 b2")), [0; 0]);
        assert_eq!(fixed_order(&placed("a1 b1 b2 a2 a3 b3")), [0; 0]);
    }
}
