//! Counters of a link besides those of all work.

use assay_machine::system::network::{BitRate, Load, PhaseRun};
use serde::{Deserialize, Serialize};

use crate::measured::Counts;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkDetail {
    pub peer: String,
    pub congestion: String,
    /// The line of `tc` on the egress shaping, if it was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaped: Option<String>,
    pub phases: Vec<PhaseDetail>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseDetail {
    pub run: PhaseRun,
    /// Probes in the measured window.
    pub sent: u64,
    pub lost: u64,
    /// Data that reached the peer in the whole phase, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<BitRate>,
    /// Data received from the peer in the whole phase, if requested.
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
