//! Parses the kernel's block events and matches them to requests.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::path::Path;

use super::super::latency_bucket;
use super::super::{BlockClass, BlockTotals, ClassTotals, DeviceTotals};

/// Maximum number of pending arrivals per device and operation: more belong to bios that never end, and are dropped.
const MOST_ARRIVALS: usize = 1 << 16;

/// Marker written into the trace to find the reading position.
const MARK: &str = "assay-mark ";

/// A whole disk.
#[derive(Clone, Debug)]
pub struct TracedNumbers {
    /// Its number and those of its partitions.
    pub numbers: Vec<(u32, u32)>,
    /// Makes no requests of bios: those count themselves.
    pub bio_based: bool,
}

impl TracedNumbers {
    /// Reads the numbers of a disk and its partitions in sysfs.
    pub fn new(device: (u32, u32)) -> Self {
        let folder = format!("/sys/dev/block/{}:{}", device.0, device.1);
        let folder = Path::new(&folder);
        let mut numbers = vec![device];
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().join("partition").exists() {
                let text = fs::read_to_string(entry.path().join("dev")).unwrap_or_default();
                numbers.extend(parse_number(text.trim(), ':'));
            }
        }
        let bio_based = folder.exists() && !folder.join("mq").exists();
        Self { numbers, bio_based }
    }
}

pub fn mark(number: u64) -> String {
    format!("{MARK}{number}\n")
}

/// Events that did not fit, from the `stats` of one processor.
pub fn parse_lost(stats: &str) -> u64 {
    let values = stats.lines().filter_map(|line| line.split_once(": "));
    let lost =
        values.filter(|(name, _)| ["overrun", "commit overrun", "dropped events"].contains(name));
    lost.filter_map(|(_, value)| value.trim().parse::<u64>().ok()).sum()
}

/// `7,0` or `7:0`.
fn parse_number(text: &str, between: char) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(between)?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TraceEvent<'a> {
    name: &'a str,
    at_ns: u64,
    device: (u32, u32),
    flags: Flags,
    sector: u64,
    sectors: u64,
    failed: bool,
}

/// Meaning of the letters of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flags {
    class: BlockClass,
    /// The letter of the operation: FUA writes and others wait in one queue.
    operation: u8,
}

/// Parses the letters of an event, such as `WS` or `FWFSM`: `F` if a flush precedes, the operation, flags.
fn parse_flags(text: &str) -> Option<Flags> {
    let letters = text.as_bytes();
    let flushes_before = letters.len() > 1 && letters[0] == b'F' && b"RWDNFZ".contains(&letters[1]);
    let (operation, rest) = letters[usize::from(flushes_before)..].split_first()?;
    let class = match operation {
        b'R' => BlockClass::Read,
        b'W' if rest.first() == Some(&b'Z') => BlockClass::WriteZeroes,
        b'W' | b'Z' if rest.contains(&b'F') => BlockClass::Fua,
        b'W' | b'Z' => BlockClass::Write,
        b'F' => BlockClass::Flush,
        b'D' => BlockClass::Discard,
        b'N' => BlockClass::WriteZeroes,
        _ => return None,
    };
    Some(Flags { class, operation: *operation })
}

/// Parses a line: `  fio-9  [001] d..1.  123.456789: block_rq_issue: 7,0 R 4096 () 8 + 8 none,0,0 [fio]`
fn parse_event(line: &str) -> Option<TraceEvent<'_>> {
    let at = line.find(": block_")?;
    let at_ns = parse_seconds(line[..at].rsplit(' ').next()?)?;
    let (name, text) = line[at + 2..].split_once(": ")?;
    let mut words = text.split(' ');
    let device = parse_number(words.next()?, ',')?;
    let flags = parse_flags(words.next()?)?;
    // The bytes and the command of a request, which may contain spaces, precede its sector.
    let (place, after) = text.split_once(" + ").or_else(|| text.split_once(" / "))?;
    // Flushes have no offset: it is 0 in one event and -1 in another.
    let sector = match flags.class {
        BlockClass::Flush => 0,
        _ => place.rsplit(' ').next()?.parse().ok()?,
    };
    let sectors = after.split(' ').next()?.parse().ok()?;
    let tail = text.rsplit_once('[').map_or("", |(_, tail)| tail.trim_end_matches(']'));
    let failed = name.ends_with("complete") && tail != "0";
    Some(TraceEvent { name, at_ns, device, flags, sector, sectors, failed })
}

/// Parses seconds with six digits behind the point.
fn parse_seconds(text: &str) -> Option<u64> {
    let (seconds, parts) = text.split_once('.')?;
    let micros: u64 = parts.parse().ok().filter(|_| parts.len() == 6)?;
    Some(seconds.parse::<u64>().ok()? * 1_000_000_000 + micros * 1_000)
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at_ns: u64,
    sectors: u64,
    /// The arrival precedes a queue event that is still pending.
    early: bool,
}

/// Bios on their way to one device, by the sector they begin at, the oldest first.
#[derive(Debug, Default)]
struct BioArrivals {
    by_sector: BTreeMap<u64, VecDeque<Arrival>>,
    count: usize,
}

