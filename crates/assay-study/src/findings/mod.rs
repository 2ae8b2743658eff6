//! What a study found (`assay-findings/1`): the document of `check --json` and `show --json`.

pub mod answers;
mod bare;
mod cells;
pub mod facts;
pub mod fitness;
pub mod gate;
pub mod hosts;
pub mod measurements;
pub mod most_load;
mod needed;
pub mod notes;
mod of_kinds;
pub mod places;
pub mod race;
mod sentence;
pub mod shown;
mod trust;

use assay_core::exhibit::Exhibit;
use assay_core::json::is_default;
use assay_core::quantity::{Better, Scale};
use assay_workloads::io::Pace;
use serde::{Deserialize, Serialize};

use self::facts::{FilesystemFacts, IoFacts, OrderFacts, PlaceFacts, PlaceSort, Unknown};
use self::notes::Note;
use crate::results::design::tells;
use crate::results::plan::{Arm, arm_in_words};
use crate::results::record::{Repeats, Status};
use crate::results::surroundings::facts::Activity;

pub use cells::is_wide;
pub use measurements::Measurements;
pub use needed::Needed;
pub use of_kinds::OfKinds;
pub use sentence::{MetricRef, Sentence, SentenceRole, as_sentence, capitalized};
pub use trust::{Because, LENT, Trust};

pub const FORMAT: &str = "assay-findings/1";

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyFacts {
    pub id: String,
    pub title: String,
    /// `check`, `study` or `import`.
    pub kind: String,
    pub plan_sha256: String,
    /// When it started, RFC 3339.
    pub started: String,
    pub seed: u64,
    pub notes: Vec<String>,
    /// ID of the result whose winner the study confirms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirms: Option<String>,
    /// For a confirmed race: the winner's ratio to the baseline in the race, which is biased upward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race_ratio: Option<f64>,
    #[serde(default)]
    pub factors: Vec<crate::results::design::Factor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<crate::file::Card>,
    /// First figure of the page, if the study sets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_figure: Option<String>,
    /// Reason of an end before the last planned trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetFacts {
    pub name: String,
    /// Drive below, with its interface.
    pub drive: String,
    pub model: Option<String>,
    pub serial: Option<String>,
    pub firmware: Option<String>,
    pub size_bytes: Option<u64>,
    /// File system with its relevant options.
    pub filesystem: String,
    pub scheduler: Option<String>,
    /// Device stack, top first, for people.
    pub stack: Vec<String>,
    pub area_bytes: u64,
    pub direct: bool,
    /// Whether direct writes used the page cache anyway.
    #[serde(default, skip_serializing_if = "is_default")]
    pub writes_buffered: bool,
    pub rotational: Option<bool>,
    pub notes: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filesystems: Vec<FilesystemFacts>,
    /// Whether the drive is a loop device with a backing file on another file system.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_a_file: bool,
    /// Encryption layers below the target, the uppermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub encryption: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnvironmentFacts {
    /// Version of the tool.
    pub assay: String,
    pub kernel: String,
    pub cpu: String,
    /// Logical processors, if known.
    pub cpus: Option<u32>,
    /// Bytes of memory, if known.
    pub memory_bytes: Option<u64>,
    /// `none`, or the kind of virtualization.
    pub virtualization: String,
    /// Platform; absent in results that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<PlaceFacts>,
    pub targets: Vec<TargetFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<hosts::HostFindings>,
    /// Activity of machine and devices during the trials, and the cost of the probes.
    #[serde(default, skip_serializing_if = "Activity::is_empty")]
    pub activity: Activity,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Unknown>,
}

