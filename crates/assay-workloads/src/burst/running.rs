//! A rest, a load until the credits are used up, then rests with a load after each.

use std::ops::ControlFlow;

use assay_core::{quantity::Bytes, quantity::units::show};
use assay_load::Outcome;

use super::{Bucket, BurstDetail, BurstPlan, Course, Rested};
use crate::io;
use crate::measured::{Histograms, RunResult, SeriesRow};
use crate::phases::{PhaseRecord, PhaseRunner};
use crate::place::Run;

const SECOND_NS: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;
/// Shares of the time, in twentieths: filling the file, the rest, and the first load.
const FILLING: u64 = 2;
const RESTING: u64 = 3;
const LOADING: u64 = 11;
/// Lengths of the rests, relative to the first.
const RESTS: [f64; 3] = [1.0, 2.0, 4.0];
/// Largest share of the credits that the longest rest refills.
const MOST_BACK: f64 = 0.8;
/// A load after a rest lasts longer than its expected credits, to show that they are used up.
const LONGER: f64 = 1.5;
/// Seconds of each load in addition to [`LONGER`].
const MORE_S: f64 = 4.0;
/// Seconds at the end of a load that are not whole: half a second, and the rounding of lengths.
const ROUNDED_S: f64 = 1.5;
const SHORTEST_REST_S: f64 = 1.0;
const FILL_DEPTH: u32 = 8;

/// Duration of a rest, and of the load after it, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pause {
    pub rest_s: f64,
    pub load_s: f64,
}

/// Plans three rests that fit into the remaining time, each with a load after it; `None` if they would be too short.
pub(super) fn plan_pauses(bucket: &Bucket, left_s: f64) -> Option<[Pause; 3]> {
    let baseline = bucket.baseline_per_s.value;
    // Seconds of load that use up a second of rest, if credits refill at the baseline rate.
    let load_per_rest = baseline / (bucket.burst_per_s.value - baseline);
    // The remaining time has the fixed part of the loads, and the rests with their part of the loads.
    let fixed_s = (MORE_S + ROUNDED_S) * RESTS.len() as f64;
    let all_lengths: f64 = RESTS.iter().sum();
    let fitting_s = (left_s - fixed_s) / (all_lengths * (1.0 + LONGER * load_per_rest));
    let [.., longest] = RESTS;
    let full_refill_s = bucket.credits.value / baseline;
    let first_rest_s = fitting_s.min(MOST_BACK * full_refill_s / longest);
    let pause = |length: f64| {
        let rest_s = first_rest_s * length;
        Pause { rest_s, load_s: (LONGER * load_per_rest * rest_s + MORE_S).ceil() }
    };
    (first_rest_s.is_finite() && first_rest_s >= SHORTEST_REST_S).then(|| RESTS.map(pause))
}

impl PhaseRecord for BurstDetail {
    fn end_reason(&mut self) -> &mut Option<String> {
        &mut self.ended
    }
}

struct BurstRunner<'a> {
    planned: &'a BurstPlan,
    phases: PhaseRunner<'a>,
    filled_bytes: u64,
    histograms: Histograms,
    series: Vec<SeriesRow>,
    detail: BurstDetail,
}

/// Runs loads and rests until they are done, the time is over or the user stops.
pub(super) fn run(planned: &BurstPlan, run: &Run<'_>) -> Result<RunResult, String> {
    let mut runner = BurstRunner {
        planned,
        phases: PhaseRunner::new(run, planned.engine),
        filled_bytes: 0,
        histograms: Histograms::new(),
        series: Vec::new(),
        detail: BurstDetail::default(),
    };
    runner.fill()?;
    let rest_ns = runner.phases.end_ns(RESTING).saturating_sub(runner.phases.spent_ns());
    runner.detail.before_ns = runner.phases.idle(rest_ns);
    runner.phases.notes.extend(runner.fill_note());
    runner.load()?;
    runner.measure_rests()?;
    Ok(runner.into_result())
}

