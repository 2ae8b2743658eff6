//! What one measured run found.

use hdrhistogram::Histogram;

/// Class of an operation: each class has its own histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Reads.
    Read,
    /// Writes, with their `fdatasync` where the job asks for it.
    Write,
    /// A read and a write of the same block, counted once, with the `fdatasync` of the write.
    Rewrite,
}

/// Counted operations of one class.
#[derive(Clone, Debug)]
pub struct ClassOutcome {
    /// The class.
    pub class: Class,
    /// Operations completed inside the window.
    pub operations: u64,
    /// Bytes of their blocks.
    pub bytes: u64,
    /// Service time in nanoseconds of each of them, from submission to completion.
    pub latency_ns: Histogram<u64>,
}

/// One second of the run, ramp included; seconds count from the start of the run.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondRow {
    /// Index of the second, from 0.
    pub second: u32,
    /// The class.
    pub class: Class,
    /// Operations completed in this second.
    pub operations: u64,
    /// Bytes of their blocks.
    pub bytes: u64,
    /// Sum of their latencies in nanoseconds.
    pub latency_sum_ns: u64,
    /// The slowest of them in nanoseconds.
    pub latency_max_ns: u64,
}

/// Everything that was moved, ramp and drain included: what device counters are compared with.
/// A rewrite is a read and a write here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Reads completed.
    pub read_operations: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub write_operations: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Nanoseconds from the first submission to the last completion.
    pub elapsed_ns: u64,
    /// Nanoseconds from the first submission until nothing new was submitted.
    pub submitting_ns: u64,
}

/// What the engine saw of its queue. Its own count of operations in flight is not here on
/// purpose: it is no evidence of what the device had to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueFacts {
    /// Operations that were looked at right after their submission returned.
    pub looked_at: u64,
    /// Those of them that were already complete.
    pub already_complete: u64,
}

/// What an engine did with what it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineFacts {
    /// Name in the table of engines.
    pub name: String,
    /// Choices and fall-backs that a reader of the numbers should know, as sentences.
    pub notes: Vec<String>,
}

/// Result of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One entry per class that completed at least one operation.
    pub classes: Vec<ClassOutcome>,
    /// Length of the window in nanoseconds: rate = operations / window.
    pub window_ns: u64,
    /// Rows per second and class, in time order.
    pub series: Vec<SecondRow>,
    /// Everything moved.
    pub totals: Totals,
    /// For [`Pattern::Spread`](crate::Pattern::Spread) the service time in nanoseconds of each
    /// operation in its order, the first 10,000; empty for the other patterns.
    pub sample_latencies_ns: Vec<u64>,
    /// The queue as the engine saw it.
    pub queue: QueueFacts,
    /// The engine.
    pub engine: EngineFacts,
    /// Processor time of the measuring threads in nanoseconds, user and system, over the whole run.
    pub cpu_ns: u64,
    /// Whether a stop was asked for before the time was over.
    pub stopped: bool,
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
