//! Drift over the study and carry-over from one trial to the next (rule R10).

use statrs::distribution::{ContinuousCDF, FisherSnedecor};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::ln_gamma;

use crate::stats::sample::{Sample, two_sided_p};

/// Maximum number of columns of the design matrix; larger designs get no test.
const MOST_COLUMNS: usize = 600;

/// A column with a smaller share of its sum of squares left is linearly dependent on earlier columns.
const ALIASED: f64 = 1e-9;

/// Residual sums of squares below this share of the total are rounding errors of an exact fit.
const EXACT: f64 = 1e-24;

/// Straight line fitted by least squares, with its test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    pub n: usize,
    /// Change of y for each unit of x.
    pub slope: f64,
    /// y at x = 0.
    pub intercept: f64,
    /// Standard error of the slope, with n - 2 degrees of freedom.
    pub standard_error: f64,
    /// Two-sided p of no slope.
    pub p: f64,
}

/// F test of a set of effects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FTest {
    /// Mean square of the effects over the residual one.
    pub f: f64,
    /// Degrees of freedom of the effects.
    pub df1: usize,
    /// Residual degrees of freedom.
    pub df2: usize,
    pub p: f64,
    /// Residual mean square, in the unit of the values squared.
    pub residual: f64,
    /// Smallest sum of squares, over the tested labels, that an effect of 1 adds after adjusting for other columns.
    pub weight: f64,
}
const MOST_NONCENTRAL: f64 = 1e4;
/// Halvings of a range: eight digits.
const STEPS: u32 = 30;

impl FTest {
    /// Returns the smallest effect of one label, in the unit of the values, that the test detects at level `alpha` with
    /// this power, for the label that is most difficult to detect.
    ///
    /// Source: the noncentral F distribution with noncentrality effect^2 weight / residual, as a Poisson mixture of
    /// beta distributions (Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions" 2, chapter 30). `None`
    /// outside 0 < alpha < power < 1, and if no effect is large enough.
    pub fn detectable(&self, alpha: f64, power: f64) -> Option<f64> {
        if !(0.0 < alpha && alpha < power && power < 1.0 && self.weight > 0.0) {
            return None;
        }
        let [a, b] = [self.df1, self.df2].map(|df| df as f64 / 2.0);
        let critical = crossing(0.0, 1.0, |x| beta_reg(a, b, x) >= 1.0 - alpha);
        let is_detected = |noncentral| power_of_f(a, b, critical, noncentral) >= power;
        // Doubles from a small bound, because large noncentralities take long and are rarely needed.
        let mut most = 16.0;
        while !is_detected(most) {
            most *= 2.0;
            if most > MOST_NONCENTRAL {
                return None;
            }
        }
        let noncentral = crossing(0.0, most, is_detected);
        Some((noncentral * self.residual / self.weight).sqrt())
    }
}

/// Finds by bisection where a condition begins to hold.
fn crossing(mut low: f64, mut high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle }
    }
    f64::midpoint(low, high)
}

/// Probability that a noncentral F exceeds `critical`, on beta's scale of 0 to 1; `a` and `b` are half the freedoms.
fn power_of_f(a: f64, b: f64, critical: f64, noncentral: f64) -> f64 {
    let mean = noncentral / 2.0;
    if mean == 0.0 {
        return 1.0 - beta_reg(a, b, critical);
    }
    // Poisson weights beyond this distance from the mean are negligible.
    let reach = 8.0 * mean.sqrt() + 12.0;
    let first = (mean - reach).max(0.0).floor() as u32;
    let mut below_critical = 0.0;
    for count in first..=(mean + reach) as u32 {
        let count = f64::from(count);
        let poisson_weight = (count * mean.ln() - mean - ln_gamma(count + 1.0)).exp();
        below_critical += poisson_weight * beta_reg(a + count, b, critical);
    }
    1.0 - below_critical
}

