//! Entries of a systemd journal from `journalctl -o json` and `-o export`. Unreadable entries are only counted.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_core::json;
use serde_json::Value;

pub use assay_machine::system::machine::plain_id as id;

/// Maximum bytes of an entry: messages on boots are shorter.
const LONGEST_ENTRY: usize = 1 << 20;
const LONGEST_MESSAGE: usize = 8 << 10;
/// Maximum bytes to store of the name of a unit, a kernel or a device.
const LONGEST_NAME: usize = 300;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Id of the boot, 32 hexadecimal digits.
    pub boot: String,
    /// Monotonic kernel clock at the time of logging, microseconds.
    pub monotonic_us: u64,
    /// Microseconds since 1970 of the wall clock at that moment.
    pub wall_us: Option<u64>,
    /// Sequence of the entry and its number in it, which continues over boots.
    pub sequence: Option<(String, u64)>,
    pub machine: String,
    /// ID of the message type, 32 hexadecimal digits; empty if missing.
    pub message_id: String,
    pub message: String,
    pub unit: String,
    /// Transport: `kernel`, `journal`, `driver`, ...
    pub transport: String,
    pub process: Option<u32>,
    pub job_result: String,
    /// Durations of the phases that systemd counted, microseconds; set in its message on them.
    pub kernel_us: Option<u64>,
    pub initrd_us: Option<u64>,
    pub userspace_us: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadEntries {
    pub entries: Vec<Entry>,
    pub faults: usize,
}

/// Fields to request from journalctl; those with two leading underscores are always included.
pub const FIELDS: &str = "_BOOT_ID,_MACHINE_ID,_TRANSPORT,_PID,MESSAGE_ID,MESSAGE,UNIT,JOB_RESULT,\
                          KERNEL_USEC,INITRD_USEC,USERSPACE_USEC";

pub fn read(bytes: &[u8]) -> ReadEntries {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => ReadEntries::default(),
        Some(b'{' | b'\x1e') => json(bytes),
        Some(_) => export(bytes),
    }
}

/// Reads entries in JSON, one object per line.
pub fn json(bytes: &[u8]) -> ReadEntries {
    let mut read = ReadEntries::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        // RFC 7464 puts a separator before each of them (`-o json-seq`).
        let line = line.strip_prefix(b"\x1e").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            continue;
        }
        read.add(json_entry(line));
    }
    read
}

/// Reads an entry; `None` if it is too long, not JSON or incomplete.
fn json_entry(line: &[u8]) -> Option<Entry> {
    if line.len() > LONGEST_ENTRY {
        return None;
    }
    let fields: BTreeMap<String, Value> = json::from_slice(line).ok()?;
    let mut entry = Entry::default();
    for (name, value) in &fields {
        if let Some(text) = field_text(value) {
            entry.set(name, &text);
        }
    }
    entry.if_complete()
}

/// The (first) text of a field. journalctl writes invalid UTF-8 as a list of bytes, a repeated field as one of texts.
fn field_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Array(list) if list.first().is_some_and(Value::is_number) => {
            let byte_of = |number: &Value| u8::try_from(number.as_u64()?).ok();
            let bytes: Vec<u8> = list.iter().map(byte_of).collect::<Option<_>>()?;
            Some(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))
        }
        Value::Array(list) => list.first().and_then(Value::as_str).map(Cow::Borrowed),
        _ => None,
    }
}

/// Reads the export format: lines `NAME=VALUE`, or name, length and bytes; an empty line ends an entry.
pub fn export(bytes: &[u8]) -> ReadEntries {
    let mut read = ReadEntries::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (entry, after, is_readable) = export_entry(rest);
        rest = after;
        if !is_readable {
            read.faults += 1;
        } else if let Some(entry) = entry {
            read.add(entry.if_complete());
        }
    }
    read
}

/// The first entry of a text (`None` if its first line is empty), the rest, and whether the entry was readable.
fn export_entry(bytes: &[u8]) -> (Option<Entry>, &[u8], bool) {
    let mut entry = None;
    let mut rest = bytes;
    loop {
        let Some(end) = rest.iter().position(|byte| *byte == b'\n') else {
            // A truncated text has no end of its last line.
            return (None, &[], rest.is_empty() && entry.is_none());
        };
        let (line, after) = (&rest[..end], &rest[end + 1..]);
        if line.is_empty() {
            return (entry, after, true);
        }
        let fields: &mut Entry = entry.get_or_insert_default();
        let (name, value, after) = match line.iter().position(|byte| *byte == b'=') {
            Some(at) => (&line[..at], &line[at + 1..], after),
            // A binary field: the line is its name, and its length and bytes follow.
            None => match split_binary_value(after) {
                Some((value, after)) => (line, value, after),
                None => return (None, skip_entry(after), false),
            },
        };
        if let Ok(name) = std::str::from_utf8(name) {
            fields.set(name, &String::from_utf8_lossy(value));
        }
        rest = after;
    }
}

/// A value with a length prefix, and the rest after its line.
fn split_binary_value(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let value = rest.get(..length)?;
    let after = rest.get(length..)?.strip_prefix(b"\n")?;
    Some((value, after))
}

