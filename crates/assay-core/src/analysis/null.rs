//! Identical arms: how often this bench tells apart what does not differ.

use assay_stats::{Sample, smallest_detectable_shift};
use serde::Serialize;

use crate::findings::{Cell, CellTrial, Check, Findings, Verdict};
use crate::results::design::ALPHA;
use crate::results::record::Status;

/// Format of the document.
pub const NULL_FORMAT: &str = "assay-null/1";

/// What identical arms showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Null {
    /// Format and version.
    pub format: String,
    /// Id of the result.
    pub id: String,
    /// One entry a workload.
    pub workloads: Vec<NullWorkload>,
    /// Comparisons with the first copy, as a study makes them, that were called better or worse.
    pub false_verdicts: usize,
    /// All of those comparisons.
    pub verdicts: usize,
    /// Drift, carry-over and the like.
    pub checks: Vec<Check>,
}

/// Identical arms of one workload.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NullWorkload {
    /// Workload.
    pub workload: String,
    /// Metric.
    pub metric: String,
    /// Arms.
    pub arms: usize,
    /// Replicates that every pair has, at least.
    pub n: usize,
    /// Pairs of arms.
    pub pairs: usize,
    /// Pairs that a paired t test at 5 % tells apart; as many as 5 % of them are expected.
    pub told_apart: usize,
    /// The ratio of the pair that lies furthest apart, above 1.
    pub largest_ratio: f64,
    /// Spread of the differences within a replicate, as a share.
    pub spread: f64,
    /// The smallest difference that one comparison with as many replicates finds with 80 % power,
    /// as a share.
    pub detects: Option<f64>,
}

/// What the identical arms of a study showed.
pub fn null(findings: &Findings) -> Null {
    let mut names: Vec<&str> = Vec::new();
    for cell in findings.cells.iter().filter(|cell| cell.primary) {
        if !names.contains(&cell.workload.as_str()) {
            names.push(&cell.workload);
        }
    }
    let judged = findings.comparisons.iter().filter(|found| found.primary);
    let told = |verdict: Option<Verdict>| matches!(verdict, Some(Verdict::Better | Verdict::Worse));
    Null {
        format: NULL_FORMAT.to_owned(),
        id: findings.study.id.clone(),
        workloads: names.into_iter().filter_map(|name| of_workload(findings, name)).collect(),
        false_verdicts: judged.clone().filter(|found| told(found.verdict)).count(),
        verdicts: judged.filter(|found| found.verdict.is_some()).count(),
        checks: findings.checks.clone(),
    }
}

fn of_workload(findings: &Findings, workload: &str) -> Option<NullWorkload> {
    let cells: Vec<&Cell> =
        findings.cells.iter().filter(|cell| cell.primary && cell.workload == workload).collect();
    let mut samples = Vec::new();
    for (index, first) in cells.iter().enumerate() {
        samples.extend(cells[index + 1..].iter().filter_map(|second| differences(first, second)));
    }
    let squares: Vec<f64> =
        samples.iter().filter_map(|sample| sample.sd).map(|sd| sd * sd).collect();
    let sd = (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt();
    let n = samples.iter().map(|sample| sample.n).min()?;
    let apart = |sample: &&Sample| sample.p_value(0.0).is_some_and(|p| p < ALPHA);
    Some(NullWorkload {
        workload: workload.to_owned(),
        metric: cells.first()?.metric.clone(),
        arms: cells.len(),
        n,
        pairs: samples.len(),
        told_apart: samples.iter().filter(apart).count(),
        largest_ratio: samples.iter().map(|sample| sample.mean.abs()).fold(0.0, f64::max).exp(),
        spread: sd.exp_m1(),
        detects: smallest_detectable_shift(n, ALPHA, 0.8).map(|shift| (shift * sd).exp_m1()),
    })
}

/// Trials that count and were not disturbed.
fn undisturbed(cell: &Cell) -> impl Iterator<Item = &CellTrial> {
    cell.trials.iter().filter(|trial| trial.status == Status::Ok)
}

/// Differences of two arms within their replicates.
fn differences(first: &Cell, second: &Cell) -> Option<Sample> {
    let level = |cell: &Cell, replicate: u32| {
        let own = undisturbed(cell).find(|trial| trial.replicate == replicate)?;
        own.value.filter(|value| *value > 0.0).map(f64::ln)
    };
    let replicates = undisturbed(first).map(|trial| trial.replicate);
    let differences: Vec<f64> = replicates
        .filter_map(|replicate| Some(level(second, replicate)? - level(first, replicate)?))
        .collect();
    Sample::of(&differences)
}
