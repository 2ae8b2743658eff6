//! Shares in whole percent, and sizes with their shares.

use std::collections::BTreeMap;

/// Sizes that a load has at most, for reads and for writes.
const MOST_SIZES: usize = 8;
/// What places and sizes are multiples of.
pub(super) const SECTOR_BYTES: u32 = 512;
/// The largest operation of a load: all that are in flight have memory for as much.
pub(super) const LARGEST_BYTES: u32 = 16 << 20;

/// Whole percents that add up to a hundred, by the largest remainders; of nothing none.
pub(super) fn percents(counts: &[u64]) -> Vec<u8> {
    let all: u128 = counts.iter().map(|count| u128::from(*count)).sum();
    if all == 0 {
        return vec![0; counts.len()];
    }
    let parts = counts.iter().map(|count| u128::from(*count) * 100);
    let (mut found, rests): (Vec<u8>, Vec<u128>) =
        parts.map(|part| ((part / all) as u8, part % all)).unzip();
    let missing = 100 - found.iter().map(|percent| usize::from(*percent)).sum::<usize>();
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(rests[*at]));
    for at in order.into_iter().take(missing) {
        found[at] += 1;
    }
    found
}

/// How often each size is met.
pub(super) type Sizes = BTreeMap<u32, u64>;

/// Some sizes with their shares in percent, the smallest first: those that one in a hundred has, and the others
/// as the nearest of these. Where the usual ones are fewer than half, the mean of each power of two.
pub(super) fn of_sizes(met: &Sizes) -> Vec<(u32, u8)> {
    let all: u64 = met.values().sum();
    let mut usual = usual_in(met, all);
    if usual.iter().filter_map(|size| met.get(size)).sum::<u64>() < all.div_ceil(2) {
        usual = usual_in(&by_power(met), all);
    }
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    for (size, count) in met {
        let far = |kept: &u32| (f64::from(*kept) / f64::from(*size)).ln().abs();
        let nearest = usual.iter().min_by(|one, other| far(one).total_cmp(&far(other)));
        *counts.entry(*nearest.unwrap_or(size)).or_default() += count;
    }
    let shares = percents(&counts.values().copied().collect::<Vec<_>>());
    let shares = counts.into_keys().zip(shares);
    shares.filter(|(_, share)| *share > 0).collect()
}

/// The sizes that one in a hundred has, or the one that is met most.
fn usual_in(met: &Sizes, all: u64) -> Vec<u32> {
    let mut order: Vec<(u64, u32)> = met.iter().map(|(size, count)| (*count, *size)).collect();
    order.sort_unstable_by(|one, other| other.cmp(one));
    let enough =
        |(at, (count, _)): &(usize, (u64, u32))| *at == 0 || count.saturating_mul(100) >= all;
    let kept = order.into_iter().enumerate().take(MOST_SIZES).filter(enough);
    kept.map(|(_, (_, size))| size).collect()
}

/// The mean of each power of two, in whole sectors, with how many there are.
fn by_power(met: &Sizes) -> Sizes {
    let mut powers: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (size, count) in met {
        let own = powers.entry(size.max(&1).ilog2()).or_default();
        own.0 += count;
        own.1 = own.1.saturating_add(count.saturating_mul(u64::from(*size)));
    }
    let mean = |(count, bytes): (u64, u64)| {
        let sectors = (bytes / count.max(1)).div_ceil(u64::from(SECTOR_BYTES));
        let bytes = sectors.max(1) * u64::from(SECTOR_BYTES);
        (bytes.min(u64::from(LARGEST_BYTES)) as u32, count)
    };
    powers.into_values().map(mean).collect()
}

/// Kolmogorov's distance of the sizes that were met from those of a load.
pub(super) fn distance(met: &Sizes, load: &[(u32, u8)]) -> f64 {
    let all = met.values().sum::<u64>().max(1) as f64;
    let mut steps: BTreeMap<u32, f64> = BTreeMap::new();
    for (size, count) in met {
        *steps.entry(*size).or_default() += *count as f64 / all;
    }
    for (size, percent) in load {
        *steps.entry(*size).or_default() -= f64::from(*percent) / 100.0;
    }
    let mut sum = 0.0_f64;
    steps.values().fold(0.0, |most: f64, step| {
        sum += step;
        most.max(sum.abs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_add_up_to_a_hundred() {
        assert_eq!(percents(&[1, 1, 1]), [34, 33, 33]);
        assert_eq!(percents(&[0, 5]), [0, 100]);
        assert_eq!(percents(&[999, 1]), [100, 0]);
        assert_eq!(percents(&[0, 0]), [0, 0]);
        let many = percents(&[7; 13]);
        assert_eq!(many.iter().map(|one| u32::from(*one)).sum::<u32>(), 100);
    }

    #[test]
    fn usual_sizes_stay_and_rare_ones_join_the_nearest() {
        let met = Sizes::from([(4096, 700), (8192, 3), (65_536, 297)]);
        assert_eq!(of_sizes(&met), [(4096, 70), (65_536, 30)]);
        assert!((distance(&met, &of_sizes(&met)) - 0.003).abs() < 1e-9);
        assert_eq!(of_sizes(&Sizes::from([(512, 1)])), [(512, 100)]);
        assert_eq!(distance(&Sizes::from([(512, 1)]), &[(512, 100)]), 0.0);
        assert_eq!(distance(&Sizes::from([(512, 1)]), &[(4096, 100)]), 1.0);
    }

    #[test]
    fn sizes_that_are_all_different_become_means_of_powers_of_two() {
        let met: Sizes = (1..=1000).map(|at| (at * 512, 1)).collect();
        let found = of_sizes(&met);
        assert!(found.len() <= MOST_SIZES && found.iter().all(|(size, _)| size % 512 == 0));
        assert_eq!(found.iter().map(|(_, share)| u32::from(*share)).sum::<u32>(), 100);
        assert!(distance(&met, &found) < 0.3);
    }
}
