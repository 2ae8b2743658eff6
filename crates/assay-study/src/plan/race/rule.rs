//! The rule itself (R15): looks after each complete replicate from the third on.

use assay_core::stats::{moderated_variance, normal_mixture_half_width};

use crate::results::design::ALPHA;

/// The replicate after which arms may leave for the first time; a pair of arms needs as many values of both.
pub const FIRST_LOOK: u32 = crate::file::race::FEWEST;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaceRules {
    pub arms: usize,
    pub baseline: usize,
    pub closeness: f64,
    pub replicates: u32,
}

/// Logarithms of values by arm and replicate, the higher the better.
#[derive(Clone, Debug, PartialEq)]
pub struct Logs(Vec<Vec<Option<f64>>>);

impl Logs {
    pub fn new(arms: usize) -> Self {
        Self(vec![Vec::new(); arms])
    }

    /// Sets the logarithm of an arm's value in a replicate from 1 on; ignores `None`, unknown arms and replicate 0.
    pub fn set(&mut self, replicate: u32, arm: usize, log: Option<f64>) {
        let Some(index) = (replicate as usize).checked_sub(1) else { return };
        let (Some(logs), Some(_)) = (self.0.get_mut(arm), log) else { return };
        if logs.len() <= index {
            logs.resize(index + 1, None);
        }
        logs[index] = log;
    }

