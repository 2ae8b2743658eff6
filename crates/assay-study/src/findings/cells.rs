//! The value of a row, its trials, and its trust rating.

use std::collections::BTreeMap;

use super::{Comparison, Findings, LENT, Measurement, TrialValue, Trust};
use crate::results::plan::Arm;

/// An interval is wide if its upper end exceeds the lower end by this factor.
const WIDE: f64 = 2.0;

/// Rounding of sums in another order, as a share.
const ROUNDING: f64 = 1e-9;

/// Returns whether an interval is too wide to be useful. Trust is a separate question.
pub fn is_wide(ci95: Option<[f64; 2]>) -> bool {
    ci95.is_some_and(|[low, high]| {
        let (least, most) = (low.abs().min(high.abs()), low.abs().max(high.abs()));
        low < 0.0 && high > 0.0 || most > WIDE * least
    })
}

impl Comparison {
    /// Means of arm and baseline over the compared trials, from either field.
    pub fn own_means(&self) -> Option<[f64; 2]> {
        self.means.or(self.compared_means)
    }
}

impl Findings {
    /// Returns the number of a metric; never that of the A/A control.
    pub fn cell(&self, workload: &str, arm: &Arm, metric: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|cell| {
            !cell.control
                && cell.workload == workload
                && cell.metric == metric
                && cell.configuration == *arm
        })
    }

    /// Returns the number of another metric with the same workload and configuration as `cell`.
    pub fn in_row_of(&self, cell: &Measurement, metric: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|other| {
            other.metric == metric
                && other.control == cell.control
                && other.workload == cell.workload
                && other.configuration == cell.configuration
        })
    }

    /// Moves means of comparisons that differ from the values of their rows to `compared_means`.
    pub fn name_means(&mut self) {
        let Self { measurements: cells, comparisons, .. } = self;
        if comparisons.iter().all(|comparison| comparison.means.is_none()) {
            return;
        }
        let mut rows: BTreeMap<(&str, &str, &Arm), f64> = BTreeMap::new();
        for cell in cells.iter().filter(|cell| !cell.control) {
            if let Some(value) = cell.value() {
                rows.insert((&cell.workload, &cell.metric, &cell.configuration), value);
            }
        }
        for comparison in comparisons {
            let Some(means) = comparison.means else { continue };
            let differs = |arm: &Arm, mean: f64| {
                let row = rows.get(&(comparison.workload.as_str(), &comparison.metric, arm));
                row.is_some_and(|row| (mean - row).abs() > ROUNDING * (1.0 + row.abs()))
            };
            if differs(&comparison.configuration, means[0])
                || differs(&comparison.baseline, means[1])
            {
                (comparison.means, comparison.compared_means) = (None, Some(means));
            }
        }
    }
}

impl Measurement {
    /// Value of the row: geometric mean (arithmetic for differences) with the interval; median if a trial is zero.
    pub fn value(&self) -> Option<f64> {
        self.mean.or(self.geometric_mean).or(self.median)
    }

    pub fn is_wide(&self) -> bool {
        is_wide(self.ci95)
    }

    /// Returns whether the number is trusted only for this virtual device: the host's caches are invisible.
    pub fn is_lent(&self) -> bool {
        let is_trusted = self.trust == Some(Trust::Trusted);
        is_trusted && self.reasons.iter().any(|because| because.rule == LENT)
    }

    /// Returns the trials that this value summarizes, in order of time; the only definition of counting trials.
    pub fn counting(&self) -> Vec<&TrialValue> {
        match &self.counted {
            Some(places) => places.iter().filter_map(|place| self.trials.get(*place)).collect(),
            None => self.trials.iter().filter(|trial| trial.counts_by_itself()).collect(),
        }
    }

    pub fn values(&self) -> Vec<f64> {
        self.counting().into_iter().filter_map(|trial| trial.value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::is_wide;

    #[test]
    fn an_interval_is_wide_from_twice_its_lower_end_on() {
        for ends in [[1.0, 2.1], [0.0, 0.1], [-1.0, 0.5], [-4.0, -1.5]] {
            assert!(is_wide(Some(ends)), "{ends:?}");
        }
        for ends in [[1.0, 2.0], [9.0, 11.0], [-6.0, -4.0], [0.0, 0.0]] {
            assert!(!is_wide(Some(ends)), "{ends:?}");
        }
        assert!(!is_wide(None), "too few trials for an interval are told as that");
    }
}
