//! A job file of fio as a study: what the engine can do is translated, each key that it cannot do is
//! named with its line, and nothing of it is ever executed.

mod keys;

pub use keys::{CORE, ONLY_TOLD, SAME};

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::failure::{Failure, Outcome};
use crate::quantity::{Bytes, Time};

use super::{FORMAT, SMALLEST_AREA_BYTES};

/// The area where a job is to go over a whole device.
const AREA_BYTES: u64 = 1 << 30;

/// What a job file comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated {
    /// The study file.
    pub study: String,
    /// What is done otherwise than fio would, one sentence each.
    pub remarks: Vec<String>,
}

/// One setting with its line.
#[derive(Clone, Debug)]
struct Setting {
    value: String,
    line: usize,
    /// The key as it is written there.
    written: String,
}

type Settings = BTreeMap<String, Setting>;

/// One job with the settings of the global section.
#[derive(Debug)]
struct Job {
    name: String,
    line: usize,
    settings: Settings,
    /// It waits for those before it.
    alone: bool,
}

/// What a job does, in our words.
struct Work {
    name: String,
    pattern: &'static str,
    mix: String,
    size: u64,
    depth: u64,
    threads: u64,
    direct: bool,
    engine: &'static str,
    each_write: bool,
    time: Option<u64>,
    ramp: u64,
    operations: Option<u64>,
    area: u64,
    place: String,
}

/// Everything that is to be told, each thing once.
#[derive(Default)]
struct Told {
    refused: Vec<(usize, String)>,
    remarks: Vec<String>,
}

impl Told {
    fn refuse(&mut self, line: usize, text: impl Into<String>) {
        let entry = (line, text.into());
        if !self.refused.contains(&entry) {
            self.refused.push(entry);
        }
    }

    fn remark(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }
}

/// The study of a job file; messages call it by the name.
///
/// # Errors
/// Everything of it that cannot be done, each with its line and what it would have meant.
pub fn translate(name: &str, text: &str) -> Outcome<Translated> {
    let mut told = Told::default();
    let jobs = jobs(text, &mut told);
    if jobs.is_empty() && told.refused.is_empty() {
        told.refuse(1, "there is no job in it: a job is a section of its own, such as [read]");
    }
    let groups = groups(&jobs, &mut told);
    let works: Vec<Vec<Work>> = groups
        .into_iter()
        .map(|group| group.into_iter().map(|job| work(job, &mut told)).collect())
        .collect();
    one_place(&jobs, &works, &mut told);
    if told.refused.is_empty() {
        let study = study(name, &works, &mut told);
        return Ok(Translated { study, remarks: told.remarks });
    }
    told.refused.sort();
    let lines: Vec<String> =
        told.refused.iter().map(|(line, text)| format!("{name}:{line}:1: {text}")).collect();
    Err(Failure::mistake(lines.join("\n")))
}

/// Jobs with their settings; unknown and impossible keys are told.
fn jobs(text: &str, told: &mut Told) -> Vec<Job> {
    let mut global = Settings::new();
    let mut jobs: Vec<Job> = Vec::new();
    let mut in_global = false;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, whole) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
        if whole.is_empty() || whole.starts_with(['#', ';']) {
            continue;
        }
        if let Some(inner) = whole.strip_prefix('[') {
            let Some((name, _)) = inner.split_once(']') else {
                told.refuse(line, "a section has no closing bracket");
                continue;
            };
            in_global = name == "global";
            if !in_global {
                let (name, settings) = (name.to_owned(), global.clone());
                jobs.push(Job { name, line, settings, alone: false });
            }
            continue;
        }
        if whole.split_whitespace().next() == Some("include") {
            told.refuse(
                line,
                "include: another file would be read here; put its lines in this one",
            );
            continue;
        }
        let (key, value) = whole.split_once('=').unwrap_or((whole, ""));
        let (key, value) = (key.trim().to_lowercase(), value.trim());
        if value.contains("${") || value.contains("$(") || value.contains('`') {
            let what = "a variable of the shell's surroundings stands here; write its value";
            told.refuse(line, format!("{key}: {what}"));
            continue;
        }
        let setting = Setting { value: value.to_owned(), line, written: key.clone() };
        let key = keys::usual(&key);
        let job = if in_global { None } else { jobs.last_mut() };
        match (job, in_global) {
            (Some(job), _) if keys::WAITS.contains(&key) => job.alone = value != "0",
            (Some(job), _) => drop(job.settings.insert(key.to_owned(), setting)),
            // In the global section it is of each job.
            (None, true) => drop(global.insert(key.to_owned(), setting)),
            (None, false) => told.refuse(line, format!("{key}: no section stands above it")),
        }
    }
    for job in &mut jobs {
        for wait in keys::WAITS {
            if let Some(setting) = job.settings.remove(wait) {
                job.alone |= setting.value != "0";
            }
        }
        check_keys(&job.settings, told);
    }
    jobs
}

