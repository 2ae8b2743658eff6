//! Order of writes: enough to decide which may be on the medium, in the fixed memory of a measured loop.

use std::collections::BTreeMap;

use super::stamp::{self, Generation, WriteStamp};
use crate::Job;
use serde::{Deserialize, Serialize};

/// Maximum number of rows per thread; beyond, two become one.
const MOST_ROWS: usize = 128;
/// Maximum number of rows in the record of a run, over all threads.
const MOST_KEPT: usize = 256;

/// State at the start of an operation, valid up to the next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 4]", into = "[u64; 4]")]
pub struct WriteMark {
    /// Its number in the stream of its thread.
    pub index: u64,
    /// All with a lower number than this had ended.
    pub low: u64,
    /// When they had, nanoseconds of the engine's clock.
    pub since_ns: u64,
    /// How far the newest begun operation was ahead of the oldest unfinished one.
    pub ahead: u64,
}

impl From<[u64; 4]> for WriteMark {
    fn from(row: [u64; 4]) -> Self {
        let [index, low, since_ns, ahead] = row;
        Self { index, low, since_ns, ahead }
    }
}

impl From<WriteMark> for [u64; 4] {
    fn from(mark: WriteMark) -> Self {
        [mark.index, mark.low, mark.since_ns, mark.ahead]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadMarks {
    pub thread: u32,
    /// All of its operations with a lower number than this had ended.
    pub settled: u64,
    pub rows: Vec<WriteMark>,
}

impl ThreadMarks {
    fn row(&self, index: u64) -> Option<&WriteMark> {
        let after = self.rows.partition_point(|row| row.index <= index);
        self.rows[..after].last()
    }

    /// All operations with a lower number than this had ended when that of this number was begun.
    fn low(&self, index: u64) -> u64 {
        self.row(index).map_or(0, |row| row.low.max(index.saturating_sub(row.ahead)))
    }

    /// A time before which the operation was not begun.
    fn begun_ns(&self, index: u64) -> u64 {
        self.row(index).map_or(0, |row| row.since_ns)
    }

    /// A time by which the operation had ended, if known.
    fn ended_ns(&self, index: u64) -> Option<u64> {
        let first = self.rows.partition_point(|row| row.low <= index);
        self.rows.get(first).map(|row| row.since_ns)
    }

    /// Drops rows: less precise, but still correct.
    fn thin(&mut self, most: usize) {
        while self.rows.len() > most.max(1) {
            merge_pairs(&mut self.rows);
        }
    }
}

/// Replaces each pair of rows by its first one, with the greater `ahead` of the two.
fn merge_pairs(rows: &mut Vec<WriteMark>) {
    let kept = rows.len().div_ceil(2);
    for index in 0..kept {
        let first = rows[2 * index];
        let ahead = rows.get(2 * index + 1).map_or(first.ahead, |next| next.ahead.max(first.ahead));
        rows[index] = WriteMark { ahead, ..first };
    }
    rows.truncate(kept);
}

/// What a run wrote with stamps: enough to go over it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Which run: nanoseconds since 1970 at its start.
    #[serde(with = "crate::digits")]
    pub run: u64,
    /// Seed of its job, which determines all offsets.
    #[serde(with = "crate::digits")]
    pub seed: u64,
    pub ended: bool,
    pub threads: Vec<ThreadMarks>,
}

impl Written {
    /// Creates the order of a completed run from the marks of its threads.
    pub(crate) fn new(run: u64, seed: u64, mut threads: Vec<ThreadMarks>) -> Self {
        let most = MOST_KEPT / threads.len().max(1);
        for thread in &mut threads {
            thread.thin(most);
        }
        Self { run, seed, ended: true, threads }
    }

    fn thread(&self, thread: u32) -> Option<&ThreadMarks> {
        self.threads.iter().find(|marks| marks.thread == thread)
    }

    /// Number of operations known to have ended, over all threads.
    pub fn settled(&self) -> u64 {
        self.threads.iter().fold(0, |sum, thread| sum.saturating_add(thread.settled))
    }

    /// Returns whether the later write must have replaced the earlier one, because it began after the other's end.
    pub(super) fn is_replaced(&self, earlier: Generation, later: Generation) -> bool {
        let Some(marks) = self.thread(later.thread) else { return false };
        if later.thread == earlier.thread {
            return earlier.index < marks.low(later.index);
        }
        let ended =
            self.thread(earlier.thread).and_then(|of_thread| of_thread.ended_ns(earlier.index));
        ended.is_some_and(|ended| ended < marks.begun_ns(later.index))
    }

