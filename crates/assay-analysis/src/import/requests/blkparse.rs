//! blkparse's text: a completion (C) with its issue (D) and its queueing (Q) is one request.

use std::collections::{BTreeMap, VecDeque};

use assay_core::{calc::requests::Request, catalogue::About, outside, quantity::units::show};

use super::super::{Importer, Reads};
use super::{Devices, MOST_BYTES, MOST_SECONDS, SECTOR_BYTES, TraceInfo, TraceParser, number};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "blkparse",
        summary: "recorded requests: the text output of blkparse",
        text: "Stores a trace like assay watch --record-trace, to show, export and replay (workload replay). Event Q \
               is the arrival and event C the completion; size and offset come from the issue event (D). Assay counts \
               but does not store requests without a completion event. Lines must have blkparse's default format (no \
               -f); Assay drops program names.",
    },
    recognises: |head| {
        let mut lines = head.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty() && !line.starts_with(INPUT));
        first.is_some_and(|line| BlkparseEvent::new(line).is_ok_and(|event| event.is_some()))
    },
    reads: Reads::Requests(begin),
    unused: &[],
};

/// Lines before the events, and the first words of the summary after them.
const INPUT: &str = "Input file";
const SUMMARY: [&str; 2] = ["CPU", "Total"];
/// Actions on requests; the others concern queues, remaps and programs.
const ACTIONS: [&str; 6] = ["Q", "X", "M", "F", "D", "C"];
/// Limit on remembered requests that have not completed.
const MOST_WAITING: usize = 1 << 16;

pub fn begin() -> Box<dyn TraceParser> {
    Box::new(Blkparse::default())
}

type Place = (usize, u64);

#[derive(Debug, Default)]
struct Blkparse {
    devices: Devices,
    /// Arrival of each queued request, nanoseconds.
    queued: BTreeMap<Place, u64>,
    issued: BTreeMap<Place, Issued>,
    flushes: BTreeMap<usize, VecDeque<u64>>,
    /// Arrivals of flushes without an issue event.
    queued_flushes: BTreeMap<usize, VecDeque<u64>>,
    is_summary: bool,
    requests: u64,
    /// Requests without a queue event: their issue counts as their arrival.
    unqueued: u64,
    without_start: u64,
    forgotten: u64,
}

#[derive(Clone, Copy, Debug)]
struct Issued {
    arrived_ns: u64,
    sector: u64,
    sectors: u64,
    left: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RequestFlags {
    class: &'static str,
    sync: bool,
    meta: bool,
    read_ahead: bool,
}

#[derive(Clone, Copy, Debug)]
struct BlkparseEvent<'l> {
    device: &'l str,
    at_ns: u64,
    action: &'l str,
    kind: Option<RequestFlags>,
    /// Sector and number of sectors; for a split, the sectors before the remainder.
    place: Option<(u64, u64)>,
    failed: bool,
}

/// Nanoseconds of seconds with one to nine decimals.
fn time_ns(text: Option<&str>) -> Result<u64, String> {
    let text = text.ok_or("the time is missing")?;
    let parts = text.split_once('.').filter(|(_, decimals)| (1..=9).contains(&decimals.len()));
    let (seconds, decimals) = parts.ok_or_else(|| {
        format!("the time is {}, not seconds such as 0.000012345", outside::spelled(text))
    })?;
    let decimal_ns = 10_u64.pow(9 - decimals.len() as u32);
    let seconds = number(Some(seconds), "the second", MOST_SECONDS)?;
    let decimals = number(Some(decimals), "the fraction of the second", 999_999_999)?;
    Ok(seconds * 1_000_000_000 + decimals * decimal_ns)
}

