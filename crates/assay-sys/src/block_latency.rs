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
    Read,
    /// Stores bytes; with forced unit access it is [`Self::Fua`].
    Write,
    Flush,
    /// Gives bytes back to the device.
    Discard,
    /// Has bytes set to zero without sending them.
    WriteZeroes,
    /// Stores bytes past the device's volatile cache (forced unit access).
    Fua,
}

impl BlockClass {
    /// All classes, in the order of the counts.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Flush, Self::Discard, Self::WriteZeroes, Self::Fua];

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
/// Number of resolved powers of two above it: up to 137 seconds.
const OCTAVES: u64 = 29;
pub const LATENCY_BUCKETS: usize = (OCTAVES * PER_OCTAVE) as usize + 2;

/// The bucket of a latency in nanoseconds: 0 below 256 ns, then 32 to each doubling, and a last one.
pub const fn latency_bucket(ns: u64) -> usize {
    if ns < LOWEST_NS {
        return 0;
    }
    let octave = ns.ilog2() as u64;
    // The five bits after the highest one select one of the 32 buckets of a doubling.
    let within = (ns >> (octave - PER_OCTAVE.ilog2() as u64)) & (PER_OCTAVE - 1);
    let index = 1 + (octave - LOWEST_NS.ilog2() as u64) * PER_OCTAVE + within;
    if index >= LATENCY_BUCKETS as u64 { LATENCY_BUCKETS - 1 } else { index as usize }
}

/// Lower bound of a bucket, nanoseconds; equals the upper bound of the previous bucket.
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

/// Bytes of kernel memory for recorded requests: about 350,000 of them (48 bytes each, including the ring's header),
/// enough for one second if the reader runs once per second.
const ROOM_BYTES: u32 = 16 << 20;

/// Devices that a program in the kernel has room for.
pub const MOST_TRACED: usize = 64;

/// Requests of one class that ended, from the beginning of the tracing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassTotals {
    pub requests: u64,
    pub failed: u64,
    /// Bytes moved (of a discard: given back).
    pub bytes: u64,
    /// From the arrival in the block layer (including limits, tags, schedulers) to the end.
    pub queued: LatencyTotals,
    /// From the submission to the driver to the end; empty for bio-based devices (zram, device mapper).
    pub issued: LatencyTotals,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceMeans {
    /// Counted by a program in the kernel: needs BTF, and the right to load programs.
    Bpf,
    /// The same, and records each request ([`BlockTrace::requests`]).
    BpfRequests,
    /// Read from the kernel's trace, event by event: needs tracefs, and the right to read it.
    Tracefs,
}

/// One request that ended, as it was handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// Index in the list of requested devices.
    pub device: u16,
    pub class: BlockClass,
    /// Arrival in the block layer, nanoseconds of the monotonic clock; `None` if not observed.
    pub arrived_ns: Option<u64>,
    /// Last submission to the driver; `None` for bio-based devices, and if not observed.
    pub issued_ns: Option<u64>,
    /// When its last bytes had ended.
    pub ended_ns: u64,
    /// Bytes from the start of the whole disk; 0 if neither arrival nor submission was observed.
    pub offset_bytes: u64,
    /// Requested bytes (for a discard: freed); 0 for a flush.
    pub bytes: u32,
    /// Further flags of the request, and its result.
    pub flags: RequestFlags,
}

/// Further flags of a request, and its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFlags(pub u8);

impl RequestFlags {
    /// Somebody waits for it (`REQ_SYNC`).
    pub const SYNC: u8 = 1;
    pub const META: u8 = 2;
    pub const READ_AHEAD: u8 = 8;
    pub const FAILED: u8 = 16;

    /// Returns whether one of these bits is set.
    pub const fn has(self, bits: u8) -> bool {
        self.0 & bits != 0
    }
}

/// What was counted on one device: one entry a class of [`BlockClass::ALL`].
pub type DeviceTotals = [ClassTotals; 6];

/// What was counted since the tracing began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockTotals {
    /// One entry per device, in the order of the request.
    pub devices: Vec<DeviceTotals>,
    /// Requests without an observed beginning (too early, or the table was full), counted from their issue.
    pub unseen_beginnings: u64,
    /// Requests that were counted but not recorded, for lack of memory.
    pub unrecorded: u64,
    /// Lost events; if there are any, all counts are incomplete.
    pub lost_events: u64,
    /// Requests missing from the latencies, one sentence each.
    pub notes: Vec<String>,
}

/// Counts requests until dropped.
#[derive(Debug)]
pub struct BlockTrace(TracerKind);

#[derive(Debug)]
enum TracerKind {
    #[cfg(all(feature = "bpf", target_pointer_width = "64"))]
    Bpf(Box<bpf::BpfTrace>),
    Tracefs(tracefs::Trace),
}

impl BlockTrace {
    /// Counts requests of whole disks (major, minor). The error is one line with the reason.
    pub fn begin(devices: &[(u32, u32)], means: TraceMeans) -> io::Result<Self> {
        if let Some(root) = tracefs::find_root() {
            tracefs::remove_stale_below(root);
        }
        match means {
            TraceMeans::Bpf => begin_bpf(devices, None),
            TraceMeans::BpfRequests => begin_bpf(devices, Some(ROOM_BYTES)),
            TraceMeans::Tracefs => {
                tracefs::Trace::begin(devices).map(|it| Self(TracerKind::Tracefs(it)))
            }
        }
    }

    /// What was counted since it began.
    pub fn read(&mut self) -> io::Result<BlockTotals> {
        match &mut self.0 {
            #[cfg(all(feature = "bpf", target_pointer_width = "64"))]
            TracerKind::Bpf(trace) => trace.read(),
            TracerKind::Tracefs(trace) => trace.read(),
        }
    }

    /// Passes on each request that ended since the last call; only [`TraceMeans::BpfRequests`] can.
    pub fn requests(&mut self, each: &mut dyn FnMut(BlockRequest)) -> io::Result<()> {
        match &mut self.0 {
            #[cfg(all(feature = "bpf", target_pointer_width = "64"))]
            TracerKind::Bpf(trace) => trace.requests(each),
            TracerKind::Tracefs(_) => {
                let _ = each;
                Err(io::Error::from(io::ErrorKind::Unsupported))
            }
        }
    }
}

#[cfg(all(feature = "bpf", target_pointer_width = "64"))]
fn begin_bpf(devices: &[(u32, u32)], room: Option<u32>) -> io::Result<BlockTrace> {
    bpf::BpfTrace::begin(devices, room).map(|trace| BlockTrace(TracerKind::Bpf(Box::new(trace))))
}

#[cfg(not(all(feature = "bpf", target_pointer_width = "64")))]
fn begin_bpf(_: &[(u32, u32)], _: Option<u32>) -> io::Result<BlockTrace> {
    // Of two reasons: build options, or properties of the machine.
    let text = if cfg!(feature = "bpf") {
        "this build has no BPF program, which exists only for 64-bit machines"
    } else {
        "this build has no BPF program, because the feature bpf is disabled"
    };
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

#[cfg(test)]
mod tests;
