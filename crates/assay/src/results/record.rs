//! One finished trial: what was counted, and the evidence by which it is judged
//! (`trials.jsonl`, one line a trial).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::block::BlockLatency;
use super::findings::Repeats;
use super::plan::Arm;
use super::tally::Tally;
use super::watched::Watched;
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
    /// By class (`read`, `write`, `rewrite`), inside the window.
    pub classes: BTreeMap<String, Count>,
    /// By direction, ramp and drain included: what was claimed of the device. A rewrite is a read
    /// and a write.
    pub claimed: BTreeMap<String, Count>,
    /// Nanoseconds from the first submission to the last completion.
    pub elapsed_ns: u64,
    /// Nanoseconds of it during which new operations were submitted.
    pub submitting_ns: u64,
    /// Processor time in nanoseconds of what worked for the trial: the measuring threads, and
    /// workers that the kernel made for them (older versions left those out).
    pub cpu_ns: u64,
    /// The slowest operation in nanoseconds, ramp and drain included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<u64>,
    /// Whole seconds of the run in which no operation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still_s: Option<u32>,
    /// Nanoseconds, summed over the measuring threads, in which they waited for a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
    /// Operations looked at right after their submission returned.
    pub looked_at: u64,
    /// Those of them that were complete already.
    pub already_complete: u64,
    /// What the engine had to tell.
    pub engine_notes: Vec<String>,
    /// For the pattern `spread`: service time in nanoseconds of each operation in order, ten
    /// thousand at most. Their offsets follow from the plan (`workloads::io::sample_offset`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sample_latencies_ns: Vec<u64>,
    /// What others' work meanwhile counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Box<Counted>>,
}

impl Counted {
    /// Bytes claimed to have been read, ramp, drain and others' work included.
    pub fn claimed_read_bytes(&self) -> u64 {
        self.claimed_bytes("read")
    }

    /// Bytes claimed to have been written, ramp, drain and others' work included.
    pub fn claimed_write_bytes(&self) -> u64 {
        self.claimed_bytes("write")
    }

    /// Operations claimed, ramp, drain and others' work included.
    pub fn claimed_operations(&self) -> u64 {
        let own = self.claimed.values().fold(0_u64, |sum, one| sum.saturating_add(one.operations));
        own.saturating_add(self.beside.as_ref().map_or(0, |beside| beside.claimed_operations()))
    }

    /// Processor time of what worked for the trial and of others' work, nanoseconds.
    pub fn all_cpu_ns(&self) -> u64 {
        self.cpu_ns.saturating_add(self.beside.as_ref().map_or(0, |beside| beside.all_cpu_ns()))
    }

    fn claimed_bytes(&self, way: &str) -> u64 {
        let own = self.claimed.get(way).map_or(0, |count| count.bytes);
        own.saturating_add(self.beside.as_ref().map_or(0, |beside| beside.claimed_bytes(way)))
    }

    /// Operations inside the window, all classes.
    pub fn operations(&self) -> u64 {
        self.classes.values().fold(0, |sum, count| sum.saturating_add(count.operations))
    }

    /// Bytes inside the window, all classes.
    pub fn bytes(&self) -> u64 {
        self.classes.values().fold(0, |sum, count| sum.saturating_add(count.bytes))
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

/// Where the time of a study went that one trial stands for, in nanoseconds. Together the trials
/// have all of it, but what comes after the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// From the end of the trial before, or the start of the session, to its own start: storing
    /// that one, filling areas, making file systems, setting levels.
    pub before_ns: u64,
    /// The trial itself: bringing its target into its state, the rest, the run, waiting until
    /// everything is on the device, readings.
    pub trial_ns: u64,
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
    /// Devices of `Site::layers` that are not shared: what lies below a loop device's file.
    #[serde(default = "no_devices", skip_serializing_if = "is_no_devices")]
    pub below: Seen<BTreeMap<String, DeviceEvidence>>,
    /// Nanoseconds that kernel threads ran, from before the run until everything written was on
    /// the device; whatever they ran for.
    #[serde(default = "not_recorded", skip_serializing_if = "is_not_recorded")]
    pub kernel_threads_ns: Seen<u64>,
    /// Nanoseconds that all processors together were busy in the same time, with anything.
    #[serde(default = "not_recorded", skip_serializing_if = "is_not_recorded")]
    pub busy_ns: Seen<u64>,
    /// Requests of the shared devices by class, from right before the run until everything written
    /// was on the device; where the study asked for it.
    #[serde(default = "not_asked", skip_serializing_if = "is_not_asked")]
    pub block: Seen<BlockLatency>,
    /// What the machine around the target did meanwhile.
    #[serde(default, skip_serializing_if = "Watched::is_empty")]
    pub watched: Watched,
    /// Nanoseconds that the readings around the trial took, by the name of the probe.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub probe_ns: BTreeMap<String, u64>,
}

impl Evidence {
    /// Whether the study asked for requests by class.
    pub fn asked_for_classes(&self) -> bool {
        !is_not_asked(&self.block)
    }

