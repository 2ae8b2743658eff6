//! Purge, two full writes, and consecutive rounds, until five of them are steady or the time is over.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use assay_core::quantity::Bytes;
use assay_core::quantity::units::show;
use assay_load::{Outcome, Pattern};
use assay_machine::system::System;

use super::detail::{CellResult, Prepared, Round, SteadyStateDetail};
use super::judge::{FILLS, measurement_window};
use super::schedule::RoundSchedule;
use super::{PIECE, SteadyStatePlan};
use crate::io;
use crate::measured::RunResult;
use crate::phases::{PhaseRecord, PhaseRunner};
use crate::place::Run;
use assay_core::calc::pts::{PtsPoint, Test};

/// Queue depth of the full writes before the first round.
const FILL_DEPTH: u32 = 32;
/// Largest share of a limited time for the full writes, in percent.
const FILL_SHARE: u64 = 40;

/// The operations of a cell; `in_flight` has the threads, and the queue depth of each.
pub(super) fn cell_io(test: Test, cell: PtsPoint, in_flight: [u32; 2]) -> io::IoSpec {
    let [threads, queue_depth] = in_flight;
    io::IoSpec {
        pattern: if test.is_sequential() { Pattern::Sequential } else { Pattern::Random },
        // All mixes of the tests are valid percentages.
        mix: cell.mix().parse().unwrap_or(io::Mix::WRITES),
        block_size: Bytes(cell.size_bytes).into(),
        queue_depth,
        threads,
        ..io::IoSpec::default()
    }
}

impl PhaseRecord for SteadyStateDetail {
    fn end_reason(&mut self) -> &mut Option<String> {
        &mut self.ended
    }
}

struct SteadyStateRunner<'a> {
    planned: &'a SteadyStatePlan,
    phases: PhaseRunner<'a>,
    detail: SteadyStateDetail,
}

/// Runs until the steady state, the end of the time, or a stop.
pub(super) fn run(planned: &SteadyStatePlan, run: &Run<'_>) -> Result<RunResult, String> {
    if !run.medium.area.written {
        return Err("cannot overwrite the whole target: no consent given".to_owned());
    }
    let range_bytes = planned.range_bytes.min(run.medium.area.length) / PIECE * PIECE;
    if range_bytes == 0 {
        return Err("the target is smaller than 1 MiB".to_owned());
    }
    let mut phases = PhaseRunner::new(run, planned.engine);
    phases.area.length = range_bytes;
    let mut runner = SteadyStateRunner { planned, phases, detail: SteadyStateDetail::default() };
    runner.detail.prepared = prepared_state(run, range_bytes);
    runner.purge();
    runner.fill()?;
    runner.run_rounds()?;
    Ok(runner.phases.finish(runner.detail))
}

/// Reads the state of the target before the test; `range_bytes` is the tested part.
fn prepared_state(run: &Run<'_>, range_bytes: u64) -> Prepared {
    let device = run.system.status(run.path).ok().and_then(|status| status.own_device);
    let directory = device.map(|number| PathBuf::from(format!("/sys/dev/block/{number}")));
    let attribute =
        |name: &str| directory.as_ref().and_then(|path| read_line(run.system, &path.join(name)));
    // A partition has the cache of its disk.
    let write_cache = attribute("queue/write_cache").or_else(|| attribute("../queue/write_cache"));
    Prepared {
        is_device: directory.is_some(),
        device_bytes: attribute("size")
            .and_then(|sectors| sectors.parse::<u64>().ok()?.checked_mul(512)),
        write_cache,
        range_bytes,
        wanted_bytes: range_bytes,
        ..Prepared::default()
    }
}

fn read_line(system: &dyn System, path: &Path) -> Option<String> {
    Some(system.read_text(path).ok()?.trim().to_owned())
}

