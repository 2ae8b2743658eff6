//! Purge, two writes of the whole, and round after round without a rest, until five of them are steady or
//! there is no more time.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use assay_core::quantity::Bytes;
use assay_core::quantity::units::show;
use assay_load::{Outcome, Pattern};
use assay_machine::system::System;

use super::detail::{Detail, Prepared, Round, Seen};
use super::judge::{FILLS, counted};
use super::schedule::Schedule;
use super::{PIECE, Planned};
use crate::io;
use crate::measured::{Claims, Measured, Ran};
use crate::place::{Area, Run};
use assay_core::calc::pts::{Cell, Test};

/// In flight while the whole is written before the first round.
const FILL_DEPTH: u32 = 32;
/// Writing it takes at most so much of a time that is limited, in percent.
const FILL_SHARE: u64 = 40;

pub(super) fn io_of(test: Test, cell: Cell, [threads, depth]: [u32; 2]) -> io::Asked {
    let pattern = if test.is_sequential() { Pattern::Sequential } else { Pattern::Random };
    // All mixes of the tests are percentages that add up.
    let mix = cell.mix().parse().unwrap_or(io::Mix::WRITES);
    let size = Bytes(cell.size_bytes).into();
    io::Asked {
        pattern,
        mix,
        block_size: size,
        queue_depth: depth,
        threads,
        ..io::Asked::default()
    }
}

struct Running<'a> {
    planned: &'a Planned,
    run: &'a Run<'a>,
    began_ns: u64,
    limit_ns: u64,
    claims: Claims,
    elapsed_ns: u64,
    cpu_ns: u64,
    stopped: bool,
    /// Jobs so far: each has draws of its own.
    jobs: u64,
    /// The bytes that rounds go to.
    area: Area,
    detail: Detail,
}

/// Runs until it is steady, the time is over, or the user stops it.
pub(super) fn run(planned: &Planned, run: &Run<'_>) -> Result<Ran, String> {
    if !run.medium.area.written {
        return Err("cannot overwrite the whole target: no consent given".to_owned());
    }
    let range_bytes = planned.range_bytes.min(run.medium.area.length) / PIECE * PIECE;
    if range_bytes == 0 {
        return Err("the target is smaller than 1 MiB".to_owned());
    }
    let mut own = Running {
        planned,
        run,
        began_ns: run.system.monotonic_ns(),
        limit_ns: run.ramp_ns.saturating_add(run.time_ns),
        claims: Claims::default(),
        elapsed_ns: 0,
        cpu_ns: 0,
        stopped: false,
        jobs: 0,
        area: Area { length: range_bytes, ..run.medium.area },
        detail: Detail::default(),
    };
    own.detail.prepared = looked_at(run, range_bytes);
    own.purge();
    own.fill()?;
    own.rounds()?;
    Ok(own.ran())
}

/// What is known of a target before anything is done to it.
fn looked_at(run: &Run<'_>, range_bytes: u64) -> Prepared {
    let device = run.system.status(run.path).ok().and_then(|status| status.own_device);
    let of_device = device.map(|number| PathBuf::from(format!("/sys/dev/block/{number}")));
    let told = |name: &str| of_device.as_ref().and_then(|path| read(run.system, &path.join(name)));
    // A part of a disk has the cache of the disk.
    let write_cache = told("queue/write_cache").or_else(|| told("../queue/write_cache"));
    Prepared {
        is_device: of_device.is_some(),
        device_bytes: told("size")
            .and_then(|sectors| sectors.parse::<u64>().ok()?.checked_mul(512)),
        write_cache,
        range_bytes,
        wanted_bytes: range_bytes,
        ..Prepared::default()
    }
}

fn read(system: &dyn System, path: &Path) -> Option<String> {
    Some(system.read_text(path).ok()?.trim().to_owned())
}

