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
use assay_core::quantity::{Better, Scale};
use assay_workloads::io::Pace;
use serde::{Deserialize, Serialize};

use self::facts::{FilesystemFacts, IoFacts, Ordered, PlaceFacts, PlaceSort, Unknown};
use self::notes::Note;
use crate::results::design::tells;
use crate::results::plan::{Arm, arm_in_words, is_false};
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
    /// Id of the bundle.
    pub id: String,
    pub title: String,
    /// `check`, `study` or `import`.
    pub kind: String,
    /// Hash of the plan.
    pub plan_sha256: String,
    /// When it started, RFC 3339.
    pub started: String,
    /// Seed of the order.
    pub seed: u64,
    /// Notes that the user added.
    pub notes: Vec<String>,
    /// Id of the result whose winner it was to confirm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirms: Option<String>,
    /// Where that was a race, what its winner was over the baseline then: a ratio, and too much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race_ratio: Option<f64>,
    /// What varied; a check varies nothing.
    #[serde(default)]
    pub factors: Vec<crate::results::design::Factor>,
    /// What is printed on the card or drive, and its price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<crate::file::Card>,
    /// The figure that its page shows first, where the study says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead_figure: Option<String>,
    /// Why it ended before its last planned trial, where a rule ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TargetFacts {
    /// As the user wrote it.
    pub name: String,
    /// Drive below, with its interface.
    pub drive: String,
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    pub firmware: Option<String>,
    /// Bytes of the drive.
    pub size_bytes: Option<u64>,
    /// File system with what matters of its options.
    pub filesystem: String,
    pub scheduler: Option<String>,
    /// Device stack, top first, for people.
    pub stack: Vec<String>,
    pub area_bytes: u64,
    /// Whether direct I/O was used.
    pub direct: bool,
    /// Whether direct writes went through the page cache all the same.
    #[serde(default, skip_serializing_if = "is_false")]
    pub writes_buffered: bool,
    /// Turning platters.
    pub rotational: Option<bool>,
    /// Things to tell: fall-backs, leftovers.
    pub notes: Vec<String>,
    /// The file system and what its own storage lies on, top first; none of a device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filesystems: Vec<FilesystemFacts>,
    /// Whether the drive is a loop device, whose file lies on another file system.
    #[serde(default, skip_serializing_if = "is_false")]
    pub on_a_file: bool,
    /// What is seen to encrypt on the way down, the uppermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub encryption: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    pub virtualization: String,
    /// Where it ran; nothing of results that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<PlaceFacts>,
    pub targets: Vec<TargetFacts>,
    /// The hosts of a fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<hosts::Hosts>,
    /// What the machine and its devices did during the trials, and what the probes cost.
    #[serde(default, skip_serializing_if = "Activity::is_empty")]
    pub activity: Activity,
    /// What is not known of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<Unknown>,
}

