//! The stored plan (`plan.json`): surveys, and trials in order. `crate::plan` creates it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use assay_core::presence::Presence;
use assay_machine::system::between::Between;
pub use assay_machine::system::clears::Clears;
use assay_machine::system::site::TargetKind;
use assay_workloads::io::Engine;
use assay_workloads::{Background, PlannedWork as _, Touch, WorkPlan};
use serde::{Deserialize, Deserializer, Serialize};

use super::design::{Design, Fresh, LeadIn};

pub use assay_workloads::{Area, DirectUse, EngineUse};

pub const FORMAT: &str = "assay-plan/2";

/// Levels of the factors by name. Empty if no factor varies.
pub type Arm = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Survey {
    /// The target as the user wrote it; index of `Environment::sites` by position.
    pub target: String,
    /// Kind of target; not recorded in plans of format 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<TargetKind>,
    pub area: Area,
    /// Direct I/O; absent with the reason for using the page cache.
    pub direct: Presence<DirectUse>,
    /// Engine of the asynchronous workloads, with the reason if it is not the first choice.
    pub engine: EngineUse,
    pub pilot: Pilot,
    /// Blocks of the area that a read would not find on the medium.
    pub coverage: Presence<Coverage>,
    /// Times of reading a drive with an unknown cache twice, or why Assay did not.
    #[serde(default = "not_recorded", deserialize_with = "perhaps_bare")]
    pub read_twice: Presence<ReadTwice>,
    /// Bytes that became dirty while the area was written past the page cache, on a file system that may go through it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirtied: Option<Dirtied>,
    /// Things worth telling: a leftover removed, a file with a name.
    pub notes: Vec<String>,
    /// What may answer for the medium; not recorded by older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
    /// Why trims or zeroing are impossible, if known.
    #[serde(default, skip_serializing_if = "Clears::is_open")]
    pub clears: Clears,
    /// Layer levels of the surveyed target, such as a file system.
    #[serde(default, skip_serializing_if = "Arm::is_empty")]
    pub under: Arm,
    /// Nanoseconds that making it took, without filling the area.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub made_ns: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refusal>,
}

impl Survey {
    /// A survey without facts, of a target that was not surveyed for the reason `why`.
    pub fn untaken(target: &str, why: &str) -> Self {
        Self {
            target: target.to_owned(),
            kind: None,
            area: Area { start: 0, length: 0, asked: 0, written: false, fill_ns: 0 },
            direct: Presence::absent(why),
            engine: EngineUse { name: Engine::Psync, note: None },
            pilot: Pilot::default(),
            coverage: Presence::absent(why),
            read_twice: Presence::absent(why),
            dirtied: None,
            notes: Vec::new(),
            between: None,
            clears: Clears::default(),
            under: Arm::new(),
            made_ns: 0,
            refused: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub levels: Arm,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pilot {
    /// Time of one operation at depth 1, nanoseconds, by [`pilot_key`].
    pub operation_ns: BTreeMap<String, u64>,
    /// Scatter of results by workload, under the baseline; only if arms are compared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scatter: BTreeMap<String, Scatter>,
    /// Why work that may be left out cannot be run, by [`pilot_key`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub refused: BTreeMap<String, String>,
}

/// Scatter of log rates: the variance of a trial of `t` seconds is `between + within_s / t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scatter {
    /// Variance that no longer trial takes away.
    pub between: f64,
    /// Variance within a trial, times its length in seconds.
    pub within_s: f64,
}

impl Scatter {
    pub fn sd_log(&self, time_ns: u64) -> f64 {
        (self.between + self.within_s / (time_ns.max(1) as f64 / 1e9)).sqrt()
    }
}

impl Pilot {
    /// Nanoseconds per operation of a planned workload; 0 without a pilot.
    pub fn operation_ns(&self, workload: &PlannedWorkload) -> u64 {
        let key = pilot_key(&workload.name, &workload.arm);
        self.operation_ns.get(&key).copied().unwrap_or(0)
    }
}

/// Formats an arm: `queue_depth=4,block_size=1 MiB`; empty if no factor varies.
pub fn arm_words(arm: &Arm) -> String {
    let levels: Vec<String> =
        arm.iter().map(|(factor, level)| format!("{factor}={level}")).collect();
    levels.join(",")
}

/// Formats a level, with its factor if necessary: `ext4`, `threads 32`.
pub fn level_words(factor: &str, level: &str) -> String {
    const VAGUE: [&str; 8] = ["on", "off", "true", "false", "yes", "no", "none", "default"];
    let is_word = level.starts_with(|first: char| first.is_alphabetic()) && level.len() > 1;
    if is_word && !VAGUE.contains(&level) || factor == "target" {
        level.to_owned()
    } else {
        format!("{factor} {level}")
    }
}

/// An arm in a sentence: `ext4`, `xfs with bfq and threads 4`. Defaults are omitted.
pub fn arm_in_words<'a>(levels: impl Iterator<Item = (&'a String, &'a String)> + Clone) -> String {
    let shown = levels.clone().filter(|(_, level)| *level != "defaults");
    let mut words: Vec<String> = shown.map(|(factor, level)| level_words(factor, level)).collect();
    if words.is_empty() {
        words = levels.map(|(factor, level)| format!("{factor} {level}")).collect();
    }
    match words.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first, second] => format!("{first} with {second}"),
        [first, others @ .., last] => format!("{first} with {} and {last}", others.join(", ")),
    }
}

