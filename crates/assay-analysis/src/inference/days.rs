//! The spread between sessions (R13d), which the trials of one do not show: from results, the user, or a default.

use std::collections::BTreeMap;

use assay_core::quantity::units::show;
use assay_core::stats::{BetweenSessions, FEWEST_FOR_INTERVAL, Sample, between_sessions};
use assay_study::findings::Findings;

use super::across::{Key, RatioBase, ResultIndex, key};

const USUAL_SD: f64 = 0.03;
/// Fewest results of a study for its spread between sessions.
const ENOUGH: usize = 5;
pub(super) const POWER: f64 = 0.8;

/// The spread of session means, as a fraction, and its source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Days {
    pub sd: f64,
    pub from: DaysSource,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaysSource {
    Usual,
    Asked,
    /// This number of earlier results.
    Results(usize),
}

impl Default for Days {
    fn default() -> Self {
        Self { sd: USUAL_SD, from: DaysSource::Usual }
    }
}

impl Days {
    pub fn asked(sd: f64) -> Self {
        Self { sd, from: DaysSource::Asked }
    }

    /// The spread of the means of several results of one study, pooled over all rows; `None` for too few results.
    pub fn of_results(results: &[Findings]) -> Option<Self> {
        let mut rows: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
        for result in results.iter().map(ResultIndex::new) {
            let cells = result.findings.measurements.iter();
            for cell in cells.filter(|cell| cell.primary && !cell.control) {
                let values = result.values(cell, RatioBase::Plain).unwrap_or_default();
                let sample = Sample::of(&values).filter(|sample| sample.n >= FEWEST_FOR_INTERVAL);
                rows.entry(key(cell)).or_default().extend(sample.map(|sample| sample.mean));
            }
        }
        let samples = rows.values().filter(|means| means.len() >= ENOUGH);
        let samples: Vec<Sample> = samples.filter_map(|means| Sample::of(means)).collect();
        // Pools the variances of the rows, each weighted by its degrees of freedom.
        let freedom: f64 = samples.iter().map(|sample| (sample.n - 1) as f64).sum();
        let squares = |sample: &Sample| Some(sample.sd?.powi(2) * (sample.n - 1) as f64);
        let squares: f64 = samples.iter().filter_map(squares).sum();
        let sessions = samples.iter().map(|sample| sample.n).max()?;
        let sd = (squares / freedom).sqrt().exp_m1();
        sd.is_finite().then_some(Self { sd, from: DaysSource::Results(sessions) })
    }

    /// A test of two samples; `days` is the number of sessions behind each.
    pub(super) fn between(self, pair: [&Sample; 2], days: [usize; 2]) -> Option<BetweenSessions> {
        let shares: f64 = days.iter().map(|count| 1.0 / (*count).max(1) as f64).sum();
        between_sessions(pair[0], pair[1], self.sd.ln_1p().powi(2) * shares)
    }

    pub fn words(self) -> String {
        let why = match self.from {
            DaysSource::Usual => "assumed; assay compare --between-day-sd sets it".to_owned(),
            DaysSource::Asked => "from --between-day-sd".to_owned(),
            DaysSource::Results(count) => format!("from {count} earlier results of this study"),
        };
        let sd = show::percent(100.0 * self.sd);
        format!(
            "each result counts as one day; day-to-day variation {sd} ({why}); with one result per side, only a \
             gate decides"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Bench;
    use super::*;

    fn day(name: usize, rate: f64) -> Findings {
        let rates = [0.999, 1.0, 1.001].map(|trial| (rate * trial) as u64);
        let mut found = Bench::new(&["."]).row(0, "random-read-q1", 4096, &rates).findings();
        found.study.id = format!("day-{name}");
        found
    }

    #[test]
    fn five_results_tell_how_far_days_lie_apart() {
        let rates = [1e6, 1.02e6, 0.98e6, 1.01e6, 0.99e6];
        let results: Vec<Findings> =
            rates.iter().enumerate().map(|(at, rate)| day(at, *rate)).collect();
        let found = Days::of_results(&results).unwrap();
        assert_eq!(found.from, DaysSource::Results(5));
        assert!((found.sd - 0.0160).abs() < 0.0005, "{found:?}");
        assert!(found.words().contains("from 5 earlier results"), "{}", found.words());
        assert_eq!(Days::of_results(&results[..4]), None);
        assert_eq!(Days::of_results(&[]), None);
    }

    #[test]
    fn more_sessions_a_side_add_less() {
        let sample = Sample::of(&[0.0, 0.01, -0.01]).unwrap();
        let error = |sessions| {
            Days::asked(0.05).between([&sample, &sample], sessions).unwrap().standard_error
        };
        let trials: f64 = 2.0 * 0.01_f64.powi(2) / 3.0;
        let day = 0.05_f64.ln_1p().powi(2);
        assert!((error([1, 1]) - (trials + 2.0 * day).sqrt()).abs() < 1e-12);
        assert!((error([2, 2]) - (trials + day).sqrt()).abs() < 1e-12);
    }
}