fn check_keys(settings: &Settings, told: &mut Told) {
    for (key, setting) in settings {
        if keys::CORE.contains(&key.as_str()) || keys::SAME.contains(&key.as_str()) {
            continue;
        }
        if keys::is_usual(key, &setting.value) {
            continue;
        }
        if keys::ONLY_TOLD.contains(&key.as_str()) {
            told.remark(format!("{key} only says how fio reports, and is passed over"));
            continue;
        }
        let meaning = keys::MEANINGS.iter().find(|(name, _)| *name == key.as_str());
        let meaning = meaning.map_or("a key that is not known here", |(_, meaning)| meaning);
        let written = &setting.written;
        told.refuse(setting.line, format!("{written}: {meaning}; this cannot be done here"));
    }
}

/// Jobs that run at once. Two are a load and what is measured beside it; more are refused.
fn groups<'j>(jobs: &'j [Job], told: &mut Told) -> Vec<Vec<&'j Job>> {
    let mut groups: Vec<Vec<&Job>> = Vec::new();
    for job in jobs {
        match groups.last_mut() {
            Some(group) if !job.alone => group.push(job),
            _ => groups.push(vec![job]),
        }
    }
    for group in &groups {
        if let [first, second, third, ..] = group.as_slice() {
            told.refuse(
                third.line,
                format!(
                    "[{}]: it would run at once with [{}] and [{}]; at most two jobs can: one is \
                     measured, the other one is the load beside it. Write stonewall where jobs are \
                     to run one after the other",
                    third.name, first.name, second.name
                ),
            );
        }
    }
    groups
}

fn work(job: &Job, told: &mut Told) -> Work {
    let text = |key: &str| job.settings.get(key).map(|setting| setting.value.as_str());
    let (pattern, mix) = direction(job, told);
    let writes = mix != "read";
    let size = amount(job, "bs", told).unwrap_or(4096).max(1);
    let engine = engine(job, told);
    let mut depth = number(job, "iodepth", told).unwrap_or(1).max(1);
    if engine == "psync" && depth > 1 {
        told.remark(format!(
            "[{}]: with ioengine={} fio keeps one operation in flight whatever iodepth says; so \
             does this study",
            job.name,
            text("ioengine").unwrap_or("psync")
        ));
        depth = 1;
    }
    let threads = number(job, "numjobs", told).unwrap_or(1).max(1);
    let buffered = text("buffered").map(|value| value == "0");
    let direct = text("direct").map(|value| value != "0").or(buffered).unwrap_or(false);
    let time = duration(job, "runtime", told);
    let time_based = text("time_based").is_some_and(|value| value != "0");
    let span = amount(job, "size", told).or_else(|| amount(job, "filesize", told));
    let bytes = amount(job, "io_size", told).or(span);
    let operations = bytes
        .filter(|_| !time_based || time.is_none())
        .map(|bytes| (bytes / size).max(1).saturating_mul(threads));
    let (place, own_files) = place(job, writes, told);
    if span.is_none() {
        unsized_area(job, place.starts_with("device"), time.is_some(), told);
    }
    let files = if own_files { threads } else { 1 };
    let area = span.unwrap_or(AREA_BYTES).saturating_mul(files);
    tell_differences(job, pattern, threads, own_files, told);
    let each_write = number(job, "fdatasync", told).unwrap_or(0);
    if each_write > 1 {
        let line = job.settings.get("fdatasync").map_or(job.line, |setting| setting.line);
        told.refuse(line, "fdatasync: only after each write (1) or not at all; it cannot be done");
    }
    Work {
        name: plain_name(&job.name),
        pattern,
        mix,
        size,
        depth,
        threads,
        direct,
        engine,
        each_write: each_write == 1 && writes,
        time,
        ramp: duration(job, "ramp_time", told).unwrap_or(0),
        operations,
        area,
        place,
    }
}

/// Without a size fio takes a whole device, and no file.
fn unsized_area(job: &Job, is_device: bool, is_timed: bool, told: &mut Told) {
    match (is_device, is_timed) {
        (true, true) => told.remark(format!(
            "[{}]: no size is said, so fio would go over the whole device; the area is {}, and size= \
             makes it larger",
            job.name,
            Bytes(AREA_BYTES)
        )),
        (true, false) => told.refuse(
            job.line,
            format!(
                "[{}]: neither size nor runtime is said, so fio would go over the whole device \
                 once; say one of them",
                job.name
            ),
        ),
        (false, _) => told.refuse(
            job.line,
            format!("[{}]: size is not said, and without it fio makes no file; say it", job.name),
        ),
    }
}

