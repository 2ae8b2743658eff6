//! Where the next operation goes and which class it has.

use std::ops::Range;

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::random::{Purpose, below, generator};
use crate::{Class, Job, Pattern};

/// What falls to one thread when `total` things are shared out: `(first, count)`. Shares differ by
/// one at most and cover everything, so that a fill with several threads leaves no gap.
pub(crate) fn share(total: u64, threads: u32, thread: u32) -> (u64, u64) {
    let (threads, thread) = (u64::from(threads), u64::from(thread));
    let (each, rest) = (total / threads, total % threads);
    let first = each * thread + thread.min(rest);
    (first, each + u64::from(thread < rest))
}

/// Whole operations that fit into the area.
pub(crate) fn blocks(job: &Job) -> u64 {
    job.area.end.saturating_sub(job.area.start) / u64::from(job.size_bytes)
}

/// Where sample `index` of `samples` goes under [`Pattern::Spread`]: to the start of the block in
/// which the `index`-th of as many equal parts of the area begins. Bytes from the start of the
/// target.
pub fn spread_offset(area: &Range<u64>, size_bytes: u32, samples: u64, index: u64) -> u64 {
    let size = u64::from(size_bytes.max(1));
    let blocks = area.end.saturating_sub(area.start) / size;
    area.start + spread_block(blocks, samples, index) * size
}

/// Where the operations of the first thread go under [`Pattern::Random`], without end: bytes from the
/// start of the target.
pub fn random_offsets(
    area: &Range<u64>,
    size_bytes: u32,
    seed: u64,
) -> impl Iterator<Item = u64> + use<> {
    let size = u64::from(size_bytes.max(1));
    let blocks = (area.end.saturating_sub(area.start) / size).max(1);
    let (start, mut rng) = (area.start, generator(seed, 0, Purpose::Offsets));
    std::iter::repeat_with(move || start + below(&mut rng, blocks) * size)
}

/// Block of sample `index` below `samples`; below `blocks`, and rising where there are as many.
fn spread_block(blocks: u64, samples: u64, index: u64) -> u64 {
    (u128::from(index) * u128::from(blocks) / u128::from(samples.max(1))) as u64
}

/// The offsets of one thread, without end.
#[derive(Debug)]
pub(crate) struct Walk {
    start: u64,
    size: u64,
    blocks: u64,
    order: Order,
}

#[derive(Debug)]
enum Order {
    Sequential { next: u64 },
    Random(Xoshiro256PlusPlus),
    Spread { next: u64, samples: u64 },
}

impl Walk {
    /// Walk of one thread over an area that holds at least one block per sequential thread.
    pub(crate) fn new(job: &Job, thread: u32) -> Self {
        let size = u64::from(job.size_bytes);
        let all = blocks(job);
        let (first, blocks, order) = match job.pattern {
            Pattern::Sequential => {
                let (first, count) = share(all, job.threads, thread);
                (first, count, Order::Sequential { next: 0 })
            }
            Pattern::Random => {
                let rng = generator(job.seed, thread, Purpose::Offsets);
                (0, all, Order::Random(rng))
            }
            Pattern::Spread => {
                (0, all, Order::Spread { next: 0, samples: job.operations.unwrap_or(1) })
            }
        };
        Self { start: job.area.start + first * size, size, blocks, order }
    }

    /// The next offset in bytes from the start of the target.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let block = match &mut self.order {
            Order::Sequential { next } => {
                let block = *next;
                *next = if block + 1 < self.blocks { block + 1 } else { 0 };
                block
            }
            Order::Random(rng) => below(rng, self.blocks),
            Order::Spread { next, samples } => {
                let index = *next;
                *next = if index + 1 < *samples { index + 1 } else { 0 };
                spread_block(self.blocks, *samples, index)
            }
        };
        self.start + block * self.size
    }
}

/// The classes of one thread's operations, without end.
#[derive(Debug)]
pub(crate) enum Classes {
    Only(Class),
    /// Of a hundred draws those below the first bound are reads, those below the next one writes, and
    /// so on; what is left is zeroing.
    Drawn {
        bounds: [u64; 3],
        rng: Xoshiro256PlusPlus,
    },
}

impl Classes {
    pub(crate) fn new(job: &Job, thread: u32) -> Self {
        let share = |class| u64::from(job.mix.percent(class));
        if let Some(only) = Class::ALL.into_iter().find(|class| share(*class) >= 100) {
            return Self::Only(only);
        }
        let reads = share(Class::Read);
        let writes = reads + share(Class::Write);
        Self::Drawn {
            bounds: [reads, writes, writes + share(Class::Trim)],
            rng: generator(job.seed, thread, Purpose::Mix),
        }
    }