pub fn without_target(arm: &Arm) -> Arm {
    let mut arm = arm.clone();
    arm.remove("target");
    arm
}

/// Name of a workload under an arm at one target: `read`, or `read queue_depth=4,block_size=1 MiB`.
pub fn pilot_key(workload: &str, arm: &Arm) -> String {
    let levels = arm_words(&without_target(arm));
    if levels.is_empty() { workload.to_owned() } else { format!("{workload} {levels}") }
}

/// Pieces of a drive, read twice past the page cache before any write, to detect other caches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadTwice {
    pub drive: String,
    pub piece_bytes: u64,
    /// Nanoseconds of the first and of the second reading of each piece.
    pub piece_ns: Vec<[u64; 2]>,
}

/// Bytes that became dirty in the page cache while an area was written past it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dirtied {
    /// Bytes written past the page cache; 0 if the area was not filled.
    pub written_bytes: u64,
    /// Bytes that became dirty during the writes, of any file of the machine.
    pub dirtied_bytes: u64,
    /// Page caches of this machine below the file system; each one makes every byte dirty again.
    pub caches_below: u32,
}

impl Dirtied {
    /// Minimum share of written bytes that became dirty, if writes used the page cache.
    const LEAST_SHARE: f64 = 0.9;

    /// Bytes that became dirty in the filesystem's page cache; `None` if most bypassed the cache.
    pub fn own_bytes(&self, written: u64, dirtied: u64) -> Option<u64> {
        let below = written.saturating_mul(u64::from(self.caches_below));
        let bytes = dirtied.saturating_sub(below);
        (written > 0 && bytes as f64 >= Self::LEAST_SHARE * written as f64).then_some(bytes)
    }

    pub fn is_through_cache(&self) -> bool {
        self.own_bytes(self.written_bytes, self.dirtied_bytes).is_some()
    }
}

fn not_recorded() -> Presence<ReadTwice> {
    Presence::absent(
        "the Assay version that created this result did not record why the second read was skipped",
    )
}

