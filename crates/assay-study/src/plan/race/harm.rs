//! Arms that harm the production workload: Assay rolled them back, and they leave the race.

use super::{Left, RaceState, Run, Why};

/// Drops arms that did harm in a replicate. The caller ends the race if the baseline does harm.
pub(super) fn drop_harmful(runs: &[Run], after: u32, baseline: usize, now: &mut RaceState) {
    for run in runs.iter().filter(|run| run.harmed && run.arm != baseline) {
        if let Some(slot) = now.left.get_mut(run.arm) {
            slot.get_or_insert(Left { after, why: Why::Harmed });
        }
    }
}
