//! What the probes that look at the machine around the target saw during a trial.

use serde::{Deserialize, Serialize};

/// What was seen from right before a run until everything written was on the device. What a version
/// did not look at is not there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watched {}

impl Watched {
    /// Whether nothing was looked at.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
