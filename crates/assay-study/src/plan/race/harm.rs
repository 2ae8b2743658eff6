//! Arms that harm others' work: they were rolled back, and leave whatever the looks say.

use super::{Left, Run, Standing, Why};

/// Lets those leave after a replicate that did harm in it. The baseline stays: a race in which that harms is
/// ended by whoever runs it.
pub(super) fn leave(own: &[Run], after: u32, baseline: usize, now: &mut Standing) {
    for run in own.iter().filter(|run| run.harmed && run.arm != baseline) {
        if let Some(slot) = now.left.get_mut(run.arm) {
            slot.get_or_insert(Left { after, why: Why::Harmed });
        }
    }
}
