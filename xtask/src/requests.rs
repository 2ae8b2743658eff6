//! `cargo xtask bench-requests`: whether a recording of each request is complete at a rate, what it costs whom it
//! watches, how faithful loads are played again, and what a study of the same recording twice says.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use assay_load::{Arrivals, EngineKind, Job, Mix, Outcome, Pattern, Schedule, Target};
use serde_json::Value;

use crate::bench::{Draws, middle};
use crate::lab::loads::{self, LIMIT, Load, MEBIBYTES};
use crate::lab::process::Assay;
use crate::lab::slow::SlowLane;
use crate::lab::volume::{Filesystem, Volume};
use crate::lab::{Done, LoopDevice, is_root};
use crate::options::Options;
use crate::{bench, facts};

/// Requests a second that a recording is to hold.
const RATE_PER_S: u64 = 20_000;
const READ_BYTES: u64 = 4096;
const RAMP: Duration = Duration::from_millis(200);
/// From when `watch` is started until it records, at most, and from the end of the work to its own.
const AROUND_S: u64 = 3;
/// Of twenty studies of the same recording twice so many are to find it equivalent.
const EQUIVALENT: usize = 17;
/// Writes a second that are recorded to be played twice, and how many of them a control group lets through then: the
/// later one is meant to start, the longer it waits, and what the group counts by the tenth of a second is little
/// beside that. The device never holds so many at once that one could not start in time.
const ASKED_PER_S: u64 = 150;
const WRITES_PER_S: u32 = 60;
/// How many they are, after one that comes first: a group counts by the tenth of a second, and after this pause it
/// has forgotten what was before, so that each play begins alike.
const ASKED: u64 = 150;
const PAUSE: Duration = Duration::from_millis(400);
/// How long they are recorded for, and when they begin after `watch` was started.
const ASKED_FOR: &str = "4s";
const BEGINS: Duration = Duration::from_millis(1500);
/// Where they lie: less than what a study fills of a device that is so slow.
const ASKED_BYTES: u64 = 8 << 20;
/// Seconds of each load that are recorded.
const LOAD_S: u64 = 10;

/// A loop device in memory, and the program with a home of its own. The device is taken down first.
struct Site {
    device: LoopDevice,
    assay: Assay,
    volume: Volume,
}

/// What one recording at the rate came to.
struct Kept {
    /// Operations that were done while it went on.
    done: u64,
    requests: u64,
    /// Of all of them.
    bytes: u64,
    unrecorded: u64,
    file_bytes: u64,
    memory_bytes: u64,
}

/// Mean nanoseconds of an operation, pair by pair, without and with a recording; and the recordings.
#[derive(Default)]
struct Cost {
    off: Vec<f64>,
    on: Vec<f64>,
    kept: Vec<Kept>,
}

pub fn run(options: &Options) -> Done<bool> {
    if !is_root() {
        return Err("needs root (for a loop device and a program in the kernel)".to_owned());
    }
    if cfg!(debug_assertions) {
        let numbers = ["--rounds", "--seconds", "--studies", "--margin"];
        return bench::optimised("bench-requests", options, &numbers);
    }
    let (program, _) = bench::program(options)?;
    let head = facts::lines();
    let site = Site::new(&program)?;
    let (rounds, seconds) = (options.number("--rounds"), options.number("--seconds") as u64);
    let cost = site.cost(rounds, seconds)?;
    let plays = site.plays()?;
    let (studies, margin) = (options.number("--studies"), options.number("--margin"));
    let verdicts = site.twice(studies, margin)?;
    let mut page = opening(&head, rounds, seconds);
    let complete = of_cost(&mut page, &cost)?;
    of_plays(&mut page, &plays);
    let alike = of_verdicts(&mut page, &verdicts, (studies, margin));
    println!();
    bench::keep(options, "requests.md", &page)?;
    Ok(complete && alike)
}

