//! Micro-benchmarks: one basic operation of the machine, again and again in one thread.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::{Form, Need};
use assay_core::outside;
use assay_core::quantity::{Bytes, Metric, Time};
use assay_load::MicroOutcome;
use serde::{Deserialize, Serialize};

use super::keys::{keys, runtime};
use super::measured::{Counts, Measured, RunResult};
use super::place::{Offer, Run, own_program, run_without_limit};
use super::workload::{Basis, ManualCommand, ManualRun, PlannedWork, WorkloadKind, WorkloadSpec};
use crate::metrics::{higher, lower};

pub use assay_load::Micro as Operation;

/// Time of a trial where neither the workload nor a budget sets one.
const TRIAL: Time = Time(1_000_000_000);
const QUICK: Time = Time(300_000_000);
/// Longest time of one process: a longer trial has several, one after the other.
const PIECE_NS: u64 = 1_000_000_000;
const LOOK_NS: u64 = 20_000_000;

keys! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct MicroSpec {
        operation: Operation = Operation::Syscall => {
            words: "operation to repeat: dependent arithmetic, first touch of new pages, fork and exit, or a system call \
                    (getppid)",
            form: Form::Word(|| Operation::ALL.map(Operation::name).to_vec()),
            need: Need::Always,
            example: "operation = \"syscall\"",
        }
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runtime: Option<Time> = None => {
            words: "duration of a trial",
            form: Form::Time { least: Time(1) },
            example: "runtime = \"1 s\"",
        }
    }
}

const RATE: Metric = higher(
    "micro_operations_per_s",
    "operations per second",
    "operations per second of a micro-benchmark in a single thread",
);
const COST: Metric = lower(
    "micro_operation_ns",
    "time of an operation",
    "time per operation of a micro-benchmark, mean of a trial",
);

impl WorkloadKind for MicroSpec {
    const ABOUT: About = About {
        name: "micro",
        summary: "micro-benchmark of one basic operation",
        text: "A separate single-threaded process repeats one operation: dependent arithmetic, the first touch of new \
               anonymous pages, fork and exit, or a minimal system call. Assay chooses the batch size so that a batch \
               takes half a millisecond, then repeats batches until the trial ends. Virtual machines, containers and \
               mitigations affect each operation differently, so a single number cannot describe their overhead.",
    };
    const EXAMPLE: &'static str = "micro = { operation = \"syscall\" }";
    const METRICS: &'static [&'static [Metric]] = &[&[RATE, COST]];
    const JUDGED: &'static [Basis] = &[Basis::Machine];
}

impl WorkloadSpec for MicroSpec {
    fn words(&self) -> String {
        words(self.operation).to_owned()
    }

    runtime!(TRIAL, QUICK);

    fn ends_by_time(&self) -> bool {
        true
    }

    fn plan(&self, _: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        Ok((MicroPlan { operation: self.operation }.into(), None))
    }

    fn pilot(&self, run: &Run<'_>) -> Result<Option<u64>, String> {
        let done = repeat_in_child(run, self.operation, LOOK_NS)?;
        Ok(Some((done.elapsed_ns / done.operations.max(1)).max(1)))
    }

    fn costs_like(&self, other: &super::Work) -> bool {
        Self::of(other).is_some_and(|other| other.operation == self.operation)
    }
}

