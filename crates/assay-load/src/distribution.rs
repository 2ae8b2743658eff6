//! Draws of a place by the law of an [`Access`]: exact laws, no tables, no memory but a few numbers.

use crate::access::MOST_ZONES;
use crate::random::{below, unit};
use crate::scatter::Permutation;
use crate::{Access, Zones};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Draw {
    Uniform { places: u64 },
    Zipf { law: Zipf, scatter: Permutation },
    Pareto { places: u64, power: f64, scatter: Permutation },
    Zones { places: u64, zones: [ZonePart; MOST_ZONES], count: usize },
}

/// A zone: draws of percent below this, and not below the one before, go to its places.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ZonePart {
    below: u64,
    first: u64,
    /// 0 if there are fewer places than zones.
    places: u64,
}

/// Divides the places among the zones: at least one each, if there are enough.
fn divide_places(zones: &Zones, places: u64) -> [ZonePart; MOST_ZONES] {
    let mut parts = [ZonePart::default(); MOST_ZONES];
    let count = zones.all().len() as u64;
    let (mut operations_percent, mut area_percent, mut first) = (0, 0, 0);
    for ((index, zone), part) in (0..).zip(zones.all()).zip(&mut parts) {
        operations_percent += u64::from(zone.operations_percent);
        area_percent += u128::from(zone.area_percent);
        let proportional_end = (u128::from(places) * area_percent / 100) as u64;
        // This zone and the earlier ones need a place each, and so do the later ones.
        let latest_end = places.saturating_sub(count - 1 - index);
        let end = proportional_end.max(index + 1).min(latest_end).max(first);
        *part = ZonePart { below: operations_percent, first, places: end - first };
        first = end;
    }
    parts
}

impl Draw {
    /// A distribution over `places`, at least 1. The seed alone scatters the ranks, so all threads agree.
    pub(crate) fn new(access: Access, places: u64, seed: u64) -> Self {
        let places = places.max(1);
        let scatter = Permutation::new(places, seed);
        match access {
            Access::Uniform => Self::Uniform { places },
            Access::Zipf(theta) => Self::Zipf { law: Zipf::new(places, theta.value()), scatter },
            Access::Pareto(share) => {
                // This power gives the first `share` of the ranks `1 - share` of the draws.
                let share = share.value();
                Self::Pareto { places, power: share.ln() / (-share).ln_1p(), scatter }
            }
            Access::Zones(zones) => {
                let count = zones.all().len();
                Self::Zones { places, zones: divide_places(&zones, places), count }
            }
        }
    }

    #[inline]
    pub(crate) fn next(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match self {
            Self::Uniform { places } => below(rng, *places),
            _ => self.next_by_law(rng),
        }
    }

    /// Like [`Draw::next`] for each law; not inlined, to keep `next` short.
    #[inline(never)]
    fn next_by_law(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        match self {
            Self::Uniform { places } => below(rng, *places),
            Self::Zipf { law, scatter } => scatter.at(law.next(rng) - 1),
            Self::Pareto { places, power, scatter } => {
                let rank = (*places as f64 * unit(rng.next_u64()).powf(*power)) as u64;
                scatter.at(rank.min(places - 1))
            }
            Self::Zones { places, zones, count } => {
                let drawn = below(rng, 100);
                let zone = zones[..*count].iter().find(|zone| drawn < zone.below);
                match zone.filter(|zone| zone.places > 0) {
                    Some(zone) => zone.first + below(rng, zone.places),
                    // There are fewer places than zones.
                    None => below(rng, *places),
                }
            }
        }
    }
}

/// Ranks by Zipf's law, by rejection inversion (Hörmann and Derflinger 1996, "Rejection-inversion to generate variates
/// from monotone discrete distributions"), in the form of Apache Commons `RejectionInversionZipfSampler`, which is
/// exact near and at an exponent of 1. A draw takes little more than one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Zipf {
    places: f64,
    exponent: f64,
    /// The integral of the hat from rank 1, with the probability of rank 1 as its part, to the last rank.
    first: f64,
    last: f64,
    /// A rank at most this far above its `x` is accepted without a test.
    near: f64,
}

impl Zipf {
    fn new(places: u64, exponent: f64) -> Self {
        let places = places as f64;
        let mut law = Self { places, exponent, first: 0.0, last: 0.0, near: 0.0 };
        // The hat of a rank extends half a rank to both sides; `near` is `s` in the paper above.
        law.first = law.integral(1.5) - 1.0;
        law.last = law.integral(places + 0.5);
        law.near = 2.0 - law.inverse(law.integral(2.5) - law.height(2.0));
        law
    }

    /// Draws a rank, at least 1.
    #[inline]
    fn next(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
        loop {
            // Uniform in (first, last], the range of the integral.
            let drawn = self.last + unit(rng.next_u64()) * (self.first - self.last);
            let x = self.inverse(drawn);
            let rank = (x + 0.5).floor().clamp(1.0, self.places);
            if rank - x <= self.near || drawn >= self.integral(rank + 0.5) - self.height(rank) {
                return rank as u64;
            }
        }
    }

    /// The density without its constant: `x` to the power of minus the exponent.
    fn height(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// Its integral from 1 to `x`: `(x^(1-s) - 1) / (1-s)`, and `ln x` if `s` is 1.
    fn integral(&self, x: f64) -> f64 {
        let ln = x.ln();
        exp_ratio((1.0 - self.exponent) * ln) * ln
    }

    /// The `x` up to which the integral has a value.
    fn inverse(&self, value: f64) -> f64 {
        // Rounding may exceed the domain of the logarithm.
        let t = (value * (1.0 - self.exponent)).max(-1.0);
        (ln_ratio(t) * value).exp()
    }
}

/// `ln(1+x)/x`; its series for `x` near 0.
fn ln_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x * (1.0 / 3.0 - 0.25 * x)) }
}

