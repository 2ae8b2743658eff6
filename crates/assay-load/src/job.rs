//! What one measured run is asked to do.

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

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

/// Where the next offset comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// One block after the other, from the start again at the end. With several threads each one
    /// walks its own equal slice of the area.
    Sequential,
    /// Every aligned block of the area, drawn with replacement by the job's [`Access`].
    Random,
    /// As sequential, but from the start of one block to that of the next it is
    /// [`stride_bytes`](Job::stride_bytes). At the end it begins anew one block (of the smallest size)
    /// further than the last time, so that every block is met before one is met again.
    Stride,
    /// Operation i of the job's operation count goes to the i-th of as many evenly spaced blocks,
    /// in rising order: see [`spread_offset`](crate::spread_offset). One thread, depth 1.
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
    /// Area and position: the next operation goes on where the one before it ended, whatever both are.
    #[default]
    None,
    /// Random places in the area, with separate streams for reads and writes.
    Positions,
    /// Nothing: reads have the first half of the area, and writes the second.
    Halves,
}

/// Parts of a job that follow each other without a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    pub operations: u64,
    /// None begins after so long from the first submission; the one that goes on then is ended.
    pub begun_within: Duration,
}

/// One measured run. All sizes in bytes; the area is a byte range of the target.
#[derive(Clone, Debug)]
pub struct Job {
    pub pattern: Pattern,
    pub mix: Mix,
    /// Bytes of one operation; a rewrite moves as many in each direction. Where sizes differ, the largest.
    pub size_bytes: u32,
    /// The sizes, where there are several; random offsets are multiples of the smallest.
    pub sizes: Sizes,
    /// Which blocks random operations go to more often than to others.
    pub access: Access,
    /// Alignment of random offsets from the start of the area; 0 for none.
    pub align_bytes: u64,
    /// Bytes from the start of one block to that of the next, for [`Pattern::Stride`].
    pub stride_bytes: u64,
    pub apart: Apart,
    pub depth: u32,
    /// A closed loop goes on when so many operations have ended, or all where fewer are in flight. More than
    /// one saves processor time and lengthens latencies: what ends first is not looked at before the last.
    pub wait_for: u32,
    /// What is polled for; only of a ring anything is.
    pub poll: Poll,
    pub threads: u32,
    /// Pins threads to the allowed processors in order, beginning again after the last one.
    pub pin: bool,
    pub sync: WriteSync,
    pub content: Content,
    /// How much of it is copies of each other; nothing of a rewrite and of zeros.
    pub duplicates: Duplicates,
    /// The bytes of the target that may be touched, aligned for direct I/O.
    pub area: Range<u64>,
    /// Time at the start that is run but not counted.
    pub ramp: Duration,
    /// Time that is counted, after the ramp. At least one operation is always completed.
    pub time: Duration,
    /// End after this many operations in all, even if time is left; ramp and drain then count.
    pub operations: Option<u64>,
    /// Note the time after each slice of the one thread; the operation count says how many at most.
    pub slices: Option<Slices>,
    /// Intended starts of an open loop, whose depth is the most in flight; `None`: closed loop.
    pub schedule: Option<Schedule>,
    /// What was recorded and is played again, by one thread, in the place of what pattern, mix and sizes say.
    pub track: Option<Arc<Track>>,
    /// In a closed loop a slot rests so long between the end of its operation and the start of the next.
    pub think: Duration,
    /// The number of the run that stamps each written sector for [`verify`](crate::verify()).
    pub verify: Option<u64>,
    /// Seed of offsets, mix, content and simulated latencies; different for every trial.
    pub seed: u64,
}

impl Job {
    /// What no run can leave unsaid, and of all else nothing: one thread with one operation in flight,
    /// no sync, fresh random bytes where it writes, no ramp, and no time, so that it ends as soon as
    /// an operation is done. What is to last says its `time`, or its `operations` too.
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

    /// Whether operations start by a clock, whatever the drive does meanwhile.
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

/// The one thing that a run may touch.
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
