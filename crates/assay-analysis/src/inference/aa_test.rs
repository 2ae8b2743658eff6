//! The A/A test: how often identical configurations differ significantly on this machine.

use assay_core::stats::{Sample, smallest_detectable_shift};
use assay_study::findings::{Check, Findings, Measurement, TrialValue, Verdict};
use assay_study::results::design::ALPHA;
use serde::Serialize;

use super::{across::log_value, days::POWER, distinct};

pub const AA_TEST_FORMAT: &str = "assay-aa-test/1";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AaTest {
    pub format: String,
    pub id: String,
    pub workloads: Vec<AaWorkload>,
    /// Comparisons with the first copy that would have been called better or worse.
    pub false_verdicts: usize,
    pub verdicts: usize,
    pub checks: Vec<Check>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AaWorkload {
    pub workload: String,
    pub metric: String,
    pub copies: usize,
    /// Complete replicates, the minimum over all pairs.
    pub n: usize,
    pub pairs: usize,
    /// Pairs with a significant difference in a paired t test at 5%. About 5% of all pairs are expected.
    pub false_positives: usize,
    /// The largest ratio between two copies, above 1.
    pub largest_ratio: f64,
    /// Standard deviation of the within-replicate differences, as a fraction.
    pub sd: f64,
    /// Minimum detectable difference of one comparison with `n` replicates (80% power), as a fraction.
    pub min_detectable: Option<f64>,
}

/// Counts the significant differences between copies of the same configuration: each is a false positive.
pub fn aa_test(findings: &Findings) -> AaTest {
    let cells = findings.measurements.iter().filter(|cell| cell.primary);
    let workloads = distinct(cells.map(|cell| cell.workload.as_str()));
    let compared = findings.comparisons.iter().filter(|found| found.primary);
    let differs =
        |verdict: Option<Verdict>| matches!(verdict, Some(Verdict::Better | Verdict::Worse));
    AaTest {
        format: AA_TEST_FORMAT.to_owned(),
        id: findings.study.id.clone(),
        workloads: workloads.into_iter().filter_map(|name| summarize(findings, name)).collect(),
        false_verdicts: compared.clone().filter(|found| differs(found.verdict)).count(),
        verdicts: compared.filter(|found| found.verdict.is_some()).count(),
        checks: findings.checks.clone(),
    }
}

/// Summarizes all pairs of identical configurations; `None` if no pair has a common replicate.
fn summarize(findings: &Findings, workload: &str) -> Option<AaWorkload> {
    let cells: Vec<&Measurement> = findings
        .measurements
        .iter()
        .filter(|cell| cell.primary && cell.workload == workload)
        .collect();
    let mut samples = Vec::new();
    for (index, first) in cells.iter().enumerate() {
        samples.extend(cells[index + 1..].iter().filter_map(|second| log_ratios(first, second)));
    }
    let variances: Vec<f64> = samples.iter().filter_map(|one| one.sd.map(|sd| sd * sd)).collect();
    // Pooled over the pairs, in logarithms.
    let sd = (variances.iter().sum::<f64>() / variances.len().max(1) as f64).sqrt();
    let n = samples.iter().map(|sample| sample.n).min()?;
    let is_significant = |sample: &&Sample| sample.p_value(0.0).is_some_and(|p| p < ALPHA);
    Some(AaWorkload {
        workload: workload.to_owned(),
        metric: cells.first()?.metric.clone(),
        copies: cells.len(),
        n,
        pairs: samples.len(),
        false_positives: samples.iter().filter(is_significant).count(),
        largest_ratio: samples.iter().map(|sample| sample.mean.abs()).fold(0.0, f64::max).exp(),
        sd: sd.exp_m1(),
        min_detectable: smallest_detectable_shift(n, ALPHA, POWER)
            .map(|shift| (shift * sd).exp_m1()),
    })
}

/// Logarithms of the second over the first in each replicate that both have; `None` if they share none.
fn log_ratios(first: &Measurement, second: &Measurement) -> Option<Sample> {
    let others = second.counting();
    let difference = |trial: &TrialValue| {
        let other = others.iter().find(|other| other.replicate == trial.replicate)?;
        Some(log_value(other)? - log_value(trial)?)
    };
    let differences: Vec<f64> = first.counting().into_iter().filter_map(difference).collect();
    Sample::of(&differences)
}

#[cfg(test)]
mod tests {
    use assay_core::quantity::Better;
    use assay_study::findings::measurements::Series;
    use assay_study::results::design::Design;
    use assay_study::results::plan::Arm;
    use assay_study::results::record::{Repeats, Status};

    use super::super::cells::cells;
    use super::*;

    fn trial(replicate: u32, status: Status) -> TrialValue {
        TrialValue::bare(replicate, Some(replicate), Some(100.0), status)
    }

    fn rows(arms: [Vec<TrialValue>; 3]) -> Vec<Measurement> {
        let arm = |copy: usize| Arm::from([("aa_copy".to_owned(), copy.to_string())]);
        let design = Design { baseline: arm(0), ..Design::default() };
        let series = arms.into_iter().enumerate().map(|(copy, trials)| Series {
            primary: true,
            trials,
            ..Series::bare("read", arm(copy), "iops", Better::Higher)
        });
        cells(&design, series.collect())
    }

    fn pairs(rows: &[Measurement], first: usize, second: usize) -> usize {
        log_ratios(&rows[first], &rows[second]).map_or(0, |sample| sample.n)
    }

    #[test]
    fn pairs_are_of_the_trials_that_the_rows_sum_up() {
        let plain = || (1..=4).map(|at| trial(at, Status::Ok)).collect::<Vec<_>>();
        let quiet = rows([plain(), plain(), plain()]);
        assert_eq!((pairs(&quiet, 0, 1), pairs(&quiet, 1, 2)), (4, 4));
        // Something disturbed the baseline of replicate 3, and all arms ran again: each pair counts once.
        let again = |disturbed: bool| {
            let mut trials = plain();
            if disturbed {
                trials[2].status = Status::Disturbed;
            }
            let repeats = Some(Repeats { replicate: 3, order: 3 });
            trials.push(TrialValue { repeats, ..trial(5, Status::Ok) });
            trials
        };
        let repeated = rows([again(true), again(false), again(false)]);
        assert_eq!((pairs(&repeated, 0, 1), pairs(&repeated, 1, 2)), (4, 4));
        // With too few undisturbed trials, rows summarize the disturbed ones too.
        let loud =
            || vec![trial(1, Status::Ok), trial(2, Status::Disturbed), trial(3, Status::Disturbed)];
        let few = rows([loud(), plain(), plain()]);
        assert_eq!(pairs(&few, 0, 1), 3);
    }
}
