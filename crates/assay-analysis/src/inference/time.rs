//! Breakdown of a study's time: the share spent measuring.

use assay_core::quantity::units::show;
use assay_study::results::record::{Status, Trial};

/// Time of all trials, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TrialTime {
    whole: u64,
    /// Windows of trials that are not left out by design.
    measuring: u64,
    /// Warm-ups, and the time of trials before and after their window.
    around: u64,
    /// Rests before trials, in which Assay looks for traffic of others; includes readings.
    resting: u64,
    /// Filling areas, creating file systems, setting levels, storing trials.
    between: u64,
}

impl TrialTime {
    /// Adds the times of a trial by their purpose; ignores a trial without recorded times.
    pub fn add(&mut self, trial: &Trial) {
        let Some(spent) = trial.spent else { return };
        self.whole += spent.before_ns + spent.trial_ns;
        self.between += spent.before_ns;
        let (window, elapsed) =
            trial.measured.as_ref().map_or((0, 0), |one| (one.window_ns, one.elapsed_ns));
        // Nothing in a warm-up is measured, and a trial may end within its window.
        let window = if trial.status == Status::Warmup { 0 } else { window.min(elapsed) };
        self.measuring += window;
        self.around += elapsed - window;
        let devices = trial.evidence.disk.value().into_iter().flatten();
        self.resting += devices.map(|(_, device)| device.gap.span_ns).max().unwrap_or(0);
    }

    /// A sentence; `None` if no trial recorded times.
    pub fn text(&self) -> Option<String> {
        if self.whole == 0 {
            return None;
        }
        let share = |part: u64| format!("{:.0}%", 100.0 * part as f64 / self.whole as f64);
        let known = self.measuring + self.around + self.resting + self.between;
        Some(format!(
            "{} in total: {} measuring, {} warm-ups and ramps, {} rests before trials, {} preparing and storing, {} \
             waiting for writes to complete and reading counters",
            show::duration(self.whole as f64),
            share(self.measuring),
            share(self.around),
            share(self.resting),
            share(self.between),
            share(self.whole.saturating_sub(known)),
        ))
    }
}

#[cfg(test)]
mod tests {
    use assay_study::results::record::TrialTimes;

    use super::*;
    use crate::rules::testing;

    #[test]
    fn shares_are_of_the_whole_and_a_lead_in_measures_nothing() {
        let mut time = TrialTime::default();
        assert_eq!(time.text(), None);
        for status in [Status::Warmup, Status::Ok, Status::Disturbed] {
            let mut trial = testing::trial(&testing::workload("read", 100), 1);
            trial.status = status;
            trial.spent =
                Some(TrialTimes { before_ns: 100_000_000, trial_ns: 900_000_000, made_ns: None });
            let measured = testing::measured(&mut trial);
            (measured.window_ns, measured.elapsed_ns) = (600_000_000, 700_000_000);
            trial.evidence.disk = assay_core::presence::Presence::absent("a test");
            time.add(&trial);
        }
        let text = time.text().unwrap();
        assert!(text.starts_with("3 s in total: 40% measuring, 30% warm-ups and ramps"), "{text}");
        assert!(
            text.contains("0% rests before trials, 10% preparing and storing, 20% waiting"),
            "{text}"
        );
    }
}
