//! Signatures for `wipefs` and `blkid`, as text at the start of a device: `TYPE USAGE UUID LABEL`, or `-`.

use super::super::signatures::PROGRAMS;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use serde_json::json;

use super::Fake;
use crate::system::{DeviceNumber, ProgramOutput};

const HEAD: &str = "marks of a fake device\n";
/// Maximum size of a device's signatures, bytes.
const MOST: usize = 1024;

impl Fake {
    /// Makes both programs recognise something at an offset of a device: lines of `TYPE USAGE UUID LABEL`.
    pub fn put_marks(&self, number: DeviceNumber, offset: u64, lines: &str) -> io::Result<()> {
        self.put_content(number, offset, format!("{HEAD}{lines}\0").as_bytes())
    }
}

/// Result of `wipefs` or `blkid` on an open device; `None` for other command lines.
pub(super) fn output_of(program: &str, words: &[&str], device: &File) -> Option<ProgramOutput> {
    if !PROGRAMS.contains(&program) {
        return None;
    }
    let value_of =
        |option: &str| words.get(words.iter().position(|word| *word == option)? + 1).copied();
    if words == ["-V"] {
        return Some(output(0, format!("{program} from util-linux 2.38.1\n")));
    }
    let start = value_of("-O").and_then(|start| start.parse().ok()).unwrap_or(0);
    let mut marks = marks_at(device, start);
    if program == "wipefs" {
        let rows = marks.iter().map(|mark| {
            let [name, usage, uuid, label] = mark.each_ref().map(|word| unless_dash(word));
            json!({"type": name, "usage": usage, "offset": "0x0", "uuid": uuid, "label": label})
        });
        return Some(output(0, json!({"signatures": rows.collect::<Vec<_>>()}).to_string()));
    }
    marks.retain(|mark| value_of("-n").is_none_or(|kind| kind == mark[0]));
    let (tables, others): (Vec<_>, Vec<_>) =
        marks.iter().partition(|mark| mark[1] == "partition-table");
    let text: String = tables.iter().chain(&others).map(|mark| export(mark)).collect();
    // As blkid: 2 if it recognizes nothing, 8 if more than one signature may be valid.
    Some(match others.len() {
        0 if text.is_empty() => output(2, text),
        0 | 1 => output(0, text),
        _ => output(8, String::new()),
    })
}

/// A mark as `blkid -o export` prints it.
fn export(mark: &[String; 4]) -> String {
    let [name, usage, uuid, label] = mark;
    let (kind, id) =
        if usage == "partition-table" { ("PTTYPE", "PTUUID") } else { ("TYPE", "UUID") };
    let mut lines = vec![format!("{kind}={name}\nUSAGE={usage}\n")];
    for (key, value) in [(id, uuid), ("LABEL", label)] {
        if let Some(value) = unless_dash(value) {
            lines.push(format!("{key}={}\n", value.replace(' ', "\\ ")));
        }
    }
    lines.concat()
}

/// Reads the marks at an offset of a device: lines of name, usage, UUID and label.
fn marks_at(device: &File, start: u64) -> Vec<[String; 4]> {
    let mut bytes = [0; MOST];
    let count = device.read_at(&mut bytes, start).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..count]);
    let lines = text.split('\0').next().and_then(|text| text.strip_prefix(HEAD));
    let mark = |line: &str| {
        let words: Vec<String> = line.splitn(4, ' ').map(str::to_owned).collect();
        <[String; 4]>::try_from(words).ok()
    };
    lines.unwrap_or_default().lines().filter_map(mark).collect()
}

fn unless_dash(word: &str) -> Option<&str> {
    Some(word).filter(|word| *word != "-")
}

fn output(code: i32, text: String) -> ProgramOutput {
    ProgramOutput { code: Some(code), text, complaint: String::new() }
}
