//! The order of the steps: what computes goes on beside what measures.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use super::budget::{self, Rows};
use super::cost::{Cost, Ended};
use super::{Bench, Lane, Step};
use crate::lab::Done;

/// Where a step that is a process finds what the steps share.
const SHARED: &str = "ASSAY_SUITE";
/// The file that tells that cargo holds no lock any more and tests run.
const BEGUN: &str = "begun";
/// Priority of what only computes.
const NICE: &str = "19";

/// What came of all steps.
pub struct Whole {
    /// A line a step.
    pub lines: Vec<String>,
    pub well: bool,
    pub cost: Ended,
}

/// What the steps share, in the process of one of them.
pub fn shared() -> Option<PathBuf> {
    std::env::var_os(SHARED).map(PathBuf::from)
}

/// Tells that tests run.
pub fn begun(shared: &Path) -> Done<()> {
    let file = shared.join(BEGUN);
    fs::write(&file, "").map_err(|error| format!("{}: {error}", file.display()))
}

/// Takes all steps in their lanes.
pub fn take(tier: &str, steps: &[&Step], rows: &Rows, bench: &Bench) -> Done<Whole> {
    let cost = Cost::begin();
    let yardstick = budget::yardstick();
    say(&format!("xtask: this machine takes {yardstick:.2} times as long as that of the rows"));
    let one = &Lanes { tier, rows, shared: &bench.shared, yardstick };
    let of = |lane: Lane| steps.iter().copied().filter(move |step| step.lane == lane);
    let mut taken: Vec<Taken> = of(Lane::First).map(|step| one.take(step, false)).collect();
    // What the tests of the first lane left is no sign of the others.
    let _ = fs::remove_file(bench.shared.join(BEGUN));
    let (measured, beside) = thread::scope(|scope| {
        let measures = of(Lane::Measures).count() > 0;
        let beside = scope.spawn(move || {
            one.wait_for_tests(measures);
            of(Lane::Beside).map(|step| one.take(step, measures)).collect::<Vec<_>>()
        });
        let measured: Vec<Taken> = of(Lane::Measures).map(|step| one.take(step, false)).collect();
        // Where they could not begin, nobody waits for them.
        let _ = begun(&bench.shared);
        (measured, beside.join())
    });
    taken.extend(measured);
    taken.extend(beside.map_err(|_| "a thread of the steps failed".to_owned())?);
    taken.extend(of(Lane::Last).map(|step| one.take(step, false)));
    let well = taken.iter().all(|one| one.well);
    Ok(Whole { lines: taken.into_iter().map(|one| one.line).collect(), well, cost: cost.end() })
}

/// What came of one.
struct Taken {
    line: String,
    well: bool,
}

struct Lanes<'l> {
    tier: &'l str,
    rows: &'l Rows,
    shared: &'l Path,
    /// How long this machine takes for a fixed piece of work, against the machine of the rows.
    yardstick: f64,
}

impl Lanes<'_> {
    /// Waits until cargo has built what measures and runs it.
    fn wait_for_tests(&self, measures: bool) {
        while measures && !self.shared.join(BEGUN).exists() {
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn take(&self, step: &Step, beside: bool) -> Taken {
        say(&format!("xtask: {} ...", step.name));
        let (word, well, ended) = match self.child(step, beside) {
            Ok((true, ended)) => ("ok".to_owned(), true, Some(ended)),
            Ok((false, ended)) => ("FAILED".to_owned(), false, Some(ended)),
            Err(error) => (format!("FAILED: {error}"), false, None),
        };
        let row = self.rows.get(step.name);
        let told = ended.as_ref().map(|ended| budget::told(ended, row)).unwrap_or_default();
        let over =
            ended.zip(row).and_then(|(ended, row)| budget::over(&ended, row, self.yardstick));
        let line = match &over {
            Some(over) => format!("xtask: {}: FAILED: {over} ({told})", step.name),
            None => format!("xtask: {}: {word} ({told})", step.name),
        };
        say(&line);
        Taken { line, well: well && over.is_none() }
    }

    /// The step as a process; what one beside others says is shown when it has ended.
    fn child(&self, step: &Step, beside: bool) -> Done<(bool, Ended)> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = if beside {
            let mut nice = Command::new("nice");
            nice.args(["-n", NICE]).arg(own);
            nice
        } else {
            Command::new(own)
        };
        command.args(["test", self.tier, "--step", step.name]);
        command.env(SHARED, self.shared).stdin(Stdio::null());
        let log = self.shared.join(format!("{}.log", step.name));
        let fail = |error: std::io::Error| format!("{}: {error}", log.display());
        if beside {
            let file = fs::File::create(&log).map_err(fail)?;
            command.stdout(file.try_clone().map_err(fail)?).stderr(file);
        }
        let ended = Cost::of(command).map_err(|error| format!("{}: {error}", step.name));
        if beside {
            say(&String::from_utf8_lossy(&fs::read(&log).map_err(fail)?));
        }
        ended
    }
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody is there to be told that nobody reads.
    let _ = writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush());
}
