//! A study: target x workloads x factors x replicates, as in its file.

mod ask;
mod check;
mod claims;
mod defaults;
pub mod fields;
pub mod fio_job;
pub mod lead;
mod levels;
pub mod limit;
pub mod now;
mod order;
mod prepare;
pub mod presets;
pub mod printed;
mod published;
pub mod race;
mod schema;
mod search;
pub mod simulated;
pub mod text;
#[cfg(test)]
mod told_tests;
pub mod without;
pub mod words;

use std::collections::BTreeMap;

use assay_core::json::is_default;
use assay_core::quantity::{Bytes, Loss, Percent, Time};
use assay_machine::system::powered::VmNeeds;
use assay_workloads::{InStudy, LinkNeeds, Needs, Touch, Work, WorkloadSpec, io};
use serde::{Deserialize, Serialize};

pub use ask::{Amount, Ask, AskKind, Card, Price};
pub use check::is_taken;
pub use levels::levels_in;
pub use order::{LeadIn, Order};
pub use prepare::{AreaKeys, Cache, Fresh, Precondition, Start};
pub use published::Pointer;
pub use schema::schema;

pub const FORMAT: &str = "assay-study/1";

pub const SMALLEST_AREA_BYTES: u64 = 16 << 20;

/// Default number of replicates (R4: below six no distribution-free test can decide).
pub const DEFAULT_REPLICATES: u32 = 6;

pub const DEFAULT_MARGIN: Percent = Percent(5.0);

/// A study as its file defines it; [`fields`] describes the keys of this and of the following tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    pub format: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirms: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race_ratio: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_figure: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<String>,
    #[serde(default = "default_replicates")]
    pub replicates: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<Percent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary_metric: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aa_control: Option<bool>,
    #[serde(default)]
    pub order: Order,
    #[serde(default, skip_serializing_if = "is_default")]
    pub warmup_trial: LeadIn,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hard_to_change: Vec<String>,
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub repeat_disturbed: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_meter: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<u32>,
    #[serde(default)]
    pub area: AreaKeys,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<Precondition>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub discard: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache: Option<Cache>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_idle: Option<Time>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub recreate_per: Fresh,
    #[serde(default, skip_serializing_if = "is_default")]
    pub stop: Stop,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateKeys>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub baseline: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub factors: BTreeMap<String, Vec<String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<BTreeMap<String, String>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unavailable: BTreeMap<String, String>,
    pub workload: Vec<Workload>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub question: Vec<Ask>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub articles: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Pointer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub hosts: Hosts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    #[serde(default)]
    pub on_failure: OnFailure,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier_timeout: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join_timeout: Option<Time>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    #[default]
    Stop,
    Continue,
}

/// The gate of a study: the largest acceptable regression, and the exit code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateKeys {
    pub max_regression: Loss,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_detect: Option<Percent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub allow_inconclusive: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_inconclusive: Option<u8>,
}

