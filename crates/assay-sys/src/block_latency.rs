//! Latency of the requests of block devices by class, counted inside the kernel, or from its trace.

#[cfg(all(feature = "bpf", target_pointer_width = "64"))]
mod bpf;
#[cfg(all(feature = "bpf", target_pointer_width = "64"))]
mod btf;
mod tracefs;

use std::io;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockClass {
    /// Fetches bytes.
    Read,
    /// Stores bytes; where the device is told to put them on the medium itself, it is [`Self::Fua`].
    Write,
    /// Asks for what was written to be put on the medium.
    Flush,
    /// Gives bytes back to the device.
    Discard,
    /// Has bytes set to zero without sending them.
    WriteZeroes,
    /// Stores bytes past the device's volatile cache (forced unit access).
    Fua,
}

impl BlockClass {
    /// All of them, in the order in which they are counted.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Flush, Self::Discard, Self::WriteZeroes, Self::Fua];

    /// As records and tables write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
            Self::WriteZeroes => "write-zeroes",
            Self::Fua => "fua",
        }
    }
}

/// Buckets to each doubling.
const PER_OCTAVE: u64 = 32;
/// Everything below this falls into the first bucket, nanoseconds.
const LOWEST_NS: u64 = 256;
/// Doublings above it that are told apart: up to 137 seconds.
const OCTAVES: u64 = 29;
/// Buckets of a latency.
pub const LATENCY_BUCKETS: usize = (OCTAVES * PER_OCTAVE) as usize + 2;

/// The bucket of a latency in nanoseconds: 0 below 256 ns, then 32 to each doubling, and a last one.
pub const fn latency_bucket(ns: u64) -> usize {
    if ns < LOWEST_NS {
        return 0;
    }
    let octave = ns.ilog2() as u64;
    let index = 1
        + (octave - LOWEST_NS.ilog2() as u64) * PER_OCTAVE
        + ((ns >> (octave - PER_OCTAVE.ilog2() as u64)) & (PER_OCTAVE - 1));
    if index >= LATENCY_BUCKETS as u64 { LATENCY_BUCKETS - 1 } else { index as usize }
}

/// Where a bucket begins, nanoseconds; it ends where the next one begins.
pub const fn latency_bucket_from_ns(index: usize) -> u64 {
    if index == 0 {
        return 0;
    }
    let (octave, step) = ((index as u64 - 1) / PER_OCTAVE, (index as u64 - 1) % PER_OCTAVE);
    (LOWEST_NS << octave) + step * ((LOWEST_NS << octave) / PER_OCTAVE)
}

/// Latencies of one class, from the beginning of the tracing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyTotals {
    /// Their sum, nanoseconds.
    pub sum_ns: u64,
    /// Requests in each bucket; [`LATENCY_BUCKETS`] of them.
    pub buckets: Vec<u64>,
}

impl Default for LatencyTotals {
    fn default() -> Self {
        Self { sum_ns: 0, buckets: vec![0; LATENCY_BUCKETS] }
    }
}

/// Bytes of the kernel's memory for requests that are handed out: some 350,000 of them (48 bytes each, with the
/// ring's own), which is as many as may end in a second where a reader comes once a second.
const ROOM_BYTES: u32 = 16 << 20;

/// Devices that a program in the kernel has room for.
pub const MOST_TRACED: usize = 64;

/// Requests of one class that ended, from the beginning of the tracing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassTotals {
    /// Requests.
    pub requests: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Bytes moved (of a discard: given back).
    pub bytes: u64,
    /// From the arrival in the block layer (limits, tags, schedulers included) until the end.
    pub queued: LatencyTotals,
    /// From the hand-over to the driver until the end; bio-based devices (zram, device mapper) have none.
    pub issued: LatencyTotals,
}

/// How requests are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceMeans {
    /// Counted by a program in the kernel: needs BTF, and the right to load programs.
    Bpf,
    /// The same, and each request is handed out as well ([`BlockTrace::requests`]).
    BpfRequests,
    /// Read from the kernel's trace, event by event: needs tracefs, and the right to read it.
    Tracefs,
}