impl EnvironmentFacts {
    /// Returns whether an emulator executes each instruction: times then do not describe hardware.
    pub fn is_emulated(&self) -> bool {
        self.platform.as_ref().is_some_and(|place| place.kind == PlaceSort::Emulator)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialValue {
    /// Replicate from 1; 0 for the lead-in.
    pub replicate: u32,
    /// Position in time; absent if not recorded.
    pub order: Option<u32>,
    /// Value, in the metric's unit; absent when the trial failed or has too few operations.
    pub value: Option<f64>,
    pub status: Status,
    pub reason: Option<String>,
    /// The disturbed trial that this one repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
    /// Far from the value that replicate and arm predict (modified z above 3.5): flagged, never removed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub outlier: bool,
}

impl TrialValue {
    /// Returns whether its row counts this trial, if none of the row's trials is disturbed.
    pub fn counts_by_itself(&self) -> bool {
        self.status == Status::Ok && self.repeats.is_none() && self.value.is_some()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the document")]
pub struct Measurement {
    pub workload: String,
    pub configuration: Arm,
    pub metric: String,
    pub better: Better,
    /// Every trial, lead-in included.
    pub trials: Vec<TrialValue>,
    /// Indices in `trials` of those that count, if something disturbed one: repeats replace disturbed trials,
    /// which count only if too few are left without them. Absent if all count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Vec<usize>>,
    pub n: usize,
    /// Geometric mean of them; absent if compared by differences, and if one is zero.
    pub geometric_mean: Option<f64>,
    /// Arithmetic mean of them, if compared by differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    pub min: Option<f64>,
    pub median: Option<f64>,
    pub max: Option<f64>,
    /// 95% t interval of that mean; from 3 trials on, provisional below 6.
    pub ci95: Option<[f64; 2]>,
    /// Whether the interval is too wide to be useful: its upper end is more than twice the lower one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wide: bool,
    /// Fewer trials than a settled statement needs.
    pub provisional: bool,
    /// An identical second baseline arm.
    pub control: bool,
    /// Whether the study's verdicts are about this metric.
    #[serde(default)]
    pub primary: bool,
    #[serde(default)]
    pub scale: Scale,
    /// Trust; absent without measurements.
    pub trust: Option<Trust>,
    pub reasons: Vec<Because>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbsentCell {
    pub workload: String,
    pub configuration: Arm,
    /// Metric; absent when the whole row is missing.
    pub metric: Option<String>,
    pub reason: String,
    /// Reason why the plan omitted the row, without a prefix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
}

/// How one workload was run, for readers of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadFacts {
    pub name: String,
    /// Arm, if it differs by arm.
    pub configuration: Arm,
    /// One line: pattern, size, depth, engine, direct or not.
    pub text: String,
    pub requested_queue_depth: u32,
    pub queue_depth: u32,
    #[serde(default)]
    pub time_ns: u64,
    /// Nanoseconds before them that were run but not counted.
    #[serde(default)]
    pub ramp_ns: u64,
    /// Differences from the study, with their reasons.
    pub note: Option<String>,
    /// Reads and writes; absent for production workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<IoFacts>,
    /// For an open loop: how well it met its schedule, over all counting trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// Commands that apply the settings of the arm permanently, unless the report lists them elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permanent_commands: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Better,
    Worse,
    /// The difference is smaller than the margin.
    Equivalent,
    Inconclusive,
}

/// Kind of comparison of two arms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    #[default]
    Paired,
    /// Groups of one study without common replicates: imported data.
    Unpaired,
    /// Two studies with the same baseline.
    RerunBaseline,
    BetweenResults,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Stable within the findings: `workload:metric:arm`.
    pub id: String,
    pub kind: Kind,
    pub workload: String,
    /// The workload of these requests of one class; the classes share one error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_of: Option<String>,
    pub metric: String,
    pub better: Better,
    /// Whether the study's verdicts are about this metric; the others are unadjusted.
    #[serde(default)]
    pub primary: bool,
    pub baseline: Arm,
    pub configuration: Arm,
    /// Complete pairs.
    pub n: usize,
    /// Means of arm and baseline over those pairs, from 3 pairs on; geometric if there is a ratio.
    /// Absent if two results were compared by their own baselines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<[f64; 2]>,
    /// The same instead of `means`, if the row includes other trials than these `n` pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_means: Option<[f64; 2]>,
    /// Arm over baseline, from 3 pairs on (1 for published numbers); absent if a value is zero.
    pub ratio: Option<f64>,
    /// 95% CI of the ratio, from 3 pairs on.
    pub ci95: Option<[f64; 2]>,
    /// Simultaneous 95% CI of the whole family of comparisons, which decides the verdict.
    pub ci95_simultaneous: Option<[f64; 2]>,
    /// Interval of the two one-sided tests: *equivalent* is read from it.
    pub ci_equivalence: Option<[f64; 2]>,
    /// Arm minus baseline, for metrics that may be zero, with its 95% CI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// Standard deviation of the differences of the natural logarithms.
    pub sd_log: Option<f64>,
    /// p of the paired t test (Welch's test for published summaries), Holm-corrected.
    pub p_holm: Option<f64>,
    /// p of the exact sign-flip test, which assumes no distribution.
    pub p_sign_flip: Option<f64>,
    /// Verdict; absent if none is intended.
    pub verdict: Option<Verdict>,
    /// Trials are still pending, so there is no verdict yet.
    #[serde(default, skip_serializing_if = "is_default")]
    pub withheld: bool,
    /// Better or worse, but by less than the margin (95% confidence).
    #[serde(default, skip_serializing_if = "is_default")]
    pub within_margin: bool,
    /// Equivalence margin, as a fraction.
    pub margin: Option<f64>,
    /// Replicates needed to detect a difference as large as the margin, for an inconclusive verdict.
    pub replicates_needed: Option<u32>,
    /// Smallest detectable ratios at 80% power with one result per side, days included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_detectable_ratios: Option<[f64; 2]>,
    #[serde(default)]
    pub text: String,
    pub notes: Vec<String>,
    /// The remarks as data, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub note_facts: Vec<Note>,
}

/// An interval of a ratio with ends further apart than this factor does not determine its size.
const WIDEST: f64 = 10.0;

impl Comparison {
    /// Returns whether the interval contains 1 and is so wide that a printed ratio would mislead.
    pub fn cannot_tell(&self) -> bool {
        let ends = self.ci95_simultaneous.or(self.ci95);
        ends.is_some_and(|[low, high]| low < 1.0 && high > 1.0 && high > WIDEST * low)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    pub value: f64,
    pub ci95: Option<[f64; 2]>,
    /// 95% CI for the whole family.
    pub ci95_simultaneous: Option<[f64; 2]>,
    /// Standard deviation of the differences of the pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
}

/// Main effect of a level against the baseline's level, over all levels of the other factors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    pub workload: String,
    pub metric: String,
    pub better: Better,
    pub factor: String,
    pub baseline: String,
    pub level: String,
    /// Replicates.
    pub n: usize,
    pub ratio: f64,
    pub ci95: Option<[f64; 2]>,
    /// Simultaneous 95% CI of all effects and interactions of the workload, or of all workloads if none has an effect.
    pub ci95_simultaneous: Option<[f64; 2]>,
    /// Verdict, read from the family interval.
    pub verdict: Option<Verdict>,
    /// Replicates needed to detect a difference as large as the margin, for an inconclusive verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicates_needed: Option<u32>,
    pub text: String,
}

impl Effect {
    /// Stable within the findings: `workload:metric:factor=level`.
    pub fn id(&self) -> String {
        format!("{}:{}:{}={}", self.workload, self.metric, self.factor, self.level)
    }
}

/// An interaction of two factors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interaction {
    pub workload: String,
    pub metric: String,
    pub factors: [String; 2],
    /// Their levels with the clearest disagreement.
    pub levels: [String; 2],
    /// Replicates.
    pub n: usize,
    pub ratio: f64,
    /// Simultaneous 95% CI of all effects and interactions of the workload, or of all workloads if none has an effect.
    pub ci95_simultaneous: [f64; 2],
    pub text: String,
}

/// Shape of a metric over the levels of a numeric factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A line on log scales.
    #[default]
    Linear,
    /// Near the best from the knee on.
    Saturates,
    /// Up to the knee it stays near the best.
    FlatUpTo,
    Peak,
}

/// A metric over a numeric factor, reported if it changes by more than the margin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trend {
    pub workload: String,
    pub metric: String,
    pub factor: String,
    /// Levels of the other factors.
    pub configuration: Arm,
    /// Replicates.
    pub n: usize,
    /// Level with the best mean.
    pub peak: f64,
    /// Smallest and largest level that could be the best one, at 95% for all trends of the workload.
    pub peak_range: [f64; 2],
    #[serde(default)]
    pub shape: Shape,
    /// Slope in logarithms: 1 means proportional, 0 means no change. Only for a line.
    pub slope: Option<f64>,
    /// 95% CI of the slope, for all trends of the workload at once.
    pub ci95: Option<[f64; 2]>,
    pub near: Option<[f64; 2]>,
    /// First or last level within the margin of the best one.
    pub knee: Option<f64>,
    /// Smallest and largest level that could be the knee.
    pub knee_range: Option<[f64; 2]>,
    /// Equivalence margin, as a share.
    pub margin: Option<f64>,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rank {
    pub workload: String,
    pub metric: String,
    pub ranks: Vec<RankRange>,
    pub text: String,
}

/// An arm with the places that it could have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankRange {
    pub configuration: Arm,
    /// Best and worst possible rank, from 1; unequal if arms are tied.
    pub rank_range: [usize; 2],
    /// Geometric mean: the number of its row.
    pub geometric_mean: f64,
}