/// `(exp(x)-1)/x`; its series for `x` near 0.
fn exp_ratio(x: f64) -> f64 {
    if x.abs() > 1e-8 {
        x.exp_m1() / x
    } else {
        1.0 + x * 0.5 * (1.0 + x * (1.0 / 3.0) * (1.0 + 0.25 * x))
    }
}

#[cfg(test)]
mod tests {
    use assay_testkit::goodness::off;

    use super::*;
    use crate::random::{Purpose, generator};

    const DRAWS: u64 = 200_000;
    const ZONES: &str = "zoned:50/1:30/98:20/1";

    fn draw(access: &str, places: u64) -> Draw {
        Draw::new(access.parse().unwrap(), places, 5)
    }

    /// How often each place is drawn.
    fn counts(access: &str, places: u64) -> Vec<u64> {
        let (draw, mut rng) = (draw(access, places), generator(5, 0, Purpose::Offsets));
        let mut counts = vec![0; places as usize];
        (0..DRAWS).for_each(|_| counts[draw.next(&mut rng) as usize] += 1);
        counts
    }

    /// The same by rank: undoes the bijection.
    fn by_rank(access: &str, places: u64) -> Vec<u64> {
        let (counts, scatter) = (counts(access, places), Permutation::new(places, 5));
        (0..places).map(|rank| counts[scatter.at(rank) as usize]).collect()
    }

    /// Probabilities of ranks by Zipf's law, by the sum itself.
    fn zipf(theta: f64, places: u64) -> Vec<f64> {
        let weights: Vec<f64> = (1..=places).map(|rank| (rank as f64).powf(-theta)).collect();
        let sum: f64 = weights.iter().rev().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    #[test]
    #[ignore = "nightly: 1 s"]
    fn ranks_follow_zipfs_law() {
        for theta in [0.1, 0.9, 0.999, 1.0, 1.001, 1.2, 3.0] {
            for places in [2, 10, 1000, 20_000] {
                let off = off(&by_rank(&format!("zipf:{theta}"), places), &zipf(theta, places));
                // The stream is deterministic, so four standard deviations are not chance.
                assert!(off < 4.5, "zipf:{theta} of {places}: {off}");
            }
        }
    }

    #[test]
    fn another_law_is_seen() {
        let off = off(&by_rank("zipf:1.2", 1000), &zipf(1.15, 1000));
        assert!(off > 10.0, "{off}");
    }

    #[test]
    fn ranks_follow_the_pareto_law_of_fio() {
        for share in [0.1, 0.2, 0.4, 0.7] {
            let places = 500_u64;
            // Share of the first `k` places: (k/n) to the power of ln(1-h)/ln h.
            let power = f64::ln(1.0 - share) / f64::ln(share);
            let up_to = |rank: u64| (rank as f64 / places as f64).powf(power);
            let exact: Vec<f64> = (0..places).map(|rank| up_to(rank + 1) - up_to(rank)).collect();
            let found = by_rank(&format!("pareto:{share}"), places);
            let off = off(&found, &exact);
            assert!(off < 4.5, "pareto:{share}: {off}");
            let first = (share * places as f64).round() as usize;
            let there = found[..first].iter().sum::<u64>() as f64 / DRAWS as f64;
            assert!((there - (1.0 - share)).abs() < 0.005, "pareto:{share}: {there}");
        }
    }

    #[test]
    fn a_hot_spot_lies_at_the_start_and_has_its_share() {
        let found = counts("zoned:80/20:20/80", 500);
        let exact: Vec<f64> =
            (0..500).map(|place| if place < 100 { 0.8 / 100.0 } else { 0.2 / 400.0 }).collect();
        let off = off(&found, &exact);
        assert!(off < 4.5, "{off}");
    }

    #[test]
    fn zones_follow_each_other_and_have_their_shares() {
        let found = counts("zoned:50/5:30/15:20/80", 1000);
        let exact = |place: u64| match place {
            0..50 => 0.5 / 50.0,
            50..200 => 0.3 / 150.0,
            _ => 0.2 / 800.0,
        };
        let exact: Vec<f64> = (0..1000).map(exact).collect();
        let off = off(&found, &exact);
        assert!(off < 4.5, "{off}");
    }

    #[test]
    fn few_places_are_drawn_too() {
        for access in [
            "uniform",
            "zipf:1.2",
            "zipf:1",
            "pareto:0.2",
            "zoned:99/1:1/99",
            "zoned:1/99:99/1",
            ZONES,
        ] {
            assert_eq!(counts(access, 1), [DRAWS], "{access}");
            assert!(counts(access, 2).iter().all(|count| *count > 0), "{access}");
        }
    }

    #[test]
    fn places_without_number_stay_below_it() {
        let mut rng = generator(9, 0, Purpose::Offsets);
        for access in ["zipf:0.01", "zipf:1", "zipf:9.999", "pareto:0.001", "pareto:0.999"] {
            for places in [(1 << 40) + 3, 1 << 51] {
                let draw = draw(access, places);
                assert!((0..10_000).all(|_| draw.next(&mut rng) < places), "{access}");
            }
        }
    }

    #[test]
    fn what_is_met_most_is_no_neighbour_of_the_next() {
        let (places, counts) = (10_000, counts("zipf:1.2", 10_000));
        let mut most: Vec<u64> = (0..places).collect();
        most.sort_by_key(|place| std::cmp::Reverse(counts[*place as usize]));
        let near = most[..20].windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 50).count();
        assert!(near < 3, "{:?}", &most[..20]);
    }
}
