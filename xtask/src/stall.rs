//! `cargo xtask bench-stall`: what is told of a file system that stands still for two seconds, by our open loop and by
//! fio at the same rate, beside what users waited.
//!
//! Each run writes 500 times a second for ten seconds to a file on an ext4 of its own on a loop device, which is
//! frozen (fsfreeze) in the middle. What the p99 of the response is then follows by arithmetic from how long that
//! was.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use assay_load::{Arrivals, EngineKind, Job, Mix, Pattern, Schedule, Target};
use serde_json::Value;

use crate::bench::middle;
use crate::lab::slow::Standstill;
use crate::lab::volume::{Filesystem, Volume};
use crate::lab::{Done, call, has, is_root};
use crate::options::Options;
use crate::{bench, facts};

const AREA_BYTES: u64 = 32 << 20;
const RATE_PER_S: u64 = 500;
const SECONDS: u64 = 10;
const BEFORE: Duration = Duration::from_secs(4);
const FROZEN: Duration = Duration::from_secs(2);
/// How far from the truth a response may be.
const NEAR: f64 = 0.1;
/// From this share of the time on that it waited for a processor, a run tells of those who had it.
const MOST_WAITING: f64 = 0.1;

/// One way to do it.
#[derive(Clone, Copy)]
struct Case {
    engine: EngineKind,
    depth: u32,
    arrivals: Arrivals,
}

const CASES: [Case; 4] = [
    Case { engine: EngineKind::Psync, depth: 1, arrivals: Arrivals::Fixed },
    Case { engine: EngineKind::Psync, depth: 1, arrivals: Arrivals::Poisson },
    Case { engine: EngineKind::IoUring, depth: 64, arrivals: Arrivals::Fixed },
    Case { engine: EngineKind::IoUring, depth: 64, arrivals: Arrivals::Poisson },
];

/// What one run told, in seconds, and what was true.
#[derive(Clone, Copy, Debug)]
struct Told {
    /// The p99 of what users waited, by arithmetic: the middle of the least and the most.
    truth: f64,
    /// The p99 that it tells of that: of the response, where it knows one.
    p99: f64,
    /// That of the service times, and the longest of all that it tells.
    service: f64,
    longest: f64,
    /// Share of the time that it waited for a processor.
    waited: f64,
}

impl Told {
    fn is_disturbed(&self) -> bool {
        self.waited > MOST_WAITING
    }

    fn is_near(&self) -> bool {
        (self.p99 / self.truth - 1.0).abs() <= NEAR
    }
}

pub fn run(options: &Options) -> Done<bool> {
    if !is_root() || !has("fsfreeze") {
        return Err("needs root (for loop devices of its own) and fsfreeze".to_owned());
    }
    let rounds = options.number("--rounds");
    let head = facts::lines();
    let with_fio = has("fio");
    if !with_fio {
        println!("left out: fio (not in PATH)");
    }
    let mut ours = vec![Vec::new(); CASES.len()];
    let mut fio = vec![Vec::new(); CASES.len()];
    for round in 1..=rounds {
        for (at, case) in CASES.iter().enumerate() {
            let told = case.ours()?;
            println!("round {round}: ours, {}: {told:?}", case.name());
            ours[at].push(told);
            if with_fio {
                let told = case.fio()?;
                println!("round {round}: fio, {}: {told:?}", case.name());
                fio[at].push(told);
            }
        }
    }
    println!();
    bench::keep(options, "stall.md", &page(&head, rounds, &ours, &fio)?)?;
    // What was kept from the processors says nothing of the engine.
    let judged: Vec<&Told> = ours.iter().flatten().filter(|told| !told.is_disturbed()).collect();
    Ok(!judged.is_empty() && judged.iter().all(|told| told.is_near()))
}

impl Case {
    fn name(&self) -> String {
        format!("{}, {}", self.engine.name(), self.arrivals.name())
    }

