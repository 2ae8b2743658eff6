//! What every kind of work says of itself and can do.

use std::collections::BTreeMap;
use std::fmt;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::{Field, Fields};
use assay_core::quantity::{Bytes, Metric, Time};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::check_option::CheckOption;
use super::io::Content;
use super::measured::{Measured, Ran};
use super::place::{Area, Offer, Run};
use super::recorded::Recording;
use super::tell::{OwnRule, ShownNumbers};
use super::{Background, Work, WorkPlan};

/// Keys of a workload table, declared by `keys!`. The default is a sample to try levels on.
pub trait DeclaredKeys: Default + 'static {
    const KEYS: &'static [Field];
    const FACTORS: &'static [OwnParameter<Self>];
}

/// A kind of work. The name in its own words is its key in study files: `io = { ... }`.
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
    /// What is measured of it, beside what all work shares, in the order in which it is told.
    const METRICS: &'static [&'static [Metric]];
    const JUDGED: &'static [Judged];

    /// Whether it runs programs that a study names: nobody runs those of a stranger's result.
    const RUNS_PROGRAMS: bool = false;

    /// The option of `assay check` that runs its shipped study, where there is one.
    const CHECK_OPTION: Option<&'static CheckOption> = None;

    /// What its trials are called, where they are not run but read from a journal.
    const RECORDING: Option<&'static Recording> = None;

    /// What it shows of its metrics alone, where it has a table of its own.
    const SHOWN: Option<&'static ShownNumbers> = None;

    /// Rules of trust about what it alone counts, in the order in which they are told.
    const RULES: &'static [OwnRule] = &[];

    /// Its key with a value, as it would stand in a file.
    const EXAMPLE: &'static str;

    const ENTRY: Entry = Entry {
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

pub struct Entry {
    /// Its own words; the name is its key in study files.
    pub about: About,
    pub keys: &'static Fields,
    pub metrics: &'static [&'static [Metric]],
    pub judged: &'static [Judged],
    pub runs_programs: bool,
    /// The option of `assay check` that runs its shipped study.
    pub check_option: Option<&'static CheckOption>,
    pub recording: Option<&'static Recording>,
    pub shown: Option<&'static ShownNumbers>,
    pub rules: &'static [OwnRule],
    pub sample: fn() -> Work,
    pub parameters: fn() -> Vec<Parameter>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.about.name)
    }
}

/// A parameter of one kind of work that a study may vary.
pub struct OwnParameter<K> {
    pub about: Parameter,
    /// Sets it from a level's text; else says in one line what to write instead.
    pub set: fn(&mut K, &str) -> Result<(), String>,
}

/// The one way to write a level, from any spelling of it; none where it is no such level.
pub type Written = fn(&str) -> Option<String>;

#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub about: About,
    pub example: &'static str,
    /// Whether its levels are different work and not settings of the same work.
    pub is_work: bool,
    /// How its levels are written, where they are amounts that it alone has.
    pub written: Option<Written>,
}

/// What a rule of trust looks at; a kind of work says what of it there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    Machine,
    /// Bytes that are claimed to have moved to and from the target.
    Bytes,
    /// Whether they came from the medium and arrived at it.
    Medium,
    /// Single operations: how many were in flight, how steadily they ended.
    Operations,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Bytes that the tool may touch: of a file of its own, a file or a device.
    Area,
    /// All of a device, or all that is free in a directory, empty: what is there is what it writes.
    Whole,
    Directory,
    Device,
    /// Nothing: it is done beside whatever the target is.
    Nothing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touch {
    pub reads: bool,
    /// What it writes to its area, where it does.
    pub writes: Option<Content>,
    /// What its reads of the area, and what takes it away, are to find there, where the tool wrote that.
    pub finds: Option<Content>,
    /// Removes what is stored there (trims, zeroes or copies over it); it writes as well then.
    pub clears: bool,
    pub direct: bool,
}

/// What work that loads a link asks of the network, under all arms of its study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkNeeds {
    /// Whether name spaces with a slow link are made for it.
    pub in_lab: bool,
    pub changes: bool,
    /// Where nobody says to whom the link leads: what to do.
    pub to_nobody: Option<String>,
    /// The interfaces whose way out may be shaped.
    pub interfaces: Vec<String>,
    pub shaped: bool,
}

/// The study around a workload, as far as its keys must agree with it.
#[derive(Clone, Copy, Debug)]
pub struct InStudy<'a> {
    pub factors: &'a BTreeMap<String, Vec<String>>,
    /// Size of the area, where the study sets it and it can be read.
    pub area: Option<Bytes>,
    pub has_budget: bool,
    pub finds_rate: bool,
}