impl SteadyStateRunner<'_> {
    /// Discards the whole target, including bytes outside the rounds, and preallocates the range of a file again.
    fn purge(&mut self) {
        let whole = self.phases.run.medium.area;
        self.detail.prepared.not_purged = match self.phases.run.medium.file {
            None => Some("a simulated drive has nothing to purge".to_owned()),
            Some(file) => {
                let area = whole.start..whole.start + whole.length;
                assay_load::discard(file.as_fd(), &area).err()
            }
        };
        if let Some(file) = self.phases.run.medium.file.filter(|_| !self.detail.prepared.is_device)
        {
            // Preallocation avoids block allocation during writes; it is optional.
            let area = self.phases.area.start..self.phases.area.start + self.phases.area.length;
            let _ = assay_load::set_aside(file.as_fd(), &area);
        }
    }

    /// Writes the whole range twice; a first pass cut short by time determines the range of the rounds.
    fn fill(&mut self) -> Result<(), String> {
        let Some(size_bytes) = self.planned.fill_bytes else { return Ok(()) };
        let began_ns = self.phases.spent_ns();
        let until_ns = self.phases.limit_ns / 100 * FILL_SHARE;
        for pass in 0..FILLS {
            let left_ns = until_ns.saturating_sub(self.phases.spent_ns());
            if self.phases.stopped || left_ns == 0 {
                break;
            }
            let written = self.phases.fill(size_bytes, FILL_DEPTH, left_ns)?;
            self.detail.prepared.filled_bytes += written;
            if pass == 0 && written < self.phases.area.length / size_bytes * size_bytes {
                self.shrink(written);
                break;
            }
        }
        if self.detail.prepared.filled_bytes == 0 && !self.phases.stopped {
            return Err("the trial ended before Assay had written data".to_owned());
        }
        self.detail.prepared.fill_ns = self.phases.spent_ns().saturating_sub(began_ns);
        Ok(())
    }

    /// Limits rounds to written bytes: elsewhere there is nothing to read.
    fn shrink(&mut self, written: u64) {
        self.phases.area.length = (written / PIECE * PIECE).clamp(PIECE, self.phases.area.length);
        self.detail.prepared.range_bytes = self.phases.area.length;
    }

    /// Repeats all cells until the tracking cell is steady and every block was written.
    fn run_rounds(&mut self) -> Result<(), String> {
        let schedule = RoundSchedule::new(self.planned, self.phases.left_ns());
        self.detail.cells = schedule.cells;
        self.detail.cell_ns = schedule.cell_ns;
        let (tracked, measure) = (self.planned.tracked(), self.planned.test.measure());
        let began_ns = self.phases.spent_ns();
        for _ in 0..self.planned.most_rounds {
            if self.phases.stopped {
                break;
            }
            if self.phases.left_ns() == 0 {
                let after = show::duration(self.phases.spent_ns() as f64);
                self.detail.ended = Some(format!("the runtime ended after {after}"));
                break;
            }
            let Some(cells) = self.run_round()? else { break };
            let ended_ns = self.phases.spent_ns().saturating_sub(began_ns);
            for cell in &cells {
                self.phases.window_ns = self.phases.window_ns.saturating_add(cell.window_ns);
            }
            let written_bytes = self.phases.claims.write.bytes;
            self.detail.rounds.push(Round { cells, written_bytes, ended_ns });
            self.phases.checkpoint(&self.detail, ", or up to one round later");
            let course = self.detail.course(tracked, measure).unwrap_or_default();
            let is_steady =
                measurement_window(self.planned, &course).is_some_and(|window| window.steady);
            if is_steady && self.is_range_written() {
                break;
            }
        }
        if self.detail.rounds.is_empty() && !self.phases.stopped {
            return Err("the trial ended before a round was complete".to_owned());
        }
        Ok(())
    }

    /// Whether every block was written: until then, a fresh drive looks steady.
    fn is_range_written(&self) -> bool {
        self.planned.fill_bytes.is_some()
            || self.phases.claims.write.bytes >= self.phases.area.length
    }

    /// One pass over the cells; `None` if it was stopped earlier.
    fn run_round(&mut self) -> Result<Option<Vec<CellResult>>, String> {
        let mut results = Vec::with_capacity(self.detail.cells.len());
        for cell in self.detail.cells.clone() {
            let spec = cell_io(self.planned.test, cell, self.planned.in_flight);
            let outcome = self.phases.run_io(spec, self.detail.cell_ns)?;
            if self.phases.stopped {
                return Ok(None);
            }
            results.push(cell_result(&outcome));
        }
        Ok(Some(results))
    }
}

/// The result of a run for its cell, reads and writes together.
fn cell_result(outcome: &Outcome) -> CellResult {
    let mut result = CellResult { window_ns: outcome.window_ns, ..CellResult::default() };
    let mut sum_ns = 0.0;
    for class in &outcome.classes {
        result.operations += class.operations;
        result.bytes += class.bytes;
        result.most_ns = result.most_ns.max(class.latency_ns.max());
        sum_ns += class.latency_ns.mean() * class.latency_ns.len() as f64;
    }
    if result.operations > 0 {
        result.mean_ns = (sum_ns / result.operations as f64).round() as u64;
    }
    result
}
