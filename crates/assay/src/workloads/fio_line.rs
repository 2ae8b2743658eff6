//! A planned workload as a command line of fio: what fio would have to be told to do the same work.

use crate::results::plan::{Area, PlannedWorkload};

/// A command line of fio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioLine {
    /// The words, `fio` first, none of them quoted.
    pub words: Vec<String>,
    /// Where fio does something else all the same.
    pub remarks: Vec<String>,
}

/// Offsets of direct I/O are multiples of this everywhere.
const PAGE: u64 = 4096;

/// What no line can say.
pub const NOT_SAID: &[&str] = &[
    "one line is one trial: fio knows no order of trials, no replicates and no intervals",
    "fio makes a missing file by itself; Assay writes the whole area with random bytes first",
    "the seeds differ, so the offsets do too",
    "with io_uring Assay registers buffers and file, as fio does with --fixedbufs --registerfiles",
];

/// The line for a workload in an area of `file`. The simulated drive has no counterpart: `file` then
/// stands for a drive.
pub fn line(workload: &PlannedWorkload, area: &Area, file: &str) -> FioLine {
    let mut line = job(workload, &workload.own_part(area), file);
    if let Some(beside) = &workload.beside {
        let lasts = PlannedWorkload {
            ramp_ns: 0,
            time_ns: workload.ramp_ns.saturating_add(workload.time_ns),
            ..(**beside).clone()
        };
        let other = job(&lasts, &area.halves()[1], file);
        line.words.extend(other.words.into_iter().skip(1));
        line.remarks.extend(other.remarks);
    }
    line
}

/// One job of a line.
fn job(workload: &PlannedWorkload, area: &Area, file: &str) -> FioLine {
    let engine = engine(workload);
    let mut words = vec![
        "fio".to_owned(),
        format!("--name={}", name(workload)),
        format!("--filename={}", file.replace(':', "\\:")),
        format!("--rw={}{}", pattern(workload), step(workload, area)),
    ];
    if workload.reads_itself() && workload.writes_itself() {
        words.push(format!("--rwmixread={}", workload.read_percent));
    }
    words.extend([
        format!("--bs={}", size(u64::from(workload.size_bytes))),
        format!("--iodepth={}", workload.depth),
        format!("--numjobs={}", workload.threads),
    ]);
    if workload.threads > 1 {
        words.push("--thread".to_owned());
    }
    words.extend([
        format!("--direct={}", u8::from(workload.direct)),
        format!("--ioengine={engine}"),
    ]);
    words.extend(span(workload, area));
    words.extend(end(workload));
    words.extend(details(workload).into_iter().map(str::to_owned));
    words.push("--group_reporting".to_owned());
    FioLine { words, remarks: remarks(workload, engine) }
}

fn engine(workload: &PlannedWorkload) -> &str {
    match workload.engine.as_str() {
        "simulated" if workload.depth > 1 => "io_uring",
        "simulated" => "psync",
        engine => engine,
    }
}

