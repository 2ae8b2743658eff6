//! The text that CrystalDiskMark and KDiskMark copy and save.

use assay_base::catalogue::About;
use assay_base::failure::{Failure, Outcome};

use super::run::{Run, Runs};
use super::{Importer, Reads, times};

/// CrystalDiskMark's importer.
pub const CRYSTAL: Importer = Importer {
    about: About {
        name: "crystaldiskmark",
        summary: "text of CrystalDiskMark 5 to 8 (UTF-8 or UTF-16)",
        text: "Each line of a test is a run; MB are 10^6 bytes. The best of its passes is all that \
               it tells, so save several texts. The date of a text orders it among others.",
    },
    recognises: |start| {
        tests(start) && start.lines().take(BANNER).any(|line| line.contains("CrystalDiskMark"))
    },
    reads: Reads::Runs(read),
};

/// KDiskMark's importer.
pub const K: Importer = Importer {
    about: About {
        name: "kdiskmark",
        summary: "text of KDiskMark 2 and 3",
        text: "Each line of a test is a run; MB are 10^6 bytes. KDiskMark runs fio and tells the \
               mean of its passes. The date of a text orders it among others.",
    },
    recognises: |start| {
        tests(start) && start.lines().take(BANNER).any(|line| line.contains("KDiskMark"))
    },
    reads: Reads::Runs(read),
};

/// Lines in which the name of the program stands.
const BANNER: usize = 5;

fn tests(start: &str) -> bool {
    start.lines().any(|line| test(line).is_some())
}

/// Name of a test with its numbers.
struct Test<'a> {
    name: &'a str,
    mb: f64,
    iops: Option<f64>,
    us: Option<f64>,
}

fn read(name: &str, text: &str) -> Outcome<Runs> {
    let at = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        times::iso_ms(value).filter(|_| key.trim() == "Date")
    });
    let mut section = "";
    let mut runs = Vec::new();
    for line in text.lines() {
        let plain = line.trim();
        let bare = plain.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        if let Some((inside, _)) = bare {
            section = inside;
            continue;
        }
        let Some(test) = test(line) else { continue };
        let workload = match section {
            "" => test.name.to_owned(),
            section => format!("{} {}", section.to_lowercase(), test.name),
        };
        let mut run = Run::of(workload.split_whitespace().collect::<Vec<_>>().join(" "));
        run.tell("bandwidth_bytes_per_s", Some(test.mb * 1e6));
        if let Some(iops) = test.iops {
            run.tell("iops", Some(iops));
        }
        if let Some(us) = test.us {
            run.tell("latency_mean_ns", Some(us * 1000.0));
        }
        run.span_ms = at.map(|at| (at, at + 1));
        runs.push(run);
    }
    if runs.is_empty() {
        return Err(Failure::mistake(format!("{name}: no line is of a test with MB/s")));
    }
    Ok(Runs::in_order(runs))
}

/// `SEQ    1MiB (Q=  8, T= 1):  3525.166 MB/s [   3361.9 IOPS] <  2375.59 us>`.
fn test(line: &str) -> Option<Test<'_>> {
    let (name, rest) = line.rsplit_once(" MB/s").map(|(before, after)| {
        before.rsplit_once(':').map(|(name, mb)| (name.trim(), (mb, after)))
    })??;
    let (mb, after) = rest;
    let inner = |open: char, unit: &str| -> Option<f64> {
        let (_, from) = after.split_once(open)?;
        from.split_once(unit)?.0.trim().parse().ok()
    };
    let mb = mb.trim().parse::<f64>().ok().filter(|_| !name.is_empty())?;
    Some(Test { name, mb, iops: inner('[', "IOPS"), us: inner('<', "us") })
}
