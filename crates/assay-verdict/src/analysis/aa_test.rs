//! Identical arms: how often this bench tells apart what does not differ.

use assay_stats::{Sample, smallest_detectable_shift};
use assay_study::findings::{Cell, CellTrial, Check, Findings, Verdict};
use assay_study::results::design::ALPHA;
use serde::Serialize;

/// Format of the document.
pub const NULL_FORMAT: &str = "assay-null/1";

/// What identical arms showed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Null {
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
    pub workload: String,
    pub metric: String,
    pub arms: usize,
    /// Replicates that every pair has, at least.
    pub n: usize,
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

/// Differences of two arms within their replicates, of the trials that their numbers sum up.
fn differences(first: &Cell, second: &Cell) -> Option<Sample> {
    let others = second.counting();
    let level = |trial: &CellTrial| trial.value.filter(|value| *value > 0.0).map(f64::ln);
    let difference = |trial: &CellTrial| {
        let other = others.iter().find(|other| other.replicate == trial.replicate)?;
        Some(level(other)? - level(trial)?)
    };
    let differences: Vec<f64> = first.counting().into_iter().filter_map(difference).collect();
    Sample::of(&differences)
}

#[cfg(test)]
mod tests {
    use assay_base::quantity::Better;
    use assay_study::findings::measurements::Series;
    use assay_study::results::design::Design;
    use assay_study::results::plan::Arm;
    use assay_study::results::record::{Repeats, Status};

    use super::super::cells::cells;
    use super::*;

    fn trial(replicate: u32, status: Status) -> CellTrial {
        CellTrial::bare(replicate, Some(replicate), Some(100.0), status)
    }

    /// Rows of identical arms, the first one the baseline.
    fn rows(arms: [Vec<CellTrial>; 3]) -> Vec<Cell> {
        let arm = |copy: usize| Arm::from([("copy".to_owned(), copy.to_string())]);
        let design = Design { baseline: arm(0), ..Design::default() };
        let series = arms.into_iter().enumerate().map(|(copy, trials)| Series {
            primary: true,
            trials,
            ..Series::bare("read", arm(copy), "iops", Better::Higher)
        });
        cells(&design, series.collect())
    }

    fn pairs(rows: &[Cell], first: usize, second: usize) -> usize {
        differences(&rows[first], &rows[second]).map_or(0, |sample| sample.n)
    }

    #[test]
    fn pairs_are_of_the_trials_that_the_rows_sum_up() {
        let plain = || (1..=4).map(|at| trial(at, Status::Ok)).collect::<Vec<_>>();
        let quiet = rows([plain(), plain(), plain()]);
        assert_eq!((pairs(&quiet, 0, 1), pairs(&quiet, 1, 2)), (4, 4));
        // The baseline of replicate 3 was disturbed, and all ran once more: each pair has it once.
        let again = |disturbed: bool| {
            let mut trials = plain();
            if disturbed {
                trials[2].status = Status::Disturbed;
            }
            let repeats = Some(Repeats { replicate: 3, order: 3 });
            trials.push(CellTrial { repeats, ..trial(5, Status::Ok) });
            trials
        };
        let repeated = rows([again(true), again(false), again(false)]);
        assert_eq!((pairs(&repeated, 0, 1), pairs(&repeated, 1, 2)), (4, 4));
        // Where too few are left without the disturbed ones, the rows sum them up.
        let loud =
            || vec![trial(1, Status::Ok), trial(2, Status::Disturbed), trial(3, Status::Disturbed)];
        let few = rows([loud(), plain(), plain()]);
        assert_eq!(pairs(&few, 0, 1), 3);
    }
}
