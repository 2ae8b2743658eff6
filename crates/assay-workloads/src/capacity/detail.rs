//! What is kept of a look at a capacity.

use assay_load::CapacityOutcome;
use serde::{Deserialize, Serialize};

use crate::measured::Counts;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityDetail {
    pub outcome: CapacityOutcome,
    /// Whether the target is a file of its own in free space, and not a device.
    pub in_free_space: bool,
}

impl Counts for CapacityDetail {
    fn operations(&self) -> u64 {
        self.outcome.first.all()
    }
}