    /// Nothing was read, because.
    pub fn absent(reason: &str) -> Self {
        Self {
            devices: Seen::absent(reason),
            own: Seen::absent(reason),
            cached_before: Seen::absent(reason),
            cached_after: Seen::absent(reason),
            processors: Seen::absent(reason),
            throttle_events: Seen::absent(reason),
            group_throttled: Seen::absent(reason),
            below: no_devices(),
            kernel_threads_ns: Seen::absent(reason),
            busy_ns: Seen::absent(reason),
            block: not_asked(),
            watched: Watched::default(),
            probe_ns: BTreeMap::new(),
        }
    }
}

/// What is said of evidence that the version which ran the trial did not gather.
const NOT_RECORDED: &str = "not recorded by the version that ran the trial";

fn not_recorded() -> Seen<u64> {
    Seen::absent(NOT_RECORDED)
}

fn is_not_recorded(seen: &Seen<u64>) -> bool {
    seen.reason() == Some(NOT_RECORDED)
}

/// What is said of requests by class where nobody asked for them.
const NOT_ASKED: &str = "the study did not ask for the probe block-latency";

fn not_asked() -> Seen<BlockLatency> {
    Seen::absent(NOT_ASKED)
}

fn is_not_asked(seen: &Seen<BlockLatency>) -> bool {
    seen.reason() == Some(NOT_ASKED)
}

fn no_devices() -> Seen<BTreeMap<String, DeviceEvidence>> {
    Seen::Present(BTreeMap::new())
}

fn is_no_devices(seen: &Seen<BTreeMap<String, DeviceEvidence>>) -> bool {
    seen.value().is_some_and(BTreeMap::is_empty)
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
    /// Where the time went; older versions did not tell, and simulated time passes in no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<Spent>,
}

/// A finished trial with its latencies in memory: what the analysis reads.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its record.
    pub record: TrialRecord,
    /// Service times in nanoseconds by class.
    pub latency_ns: BTreeMap<String, Tally>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As versions without the probes `cpu` and `members` wrote it.
    const OLD: &str = concat!(
        r#"{"devices":{"absent":"a test"},"own":{"absent":"a test"},"#,
        r#""cached_before":{"absent":"a test"},"cached_after":{"absent":"a test"},"#,
        r#""processors":{"absent":"a test"},"throttle_events":{"absent":"a test"},"#,
        r#""group_throttled":{"absent":"a test"}}"#
    );

    #[test]
    fn old_evidence_is_read_and_written_back_byte_for_byte() {
        let old: Evidence = serde_json::from_str(OLD).unwrap();
        assert_eq!(old.kernel_threads_ns.reason(), Some(NOT_RECORDED));
        assert_eq!(old.busy_ns.reason(), Some(NOT_RECORDED));
        assert_eq!(serde_json::to_string(&old).unwrap(), OLD);
    }

    #[test]
    fn what_the_probes_read_is_kept() {
        let device = DeviceEvidence::default();
        let new = Evidence {
            below: Seen::Present(BTreeMap::from([("vda".to_owned(), device)])),
            kernel_threads_ns: Seen::Present(7),
            busy_ns: Seen::absent("unreadable"),
            probe_ns: BTreeMap::from([("cpu".to_owned(), 9)]),
            ..Evidence::absent("a test")
        };
        let text = serde_json::to_string(&new).unwrap();
        assert_eq!(serde_json::from_str::<Evidence>(&text).unwrap(), new);
    }
}
