//! Input of a page: the findings, and the records for its figures.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use assay_analysis::inference;
use assay_machine::probes::block_latency::counts::{self, ClassSpan};
use assay_study::findings::{Findings, Measurement};
use assay_study::results::environment::Environment;
use assay_study::results::fleet::Share;
use assay_study::results::plan::{Arm, Plan, PlannedWorkload};
use assay_study::results::record::Repeats;
use assay_study::results::record::{Status, Trial};
use assay_study::results::series::SeriesRow;
use assay_study::results::tally::Tally;
use assay_workloads::{command, sustained};

/// Findings with the records behind them. Imported numbers have no records.
#[derive(Clone, Debug)]
pub struct Evidence {
    pub findings: Findings,
    /// Every trial in time order, including warm-ups.
    pub trials: Vec<TrialEvidence>,
    /// Latencies of the trials that count, summed by workload, arm and class.
    pub latencies: Vec<RowLatencies>,
    pub commands: Vec<Commands>,
    /// Text files of the bundle by name: the inputs of the study.
    pub files: Vec<(String, String)>,
    /// The imported table, which already has every trial.
    pub table: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TrialEvidence {
    /// Position in the plan, from 1; repeats continue the count.
    pub order: u32,
    /// Replicate from 1; 0 for a warm-up.
    pub replicate: u32,
    pub workload: Arc<String>,
    pub arm: Arc<Arm>,
    pub control: bool,
    pub status: Status,
    pub reason: Option<String>,
    pub repeats: Option<Repeats>,
    /// When it started, RFC 3339.
    pub started: String,
    /// Nanoseconds of the ramp, which is in the series but not in the numbers.
    pub ramp_ns: u64,
    /// Whether the numbers include the ramp: a long write counts from its first byte.
    pub ramp_counts: bool,
    /// Events of each second, including the ramp; empty if not stored.
    pub series: Vec<SeriesRow>,
    /// Stored times of a command's runs in nanoseconds, without the shell's start.
    pub runs_ns: Vec<f64>,
    /// The work of each host, if several ran it together.
    pub hosts: Vec<HostRate>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostRate {
    pub rank: u32,
    /// Operations per second in the window common to all hosts.
    pub per_s: f64,
}

/// Service or response times of one class of operations, for one workload and arm.
#[derive(Clone, Debug)]
pub struct RowLatencies {
    pub workload: String,
    pub arm: Arm,
    pub control: bool,
    /// `read`, `write`, `rewrite`, `trim` or `zero`, with the suffix `-response` for response times; `fdatasync` for
    /// syncs after writes, without the writes.
    pub class: String,
    pub trials: usize,
    pub nanoseconds: Tally,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commands {
    pub workload: String,
    pub arm: Arm,
    pub words: String,
    /// Shell commands, in order.
    pub lines: Vec<String>,
    pub remarks: Vec<String>,
}

impl Evidence {
    /// Evidence of compared results; windows of production work appear side by side.
    pub fn compared(findings: Findings, results: &[Self]) -> Self {
        let found: Vec<&Findings> = results.iter().map(|one| &one.findings).collect();
        let of = |(one, name): (&Self, String)| {
            let own = one.latencies.iter().filter(|_| findings.are_windows());
            let named = move |own: &RowLatencies| {
                let mut own = own.clone();
                own.arm.insert(inference::RESULT.to_owned(), name.clone());
                own
            };
            own.map(named).collect::<Vec<_>>()
        };
        let latencies = results.iter().zip(inference::names(&found)).flat_map(of).collect();
        Self { latencies, ..Self::bare(findings) }
    }

    /// The trials of a workload under an arm, without the A/A control.
    pub fn of_arm(&self, workload: &str, arm: &Arm) -> impl Iterator<Item = &TrialEvidence> {
        let own = move |trial: &&TrialEvidence| {
            !trial.control && *trial.workload == workload && *trial.arm == *arm
        };
        self.trials.iter().filter(own)
    }

    pub fn counting(&self, cell: &Measurement) -> impl Iterator<Item = &TrialEvidence> {
        let counting = cell.counting().into_iter().map(|trial| trial.replicate);
        let counting: BTreeSet<u32> = counting.collect();
        let own = self.of_arm(&cell.workload, &cell.configuration);
        own.filter(move |trial| trial.status.counts() && counting.contains(&trial.replicate))
    }

    pub fn bare(findings: Findings) -> Self {
        Self {
            findings,
            trials: Vec::new(),
            latencies: Vec::new(),
            commands: Vec::new(),
            files: Vec::new(),
            table: None,
        }
    }
}

/// Trials of one workload of a plan in the order they ran, each with its series.
pub fn ran(
    planned: &PlannedWorkload,
    trials: &[&Trial],
    series: Vec<Vec<SeriesRow>>,
) -> Vec<TrialEvidence> {
    let workload = Arc::new(planned.name.clone());
    let mut arms: Vec<Arc<Arm>> = Vec::new();
    let ran = trials.iter().zip(series).map(|(trial, series)| {
        // It usually exists, but a record may contain anything.
        let known = arms.iter().find(|arm| ***arm == trial.arm).map(Arc::clone);
        let arm = known.unwrap_or_else(|| {
            arms.push(Arc::new(trial.arm.clone()));
            Arc::clone(&arms[arms.len() - 1])
        });
        let runs = trial.measured.as_ref().and_then(command::CommandDetail::of);
        let host = |own: &Share| HostRate { rank: own.rank, per_s: own.operations_per_s };
        let written = if series.is_empty() { written(trial) } else { Vec::new() };
        TrialEvidence {
            order: trial.order,
            replicate: trial.replicate,
            workload: Arc::clone(&workload),
            arm,
            control: planned.control,
            status: trial.status,
            reason: trial.reason.clone(),
            repeats: trial.repeats,
            started: trial.started.clone(),
            ramp_ns: planned.ramp_ns,
            ramp_counts: !written.is_empty(),
            series: if written.is_empty() { series } else { written },
            runs_ns: runs.map_or_else(Vec::new, |detail| detail.alone_ns().collect()),
            hosts: trial.together.iter().flat_map(|own| &own.hosts).map(host).collect(),
        }
    });
    ran.collect()
}

fn written(trial: &Trial) -> Vec<SeriesRow> {
    let detail = trial.measured.as_ref().and_then(sustained::SustainedDetail::of);
    let seconds = detail.map(sustained::SustainedDetail::bytes_by_second).unwrap_or_default();
    let row = |(second, bytes): (u32, u64)| SeriesRow {
        second,
        class: "write".to_owned(),
        // One operation per MiB.
        operations: bytes >> 20,
        bytes,
        latency_sum_ns: 0,
        latency_max_ns: 0,
        latency_buckets: Vec::new(),
    };
    (0..).zip(seconds).map(row).collect()
}

/// Latencies of the trials behind a workload's numbers, by class: the tool's service times, and those of the devices'
/// requests.
pub fn latencies(plan: &Plan, environment: &Environment, trials: &[&Trial]) -> Vec<RowLatencies> {
    let mut found: Vec<RowLatencies> = Vec::new();
    for trial in inference::counting(trials).into_iter().map(|at| trials[at]) {
        let workload = &plan.workloads[trial.workload];
        for (class, own) in &trial.latency_ns {
            let sum = place(&mut found, workload, trial, &workload.name, class);
            // Histograms of one bundle have the same settings; a different one is left out.
            sum.trials += usize::from(sum.nanoseconds.add(own).is_ok());
        }
        for one in inference::classes(plan, environment, trial) {
            let sum = place(&mut found, workload, trial, &one.workload, one.class);
            add(&one.span, &mut sum.nanoseconds);
            sum.trials += 1;
        }
    }
    found.retain(|sum| sum.trials > 0);
    found
}

fn add(span: &ClassSpan, to: &mut Tally) {
    for [index, count] in &span.queued.buckets {
        let middle = counts::bucket_from_ns(*index).midpoint(counts::bucket_to_ns(*index));
        // The last bucket is far below the limit of a histogram.
        to.record(middle.max(1), *count);
    }
}

fn place<'a>(
    found: &'a mut Vec<RowLatencies>,
    planned: &PlannedWorkload,
    record: &Trial,
    workload: &str,
    class: &str,
) -> &'a mut RowLatencies {
    let known = |sum: &RowLatencies| sum.class == class && sum.workload == workload;
    let at = found.iter().position(known).unwrap_or_else(|| {
        found.push(RowLatencies {
            workload: workload.to_owned(),
            arm: record.arm.clone(),
            control: planned.control,
            class: class.to_owned(),
            trials: 0,
            nanoseconds: Tally::default(),
        });
        found.len() - 1
    });
    &mut found[at]
}