/// One request that ended, as it was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// Index among the devices that were asked for.
    pub device: u16,
    /// What it asked for.
    pub class: BlockClass,
    /// When it arrived in the block layer, nanoseconds of the monotonic clock; none where nobody saw it.
    pub arrived_ns: Option<u64>,
    /// When it was handed to the driver for the last time; none of bio-based devices, and where nobody saw it.
    pub issued_ns: Option<u64>,
    /// When its last bytes had ended.
    pub ended_ns: u64,
    /// Bytes from the start of the whole disk; 0 where neither its arrival nor its hand-over was seen.
    pub offset_bytes: u64,
    /// Bytes asked for (of a discard: given back); of a flush none.
    pub bytes: u32,
    /// What else was asked for, and how it ended.
    pub flags: RequestFlags,
}

/// What else was asked for with a request, and how it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFlags(
    /// The bits below.
    pub u8,
);

impl RequestFlags {
    /// Somebody waits for it (`REQ_SYNC`).
    pub const SYNC: u8 = 1;
    /// It is about metadata (`REQ_META`).
    pub const META: u8 = 2;
    /// It is read ahead of who may want it (`REQ_RAHEAD`).
    pub const READ_AHEAD: u8 = 8;
    /// It failed.
    pub const FAILED: u8 = 16;

    /// Whether one of these bits is set.
    pub const fn has(self, bits: u8) -> bool {
        self.0 & bits != 0
    }
}

/// What was counted on one device: one entry a class of [`BlockClass::ALL`].
pub type DeviceTotals = [ClassTotals; 6];

/// What was counted since the tracing began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockTotals {
    /// One entry a device, in the order in which they were asked for.
    pub devices: Vec<DeviceTotals>,
    /// Requests of which nobody saw the beginning: they had begun before the tracing, or the room
    /// for beginnings was shared. They are counted, with the time since they were made a request.
    pub unseen_beginnings: u64,
    /// Requests that were counted and not handed out, because there was no room for them.
    pub unrecorded: u64,
    /// Events that were lost; where there are any, no count is whole.
    pub lost_events: u64,
    /// What is not in the latencies here, a sentence each.
    pub notes: Vec<String>,
}

/// Counts requests from its beginning until it is dropped.
#[derive(Debug)]
pub struct BlockTrace(Means);

#[derive(Debug)]
enum Means {
    #[cfg(all(feature = "bpf", target_pointer_width = "64"))]
    Bpf(Box<bpf::Trace>),
    Tracefs(tracefs::Trace),
}

impl BlockTrace {
    /// Begins to count requests of whole disks (major, minor). The error says in one line why it cannot.
    pub fn begin(devices: &[(u32, u32)], means: TraceMeans) -> io::Result<Self> {
        tracefs::remove_stale();
        match means {
            TraceMeans::Bpf => begin_bpf(devices, None),
            TraceMeans::BpfRequests => begin_bpf(devices, Some(ROOM_BYTES)),
            TraceMeans::Tracefs => {
                tracefs::Trace::begin(devices).map(|it| Self(Means::Tracefs(it)))
            }
        }
    }

    /// What was counted since it began.
    pub fn read(&mut self) -> io::Result<BlockTotals> {
        match &mut self.0 {
            #[cfg(all(feature = "bpf", target_pointer_width = "64"))]
            Means::Bpf(trace) => trace.read(),
            Means::Tracefs(trace) => trace.read(),
        }
    }

    /// Passes on each request that ended since the last call; only [`TraceMeans::BpfRequests`] can.
    pub fn requests(&mut self, each: &mut dyn FnMut(BlockRequest)) -> io::Result<()> {
        match &mut self.0 {
            #[cfg(all(feature = "bpf", target_pointer_width = "64"))]
            Means::Bpf(trace) => trace.requests(each),
            Means::Tracefs(_) => {
                let _ = each;
                Err(io::Error::from(io::ErrorKind::Unsupported))
            }
        }
    }
}

#[cfg(all(feature = "bpf", target_pointer_width = "64"))]
fn begin_bpf(devices: &[(u32, u32)], room: Option<u32>) -> io::Result<BlockTrace> {
    bpf::Trace::begin(devices, room).map(|trace| BlockTrace(Means::Bpf(Box::new(trace))))
}

#[cfg(not(all(feature = "bpf", target_pointer_width = "64")))]
fn begin_bpf(_: &[(u32, u32)], _: Option<u32>) -> io::Result<BlockTrace> {
    // Why, of two reasons: what was asked for when it was built, or what the machine is.
    let text = if cfg!(feature = "bpf") {
        "this build has no BPF program, which exists only for 64-bit machines"
    } else {
        "this build has no BPF program, because the feature bpf is disabled"
    };
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

#[cfg(test)]
mod tests;
