//! Least squares for sums of effects, one per group: main effects of the levels if all factors vary at once (R15).

/// Effects with less than this share of their own information left are aliased with others.
const ALIASED: f64 = 1e-9;

#[derive(Clone, Debug, PartialEq)]
pub struct FittedEffects {
    /// One effect per level, in the unit of the values.
    pub effects: Vec<f64>,
    pub variance: f64,
    /// Degrees of freedom of that variance.
    pub freedom: usize,
    /// Cholesky's factor of the normal equations: lines of a lower triangle.
    factor: Vec<Vec<f64>>,
}

/// Fits `count` effects to values, each of which is the sum of the effects that its row names.
///
/// Source: the normal equations of ordinary least squares, solved by Cholesky's factor (Golub and Van Loan, "Matrix
/// Computations", 5.3). A model names all members per group except one, whose effect is 0. `None` for unequal numbers
/// of rows and values, an unknown effect, a value that is not finite, no degree of freedom, and aliased effects.
pub fn fit_effects(count: usize, rows: &[Vec<usize>], values: &[f64]) -> Option<FittedEffects> {
    let freedom = rows.len().checked_sub(count).filter(|freedom| *freedom > 0)?;
    if rows.len() != values.len() || values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut normal = vec![vec![0.0; count]; count];
    let mut right = vec![0.0; count];
    for (row, value) in rows.iter().zip(values) {
        for effect in row {
            *right.get_mut(*effect)? += value;
            for other in row {
                *normal[*effect].get_mut(*other)? += 1.0;
            }
        }
    }
    let factor = cholesky(&normal)?;
    let effects = solve_transposed(&factor, solve_lower(&factor, &right));
    let residual = |(row, value): (&Vec<usize>, &f64)| {
        value - row.iter().map(|effect| effects[*effect]).sum::<f64>()
    };
    let residuals = rows.iter().zip(values).map(residual);
    let squares: f64 = residuals.map(|residual| residual * residual).sum();
    Some(FittedEffects { effects, variance: squares / freedom as f64, freedom, factor })
}

impl FittedEffects {
    /// `first - second` with its standard error; an effect that is `None` is the omitted member of a group, 0.
    ///
    /// Source: the variance of a contrast of ordinary least squares, `s² c' (X'X)^-1 c`. `None` for an unknown effect.
    pub fn difference(&self, first: Option<usize>, second: Option<usize>) -> Option<(f64, f64)> {
        let mut weights = vec![0.0; self.effects.len()];
        if let Some(first) = first {
            *weights.get_mut(first)? += 1.0;
        }
        if let Some(second) = second {
            *weights.get_mut(second)? -= 1.0;
        }
        let solved = solve_lower(&self.factor, &weights);
        let error = (self.variance * product(&solved, &solved)).sqrt();
        Some((product(&weights, &self.effects), error))
    }
}

/// Lower Cholesky factor, or `None` if the matrix is not positive definite.
fn cholesky(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let mut lines: Vec<Vec<f64>> = Vec::with_capacity(matrix.len());
    for (row, entries) in matrix.iter().enumerate() {
        let mut line: Vec<f64> = Vec::with_capacity(row + 1);
        for (entry, earlier) in entries.iter().zip(&lines) {
            let rest = entry - product(&line, earlier);
            line.push(rest / earlier.last()?);
        }
        let diagonal = entries.get(row)?;
        let rest = diagonal - product(&line, &line);
        if rest.is_nan() || rest <= ALIASED * diagonal {
            return None;
        }
        line.push(rest.sqrt());
        lines.push(line);
    }
    Some(lines)
}
/// Solves `lower x = right`, from the first row on.
fn solve_lower(lines: &[Vec<f64>], right: &[f64]) -> Vec<f64> {
    let mut solved: Vec<f64> = Vec::with_capacity(right.len());
    for (line, value) in lines.iter().zip(right) {
        let rest = value - product(line, &solved);
        solved.push(rest / line[solved.len()]);
    }
    solved
}
/// Solves `transposed(lower) x = right`, from the last row back.
fn solve_transposed(lines: &[Vec<f64>], mut right: Vec<f64>) -> Vec<f64> {
    for (row, line) in lines.iter().enumerate().rev() {
        let solved = right[row] / line[row];
        right[row] = solved;
        for (value, entry) in right.iter_mut().zip(line).take(row) {
            *value -= solved * entry;
        }
    }
    right
}

/// Sum of products, up to the end of the shorter one.
fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}