impl Study {
    pub fn kind(&self) -> &'static str {
        let is_check = self.preset.as_deref().is_some_and(presets::is_of_check);
        if is_check { "check" } else { "study" }
    }

    pub fn needs_area(&self) -> bool {
        let needs = |workload: &Workload| matches!(workload.needs(), Needs::Area | Needs::Whole);
        self.workload.iter().any(|workload| needs(workload) || workload.background.is_some())
    }

    pub fn needs_whole(&self) -> bool {
        self.workload.iter().any(|workload| workload.needs() == Needs::Whole)
    }

    pub fn links(&self) -> impl Iterator<Item = LinkNeeds> {
        let study = InStudy::new(&self.factors);
        self.workload.iter().filter_map(move |workload| workload.work.link_needs(&study))
    }

    pub fn loads_links(&self) -> bool {
        self.links().next().is_some()
    }

    /// Returns whether a workload, or a level of a factor, starts virtual machines.
    pub fn makes_machines(&self) -> bool {
        self.works().iter().any(Work::makes_machines)
    }

    pub fn machines(&self) -> Vec<VmNeeds> {
        self.works().iter().filter_map(Work::vm_needs).collect()
    }

    pub fn outlives_cuts(&self) -> bool {
        self.works().iter().any(Work::outlives_cuts)
    }

    pub fn needs_token(&self) -> bool {
        self.works().iter().any(Work::needs_token)
    }

    /// Returns each workload, unchanged and with each single level of each factor.
    fn works(&self) -> Vec<Work> {
        let mut works: Vec<Work> = self.workload.iter().map(|load| load.work.clone()).collect();
        for (name, levels) in &self.factors {
            for level in levels {
                let arm = BTreeMap::from([(name.clone(), level.clone())]);
                works.extend(
                    self.workload.iter().filter_map(|load| Some(load.under(&arm).ok()?.work)),
                );
            }
        }
        works
    }

    /// The study with single levels applied to workloads in virtual machines, without a target.
    #[must_use]
    pub fn in_machines(mut self) -> Self {
        let mut single_levels = BTreeMap::new();
        for (name, levels) in &self.factors {
            if let [level] = levels.as_slice() {
                single_levels.insert(name.clone(), level.clone());
            }
        }
        for workload in &mut self.workload {
            match workload.under(&single_levels) {
                Ok(changed) if changed.work.makes_machines() => *workload = changed,
                _ => {}
            }
        }
        self.target = None;
        self
    }

    pub fn loop_devices(&self) -> u32 {
        self.members.unwrap_or(1).max(1)
    }

    pub fn works_in_directory(&self) -> bool {
        self.needs_area()
            || self.workload.iter().any(|workload| workload.needs() == Needs::Directory)
    }

    pub fn targets(&self) -> Vec<String> {
        let several = self.factors.get("target").cloned().unwrap_or_default();
        self.target.iter().map(Target::word).chain(several).collect()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    #[serde(default)]
    pub rule: StopRule,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interim_at: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci_half_width: Option<Percent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indifference_zone: Option<Percent>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub screen: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub confirm: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopRule {
    #[default]
    Fixed,
    /// After one of the declared interim analyses, each with its share of the error.
    Interim,
    /// After any replicate, by a confidence sequence.
    Decided,
    /// The same, as soon as the gate is decided.
    Gate,
    /// Stops with one arm left: arms that are worse (95% confidence) leave.
    Best,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    Directory(String),
    File(String),
    Device(String),
    Devices(Vec<String>),
    Loop(Bytes),
    Simulated(String),
}

impl Target {
    pub fn word(&self) -> String {
        match self {
            Self::Directory(path) | Self::File(path) | Self::Device(path) => path.clone(),
            Self::Devices(paths) => paths.join(", "),
            Self::Loop(size) => format!("a loop device of {size}"),
            Self::Simulated(law) => format!("{}{law}", simulated::PREFIX),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    pub name: String,
    #[serde(flatten)]
    pub work: Work,
    /// Background load in the other half of the area: counted, not compared; has no duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<io::IoSpec>,
    /// Assay skips the workload with a reason if it cannot run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: bool,
}

impl Workload {
    pub fn words(&self) -> String {
        let background = self.background.as_ref();
        let background = background.map(|io| format!("; background load: {}", io.words()));
        self.work.words() + &background.unwrap_or_default()
    }

    pub fn needs(&self) -> Needs {
        self.work.needs()
    }

    pub fn writes(&self) -> bool {
        self.touches().any(|touch| touch.writes.is_some())
    }

    /// Accesses of the workload and its background load to the area.
    pub fn touches(&self) -> impl Iterator<Item = Touch> {
        let background = self.background.as_ref().map(WorkloadSpec::touches);
        [self.work.touches()].into_iter().chain(background)
    }

    /// Returns the workload with the levels of a configuration; ignores levels of other factors.
    pub fn under(&self, arm: &BTreeMap<String, String>) -> Result<Self, String> {
        let mut workload = self.clone();
        for (name, level) in arm {
            // A key of the workload; `None` for other factors.
            workload.work.set(name, level).unwrap_or(Ok(()))?;
            // A placeholder in its text.
            workload.work.take(name, level);
        }
        Ok(workload)
    }
}

const fn default_replicates() -> u32 {
    DEFAULT_REPLICATES
}

// The signature is serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_yes(value: &bool) -> bool {
    *value
}

const fn yes() -> bool {
    true
}