impl BioArrivals {
    fn add(&mut self, sector: u64, arrival: Arrival) {
        if self.count >= MOST_ARRIVALS {
            *self = Self::default();
        }
        self.by_sector.entry(sector).or_default().push_back(arrival);
        self.count += 1;
    }

    /// Removes and returns the oldest arrival at a sector.
    fn take(&mut self, sector: u64) -> Option<Arrival> {
        let at_sector = self.by_sector.get_mut(&sector)?;
        let arrival = at_sector.pop_front();
        if at_sector.is_empty() {
            self.by_sector.remove(&sector);
        }
        self.count -= usize::from(arrival.is_some());
        arrival
    }
}

#[derive(Clone, Copy, Debug)]
struct Issue {
    at_ns: u64,
    arrived_ns: Option<u64>,
    sectors: u64,
}

/// Device and letter of the operation.
type Queue = (usize, u8);

/// Matches events to requests and counts completions.
#[derive(Debug)]
pub struct Matcher {
    devices: HashMap<(u32, u32), usize>,
    bio_based: Vec<bool>,
    arrivals: HashMap<Queue, BioArrivals>,
    issues: HashMap<(Queue, u64), VecDeque<Issue>>,
    totals: Vec<DeviceTotals>,
    unseen: u64,
    lost: u64,
    marks: u64,
}

impl Matcher {
    pub fn new(watched: &[TracedNumbers]) -> Self {
        let numbers = watched
            .iter()
            .enumerate()
            .flat_map(|(index, device)| device.numbers.iter().map(move |number| (*number, index)));
        Self {
            devices: numbers.collect(),
            bio_based: watched.iter().map(|device| device.bio_based).collect(),
            arrivals: HashMap::new(),
            issues: HashMap::new(),
            totals: vec![DeviceTotals::default(); watched.len()],
            unseen: 0,
            lost: 0,
            marks: 0,
        }
    }

    /// The number of the last mark that was met.
    pub const fn marks(&self) -> u64 {
        self.marks
    }

    pub fn totals(&self) -> BlockTotals {
        let whole = "for whole disks, the latency excludes throttling by control groups, which a trace cannot observe";
        BlockTotals {
            devices: self.totals.clone(),
            unseen_beginnings: self.unseen,
            unrecorded: 0,
            lost_events: self.lost,
            notes: vec![whole.to_owned()],
        }
    }

    /// Parses and handles the next line of the trace.
    pub fn read_line(&mut self, line: &str) {
        if let Some((_, number)) = line.split_once(MARK) {
            self.marks = number.trim().parse().unwrap_or(self.marks);
        } else if let Some(count) = lost_events(line) {
            self.lost += count;
        } else if let Some(event) = parse_event(line)
            && let Some(device) = self.devices.get(&event.device).copied()
        {
            self.handle(device, &event);
        }
    }

    fn handle(&mut self, device: usize, event: &TraceEvent<'_>) {
        let queue = (device, event.flags.operation);
        match event.name {
            "block_bio_remap" | "block_bio_queue" => self.add_arrival(queue, event),
            "block_split" => self.split_arrival(queue, event),
            "block_rq_issue" => self.issue_request(queue, event),
            "block_rq_complete" => self.end_request(queue, event),
            "block_bio_complete" if self.bio_based[device] => self.end_bio(queue, event),
            _ => {}
        }
    }

    /// Adds the arrival of a bio (I/O before it becomes a request). It is `early` if the bio was only remapped to this
    /// disk, because the bio may be queued later.
    fn add_arrival(&mut self, queue: Queue, event: &TraceEvent<'_>) {
        let early = event.name == "block_bio_remap";
        // An empty flush becomes a request when issued: nothing would match this arrival.
        if event.sectors == 0 && !self.bio_based[queue.0] {
            return;
        }
        let arrivals = self.arrivals.entry(queue).or_default();
        let at_sector = arrivals.by_sector.get_mut(&event.sector);
        let remapped = at_sector.and_then(|known| known.iter_mut().find(|arrival| arrival.early));
        if let Some(arrival) = remapped.filter(|_| !early) {
            // This bio was already added when it was remapped.
            arrival.early = false;
        } else {
            let (at_ns, sectors) = (event.at_ns, event.sectors);
            arrivals.add(event.sector, Arrival { at_ns, sectors, early });
        }
    }

    /// Splits a bio: the second part arrived with the first.
    fn split_arrival(&mut self, queue: Queue, event: &TraceEvent<'_>) {
        let Some(arrivals) = self.arrivals.get_mut(&queue) else { return };
        // Here, `sectors` is the start of the second part; device mapper shows only that part.
        let second = event.sectors;
        if second == event.sector {
            return;
        }
        let at_sector = arrivals.by_sector.get_mut(&event.sector);
        let Some(first) = at_sector.and_then(VecDeque::back_mut) else { return };
        let length = second.saturating_sub(event.sector);
        let rest = Arrival { sectors: first.sectors.saturating_sub(length), ..*first };
        first.sectors = length;
        arrivals.add(second, rest);
    }