impl BurstRunner<'_> {
    /// Writes Assay's file if it is new: never written blocks behave differently. Leaves the written part as the area.
    fn fill(&mut self) -> Result<(), String> {
        let area = self.phases.area;
        if !area.written
            || area.fill_ns > 0
            || self.phases.run.medium.file.is_none()
            || self.phases.run.is_on_device()
        {
            return Ok(());
        }
        let whole = area.length / MIB * MIB;
        if whole == 0 {
            return Err(format!("{} is too small; the minimum is 1 MiB", Bytes(area.length)));
        }
        let left_ns = self.phases.end_ns(FILLING).max(1);
        self.phases.area.length = whole;
        self.filled_bytes = self.phases.fill(MIB, FILL_DEPTH, left_ns)?;
        self.phases.area.length = (self.filled_bytes / MIB * MIB).clamp(MIB, whole);
        Ok(())
    }

    /// Loads for two fifths of the time; fails if this is too short for a rate.
    fn load(&mut self) -> Result<(), String> {
        let left_ns = self.phases.end_ns(LOADING).saturating_sub(self.phases.spent_ns());
        if self.phases.stopped || left_ns == 0 {
            return Ok(());
        }
        self.detail.first = self.run_load(left_ns)?;
        if self.detail.course().is_none() && !self.phases.stopped {
            let time = show::duration(left_ns as f64);
            return Err(format!("a load of {time} is too short to determine a rate"));
        }
        Ok(())
    }

    /// After a drop, rests and loads in turns; without time for that, stores the reason.
    fn measure_rests(&mut self) -> Result<(), String> {
        let Some(Course::Fell(bucket)) = self.detail.course() else { return Ok(()) };
        self.phases.checkpoint(&self.detail, " or slightly later");
        let left_ns = self.phases.left_ns();
        let Some(pauses) = plan_pauses(&bucket, left_ns as f64 / 1e9) else {
            let left = show::duration(left_ns as f64);
            self.detail.ended =
                Some(format!("the remaining {left} was too short to measure a refill"));
            return Ok(());
        };
        for pause in pauses {
            if self.pause_and_load(pause)?.is_break() {
                break;
            }
            self.phases.checkpoint(&self.detail, " or slightly later");
        }
        Ok(())
    }

    /// Rests, loads and stores both; `Break` without a record if the user stopped.
    fn pause_and_load(&mut self, pause: Pause) -> Result<ControlFlow<()>, String> {
        let began_ns = self.phases.run.system.monotonic_ns();
        let busy_before_ns = self.phases.elapsed_ns;
        self.phases.idle((pause.rest_s * 1e9) as u64);
        if self.phases.stopped {
            return Ok(ControlFlow::Break(()));
        }
        // The last second of a job is partial.
        let operations = self.run_load((pause.load_s * 1e9) as u64 + SECOND_NS / 2)?;
        if self.phases.stopped {
            return Ok(ControlFlow::Break(()));
        }
        // Credits also refill while a job starts and ends.
        let passed_ns = self.phases.run.system.monotonic_ns().saturating_sub(began_ns);
        let rest_ns = passed_ns.saturating_sub(self.phases.elapsed_ns - busy_before_ns);
        self.detail.rests.push(Rested { rest_ns, operations });
        Ok(ControlFlow::Continue(()))
    }

    /// Loads the volume for a time; returns the operations of each whole second.
    fn run_load(&mut self, time_ns: u64) -> Result<Vec<u64>, String> {
        let BurstPlan { mix, size_bytes, in_flight, .. } = *self.planned;
        let asked = super::io_spec(mix, Bytes(size_bytes), in_flight);
        let from_s = self.phases.spent_ns() / SECOND_NS;
        let outcome = self.phases.run_io(asked, time_ns)?;
        self.phases.window_ns = self.phases.window_ns.saturating_add(outcome.window_ns);
        self.record(&outcome, from_s);
        Ok(by_second(&outcome))
    }

    /// Adds the latencies and rows of a load that began `from_s` seconds into the trial.
    fn record(&mut self, outcome: &Outcome, from_s: u64) {
        for class in &outcome.classes {
            let name = class.class.name().to_owned();
            if let Some(known) = self.histograms.get_mut(&name) {
                // Cannot fail: all histograms have the same bounds.
                let _ = known.add(&class.latency_ns);
            } else {
                self.histograms.insert(name, class.latency_ns.clone());
            }
        }
        self.series.extend(io::series(outcome).into_iter().map(|row| SeriesRow {
            second: row.second.saturating_add(from_s as u32),
            latency_buckets: Vec::new(),
            ..row
        }));
    }

    /// Note on the credits that filling the file may have used.
    fn fill_note(&self) -> Option<String> {
        (self.filled_bytes > 0).then(|| {
            format!(
                "Assay wrote a file of {} before the trial, then idled for {}; the measured credits exclude any \
                 credits that were not refilled by then",
                Bytes(self.filled_bytes),
                show::duration(self.detail.before_ns as f64)
            )
        })
    }

    fn into_result(self) -> RunResult {
        let result = self.phases.finish(self.detail);
        RunResult { histograms: self.histograms, series: self.series, ..result }
    }
}

/// Operations of each whole second of a job; the last one is partial.
fn by_second(outcome: &Outcome) -> Vec<u64> {
    let mut seconds = vec![0_u64; (outcome.totals.submitting_ns / SECOND_NS) as usize];
    for row in &outcome.series {
        if let Some(second) = seconds.get_mut(row.second as usize) {
            *second += row.operations;
        }
    }
    seconds
}
