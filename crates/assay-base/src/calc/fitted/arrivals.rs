//! How often requests come, and by which law.

/// Operations per second that a study may ask for.
const MOST_PER_S: f64 = 10_000_000.0;
/// Gaps so near to their mean count as even.
const EVEN: f64 = 0.05;

/// When requests come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Their number in a second: the inverse of the mean gap, which is its maximum likelihood for both laws.
    pub per_s: u64,
    /// At random distances (exponential gaps), or at even ones.
    pub is_poisson: bool,
    /// Kolmogorov's distance of the gaps from those of the law.
    pub distance: f64,
    /// The same as it is: a study has whole numbers, and neither less than one nor any number.
    pub mean_per_s: f64,
}

/// Of times that rise; none where all are the same moment, or there are not two.
pub(super) fn of(times: &[u64]) -> Option<Arrivals> {
    let mut gaps: Vec<u64> = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    let mean = gaps.iter().map(|gap| *gap as f64).sum::<f64>() / gaps.len().max(1) as f64;
    if mean <= 0.0 {
        return None;
    }
    gaps.sort_unstable();
    let (poisson, fixed) = (from_exponential(&gaps, mean), from_even(&gaps, mean));
    let per_s = 1e9 / mean;
    Some(Arrivals {
        per_s: per_s.round().clamp(1.0, MOST_PER_S) as u64,
        is_poisson: poisson < fixed,
        distance: poisson.min(fixed),
        mean_per_s: per_s,
    })
}

/// Kolmogorov's distance of sorted gaps from an exponential law.
fn from_exponential(gaps: &[u64], mean: f64) -> f64 {
    let all = gaps.len() as f64;
    let apart = |(at, gap): (usize, &u64)| {
        let law = -(-(*gap as f64) / mean).exp_m1();
        let (below, here) = (at as f64 / all, (at + 1) as f64 / all);
        (law - below).abs().max((here - law).abs())
    };
    gaps.iter().enumerate().map(apart).fold(0.0, f64::max)
}

/// The same from one gap that is always the mean, with some room around it.
fn from_even(gaps: &[u64], mean: f64) -> f64 {
    let below = gaps.partition_point(|gap| (*gap as f64) < (1.0 - EVEN) * mean);
    let within = gaps.partition_point(|gap| (*gap as f64) <= (1.0 + EVEN) * mean);
    below.max(gaps.len() - within) as f64 / gaps.len() as f64
}

/// How many were under way at the same time at most; none where no end is known.
pub(super) fn most_in_flight(spans: impl Iterator<Item = (u64, u64)>) -> Option<usize> {
    let (mut begins, mut ends): (Vec<u64>, Vec<u64>) = spans.unzip();
    begins.sort_unstable();
    ends.sort_unstable();
    if begins == ends {
        return None;
    }
    let (mut ended, mut most) = (0, 0);
    for (begun, at) in begins.iter().enumerate() {
        while ends.get(ended).is_some_and(|end| end <= at) && ended < begun {
            ended += 1;
        }
        most = most.max(begun + 1 - ended);
    }
    Some(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_and_random_distances_are_told_apart() {
        let even: Vec<u64> = (0..1000).map(|at| at * 500_000 + at % 3).collect();
        let found = of(&even).unwrap();
        assert!(found.per_s == 2000 && !found.is_poisson && found.distance < 0.01, "{found:?}");
        // Quantiles of the exponential law, in an order that does not matter here.
        let mut at = 0.0;
        let random: Vec<u64> = (0..2000)
            .map(|index| {
                at -= (1.0 - (f64::from(index) + 0.5) / 2000.0).ln() * 1e6;
                at as u64
            })
            .collect();
        let found = of(&random).unwrap();
        assert!(found.per_s.abs_diff(1000) < 5 && found.is_poisson, "{found:?}");
        assert!(found.distance < 0.01, "{found:?}");
    }

    #[test]
    fn bursts_are_far_from_both() {
        let bursts: Vec<u64> = (0..1000).map(|at| at / 100 * 1_000_000_000 + at % 100).collect();
        assert!(of(&bursts).unwrap().distance > 0.5);
    }

    #[test]
    fn of_one_moment_there_is_no_rate() {
        assert_eq!(of(&[5, 5, 5]), None);
        assert_eq!(of(&[5]), None);
        assert_eq!(of(&[]), None);
        let slow = of(&[0, 9_000_000_000]).unwrap();
        assert!(slow.per_s == 1 && slow.mean_per_s < 0.2);
        let fast = of(&[0, 0, 0, 100]).unwrap();
        assert!(fast.per_s == 10_000_000 && fast.mean_per_s > 2.9e7);
    }

    #[test]
    fn what_is_under_way_is_counted_where_ends_are_known() {
        let spans = [(0, 10), (5, 12), (11, 20), (30, 31)];
        assert_eq!(most_in_flight(spans.into_iter()), Some(2));
        assert_eq!(most_in_flight([(1, 1), (2, 2)].into_iter()), None);
        assert_eq!(most_in_flight([(0, 9), (1, 9), (2, 9)].into_iter()), Some(3));
    }
}
