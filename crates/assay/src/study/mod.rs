//! A study: target x workloads x factors x replicates, as its file says it.

mod ask;
mod check;
mod claims;
mod defaults;
pub mod fields;
pub mod file;
mod order;
pub mod parameters;
mod prepare;
pub mod presets;
pub mod probes;
mod schema;
pub mod simulated;
pub mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use ask::{Amount, Ask, AskKind, Card, Price};
pub use order::{LeadIn, Order};
pub use prepare::{AreaRequest, Cache, Fresh, Prepare, Prime, Start};
pub use schema::schema;

use crate::quantity::units::show;
use crate::quantity::{Bytes, Percent, Time};

/// Format of study files.
pub const FORMAT: &str = "assay-study/1";

/// The smallest area that may be asked for.
pub const SMALLEST_AREA_BYTES: u64 = 16 << 20;

/// Replicates of a study that names none (R4: below six no test without a distribution can decide).
pub const DEFAULT_REPLICATES: u32 = 6;

/// What counts as equivalent where a study does not say (R6).
pub const DEFAULT_MARGIN: Percent = Percent(5.0);

/// One study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// Format and version.
    pub format: String,
    /// What it asks.
    pub title: String,
    /// Name of the preset that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Id of the result whose winner it confirms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirms: Option<String>,
    /// Complete passes over all arms.
    #[serde(default = "default_replicates")]
    pub replicates: u32,
    /// What counts as equivalent, fixed beforehand; without it there are ratios and no verdicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<Percent>,
    /// The metric that verdicts are about; by default bandwidth for large operations, else IOPS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// An identical second baseline arm: the noise floor. By default on from three arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control: Option<bool>,
    /// How the order of trials is drawn.
    #[serde(default)]
    pub order: Order,
    /// What runs before the first trial of a replicate.
    #[serde(default, skip_serializing_if = "LeadIn::is_default")]
    pub lead_in: LeadIn,
    /// Time for one target, filling and pilot included; trials without a time share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Time>,
    /// Seed of everything drawn; drawn itself where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Factors whose levels are changed once a replicate, with everything else inside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub costly: Vec<String>,
    /// Whether a replicate that something disturbed is run again at the end.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub repeat_disturbed: bool,
    /// Probes that watch each trial, beside those that always do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<String>,
    /// File of an external power meter, a time and watts in each line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meter: Option<String>,
    /// Where, unless `target` is a factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The bytes that may be touched.
    #[serde(default)]
    pub area: AreaRequest,
    /// How the target is brought into a known state.
    #[serde(default, skip_serializing_if = "Prepare::is_default")]
    pub prepare: Prepare,
    /// How often what a factor makes is made anew.
    #[serde(default, skip_serializing_if = "Fresh::is_default")]
    pub fresh: Fresh,
    /// When it ends; by default after its replicates.
    #[serde(default, skip_serializing_if = "Stop::is_default")]
    pub stop: Stop,
    /// What arms are compared with; by default the first level of each factor. Where it names some
    /// factors only, arms are compared at equal levels of the others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub baseline: BTreeMap<String, String>,
    /// Settings that vary, by name, each with its levels as text.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub factors: BTreeMap<String, Vec<String>>,
    /// Arms one by one, instead of every combination of the levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<BTreeMap<String, String>>,
    /// The work.
    pub workload: Vec<Workload>,
    /// Claims that the findings answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub question: Vec<Ask>,
    /// What the card is sold as, for its row of the flash table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
}

impl Study {
    /// What sort of result it makes: `check` or `study`.
    pub fn kind(&self) -> &'static str {
        if self.preset.as_deref() == Some("check") { "check" } else { "study" }
    }

    /// Where it takes place, as the command line names that.
    pub fn targets(&self) -> Vec<String> {
        let several = self.factors.get("target").cloned().unwrap_or_default();
        self.target.iter().map(Target::word).chain(several).collect()
    }
}

/// When a study ends (R8).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// By which rule.
    #[serde(default)]
    pub rule: StopRule,
    /// Replicates after which it may end, for `looks`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
    /// Half-width of the intervals that is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width: Option<Percent>,
}

impl Stop {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The rule by which a study ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopRule {
    /// After its replicates.
    #[default]
    Fixed,
    /// After one of the declared looks, each with its share of the error.
    Looks,
    /// After any replicate, by a confidence sequence.
    Open,
}

/// Where a study takes place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The tool makes a file of its own in this directory.
    Directory(String),
    /// An existing file; it is only read.
    File(String),
    /// A block device; only read unless it was unlocked.
    Device(String),
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
            Self::Loop(size) => format!("a loop device of {size}"),
            Self::Simulated(law) => format!("{}{law}", simulated::PREFIX),
        }
    }
}

/// One piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Name, unique in the study.
    pub name: String,
    /// Reads and writes of blocks.
    pub io: Io,
    /// Others' work that goes on meanwhile, in the other half of the area: it is counted, and what
    /// is compared is `io`. It has neither time nor number of operations of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Io>,
}

impl Workload {
    /// What it does, in a line.
    pub fn words(&self) -> String {
        let beside = self.beside.as_ref().map(|io| format!("; beside it {}", io.words()));
        self.io.words() + &beside.unwrap_or_default()
    }

    /// Whether all that is written is zeros.
    pub fn writes_zeros(&self) -> bool {
        let ios = std::iter::once(&self.io).chain(&self.beside);
        ios.filter(|io| io.mix.writes()).all(|io| io.content == Content::Zero)
    }

