//! One finished trial: counts, and evidence for the trust rules (`trials.jsonl`, one line per trial).

use std::collections::BTreeMap;

use assay_workloads::{Claims, Measured};
use serde::{Deserialize, Serialize};

use super::fleet::Together;
use super::plan::{Arm, PlannedTrial};
use super::tally::Tally;
pub use assay_machine::probes::Evidence;
pub use assay_machine::probes::disk::{DeviceEvidence, Traffic};
pub use assay_machine::probes::own_traffic::OwnTraffic;
pub use assay_machine::probes::processors::ProcessorTicks;

/// Reason of a trial that was planned after the time budget; its status is `Failed`.
pub const OUT_OF_TIME: &str = "the time budget ended before this trial";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Counts.
    Ok,
    Failed,
    /// A declared disturbance happened during the trial; stored and counted, with the reason.
    Disturbed,
    /// Left out by design.
    Warmup,
}

impl Status {
    /// Returns whether the row counts the trial: not failed, and not excluded by design.
    pub fn counts(self) -> bool {
        matches!(self, Self::Ok | Self::Disturbed)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repeats {
    pub replicate: u32,
    pub order: u32,
}

/// Time of the study spent for one trial, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialTimes {
    /// From the end of the previous trial to this start: storing, filling, creating layers, changing settings.
    pub before_ns: u64,
    /// The trial itself: preparation, rest, run, sync and readings.
    pub trial_ns: u64,
    /// Time to create the layers for this trial, if Assay created them for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_ns: Option<u64>,
}

/// A finished trial: one line of `trials.jsonl`, and its latencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    pub order: u32,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub host: u32,
    /// Replicate from 1; 0 for the lead-in.
    pub replicate: u32,
    /// Index into `Plan::workloads`.
    pub workload: usize,
    pub arm: Arm,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
    pub status: Status,
    pub reason: Option<String>,
    /// When it started, RFC 3339.
    pub started: String,
    pub measured: Option<Measured>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Measured>,
    pub evidence: Evidence,
    /// Files below the bundle with the latency histograms, by class.
    pub histograms: BTreeMap<String, String>,
    /// File below the bundle with the rows per second.
    pub series: Option<String>,
    /// Nanoseconds of the fsync after the run. `None` without writes, and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_ns: Option<u64>,
    /// Breakdown of the elapsed time; absent in older versions and in simulations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<TrialTimes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// Service times in nanoseconds by class, from the files in `histograms`; empty if only the line was read.
    #[serde(skip)]
    pub latency_ns: BTreeMap<String, Tally>,
}

impl Trial {
    pub fn new(planned: &PlannedTrial, evidence: Evidence) -> Self {
        Self {
            order: planned.order,
            host: planned.host,
            replicate: planned.replicate,
            workload: planned.workload,
            arm: planned.arm.clone(),
            repeats: None,
            status: Status::Ok,
            reason: None,
            started: String::new(),
            measured: None,
            background: None,
            evidence,
            histograms: BTreeMap::new(),
            series: None,
            flush_ns: None,
            spent: None,
            together: None,
            latency_ns: BTreeMap::new(),
        }
    }

    /// Whether it did not run because the time budget ended.
    pub fn is_out_of_time(&self) -> bool {
        self.reason.as_deref() == Some(OUT_OF_TIME)
    }

    /// Reported traffic, including ramp, drain and background load; zero if the trial failed.
    pub fn claims(&self) -> Claims {
        let claims = |measured: &Measured| measured.claims;
        let claimed = self.measured.as_ref().map(claims).unwrap_or_default();
        claimed.plus(self.background.as_ref().map(claims).unwrap_or_default())
    }

    /// CPU time of the trial's workers and of the background load, nanoseconds.
    pub fn all_cpu_ns(&self) -> u64 {
        let both = self.measured.iter().chain(&self.background);
        both.fold(0, |sum, measured| sum.saturating_add(measured.cpu_ns))
    }
}