/// Least squares line of `y` (any unit) on `x` (any unit), with the t test of its slope.
///
/// Source: R10; Montgomery, Peck and Vining, "Introduction to Linear Regression Analysis", chapter 2; scipy
/// `linregress`. On an exact fit p is 0, or 1 where the slope is 0. `None` for slices of unequal length, below three
/// points, for a constant x and for values that are not finite.
pub fn slope(x: &[f64], y: &[f64]) -> Option<Slope> {
    let (n, x_sample, y_sample) = (x.len(), Sample::of(x)?, Sample::of(y)?);
    if n < 3 || n != y.len() {
        return None;
    }
    let freedom = (n - 2) as f64;
    let centred = || x.iter().zip(y).map(|(x, y)| (x - x_sample.mean, y - y_sample.mean));
    let x_squares: f64 = centred().map(|(x, _)| x * x).sum();
    let slope = centred().map(|(x, y)| x * y).sum::<f64>() / x_squares;
    let residual: f64 = centred().map(|(x, y)| (y - slope * x).powi(2)).sum();
    let total: f64 = centred().map(|(_, y)| y * y).sum();
    let residual = if residual <= EXACT * total { 0.0 } else { residual };
    let standard_error = (residual / freedom / x_squares).sqrt();
    let intercept = y_sample.mean - slope * x_sample.mean;
    if !(x_squares > 0.0 && slope.is_finite() && intercept.is_finite()) {
        return None;
    }
    let p = two_sided_p(slope, standard_error, freedom)?;
    Some(Slope { n, slope, intercept, standard_error, p })
}

/// One-way analysis of variance: do `values` (any unit) differ by `groups` (any labels)?
///
/// Source: R10; Fisher's F test (Montgomery, "Design and Analysis of Experiments", chapter 3;
/// scipy `f_oneway`). `None` for slices of unequal length, fewer than two groups, no more values
/// than groups, a value that is not finite, and where the values do not scatter within groups.
pub fn by_group(values: &[f64], groups: &[usize]) -> Option<FTest> {
    extra_sum_of_squares(values, &[], &[groups])
}

/// F test of carry-over: the effect of the previous trial's arm on a trial, adjusted for replicate and arm.
///
/// All slices have one entry per trial with a predecessor: the value on the log scale (residuals or plain logarithms;
/// the result is the same), the arm, the previous arm and the replicate, as arbitrary labels. Source: R10; the extra
/// sum of squares of the additive model replicate + arm + predecessor over replicate + arm (Jones and Kenward, "Design
/// and Analysis of Cross-over Trials", chapter 5). Effects aliased with replicate and arm are dropped; two chained arms
/// leave none, because both trials of a replicate follow the same arm. `None` without an effect or a residual degree of
/// freedom, for slices of unequal length, for values that are not finite or do not vary, and for 600 or more
/// replicates, arms and predecessors together.
pub fn carry_over(
    residuals: &[f64],
    arms: &[usize],
    predecessors: &[usize],
    replicates: &[usize],
) -> Option<FTest> {
    extra_sum_of_squares(residuals, &[replicates, arms], &[predecessors])
}

/// F test of the effect that the last arm of a replicate has, through the warm-up, on the first trial of the next
/// replicate, adjusted for replicate, arm and being first.
///
/// All slices have one entry per trial: the value on the log scale, the arm, the last arm of the previous replicate
/// (for a first trial; any other label for the rest), whether the trial is first (two labels), and the replicate.
/// Source: R2c; the extra sum of squares. `None` if the order aliases the effect, and as in [`carry_over`].
pub fn carry_through(
    residuals: &[f64],
    arms: &[usize],
    endings: &[usize],
    first: &[usize],
    replicates: &[usize],
) -> Option<FTest> {
    extra_sum_of_squares(residuals, &[replicates, arms, first], &[endings])
}