impl EnvironmentFacts {
    /// Whether an emulator carried out each instruction: times then say nothing of hardware.
    pub fn is_emulated(&self) -> bool {
        self.platform.as_ref().is_some_and(|place| place.kind == PlaceSort::Emulator)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrialValue {
    /// Replicate from 1; 0 for the lead-in.
    pub replicate: u32,
    /// Position in time; absent where it was not recorded.
    pub order: Option<u32>,
    /// Value, in the metric's unit; absent when the trial failed or has too few operations.
    pub value: Option<f64>,
    /// How it ended.
    pub status: Status,
    /// Why, unless ok.
    pub reason: Option<String>,
    /// The trial that it repeats, because that one was disturbed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
    /// Far from what replicate and arm let expect (modified z above 3.5): marked, never removed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub outlier: bool,
}

impl TrialValue {
    /// Whether its row sums it up where nothing disturbed any of its trials.
    pub fn counts_by_itself(&self) -> bool {
        self.status == Status::Ok && self.repeats.is_none() && self.value.is_some()
    }
}

/// One metric of one workload under one arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the document")]
pub struct Measurement {
    pub workload: String,
    pub configuration: Arm,
    pub metric: String,
    /// Direction.
    pub better: Better,
    /// Every trial, lead-in included.
    pub trials: Vec<TrialValue>,
    /// Places in `trials` of those that count, where something disturbed one: repeats stand for these, and
    /// the disturbed ones count where too few are left without them. Absent where all that ended well count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Vec<usize>>,
    /// Trials that count.
    pub n: usize,
    /// Geometric mean of them; none where they are compared by differences, and where one is zero.
    pub geometric_mean: Option<f64>,
    /// Arithmetic mean of them, where they are compared by differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Smallest.
    pub min: Option<f64>,
    pub median: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// 95% t interval of that mean; from 3 trials on, provisional below 6.
    pub ci95: Option<[f64; 2]>,
    /// Whether that interval is so wide that the number says little: its upper end is more than twice the lower one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub wide: bool,
    /// Fewer trials than a settled statement needs.
    pub provisional: bool,
    /// An identical second baseline arm.
    pub control: bool,
    /// Whether the study's verdicts are about this metric.
    #[serde(default)]
    pub primary: bool,
    /// Whether it is compared by ratios or by differences.
    #[serde(default)]
    pub scale: Scale,
    /// Trust; absent when nothing was measured.
    pub trust: Option<Trust>,
    pub reasons: Vec<Because>,
}

/// A row or number that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbsentCell {
    pub workload: String,
    pub configuration: Arm,
    /// Metric; absent when the whole row is missing.
    pub metric: Option<String>,
    pub reason: String,
    /// Why the plan left it out, without the words that say that it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
}

/// How one workload was run, for readers of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkloadFacts {
    pub name: String,
    /// Arm, where it differs by arm.
    pub configuration: Arm,
    /// One line: pattern, size, depth, engine, direct or not.
    pub text: String,
    /// Operations in flight asked for.
    pub requested_queue_depth: u32,
    /// Operations in flight used.
    pub queue_depth: u32,
    /// Nanoseconds that were counted in each trial.
    #[serde(default)]
    pub time_ns: u64,
    /// Nanoseconds before them that were run but not counted.
    #[serde(default)]
    pub ramp_ns: u64,
    /// What differs from what was asked, and why.
    pub note: Option<String>,
    /// What it reads and writes; absent where only others' work was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<IoFacts>,
    /// Of an open loop how far its schedule was held, over all trials that count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// What one would type to have what it was run under for keeps, where nothing else says so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permanent_commands: Vec<String>,
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The arm is better.
    Better,
    /// The arm is worse.
    Worse,
    /// The difference is smaller than the margin.
    Equivalent,
    /// The numbers do not tell.
    Inconclusive,
}

/// What two arms are compared by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Pairs from the replicates of one study.
    #[default]
    Paired,
    /// Groups of one study that share no replicates: what was recorded and not tried.
    Unpaired,
    /// Two studies, each with the same baseline.
    RerunBaseline,
    /// Two studies that share nothing.
    BetweenResults,
}

