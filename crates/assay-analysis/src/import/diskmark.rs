//! The text that CrystalDiskMark and KDiskMark copy or save.

use std::collections::BTreeMap;

use assay_core::{catalogue::About, failure::Outcome};
use assay_workloads::command::ImportEvidence;

use super::run::{ImportedRun, ImportedRuns};
use super::{Importer, Reads, times};

pub const CRYSTAL: Importer = Importer {
    about: About {
        name: "crystaldiskmark",
        summary: "text of CrystalDiskMark 5 to 8 (UTF-8 or UTF-16)",
        text: "Each line of a test is a run; 1 MB is 10^6 bytes. CrystalDiskMark reports only the best of its \
               passes, so save several files. Assay orders the files by date.",
    },
    recognises: |start| is_output_of(start, "CrystalDiskMark"),
    reads: Reads::Runs(read),
    unused: &[],
};

pub const K: Importer = Importer {
    about: About {
        name: "kdiskmark",
        summary: "text of KDiskMark 2 and 3",
        text: "Each line of a test is a run; 1 MB is 10^6 bytes. KDiskMark runs fio and reports the mean of its \
               passes. Assay orders the files by date.",
    },
    recognises: |start| is_output_of(start, "KDiskMark"),
    reads: Reads::Runs(read),
    unused: &[],
};

const SETTINGS: [&str; 4] = ["Test", "Time", "Profile", "OS"];
const FIRST_FIXED_VERSION: [u32; 2] = [3, 3];
const BANNER: usize = 5;

fn is_output_of(start: &str, tool: &str) -> bool {
    let mut banner = start.lines().take(BANNER);
    start.lines().any(|line| parse_test(line).is_some()) && banner.any(|line| line.contains(tool))
}

struct DiskmarkTest<'a> {
    name: &'a str,
    mb: f64,
    iops: Option<f64>,
    us: Option<f64>,
}

/// One run per test, named after its section (read, write) and itself.
fn read(name: &str, text: &str) -> Outcome<ImportedRuns> {
    let start_ms = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        times::iso_ms(value).filter(|_| key.trim() == "Date")
    });
    let is_faulty = version(text).is_some_and(|version| version < FIRST_FIXED_VERSION);
    let mut settings = BTreeMap::new();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(": ") else { continue };
        if SETTINGS.contains(&key.trim()) {
            settings.insert(key.trim().to_lowercase(), without_disk_usage(value.trim()));
        }
    }
    let mut section = "";
    let mut runs = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some((inside, _)) = trimmed.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            section = inside;
            continue;
        }
        let Some(test) = parse_test(line) else { continue };
        let workload = match section {
            "" => test.name.to_owned(),
            section => format!("{} {}", section.to_lowercase(), test.name),
        };
        let mut run = ImportedRun::new(workload.split_whitespace().collect::<Vec<_>>().join(" "));
        run.settings.clone_from(&settings);
        if is_faulty && threads(test.name).is_some_and(|threads| threads > 1) {
            run.evidence.push(ImportEvidence::Fault(
                "with several threads, KDiskMark before 3.3.0 may report half the true value"
                    .into(),
            ));
        }
        run.add("bandwidth_bytes_per_s", Some(test.mb * 1e6));
        if let Some(iops) = test.iops {
            run.add("iops", Some(iops));
        }
        if let Some(us) = test.us {
            run.add("latency_mean_ns", Some(us * 1000.0));
        }
        run.span_ms = start_ms.map(|start_ms| (start_ms, start_ms + 1));
        runs.push(run);
    }
    ImportedRuns::in_order(runs).require(name, "contains no test with MB/s")
}

fn version(text: &str) -> Option<[u32; 2]> {
    let (_, rest) = text.lines().take(BANNER).find_map(|line| line.split_once("KDiskMark"))?;
    let digits = rest.trim_start().trim_start_matches(['(', 'v']);
    let mut parts = digits.split(|sign: char| !sign.is_ascii_digit());
    Some([parts.next()?.parse().ok()?, parts.next()?.parse().ok()?])
}

/// Removes the disk usage that CrystalDiskMark writes in brackets: `[C: 50% (116/232GiB)]`.
fn without_disk_usage(value: &str) -> String {
    let mut kept = String::new();
    for part in value.split_inclusive(']') {
        let (before, inside) = part.split_once('[').unwrap_or((part, ""));
        kept.push_str(if inside.contains('%') { before } else { part });
    }
    kept.trim().to_owned()
}

/// Threads of a test: `(Q= 32, T= 8)`.
fn threads(name: &str) -> Option<u32> {
    let (_, rest) = name.rsplit_once("T=")?;
    rest.trim_end_matches(')').trim().parse().ok()
}

/// `SEQ    1MiB (Q=  8, T= 1):  3525.166 MB/s [   3361.9 IOPS] <  2375.59 us>`.
fn parse_test(line: &str) -> Option<DiskmarkTest<'_>> {
    let (before, after) = line.rsplit_once(" MB/s")?;
    let (name, mb) = before.rsplit_once(':')?;
    let name = name.trim();
    let inner = |open: char, unit: &str| -> Option<f64> {
        let (_, from) = after.split_once(open)?;
        from.split_once(unit)?.0.trim().parse().ok()
    };
    let mb = mb.trim().parse::<f64>().ok().filter(|_| !name.is_empty())?;
    Some(DiskmarkTest { name, mb, iops: inner('[', "IOPS"), us: inner('<', "us") })
}