/// Reads a presence, or a bare value as older versions stored it.
fn perhaps_bare<'de, D: Deserializer<'de>>(from: D) -> Result<Presence<ReadTwice>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum StoredReadTwice {
        Known(Presence<ReadTwice>),
        Bare(ReadTwice),
    }
    Ok(match StoredReadTwice::deserialize(from)? {
        StoredReadTwice::Known(known) => known,
        StoredReadTwice::Bare(found) => Presence::Present(found),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    pub hole_bytes: u64,
    pub unwritten_bytes: u64,
    pub encoded_bytes: u64,
    pub sampled_blocks: u32,
    pub zero_blocks: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedWorkload {
    pub name: String,
    /// Its arm: the level of each factor. Plans of versions before factors have none here.
    #[serde(default, skip_serializing_if = "Arm::is_empty")]
    pub arm: Arm,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub control: bool,
    pub target: usize,
    pub work: WorkPlan,
    pub ramp_ns: u64,
    /// Counted nanoseconds; the maximum if operations are counted.
    pub time_ns: u64,
    pub note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Background>,
}

impl PlannedWorkload {
    /// Expected nanoseconds, if known, at most `most_ns`; virtual machines need additional time.
    pub fn expected_ns(&self, operation_ns: u64, most_ns: u64) -> Option<u64> {
        let expected = self.work.expected_ns(operation_ns)?;
        Some(if self.work.makes_machines() { expected } else { expected.min(most_ns) })
    }

    pub fn writes(&self) -> bool {
        self.touches().any(|touch| touch.writes.is_some())
    }

    pub fn reads(&self) -> bool {
        self.touches().any(|touch| touch.reads)
    }

    pub fn touches(&self) -> impl Iterator<Item = Touch> {
        let background = self.background.as_ref().map(|background| background.work.touches());
        [self.work.touches()].into_iter().chain(background)
    }

    pub fn words(&self) -> String {
        let background = self.background.as_ref().map(|background| background.work.words());
        let beside = background.map(|words| format!("; background load: {words}"));
        self.work.words() + &beside.unwrap_or_default()
    }

    /// The part of an area for this workload: all of it, or the first half next to a background load.
    pub fn own_part(&self, area: &Area) -> Area {
        area.measured(self.background.is_some())
    }

    /// The same workload with half the time, but at least its ramp.
    fn halved(&self) -> Self {
        let half_ns = self.ramp_ns.saturating_add(self.time_ns) / 2;
        Self {
            ramp_ns: 0,
            time_ns: half_ns.max(self.ramp_ns),
            work: self.work.halved(),
            ..self.clone()
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentWorkload {
    pub name: String,
    #[serde(default, skip_serializing_if = "Arm::is_empty")]
    pub configuration: Arm,
    pub target: usize,
    pub reason: String,
}

impl AbsentWorkload {
    pub fn words(&self) -> String {
        format!("{NOT_MEASURED}{}", self.reason)
    }
}

const NOT_MEASURED: &str = "not measured: ";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTrial {
    pub order: u32,
    /// Index of the machine that runs it; 0 if there is only one.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub host: u32,
    pub replicate: u32,
    /// A warm-up, excluded from results: the next trial then follows the same arm.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub lead_in: bool,
    pub workload: usize,
    pub arm: Arm,
    pub seed: u64,
}

impl PlannedTrial {
    pub fn is_lead_in(&self) -> bool {
        self.lead_in || self.replicate == 0
    }

    pub fn turn(&self) -> PlanTurn {
        PlanTurn { replicate: self.replicate, lead_in: self.is_lead_in() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanTurn {
    /// Replicate from 1; 0 for the only lead-in of older plans.
    pub replicate: u32,
    pub lead_in: bool,
}

impl fmt::Display for PlanTurn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.lead_in, self.replicate) {
            (true, 0) => write!(out, "warm-up"),
            (true, number) => write!(out, "warm-up of replicate {number}"),
            (false, number) => write!(out, "replicate {number}"),
        }
    }
}

impl Plan {
    /// Returns whether the study only observes a production workload, or uses recorded data.
    pub fn is_only_watched(&self) -> bool {
        self.workloads.iter().all(|planned| planned.work.is_only_watched())
    }

    /// Returns whether everything runs in virtual machines that Assay starts, so the host is not touched.
    pub fn is_in_machines(&self) -> bool {
        !self.workloads.is_empty()
            && self.workloads.iter().all(|planned| planned.work.makes_machines())
    }

    /// Returns the workload of a trial; half of it for a warm-up.
    pub fn work_of(&self, trial: &PlannedTrial) -> Cow<'_, PlannedWorkload> {
        let workload = &self.workloads[trial.workload];
        match self.design.lead_in {
            // Warm-ups of older plans, in replicate 0, were whole trials.
            LeadIn::Half if trial.lead_in => Cow::Owned(workload.halved()),
            _ => Cow::Borrowed(workload),
        }
    }

    /// Returns whether the filesystem of a trial is created again before it.
    pub fn is_remade_before(&self, index: usize) -> bool {
        let target_of = |trial: &PlannedTrial| self.workloads[trial.workload].target;
        let Some(trial) = self.trials.get(index) else { return false };
        if self.surveys[target_of(trial)].under.is_empty() {
            return false;
        }
        let Some(before) = index.checked_sub(1).map(|index| &self.trials[index]) else {
            return true;
        };
        // A warm-up in replicate 0 shares the filesystem of the first replicate.
        let is_new_replicate = before.replicate.max(1) != trial.replicate.max(1);
        self.design.fresh == Fresh::Replicate && is_new_replicate
            || target_of(before) != target_of(trial)
    }
}

/// Every trial in order, fixed before the first starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Format and version of the plan and its records.
    pub format: String,
    /// SHA-256 of the plan without this field, hexadecimal.
    pub sha256: String,
    pub seed: u64,
    /// The comparison and its rules; empty in plans from versions without factors.
    #[serde(default = "Design::before_factors")]
    pub design: Design,
    pub replicates: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meter: Option<String>,
    /// Nanoseconds of rest before the first trial to measure the idle energy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<u64>,
    /// Nanoseconds of rest before each trial to detect other traffic.
    pub gap_ns: u64,
    /// Intended nanoseconds of the study: it ends with the nearest replicate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_ns: Option<u64>,
    pub deadline_ns: u64,
    pub surveys: Vec<Survey>,
    pub workloads: Vec<PlannedWorkload>,
    pub absent: Vec<AbsentWorkload>,
    pub trials: Vec<PlannedTrial>,
}