fn tell_differences(job: &Job, pattern: &str, threads: u64, own_files: bool, told: &mut Told) {
    if pattern == "random" && !job.settings.contains_key("norandommap") {
        told.remark(
            "fio visits each block once before it returns to one; here offsets are drawn anew each \
             time, as with norandommap",
        );
    }
    let mixed = job.settings.get("rw").is_some_and(|rw| ["rw", "readwrite"].contains(&&*rw.value));
    if mixed {
        told.remark(format!(
            "[{}]: in fio reads and writes have a sequence of offsets each; here they share one",
            job.name
        ));
    }
    if threads > 1 && pattern == "sequential" {
        let fio = if own_files { "a file of its own" } else { "the same offsets" };
        told.remark(format!(
            "[{}]: fio gives each of the {threads} jobs {fio}; here each has a slice of the area",
            job.name
        ));
    }
}

/// Pattern and mix.
fn direction(job: &Job, told: &mut Told) -> (&'static str, String) {
    let setting = job.settings.get("rw");
    let word = setting.map_or("read", |setting| setting.value.as_str());
    let (read, write) = (percent(job, "rwmixread", told), percent(job, "rwmixwrite", told));
    let share = || match read.or(write.map(|write| 100 - write)).unwrap_or(50) {
        0 => "write".to_owned(),
        100 => "read".to_owned(),
        read => format!("{read}/{}", 100 - read),
    };
    match word {
        "read" => ("sequential", "read".to_owned()),
        "write" => ("sequential", "write".to_owned()),
        "randread" => ("random", "read".to_owned()),
        "randwrite" => ("random", "write".to_owned()),
        "rw" | "readwrite" => ("sequential", share()),
        "randrw" => ("random", share()),
        other => {
            let line = setting.map_or(job.line, |setting| setting.line);
            told.refuse(
                line,
                format!(
                    "rw={other}: there are read, write, randread, randwrite, rw and randrw; trims, \
                     and steps behind a colon, cannot be done here"
                ),
            );
            ("sequential", "read".to_owned())
        }
    }
}

fn engine(job: &Job, told: &mut Told) -> &'static str {
    let setting = job.settings.get("ioengine");
    match setting.map_or("psync", |setting| setting.value.as_str()) {
        "psync" | "sync" | "pvsync" | "pvsync2" | "vsync" => "psync",
        "io_uring" => "io_uring",
        word @ ("libaio" | "posixaio") => {
            told.remark(format!("ioengine={word}: io_uring does the same work here"));
            "io_uring"
        }
        word => {
            let line = setting.map_or(job.line, |setting| setting.line);
            told.refuse(
                line,
                format!(
                    "ioengine={word}: another way to reach another kind of storage; there are \
                     psync and io_uring here"
                ),
            );
            "psync"
        }
    }
}

/// The target of a job, and whether each of its threads would have a file of its own.
fn place(job: &Job, writes: bool, told: &mut Told) -> (String, bool) {
    let directory = job.settings.get("directory");
    let Some(file) = job.settings.get("filename") else {
        let place = directory.map_or(".", |setting| setting.value.as_str());
        return (format!("directory = {}", quoted(place)), true);
    };
    let name = file.value.as_str();
    if name.contains(':') {
        told.refuse(file.line, "filename: several files, in turn; name one place for a study");
    }
    if name.starts_with("/dev/") {
        if writes {
            told.remark(format!(
                "{name} would be overwritten: that takes --destroy ID, which assay plan names"
            ));
        }
        return (format!("device = {}", quoted(name)), false);
    }
    let own = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let root = if name.starts_with('/') { "/" } else { "." };
    let folder = match (directory, own) {
        (Some(directory), _) => directory.value.as_str(),
        (None, "") => root,
        (None, own) => own,
    };
    told.remark(format!(
        "{name} is left alone: Assay makes a file of its own in {folder} and removes it afterwards"
    ));
    (format!("directory = {}", quoted(folder)), false)
}

/// A study has one target.
fn one_place(jobs: &[Job], works: &[Vec<Work>], told: &mut Told) {
    let all: Vec<&Work> = works.iter().flatten().collect();
    let Some(first) = all.first() else { return };
    for (work, job) in all.iter().zip(jobs).skip(1) {
        if work.place != first.place {
            let line = job.settings.get("filename").or(job.settings.get("directory"));
            told.refuse(
                line.map_or(job.line, |setting| setting.line),
                format!(
                    "[{}]: its place is another one than that of [{}]; a study has one target: \
                     divide the file",
                    job.name, first.name
                ),
            );
        }
    }
}

