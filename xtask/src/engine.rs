//! `cargo xtask bench-engine`: our engine against the bare ring test of fio, interleaved, and the instructions per
//! operation of the null engine.
//!
//! All sides read the same written file or device, at the same depth, and wait for one completion at a time or, in
//! a comparison of their own, for 32. In each round they come in an order that is drawn anew, so that a drift of
//! the machine falls on all alike. A side whose program is not there is left out by name, and so is a place.

mod places;

use std::fmt::Write as _;
use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use assay_core::draws::Draws;
use assay_load::{EngineKind, Job, Mix, Pattern, Target};

use self::places::{FILE_BYTES, PLACES, Place};
use crate::lab::{Done, Scratch, call, has, is_root};
use crate::options::Options;
use crate::{bench, build, facts};

const DEPTHS: [u32; 2] = [32, 128];
/// Where the bare ring test is, if it is not in PATH as `t_io_uring`.
const RING: &str = "ASSAY_T_IO_URING";
/// Instructions of an operation of the null engine at a depth of 128: above that the chore fails. It had 243 when
/// this stood first; the limit goes down with it and never up.
const MOST_INSTRUCTIONS: f64 = 160.0;
/// What it is meant to come to, of which is only told whether it does.
const AIMED_INSTRUCTIONS: f64 = 150.0;
/// Operations of the shorter of two runs, of which the difference counts.
const COUNTED: u64 = 200_000;
const COUNTER: &str = "valgrind";

/// Completions that some sides wait for at once.
const AT_ONCE: u32 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Ours,
    Ring,
    OursAtOnce,
    RingAtOnce,
}

impl Side {
    const ALL: [Self; 4] = [Self::Ours, Self::Ring, Self::OursAtOnce, Self::RingAtOnce];

