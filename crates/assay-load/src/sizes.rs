//! Operations of several sizes, each with its share.

use crate::random::{Purpose, below, generator};
use crate::{Class, Job};
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeShare {
    pub bytes: u32,
    pub percent: u8,
}

/// Sizes of reads (and rewrites) and of writes; without any, [`Job::size_bytes`] applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    pub reads: Vec<SizeShare>,
    pub writes: Vec<SizeShare>,
}

impl Sizes {
    /// All operations have the size of the job.
    pub const ONE: Self = Self { reads: Vec::new(), writes: Vec::new() };

    pub(crate) fn all(&self) -> impl Iterator<Item = &SizeShare> {
        self.reads.iter().chain(&self.writes)
    }

    /// Returns whether any operation has another size than the job.
    pub(crate) fn differ(&self, job_bytes: u32) -> bool {
        self.all().any(|share| share.bytes != job_bytes)
    }

    pub(crate) fn are_by_direction(&self) -> bool {
        !self.writes.is_empty() && self.writes != self.reads
    }

    /// Returns the smallest size, which offsets are aligned to.
    pub(crate) fn smallest(&self, job_bytes: u32) -> u32 {
        self.all().map(|share| share.bytes).fold(job_bytes, u32::min)
    }

    /// Returns why shares or sizes are invalid.
    pub(crate) fn fault(&self, job_bytes: u32) -> Option<String> {
        for shares in [&self.reads, &self.writes].into_iter().filter(|shares| !shares.is_empty()) {
            let sum: u32 = shares.iter().map(|share| u32::from(share.percent)).sum();
            if sum != 100 || shares.iter().any(|share| share.percent == 0) {
                return Some(format!("positive size shares must add up to 100%, not {sum}%"));
            }
        }
        let invalid = self.all().find(|share| share.bytes == 0 || share.bytes > job_bytes);
        invalid.map(|share| {
            format!("an operation of {} bytes exceeds the limit of {job_bytes}", share.bytes)
        })
    }
}

/// Returns whether a class uses the sizes of reads.
pub(crate) const fn is_of_reads(class: Class) -> bool {
    matches!(class, Class::Read | Class::Rewrite)
}

/// Endless sizes of one thread's operations, from a separate random stream.
pub(crate) struct SizeDraws {
    rng: Xoshiro256PlusPlus,
    reads: Vec<SizeStep>,
    writes: Vec<SizeStep>,
}

/// Draws from the previous bound up to this one have this size.
#[derive(Clone, Copy, Debug)]
struct SizeStep {
    below: u64,
    bytes: u32,
}

/// Sums the shares up; never empty, and the last bound is 100, so every draw finds a size.
fn steps(shares: &[SizeShare], job_bytes: u32) -> Vec<SizeStep> {
    if shares.is_empty() {
        return vec![SizeStep { below: 100, bytes: job_bytes }];
    }
    let mut sum = 0;
    let step = |share: &SizeShare| {
        sum += u64::from(share.percent);
        SizeStep { below: sum, bytes: share.bytes }
    };
    shares.iter().map(step).collect()
}

impl SizeDraws {
    pub(crate) fn new(job: &Job, thread: u32) -> Self {
        Self {
            rng: generator(job.seed, thread, Purpose::Sizes),
            reads: steps(&job.sizes.reads, job.size_bytes),
            writes: steps(&job.sizes.writes, job.size_bytes),
        }
    }

    /// The size of all operations, if there is only one.
    pub(crate) fn single_size(&self) -> Option<u32> {
        match (self.reads.as_slice(), self.writes.as_slice()) {
            ([read], [write]) if read.bytes == write.bytes => Some(read.bytes),
            _ => None,
        }
    }

    /// Bytes of the next operation; a single size needs no draw.
    pub(crate) fn next(&mut self, class: Class) -> u32 {
        let steps = if is_of_reads(class) { &self.reads } else { &self.writes };
        let (last, others) = match steps.as_slice() {
            [only] => return only.bytes,
            [others @ .., last] => (last, others),
            [] => return 0,
        };
        let drawn = below(&mut self.rng, 100);
        others.iter().find(|step| drawn < step.below).unwrap_or(last).bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::job;

    fn shares(all: &[(u32, u8)]) -> Vec<SizeShare> {
        all.iter().map(|(bytes, percent)| SizeShare { bytes: *bytes, percent: *percent }).collect()
    }

    fn mixed() -> Job {
        let sizes = Sizes {
            reads: shares(&[(4096, 70), (65_536, 29), (512, 1)]),
            writes: shares(&[(8192, 100)]),
        };
        Job { sizes, size_bytes: 65_536, ..job() }
    }

    #[test]
    fn shares_of_sizes_are_those_that_are_asked_for() {
        const DRAWS: usize = 200_000;
        let mut draws = SizeDraws::new(&mixed(), 0);
        let found: Vec<u32> = (0..DRAWS).map(|_| draws.next(Class::Read)).collect();
        let mut chi_square = 0.0;
        for (bytes, percent) in [(4096, 70.0), (65_536, 29.0), (512, 1.0)] {
            let count = found.iter().filter(|one| **one == bytes).count() as f64;
            let expected = DRAWS as f64 * percent / 100.0;
            chi_square += (count - expected).powi(2) / expected;
        }
        // Two degrees of freedom: above 18.4 in one of ten thousand cases.
        assert!(chi_square < 18.4, "{chi_square}");
        assert!((0..100).all(|_| draws.next(Class::Write) == 8192));
    }

    #[test]
    fn one_size_draws_nothing() {
        let mut draws = SizeDraws::new(&job(), 0);
        let before = format!("{:?}", draws.rng);
        assert_eq!([draws.next(Class::Read), draws.next(Class::Write)], [4096, 4096]);
        assert_eq!(format!("{:?}", draws.rng), before);
        assert!(!Sizes::ONE.differ(4096));
        assert!(mixed().sizes.differ(65_536));
        assert_eq!((Sizes::ONE.smallest(4096), mixed().sizes.smallest(65_536)), (4096, 512));
    }

    #[test]
    fn what_does_not_add_up_or_fit_is_told() {
        let fault = |reads: &[(u32, u8)]| {
            Sizes { reads: shares(reads), writes: Vec::new() }.fault(8192).unwrap_or_default()
        };
        assert_eq!(fault(&[(4096, 60), (8192, 40)]), "");
        assert!(fault(&[(4096, 60), (8192, 30)]).contains("not 90%"));
        assert!(fault(&[(4096, 0), (8192, 100)]).contains("positive size shares"));
        assert!(fault(&[(4096, 60), (16_384, 40)]).contains("16384 bytes exceeds"));
        assert!(fault(&[(0, 60), (8192, 40)]).contains("0 bytes exceeds"));
    }
}
