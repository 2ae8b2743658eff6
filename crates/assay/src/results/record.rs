//! One finished trial: what was counted, and the evidence by which it is judged
//! (`trials.jsonl`, one line a trial).

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::findings::Repeats;
use super::plan::Arm;
use crate::seen::Seen;
use crate::system::CachedPages;

/// How a trial ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Counts.
    Ok,
    /// Gave no number; the reason stands beside it.
    Failed,
    /// Ran while something declared beforehand happened; kept and counted, with its reason.
    Disturbed,
    /// Left out by design.
    LeadIn,
}

/// Operations of one class inside the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Operations.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What was counted in one trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Length of the window in nanoseconds.
    pub window_ns: u64,
    /// By class (`read`, `write`), inside the window.
    pub classes: BTreeMap<String, Count>,
    /// By class, ramp and drain included: what was claimed of the device.
    pub claimed: BTreeMap<String, Count>,
    /// Nanoseconds from the first submission to the last completion.
    pub elapsed_ns: u64,
    /// Nanoseconds of it during which new operations were submitted.
    pub submitting_ns: u64,
    /// Processor time of the measuring threads in nanoseconds.
    pub cpu_ns: u64,
    /// Operations looked at right after their submission returned.
    pub looked_at: u64,
    /// Those of them that were complete already.
    pub already_complete: u64,
    /// What the engine had to tell.
    pub engine_notes: Vec<String>,
}

impl Counted {
    /// Bytes claimed to have been read, ramp and drain included.
    pub fn claimed_read_bytes(&self) -> u64 {
        self.claimed.get("read").map_or(0, |count| count.bytes)
    }

    /// Bytes claimed to have been written, ramp and drain included.
    pub fn claimed_write_bytes(&self) -> u64 {
        self.claimed.get("write").map_or(0, |count| count.bytes)
    }

    /// Operations inside the window, all classes.
    pub fn operations(&self) -> u64 {
        self.classes.values().map(|count| count.operations).sum()
    }

    /// Bytes inside the window, all classes.
    pub fn bytes(&self) -> u64 {
        self.classes.values().map(|count| count.bytes).sum()
    }
}

/// What moved through one device in a span of time, from its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Length of the span in nanoseconds.
    pub span_ns: u64,
    /// Read requests completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Write requests completed.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes discarded.
    pub discard_bytes: u64,
    /// Milliseconds in which something was in flight.
    pub busy_ms: u64,
    /// Milliseconds in flight, summed over requests.
    pub weighted_ms: u64,
}

/// Counters of one device around a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceEvidence {
    /// While the tool did nothing, right before the trial.
    pub gap: Traffic,
    /// From the trial's first submission to its last completion.
    pub run: Traffic,
    /// After that, until everything written was on the device.
    pub settle: Traffic,
}

/// Bytes that this process moved through block devices, as the kernel accounts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnTraffic {
    /// Bytes fetched.
    pub read_bytes: u64,
    /// Bytes sent, or made dirty.
    pub write_bytes: u64,
}

/// Ticks of all processors during a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessorTicks {
    /// All ticks.
    pub total: u64,
    /// Ticks that the hypervisor gave to others.
    pub steal: u64,
}

/// Evidence gathered around one trial. The truth rules read this and nothing else of the trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// By device name, for all devices of `Site::shared`.
    pub devices: Seen<BTreeMap<String, DeviceEvidence>>,
    /// This process's own traffic during the run.
    pub own: Seen<OwnTraffic>,
    /// Cached pages of the area before the run.
    pub cached_before: Seen<CachedPages>,
    /// Cached pages of the area after it.
    pub cached_after: Seen<CachedPages>,
    /// Processor time.
    pub processors: Seen<ProcessorTicks>,
    /// Thermal throttle events of the processors.
    pub throttle_events: Seen<u64>,
    /// Periods in which the control group held this process back.
    pub group_throttled: Seen<u64>,
}

/// One line of `trials.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Position in the plan.
    pub order: u32,
    /// Replicate from 1; 0 for the lead-in.
    pub replicate: u32,
    /// Index into `Plan::workloads`.
    pub workload: usize,
    /// Arm.
    pub arm: Arm,
    /// The trial that it repeats, because that one was disturbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
    /// How it ended.
    pub status: Status,
    /// Why, unless ok.
    pub reason: Option<String>,
    /// When it started, RFC 3339.
    pub started: String,
    /// What was counted, unless it failed.
    pub counted: Option<Counted>,
    /// What it is judged by.
    pub evidence: Evidence,
    /// Files below the bundle with the latency histograms, by class.
    pub histograms: BTreeMap<String, String>,
    /// File below the bundle with the rows per second.
    pub series: Option<String>,
}

/// A finished trial with its histograms in memory: what the analysis reads.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its record.
    pub record: TrialRecord,
    /// Service times in nanoseconds by class.
    pub latency_ns: BTreeMap<String, Histogram<u64>>,
}
