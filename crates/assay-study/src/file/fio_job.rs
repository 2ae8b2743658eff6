//! Translates a fio job file into a study. Unsupported keys are reported with their line.

mod keys;
mod operations;
mod paced;
mod places;
mod polled;
mod sections;
mod together;
mod values;

pub use keys::{ALWAYS_ACTIVE, REPORT_ONLY, TRANSLATED};

use std::collections::BTreeMap;
use std::fmt::Write as _;

use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::{Bytes, Time};
use assay_workloads::io::verify::SECTOR_BYTES;
use assay_workloads::io::{Size, WriteSync};

use super::{FORMAT, SMALLEST_AREA_BYTES};
use paced::Paced;
use values::{amount, duration, number, percent, plain_name, quoted};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated {
    pub study: String,
    pub remarks: Vec<String>,
}

#[derive(Clone, Copy)]
pub struct PortOptions<'a> {
    /// Skips unsupported keys and jobs with a remark; otherwise they are errors.
    pub partly: bool,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
}

#[derive(Clone, Debug)]
struct FioSetting {
    value: String,
    line: usize,
    written: String,
    unknown: Option<String>,
}

type Settings = BTreeMap<String, FioSetting>;

/// A job that trims, in words of fio and of a study.
const TRIM: &str = "trim";

#[derive(Debug)]
struct Job {
    name: String,
    line: usize,
    settings: Settings,
    /// Waits for the jobs before it.
    alone: bool,
}

struct FioWork {
    name: String,
    line: usize,
    pattern: &'static str,
    mix: String,
    size: Size,
    access: Option<String>,
    align: Option<u64>,
    /// Distance between block starts, for patterns with gaps.
    stride: Option<u64>,
    apart: bool,
    depth: u64,
    threads: u64,
    direct: bool,
    engine: &'static str,
    poll: Option<&'static str>,
    sync: WriteSync,
    content: Option<String>,
    /// Percent of the written data that is duplicated.
    duplicates: u64,
    verify: bool,
    time: Option<u64>,
    ramp: u64,
    operations: Option<u64>,
    paced: Paced,
    /// Bytes; `None` for the default area of a study.
    area: Option<u64>,
    place: String,
}

#[derive(Default)]
struct PortNotes {
    refused: Vec<(usize, String)>,
    remarks: Vec<String>,
    partly: bool,
}

impl PortNotes {
    fn refuse(&mut self, line: usize, text: impl Into<String>) {
        let entry = (line, text.into());
        if !self.refused.contains(&entry) {
            self.refused.push(entry);
        }
    }

    /// Handles an unsupported key: an error, or a remark if `partly`.
    fn refuse_key(&mut self, line: usize, text: impl Into<String>) {
        if self.partly {
            self.remark(format!("line {line} ignored: {}", text.into()));
        } else {
            self.refuse(line, text);
        }
    }

    fn refuse_job(&mut self, job: &Job, line: usize, text: String) {
        let text = if self.partly { format!("[{}]: {text}", job.name) } else { text };
        self.refuse_key(line, text);
    }

    fn remark(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.remarks.contains(&text) {
            self.remarks.push(text);
        }
    }
}

/// Translates a job file; `name` is used in messages. Fails with a line for each unsupported key.
pub fn translate(name: &str, text: &str, way: PortOptions<'_>) -> Outcome<Translated> {
    let mut notes = PortNotes { partly: way.partly, ..PortNotes::default() };
    let jobs = sections::jobs(text, way, &mut notes);
    if jobs.is_empty() && notes.refused.is_empty() {
        notes.refuse(1, "the file has no job; add a section such as [read]");
    }
    let mut first = None;
    let mut works: Vec<Vec<FioWork>> = Vec::new();
    for group in together::groups(&jobs, &mut notes) {
        works.push(translate_group(group, &mut first, &mut notes));
    }
    works.retain(|group| !group.is_empty());
    if works.is_empty() && notes.refused.is_empty() {
        // The remarks of `refuse_key` contain the reasons.
        let reasons = notes.remarks.iter().filter(|remark| remark.contains(" ignored: "));
        let reasons: Vec<&str> = reasons.map(String::as_str).collect();
        notes.refuse(1, format!("Assay does not support any of the jobs: {}", reasons.join("; ")));
    }
    if notes.refused.is_empty() {
        let study = write_study(name, &works, &mut notes);
        return Ok(Translated { study, remarks: notes.remarks });
    }
    notes.refused.sort();
    let lines: Vec<String> =
        notes.refused.iter().map(|(line, text)| format!("{name}:{line}:1: {text}")).collect();
    Err(Failure::mistake(lines.join("\n")))
}

