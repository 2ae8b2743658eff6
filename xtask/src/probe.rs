//! `cargo xtask bench-probe`: what it costs to look at every request by class.
//!
//! Random reads of a loop device over memory, where a request costs as little as it can, with the
//! probe and without it in turns, in an order drawn for each pair: what a request is slowed down
//! shows here at its worst.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use assay_load::{EngineKind, Job, Mix, Pattern, Target};
use assay_sys::{BlockTrace, TraceMeans};

use crate::bench::{Draws, middle};
use crate::lab::volume::{Filesystem, Volume};
use crate::lab::{Done, LoopDevice, is_root};
use crate::options::Options;
use crate::{bench, facts};

const MEBIBYTES: u64 = 256;
const RAMP: Duration = Duration::from_millis(200);
const PAUSE: Duration = Duration::from_millis(50);
/// What the probe may cost at depth 32: this share of the rate.
const MOST_COST: f64 = 0.05;
const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";

/// A depth and a way to look, with what was measured.
struct Case {
    depth: u32,
    means: TraceMeans,
    /// IOPS pair by pair: without and with the probe.
    off: Vec<f64>,
    on: Vec<f64>,
    /// Requests that were read and those that were counted, with the probe.
    read: u64,
    counted: u64,
    lost: u64,
}

pub fn run(options: &Options) -> Done<bool> {
    if !is_root() {
        return Err("needs root (for a loop device and a program in the kernel)".to_owned());
    }
    let (pairs, time) = (options.number("--rounds"), options.number("--milliseconds"));
    if cfg!(debug_assertions) {
        return bench::optimised("bench-probe", options, &["--rounds", "--milliseconds"]);
    }
    let head = facts::lines();
    let volume = Volume::new(Filesystem::Tmpfs, MEBIBYTES + 64)?;
    let device = LoopDevice::new(volume.directory().join("image"), MEBIBYTES)?;
    fs::write(&device.image, vec![0x5a; (MEBIBYTES << 20) as usize])
        .map_err(|error| format!("{}: {error}", device.image.display()))?;
    let number = number(&device)?;
    let time = Duration::from_millis(time as u64);
    let mut draws = Draws::new();
    let mut cases = cases(number);
    for pair in 1..=pairs {
        for case in &mut cases {
            for on in draws.both() {
                case.measure(&device, number, time, draws.next(), on)?;
            }
        }
        println!("pair {pair} of {pairs}");
    }
    let programs = programs(&device, number, time)?;
    let (page, holds) = page(&head, pairs, time, &cases, &programs)?;
    println!();
    bench::keep(options, "block-latency.md", &page)?;
    Ok(holds)
}

/// Both depths by each way that this kernel offers; says which it does not.
fn cases(number: (u32, u32)) -> Vec<Case> {
    let mut found = Vec::new();
    for means in [TraceMeans::Bpf, TraceMeans::BpfRequests, TraceMeans::Tracefs] {
        if let Err(error) = BlockTrace::begin(&[number], means) {
            println!("{means:?} is left out: {error}");
            continue;
        }
        let case = |depth| Case {
            depth,
            means,
            off: Vec::new(),
            on: Vec::new(),
            read: 0,
            counted: 0,
            lost: 0,
        };
        found.extend([32, 1].map(case));
    }
    found
}

impl Case {
    fn measure(
        &mut self,
        device: &LoopDevice,
        number: (u32, u32),
        time: Duration,
        seed: u64,
        on: bool,
    ) -> Done<()> {
        let fail = |error: std::io::Error| format!("{:?}: {error}", self.means);
        // To begin takes a while, after which a busy machine owes this process time: both sides begin.
        let mut trace = Some(BlockTrace::begin(&[number], self.means).map_err(fail)?);
        trace = trace.filter(|_| on);
        thread::sleep(PAUSE);
        let (rate, operations) = reads(device.device(), self.depth, time, seed)?;
        let Some(mut trace) = trace else {
            self.off.push(rate);
            return Ok(());
        };
        let totals = trace.read().map_err(fail)?;
        self.on.push(rate);
        self.read += operations;
        self.counted += totals.devices[0][0].requests;
        self.lost += totals.lost_events + totals.unrecorded;
        Ok(())
    }

    const fn name(&self) -> &'static str {
        match self.means {
            TraceMeans::Bpf => "BPF",
            TraceMeans::BpfRequests => "BPF, each request",
            TraceMeans::Tracefs => "tracefs",
        }
    }
}

