//! What is counted of a link beside what all work measures.

use assay_machine::system::network::{BitRate, Load, PhaseRun};
use serde::{Deserialize, Serialize};

use crate::measured::Counts;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkDetail {
    pub peer: String,
    pub congestion: String,
    /// The line of `tc` that shows how the way out was shaped, where it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaped: Option<String>,
    pub phases: Vec<PhaseDetail>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseDetail {
    pub run: PhaseRun,
    /// Probes inside of the window that counts.
    pub sent: u64,
    pub lost: u64,
    /// Data that reached the peer in all of the phase, where it was to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<BitRate>,
    /// Data that came from the peer in all of the phase, where it was to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<BitRate>,
}

impl NetworkDetail {
    pub fn phase(&self, load: Load) -> Option<&PhaseDetail> {
        self.phases.iter().find(|phase| phase.run.job.load == load)
    }
}

impl Counts for NetworkDetail {
    fn operations(&self) -> u64 {
        self.phases.iter().map(|phase| phase.sent - phase.lost.min(phase.sent)).sum()
    }
}