/// Translates concurrent jobs: at most one and a background load. `first` is the file's first job, with its target.
fn translate_group<'j>(
    group: Vec<&'j Job>,
    first: &mut Option<(&'j Job, String)>,
    notes: &mut PortNotes,
) -> Vec<FioWork> {
    let mut works = Vec::new();
    for job in group {
        // A skipped job causes no further remarks.
        let mut new_notes = PortNotes { partly: notes.partly, ..PortNotes::default() };
        if let Some(work) = translate_job(job, first, &mut new_notes) {
            new_notes.remarks.into_iter().for_each(|remark| notes.remark(remark));
            works.push(work);
            continue;
        }
        for (line, text) in new_notes.refused {
            notes.refuse_job(job, line, text);
        }
    }
    let mut works = together::join_all(works, notes);
    if works.len() > 2 {
        let (line, names) = (works[2].line, [0, 1, 2].map(|at| works[at].name.clone()));
        notes.refuse_key(
            line,
            format!(
                "[{}]: would run concurrently with [{}] and [{}]; Assay runs at most two different jobs at once, one \
                 measured and one as background load; add stonewall to run jobs in sequence",
                names[2], names[0], names[1]
            ),
        );
        works.truncate(2);
    }
    works
}

/// Translates a job; `None` if it is refused, or if its target differs from that of the first job.
fn translate_job<'j>(
    job: &'j Job,
    first: &mut Option<(&'j Job, String)>,
    notes: &mut PortNotes,
) -> Option<FioWork> {
    for setting in job.settings.values() {
        if let Some(why) = &setting.unknown {
            notes.refuse(setting.line, why.clone());
        }
    }
    if !notes.refused.is_empty() {
        return None;
    }
    let work = translate_settings(job, notes);
    if notes.refused.is_empty() {
        match first {
            Some((first_job, place)) if *place != work.place => {
                refuse_other_target(job, first_job, notes);
            }
            Some(_) => {}
            None => *first = Some((job, work.place.clone())),
        }
    }
    notes.refused.is_empty().then_some(work)
}

/// Translates all settings of a job; adds what it cannot translate to `notes`.
fn translate_settings(job: &Job, notes: &mut PortNotes) -> FioWork {
    let text = |key: &str| job.settings.get(key).map(|setting| setting.value.as_str());
    let Direction { mut pattern, mix, gap } = direction(job, notes);
    let writes = mix != "read";
    let sized = places::sizes(job, read_percent(&mix), notes);
    let access = places::access(job, pattern, notes);
    let align = places::align(job, pattern, &sized, notes);
    let stride = gap.and_then(|gap| places::stride(job, gap, &sized, notes));
    if stride.is_some() {
        pattern = "stride";
    }
    let engine = translate_engine(job, notes);
    let mut depth = number(job, "iodepth", notes).unwrap_or(1).max(1);
    if engine == "psync" && depth > 1 {
        notes.remark(format!(
            "[{}]: with ioengine={}, fio ignores iodepth and keeps one operation in flight; this study also keeps one \
             operation in flight",
            job.name,
            text("ioengine").unwrap_or("psync")
        ));
        depth = 1;
    }
    let threads = number(job, "numjobs", notes).unwrap_or(1).max(1);
    let buffered = text("buffered").map(|value| value == "0");
    let direct = text("direct").map(|value| value != "0").or(buffered).unwrap_or(false);
    let time = duration(job, "runtime", notes);
    let (place, own_files) = translate_target(job, writes, notes);
    let is_device = place.starts_with("device");
    let covered = covered_bytes(job, is_device, notes);
    let bytes = amount(job, "io_size", notes).or(covered);
    let drops_cache = !direct && mix != "write";
    let round = Round { bytes, size: sized.mean, time, drops_cache };
    let operations = count_operations(job, round, notes).map(|count| count.saturating_mul(threads));
    if covered.is_none() {
        unsized_area(job, is_device, notes);
    }
    // Reads of a device find its existing data.
    let content = if writes || !is_device { content(job, notes) } else { None };
    let files = if own_files { threads } else { 1 };
    let area = covered.map(|bytes| bytes.saturating_mul(files));
    remark_on_differences(job, pattern, access.is_none(), threads, own_files, notes);
    let writes_data = writes && mix != TRIM;
    let sync = operations::sync(job, writes_data, notes);
    let is_plain = sync == WriteSync::None && !mix.contains(TRIM);
    let poll = polled::polled(job, direct, is_plain, notes);
    let is_fresh = writes_data && content.as_deref() != Some("100%");
    let duplicates = operations::duplicates(job, is_fresh, notes);
    let no_header = reason_without_headers(content.as_deref(), duplicates);
    let is_whole = is_on_sectors(sized.size.one(), [align, stride]);
    let verify = verify(job, writes_data, no_header, is_whole, notes);
    let paced = Paced::new(job, read_percent(&mix), time, depth, threads, notes);
    let mut ramp = duration(job, "ramp_time", notes).unwrap_or(0);
    if ramp > 0 && operations.is_some() {
        notes.refuse_key(
            line_of(job, "ramp_time"),
            "ramp_time: not supported in a job that ends by size; add time_based and runtime, or remove ramp_time",
        );
        ramp = 0;
    }
    FioWork {
        name: plain_name(&job.name),
        line: job.line,
        pattern,
        apart: pattern != "random" && mix.contains('/'),
        mix,
        size: sized.size,
        access,
        align,
        stride,
        depth,
        threads,
        direct,
        engine,
        poll,
        sync,
        content,
        duplicates,
        verify,
        time,
        ramp,
        operations,
        paced,
        area,
        place,
    }
}

