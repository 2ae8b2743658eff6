//! Published numbers.

/// Returns whether an amount rounds, or is truncated, to printed digits: published numbers are both.
pub fn says(printed: f64, decimals: usize, amount: f64) -> bool {
    let unit = 10_f64.powi(decimals as i32);
    let scaled = amount * unit;
    // Products of decimals can miss the whole number by a rounding error.
    let nudged = scaled + scaled.abs() * 1e-12;
    let wanted = (printed * unit).round();
    nudged.round() == wanted || nudged.trunc() == wanted
}

/// Decimals that a number needs to be written: those that were printed, without zeros at the end.
pub fn decimals(printed: f64) -> usize {
    printed.to_string().split_once('.').map_or(0, |(_, digits)| digits.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_rounded_or_cut_off() {
        assert!(says(26.32, 2, 26.327) && says(26.33, 2, 26.327));
        assert!(!says(26.32, 2, 26.314) && !says(19.06, 2, 11.744));
        assert!(says(0.3, 1, 0.1 + 0.2));
    }

    #[test]
    fn decimals_are_those_that_are_needed() {
        assert_eq!([79.16, 70.5, 100.0].map(decimals), [2, 1, 0]);
    }
}
