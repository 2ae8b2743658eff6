//! `stalled`: no operation completed for a while.

use assay_core::{catalogue::About, quantity::units::show};
use assay_study::results::record::Trial;
use assay_workloads::{Basis, Measured, io};

use super::evidence::{in_trials, seconds};
use super::{Case, Rule, RuleCheck, RuleRemark};

const LONGEST_SHARE: f64 = 0.2;
/// A stall is this many times the mean latency: a slow drive is not stalled.
const OUT_OF_LINE: f64 = 10.0;

pub static RULE: Rule = Rule {
    about: About {
        name: "stalled",
        summary: "one operation took more than a fifth of the trial, or none completed for a second",
        text: "A closed-loop workload always has operations in flight. If no operation completes for a second, or one \
               takes more than 20% of the measured time, the target hung (frozen, recovering or in garbage \
               collection). The stall must also be ten times the mean latency, because a slow drive is not stalled. \
               The number is suspect because it describes the stall, not the drive's speed. The limit of 20% is four \
               times the usual margin. Open-loop workloads and workloads with pauses can be idle for seconds, so for \
               these workloads, Assay checks only the time of each operation. Histograms and figures show when the \
               stall occurred.",
    },
    looks_at: Basis::Operations,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let stalls: Vec<u64> = case.trials.iter().filter_map(|trial| stall_ns(case, trial)).collect();
    let longest = stalls.iter().max()?;
    let up_to = if stalls.len() > 1 { "up to " } else { "" };
    Some(RuleRemark::suspect(format!(
        "no operation completed for {up_to}{}{}: the mean describes the stall",
        show::duration(*longest as f64),
        in_trials(stalls.len(), case)
    )))
}

fn stall_ns(case: &Case<'_>, trial: &Trial) -> Option<u64> {
    let measured = trial.measured.as_ref()?;
    let counted = io::IoDetail::of(measured)?;
    let longest = counted.longest_ns?;
    let usual = usual_ns(case, measured)?;
    let is_long = longest as f64 > LONGEST_SHARE * measured.window_ns as f64;
    // Whole seconds without a completion. With a rate limit or pauses, there may be no operation to complete.
    let held_back = case.io().is_some_and(|io| io.is_held_back());
    let still_s = counted.still_s.filter(|_| !held_back).unwrap_or(0);
    let stall = longest.max(u64::from(still_s) * 1_000_000_000);
    ((is_long || still_s > 0) && stall as f64 > OUT_OF_LINE * usual).then_some(stall)
}

/// Mean operation latency by Little's law, including the stalled operation.
fn usual_ns(case: &Case<'_>, measured: &Measured) -> Option<f64> {
    let operations = measured.operations();
    let busy = seconds(measured.window_ns) * 1e9 * f64::from(case.workload.work.in_flight());
    (operations > 0).then(|| busy / operations as f64)
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Trust;

    use super::super::testing::{Bench, counted, measured};
    use super::*;

    const MS: u64 = 1_000_000;

    fn bench(longest_ms: u64, still_s: u32) -> Bench {
        Bench::read().first(2, move |trial| {
            counted(trial).longest_ns = Some(longest_ms * MS);
            counted(trial).still_s = Some(still_s);
        })
    }

    #[test]
    fn speaks_of_an_operation_of_more_than_a_fifth_of_the_window() {
        let remark = bench(200, 0).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(
            remark.text,
            "no operation completed for up to 200 ms, in 2 of 3 trials: the mean describes the stall"
        );
        assert_eq!(bench(160, 0).judge(&RULE), None);
    }

    #[test]
    fn speaks_of_a_second_without_an_end() {
        let long = bench(900, 1).each(|trial| measured(trial).window_ns = 5_000 * MS);
        let text = long.judge(&RULE).unwrap().text;
        assert!(text.starts_with("no operation completed for up to 1 s"), "{text}");
        let none = bench(900, 0).each(|trial| measured(trial).window_ns = 5_000 * MS);
        assert_eq!(none.judge(&RULE), None);
    }

    #[test]
    fn a_second_in_which_nothing_was_asked_for_is_no_stall() {
        let by_the_clock = |longest_ms| {
            let long = bench(longest_ms, 3).each(|trial| measured(trial).window_ns = 5_000 * MS);
            long.io(|io| io.arrival_rate = Some("5/s".parse().unwrap()))
        };
        assert_eq!(by_the_clock(900).judge(&RULE), None);
        let text = by_the_clock(1_100).judge(&RULE).unwrap().text;
        assert!(text.starts_with("no operation completed for up to 1.1 s"), "{text}");
    }

    #[test]
    fn a_slow_drive_is_no_stall_and_old_results_tell_nothing() {
        // Four operations in 800 ms with 32 in flight: each takes seconds.
        let slow = bench(700, 1).each(|trial| {
            for count in counted(trial).classes.values_mut() {
                count.operations = 4;
            }
        });
        assert_eq!(slow.judge(&RULE), None);
        let old = bench(700, 1).each(|trial| counted(trial).longest_ns = None);
        assert_eq!(old.judge(&RULE), None);
    }
}