fn study(name: &str, works: &[Vec<Work>], told: &mut Told) -> String {
    let all: Vec<&Work> = works.iter().flatten().collect();
    let asked = all.iter().map(|work| work.area).max().unwrap_or(SMALLEST_AREA_BYTES);
    let largest = all.iter().map(|work| work.size).max().unwrap_or(1);
    let area = asked.max(SMALLEST_AREA_BYTES).next_multiple_of(largest);
    if area != asked {
        told.remark(format!("the area is {}, where fio would use {}", Bytes(area), Bytes(asked)));
    }
    if all.iter().any(|work| work.area != asked) {
        told.remark("all jobs share one area, as large as that of the largest");
    }
    told.remark("fio runs each job once; a study runs each workload as often as replicates says");
    let last = name.rsplit('/').next().unwrap_or(name);
    let place = all.first().map_or("directory = \".\"", |work| work.place.as_str());
    let mut text = format!(
        "format     = \"{FORMAT}\"\ntitle      = {}\ntarget     = {{ {place} }}\n\
         area       = {{ size = \"{}\" }}\nreplicates = 3\n",
        quoted(last),
        Bytes(area)
    );
    let mut names: Vec<String> = Vec::new();
    for group in works {
        let Some(work) = group.first() else { continue };
        let mut name = work.name.clone();
        while names.contains(&name) {
            name.push_str("-again");
        }
        let _ = write!(text, "\n[[workload]]\nname = {}\nio = {{ {}", quoted(&name), words(work));
        if let Some(time) = work.time {
            let _ = write!(text, ", time = \"{}\"", Time(time));
        }
        if work.ramp > 0 {
            let _ = write!(text, ", ramp = \"{}\"", Time(work.ramp));
        }
        if let Some(operations) = work.operations {
            let _ = write!(text, ", operations = {operations}");
        }
        text.push_str(" }\n");
        if let Some(beside) = group.get(1) {
            let _ = writeln!(text, "background = {{ {} }}", words(beside));
            told.remark(format!(
                "[{}] runs at once with [{}]: it is the load beside it, as long as that lasts, and \
                 what it reaches is not told",
                beside.name, work.name
            ));
        }
        names.push(name);
    }
    text
}

/// What a job and a load beside it have in common.
fn words(work: &Work) -> String {
    let mut text = format!(
        "pattern = \"{}\", mix = \"{}\", size = \"{}\", depth = {}, threads = {}, direct = {}, \
         engine = \"{}\"",
        work.pattern,
        work.mix,
        Bytes(work.size),
        work.depth,
        work.threads,
        work.direct,
        work.engine
    );
    if work.each_write {
        text.push_str(", sync = \"each-write\"");
    }
    text
}

fn number(job: &Job, key: &str, told: &mut Told) -> Option<u64> {
    let setting = job.settings.get(key)?;
    // A flag alone means yes.
    let value = if setting.value.is_empty() { "1" } else { setting.value.as_str() };
    let found = value.parse::<u64>().ok();
    if found.is_none() {
        told.refuse(setting.line, format!("{key}={value}: this is no whole number"));
    }
    found
}

/// A share in percent.
fn percent(job: &Job, key: &str, told: &mut Told) -> Option<u64> {
    let share = number(job, key, told)?;
    let line = job.settings.get(key).map_or(job.line, |setting| setting.line);
    if share > 100 {
        told.refuse(line, format!("{key}={share}: this is more than 100 per cent"));
    }
    Some(share.min(100))
}

/// Bytes as fio writes them: `4k`, `1m`, `2gb`.
fn amount(job: &Job, key: &str, told: &mut Told) -> Option<u64> {
    let setting = job.settings.get(key)?;
    let found = bytes(&setting.value);
    if found.is_none() {
        told.refuse(
            setting.line,
            format!(
                "{key}={}: one amount of bytes can be done here, such as 4k or 1g; no ranges, lists \
                 or shares",
                setting.value
            ),
        );
    }
    found
}

fn bytes(text: &str) -> Option<u64> {
    let lower = text.to_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let power = match unit.chars().next() {
        None | Some('b') => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some(_) => return None,
    };
    // As long as nobody says kb_base=1000, fio has these the other way round: kib is 1000.
    let base = match unit.get(1..).unwrap_or_default() {
        "" | "b" | "i" => 1024_u64,
        "ib" => 1000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(base.pow(power)).filter(|bytes| *bytes > 0)
}

/// A time in ns; a number alone is seconds.
fn duration(job: &Job, key: &str, told: &mut Told) -> Option<u64> {
    let setting = job.settings.get(key)?;
    let found = ns(&setting.value);
    if found.is_none() {
        told.refuse(setting.line, format!("{key}={}: this is no time", setting.value));
    }
    found.filter(|ns| *ns > 0)
}

fn ns(text: &str) -> Option<u64> {
    let text = text.to_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "" | "s" | "sec" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// A name as studies have them: small letters, digits, and hyphens between them.
fn plain_name(name: &str) -> String {
    let letters: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let parts: Vec<&str> = letters.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "job".to_owned() } else { parts.join("-").to_lowercase() }
}

/// A text as study files have it: escapes of JSON are escapes of TOML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