    /// Returns whether a write without a confirmed end may be on the medium, because the run was killed.
    pub(super) fn may_be_unconfirmed(&self, generation: Generation) -> bool {
        let settled = self.thread(generation.thread).map_or(0, |marks| marks.settled);
        !self.ended && generation.index >= settled
    }
}

#[derive(Clone, Copy, Debug)]
struct BegunOperation {
    index: u64,
    low: u64,
    since_ns: u64,
}

const FREE: u64 = u64::MAX;

/// Stamps the writes of one thread, and notes their order.
pub(crate) struct Stamper {
    run: u64,
    seed: u64,
    thread: u32,
    begun: u64,
    /// All with a lower number had ended at the last look.
    low: u64,
    since_ns: u64,
    slots: Vec<BegunOperation>,
    rows: Vec<WriteMark>,
    every: u64,
}

impl Stamper {
    pub fn new(job: &Job, thread: u32) -> Option<Self> {
        let run = job.verify?;
        let free = BegunOperation { index: FREE, low: 0, since_ns: 0 };
        Some(Self {
            run,
            seed: job.seed,
            thread,
            begun: 0,
            low: 0,
            since_ns: 0,
            slots: vec![free; job.depth as usize],
            rows: Vec::with_capacity(MOST_ROWS),
            every: 1,
        })
    }

    /// Numbers the operation that begins in a slot; all classes are numbered, in the order drawn.
    #[inline(never)]
    pub fn begin(&mut self, slot: u32) {
        let (index, low, since_ns) = (self.begun, self.low, self.since_ns);
        self.begun += 1;
        self.slots[slot as usize] = BegunOperation { index, low, since_ns };
        if index.is_multiple_of(self.every) {
            if self.rows.len() == MOST_ROWS {
                merge_pairs(&mut self.rows);
                self.every *= 2;
            }
            // Remaining rows begin at multiples of twice the step, as this number does.
            self.rows.push(WriteMark { index, low, since_ns, ahead: index - low });
        } else if let Some(row) = self.rows.last_mut() {
            row.ahead = row.ahead.max(index - low);
        }
    }

    /// Fills the buffer of a slot with the content of its write.
    #[inline]
    pub fn fill(&self, slot: u32, address: u64, bytes: &mut [u8]) {
        let BegunOperation { index, low, since_ns } = self.slots[slot as usize];
        let generation = Generation { thread: self.thread, index };
        let Self { run, seed, .. } = *self;
        stamp::fill(bytes, &WriteStamp { run, seed, address, generation, low, since_ns });
    }

    #[inline]
    pub fn end(&mut self, slot: u32) {
        self.slots[slot as usize].index = FREE;
    }

    /// Records that all ends before this time are known.
    #[inline]
    pub fn advance_low(&mut self, stamp_ns: u64) {
        let oldest = self.slots.iter().map(|slot| slot.index).min();
        self.low = oldest.unwrap_or(FREE).min(self.begun);
        self.since_ns = stamp_ns;
    }