/// The workload's name and its levels, without anything that a shell would read.
fn name(workload: &PlannedWorkload) -> String {
    let levels = workload.arm.iter().map(|(factor, level)| format!("-{factor}-{level}"));
    let name = levels.fold(workload.name.clone(), |name, level| name + &level);
    let plain = name.chars().filter(|c| !c.is_whitespace());
    plain.map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

fn pattern(workload: &PlannedWorkload) -> String {
    let random = if is_random(workload) { "rand" } else { "" };
    let mix = match (workload.reads_itself(), workload.writes_itself()) {
        (true, true) => "rw",
        (true, false) => "read",
        _ => "write",
    };
    format!("{random}{mix}")
}

fn is_random(workload: &PlannedWorkload) -> bool {
    workload.pattern == "random"
}

/// What fio leaves out between two of the evenly spaced places, in whole pages.
fn step(workload: &PlannedWorkload, area: &Area) -> String {
    let Some(places) = workload.operations.filter(|_| workload.pattern == "spread") else {
        return String::new();
    };
    let step = area.length / places.max(1) / PAGE * PAGE;
    let gap = step.saturating_sub(u64::from(workload.size_bytes));
    if gap == 0 { String::new() } else { format!(":{}", size(gap)) }
}

/// When a trial ends: by time, or by its operations if they are done before.
fn end(workload: &PlannedWorkload) -> Vec<String> {
    let runtime = format!("--runtime={}", time(workload.time_ns));
    let ramp = format!("--ramp_time={}", time(workload.ramp_ns));
    match workload.operations {
        None => vec![runtime, "--time_based".to_owned(), ramp],
        Some(operations) => {
            let each = operations.div_ceil(u64::from(workload.threads).max(1));
            let bytes = each.saturating_mul(u64::from(workload.size_bytes));
            vec![runtime, format!("--io_size={}", size(bytes))]
        }
    }
}

/// Where in the file. Sequential threads have a slice each.
fn span(workload: &PlannedWorkload, area: &Area) -> Vec<String> {
    let mut words = Vec::new();
    if area.start > 0 {
        words.push(format!("--offset={}", size(area.start)));
    }
    let block = u64::from(workload.size_bytes).max(1);
    let threads = u64::from(workload.threads).max(1);
    if workload.pattern == "sequential" && threads > 1 {
        let slice = area.length / block / threads * block;
        words.push(format!("--size={}", size(slice)));
        words.push(format!("--offset_increment={}", size(slice)));
    } else {
        words.push(format!("--size={}", size(area.length / block * block)));
    }
    words
}

fn details(workload: &PlannedWorkload) -> Vec<&'static str> {
    let mut words = Vec::new();
    if is_random(workload) {
        words.extend(["--norandommap", "--randrepeat=0"]);
    }
    if workload.writes_itself() {
        let zero = workload.content == "zero";
        words.push(if zero { "--zero_buffers" } else { "--refill_buffers" });
        if workload.data_sync {
            words.push("--fdatasync=1");
        }
    }
    words
}

fn remarks(workload: &PlannedWorkload, engine: &str) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut add = |applies: bool, text: &str| {
        if applies {
            remarks.push(text.to_owned());
        }
    };
    add(workload.engine == "simulated", "fio has no simulated drive: FILE stands for a real one");
    add(
        engine == "psync" && workload.depth > 1,
        "psync keeps one operation in flight in each thread, whatever --iodepth says",
    );
    add(
        workload.rewrite,
        "fio knows no rewrite: this reads and writes equal shares of blocks, but never writes back \
         the block that it read",
    );
    add(
        workload.pattern == "spread",
        "fio takes steps of one length; Assay goes to the nearest block before each place",
    );
    add(
        workload.writes_itself() && workload.data_sync,
        "Assay counts the fdatasync into the latency of its write; fio reports it apart",
    );
    remarks.extend(workload.note.clone());
    remarks
}

/// Bytes as fio writes them: exact, in powers of 1024.
fn size(bytes: u64) -> String {
    let units = [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    let unit = units.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| bytes.to_string(), |(unit, name)| format!("{}{name}", bytes / unit))
}