    /// Whether anything is written.
    pub fn writes(&self) -> bool {
        self.io.mix.writes() || self.beside.as_ref().is_some_and(|io| io.mix.writes())
    }
}

/// Order of the offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One block after the other.
    Sequential,
    /// Any block, with equal probability.
    Random,
    /// Evenly spaced blocks, as many as there are operations.
    Spread,
}

impl Pattern {
    /// As files write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
            Self::Spread => "spread",
        }
    }
}

/// Which bytes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Fresh random bytes.
    #[default]
    Random,
    /// Zeros.
    Zero,
}

/// Who carries the operations out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Engine {
    /// `io_uring` for more than one operation in flight where the kernel allows it, else threads.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// `pread` and `pwrite`.
    #[serde(rename = "psync")]
    Psync,
    /// `io_uring`.
    #[serde(rename = "io_uring")]
    IoUring,
}

/// When a write counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteSync {
    /// When the kernel says it is written.
    #[default]
    None,
    /// After an `fdatasync` of its own.
    EachWrite,
}

/// Reads and writes of blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Io {
    /// Order of the offsets.
    pub pattern: Pattern,
    /// `read`, `write`, reads and writes in percent (`70/30`), or `rewrite`.
    pub mix: Mix,
    /// Bytes of one operation.
    pub size: Bytes,
    /// Operations in flight per thread.
    #[serde(default = "one")]
    pub depth: u32,
    /// Threads.
    #[serde(default = "one")]
    pub threads: u32,
    /// Past the page cache.
    #[serde(default = "yes")]
    pub direct: bool,
    /// Which bytes are written.
    #[serde(default)]
    pub content: Content,
    /// When a write counts as done.
    #[serde(default)]
    pub sync: WriteSync,
    /// Who carries it out.
    #[serde(default)]
    pub engine: Engine,
    /// Time that is counted; a share of the budget where it is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// Time before it that is run but not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Time>,
    /// Operations after which a trial ends, over all threads, even if time is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<u64>,
}

impl Io {
    /// Operations in flight over all threads.
    pub fn in_flight(&self) -> u32 {
        self.depth.saturating_mul(self.threads)
    }

    /// What it does, in a line: pattern, mix, size, operations in flight.
    pub fn words(&self) -> String {
        let (pattern, mix) = (self.pattern.name(), self.mix.words());
        let sync = match self.sync {
            WriteSync::EachWrite => ", an fdatasync after each",
            WriteSync::None => "",
        };
        let count = self.operations.map(|count| format!(", {} operations", show::count(count)));
        format!(
            "{pattern} {mix} of {}, {} in flight{sync}{}",
            self.size,
            self.in_flight(),
            count.unwrap_or_default()
        )
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

const fn one() -> u32 {
    1
}

const fn yes() -> bool {
    true
}

/// What operations do to their blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Mix {
    /// Each reads or writes its block.
    Shares {
        /// Reads in percent of all operations.
        read_percent: u8,
    },
    /// Each reads its block, changes it and writes it back.
    Rewrite,
}

impl Mix {
    /// Nothing but reads.
    pub const READS: Self = Self::Shares { read_percent: 100 };

    /// Bytes read in percent of all bytes that are moved.
    pub const fn read_percent(self) -> u8 {
        match self {
            Self::Shares { read_percent } => read_percent,
            Self::Rewrite => 50,
        }
    }

    /// Whether anything is written.
    pub const fn writes(self) -> bool {
        self.read_percent() < 100
    }

    /// What the operations are called: `reads`, `70 % reads, 30 % writes`, `rewrites`.
    pub fn words(self) -> String {
        match self {
            Self::Shares { read_percent: 100 } => "reads".to_owned(),
            Self::Shares { read_percent: 0 } => "writes".to_owned(),
            Self::Shares { read_percent: reads } => {
                format!("{reads} % reads, {} % writes", 100 - reads)
            }
            Self::Rewrite => "rewrites".to_owned(),
        }
    }
}

impl TryFrom<String> for Mix {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl std::str::FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let advice = || {
            format!(
                "`{text}` is no mix: say read, write, rewrite, or two percentages that add up to 100, such as 70/30"
            )
        };
        let read_percent = match text {
            "rewrite" => return Ok(Self::Rewrite),
            "read" => 100,
            "write" => 0,
            _ => {
                let (reads, writes) = text.split_once('/').ok_or_else(advice)?;
                let reads: u8 = reads.trim().parse().map_err(|_| advice())?;
                let writes: u8 = writes.trim().parse().map_err(|_| advice())?;
                if u32::from(reads) + u32::from(writes) != 100 {
                    return Err(advice());
                }
                reads
            }
        };
        Ok(Self::Shares { read_percent })
    }
}

impl From<Mix> for String {
    fn from(mix: Mix) -> Self {
        match mix {
            Mix::Shares { read_percent: 100 } => "read".to_owned(),
            Mix::Shares { read_percent: 0 } => "write".to_owned(),
            Mix::Shares { read_percent: reads } => format!("{reads}/{}", 100 - reads),
            Mix::Rewrite => "rewrite".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_reads_as_it_is_written() {
        for text in ["read", "write", "rewrite", "70/30", "5/95"] {
            let mix: Mix = text.parse().unwrap();
            assert_eq!(String::from(mix), text);
        }
        assert_eq!("100/0".parse(), Ok(Mix::READS));
    }

    #[test]
    fn a_mix_that_is_none_says_what_to_write() {
        for text in ["", "70", "70/40", "a/b", "-5/105", "300/-200"] {
            assert!(text.parse::<Mix>().unwrap_err().contains("such as 70/30"), "{text}");
        }
    }
}
