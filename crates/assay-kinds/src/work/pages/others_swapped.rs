//! `others-swapped`: pages of other programs went to swap, or came back, while a set was measured.

use assay_base::catalogue::About;
use assay_base::quantity::metric::Nature;
use assay_base::quantity::units::show;

use super::{Detail, Planned};
use crate::work::tell::{Doubt, OwnRule};
use crate::work::{self, Judged, Measured};

/// Share of the set that others' pages may be, in percent.
const MOST_PERCENT: u64 = 5;
/// The kernel counts swap in batches for each processor.
const SLACK: u64 = 4 << 20;

pub(super) const OTHERS_SWAPPED: OwnRule = OwnRule {
    about: About {
        name: "others-swapped",
        summary: "pages of other programs went to swap, or came back, meanwhile",
        text: "What zram and zswap pack is counted for the whole machine. What others had there before the set \
               was filled is subtracted. If the machine's swap then grows by 5 % of the set and 4 MiB more, or \
               less, than by the set's own pages, others' pages moved meanwhile, and memory and speed of the \
               set are suspect. 5 % is half of what the set's share of memory may be off by; 4 MiB, because the \
               kernel counts swap in batches.",
    },
    looks_at: Judged::Machine,
    changes: &[Nature::Speed, Nature::Traffic, Nature::Amount],
    doubt,
};

fn doubt(work: &work::Planned, trials: &[&Measured]) -> Option<Doubt> {
    let most = Planned::of(work)?.set_bytes / 100 * MOST_PERCENT + SLACK;
    let details = trials.iter().filter_map(|measured| Detail::of(measured)?.held.as_ref());
    let moved = details.filter_map(|held| held.others_moved_bytes.value().copied());
    let moved: Vec<u64> = moved.filter(|bytes| *bytes > most).collect();
    let largest = moved.iter().max()?;
    Some(Doubt {
        what: format!(
            "other programs moved {} to swap or back while the set was measured",
            show::bytes(*largest)
        ),
        trials: moved.len(),
        why: "how much memory the set takes is not known; close them and run again".to_owned(),
        invalid: false,
    })
}