/// Bytes that a job covers; `None` for a whole device.
fn covered_bytes(job: &Job, is_device: bool, notes: &mut PortNotes) -> Option<u64> {
    let is_whole = job.settings.get("size").is_some_and(|setting| setting.value == "100%");
    if is_device && is_whole {
        return None;
    }
    amount(job, "size", notes).or_else(|| amount(job, "filesize", notes))
}

/// What a thread does in one round of a job.
#[derive(Clone, Copy)]
struct Round {
    bytes: Option<u64>,
    /// Bytes of one operation, as a mean.
    size: u64,
    time: Option<u64>,
    drops_cache: bool,
}

/// Returns the operations after which a thread ends; `None` if only its time ends it.
fn count_operations(job: &Job, round: Round, notes: &mut PortNotes) -> Option<u64> {
    if round.time.is_some() && is_on(job, "time_based") {
        return None;
    }
    let rounds = count_rounds(job, round.drops_cache, notes);
    let limit = number(job, "number_ios", notes).filter(|count| *count > 0);
    let of_bytes = round.bytes.map(|bytes| (bytes / round.size).max(1));
    let per_round = of_bytes.into_iter().chain(limit).min();
    if per_round.is_none() && rounds > 1 {
        let text = "loops: the amount of I/O per loop is undefined; add size";
        notes.refuse_key(line_of(job, "loops"), text);
    }
    per_round.map(|operations| operations.saturating_mul(rounds))
}

/// Returns how often a job repeats its I/O (`loops`); 1 after a refusal.
fn count_rounds(job: &Job, drops_cache: bool, notes: &mut PortNotes) -> u64 {
    let rounds = number(job, "loops", notes).unwrap_or(1);
    let why = match rounds {
        0 => "loops: 0 never runs the job; remove loops",
        2.. if drops_cache => {
            "loops: fio drops the file from the page cache before each loop, which Assay does not support; use \
             direct=1, or remove loops"
        }
        _ => return rounds,
    };
    notes.refuse_key(line_of(job, "loops"), why);
    1
}

fn line_of(job: &Job, key: &str) -> usize {
    job.settings.get(key).map_or(job.line, |setting| setting.line)
}

fn is_on(job: &Job, flag: &str) -> bool {
    job.settings.get(flag).is_some_and(|setting| setting.value != "0")
}

/// Compressible share of the data as in a study; `None` for random data.
fn content(job: &Job, notes: &mut PortNotes) -> Option<String> {
    let share = percent(job, "buffer_compress_percentage", notes).unwrap_or(0);
    let share = if is_on(job, "zero_buffers") { 100 } else { share };
    match share {
        0 => None,
        100 => Some("100%".to_owned()),
        share => {
            notes.remark(format!(
                "[{}]: Assay zeroes {share}% of every 4 KiB; fio zeroes that share of every buffer_compress_chunk",
                job.name
            ));
            Some(format!("{share}%"))
        }
    }
}

