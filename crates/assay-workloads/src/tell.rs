//! What a kind of work tells of its own. Beside its metrics: facts that findings keep, and how they are
//! shown; a kind that does has a type for its facts, which its line in `kinds!` names. Of its metrics alone:
//! a table, and a figure. Against them: rules of trust about what it alone counts.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::catalogue::About;
use assay_core::exhibit::{Exhibit, Subject};
use assay_core::presence::Presence;
use assay_core::quantity::metric::Nature;

use super::{Judged, Measured, WorkFacts, WorkPlan};

pub trait Tells {
    /// What the trials of a row say; none where they say nothing.
    fn facts(&self, seen: &Seen<'_>) -> Option<WorkFacts>;

    /// A metric of its own that what the rules of trust say may change; none of all others.
    fn as_judged(
        &self,
        _metric: &str,
        _measured: &Measured,
        _spoken: &[Spoken<'_>],
    ) -> Option<Result<f64, String>> {
        None
    }
}

/// A row of a study, as far as a kind of work hears of it.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub subject: &'a Subject,
    /// What each of its trials that count measured, in the order of the plan.
    pub trials: &'a [Option<&'a Measured>],
    /// What those measured that are left out by design.
    pub left_out: &'a [&'a Measured],
    pub failed: &'a [Failed<'a>],
    pub spoken: &'a [Spoken<'a>],
    /// For each trial that counts: the part nearest to its throttling temperature.
    pub near_limits: &'a [Option<Presence<NearLimit>>],
}

impl<'a> Seen<'a> {
    pub const fn bare(subject: &'a Subject, trials: &'a [Option<&'a Measured>]) -> Self {
        Self { subject, trials, left_out: &[], failed: &[], spoken: &[], near_limits: &[] }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed<'a> {
    /// When it began by the wall clock, RFC 3339.
    pub started: &'a str,
    pub reason: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spoken<'a> {
    pub rule: &'a str,
    /// Whether by it the numbers are not what they say they are.
    pub invalid: bool,
    pub text: &'a str,
}

/// A part of the machine and the temperature from which on it slows down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearLimit {
    pub name: String,
    /// The most that it had, thousandths of a degree Celsius.
    pub most_mc: i64,
    pub limit_mc: i64,
}

/// Facts of a kind of work: where findings keep them, and how they are shown.
pub trait Shows: OfRow + Sized {
    /// Their key in findings, and what sentences about them are called by.
    const KEY: &'static str;
    const FIGURE: Option<&'static FactsFigure> = None;

    fn exhibit(all: &[&Self], rows: &dyn Rows) -> Exhibit;
}

/// A kind of figure of facts: their exhibits have the figures.
#[derive(Clone, Copy, Debug)]
pub struct FactsFigure {
    /// [`Shows::KEY`] of the facts.
    pub key: &'static str,
    /// What it is called, what it shows, how it is read.
    pub about: About,
    /// Whether it shows what such work is done for, so that it stands before verdicts where a study says nothing.
    pub leads: bool,
}

pub trait OfRow {
    /// Takes the numbers of the row by their metrics, so that there is one wherever it is told.
    fn settle(&mut self, _number: &dyn Fn(&str) -> Option<f64>) {}

    /// What of it rests on the numbers of the row, where it keeps a sentence that does.
    fn resting(&mut self) -> Option<Resting<'_>> {
        None
    }

    /// Why a command that ran it fails, whatever was asked for.
    fn failure(&self) -> Option<String> {
        None
    }
}

pub trait Rows {
    fn name(&self, of: &Subject) -> String;

    fn numbers(&self, of: &Subject) -> Vec<Number<'_>>;
}

#[derive(Clone, Debug, PartialEq)]
pub struct Number<'a> {
    pub metric: &'a str,
    pub n: usize,
    pub mean: Option<f64>,
    pub ci95: Option<[f64; 2]>,
    /// The value of every trial, by its place in the order of time.
    pub trials: Vec<(u32, Option<f64>)>,
}

/// A sentence that rests on numbers: what speaks against them is said behind it.
pub struct Resting<'a> {
    pub text: &'a mut String,
    /// What stands in its place where they are invalid; none where it is said all the same.
    pub unsaid: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
pub struct ShownNumbers {
    /// The metric by which its rows are told from all others: no other kind has it.
    pub known_by: &'static str,
    pub exhibit: fn(&StudyNumbers<'_>) -> Exhibit,
    /// What is drawn of their seconds, where anything is.
    pub figure: Option<&'static OwnFigure>,
}

#[derive(Clone, Debug, Default)]
pub struct StudyNumbers<'a> {
    pub rows: Vec<NumberedRow<'a>>,
    /// Metrics of which anything in the study has a number.
    pub known: BTreeSet<&'a str>,
}

#[derive(Clone, Debug)]
pub struct NumberedRow<'a> {
    pub of: Subject,
    pub numbers: BTreeMap<&'a str, f64>,
    /// What one would type to have what it was run under for keeps.
    pub lasting: &'a [String],
}

/// Lines over the seconds of trials with phases, one line per configuration.
#[derive(Clone, Copy, Debug)]
pub struct OwnFigure {
    /// What it is called, what it shows, how it is read.
    pub about: About,
    /// The metric that only workloads of the kind have.
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
    /// Bits per second are the bits moved; otherwise it shows the mean latency.
    pub metric: &'static str,
    /// In the order in which trials go through them.
    pub phases: &'static [TrialPhase],
}

#[derive(Clone, Copy, Debug)]
pub struct TrialPhase {
    pub name: &'static str,
    /// Whole seconds at its beginning that are not counted.
    pub ramp_s: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct OwnRule {
    pub about: About,
    pub looks_at: Judged,
    /// What it can change: metrics of another nature are not judged by it.
    pub changes: &'static [Nature],
    /// Reasons to doubt the numbers of a row.
    pub doubt: fn(&WorkPlan, &[&Measured]) -> Option<Doubt>,
}

/// What speaks against numbers: `WHAT, in 2 of 3 trials: WHY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    pub what: String,
    pub trials: usize,
    pub why: String,
    /// Whether the numbers are then not what they say they are; else something speaks against them.
    pub invalid: bool,
}

/// Rows of which nothing is known but their workload.
#[cfg(test)]
pub(crate) struct Bare;

#[cfg(test)]
impl Rows for Bare {
    fn name(&self, of: &Subject) -> String {
        of.workload.clone()
    }

    fn numbers(&self, _: &Subject) -> Vec<Number<'_>> {
        Vec::new()
    }
}
