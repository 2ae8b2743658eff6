//! Steady state and change points of a series within one trial (rule R9). They support plots and advice, not verdicts.

use crate::stats::drift::slope;
use crate::stats::sample::{Sample, two_sided_p};

/// Rounds of the window in which steady state is judged.
pub const SNIA_ROUNDS: usize = 5;

/// Minimum number of values on each side of a change point: fewer do not determine the correlation of neighbors, and
/// two outliers would form a level.
const FEWEST_IN_SEGMENT: usize = 8;

/// Maximum correlation of neighbors; a stronger one leaves too few independent values.
const MOST_CORRELATED: f64 = 0.99;

/// Maximum depth of the recursion, and of consecutive insignificant splits.
const DEEPEST: u32 = 6;
const UNSURE: u32 = 2;

/// Sums of squares below this share of the total are rounding errors.
const EXACT: f64 = 1e-24;

/// Five rounds, checked against both conditions of steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SniaWindow {
    /// Mean, in the unit of the rounds.
    pub mean: f64,
    /// Largest minus smallest value, in the same unit.
    pub range: f64,
    /// Absolute rise of the least-squares line from the first to the last round.
    pub rise: f64,
    pub slope_per_round: f64,
}

impl SniaWindow {
    /// The window of these rounds.
    ///
    /// Source: R9 b; SNIA Solid State Storage Performance Test Specification, "steady state". The
    /// conditions are loose: an exponential warm-up with a time constant of five rounds passes while still 14%
    /// off, so the slope is given too. `None` unless they are five, and for a value that is not finite.
    pub fn from_rounds(rounds: &[f64]) -> Option<Self> {
        if rounds.len() != SNIA_ROUNDS {
            return None;
        }
        let mean = Sample::of(rounds)?.mean;
        let positions: Vec<f64> = (0..rounds.len()).map(|position| position as f64).collect();
        let slope_per_round = slope(&positions, rounds)?.slope;
        let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let rise = slope_per_round.abs() * (SNIA_ROUNDS - 1) as f64;
        Some(Self { mean, range: most - least, rise, slope_per_round })
    }

    /// Returns whether the range is at most 20% of the mean and the rise at most 10% of the mean.
    pub fn is_steady(&self) -> bool {
        self.mean > 0.0 && self.range <= 0.2 * self.mean && self.rise <= 0.1 * self.mean
    }
}

/// The point at which the level of a series changes most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Position (from 0) of the first value after the change.
    pub index: usize,
    /// Mean before the change, in the unit of the series.
    pub before: f64,
    /// Mean from the change on.
    pub after: f64,
    /// Upper bound of the p of no change.
    pub p: f64,
}

/// Splits `series` (any unit) into the two levels, of eight or more correlated values, that explain most variance.
///
/// p is the p value of the two-sample t test at the split, times the number of possible splits (Bonferroni;
/// conservative, because neighboring splits are almost the same test). Source: R9 e; Worsley, Journal of the American
/// Statistical Association 74 (1979), for this max-t statistic. The model is a first-order autoregression around the
/// two levels; its correlation r is estimated from neighbors on the same side and is never below 0: `n` values count as
/// `n (1 - r) / (1 + r)` independent ones (Bayley and Hammersley, Supplement to the Journal of the Royal Statistical
/// Society 8, 1946). The estimate of `r` is too small by `(1 + 4 r) / n` (Kendall, Biometrika 41, 1954). p is 1 if less
/// than one degree of freedom remains. `None` below sixteen values, for a value that is not finite and for a constant
/// series.
pub fn correlated_change_point(series: &[f64]) -> Option<ChangePoint> {
    let split = Split::from_series(series)?;
    split.tested(split.likeness(series))
}

/// Returns the positions (from 0, ascending) at which the level of `series` (any unit) changes by at least `step` in
/// its unit, with a p of [`correlated_change_point`] of at most `sure`.
///
/// Binary segmentation (Vostrikova, "Detecting disorder in multidimensional random processes", Soviet Mathematics
/// Doklady 24, 1981) with two amendments. A temporary drop hides both of its changes from a single split, because the
/// second one looks like correlation: if a split is not significant, both parts are split twice more, and if that split
/// is significant, the first is retained provisionally. Finally each change is tested between its neighbors, and the
/// least significant is dropped until all are significant. Six levels of recursion at most.
pub fn correlated_changes(series: &[f64], sure: f64, step: f64) -> Vec<usize> {
    let search = Search { sure, step };
    let mut found = Vec::new();
    search.add_changes(series, 0, Depth { all: DEEPEST, unsure: UNSURE }, &mut found);
    found.sort_unstable();
    while let Some(worst) = search.least_significant(series, &found) {
        found.remove(worst);
    }
    found
}