/// Returns why blocks of such data cannot contain a header for verification, if so.
fn reason_without_headers(content: Option<&str>, duplicates: u64) -> Option<&'static str> {
    if content.is_some() {
        return Some("each block needs a header, which compressible data cannot contain");
    }
    (duplicates > 0)
        .then_some("each block needs a unique header, which duplicate blocks cannot contain")
}

/// Returns whether blocks have one size in whole sectors and do not overlap.
fn is_on_sectors(size: Option<Bytes>, steps: [Option<u64>; 2]) -> bool {
    let Some(Bytes(size @ 1..)) = size else { return false };
    size.is_multiple_of(SECTOR_BYTES)
        && steps.into_iter().flatten().all(|step| step.is_multiple_of(size))
}

/// Returns whether Assay verifies the written data; refuses settings that it cannot verify.
fn verify(
    job: &Job,
    writes: bool,
    no_header: Option<&'static str>,
    is_on_sectors: bool,
    notes: &mut PortNotes,
) -> bool {
    let Some(setting) = job.settings.get("verify") else { return false };
    let reads_back = job.settings.get("do_verify").is_none_or(|setting| setting.value != "0");
    if !reads_back || setting.value == "0" || setting.value == "none" {
        return false;
    }
    let why = if !writes {
        "fio compares each block with data that another job wrote"
    } else if setting.value == "pattern" || setting.value == "pattern_hdr" {
        "fio compares each block with a pattern from the job file"
    } else if let Some(no_header) = no_header {
        no_header
    } else if is_on_sectors {
        notes.remark(format!(
            "[{}]: verify={}: Assay writes a header and a checksum into each sector, and reads the data back after \
             each trial, outside the measured time",
            job.name, setting.value
        ));
        return true;
    } else {
        "each block needs a header, so all blocks must have the same size, a multiple of 512 bytes, and must not \
         overlap"
    };
    notes.refuse_key(setting.line, format!("{}: {why}; not supported", setting.written));
    false
}

/// Without a size fio uses a whole device, but not a file.
fn unsized_area(job: &Job, is_device: bool, notes: &mut PortNotes) {
    if is_device {
        return notes.remark(format!(
            "[{}]: fio would use the whole device; Assay uses its default test area; add size= to change the area",
            job.name
        ));
    }
    if notes.partly {
        return notes.remark(format!(
            "[{}]: without size=, fio uses the size of an existing file; Assay uses its default test area",
            job.name
        ));
    }
    let text = format!("[{}]: no size, so fio would not create a file; add size", job.name);
    notes.refuse(job.line, text);
}

/// Remarks on offsets that Assay draws or divides differently from fio.
fn remark_on_differences(
    job: &Job,
    pattern: &str,
    is_uniform: bool,
    threads: u64,
    own_files: bool,
    notes: &mut PortNotes,
) {
    // With a nonuniform distribution fio has no block map either.
    if pattern == "random" && is_uniform && !job.settings.contains_key("norandommap") {
        notes.remark(
            "fio visits every block once before it repeats any block; Assay draws each offset independently, as with \
             norandommap",
        );
    }
    if threads > 1 && pattern != "random" {
        let fio = if own_files { "its own file" } else { "the same offsets" };
        notes.remark(format!(
            "[{}]: fio gives each of the {threads} jobs {fio}; Assay gives each job a slice of the area",
            job.name
        ));
    }
}

struct Direction {
    pattern: &'static str,
    mix: String,
    /// Bytes between two blocks.
    gap: Option<u64>,
}

/// Percent of reads in a mix; 0 for writes and trims.
fn read_percent(mix: &str) -> u64 {
    match mix {
        "read" => 100,
        mixed => mixed.split_once('/').and_then(|(read, _)| read.parse().ok()).unwrap_or(0),
    }
}

