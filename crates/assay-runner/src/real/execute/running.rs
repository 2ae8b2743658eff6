//! From the start of a program until all its processes have ended.

use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::PIPE_BYTES;
use super::counters::PerfCounters;
use super::group::Group;
use super::tree::{Process, Tree};
use assay_core::digest::Sum;
use assay_core::presence::Presence;
use assay_machine::system::execute::{Ending, Happened, HeardOutput, PeakBy, PeakMemory};
use assay_machine::system::{Executed, Execution};
use assay_sys::Launched;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::fcntl_getpipe_size;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// Interval for checking the stop flag, and memory if the kernel records no peak.
const LOOK: Duration = Duration::from_millis(20);
/// Divisor: scanning many processes is slow, so use at most this fraction of the time.
const SCAN_DIVISOR: u32 = 20;
/// Grace period for processes that end together with the program.
const END_TOGETHER: Duration = Duration::from_millis(200);
const AFTER_TERM: Duration = Duration::from_secs(2);
/// A killed process may take this long: it may wait for a device.
const AFTER_KILL: Duration = Duration::from_secs(10);
const SLICE: Duration = Duration::from_millis(5);
const ORPHAN_SCANS: u32 = 200;
/// Bytes read at a time. Assay checks for the end of the program between reads.
const CHUNK: usize = 64 << 10;

pub struct Running<'a> {
    execution: &'a Execution<'a>,
    launched: Launched,
    tree: Tree<'a>,
    streams: [OutputStream; 2],
    ended: Option<Duration>,
    is_reaped: bool,
    /// Counts of its bytes. Without root, they must be opened while the program runs.
    bytes: Option<File>,
    sampled: Option<u64>,
    own_waited_ns: u64,
    spent: ProgramUsage,
    counters: PerfCounters,
}

#[derive(Debug, Default)]
struct ProgramUsage {
    user_ns: u64,
    system_ns: u64,
    largest_bytes: u64,
    happened: Happened,
    /// Bytes read and written; `None` if the kernel did not report one of them.
    bytes: Option<(u64, u64)>,
}

impl<'a> Running<'a> {
    pub fn new(
        execution: &'a Execution<'a>,
        launched: Launched,
        tree: Tree<'a>,
        streams: [OutputStream; 2],
        counters: PerfCounters,
    ) -> Self {
        let is_root = rustix::process::geteuid().is_root();
        let bytes = if is_root { None } else { File::open(io_file_of(launched.process)).ok() };
        Self {
            bytes,
            execution,
            launched,
            tree,
            streams,
            ended: None,
            is_reaped: false,
            sampled: None,
            own_waited_ns: own_waited_ns(),
            spent: ProgramUsage { bytes: Some((0, 0)), ..ProgramUsage::default() },
            counters,
        }
    }

    /// Waits for the end, ends leftover processes, and collects the measurements.
    pub fn finish(mut self) -> io::Result<Executed> {
        let forced = self.watch()?;
        let left_running = if forced.is_some() { 0 } else { self.count_left_running()? };
        if forced.is_some() || left_running > 0 {
            self.end_all()?;
        }
        // Another process may write endlessly to the open pipe: only read its current content.
        for stream in &mut self.streams {
            stream.drain();
        }
        let ending = forced.map_or_else(|| self.exit_status(), Ok)?;
        let byte_counts = self.bytes.take();
        self.reap(self.launched.process, byte_counts)?;
        self.is_reaped = true;
        let peak_memory = self.peak_memory();
        let [complaint, output] = &mut self.streams;
        let (complaint, heard) = (complaint.tail.text(), output.heard());
        let bytes_or_reason = |which: fn((u64, u64)) -> u64| match self.spent.bytes {
            Some(bytes) => Presence::Present(which(bytes)),
            None => Presence::absent("the kernel hides the bytes of some processes; run as root"),
        };
        Ok(Executed {
            ending,
            wall_ns: self.ended.unwrap_or_default().as_nanos() as u64,
            user_ns: self.spent.user_ns,
            system_ns: self.spent.system_ns,
            peak_memory,
            read_bytes: bytes_or_reason(|(read, _)| read),
            write_bytes: bytes_or_reason(|(_, written)| written),
            happened: self.spent.happened,
            counted: self.counters.counts(self.spent.user_ns + self.spent.system_ns),
            complaint,
            left_running,
            heard,
            memory_kills: Presence::absent("no memory limit was set"),
        })
    }

