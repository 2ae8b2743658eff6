//! Pairs: an arm and its baseline in the same replicate (R3, R11).

use super::arms::{ArmTrial, Runs};

/// Pairs of one comparison, as differences arm - baseline on the scale of comparison.
pub(super) struct Pairs {
    pub undisturbed: Vec<ReplicatePair>,
    /// The differences of all pairs, including disturbed ones and repeats.
    pub all: Vec<f64>,
}

/// An arm and its baseline in one replicate, on the scale of comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplicatePair {
    pub replicate: u32,
    arm: f64,
    baseline: f64,
    /// Whether the arm ran before its baseline; `None` if another trial ran between them.
    pub arm_first: Option<bool>,
}

impl ReplicatePair {
    fn new(replicate: u32, baseline: &ArmTrial, arm: &ArmTrial) -> Self {
        let orders = arm.order.zip(baseline.order);
        let neighbours = orders.filter(|(arm, baseline)| arm.abs_diff(*baseline) == 1);
        let arm_first = neighbours.map(|(arm, baseline)| arm < baseline);
        Self { replicate, arm: arm.level, baseline: baseline.level, arm_first }
    }

    pub fn difference(&self) -> f64 {
        self.arm - self.baseline
    }
}

impl Pairs {
    pub fn differences(&self) -> Vec<f64> {
        self.undisturbed.iter().map(ReplicatePair::difference).collect()
    }

    /// Means of the arm and of its baseline over the undisturbed pairs.
    pub fn means(&self) -> [f64; 2] {
        let mean = |level: fn(&ReplicatePair) -> f64| {
            self.undisturbed.iter().map(level).sum::<f64>() / self.undisturbed.len() as f64
        };
        [mean(|pair| pair.arm), mean(|pair| pair.baseline)]
    }
}

/// Pairs the runs of two arms by replicate; an undisturbed repeat replaces a disturbed pair, else it is left out.
pub(super) fn pairs(baseline: &Runs<'_>, arm: &Runs<'_>) -> Pairs {
    let mut pairs = Pairs { undisturbed: Vec::new(), all: Vec::new() };
    for (&replicate, base) in baseline.first.iter() {
        let Some(other) = arm.first.get(replicate) else { continue };
        pairs.all.push(other.level - base.level);
        if !base.disturbed && !other.disturbed {
            pairs.undisturbed.push(ReplicatePair::new(replicate, base, other));
            continue;
        }
        let repeats = both_repeats(baseline, arm, replicate);
        pairs.all.extend(repeats.iter().map(|(base, other)| other.level - base.level));
        let mut repeats = repeats.iter();
        if let Some((base, other)) =
            repeats.find(|(base, other)| !base.disturbed && !other.disturbed)
        {
            pairs.undisturbed.push(ReplicatePair::new(replicate, base, other));
        }
    }
    pairs
}

/// The values of several arms in one replicate: of their first runs, or of one repeat of all, if all are undisturbed.
pub(super) fn levels_in(arms: &[&Runs<'_>], replicate: u32) -> Option<Vec<f64>> {
    let levels = |runs: &[ArmTrial]| runs.iter().map(|run| run.level).collect();
    let first_runs = arms.iter().map(|runs| runs.first.get(replicate).copied());
    let first_runs = first_runs.collect::<Option<Vec<ArmTrial>>>()?;
    if first_runs.iter().all(|run| !run.disturbed) {
        return Some(levels(&first_runs));
    }
    for (round, _) in arms.first()?.repeats.get(&replicate)? {
        let repeat = |runs: &&Runs<'_>| {
            let repeats = runs.repeats.get(&replicate)?;
            repeats.iter().find(|(other, _)| other == round).map(|(_, run)| *run)
        };
        let repeats = arms.iter().map(repeat).collect::<Option<Vec<ArmTrial>>>();
        if let Some(runs) = repeats.filter(|runs| runs.iter().all(|run| !run.disturbed)) {
            return Some(levels(&runs));
        }
    }
    None
}

/// Returns an interval times a sign, the lower end first.
pub(super) fn signed_interval(ends: [f64; 2], sign: f64) -> [f64; 2] {
    let [one, other] = ends.map(|end| sign * end);
    [one.min(other), one.max(other)]
}

/// The repeats of a replicate that both arms have, as baseline and arm.
fn both_repeats(baseline: &Runs<'_>, arm: &Runs<'_>, replicate: u32) -> Vec<(ArmTrial, ArmTrial)> {
    let mut pairs = Vec::new();
    for (round, base) in baseline.repeats.get(&replicate).into_iter().flatten() {
        let mut arm_repeats = arm.repeats.get(&replicate).into_iter().flatten();
        let same_round = arm_repeats.find(|(other, _)| other == round);
        pairs.extend(same_round.map(|(_, run)| (*base, *run)));
    }
    pairs
}
