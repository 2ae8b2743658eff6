//! A job file of fio as a study: what the engine can do is translated, each key that it cannot do is
//! named with its line, and nothing of it is ever executed.

mod keys;
mod together;

pub use keys::{CORE, ONLY_TOLD, SAME};

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_base::failure::{Failure, Outcome};
use assay_base::outside;
use assay_base::quantity::{Bytes, Time};

use super::{FORMAT, SMALLEST_AREA_BYTES};

/// What a job file comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated {
    /// The study file.
    pub study: String,
    /// What is done otherwise than fio would, one sentence each.
    pub remarks: Vec<String>,
}

/// How a job file is taken.
#[derive(Clone, Copy)]
pub struct Way<'a> {
    /// What cannot be done is left out, key by key and job by job, and told; else all of it is refused.
    pub partly: bool,
    /// The value of a variable that stands in it as `${NAME}`.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
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
    line: usize,
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
    /// As much as a study takes of the device, where nothing is said.
    area: Option<u64>,
    place: String,
}

/// Everything that is to be told, each thing once.
#[derive(Default)]
struct Told {
    refused: Vec<(usize, String)>,
    remarks: Vec<String>,
    /// Whether what is refused is left out.
    partly: bool,
}

impl Told {
    fn refuse(&mut self, line: usize, text: impl Into<String>) {
        let entry = (line, text.into());
        if !self.refused.contains(&entry) {
            self.refused.push(entry);
        }
    }

    /// A key that cannot be done: the end of it all, or left out.
    fn refuse_key(&mut self, line: usize, text: impl Into<String>) {
        if self.partly { self.leave_out(line, &text.into()) } else { self.refuse(line, text) }
    }