/// Conclusions from the comparisons of several configurations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effects {
    #[serde(default, rename = "effects")]
    pub main: Vec<Effect>,
    #[serde(default)]
    pub interactions: Vec<Interaction>,
    #[serde(default)]
    pub trends: Vec<Trend>,
    #[serde(default)]
    pub ranks: Vec<Rank>,
    pub noise_floor: Option<NoiseFloor>,
}

/// The ratio of two identical arms: the noise floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoiseFloor {
    pub workload: String,
    pub metric: String,
    /// Replicates.
    pub n: usize,
    pub ratio: f64,
    pub ci95: Option<[f64; 2]>,
    /// Whether the two arms differ (p < 0.01): the measurements are then unreliable.
    pub different: bool,
    pub text: String,
}

/// A recommendation with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    pub text: String,
    /// Ids of comparisons, or of effects ([`Effect::id`]).
    pub evidence: Vec<String>,
    pub status: AdviceStatus,
    /// Recommendation for or against something.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: AdviceKind,
    /// First sentence: recommendation and numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sentence: String,
    /// Commands that apply the recommended settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AdviceKind {
    #[default]
    Use,
    /// Avoid a level: it is worse (95% confidence).
    Avoid,
    /// Trade-off: better in one workload, worse in another.
    TradeOff,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AdviceStatus {
    /// The best of many, which is biased upward; needs confirmation by fresh trials.
    Candidate,
    Confirmed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Name of the check: `order`, `drift`, `carry-over`, `fragile`, ...
    pub name: String,
    pub text: String,
    /// Order of the trials, for a check of the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderFacts>,
}

