//! What is run again because something disturbed it (R11b): the replicate where it is short, else
//! the disturbed trials with their baseline partners. Appended to the plan, which stays as it was
//! hashed.

use std::collections::{BTreeMap, BTreeSet};

use super::draws::Draws;
use crate::results::findings::Repeats;
use crate::results::plan::{Plan, PlannedTrial};
use crate::results::record::{Status, TrialRecord};

/// Trials of a replicate up to which all of it is run again.
const SHORT: usize = 8;

/// The trials to be run again, in order, each with the one that it repeats. A function of the
/// first runs alone, so that an interrupted study goes on with the same repeats.
pub fn repeats(plan: &Plan, records: &[&TrialRecord]) -> Vec<(PlannedTrial, Repeats)> {
    let mut disturbed: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.repeats.is_none()) {
        if record.status == Status::Disturbed {
            disturbed.entry(record.replicate).or_default().insert(record.workload);
        }
    }
    let mut order = plan.trials.len() as u32;
    let mut wanted = Vec::new();
    let rounds = disturbed.into_iter().take(plan.design.repeats as usize);
    for ((replicate, hit), round) in rounds.zip(plan.replicates + 1..) {
        for original in again(plan, replicate, &hit) {
            let mut draws = Draws::new(plan.seed ^ u64::from(order), "repeats");
            let repeated = Repeats { replicate, order: original.order };
            let trial =
                PlannedTrial { order, replicate: round, seed: draws.bits(), ..original.clone() };
            wanted.push((trial, repeated));
            order += 1;
        }
    }
    wanted
}

/// Trials of a replicate that are run again, in a fresh random order.
fn again<'a>(plan: &'a Plan, replicate: u32, hit: &BTreeSet<usize>) -> Vec<&'a PlannedTrial> {
    let own = plan.trials.iter().filter(|trial| trial.replicate == replicate);
    let all: Vec<&PlannedTrial> = own.collect();
    let mut chosen = if all.len() <= SHORT {
        all
    } else {
        let wanted: BTreeSet<usize> =
            hit.iter().flat_map(|&workload| partners(plan, workload, hit)).collect();
        all.into_iter().filter(|trial| wanted.contains(&trial.workload)).collect()
    };
    Draws::new(plan.seed ^ u64::from(replicate), "repeat order").shuffle(&mut chosen);
    chosen
}

/// A disturbed trial with its baseline, or with every arm that is compared with it where it is a
/// baseline itself.
fn partners(plan: &Plan, workload: usize, hit: &BTreeSet<usize>) -> Vec<usize> {
    let own = &plan.workloads[workload];
    let baseline = |arm: &crate::results::plan::Arm| {
        let mut arm = arm.clone();
        arm.extend(plan.design.baseline.clone());
        arm
    };
    let is_baseline = baseline(&own.arm) == own.arm && !own.control;
    let belongs = |index: usize| {
        let other = &plan.workloads[index];
        let same = other.name == own.name;
        let partner = if is_baseline {
            baseline(&other.arm) == own.arm
        } else {
            other.arm == baseline(&own.arm) && !other.control
        };
        index == workload || (same && partner) || hit.contains(&index)
    };
    (0..plan.workloads.len()).filter(|index| belongs(*index)).collect()
}
