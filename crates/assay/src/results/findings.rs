//! What a study found (`assay-findings/1`): the document of `check --json` and `show --json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::plan::Arm;
use super::record::Status;
use crate::quantity::Better;

/// Format of the findings.
pub const FORMAT: &str = "assay-findings/1";

/// How far a number can be trusted, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// Nothing speaks against it.
    Trusted,
    /// Something speaks against it.
    Suspect,
    /// It is not what it says it is.
    Invalid,
}

/// Why a number is trusted, suspect or invalid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Because {
    /// Rule that speaks.
    pub rule: String,
    /// What the rule takes away by it; `trusted` is a note that takes nothing.
    pub trust: Trust,
    /// What it says, one sentence.
    pub text: String,
}

/// Which study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyFacts {
    /// Id of the bundle.
    pub id: String,
    /// Title.
    pub title: String,
    /// `check`, `study`, `import` or `article`.
    pub kind: String,
    /// Hash of the plan.
    pub plan_sha256: String,
    /// When it started, RFC 3339.
    pub started: String,
    /// Seed of the order.
    pub seed: u64,
    /// Notes that the user added.
    pub notes: Vec<String>,
}

/// One target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetFacts {
    /// As the user wrote it.
    pub name: String,
    /// Drive below, with its interface.
    pub drive: String,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware.
    pub firmware: Option<String>,
    /// Bytes of the drive.
    pub size_bytes: Option<u64>,
    /// File system with what matters of its options.
    pub filesystem: String,
    /// Scheduler.
    pub scheduler: Option<String>,
    /// Device stack, top first, for people.
    pub stack: Vec<String>,
    /// Bytes of the area.
    pub area_bytes: u64,
    /// Whether direct I/O was used.
    pub direct: bool,
    /// Turning platters.
    pub rotational: Option<bool>,
    /// Things to tell: fall-backs, leftovers.
    pub notes: Vec<String>,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvironmentFacts {
    /// Version of the tool.
    pub assay: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor.
    pub cpu: String,
    /// Logical processors, where the kernel tells.
    pub cpus: Option<u32>,
    /// Bytes of memory, where the kernel tells.
    pub memory_bytes: Option<u64>,
    /// `none`, or what it runs in.
    pub virtualisation: String,
    /// Targets.
    pub targets: Vec<TargetFacts>,
}

/// One trial of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellTrial {
    /// Replicate from 1; 0 for the lead-in.
    pub replicate: u32,
    /// Position in the plan.
    pub order: u32,
    /// Value, in the metric's unit; absent when the trial failed or has too few operations.
    pub value: Option<f64>,
    /// How it ended.
    pub status: Status,
    /// Why, unless ok.
    pub reason: Option<String>,
}

/// One metric of one workload under one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Workload.
    pub workload: String,
    /// Arm.
    pub arm: Arm,
    /// Metric.
    pub metric: String,
    /// Direction.
    pub better: Better,
    /// Every trial, lead-in included.
    pub trials: Vec<CellTrial>,
    /// Trials that count.
    pub n: usize,
    /// Geometric mean of them.
    pub geometric_mean: Option<f64>,
    /// Smallest.
    pub min: Option<f64>,
    /// Median.
    pub median: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// 95 % t interval of the geometric mean; from 3 trials on, provisional below 6.
    pub ci95: Option<[f64; 2]>,
    /// Fewer trials than a settled statement needs.
    pub provisional: bool,
    /// An identical second baseline arm.
    pub control: bool,
    /// Trust; absent when nothing was measured.
    pub trust: Option<Trust>,
    /// Why.
    pub because: Vec<Because>,
}

/// A row or number that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentCell {
    /// Workload.
    pub workload: String,
    /// Arm.
    pub arm: Arm,
    /// Metric; absent when the whole row is missing.
    pub metric: Option<String>,
    /// Why.
    pub reason: String,
}

/// How one workload was run, for readers of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadFacts {
    /// Name.
    pub name: String,
    /// Arm, where it differs by arm.
    pub arm: Arm,
    /// One line: pattern, size, depth, engine, direct or not.
    pub text: String,
    /// Operations in flight asked for.
    pub asked_depth: u32,
    /// Operations in flight used.
    pub depth: u32,
    /// What differs from what was asked, and why.
    pub note: Option<String>,
}

/// A comparison of two arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Stable within the findings: `workload:metric:arm`.
    pub id: String,
    /// `paired`, ...
    pub kind: String,
    /// Workload.
    pub workload: String,
    /// Metric.
    pub metric: String,
    /// Direction.
    pub better: Better,
    /// What is compared with.
    pub baseline: Arm,
    /// What is compared.
    pub arm: Arm,
    /// Complete pairs.
    pub n: usize,
    /// Arm over baseline.
    pub ratio: f64,
    /// 95 % interval of the ratio, from 3 pairs on.
    pub ci95: Option<[f64; 2]>,
    /// 95 % interval that holds for the whole family of comparisons at once.
    #[serde(default)]
    pub ci95_family: Option<[f64; 2]>,
    /// Holm's p.
    #[serde(default)]
    pub p_holm: Option<f64>,
    /// Verdict; absent where none is given.
    pub verdict: Option<String>,
    /// What counts as equivalent, as a fraction.
    #[serde(default)]
    pub margin: Option<f64>,
    /// Replicates that would decide.
    #[serde(default)]
    pub replicates_needed: Option<u32>,
    /// Remarks.
    pub notes: Vec<String>,
}

/// Everything that a study found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// Format and version.
    pub format: String,
    /// The study.
    pub study: StudyFacts,
    /// The machine.
    pub environment: EnvironmentFacts,
    /// How each workload was run.
    pub workloads: Vec<WorkloadFacts>,
    /// Numbers.
    pub cells: Vec<Cell>,
    /// Numbers that are not there.
    pub absent: Vec<AbsentCell>,
    /// Arms against the first one.
    pub comparisons: Vec<Comparison>,
    /// Main effects of factors; a check varies none.
    #[serde(default)]
    pub effects: Vec<serde_json::Value>,
    /// Factors whose effects depend on each other; a check varies none.
    #[serde(default)]
    pub interactions: Vec<serde_json::Value>,
    /// Metrics over a numeric factor; a check varies none.
    #[serde(default)]
    pub trends: Vec<serde_json::Value>,
    /// Arms in order; a check ranks none.
    #[serde(default)]
    pub ranks: Vec<serde_json::Value>,
    /// Ratio of two identical arms; a check has no control arm.
    #[serde(default)]
    pub noise_floor: Option<serde_json::Value>,
    /// Advice with its evidence; a check gives none.
    #[serde(default)]
    pub advice: Vec<serde_json::Value>,
    /// What the numbers mean to an owner, one to five sentences.
    pub summary: Vec<String>,
    /// What the study as a whole should be read with.
    pub checks: Vec<BTreeMap<String, String>>,
}