    /// Returns the order of a thread whose operations have all ended.
    pub fn finish(self) -> ThreadMarks {
        ThreadMarks { thread: self.thread, settled: self.begun, rows: self.rows }
    }
}

/// Maximum number of marks per thread; above it, every second one is dropped.
const MOST_FOUND: usize = 1 << 16;

/// Facts from the stamps of one run on a medium; each was true at the time of its write.
#[derive(Debug, Default)]
pub(super) struct FoundMarks {
    threads: BTreeMap<u32, ThreadMarks>,
}

impl FoundMarks {
    /// Adds the write that a stamp names; halves the rows of its thread if there are too many.
    pub fn add(&mut self, stamp: &WriteStamp) {
        let Generation { thread, index } = stamp.generation;
        let marks = self.threads.entry(thread).or_default();
        marks.thread = thread;
        marks.settled = marks.settled.max(stamp.low);
        if marks.rows.last().is_some_and(|row| row.index == index) {
            return; // the next sector of the same write
        }
        if marks.rows.len() == MOST_FOUND {
            sort_rows(&mut marks.rows);
            // Every other row remains.
            let mut is_kept = false;
            marks.rows.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
        let WriteStamp { low, since_ns, .. } = *stamp;
        // How far others were ahead is not known.
        marks.rows.push(WriteMark { index, low, since_ns, ahead: u64::MAX });
    }

    pub fn finish(self, run: u64, seed: u64) -> Written {
        let sorted = |mut marks: ThreadMarks| {
            sort_rows(&mut marks.rows);
            marks
        };
        let threads = self.threads.into_values().map(sorted).collect();
        Written { run, seed, ended: false, threads }
    }
}

/// Sorts rows by number; several sectors of one write leave one row.
fn sort_rows(rows: &mut Vec<WriteMark>) {
    rows.sort_unstable_by_key(|row| row.index);
    rows.dedup_by_key(|row| row.index);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::job;

    const fn of(thread: u32, index: u64) -> Generation {
        Generation { thread, index }
    }

    fn stamper(depth: u32) -> Stamper {
        Stamper::new(&Job { verify: Some(9), depth, ..job() }, 0).unwrap()
    }

    fn written(stamper: Stamper) -> Written {
        Written { run: 9, seed: 1, ended: true, threads: vec![stamper.finish()] }
    }

    #[test]
    fn one_after_the_other_each_is_over_the_one_before() {
        let mut one = stamper(1);
        for index in 0..10_000 {
            one.begin(0);
            one.end(0);
            one.advance_low(index * 10);
        }
        let written = written(one);
        assert!(written.threads[0].rows.len() <= MOST_ROWS);
        for (earlier, later, is_replaced) in
            [(0, 1, true), (8_000, 8_001, true), (5, 5, false), (6, 5, false)]
        {
            assert_eq!(
                written.is_replaced(of(0, earlier), of(0, later)),
                is_replaced,
                "{earlier} {later}"
            );
        }
    }

    #[test]
    fn what_was_in_flight_meanwhile_is_not_over() {
        let mut two = stamper(2);
        two.begin(0); // 0 hangs
        for index in 0..1000 {
            two.begin(1);
            two.end(1);
            two.advance_low(index);
        }
        two.end(0);
        two.advance_low(5000);
        two.begin(0);
        two.end(0);
        let written = written(two);
        assert!(!written.is_replaced(of(0, 0), of(0, 1000)));
        assert!(written.is_replaced(of(0, 0), of(0, 1001)));
        assert!(!written.is_replaced(of(0, 500), of(0, 400)));
    }

    #[test]
    fn between_threads_the_clock_decides() {
        let row = |index, low, since_ns| WriteMark { index, low, since_ns, ahead: index - low };
        let marks = |thread, rows| ThreadMarks { thread, settled: 100, rows };
        let written = Written {
            run: 1,
            seed: 1,
            ended: true,
            threads: vec![
                marks(0, vec![row(0, 0, 0), row(50, 50, 1000)]),
                marks(1, vec![row(0, 0, 0), row(60, 60, 1001), row(80, 80, 2000)]),
            ],
        };
        // The first 50 had ended at 1000, and the 61st of the other was begun behind that.
        assert!(written.is_replaced(of(0, 49), of(1, 60)));
        assert!(!written.is_replaced(of(0, 49), of(1, 59)));
        assert!(!written.is_replaced(of(0, 50), of(1, 90)), "nobody says when it ended");
        assert!(!written.is_replaced(of(1, 79), of(0, 50)), "it had ended at 2000");
    }

    #[test]
    fn what_stamps_tell_of_a_run_that_was_killed() {
        let mut found = FoundMarks::default();
        let stamp = |index, low| WriteStamp {
            run: 4,
            seed: 1,
            address: 0,
            generation: of(0, index),
            low,
            since_ns: index * 10,
        };
        for (index, low) in [(90, 88), (10, 7), (10, 7), (50, 49)] {
            found.add(&stamp(index, low));
        }
        let written = found.finish(4, 1);
        assert_eq!(written.settled(), 88);
        let indexes: Vec<u64> = written.threads[0].rows.iter().map(|row| row.index).collect();
        assert_eq!(indexes, [10, 50, 90]);
        assert!(
            written.is_replaced(of(0, 48), of(0, 60)) && !written.is_replaced(of(0, 49), of(0, 60))
        );
        assert!(written.may_be_unconfirmed(of(0, 88)) && !written.may_be_unconfirmed(of(0, 87)));
        assert!(written.may_be_unconfirmed(of(7, 0)), "of a thread of which nothing is known");
    }

    #[test]
    fn rows_are_written_short() {
        let mark = WriteMark { index: 1, low: 2, since_ns: 3, ahead: 4 };
        assert_eq!(<[u64; 4]>::from(mark), [1, 2, 3, 4]);
        assert_eq!(WriteMark::from([1, 2, 3, 4]), mark);
    }
}