/// A comparison of two arms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Stable within the findings: `workload:metric:arm`.
    pub id: String,
    /// What it rests on.
    pub kind: Kind,
    pub workload: String,
    /// The workload whose requests of one class these are; the classes share one error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_of: Option<String>,
    pub metric: String,
    /// Direction.
    pub better: Better,
    /// Whether the study's verdicts are about this metric; the others are unadjusted.
    #[serde(default)]
    pub primary: bool,
    /// What is compared with.
    pub baseline: Arm,
    /// What is compared.
    pub configuration: Arm,
    /// Complete pairs.
    pub n: usize,
    /// Means of arm and baseline over those pairs, in the unit of the metric, from 3 pairs on:
    /// geometric where there is a ratio, which is theirs. They are the numbers of both rows. Absent where
    /// two results were compared by their own baselines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<[f64; 2]>,
    /// The same in the place of `means`, where a row sums up other trials than these `n` pairs as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_means: Option<[f64; 2]>,
    /// Arm over baseline, from 3 pairs on (of published numbers from 1); absent where a value of
    /// zero allows no ratio.
    pub ratio: Option<f64>,
    /// 95% CI of the ratio, from 3 pairs on.
    pub ci95: Option<[f64; 2]>,
    /// 95% CI that holds for the whole family of comparisons at once: the verdict is read
    /// from it.
    #[serde(default)]
    pub ci95_simultaneous: Option<[f64; 2]>,
    /// Interval of the two one-sided tests: *equivalent* is read from it.
    #[serde(default)]
    pub ci_equivalence: Option<[f64; 2]>,
    /// Arm minus baseline, for metrics that may be zero, with its 95% CI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// Standard deviation of the differences of the natural logarithms.
    #[serde(default)]
    pub sd_log: Option<f64>,
    /// p of the paired t test (of published summaries, of Welch's test), corrected for the family by
    /// Holm's method.
    #[serde(default)]
    pub p_holm: Option<f64>,
    /// p of the exact sign-flip test, which assumes no distribution.
    #[serde(default)]
    pub p_sign_flip: Option<f64>,
    /// Verdict; absent where none is given by design.
    pub verdict: Option<Verdict>,
    /// Trials are still to come: whatever verdict there is, is none.
    #[serde(default, skip_serializing_if = "is_false")]
    pub withheld: bool,
    /// Better or worse, but surely by less than the margin.
    #[serde(default, skip_serializing_if = "is_false")]
    pub within_margin: bool,
    /// What counts as equivalent, as a fraction.
    #[serde(default)]
    pub margin: Option<f64>,
    /// Replicates that would tell a difference as large as the margin, for an inconclusive verdict.
    #[serde(default)]
    pub replicates_needed: Option<u32>,
    /// Of one result a side: the ratios below and above which a true one would have been found in four of
    /// five cases, days included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_detectable_ratios: Option<[f64; 2]>,
    /// The verdict in one sentence.
    #[serde(default)]
    pub text: String,
    /// Remarks.
    pub notes: Vec<String>,
    /// What each of the remarks says, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub note_facts: Vec<Note>,
}

/// Ends of an interval of a ratio further apart than this factor tell nothing of its size.
const WIDEST: f64 = 10.0;

impl Comparison {
    /// Whether the interval is so wide, and holds 1, that a ratio beside it would only mislead.
    pub fn cannot_tell(&self) -> bool {
        let ends = self.ci95_simultaneous.or(self.ci95);
        ends.is_some_and(|[low, high]| low < 1.0 && high > 1.0 && high > WIDEST * low)
    }
}

/// A difference in the unit of the metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Arm minus baseline.
    pub value: f64,
    /// 95% CI.
    pub ci95: Option<[f64; 2]>,
    /// 95% CI for the whole family.
    pub ci95_simultaneous: Option<[f64; 2]>,
    /// Standard deviation of the differences of the pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
}

/// The main effect of one level of a factor: against the baseline's level, over all levels of the
/// other factors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    pub workload: String,
    pub metric: String,
    /// Direction.
    pub better: Better,
    pub factor: String,
    /// Level compared with.
    pub baseline: String,
    pub level: String,
    /// Replicates.
    pub n: usize,
    /// Level over baseline level.
    pub ratio: f64,
    /// 95% CI.
    pub ci95: Option<[f64; 2]>,
    /// 95% CI for all main effects and interactions of the workload at once, and of all workloads
    /// as long as none of them shows anything.
    pub ci95_simultaneous: Option<[f64; 2]>,
    /// Verdict, read from the family interval.
    pub verdict: Option<Verdict>,
    /// Replicates that would tell a difference as large as the margin, for an inconclusive verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicates_needed: Option<u32>,
    /// One sentence.
    pub text: String,
}