    fn ours(&self) -> Done<Told> {
        let place = Place::new()?;
        let direct = rustix::fs::OFlags::DIRECT.bits().cast_signed();
        let file = OpenOptions::new().read(true).write(true).custom_flags(direct).open(&place.path);
        let file = file.map_err(|error| format!("{}: {error}", place.path.display()))?;
        let (found, frozen) = place.beside_a_freeze(|| self.paced(&file))?;
        let (found, [least, most]) = (found?, frozen.p99_s(RATE_PER_S, SECONDS));
        let class = found.classes.first().ok_or("nothing was written")?;
        let responses = class.response_ns.as_ref().ok_or("there are no response times")?;
        let seconds = |ns: u64| ns as f64 / 1e9;
        Ok(Told {
            truth: f64::midpoint(least, most),
            p99: seconds(responses.value_at_quantile(0.99)),
            service: seconds(class.latency_ns.value_at_quantile(0.99)),
            longest: seconds(responses.max()),
            waited: seconds(found.waited_ns.unwrap_or_default()) / SECONDS as f64,
        })
    }

    fn paced(&self, file: &File) -> Done<assay_load::Outcome> {
        let job = Job {
            schedule: Some(Schedule { rate_per_s: RATE_PER_S, arrivals: self.arrivals }),
            depth: self.depth,
            time: Duration::from_secs(SECONDS),
            ..Job::base(Pattern::Random, Mix::WRITES, 4096, 0..AREA_BYTES, 7)
        };
        let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
        let found = assay_load::run(&job, &self.engine, &target, &AtomicBool::new(false));
        found.map_err(|error| format!("{}: {error}", self.name()))
    }

    /// The words of fio that say the same.
    fn words(&self, file: &str) -> Vec<String> {
        let process = match self.arrivals {
            Arrivals::Fixed => "linear",
            Arrivals::Poisson => "poisson",
        };
        vec![
            "--name=frozen".to_owned(),
            format!("--filename={file}"),
            format!("--size={AREA_BYTES}"),
            "--rw=randwrite".to_owned(),
            "--bs=4k".to_owned(),
            "--direct=1".to_owned(),
            format!("--ioengine={}", self.engine.name()),
            format!("--iodepth={}", self.depth),
            format!("--rate_iops={RATE_PER_S}"),
            format!("--rate_process={process}"),
            "--lat_percentiles=1".to_owned(),
            format!("--runtime={SECONDS}"),
            "--time_based".to_owned(),
            "--output-format=json".to_owned(),
        ]
    }

    fn fio(&self) -> Done<Told> {
        let place = Place::new()?;
        let words = self.words(&place.path.display().to_string());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (said, frozen) = place.beside_a_freeze(|| call("fio", &words))?;
        let [least, most] = frozen.p99_s(RATE_PER_S, SECONDS);
        let [p99, longest] = of_fio(&said?)?;
        let truth = f64::midpoint(least, most);
        Ok(Told { truth, p99, service: p99, longest, waited: 0.0 })
    }
}

/// The p99 of its whole latencies and the longest of them, in seconds.
fn of_fio(said: &str) -> Done<[f64; 2]> {
    // What it warns of may stand before the document.
    let start = said.find('{').ok_or("fio told nothing")?;
    let document: Value =
        serde_json::from_str(&said[start..]).map_err(|error| format!("fio: {error}: {said}"))?;
    let own = &document["jobs"][0]["write"]["lat_ns"];
    let told = own["percentile"]["99.000000"].as_f64().zip(own["max"].as_f64());
    let (p99, longest) = told.ok_or_else(|| format!("fio told no latencies: {own}"))?;
    Ok([p99 / 1e9, longest / 1e9])
}

/// A file on a file system of its own, all of it written.
struct Place {
    path: PathBuf,
    volume: Volume,
}

impl Place {
    fn new() -> Done<Self> {
        let volume = Volume::new(Filesystem::Ext4, 128)?;
        let path = volume.directory().join("area");
        let written = fs::write(&path, vec![0x5a; AREA_BYTES as usize]);
        written.map_err(|error| format!("{}: {error}", path.display()))?;
        call("sync", &["--file-system", &path.display().to_string()])?;
        Ok(Self { path, volume })
    }

    /// What work found while its file system stood still, and for how long that was.
    fn beside_a_freeze<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Done<(T, Standstill)> {
        let directory: &Path = self.volume.directory();
        thread::scope(|scope| {
            let working = scope.spawn(work);
            let frozen = Standstill::of(directory, BEFORE, FROZEN);
            let found = working.join().map_err(|_| "the work failed".to_owned())?;
            Ok((found, frozen?))
        })
    }
}

