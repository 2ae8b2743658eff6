//! Which bytes a write carries.

use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::random::{Purpose, generator};
use crate::{Content, Job, Mix};

/// One change in so many bytes of a rewritten block: no piece of it that a device might know
/// already stays as it was.
const SECTOR: usize = 512;

/// Fills the buffers of one thread, each time before they are written.
#[derive(Debug)]
pub(crate) enum Filler {
    /// Buffers are zero from the start and nothing ever changes them.
    Nothing,
    /// Reads share the buffers, so zeros must be put back.
    Zero,
    /// Fresh pseudo-random bytes.
    Random(Xoshiro256PlusPlus),
    /// What was read, with a few bytes of each sector changed.
    Change(Xoshiro256PlusPlus),
}

impl Filler {
    pub(crate) fn new(job: &Job, thread: u32) -> Self {
        let rng = generator(job.seed, thread, Purpose::Content);
        match (job.mix, job.content) {
            (Mix::Rewrite, _) => Self::Change(rng),
            (Mix::READS, _) | (Mix::WRITES, Content::Zero) => Self::Nothing,
            (Mix::Shares { .. }, Content::Random) => Self::Random(rng),
            (Mix::Shares { .. }, Content::Zero) => Self::Zero,
        }
    }

    /// Makes `bytes` what the next write shall carry.
    #[inline]
    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        match self {
            Self::Nothing => {}
            Self::Zero => bytes.fill(0),
            Self::Random(rng) => fill_random(rng, bytes),
            Self::Change(rng) => change(rng, bytes),
        }
    }
}

/// Fills a buffer with fresh pseudo-random bytes.
pub(crate) fn fill_random(rng: &mut Xoshiro256PlusPlus, bytes: &mut [u8]) {
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = rng.next_u64().to_le_bytes();
    }
    let last = rng.next_u64().to_le_bytes();
    rest.copy_from_slice(&last[..rest.len()]);
}

/// Changes the first bytes of each sector: the very first of them always.
fn change(rng: &mut Xoshiro256PlusPlus, bytes: &mut [u8]) {
    for sector in bytes.chunks_mut(SECTOR) {
        let difference = (rng.next_u64() | 1).to_le_bytes();
        for (byte, difference) in sector.iter_mut().zip(difference) {
            *byte ^= difference;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::job;

    #[test]
    fn random_fills_all_bytes_and_never_repeats() {
        let job = Job { mix: Mix::WRITES, content: Content::Random, ..job() };
        let mut filler = Filler::new(&job, 0);
        let (mut first, mut second) = ([0_u8; 509], [0_u8; 509]);
        filler.fill(&mut first);
        filler.fill(&mut second);
        assert_ne!(first, second);
        let mut seen = [false; 256];
        for byte in first {
            seen[usize::from(byte)] = true;
        }
        let values = seen.iter().filter(|seen| **seen).count();
        assert!(values > 180, "{values} byte values, about 221 expected");
    }

    #[test]
    fn zeros_are_put_back_only_where_reads_share_the_buffer() {
        let zero = |read_percent| {
            let mut bytes = [7_u8; 16];
            let job = Job { mix: Mix::Shares { read_percent }, content: Content::Zero, ..job() };
            Filler::new(&job, 0).fill(&mut bytes);
            bytes
        };
        assert_eq!(zero(50), [0; 16]);
        assert_eq!(zero(0), [7; 16]);
    }

    #[test]
    fn a_rewrite_changes_every_sector_each_time_and_little_of_it() {
        let job = Job { mix: Mix::Rewrite, ..job() };
        let mut filler = Filler::new(&job, 0);
        let mut bytes = [7_u8; 3 * SECTOR + 5];
        for _ in 0..100 {
            let before = bytes;
            filler.fill(&mut bytes);
            for (old, new) in before.chunks(SECTOR).zip(bytes.chunks(SECTOR)) {
                let changed = old.iter().zip(new).filter(|(old, new)| old != new).count();
                assert!((1..=8).contains(&changed), "{changed}");
            }
        }
    }
}