const fn words(operation: Operation) -> &'static str {
    match operation {
        Operation::Arithmetic => {
            "dependent arithmetic: integer multiplication and shifts, floating-point multiplication and addition"
        }
        Operation::PageFault => {
            "first touch of new anonymous pages, mapped and unmapped in batches of 256"
        }
        Operation::ForkExit => "fork of a small process, exit of the child, and wait",
        Operation::Syscall => "minimal system calls (getppid)",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MicroPlan {
    pub operation: Operation,
}

impl PlannedWork for MicroPlan {
    fn words(&self) -> String {
        format!("{}, one at a time in a single thread", words(self.operation))
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        let began_ns = run.system.monotonic_ns();
        let time_ns = run.ramp_ns.saturating_add(run.time_ns);
        let pieces = time_ns.div_ceil(PIECE_NS).max(1);
        let is_stopped = || run.stop.load(Ordering::Relaxed);
        let mut outcomes = Vec::new();
        while (outcomes.len() as u64) < pieces && !is_stopped() {
            outcomes.push(repeat_in_child(run, self.operation, time_ns / pieces)?);
        }
        let elapsed_ns = run.system.monotonic_ns().saturating_sub(began_ns);
        Ok(run_result(&outcomes, elapsed_ns, is_stopped()))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        RATE.name
    }

    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand {
        let seconds = how.seconds().to_string();
        let stress_ng = |stressor: [&str; 2]| {
            let more = ["--timeout", seconds.as_str(), "--metrics-brief"];
            ["stress-ng"].into_iter().chain(stressor).chain(more).map(str::to_owned).collect()
        };
        let words = match self.operation {
            Operation::Arithmetic => stress_ng(["--cpu-method=int64double", "--cpu=1"]),
            Operation::PageFault => stress_ng(["--fault", "1"]),
            Operation::ForkExit => stress_ng(["--fork", "1"]),
            Operation::Syscall => ["perf", "bench", "syscall", "basic"].map(str::to_owned).to_vec(),
        };
        let remark = "this program runs another operation; do not compare its numbers with Assay's";
        ManualCommand { words, remarks: vec![remark.to_owned()] }
    }
}

fn run_result(outcomes: &[MicroOutcome], elapsed_ns: u64, stopped: bool) -> RunResult {
    let sum =
        |pick: fn(&MicroOutcome) -> u64| outcomes.iter().map(pick).fold(0, u64::saturating_add);
    let operations = sum(|run| run.operations);
    let window_ns = sum(|run| run.elapsed_ns);
    let waited_ns = outcomes.iter().map(|run| run.waited_ns).sum::<Option<u64>>();
    let mut values = BTreeMap::new();
    if operations > 0 && window_ns > 0 {
        let each_ns = window_ns as f64 / operations as f64;
        values.insert(COST.name.to_owned(), each_ns);
        values.insert(RATE.name.to_owned(), 1e9 / each_ns);
    }
    RunResult::new(
        Measured {
            window_ns,
            elapsed_ns,
            cpu_ns: sum(|run| run.cpu_ns),
            waited_ns,
            values,
            ..Measured::from_detail(MicroDetail { operations, processes: outcomes.len() as u64 })
        },
        stopped,
    )
}

/// Repeats an operation for a time in a new process.
fn repeat_in_child(
    run: &Run<'_>,
    operation: Operation,
    time_ns: u64,
) -> Result<MicroOutcome, String> {
    let program = own_program(run.system)?;
    let words = ["micro", operation.name(), &time_ns.to_string()];
    let answer = run_without_limit(run.system, &program, &words)?;
    serde_json::from_str(&answer.text).map_err(|_| {
        let complaint = answer.complaint.trim().trim_start_matches("assay: ");
        format!("the system refused {}: {}", operation.name(), outside::spelled(complaint))
    })
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MicroDetail {
    pub operations: u64,
    pub processes: u64,
}

impl Counts for MicroDetail {
    fn operations(&self) -> u64 {
        self.operations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(operations: u64, elapsed_ns: u64, waited_ns: Option<u64>) -> MicroOutcome {
        MicroOutcome { operations, elapsed_ns, cpu_ns: elapsed_ns / 2, waited_ns }
    }

    #[test]
    fn processes_of_a_trial_are_one_sum() {
        let ran = run_result(&[done(100, 1_000, Some(3)), done(300, 1_000, Some(4))], 2_500, false);
        let value = |name: &str| ran.measured.values[name];
        assert_eq!((value("micro_operation_ns"), value("micro_operations_per_s")), (5.0, 2e8));
        assert_eq!((ran.measured.window_ns, ran.measured.cpu_ns), (2_000, 1_000));
        assert_eq!((ran.measured.waited_ns, ran.measured.operations()), (Some(7), 400));
    }

    #[test]
    fn what_the_kernel_does_not_count_is_absent() {
        let ran = run_result(&[done(1, 10, Some(3)), done(1, 10, None)], 20, false);
        assert_eq!(ran.measured.waited_ns, None);
        assert!(self::run_result(&[], 1, true).measured.values.is_empty(), "nothing was done");
    }
}
