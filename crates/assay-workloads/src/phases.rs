//! Trials with several phases, such as fills, loads and idle times.

use std::sync::atomic::Ordering;

use assay_core::quantity::Bytes;
use assay_core::quantity::units::show;
use assay_load::{Job, Outcome, Pattern};

use super::WorkDetail;
use super::io::{self, Engine};
use super::measured::{Claims, Measured, RunResult};
use super::place::{Area, Run};

pub(super) trait PhaseRecord: Clone + Into<WorkDetail> {
    /// Why the trial ended early, if it did.
    fn end_reason(&mut self) -> &mut Option<String>;
}

/// Runs the phases of one trial within its time, and counts their traffic.
pub(super) struct PhaseRunner<'a> {
    pub run: &'a Run<'a>,
    engine: Engine,
    began_ns: u64,
    pub limit_ns: u64,
    pub area: Area,
    pub claims: Claims,
    pub elapsed_ns: u64,
    pub window_ns: u64,
    cpu_ns: u64,
    pub stopped: bool,
    /// Jobs of `run_io` so far; each has a different seed.
    jobs: u64,
    pub notes: Vec<String>,
}

impl<'a> PhaseRunner<'a> {
    pub fn new(run: &'a Run<'a>, engine: Engine) -> Self {
        Self {
            run,
            engine,
            began_ns: run.system.monotonic_ns(),
            limit_ns: run.ramp_ns.saturating_add(run.time_ns),
            area: run.medium.area,
            claims: Claims::default(),
            elapsed_ns: 0,
            window_ns: 0,
            cpu_ns: 0,
            stopped: false,
            jobs: 0,
            notes: Vec::new(),
        }
    }

    /// Nanoseconds since the start, by the clock or by a simulated drive's separate time.
    pub fn spent_ns(&self) -> u64 {
        let by_clock_ns = self.run.system.monotonic_ns().saturating_sub(self.began_ns);
        by_clock_ns.max(self.elapsed_ns)
    }

    pub fn left_ns(&self) -> u64 {
        self.limit_ns.saturating_sub(self.spent_ns())
    }

    /// Returns when so many twentieths of the time are over.
    pub fn end_ns(&self, twentieths: u64) -> u64 {
        self.limit_ns / 20 * twentieths
    }

    /// Writes the area sequentially within a time. Returns the bytes written.
    pub fn fill(
        &mut self,
        block_bytes: u64,
        queue_depth: u32,
        time_ns: u64,
    ) -> Result<u64, String> {
        let writes = io::IoSpec {
            pattern: Pattern::Sequential,
            mix: io::Mix::WRITES,
            block_size: Bytes(block_bytes).into(),
            queue_depth: if self.engine == Engine::Psync { 1 } else { queue_depth },
            threads: 1,
            operations: Some((self.area.length / block_bytes).max(1)),
            ..io::IoSpec::default()
        };
        let before_bytes = self.claims.write.bytes;
        self.run_io(writes, time_ns)?;
        Ok(self.claims.write.bytes - before_bytes)
    }

    pub fn run_io(&mut self, spec: io::IoSpec, time_ns: u64) -> Result<Outcome, String> {
        self.jobs += 1;
        let planned = io::IoPlan::new(spec, self.engine);
        self.run_job(&planned.job(&self.area, 0, time_ns.max(1), self.run.seed ^ self.jobs))
    }

    /// Runs a job, and adds its counts and times to the totals.
    pub fn run_job(&mut self, job: &Job) -> Result<Outcome, String> {
        let run = self.run;
        let outcome = io::run_job(self.engine, job, &run.medium, run.bystanders, run.stop)?;
        self.claims = self.claims.plus(io::claims(&outcome));
        self.elapsed_ns = self.elapsed_ns.saturating_add(outcome.totals.elapsed_ns);
        self.cpu_ns = self.cpu_ns.saturating_add(outcome.process_cpu_ns);
        self.stopped |= outcome.stopped || run.stop.load(Ordering::Relaxed);
        Ok(outcome)
    }

    /// Waits for a time or until a stop; returns the nanoseconds (0 on a simulated drive).
    pub fn idle(&mut self, time_ns: u64) -> u64 {
        if self.run.medium.law.is_some() { 0 } else { self.run.rest(time_ns, &mut self.stopped) }
    }

    /// Stores the record so far, in case Assay is killed `later`.
    pub fn checkpoint(&self, record: &impl PhaseRecord, later: &str) {
        let Some(keep) = self.run.keep else { return };
        let after = show::duration(self.spent_ns() as f64);
        let mut record = record.clone();
        *record.end_reason() = Some(format!("Assay was killed after {after}{later}"));
        keep(&self.measured(record));
    }

    pub fn finish(self, mut record: impl PhaseRecord) -> RunResult {
        if self.stopped {
            let after = show::duration(self.spent_ns() as f64);
            *record.end_reason() = Some(format!("the user stopped the trial after {after}"));
        }
        RunResult::new(self.measured(record), self.stopped)
    }

    fn measured(&self, mut record: impl PhaseRecord) -> Measured {
        Measured {
            window_ns: self.window_ns,
            elapsed_ns: self.elapsed_ns,
            cpu_ns: self.cpu_ns,
            claims: self.claims,
            notes: record.end_reason().iter().chain(&self.notes).cloned().collect(),
            ..Measured::from_detail(record)
        }
    }
}