/// Reads per second within the time, and how many there were.
fn reads(device: &str, depth: u32, time: Duration, seed: u64) -> Done<(f64, u64)> {
    let direct = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(direct).open(device);
    let file = file.map_err(|error| format!("{device}: {error}"))?;
    let job = Job {
        depth,
        ramp: RAMP,
        time,
        ..Job::base(Pattern::Random, Mix::READS, 4096, 0..MEBIBYTES << 20, seed)
    };
    let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
    let outcome = assay_load::run(&job, &EngineKind::IoUring, &target, &AtomicBool::new(false))
        .map_err(|error| error.to_string())?;
    let operations: u64 = outcome.classes.iter().map(|class| class.operations).sum();
    Ok((operations as f64 / (outcome.window_ns as f64 / 1e9), operations))
}

/// What each program costs by the kernel's own clocks, at depth 32: runs and nanoseconds. Apart from
/// the pairs, because to look at the clocks costs more than the programs do.
fn programs(
    device: &LoopDevice,
    number: (u32, u32),
    time: Duration,
) -> Done<Vec<(String, u64, u64)>> {
    let Ok(before) = fs::read_to_string(STATISTICS) else { return Ok(Vec::new()) };
    let Ok(trace) = BlockTrace::begin(&[number], TraceMeans::Bpf) else { return Ok(Vec::new()) };
    fs::write(STATISTICS, "1").map_err(|error| format!("{STATISTICS}: {error}"))?;
    let ran = reads(device.device(), 32, time, 1);
    let costs = trace.program_costs();
    fs::write(STATISTICS, before).map_err(|error| format!("{STATISTICS}: {error}"))?;
    ran.map(|_| costs)
}

fn number(device: &LoopDevice) -> Done<(u32, u32)> {
    let text = device.number()?;
    let (major, minor) = text.split_once(':').ok_or("the device has no number")?;
    let parsed = major.parse().ok().zip(minor.parse().ok());
    parsed.ok_or_else(|| format!("the number {text} is not understood"))
}

fn page(
    head: &[String],
    pairs: usize,
    time: Duration,
    cases: &[Case],
    programs: &[(String, u64, u64)],
) -> Done<(String, bool)> {
    let mut page = format!(
        "# What block-latency costs\n\n\
         `cargo xtask bench-probe --rounds {pairs} --milliseconds {}`: 4 KiB random reads, direct, io_uring, one\n\
         thread, of a loop device over a file in memory (loop with direct I/O), where a request costs as little\n\
         as it can; {pairs} pairs, in each of which every case runs with the probe and without it, in an order\n\
         drawn for each pair; {} ms of ramp. The ratio is with / without: geometric mean of the paired ratios\n\
         with its 95 % t interval on the log scale. Target: at depth 32 by BPF no less than {:.2}.\n\n{}\n\n",
        time.as_millis(),
        RAMP.as_millis(),
        1.0 - MOST_COST,
        head.join("\n")
    );
    page.push_str(&bench::table(
        "means | depth | without, IOPS | with, IOPS | ratio | 95 % interval | counted | lost events",
    ));
    let mut holds = true;
    for case in cases {
        let [ratio, low, high] = bench::ratio(&case.off, &case.on)?;
        holds &= case.depth == 1 || case.means != TraceMeans::Bpf || ratio >= 1.0 - MOST_COST;
        // Those of the ramp are counted too.
        let whole = if case.counted >= case.read { "all" } else { "NOT ALL" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| {} | {} | {:.0} | {:.0} | {ratio:.3} | {low:.3} to {high:.3} | {whole} | {} |",
            case.name(),
            case.depth,
            middle(&case.off),
            middle(&case.on),
            case.lost
        );
    }
    page.push_str(
        "\nIOPS are medians over the pairs. Where each request is handed out as well, nobody takes any meanwhile: those \
         that find no room are counted among what is lost.\n",
    );
    page.push_str(&told(programs));
    Ok((page, holds))
}

/// The table of the programs.
fn told(programs: &[(String, u64, u64)]) -> String {
    let ran: Vec<_> = programs.iter().filter(|(_, runs, _)| *runs > 0).collect();
    if ran.is_empty() {
        return "The kernel did not count what the programs cost.\n".to_owned();
    }
    let mut text = "\nWhat each program takes, by the kernel (`kernel.bpf_stats_enabled`, whose own two looks at the \
                    clock are in it), depth 32:\n\n"
        .to_owned();
    text.push_str(&bench::table("program | runs | ns each"));
    for (name, runs, ns) in ran {
        let _ = writeln!(text, "| {name} | {runs} | {:.0} |", *ns as f64 / *runs as f64);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_never_ran_have_no_row() {
        let programs = [("one".to_owned(), 10, 250), ("none".to_owned(), 0, 0)];
        let text = told(&programs);
        assert!(text.contains("| one | 10 | 25 |") && !text.contains("none"), "{text}");
        assert!(told(&[]).contains("did not count"));
    }
}