/// Remaining depth of a part, and of insignificant splits.
#[derive(Clone, Copy)]
struct Depth {
    all: u32,
    unsure: u32,
}

impl Depth {
    /// Returns what remains after a split; `None` if that split was too deep.
    fn after(self, is_sure: bool) -> Option<Self> {
        let unsure = if is_sure { UNSURE } else { self.unsure.checked_sub(1)? };
        Some(Self { all: self.all.checked_sub(1)?, unsure })
    }
}

/// What counts as a change.
struct Search {
    sure: f64,
    step: f64,
}

impl Search {
    fn is_change(&self, found: &ChangePoint) -> bool {
        found.p <= self.sure && (found.after - found.before).abs() >= self.step
    }

    /// Adds the changes of a part, within the remaining depth; returns whether there is one.
    fn add_changes(&self, part: &[f64], start: usize, depth: Depth, into: &mut Vec<usize>) -> bool {
        let Some(found) = correlated_change_point(part) else { return false };
        let is_sure = self.is_change(&found);
        let Some(depth) = depth.after(is_sure) else { return false };
        let (before, after) = part.split_at(found.index);
        let middle = start + found.index;
        let is_before = self.add_changes(before, start, depth, into);
        let is_after = self.add_changes(after, middle, depth, into);
        let is_retained = is_sure || is_before || is_after;
        if is_retained {
            into.push(middle);
        }
        is_retained
    }

    /// The index of the least significant change between its neighbors; `None` if all are significant.
    fn least_significant(&self, series: &[f64], found: &[usize]) -> Option<usize> {
        let bounds: Vec<usize> =
            [0].into_iter().chain(found.iter().copied()).chain([series.len()]).collect();
        let mut least: Option<(usize, f64, f64)> = None;
        for (index, around) in bounds.windows(3).enumerate() {
            let [from, middle, to] = *around else { continue };
            let part = &series[from..to];
            let tested =
                Split::at(part, middle - from).and_then(|split| split.tested(split.likeness(part)));
            let (step, p) = match tested {
                Some(change) if self.is_change(&change) => continue,
                Some(change) => ((change.after - change.before).abs(), change.p),
                None => (0.0, 1.0),
            };
            // Steps that are too small come before insignificant ones: the smallest step first, then the largest p.
            let is_less_significant = least.is_none_or(|(_, least_step, largest_p)| {
                let (is_small, is_least_small) = (step < self.step, least_step < self.step);
                if is_small != is_least_small {
                    return is_small;
                }
                if is_small { step <= least_step } else { p.total_cmp(&largest_p).is_ge() }
            });
            if is_less_significant {
                least = Some((index, step, p));
            }
        }
        least.map(|(index, ..)| index)
    }
}

/// First and last position at which the level of `series` (any unit) may have changed, with confidence `1 - alpha`: all
/// splits that explain nearly as much as the best one.
///
/// The likelihood ratio between the best split and the true one is distributed as the larger of two independent
/// exponential variables, so a split is in the set if `n ln(S(split) / S(best))` is at most `-2 ln(1 - sqrt(1 -
/// alpha))`, with S the sum of squares within both sides. Source: Siegmund, "Confidence sets in change-point problems",
/// International Statistical Review 56 (1988); the same limit law with its table in Hansen, "Sample splitting and
/// threshold estimation", Econometrica 68 (2000). The law assumes the effective number of independent values (see
/// [`correlated_change_point`]) and changes that are small compared with the scatter; for larger ones the set is too
/// wide. The set always contains the best split. `None` as for [`correlated_change_point`], and outside 0 < alpha < 1.
pub fn correlated_change_interval(series: &[f64], alpha: f64) -> Option<[usize; 2]> {
    let split = Split::from_series(series)?;
    split.confidence_set(series, change_criterion(alpha)? * split.likeness(series))
}

/// The best split of a nonconstant series, or the split at a given position.
struct Split {
    index: usize,
    before: Sample,
    after: Sample,
    /// Sum of squares around the mean of all, and within the two sides.
    total: f64,
    within: f64,
}

impl Split {
    fn from_series(series: &[f64]) -> Option<Self> {
        if series.len() < 2 * FEWEST_IN_SEGMENT {
            return None;
        }
        Self::at(series, best_split(series, Sample::of(series)?.mean))
    }