impl Effect {
    /// Stable within the findings: `workload:metric:factor=level`.
    pub fn id(&self) -> String {
        format!("{}:{}:{}={}", self.workload, self.metric, self.factor, self.level)
    }
}

/// Two factors whose effects depend on each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interaction {
    pub workload: String,
    pub metric: String,
    /// The two factors.
    pub factors: [String; 2],
    /// Their levels where the disagreement is clearest.
    pub levels: [String; 2],
    /// Replicates.
    pub n: usize,
    /// Ratio of the two ratios.
    pub ratio: f64,
    /// 95% CI for all main effects and interactions of the workload at once, and of all workloads
    /// as long as none of them shows anything.
    pub ci95_simultaneous: [f64; 2],
    /// One sentence.
    pub text: String,
}

/// How a metric goes over the levels of a numeric factor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// As a line through logarithms.
    #[default]
    Linear,
    /// From the knee on it stays near the best.
    Saturates,
    /// Up to the knee it stays near the best.
    FlatUpTo,
    /// Neither of these.
    Peak,
}

/// A metric over a numeric factor, told where it changes by more than the margin.
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
    /// How it goes there.
    #[serde(default)]
    pub shape: Shape,
    /// Change of the logarithm of the metric per change of the logarithm of the level: 1 means
    /// proportional, 0 means no change. Of a line only.
    pub slope: Option<f64>,
    /// 95% CI of the slope, for all trends of the workload at once.
    pub ci95: Option<[f64; 2]>,
    /// Smallest and largest of the levels around the best that stay within the margin of it; none of a
    /// line.
    #[serde(default)]
    pub near: Option<[f64; 2]>,
    /// The level from which on, or up to which, it stays within the margin of the best.
    #[serde(default)]
    pub knee: Option<f64>,
    /// Smallest and largest level that could be the knee.
    #[serde(default)]
    pub knee_range: Option<[f64; 2]>,
    /// What counts as no change, as a share.
    #[serde(default)]
    pub margin: Option<f64>,
    /// One sentence.
    pub text: String,
}

/// Arms of a workload, best first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rank {
    pub workload: String,
    pub metric: String,
    pub ranks: Vec<Place>,
    /// One sentence.
    pub text: String,
}

/// An arm with the places that it could have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    pub configuration: Arm,
    /// Best and worst place that the numbers allow, from 1; unequal where arms are tied.
    pub rank_range: [usize; 2],
    /// Geometric mean: the number of its row.
    pub geometric_mean: f64,
}

/// What the comparisons of several configurations say together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effects {
    /// Main effects of factors.
    #[serde(default, rename = "effects")]
    pub main: Vec<Effect>,
    /// Factors whose effects depend on each other.
    #[serde(default)]
    pub interactions: Vec<Interaction>,
    /// Metrics over a numeric factor.
    #[serde(default)]
    pub trends: Vec<Trend>,
    /// Configurations in order.
    #[serde(default)]
    pub ranks: Vec<Rank>,
    /// Ratio of two identical configurations.
    #[serde(default)]
    pub noise_floor: Option<NoiseFloor>,
}

/// The ratio of two identical arms: what this bench makes of no difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoiseFloor {
    /// Workload where it is largest.
    pub workload: String,
    pub metric: String,
    /// Replicates.
    pub n: usize,
    /// Second copy over first.
    pub ratio: f64,
    /// 95% CI.
    pub ci95: Option<[f64; 2]>,
    /// Whether the bench tells the two apart at 1%: it cannot be trusted then.
    pub different: bool,
    /// One sentence.
    pub text: String,
}