    /// Class of the next operation.
    #[inline]
    pub(crate) fn next(&mut self) -> Class {
        match self {
            Self::Only(class) => *class,
            Self::Drawn { bounds: [reads, writes, trims], rng } => match below(rng, 100) {
                drawn if drawn < *reads => Class::Read,
                drawn if drawn < *writes => Class::Write,
                drawn if drawn < *trims => Class::Trim,
                _ => Class::Zero,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mix;
    use crate::check::tests::job;

    #[test]
    fn shares_cover_everything_once() {
        for total in [0, 1, 7, 1000, 1001] {
            for threads in [1, 2, 3, 8] {
                let mut next = 0;
                for thread in 0..threads {
                    let (first, count) = share(total, threads, thread);
                    assert_eq!(first, next);
                    next += count;
                }
                assert_eq!(next, total);
            }
        }
    }

    #[test]
    fn sequential_threads_walk_their_own_slices_and_wrap() {
        let job = Job {
            pattern: Pattern::Sequential,
            size_bytes: 512,
            threads: 2,
            area: 1024..1024 + 5 * 512 + 100,
            ..job()
        };
        let offsets = |thread| {
            let mut walk = Walk::new(&job, thread);
            (0..4).map(|_| (walk.next() - 1024) / 512).collect::<Vec<_>>()
        };
        assert_eq!(offsets(0), [0, 1, 2, 0]);
        assert_eq!(offsets(1), [3, 4, 3, 4]);
    }

    #[test]
    fn spread_samples_rise_evenly_and_follow_from_the_formula() {
        let (size, start) = (4096, 1 << 20);
        for (blocks, samples) in [(100, 100), (103, 10), (1 << 50, 7), (5, 1)] {
            let area = start..start + blocks * size;
            let job = Job {
                pattern: Pattern::Spread,
                size_bytes: size as u32,
                area: area.clone(),
                operations: Some(samples),
                ..job()
            };
            let mut walk = Walk::new(&job, 0);
            let offsets: Vec<u64> = (0..samples).map(|_| walk.next()).collect();
            for (index, offset) in (0..).zip(&offsets) {
                assert_eq!(*offset, spread_offset(&area, job.size_bytes, samples, index));
                assert!((offset - start) % size == 0 && offset + size <= area.end);
            }
            assert_eq!(offsets[0], start);
            let steps = offsets.windows(2).map(|pair| (pair[1] - pair[0]) / size);
            let even = [blocks / samples, blocks.div_ceil(samples)];
            assert!(steps.clone().all(|step| step > 0 && even.contains(&step)), "{offsets:?}");
        }
    }

    #[test]
    fn random_offsets_are_aligned_inside_and_uniform() {
        const BLOCKS: usize = 97;
        const DRAWS: usize = 97_000;
        let job = Job {
            pattern: Pattern::Random,
            size_bytes: 512,
            area: 512..512 * (BLOCKS as u64 + 1) + 511,
            ..job()
        };
        let mut walk = Walk::new(&job, 0);
        let mut counts = [0_u32; BLOCKS];
        for _ in 0..DRAWS {
            let offset = walk.next();
            assert_eq!(offset % 512, 0);
            counts[(offset / 512 - 1) as usize] += 1;
        }
        let expected = (DRAWS / BLOCKS) as f64;
        let chi_square: f64 =
            counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        // 96 degrees of freedom: mean 96, standard deviation 13.9.
        assert!((40.0..165.0).contains(&chi_square), "{chi_square}");
    }

    #[test]
    fn pure_mixes_draw_nothing_and_mixed_ones_keep_the_share() {
        let of = |mix| Classes::new(&Job { mix, ..job() }, 0);
        assert!(matches!(of(Mix::WRITES), Classes::Only(Class::Write)));
        assert!(matches!(of(Mix::READS), Classes::Only(Class::Read)));
        assert!(matches!(of(Mix::Rewrite), Classes::Only(Class::Rewrite)));
        let mut mix = of(Mix::Shares { read_percent: 30 });
        let reads = (0..100_000).filter(|_| mix.next() == Class::Read).count();
        assert!((29_200..30_800).contains(&reads), "{reads}");
        assert!(matches!(of("trim".parse().unwrap()), Classes::Only(Class::Trim)));
        assert!(matches!(of("zero".parse().unwrap()), Classes::Only(Class::Zero)));
    }

    /// What was drawn for a mix of reads and writes by older versions, so that its operations are the same.
    #[test]
    fn reads_and_writes_are_drawn_as_ever() {
        let job = Job { mix: Mix::Shares { read_percent: 30 }, ..job() };
        let mut rng = generator(job.seed, 0, Purpose::Mix);
        let mut classes = Classes::new(&job, 0);
        for _ in 0..1000 {
            let drawn = if below(&mut rng, 100) < 30 { Class::Read } else { Class::Write };
            assert_eq!(classes.next(), drawn);
        }
    }

    #[test]
    fn each_class_of_a_mix_has_its_share() {
        const DRAWS: u32 = 100_000;
        for text in
            ["60 % read, 30 % write, 10 % trim", "5 % read, 80 % write, 1 % trim, 14 % zero"]
        {
            let job = Job { mix: text.parse().unwrap(), ..job() };
            let mut classes = Classes::new(&job, 0);
            let mut counts = [0_u32; Class::ALL.len()];
            for _ in 0..DRAWS {
                counts[classes.next() as usize] += 1;
            }
            let mut chi_square = 0.0;
            for class in Class::ALL {
                let (found, share) = (counts[class as usize], job.mix.percent(class));
                if share == 0 {
                    assert_eq!(found, 0, "{text}: {class}");
                    continue;
                }
                let expected = f64::from(DRAWS) * f64::from(share) / 100.0;
                chi_square += (f64::from(found) - expected).powi(2) / expected;
            }
            // At most 3 degrees of freedom: above 21.1 once in ten thousand seeds, and this is one.
            assert!(chi_square < 21.1, "{text}: {chi_square}");
        }
    }
}
