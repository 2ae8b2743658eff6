//! The hot loop of one thread: generic, compiled for each engine.

#[cfg(test)]
mod failing;
mod linked;
mod paced;

use std::collections::VecDeque;
use std::io;

use crate::content::Filler;
use crate::engine::{Completion, Engine, EngineKind, Move, Request, Setup};
use crate::gate::Control;
use crate::latency::{Book, ThreadLatencies};
use crate::pattern::{BlockPlace, Classes, Walk, share};
use crate::schedule::Starts;
use crate::spent::Spent;
use crate::sync::{SyncTimes, Syncs};
use crate::track::{Act, Played, Script, Step};
use crate::verify::{Stamper, ThreadMarks};
use crate::waits::Linked;
use crate::{Class, Job, LoadError, Pace, QueueFacts, Target, clock};
use hdrhistogram::Histogram;

pub(crate) struct Worker<'a> {
    pub(crate) job: &'a Job,
    pub(crate) kind: &'a EngineKind,
    pub(crate) target: &'a Target<'a>,
    pub(crate) thread: u32,
    pub(crate) control: &'a Control<'a>,
}

#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) found: ThreadLatencies,
    pub(crate) submitted_ns: u64,
    pub(crate) queue: QueueFacts,
    pub(crate) notes: Vec<String>,
    /// CPU time of the run; of the process since the first thread began.
    pub(crate) spent: Spent,
    pub(crate) stopped: bool,
    /// Delays against the schedule, for open loops and paced tracks.
    pub(crate) pace: Option<Pace>,
    /// Order of the thread's writes, if they have stamps.
    pub(crate) marks: Option<ThreadMarks>,
    pub(crate) played: Option<Played>,
    /// Durations of the syncs after its writes, if the engine times them.
    pub(crate) sync_ns: Option<Histogram<u64>>,
}

/// Runs the job's part of one thread; `None` if another thread failed or a stop came first.
pub(crate) fn work<'a, E: Engine<'a>>(worker: &Worker<'a>) -> Result<Option<Part>, LoadError> {
    let setup =
        Setup { job: worker.job, kind: worker.kind, target: worker.target, thread: worker.thread };
    let mut drive = DriveLoop::new(E::open(&setup)?, worker);
    if !worker.control.await_all() || worker.control.stop_asked() || drive.left == 0 {
        return Ok(None);
    }
    if worker.job.waits() {
        clock::wake_on_time();
    }
    let mut before = drive.engine.spent();
    before.process_ns = worker.control.process_start(before.process_ns);
    let (submitted_ns, stopped) = if drive.starts.is_some() {
        drive.run_open(worker.control)?
    } else if drive.linked.is_some() {
        drive.run_linked(worker.control)?
    } else if drive.think_ns > 0 {
        drive.run_resting(worker.control)?
    } else {
        drive.run(worker.control)?
    };
    Ok(Some(Part {
        submitted_ns,
        queue: drive.engine.queue(),
        notes: drive.notes(),
        spent: drive.engine.spent().since(&before),
        stopped,
        pace: (drive.starts.is_some() || drive.linked.is_some()).then_some(drive.pace),
        marks: drive.stamper.map(Stamper::finish),
        played: drive.script.map(Script::finish).or_else(|| drive.linked.map(Linked::finish)),
        sync_ns: drive.sync_times.and_then(SyncTimes::finish),
        found: drive.book.finish(),
    }))
}

#[derive(Clone, Copy)]
struct Flight {
    class: Class,
    /// Its current transfer: a rewrite reads first.
    way: Move,
    offset: u64,
    bytes: u32,
    /// Whether an `fdatasync` follows a request of a track.
    synced: bool,
    submitted: u64,
    /// When it was meant to start, in an open loop.
    intended: u64,
}

/// The first transfer of each class, in the order of [`Class::ALL`].
const FIRST_MOVES: [Move; Class::ALL.len()] =
    [Move::Read, Move::Write, Move::Read, Move::Trim, Move::Zero, Move::Sync];

impl Flight {
    fn new(class: Class, BlockPlace { offset, bytes }: BlockPlace) -> Self {
        let way = FIRST_MOVES[class as usize];
        Self { class, way, offset, bytes, synced: false, submitted: 0, intended: 0 }
    }

