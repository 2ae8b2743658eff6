//! Facts behind the texts of findings: workload, file system, order of trials.

use assay_core::json::is_default;
use assay_core::quantity::units::show;
use assay_workloads::io::{Class, Mix, Pattern};
use serde::{Deserialize, Serialize};

use super::{EnvironmentFacts, FORMAT, Findings, StudyFacts, TargetFacts, WorkloadFacts};
use crate::results::design::Order;
use crate::results::plan::Arm;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(clippy::struct_excessive_bools, reason = "each says something of its own")]
pub struct IoFacts {
    pub pattern: Pattern,
    /// What operations do to their blocks.
    pub mix: Mix,
    pub size_bytes: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub data_sync: bool,
    /// Arrival rate or think time limits the rate, so the rate is not a property of the drive.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rate_limited: bool,
    /// Several sizes (`size_bytes` is the largest) or non-uniform offsets: not a usual number.
    #[serde(default, skip_serializing_if = "is_default")]
    pub shaped: bool,
    /// An `fdatasync` after some of the writes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub partly_synced: bool,
}

impl IoFacts {
    pub fn only_reads(&self) -> bool {
        !self.mix.writes()
    }

    /// Returns whether the workload only writes; trims and zeroing are not writes.
    pub fn only_writes(&self) -> bool {
        self.mix == Mix::WRITES
    }

    pub fn only_trims(&self) -> bool {
        self.mix.percent(Class::Trim) == 100
    }
}

impl Findings {
    pub fn new(study: StudyFacts, environment: EnvironmentFacts) -> Self {
        Self { format: FORMAT.to_owned(), study, environment, ..Self::default() }
    }

    pub fn workload(&self, name: &str, arm: &Arm) -> Option<&WorkloadFacts> {
        self.workloads.iter().find(|facts| facts.name == name && facts.configuration == *arm)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FilesystemFacts {
    pub name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl TargetFacts {
    pub fn caching_words(&self) -> &'static str {
        match (self.direct, self.writes_buffered) {
            (true, false) => "direct I/O",
            (true, true) => "direct I/O was requested, but writes go through the page cache",
            (false, _) => "through the page cache",
        }
    }

    /// Filesystem names for titles, up to the first with options; `None` without a filesystem.
    pub fn filesystem_name(&self) -> Option<String> {
        let mut names = Vec::new();
        for filesystem in &self.filesystems {
            names.push(filesystem.name.as_str());
            if !filesystem.options.is_empty() {
                break;
            }
        }
        (!names.is_empty()).then(|| names.join(" on "))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OrderFacts {
    pub replicates: u32,
    pub order: Order,
    /// Whether each replicate began with a warm-up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub warmups: bool,
}

impl OrderFacts {
    /// Describes the order, without the seed, which differs between studies.
    pub fn words(self) -> String {
        let replicates = match self.replicates {
            1 => "1 replicate".to_owned(),
            count => format!("{count} replicates"),
        };
        let order = match self.order {
            Order::Random if self.warmups => ", each in its own random order after a warm-up",
            Order::Random if self.replicates == 1 => " in random order",
            Order::Chained => " in chained random order",
            Order::Random | Order::Rcbd => ", each in its own random order",
            Order::Crd => ", all trials in one random order",
            Order::Sequential => ", configurations in sequence",
            Order::Unknown => " in unrecorded order",
            Order::Recorded => return "in recorded time order".to_owned(),
        };
        format!("{replicates}{order}")
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceFacts {
    /// Name: `bare metal`, `KVM`, `container (docker) on KVM`.
    pub name: String,
    /// The kind that matters most for speed.
    pub kind: PlaceSort,
    /// What it shows by: `CPUID: KVMKVMKVM`.
    pub signs: Vec<String>,
    /// CPU frequency driver and governor, if the kernel controls the frequency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<String>,
    /// CPU vulnerabilities by status: `4 mitigated, 14 not affected, 1 vulnerable (mds)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mitigations: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocksource: Option<String>,
    /// Share of CPU time that the hypervisor gave to others during the trials, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_share: Option<f64>,
}

/// The sort of place that a study ran in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PlaceSort {
    /// Nothing between it and the processor.
    BareMetal,
    /// A hypervisor shares the processor's own time.
    Hypervisor,
    /// An emulated CPU: its times do not describe hardware.
    Emulator,
    /// The same kernel, seen through name spaces.
    Container,
}

impl PlaceFacts {
    pub fn around(&self) -> impl Iterator<Item = String> {
        let clock = self.clocksource.as_ref().map(|clock| format!("clock source {clock}"));
        let steal = self.steal_share.map(|share| format!("steal {}", show::percent(share * 100.0)));
        let vulnerabilities =
            self.mitigations.as_ref().map(|state| format!("vulnerabilities: {state}"));
        [self.frequency.clone(), clock, steal, vulnerabilities].into_iter().flatten()
    }

    pub fn words(&self) -> String {
        [self.name.clone()].into_iter().chain(self.around()).collect::<Vec<_>>().join("; ")
    }
}

/// Unknown facts of a machine; their texts say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    Kernel,
    Cpu,
    Virtualisation,
}

impl Unknown {
    /// All unknown facts, for results without a recorded environment.
    pub const ALL: [Self; 3] = [Self::Kernel, Self::Cpu, Self::Virtualisation];
}