/// A time as fio writes it; fio knows nothing shorter than a microsecond. A share of a budget is
/// told in whole milliseconds, which is more than anybody can repeat.
fn time(ns: u64) -> String {
    let unit = if ns < 100_000_000 { 1000 } else { 1_000_000 };
    let us = ns.div_ceil(unit) * (unit / 1000);
    let units = [(1_000_000, "s"), (1000, "ms"), (1, "us")];
    let (unit, name) =
        units.into_iter().find(|(unit, _)| us.is_multiple_of(*unit)).unwrap_or((1, "us"));
    format!("{}{name}", us / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload() -> PlannedWorkload {
        PlannedWorkload {
            name: "read".to_owned(),
            arm: [("size".to_owned(), "4 KiB".to_owned())].into(),
            control: false,
            target: 0,
            engine: "io_uring".to_owned(),
            pattern: "random".to_owned(),
            read_percent: 100,
            rewrite: false,
            size_bytes: 4096,
            depth: 32,
            threads: 1,
            asked_depth: 32,
            data_sync: false,
            content: "random".to_owned(),
            direct: true,
            ramp_ns: 250_000_000,
            time_ns: 10_000_000_000,
            operations: None,
            note: None,
            beside: None,
        }
    }

    const AREA: Area =
        Area { start: 0, length: 64 << 20, asked: 64 << 20, written: true, fill_ns: 0 };

    fn text(workload: &PlannedWorkload) -> String {
        line(workload, &AREA, "dir/area").words.join(" ")
    }

    #[test]
    fn a_random_read() {
        assert_eq!(
            text(&workload()),
            "fio --name=read-size-4KiB --filename=dir/area --rw=randread --bs=4k --iodepth=32 \
             --numjobs=1 --direct=1 --ioengine=io_uring --size=64m --runtime=10s --time_based \
             --ramp_time=250ms --norandommap --randrepeat=0 --group_reporting"
        );
    }

    #[test]
    fn sequential_writers_have_a_slice_each() {
        let writers = PlannedWorkload {
            pattern: "sequential".to_owned(),
            read_percent: 30,
            size_bytes: 1 << 20,
            threads: 3,
            depth: 1,
            engine: "psync".to_owned(),
            data_sync: true,
            content: "zero".to_owned(),
            direct: false,
            ..workload()
        };
        let text = text(&writers);
        for part in [
            "--rw=rw --rwmixread=30 --bs=1m",
            "--numjobs=3 --thread --direct=0",
            "--size=21m --offset_increment=21m",
            "--zero_buffers --fdatasync=1",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("randommap"), "{text}");
    }

    #[test]
    fn what_fio_does_not_have_is_told_with_the_nearest() {
        let rewrites = PlannedWorkload {
            pattern: "sequential".to_owned(),
            read_percent: 50,
            rewrite: true,
            ..workload()
        };
        let found = line(&rewrites, &AREA, "a");
        assert!(found.words.join(" ").contains("--rw=rw --rwmixread=50"), "{:?}", found.words);
        assert!(found.remarks[0].contains("fio knows no rewrite"), "{:?}", found.remarks);
        let spread = PlannedWorkload {
            pattern: "spread".to_owned(),
            size_bytes: 1 << 20,
            operations: Some(16),
            ramp_ns: 0,
            ..workload()
        };
        let found = line(&spread, &AREA, "a");
        let text = found.words.join(" ");
        assert!(text.contains("--rw=read:3m "), "{text}");
        assert!(text.contains("--size=64m --runtime=10s --io_size=16m --group"), "{text}");
        assert!(found.remarks[0].contains("steps of one length"), "{:?}", found.remarks);
    }

    #[test]
    fn what_fio_does_otherwise_is_said() {
        let odd = PlannedWorkload {
            engine: "psync".to_owned(),
            note: Some("depth 32 of 64".to_owned()),
            ..workload()
        };
        let remarks = line(&odd, &AREA, "a").remarks;
        assert_eq!(remarks.len(), 2);
        assert!(remarks[0].contains("one operation in flight") && remarks[1].contains("32 of 64"));
        let simulated = PlannedWorkload { engine: "simulated".to_owned(), ..workload() };
        assert!(line(&simulated, &AREA, "FILE").remarks[0].contains("no simulated drive"));
    }

    #[test]
    fn amounts_are_exact_in_the_units_of_fio() {
        assert_eq!([size(0), size(512), size(4096), size(3 << 19)], ["0", "512", "4k", "1536k"]);
        assert_eq!(
            [0, 1, 1_500_000, 2_220_114_286, 2_000_000_000].map(time),
            ["0s", "1us", "1500us", "2221ms", "2s"]
        );
    }

    #[test]
    fn a_colon_in_a_path_is_no_second_file() {
        let words = line(&workload(), &Area { start: 4096, ..AREA }, "/dev/pci-0:1").words;
        assert_eq!(words[2], "--filename=/dev/pci-0\\:1");
        assert!(words.contains(&"--offset=4k".to_owned()));
    }
}