    /// Waits until the program ends (`None`) or has to be ended.
    fn watch(&mut self) -> io::Result<Option<Ending>> {
        let deadline =
            self.execution.timeout.and_then(|limit| self.launched.began.checked_add(limit));
        let mut next_scan = self.launched.began + LOOK;
        while self.ended.is_none() {
            let now = Instant::now();
            if self.execution.stop.load(Ordering::Relaxed) {
                return Ok(Some(Ending::Stopped));
            }
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(Some(Ending::TimedOut));
            }
            if now >= next_scan {
                self.reap_and_sample()?;
                let scan_time = now.elapsed();
                next_scan = now + LOOK.max(scan_time * SCAN_DIVISOR);
            }
            self.wait(deadline.map_or(next_scan, |deadline| deadline.min(next_scan)))?;
        }
        Ok(None)
    }

    /// Reaps orphans that ended, and samples the memory unless the control group records its peak.
    fn reap_and_sample(&mut self) -> io::Result<()> {
        self.own_waited_ns = own_waited_ns();
        let orphans = self.reap_ended(self.tree.orphans())?;
        if self.tree.group().is_none() {
            let resident_bytes = self.tree.resident_bytes(&orphans);
            self.sampled = Some(self.sampled.unwrap_or_default().max(resident_bytes));
        }
        Ok(())
    }

    /// Waits for the end of the program, its output, or the given time.
    fn wait(&mut self, until: Instant) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        let time = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let runs = self.ended.is_none();
        // Polls the program first while it runs, then its open pipes: this is the order in `ready`.
        let ready = {
            let handle = runs.then(|| PollFd::new(&self.launched.handle, PollFlags::IN));
            let pipes = self.streams.iter().filter_map(|stream| stream.pipe.as_ref());
            let pipes = pipes.map(|pipe| PollFd::new(pipe, PollFlags::IN));
            poll_ready(&mut handle.into_iter().chain(pipes).collect::<Vec<_>>(), &time)?
        };
        if runs && ready[0] {
            self.ended = Some(self.launched.began.elapsed());
            // The program may have ended while this thread waited: its time includes this wait.
            self.spent.happened.waited_ns += own_waited_ns().saturating_sub(self.own_waited_ns);
        }
        if ready[usize::from(runs)..].contains(&true) {
            for stream in &mut self.streams {
                stream.read_available();
            }
        }
        Ok(())
    }

    /// Number of processes that remain after the program has ended.
    fn count_left_running(&mut self) -> io::Result<u32> {
        if self.wait_for_all(END_TOGETHER)? {
            return Ok(0);
        }
        let running = self.tree.running().len() as u32;
        // A scan of all processes can miss one that always forks and exits.
        if running == 0 && self.wait_for_all(Duration::ZERO)? { Ok(0) } else { Ok(running.max(1)) }
    }

    /// Waits until no process of the program runs; returns whether this happened within `limit`.
    fn wait_for_all(&mut self, limit: Duration) -> io::Result<bool> {
        let until = Instant::now() + limit;
        loop {
            let orphans = self.tree.orphans();
            // A process that had ended may have left a child since the scan.
            if orphans.is_empty() && self.ended.is_some() {
                return Ok(true);
            }
            let scanned = orphans.len();
            let running = self.reap_ended(orphans)?;
            if Instant::now() >= until {
                return Ok(false);
            }
            // Otherwise, scan again at once: a reaped process may have left orphans.
            if running.len() == scanned {
                self.wait(Instant::now() + SLICE)?;
            }
        }
    }

    /// Ends all processes: sends SIGTERM, then SIGKILL; fails if a process does not exit.
    fn end_all(&mut self) -> io::Result<()> {
        self.tree.send(Signal::TERM);
        // A stopped process must continue to receive the signal.
        self.tree.send(Signal::CONT);
        if self.wait_for_all(AFTER_TERM)? {
            return Ok(());
        }
        let until = Instant::now() + AFTER_KILL;
        loop {
            let failed = self.tree.kill();
            self.kill_orphans()?;
            if self.wait_for_all(SLICE)? {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(self.cannot_end(failed.as_ref()));
            }
        }
    }

    /// Kills orphans as fast as possible: a process that forks and exits changes its ID each time.
    fn kill_orphans(&mut self) -> io::Result<()> {
        for _ in 0..ORPHAN_SCANS {
            let orphans = self.tree.orphans();
            if orphans.is_empty() {
                break;
            }
            for orphan in self.reap_ended(orphans)? {
                // Its ID is not reused until it is reaped here.
                let id = Pid::from_raw(orphan.id);
                let _ = id.map(|id| kill_process(id, Signal::KILL));
            }
        }
        Ok(())
    }

    /// Names a process that does not exit: a running one, or the one that could not receive a signal.
    fn cannot_end(&self, failed: Option<&(Process, io::Error)>) -> io::Error {
        let why = failed.map_or(String::new(), |(_, error)| format!(": {error}"));
        let running = self.tree.running();
        let process = running.first().or(failed.map(|(process, _)| process));
        let shown = process.map_or("a process".to_owned(), |process| {
            format!("process {} ({})", process.id, process.name)
        });
        let program = self.execution.words.first().map_or("", String::as_str);
        io::Error::other(format!(
            "{shown}, started by `{program}`, does not exit{why}; end the process first"
        ))
    }

    /// Reaps ended processes; returns the others.
    fn reap_ended(&mut self, orphans: Vec<Process>) -> io::Result<Vec<Process>> {
        let mut running = Vec::new();
        for orphan in orphans {
            match Pid::from_raw(orphan.id) {
                Some(id) if orphan.is_over => self.reap(id, None)?,
                _ => running.push(orphan),
            }
        }
        Ok(running)
    }

    /// Reaps an ended process and adds its usage; `opened` is its open file of byte counts, if any.
    fn reap(&mut self, process: Pid, opened: Option<File>) -> io::Result<()> {
        let moved = MovedBytes::read(process, opened);
        let waited_ns = assay_load::waited_ns(&process.to_string());
        let Some(usage) = assay_sys::reap(process)? else { return Ok(()) };
        let spent = &mut self.spent;
        spent.user_ns += usage.user_ns;
        spent.system_ns += usage.system_ns;
        spent.largest_bytes = spent.largest_bytes.max(usage.largest_bytes);
        spent.happened = spent.happened.plus(Happened {
            minor_faults: usage.minor_faults,
            major_faults: usage.major_faults,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            waited_ns: waited_ns.unwrap_or_default(),
            called_bytes: moved.as_ref().map_or(0, |moved| moved.called),
        });
        spent.bytes = spent
            .bytes
            .zip(moved)
            .map(|((read, written), moved)| (read + moved.read, written + moved.written));
        Ok(())
    }

    /// Reads how the program ended without reaping it: the process keeps its ID until `reap`.
    fn exit_status(&self) -> io::Result<Ending> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let status = waitid(WaitId::PidFd(self.launched.handle.as_fd()), options)?;
        let status = status
            .ok_or_else(|| io::Error::other("the kernel gives no exit status of the program"))?;
        match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Ok(Ending::Exited(code)),
            (None, Some(signal)) => Ok(Ending::Signalled(signal)),
            (None, None) => Err(io::Error::other("the program's exit status is unknown")),
        }
    }

    /// Returns the best known peak: of the control group, of the samples, or of the largest reaped process.
    fn peak_memory(&self) -> Presence<PeakMemory> {
        if let Some(bytes) = self.tree.group().and_then(Group::peak_bytes) {
            return Presence::Present(PeakMemory { bytes, by: PeakBy::Cgroup });
        }
        // Before exec, the child has the memory of this process: smaller peaks are invisible.
        let floor = own_peak_bytes().unwrap_or(u64::MAX);
        let largest = Some(self.spent.largest_bytes).filter(|bytes| *bytes > floor);
        if let Some(sampled) = self.sampled {
            let bytes = sampled.max(largest.unwrap_or_default());
            return Presence::Present(PeakMemory { bytes, by: PeakBy::Sampled });
        }
        match largest {
            Some(bytes) => Presence::Present(PeakMemory { bytes, by: PeakBy::LargestProcess }),
            None => Presence::absent(
                "the program ended before Assay sampled its memory, and Assay cannot create a \
                 control group to read the peak",
            ),
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.is_reaped {
            // After an error nothing is measured, but no process must remain.
            self.tree.kill();
            // Another user's process may continue: do not wait for it indefinitely.
            let handle = PollFd::new(&self.launched.handle, PollFlags::IN);
            let _ = poll(&mut [handle], Some(&Timespec { tv_sec: 1, tv_nsec: 0 }));
            let _ = assay_sys::reap(self.launched.process);
        }
    }
}