impl Site {
    fn new(program: &Path) -> Done<Self> {
        let volume = Volume::new(Filesystem::Tmpfs, MEBIBYTES + 128)?;
        let device = LoopDevice::new(volume.directory().join("image"), MEBIBYTES)?;
        fs::write(&device.image, vec![0x5a; (MEBIBYTES << 20) as usize])
            .map_err(|error| format!("{}: {error}", device.image.display()))?;
        let home = volume.scratch().folder("home", 0o755, None)?;
        let assay = Assay::new(program, &home);
        Ok(Self { device, assay, volume })
    }

    /// The work at the rate with a recording and without, in turns.
    fn cost(&self, rounds: usize, seconds: u64) -> Done<Cost> {
        let mut draws = Draws::new();
        let mut cost = Cost::default();
        for round in 1..=rounds {
            for on in draws.both() {
                let seed = draws.next();
                if on {
                    let (mean_ns, kept) = self.recorded(seconds, round, seed)?;
                    cost.on.push(mean_ns);
                    cost.kept.push(kept);
                } else {
                    cost.off.push(self.reads(seconds, seed)?.0);
                }
            }
            println!("round {round} of {rounds}");
        }
        Ok(cost)
    }

    fn recorded(&self, seconds: u64, round: usize, seed: u64) -> Done<(f64, Kept)> {
        let (name, time) = (format!("round-{round}"), format!("{}s", seconds + 2 * AROUND_S));
        let device = self.device.name();
        let words = ["watch", device, "--for", &time, "--quiet", "--record-requests", &name];
        let watching = self.assay.start(&words)?;
        thread::sleep(Duration::from_secs(AROUND_S));
        let (mean_ns, done) = self.reads(seconds, seed)?;
        let memory_bytes = watching.most_memory()?;
        let ended = watching.end(LIMIT)?;
        if ended.code != 0 {
            return Err(format!("nothing was recorded: {}", ended.stderr));
        }
        let shown = self.assay.run(&["show", &name, "--json"], LIMIT)?.json()?;
        let recorded = &shown["requests"][0]["recorded"];
        let number = |key: &str| recorded[key].as_u64().unwrap_or_default();
        let kept = Kept {
            done,
            requests: number("requests"),
            bytes: recorded["devices"][device]["classes"]["read"]["bytes"]
                .as_u64()
                .unwrap_or_default(),
            unrecorded: number("unrecorded"),
            file_bytes: number("file_bytes"),
            memory_bytes,
        };
        Ok((mean_ns, kept))
    }

    /// Random reads at the rate: mean nanoseconds of service, and how many there were with those before the window.
    fn reads(&self, seconds: u64, seed: u64) -> Done<(f64, u64)> {
        let schedule = Schedule { rate_per_s: RATE_PER_S, arrivals: Arrivals::Poisson };
        let job = Job {
            schedule: Some(schedule),
            depth: 64,
            ramp: RAMP,
            time: Duration::from_secs(seconds),
            ..Job::base(Pattern::Random, Mix::READS, READ_BYTES as u32, 0..MEBIBYTES << 20, seed)
        };
        let outcome = self.done(&job, &AtomicBool::new(false))?;
        let class = outcome.classes.first().ok_or("nothing was read")?;
        Ok((class.latency_ns.mean(), outcome.totals.read_operations))
    }

    /// Records writes at a slow and even rate under a name, all of them.
    fn record_writes(&self, name: &str) -> Done<()> {
        let first = Job {
            operations: Some(1),
            depth: 4,
            time: loads::LIMIT,
            ..Job::base(Pattern::Random, Mix::WRITES, 4096, 0..ASKED_BYTES, 1)
        };
        let rest = Job {
            schedule: Some(Schedule { rate_per_s: ASKED_PER_S, arrivals: Arrivals::Fixed }),
            operations: Some(ASKED),
            ..first.clone()
        };
        let device = self.device.name();
        let never = AtomicBool::new(false);
        thread::scope(|scope| {
            let writes = scope.spawn(|| {
                thread::sleep(BEGINS);
                self.done(&first, &never)?;
                thread::sleep(PAUSE);
                self.done(&rest, &never)
            });
            let words = ["watch", device, "--for", ASKED_FOR, "--quiet", "--record-requests", name];
            let seen = self.assay.run(&words, LIMIT);
            let written = writes.join().map_err(|_| "the writes panicked")?;
            let seen = seen?;
            written?;
            if seen.code == 0 {
                Ok(())
            } else {
                Err(format!("{name} was not recorded: {}", seen.stderr))
            }
        })
    }