    /// Splits before `index`; `None` for a constant series and for an empty side.
    fn at(series: &[f64], index: usize) -> Option<Self> {
        let (n, whole) = (series.len(), Sample::of(series)?);
        let total: f64 = series.iter().map(|value| (value - whole.mean).powi(2)).sum();
        let (before, after) = (Sample::of(&series[..index])?, Sample::of(&series[index..])?);
        if total <= EXACT * n as f64 * whole.mean.powi(2) {
            return None;
        }
        let within = squares(&before)? + squares(&after)?;
        let within = if within <= EXACT * total { 0.0 } else { within };
        Some(Self { index, before, after, total, within })
    }

    /// Returns the change with its p, if `likeness` values count as one independent value.
    fn tested(&self, likeness: f64) -> Option<ChangePoint> {
        let n = (self.before.n + self.after.n) as f64;
        let (before, after) = (self.before.mean, self.after.mean);
        let freedom = n / likeness - 2.0;
        let weight = self.before.n as f64 * self.after.n as f64 / n / likeness;
        let variance = self.within / (n - 2.0 * likeness);
        // The search tried so many splits, and p is multiplied by their number (Bonferroni).
        let splits = n + 1.0 - 2.0 * FEWEST_IN_SEGMENT as f64;
        let p = if freedom < 1.0 {
            1.0
        } else {
            two_sided_p(after - before, (variance / weight).sqrt(), freedom)?
        };
        Some(ChangePoint { index: self.index, before, after, p: (p * splits).min(1.0) })
    }

    /// Returns how many values count as one independent value: `(1 + r) / (1 - r)`.
    fn likeness(&self, series: &[f64]) -> f64 {
        if self.within == 0.0 {
            return 1.0;
        }
        let (left, right) = series.split_at(self.index);
        let products = |side: &[f64], mean: f64| -> f64 {
            side.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum()
        };
        let products = products(left, self.before.mean) + products(right, self.after.mean);
        let rough = products / self.within;
        // Corrects the bias of the estimate in short series, (1 + 4 r) / n.
        let r = (rough + (1.0 + 4.0 * rough) / series.len() as f64).clamp(0.0, MOST_CORRELATED);
        (1.0 + r) / (1.0 - r)
    }

    /// Returns the first and last split with a likelihood ratio to the best one of at most `most`.
    fn confidence_set(&self, series: &[f64], most: f64) -> Option<[usize; 2]> {
        let (n, centre) = (series.len(), Sample::of(series)?.mean);
        let mut sum = 0.0;
        let mut within: Vec<(usize, f64)> = Vec::new();
        for index in 1..n {
            sum += series[index - 1] - centre;
            let between = sum * sum * n as f64 / (index as f64 * (n - index) as f64);
            if (FEWEST_IN_SEGMENT..=n - FEWEST_IN_SEGMENT).contains(&index) {
                within.push((index, (self.total - between).max(EXACT * self.total)));
            }
        }
        let least = within.iter().find(|(index, _)| *index == self.index)?.1;
        let mut ends = [self.index; 2];
        for (index, squares) in within {
            if n as f64 * (squares / least).ln() <= most {
                ends = [ends[0].min(index), ends[1].max(index)];
            }
        }
        Some(ends)
    }
}

/// The `1 - alpha` quantile of the likelihood ratio of a change point.
///
/// Source: as [`correlated_change_interval`]; 7.35 for 0.05. `None` outside 0 < alpha < 1.
pub fn change_criterion(alpha: f64) -> Option<f64> {
    (alpha > 0.0 && alpha < 1.0).then(|| -2.0 * (1.0 - (1.0 - alpha).sqrt()).ln())
}

/// Sum of squared distances from the mean.
fn squares(sample: &Sample) -> Option<f64> {
    Some(sample.sd?.powi(2) * (sample.n - 1) as f64)
}

/// Split with the largest sum of squares between the two sides; the first among equals.
fn best_split(series: &[f64], centre: f64) -> usize {
    let n = series.len();
    let (mut largest, mut best) = (f64::NEG_INFINITY, FEWEST_IN_SEGMENT);
    let mut sum = 0.0;
    for (position, value) in series.iter().enumerate() {
        let index = position + 1;
        sum += value - centre;
        // The deviations from the mean add up to 0, so the sum of one side determines both means.
        let between = sum * sum * n as f64 / (index as f64 * (n - index).max(1) as f64);
        if (FEWEST_IN_SEGMENT..=n - FEWEST_IN_SEGMENT).contains(&index) && between > largest {
            (largest, best) = (between, index);
        }
    }
    best
}
