//! One trial: a child process of Assay allocates the pages under its limit.

use std::path::Path;
use std::time::Duration;

use assay_core::outside;
use assay_core::presence::Presence;
use assay_core::quantity::Metric;
use assay_core::quantity::units::show;
use assay_load::new_histogram;
use assay_machine::system::execute::{self, Ending};
use assay_machine::system::{Executed, Execution};

use super::child::{ChildCounters, ChildJob, ChildLine, ChildResult};
use super::detail::{KillStage, MemoryDetail};
use super::metrics;
use super::planned::MemoryPlan;
use crate::measured::{KnownAndAbsent, Measured, RunResult, known_and_absent, percentile};
use crate::place::{Run, own_program};

const FILLING: Duration = Duration::from_secs(180);
const HEARD_BYTES: u64 = 8 << 20;
const TRIED_BYTES: u64 = 4 << 20;
const TRIED_NS: u64 = 20_000_000;
const CLASS: &str = "access";
const KILL: i32 = 9;

/// Runs a child process with the pages. The memory limit may kill it: this is a result, too.
pub(super) fn run(planned: &MemoryPlan, run: &Run<'_>) -> Result<RunResult, String> {
    let job = ChildJob {
        pages: planned.clone(),
        ramp_ns: run.ramp_ns,
        time_ns: run.time_ns,
        seed: run.seed,
    };
    let (executed, lines) = run_child(&job, run)?;
    let page_bytes = run.system.page_bytes();
    match executed.ending {
        Ending::Exited(0) => {
            let Some(ChildLine::Done(done)) =
                lines.into_iter().find(|line| matches!(line, ChildLine::Done(_)))
            else {
                return Err("the process with the test pages reported no result".to_owned());
            };
            Ok(finished_result(planned, &done, executed.wall_ns, page_bytes))
        }
        Ending::Stopped => Ok(unfinished_result(planned, &lines, None, &executed)),
        _ if is_killed(&executed, planned) => {
            let stage = match lines.last() {
                Some(ChildLine::Touching) => KillStage::Touching,
                _ => KillStage::Filling,
            };
            Ok(unfinished_result(planned, &lines, Some(stage), &executed))
        }
        Ending::TimedOut => Err(format!(
            "cannot fill and access {} within {}: swap is too slow for this working set",
            show::bytes(planned.set_bytes),
            show::duration((FILLING.as_nanos() as u64 + run.time_ns) as f64)
        )),
        Ending::Exited(_) | Ending::Signalled(_) => Err(format!(
            "the process with the test pages failed: {}",
            outside::spelled(executed.complaint.trim().trim_start_matches("assay: "))
        )),
    }
}

fn is_killed(executed: &Executed, planned: &MemoryPlan) -> bool {
    match executed.memory_kills.value() {
        Some(kills) => *kills > 0,
        // If the kernel does not count kills, no other process would send this signal.
        None => executed.ending == Ending::Signalled(KILL) && planned.limit.is_some(),
    }
}

/// Tries a process under this limit; returns the cost of an access.
pub(super) fn pilot(planned: &MemoryPlan, run: &Run<'_>) -> Result<u64, String> {
    let pages = MemoryPlan { set_bytes: TRIED_BYTES, ..planned.clone() };
    let job = ChildJob { pages, ramp_ns: 0, time_ns: TRIED_NS, seed: run.seed };
    let done = self::run(&job.pages, &Run { ramp_ns: 0, time_ns: TRIED_NS, ..*run })?;
    if let Some(killed) = MemoryDetail::of(&done.measured).and_then(MemoryDetail::kill_words) {
        return Err(killed);
    }
    Ok((done.measured.window_ns / done.measured.operations().max(1)).max(1))
}

/// Runs the child process under the limit; returns how it ended, and the lines that it printed.
fn run_child(job: &ChildJob, run: &Run<'_>) -> Result<(Executed, Vec<ChildLine>), String> {
    let program = own_program(run.system)?;
    let job_text = serde_json::to_string(job).map_err(|error| error.to_string())?;
    let words = [program, "hold-pages".to_owned(), job_text];
    let time = Duration::from_nanos(job.ramp_ns.saturating_add(job.time_ns));
    let execution = Execution {
        words: &words,
        directory: Path::new("/"),
        passed: &execute::passed(run.system, &[]),
        environment: &[],
        caller: None,
        input: None,
        timeout: Some(FILLING.saturating_add(time)),
        stop: run.stop,
        memory: job.pages.limit,
        heard_bytes: HEARD_BYTES,
        hashed: false,
        counted: false,
    };
    let executed = run.system.execute(&execution);
    let executed = executed
        .map_err(|error| format!("cannot start the process for the test pages: {error}"))?;
    // The last line of a killed process may be incomplete.
    let heard = executed.heard.text();
    let lines = heard.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    drop(heard);
    Ok((executed, lines))
}

fn filled_bytes(lines: &[ChildLine]) -> u64 {
    let filled = lines.iter().filter_map(|line| match line {
        ChildLine::Filled(bytes) => Some(*bytes),
        _ => None,
    });
    filled.max().unwrap_or(0)
}