impl Check {
    pub fn new(name: &str, text: String) -> Self {
        Self { name: name.to_owned(), text, order: None }
    }

    /// Returns whether the check withholds verdicts, because the order confounds arms with time.
    pub fn leaves_no_verdict(&self) -> bool {
        WITHOUT_VERDICT.contains(&self.name.as_str())
    }
}

/// Name of the check that the arms ran one after the other.
pub const SEQUENTIAL: &str = "sequential";

/// Name of the check for an unknown order of the trials.
pub const UNORDERED: &str = "unordered";

/// Name of the check for an order that was not randomized.
pub const RECORDED: &str = "recorded";

const WITHOUT_VERDICT: [&str; 3] = [SEQUENTIAL, UNORDERED, RECORDED];

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Findings {
    pub format: String,
    pub study: StudyFacts,
    pub environment: EnvironmentFacts,
    pub workloads: Vec<WorkloadFacts>,
    pub measurements: Vec<Measurement>,
    pub absent: Vec<AbsentCell>,
    pub comparisons: Vec<Comparison>,
    #[serde(flatten)]
    pub effects: Effects,
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// Sentences for the owner, the most important one first.
    pub summary: Vec<Sentence>,
    pub checks: Vec<Check>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exhibits: Vec<Exhibit>,
    /// Facts of workload kinds, below the keys of the kinds.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "assay_workloads::facts_schema"))]
    pub of_kinds: OfKinds,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race: Option<race::RaceAnswer>,
    #[serde(flatten)]
    pub answers: answers::Answers,
    /// Several places, in percent of one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platforms: Option<places::Places>,
}

pub const WATCHED: &str = "watched";

/// Topic of two compared results of `assay watch`.
pub const WINDOWS: &str = "windows";

impl Findings {
    pub fn are_windows(&self) -> bool {
        self.exhibits.iter().any(|exhibit| exhibit.topic == WINDOWS)
    }

    pub fn arm_words(&self, arm: &Arm) -> String {
        match arm_in_words(arm.iter().filter(|(name, _)| tells(&self.study.factors, name))) {
            words if words.is_empty() => arm_in_words(arm.iter()),
            words => words,
        }
    }
}