    fn from_step(Step { offset, bytes, act, .. }: Step) -> Self {
        Self { synced: act == Act::Fua, ..Self::new(act.class(), BlockPlace { offset, bytes }) }
    }

    /// Returns whether a rewrite still has to write.
    #[inline]
    fn must_write_back(&self) -> bool {
        self.class == Class::Rewrite && self.way == Move::Read
    }
}

/// Operations of one class and size that were submitted and ended together.
#[derive(Clone, Copy)]
struct Alike {
    class: Class,
    bytes: u32,
    submitted: u64,
    count: u32,
}

impl Alike {
    const NONE: Self = Self { class: Class::Read, bytes: 0, submitted: 0, count: 0 };

    /// Counts an operation if it has the same start, size and class; returns whether it has.
    #[inline]
    fn add_if_alike(&mut self, flight: &Flight) -> bool {
        let is_alike = self.submitted == flight.submitted
            && self.bytes == flight.bytes
            && self.class == flight.class;
        if is_alike {
            self.count += 1;
        }
        is_alike
    }

    #[inline(always)]
    fn record(self, book: &mut Book, stamp: u64) {
        if self.count > 0 {
            let latency = stamp.saturating_sub(self.submitted);
            book.record_alike(self.class, self.bytes, latency, self.count);
        }
    }
}

impl From<&Flight> for Alike {
    #[inline]
    fn from(flight: &Flight) -> Self {
        let Flight { class, bytes, submitted, .. } = *flight;
        Self { class, bytes, submitted, count: 1 }
    }
}

struct DriveLoop<E> {
    engine: E,
    walk: Walk,
    classes: Classes,
    /// Replaces pattern and mix in a replay.
    script: Option<Script>,
    /// For paced tracks, with the dependencies between requests.
    linked: Option<Linked>,
    filler: Filler,
    syncs: Syncs,
    sync_times: Option<SyncTimes>,
    /// Replaces the filler if writes are verified.
    stamper: Option<Stamper>,
    book: Book,
    wait_for: usize,
    /// Maximum number of operations, and the remaining ones.
    all: u64,
    left: u64,
    flights: Vec<Flight>,
    free: Vec<u32>,
    /// Slots of rewrites that have read and must write.
    halfway: Vec<u32>,
    batch: Vec<Request>,
    done: Vec<Completion>,
    fault: Option<LoadError>,
    starts: Option<Starts>,
    pace: Pace,
    /// An operation with an intended start up to this stamp may have found all slots in flight.
    full_until: u64,
    /// Think time in nanoseconds, and the resting slots, earliest wake-up first.
    think_ns: u64,
    resting: VecDeque<(u64, u32)>,
}