    /// Removes the arrivals of all bios that were merged into a request for these sectors; returns that at its start.
    fn take_arrival(&mut self, queue: Queue, sector: u64, sectors: u64) -> Option<Arrival> {
        let arrivals = self.arrivals.get_mut(&queue)?;
        let end = sector.saturating_add(sectors.max(1));
        let starts: Vec<u64> = arrivals.by_sector.range(sector..end).map(|(at, _)| *at).collect();
        let mut at_sector = None;
        for start in starts {
            let taken = arrivals.take(start);
            if start == sector {
                at_sector = taken;
            }
        }
        at_sector
    }

    /// Records that the driver got a request, with the arrival of its first bio. A flush arrives when it is issued.
    fn issue_request(&mut self, queue: Queue, event: &TraceEvent<'_>) {
        let is_flush = event.flags.class == BlockClass::Flush;
        if event.sectors == 0 && !is_flush {
            return;
        }
        let place = (queue, event.sector);
        let issued = self.issues.get_mut(&place).filter(|_| !is_flush);
        if let Some(issue) = issued.and_then(VecDeque::front_mut) {
            // The driver requeued the request and issues it again.
            issue.at_ns = event.at_ns;
            return;
        }
        let arrival = self.take_arrival(queue, event.sector, event.sectors);
        let arrived_ns = arrival.map(|arrival| arrival.at_ns).or(is_flush.then_some(event.at_ns));
        let issue = Issue { at_ns: event.at_ns, arrived_ns, sectors: event.sectors };
        self.issues.entry(place).or_default().push_back(issue);
    }

    /// Counts a completed request, or its first part: the rest remains issued.
    fn end_request(&mut self, queue: Queue, event: &TraceEvent<'_>) {
        let class = event.flags.class;
        if event.sectors == 0 && class != BlockClass::Flush {
            return;
        }
        let place = (queue, event.sector);
        let issue = self.issues.get_mut(&place).and_then(VecDeque::pop_front);
        if self.issues.get(&place).is_some_and(VecDeque::is_empty) {
            self.issues.remove(&place);
        }
        let totals = &mut self.totals[queue.0][class as usize];
        totals.bytes += event.sectors * 512;
        let Some(issue) = issue else {
            count(totals, event, None, None);
            self.unseen += 1;
            return;
        };
        if issue.sectors > event.sectors {
            let rest = Issue { sectors: issue.sectors - event.sectors, ..issue };
            let place = (queue, event.sector + event.sectors);
            self.issues.entry(place).or_default().push_back(rest);
            return;
        }
        count(totals, event, issue.arrived_ns, Some(issue.at_ns));
        self.unseen += u64::from(issue.arrived_ns.is_none());
    }

    /// Removes the arrival of a bio that ends at this sector: some devices advance a bio to its end.
    fn take_arrival_ending_at(&mut self, queue: Queue, end: u64) -> Option<Arrival> {
        let before = self.arrivals.get(&queue)?.by_sector.range(..end);
        let ends_here = |(start, known): &(&u64, &VecDeque<Arrival>)| {
            known.front().is_some_and(|arrival| **start + arrival.sectors == end)
        };
        // If the arrival is unknown, a search among all would be slow.
        let start = *before.rev().take(64).find(ends_here)?.0;
        self.take_arrival(queue, start, 1)
    }

    /// Counts a completed bio by its arrival, and as a flush if it has no data.
    fn end_bio(&mut self, queue: Queue, event: &TraceEvent<'_>) {
        let by_start = self.take_arrival(queue, event.sector, 1);
        let arrival = by_start.or_else(|| self.take_arrival_ending_at(queue, event.sector));
        let sectors = arrival.map_or(event.sectors, |arrival| arrival.sectors);
        let mut class = event.flags.class;
        if sectors == 0 && matches!(class, BlockClass::Write | BlockClass::Fua) {
            class = BlockClass::Flush;
        }
        let totals = &mut self.totals[queue.0][class as usize];
        totals.bytes += sectors * 512;
        count(totals, event, arrival.map(|arrival| arrival.at_ns), None);
        self.unseen += u64::from(arrival.is_none());
    }
}

/// Counts a request with the latencies since its arrival and its last issue, if observed (nanoseconds).
fn count(to: &mut ClassTotals, event: &TraceEvent<'_>, arrived: Option<u64>, issued: Option<u64>) {
    to.requests += 1;
    to.failed += u64::from(event.failed);
    for (latencies, from_ns) in [(&mut to.queued, arrived), (&mut to.issued, issued)] {
        let Some(from_ns) = from_ns else { continue };
        let ns = event.at_ns.saturating_sub(from_ns);
        latencies.sum_ns += ns;
        latencies.buckets[latency_bucket(ns)] += 1;
    }
}

/// `CPU:1 [LOST 123 EVENTS]`
fn lost_events(line: &str) -> Option<u64> {
    line.split_once("[LOST ")?.1.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests;
