//! Description and abilities of every kind of work.

use std::collections::BTreeMap;
use std::fmt;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::{Field, Fields};
use assay_core::quantity::{Bytes, Metric, Time};
use assay_machine::system::network::Shaped;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::check_option::CheckOption;
use super::io::Content;
use super::measured::{Measured, RunResult};
use super::place::{Area, Offer, Run};
use super::recorded::RecordingNames;
use super::tell::{OwnRule, ShownNumbers};
use super::{Background, Work, WorkPlan};

/// Keys of a workload table, declared by `keys!`. The default is a sample to try levels on.
pub trait DeclaredKeys: Default + 'static {
    const KEYS: &'static [Field];
    const FACTORS: &'static [OwnParameter<Self>];
}

/// A kind of work. The name in its description is its key in study files: `io = { ... }`.
pub trait WorkloadKind:
    DeclaredKeys
    + WorkloadSpec
    + Into<Work>
    + Clone
    + fmt::Debug
    + PartialEq
    + Serialize
    + DeserializeOwned
    + 'static
{
    const ABOUT: About;
    /// Its metrics besides those of all work, in reporting order.
    const METRICS: &'static [&'static [Metric]];
    const JUDGED: &'static [Basis];

    /// Whether it runs programs of a study: those of an untrusted result never run.
    const RUNS_PROGRAMS: bool = false;

    /// The option of `assay check` that runs its bundled study, if any.
    const CHECK_OPTION: Option<&'static CheckOption> = None;

    /// Names of its trials, if they are read from a journal instead of run.
    const RECORDING: Option<&'static RecordingNames> = None;

    /// Exhibits of its metrics alone, if it has a separate table.
    const SHOWN: Option<&'static ShownNumbers> = None;

    /// Trust rules on its specific counters, in reporting order.
    const RULES: &'static [OwnRule] = &[];

    /// Its key with an example value, as in a file.
    const EXAMPLE: &'static str;

    const ENTRY: KindEntry = KindEntry {
        about: Self::ABOUT,
        keys: &Fields { label: Self::ABOUT.name, rows: Self::KEYS },
        metrics: Self::METRICS,
        judged: Self::JUDGED,
        runs_programs: Self::RUNS_PROGRAMS,
        check_option: Self::CHECK_OPTION,
        recording: Self::RECORDING,
        shown: Self::SHOWN,
        rules: Self::RULES,
        sample: || Self::default().into(),
        parameters: || Self::FACTORS.iter().map(|own| own.about).collect(),
    };
}

pub struct KindEntry {
    pub about: About,
    pub keys: &'static Fields,
    pub metrics: &'static [&'static [Metric]],
    pub judged: &'static [Basis],
    pub runs_programs: bool,
    pub check_option: Option<&'static CheckOption>,
    pub recording: Option<&'static RecordingNames>,
    pub shown: Option<&'static ShownNumbers>,
    pub rules: &'static [OwnRule],
    pub sample: fn() -> Work,
    pub parameters: fn() -> Vec<Parameter>,
}

impl fmt::Debug for KindEntry {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.about.name)
    }
}

/// A parameter of one kind of work that a study may vary.
pub struct OwnParameter<K> {
    pub about: Parameter,
    /// Sets it from a level's text; fails with one line on what to write instead.
    pub set: fn(&mut K, &str) -> Result<(), String>,
}

/// The canonical spelling of a level; `None` if it is invalid.
pub type Written = fn(&str) -> Option<String>;

#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub about: About,
    pub example: &'static str,
    /// Whether its levels are different work, rather than settings of the same work.
    pub is_work: bool,
    /// How its levels are written, if it has a separate unit of amounts.
    pub written: Option<Written>,
}

/// Evidence that a trust rule judges; a kind of work declares what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    Machine,
    /// Claimed bytes to and from the target.
    Bytes,
    /// Whether they came from the medium and reached it.
    Medium,
    /// Single operations: their number in flight, and their regularity.
    Operations,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Usable bytes: of a created file, a file or a device.
    Area,
    /// A whole empty device, or all free space of a directory: it only contains its own writes.
    Whole,
    Directory,
    Device,
    /// Nothing: it is independent of the target.
    Nothing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touch {
    pub reads: bool,
    /// Content that it writes to its area, if any.
    pub writes: Option<Content>,
    /// Content that its reads, trims and zeroing need in the area, if Assay wrote it.
    pub finds: Option<Content>,
    /// Removes stored data (trims, zeroes or overwrites it with duplicates); then it also writes.
    pub clears: bool,
    pub direct: bool,
}

/// Network requirements of work that loads a link, over all arms of its study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkNeeds {
    /// Whether it needs network namespaces with a slow link.
    pub in_lab: bool,
    pub changes: bool,
    /// Advice if the peer is unknown.
    pub to_nobody: Option<String>,
    /// The interfaces whose egress may be shaped.
    pub interfaces: Vec<String>,
    pub shaped: bool,
}

/// The study around a workload, as far as its keys depend on it.
#[derive(Clone, Copy, Debug)]
pub struct InStudy<'a> {
    pub factors: &'a BTreeMap<String, Vec<String>>,
    /// Size of the area, if the study sets it correctly.
    pub area: Option<Bytes>,
    pub has_budget: bool,
    pub finds_rate: bool,
}

impl<'a> InStudy<'a> {
    pub const fn new(factors: &'a BTreeMap<String, Vec<String>>) -> Self {
        Self { factors, area: None, has_budget: false, finds_rate: false }
    }
}

