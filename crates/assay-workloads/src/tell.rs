//! Facts, exhibits and rules of single kinds of work. Besides metrics: facts stored in findings, and their exhibits;
//! such a kind has a type for its facts, named by its line in `kinds!`. From metrics alone: a table, and a figure.
//! Trust rules on its specific counters.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::catalogue::About;
use assay_core::exhibit::{Exhibit, Subject};
use assay_core::presence::Presence;
use assay_core::quantity::metric::Nature;

use super::{Basis, Measured, WorkFacts, WorkPlan};

pub trait Tells {
    /// Facts of a row's trials; `None` without any.
    fn facts(&self, seen: &RowView<'_>) -> Option<WorkFacts>;

    /// A metric of its kind whose value the trust rules may change; `None` for all others.
    fn as_judged(
        &self,
        _metric: &str,
        _measured: &Measured,
        _spoken: &[TriggeredRule<'_>],
    ) -> Option<Result<f64, String>> {
        None
    }
}

/// A row of a study, as passed to a kind of work.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    pub subject: &'a Subject,
    /// Results of its counted trials, in the order of the plan.
    pub trials: &'a [Option<&'a Measured>],
    /// Results of trials left out by design.
    pub left_out: &'a [&'a Measured],
    pub failed: &'a [Failed<'a>],
    pub spoken: &'a [TriggeredRule<'a>],
    /// For each counted trial: the part closest to its throttling temperature.
    pub near_limits: &'a [Option<Presence<NearLimit>>],
}

impl<'a> RowView<'a> {
    pub const fn bare(subject: &'a Subject, trials: &'a [Option<&'a Measured>]) -> Self {
        Self { subject, trials, left_out: &[], failed: &[], spoken: &[], near_limits: &[] }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed<'a> {
    /// Wall clock at its start, RFC 3339.
    pub started: &'a str,
    pub reason: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggeredRule<'a> {
    pub rule: &'a str,
    pub invalid: bool,
    pub text: &'a str,
}

/// A part of the machine and its throttling temperature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearLimit {
    pub name: String,
    /// Its highest temperature, thousandths of a degree Celsius.
    pub most_mc: i64,
    pub limit_mc: i64,
}

/// Facts of a kind of work: their key in findings, and their exhibits.
pub trait Shows: OfRow + Sized {
    /// Their key in findings, and topic of their sentences.
    const KEY: &'static str;
    const FIGURE: Option<&'static FactsFigure> = None;

    fn exhibit(all: &[&Self], rows: &dyn RowSource) -> Exhibit;
}

/// A kind of figure of facts, contained in their exhibits.
#[derive(Clone, Copy, Debug)]
pub struct FactsFigure {
    pub key: &'static str,
    pub about: About,
    /// Whether it shows the purpose of such work: then it precedes verdicts by default.
    pub leads: bool,
}

pub trait OfRow {
    /// Takes the row's numbers by metric, to be consistent with them.
    fn settle(&mut self, _number: &dyn Fn(&str) -> Option<f64>) {}

    /// The sentence that depends on the row's numbers, if any.
    fn resting(&mut self) -> Option<Resting<'_>> {
        None
    }

    /// Why a command fails with these facts, whatever its options.
    fn failure(&self) -> Option<String> {
        None
    }
}

pub trait RowSource {
    fn name(&self, of: &Subject) -> String;

    fn numbers(&self, of: &Subject) -> Vec<RowNumber<'_>>;
}

#[derive(Clone, Debug, PartialEq)]
pub struct RowNumber<'a> {
    pub metric: &'a str,
    pub n: usize,
    pub mean: Option<f64>,
    pub ci95: Option<[f64; 2]>,
    /// The value of every trial, by its position in time.
    pub trials: Vec<(u32, Option<f64>)>,
}

/// A sentence that depends on numbers: doubts about them are appended.
pub struct Resting<'a> {
    pub text: &'a mut String,
    /// Replacement if the numbers are invalid; `None` if the sentence remains.
    pub unsaid: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
pub struct ShownNumbers {
    /// The metric that identifies its rows: no other kind has it.
    pub known_by: &'static str,
    pub exhibit: fn(&StudyNumbers<'_>) -> Exhibit,
    pub figure: Option<&'static OwnFigure>,
}

#[derive(Clone, Debug, Default)]
pub struct StudyNumbers<'a> {
    pub rows: Vec<NumberedRow<'a>>,
    /// Metrics with a number anywhere in the study.
    pub known: BTreeSet<&'a str>,
}

#[derive(Clone, Debug)]
pub struct NumberedRow<'a> {
    pub of: Subject,
    pub numbers: BTreeMap<&'a str, f64>,
    /// Commands that apply its settings permanently.
    pub lasting: &'a [String],
}

/// Lines over the seconds of trials with phases, one line per configuration.
#[derive(Clone, Copy, Debug)]
pub struct OwnFigure {
    pub about: About,
    pub known_by: &'static str,
    pub along: &'static str,
    pub description: &'static str,
    pub figures: &'static [PhaseFigure],
}

#[derive(Clone, Copy, Debug)]
pub struct PhaseFigure {
    pub name: &'static str,
    pub title: &'static str,
    pub values: &'static str,
    /// Bits per second are the transferred bits; otherwise it shows the mean latency.
    pub metric: &'static str,
    pub phases: &'static [TrialPhase],
}

#[derive(Clone, Copy, Debug)]
pub struct TrialPhase {
    pub name: &'static str,
    /// Uncounted whole seconds at its beginning.
    pub ramp_s: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct OwnRule {
    pub about: About,
    pub looks_at: Basis,
    /// Affected natures of metrics: it does not judge others.
    pub changes: &'static [Nature],
    pub doubt: fn(&WorkPlan, &[&Measured]) -> Option<Doubt>,
}

/// A doubt about numbers: `WHAT, in 2 of 3 trials: WHY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    pub what: String,
    pub trials: usize,
    pub why: String,
    /// Whether it invalidates the numbers; otherwise they are suspect.
    pub invalid: bool,
}

/// Rows with a known workload only.
#[cfg(test)]
pub(crate) struct Bare;

#[cfg(test)]
impl RowSource for Bare {
    fn name(&self, of: &Subject) -> String {
        of.workload.clone()
    }

    fn numbers(&self, _: &Subject) -> Vec<RowNumber<'_>> {
        Vec::new()
    }
}
