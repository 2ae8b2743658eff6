//! The hot loop of one thread: one for all engines, compiled for each of them.

use std::io;

use crate::content::Filler;
use crate::engine::{Completion, Engine, EngineKind, Request, Setup};
use crate::gate::Control;
use crate::latency::{Book, Found};
use crate::pattern::{Mix, Walk, share};
use crate::{Class, Job, LoadError, QueueFacts, Target};

/// One thread of one run.
pub(crate) struct Worker<'a> {
    pub(crate) job: &'a Job,
    pub(crate) kind: &'a EngineKind,
    pub(crate) target: &'a Target<'a>,
    pub(crate) thread: u32,
    pub(crate) control: &'a Control<'a>,
}

/// What one thread hands back.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) found: Found,
    /// Stamp after which nothing new was submitted.
    pub(crate) submitted_ns: u64,
    pub(crate) queue: QueueFacts,
    pub(crate) notes: Vec<String>,
    pub(crate) cpu_ns: u64,
    pub(crate) stopped: bool,
}

/// The whole life of a thread: build, wait for the others, run, sum up. None if there was nothing
/// to run: another thread failed, or the stop came first.
pub(crate) fn work<'a, E: Engine<'a>>(worker: &Worker<'a>) -> Result<Option<Part>, LoadError> {
    let setup =
        Setup { job: worker.job, kind: worker.kind, target: worker.target, thread: worker.thread };
    let mut drive = Drive::new(E::open(&setup)?, worker);
    if !worker.control.all_ready() || worker.control.stop_asked() || drive.left == 0 {
        return Ok(None);
    }
    let cpu = drive.engine.cpu_ns();
    let (submitted_ns, stopped) = drive.run(worker.control)?;
    Ok(Some(Part {
        submitted_ns,
        queue: drive.engine.queue(),
        notes: drive.engine.notes(),
        cpu_ns: drive.engine.cpu_ns() - cpu,
        stopped,
        found: drive.book.finish(),
    }))
}

#[derive(Clone, Copy)]
struct Flight {
    class: Class,
    offset: u64,
    submitted: u64,
}

struct Drive<E> {
    engine: E,
    walk: Walk,
    mix: Mix,
    filler: Filler,
    book: Book,
    size: u32,
    /// Operations that may still be submitted.
    left: u64,
    /// By slot.
    flights: Vec<Flight>,
    free: Vec<u32>,
    batch: Vec<Request>,
    done: Vec<Completion>,
    fault: Option<LoadError>,
}

impl<'a, E: Engine<'a>> Drive<E> {
    fn new(engine: E, worker: &Worker<'a>) -> Self {
        let (job, thread) = (worker.job, worker.thread);
        let depth = job.depth as usize;
        let none = Flight { class: Class::Read, offset: 0, submitted: 0 };
        Self {
            engine,
            walk: Walk::new(job, thread),
            mix: Mix::new(job, thread),
            filler: Filler::new(job, thread),
            book: Book::new(job),
            size: job.size_bytes,
            left: match job.operations {
                Some(operations) => share(operations, job.threads, thread).1,
                None => u64::MAX,
            },
            flights: vec![none; depth],
            free: (0..job.depth).rev().collect(),
            batch: Vec::with_capacity(depth),
            done: Vec::with_capacity(depth),
            fault: None,
        }
    }

    /// Keeps all slots in flight until something ends it, then drains. Gives the stamp after which
    /// nothing was submitted, and whether a stop was the reason.
    fn run(&mut self, control: &Control<'_>) -> Result<(u64, bool), LoadError> {
        let start = control.start(self.engine.now_ns());
        let first = self.submit()?;
        self.book.begin(start, first);
        let (last, stopped) = loop {
            let stamp = self.reap()?;
            if self.left == 0 || self.book.is_over(stamp) || self.fault.is_some() {
                break (stamp, false);
            }
            if control.stop_asked() || control.failed() {
                break (stamp, control.stop_asked());
            }
            self.submit()?;
        };
        self.book.close();
        while self.free.len() < self.flights.len() {
            self.reap()?;
        }
        match self.fault.take() {
            Some(fault) => Err(fault),
            None => Ok((last, stopped)),
        }
    }

    /// Fills all free slots and starts them; gives the stamp taken just before.
    #[inline]
    fn submit(&mut self) -> Result<u64, LoadError> {
        self.batch.clear();
        while self.left > 0 {
            let Some(slot) = self.free.pop() else { break };
            self.left -= 1;
            let request = Request { class: self.mix.next(), slot, offset: self.walk.next() };
            if request.class == Class::Write {
                self.filler.fill(self.engine.slot_mut(slot));
            }
            self.batch.push(request);
        }
        let stamp = self.engine.now_ns();
        for request in &self.batch {
            self.flights[request.slot as usize] =
                Flight { class: request.class, offset: request.offset, submitted: stamp };
        }
        self.engine
            .submit(&self.batch)
            .map_err(|source| LoadError::Engine { what: "submit operations", source })?;
        Ok(stamp)
    }

    /// Waits for a completion and notes all that are there; gives the stamp taken just after.
    #[inline]
    fn reap(&mut self) -> Result<u64, LoadError> {
        self.done.clear();
        self.engine
            .complete(1, &mut self.done)
            .map_err(|source| LoadError::Engine { what: "wait for completions", source })?;
        let stamp = self.engine.now_ns();
        self.book.stamp(stamp);
        for done in &self.done {
            let flight = self.flights[done.slot as usize];
            self.free.push(done.slot);
            if done.result == self.size as i32 {
                let latency = stamp.saturating_sub(flight.submitted);
                self.book.record(flight.class, latency);
            } else if self.fault.is_none() {
                self.fault = Some(fault(flight, self.size, done.result));
            }
        }
        Ok(stamp)
    }
}

#[cold]
fn fault(flight: Flight, asked: u32, result: i32) -> LoadError {
    let Flight { class, offset, .. } = flight;
    match u32::try_from(result) {
        Ok(got) => LoadError::Short { class, offset, asked, got },
        Err(_) => {
            LoadError::Operation { class, offset, source: io::Error::from_raw_os_error(-result) }
        }
    }
}