/// Receives mistakes between keys; paths are those of the file, `workload/0/io/size`.
pub trait Complaints {
    fn value(&mut self, path: &str, message: String, hint: Option<String>);
    fn key(&mut self, path: &str, message: String, hint: Option<String>);
    fn is_wrong(&self, path: &str) -> bool;
}

pub trait WorkloadSpec {
    fn words(&self) -> String;

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    fn touches(&self) -> Touch {
        Touch::default()
    }

    /// Reports violated constraints between its keys; `path` is that of its table.
    fn complain(&self, _path: &str, _study: &InStudy<'_>, _to: &mut dyn Complaints) {}

    /// Rejects a factor's level that does not fit the other keys.
    fn check_factor(&mut self, _factor: &str) -> Result<(), String> {
        Ok(())
    }

    /// Takes a level of its arm, for placeholders with the name of its factor.
    fn take(&mut self, _factor: &str, _level: &str) {}

    /// Moves it into a lab without a device; returns whether its kind has one.
    fn move_to_lab(&mut self) -> bool {
        false
    }

    fn time(&self) -> Option<Time>;

    /// The uncounted time before it, if set.
    fn ramp(&self) -> Option<Time> {
        None
    }

    /// Sets time and ramp; missing ones are a share of the budget.
    fn set_span(&mut self, _time: Option<Time>, _ramp: Option<Time>) {}

    /// Whether a trial ends by its time, rather than by a count.
    fn ends_by_time(&self) -> bool {
        false
    }

    /// Sets defaults for a study without a budget.
    fn settle(&mut self) {}

    /// Reduces it for a quick check, on an area of this size.
    fn make_quick(&mut self, _area: Option<Bytes>) {}

    /// Its plan on this target, and the deviations with reasons.
    fn plan(&self, offer: &Offer<'_>) -> Result<(WorkPlan, Option<String>), String>;

    /// Nanoseconds per sequential operation; `None` if that cannot be tried.
    fn pilot(&self, _run: &Run<'_>) -> Result<Option<u64>, String> {
        Ok(None)
    }

    fn costs_like(&self, _other: &Work) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ManualRun<'a> {
    /// A possible name: the workload and its levels.
    pub name: &'a str,
    /// All usable bytes; the background load has the second half.
    pub area: Area,
    pub path: &'a str,
    pub ramp_ns: u64,
    pub time_ns: u64,
    /// Deviations from the request, with reasons.
    pub note: Option<&'a str>,
    pub background: Option<&'a Background>,
}

impl ManualRun<'_> {
    pub fn seconds(&self) -> u64 {
        self.time_ns.div_ceil(1_000_000_000).max(1)
    }

    /// A line of fio on the target, with options that contain no space.
    pub fn fio(&self, options: &str) -> Vec<String> {
        let name = format!("--name={}", self.name);
        let path = format!("--filename={}", self.path);
        let options = options.split(' ').map(str::to_owned);
        ["fio".to_owned(), name, path].into_iter().chain(options).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManualCommand {
    /// The words, the program first, unquoted.
    pub words: Vec<String>,
    /// Remaining differences to the work.
    pub remarks: Vec<String>,
}

impl ManualCommand {
    pub fn new(words: &[&str], remarks: &[&str]) -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self { words: owned(words), remarks: owned(remarks) }
    }
}

pub trait PlannedWork {
    fn words(&self) -> String;

    fn touches(&self) -> Touch {
        Touch::default()
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String>;

    /// Prepares again for a resumed study; returns what it ran.
    fn ready_again(&self, _run: &Run<'_>) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// The value of one of its metrics from a result; `None` without this metric.
    fn value(&self, metric: &str, measured: &Measured) -> Option<Result<f64, String>> {
        measured.value(metric)
    }

    /// The metric for comparisons if the study names none; `varies` returns whether a name is a factor.
    fn primary(&self, varies: &dyn Fn(&str) -> bool) -> &'static str;

    /// Operations after which a trial ends, even if time is left.
    fn operations(&self) -> Option<u64> {
        None
    }

    /// Bytes that a trial of so many seconds moves at most in one direction; infinite if the speed alone limits them.
    fn most_bytes(&self, _seconds: f64) -> f64 {
        f64::INFINITY
    }

    fn ends_by_time(&self) -> bool {
        self.operations().is_none()
    }

    fn is_by_clock(&self) -> bool {
        false
    }

    /// Expected nanoseconds of work that ends by itself; `pilot_ns` is 0 without a pilot.
    fn expected_ns(&self, _pilot_ns: u64) -> Option<u64> {
        None
    }

    /// The same work for half as long, if its time alone does not shorten it.
    fn half(&self) -> Option<WorkPlan> {
        None
    }

    /// Requested number of operations in flight, over all threads.
    fn asked_in_flight(&self) -> u32 {
        self.in_flight()
    }

    fn in_flight(&self) -> u32 {
        1
    }

    fn threads(&self) -> u32 {
        1
    }

    /// Reduces its depth to drain in time; never changes a level of the study.
    fn drain_within(
        &mut self,
        _operation_ns: u64,
        _trial_ns: u64,
        _is_level: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        None
    }

    /// How to shape the egress of an interface for the work.
    fn shaping(&self) -> Option<Shaped> {
        None
    }

    /// The commands that apply the settings of the work permanently, where no factor does.
    fn permanent_commands(&self) -> Vec<String> {
        Vec::new()
    }

    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand;

    fn not_said(&self) -> &'static [&'static str] {
        &[]
    }
}
