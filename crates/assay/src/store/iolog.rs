//! Recorded requests as a log that fio replays (`fio --read_iolog`, version 3): one line per request in order of
//! arrival, generated as a stream.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, Read, Write};
use std::path::Path;

use assay_core::catalogue::About;
use assay_core::failure::Outcome;
use assay_machine::system::{BlockClass, BlockRequest, System};
use assay_study::results::requests::{FILE, TraceReader};

pub const ENTRY: About = About {
    name: "fio-iolog",
    summary: "recorded requests as a fio log for replay (read_iolog, version 3)",
    text: "From a trace of `assay watch --record-trace`: one line per request with its time in microseconds, device, \
           action (read, write, trim, datasync for a flush), offset and size. fio reproduces the times and writes \
           its own data; to replay elsewhere, use --replay_redirect=FILE. The log excludes write-zeroes requests and \
           requests with an unknown arrival time.",
};

const FIRST_LINE: &str = "fio version 3 iolog\n";
/// Assumed maximum latency: requests are recorded at completion, and a slow one comes after some that arrived later.
const WINDOW_NS: u64 = 10_000_000_000;
/// Maximum number of buffered requests, about 50 MB.
const MOST_QUEUED: usize = 1 << 20;
const PIECE_BYTES: usize = 1 << 16;

/// A buffered request; compares by arrival, then by order in the recording.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct QueuedRequest {
    /// Since the start.
    arrived_ns: u64,
    sequence: u64,
    device: u16,
    action: &'static str,
    offset: u64,
    bytes: u32,
}

pub struct Iolog<'s> {
    reader: TraceReader<'s>,
    queue: BinaryHeap<Reverse<QueuedRequest>>,
    queued_total: u64,
    /// Completion of the latest read request.
    latest_ns: u64,
    /// Time of the last line; times never decrease.
    last_us: u64,
    /// Generated text, read up to `text_read`.
    text: Vec<u8>,
    text_read: usize,
    has_ended: bool,
    /// Requests that the log excludes.
    pub left_out: u64,
}

impl<'s> Iolog<'s> {
    /// Opens the log of a result. Fails if the result has no recording, or an unreadable one.
    pub fn open(system: &'s dyn System, directory: &Path) -> Outcome<Self> {
        let reader = TraceReader::open(system, directory).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => mistake!("the result has no recorded requests; record some with assay watch DEVICE --record-trace NAME"),
            _ => refused!("cannot read {FILE}: {error}"),
        })?;
        let mut text = FIRST_LINE.as_bytes().to_vec();
        for device in &reader.header.devices {
            let path = device_path(&device.name);
            text.extend(format!("0 {path} add\n0 {path} open\n").as_bytes());
        }
        Ok(Self {
            reader,
            queue: BinaryHeap::new(),
            queued_total: 0,
            latest_ns: 0,
            last_us: 0,
            text,
            text_read: 0,
            has_ended: false,
            left_out: 0,
        })
    }

    /// Generates the next piece of text; none after the end.
    fn generate_text(&mut self) -> io::Result<()> {
        self.text.clear();
        self.text_read = 0;
        while self.text.len() < PIECE_BYTES && !self.has_ended {
            if self.is_first_ready() {
                self.write_first()?;
                continue;
            }
            match self.reader.next() {
                Some(request) => self.enqueue(&request?),
                None => self.write_end()?,
            }
        }
        Ok(())
    }

    /// Returns whether the first buffered request is the next one, assuming the maximum delay, or the buffer is full.
    fn is_first_ready(&self) -> bool {
        let Some(Reverse(first)) = self.queue.peek() else { return false };
        self.queue.len() >= MOST_QUEUED
            || first.arrived_ns.saturating_add(WINDOW_NS) <= self.latest_ns
    }

    /// Queues a request by its arrival; counts it as left out if fio cannot replay it, or if no arrival is known.
    fn enqueue(&mut self, request: &BlockRequest) {
        let since_start = |ns: u64| ns.saturating_sub(self.reader.header.begun_ns);
        self.latest_ns = self.latest_ns.max(since_start(request.ended_ns));
        let arrived = request.arrived_ns.or(request.issued_ns).map(since_start);
        let (Some(arrived_ns), Some(action)) = (arrived, fio_action(request.class)) else {
            self.left_out += 1;
            return;
        };
        let is_flush = request.class == BlockClass::Flush;
        self.queued_total += 1;
        self.queue.push(Reverse(QueuedRequest {
            arrived_ns,
            sequence: self.queued_total,
            device: request.device,
            action,
            offset: if is_flush { 0 } else { request.offset_bytes },
            bytes: if is_flush { 0 } else { request.bytes },
        }));
    }

    /// Writes the earliest queued request; its time in microseconds is at least that of the previous one.
    fn write_first(&mut self) -> io::Result<()> {
        let Some(Reverse(first)) = self.queue.pop() else { return Ok(()) };
        self.last_us = self.last_us.max(first.arrived_ns / 1000);
        let device = self.reader.header.devices.get(usize::from(first.device));
        let path = device.map(|device| device_path(&device.name)).unwrap_or_default();
        let QueuedRequest { action, offset, bytes, .. } = first;
        writeln!(self.text, "{} {path} {action} {offset} {bytes}", self.last_us)
    }

    fn write_end(&mut self) -> io::Result<()> {
        while !self.queue.is_empty() {
            self.write_first()?;
        }
        for device in &self.reader.header.devices {
            writeln!(self.text, "{} {} close", self.last_us, device_path(&device.name))?;
        }
        self.has_ended = true;
        Ok(())
    }
}

