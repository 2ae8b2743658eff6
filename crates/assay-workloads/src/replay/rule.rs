//! Rule `replay-mismatch`: what was played is not the work that was recorded.

use assay_core::catalogue::About;
use assay_core::quantity::metric::Nature;

use super::ReplayDetail;
use crate::tell::{Doubt, OwnRule};
use crate::{Basis, Measured};

pub(super) const UNFAITHFUL: OwnRule = OwnRule {
    about: About {
        name: "replay-mismatch",
        summary: "the replay differs from the recorded trace",
        text: "The number is invalid. The limits are 1% for the count and bytes of each request class, 0.02 for start \
               times (KS distance; one request if there are fewer than 50), 0.5% for the duration and 5% for late \
               starts. The limits are 5% for distances between requests that folding changed, and 1% for requests \
               that cannot be replayed. In a replay with timing dependent, late starts may add 5% to the waiting \
               time. A common cause is a target that cannot sustain the load. Replay the trace more slowly (speed = \
               \"0.5x\"), with a larger queue_depth, or with timing = \"dependent\" or \"closed\".",
    },
    looks_at: Basis::Machine,
    changes: &[Nature::Speed, Nature::Traffic],
    doubt,
};

/// Invalidates a row if some of its replays differ from the recording.
fn doubt(_: &crate::WorkPlan, trials: &[&Measured]) -> Option<Doubt> {
    let faults = trials.iter().filter_map(|measured| ReplayDetail::of(measured));
    let faults: Vec<Vec<String>> =
        faults.map(|detail| detail.fidelity.faults()).filter(|list| !list.is_empty()).collect();
    let first = faults.iter().max_by_key(|list| list.len())?;
    Some(Doubt {
        what: first.join("; "),
        trials: faults.len(),
        why: "the replay is not the recorded load".to_owned(),
        invalid: true,
    })
}
