//! Requests from the kernel's trace, if BPF programs cannot be loaded: a tracefs instance with the block events of the
//! watched devices, read by a thread.
//!
//! Times are whole microseconds. More events are lost than with BPF: the rings of the CPUs overflow.

mod events;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::BlockTotals;
use events::{Matcher, TracedNumbers};

const ROOTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Events of requests; completions of bios only for bio-based devices.
const EVENTS: [&str; 5] =
    ["block_bio_remap", "block_bio_queue", "block_split", "block_rq_issue", "block_rq_complete"];
const BIO_ENDED: &str = "block_bio_complete";

/// Total size of the rings, and minimum size of each, in KiB.
const RINGS_KIB: usize = 65_536;
const RING_KIB: usize = 1_024;

/// Online CPUs: those with an allocated ring.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Pause of the reader while there is nothing to read: a ring holds several times the events of this time.
const REST: Duration = Duration::from_millis(5);

/// Time limit for the reader to catch up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How an instance is named: this, the process, and a running number.
const PREFIX: &str = "assay-";

/// A running trace; its instance is removed on drop.
#[derive(Debug)]
pub struct Trace {
    instance: Instance,
    shared: Arc<TraceState>,
    reader: Option<JoinHandle<()>>,
    marks: u64,
}

#[derive(Debug)]
struct TraceState {
    matcher: Mutex<Matcher>,
    stop: AtomicBool,
    /// Why the reader ended, if it failed.
    failed: Mutex<Option<String>>,
}

/// A directory below `instances`.
#[derive(Debug)]
struct Instance(PathBuf);

impl Trace {
    /// Begins to count requests of these whole disks (major, minor).
    pub fn begin(devices: &[(u32, u32)]) -> io::Result<Self> {
        let Some(root) = find_root() else {
            let text =
                "tracefs is not mounted, or not readable for this user (/sys/kernel/tracing)";
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        };
        Self::begin_below(root, devices)
    }

    /// [`Self::begin`] with the directory of tracefs.
    pub(super) fn begin_below(root: &Path, devices: &[(u32, u32)]) -> io::Result<Self> {
        let watched: Vec<TracedNumbers> =
            devices.iter().map(|device| TracedNumbers::new(*device)).collect();
        let (instance, pipe) = Instance::new(root)?;
        instance.set_up(&watched)?;
        let shared = Arc::new(TraceState {
            matcher: Mutex::new(Matcher::new(&watched)),
            stop: AtomicBool::new(false),
            failed: Mutex::new(None),
        });
        let state = Arc::clone(&shared);
        let reader = thread::Builder::new()
            .name("assay-trace".to_owned())
            .spawn(move || state.read_pipe(pipe))?;
        Ok(Self { instance, shared, reader: Some(reader), marks: 0 })
    }

    #[cfg(test)]
    pub(super) fn place(&self) -> &Path {
        &self.instance.0
    }

    /// Runs `act` with the instance while its reader pauses.
    #[cfg(test)]
    pub(super) fn while_nobody_reads(&self, act: impl FnOnce(&Path)) {
        let _held = self.shared.matcher();
        act(&self.instance.0);
    }

    /// All counts so far. Fails if the trace is gone or its reader does not catch up.
    pub fn read(&mut self) -> io::Result<BlockTotals> {
        self.marks += 1;
        self.instance.write("trace_marker", &events::mark(self.marks))?;
        let began = Instant::now();
        while self.shared.matcher().marks() < self.marks {
            if let Some(reason) = self.shared.failed() {
                return Err(io::Error::other(format!("cannot read the trace: {reason}")));
            }
            if began.elapsed() > PATIENCE {
                return Err(io::Error::other("events arrive faster than Assay can read them"));
            }
            thread::sleep(Duration::from_millis(1));
        }
        let mut totals = self.shared.matcher().totals();
        totals.lost_events = totals.lost_events.max(self.instance.lost()?);
        Ok(totals)
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // No more events arrive, so the reader soon pauses.
        let _ = self.instance.write("tracing_on", "0");
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl TraceState {
    fn matcher(&self) -> MutexGuard<'_, Matcher> {
        self.matcher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self) -> Option<String> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads the pipe until stopped.
    fn read_pipe(&self, mut pipe: File) {
        let mut bytes = vec![0; 1 << 16];
        let mut rest = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            match pipe.read(&mut bytes) {
                Ok(0) => thread::sleep(REST),
                Ok(length) => {
                    rest.extend_from_slice(&bytes[..length]);
                    self.take_lines(&mut rest);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(REST),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                    *failed = Some(error.to_string());
                    return;
                }
            }
        }
    }