    fn done(&self, job: &Job, stop: &AtomicBool) -> Done<Outcome> {
        let path = self.device.device();
        let direct = rustix::fs::OFlags::DIRECT.bits().cast_signed();
        let file = OpenOptions::new().read(true).write(true).custom_flags(direct).open(path);
        let file = file.map_err(|error| format!("{path}: {error}"))?;
        let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
        assay_load::run(job, &EngineKind::IoUring, &target, stop).map_err(|error| error.to_string())
    }

    /// Each load that can be made here, recorded and played once: its name and how faithful that was.
    fn plays(&self) -> Done<Vec<(&'static str, Result<Value, String>)>> {
        let mut plays = Vec::new();
        for load in Load::ALL {
            if let Some(reason) = load.missing() {
                plays.push((load.name(), Err(reason)));
                continue;
            }
            load.record(&self.assay, &self.device, LOAD_S)?;
            let found = self.played(&self.assay, &study(load.name(), 1, "", ""))?;
            plays.push((load.name(), Ok(found["replay"][0]["fidelity"].clone())));
            println!("{} was played", load.name());
        }
        Ok(plays)
    }

    /// Studies of one recording under two names: how often which verdict. The device takes fewer writes than were
    /// recorded, so that what it makes users wait follows from that: a loop device in memory alone changes by half
    /// from one play to the next.
    fn twice(&self, studies: usize, margin: usize) -> Done<BTreeMap<String, usize>> {
        self.record_writes("writes")?;
        let lane = SlowLane::new(&self.device.number()?, WRITES_PER_S)?;
        let through = lane.through();
        let through: Vec<&str> = through.iter().map(String::as_str).collect();
        let slowed = self.assay.through(&through);
        let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
        for seed in 1..=studies {
            let factors = "[factors]\ncopy = [\"a\", \"b\"]\n\n";
            let more = format!("margin = \"{margin} %\"\nprimary = \"response_mean_ns\"\n");
            let text = study("writes", seed, &more, factors);
            let found = self.played(&slowed, &text)?;
            let compared = found["comparisons"].as_array().into_iter().flatten();
            let mut compared = compared.filter(|own| own["primary"] == true);
            let verdict = compared.next().and_then(|own| own["verdict"].as_str());
            let verdict = verdict.unwrap_or("none").to_owned();
            println!("study {seed} of {studies}: {verdict}");
            *verdicts.entry(verdict).or_default() += 1;
        }
        Ok(verdicts)
    }

    fn played(&self, assay: &Assay, study: &str) -> Done<Value> {
        let file = self.volume.scratch().path().join("again.toml");
        fs::write(&file, study).map_err(|error| format!("{}: {error}", file.display()))?;
        let ended = loads::play(assay, &file, &[&self.device], MEBIBYTES)?;
        serde_json::from_str(&ended.stdout).map_err(|_| ended.stderr)
    }
}

/// A study that plays a recording.
fn study(recording: &str, seed: usize, more: &str, factors: &str) -> String {
    format!(
        "format = \"assay-study/1\"\ntitle = \"Again\"\nreplicates = 6\nseed = {seed}\n{more}\n{factors}\
         [[workload]]\nname = \"again\"\nreplay = {{ recording = \"{recording}\" }}\n"
    )
}

fn opening(head: &[String], rounds: usize, seconds: u64) -> String {
    format!(
        "# Requests one by one, recorded and played again\n\n\
         `cargo xtask bench-requests --rounds {rounds} --seconds {seconds}`: on a loop device over a file in memory.\n\n{}\n\n\
         ## Recorded\n\n\
         4 KiB random reads, direct, io_uring, {RATE_PER_S} a second (Poisson), for {seconds} s, with\n\
         `assay watch --record-requests` of the device beside them and without it, in turns, in an order drawn for\n\
         each pair. A recording is complete where all bytes that were read stand in it, or are counted as some\n\
         that do not. What recording costs at full speed stands in [block-latency.md](block-latency.md).\n\n",
        head.join("\n")
    )
}