impl Running<'_> {
    /// Nanoseconds that are over: of the clock, or of a simulated drive, whose time passes in none.
    fn spent_ns(&self) -> u64 {
        let passed = self.run.system.monotonic_ns().saturating_sub(self.began_ns);
        passed.max(self.elapsed_ns)
    }

    fn left_ns(&self) -> u64 {
        self.limit_ns.saturating_sub(self.spent_ns())
    }

    /// Discards all of the target, what the rounds do not use included.
    fn purge(&mut self) {
        let whole = self.run.medium.area;
        let refused = match self.run.medium.file {
            None => Some("a simulated drive has nothing to purge".to_owned()),
            Some(file) => {
                let area = whole.start..whole.start + whole.length;
                assay_load::discard(file.as_fd(), &area).err()
            }
        };
        self.detail.prepared.not_purged = refused;
        if let Some(file) = self.run.medium.file.filter(|_| !self.detail.prepared.is_device) {
            // Room of a file that is set aside is not looked for while it is written; without, it is.
            let area = self.area.start..self.area.start + self.area.length;
            let _ = assay_load::set_aside(file.as_fd(), &area);
        }
    }

    /// Writes the whole twice; what the time leaves of the first pass is what rounds go to.
    fn fill(&mut self) -> Result<(), String> {
        let Some(size_bytes) = self.planned.fill_bytes else { return Ok(()) };
        let began_ns = self.spent_ns();
        let until_ns = self.limit_ns / 100 * FILL_SHARE;
        let of_pass = self.area.length / size_bytes;
        for pass in 0..FILLS {
            let left_ns = until_ns.saturating_sub(self.spent_ns());
            if self.stopped || left_ns == 0 {
                break;
            }
            let written = self.pass(size_bytes, of_pass, left_ns)?;
            self.detail.prepared.filled_bytes += written;
            if pass == 0 && written < self.area.length / size_bytes * size_bytes {
                self.shrink(written);
                break;
            }
        }
        if self.detail.prepared.filled_bytes == 0 && !self.stopped {
            return Err("the trial ended before Assay had written data".to_owned());
        }
        self.detail.prepared.fill_ns = self.spent_ns().saturating_sub(began_ns);
        Ok(())
    }

    /// Bytes of one pass over the whole.
    fn pass(&mut self, size_bytes: u64, operations: u64, left_ns: u64) -> Result<u64, String> {
        let cell = Cell { read_percent: 0, size_bytes };
        let mut asked = io_of(Test::Throughput, cell, self.of_fill());
        asked.operations = Some(operations.max(1));
        let before_bytes = self.claims.write.bytes;
        self.job(asked, left_ns)?;
        Ok(self.claims.write.bytes - before_bytes)
    }

    /// How the whole is written: as an engine can that has one operation in flight.
    fn of_fill(&self) -> [u32; 2] {
        let is_single = self.planned.engine == io::Engine::Psync;
        [1, if is_single { 1 } else { FILL_DEPTH }]
    }

    /// Rounds go to what was written: elsewhere there is nothing to read.
    fn shrink(&mut self, written: u64) {
        let whole = written / PIECE * PIECE;
        self.area.length = whole.clamp(PIECE, self.area.length);
        self.detail.prepared.range_bytes = self.area.length;
    }

    fn rounds(&mut self) -> Result<(), String> {
        let Schedule { cells, cell_ns } = Schedule::of(self.planned, self.left_ns());
        let (tracked, measure) = (self.planned.tracked(), self.planned.test.measure());
        (self.detail.cells, self.detail.cell_ns) = (cells, cell_ns);
        let began_ns = self.spent_ns();
        for _ in 0..self.planned.most_rounds {
            if self.stopped {
                break;
            }
            if self.left_ns() == 0 {
                let after = show::duration(self.spent_ns() as f64);
                self.detail.ended = Some(format!("the runtime ended after {after}"));
                break;
            }
            let Some(cells) = self.round()? else { break };
            let ended_ns = self.spent_ns().saturating_sub(began_ns);
            let written_bytes = self.claims.write.bytes;
            self.detail.rounds.push(Round { cells, written_bytes, ended_ns });
            self.keep();
            let course = self.detail.course(tracked, measure).unwrap_or_default();
            let is_steady = counted(self.planned, &course).is_some_and(|window| window.steady);
            if is_steady && self.was_written() {
                break;
            }
        }
        if self.detail.rounds.is_empty() && !self.stopped {
            return Err("the trial ended before a round was complete".to_owned());
        }
        Ok(())
    }

    /// Whether all that rounds go to was written once.
    fn was_written(&self) -> bool {
        self.planned.fill_bytes.is_some() || self.claims.write.bytes >= self.area.length
    }

    /// One pass over the cells; none where it was stopped before it was whole.
    fn round(&mut self) -> Result<Option<Vec<Seen>>, String> {
        let (cells, cell_ns) = (self.detail.cells.clone(), self.detail.cell_ns);
        let mut seen = Vec::with_capacity(cells.len());
        for cell in cells {
            let asked = io_of(self.planned.test, cell, self.planned.in_flight);
            let outcome = self.job(asked, cell_ns)?;
            if self.stopped {
                return Ok(None);
            }
            seen.push(of_outcome(&outcome));
        }
        Ok(Some(seen))
    }

    fn job(&mut self, asked: io::Asked, time_ns: u64) -> Result<Outcome, String> {
        let run = self.run;
        self.jobs += 1;
        let seed = run.seed ^ self.jobs;
        let planned = io::Planned::new(asked, self.planned.engine);
        let job = planned.job(&self.area, (0, time_ns.max(1)), seed);
        let outcome = io::run_job(planned.engine, &job, &run.medium, run.bystanders, run.stop);
        let outcome = outcome.map_err(|error| error.to_string())?;
        let totals = &outcome.totals;
        self.claims = self.claims.plus(io::claims(&outcome));
        self.elapsed_ns = self.elapsed_ns.saturating_add(totals.elapsed_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(outcome.process_cpu_ns);
        self.stopped |= outcome.stopped || run.stop.load(Ordering::Relaxed);
        Ok(outcome)
    }

    /// Keeps the rounds so far, should the program be killed.
    fn keep(&self) {
        let Some(keep) = self.run.keep else { return };
        let after = show::duration(self.spent_ns() as f64);
        let ended = Some(format!("Assay was killed after {after}, or up to one round later"));
        keep(&self.measured(Detail { ended, ..self.detail.clone() }));
    }

    fn measured(&self, detail: Detail) -> Measured {
        let all = detail.rounds.iter().flat_map(|round| &round.cells);
        let window_ns = all.map(|seen| seen.window_ns).fold(0, u64::saturating_add);
        Measured {
            window_ns,
            elapsed_ns: self.elapsed_ns,
            cpu_ns: self.cpu_ns,
            claims: self.claims,
            notes: detail.ended.iter().cloned().collect(),
            ..Measured::of(detail)
        }
    }

    fn ran(mut self) -> Ran {
        if self.stopped {
            let after = show::duration(self.spent_ns() as f64);
            self.detail.ended = Some(format!("the user stopped the trial after {after}"));
        }
        Ran::of(self.measured(self.detail.clone()), self.stopped)
    }
}

/// What a run shows of its cell, reads and writes together.
fn of_outcome(outcome: &Outcome) -> Seen {
    let (mut operations, mut bytes, mut sum_ns, mut most_ns) = (0_u64, 0_u64, 0.0, 0);
    for class in &outcome.classes {
        operations += class.operations;
        bytes += class.bytes;
        sum_ns += class.latency_ns.mean() * class.latency_ns.len() as f64;
        most_ns = most_ns.max(class.latency_ns.max());
    }
    let mean_ns = if operations == 0 { 0.0 } else { sum_ns / operations as f64 };
    Seen {
        operations,
        bytes,
        window_ns: outcome.window_ns,
        mean_ns: mean_ns.round() as u64,
        most_ns,
    }
}