/// Polls at most three files; returns which are ready. A signal counts as a timeout.
fn poll_ready(among: &mut [PollFd<'_>], time: &Timespec) -> io::Result<[bool; 3]> {
    match poll(among, Some(time)) {
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok([false; 3]),
        Err(error) => return Err(error.into()),
    }
    let is_ready = |index: usize| among.get(index).is_some_and(|fd| !fd.revents().is_empty());
    Ok([0, 1, 2].map(is_ready))
}

fn io_file_of(process: Pid) -> String {
    format!("/proc/{}/io", process.as_raw_nonzero())
}

/// Time that this thread has waited for a CPU so far, nanoseconds; 0 if the kernel does not count it.
fn own_waited_ns() -> u64 {
    assay_load::waited_ns("thread-self").unwrap_or_default()
}

struct MovedBytes {
    read: u64,
    /// Data that was deleted before its writeback never reaches storage.
    written: u64,
    called: u64,
}

impl MovedBytes {
    /// Reads how many bytes the process moved; `None` if the kernel does not show them.
    fn read(process: Pid, opened: Option<File>) -> Option<Self> {
        let file = opened.or_else(|| File::open(io_file_of(process)).ok());
        let text = io::read_to_string(file?).ok()?;
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line?.parse::<u64>().ok()
        };
        let written = field("write_bytes")?;
        Some(Self {
            read: field("read_bytes")?,
            written: written.saturating_sub(field("cancelled_write_bytes")?),
            called: field("rchar")?.max(field("wchar")?),
        })
    }
}

