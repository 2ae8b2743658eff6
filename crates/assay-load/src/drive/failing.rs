//! A failing operation in the middle of a run: each loop drains, then ends with the operation and its error.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::{Worker, work};
use crate::check::tests::job;
use crate::engine::{Completion, Engine, Request, Setup};
use crate::gate::Control;
use crate::spent::Spent;
use crate::{
    Act, Arrivals, EngineKind, Job, LoadError, Mix, QueueFacts, Schedule, Slices, Step, Target,
    Track,
};

/// Number of successful transfers before the failing one.
const BEFORE: u64 = 100;
const US: u64 = 1_000;

/// A drive under a virtual clock that serves transfers sequentially, one of them with this result.
struct Failing<const RESULT: i32> {
    in_flight: VecDeque<Completion>,
    done: u64,
    now: u64,
}

impl<const RESULT: i32> Engine<'_> for Failing<RESULT> {
    fn open(_: &Setup<'_>) -> Result<Self, LoadError> {
        Ok(Self { in_flight: VecDeque::new(), done: 0, now: 0 })
    }

    fn slot_mut(&mut self, _: u32) -> &mut [u8] {
        &mut []
    }

    fn submit(&mut self, requests: &[Request]) -> io::Result<()> {
        let whole = |own: &Request| Completion { slot: own.slot, result: own.bytes as i32 };
        self.in_flight.extend(requests.iter().map(whole));
        Ok(())
    }

    fn complete(&mut self, at_least: usize, into: &mut Vec<Completion>) -> io::Result<()> {
        for _ in 0..at_least {
            let whole =
                self.in_flight.pop_front().expect("no more is waited for than is in flight");
            let result = if self.done == BEFORE { RESULT } else { whole.result };
            self.done += 1;
            self.now += 100 * US;
            into.push(Completion { result, ..whole });
        }
        Ok(())
    }

    fn complete_by(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) -> io::Result<()> {
        if self.in_flight.is_empty() {
            self.now = self.now.max(deadline_ns);
            return Ok(());
        }
        self.complete(1, into)
    }

    fn queue(&self) -> QueueFacts {
        QueueFacts::default()
    }

    fn now_ns(&self) -> u64 {
        self.now
    }

    fn spent(&self) -> Spent {
        Spent::default()
    }
}

impl<const RESULT: i32> Drop for Failing<RESULT> {
    fn drop(&mut self) {
        assert!(self.in_flight.is_empty() || std::thread::panicking(), "something is in flight");
    }
}

/// Error message of a run with a drive that fails with this result.
fn error_text<const RESULT: i32>(job: &Job) -> String {
    let target = Target { file: None, memory_alignment: 4096 };
    let stop = AtomicBool::new(false);
    let control = Control::new(1, &stop);
    let kind = &EngineKind::Null;
    let worker = Worker { job, kind, target: &target, thread: 0, control: &control };
    work::<Failing<RESULT>>(&worker).unwrap_err().to_string()
}

/// A job per loop, and for operations with several transfers; each would take an hour.
fn jobs() -> Vec<Job> {
    let hour = Duration::from_secs(3600);
    let long = || Job { time: hour, ..job() };
    let paced = |arrivals| Some(Schedule { rate_per_s: 2_000, arrivals });
    let slices = Some(Slices { operations: 16, begun_within: Duration::MAX });
    let step = |index: u64| Step {
        at_ns: index * 500 * US,
        offset: index % 256 * 4096,
        bytes: 4096,
        act: Act::Read,
    };
    let track = |by_clock| Some(Arc::new(Track::new((0..2_000).map(step).collect(), by_clock)));
    vec![
        long(),
        Job { depth: 8, ..long() },
        Job { depth: 8, wait_for: 8, ..long() },
        Job { depth: 8, mix: Mix::WRITES, ..long() },
        Job { depth: 8, mix: Mix::Rewrite, ..long() },
        Job { depth: 8, mix: "read/50:trim/50".parse().unwrap(), ..long() },
        Job { depth: 8, mix: "read/50:zero/50".parse().unwrap(), ..long() },
        Job { depth: 8, slices, operations: Some(2_000), ..long() },
        Job { depth: 8, think: Duration::from_millis(1), ..long() },
        Job { depth: 8, schedule: paced(Arrivals::Fixed), ..long() },
        Job { depth: 8, schedule: paced(Arrivals::Poisson), mix: Mix::Rewrite, ..long() },
        // More than it can: all places are in flight.
        Job {
            depth: 8,
            schedule: Some(Schedule { rate_per_s: 50_000, arrivals: Arrivals::Fixed }),
            ..long()
        },
        Job { depth: 8, track: track(true), ..long() },
        Job { depth: 8, track: track(false), operations: Some(2_000), ..long() },
        Job { depth: 8, mix: Mix::WRITES, verify: Some(1), ..long() },
    ]
}

#[test]
fn failed_operation_ends_each_loop() {
    for job in jobs() {
        for (error, words) in [
            (error_text::<{ -libc::EIO }>(&job), "(os error 5)"),
            (error_text::<{ -libc::EAGAIN }>(&job), "(os error 11)"),
            (error_text::<{ -libc::ENOSPC }>(&job), "(os error 28)"),
        ] {
            assert!(error.contains(" at offset ") && error.ends_with(words), "{error}: {job:?}");
        }
    }
}

#[test]
fn short_transfer_ends_each_loop() {
    for job in jobs() {
        for (error, got) in [(error_text::<0>(&job), 0), (error_text::<512>(&job), 512)] {
            let words = format!(" moved {got} of 4096 requested bytes");
            assert!(error.contains(" at offset ") && error.ends_with(&words), "{error}: {job:?}");
        }
    }
}