impl<'a> InStudy<'a> {
    pub const fn of(factors: &'a BTreeMap<String, Vec<String>>) -> Self {
        Self { factors, area: None, has_budget: false, finds_rate: false }
    }
}

/// Where mistakes between keys are told; paths are those of the file, `workload/0/io/size`.
pub trait Complaints {
    fn value(&mut self, path: &str, message: String, hint: Option<String>);
    fn key(&mut self, path: &str, message: String, hint: Option<String>);
    /// Whether something was found to be wrong there already.
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

    /// Tells what must hold between its keys and does not; `path` is that of its table.
    fn complain(&self, _path: &str, _study: &InStudy<'_>, _to: &mut dyn Complaints) {}

    /// Rejects a level that was set for a factor and does not fit the other keys.
    fn check_factor(&mut self, _factor: &str) -> Result<(), String> {
        Ok(())
    }

    /// Takes a level of the arm that it is run under, for the words that name its factor.
    fn take(&mut self, _factor: &str, _level: &str) {}

    /// Moves it into a laboratory that is no device; whether its kind has one.
    fn move_to_lab(&mut self) -> bool {
        false
    }

    /// The time of a trial where it is set.
    fn time(&self) -> Option<Time>;

    /// Time before it that is run but not counted, where it is set.
    fn ramp(&self) -> Option<Time> {
        None
    }

    /// Sets time and ramp; both are a share of the budget where they are missing.
    fn set_span(&mut self, _time: Option<Time>, _ramp: Option<Time>) {}

    /// Whether a trial ends by its time, and not by something that it counts.
    fn ends_by_time(&self) -> bool {
        false
    }

    /// Sets what a study without a budget leaves open.
    fn settle(&mut self) {}

    /// Makes a quick look of it, on an area of this size.
    fn hurry(&mut self, _area: Option<Bytes>) {}

    /// How it will be run where this is offered, and what differs from what was asked and why.
    fn plan(&self, offer: &Offer<'_>) -> Result<(WorkPlan, Option<String>), String>;

    /// Nanoseconds that one operation costs, one after another; none where that cannot be tried.
    fn pilot(&self, _run: &Run<'_>) -> Result<Option<u64>, String> {
        Ok(None)
    }

    /// Whether one operation of it costs what one of the other does.
    fn costs_like(&self, _other: &Work) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ByHand<'a> {
    /// What it may be called: the workload and its levels.
    pub name: &'a str,
    /// All bytes that may be touched; the background load has the second half.
    pub area: Area,
    pub path: &'a str,
    pub ramp_ns: u64,
    pub time_ns: u64,
    /// What differs from what was asked for, and why.
    pub note: Option<&'a str>,
    pub background: Option<&'a Background>,
}

impl ByHand<'_> {
    /// Whole seconds of a trial, at least one.
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
pub struct CommandLine {
    /// The words, the program first, none of them quoted.
    pub words: Vec<String>,
    /// Where it does something else all the same.
    pub remarks: Vec<String>,
}

impl CommandLine {
    pub fn new(words: &[&str], remarks: &[&str]) -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self { words: owned(words), remarks: owned(remarks) }
    }
}

/// Work as it will be run.
pub trait PlannedWork {
    fn words(&self) -> String;

    fn touches(&self) -> Touch {
        Touch::default()
    }

    fn run(&self, run: &Run<'_>) -> Result<Ran, String>;

    /// Prepares again for a resumed study; returns what that was.
    fn ready_again(&self, _run: &Run<'_>) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// What one of its own metrics was, from what was measured; none where it has no such metric.
    fn value(&self, metric: &str, measured: &Measured) -> Option<Result<f64, String>> {
        measured.value(metric)
    }

    /// The metric for comparisons if the study names none; `varies` says what is a factor.
    fn primary(&self, varies: &dyn Fn(&str) -> bool) -> &'static str;

    /// Operations after which a trial ends, even if time is left.
    fn operations(&self) -> Option<u64> {
        None
    }

    /// Whether a trial ends by its time, and not by something that it counts.
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

    /// The same work for half as long, where it is not its time alone that makes it shorter.
    fn half(&self) -> Option<WorkPlan> {
        None
    }

    /// Operations in flight that the study asked for, over all threads.
    fn asked_in_flight(&self) -> u32 {
        1
    }

    /// Operations in flight, over all threads.
    fn in_flight(&self) -> u32 {
        1
    }

    fn threads(&self) -> u32 {
        1
    }

    /// Reduces its depth so that it drains in time; never changes a level of the study.
    fn drain_within(
        &mut self,
        _operation_ns: u64,
        _trial_ns: u64,
        _is_level: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        None
    }

    fn by_hand(&self, how: &ByHand<'_>) -> CommandLine;

    fn not_said(&self) -> &'static [&'static str] {
        &[]
    }
}