impl Read for Iolog<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.text_read == self.text.len() {
            self.generate_text()?;
        }
        let unread = &self.text[self.text_read..];
        let count = into.len().min(unread.len());
        into[..count].copy_from_slice(&unread[..count]);
        self.text_read += count;
        Ok(count)
    }
}

/// Returns fio's action; `None` if fio has none for the class.
fn fio_action(class: BlockClass) -> Option<&'static str> {
    match class {
        BlockClass::Read => Some("read"),
        BlockClass::Write | BlockClass::Fua => Some("write"),
        BlockClass::Flush => Some("datasync"),
        BlockClass::Discard => Some("trim"),
        BlockClass::WriteZeroes => None,
    }
}

/// Returns a path without spaces for any device name of an imported recording.
fn device_path(name: &str) -> String {
    let name = name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    format!("/dev/{name}")
}

#[cfg(test)]
mod tests {
    use assay_machine::system::{Fake, RequestFlags};
    use assay_study::results::requests::{FORMAT, Header, RecordedDevice, Writer};

    use super::*;

    fn kept(requests: &[BlockRequest]) -> Fake {
        let fake = Fake::new();
        fake.create_directory(Path::new("/results/one")).unwrap();
        let header = Header {
            format: FORMAT.to_owned(),
            started: String::new(),
            begun_ns: 5_000,
            devices: vec![RecordedDevice { name: "sd a".to_owned(), bytes: 1 << 30 }],
        };
        let mut writer = Writer::create(&fake, Path::new("/results/one"), &header).unwrap();
        for request in requests {
            writer.add(request).unwrap();
        }
        writer.finish().unwrap();
        fake
    }

    fn request(class: BlockClass, arrived_us: u64, took_us: u64) -> BlockRequest {
        BlockRequest {
            device: 0,
            class,
            arrived_ns: Some(5_000 + arrived_us * 1000),
            issued_ns: None,
            ended_ns: 5_000 + (arrived_us + took_us) * 1000,
            offset_bytes: 8192 * arrived_us,
            bytes: 4096,
            flags: RequestFlags::default(),
        }
    }

    fn log(requests: &[BlockRequest]) -> (String, u64) {
        let fake = kept(requests);
        let mut log = Iolog::open(&fake, Path::new("/results/one")).unwrap();
        let mut text = String::new();
        log.read_to_string(&mut text).unwrap();
        (text, log.left_out)
    }

    #[test]
    fn requests_stand_in_the_order_in_which_they_arrived() {
        let unseen = BlockRequest { arrived_ns: None, ..request(BlockClass::Read, 9, 1) };
        let all = [
            request(BlockClass::Write, 20, 5),
            request(BlockClass::Read, 10, 50),
            request(BlockClass::WriteZeroes, 61, 1),
            unseen,
            request(BlockClass::Flush, 30, 90),
            request(BlockClass::Discard, 40, 100),
            request(BlockClass::Fua, 50, 101),
        ];
        let (text, left_out) = log(&all);
        let expected = "fio version 3 iolog\n\
                        0 /dev/sd_a add\n\
                        0 /dev/sd_a open\n\
                        10 /dev/sd_a read 81920 4096\n\
                        20 /dev/sd_a write 163840 4096\n\
                        30 /dev/sd_a datasync 0 0\n\
                        40 /dev/sd_a trim 327680 4096\n\
                        50 /dev/sd_a write 409600 4096\n\
                        50 /dev/sd_a close\n";
        assert_eq!((text.as_str(), left_out), (expected, 2));
    }

    #[test]
    fn a_long_recording_is_made_piece_by_piece_and_one_that_took_very_long_keeps_the_order() {
        let mut all: Vec<BlockRequest> =
            (0..20_000).map(|at| request(BlockClass::Read, 1000 * at, 10)).collect();
        all.push(request(BlockClass::Write, 1, 20_000_000));
        let (text, left_out) = log(&all);
        let times: Vec<u64> = text
            .lines()
            .skip(1)
            .map(|line| line.split(' ').next().unwrap().parse().unwrap())
            .collect();
        assert!(times.is_sorted() && left_out == 0);
        assert_eq!(times.len(), 20_001 + 3);
    }

    #[test]
    fn a_result_without_a_recording_says_how_one_is_made() {
        let fake = Fake::new();
        fake.create_directory(Path::new("/results/one")).unwrap();
        let failure = Iolog::open(&fake, Path::new("/results/one")).map(|_| ()).unwrap_err();
        assert!(failure.message.contains("--record-trace"), "{}", failure.message);
    }
}
