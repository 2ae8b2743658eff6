//! Fresh content for writes from a pool created before the start.
//!
//! A pool is 64 KiB of pseudo-random words. A 4 KiB piece is one of its sixteen windows, with each word XORed with a
//! word derived from the number of the piece, which takes about an eighth of the instructions of random words. Numbers
//! increase and have distinct words, so two pieces from one window differ in every word; and because the XOR covers all
//! bytes, compressors find no repetition between pieces at any window size. So a pool that fits the L2 cache is enough.

use crate::content::PIECE;
use crate::random::{Purpose, at, below, generator, key};
use crate::{Class, Job};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

const WORDS: usize = PIECE / 8;
const WINDOWS: usize = 16;
const COPIES: u64 = 256;

struct Pool {
    words: Vec<u64>,
    changes: u64,
}

impl Pool {
    fn new(seed: u64, thread: u32, purposes: [Purpose; 2]) -> Self {
        let [words, changes] = purposes;
        let mut rng = generator(seed, thread, words);
        Self {
            words: (0..WINDOWS * WORDS).map(|_| rng.next_u64()).collect(),
            changes: key(seed, thread, changes),
        }
    }

    /// Fills `piece`, at most [`PIECE`] long, with the content of a number.
    #[inline]
    fn write(&self, number: u64, piece: &mut [u8]) {
        let change = at(self.changes, number);
        let start = number as usize % WINDOWS * WORDS;
        let window = &self.words[start..start + WORDS];
        let (words, rest) = piece.as_chunks_mut::<8>();
        for (bytes, word) in words.iter_mut().zip(window) {
            *bytes = (word ^ change).to_le_bytes();
        }
        if let Some(word) = window.get(words.len()) {
            let last = (word ^ change).to_le_bytes();
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }
}

struct Copies {
    pool: Pool,
    percent: u64,
    rng: Xoshiro256PlusPlus,
}

impl Copies {
    fn new(job: &Job, thread: u32) -> Option<Self> {
        let percent = u64::from(job.duplicates.percent());
        (percent > 0).then(|| Self {
            // All threads copy the same blocks.
            pool: Pool::new(job.seed, 0, [Purpose::Copies, Purpose::CopyChanges]),
            percent,
            rng: generator(job.seed, thread, Purpose::CopyDraws),
        })
    }

    /// Returns the block to copy for the next piece; `None` for fresh content.
    #[inline]
    fn next(&mut self) -> Option<u64> {
        let is_copy = below(&mut self.rng, 100) < self.percent;
        is_copy.then(|| below(&mut self.rng, COPIES))
    }
}

pub(crate) struct FreshContent {
    pool: Pool,
    /// Number of the next fresh piece.
    next: u64,
    /// Bytes of a piece before its zeros.
    random: usize,
    /// Whether each write must zero the rest of a piece, because other operations may change the buffer.
    must_write_zeros: bool,
    copies: Option<Copies>,
}

impl FreshContent {
    pub(crate) fn new(job: &Job, thread: u32) -> Self {
        Self {
            pool: Pool::new(job.seed, thread, [Purpose::Content, Purpose::Changes]),
            next: 0,
            random: PIECE - PIECE * usize::from(job.content.compressible_percent()) / 100,
            must_write_zeros: job.track.is_some()
                || job.mix.percent(Class::Read) > 0
                || job.sizes.differ(job.size_bytes),
            copies: Copies::new(job, thread),
        }
    }

