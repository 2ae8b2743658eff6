//! What a page is made of: the findings, and the records behind them that figures are drawn from.

use hdrhistogram::Histogram;

use crate::analysis;
use crate::results::block::{self, ClassSpan};
use crate::results::environment::Environment;
use crate::results::findings::{Findings, Repeats};
use crate::results::histogram;
use crate::results::plan::{Arm, Plan, PlannedWorkload};
use crate::results::record::{Status, Trial, TrialRecord};
use crate::results::series::SeriesRow;

/// Findings with the records behind them. Numbers that were brought along have no records.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// What was found.
    pub findings: Findings,
    /// Every trial in order of time, the lead-in included.
    pub trials: Vec<RanTrial>,
    /// Latencies of the trials that count, added up by workload, arm and class.
    pub latencies: Vec<Latencies>,
    /// The same work by hand, as command lines.
    pub commands: Vec<Commands>,
    /// Files of the bundle as text, by name: what it was done with.
    pub files: Vec<(String, String)>,
}

/// One trial as it ran.
#[derive(Clone, Debug, PartialEq)]
pub struct RanTrial {
    /// Position in the plan, from 1; repeats go on counting.
    pub order: u32,
    /// Replicate from 1; 0 for the lead-in.
    pub replicate: u32,
    /// Workload.
    pub workload: String,
    /// Arm.
    pub arm: Arm,
    /// The second copy of the baseline.
    pub control: bool,
    /// How it ended.
    pub status: Status,
    /// Why, unless ok.
    pub reason: Option<String>,
    /// The trial that it repeats.
    pub repeats: Option<Repeats>,
    /// When it started, RFC 3339.
    pub started: String,
    /// Nanoseconds of the ramp, which its series begins with and its numbers leave out.
    pub ramp_ns: u64,
    /// What happened in each second, ramp included; empty where that was not kept.
    pub series: Vec<SeriesRow>,
}

/// Service times of one class of operations of one workload under one arm.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Workload.
    pub workload: String,
    /// Arm.
    pub arm: Arm,
    /// The second copy of the baseline.
    pub control: bool,
    /// `read`, `write` or `rewrite`.
    pub class: String,
    /// Trials that were added up.
    pub trials: usize,
    /// Nanoseconds.
    pub nanoseconds: Histogram<u64>,
}

/// What one types to do the work of one workload under one arm by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    /// Workload.
    pub workload: String,
    /// Arm.
    pub arm: Arm,
    /// What it does, in words.
    pub words: String,
    /// Lines for a shell, in order.
    pub lines: Vec<String>,
    /// What the lines do not say.
    pub remarks: Vec<String>,
}

impl Evidence {
    /// Findings of numbers that no trial of ours stands behind.
    pub fn bare(findings: Findings) -> Self {
        Self {
            findings,
            trials: Vec::new(),
            latencies: Vec::new(),
            commands: Vec::new(),
            files: Vec::new(),
        }
    }
}

/// The trials of a plan as they ran, each with its series.
pub fn ran(plan: &Plan, trials: &[Trial], series: Vec<Vec<SeriesRow>>) -> Vec<RanTrial> {
    let ran = trials.iter().zip(series).map(|(trial, series)| {
        let (record, workload) = (&trial.record, &plan.workloads[trial.record.workload]);
        RanTrial {
            order: record.order,
            replicate: record.replicate,
            workload: workload.name.clone(),
            arm: record.arm.clone(),
            control: workload.control,
            status: record.status,
            reason: record.reason.clone(),
            repeats: record.repeats,
            started: record.started.clone(),
            ramp_ns: workload.ramp_ns,
            series,
        }
    });
    ran.collect()
}

/// Latencies of the trials that count, by workload of the plan and class, in their order: service
/// times as the tool counted them, then those of the requests of devices.
pub fn latencies(plan: &Plan, environment: &Environment, trials: &[Trial]) -> Vec<Latencies> {
    let mut found: Vec<(usize, Latencies)> = Vec::new();
    for trial in trials.iter().filter(|trial| counts(trial, trials)) {
        let record = &trial.record;
        let workload = &plan.workloads[record.workload];
        for (class, own) in &trial.latency_ns {
            if let Some(sum) = place(&mut found, workload, record, (&workload.name, class)) {
                // Histograms of one bundle have the same settings; one that has not stays out.
                sum.trials += usize::from(own.add_to(&mut sum.nanoseconds).is_ok());
            }
        }
        for one in analysis::classes(plan, environment, record) {
            if let Some(sum) = place(&mut found, workload, record, (&one.workload, one.class)) {
                add(&one.span, &mut sum.nanoseconds);
                sum.trials += 1;
            }
        }
    }
    found.retain(|(_, sum)| sum.trials > 0);
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, latencies)| latencies).collect()
}

/// Requests in a histogram, each in the middle of its bucket.
fn add(span: &ClassSpan, to: &mut Histogram<u64>) {
    for [index, count] in &span.queued.buckets {
        let middle = block::bucket_from_ns(*index).midpoint(block::bucket_to_ns(*index));
        // The last bucket is far below what a histogram holds.
        let _ = to.record_n(middle.max(1), *count);
    }
}

/// Where latencies of a class are added up.
fn place<'a>(
    found: &'a mut Vec<(usize, Latencies)>,
    planned: &PlannedWorkload,
    record: &TrialRecord,
    (workload, class): (&str, &str),
) -> Option<&'a mut Latencies> {
    let index = record.workload;
    let known = |(other, sum): &(usize, Latencies)| {
        *other == index && sum.class == class && sum.workload == workload
    };
    let at = if let Some(at) = found.iter().position(known) {
        at
    } else {
        let new = Latencies {
            workload: workload.to_owned(),
            arm: record.arm.clone(),
            control: planned.control,
            class: class.to_owned(),
            trials: 0,
            nanoseconds: histogram::empty().ok()?,
        };
        found.push((index, new));
        found.len() - 1
    };
    found.get_mut(at).map(|(_, sum)| sum)
}

/// Whether a trial counts: one that was run again makes room for its repeat, as in the cells.
fn counts(trial: &Trial, trials: &[Trial]) -> bool {
    let record = &trial.record;
    let repeated = |other: &Trial| {
        other.record.workload == record.workload
            && other.record.status == Status::Ok
            && other.record.repeats.is_some_and(|first| first.order == record.order)
    };
    match record.status {
        Status::Ok => true,
        Status::Disturbed => !trials.iter().any(repeated),
        Status::Failed | Status::LeadIn => false,
    }
}
