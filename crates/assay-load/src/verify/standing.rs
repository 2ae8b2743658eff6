//! Possible contents of each block: the writes of a run, drawn again from its seed, minus those certainly overwritten.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::marks::{ThreadMarks, Written};
use super::stamp::Generation;
use crate::pattern::{Classes, Walk};
use crate::{Class, Job};

pub(super) struct ExpectedData {
    start: u64,
    block: u64,
    /// The last write per block, packed; 0 without a write.
    last: Vec<u64>,
    /// All possible writes per block, if there are several.
    several: BTreeMap<usize, Vec<Generation>>,
}

/// Returns whether an operation leaves only its stamp in its block.
const fn leaves_a_stamp(class: Class) -> bool {
    match class {
        // `check` rejects trims and zeroing with verification.
        Class::Read | Class::Trim | Class::Zero | Class::Flush => false,
        Class::Write | Class::Rewrite => true,
    }
}

/// Operations between two checks of the stop flag.
const LOOK_EVERY: u64 = 1 << 16;

/// Draws the settled writes of one thread again, in order, and passes each to `each`; ends early at a stop.
fn replay(
    job: &Job,
    marks: &ThreadMarks,
    stop: &AtomicBool,
    mut each: impl FnMut(Generation, u64),
) {
    let (mut walk, mut classes) = (Walk::new(job, marks.thread), Classes::new(job, marks.thread));
    for index in 0..marks.settled {
        if index.is_multiple_of(LOOK_EVERY) && stop.load(Ordering::Relaxed) {
            return;
        }
        let class = classes.next();
        let place = walk.next(class);
        if leaves_a_stamp(class) {
            each(Generation { thread: marks.thread, index }, place.offset);
        }
    }
}

impl ExpectedData {
    /// Possible contents of a part that begins and ends at block boundaries.
    pub fn new(job: &Job, written: &Written, part: &Range<u64>, stop: &AtomicBool) -> Self {
        let block = u64::from(job.size_bytes);
        let blocks = ((part.end - part.start) / block) as usize;
        let mut expected =
            Self { start: part.start, block, last: vec![0; blocks], several: BTreeMap::new() };
        // Imported marks may name threads that the job never had.
        for marks in written.threads.iter().filter(|of_thread| of_thread.thread < job.threads) {
            replay(job, marks, stop, |generation, offset| {
                expected.add_write(written, generation, offset);
            });
        }
        expected
    }

    fn index(&self, address: u64) -> Option<usize> {
        let index = address.checked_sub(self.start)? / self.block;
        usize::try_from(index).ok().filter(|index| *index < self.last.len())
    }

    /// Adds a write to the possible contents of its block; removes those that it must have replaced.
    fn add_write(&mut self, written: &Written, new: Generation, address: u64) {
        let Some(index) = self.index(address) else { return };
        let mut possible = self.several.remove(&index).unwrap_or_default();
        if possible.is_empty() {
            match Generation::unpacked(self.last[index]) {
                // Both may have been in flight at once.
                Some(old) if !written.is_replaced(old, new) => possible.push(old),
                _ => {
                    self.last[index] = new.packed();
                    return;
                }
            }
        }
        possible.retain(|old| !written.is_replaced(*old, new));
        if !possible.iter().any(|old| written.is_replaced(new, *old)) {
            possible.push(new);
        }
        self.last[index] = possible.last().map_or(0, |last| last.packed());
        if possible.len() > 1 {
            self.several.insert(index, possible);
        }
    }

    /// Returns the last write of the block at an address, or one of the possible ones.
    pub fn expected(&self, address: u64) -> Option<Generation> {
        Generation::unpacked(self.last[self.index(address)?])
    }

    /// Returns whether several writes of the block are possible.
    pub fn has_several(&self, address: u64) -> bool {
        self.index(address).is_some_and(|index| self.several.contains_key(&index))
    }

    /// Returns whether a write of the block is possible.
    pub fn may_contain(&self, address: u64, generation: Generation) -> bool {
        let Some(index) = self.index(address) else { return false };
        match self.several.get(&index) {
            Some(all) => all.contains(&generation),
            None => self.last[index] == generation.packed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::marks::WriteMark;
    use super::*;
    use crate::check::tests::job;
    use crate::{Mix, Pattern};

    fn writes() -> Job {
        Job {
            pattern: Pattern::Sequential,
            mix: Mix::WRITES,
            size_bytes: 512,
            area: 512..512 * 5,
            verify: Some(1),
            ..job()
        }
    }

    fn written(settled: u64, ahead: u64) -> Written {
        let rows = vec![WriteMark { index: 0, low: 0, since_ns: 0, ahead }];
        let threads = vec![ThreadMarks { thread: 0, settled, rows }];
        Written { run: 1, seed: 1, ended: true, threads }
    }

    fn go() -> AtomicBool {
        AtomicBool::new(false)
    }

    fn of(index: u64) -> Generation {
        Generation { thread: 0, index }
    }

    #[test]
    fn the_last_write_of_a_block_stands() {
        // Four blocks, six writes: the first two are written twice.
        let standing = ExpectedData::new(&writes(), &written(6, 0), &(512..512 * 5), &go());
        let found: Vec<_> = (1..5).map(|block| standing.expected(block * 512)).collect();
        assert_eq!(found, [4, 5, 2, 3].map(|index| Some(of(index))));
        assert!(standing.may_contain(512, of(4)) && !standing.may_contain(512, of(0)));
        assert!(!standing.has_several(512) && standing.expected(0).is_none());
        assert_eq!(standing.expected(512 * 5), None);
    }

    #[test]
    fn of_two_in_flight_at_once_either_may_stand() {
        let standing = ExpectedData::new(&writes(), &written(6, 4), &(512..512 * 5), &go());
        assert!(standing.has_several(512) && !standing.has_several(512 * 3));
        for index in [0, 4] {
            assert!(standing.may_contain(512, of(index)), "{index}");
        }
        assert!(!standing.may_contain(512, of(1)) && !standing.may_contain(512 * 3, of(6)));
        // One fewer ahead, and the first had ended.
        let standing = ExpectedData::new(&writes(), &written(6, 3), &(512..512 * 5), &go());
        assert!(!standing.has_several(512) && !standing.may_contain(512, of(0)));
    }

    #[test]
    fn reads_leave_nothing_and_a_part_has_its_own_blocks() {
        let mixed = Job { mix: Mix::Shares { read_percent: 95 }, ..writes() };
        let standing = ExpectedData::new(&mixed, &written(4, 0), &(512 * 2..512 * 5), &go());
        let stands = (2..5).filter(|block| standing.expected(block * 512).is_some()).count();
        assert!(stands < 3, "of twenty times as many reads");
        let reads = Job { mix: Mix::READS, ..writes() };
        let standing = ExpectedData::new(&reads, &written(4, 0), &(512..512 * 5), &go());
        assert!((1..5).all(|block| standing.expected(block * 512).is_none()));
    }

    #[test]
    fn a_thread_that_the_job_never_had_wrote_nothing() {
        let job = Job { pattern: Pattern::Random, ..writes() };
        let of = |thread| {
            let mut written = written(100, 0);
            written.threads[0].thread = thread;
            let standing = ExpectedData::new(&job, &written, &(512..512 * 5), &go());
            (1..5).filter(|block| standing.expected(block * 512).is_some()).count()
        };
        assert_eq!([of(0), of(1), of(u32::MAX)], [4, 0, 0]);
    }
}