fn skip_entry(bytes: &[u8]) -> &[u8] {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n");
    end.map_or(&[], |end| &bytes[end + 2..])
}

impl ReadEntries {
    /// Adds an entry; `None` counts as unreadable.
    fn add(&mut self, entry: Option<Entry>) {
        match entry {
            Some(entry) => self.entries.push(entry),
            None => self.faults += 1,
        }
    }
}

impl Entry {
    /// Stores a field of the journal; skips the fields that Assay does not use.
    fn set(&mut self, name: &str, value: &str) {
        let number = || value.parse::<u64>().ok();
        match name {
            "_BOOT_ID" => self.boot = id(value).unwrap_or_default(),
            "_MACHINE_ID" => self.machine = id(value).unwrap_or_default(),
            "__MONOTONIC_TIMESTAMP" => self.monotonic_us = number().unwrap_or(u64::MAX),
            "__REALTIME_TIMESTAMP" => self.wall_us = number(),
            "__CURSOR" => self.sequence = parse_cursor(value),
            "MESSAGE_ID" => self.message_id = id(value).unwrap_or_default(),
            "MESSAGE" => self.message = shorten(value, LONGEST_MESSAGE),
            "UNIT" => self.unit = shorten(value, LONGEST_NAME),
            "_TRANSPORT" => self.transport = shorten(value, LONGEST_NAME),
            "_PID" => self.process = number().and_then(|id| u32::try_from(id).ok()),
            "JOB_RESULT" => self.job_result = shorten(value, LONGEST_NAME),
            "KERNEL_USEC" => self.kernel_us = number(),
            "INITRD_USEC" => self.initrd_us = number(),
            "USERSPACE_USEC" => self.userspace_us = number(),
            _ => {}
        }
    }

    /// The entry, if it has a boot and a time.
    fn if_complete(self) -> Option<Self> {
        (!self.boot.is_empty() && self.monotonic_us != u64::MAX).then_some(self)
    }
}

/// Sequence and number of a cursor: `s=COUNT;i=NUMBER;b=...`, both hexadecimal.
fn parse_cursor(cursor: &str) -> Option<(String, u64)> {
    let part = |name: &str| cursor.split(';').find_map(|part| part.strip_prefix(name));
    let count = id(part("s=")?)?;
    Some((count, u64::from_str_radix(part("i=")?, 16).ok()?))
}

