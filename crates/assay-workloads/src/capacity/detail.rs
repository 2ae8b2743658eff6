//! Record of a capacity check.

use assay_load::CapacityOutcome;
use serde::{Deserialize, Serialize};

use crate::measured::Counts;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityDetail {
    pub outcome: CapacityOutcome,
    /// Whether the target is a file in free space, rather than a device.
    pub in_free_space: bool,
}

impl Counts for CapacityDetail {
    fn operations(&self) -> u64 {
        self.outcome.first.all()
    }
}