    fn leave_out(&mut self, line: usize, text: &str) {
        self.remark(format!("line {line} is left out: {text}"));
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
pub fn translate(name: &str, text: &str, way: Way<'_>) -> Outcome<Translated> {
    let mut told = Told { partly: way.partly, ..Told::default() };
    let jobs = jobs(text, way, &mut told);
    if jobs.is_empty() && told.refused.is_empty() {
        told.refuse(1, "there is no job in it: a job is a section of its own, such as [read]");
    }
    let mut first = None;
    let works: Vec<Vec<Work>> = groups(&jobs)
        .into_iter()
        .map(|group| at_once(group, &mut first, &mut told))
        .filter(|group| !group.is_empty())
        .collect();
    if works.is_empty() && told.refused.is_empty() {
        let why = told.remarks.iter().filter(|remark| remark.contains(" is left out"));
        let why: Vec<&str> = why.map(String::as_str).collect();
        told.refuse(1, format!("no job of it can be done here: {}", why.join("; ")));
    }
    if told.refused.is_empty() {
        let study = study(name, &works, &mut told);
        return Ok(Translated { study, remarks: told.remarks });
    }
    told.refused.sort();
    let lines: Vec<String> =
        told.refused.iter().map(|(line, text)| format!("{name}:{line}:1: {text}")).collect();
    Err(Failure::mistake(lines.join("\n")))
}

/// The works of jobs that run at once: two at most, a load and what is measured beside it. The place of the
/// first of all is that of the study.
fn at_once<'j>(
    group: Vec<&'j Job>,
    first: &mut Option<(&'j Job, String)>,
    told: &mut Told,
) -> Vec<Work> {
    let mut works = Vec::new();
    for job in group {
        // Of a job that is left out nothing else is told.
        let mut own = Told { partly: told.partly, ..Told::default() };
        let work = work(job, &mut own);
        if own.refused.is_empty() {
            match first {
                Some((of, place)) if *place != work.place => elsewhere(job, of, &mut own),
                Some(_) => {}
                None => *first = Some((job, work.place.clone())),
            }
        }
        if own.refused.is_empty() {
            own.remarks.into_iter().for_each(|remark| told.remark(remark));
            works.push(work);
            continue;
        }
        for (line, text) in own.refused {
            let text = if told.partly { format!("[{}]: {text}", job.name) } else { text };
            told.refuse_key(line, text);
        }
    }
    let mut works = together::joined(works, told);
    if works.len() > 2 {
        let (line, names) = (works[2].line, [0, 1, 2].map(|at| works[at].name.clone()));
        told.refuse_key(
            line,
            format!(
                "[{}]: it would run at once with [{}] and [{}], and does something else; at most \
                 two different works can: one is measured, the other one is the load beside it. Write \
                 stonewall where jobs are to run one after the other",
                names[2], names[0], names[1]
            ),
        );
        works.truncate(2);
    }
    works
}

/// Jobs with their settings; unknown and impossible keys are told.
fn jobs(text: &str, way: Way<'_>, told: &mut Told) -> Vec<Job> {
    let mut global = Settings::new();
    let mut jobs: Vec<Job> = Vec::new();
    let mut in_global = false;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, whole) in text.lines().enumerate().map(|(at, line)| (at + 1, uncommented(line))) {
        if whole.is_empty() {
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
            told.refuse_key(
                line,
                "include: another file would be read here; put its lines in this one",
            );
            continue;
        }
        let (key, value) = whole.split_once('=').unwrap_or((whole, ""));
        let (key, value) = (key.trim().to_lowercase(), value.trim());
        let value = match with_variables(value, way.variable) {
            Ok(value) => value,
            Err(why) => {
                let why = format!("{key}: {why}");
                // Without one of these a job is another one, and who asks can say what it is.
                if keys::CORE.contains(&keys::usual(&key)) {
                    told.refuse(line, why);
                } else {
                    told.refuse_key(line, why);
                }
                continue;
            }
        };
        let waits = value != "0";
        let setting = Setting { value, line, written: key.clone() };
        let key = keys::usual(&key);
        let job = if in_global { None } else { jobs.last_mut() };
        match (job, in_global) {
            (Some(job), _) if keys::WAITS.contains(&key) => job.alone = waits,
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

/// A line without its comment, which begins anywhere in it, as in fio.
fn uncommented(line: &str) -> &str {
    line.split(['#', ';']).next().unwrap_or_default().trim()
}

/// A value with the variables in it replaced by what they hold; nothing is ever executed.
fn with_variables(
    value: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    if value.contains("$(") || value.contains('`') {
        return Err("the output of a program stands here; write its value".to_owned());
    }
    let (mut out, mut rest) = (String::new(), value);
    while let Some((before, from)) = rest.split_once("${") {
        let Some((name, after)) = from.split_once('}') else {
            return Err("a variable has no closing brace".to_owned());
        };
        let held = variable(name).filter(|held| !held.chars().any(char::is_control));
        let Some(held) = held else {
            let name = outside::spelled(name);
            return Err(format!(
                "the variable {name} is not set here; set it ({name}=VALUE assay ...), or write its value"
            ));
        };
        out.push_str(before);
        out.push_str(&held);
        rest = after;
    }
    Ok(out + rest)
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
        told.refuse_key(setting.line, format!("{written}: {meaning}; this cannot be done here"));
    }
}

/// Jobs that run at once.
fn groups(jobs: &[Job]) -> Vec<Vec<&Job>> {
    let mut groups: Vec<Vec<&Job>> = Vec::new();
    for job in jobs {
        match groups.last_mut() {
            Some(group) if !job.alone => group.push(job),
            _ => groups.push(vec![job]),
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
        unsized_area(job, place.starts_with("device"), told);
    }
    let files = if own_files { threads } else { 1 };
    let area = span.map(|span| span.saturating_mul(files));
    tell_differences(job, pattern, threads, own_files, told);
    let each_write = number(job, "fdatasync", told).unwrap_or(0);
    if each_write > 1 {
        let line = job.settings.get("fdatasync").map_or(job.line, |setting| setting.line);
        told.refuse(line, "fdatasync: only after each write (1) or not at all; it cannot be done");
    }
    let mut ramp = duration(job, "ramp_time", told).unwrap_or(0);
    if ramp > 0 && operations.is_some() {
        let line = job.settings.get("ramp_time").map_or(job.line, |setting| setting.line);
        told.refuse_key(
            line,
            "ramp_time: where the bytes end a job, each of them counts here; say time_based with a \
             runtime, or leave it out",
        );
        ramp = 0;
    }
    Work {
        name: plain_name(&job.name),
        line: job.line,
        pattern,
        mix,
        size,
        depth,
        threads,
        direct,
        engine,
        each_write: each_write == 1 && writes,
        time,
        ramp,
        operations,
        area,
        place,
    }
}

/// Without a size fio takes a whole device, and no file.
fn unsized_area(job: &Job, is_device: bool, told: &mut Told) {
    if is_device {
        return told.remark(format!(
            "[{}]: no size is said, so fio would go over the whole device; the area is as large as a \
             study takes it of this device, and size= says another",
            job.name
        ));
    }
    if told.partly {
        return told.remark(format!(
            "[{}]: size is not said, and fio would take that of a file that is there; the area is as \
             large as a study takes it in this place",
            job.name
        ));
    }
    told.refuse(
        job.line,
        format!("[{}]: size is not said, and without it fio makes no file; say it", job.name),
    );
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
    let share = || mix_of(read.or(write.map(|write| 100 - write)).unwrap_or(50));
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

/// So many per cent read.
fn mix_of(read: u64) -> String {
    match read {
        0 => "write".to_owned(),
        100 => "read".to_owned(),
        read => format!("{read}/{}", 100 - read),
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
                "{name} would be overwritten: assay plan says what has to be typed for it"
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
fn elsewhere(job: &Job, first: &Job, told: &mut Told) {
    let line = job.settings.get("filename").or(job.settings.get("directory"));
    told.refuse(
        line.map_or(job.line, |setting| setting.line),
        format!(
            "[{}]: its place is another one than that of [{}]; a study has one target: divide the file",
            job.name, first.name
        ),
    );
}

fn study(name: &str, works: &[Vec<Work>], told: &mut Told) -> String {
    let all: Vec<&Work> = works.iter().flatten().collect();
    let area = area(&all, told);
    told.remark("fio runs each job once; a study runs each workload as often as replicates says");
    let last = name.rsplit('/').next().unwrap_or(name);
    let place = all.first().map_or("directory = \".\"", |work| work.place.as_str());
    let mut text = format!(
        "format     = \"{FORMAT}\"\ntitle      = {}\ntarget     = {{ {place} }}\n\
         {area}replicates = 3\n",
        quoted(last),
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

/// The line of the area, which all jobs share; none where it is what a study takes of the device.
fn area(all: &[&Work], told: &mut Told) -> String {
    let asked = all.iter().map(|work| work.area).max().flatten();
    if all.iter().any(|work| work.area != asked) {
        told.remark("all jobs share one area, as large as that of the largest");
    }
    // Who says none means the whole of it.
    let Some(asked) = asked.filter(|_| all.iter().all(|work| work.area.is_some())) else {
        return String::new();
    };
    let largest = all.iter().map(|work| work.size).max().unwrap_or(1);
    let area = asked.max(SMALLEST_AREA_BYTES).next_multiple_of(largest);
    if area != asked {
        told.remark(format!("the area is {}, where fio would use {}", Bytes(area), Bytes(asked)));
    }
    format!("area       = {{ size = \"{}\" }}\n", Bytes(area))
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