fn own_peak_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

pub struct OutputStream {
    pipe: Option<PipeReader>,
    tail: Tail,
}

impl OutputStream {
    pub fn new(pipe: Option<PipeReader>, most: usize, sum: Option<Sum>) -> Self {
        Self { pipe, tail: Tail::new(most, sum) }
    }

    /// Reads available data and stores its last bytes; returns whether there was any.
    fn read_available(&mut self) -> bool {
        let Some(pipe) = &mut self.pipe else { return false };
        match self.tail.read(pipe) {
            Ok(true) => return true,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            // All writers have closed it.
            Ok(false) | Err(_) => self.pipe = None,
        }
        false
    }

    fn drain(&mut self) {
        // The program may have made it larger.
        let size = self.pipe.as_ref().and_then(|pipe| fcntl_getpipe_size(pipe).ok());
        let most = self.tail.bytes.saturating_add(size.unwrap_or(PIPE_BYTES) as u64);
        while self.tail.bytes < most && self.read_available() {}
    }

    fn heard(&mut self) -> HeardOutput {
        let tail = &mut self.tail;
        let sha256 = tail.sum.take().map(Sum::finish);
        HeardOutput { end: tail.last().to_vec(), bytes: tail.bytes, sha256 }
    }
}

struct Tail {
    kept: Vec<u8>,
    chunk: Box<[u8]>,
    most: usize,
    bytes: u64,
    sum: Option<Sum>,
}

impl Tail {
    fn new(most: usize, sum: Option<Sum>) -> Self {
        Self { kept: Vec::new(), chunk: vec![0; CHUNK].into(), most, bytes: 0, sum }
    }

    /// Reads one chunk and stores the last bytes of all chunks; false at the end of the input.
    fn read(&mut self, from: &mut impl Read) -> io::Result<bool> {
        let count = from.read(&mut self.chunk)?;
        let read = &self.chunk[..count];
        self.bytes = self.bytes.saturating_add(count as u64);
        if let Some(sum) = &mut self.sum {
            sum.add(read);
        }
        self.kept.extend_from_slice(&read[count.saturating_sub(self.most)..]);
        // Moving the stored end costs time: not for each chunk.
        if self.kept.len() > self.most.saturating_mul(2) {
            self.kept.drain(..self.kept.len() - self.most);
        }
        Ok(count > 0)
    }

