//! Facts about the machine around the target, for findings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::results::plan::Arm;

/// The machine and the devices during the trials, and the drives before and after.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Activity {
    /// Activity during the trials of each workload under each arm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadSurroundings>,
    /// Observations without other reports, field by field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub observed: Vec<ObservedField>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<DriveHealth>,
    /// Each device below the targets, for stacks of more than one device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeCost>,
    /// Source and scope of the energy readings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_of: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_w: Option<f64>,
}

impl Activity {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Activity during the trials of a workload in an arm, from each run until its writes were synced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadSurroundings {
    pub workload: String,
    pub configuration: Arm,
    /// Number of trials with a value.
    pub n: usize,
    /// Share, 0 to 1, of the time of all processors in which they worked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_share: Option<f64>,
    /// The same of the processor that worked most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest_share: Option<f64>,
    /// Share of the time of all processors that the hypervisor gave to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
    /// Share of the time in which something waited, by resource: `cpu`, `io`, `memory`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pressure_shares: BTreeMap<String, f64>,
    /// Pages that went to swap or came back, in all trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swapped_pages: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hottest: Option<Hottest>,
    /// Mean energy of a trial, joules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy_j: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
}

/// One field of a probe's observations during the trials of one workload under one arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObservedField {
    pub workload: String,
    pub configuration: Arm,
    pub probe: String,
    /// Path in the observation, names joined by dots; `None` without an observation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Number of trials with a value.
    pub n: usize,
    /// Mean of the trials, in the field's unit; absent for words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hottest {
    pub sensor: String,
    /// The least that it showed before a trial, degrees Celsius.
    pub from_c: f64,
    pub to_c: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriveHealth {
    pub drive: String,
    /// Bytes written to the device in this time, by its own counter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Wear in percent, before and after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_percent: Option<[u64; 2]>,
    /// Degrees Celsius, before and after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<[i64; 2]>,
    /// Counters that grew, with by how much.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub grown: BTreeMap<String, u64>,
}

/// What one device of the stack below a target did for a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Member {
    pub workload: String,
    pub configuration: Arm,
    pub device: String,
    /// Kind of device: `disk`, `partition`, `loop`, `raid1`, ...
    pub kind: String,
    pub below: Vec<String>,
    /// Number of trials with a value.
    pub n: usize,
    /// Bytes that it read per byte that the workload read or wrote.
    pub read_per_byte: Option<f64>,
    /// Bytes that it wrote per byte that the workload read or wrote.
    pub written_per_byte: Option<f64>,
    /// Share of the run, 0 to 1, in which it had something under way.
    pub busy_share: Option<f64>,
    /// Nanoseconds that a read or a write took it, on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_mean_ns: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeCost {
    pub probe: String,
    /// Number of trials with a value.
    pub n: usize,
    /// Mean nanoseconds that its readings around a trial took.
    pub mean_ns: f64,
    pub max_ns: u64,
}
