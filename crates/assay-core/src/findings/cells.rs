//! The number of a row, the trials that it sums up, and what it is trusted as.

use super::{Cell, CellTrial, LENT, Trust};

impl Cell {
    /// The number of the row, in the unit of its metric, wherever it is told: the geometric mean of its
    /// trials, the arithmetic one where they are compared by differences, the median where one of them is
    /// zero. Of these the interval is that of either mean.
    pub fn value(&self) -> Option<f64> {
        self.mean.or(self.geometric_mean).or(self.median)
    }

    /// Whether it is trusted as what this machine is given alone: the drive is lent, and what its host caches
    /// cannot be seen.
    pub fn is_lent(&self) -> bool {
        let is_trusted = self.trust == Some(Trust::Trusted);
        is_trusted && self.because.iter().any(|because| because.rule == LENT)
    }

    /// Values of the trials that this number sums up, in the order of time: what is a trial of it is decided
    /// here alone.
    pub fn values(&self) -> Vec<f64> {
        let own: Vec<&CellTrial> = match &self.counted {
            Some(places) => places.iter().filter_map(|place| self.trials.get(*place)).collect(),
            None => self.trials.iter().filter(|trial| trial.counts_by_itself()).collect(),
        };
        own.into_iter().filter_map(|trial| trial.value).collect()
    }
}
