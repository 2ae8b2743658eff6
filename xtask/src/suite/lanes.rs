//! The order of the steps: what measures and what computes goes on side by side.

use std::fs;
use std::io::{BufRead, BufReader, PipeReader, Write, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::budget::{self, Rows};
use super::cost::{Cost, Ended};
use super::{Bench, Lane, Step, failures};
use crate::lab::Done;

/// Where a step that is a process finds what the steps share.
const SHARED: &str = "ASSAY_SUITE";
/// Priorities: of what only computes, and of guests, which give way to what is measured beside them.
const NICE: &str = "19";
const NICE_OF_GUESTS: &str = "5";

/// Lanes that go on at the same time. What the first one that has steps says is shown at once, of the others when
/// a step ends.
pub const BESIDE: [Lane; 4] = [Lane::Alone, Lane::Measures, Lane::Boots, Lane::Computes];

/// What came of all steps.
pub struct Whole {
    /// A line a step.
    pub lines: Vec<String>,
    /// Why steps failed, in lines.
    pub why: Vec<String>,
    pub well: bool,
    pub cost: Ended,
}

fn nice(lane: Lane) -> Option<&'static str> {
    match lane {
        Lane::Computes => Some(NICE),
        Lane::Boots => Some(NICE_OF_GUESTS),
        Lane::First | Lane::Alone | Lane::Measures | Lane::Last => None,
    }
}

/// What the steps share, in the process of one of them.
pub fn shared() -> Option<PathBuf> {
    std::env::var_os(SHARED).map(PathBuf::from)
}

/// Takes all steps in their lanes.
pub fn take(tier: &str, steps: &[&Step], rows: &Rows, bench: &Bench) -> Done<Whole> {
    let cost = Cost::begin();
    let yardstick = budget::yardstick();
    let gated = std::env::var_os("CI").is_some();
    say(&format!("xtask: this machine takes {yardstick:.2} times as long as that of the rows"));
    let of = |lane: Lane| steps.iter().copied().filter(move |step| step.lane == lane);
    let lanes: Vec<Lane> = BESIDE.into_iter().filter(|lane| of(*lane).count() > 0).collect();
    let shown = lanes.first().copied();
    let going = AtomicUsize::new(lanes.len());
    let one = &Lanes { tier, rows, shared: &bench.shared, yardstick, gated, shown, going };
    let in_lane = |lane: Lane| -> Vec<Taken> { of(lane).map(|step| one.take(step)).collect() };
    let mut taken = beside(of(Lane::First), |step| vec![one.take(step)])?;
    let to_its_end = |lane: Lane| {
        let taken = in_lane(lane);
        one.going.fetch_sub(1, Ordering::Relaxed);
        taken
    };
    taken.extend(beside(lanes.into_iter(), to_its_end)?);
    taken.extend(in_lane(Lane::Last));
    let well = taken.iter().all(|one| one.well);
    let why = taken.iter().flat_map(|one| one.why.iter().cloned()).collect();
    let lines = taken.into_iter().map(|one| one.line).collect();
    Ok(Whole { lines, why, well, cost: cost.end() })
}

