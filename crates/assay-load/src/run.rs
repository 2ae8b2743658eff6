//! One run: threads, their common start, and their common outcome.

use std::any::Any;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};

use crate::check::check;
use crate::drive::{Part, Worker};
use crate::gate::{Control, RunGuard};
use crate::merge::merge;
use crate::pin::Pins;
use crate::spent::{Bystanders, ran_between};
use crate::{ENGINES, EngineEntry, EngineKind, Job, LoadError, Outcome, Target};

type Joined<'scope> = ScopedJoinHandle<'scope, Result<Option<Part>, LoadError>>;

/// Runs the job and returns the result.
///
/// Each thread maintains `depth` operations in flight until ramp and time are over, the operation count is reached, or
/// `stop` is set; then it drains, including the writes of started rewrites. Each thread completes at least one
/// operation (if the operation count allows), however short the time is.
///
/// The window opens with a thread's first completion at or after the end of the ramp, which is not counted (without a
/// ramp: with the first submission), and closes with its first completion at or after the end of the time, which is
/// counted. If it has no operation, or the job has an operation count, everything counts. With several threads,
/// operations / window is the sum of the threads' rates.
///
/// If `stop` was set before the start, the outcome has no operation and a window of 0 ns.
///
/// # Errors
/// The job is impossible, the engine cannot be set up, or an operation failed or was short. Nothing is in flight any
/// more, and there is no partial result.
pub fn run(
    job: &Job,
    engine: &EngineKind,
    target: &Target<'_>,
    stop: &AtomicBool,
) -> Result<Outcome, LoadError> {
    run_beside(&Bystanders::now(), job, engine, target, stop)
}

/// Like [`run`], but excludes the CPU time of bystanders: other threads, as they were before all concurrent runs.
pub fn run_beside(
    bystanders: &Bystanders,
    job: &Job,
    engine: &EngineKind,
    target: &Target<'_>,
    stop: &AtomicBool,
) -> Result<Outcome, LoadError> {
    let entry = entry(engine)?;
    check(job, engine, entry, target)?;
    let pins = Pins::new(job)?;
    let control = Control::new(job.threads, stop);
    let mut parts = Vec::with_capacity(job.threads as usize);
    let bystanders_ns = thread::scope(|scope| {
        let workers = (0..job.threads).map(|thread| Worker {
            job,
            kind: engine,
            target,
            thread,
            control: &control,
        });
        let handles: Vec<_> = workers.map(|worker| spawn(scope, entry, &pins, worker)).collect();
        let before = bystanders.ran_ns();
        // Every thread is joined, also after a failure: the first one in order is reported.
        let results: Vec<_> = (0..).zip(handles).map(|(i, handle)| join(i, handle)).collect();
        for result in results {
            parts.extend(result?);
        }
        Ok::<_, LoadError>(ran_between(&before, &bystanders.ran_ns()))
    })?;
    let stopped = parts.is_empty() && stop.load(Ordering::Relaxed);
    let mut outcome = merge(job, entry.name, parts, bystanders_ns, stopped);
    outcome.engine.notes.extend(pins.note(job.threads));
    Ok(outcome)
}

pub(crate) fn entry(engine: &EngineKind) -> Result<&'static EngineEntry, LoadError> {
    let name = engine.name();
    ENGINES.iter().find(|entry| entry.name == name).ok_or_else(|| LoadError::Unavailable {
        engine: name,
        reason: "it is not in the table of engines".to_owned(),
    })
}

fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    entry: &'static EngineEntry,
    pins: &'scope Pins,
    worker: Worker<'scope>,
) -> io::Result<Joined<'scope>> {
    let control = worker.control;
    let name = format!("load-{}", worker.thread);
    let body = move || {
        let guard = RunGuard::new(worker.control);
        pins.pin(worker.thread)?;
        let part = (entry.work)(&worker)?;
        guard.disarm();
        Ok(part)
    };
    let spawned = thread::Builder::new().name(name).spawn_scoped(scope, body);
    if spawned.is_err() {
        control.fail(); // the others would wait for this thread
    }
    spawned
}

fn join(thread: u32, handle: io::Result<Joined<'_>>) -> Result<Option<Part>, LoadError> {
    let handle =
        handle.map_err(|source| LoadError::Setup { what: "a measuring thread", source })?;
    handle.join().unwrap_or_else(|panic| {
        Err(LoadError::Panicked { thread, message: panic_message(panic.as_ref()) })
    })
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::tests::job;

    #[test]
    fn a_panic_in_one_thread_is_an_error_of_the_run() {
        static PANICS: EngineEntry = EngineEntry {
            name: "panics",
            summary: "",
            needs_file: false,
            available: || Ok(()),
            standard: EngineKind::Null,
            work: |worker| {
                assert!(worker.thread == 0, "thread {} fell", worker.thread);
                assert!(!worker.control.await_all(), "one is missing");
                Ok(None)
            },
        };
        let (stop, job, pins) = (AtomicBool::new(false), job(), Pins::default());
        let control = Control::new(2, &stop);
        let target = Target { file: None, memory_alignment: 1 };
        let worker = |thread| Worker {
            job: &job,
            kind: &EngineKind::Null,
            target: &target,
            thread,
            control: &control,
        };
        thread::scope(|scope| {
            let [first, second] = [0, 1].map(|thread| spawn(scope, &PANICS, &pins, worker(thread)));
            assert!(matches!(join(0, first), Ok(None)));
            let error = join(1, second).unwrap_err();
            assert_eq!(error.to_string(), "measuring thread 1 panicked: thread 1 fell");
        });
    }
}