/// Translates `rw` to pattern, mix and the gap between blocks in bytes.
fn direction(job: &Job, notes: &mut PortNotes) -> Direction {
    let setting = job.settings.get("rw");
    let value = setting.map_or("read", |setting| setting.value.as_str());
    let (word, step) = match value.split_once(':') {
        Some((word, step)) => (word, Some(step)),
        None => (value, None),
    };
    let read = percent(job, "rwmixread", notes);
    let write = percent(job, "rwmixwrite", notes);
    let mixed = || mix_of(read.or(write.map(|write| 100 - write)).unwrap_or(50));
    let (pattern, mix) = match word {
        "read" => ("sequential", "read".to_owned()),
        "write" => ("sequential", "write".to_owned()),
        "randread" => ("random", "read".to_owned()),
        "randwrite" => ("random", "write".to_owned()),
        "rw" | "readwrite" => ("sequential", mixed()),
        "randrw" => ("random", mixed()),
        "trim" if operations::is_on_device(job) => ("sequential", TRIM.to_owned()),
        "randtrim" if operations::is_on_device(job) => ("random", TRIM.to_owned()),
        other => {
            let (line, written) = setting
                .map_or((job.line, "rw"), |setting| (setting.line, setting.written.as_str()));
            let why = match other {
                TRIM | "randtrim" => "fio trims only block devices, not files",
                _ => {
                    "use read, write, trim, randread, randwrite, randtrim, rw or randrw; Assay cannot trim each block \
                     before writing it"
                }
            };
            notes.refuse(line, format!("{written}={other}: {why}"));
            ("sequential", "read".to_owned())
        }
    };
    let gap = step.and_then(values::bytes).filter(|_| pattern == "sequential");
    if step.is_some()
        && gap.is_none()
        && let Some(setting) = setting
    {
        let written = &setting.written;
        notes.refuse(
            setting.line,
            format!(
                "{written}={value}: after the colon, Assay supports only a gap in bytes for read, write and rw, such \
                 as read:8k; remove negative gaps and the counts of randread"
            ),
        );
    }
    Direction { pattern, mix, gap }
}

fn mix_of(read: u64) -> String {
    match read {
        0 => "write".to_owned(),
        100 => "read".to_owned(),
        read => format!("{read}/{}", 100 - read),
    }
}

fn translate_engine(job: &Job, notes: &mut PortNotes) -> &'static str {
    let setting = job.settings.get("ioengine");
    match setting.map_or("psync", |setting| setting.value.as_str()) {
        "psync" | "sync" | "pvsync" | "pvsync2" | "vsync" => "psync",
        "io_uring" => "io_uring",
        word @ ("libaio" | "posixaio") => {
            notes.remark(format!("ioengine={word}: Assay uses io_uring instead"));
            "io_uring"
        }
        word => {
            let line = setting.map_or(job.line, |setting| setting.line);
            let meaning = keys::meaning_of_engine(word);
            notes.refuse(line, format!("ioengine={word}: {meaning}; use psync or io_uring"));
            "psync"
        }
    }
}

/// Returns the target of a study, and whether fio would create a separate file per thread.
fn translate_target(job: &Job, writes: bool, notes: &mut PortNotes) -> (String, bool) {
    let directory = job.settings.get("directory");
    let Some(file) = job.settings.get("filename") else {
        let place = directory.map_or(".", |setting| setting.value.as_str());
        return (format!("directory = {}", quoted(place)), true);
    };
    let name = values::one_name(&file.value).unwrap_or_else(|| {
        let text = "filename: several files; a study has one target; name a single file";
        notes.refuse(file.line, text);
        file.value.clone()
    });
    let name = name.as_str();
    if name.starts_with("/dev/") {
        if writes {
            notes.remark(format!(
                "{name} would be overwritten; assay plan shows how to permit this"
            ));
        }
        return (format!("device = {}", quoted(name)), false);
    }
    let folder = match (directory, name.rsplit_once('/')) {
        (Some(directory), _) => directory.value.as_str(),
        (None, None) => ".",
        (None, Some(("", _))) => "/",
        (None, Some((folder, _))) => folder,
    };
    notes.remark(format!(
        "Assay does not use {name}; it creates another file in {folder} and removes that file afterwards"
    ));
    (format!("directory = {}", quoted(folder)), false)
}

fn refuse_other_target(job: &Job, first: &Job, notes: &mut PortNotes) {
    let setting = job.settings.get("filename").or(job.settings.get("directory"));
    notes.refuse(
        setting.map_or(job.line, |setting| setting.line),
        format!(
            "[{}]: the target differs from that of [{}], but a study has one target; split the job file",
            job.name, first.name
        ),
    );
}

