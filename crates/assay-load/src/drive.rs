//! The hot loop of one thread: one for all engines, compiled for each of them.

use std::io;

use crate::content::Filler;
use crate::engine::{Completion, Engine, EngineKind, Move, Request, Setup};
use crate::gate::Control;
use crate::latency::{Book, Found};
use crate::pattern::{Classes, Walk, share};
use crate::spent::Spent;
use crate::verify::{Stamper, ThreadMarks};
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
    /// Over the run; of the process since the first thread began.
    pub(crate) spent: Spent,
    pub(crate) stopped: bool,
    /// What is known of the order of its writes, where they carry stamps.
    pub(crate) marks: Option<ThreadMarks>,
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
    let mut before = drive.engine.spent();
    before.process_ns = worker.control.process_start(before.process_ns);
    let (submitted_ns, stopped) = drive.run(worker.control)?;
    Ok(Some(Part {
        submitted_ns,
        queue: drive.engine.queue(),
        notes: drive.engine.notes(),
        spent: drive.engine.spent().since(&before),
        stopped,
        marks: drive.stamper.map(Stamper::finish),
        found: drive.book.finish(),
    }))
}

/// The operation in a slot.
#[derive(Clone, Copy)]
struct Flight {
    class: Class,
    /// Its transfer that is under way: a rewrite reads first.
    way: Move,
    offset: u64,
    submitted: u64,
}

impl Flight {
    fn new(class: Class, offset: u64) -> Self {
        let way = if class == Class::Write { Move::Write } else { Move::Read };
        Self { class, way, offset, submitted: 0 }
    }

    /// Whether the write of what is being read is still to come.
    #[inline]
    fn goes_on(&self) -> bool {
        self.class == Class::Rewrite && self.way == Move::Read
    }
}

struct Drive<E> {
    engine: E,
    walk: Walk,
    classes: Classes,
    filler: Filler,
    /// In the place of the filler, where what is written can be verified.
    stamper: Option<Stamper>,
    book: Book,
    size: u32,
    /// Operations that may be submitted in all, and those that are left.
    all: u64,
    left: u64,
    /// By slot.
    flights: Vec<Flight>,
    free: Vec<u32>,
    /// Slots whose block was read and is to be written back.
    halfway: Vec<u32>,
    batch: Vec<Request>,
    done: Vec<Completion>,
    fault: Option<LoadError>,
}

impl<'a, E: Engine<'a>> Drive<E> {
    fn new(engine: E, worker: &Worker<'a>) -> Self {
        let (job, thread) = (worker.job, worker.thread);
        let depth = job.depth as usize;
        let all = match job.operations {
            Some(operations) => share(operations, job.threads, thread).1,
            None => u64::MAX,
        };
        Self {
            engine,
            walk: Walk::new(job, thread),
            classes: Classes::new(job, thread),
            filler: Filler::new(job, thread),
            stamper: Stamper::new(job, thread),
            book: Book::new(job),
            size: job.size_bytes,
            all,
            left: all,
            flights: vec![Flight::new(Class::Read, 0); depth],
            free: (0..job.depth).rev().collect(),
            halfway: Vec::with_capacity(depth),
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
            let (stamp, ended) = self.reap()?;
            if self.book.begins_no_slice(stamp) {
                let rest = self.left.min(self.book.rest_of_slice(self.all - self.left));
                // Nothing of the others is submitted any more, so that they are none of all.
                self.all -= self.left - rest;
                self.left = rest;
            }
            if self.left == 0 || (ended && self.book.is_over(stamp)) || self.fault.is_some() {
                break (stamp, false);
            }
            if control.stop_asked() || control.failed() {
                break (stamp, control.stop_asked());
            }
            self.submit()?;
        };
        self.book.close();
        self.left = 0;
        while self.free.len() < self.flights.len() {
            self.submit()?; // what is halfway, and nothing new
            self.reap()?;
        }
        match self.fault.take() {
            Some(fault) => Err(fault),
            None => Ok((last, stopped)),
        }
    }

    /// Writes back what was read, fills all free slots and starts them; gives the stamp taken just
    /// before.
    #[inline]
    fn submit(&mut self) -> Result<u64, LoadError> {
        self.batch.clear();
        while let Some(slot) = self.halfway.pop() {
            self.flights[slot as usize].way = Move::Write;
            self.prepare(slot);
        }
        let old = self.batch.len();
        while self.left > 0 {
            let Some(slot) = self.free.pop() else { break };
            self.left -= 1;
            self.flights[slot as usize] = Flight::new(self.classes.next(), self.walk.next());
            if let Some(stamper) = &mut self.stamper {
                stamper.begin(slot);
            }
            self.prepare(slot);
        }
        let stamp = self.engine.now_ns();
        for request in &self.batch[old..] {
            self.flights[request.slot as usize].submitted = stamp;
        }
        if self.batch.is_empty() {
            return Ok(stamp);
        }
        self.engine
            .submit(&self.batch)
            .map_err(|source| LoadError::Engine { what: "submit operations", source })?;
        Ok(stamp)
    }

    /// Puts the next transfer of a slot's operation into the batch.
    #[inline]
    fn prepare(&mut self, slot: u32) {
        let Flight { way, offset, .. } = self.flights[slot as usize];
        if way == Move::Write {
            let bytes = self.engine.slot_mut(slot);
            match &self.stamper {
                Some(stamper) => stamper.fill(slot, offset, bytes),
                None => self.filler.fill(bytes),
            }
        }
        self.batch.push(Request { way, slot, offset });
    }

    /// Waits for a completion and notes all that are there; gives the stamp taken just after, and
    /// whether an operation ended by it: only then does the window move.
    #[inline]
    fn reap(&mut self) -> Result<(u64, bool), LoadError> {
        self.done.clear();
        self.engine
            .complete(1, &mut self.done)
            .map_err(|source| LoadError::Engine { what: "wait for completions", source })?;
        let stamp = self.engine.now_ns();
        let ended = self.done.iter().any(|done| !self.flights[done.slot as usize].goes_on());
        if ended {
            self.book.stamp(stamp);
        }
        for done in &self.done {
            let flight = self.flights[done.slot as usize];
            let moved = done.result == self.size as i32;
            if moved && flight.goes_on() {
                self.halfway.push(done.slot);
                continue;
            }
            self.free.push(done.slot);
            if let Some(stamper) = &mut self.stamper {
                stamper.end(done.slot);
            }
            if moved {
                let latency = stamp.saturating_sub(flight.submitted);
                self.book.record(flight.class, latency);
            } else if self.fault.is_none() {
                self.fault = Some(fault(flight, self.size, done.result));
            }
        }
        if let Some(stamper) = &mut self.stamper {
            stamper.look(stamp);
        }
        Ok((stamp, ended))
    }
}

#[cold]
fn fault(flight: Flight, asked: u32, result: i32) -> LoadError {
    let (class, offset) = match flight.way {
        Move::Read => (Class::Read, flight.offset),
        Move::Write => (Class::Write, flight.offset),
    };
    match u32::try_from(result) {
        Ok(got) => LoadError::Short { class, offset, asked, got },
        Err(_) => {
            LoadError::Operation { class, offset, source: io::Error::from_raw_os_error(-result) }
        }
    }
}