/// The result of a process that was killed or stopped: the bytes that it reached, and no rates.
fn unfinished_result(
    planned: &MemoryPlan,
    lines: &[ChildLine],
    killed: Option<KillStage>,
    executed: &Executed,
) -> RunResult {
    let detail = MemoryDetail {
        set_bytes: planned.set_bytes,
        reached_bytes: filled_bytes(lines),
        killed,
        accesses: 0,
        fill_ns: 0,
        held: None,
    };
    let why = detail.kill_words().unwrap_or_else(|| "it was stopped".to_owned());
    let reached = Presence::Present(detail.reached_bytes as f64);
    let is_killed = Presence::Present(if killed.is_some() { 1.0 } else { 0.0 });
    let with_value = |metric: &Metric| match metric.name {
        name if name == metrics::REACHED.name => (*metric, reached.clone()),
        name if name == metrics::KILLED.name => (*metric, is_killed.clone()),
        _ => (*metric, Presence::absent(why.clone())),
    };
    let (values, absent) = known_and_absent(metrics::METRICS.iter().map(with_value));
    let cpu_ns = executed.user_ns.saturating_add(executed.system_ns);
    RunResult::new(
        Measured {
            elapsed_ns: executed.wall_ns,
            cpu_ns,
            values,
            absent,
            ..Measured::from_detail(detail)
        },
        executed.ending == Ending::Stopped,
    )
}

fn finished_result(
    planned: &MemoryPlan,
    done: &ChildResult,
    elapsed_ns: u64,
    page_bytes: u64,
) -> RunResult {
    let mut latency_ns = new_histogram();
    for (value, count) in &done.latency_ns {
        latency_ns.saturating_record_n(*value, *count);
    }
    let (values, absent) = metric_values(planned, done, &latency_ns, page_bytes);
    let detail = MemoryDetail {
        set_bytes: planned.set_bytes,
        reached_bytes: planned.set_bytes,
        killed: None,
        accesses: latency_ns.len(),
        fill_ns: done.fill_ns,
        held: Some(done.held.clone()),
    };
    let measured = Measured {
        window_ns: done.window_ns,
        elapsed_ns,
        cpu_ns: done.cpu_ns,
        waited_ns: done.waited_ns,
        values,
        absent,
        ..Measured::from_detail(detail)
    };
    RunResult {
        histograms: [(CLASS.to_owned(), latency_ns)].into(),
        ..RunResult::new(measured, false)
    }
}

fn metric_values(
    planned: &MemoryPlan,
    done: &ChildResult,
    latency_ns: &hdrhistogram::Histogram<u64>,
    page_bytes: u64,
) -> KnownAndAbsent {
    let accesses = latency_ns.len();
    let window_s = done.window_ns.max(1) as f64 / 1e9;
    let each = |amount: f64| match accesses {
        0 => Presence::absent("no page was accessed"),
        _ => Presence::Present(amount / accesses as f64),
    };
    let ChildCounters { major_faults, swapped, waited_ns } = &done.after;
    let faults = difference(&done.before.major_faults, major_faults);
    // The counters are pairs: pages swapped in and out, and waits of some and of all tasks.
    let swapped = |which: usize| {
        let pages = difference_at(&done.before.swapped, swapped, which);
        pages.map(|pages| pages as f64 * page_bytes as f64 / window_s)
    };
    let waited = |which: usize| {
        let ns = difference_at(&done.before.waited_ns, waited_ns, which);
        ns.map(|ns| (ns as f64 / done.window_ns.max(1) as f64).min(1.0))
    };
    let memory = done.held.memory_bytes().map(|bytes| bytes.max(1) as f64);
    known_and_absent([
        (metrics::RATE, Presence::Present(accesses as f64 / window_s)),
        (metrics::P50, percentile(latency_ns, 0.5, "accesses")),
        (metrics::P99, percentile(latency_ns, 0.99, "accesses")),
        (metrics::LONGEST, Presence::Present(latency_ns.max() as f64)),
        (metrics::PROCESSOR, each(done.cpu_ns as f64)),
        (metrics::FAULTS, faults.map(|faults| faults as f64 / accesses.max(1) as f64)),
        (metrics::SWAPPED_IN, swapped(0)),
        (metrics::SWAPPED_OUT, swapped(1)),
        (metrics::SOME, waited(0)),
        (metrics::FULL, waited(1)),
        (metrics::REACHED, Presence::Present(planned.set_bytes as f64)),
        (metrics::KILLED, Presence::Present(0.0)),
        (metrics::HELD, memory.map(|bytes| planned.set_bytes as f64 / bytes)),
    ])
}

fn difference(before: &Presence<u64>, after: &Presence<u64>) -> Presence<u64> {
    before.both(after, |before, after| after.saturating_sub(*before))
}

fn difference_at(
    before: &Presence<[u64; 2]>,
    after: &Presence<[u64; 2]>,
    which: usize,
) -> Presence<u64> {
    before.both(after, |before, after| after[which].saturating_sub(before[which]))
}
