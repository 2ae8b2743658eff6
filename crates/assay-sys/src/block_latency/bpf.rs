//! The side of `bpf/block_latency.bpf.c` outside the kernel: loads it, attaches it, reads its counts.

use std::error::Error;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use aya::maps::{MapData, PerCpuArray, RingBuf};
use aya::programs::{BtfTracePoint, FExit, Program};
use aya::{Btf, Ebpf, EbpfLoader};

use super::{
    BlockClass, BlockRequest, BlockTotals, ClassTotals, DeviceTotals, LATENCY_BUCKETS,
    LatencyTotals, MOST_TRACED, RequestFlags, btf,
};

/// The built program; a test compares it with its source.
static OBJECT: &[u8] = aya::include_bytes_aligned!("../bpf/block_latency.bpf.o");

/// What the kernel counts places in.
const SECTOR_BYTES: u64 = 512;

const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Programs and their tracepoints. The counting ones come last, so that beginnings are already observed.
const PROGRAMS: [(&str, &str); 6] = [
    ("bio_queued", "block_bio_queue"),
    ("bio_remapped", "block_bio_remap"),
    ("part_cut", "block_split"),
    ("request_issued", "block_rq_issue"),
    ("request_ended", "block_rq_complete"),
    ("bio_ended", "block_bio_complete"),
];

/// Programs whose missed runs are uncounted requests.
const COUNTING: [&str; 2] = ["request_ended", "bio_ended"];

/// The optional program, and the kernel's function that it watches: there control groups hold bios back.
const THROTTLE_WATCH: (&str, &str) = ("held_back", "__blk_throtl_bio");

/// What the kernel counts of one class on one processor.
#[derive(Clone, Copy)]
#[repr(C)]
struct BpfTotals {
    requests: u64,
    failed: u64,
    bytes: u64,
    unseen: u64,
    unrecorded: u64,
    queued: BpfLatencies,
    issued: BpfLatencies,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct BpfLatencies {
    sum_ns: u64,
    buckets: [u64; LATENCY_BUCKETS],
}

// SAFETY: only 64-bit integers: no padding, and every bit pattern is valid.
unsafe impl aya::Pod for BpfTotals {}

/// Bytes of one request as the kernel hands it out (`struct ended`).
const RECORD_BYTES: usize = 40;

/// A loaded program; it stops counting when dropped.
#[derive(Debug)]
pub struct BpfTrace {
    loaded: Ebpf,
    devices: usize,
    notes: Vec<String>,
    /// Ring buffer of recorded requests, if requested.
    ring: Option<Ring>,
}

/// A ring of the kernel, which cannot be shown.
struct Ring(RingBuf<MapData>);

impl std::fmt::Debug for Ring {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Ring")
    }
}

impl BpfTrace {
    /// Begins to count requests of these whole disks, and to record each in a ring buffer of `room` bytes, if given.
    pub fn begin(devices: &[(u32, u32)], room: Option<u32>) -> io::Result<Self> {
        if devices.len() > MOST_TRACED {
            let many =
                format!("cannot trace {} devices; the maximum is {MOST_TRACED}", devices.len());
            return Err(io::Error::other(many));
        }
        let content = fs::read(KERNEL_TYPES).map_err(|error| {
            let text = format!("this kernel has no BTF ({KERNEL_TYPES}: {error})");
            io::Error::new(io::ErrorKind::Unsupported, text)
        })?;
        let types = Btf::from_sys_fs().map_err(|error| readable_error(&error))?;
        // The flag that the kernel sets on a bio that `block_bio_queue` has shown; flags have 16 bits.
        let traced_bit = btf::enumerator(&content, "BIO_TRACE_COMPLETION").filter(|bit| *bit < 16);
        let mut loaded = load(devices, traced_bit, room, &types)?;
        let ring = room.map(|_| open_ring(&mut loaded)).transpose()?;
        let notes = attach(&mut loaded, &types, traced_bit.is_some())?;
        Ok(Self { loaded, devices: devices.len(), notes, ring })
    }