    /// Passes complete lines on and retains the incomplete rest.
    fn take_lines(&self, rest: &mut Vec<u8>) {
        let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else { return };
        let mut matcher = self.matcher();
        for line in String::from_utf8_lossy(&rest[..end]).lines() {
            matcher.read_line(line);
        }
        rest.drain(..=end);
    }
}

impl Instance {
    /// Creates an instance with an open trace, which prevents others from removing it.
    fn new(root: &Path) -> io::Result<(Self, File)> {
        let mut tries = 3;
        loop {
            let instance = Self::create(root)?;
            tries -= 1;
            match instance.open_pipe() {
                // Another process took the instance for a stale one.
                Err(_) if tries > 0 && !instance.0.exists() => {}
                pipe => return pipe.map(|pipe| (instance, pipe)),
            }
        }
    }

    fn create(root: &Path) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let path = root.join("instances").join(name);
        match fs::create_dir(&path) {
            Ok(()) => Ok(Self(path)),
            Err(error) => Err(with_context(&error, "cannot create a trace instance")),
        }
    }

    /// Sets clock, rings and filters, and enables the events last.
    fn set_up(&self, watched: &[TracedNumbers]) -> io::Result<()> {
        self.write("trace_clock", "mono")?;
        // The size applies to each ring, and every CPU has one, independent of our affinity.
        let online = fs::read_to_string(ONLINE).unwrap_or_default();
        self.write("buffer_size_kb", &ring_kib(processors(&online)).to_string())?;
        let bio_based = watched.iter().any(|device| device.bio_based).then_some(BIO_ENDED);
        let all = EVENTS.iter().copied().chain(bio_based);
        for event in all.clone() {
            // Without a filter the counts are the same, only slower.
            let _ = self.write(&format!("events/block/{event}/filter"), &device_filter(watched));
        }
        for event in all {
            self.write(&format!("events/block/{event}/enable"), "1")?;
        }
        Ok(())
    }

    fn open_pipe(&self) -> io::Result<File> {
        let options = &mut OpenOptions::new();
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let pipe = options.read(true).custom_flags(flags).open(self.0.join("trace_pipe"));
        pipe.map_err(|error| with_context(&error, "cannot open the trace"))
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(self.0.join(name));
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| with_context(&error, &format!("cannot write {name} of the trace")))
    }

    /// Events that did not fit into the rings.
    fn lost(&self) -> io::Result<u64> {
        let fail = |error: io::Error| with_context(&error, "cannot read the number of lost events");
        let mut lost = 0;
        for entry in fs::read_dir(self.0.join("per_cpu")).map_err(fail)? {
            let text = fs::read_to_string(entry.map_err(fail)?.path().join("stats"));
            lost += events::parse_lost(&text.map_err(fail)?);
        }
        Ok(lost)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // The kernel refuses while the trace is open, also in a child that another thread starts, until its exec.
        for _ in 0..20 {
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            thread::sleep(REST);
        }
    }
}

/// Filter of the kernel for the watched devices and their partitions.
fn device_filter(watched: &[TracedNumbers]) -> String {
    let numbers = watched.iter().flat_map(|device| &device.numbers);
    let terms: Vec<String> =
        numbers.map(|(major, minor)| format!("dev == {}", major << 20 | minor)).collect();
    terms.join(" || ")
}

pub fn find_root() -> Option<&'static Path> {
    ROOTS.iter().map(Path::new).find(|root| root.join("instances").is_dir())
}

/// Removes instances of killed processes from tracefs, because their events would slow down every request. Tries all:
/// the kernel does not remove those of running processes, whose trace is open.
pub fn remove_stale_below(root: &Path) {
    let Ok(entries) = fs::read_dir(root.join("instances")) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
        if process.is_some_and(|(process, _)| process.parse::<u32>().is_ok()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Number of CPUs in a list such as `0-3,8`; at least one.
fn processors(list: &str) -> usize {
    let count = |range: &str| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        Some((to.parse::<usize>().ok()? + 1).saturating_sub(from.parse().ok()?))
    };
    list.trim().split(',').filter_map(count).sum::<usize>().max(1)
}

fn ring_kib(processors: usize) -> usize {
    (RINGS_KIB / processors).clamp(RING_KIB, 16 * RING_KIB)
}

fn with_context(error: &io::Error, what: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_share_their_room_among_all_processors_that_are_on() {
        let counts = ["0\n", "0-3\n", "0-3,8,10-11\n", ""].map(processors);
        assert_eq!(counts, [1, 4, 7, 1]);
        assert_eq!([1, 16, 128].map(ring_kib), [16 * RING_KIB, 4 * RING_KIB, RING_KIB]);
    }
}
