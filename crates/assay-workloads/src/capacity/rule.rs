//! A capacity whose blocks may have come from memory.

use assay_core::{catalogue::About, quantity::metric::Nature};

use super::{CapacityDetail, CapacityPlan};
use crate::tell::{Doubt, OwnRule};
use crate::{Basis, Measured};

pub(super) const NOT_READ: OwnRule = OwnRule {
    about: About {
        name: "medium-not-read",
        summary: "memory instead of the medium may have served the reads of a capacity test",
        text: "The number is suspect. A device with less memory than it claims returns correct data as long as a cache of \
               the host, of the kernel or of the device has the blocks. Test the whole drive as a device.",
    },
    looks_at: Basis::Medium,
    changes: &[Nature::Speed, Nature::Traffic, Nature::Amount],
    doubt,
};

/// Doubts a row if memory may have served the reads of some of its checks.
fn doubt(work: &crate::WorkPlan, trials: &[&Measured]) -> Option<Doubt> {
    let planned = CapacityPlan::of(work)?;
    let checks = trials.iter().filter_map(|measured| CapacityDetail::of(measured));
    let reasons = checks.filter_map(|check| planned.judge_check(check).why_inconclusive);
    let reasons: Vec<String> = reasons.collect();
    Some(Doubt {
        what: "memory may have served the reads".to_owned(),
        trials: reasons.len(),
        why: reasons.first()?.clone(),
        invalid: false,
    })
}