impl<'a, E: Engine<'a>> DriveLoop<E> {
    /// Prepares the loop of one thread, with all memory that it needs.
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
            script: Script::new(job),
            linked: Linked::new(job),
            filler: Filler::new(job, thread),
            syncs: Syncs::new(job),
            sync_times: SyncTimes::new(job),
            stamper: Stamper::new(job, thread),
            book: Book::new(job),
            wait_for: job.wait_for as usize,
            all,
            left: all,
            flights: vec![Flight::new(Class::Read, BlockPlace { offset: 0, bytes: 0 }); depth],
            free: (0..job.depth).rev().collect(),
            halfway: Vec::with_capacity(depth),
            batch: Vec::with_capacity(depth),
            done: Vec::with_capacity(depth),
            fault: None,
            starts: Starts::new(job, thread),
            pace: Pace::default(),
            full_until: 0,
            think_ns: u64::try_from(job.think.as_nanos()).unwrap_or(u64::MAX),
            resting: VecDeque::with_capacity(depth),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.engine.notes();
        if self.wait_for > 1 && self.flights.len() > 1 && !E::ONE_AT_A_TIME {
            notes.push(format!(
                "each wait collects {} completions, so latencies include the wait for the last completion and exceed \
                 the latency of the drive.",
                self.wait_for.min(self.flights.len())
            ));
        }
        notes
    }

    /// Keeps all slots in flight, then drains; returns the last stamp and whether a stop ended it.
    fn run(&mut self, control: &Control<'_>) -> Result<(u64, bool), LoadError> {
        let start = control.start(self.engine.now_ns());
        if let Some(script) = &mut self.script {
            script.begin(start);
        }
        let first = self.submit()?;
        self.book.begin(start, first);
        let (last, stopped) = loop {
            let (stamp, ended) = self.reap()?;
            if self.book.is_past_slices(stamp) {
                let rest = self.left.min(self.book.rest_of_slice(self.all - self.left));
                // The remaining operations are not submitted, so they do not count.
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
            self.submit()?; // only writes of rewrites, because no operations are left
            self.reap()?;
        }
        self.result(last, stopped)
    }

    /// Submits the writes of rewrites, and new operations in all free slots; returns the time just before.
    #[inline(always)]
    fn submit(&mut self) -> Result<u64, LoadError> {
        self.batch.clear();
        self.write_back();
        let continued = self.batch.len();
        let count = self.left.min(self.free.len() as u64);
        self.left -= count;
        for _ in 0..count {
            let Some(slot) = self.free.pop() else { break };
            let flight = self.next();
            self.begin(slot, flight);
            self.add_to_batch(slot, flight);
        }
        self.hand_over(continued)
    }

    #[inline(always)]
    fn next(&mut self) -> Flight {
        if let Some(script) = &mut self.script {
            return Flight::from_step(*script.next());
        }
        let class = self.classes.next();
        Flight::new(class, self.walk.next(class))
    }

    /// Notes that an operation occupies a slot from now on.
    #[inline(always)]
    fn begin(&mut self, slot: u32, flight: Flight) {
        self.flights[slot as usize] = flight;
        if let Some(stamper) = &mut self.stamper {
            stamper.begin(slot);
        }
    }

    /// Adds the writes of finished reads of rewrites to the batch.
    #[inline]
    fn write_back(&mut self) {
        while let Some(slot) = self.halfway.pop() {
            let flight = &mut self.flights[slot as usize];
            flight.way = Move::Write;
            let flight = *flight;
            self.add_to_batch(slot, flight);
        }
    }

    /// Submits the batch, whose first `continued` transfers continue operations; returns the time just before.
    #[inline(always)]
    fn hand_over(&mut self, continued: usize) -> Result<u64, LoadError> {
        let stamp = self.engine.now_ns();
        for request in &self.batch[continued..] {
            self.flights[request.slot as usize].submitted = stamp;
        }
        if let Some(script) = &mut self.script {
            script.issue(stamp, self.batch.len() - continued);
        }
        if self.batch.is_empty() {
            return Ok(stamp);
        }
        self.engine
            .submit(&self.batch)
            .map_err(|source| LoadError::Engine { what: "submit operations", source })?;
        Ok(stamp)
    }

    /// Adds the next transfer of a slot's operation to the batch; fills the slot of a write first.
    #[inline(always)]
    fn add_to_batch(&mut self, slot: u32, flight: Flight) {
        let Flight { way, offset, bytes, mut synced, .. } = flight;
        if way == Move::Write {
            synced |= self.fill(slot, offset, bytes);
        }
        self.batch.push(Request { way, synced, slot, offset, bytes });
    }

    /// Fills the slot of a write; returns whether it is synced. Not inlined, to save registers for reads.
    #[inline(never)]
    fn fill(&mut self, slot: u32, offset: u64, bytes: u32) -> bool {
        // Slots of engines without data are empty.
        let buffer = self.engine.slot_mut(slot);
        let length = buffer.len().min(bytes as usize);
        match &self.stamper {
            Some(stamper) => stamper.fill(slot, offset, &mut buffer[..length]),
            None => self.filler.fill(&mut buffer[..length]),
        }
        self.syncs.next()
    }

    /// Records all completions after a wait; returns the time, and whether an operation ended, which moves the window.
    #[inline(always)]
    fn reap(&mut self) -> Result<(u64, bool), LoadError> {
        self.done.clear();
        let in_flight = self.flights.len() - self.free.len();
        self.engine
            .complete(self.wait_for.min(in_flight), &mut self.done)
            .map_err(|source| LoadError::Engine { what: "wait for completions", source })?;
        Ok(self.record_completions::<false>())
    }

    /// Records completions; returns the stamp, and whether an operation ended. Only `PACED` loops have rests, waits and
    /// intended starts, so the closed loop is compiled without them.
    #[inline(always)]
    fn record_completions<const PACED: bool>(&mut self) -> (u64, bool) {
        let stamp = self.engine.now_ns();
        let mut alike = Alike::NONE;
        let rewrites = self.classes.are_rewrites();
        // The read of a rewrite does not end the operation.
        let has_ended = |done: &Completion| !self.flights[done.slot as usize].must_write_back();
        let ended = if rewrites { self.done.iter().any(has_ended) } else { !self.done.is_empty() };
        if ended {
            self.book.advance_to(stamp);
        }
        if !PACED && !rewrites {
            // All slots at once: one by one costs a tenth of the null engine's instructions.
            self.free.extend(self.done.iter().map(|done| done.slot));
        }
        for done in &self.done {
            let flight = self.flights[done.slot as usize];
            let is_whole = done.result == flight.bytes as i32;
            if rewrites && is_whole && flight.must_write_back() {
                self.halfway.push(done.slot);
                continue;
            }
            if PACED && self.think_ns > 0 && self.left > 0 {
                self.resting.push_back((stamp.saturating_add(self.think_ns), done.slot));
            } else if PACED || rewrites {
                self.free.push(done.slot);
            }
            if PACED && let Some(linked) = &mut self.linked {
                linked.end(done.slot, flight.submitted, stamp);
            }
            if is_whole {
                if PACED && self.starts.is_some() {
                    // Each operation counts by its own intended start.
                    self.book.set_intended(flight.intended);
                    self.book.respond(flight.class, stamp.saturating_sub(flight.intended));
                    Alike::from(&flight).record(&mut self.book, stamp);
                } else if !alike.add_if_alike(&flight) {
                    alike.record(&mut self.book, stamp);
                    alike = Alike::from(&flight);
                }
            } else if self.fault.is_none() {
                self.fault = Some(operation_error(flight, done.result));
            }
        }
        alike.record(&mut self.book, stamp);
        if self.stamper.is_some() || self.sync_times.is_some() {
            self.record_writes(stamp);
        }
        (stamp, ended)
    }

    /// Records stamps and sync times of ended writes; not inlined, to keep the loop without them short.
    #[inline(never)]
    fn record_writes(&mut self, stamp: u64) {
        for done in &self.done {
            let flight = &self.flights[done.slot as usize];
            let is_whole = done.result == flight.bytes as i32;
            if is_whole && flight.must_write_back() {
                continue;
            }
            if let Some(stamper) = &mut self.stamper {
                stamper.end(done.slot);
            }
            if is_whole
                && flight.way == Move::Write
                && let Some(times) = &mut self.sync_times
            {
                let sync_ns = self.engine.sync_ns(done.slot);
                let is_counting = if self.starts.is_some() {
                    self.book.is_in_window(flight.intended)
                } else {
                    self.book.is_counting()
                };
                if sync_ns > 0 {
                    times.note(sync_ns, is_counting);
                }
            }
        }
        if let Some(stamper) = &mut self.stamper {
            stamper.advance_low(stamp);
        }
    }
}

/// Returns the error of a failed transfer, whose `result` is a negative errno, or of a short one.
#[cold]
fn operation_error(flight: Flight, result: i32) -> LoadError {
    let asked = flight.bytes;
    let (class, offset) = match flight.way {
        Move::Read => (Class::Read, flight.offset),
        Move::Write => (Class::Write, flight.offset),
        Move::Trim => (Class::Trim, flight.offset),
        Move::Zero => (Class::Zero, flight.offset),
        Move::Sync => (Class::Flush, flight.offset),
    };
    match u32::try_from(result) {
        Ok(got) => LoadError::Short { class, offset, asked, got },
        Err(_) => {
            LoadError::Operation { class, offset, source: io::Error::from_raw_os_error(-result) }
        }
    }
}
