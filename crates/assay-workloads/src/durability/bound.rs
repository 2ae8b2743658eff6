//! The bound on the share of losses from a number of crash points.

use assay_core::{quantity::units::show, stats::exact::binomial_interval};

use super::counted;

const ERROR_RATE: f64 = 0.05;
/// Further numbers of crash points for which a plan prints the bound.
const OTHER_CUTS: [u64; 4] = [60, 300, 1000, 3000];

/// Upper bound on the share of crash points with a loss, after `lost` of `cuts`: exact, one-sided, 95%. Without a loss
/// it is 1 - 0.05^(1/n), about 3.0/n, with full precision for any number. `None` without crash points.
///
/// Source: Clopper and Pearson, as [`binomial_interval`]: its upper end at 10% two-sided is that at 5% one-sided.
pub fn loss_share_bound(lost: u64, cuts: u64) -> Option<f64> {
    if lost == 0 && cuts > 0 {
        return Some(-(ERROR_RATE.ln() / cuts as f64).exp_m1());
    }
    binomial_interval(lost, cuts, 2.0 * ERROR_RATE).map(|[_, most]| most)
}

/// Formats a share as a percentage with three digits, rounded up: an upper bound must not be too small.
pub fn percent_rounded_up(share: f64) -> String {
    let percent = 100.0 * share;
    if !(percent > 0.0 && percent < 100.0) {
        return show::share(share);
    }
    // 10 to the number of decimal places: 100 for 4.87%.
    let scale = 10_f64.powf((2.0 - percent.log10().floor()).max(0.0));
    // Without the last factor, a rounding error above an exact value would round up a whole digit.
    let rounded_up = (percent * scale * (1.0 - 1e-12)).ceil() / scale;
    format!("{rounded_up}%")
}

/// Describes the upper bound if no crash point loses a write, for the planned number of crash points and for others.
pub fn describe(cuts: u64) -> String {
    let bound_words = |cuts: u64| {
        let bound =
            loss_share_bound(0, cuts).map_or_else(|| "nothing".to_owned(), percent_rounded_up);
        format!("{bound} with {}", counted(cuts, "crash point"))
    };
    let others: Vec<String> =
        OTHER_CUTS.into_iter().filter(|count| *count != cuts).map(bound_words).collect();
    format!(
        "one-sided 95% upper bound if a row loses no acknowledged write: {} ({})",
        bound_words(cuts),
        others.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_of_none_is_the_rule_of_three() {
        // 1 - 0.05^(1/n).
        for (cuts, most) in
            [(1, 0.95), (60, 0.048_703), (300, 0.009_936), (1000, 0.002_991), (10_000, 0.000_299_5)]
        {
            let found = loss_share_bound(0, cuts).unwrap();
            assert!((found - most).abs() < 1e-6, "{cuts}: {found}");
            let [_, exact] = binomial_interval(0, cuts, 0.1).unwrap();
            assert!((found - exact).abs() < 1e-9, "{cuts}: {found} and {exact}");
        }
        assert_eq!(loss_share_bound(0, 0), None);
    }

    /// Rounding 4.8703% to "at most 4.87%" would be too small.
    #[test]
    fn a_bound_is_rounded_up_and_is_never_nothing() {
        let of = |cuts| percent_rounded_up(loss_share_bound(0, cuts).unwrap());
        for (cuts, told) in [
            (1, "95%"),
            (59, "4.96%"),
            (60, "4.88%"),
            (300, "0.994%"),
            (1000, "0.3%"),
            (3000, "0.0999%"),
            (1_000_000, "0.0003%"),
        ] {
            assert_eq!(of(cuts), told, "{cuts} cuts");
        }
        for cuts in 1..2000 {
            let told: f64 = of(cuts).trim_end_matches('%').parse().unwrap();
            let exact = 100.0 * loss_share_bound(0, cuts).unwrap();
            assert!(told >= exact - 1e-9 && told < 1.011 * exact, "{cuts}: {told} and {exact}");
        }
        assert_eq!([percent_rounded_up(1.0), percent_rounded_up(0.9999)], ["100%", "100%"]);
    }

    /// `qbeta(0.95, k + 1, n - k)` of R.
    #[test]
    fn one_loss_makes_the_bound_wider_and_all_leave_none() {
        let one = loss_share_bound(1, 60).unwrap();
        assert!((one - 0.076_63).abs() < 5e-5, "{one}");
        assert!(one > loss_share_bound(0, 60).unwrap());
        assert_eq!(loss_share_bound(60, 60), Some(1.0));
    }

    #[test]
    fn a_plan_is_told_which_number_gives_which_bound() {
        let told = describe(60);
        assert!(told.contains("4.88% with 60"), "{told}");
        assert!(told.contains("0.3% with 1,000") && !told.contains("(4.88%"), "{told}");
    }
}
