//! Parameters of one measured run.

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use crate::Class;
use crate::access::Access;
use crate::content::Content;
use crate::duplicates::Duplicates;
use crate::mix::Mix;
use crate::poll::Poll;
use crate::schedule::Schedule;
use crate::sizes::Sizes;
use crate::sync::WriteSync;
use crate::track::Track;
use serde::{Deserialize, Serialize};

/// Order of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One block after the other, wrapping at the end. Several threads each use an equal slice of the area.
    Sequential,
    /// Every aligned block of the area, drawn with replacement by the job's [`Access`].
    Random,
    /// Like sequential, but the next block starts [`stride_bytes`](Job::stride_bytes) after the start of the last one.
    /// After each pass the start moves by one block (of the smallest size), so every block occurs before any repeats.
    Stride,
    /// Operation i of the operation count goes to the i-th of as many evenly spaced blocks, in ascending order: see
    /// [`spread_offset`](crate::spread_offset). One thread, depth 1.
    Spaced,
}

names!(
    Pattern: Sequential = "sequential",
    Random = "random",
    Stride = "stride",
    Spaced = "spaced",
);

/// What reads and writes of one job share of their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Apart {
    /// Area and position: each operation starts at the end of the previous one, of any class.
    #[default]
    None,
    /// Random places in the area, with separate streams for reads and writes.
    Positions,
    /// Nothing: reads have the first half of the area, and writes the second.
    Halves,
}

/// Consecutive parts of a job without a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    pub operations: u64,
    /// No slice begins after this time from the first submission; a slice in progress completes.
    pub begun_within: Duration,
}

/// One measured run. All sizes in bytes; the area is a byte range of the target.
#[derive(Clone, Debug)]
pub struct Job {
    pub pattern: Pattern,
    pub mix: Mix,
    /// Bytes of one operation; a rewrite transfers as many in each direction. For varying sizes the largest.
    pub size_bytes: u32,
    /// Several sizes; random offsets are multiples of the smallest.
    pub sizes: Sizes,
    /// Which blocks random operations go to more often than to others.
    pub access: Access,
    /// Alignment of random offsets from the start of the area; 0 for none.
    pub align_bytes: u64,
    /// Bytes from the start of one block to that of the next, for [`Pattern::Stride`].
    pub stride_bytes: u64,
    pub apart: Apart,
    pub depth: u32,
    /// A closed loop waits for this many completions, or for all if fewer are in flight. More than one saves CPU time
    /// and lengthens latencies: early completions wait for the last one.
    pub wait_for: u32,
    /// What is polled for; only of a ring anything is.
    pub poll: Poll,
    pub threads: u32,
    /// Pins threads to the allowed processors in order, beginning again after the last one.
    pub pin: bool,
    pub sync: WriteSync,
    pub content: Content,
    /// Share of duplicated content; ignored for rewrites and zeros.
    pub duplicates: Duplicates,
    /// The bytes of the target that may be touched, aligned for direct I/O.
    pub area: Range<u64>,
    /// Uncounted time at the start.
    pub ramp: Duration,
    /// Counted time after the ramp. At least one operation always completes.
    pub time: Duration,
    /// End after this many operations in all, even if time is left; ramp and drain then count.
    pub operations: Option<u64>,
    /// Records the time after each slice of the only thread; the operation count limits their number.
    pub slices: Option<Slices>,
    /// Intended starts of an open loop, with `depth` as the maximum in flight; `None`: closed loop.
    pub schedule: Option<Schedule>,
    /// Recorded requests to replay with one thread, instead of pattern, mix and sizes.
    pub track: Option<Arc<Track>>,
    /// Think time: pause of a slot in a closed loop between the end of an operation and the start of the next.
    pub think: Duration,
    /// The number of the run that stamps each written sector for [`verify`](crate::verify()).
    pub verify: Option<u64>,
    /// Seed of offsets, mix, content and simulated latencies; different for every trial.
    pub seed: u64,
}

impl Job {
    /// A job with only the required values: one thread, queue depth 1, no sync, fresh random content, no ramp, and no
    /// time, so it ends after one operation. Longer runs set `time` or `operations`.
    pub const fn base(
        pattern: Pattern,
        mix: Mix,
        size_bytes: u32,
        area: Range<u64>,
        seed: u64,
    ) -> Self {
        Self {
            pattern,
            mix,
            size_bytes,
            sizes: Sizes::ONE,
            access: Access::Uniform,
            align_bytes: 0,
            stride_bytes: 0,
            apart: Apart::None,
            depth: 1,
            wait_for: 1,
            poll: Poll::None,
            threads: 1,
            pin: false,
            sync: WriteSync::None,
            content: Content::Random,
            duplicates: Duplicates::NONE,
            area,
            ramp: Duration::ZERO,
            time: Duration::ZERO,
            operations: None,
            slices: None,
            schedule: None,
            track: None,
            think: Duration::ZERO,
            verify: None,
            seed,
        }
    }

    pub(crate) fn waits(&self) -> bool {
        let is_paced = self.track.as_ref().is_some_and(|track| track.is_paced());
        self.is_open() || is_paced || self.think > Duration::ZERO
    }

    /// Returns whether a clock starts operations, independent of the drive.
    pub(crate) fn is_open(&self) -> bool {
        self.schedule.is_some() || self.track.as_ref().is_some_and(|track| track.by_clock())
    }

    pub(crate) fn has(&self, class: Class) -> bool {
        match &self.track {
            Some(track) => track.has(class),
            None => self.mix.percent(class) > 0,
        }
    }
}

/// The file or device of a run; it accesses no other.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Open file or block device; the null and simulated engines need none.
    pub file: Option<BorrowedFd<'a>>,
    /// Alignment in bytes that buffers in memory must have.
    pub memory_alignment: usize,
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::{EngineKind, Totals};

    fn base() -> Job {
        Job::base(Pattern::Random, Mix::WRITES, 4096, 0..1 << 20, 1)
    }

    fn totals(job: &Job) -> Totals {
        let target = Target { file: None, memory_alignment: 4096 };
        crate::run(job, &EngineKind::Null, &target, &AtomicBool::new(false)).unwrap().totals
    }

    #[test]
    fn a_job_of_which_no_more_is_said_is_over_after_one_operation() {
        let found = totals(&base());
        assert_eq!((found.write_operations, found.write_bytes), (1, 4096));
        assert_eq!(found.read_operations, 0);
    }

    #[test]
    fn what_is_said_of_a_job_beside_its_base_is_done() {
        let time = Duration::from_secs(3600);
        let found = totals(&Job { time, operations: Some(3), ..base() });
        assert_eq!(found.write_operations, 3);
    }
}
