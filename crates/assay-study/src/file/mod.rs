//! A study: target x workloads x factors x replicates, as its file says it.

mod ask;
mod check;
mod claims;
mod defaults;
pub mod fields;
pub mod fio_job;
mod gate;
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

use assay_core::quantity::{Bytes, Percent, Time};
use assay_machine::system::powered::Wanted;
use assay_workloads::{InStudy, LinkNeeds, Needs, Touch, Work, WorkloadSpec, io};
use serde::{Deserialize, Serialize};

pub use ask::{Amount, Ask, AskKind, Card, Price};
pub use check::is_taken;
pub use gate::Gate;
pub use levels::levels_in;
pub use order::{LeadIn, Order};
pub use prepare::{AreaRequest, Cache, Fresh, Precondition, Prepare, Start};
pub use published::Pointer;
pub use schema::schema;

pub const FORMAT: &str = "assay-study/1";

pub const SMALLEST_AREA_BYTES: u64 = 16 << 20;

/// Replicates of a study that names none (R4: below six no test without a distribution can decide).
pub const DEFAULT_REPLICATES: u32 = 6;

/// What counts as equivalent where a study does not say (R6).
pub const DEFAULT_MARGIN: Percent = Percent(5.0);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    pub format: String,
    pub title: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Id of the result whose winner it confirms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirms: Option<String>,
    /// What the winner of the race that it confirms was over the baseline then: a ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race_ratio: Option<String>,
    /// The figure that its page shows first, with the table of the same; by default what shows the
    /// answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_figure: Option<String>,
    /// What the place is to be good enough for: what its questions ask for are bounds then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<String>,
    #[serde(default = "default_replicates")]
    pub replicates: u32,
    /// What counts as equivalent, fixed beforehand; without it there are ratios and no verdicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<Percent>,
    /// The metric that verdicts are about; by default bandwidth for large operations, else IOPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary_metric: Option<String>,
    /// An identical second baseline arm: the noise floor. By default on from three arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aa_control: Option<bool>,
    #[serde(default)]
    pub order: Order,
    #[serde(default, skip_serializing_if = "LeadIn::is_default")]
    pub warmup_trial: LeadIn,
    /// Time for one target, filling and pilot included; trials without a time share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Time>,
    /// Seed of everything drawn; drawn itself where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Factors whose levels are changed once a replicate, with everything else inside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hard_to_change: Vec<String>,
    /// Whether a replicate that something disturbed is run again at the end.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub repeat_disturbed: bool,
    /// Probes that watch each trial, beside those that always do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<String>,
    /// File of an external power meter, a time and watts in each line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_meter: Option<String>,
    /// Where, unless `target` is a factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Devices that one place has: loop devices that a laboratory makes, or those of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub members: Option<u32>,
    #[serde(default)]
    pub area: AreaRequest,
    /// Writes to the whole device before the first trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precondition: Option<Precondition>,
    /// Whether the device is discarded before each filesystem is created.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discard: bool,
    /// State of the page cache before trials that read through it; verified if it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_cache: Option<Cache>,
    /// Longest time to wait before each trial until the devices are idle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_idle: Option<Time>,
    /// How often what a factor makes is made anew.
    #[serde(default, skip_serializing_if = "Fresh::is_default")]
    pub recreate_per: Fresh,
    /// When it ends; by default after its replicates.
    #[serde(default, skip_serializing_if = "Stop::is_default")]
    pub stop: Stop,
    /// How much worse than the baseline an arm may be: beyond that the study ends with an exit code of its
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// What arms are compared with; by default the first level of each factor. Where it names some
    /// factors only, arms are compared at equal levels of the others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub baseline: BTreeMap<String, String>,
    /// Settings that vary, by name, each with its levels as text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub factors: BTreeMap<String, Vec<String>>,
    /// Arms one by one, instead of every combination of the levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub configurations: Vec<BTreeMap<String, String>>,
    /// Combinations that make no sense, and are left out: see [`Constraint`](without::Constraint).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Factors that it names and that were not there when it began, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unavailable: BTreeMap<String, String>,
    pub workload: Vec<Workload>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub question: Vec<Ask>,
    /// Titles of the texts that it does again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub articles: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Pointer>,
    /// What the card is sold as, for its row of the flash table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
    /// How hosts that run it together treat a host that is late or lost.
    #[serde(default, skip_serializing_if = "Hosts::is_default")]
    pub hosts: Hosts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    #[serde(default)]
    pub on_failure: OnFailure,
    /// Wait at a barrier, beyond twice the expected time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier_timeout: Option<Time>,
    /// Wait for all hosts before there is a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join_timeout: Option<Time>,
}

impl Hosts {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    #[default]
    Stop,
    Continue,
}

