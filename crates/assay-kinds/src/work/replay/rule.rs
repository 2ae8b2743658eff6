//! Rule `replay-mismatch`: what was played is not the work that was recorded.

use assay_base::catalogue::About;
use assay_base::quantity::metric::Nature;

use super::Detail;
use crate::work::tell::{Doubt, OwnRule};
use crate::work::{self, Judged, Measured};

pub(super) const UNFAITHFUL: OwnRule = OwnRule {
    about: About {
        name: "replay-mismatch",
        summary: "what was played is not the work that was recorded",
        text: "Told where counts or bytes of a kind of request differ by more than 1 %, where the starts are more \
               than 0.02 (Kolmogorov's distance; one request, where there are fewer than 50) from the recorded ones, \
               the duration differs by more than 0.5 % or more than 5 % of the starts were late, where starting late made more than 5 % of the time of what \
               waited in a paced play, where folding changed more than 5 % of the steps from one request to the \
               next, or where more than 1 % of the recording cannot be played. A target that does not carry the \
               load is one reason: play it slower (speed = \"0.5x\"), with more in flight, or without the clock \
               (timing = \"dependent\" or \"closed\").",
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