/// Writes the study: each group becomes a workload; the second work of a group is its background load.
fn write_study(name: &str, works: &[Vec<FioWork>], notes: &mut PortNotes) -> String {
    let jobs: Vec<&FioWork> = works.iter().flatten().collect();
    let area = area_line(&jobs, notes);
    notes.remark("fio runs each job once; a study runs each workload once per replicate");
    let title = name.rsplit('/').next().unwrap_or(name);
    let place = jobs.first().map_or("directory = \".\"", |work| work.place.as_str());
    let mut text = format!(
        "format     = \"{FORMAT}\"\ntitle      = {}\ntarget     = {{ {place} }}\n\
         {area}replicates = 3\n",
        quoted(title),
    );
    let mut names: Vec<String> = Vec::new();
    for group in works {
        let Some(work) = group.first() else { continue };
        let mut name = work.name.clone();
        while names.contains(&name) {
            name.push_str("-again");
        }
        let _ = write!(text, "\n[[workload]]\nname = {}\nio = {{ {}", quoted(&name), io_keys(work));
        if let Some(time) = work.time {
            let _ = write!(text, ", runtime = \"{}\"", Time(time));
        }
        if work.ramp > 0 {
            let _ = write!(text, ", ramp_time = \"{}\"", Time(work.ramp));
        }
        if let Some(operations) = work.operations {
            let _ = write!(text, ", operations = {operations}");
        }
        if work.verify {
            text.push_str(", verify = true");
        }
        if let Some(poll) = work.poll {
            let _ = write!(text, ", poll = \"{poll}\"");
        }
        text.push_str(" }\n");
        if let Some(load) = group.get(1) {
            let _ = writeln!(text, "background = {{ {} }}", io_keys(load));
            notes.remark(format!(
                "[{}] runs concurrently with [{}], as its background load; Assay does not report the performance of \
                 the load",
                load.name, work.name
            ));
            if load.verify {
                notes.remark(format!("[{}]: Assay does not verify a background load", load.name));
            }
            if load.poll.is_some() {
                notes.remark(format!(
                    "[{}]: Assay does not poll the queues of a background load",
                    load.name
                ));
            }
        }
        names.push(name);
    }
    text
}

/// Returns the line of the area, which all jobs share; empty for the default area.
fn area_line(works: &[&FioWork], notes: &mut PortNotes) -> String {
    let wanted = works.iter().map(|work| work.area).max().flatten();
    if works.iter().any(|work| work.area != wanted) {
        notes.remark("all jobs share one test area, as large as the largest job needs");
    }
    // A job without a size uses the whole target.
    let Some(wanted) = wanted.filter(|_| works.iter().all(|work| work.area.is_some())) else {
        return String::new();
    };
    let block_bytes = works.iter().map(|work| work.size.largest().0).max().unwrap_or(1);
    let area = wanted.max(SMALLEST_AREA_BYTES);
    // Only a size near 2^64 has no next multiple; reading the study refuses it.
    let area = area.checked_next_multiple_of(block_bytes).unwrap_or(area);
    if area != wanted {
        notes.remark(format!("the test area has {}; fio would use {}", Bytes(area), Bytes(wanted)));
    }
    format!("area       = {{ size = \"{}\" }}\n", Bytes(area))
}

/// Writes the keys of `io` or `background`, without times and operations.
fn io_keys(work: &FioWork) -> String {
    let mut text = format!(
        "pattern = \"{}\", mix = \"{}\", block_size = \"{}\", queue_depth = {}, threads = {}, direct = {}, \
         engine = \"{}\"",
        work.pattern, work.mix, work.size, work.depth, work.threads, work.direct, work.engine
    );
    // Writing to a String cannot fail.
    if let Some(access) = &work.access {
        let _ = write!(text, ", distribution = {}", quoted(access));
    }
    if let Some(align) = work.align {
        let _ = write!(text, ", align = \"{}\"", Bytes(align));
    }
    if let Some(stride) = work.stride {
        let _ = write!(text, ", stride = \"{}\"", Bytes(stride));
    }
    if work.apart {
        text.push_str(", rw_split = \"positions\"");
    }
    text.push_str(&operations::sync_words(work.sync));
    if let Some(content) = &work.content {
        let _ = write!(text, ", compressibility = {}", quoted(content));
    }
    text.push_str(&work.paced.words());
    if work.duplicates > 0 {
        let _ = write!(text, ", duplicates = \"{}%\"", work.duplicates);
    }
    text
}

#[cfg(test)]
mod tests;