/// Whether each recording has what was done, or says what it has not.
fn of_cost(page: &mut String, cost: &Cost) -> Done<bool> {
    page.push_str(&bench::table(
        "round | done | bytes | recorded | bytes | counted and not recorded | bytes a request | memory of watch",
    ));
    let mut complete = true;
    for (round, kept) in cost.kept.iter().enumerate() {
        let done_bytes = kept.done * READ_BYTES;
        complete &= kept.bytes + kept.unrecorded * READ_BYTES >= done_bytes;
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| {} | {} | {done_bytes} | {} | {} | {} | {:.1} | {} MiB |",
            round + 1,
            kept.done,
            kept.requests,
            kept.bytes,
            kept.unrecorded,
            kept.file_bytes as f64 / kept.requests.max(1) as f64,
            kept.memory_bytes >> 20
        );
    }
    let [ratio, low, high] = bench::ratio(&cost.off, &cost.on)?;
    let [off, on] = [&cost.off, &cost.on].map(|own| middle(own) / 1e3);
    let is = if complete { "Each is complete" } else { "Not each is complete" };
    let _ = writeln!(
        page,
        "\n{is}. A read took {off:.1} us without a recording and {on:.1} us with one (medians of the means of rounds): \
         {ratio:.3} times as long (geometric mean of the pairs, 95 % t interval {low:.3} to {high:.3}).\n"
    );
    Ok(complete)
}

fn of_plays(page: &mut String, plays: &[(&str, Result<Value, String>)]) {
    let _ = writeln!(
        page,
        "## Played\n\nEach load recorded for {LOAD_S} s and played six times on the same device by the open clock; the \
         least faithful trial. Wanted: time within 0.5 %, distance of starts below 0.02, all bytes of each kind.\n"
    );
    page.push_str(&bench::table(
        "load | requests | played | bytes | played | time, played over recorded | distance of starts | late",
    ));
    for (name, told) in plays {
        let told = match told {
            Ok(told) => told,
            Err(reason) => {
                let _ = writeln!(page, "| {name} | {reason} | - | - | - | - | - | - |");
                continue;
            }
        };
        let acts = || told["acts"].as_object().into_iter().flatten().map(|(_, own)| own);
        let sum = |side: &str, what: &str| -> u64 {
            acts().filter_map(|own| own[side][what].as_u64()).sum()
        };
        let number = |key: &str| told[key].as_f64().unwrap_or_default();
        let _ = writeln!(
            page,
            "| {name} | {} | {} | {} | {} | {:.5} | {:.4} | {:.2} % |",
            sum("recorded", "operations"),
            sum("played", "operations"),
            sum("recorded", "bytes"),
            sum("played", "bytes"),
            number("played_ns") / number("recorded_ns").max(1.0),
            number("arrival_distance"),
            100.0 * number("late_share")
        );
    }
}

/// Whether enough of the studies found the same recording equivalent to itself.
fn of_verdicts(
    page: &mut String,
    verdicts: &BTreeMap<String, usize>,
    (studies, margin): (usize, usize),
) -> bool {
    let _ = writeln!(
        page,
        "\n## The same twice\n\n{ASKED} writes at random places, {ASKED_PER_S} a second, and one {PAUSE:?} before them. {studies} studies play \
         them under two names (factor `copy`) by the open clock, six replicates, margin {margin} %, compared by the mean response, on the \
         device held to {WRITES_PER_S} writes a second by a control group, which forgets in the pause what it let through before (without it plays took turns to wait 5 % \
         longer, and studies said so). Wanted: *equivalent* in at least {EQUIVALENT} of 20. Without \
         that the times of a loop device in memory change by half and more from one play to the next on a machine that \
         is shared, and six replicates make nothing equivalent to itself.\n"
    );
    page.push_str(&bench::table("verdict | studies"));
    for (verdict, count) in verdicts {
        let _ = writeln!(page, "| {verdict} | {count} |");
    }
    let equivalent = verdicts.get("equivalent").copied().unwrap_or_default();
    equivalent * 20 >= EQUIVALENT * studies
}