    #[inline]
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for piece in bytes.chunks_mut(PIECE) {
            // A shorter piece has the same share of zeros.
            let random = self.random * piece.len() / PIECE;
            let (random, zeros) = piece.split_at_mut(random);
            let copy = self.copies.as_mut().and_then(|copies| Some((copies.next()?, &copies.pool)));
            if let Some((block, pool)) = copy {
                pool.write(block, random);
            } else {
                self.pool.write(self.next, random);
                self.next = self.next.wrapping_add(1);
            }
            if self.must_write_zeros {
                zeros.fill(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use super::*;
    use crate::Mix;
    use crate::check::tests::job;

    fn fresh(duplicates: &str, thread: u32) -> FreshContent {
        let duplicates = duplicates.parse().unwrap();
        FreshContent::new(&Job { mix: Mix::WRITES, duplicates, ..job() }, thread)
    }

    /// A hash of all bytes, without accidental collisions in a million pieces.
    fn hash(piece: &[u8]) -> u128 {
        let words = piece.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
        words.fold(0, |hash: u128, word| {
            (hash ^ u128::from(word)).wrapping_mul(0x0123_4567_89ab_cdef_fedc_ba98_7654_3211)
        })
    }

    #[test]
    fn no_block_comes_twice_in_a_hundred_thousand_writes_of_two_threads() {
        let mut seen = HashSet::new();
        for thread in [0, 1] {
            let (mut fresh, mut block) = (fresh("0%", thread), vec![0; PIECE]);
            for write in 0..50_000 {
                fresh.fill(&mut block);
                assert!(seen.insert(hash(&block)), "write {write} of thread {thread}");
            }
        }
    }

    /// Compressors look for repeated bytes: no eight bytes repeat in more data than the pool.
    #[test]
    fn no_eight_bytes_come_twice_in_what_follows_each_other() {
        let mut bytes = vec![0; 80 * PIECE];
        fresh("0%", 0).fill(&mut bytes);
        let mut seen = HashSet::new();
        assert!(bytes.windows(8).all(|eight| seen.insert(eight)));
    }

    #[test]
    fn all_byte_values_are_as_likely() {
        let mut bytes = vec![0; 256 * PIECE];
        fresh("0%", 3).fill(&mut bytes);
        let mut counts = [0_u32; 256];
        for byte in &bytes {
            counts[usize::from(*byte)] += 1;
        }
        let expected = bytes.len() as f64 / 256.0;
        let chi_square: f64 =
            counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        // 255 degrees of freedom: mean 255, standard deviation 22.6. Pieces of one window are not
        // independent, which widens it.
        assert!(chi_square < 600.0, "{chi_square}");
    }

    /// Share of duplicated pieces, and number of distinct ones among them.
    fn measured(duplicates: &str) -> (f64, usize) {
        const WRITES: usize = 20_000;
        let mut counts: BTreeMap<u128, u32> = BTreeMap::new();
        for thread in [0, 1] {
            let (mut fresh, mut block) = (fresh(duplicates, thread), vec![0; PIECE]);
            for _ in 0..WRITES / 2 {
                fresh.fill(&mut block);
                *counts.entry(hash(&block)).or_default() += 1;
            }
        }
        let copies: Vec<u32> = counts.into_values().filter(|count| *count > 1).collect();
        let all: u32 = copies.iter().sum();
        (f64::from(all) / WRITES as f64, copies.len())
    }

    #[test]
    fn as_many_pieces_are_copies_as_was_asked_for() {
        for (asked, share) in [("30%", 0.3), ("50%", 0.5)] {
            let (found, blocks) = measured(asked);
            // Five standard deviations of a share of 20,000.
            let tolerance = 5.0 * (share * (1.0 - share) / 20_000.0_f64).sqrt();
            assert!((found - share).abs() < tolerance, "{asked}: {found}");
            assert_eq!(blocks as u64, COPIES, "{asked}");
        }
        assert_eq!(measured("100%"), (1.0, COPIES as usize));
        assert_eq!(measured("0%"), (0.0, 0));
    }

    #[test]
    fn of_each_copy_the_stated_share_compresses_as_well() {
        let job = Job {
            mix: Mix::WRITES,
            content: "25%".parse().unwrap(),
            duplicates: "50%".parse().unwrap(),
            ..job()
        };
        let mut bytes = vec![0; 200 * PIECE];
        FreshContent::new(&job, 0).fill(&mut bytes);
        for piece in bytes.chunks(PIECE) {
            let (random, zeros) = piece.split_at(3072);
            assert!(zeros.iter().all(|byte| *byte == 0));
            let words = random.as_chunks::<8>().0;
            assert!(words.iter().all(|word| *word != [0; 8]));
        }
    }

    #[test]
    fn odd_lengths_are_filled_to_their_end() {
        for length in [1, 7, 8, 9, 511, 4095, 4097, 4100] {
            let mut bytes = vec![0; length];
            let mut fresh = fresh("50%", 0);
            // A byte may be zero by chance, but not in each of thirty rounds.
            let mut last = 0;
            for _ in 0..30 {
                fresh.fill(&mut bytes);
                last |= bytes[length - 1];
            }
            assert_ne!(last, 0, "{length}");
        }
    }
}