/// The beginning of an untrusted text: at most `most_bytes`, with spaces for control characters.
fn shorten(text: &str, most_bytes: usize) -> String {
    let mut end = text.len().min(most_bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let visible = |sign: char| if assay_core::outside::is_unseen(sign) { ' ' } else { sign };
    text[..end].chars().map(visible).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LINE: &str = r#"{"__CURSOR":"s=36fa8cb716fb4b9983b4f2ee5b3cb530;i=33;b=2f;m=3a;t=66;x=a9",
        "__REALTIME_TIMESTAMP":"1795413826420751","__MONOTONIC_TIMESTAMP":"983422688",
        "_BOOT_ID":"2ffeb2f856554cfebf059ec5b4071896","_PID":"1","USERSPACE_USEC":"295018",
        "MESSAGE_ID":"eed00a68ffd84e31882105fd973abdd1","MESSAGE":[83,116,97,114,116,255]}"#;

    fn line() -> String {
        LINE.replace('\n', " ")
    }

    #[test]
    fn an_entry_is_read_as_journalctl_writes_it() {
        let read = json(line().as_bytes());
        assert_eq!((read.entries.len(), read.faults), (1, 0));
        let entry = &read.entries[0];
        assert_eq!(entry.boot, "2ffeb2f856554cfebf059ec5b4071896");
        assert_eq!((entry.monotonic_us, entry.userspace_us), (983_422_688, Some(295_018)));
        assert_eq!(entry.sequence, Some(("36fa8cb716fb4b9983b4f2ee5b3cb530".to_owned(), 0x33)));
        assert_eq!(entry.message, "Start\u{fffd}", "bytes that are no text");
    }

    #[test]
    fn the_export_format_has_the_same_and_fields_of_any_bytes() {
        let mut bytes =
            b"__MONOTONIC_TIMESTAMP=7\n_BOOT_ID=2ffeb2f856554cfebf059ec5b4071896\n".to_vec();
        bytes.extend(b"MESSAGE\n\x03\0\0\0\0\0\0\0a\nb\nUNIT=one.service\n\n");
        bytes.extend(b"__MONOTONIC_TIMESTAMP=8\n_BOOT_ID=2ffeb2f856554cfebf059ec5b4071896\n\n");
        let read = export(&bytes);
        assert_eq!((read.entries.len(), read.faults), (2, 0));
        assert_eq!(
            (read.entries[0].message.as_str(), read.entries[0].unit.as_str()),
            ("a b", "one.service")
        );
        assert_eq!(read.entries[1].monotonic_us, 8);
        // Truncated within a field: the first entry is complete, the other is counted as a fault.
        let cut = export(&bytes[..bytes.len() - 9]);
        assert_eq!((cut.entries.len(), cut.faults), (1, 1));
    }

    #[test]
    fn what_is_no_entry_is_counted() {
        let text = format!("{}\nnot json\n{{}}\n[1]\n{}\n", line(), "[".repeat(2000));
        let read = json(text.as_bytes());
        assert_eq!((read.entries.len(), read.faults), (1, 4));
        assert_eq!(export(b"no equals sign\n\n").faults, 1);
        assert_eq!(super::read(b"  \n\n"), ReadEntries::default());
    }

    proptest! {
        #[test]
        fn no_text_ends_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = json(&bytes);
            let _ = export(&bytes);
        }

        /// A valid text with changed bytes: every returned entry has its boot and its time.
        #[test]
        fn no_damage_ends_the_reader(changes in proptest::collection::vec((0_usize..700, any::<u8>()), 0..20)) {
            let mut bytes = line().repeat(2).into_bytes();
            bytes.extend(b"\n\n__MONOTONIC_TIMESTAMP=7\n_BOOT_ID=2ffeb2f856554cfebf059ec5b4071896\nMESSAGE\n\x03\0\0\0\0\0\0\0a\nb\n\n");
            for (at, to) in changes {
                let at = at % bytes.len();
                bytes[at] = to;
            }
            for read in [json(&bytes), export(&bytes)] {
                for entry in read.entries {
                    prop_assert_eq!(entry.boot.len(), 32);
                }
            }
        }
    }

    #[test]
    fn each_field_is_kept_under_its_name() {
        let boot = "2ffeb2f856554cfebf059ec5b4071896";
        let fields = [
            ("_BOOT_ID", "2FFEB2F8-5655-4cfe-bf05-9ec5b4071896"),
            ("_MACHINE_ID", boot),
            ("__MONOTONIC_TIMESTAMP", "5"),
            ("__REALTIME_TIMESTAMP", "6"),
            ("MESSAGE_ID", boot),
            ("MESSAGE", "m"),
            ("UNIT", "u"),
            ("_TRANSPORT", "t"),
            ("_PID", "7"),
            ("JOB_RESULT", "j"),
            ("KERNEL_USEC", "8"),
            ("INITRD_USEC", "9"),
            ("USERSPACE_USEC", "10"),
            ("OTHER", "x"),
        ];
        let text = fields.map(|(name, value)| format!("{name}={value}\n")).concat();
        let found = super::read(format!("{text}\n").as_bytes());
        let wanted = Entry {
            boot: boot.to_owned(),
            monotonic_us: 5,
            wall_us: Some(6),
            sequence: None,
            machine: boot.to_owned(),
            message_id: boot.to_owned(),
            message: "m".to_owned(),
            unit: "u".to_owned(),
            transport: "t".to_owned(),
            process: Some(7),
            job_result: "j".to_owned(),
            kernel_us: Some(8),
            initrd_us: Some(9),
            userspace_us: Some(10),
        };
        assert_eq!((found.entries, found.faults), (vec![wanted], 0));
        // Without a boot the entry is invalid; without a time it counts as logged at the start.
        for left_out in ["_BOOT_ID", "__MONOTONIC"] {
            let lines = text.split_inclusive('\n').filter(|line| !line.starts_with(left_out));
            let lines: String = lines.collect();
            let faults = super::read(format!("{lines}\n").as_bytes()).faults;
            assert_eq!(faults, usize::from(left_out == "_BOOT_ID"), "{left_out}");
        }
        let untimed = text.replace("TIMESTAMP=5", "TIMESTAMP=soon");
        assert_eq!(super::read(format!("{untimed}\n").as_bytes()).faults, 1);
    }

    #[test]
    fn long_texts_are_kept_in_part_and_long_entries_not_at_all() {
        let most = |text: &str, most: usize| shorten(text, most).len();
        assert_eq!([most("abc", 2), most("abc", 3), most("abc", 4)], [2, 3, 3]);
        assert_eq!(shorten("a\u{e4}", 2), "a", "no half of a letter");
        let line = line();
        let padded = |length: usize| format!("{}{line}", " ".repeat(length - line.len()));
        assert_eq!(
            json(padded(line.len() + 9).as_bytes()).entries.len(),
            1,
            "around it is nothing"
        );
        let long = |length: usize| {
            let text =
                line.replace("\"_PID\"", &format!("\"X\":\"{}\",\"_PID\"", "x".repeat(length)));
            let bytes = text.len();
            (json(text.as_bytes()).entries.len(), bytes)
        };
        let (_, around) = long(0);
        assert_eq!(long(LONGEST_ENTRY - around), (1, LONGEST_ENTRY));
        assert_eq!(long(LONGEST_ENTRY - around + 1).0, 0);
    }

    #[test]
    fn values_that_stand_twice_and_lists_of_no_bytes() {
        let of = |value: &str| {
            let text = line().replace("[83,116,97,114,116,255]", value);
            json(text.as_bytes()).entries[0].message.clone()
        };
        assert_eq!(of("[\"one\",\"two\"]"), "one");
        assert_eq!(of("[83,256]"), "", "256 is no byte");
        assert_eq!([of("null"), of("[]"), of("7")], [""; 3].map(str::to_owned));
    }
}