    const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Ring => "t/io_uring -c1",
            Self::OursAtOnce => "ours, wait-for 32",
            Self::RingAtOnce => "t/io_uring -c32",
        }
    }

    /// Which of ours it is compared with.
    const fn ours(self) -> Option<Self> {
        match self {
            Self::Ring => Some(Self::Ours),
            Self::RingAtOnce => Some(Self::OursAtOnce),
            Self::Ours | Self::OursAtOnce => None,
        }
    }

    /// The least share of its operations per second, and the most of its processor time, that ours is to have.
    const fn aims(self) -> Option<[f64; 2]> {
        match self {
            Self::Ring => Some([0.97, 1.10]),
            Self::RingAtOnce => Some([0.95, 1.15]),
            Self::Ours | Self::OursAtOnce => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    iops: f64,
    /// Processor time of an operation, nanoseconds.
    cpu_ns: f64,
}

/// What all runs of a side at a depth did, round by round.
#[derive(Clone, Debug, Default)]
struct Rounds {
    iops: Vec<f64>,
    cpu_ns: Vec<f64>,
}

pub fn run(options: &Options) -> Done<bool> {
    if let Some(operations) = options.text("--null") {
        let operations = operations.parse::<u64>().map_err(|error| format!("--null: {error}"))?;
        return null(operations).map(|()| true);
    }
    if cfg!(debug_assertions) {
        return optimised(options);
    }
    // Nobody who counts is a reason; a count that fails is a failure.
    let instructions =
        if has(COUNTER) { Ok(instructions()?) } else { Err(format!("{COUNTER} is not in PATH")) };
    if options.has("--instructions") {
        return Ok(told(&instructions, MOST_INSTRUCTIONS));
    }
    if !is_root() {
        return Err("needs root to create a loop device".to_owned());
    }
    let how = [options.number("--rounds"), options.number("--seconds")];
    let only = options.text("--place");
    if let Some(name) = only.filter(|name| PLACES.iter().all(|(known, _)| known != name)) {
        return Err(format!("--place: unknown place `{name}`"));
    }
    let head = facts::lines();
    let sides = sides();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut draws = Draws::new(now.map_or(1, |time| time.as_nanos() as u64), "bench-engine");
    let mut all = Vec::new();
    for (name, _) in PLACES.into_iter().filter(|(name, _)| only.is_none_or(|own| own == *name)) {
        match Place::new(name) {
            Ok(place) => all.push((name, at_place(name, &place, &sides, how, &mut draws)?)),
            Err(why) => println!("skipped: {name}: {why}"),
        }
    }
    let page = page(&head, how, &sides, &all, &instructions)?;
    println!();
    bench::keep(options, "engine.md", &page)?;
    Ok(told(&instructions, MOST_INSTRUCTIONS))
}

/// The same chore in a release build: debug checks cost time.
fn optimised(options: &Options) -> Done<bool> {
    let numbers = ["--rounds", "--seconds"].map(|name| options.number(name).to_string());
    let mut words = vec!["run", "--quiet", "--release", "--package", "xtask", "--", "bench-engine"];
    words.extend(["--rounds", &numbers[0], "--seconds", &numbers[1]]);
    words.extend(["--write", "--instructions"].into_iter().filter(|flag| options.has(flag)));
    if let Some(place) = options.text("--place") {
        words.extend(["--place", place]);
    }
    let status = build::cargo(&words).status().map_err(|error| format!("cargo: {error}"))?;
    Ok(status.success())
}

/// What all sides do at a place, by depth and side.
fn at_place(
    name: &str,
    place: &Place,
    sides: &[Side],
    [rounds, seconds]: [usize; 2],
    draws: &mut Draws,
) -> Done<Vec<Vec<Rounds>>> {
    let mut found = vec![vec![Rounds::default(); sides.len()]; DEPTHS.len()];
    for round in 1..=rounds {
        for (depth, found) in DEPTHS.into_iter().zip(&mut found) {
            let mut order: Vec<usize> = (0..sides.len()).collect();
            draws.shuffle(&mut order);
            for at in order {
                let seed = draws.bits();
                let seen = measured(sides[at], depth, place, seconds as u64, seed)?;
                found[at].iops.push(seen.iops);
                found[at].cpu_ns.push(seen.cpu_ns);
                let (side, Seen { iops, cpu_ns }) = (sides[at].name(), seen);
                println!(
                    "{name}, round {round}, depth {depth}: {side}: {iops:.0} IOPS, {cpu_ns:.0} ns each"
                );
            }
        }
    }
    Ok(found)
}

/// The sides whose programs are there; the others are named.
fn sides() -> Vec<Side> {
    let is_there = |side: &Side| match side {
        Side::Ours | Side::OursAtOnce => true,
        Side::Ring | Side::RingAtOnce => ring().is_some(),
    };
    let (there, absent): (Vec<Side>, Vec<Side>) = Side::ALL.into_iter().partition(is_there);
    for side in absent {
        println!("skipped: {} (not in PATH; {RING} can name fio's t/io_uring)", side.name());
    }
    there
}

fn ring() -> Option<String> {
    let named = std::env::var(RING).ok().filter(|path| Path::new(path).exists());
    named.or_else(|| has("t_io_uring").then(|| "t_io_uring".to_owned()))
}

fn measured(side: Side, depth: u32, place: &Place, seconds: u64, seed: u64) -> Done<Seen> {
    match side {
        Side::Ours => ours([depth, 1], place, seconds, seed),
        Side::OursAtOnce => ours([depth, AT_ONCE], place, seconds, seed),
        Side::Ring => of_ring([depth, 1], &place.file, seconds),
        Side::RingAtOnce => of_ring([depth, AT_ONCE], &place.file, seconds),
    }
}

fn ours([depth, wait_for]: [u32; 2], place: &Place, seconds: u64, seed: u64) -> Done<Seen> {
    let file = place.open()?;
    let job = Job {
        depth,
        wait_for,
        time: Duration::from_secs(seconds),
        ..Job::base(Pattern::Random, Mix::READS, 4096, 0..FILE_BYTES, seed)
    };
    let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
    let outcome = assay_load::run(&job, &EngineKind::IoUring, &target, &AtomicBool::new(false));
    let outcome = outcome.map_err(|error| format!("ours: {error}"))?;
    let operations = outcome.totals.read_operations as f64;
    let iops = operations / (outcome.totals.elapsed_ns as f64 / 1e9);
    Ok(Seen { iops, cpu_ns: outcome.process_cpu_ns as f64 / operations })
}

fn of_ring([depth, wait_for]: [u32; 2], path: &Path, seconds: u64) -> Done<Seen> {
    let program = ring().ok_or("the ring test no longer exists")?;
    let batch = depth.min(32);
    let words = [
        format!("-d{depth}"),
        format!("-s{batch}"),
        format!("-c{wait_for}"),
        "-b4096".to_owned(),
        "-B1".to_owned(),
        "-F1".to_owned(),
        "-p0".to_owned(),
        "-n1".to_owned(),
        "-O1".to_owned(),
        "-R1".to_owned(),
        format!("-r{seconds}"),
        path.display().to_string(),
    ];
    let (text, cpu_ns) = timed(&program, &words)?;
    let rates = ring_rates(&text);
    if rates.iter().all(|rate| *rate <= 0.0) {
        return Err(format!("{program} printed no rate (it needs at least two seconds): {text}"));
    }
    Ok(Seen { iops: middle(&rates), cpu_ns: cpu_ns / ring_operations(&rates, seconds) })
}

/// Operations of a whole run of the ring test: it says nothing of the last second, whose processor time counts
/// with that of the others.
fn ring_operations(rates: &[f64], seconds: u64) -> f64 {
    rates.iter().sum::<f64>() / rates.len() as f64 * seconds as f64
}

/// The rates of each second that the ring test prints: `IOPS=81.59K, BW=318MiB/s, ...`.
fn ring_rates(text: &str) -> Vec<f64> {
    let of = |line: &str| {
        let own = line.strip_prefix("IOPS=")?.split(',').next()?.trim();
        let factor = match own.chars().last()? {
            'K' => 1e3,
            'M' => 1e6,
            _ => 1.0,
        };
        let number: f64 = own.trim_end_matches(['K', 'M']).parse().ok()?;
        Some(number * factor)
    };
    text.lines().filter_map(of).collect()
}

/// What a program printed, and the processor time in nanoseconds that it took.
fn timed(program: &str, words: &[String]) -> Done<(String, f64)> {
    let before = children_ticks()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let text = call(program, &words)?;
    let ticks = (children_ticks()? - before) as f64;
    Ok((text, ticks / rustix::param::clock_ticks_per_second() as f64 * 1e9))
}

/// Processor time of all children that were waited for, in ticks of the clock.
fn children_ticks() -> Done<u64> {
    let text = fs::read_to_string("/proc/self/stat").map_err(|error| error.to_string())?;
    ticks_of(&text).ok_or_else(|| format!("cannot parse: {text}"))
}

/// Fields 16 and 17 of `stat`; the name of the program, which may have blanks, ends with the last bracket.
fn ticks_of(stat: &str) -> Option<u64> {
    let (_, behind) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = behind.split_whitespace().collect();
    let field = |at: usize| fields.get(at - 3)?.parse::<u64>().ok();
    Some(field(16)? + field(17)?)
}

/// So many operations of the engine that does nothing.
fn null(operations: u64) -> Done<()> {
    let job = Job {
        depth: 128,
        time: Duration::from_secs(3600),
        operations: Some(operations),
        ..Job::base(Pattern::Random, Mix::READS, 4096, 0..FILE_BYTES, 1)
    };
    let target = Target { file: None, memory_alignment: 4096 };
    let done = assay_load::run(&job, &EngineKind::Null, &target, &AtomicBool::new(false));
    done.map(drop).map_err(|error| error.to_string())
}

/// Instructions of an operation of the null engine, by callgrind: of twice as many operations less once, so that
/// what starts and ends the program is in neither.
fn instructions() -> Done<f64> {
    let [once, twice] = [COUNTED, 2 * COUNTED].map(collected);
    Ok((twice? - once?) / COUNTED as f64)
}

/// Instructions of this very program that runs so many operations.
fn collected(operations: u64) -> Done<f64> {
    let scratch = Scratch::new("callgrind")?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let file: PathBuf = scratch.path().join("out");
    let run = Command::new(COUNTER)
        .arg("--tool=callgrind")
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(&program)
        .args(["bench-engine", "--null", &operations.to_string()])
        .output()
        .map_err(|error| format!("{COUNTER}: {error}"))?;
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    if !run.status.success() {
        return Err(format!("below {COUNTER}: {}: {text}", run.status));
    }
    count_of(&text).ok_or_else(|| format!("callgrind printed no count: {text}"))
}

/// `==123== Collected : 4567890`.
fn count_of(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

/// Whether an operation has as few instructions as it may; where nobody counts, why.
fn told(instructions: &Done<f64>, most: f64) -> bool {
    match instructions {
        Ok(each) => {
            // The aim is of what people run.
            let aim = if cfg!(debug_assertions) { String::new() } else { aim(*each) };
            println!(
                "null engine, depth 128: {each:.0} instructions per operation (limit {most:.0}){aim}"
            );
            // One that does less than an instruction an operation was not run.
            (1.0..=most).contains(each)
        }
        Err(why) => {
            println!("skipped: instructions per operation: {why}");
            true
        }
    }
}

/// Whether so many are as few as are aimed at.
fn aim(each: f64) -> String {
    let word = if each <= AIMED_INSTRUCTIONS { "met" } else { "missed" };
    format!("; target {AIMED_INSTRUCTIONS:.0}: {word}")
}

/// What a table says of a side, after its name.
fn row(side: Side, at: usize, sides: &[Side], found: &[Rounds]) -> Done<String> {
    let own = &found[at];
    let (iops, cpu_ns) = (middle(&own.iops), middle(&own.cpu_ns));
    let ours = side.ours().and_then(|ours| sides.iter().position(|other| *other == ours));
    let Some(ours) = ours.map(|at| &found[at]) else {
        return Ok(format!("{iops:.0} | - | - | {cpu_ns:.0} | - | - | -"));
    };
    let [rate, low, high] = ratio(&own.iops, &ours.iops)?;
    let [cost, least, most] = ratio(&own.cpu_ns, &ours.cpu_ns)?;
    let aims = match side.aims() {
        Some([slowest, dearest]) if rate >= slowest && cost <= dearest => "met",
        Some(_) => "missed",
        None => "-",
    };
    Ok(format!(
        "{iops:.0} | {rate:.3} | {low:.3} to {high:.3} | {cpu_ns:.0} | {cost:.3} | {least:.3} to {most:.3} | {aims}"
    ))
}

fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// Geometric mean of the paired ratios, second over first, with the ends of its 95% CI.
fn ratio(first: &[f64], second: &[f64]) -> Done<[f64; 3]> {
    let paired = assay_core::stats::paired_ratio(first, second);
    let interval = paired.and_then(|paired| Some((paired.ratio, paired.ci95?)));
    let (ratio, [low, high]) = interval.ok_or("a CI needs three rounds above zero")?;
    Ok([ratio, low, high])
}

fn page(
    head: &[String],
    [rounds, seconds]: [usize; 2],
    sides: &[Side],
    all: &[(&str, Vec<Vec<Rounds>>)],
    instructions: &Done<f64>,
) -> Done<String> {
    let mut page = format!(
        "# The engine compared with fio's t/io_uring\n\n\
         `cargo xtask bench-engine --rounds {rounds} --seconds {seconds}`: 4 KiB random direct reads, one thread,\n\
         registered buffers and file, noatime, waiting for one completion or for 32 at a time, on the same\n\
         written 256 MiB; {rounds} rounds of {seconds} s, in random order per round. The ratio is Assay over the\n\
         other program: the geometric mean of the paired ratios with a 95% CI (t on the log scale). CPU time is\n\
         user and system time of the process, without the worker of a loop device. Targets against t/io_uring:\n\
         0.97 of the IOPS and 1.10 of the CPU time, or 0.95 and 1.15 if both wait for 32 completions.\n\
         \n{}\n\n",
        head.join("\n")
    );
    let measured = |name: &str| all.iter().any(|(own, _)| *own == name);
    for (name, words) in PLACES.into_iter().filter(|(name, _)| measured(name)) {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "- {name}: {words}");
    }
    page.push('\n');
    page.push_str(&bench::table(
        "place | depth | program | IOPS | ratio | 95% CI | CPU ns per operation | ratio | 95% CI | target",
    ));
    for (place, found) in all {
        for (depth, found) in DEPTHS.iter().zip(found) {
            for (at, side) in sides.iter().enumerate() {
                let row = row(*side, at, sides, found)?;
                // Writing to a String cannot fail.
                let _ = writeln!(page, "| {place} | {depth} | {} | {row} |", side.name());
            }
        }
    }
    let each = match instructions {
        Ok(each) => format!("{each:.0} (limit {MOST_INSTRUCTIONS:.0}{})", aim(*each)),
        Err(why) => format!("not counted: {why}"),
    };
    let _ = writeln!(
        page,
        "\nInstructions per operation of the null engine at queue depth 128: {each}."
    );
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_the_ring_test_are_read_second_by_second() {
        let text = "submitter=0, tid=1\npolled=0\nIOPS=81.59K, BW=318MiB/s, IOS/call=1/1\n\
                    IOPS=1.25M, BW=4882MiB/s, IOS/call=1/1\nIOPS=950, BW=3MiB/s\nExiting on timeout\n\
                    Maximum IOPS=1.25M\n";
        let found = ring_rates(text);
        assert_eq!(found.len(), 3, "{found:?}");
        for (one, wanted) in found.iter().zip([81_590.0, 1_250_000.0, 950.0]) {
            assert!((one - wanted).abs() < 1e-6, "{found:?}");
        }
        assert!(ring_rates("no ring\nIOPS=, BW=1\n").is_empty());
    }

    #[test]
    fn the_last_second_of_the_ring_test_counts_as_the_others() {
        assert_eq!(ring_operations(&[100.0, 200.0], 3), 450.0);
        assert_eq!(ring_operations(&[100.0], 2), 200.0);
    }

    #[test]
    fn ticks_of_children_stand_behind_the_name_of_the_program() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 130 70 20 0";
        assert_eq!(ticks_of(stat), Some(200));
        assert_eq!(ticks_of("7 (a) S 1 2"), None);
    }

    #[test]
    fn instructions_are_read_from_what_callgrind_says() {
        let text = "==9== Events    : Ir\n==9== Collected : 48612345\n==9==\n";
        assert_eq!(count_of(text), Some(48_612_345.0));
        assert_eq!(count_of("==9== nothing"), None);
    }

    #[test]
    fn ratios_are_of_ours_that_waits_alike_and_aims_are_held_or_missed() -> Done<()> {
        let rounds = |iops: f64, cpu_ns: f64| Rounds {
            iops: [0.99, 1.0, 1.01].map(|share| iops * share).to_vec(),
            cpu_ns: [0.99, 1.0, 1.01].map(|share| cpu_ns * share).to_vec(),
        };
        let found =
            [rounds(96.0, 108.0), rounds(100.0, 100.0), rounds(96.0, 112.0), rounds(100.0, 100.0)];
        let row = |at: usize| row(Side::ALL[at], at, &Side::ALL, &found);
        assert_eq!(row(0)?, "96 | - | - | 108 | - | - | -");
        assert_eq!(row(1)?, "100 | 0.960 | 0.960 to 0.960 | 100 | 1.080 | 1.080 to 1.080 | missed");
        assert_eq!(row(3)?, "100 | 0.960 | 0.960 to 0.960 | 100 | 1.120 | 1.120 to 1.120 | met");
        Ok(())
    }

    #[test]
    fn a_missing_counter_fails_nothing() {
        assert!(told(&Err("no valgrind".to_owned()), 1.0));
        assert!(told(&Ok(1.0), 1.0) && !told(&Ok(1.1), 1.0) && !told(&Ok(0.0), 1.0));
        assert!(aim(150.0).ends_with(": met") && aim(243.0).ends_with(": missed"));
    }
}