    /// Reads everything that was counted so far.
    pub fn read(&mut self) -> io::Result<BlockTotals> {
        let map = self.loaded.map("totals").ok_or(io::ErrorKind::NotFound)?;
        let totals =
            PerCpuArray::<_, BpfTotals>::try_from(map).map_err(|error| readable_error(&error))?;
        let mut found = BlockTotals { notes: self.notes.clone(), ..BlockTotals::default() };
        for device in 0..self.devices {
            let counted = device_totals(&totals, device, &mut found)?;
            found.devices.push(counted);
        }
        for name in COUNTING {
            found.lost_events +=
                program_info(&self.loaded, name, "recursion_misses").unwrap_or_default();
        }
        Ok(found)
    }

    /// Passes on each request that ended since the last call, in the order in which they ended.
    pub fn requests(&mut self, each: &mut dyn FnMut(BlockRequest)) -> io::Result<()> {
        let Some(Ring(ring)) = &mut self.ring else {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        };
        while let Some(record) = ring.next() {
            let record: &[u8; RECORD_BYTES] =
                record[..].try_into().map_err(|_| io::ErrorKind::InvalidData)?;
            each(parse_record(record).ok_or(io::ErrorKind::InvalidData)?);
        }
        Ok(())
    }
}

/// Parses a request as the BPF program writes it: four words, then 32 bits of length, the device, class and flags.
fn parse_record(record: &[u8; RECORD_BYTES]) -> Option<BlockRequest> {
    let (words, _) = record.as_chunks::<8>();
    let word = |at: usize| u64::from_ne_bytes(words[at]);
    let observed = |at: usize| Some(word(at)).filter(|ns| *ns > 0);
    let [length @ .., d0, d1, class, flags] = words[4];
    Some(BlockRequest {
        device: u16::from_ne_bytes([d0, d1]),
        class: *BlockClass::ALL.get(usize::from(class))?,
        arrived_ns: observed(0),
        issued_ns: observed(1),
        ended_ns: word(2),
        offset_bytes: word(3).saturating_mul(SECTOR_BYTES),
        bytes: u32::from_ne_bytes(length),
        flags: RequestFlags(flags),
    })
}

fn open_ring(loaded: &mut Ebpf) -> io::Result<Ring> {
    let map = loaded.take_map("requests").ok_or(io::ErrorKind::NotFound)?;
    RingBuf::try_from(map).map(Ring).map_err(|error| readable_error(&error))
}

/// Loads the programs for these devices. `traced_bit` is the flag of bios that were seen before, if known; `room` is
/// the size of the ring buffer for single requests, bytes.
fn load(
    devices: &[(u32, u32)],
    traced_bit: Option<u32>,
    room: Option<u32>,
    types: &Btf,
) -> io::Result<Ebpf> {
    let count = u32::try_from(devices.len()).map_err(io::Error::other)?;
    let classes = u32::try_from(super::BlockClass::ALL.len()).map_err(io::Error::other)?;
    let mut numbers = [0_u32; MOST_TRACED];
    for (number, (major, minor)) in numbers.iter_mut().zip(devices) {
        // As the kernel packs a `dev_t`: the minor number has 20 bits.
        *number = major << 20 | minor;
    }
    let flag = traced_bit.map_or(0, |bit| 1_u32 << bit);
    let recording = u32::from(room.is_some());
    let mut loader = EbpfLoader::new();
    if let Some(bytes) = room {
        loader.map_max_entries("requests", bytes);
    }
    loader
        .btf(Some(types))
        .override_global("device_count", &count, true)
        .override_global("device_numbers", numbers.as_slice(), true)
        .override_global("traced_flag", &flag, true)
        .override_global("recording", &recording, true)
        .map_max_entries("totals", classes * count.max(1))
        .load(OBJECT)
        .map_err(|error| readable_error(&error))
}

/// Attaches every program; returns a note if the optional one failed. Remapped bios need the flag of traced bios.
fn attach(loaded: &mut Ebpf, types: &Btf, flag_is_known: bool) -> io::Result<Vec<String>> {
    let mut notes = Vec::new();
    if let Err(error) = attach_throttle_watch(loaded, types, flag_is_known) {
        notes.push(format!(
            "for whole disks, the latency excludes throttling by control groups: {error}"
        ));
    }
    for (name, event) in PROGRAMS {
        if name == "bio_remapped" && !flag_is_known {
            continue;
        }
        let program: &mut BtfTracePoint = program(loaded, name)?;
        program.load(event, types).map_err(|error| readable_error(&error))?;
        program.attach().map_err(|error| readable_error(&error))?;
    }
    Ok(notes)
}

