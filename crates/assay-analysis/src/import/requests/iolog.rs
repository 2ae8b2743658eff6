//! fio's logs of what it did or is to do (`write_iolog`, `read_iolog`), versions 2 and 3.

use assay_core::{calc::requests::Request, catalogue::About, outside, quantity::units::show};

use super::super::{Importer, Reads};
use super::{Devices, MOST_BYTES, MOST_SECONDS, SECTOR_BYTES, TraceInfo, TraceParser, number};

pub const IMPORTER: Importer = Importer {
    about: About {
        name: "fio-iolog",
        summary: "recorded requests: a fio log (write_iolog), version 2 or 3",
        text: "Stores a trace like assay watch --record-trace, to show, export and replay (workload replay). \
               sync and datasync become flushes, trim becomes a discard. The log contains no completion times.",
    },
    recognises: |head| version_of(head.lines().next().unwrap_or_default().trim()).is_ok(),
    reads: Reads::Requests(begin),
    unused: &[],
};

const MOST_US: u64 = MOST_SECONDS * 1_000_000;

pub fn begin() -> Box<dyn TraceParser> {
    Box::new(IologParser::default())
}

#[derive(Debug, Default)]
struct IologParser {
    version: Option<u64>,
    devices: Devices,
    now_us: u64,
    requests: u64,
    left_out: u64,
    rounded: u64,
}

fn version_of(line: &str) -> Result<u64, String> {
    let version = line.strip_prefix("fio version ").and_then(|rest| rest.strip_suffix(" iolog"));
    let version = version.ok_or("the first line is not `fio version 3 iolog`")?;
    match version {
        "2" => Ok(2),
        "3" => Ok(3),
        _ => Err(format!(
            "it has version {}; Assay supports versions 2 and 3",
            outside::spelled(version)
        )),
    }
}

impl TraceParser for IologParser {
    /// Reads the version from the first line, then at most one request per line; waits advance the clock.
    fn take(&mut self, line: &str, each: &mut dyn FnMut(Request)) -> Result<(), String> {
        let Some(version) = self.version else {
            self.version = Some(version_of(line)?);
            return Ok(());
        };
        let mut words = line.split_whitespace().peekable();
        if words.peek().is_none() {
            return Ok(());
        }
        if version == 3 {
            self.now_us = number(words.next(), "the time", MOST_US)?;
        }
        let name = words.next().ok_or("the file is missing")?;
        let act = words.next().ok_or("the action is missing")?;
        let class = match act {
            "add" | "open" | "close" => return Ok(()),
            "wait" if version == 2 => {
                self.now_us += number(words.next(), "the wait", MOST_US)?;
                if self.now_us > MOST_US {
                    return Err("it waits over a year".to_owned());
                }
                return Ok(());
            }
            "read" => "read",
            "write" => "write",
            "trim" => "discard",
            "sync" | "datasync" => "flush",
            "sync_file_range" | "syncfs" => {
                self.left_out += 1;
                return Ok(());
            }
            _ => return Err(format!("{} is not a fio log action", outside::spelled(act))),
        };
        let place = if class == "flush" {
            None
        } else {
            let offset = number(words.next(), "the offset", MOST_BYTES)?;
            let bytes = number(words.next(), "the length", u64::from(u32::MAX) - SECTOR_BYTES * 2)?;
            if bytes == 0 {
                return Err("the length is 0".to_owned());
            }
            Some((offset, bytes))
        };
        let device = self.devices.index(name)?;
        each(self.request(device, class, place));
        Ok(())
    }

    fn finish(&self) -> Result<TraceInfo, String> {
        if self.requests == 0 {
            return Err("it contains no request (read, write, trim or sync)".to_owned());
        }
        let ends = "a fio log has no completion times: requests end when they start; the queue depth is unknown";
        let mut notes = vec![ends.to_owned()];
        if self.rounded > 0 {
            let count = show::count(self.rounded);
            notes.push(format!("Assay extended {count} requests to whole sectors of 512 B"));
        }
        if self.left_out > 0 {
            let n = show::count(self.left_out);
            notes.push(format!(
                "skipped lines that are not requests: {n} (sync_file_range, syncfs)"
            ));
        }
        Ok(TraceInfo { devices: self.devices.in_whole_units(), notes })
    }
}