impl Study {
    /// What sort of result it makes: `check` or `study`.
    pub fn kind(&self) -> &'static str {
        let is_check = self.preset.as_deref().is_some_and(presets::is_of_check);
        if is_check { "check" } else { "study" }
    }

    /// Returns how the target is brought into a known state.
    pub fn prepare(&self) -> Prepare {
        Prepare {
            precondition: self.precondition.clone(),
            discard: self.discard,
            page_cache: self.page_cache,
            wait_idle: self.wait_idle,
        }
    }

    /// Whether anything of it needs bytes of its own on the target.
    pub fn needs_area(&self) -> bool {
        let needs = |own: &Workload| matches!(own.needs(), Needs::Area | Needs::Whole);
        self.workload.iter().any(|own| needs(own) || own.background.is_some())
    }

    /// Whether it overwrites all of a device, or fills all that is free in a directory.
    pub fn needs_whole(&self) -> bool {
        self.workload.iter().any(|own| own.needs() == Needs::Whole)
    }

    /// What it asks of the links that it loads.
    pub fn links(&self) -> impl Iterator<Item = LinkNeeds> {
        let study = InStudy::of(&self.factors);
        self.workload.iter().filter_map(move |own| own.work.link_needs(&study))
    }

    pub fn loads_links(&self) -> bool {
        self.links().next().is_some()
    }

    /// Whether some of it makes virtual machines, as it is or by a level of a factor.
    pub fn makes_machines(&self) -> bool {
        self.works().any(|work| work.makes_machines())
    }

    /// What the machines of such work need.
    pub fn machines(&self) -> Vec<Wanted> {
        self.works().filter_map(|work| work.vm_needs()).collect()
    }

    /// Whether some of it goes on when its machine is started again.
    pub fn outlives_cuts(&self) -> bool {
        self.works().any(|work| work.outlives_cuts())
    }

    /// Its work as it is and with each level of its factors.
    fn works(&self) -> impl Iterator<Item = Work> {
        let levels = self
            .factors
            .iter()
            .flat_map(|(name, levels)| levels.iter().map(move |one| (name, one)));
        let by_level = levels.flat_map(|(name, level)| {
            let arm = BTreeMap::from([(name.clone(), level.clone())]);
            self.workload.iter().filter_map(move |own| Some(own.under(&arm).ok()?.work))
        });
        self.workload.iter().map(|own| own.work.clone()).chain(by_level)
    }

    /// It with what all its settings share of its work, for work that makes virtual machines: nothing of a target is
    /// asked for where all of it is done there.
    #[must_use]
    pub fn in_machines(mut self) -> Self {
        let alike = self.factors.iter().filter(|(_, levels)| levels.len() == 1);
        let alike: BTreeMap<String, String> =
            alike.map(|(name, levels)| (name.clone(), levels[0].clone())).collect();
        for own in &mut self.workload {
            match own.under(&alike) {
                Ok(made) if made.work.makes_machines() => *own = made,
                _ => {}
            }
        }
        self.target = None;
        self
    }

    pub fn loop_devices(&self) -> u32 {
        self.members.unwrap_or(1).max(1)
    }

    /// Whether anything of it makes files of its own in a directory.
    pub fn works_in_directory(&self) -> bool {
        self.needs_area() || self.workload.iter().any(|own| own.needs() == Needs::Directory)
    }

    /// Where it takes place, as the command line names that.
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
    /// Replicates after which it may end, for `looks`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interim_at: Vec<u32>,
    /// Half-width of the intervals that is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci_half_width: Option<Percent>,
    /// The share of the best within which the winner of a race is good enough; the margin where it is not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indifference_zone: Option<Percent>,
    /// Whether levels of a grid of many settings leave in a screen before the race.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub screen: bool,
    /// Whether fresh trials confirm the winner of a race at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirm: bool,
}

impl Stop {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopRule {
    #[default]
    Fixed,
    /// After one of the declared looks, each with its share of the error.
    Interim,
    /// After any replicate, by a confidence sequence.
    Decided,
    /// The same, as soon as the gate is decided.
    Gate,
    /// With one arm left: those that are surely behind leave.
    Best,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The tool makes a file of its own in this directory.
    Directory(String),
    /// An existing file; it is only read.
    File(String),
    /// A block device; only read unless it was unlocked.
    Device(String),
    /// Block devices that are one place together.
    Devices(Vec<String>),
    /// A loop device of this size, made for the study and removed afterwards.
    Loop(Bytes),
    /// The simulated engine: `lognormal,mean=100us,p99=400us,servers=1`.
    Simulated(String),
}

impl Target {
    /// As the command line names it.
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
    /// Name, unique in the study.
    pub name: String,
    #[serde(flatten)]
    pub work: Work,
    /// Others' work that goes on meanwhile, in the other half of the area: it is counted, and what
    /// is compared is `work`. It has neither time nor number of operations of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<io::Asked>,
    /// Where it cannot be run, it is left out with the reason, and the others run.
    #[serde(default, skip_serializing_if = "is_no")]
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

    /// What it, and what goes on in the background, does to the area.
    pub fn touches(&self) -> impl Iterator<Item = Touch> {
        let background = self.background.as_ref().map(WorkloadSpec::touches);
        [self.work.touches()].into_iter().chain(background)
    }

    /// The same under the levels of an arm.
    pub fn under(&self, arm: &BTreeMap<String, String>) -> Result<Self, String> {
        let mut own = self.clone();
        for (name, level) in arm {
            own.work.set(name, level).unwrap_or(Ok(()))?;
            own.work.take(name, level);
        }
        Ok(own)
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

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_no(value: &bool) -> bool {
    !*value
}

const fn yes() -> bool {
    true
}
