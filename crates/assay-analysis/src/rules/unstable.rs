//! `unstable`: the trials of a row vary too much for their mean.

use assay_core::{catalogue::About, quantity::units::show, stats::geometric_mean};
use assay_study::results::record::{Status, Trial};
use assay_workloads::Basis;

use super::{Case, Rule, RuleCheck, RuleRemark};

/// Up to this number of trials the rule uses their range, beyond it the CI of their mean.
const FEW: usize = 4;
/// Largest ratio of the largest to the smallest of a few trials.
const MOST_RATIO: f64 = 3.0;
/// Largest half-width of the 95% CI of the geometric mean of more trials.
const MOST_HALF_WIDTH: f64 = 0.4;

pub static RULE: Rule = Rule {
    about: About {
        name: "unstable",
        summary: "the undisturbed trials differ too much for a useful mean",
        text: "Judges IOPS and, for live workloads (`production`), the mean latency of each class. With up to four \
               undisturbed trials, the rule triggers if the largest value is at least 3 times the smallest; with five \
               or more, if the 95% CI of the geometric mean is wider than ±40%. In 50 quick checks of an idle virtual \
               drive (350 rows), six sequential-read rows had a trial that was 1.8 to 2.7 times as fast as another, so \
               the limits tolerate such variation; the reported spread shows the variation. The rule judges precision, \
               not correctness. The number is suspect: run more replicates or stop other load (rule R4c of the \
               method).",
    },
    looks_at: Basis::Operations,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let undisturbed = case.trials.iter().filter(|trial| trial.status == Status::Ok);
    let rates: Vec<f64> = undisturbed.filter_map(|trial| rate(trial)).collect();
    let count = rates.len();
    Some(RuleRemark::suspect(match spread(&rates)? {
        TrialSpread::Few { ratio } => {
            let times = show::three_digits(ratio);
            format!("the fastest of {count} trials is {times} times the slowest")
        }
        TrialSpread::Wide { ends, half_width } => {
            let ([least, most], within) =
                (ends.map(show::per_second), show::percent(100.0 * half_width));
            format!(
                "{count} trials lie between {least} and {most} IOPS: the mean is known only to within {within}"
            )
        }
    }))
}

enum TrialSpread {
    Few { ratio: f64 },
    Wide { ends: [f64; 2], half_width: f64 },
}

/// The spread of a row's undisturbed values; `None` if it is small enough.
fn spread(values: &[f64]) -> Option<TrialSpread> {
    if values.len() < 2 {
        return None;
    }
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    if values.len() <= FEW {
        let ratio = most / least;
        return (ratio >= MOST_RATIO).then_some(TrialSpread::Few { ratio });
    }
    let mean = geometric_mean(values)?;
    let half_width = mean.ci95?[1] / mean.mean - 1.0;
    (half_width > MOST_HALF_WIDTH).then_some(TrialSpread::Wide { ends: [least, most], half_width })
}

/// A remark on scattered mean latencies in ns, one per trial. For live work, whose load is not controlled.
pub fn latency_remark(values: &[f64]) -> Option<RuleRemark> {
    let count = values.len();
    Some(RuleRemark::suspect(match spread(values)? {
        TrialSpread::Few { ratio } => {
            let times = show::three_digits(ratio);
            format!("the longest mean latency of {count} trials is {times} times the shortest")
        }
        TrialSpread::Wide { ends, half_width } => {
            let ([least, most], within) =
                (ends.map(show::duration), show::percent(100.0 * half_width));
            format!(
                "the mean latencies of {count} trials range from {least} to {most}: the mean is known only to within \
                 {within}"
            )
        }
    }))
}

fn rate(trial: &Trial) -> Option<f64> {
    let counted = trial.measured.as_ref().filter(|one| one.window_ns > 0)?;
    let operations = counted.operations();
    (operations > 0).then(|| operations as f64 / (counted.window_ns as f64 / 1e9))
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Trust;

    use super::super::testing::{Bench, counted};
    use super::*;

    /// One trial for each of these operations in 800 ms.
    fn bench(operations: &[u64]) -> Bench {
        let mut bench = Bench::read();
        let one = bench.trials[0].clone();
        bench.trials = vec![one; operations.len()];
        for (trial, operations) in bench.trials.iter_mut().zip(operations) {
            counted(trial).classes.get_mut("read").unwrap().operations = *operations;
        }
        bench
    }

    #[test]
    fn a_few_trials_are_judged_by_their_range() {
        let remark = bench(&[800, 2400, 900]).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(remark.text, "the fastest of 3 trials is 3 times the slowest");
        assert_eq!(bench(&[800, 2399, 900]).judge(&RULE), None);
        assert_eq!(bench(&[800]).judge(&RULE), None);
        assert_eq!(bench(&[800, 2400]).judge(&RULE).unwrap().trust, Trust::Suspect);
    }

    #[test]
    fn more_of_them_are_judged_by_the_interval_of_their_mean() {
        let wide = bench(&[400, 1200, 500, 1100, 800]).judge(&RULE).unwrap();
        assert_eq!(
            wide.text,
            "5 trials lie between 500 and 1,500 IOPS: the mean is known only to within 82%"
        );
        // Twice as fast in one of ten trials: an outlier, and the mean is precise enough.
        let once = bench(&[800, 800, 810, 790, 1600, 800, 805, 795, 800, 800]);
        assert_eq!(once.judge(&RULE), None);
    }

    #[test]
    fn latencies_are_judged_the_same_way() {
        let few = latency_remark(&[1e6, 3e6, 1.1e6]).unwrap();
        assert_eq!(few.text, "the longest mean latency of 3 trials is 3 times the shortest");
        assert_eq!(latency_remark(&[1e6, 2.9e6, 1.1e6]), None);
        let wide = latency_remark(&[4e5, 12e5, 5e5, 11e5, 8e5]).unwrap();
        let text = "the mean latencies of 5 trials range from 400 us to 1.2 ms: the mean is known";
        assert!(wide.text.starts_with(text), "{}", wide.text);
        assert_eq!(latency_remark(&[8e5, 8.1e5, 7.9e5, 8e5, 8e5]), None);
    }

    #[test]
    fn disturbed_trials_are_no_spread() {
        let mut bench = bench(&[800, 2400, 810]);
        bench.trials[1].status = Status::Disturbed;
        assert_eq!(bench.judge(&RULE), None);
    }
}
