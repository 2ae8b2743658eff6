//! Random streams: one per seed, thread and purpose, so they are independent.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Step of SplitMix64, the odd number nearest to 2^64 over the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Offsets = 1,
    Mix = 2,
    Content = 3,
    Latency = 4,
    Names = 5,
    Sizes = 6,
    Scatter = 7,
    /// Offsets of writes, if separate from those of reads.
    Apart = 8,
    Arrivals = 9,
    Changes = 10,
    /// Blocks of duplicates, their changes, and their order.
    Copies = 11,
    CopyChanges = 12,
    CopyDraws = 13,
}

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection that mixes all bits.
pub fn mix64(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

pub(crate) fn key(seed: u64, thread: u32, purpose: Purpose) -> u64 {
    let stream = u64::from(thread) << 8 | purpose as u64;
    mix64(mix64(seed.wrapping_add(GOLDEN)).wrapping_add(stream.wrapping_mul(GOLDEN)))
}

/// Number `index` of the stream with this key, independent of earlier calls.
pub(crate) fn at(key: u64, index: u64) -> u64 {
    mix64(key.wrapping_add(index.wrapping_add(1).wrapping_mul(GOLDEN)))
}

pub(crate) fn generator(seed: u64, thread: u32, purpose: Purpose) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(key(seed, thread, purpose))
}

/// Maps random bits to a uniform number in `[0, 1)`, in steps of 2 to the power of -53.
#[inline]
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

/// Uniform in `0..bound` without bias (Lemire 2019); `bound` is at least 1.
#[inline]
pub(crate) fn below(rng: &mut impl Rng, bound: u64) -> u64 {
    let product = u128::from(rng.next_u64()) * u128::from(bound);
    if (product as u64) < bound { redraw(rng, bound, product) } else { (product >> 64) as u64 }
}

/// Rejection step of an unbiased draw; rare for small bounds.
#[cold]
fn redraw(rng: &mut impl Rng, bound: u64, mut product: u128) -> u64 {
    // Values under this threshold would give some results one chance too many.
    let threshold = bound.wrapping_neg() % bound;
    while (product as u64) < threshold {
        product = u128::from(rng.next_u64()) * u128::from(bound);
    }
    (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_matches_its_published_stream() {
        // First outputs of SplitMix64 from state 1234567 (Vigna's reference code).
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([at(1_234_567, 0), at(1_234_567, 1)], expected);
    }

    #[test]
    fn streams_differ() {
        let keys = [
            key(1, 0, Purpose::Offsets),
            key(2, 0, Purpose::Offsets),
            key(1, 1, Purpose::Offsets),
            key(1, 0, Purpose::Mix),
        ];
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[i + 1..].iter().all(|b| a != b));
        }
    }

    #[test]
    fn bounded_draws_stay_below_and_have_no_bias() {
        let mut rng = generator(7, 0, Purpose::Offsets);
        for bound in [1, 2, 3, 100, u64::from(u32::MAX) + 2, u64::MAX] {
            assert!((0..1000).all(|_| below(&mut rng, bound) < bound));
        }
        // A bound of 3/4 of the range shows the bias of plain multiplication: the lowest third of the results would
        // have a share of one half.
        let bound = 3 << 62;
        let low = (0..30_000).filter(|_| below(&mut rng, bound) < bound / 3).count();
        assert!((9_500..10_500).contains(&low), "{low}");
    }
}