/// Attaches the program that records when a control group held a bio back, so that latencies include the throttling. It
/// recognizes bios that were recorded before by the kernel's flag `BIO_TRACE_COMPLETION`, whose bit must be known.
fn attach_throttle_watch(loaded: &mut Ebpf, types: &Btf, flag_is_known: bool) -> io::Result<()> {
    if !flag_is_known {
        return Err(io::Error::other("the kernel's BTF does not contain BIO_TRACE_COMPLETION"));
    }
    let (name, function) = THROTTLE_WATCH;
    let attach_failure = |error: aya::programs::ProgramError| {
        io::Error::other(format!("cannot attach to {function} ({})", innermost_message(&error)))
    };
    let program: &mut FExit = program(loaded, name)?;
    program.load(function, types).map_err(attach_failure)?;
    program.attach().map_err(attach_failure)?;
    Ok(())
}

fn program<'a, T>(loaded: &'a mut Ebpf, name: &str) -> io::Result<&'a mut T>
where
    &'a mut T: TryFrom<&'a mut Program, Error = aya::programs::ProgramError>,
{
    let found = loaded.program_mut(name).ok_or(io::ErrorKind::NotFound)?;
    found.try_into().map_err(|error: aya::programs::ProgramError| readable_error(&error))
}

/// Sums the classes of a device over all CPUs; adds its unseen and unrecorded requests to `all`.
fn device_totals(
    totals: &PerCpuArray<&MapData, BpfTotals>,
    device: usize,
    all: &mut BlockTotals,
) -> io::Result<DeviceTotals> {
    let mut found = DeviceTotals::default();
    for (class, into) in found.iter_mut().enumerate() {
        let entry = u32::try_from(device * super::BlockClass::ALL.len() + class);
        let entry = entry.map_err(io::Error::other)?;
        for value in totals.get(&entry, 0).map_err(|error| readable_error(&error))?.iter() {
            add_counts(into, value);
            all.unseen_beginnings += value.unseen;
            all.unrecorded += value.unrecorded;
        }
    }
    Ok(found)
}

fn add_counts(totals: &mut ClassTotals, value: &BpfTotals) {
    totals.requests += value.requests;
    totals.failed += value.failed;
    totals.bytes += value.bytes;
    add_latencies(&mut totals.queued, &value.queued);
    add_latencies(&mut totals.issued, &value.issued);
}

fn add_latencies(totals: &mut LatencyTotals, latencies: &BpfLatencies) {
    totals.sum_ns += latencies.sum_ns;
    for (sum, count) in totals.buckets.iter_mut().zip(&latencies.buckets) {
        *sum += count;
    }
}

/// Returns a number from the kernel's program info.
fn program_info(loaded: &Ebpf, name: &str, what: &str) -> Option<u64> {
    let descriptor = loaded.program(name)?.fd().ok()?.as_fd().as_raw_fd();
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).ok()?;
    text.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(':')?.trim().parse().ok())
}

/// Formats an error in one line, with a hint if a privilege is missing.
fn readable_error(error: &(dyn Error + 'static)) -> io::Error {
    let text = innermost_message(error);
    let mut cause = Some(error);
    while let Some(inner) = cause {
        let kind = inner.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::PermissionDenied) {
            let text = format!("needs root, or CAP_BPF and CAP_PERFMON ({text})");
            return io::Error::new(io::ErrorKind::PermissionDenied, text);
        }
        cause = inner.source();
    }
    io::Error::other(format!("this kernel rejects the program: {text}"))
}

/// The first line of the innermost cause.
fn innermost_message(error: &(dyn Error + 'static)) -> String {
    let mut inner = error;
    while let Some(cause) = inner.source() {
        inner = cause;
    }
    inner.to_string().lines().next().unwrap_or_default().to_owned()
}
