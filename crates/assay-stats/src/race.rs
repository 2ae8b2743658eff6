//! What decides who leaves a race of many arms (R15): a variance that leans on all of them, and a half-width
//! that holds at every look at once.

/// Degrees of freedom that all arms together lend to each.
const LENT: f64 = 6.0;

/// The variance of the paired differences of one arm, moderated by the mean over all arms (the form of limma:
/// Smyth 2004): `(6 mean + (n - 1) own) / (n + 5)`.
pub fn moderated_variance(own: f64, n: usize, mean: f64) -> f64 {
    let own_freedom = n.saturating_sub(1) as f64;
    (LENT * mean + own_freedom * own) / (LENT + own_freedom)
}

/// Half-width of the confidence sequence of a mean of `n` values with this variance: a normal mixture (Robbins
/// 1970), which holds at every `n` at once but for a share `alpha`. None without values, and where there is no
/// such share.
pub fn normal_mixture_half_width(variance: f64, n: usize, alpha: f64) -> Option<f64> {
    if n == 0 || !(alpha > 0.0 && alpha < 1.0) || !(variance >= 0.0 && variance.is_finite()) {
        return None;
    }
    let n = n as f64;
    let logarithms = (n / 2.0 + 1.0).ln() - 2.0 * alpha.ln();
    Some((variance * (n + 2.0) / (n * n) * logarithms).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-6, "{found} for {wanted}");
    }

    #[test]
    fn few_values_lean_on_all_arms_and_many_on_themselves() {
        // (6 x 4 + 2 x 1) / 8, by hand.
        near(moderated_variance(1.0, 3, 4.0), 3.25);
        // One value says nothing of its own spread.
        near(moderated_variance(9.0, 1, 4.0), 4.0);
        near(moderated_variance(1.0, 0, 4.0), 4.0);
        near(moderated_variance(1.0, 1_000_001, 4.0), 1.000_018);
    }

    #[test]
    fn the_half_width_is_that_of_the_rule() {
        // n = 3, eight arms at 5 %: sqrt(0.0018 x 5/9 x (ln 2.5 + 2 ln 140)), by hand.
        near(normal_mixture_half_width(0.0018, 3, 0.05 / 7.0).unwrap(), 0.103_921);
        // n = 20, 32 arms: sqrt(0.0018 x 22/400 x (ln 11 + 2 ln 620)), by hand.
        near(normal_mixture_half_width(0.0018, 20, 0.05 / 31.0).unwrap(), 0.038_865);
        near(normal_mixture_half_width(0.0, 3, 0.05).unwrap(), 0.0);
    }

    #[test]
    fn what_has_no_answer_has_none() {
        assert_eq!(normal_mixture_half_width(1.0, 0, 0.05), None);
        assert_eq!(normal_mixture_half_width(1.0, 3, 0.0), None);
        assert_eq!(normal_mixture_half_width(1.0, 3, 1.0), None);
        assert_eq!(normal_mixture_half_width(f64::NAN, 3, 0.05), None);
        assert_eq!(normal_mixture_half_width(f64::INFINITY, 3, 0.05), None);
    }

    #[test]
    fn it_narrows_with_every_value_and_widens_with_every_arm() {
        let width = |n, alpha| normal_mixture_half_width(1.0, n, alpha).unwrap();
        assert!((1..100).all(|n| width(n + 1, 0.05) < width(n, 0.05)));
        assert!(width(5, 0.05 / 200.0) > width(5, 0.05 / 8.0));
    }
}
