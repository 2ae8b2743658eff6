//! `others-swapped`: pages of other programs went to swap, or came back, while a set was measured.

use assay_core::catalogue::About;
use assay_core::quantity::metric::Nature;
use assay_core::quantity::units::show;

use super::{MemoryDetail, MemoryPlan};
use crate::tell::{Doubt, OwnRule};
use crate::{Basis, Measured};

/// Share of the set that others' pages may be, in percent.
const MOST_PERCENT: u64 = 5;
/// The kernel counts swap in batches for each processor.
const SLACK: u64 = 4 << 20;

pub(super) const OTHERS_SWAPPED: OwnRule = OwnRule {
    about: About {
        name: "others-swapped",
        summary: "pages of other programs moved to or from swap during the trial",
        text: "Assay measures zram and zswap usage of the whole machine and subtracts the usage of other programs \
               before the fill. If the growth of swap differs from the working set's own pages by more than 5% of the \
               set plus 4 MiB, other programs swapped. The memory use and speed of the working set are then suspect. \
               5% is half of the allowed error of the memory share; 4 MiB covers the kernel's batched swap counts.",
    },
    looks_at: Basis::Machine,
    changes: &[Nature::Speed, Nature::Traffic, Nature::Amount],
    doubt,
};

/// Doubts trials in which other programs moved much memory to or from swap.
fn doubt(work: &crate::WorkPlan, trials: &[&Measured]) -> Option<Doubt> {
    let tolerated_bytes = MemoryPlan::of(work)?.set_bytes / 100 * MOST_PERCENT + SLACK;
    let details = trials.iter().filter_map(|measured| MemoryDetail::of(measured)?.held.as_ref());
    let moved = details.filter_map(|held| held.others_moved_bytes.value().copied());
    let moved: Vec<u64> = moved.filter(|bytes| *bytes > tolerated_bytes).collect();
    let largest = moved.iter().max()?;
    Some(Doubt {
        what: format!(
            "other programs moved {} to or from swap during the measurement",
            show::bytes(*largest)
        ),
        trials: moved.len(),
        why: "the memory use of the set is unknown; close other programs and run again".to_owned(),
        invalid: false,
    })
}