    fn values(&self, arm: usize, replicates: u32) -> impl Iterator<Item = Option<f64>> + '_ {
        let logs = self.0.get(arm).map_or(&[][..], Vec::as_slice);
        (0..replicates as usize).map(move |at| logs.get(at).copied().flatten())
    }

    /// Returns the number of values of an arm, and their mean.
    pub fn mean(&self, arm: usize) -> (usize, Option<f64>) {
        let logs: Vec<f64> = self.0.get(arm).into_iter().flatten().filter_map(|log| *log).collect();
        (logs.len(), (!logs.is_empty()).then(|| mean(&logs)))
    }

    /// Mean difference of two arms over the first replicates; `None` without common replicates.
    pub fn beside(&self, arm: usize, other: usize, replicates: u32) -> Option<f64> {
        let both = self.values(arm, replicates).zip(self.values(other, replicates));
        let differences: Vec<f64> = both.filter_map(|(log, other)| Some(log? - other?)).collect();
        (!differences.is_empty()).then(|| mean(&differences))
    }

    fn count(&self, arm: usize, replicates: u32) -> usize {
        self.values(arm, replicates).flatten().count()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    Behind {
        leader: usize,
        /// Mean of the differences of its logarithms to the leader's.
        by: f64,
        /// Half-width of the sequence of that mean.
        width: f64,
    },
    Silent,
    Harmed,
    /// One of its levels left in the screen before the race.
    Level {
        factor: usize,
        level: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Left {
    /// The replicate after which it left; 0 if before the first.
    pub after: u32,
    pub why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    One,
    /// No remaining arm can be better than the leader by more than the declared share.
    Close,
    Replicates,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct RaceState {
    pub replicates: u32,
    /// The arm with the highest mean; `None` before the first interim analysis, and if no arm has enough values.
    pub leader: Option<usize>,
    /// Arms that left, by their number; the baseline is never among them.
    pub left: Vec<Option<Left>>,
    /// Whether the baseline would have left by the last interim analysis.
    pub baseline_behind: Option<Left>,
    pub over: Option<Over>,
}

impl RaceState {
    pub fn new(rules: &RaceRules) -> Self {
        Self { left: vec![None; rules.arms], ..Self::default() }
    }

    pub fn is_in(&self, arm: usize) -> bool {
        self.left.get(arm).is_some_and(Option::is_none)
    }

    pub fn running(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.left.len()).filter(|arm| self.is_in(*arm))
    }
}

/// Replays the interim analyses of the first replicates, until one ends the race.
pub fn standing(rules: &RaceRules, logs: &Logs, replicates: u32) -> RaceState {
    let mut race = RaceState::new(rules);
    for replicate in 1..=replicates.min(rules.replicates) {
        race = judge(rules, logs, replicate, race);
        if race.over.is_some() {
            break;
        }
    }
    race
}

#[derive(Clone, Copy, Debug)]
struct PairedDifference {
    arm: usize,
    n: usize,
    mean: f64,
    variance: f64,
}

/// Returns the state after the interim analysis of a replicate.
pub(super) fn judge(rules: &RaceRules, logs: &Logs, replicate: u32, race: RaceState) -> RaceState {
    let mut race = RaceState { replicates: replicate, ..race };
    if replicate >= FIRST_LOOK {
        drop_silent(rules, logs, &mut race);
        race.leader = find_leader(logs, &race);
        race.baseline_behind = None;
        if let Some(leader) = race.leader {
            let pairs = pairs_with(leader, logs, &race);
            race.over = drop_behind(rules, leader, &pairs, &mut race);
        }
    }
    if race.over.is_none() && replicate >= rules.replicates {
        race.over = Some(Over::Replicates);
    }
    race
}

/// Drops arms without a counting trial, because they cannot win; never the baseline.
fn drop_silent(rules: &RaceRules, logs: &Logs, race: &mut RaceState) {
    let after = race.replicates;
    let lost: Vec<usize> = (race.running())
        .filter(|arm| *arm != rules.baseline && logs.count(*arm, after) == 0)
        .collect();
    for arm in lost {
        race.left[arm] = Some(Left { after, why: Why::Silent });
    }
}

/// Returns the arm with the highest mean among those with enough values. Values are relative to the mean of their
/// replicate, so an arm gains nothing by missing a bad one.
fn find_leader(logs: &Logs, race: &RaceState) -> Option<usize> {
    // Per replicate: the sum of its values, and their number.
    let mut sums = vec![(0.0_f64, 0_usize); race.replicates as usize];
    for arm in race.running() {
        for ((sum, count), log) in sums.iter_mut().zip(logs.values(arm, race.replicates)) {
            if let Some(log) = log {
                *sum += log;
                *count += 1;
            }
        }
    }
    let mut best: Option<(usize, f64)> = None;
    for arm in race.running() {
        let values = logs.values(arm, race.replicates).zip(&sums);
        let relative: Vec<f64> =
            values.filter_map(|(log, (sum, count))| Some(log? - sum / *count as f64)).collect();
        if relative.len() < FIRST_LOOK as usize {
            continue;
        }
        let mean = mean(&relative);
        if best.is_none_or(|(_, most)| mean > most) {
            best = Some((arm, mean));
        }
    }
    best.map(|(arm, _)| arm)
}

pub(super) fn replace_dropped_leader(logs: &Logs, race: &mut RaceState) {
    if race.leader.is_some_and(|arm| !race.is_in(arm)) {
        race.leader = find_leader(logs, race);
        race.baseline_behind = None;
    }
}

/// Differences of each other running arm from the leader in common replicates; arms with too few of these are omitted.
fn pairs_with(leader: usize, logs: &Logs, race: &RaceState) -> Vec<PairedDifference> {
    let lead: Vec<Option<f64>> = logs.values(leader, race.replicates).collect();
    let others = race.running().filter(|arm| *arm != leader);
    let pair = |arm: usize| {
        let pairs = logs.values(arm, race.replicates).zip(&lead);
        let differences: Vec<f64> = pairs.filter_map(|(log, lead)| Some(log? - (*lead)?)).collect();
        let n = differences.len();
        if n < FIRST_LOOK as usize {
            return None;
        }
        let mean = mean(&differences);
        let squares = differences.iter().map(|difference| (difference - mean).powi(2)).sum::<f64>();
        Some(PairedDifference { arm, n, mean, variance: squares / (n - 1) as f64 })
    };
    others.filter_map(pair).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Drops arms that are behind the leader; returns why the race is over, if so.
fn drop_behind(
    rules: &RaceRules,
    leader: usize,
    pairs: &[PairedDifference],
    race: &mut RaceState,
) -> Option<Over> {
    let after = race.replicates;
    let variances = pairs.iter().map(|pair| pair.variance);
    let mean_variance = variances.sum::<f64>() / pairs.len().max(1) as f64;
    // The pairs that contain the best arm share the error; arms dropped by a screen do not count.
    let entered = race.left.iter().filter(|entry| entry.is_none_or(|left| left.after > 0)).count();
    let alpha = ALPHA / entered.saturating_sub(1).max(1) as f64;
    let close_enough = rules.closeness.ln_1p();
    let mut close = 0;
    for pair in pairs {
        let variance = moderated_variance(pair.variance, pair.n, mean_variance);
        let Some(width) = normal_mixture_half_width(variance, pair.n, alpha) else { continue };
        // Even the upper confidence bound is below the leader.
        if pair.mean + width < 0.0 {
            let why = Why::Behind { leader, by: pair.mean, width };
            let slot = if pair.arm == rules.baseline {
                &mut race.baseline_behind
            } else {
                &mut race.left[pair.arm]
            };
            *slot = Some(Left { after, why });
        } else if pair.mean + width <= close_enough {
            close += 1;
        }
    }
    let behind = usize::from(race.baseline_behind.is_some());
    match race.running().filter(|arm| *arm != leader).count() - behind {
        0 => Some(Over::One),
        others if others == close => Some(Over::Close),
        _ => None,
    }
}