/// Something to do, with what speaks for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// One sentence, or a few.
    pub text: String,
    /// Ids of comparisons, or of effects ([`Effect::id`]).
    pub evidence: Vec<String>,
    /// How sure.
    pub status: AdviceStatus,
    /// Whether it is for something or against it.
    #[serde(default, skip_serializing_if = "AdviceKind::is_use")]
    pub kind: AdviceKind,
    /// Its first sentence: what is advised, and by which numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sentence: String,
    /// What one would type to bring the machine there, where the arm stands for settings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<String>,
}

/// What kind of advice it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AdviceKind {
    /// To use an arm.
    #[default]
    Use,
    /// Not to use a level: it is surely worse.
    Avoid,
    /// To weigh: better in one workload, worse in another.
    TradeOff,
}

impl AdviceKind {
    // The signature is serde's.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    fn is_use(&self) -> bool {
        *self == Self::Use
    }
}

/// How sure an advice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum AdviceStatus {
    /// The best of many looks better than it is; to be confirmed by fresh trials.
    Candidate,
    /// Confirmed by fresh trials.
    Confirmed,
}

/// Something that the study as a whole should be read with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// What was looked at: `order`, `drift`, `carry-over`, `fragile`, ...
    pub name: String,
    /// What was found.
    pub text: String,
    /// How the trials were ordered, where that is what was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Ordered>,
}

impl Check {
    pub fn new(name: &str, text: String) -> Self {
        Self { name: name.to_owned(), text, order: None }
    }

    /// Whether it takes the verdicts away: how the trials were ordered cannot tell arms from time.
    pub fn leaves_no_verdict(&self) -> bool {
        WITHOUT_VERDICT.contains(&self.name.as_str())
    }
}

/// Name of the check that the arms ran one after the other.
pub const SEQUENTIAL: &str = "sequential";

/// Name of the check that nobody knows in which order the trials ran.
pub const UNORDERED: &str = "unordered";

/// Name of the check that nobody chose in which order the trials came.
pub const RECORDED: &str = "recorded";

const WITHOUT_VERDICT: [&str; 3] = [SEQUENTIAL, UNORDERED, RECORDED];

/// Everything that a study found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Findings {
    /// Format and version.
    pub format: String,
    pub study: StudyFacts,
    /// The machine.
    pub environment: EnvironmentFacts,
    /// How each workload was run.
    pub workloads: Vec<WorkloadFacts>,
    /// Numbers.
    pub measurements: Vec<Measurement>,
    /// Numbers that are not there.
    pub absent: Vec<AbsentCell>,
    /// Arms against the baseline.
    pub comparisons: Vec<Comparison>,
    #[serde(flatten)]
    pub effects: Effects,
    /// Advice with its evidence.
    #[serde(default)]
    pub advice: Vec<Advice>,
    /// What the numbers mean to an owner, the most important sentence first.
    pub summary: Vec<Sentence>,
    /// What the study as a whole should be read with.
    pub checks: Vec<Check>,
    /// Tables and figures of single topics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exhibits: Vec<Exhibit>,
    /// What kinds of work tell of their own, below the keys of the kinds.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "assay_workloads::facts_schema"))]
    pub of_kinds: OfKinds,
    /// What became of the race, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race: Option<race::RaceAnswer>,
    /// Answers to the questions of the study.
    #[serde(flatten)]
    pub answers: answers::Answers,
    /// Several places in per cent of one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platforms: Option<places::Places>,
}

/// The workload of what was only watched.
pub const WATCHED: &str = "watched";

/// Topic of two compared results of `assay watch`.
pub const WINDOWS: &str = "windows";

impl Findings {
    /// Whether two results of `assay watch` are compared.
    pub fn are_windows(&self) -> bool {
        self.exhibits.iter().any(|exhibit| exhibit.topic == WINDOWS)
    }

    /// An arm in words, by what tells it from others.
    pub fn arm_words(&self, arm: &Arm) -> String {
        match arm_in_words(arm.iter().filter(|(name, _)| tells(&self.study.factors, name))) {
            words if words.is_empty() => arm_in_words(arm.iter()),
            words => words,
        }
    }
}
