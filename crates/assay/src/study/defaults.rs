//! What a study leaves open, filled in before it is planned, so that the stored study says it all.

use super::{DEFAULT_MARGIN, Study};
use crate::quantity::Time;

/// Time of a trial where neither the workload nor a budget sets one.
const TRIAL: Time = Time(5_000_000_000);
/// Time before it that is not counted.
const RAMP: Time = Time(1_000_000_000);

impl Study {
    /// The study with everything set that `assay run` needs to give verdicts.
    #[must_use]
    pub fn settled(mut self) -> Self {
        self.margin = self.margin.or(Some(DEFAULT_MARGIN));
        if self.budget.is_none() {
            for workload in &mut self.workload {
                let io = &mut workload.io;
                if io.time.is_none() {
                    io.time = Some(TRIAL);
                    io.ramp = io.ramp.or(Some(RAMP)).filter(|_| io.operations.is_none());
                }
            }
        }
        self
    }

    /// The times of a quick look: every level stays, trials become short.
    #[must_use]
    pub fn quick(mut self) -> Self {
        for workload in &mut self.workload {
            workload.io.time = Some(Time(500_000_000));
            // Counted operations count from the first one on.
            workload.io.ramp = Some(Time(100_000_000)).filter(|_| workload.io.operations.is_none());
        }
        self
    }
}