/// Whether a word is a device number, such as `8,0`.
fn is_device(word: &str) -> bool {
    let is_number = |text: &str| {
        (1..=7).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    word.split_once(',').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

/// Parses the flags of an event: `R`, `WS`, `FWFSM`, `FN`, `DS`. The first `F` is a flush, an `F` after `W` is FUA.
fn parse_flags(letters: &str, has_place: bool) -> Option<RequestFlags> {
    let after_flush = letters.strip_prefix('F');
    let kind = after_flush.unwrap_or(letters);
    let class = if !has_place {
        after_flush.map(|_| "flush")?
    } else if let Some(rest) = kind.strip_prefix('W') {
        if rest.contains('F') { "fua" } else { "write" }
    } else if kind.starts_with('R') {
        "read"
    } else {
        kind.starts_with('D').then_some("discard")?
    };
    let has = |letter: char| letters.contains(letter);
    Some(RequestFlags { class, sync: has('S'), meta: has('M'), read_ahead: has('A') })
}

impl<'l> BlkparseEvent<'l> {
    /// Parses the event of a line; `None` if the line is not an event.
    fn new(line: &'l str) -> Result<Option<Self>, String> {
        let mut words = line.split_whitespace();
        let Some(device) = words.next().filter(|word| is_device(word)) else { return Ok(None) };
        for what in ["the CPU", "the event number"] {
            number(words.next(), what, u64::MAX)?;
        }
        let at_ns = time_ns(words.next())?;
        number(words.next(), "the process", u64::from(u32::MAX))?;
        let action = words.next().ok_or("the action is missing")?;
        let is_action = action.len() <= 2 && action.bytes().all(|byte| byte.is_ascii_alphabetic());
        if !is_action {
            return Err(format!("{} is not a blkparse action", outside::spelled(action)));
        }
        let letters = words.next().unwrap_or_default();
        let is_letters = letters.bytes().all(|byte| byte.is_ascii_uppercase());
        let place =
            if ACTIONS.contains(&action) { read_place(words, action == "X")? } else { None };
        let place = place.filter(|(_, sectors)| *sectors > 0);
        let kind = if is_letters { parse_flags(letters, place.is_some()) } else { None };
        let error = line.rsplit_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
        let failed = error.and_then(|text| text.parse::<i64>().ok()).is_some_and(|code| code != 0);
        Ok(Some(Self { device, at_ns, action, kind, place, failed }))
    }
}

/// Returns the sector and the number of sectors, if the line has them: `223490 + 8`. A split has the sector of the
/// remainder instead of the number: `1000 / 1256`; blkparse writes only its lower 32 bits.
fn read_place<'l>(
    mut words: impl Iterator<Item = &'l str>,
    is_split: bool,
) -> Result<Option<(u64, u64)>, String> {
    let (sector, sign, other) = (words.next(), words.next(), words.next());
    if sign != Some(if is_split { "/" } else { "+" }) {
        return Ok(None);
    }
    let sector = number(sector, "the sector", MOST_BYTES / SECTOR_BYTES)?;
    if is_split {
        let rest = number(other, "the sector of the remainder", u64::MAX)?;
        return Ok(Some((sector, rest.wrapping_sub(sector) & u64::from(u32::MAX))));
    }
    Ok(Some((sector, number(other, "the number of sectors", u64::from(u32::MAX) / SECTOR_BYTES)?)))
}

impl TraceParser for Blkparse {
    /// Matches the events of a request by device and sector; passes it to `each` when it completes.
    fn take(&mut self, line: &str, each: &mut dyn FnMut(Request)) -> Result<(), String> {
        let Some(event) = BlkparseEvent::new(line)? else {
            self.is_summary |= SUMMARY.iter().any(|word| line.starts_with(word));
            if self.is_summary || line.is_empty() || line.starts_with(INPUT) {
                return Ok(());
            }
            return Err("not a blkparse event or summary".to_owned());
        };
        let Some(kind) = event.kind.filter(|_| ACTIONS.contains(&event.action)) else {
            return Ok(());
        };
        let device = self.devices.index(event.device)?;
        // Q queues a request, D issues it to the driver, C completes it; a request without a place is a flush.
        match (event.action, event.place) {
            ("Q", Some((sector, _))) => self.arrive((device, sector), event.at_ns),
            ("Q", None) => {
                self.forgotten += remember(&mut self.queued_flushes, device, event.at_ns);
            }
            // Split: the remainder gets the arrival of the whole.
            ("X", Some((sector, before))) => {
                if let Some(at_ns) = self.queued.get(&(device, sector)).copied() {
                    self.arrive((device, sector + before), at_ns);
                }
            }
            // Back merge: the earlier request keeps its arrival.
            ("M", Some((sector, _))) => {
                self.queued.remove(&(device, sector));
            }
            // Front merge: the earlier request begins here from now on.
            ("F", Some((sector, sectors))) => {
                if let Some(at_ns) = self.queued.remove(&(device, sector + sectors)) {
                    self.queued.insert((device, sector), at_ns);
                }
            }
            ("D", place) => self.issue(device, place, event.at_ns),
            ("C", Some((sector, sectors))) => {
                self.complete(device, sector, sectors, &event, kind, each);
            }
            ("C", None) => {
                let issued = self.flushes.get_mut(&device).and_then(VecDeque::pop_front);
                let queued = || self.queued_flushes.get_mut(&device)?.pop_front();
                match issued.or_else(queued) {
                    Some(at_ns) => self.report(device, at_ns, None, &event, kind, each),
                    None => self.without_start += 1,
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&self) -> Result<TraceInfo, String> {
        if self.requests == 0 {
            return Err(
                "it contains no complete request (Q or D, then C); trace whole requests".to_owned()
            );
        }
        let begun = self.issued.len() + self.flushes.values().map(VecDeque::len).sum::<usize>();
        let notes = [
            (self.unqueued, "requests have no queue event (Q); Assay uses the issue time (D)"),
            (self.without_start, "completions have no start in the file; Assay skips these"),
            (begun as u64, "issued requests have no completion in the file; Assay skips these"),
            (self.forgotten, "events were dropped, because too many requests were in flight"),
        ];
        let notes = notes.into_iter().filter(|(count, _)| *count > 0);
        let notes = notes.map(|(count, words)| format!("{} {words}", show::count(count)));
        Ok(TraceInfo { devices: self.devices.in_whole_units(), notes: notes.collect() })
    }
}

/// Forgets all requests if there are too many; returns how many.
fn clear_if_full<T>(waiting: &mut BTreeMap<Place, T>) -> u64 {
    if waiting.len() < MOST_WAITING {
        return 0;
    }
    let count = waiting.len() as u64;
    waiting.clear();
    count
}

/// Remembers a flush of a device; returns how many were forgotten for it.
fn remember(flushes: &mut BTreeMap<usize, VecDeque<u64>>, device: usize, at_ns: u64) -> u64 {
    let waiting = flushes.entry(device).or_default();
    let is_full = waiting.len() >= MOST_WAITING;
    if is_full {
        waiting.pop_front();
    }
    waiting.push_back(at_ns);
    u64::from(is_full)
}

impl Blkparse {
    /// Remembers when a request arrived; an earlier one at its sector that has not ended is lost.
    fn arrive(&mut self, place: Place, at_ns: u64) {
        self.forgotten += clear_if_full(&mut self.queued);
        self.queued.insert(place, at_ns);
    }

    /// Turns a queued request into an issued one; without a place, it is a flush.
    fn issue(&mut self, device: usize, place: Option<(u64, u64)>, at_ns: u64) {
        let Some((sector, sectors)) = place else {
            // One flush of the device serves all requests that asked for one.
            self.queued_flushes.remove(&device);
            self.forgotten += remember(&mut self.flushes, device, at_ns);
            return;
        };
        // A requeued request keeps its first arrival.
        let before = self.issued.get(&(device, sector)).map(|own| own.arrived_ns);
        let arrived_ns = self.queued.remove(&(device, sector)).or(before).unwrap_or_else(|| {
            self.unqueued += 1;
            at_ns
        });
        self.forgotten += clear_if_full(&mut self.issued);
        let issued = Issued { arrived_ns, sector, sectors, left: sectors };
        self.issued.insert((device, sector), issued);
    }

    /// Reports a request when its last part completes; stores the remaining part otherwise.
    fn complete(
        &mut self,
        device: usize,
        sector: u64,
        sectors: u64,
        event: &BlkparseEvent<'_>,
        kind: RequestFlags,
        each: &mut dyn FnMut(Request),
    ) {
        if let Some(issued) = self.issued.remove(&(device, sector)) {
            if sectors < issued.left {
                // It completes in parts.
                let remaining = Issued { left: issued.left - sectors, ..issued };
                self.issued.insert((device, sector + sectors), remaining);
                return;
            }
            let place = Some((issued.sector, issued.sectors));
            self.report(device, issued.arrived_ns, place, event, kind, each);
        } else if let Some(arrived_ns) = self.queued.remove(&(device, sector)) {
            // Bio-based devices have no issue events.
            self.report(device, arrived_ns, Some((sector, sectors)), event, kind, each);
        } else {
            self.without_start += 1;
        }
    }

    /// Passes on a request that ended with `event`; `place` is its sector and number of sectors.
    fn report(
        &mut self,
        device: usize,
        arrived_ns: u64,
        place: Option<(u64, u64)>,
        event: &BlkparseEvent<'_>,
        kind: RequestFlags,
        each: &mut dyn FnMut(Request),
    ) {
        let place = place.map(|(sector, sectors)| (sector * SECTOR_BYTES, sectors * SECTOR_BYTES));
        if let Some((offset, bytes)) = place {
            self.devices.extend_to(device, offset + bytes);
        }
        self.requests += 1;
        each(Request {
            device,
            class: kind.class,
            arrived_ns: Some(arrived_ns),
            ended_ns: event.at_ns.max(arrived_ns),
            offset_bytes: place.map(|(offset, _)| offset),
            bytes: place.map_or(0, |(_, bytes)| bytes),
            sync: kind.sync,
            meta: kind.meta,
            read_ahead: kind.read_ahead,
            failed: event.failed,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    fn of(text: &str) -> Result<(Vec<Request>, TraceInfo), String> {
        let mut all = Vec::new();
        let told = read("a", begin, &mut text.as_bytes(), &mut |one: Request| all.push(one));
        told.map(|told| (all, told)).map_err(|failure| failure.message)
    }

    fn line(at: &str, action: &str, rest: &str) -> String {
        format!("  8,0    1        7     {at}  4162  {action}   {rest}\n")
    }

    type Short = (u64, u64, &'static str, Option<u64>, u64);

    fn short(all: &[Request]) -> Vec<Short> {
        let us = |ns: u64| ns / 1000;
        let short = |one: &Request| {
            let arrived = us(one.arrived_ns.unwrap());
            (arrived, us(one.ended_ns), one.class, one.offset_bytes, one.bytes)
        };
        all.iter().map(short).collect()
    }

    #[test]
    fn an_end_with_its_hand_over_and_its_arrival_is_a_request() {
        let text = [
            line("0.000001000", "Q", "RA 2048 + 8 [cat]"),
            line("0.000002000", "G", "RA 2048 + 8 [cat]"),
            line("0.000003000", "P", "N [cat]"),
            line("0.000004000", "Q", "RA 2056 + 8 [cat]"),
            line("0.000005000", "M", "RA 2056 + 8 [cat]"),
            line("0.000006000", "U", "N [cat] 1"),
            line("0.000007000", "D", "RA 2048 + 16 [cat]"),
            line("0.000100000", "C", "RA 2048 + 16 [0]"),
            line("0.000200000", "Q", "WFS 4096 + 8 (a b)"),
            line("0.000201000", "D", "WFS 4096 + 8 [jbd2/sda1-8]"),
            line("0.000300000", "C", "WFS 4096 + 8 ( 99000) [-5]"),
        ];
        let (all, told) = of(&text.concat()).unwrap();
        let expected =
            [(1, 100, "read", Some(2048 * 512), 8192), (200, 300, "fua", Some(4096 * 512), 4096)];
        assert_eq!(short(&all), expected);
        assert!(all[0].read_ahead && !all[0].failed && all[1].failed && all[1].sync);
        assert_eq!((told.devices[0].name.as_str(), told.devices[0].bytes), ("8_0", 3 << 20));
        assert_eq!(told.notes, [""; 0]);
    }

    #[test]
    fn flushes_end_in_their_order_and_a_request_in_parts_ends_once() {
        let text = [
            line("0.000001000", "D", "FN [kworker/1:1H]"),
            line("0.000002000", "D", "FN 0 + 0 [kworker/1:1H]"),
            line("0.000011000", "C", "FN 0 [0]"),
            line("0.000012000", "C", "FN 0 + 0 [0]"),
            line("0.000020000", "D", "DS 0 + 2048 [fstrim]"),
            line("0.000030000", "C", "DS 0 + 1024 [0]"),
            line("0.000031000", "C", "DS 1024 + 1024 [0]"),
            line("0.000040000", "C", "W 9999 + 8 [0]"),
            line("0.000041000", "D", "W 5000 + 8 [dd]"),
        ];
        let (all, told) = of(&text.concat()).unwrap();
        let expected = [
            (1, 11, "flush", None, 0),
            (2, 12, "flush", None, 0),
            (20, 31, "discard", Some(0), 1 << 20),
        ];
        assert_eq!(short(&all), expected);
        let notes: Vec<_> = told.notes.iter().filter_map(|note| note.split(' ').next()).collect();
        assert_eq!(notes, ["2", "1", "1"], "{:?}", told.notes);
    }

    #[test]
    fn devices_without_requests_end_what_was_queued() {
        let text = [
            line("0.000001000", "Q", "W 8 + 8 [dd]"),
            line("0.000009000", "C", "W 8 + 8 [0]"),
            "CPU0 (dm-0):\n Reads Queued:           0,        0KiB\n\nTotal (dm-0):\n".to_owned(),
        ];
        let (all, told) = of(&text.concat()).unwrap();
        assert_eq!(short(&all), [(1, 9, "write", Some(4096), 4096)]);
        assert!(told.notes.is_empty());
    }

    #[test]
    fn what_is_put_before_another_one_arrived_with_that() {
        let text = [
            line("0.000001000", "Q", "W 24 + 8 [dd]"),
            line("0.000005000", "Q", "W 16 + 8 [dd]"),
            line("0.000006000", "F", "W 16 + 8 [dd]"),
            line("0.000007000", "Q", "W 8 + 8 [dd]"),
            line("0.000008000", "F", "W 8 + 8 [dd]"),
            line("0.000009000", "D", "W 8 + 24 [dd]"),
            line("0.000020000", "C", "W 8 + 24 [0]"),
            // Another request begins, so the rest of this one is dropped.
            line("0.000030000", "D", "W 24 + 8 [dd]"),
            line("0.000040000", "C", "W 24 + 8 [0]"),
        ];
        let (all, told) = of(&text.concat()).unwrap();
        let expected =
            [(1, 20, "write", Some(4096), 12_288), (30, 40, "write", Some(12_288), 4096)];
        assert_eq!(short(&all), expected);
        assert!(told.notes.len() == 1 && told.notes[0].starts_with("1 requests"), "{told:?}");
    }

    #[test]
    fn parts_of_what_is_split_arrived_when_the_whole_did() {
        let far = (1_u64 << 32) - 8;
        let text = [
            line("0.000001000", "Q", "R 1000 + 512 [dd]"),
            line("0.000002000", "X", "R 1000 / 1256 [dd]"),
            line("0.000003000", "D", "R 1000 + 256 [dd]"),
            line("0.000004000", "D", "R 1256 + 256 [dd]"),
            line("0.000010000", "C", "R 1000 + 256 [0]"),
            line("0.000020000", "C", "R 1256 + 256 [0]"),
            // The upper bits of the remainder's sector are missing.
            line("0.000021000", "Q", &format!("R {far} + 16 [dd]")),
            line("0.000022000", "X", &format!("R {far} / 0 [dd]")),
            line("0.000023000", "D", &format!("R {} + 8 [dd]", far + 8)),
            line("0.000030000", "C", &format!("R {} + 8 [0]", far + 8)),
        ];
        let (all, told) = of(&text.concat()).unwrap();
        let begins: Vec<u64> = short(&all).iter().map(|one| one.0).collect();
        assert_eq!((begins, told.notes.len()), (vec![1, 1, 21], 0), "{told:?}");
        assert!(of(&line("0.0", "X", "R 8 / x [dd]")).unwrap_err().contains("of the remainder"));
    }

    #[test]
    fn flushes_of_devices_without_requests_arrive_and_end() {
        let text = [
            line("0.000001000", "Q", "FWS [dd]"),
            line("0.000009000", "C", "FWS 0 [0]"),
            // Otherwise a request with a flush completes twice; the second is not a request.
            line("0.000011000", "Q", "FWS [dd]"),
            line("0.000012000", "D", "FN [kworker/1:1H]"),
            line("0.000020000", "C", "FN 0 [0]"),
            line("0.000021000", "C", "WS 0 [0]"),
        ];
        let (all, told) = of(&text.concat()).unwrap();
        assert_eq!(short(&all), [(1, 9, "flush", None, 0), (12, 20, "flush", None, 0)]);
        assert!(told.notes.is_empty(), "{told:?}");
    }

    #[test]
    fn messages_may_say_anything_and_what_stands_before_the_events_ends_nothing() {
        let text = [
            "Input file sda.blktrace.0 added\n".to_owned(),
            line("0.000001000", "m", "N bfq served + much"),
            line("0.000002000", "A", "W 8 + 8 <- (8,1) 0"),
            line("0.000003000", "D", "W 8 + 8 [dd]"),
            line("0.000009000", "C", "W 8 + 8 [0]"),
        ];
        assert_eq!(of(&text.concat()).unwrap().0.len(), 1);
        let damaged = format!("{}hello\n", text.concat());
        assert!(of(&damaged).unwrap_err().contains("not a blkparse event"));
    }

    #[test]
    fn what_is_handed_over_again_arrived_once_and_commands_are_no_requests() {
        let text = [
            line("0.000001000", "Q", "R 8 + 8 [dd]"),
            line("0.000002000", "D", "R 8 + 8 [dd]"),
            line("0.000003000", "R", "R 8 + 8 [0]"),
            line("0.000004000", "D", "R 8 + 8 [dd]"),
            line("0.000005000", "D", "R 36 (12 00 00 00 24 00 ..) [hald]"),
            line("0.000006000", "m", "N cfq4162 insert_request"),
            line("0.000009000", "C", "R 8 + 8 [0]"),
        ];
        let (all, told) = of(&text.concat()).unwrap();
        assert_eq!(short(&all), [(1, 9, "read", Some(4096), 4096)]);
        assert!(told.notes.is_empty(), "{:?}", told.notes);
    }

    #[test]
    fn what_is_no_such_text_is_refused() {
        let good = line("0.000001000", "D", "R 8 + 8 [dd]");
        for (text, why) in [
            (good.clone(), "no complete request"),
            (format!("{good}hello\n"), "not a blkparse event"),
            (line("0.1234567890", "D", "R 8 + 8"), "the time is"),
            (line("1", "D", "R 8 + 8"), "the time is"),
            (line("99999999999.0", "D", "R 8 + 8"), "the second is"),
            (line("0.0", "D", "R 99999999999999999999 + 8"), "the sector is"),
            (line("0.0", "D", "R 8 + 99999999999"), "the number of sectors is"),
            (line("0.0", "D", "R 8 +"), "the number of sectors is missing"),
            (line("0.0", "DROP", "R 8 + 8"), "not a blkparse action"),
            ("8,0 1 x 0.0 1 D R 8 + 8\n".to_owned(), "the event number is x"),
            ("8,0 1\n".to_owned(), "is missing"),
        ] {
            let told = of(&text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }

    #[test]
    #[ignore = "nightly: 1 s"]
    fn what_never_ends_is_forgotten_at_some_time() {
        let many = (0..=MOST_WAITING).map(|at| line("0.0", "D", &format!("R {} + 8 [a]", at * 8)));
        let last = line("1.0", "C", &format!("R {} + 8 [0]", MOST_WAITING * 8));
        let text: String = many.chain([last]).collect();
        let (all, told) = of(&text).unwrap();
        assert_eq!(all.len(), 1);
        assert!(told.notes.iter().any(|note| note.contains("dropped")), "{:?}", told.notes);
    }
}
