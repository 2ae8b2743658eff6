//! Pairs: an arm and its baseline in the same replicate (R3, R11).

use super::arms::{ArmTrial, Runs};

/// Pairs of one comparison, as differences arm - baseline on the scale of comparison.
pub(super) struct Pairs {
    pub undisturbed: Vec<ReplicatePair>,
    pub all: Vec<f64>,
}

/// An arm and its baseline in one replicate, on the scale of comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplicatePair {
    pub replicate: u32,
    arm: f64,
    baseline: f64,
    /// Whether the arm ran before its baseline; none where something ran between them.
    pub arm_first: Option<bool>,
}

impl ReplicatePair {
    fn new(replicate: u32, baseline: &ArmTrial, arm: &ArmTrial) -> Self {
        let (first, second) = (arm.order, baseline.order);
        let neighbours = first.zip(second).filter(|(one, other)| one.abs_diff(*other) == 1);
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

    pub fn means(&self) -> [f64; 2] {
        let mean = |level: fn(&ReplicatePair) -> f64| {
            self.undisturbed.iter().map(level).sum::<f64>() / self.undisturbed.len() as f64
        };
        [mean(|pair| pair.arm), mean(|pair| pair.baseline)]
    }
}

/// The pairs of two arms, without imputation. The repeat of a disturbed pair replaces the pair.
pub(super) fn pairs(baseline: &Runs<'_>, arm: &Runs<'_>) -> Pairs {
    let mut found = Pairs { undisturbed: Vec::new(), all: Vec::new() };
    for (&replicate, base) in baseline.first.iter() {
        let Some(other) = arm.first.get(replicate) else { continue };
        found.all.push(other.level - base.level);
        if undisturbed(base, other) {
            found.undisturbed.push(ReplicatePair::new(replicate, base, other));
            continue;
        }
        let again = repeated(baseline, arm, replicate);
        found.all.extend(again.iter().map(|(base, other)| other.level - base.level));
        let stands = again.into_iter().find(|(base, other)| undisturbed(base, other));
        found
            .undisturbed
            .extend(stands.map(|(base, other)| ReplicatePair::new(replicate, &base, &other)));
    }
    found
}

/// The levels of several arms in one replicate: first runs, or one undisturbed repeat of all. Times are never mixed.
pub(super) fn together(arms: &[&Runs<'_>], replicate: u32) -> Option<Vec<f64>> {
    let first: Option<Vec<ArmTrial>> =
        arms.iter().map(|runs| runs.first.get(replicate).copied()).collect();
    let quiet = |runs: &Vec<ArmTrial>| runs.iter().all(|run| !run.disturbed);
    let levels = |runs: Vec<ArmTrial>| runs.into_iter().map(|run| run.level).collect();
    let first = first?;
    if quiet(&first) {
        return Some(levels(first));
    }
    let mut rounds = arms.first()?.repeats.get(&replicate)?.iter().filter_map(|(round, _)| {
        let of_round = |runs: &&Runs<'_>| {
            let own = runs.repeats.get(&replicate)?.iter().find(|(other, _)| other == round)?;
            Some(own.1)
        };
        arms.iter().map(of_round).collect::<Option<Vec<ArmTrial>>>()
    });
    rounds.find(quiet).map(levels)
}

/// Returns an interval times a sign, the lower end first.
pub(super) fn signed(ends: [f64; 2], sign: f64) -> [f64; 2] {
    let [one, other] = ends.map(|end| sign * end);
    [one.min(other), one.max(other)]
}

fn undisturbed(one: &ArmTrial, other: &ArmTrial) -> bool {
    !one.disturbed && !other.disturbed
}

fn repeated(baseline: &Runs<'_>, arm: &Runs<'_>, replicate: u32) -> Vec<(ArmTrial, ArmTrial)> {
    let of = |runs: &Runs<'_>| runs.repeats.get(&replicate).cloned().unwrap_or_default();
    let others = of(arm);
    let pair = |(round, base): (u32, ArmTrial)| {
        Some((base, others.iter().find(|(other, _)| *other == round)?.1))
    };
    of(baseline).into_iter().filter_map(pair).collect()
}
