//! Selects trials of a race: remaining arms in planned order, lead-ins (R2c) and repeats.

use std::collections::BTreeMap;

use assay_core::draws::Draws;

use super::{RaceState, Run};
use crate::results::plan::{Plan, PlannedTrial};
use crate::results::record::{Repeats, Status};

/// At most one in this many trials of a replicate is repeated.
const AGAIN_SHARE: usize = 3;

pub(super) fn replicates(plan: &Plan) -> impl Iterator<Item = &[PlannedTrial]> {
    plan.trials.chunk_by(|one, next| one.replicate == next.replicate)
}

/// Returns the planned trials of a replicate without those of dropped arms, and without warm-ups of empty visits.
pub(super) fn remaining(plan: &Plan, all: &[PlannedTrial], race: &RaceState) -> Vec<PlannedTrial> {
    let mut remaining = Vec::new();
    // A warm-up begins a visit.
    for visit in all.chunk_by(|_, next| !next.is_lead_in()) {
        let is_running = |trial: &&PlannedTrial| !trial.is_lead_in() && race.is_in(trial.workload);
        let trials: Vec<&PlannedTrial> = visit.iter().filter(is_running).collect();
        let Some(first) = trials.first() else { continue };
        remaining.extend(warmup_of(plan, visit, first.workload));
        remaining.extend(trials.into_iter().cloned());
    }
    remaining
}

/// Returns the warm-up of a visit with another arm; `None` for a visit without one.
fn warmup_of(plan: &Plan, visit: &[PlannedTrial], arm: usize) -> Option<PlannedTrial> {
    let slot = visit.first().filter(|trial| trial.is_lead_in())?;
    let levels = plan.workloads.get(arm).map(|planned| planned.arm.clone()).unwrap_or_default();
    Some(PlannedTrial { workload: arm, arm: levels, ..slot.clone() })
}

/// Repeats of a replicate: its disturbed trials, at most a third, in a new random order, without their partners.
pub(super) fn repeats(
    plan: &Plan,
    first: &[PlannedTrial],
    runs: &[Run],
) -> Vec<(PlannedTrial, Repeats)> {
    if plan.design.repeats == 0 {
        return Vec::new();
    }
    let first_runs = runs.iter().filter(|run| run.repeats.is_none());
    let ends: BTreeMap<u32, Status> = first_runs.map(|run| (run.order, run.status)).collect();
    let counted = first.iter().filter(|trial| !trial.is_lead_in()).count();
    let mut left = counted.div_ceil(AGAIN_SHARE);
    let replicate = first.first().map_or(0, |trial| trial.replicate);
    let mut draws = Draws::new(plan.seed ^ u64::from(replicate), "repeat order");
    let mut found = Vec::new();
    for visit in first.chunk_by(|_, next| !next.is_lead_in()) {
        let is_disturbed = |trial: &&PlannedTrial| {
            !trial.is_lead_in() && ends.get(&trial.order) == Some(&Status::Disturbed)
        };
        let mut trials: Vec<&PlannedTrial> = visit.iter().filter(is_disturbed).take(left).collect();
        left -= trials.len();
        draws.shuffle(&mut trials);
        let warmup = trials.first().and_then(|first| warmup_of(plan, visit, first.workload));
        found.extend(warmup.iter().chain(trials).map(|trial| repeat(plan, trial)));
    }
    found
}

/// Plans a repeat of a trial: ordered after all planned trials, in a separate replicate.
fn repeat(plan: &Plan, trial: &PlannedTrial) -> (PlannedTrial, Repeats) {
    let order = (plan.trials.len() as u32).saturating_add(trial.order);
    let mut draws = Draws::new(plan.seed ^ u64::from(order), "repeats");
    let again = PlannedTrial {
        order,
        replicate: plan.replicates.saturating_add(trial.replicate),
        seed: draws.bits(),
        ..trial.clone()
    };
    (again, Repeats { replicate: trial.replicate, order: trial.order })
}
