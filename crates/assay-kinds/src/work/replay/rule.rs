//! Rule `replay-mismatch`: what was played is not the work that was recorded.

use assay_base::catalogue::About;
use assay_base::quantity::metric::Nature;

use super::Detail;
use crate::work::tell::{Doubt, OwnRule};
use crate::work::{self, Judged, Measured};

pub(super) const UNFAITHFUL: OwnRule = OwnRule {
    about: About {
        name: "replay-mismatch",
        summary: "the replay differs from the recorded trace",
        text: "The limits are 1% for counts and bytes of each request kind, 0.02 for start times (Kolmogorov \
               distance; one request if there are fewer than 50), 0.5% for the duration and 5% for late starts. They \
               are 5% for steps between requests that folding changed, and 1% for requests that cannot be replayed. \
               Late starts may cause 5% of the waiting time in a paced replay. A target that cannot carry the load is \
               one reason. Replay it slower (scale = \"0.5x\"), with more operations in flight, or without the clock \
               (clock = \"paced\" or \"closed\").",
    },
    looks_at: Judged::Machine,
    changes: &[Nature::Speed, Nature::Traffic],
    doubt,
};

fn doubt(_: &work::Planned, trials: &[&Measured]) -> Option<Doubt> {
    let faults = trials.iter().filter_map(|measured| Detail::of(measured));
    let faults: Vec<Vec<String>> =
        faults.map(|detail| detail.fidelity.faults()).filter(|own| !own.is_empty()).collect();
    let first = faults.iter().max_by_key(|own| own.len())?;
    Some(Doubt {
        what: first.join("; "),
        trials: faults.len(),
        why: "that is not the work that was recorded".to_owned(),
        invalid: true,
    })
}