/// A row of the table: medians of its rounds.
fn row(side: &str, case: &Case, all: &[Told]) -> String {
    let of = |value: fn(&Told) -> f64| middle(&all.iter().map(value).collect::<Vec<_>>());
    let [truth, p99, service, longest] = [
        of(|told| told.truth),
        of(|told| told.p99),
        of(|told| told.service),
        of(|told| told.longest),
    ];
    let judged: Vec<&Told> = all.iter().filter(|told| !told.is_disturbed()).collect();
    let near = judged.iter().filter(|told| told.is_near()).count();
    format!(
        "| {side} | {} | {} | {truth:.3} | {p99:.3} | {:+.1} % | {near} of {} | {service:.4} | {longest:.3} |",
        case.engine.name(),
        case.arrivals.name(),
        100.0 * (p99 / truth - 1.0),
        judged.len()
    )
}

fn page(head: &[String], rounds: usize, ours: &[Vec<Told>], fio: &[Vec<Told>]) -> Done<String> {
    let mut page = format!(
        "# A drive that stands still\n\n\
         `cargo xtask bench-stall --rounds {rounds}`: {RATE_PER_S} random writes of 4 KiB a second for {SECONDS} s, \
         direct, to a\nwritten file of 32 MiB on an ext4 on a loop device, which is frozen (fsfreeze) from the fourth \
         second on for\ntwo. What users waited follows by arithmetic from how long it really was frozen: the p99 of \
         all {} operations is\nthat of the one after the first fifty that were meant to start meanwhile. Ours tells \
         the response, from the\nintended start on; fio counts from submission (`lat`). Medians of {rounds} rounds; \
         near is within {:.0} % of the truth.\n\n{}\n",
        RATE_PER_S * SECONDS,
        100.0 * NEAR,
        head.join("\n")
    );
    let with_fio = fio.iter().all(|told| !told.is_empty());
    if with_fio {
        let version = call("fio", &["--version"])?;
        // Writing to a String cannot fail.
        let _ = writeln!(page, "- fio: {}", version.trim());
    }
    page.push('\n');
    page.push_str(&bench::table(
        "side | engine | arrivals | p99 by arithmetic, s | p99 told, s | off | near | service p99, s | longest, s",
    ));
    for (side, all) in [("ours", ours), ("fio", fio)] {
        for (case, told) in CASES.iter().zip(all).filter(|(_, told)| !told.is_empty()) {
            // Writing to a String cannot fail.
            let _ = writeln!(page, "{}", row(side, case, told));
        }
    }
    if with_fio {
        page.push_str("\nThe commands of fio:\n\n```text\n");
        for case in &CASES {
            // Writing to a String cannot fail.
            let _ = writeln!(page, "fio {}", case.words("FILE").join(" "));
        }
        page.push_str("```\n");
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(p99: f64, waited: f64) -> Told {
        Told { truth: 1.9, p99, service: 0.001, longest: 2.0, waited }
    }

    #[test]
    fn what_was_kept_from_the_processors_is_not_judged() {
        let all = [told(1.9, 0.0), told(1.72, 0.0), told(0.007, 0.5)];
        let row = row("ours", &CASES[0], &all);
        assert_eq!(
            row,
            "| ours | psync | fixed | 1.900 | 1.720 | -9.5 % | 2 of 2 | 0.0010 | 2.000 |"
        );
        assert!(!told(1.7, 0.0).is_near() && told(2.08, 0.0).is_near());
    }

    #[test]
    fn fio_is_read_behind_what_it_warns_of() {
        let said = "fio: a note\n{\"jobs\": [{\"write\": {\"lat_ns\": {\"max\": 2000000000, \
                    \"percentile\": {\"99.000000\": 7000000}}}}]}";
        assert_eq!(of_fio(said), Ok([0.007, 2.0]));
        assert!(of_fio("{\"jobs\": []}").is_err() && of_fio("").is_err());
    }

    #[test]
    fn a_page_has_the_rows_of_those_that_ran() -> Done<()> {
        let ours = vec![vec![told(1.9, 0.0)]; CASES.len()];
        let page = page(&["- date: today".to_owned()], 1, &ours, &vec![Vec::new(); CASES.len()])?;
        assert_eq!(page.matches("| ours |").count(), CASES.len(), "{page}");
        assert!(!page.contains("| fio |") && !page.contains("commands of fio"), "{page}");
        Ok(())
    }
}
