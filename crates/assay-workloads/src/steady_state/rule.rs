//! Rule `not-steady`: the remark on rounds without a steady state.

use assay_core::catalogue::About;
use assay_core::quantity::metric::Nature;

use super::{SteadyStateDetail, SteadyStatePlan, judge_trial};
use crate::tell::{Doubt, OwnRule};
use crate::{Basis, Measured};

pub(super) const NOT_STEADY: OwnRule = OwnRule {
    about: About {
        name: "not-steady",
        summary: "the drive did not reach steady state",
        text: "The number is suspect. No five consecutive rounds met both steady-state conditions, so the number \
               comes from the last five rounds, in which the rate still drifted or jumped. Run more rounds (a longer \
               runtime), or use more of the device. If other users share the drive, measure when the drive is \
               otherwise idle.",
    },
    looks_at: Basis::Machine,
    changes: &[Nature::Speed],
    doubt,
};

/// Doubts trials whose last five rounds were not steady.
fn doubt(planned: &crate::WorkPlan, trials: &[&Measured]) -> Option<Doubt> {
    let planned = SteadyStatePlan::of(planned)?;
    let details = trials.iter().filter_map(|measured| SteadyStateDetail::of(measured));
    let windows: Vec<_> = details
        .filter_map(|detail| judge_trial(planned, detail)?.window)
        .filter(|window| !window.steady)
        .collect();
    let widest =
        windows.iter().max_by(|one, other| one.range_share.total_cmp(&other.range_share))?;
    Some(Doubt {
        what: format!(
            "the last five rounds range by {:.1}% of their mean and change by {:.1}% (limits 20% and 10%)",
            100.0 * widest.range_share,
            100.0 * widest.slope_share
        ),
        trials: windows.len(),
        why: "the drive was not in a steady state".to_owned(),
        invalid: false,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Test;
    use super::super::tests::{detail, measured_of, planned};
    use super::*;

    fn said(rounds: &[f64]) -> Option<Doubt> {
        let own = planned(Test::WriteSaturation);
        let measured = measured_of(detail(&own, rounds));
        doubt(&own.into(), &[&measured])
    }

    #[test]
    fn rounds_that_never_become_steady_are_doubted_with_their_numbers() {
        let found = said(&[100.0, 140.0, 100.0, 140.0, 100.0]).unwrap();
        assert!(found.what.contains("range by 34.5% of their mean"), "{found:?}");
        assert_eq!(found.trials, 1);
    }

    #[test]
    fn steady_rounds_and_too_few_of_them_are_not() {
        assert_eq!(said(&[100.0; 5]), None);
        assert_eq!(said(&[100.0, 300.0]), None, "which is told otherwise");
        assert_eq!(said(&[]), None);
    }
}
