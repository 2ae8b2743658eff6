//! Latencies of trials as non-empty histogram buckets: a whole histogram needs a third of a megabyte.

use std::cmp::Ordering;

use assay_core::stats::percentile_is_supported;
use hdrhistogram::Histogram;

use super::buckets::BucketLayout;
use super::histogram::{self, HIGHEST_NS, HistogramError, LOWEST_NS, SIGNIFICANT_DIGITS, Settings};

/// The settings of all histograms of this version.
const OURS: Settings = (LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS);

/// Latencies in nanoseconds, with the same quantiles as the source histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    settings: Settings,
    layout: BucketLayout,
    /// Nonempty buckets in order of latency, with their counts.
    steps: Vec<(u32, u64)>,
}

impl From<&Histogram<u64>> for Tally {
    fn from(histogram: &Histogram<u64>) -> Self {
        let settings = histogram::settings_of(histogram);
        let Some(empty) = Self::from_steps(settings, Vec::new()) else { return Self::default() };
        let recorded = histogram.iter_recorded();
        let step = |item: hdrhistogram::iterators::IterationValue<u64>| {
            Some((empty.layout.index(item.value_iterated_to())?, item.count_at_value()))
        };
        Self { steps: recorded.filter_map(step).collect(), ..empty }
    }
}

impl Default for Tally {
    fn default() -> Self {
        let layout = BucketLayout::OURS;
        Self { settings: OURS, layout, steps: Vec::new() }
    }
}

impl Tally {
    /// Counts of buckets, in order; `None` if the settings are invalid.
    pub(super) fn from_steps(settings: Settings, mut steps: Vec<(u32, u64)>) -> Option<Self> {
        steps.shrink_to_fit();
        BucketLayout::new(settings).map(|layout| Self { settings, layout, steps })
    }

    /// The highest latency of each nonempty bucket, with its count, in order of latency.
    pub fn steps(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.steps.iter().map(|(index, count)| (self.layout.highest(*index), *count))
    }

    /// Adds operations of the same latency; ignores latencies beyond the last bucket.
    pub fn record(&mut self, latency_ns: u64, count: u64) {
        let Some(index) = self.layout.index(latency_ns).filter(|_| count > 0) else { return };
        match self.steps.binary_search_by_key(&index, |(known, _)| *known) {
            Ok(at) => self.steps[at].1 = self.steps[at].1.saturating_add(count),
            Err(at) => self.steps.insert(at, (index, count)),
        }
    }

    pub fn len(&self) -> u64 {
        self.steps.iter().fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub fn max_ns(&self) -> u64 {
        self.steps.last().map_or(0, |(index, _)| self.layout.highest(*index))
    }

    pub fn mean_ns(&self) -> f64 {
        let total = self.len() as f64;
        let share =
            |(index, count): &(u32, u64)| self.layout.middle(*index) as f64 * *count as f64 / total;
        self.steps.iter().map(share).sum()
    }

    /// Quantile `q` (0 < q < 1) in nanoseconds, if there are enough operations (R12).
    pub fn percentile_ns(&self, q: f64) -> Option<u64> {
        let total = self.len();
        let rank = ((q * total as f64).ceil() as u64).max(1);
        if !percentile_is_supported(total, q) {
            return None;
        }
        let mut so_far = 0_u64;
        for (index, count) in &self.steps {
            so_far = so_far.saturating_add(*count);
            if so_far >= rank {
                return Some(self.layout.highest(*index));
            }
        }
        None
    }

    /// Returns a whole histogram; fails if the settings differ from those of this version.
    pub fn histogram(&self) -> Result<Histogram<u64>, HistogramError> {
        histogram::same_settings(OURS, self.settings)?;
        let mut whole = histogram::empty()?;
        for (latency_ns, count) in self.steps() {
            let added = whole.record_n(latency_ns.min(HIGHEST_NS), count);
            added.map_err(|error| HistogramError(format!("{latency_ns} ns: {error}")))?;
        }
        Ok(whole)
    }

    /// Adds the counts of another histogram; fails if its settings differ.
    pub fn add(&mut self, other: &Self) -> Result<(), HistogramError> {
        histogram::same_settings(self.settings, other.settings)?;
        let mut sum = Vec::with_capacity(self.steps.len().max(other.steps.len()));
        // Merges two lists in ascending order of the index; of equal indices, both steps are consumed.
        let (mut steps, mut others) = (self.steps.as_slice(), other.steps.as_slice());
        while let (Some(&step), Some(&other)) = (steps.first(), others.first()) {
            let next = match step.0.cmp(&other.0) {
                Ordering::Less => step,
                Ordering::Equal => (step.0, step.1.saturating_add(other.1)),
                Ordering::Greater => other,
            };
            steps = &steps[usize::from(step.0 <= other.0)..];
            others = &others[usize::from(other.0 <= step.0)..];
            sum.push(next);
        }
        sum.extend_from_slice(steps);
        sum.extend_from_slice(others);
        sum.shrink_to_fit();
        self.steps = sum;
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
        // R12 of docs/explanation/method.md: hdrhistogram 7.6.0, 9,999 times 1,000 ns and one 100,000,000 ns.
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
        assert!(Tally::from(&coarse).histogram().is_err(), "it would be coarser than it says");
        assert_eq!(
            error.0,
            "cannot add histograms with different settings: 1 to 3600000000000 ns, 3 digits and 1 to 3600000000000 \
             ns, 2 digits"
        );
    }

    proptest! {
        #[test]
        #[ignore = "nightly: 4 s"]
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
            prop_assert_eq!(&tally, &Tally::from(&both));
            let steps: Vec<(u64, u64)> = tally.steps().collect();
            let known = both.iter_recorded();
            let known: Vec<(u64, u64)> =
                known.map(|one| (one.value_iterated_to(), one.count_at_value())).collect();
            prop_assert_eq!(steps, known);
            let mut alone = Tally::default();
            for value in right.iter().chain(&left) {
                alone.record(*value, 1);
            }
            prop_assert_eq!(&alone, &tally);
            prop_assert_eq!(&Tally::from(&tally.histogram().unwrap()), &tally);
        }
    }
}
