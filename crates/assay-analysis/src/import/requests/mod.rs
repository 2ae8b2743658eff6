//! Requests of block devices, read line by line in constant memory.

pub(super) mod blkparse;
pub(super) mod iolog;

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};

use assay_core::failure::{Failure, Outcome};
use assay_core::{calc::requests::Request, outside};

const LONGEST_LINE_BYTES: u64 = 4096;
/// Limit on devices per recording: that of Assay's own recorder.
const MOST_DEVICES: usize = 64;
const LONGEST_NAME: usize = 32;
/// A device of unknown size gets a multiple of this.
const UNIT_BYTES: u64 = 1 << 20;
/// Offsets and sizes are multiples of this.
const SECTOR_BYTES: u64 = 512;
const MOST_BYTES: u64 = 1 << 60;
/// Longest accepted recording: one year.
const MOST_SECONDS: u64 = 366 * 86_400;

pub trait TraceParser {
    /// Reads a line, and passes on the requests that it contains or completes.
    fn take(&mut self, line: &str, each: &mut dyn FnMut(Request)) -> Result<(), String>;

    /// Returns the totals after the last line.
    fn finish(&self) -> Result<TraceInfo, String>;
}

/// Contents of a trace besides its requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceInfo {
    pub devices: Vec<TraceDevice>,
    /// Assumptions and omissions, one sentence each.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceDevice {
    /// Without its directory, and without characters that device names do not have.
    pub name: String,
    /// End of the last request, rounded up to whole MiB: no text contains the real size.
    pub bytes: u64,
}

pub type Begin = fn() -> Box<dyn TraceParser>;

/// Reads a text to its end and passes each request to `each`. Messages name `name` and the line of a mistake.
pub fn read<R: BufRead>(
    name: &str,
    begin: Begin,
    from: &mut R,
    each: &mut dyn FnMut(Request),
) -> Outcome<TraceInfo> {
    let mut lines = begin();
    let mut line = Vec::new();
    let mut number = 0_u64;
    loop {
        line.clear();
        let piece = from.by_ref().take(LONGEST_LINE_BYTES + 1).read_until(b'\n', &mut line);
        let length = piece.map_err(|why| Failure::refused(format!("cannot read {name}: {why}")))?;
        if length == 0 {
            break;
        }
        number += 1;
        let wrong = |why: &str| Failure::mistake(format!("{name}:{number}:1: {why}"));
        if length as u64 > LONGEST_LINE_BYTES {
            return Err(wrong("the line is longer than 4 KiB"));
        }
        let text = std::str::from_utf8(&line).map_err(|_| wrong("the text is not UTF-8"))?;
        let text = if number == 1 { text.trim_start_matches('\u{feff}') } else { text };
        lines.take(text.trim(), each).map_err(|why| wrong(&why))?;
    }
    lines.finish().map_err(|why| Failure::mistake(format!("{name}: {why}")))
}

#[derive(Debug, Default)]
struct Devices {
    known: BTreeMap<String, usize>,
    all: Vec<TraceDevice>,
}

impl Devices {
    /// Index of the device with this name in the trace; adds an unknown one under a unique plain name.
    fn index(&mut self, name: &str) -> Result<usize, String> {
        if let Some(index) = self.known.get(name) {
            return Ok(*index);
        }
        let index = self.all.len();
        if index >= MOST_DEVICES {
            return Err(format!("it contains more than {MOST_DEVICES} devices"));
        }
        self.known.insert(name.to_owned(), index);
        let name = self.unique_name(name);
        self.all.push(TraceDevice { name, bytes: 0 });
        Ok(index)
    }

    /// The last part of a device's path in plain characters, with a number if another device has this name: `sda-2`.
    fn unique_name(&self, path: &str) -> String {
        let last = path.rsplit('/').next().unwrap_or(path);
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_!".contains(sign);
        let signs = last.chars().take(LONGEST_NAME);
        let plain: String = signs.map(|sign| if is_plain(sign) { sign } else { '_' }).collect();
        let plain = if plain.is_empty() { "device".to_owned() } else { plain };
        let (mut name, mut number) = (plain.clone(), 1);
        while self.all.iter().any(|device| device.name == name) {
            number += 1;
            name = format!("{plain}-{number}");
        }
        name
    }

    fn extend_to(&mut self, at: usize, end: u64) {
        if let Some(own) = self.all.get_mut(at) {
            own.bytes = own.bytes.max(end);
        }
    }

    /// Devices with their sizes rounded up; a device with flushes alone gets one unit.
    fn in_whole_units(&self) -> Vec<TraceDevice> {
        let whole = |own: &TraceDevice| TraceDevice {
            name: own.name.clone(),
            bytes: own.bytes.max(1).next_multiple_of(UNIT_BYTES),
        };
        self.all.iter().map(whole).collect()
    }
}

/// Parses digits up to `most`; `what` names the number in messages.
fn number(text: Option<&str>, what: &str, most: u64) -> Result<u64, String> {
    let text = text.ok_or_else(|| format!("{what} is missing"))?;
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let found = text.parse::<u64>().ok().filter(|found| is_number && *found <= most);
    found.ok_or_else(|| {
        format!("{what} is {}, not a whole number up to {most}", outside::spelled(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: Begin = iolog::begin;

    fn of(text: &[u8]) -> Outcome<TraceInfo> {
        read("busy.log", BEGIN, &mut &text[..], &mut |_| {})
    }

    #[test]
    fn devices_have_names_that_are_plain_and_differ() {
        let mut devices = Devices::default();
        let at = ["/dev/sda", "/srv/sda", "/dev/sda", "a/b c", "..", "/"];
        let at: Vec<usize> = at.iter().map(|name| devices.index(name).unwrap()).collect();
        assert_eq!(at, [0, 1, 0, 2, 3, 4]);
        devices.extend_to(1, 4096);
        let told = devices.in_whole_units();
        let names: Vec<&str> = told.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["sda", "sda-2", "b_c", "__", "device"]);
        assert!(told.iter().all(|one| one.bytes == UNIT_BYTES));
    }

    #[test]
    fn more_devices_than_are_recorded_here_are_refused() {
        let mut devices = Devices::default();
        assert!((0..MOST_DEVICES).all(|at| devices.index(&at.to_string()) == Ok(at)));
        assert!(devices.index("one more").is_err() && devices.index("0") == Ok(0));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let head = "fio version 3 iolog\n";
        let told = |more: &[u8]| {
            let text = [head.as_bytes(), more].concat();
            of(&text).unwrap_err().message
        };
        assert!(told(b"0 sda read 0 4096\n1 sda read x 4096\n").starts_with("busy.log:3:1: "));
        assert!(told(b"0 sda \xff\n").starts_with("busy.log:2:1: the text is not UTF-8"));
        let long = vec![b'a'; 5000];
        assert!(told(&long).starts_with("busy.log:2:1: the line is longer"));
        assert!(told(b"").starts_with("busy.log: "));
        assert!(of(format!("\u{feff}{head}0 sda read 0 4096").as_bytes()).is_ok());
    }

    #[test]
    fn numbers_out_of_range_are_none() {
        assert_eq!(number(Some("17"), "it", 17), Ok(17));
        for text in ["18", "-1", "+1", "", "1e3", "99999999999999999999", "0x10"] {
            assert!(number(Some(text), "it", 17).unwrap_err().starts_with("it is "), "{text}");
        }
        assert_eq!(number(None, "it", 17), Err("it is missing".to_owned()));
    }
}