    fn last(&self) -> &[u8] {
        &self.kept[self.kept.len().saturating_sub(self.most)..]
    }

    fn text(&self) -> String {
        // The end may begin inside a character: UTF-8 has at most three continuation bytes, 10xxxxxx.
        let is_continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
        let last = self.last();
        let begin = last.iter().take(3).take_while(is_continuation).count();
        String::from_utf8_lossy(&last[begin..]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use assay_core::digest::sha256;
    use rustix::pipe::fcntl_setpipe_size;

    use super::super::{pipe, wide_pipe};
    use super::*;

    const KEPT: usize = 4096;

    #[test]
    fn the_end_of_a_long_stream_is_kept() {
        let mut tail = Tail::new(KEPT, Some(Sum::default()));
        let long: Vec<u8> = (0..CHUNK * 3).map(|at| b'a' + (at % 26) as u8).collect();
        let mut from = long.as_slice();
        while tail.read(&mut from).unwrap() {}
        assert_eq!(tail.text().as_bytes(), &long[long.len() - KEPT..]);
        assert!(!tail.read(&mut [].as_slice()).unwrap());
        // All bytes count, but the stored part is limited.
        assert_eq!(tail.bytes, long.len() as u64);
        assert_eq!(tail.sum.take().map(Sum::finish), Some(sha256(&long)));
        assert!(tail.kept.len() <= 2 * KEPT, "{}", tail.kept.len());
    }

    #[test]
    fn of_a_stream_of_which_nothing_is_to_be_kept_its_length_is_known() {
        let mut tail = Tail::new(0, None);
        while tail.read(&mut [b'a'; 9].as_slice()).unwrap() && tail.bytes < 90 {}
        assert_eq!((tail.bytes, tail.last()), (90, [].as_slice()));
    }

    #[test]
    fn all_that_a_pipe_holds_is_taken_and_nothing_is_waited_for() {
        let (reader, mut writer) = wide_pipe().unwrap();
        let holds = fcntl_getpipe_size(&writer).unwrap();
        // The kernel refuses to enlarge the pipe of a user with many pipes.
        let refused = fcntl_setpipe_size(&writer, PIPE_BYTES).is_err();
        assert!(holds >= PIPE_BYTES || refused, "{holds}");
        let mut stream = OutputStream::new(Some(reader), KEPT, None);
        stream.drain();
        assert_eq!(stream.tail.bytes, 0);
        // Without a reader, a blocked writer would wait forever.
        writer.write_all(&vec![b'x'; holds]).unwrap();
        stream.drain();
        assert_eq!(stream.heard().bytes, holds as u64);
        assert!(stream.pipe.is_some(), "who may still write is listened to");
        drop(writer);
        // A child of another test has the writer open until it calls exec.
        while stream.pipe.is_some() {
            stream.drain();
        }
    }

    #[test]
    fn a_pipe_that_is_small_is_emptied_as_well() {
        let (reader, mut writer) = pipe().unwrap();
        let holds = fcntl_getpipe_size(&writer).unwrap();
        writer.write_all(&vec![b'x'; holds]).unwrap();
        let mut stream = OutputStream::new(Some(reader), KEPT, None);
        stream.drain();
        assert_eq!((stream.heard().bytes, stream.tail.last().len()), (holds as u64, KEPT));
    }

    #[test]
    fn a_character_that_was_cut_is_left_out() {
        let mut tail = Tail::new(KEPT, None);
        let long = "é".repeat(KEPT) + "!";
        let mut from = long.as_bytes();
        while tail.read(&mut from).unwrap() {}
        let text = tail.text();
        assert!(text.starts_with('é') && text.ends_with("é!"), "{text}");
    }

    #[test]
    fn this_process_had_some_memory() {
        assert!(own_peak_bytes().unwrap() > 1 << 20);
        assert!(MovedBytes::read(rustix::process::getpid(), None).is_some());
    }
}
