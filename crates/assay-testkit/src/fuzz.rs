//! Readers of damaged texts: a plain mutation loop over valid inputs.
//!
//! Seed, reader name and number determine an input, so each can be reproduced.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Done;

pub const LONGEST: usize = 1 << 18;
/// Time limit per input; slower ones are findings. Far above the time of a short input on a busy machine.
pub const SLOW: Duration = Duration::from_secs(20);
pub const HANGS: Duration = Duration::from_secs(60);
const MOST_PANICS: usize = 10;
const MOST_CHANGES: u64 = 8;

type ReadInput = dyn Fn(&[u8]) -> bool + Send + Sync;

#[derive(Clone)]
pub struct Reader {
    pub name: String,
    pub reads: &'static str,
    pub seeds: Arc<dyn Fn() -> Vec<Vec<u8>> + Send + Sync>,
    /// Returns whether the reader accepts an input. It may refuse, and must not panic.
    pub read: Arc<ReadInput>,
}

impl Reader {
    pub fn new(
        name: impl Into<String>,
        reads: &'static str,
        seeds: impl Fn() -> Vec<Vec<u8>> + Send + Sync + 'static,
        read: impl Fn(&[u8]) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), reads, seeds: Arc::new(seeds), read: Arc::new(read) }
    }
}

#[derive(Clone, Debug)]
pub struct Finding {
    pub number: u64,
    pub what: String,
    pub input: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
pub struct Ran {
    pub executions: u64,
    pub accepted: u64,
    pub slowest: Duration,
    pub longest: usize,
    pub findings: Vec<Finding>,
}

/// The random numbers of an input (splitmix64).
struct Draw(u64);

impl Draw {
    fn new(seed: u64, name: &str, number: u64) -> Self {
        // FNV-1a of all three.
        let bytes = seed.to_le_bytes().into_iter().chain(name.bytes()).chain(number.to_le_bytes());
        let fold = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(bytes.fold(0xcbf2_9ce4_8422_2325, fold))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another; 0 below 0.
    fn below(&mut self, end: usize) -> usize {
        (self.next() % (end as u64).max(1)) as usize
    }

    fn part(&mut self, all: &'static str, between: char) -> &'static str {
        let count = all.split(between).count();
        all.split(between).nth(self.below(count)).unwrap_or_default()
    }
}

const NUMBERS: &str = "0 -0 -1 1 2 0.0 1e308 -1e308 1e309 5e-324 1e-400 127 128 255 65535 65536 2147483647 2147483648 \
     4294967295 4294967296 9223372036854775807 18446744073709551615 18446744073709551616 \
     99999999999999999999999";
const WORDS: &str = "NaN|inf|-inf|null|true|{}|[]|\"\"|\"|'|\\|\\u0000|\\ud800|\0|\u{1b}[2J|\u{202e}|\u{feff}|\r\n|\n|\n\n|,|;|\t|=|[[|]]|\
     ../../etc/passwd|\u{10ffff}";
const OPENINGS: &str = "[|{\"a\":|(|[[a.b]]\n|a.b.c.";

type Change = fn(&mut Draw, &mut Vec<u8>, &[Vec<u8>]);

const CHANGES: [Change; 14] = [
    flip_bits,
    set_a_byte,
    remove_a_range,
    repeat_a_range,
    truncate,
    splice,
    replace_a_number,
    replace_a_number,
    replace_a_word,
    insert_a_word,
    repeat_a_line,
    remove_a_line,
    swap_lines,
    nest,
];

pub fn input(reader: &Reader, seeds: &[Vec<u8>], seed: u64, number: u64) -> Vec<u8> {
    let mut draw = Draw::new(seed, &reader.name, number);
    let mut bytes = seeds.get(draw.below(seeds.len())).cloned().unwrap_or_default();
    for _ in 0..=draw.next() % MOST_CHANGES {
        if let Some(change) = CHANGES.get(draw.below(CHANGES.len())) {
            change(&mut draw, &mut bytes, seeds);
        }
        bytes.truncate(LONGEST);
    }
    bytes
}

#[expect(clippy::ptr_arg, reason = "one of a table of functions")]
fn flip_bits(draw: &mut Draw, bytes: &mut Vec<u8>, _: &[Vec<u8>]) {
    for _ in 0..=draw.below(4) {
        let at = draw.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= 1 << draw.below(8);
        }
    }
}

#[expect(clippy::ptr_arg, reason = "one of a table of functions")]
fn set_a_byte(draw: &mut Draw, bytes: &mut Vec<u8>, _: &[Vec<u8>]) {
    let (at, value) = (draw.below(bytes.len()), draw.next() as u8);
    if let Some(byte) = bytes.get_mut(at) {
        *byte = value;
    }
}

fn range(draw: &mut Draw, length: usize, most: usize) -> std::ops::Range<usize> {
    let start = draw.below(length);
    let end = start.saturating_add(1 + draw.below(most)).min(length);
    start..end
}

fn remove_a_range(draw: &mut Draw, bytes: &mut Vec<u8>, _: &[Vec<u8>]) {
    let most = if draw.below(4) == 0 { bytes.len() } else { 16 };
    let range = range(draw, bytes.len(), most);
    bytes.drain(range);
}

fn repeat_a_range(draw: &mut Draw, bytes: &mut Vec<u8>, _: &[Vec<u8>]) {
    let range = range(draw, bytes.len(), 64);
    let times = [2, 3, 100, 5000][draw.below(4)];
    let again = bytes.get(range.clone()).unwrap_or_default().repeat(times);
    bytes.splice(range.start..range.start, again.into_iter().take(LONGEST));
}

fn truncate(draw: &mut Draw, bytes: &mut Vec<u8>, _: &[Vec<u8>]) {
    let end = draw.below(bytes.len());
    bytes.truncate(end);
}

fn splice(draw: &mut Draw, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
    let Some(other) = seeds.get(draw.below(seeds.len())) else { return };
    let (end, start) = (draw.below(bytes.len()), draw.below(other.len()));
    bytes.truncate(end);
    bytes.extend(other.get(start..).unwrap_or_default());
}

fn runs(bytes: &[u8], is_it: fn(u8) -> bool) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| is_it(**byte)) {
        match found.last_mut() {
            Some(last) if last.end == at => last.end = at + 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

fn replace_a_run(draw: &mut Draw, bytes: &mut Vec<u8>, is_it: fn(u8) -> bool, by: &[u8]) {
    let runs = runs(bytes, is_it);
    if let Some(run) = runs.get(draw.below(runs.len())) {
        bytes.splice(run.clone(), by.iter().copied());
    }
}

fn replace_a_number(draw: &mut Draw, bytes: &mut Vec<u8>, _: &[Vec<u8>]) {
    let by = draw.part(NUMBERS, ' ').as_bytes();
    replace_a_run(draw, bytes, |byte| byte.is_ascii_digit() || byte == b'.', by);
}

fn replace_a_word(draw: &mut Draw, bytes: &mut Vec<u8>, _: &[Vec<u8>]) {
    let is_of_a_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let by = if draw.below(2) == 0 {
        draw.part(WORDS, '|').as_bytes().to_vec()
    } else {
        let words = runs(bytes, is_of_a_word);
        let word = words.get(draw.below(words.len())).cloned().unwrap_or_default();
        bytes.get(word).unwrap_or_default().to_vec()
    };
    replace_a_run(draw, bytes, is_of_a_word, &by);
}

fn insert_a_word(draw: &mut Draw, bytes: &mut Vec<u8>, _: &[Vec<u8>]) {
    let (at, word) = (draw.below(bytes.len() + 1), draw.part(WORDS, '|'));
    bytes.splice(at..at, word.bytes());
}

fn lines(bytes: &mut Vec<u8>, change: impl FnOnce(&mut Vec<&[u8]>)) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    change(&mut lines);
    *bytes = lines.concat();
}

fn repeat_a_line(draw: &mut Draw, bytes: &mut Vec<u8>, _: &[Vec<u8>]) {
    let times = [1, 2, 50, 1000][draw.below(4)];
    lines(bytes, |lines| {
        let at = draw.below(lines.len());
        if let Some(line) = lines.get(at).copied().filter(|line| line.len() * times <= LONGEST) {
            lines.splice(at..at, std::iter::repeat_n(line, times));
        }
    });
}

fn remove_a_line(draw: &mut Draw, bytes: &mut Vec<u8>, _: &[Vec<u8>]) {
    lines(bytes, |lines| {
        let at = draw.below(lines.len());
        lines.drain(at..lines.len().min(at + 1));
    });
}

fn swap_lines(draw: &mut Draw, bytes: &mut Vec<u8>, _: &[Vec<u8>]) {
    lines(bytes, |lines| {
        let (one, other) = (draw.below(lines.len()), draw.below(lines.len()));
        if one < lines.len() && other < lines.len() {
            lines.swap(one, other);
        }
    });
}

fn nest(draw: &mut Draw, bytes: &mut Vec<u8>, _: &[Vec<u8>]) {
    let opening = draw.part(OPENINGS, '|');
    let times = [10, 130, 3000, 20_000][draw.below(4)];
    let at = draw.below(bytes.len() + 1);
    bytes.splice(at..at, opening.repeat(times).into_bytes());
}

/// Runs a reader on so many inputs in a thread; if the reader hangs, the caller must end the process.
pub fn run(reader: &Reader, count: u64, seed: u64) -> Done<Ran> {
    let (sender, receiver) = mpsc::channel();
    let own = reader.clone();
    let reading = thread::Builder::new()
        .name(format!("fuzz {}", reader.name))
        .spawn(move || all(&own, count, seed, &sender))
        .map_err(|error| error.to_string())?;
    let mut at = 0;
    loop {
        match receiver.recv_timeout(HANGS) {
            Ok(number) => at = number,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let name = &reader.name;
                return Err(format!("{name} hangs at an input from number {at} on, seed {seed}"));
            }
        }
    }
    reading.join().map_err(|_| format!("the loop over {} ended with a panic", reader.name))
}

fn all(reader: &Reader, count: u64, seed: u64, sender: &mpsc::Sender<u64>) -> Ran {
    let seeds = (reader.seeds)();
    let mut ran = Ran::default();
    for number in 0..count {
        // Nobody listens any more once the loop was given up.
        if sender.send(number).is_err() || ran.findings.len() >= MOST_PANICS {
            break;
        }
        let input = input(reader, &seeds, seed, number);
        let began = Instant::now();
        let read = panic::catch_unwind(AssertUnwindSafe(|| (reader.read)(&input)));
        let took = began.elapsed();
        ran.executions += 1;
        ran.accepted += u64::from(matches!(read, Ok(true)));
        ran.slowest = ran.slowest.max(took);
        ran.longest = ran.longest.max(input.len());
        let what = match read {
            Err(panic) => Some(format!("it panics: {}", said(&*panic))),
            Ok(_) if took > SLOW => Some(format!("it takes {:.1} s", took.as_secs_f64())),
            Ok(_) => None,
        };
        ran.findings.extend(what.map(|what| Finding { number, what, input }));
    }
    ran
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    fn reader(name: &str) -> Reader {
        let seeds = || vec![b"one,1\ntwo,2\n".to_vec(), b"three,3\n".to_vec(), Vec::new()];
        Reader::new(name, "", seeds, |bytes: &[u8]| {
            assert!(!bytes.starts_with(b"two"), "two is first");
            bytes.starts_with(b"one")
        })
    }

    #[test]
    fn an_input_follows_from_seed_name_and_number() {
        let lines = reader("lines");
        let seeds = (lines.seeds)();
        let inputs: Vec<_> = (0..500).map(|number| input(&lines, &seeds, 7, number)).collect();
        let again: Vec<_> = (0..500).map(|number| input(&lines, &seeds, 7, number)).collect();
        assert!(inputs == again && inputs.iter().all(|input| input.len() <= LONGEST));
        let other = reader("other");
        assert!((0..20).any(|number| input(&other, &seeds, 7, number) != inputs[number as usize]));
        let distinct: std::collections::BTreeSet<_> = inputs.iter().collect();
        assert!(distinct.len() > 250, "{}", distinct.len());
    }

    #[test]
    fn what_panics_is_kept_with_its_input() {
        let lines = reader("lines");
        let ran = run(&lines, 2_000, 7).unwrap();
        assert!(ran.accepted > 0 && !ran.findings.is_empty());
        for found in ran.findings {
            assert!(found.input.starts_with(b"two") && found.what.contains("two is first"));
            assert_eq!(input(&lines, &(lines.seeds)(), 7, found.number), found.input);
        }
    }
}
