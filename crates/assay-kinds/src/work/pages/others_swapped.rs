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
        summary: "pages of other programs moved to or from swap during the trial",
        text: "Assay counts zram and zswap usage for the whole machine and subtracts what other programs had there \
               before the fill. If swap then grows by 5% of the set plus 4 MiB more, or less, than the set's own \
               pages explain, other programs' pages moved. Memory and speed of the set are then suspect. 5% is half \
               of the allowed error of the set's share of memory; 4 MiB, because the kernel counts swap in batches.",
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