/// F test of the factors `tested` beyond a common mean and the factors `given`.
fn extra_sum_of_squares(values: &[f64], given: &[&[usize]], tested: &[&[usize]]) -> Option<FTest> {
    let n = values.len();
    if given.iter().chain(tested).any(|labels| labels.len() != n) {
        return None;
    }
    let centre = Sample::of(values)?.mean;
    let first_tested = 1 + given.iter().map(|labels| levels(labels).len()).sum::<usize>();
    let design = DesignMatrix::new(n, given.iter().chain(tested).copied())?;
    let mut equations = design.normal_equations(values, centre);
    let total = equations.residual_squares();
    let given_rank = equations.eliminate(0..first_tested);
    let before = equations.residual_squares();
    let weight = equations.smallest_column(first_tested..design.columns);
    let df1 = equations.eliminate(first_tested..design.columns);
    let after = equations.residual_squares();
    let df2 = n.checked_sub(given_rank + df1)?;
    // The elimination has rounding errors relative to the total sum of squares.
    if df1 == 0 || df2 == 0 || after <= 1e-12 * total {
        return None;
    }
    let residual = after / df2 as f64;
    let f = ((before - after).max(0.0) / df1 as f64) / residual;
    let p = FisherSnedecor::new(df1 as f64, df2 as f64).ok()?.sf(f);
    (f.is_finite() && p.is_finite()).then_some(FTest { f, df1, df2, p, residual, weight })
}

/// Distinct labels in ascending order.
fn levels(labels: &[usize]) -> Vec<usize> {
    let mut found = labels.to_vec();
    found.sort_unstable();
    found.dedup();
    found
}

/// A mean and one column of zeros and ones for each level of each factor.
struct DesignMatrix {
    columns: usize,
    /// Columns with a one, per row.
    ones: Vec<Vec<usize>>,
}

impl DesignMatrix {
    /// A column of ones and one per level of each factor. Each row stores the columns in which it has a one.
    fn new<'a>(rows: usize, factors: impl Iterator<Item = &'a [usize]>) -> Option<DesignMatrix> {
        let mut design = DesignMatrix { columns: 1, ones: vec![vec![0]; rows] };
        for labels in factors {
            let levels = levels(labels);
            for (row, label) in design.ones.iter_mut().zip(labels) {
                row.push(design.columns + levels.binary_search(label).ok()?);
            }
            design.columns += levels.len();
        }
        (design.columns <= MOST_COLUMNS).then_some(design)
    }

    /// Products of all columns with each other and, as the last, with `values - centre`.
    fn normal_equations(&self, values: &[f64], centre: f64) -> Equations {
        let last = self.columns;
        let mut products = vec![vec![0.0; last + 1]; last + 1];
        for (ones, value) in self.ones.iter().zip(values) {
            let value = value - centre;
            for left in ones {
                for right in ones {
                    products[*left][*right] += 1.0;
                }
                products[*left][last] += value;
                products[last][*left] += value;
            }
            products[last][last] += value * value;
        }
        Equations { diagonal: (0..last).map(|column| products[column][column]).collect(), products }
    }
}

/// Symmetric matrix of products, eliminated one column after the other.
struct Equations {
    products: Vec<Vec<f64>>,
    /// The diagonal before any elimination.
    diagonal: Vec<f64>,
}

impl Equations {
    /// Sum of squares of the values that the eliminated columns leave.
    fn residual_squares(&self) -> f64 {
        let last = self.diagonal.len();
        self.products[last][last]
    }

    /// Eliminates the columns of `range` in their order; returns how many were not aliased.
    fn eliminate(&mut self, range: std::ops::Range<usize>) -> usize {
        range.filter(|column| self.eliminate_column(*column)).count()
    }

    /// Smallest remaining sum of squares of the columns in `range`, without aliased ones.
    fn smallest_column(&self, range: std::ops::Range<usize>) -> f64 {
        let remaining = |column: usize| {
            let squares = self.products[column][column];
            (squares > ALIASED * self.diagonal[column]).then_some(squares)
        };
        range.filter_map(remaining).reduce(f64::min).unwrap_or(0.0)
    }

    /// Subtracts the column from all later ones; returns false, without a change, for an aliased column.
    fn eliminate_column(&mut self, column: usize) -> bool {
        let row = self.products[column].clone();
        if row[column] <= ALIASED * self.diagonal[column] {
            return false;
        }
        for (index, other) in self.products.iter_mut().enumerate().skip(column + 1) {
            let factor = row[index] / row[column];
            if factor != 0.0 {
                for position in column + 1..row.len() {
                    other[position] -= factor * row[position];
                }
            }
        }
        true
    }
}