/// Takes all of these at the same time.
fn beside<T: Send>(
    these: impl Iterator<Item = T>,
    take: impl Fn(T) -> Vec<Taken> + Sync,
) -> Done<Vec<Taken>> {
    let take = &take;
    let ended: Vec<_> = thread::scope(|scope| {
        let going: Vec<_> = these.map(|one| scope.spawn(move || take(one))).collect();
        going.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    let failed = |_| "a thread of the steps failed".to_owned();
    let taken: Vec<Vec<Taken>> = ended.into_iter().collect::<Result<_, _>>().map_err(failed)?;
    Ok(taken.into_iter().flatten().collect())
}

/// What came of one.
struct Taken {
    line: String,
    /// Why it failed: nothing where it did not.
    why: Vec<String>,
    well: bool,
}

struct Lanes<'l> {
    tier: &'l str,
    rows: &'l Rows,
    shared: &'l Path,
    /// How long this machine takes for a fixed piece of work, against the machine of the rows.
    yardstick: f64,
    /// Whether a step that takes too much fails. Elsewhere than in CI other programs, and builds from
    /// nothing, are part of what it takes.
    gated: bool,
    /// Of the lanes beside each other, the one whose steps are seen at work.
    shown: Option<Lane>,
    /// How many of the lanes beside each other have not ended.
    going: AtomicUsize,
}

impl Lanes<'_> {
    fn take(&self, step: &Step) -> Taken {
        say(&format!("xtask: {} ...", step.name));
        let (word, well, ended) = match self.child(step) {
            Ok((true, ended)) => ("ok".to_owned(), true, Some(ended)),
            Ok((false, ended)) => ("FAILED".to_owned(), false, Some(ended)),
            Err(error) => (format!("FAILED: {error}"), false, None),
        };
        let row = self.rows.get(step.name);
        let told = ended.as_ref().map(|ended| budget::told(ended, row)).unwrap_or_default();
        let over =
            ended.zip(row).and_then(|(ended, row)| budget::over(&ended, row, self.yardstick));
        let refused = over.is_some() && self.gated;
        let line = match &over {
            Some(over) if refused => format!("xtask: {}: FAILED: {over} ({told})", step.name),
            Some(over) => format!("xtask: {}: {word}, {over} ({told})", step.name),
            None => format!("xtask: {}: {word} ({told})", step.name),
        };
        say(&line);
        let why = if well { Vec::new() } else { self.why(step) };
        Taken { line, why, well: well && !refused }
    }

    /// What a step said, as it is kept.
    fn log(&self, step: &Step) -> PathBuf {
        self.shared.join(format!("{}.log", step.name))
    }

    /// What a step that failed said of it.
    fn why(&self, step: &Step) -> Vec<String> {
        let said = fs::read(self.log(step)).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines = failures::told(&said).into_iter();
        lines.map(|line| format!("xtask: {}: {line}", step.name)).collect()
    }

    /// The step as a process.
    fn child(&self, step: &Step) -> Done<(bool, Ended)> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let later = BESIDE.contains(&step.lane) && self.shown != Some(step.lane);
        // What begins when nothing else goes on need not wait for others' programs.
        let is_last = self.going.load(Ordering::Relaxed) <= 1;
        let mut command = match nice(step.lane).filter(|_| !is_last) {
            Some(priority) => {
                let mut nice = Command::new("nice");
                nice.args(["-n", priority]).arg(own);
                nice
            }
            None => Command::new(own),
        };
        command.args(["test", self.tier, "--step", step.name]);
        command.env(SHARED, self.shared).stdin(Stdio::null());
        let log = self.log(step);
        let fail = |error: std::io::Error| format!("{}: {error}", log.display());
        let mut file = fs::File::create(&log).map_err(fail)?;
        let failed = |error: std::io::Error| format!("{}: {error}", step.name);
        if later {
            command.stdout(file.try_clone().map_err(fail)?).stderr(file);
            let ended = Cost::of(command).map_err(failed);
            say(&String::from_utf8_lossy(&fs::read(&log).map_err(fail)?));
            return ended;
        }
        let (said, to) = pipe().map_err(failed)?;
        command.stdout(to.try_clone().map_err(failed)?).stderr(to);
        let shown = thread::spawn(move || show(said, &mut file));
        let ended = Cost::of(command).map_err(failed);
        let kept = shown.join().map_err(|_| format!("{}: its reader failed", step.name))?;
        kept.map_err(fail)?;
        ended
    }
}

/// Shows what comes, line by line, and keeps it.
fn show(said: PipeReader, kept: &mut fs::File) -> std::io::Result<()> {
    let mut said = BufReader::new(said);
    let mut line = Vec::new();
    while said.read_until(b'\n', &mut line)? > 0 {
        kept.write_all(&line)?;
        say(&String::from_utf8_lossy(&line));
        line.clear();
    }
    Ok(())
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody is there to be told that nobody reads.
    let _ = writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush());
}
