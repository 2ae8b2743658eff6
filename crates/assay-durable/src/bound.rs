//! What a number of cuts says about all of them.

use assay_base::quantity::units::show;
use assay_stats::exact::binomial_interval;

/// Twice what may be beyond a one-sided bound of 95 %.
const BOTH_SIDES: f64 = 0.10;
/// Numbers of cuts that a plan tells the bounds of, beside its own.
const USUAL: [u64; 4] = [60, 300, 1000, 3000];

/// The most that the share of cuts which lose something may be, after so many of so many did: exact, one-sided,
/// 95 %. With none that is 1 - 0.05^(1/n), about 3.0/n. None of no cuts.
///
/// Source: Clopper and Pearson, as [`binomial_interval`], whose upper end with 10 % beyond both is that with
/// 5 % beyond one.
pub fn most_share(lost: u64, cuts: u64) -> Option<f64> {
    binomial_interval(lost, cuts, BOTH_SIDES).map(|[_, most]| most)
}

/// A share of cuts, in percent with three digits.
pub fn percent(share: f64) -> String {
    show::share(share)
}

/// Which number of cuts gives which bound where none loses anything, beginning with the own one.
pub fn told(cuts: u64) -> String {
    let of = |cuts: u64| {
        let most = most_share(0, cuts).map_or_else(|| "nothing".to_owned(), percent);
        format!("{} {}: {most}", show::count(cuts), if cuts == 1 { "cut" } else { "cuts" })
    };
    let others: Vec<String> = USUAL.into_iter().filter(|own| *own != cuts).map(of).collect();
    format!(
        "if none loses anything, at most so many percent would (95 %): {} ({})",
        of(cuts),
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
            let found = most_share(0, cuts).unwrap();
            assert!((found - most).abs() < 1e-6, "{cuts}: {found}");
            let exact = 1.0 - 0.05_f64.powf(1.0 / cuts as f64);
            assert!((found - exact).abs() < 1e-9, "{cuts}: {found} and {exact}");
        }
        assert_eq!(percent(most_share(0, 60).unwrap()), "4.87 %");
        assert_eq!(most_share(0, 0), None);
    }

    /// `qbeta(0.95, k + 1, n - k)` of R.
    #[test]
    fn one_loss_makes_the_bound_wider_and_all_leave_none() {
        let one = most_share(1, 60).unwrap();
        assert!((one - 0.076_63).abs() < 5e-5, "{one}");
        assert!(one > most_share(0, 60).unwrap());
        assert_eq!(most_share(60, 60), Some(1.0));
    }

    #[test]
    fn a_plan_is_told_which_number_gives_which_bound() {
        let told = told(60);
        assert!(told.contains("60 cuts: 4.87 %"), "{told}");
        assert!(told.contains("1,000 cuts: 0.3 %") && !told.contains("(60 cuts"), "{told}");
    }
}