impl IologParser {
    /// Creates a request; extends its area to whole sectors and counts the extended requests.
    fn request(&mut self, device: usize, class: &'static str, area: Option<(u64, u64)>) -> Request {
        self.requests += 1;
        let place = area.map(|(offset, bytes)| {
            let begin = offset / SECTOR_BYTES * SECTOR_BYTES;
            let end = (offset + bytes).next_multiple_of(SECTOR_BYTES);
            self.rounded += u64::from((begin, end) != (offset, offset + bytes));
            self.devices.extend_to(device, end);
            (begin, end - begin)
        });
        let now_ns = self.now_us * 1000;
        Request {
            device,
            class,
            arrived_ns: Some(now_ns),
            ended_ns: now_ns,
            offset_bytes: place.map(|(offset, _)| offset),
            bytes: place.map_or(0, |(_, bytes)| bytes),
            ..Request::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

    type Found = (u64, usize, &'static str, Option<u64>, u64);

    fn of(text: &str) -> Result<(Vec<Found>, TraceInfo), String> {
        let mut all = Vec::new();
        let told = read("a", begin, &mut text.as_bytes(), &mut |one: Request| {
            assert_eq!(Some(one.ended_ns), one.arrived_ns);
            all.push((one.ended_ns / 1000, one.device, one.class, one.offset_bytes, one.bytes));
        });
        told.map(|told| (all, told)).map_err(|failure| failure.message)
    }

    #[test]
    fn a_line_of_version_3_is_a_request_at_its_microsecond() {
        let text = "fio version 3 iolog\n2 /dev/sda add\n3 /dev/sda open\n10 /dev/sda read 8192 4096\n\
                    12 /dev/sdb write 0 65536\n\n12 /dev/sda datasync 0 0\n20 /dev/sda trim 1048576 4096\n\
                    20 /dev/sda sync_file_range 0 0\n30 /dev/sda close\n";
        let (all, told) = of(text).unwrap();
        let expected = [
            (10, 0, "read", Some(8192), 4096),
            (12, 1, "write", Some(0), 65_536),
            (12, 0, "flush", None, 0),
            (20, 0, "discard", Some(1 << 20), 4096),
        ];
        assert_eq!(all, expected);
        let sizes: Vec<_> = told.devices.iter().map(|one| (one.name.as_str(), one.bytes)).collect();
        assert_eq!(sizes, [("sda", 2 << 20), ("sdb", 1 << 20)]);
        assert!(told.notes.len() == 2 && told.notes[1].contains(": 1 ("), "{:?}", told.notes);
    }

    #[test]
    fn version_2_waits_between_its_lines() {
        let text = "fio version 2 iolog\nf add\nf open\nf read 0 4096\nf wait 1500\nf write 4096 4096\n\
                    f wait 500 0\nf sync\nf close\n";
        let (all, told) = of(text).unwrap();
        assert_eq!(all.iter().map(|one| one.0).collect::<Vec<_>>(), [0, 1500, 2000]);
        assert_eq!((all[2].2, told.notes.len()), ("flush", 1));
    }

    #[test]
    fn what_lies_across_sectors_is_rounded_outwards_and_said() {
        let (all, told) = of("fio version 3 iolog\n0 f write 1000 100\n").unwrap();
        assert_eq!(all, [(0, 0, "write", Some(512), 1024)]);
        assert!(told.notes[1].starts_with("Assay extended 1 requests"), "{:?}", told.notes);
    }

    #[test]
    fn what_is_no_such_log_is_refused() {
        for (text, why) in [
            ("fio version 1 iolog\n", "version 1"),
            ("read 0 4096\n", "first line"),
            ("fio version 3 iolog\n0 f wait 10\n", "not a fio log action"),
            ("fio version 3 iolog\nf read 0 4096\n", "the time is f"),
            ("fio version 3 iolog\n0 f read 0\n", "the length is missing"),
            ("fio version 3 iolog\n0 f read 0 0\n", "the length is 0"),
            ("fio version 3 iolog\n0 f read 18446744073709551615 4096\n", "the offset is"),
            ("fio version 3 iolog\n0 f read 0 4294967295\n", "the length is 4294967295"),
            ("fio version 3 iolog\n99999999999999999 f read 0 512\n", "the time is"),
            ("fio version 3 iolog\n0 f\n", "the action is missing"),
            ("fio version 3 iolog\n0 f open\n", "no request"),
        ] {
            let told = of(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
