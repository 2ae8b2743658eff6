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

const FIRST: &str = "fio version 3 iolog\n";
/// Requests are recorded at completion: one with a higher latency comes after some that arrived later.
const WINDOW_NS: u64 = 10_000_000_000;
/// Maximum number of buffered requests, about 50 MB.
const MOST_WAITING: usize = 1 << 20;
const PIECE_BYTES: usize = 1 << 16;

/// Nanoseconds since the start, sequence number, device, action, offset and size.
type QueuedRequest = (u64, u64, u16, &'static str, u64, u32);

pub struct Iolog<'s> {
    reader: TraceReader<'s>,
    waiting: BinaryHeap<Reverse<QueuedRequest>>,
    count: u64,
    latest_ns: u64,
    last_us: u64,
    text: Vec<u8>,
    at: usize,
    over: bool,
    pub left_out: u64,
}

impl<'s> Iolog<'s> {
    /// Opens the log of a result.
    ///
    /// # Errors
    /// Fails if the result has no recording, or an unreadable one.
    pub fn open(system: &'s dyn System, directory: &Path) -> Outcome<Self> {
        let reader = TraceReader::open(system, directory).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => mistake!("the result has no recorded requests; record some with assay watch DEVICE --record-trace NAME"),
            _ => refused!("cannot read {FILE}: {error}"),
        })?;
        let mut text = FIRST.as_bytes().to_vec();
        for device in &reader.header.devices {
            let name = file_of(&device.name);
            for act in ["add", "open"] {
                text.extend(format!("0 {name} {act}\n").as_bytes());
            }
        }
        let waiting = BinaryHeap::new();
        Ok(Self {
            reader,
            waiting,
            count: 0,
            latest_ns: 0,
            last_us: 0,
            text,
            at: 0,
            over: false,
            left_out: 0,
        })
    }

    fn fill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.at = 0;
        while self.text.len() < PIECE_BYTES && !self.over {
            if self.is_ready() {
                self.write_first()?;
                continue;
            }
            match self.reader.next() {
                Some(request) => self.queue(&request?),
                None => self.write_end()?,
            }
        }
        Ok(())
    }

    /// Returns whether the first buffered request is the next one, assuming the maximum delay, or the buffer is full.
    fn is_ready(&self) -> bool {
        let first = self.waiting.peek();
        self.waiting.len() >= MOST_WAITING
            || first.is_some_and(|Reverse(line)| line.0.saturating_add(WINDOW_NS) <= self.latest_ns)
    }

    fn queue(&mut self, request: &BlockRequest) {
        let since = |ns: u64| ns.saturating_sub(self.reader.header.begun_ns);
        self.latest_ns = self.latest_ns.max(since(request.ended_ns));
        let arrived = request.arrived_ns.or(request.issued_ns).map(since);
        let (Some(arrived_ns), Some(act)) = (arrived, fio_action(request.class)) else {
            self.left_out += 1;
            return;
        };
        let is_flush = request.class == BlockClass::Flush;
        let (offset, bytes) = if is_flush { (0, 0) } else { (request.offset_bytes, request.bytes) };
        self.count += 1;
        self.waiting.push(Reverse((arrived_ns, self.count, request.device, act, offset, bytes)));
    }

    fn write_first(&mut self) -> io::Result<()> {
        let Some(Reverse((arrived_ns, _, device, act, offset, bytes))) = self.waiting.pop() else {
            return Ok(());
        };
        self.last_us = self.last_us.max(arrived_ns / 1000);
        let name =
            self.reader.header.devices.get(usize::from(device)).map(|device| file_of(&device.name));
        let name = name.unwrap_or_default();
        writeln!(self.text, "{} {name} {act} {offset} {bytes}", self.last_us)
    }

    fn write_end(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            self.write_first()?;
        }
        for device in &self.reader.header.devices {
            writeln!(self.text, "{} {} close", self.last_us, file_of(&device.name))?;
        }
        self.over = true;
        Ok(())
    }
}

impl Read for Iolog<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.fill()?;
        }
        let count = into.len().min(self.text.len() - self.at);
        into[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
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
fn file_of(name: &str) -> String {
    let sign = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    format!("/dev/{}", name.chars().map(sign).collect::<String>())
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
