//! What one measured run found.

use crate::verify::Written;
use crate::{Pace, Played, Poll};
use hdrhistogram::Histogram;

/// Class of an operation; each class has a separate histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Read,
    /// Writes, including their `fdatasync` if the job has one.
    Write,
    /// A read and a write of the same block, counted once, with the `fdatasync` of the write.
    Rewrite,
    /// Deallocates a block on a device or file system.
    Trim,
    /// Zeroes a block without a data transfer.
    Zero,
    /// A separate `fdatasync`; in recorded loads only.
    Flush,
}

names!(
    Class: Read = "read",
    Write = "write",
    Rewrite = "rewrite",
    Trim = "trim",
    Zero = "zero",
    Flush = "flush",
);

#[derive(Clone, Debug)]
pub struct ClassOutcome {
    pub class: Class,
    /// Operations completed inside the window; in an open loop those with an intended start in it.
    pub operations: u64,
    pub bytes: u64,
    /// Service times in nanoseconds, from submission to completion.
    pub latency_ns: Histogram<u64>,
    /// Response times of an open loop; waiting times of operations never issued.
    pub response_ns: Option<Histogram<u64>>,
}

/// Buckets of a second's latencies: two to each doubling, from [`FIRST_BUCKET_NS`] up.
pub const LATENCY_BUCKETS: usize = 64;

/// Lower bound of the second bucket, nanoseconds: the first one contains everything below.
const FIRST_BUCKET_NS: u64 = 1 << FIRST_DOUBLING;
const FIRST_DOUBLING: u32 = 8;

/// The bucket of a latency; the last one contains everything above about 9 minutes.
#[inline]
pub fn latency_bucket(latency_ns: u64) -> usize {
    if latency_ns < FIRST_BUCKET_NS {
        return 0;
    }
    let doubling = latency_ns.ilog2();
    // Two buckets per power of two: the second bit is set in the upper half.
    let upper_half = (latency_ns >> (doubling - 1)) & 1;
    let index = u64::from(2 * (doubling - FIRST_DOUBLING)) + upper_half + 1;
    (index as usize).min(LATENCY_BUCKETS - 1)
}

/// Lower bound of a bucket, nanoseconds; equals the upper bound of the previous bucket.
pub fn latency_bucket_from_ns(index: usize) -> u64 {
    let Some(halves) = index.min(LATENCY_BUCKETS).checked_sub(1) else { return 0 };
    let doubling = FIRST_BUCKET_NS << (halves / 2);
    if halves % 2 == 0 { doubling } else { doubling + doubling / 2 }
}

/// One second of the run, ramp included; seconds count from the start of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondRow {
    pub second: u32,
    pub class: Class,
    pub operations: u64,
    pub bytes: u64,
    pub latency_sum_ns: u64,
    pub latency_max_ns: u64,
    /// How many fell into each bucket ([`latency_bucket`]).
    pub latency_buckets: [u32; LATENCY_BUCKETS],
}

/// Everything that was moved, ramp and drain included; a rewrite is a read and a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub read_operations: u64,
    pub read_bytes: u64,
    pub write_operations: u64,
    pub write_bytes: u64,
    pub trim_operations: u64,
    pub trim_bytes: u64,
    pub zero_operations: u64,
    pub zero_bytes: u64,
    pub flush_operations: u64,
    /// Nanoseconds from the first submission to the last completion.
    pub elapsed_ns: u64,
    /// Nanoseconds from the first to the last submission.
    pub submitting_ns: u64,
}

/// Queue observations of the engine; a count of operations in flight would prove nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueFacts {
    /// Operations that were looked at right after their submission returned.
    pub looked_at: u64,
    pub already_complete: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineFacts {
    pub name: String,
    /// Choices and fall-backs that a reader of the numbers should know, as sentences.
    pub notes: Vec<String>,
    pub poll: Poll,
}

#[derive(Clone, Debug)]
pub struct Outcome {
    /// One entry per class that completed at least one operation.
    pub classes: Vec<ClassOutcome>,
    /// Length of the window in nanoseconds: rate = operations / window. For an open loop: from the end of the ramp, or
    /// the end of its backlog, to the end of the time, or the last completion of operations scheduled in the window.
    pub window_ns: u64,
    /// Rows per second and class, in time order.
    pub series: Vec<SecondRow>,
    pub totals: Totals,
    /// For [`Pattern::Spaced`](crate::Pattern::Spaced): the first 10,000 service times in order.
    pub sample_latencies_ns: Vec<u64>,
    /// For a job with slices: nanoseconds from the first submission to the end of each slice.
    pub slice_ends_ns: Vec<u64>,
    /// Order of the writes, if they have stamps; input of a verification pass.
    pub written: Option<Written>,
    pub queue: QueueFacts,
    pub engine: EngineFacts,
    /// Processor time of the measuring threads in nanoseconds, user and system, over the whole run.
    pub cpu_ns: u64,
    /// Processor time of the process without bystanders, kernel workers included.
    pub process_cpu_ns: u64,
    /// Nanoseconds that measuring threads waited for a CPU, if the kernel counts them.
    pub waited_ns: Option<u64>,
    /// Whether a stop ended the run before its time.
    pub stopped: bool,
    /// Delays against the schedule of an open loop, or the times of a paced track.
    pub pace: Option<Pace>,
    pub played: Option<Played>,
    /// Nanoseconds of each `fdatasync` after a write, if the engine times it separately.
    pub sync_ns: Option<Histogram<u64>>,
}

/// An empty latency histogram with the bounds used everywhere: 1 ns to 1 h, 3 significant digits.
pub fn new_histogram() -> Histogram<u64> {
    const HOUR_NS: u64 = 3_600_000_000_000;
    match Histogram::new_with_bounds(1, HOUR_NS, 3) {
        Ok(histogram) => histogram,
        // The bounds are constants that the library accepts; a test constructs one.
        Err(_) => unreachable!("constant bounds are valid"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_latency_lies_in_its_bucket() {
        for exponent in 0..64 {
            for latency in [1_u64 << exponent, (1 << exponent) - 1, 3 << exponent.min(61)] {
                let index = latency_bucket(latency);
                assert!(latency_bucket_from_ns(index) <= latency, "{latency}");
                let is_last = index + 1 == LATENCY_BUCKETS;
                assert!(is_last || latency < latency_bucket_from_ns(index + 1), "{latency}");
            }
        }
        assert_eq!((latency_bucket(255), latency_bucket(256), latency_bucket(384)), (0, 1, 2));
    }
}
