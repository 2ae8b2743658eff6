//! Input of a page: the findings, and the records for its figures.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use assay_analysis::inference;
use assay_machine::probes::block_latency::counts::{self, ClassSpan};
use assay_study::findings::{Findings, Measurement};
use assay_study::results::plan::{Arm, Plan, PlannedWorkload};
use assay_study::results::record::{Repeats, Status, Trial};
use assay_study::results::{environment::Environment, fleet::Share};
use assay_study::results::{series::SeriesRow, tally::Tally};
use assay_workloads::{command, sustained};

/// Findings with the records behind them. Imported numbers have no records.
#[derive(Clone, Debug, Default)]
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
    /// `read`, `write`, `rewrite`, `trim`, `zero` or `fdatasync`; with the suffix `-response` for response times.
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
    /// Evidence of compared results. Only windows of production work keep their latencies, named by their result.
    pub fn compared(findings: Findings, results: &[Self]) -> Self {
        let mut latencies = Vec::new();
        if findings.are_windows() {
            let windows: Vec<&Findings> = results.iter().map(|result| &result.findings).collect();
            for (result, name) in results.iter().zip(inference::names(&windows)) {
                for row in &result.latencies {
                    let mut row = row.clone();
                    row.arm.insert(inference::RESULT.to_owned(), name.clone());
                    latencies.push(row);
                }
            }
        }
        Self { latencies, ..Self::bare(findings) }
    }

    /// The trials of a workload under an arm, without the A/A control.
    pub fn of_arm(&self, workload: &str, arm: &Arm) -> impl Iterator<Item = &TrialEvidence> {
        let is_of_arm = move |trial: &&TrialEvidence| {
            !trial.control && *trial.workload == workload && *trial.arm == *arm
        };
        self.trials.iter().filter(is_of_arm)
    }

    /// The trials behind the mean of a cell.
    pub fn counting(&self, cell: &Measurement) -> impl Iterator<Item = &TrialEvidence> {
        let replicates: BTreeSet<_> = cell.counting().into_iter().map(|it| it.replicate).collect();
        let trials = self.of_arm(&cell.workload, &cell.configuration);
        trials.filter(move |trial| trial.status.counts() && replicates.contains(&trial.replicate))
    }

    pub fn bare(findings: Findings) -> Self {
        Self { findings, ..Self::default() }
    }
}

/// Trials of one workload of a plan in the order they ran, each with its series.
pub fn trial_evidence(
    planned: &PlannedWorkload,
    trials: &[&Trial],
    series: Vec<Vec<SeriesRow>>,
) -> Vec<TrialEvidence> {
    let workload = Arc::new(planned.name.clone());
    // Trials of the same arm (configuration) share one copy of its settings.
    let mut arms: Vec<Arc<Arm>> = Vec::new();
    let evidence = trials.iter().zip(series).map(|(trial, series)| {
        let known_arm = arms.iter().find(|arm| ***arm == trial.arm).map(Arc::clone);
        let arm = known_arm.unwrap_or_else(|| {
            arms.push(Arc::new(trial.arm.clone()));
            Arc::clone(&arms[arms.len() - 1])
        });
        let command = trial.measured.as_ref().and_then(command::CommandDetail::of);
        let host = |share: &Share| HostRate { rank: share.rank, per_s: share.operations_per_s };
        // A long sequential write has no series: its bytes per second are in its own details.
        let written = if series.is_empty() { written_seconds(trial) } else { Vec::new() };
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
            runs_ns: command.map_or_else(Vec::new, |detail| detail.alone_ns().collect()),
            hosts: trial.together.iter().flat_map(|share| &share.hosts).map(host).collect(),
        }
    });
    evidence.collect()
}

/// A series from the bytes that a long write stored for each second; empty for other work.
fn written_seconds(trial: &Trial) -> Vec<SeriesRow> {
    let detail = trial.measured.as_ref().and_then(sustained::SustainedDetail::of);
    let seconds = detail.map(sustained::SustainedDetail::bytes_by_second).unwrap_or_default();
    let row = |(second, bytes): (u32, u64)| SeriesRow {
        second,
        class: "write".to_owned(),
        // The stored bytes have no count of operations: count one per MiB.
        operations: bytes >> 20,
        bytes,
        latency_sum_ns: 0,
        latency_max_ns: 0,
        latency_buckets: Vec::new(),
    };
    (0..).zip(seconds).map(row).collect()
}

/// Adds up the latencies of the counted trials by class: those that Assay measured, and those of the devices' requests.
pub fn latencies(plan: &Plan, environment: &Environment, trials: &[&Trial]) -> Vec<RowLatencies> {
    let mut rows: Vec<RowLatencies> = Vec::new();
    for trial in inference::counting(trials).into_iter().map(|index| trials[index]) {
        let workload = &plan.workloads[trial.workload];
        for (class, histogram) in &trial.latency_ns {
            let row = row_of(&mut rows, workload, trial, &workload.name, class);
            // Histograms with different buckets cannot be added: such a trial is left out.
            row.trials += usize::from(row.nanoseconds.add(histogram).is_ok());
        }
        for span in inference::classes(plan, environment, trial) {
            let row = row_of(&mut rows, workload, trial, &span.workload, span.class);
            add_requests(&span.span, &mut row.nanoseconds);
            row.trials += 1;
        }
    }
    rows.retain(|row| row.trials > 0);
    rows
}

/// Adds requests to a histogram, all of a bucket at its middle.
fn add_requests(span: &ClassSpan, to: &mut Tally) {
    for [index, count] in &span.queued.buckets {
        let middle = counts::bucket_from_ns(*index).midpoint(counts::bucket_to_ns(*index));
        // The last bucket is far below the limit of a histogram.
        to.record(middle.max(1), *count);
    }
}

/// The row of a workload and class, which is added if missing. All `rows` are of the arm of `record`.
fn row_of<'a>(
    rows: &'a mut Vec<RowLatencies>,
    planned: &PlannedWorkload,
    record: &Trial,
    workload: &str,
    class: &str,
) -> &'a mut RowLatencies {
    let is_its = |row: &RowLatencies| row.class == class && row.workload == workload;
    let index = rows.iter().position(is_its).unwrap_or_else(|| {
        rows.push(RowLatencies {
            workload: workload.to_owned(),
            arm: record.arm.clone(),
            control: planned.control,
            class: class.to_owned(),
            trials: 0,
            nanoseconds: Tally::default(),
        });
        rows.len() - 1
    });
    &mut rows[index]
}
