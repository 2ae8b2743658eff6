//! Goodness of fit: Pearson's chi-square, as a number that is comparable for any number of cells.

/// Minimum expected draws per cell; smaller cells are merged.
const FEWEST: f64 = 10.0;

/// Standard deviations of chi-square from its expectation (approximation of Wilson and Hilferty, 1931): data of the
/// distribution exceeds 4.5 once in about 300,000 cases.
///
/// # Panics
/// There are fewer than two cells.
pub fn off(counts: &[u64], probabilities: &[f64]) -> f64 {
    let draws = counts.iter().sum::<u64>() as f64;
    let (mut chi_square, mut cells) = (0.0, 0_u32);
    let mut rest = (0.0, 0.0);
    let mut take = |count: f64, expected: f64| {
        chi_square += (count - expected).powi(2) / expected;
        cells += 1;
    };
    for (count, probability) in counts.iter().zip(probabilities) {
        let (count, expected) = (*count as f64, probability * draws);
        if expected < FEWEST {
            rest = (rest.0 + count, rest.1 + expected);
        } else {
            take(count, expected);
        }
    }
    if rest.1 >= FEWEST {
        take(rest.0, rest.1);
    }
    assert!(cells > 1, "{cells} cells tell nothing");
    let freedom = f64::from(cells - 1);
    let spread = 2.0 / (9.0 * freedom);
    ((chi_square / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

#[cfg(test)]
mod tests {
    use super::off;

    #[test]
    fn what_follows_the_law_is_near_and_what_does_not_is_far() {
        let probabilities = [1.0 / 11.0; 11];
        // Chi-square of 17.98 with ten degrees of freedom: 5% is above 18.31, which is 1.645 in the normal
        // distribution.
        let counts = [113, 87, 114, 86, 113, 87, 114, 86, 113, 87, 100];
        let found = off(&counts, &probabilities);
        assert!((found - 1.598).abs() < 0.001, "{found}");
        assert!(off(&[100; 11], &probabilities) < -4.0, "nothing is as even as that");
        let mut other = [100; 11];
        (other[0], other[1]) = (200, 0);
        assert!(off(&other, &probabilities) > 10.0);
    }

    #[test]
    fn cells_that_expect_little_are_one() {
        let probabilities = [0.5, 0.4, 0.05, 0.05];
        assert_eq!(off(&[50, 40, 10, 0], &probabilities), off(&[50, 40, 5, 5], &probabilities));
    }
}
