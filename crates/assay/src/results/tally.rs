//! Latencies of a finished trial: the buckets of its histogram that hold something. A histogram
//! has room for every latency up to an hour, which is a third of a megabyte; a study may have ten
//! thousand trials.

use assay_stats::percentile_is_supported;
use hdrhistogram::Histogram;

use super::histogram::{self, HistogramError, Settings};

/// One bucket of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    /// Highest latency that falls into it, nanoseconds.
    highest_ns: u64,
    /// Its middle, nanoseconds.
    middle_ns: u64,
    count: u64,
}

/// Latencies in nanoseconds. Numbers drawn from it are those of the histogram that it was made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    settings: Settings,
    /// By latency.
    steps: Vec<Step>,
}

impl From<&Histogram<u64>> for Tally {
    fn from(histogram: &Histogram<u64>) -> Self {
        let step = |value: u64, count| Step {
            highest_ns: histogram.highest_equivalent(value),
            middle_ns: histogram.median_equivalent(value),
            count,
        };
        let recorded = histogram.iter_recorded();
        let steps = recorded.map(|one| step(one.value_iterated_to(), one.count_at_value()));
        Self { settings: histogram::settings_of(histogram), steps: steps.collect() }
    }
}

impl Tally {
    /// Operations.
    pub fn len(&self) -> u64 {
        self.steps.iter().map(|step| step.count).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The slowest of them, nanoseconds; 0 where there are none.
    pub fn max_ns(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.highest_ns)
    }

    /// Their mean, nanoseconds.
    pub fn mean_ns(&self) -> f64 {
        let total = self.len() as f64;
        let share = |step: &Step| step.middle_ns as f64 * step.count as f64 / total;
        self.steps.iter().map(share).sum()
    }

    /// Quantile `q` (0 < q < 1) in nanoseconds, where enough operations were recorded to tell it
    /// (R12).
    pub fn percentile_ns(&self, q: f64) -> Option<u64> {
        let total = self.len();
        let rank = ((q * total as f64).ceil() as u64).max(1);
        let mut below = 0;
        let reached = self.steps.iter().find(|step| {
            below += step.count;
            below >= rank
        });
        reached.filter(|_| percentile_is_supported(total, q)).map(|step| step.highest_ns)
    }

    /// Adds others up with these; refuses those of a histogram with other settings.
    pub fn add(&mut self, other: &Self) -> Result<(), HistogramError> {
        histogram::same_settings(self.settings, other.settings)?;
        for step in &other.steps {
            match self.steps.binary_search_by_key(&step.highest_ns, |own| own.highest_ns) {
                Ok(index) => self.steps[index].count += step.count,
                Err(index) => self.steps.insert(index, *step),
            }
        }
        Ok(())
    }

    /// Adds them to a histogram; refuses one with other settings.
    pub fn add_to(&self, histogram: &mut Histogram<u64>) -> Result<(), HistogramError> {
        histogram::same_settings(histogram::settings_of(histogram), self.settings)?;
        for step in &self.steps {
            histogram
                .record_n(step.middle_ns, step.count)
                .map_err(|error| HistogramError(format!("histograms do not add up: {error}")))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::histogram::tests::filled;
    use super::super::histogram::{HIGHEST_NS, empty};
    use super::*;

    #[test]
    fn a_percentile_without_enough_values_is_none() {
        let few = Tally::from(&filled(&vec![7; 999]));
        assert_eq!(few.percentile_ns(0.99), None);
        assert_eq!(few.percentile_ns(0.9), Some(7));
        assert_eq!(Tally::from(&filled(&vec![7; 1000])).percentile_ns(0.99), Some(7));
    }

    #[test]
    fn back_filling_gives_the_known_answer() {
        // statistics.md, R12: hdrhistogram 7.6.0, 9,999 times 1,000 ns and one 100,000,000 ns.
        let mut histogram = empty().unwrap();
        histogram.record_n_correct(1_000, 9_999, 10_000).unwrap();
        histogram.record_correct(100_000_000, 10_000).unwrap();
        let tally = Tally::from(&histogram);
        assert_eq!(tally.len(), 19_999);
        assert_eq!(tally.percentile_ns(0.5), Some(10_007));
        assert_eq!(tally.percentile_ns(0.9), Some(80_019_455));
    }

    #[test]
    fn other_settings_are_refused() {
        let coarse: Histogram<u64> = Histogram::new_with_bounds(1, HIGHEST_NS, 2).unwrap();
        let mut tally = Tally::from(&filled(&[10, 20]));
        let error = tally.add(&Tally::from(&coarse)).unwrap_err();
        assert_eq!(
            error.0,
            "histograms with different settings cannot be added up: 1 to 3600000000000 ns, 3 \
             digits and 1 to 3600000000000 ns, 2 digits"
        );
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_histogram(
            left in proptest::collection::vec(1..10_000_000_u64, 1..1500),
            right in proptest::collection::vec(1..HIGHEST_NS, 0..50),
        ) {
            let (mut both, mut tally) = (filled(&left), Tally::from(&filled(&left)));
            both.add(filled(&right)).unwrap();
            tally.add(&Tally::from(&filled(&right))).unwrap();
            prop_assert_eq!(tally.len(), both.len());
            prop_assert_eq!(tally.max_ns(), both.max());
            prop_assert_eq!(tally.mean_ns(), both.mean());
            for q in [0.5, 0.9, 0.99] {
                let known = both.value_at_quantile(q).min(both.max());
                prop_assert!(tally.percentile_ns(q).is_none_or(|own| own == known));
            }
            let mut again = empty().unwrap();
            tally.add_to(&mut again).unwrap();
            prop_assert_eq!(again.iter_recorded().count(), both.iter_recorded().count());
            prop_assert_eq!(again.value_at_quantile(0.7), both.value_at_quantile(0.7));
        }
    }
}
