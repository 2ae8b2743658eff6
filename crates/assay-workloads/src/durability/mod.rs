//! Whether acknowledged writes survive a power loss: programs that write, the log of their writes and syncs, crash
//! points, models of drives, the judgment, and the bound. `assay-load` transfers data; `assay_runner::real` starts
//! virtual machines. This module only opens files through the machine that it receives.

pub mod asked;
pub mod below;
pub mod bound;
pub mod command;
pub mod cut;
pub mod drive;
pub mod files;
pub mod grade;
pub mod guest;
pub mod image;
pub mod judge;
#[cfg(test)]
mod known_tests;
pub mod log;
#[cfg(test)]
mod log_files;
pub mod metrics;
pub mod outage;
pub mod pages;
pub mod pattern;
pub mod plug;
pub mod program;
pub mod reached;
pub mod served;
pub mod sync;
pub mod tally;
pub mod tell;
pub mod trial;

use assay_core::catalogue::About;
use assay_core::exhibit::Exhibit;
use assay_core::quantity::Metric;
use assay_core::quantity::units::show;
use assay_load::mix64;

use super::io::Content;
use super::measured::{Claims, Count, Counts, Measured, RunResult};
use super::place::Run;
use super::tell::{FactsFigure, RowSource, RowView, Shows, Tells};
use super::workload::{Basis, Touch, WorkloadKind};
use grade::Method;
use metrics::{METRICS, ROUNDS, values};
use outage::{AREA_BYTES, Outage};
use plug::{Plug, PlugTarget};

pub use asked::{DurabilityPlan, DurabilitySpec};
pub use tell::DurabilityFacts;
pub use trial::DurabilityDetail;

impl WorkloadKind for DurabilitySpec {
    const ABOUT: About = asked::ABOUT;
    const EXAMPLE: &'static str = "durability = { writer = \"log\", sync = \"fdatasync\" }";
    const METRICS: &'static [&'static [Metric]] = &[METRICS];
    const JUDGED: &'static [Basis] = &[Basis::Machine];
}

/// A count with its noun: `1 crash point`, `20 crash points`.
fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", show::count(count), if count == 1 { "" } else { "s" })
}

const TOUCH: Touch =
    Touch { reads: true, writes: Some(Content::Random), finds: None, clears: false, direct: false };

/// Its effect on the target: none in virtual machines.
fn touch(is_in_machine: bool) -> Touch {
    if is_in_machine { Touch::default() } else { TOUCH }
}

/// Runs a trial in virtual machines, whose own area replaces that of the target.
fn run_in_machines(planned: &DurabilityPlan, run: &Run<'_>) -> Result<RunResult, String> {
    let began_ns = run.system.monotonic_ns();
    // Distinguishes the data of this run from that of others.
    let run_key = mix64(run.seed ^ run.system.wall_ns());
    let course = planned.course([0, AREA_BYTES], u64::MAX, run.seed, run_key);
    let (mounted, command) = (planned.mounted.as_str(), planned.own.as_ref());
    let outage = Outage { course: &course, on: planned.write_to, mounted, command };
    let mut starts = run.system.machines(&planned.vm_needs())?;
    let detail = match planned.method {
        Method::Kill => outage.kill(&mut *starts, run.stop)?,
        Method::Replay | Method::Plug => outage.replay(&mut *starts, run.stop)?,
    };
    let elapsed_ns = run.system.monotonic_ns().saturating_sub(began_ns);
    let why = "the speed of a virtual machine is not representative";
    let mut result = untimed_result(detail, elapsed_ns, why);
    result.measured.notes.extend(starts.describe());
    Ok(result)
}

/// Runs a trial until this machine loses power, or judges it after that.
fn run_plug(planned: &DurabilityPlan, run: &Run<'_>) -> Result<RunResult, String> {
    let began_ns = run.system.monotonic_ns();
    let (device, area, notes) = (run.medium.file, run.medium.area, run.programs.notes);
    let area = [area.start, area.length];
    let ground =
        PlugTarget { system: run.system, path: run.path, device, area, notes, stop: run.stop };
    let course = planned.course(area, run.time_ns, run.seed, 0);
    let detail = match planned.peer.as_deref().filter(|_| planned.acknowledged_writes > 0) {
        Some(peer) => Plug { course: &course, peer, ground }.run()?,
        // A warm-up acknowledges nothing, so it needs no power loss.
        None => DurabilityDetail::default(),
    };
    let elapsed_ns = run.system.monotonic_ns().saturating_sub(began_ns);
    Ok(untimed_result(detail, elapsed_ns, "the power cut destroyed the timing data"))
}

/// Result of a trial without a meaningful speed: claims no writes to the target and has no rate.
fn untimed_result(detail: DurabilityDetail, elapsed_ns: u64, why: &str) -> RunResult {
    let detail = DurabilityDetail { window_ns: elapsed_ns.max(1), ..detail };
    let mut result = run_result(detail, elapsed_ns);
    result.measured.claims = Claims::default();
    result.measured.values.remove(ROUNDS.name);
    result.measured.absent.insert(ROUNDS.name.to_owned(), why.to_owned());
    result
}

fn run_result(detail: DurabilityDetail, elapsed_ns: u64) -> RunResult {
    let write = Count { operations: detail.writes, bytes: detail.written_bytes };
    let (values, stopped) = (values(&detail).into(), detail.stopped);
    RunResult::new(
        Measured {
            window_ns: detail.window_ns,
            elapsed_ns,
            claims: Claims { write, ..Claims::default() },
            values,
            ..Measured::from_detail(detail)
        },
        stopped,
    )
}

impl Counts for DurabilityDetail {
    fn operations(&self) -> u64 {
        self.rounds
    }

    /// Crash points are independent draws, so a stopped trial counts those done so far.
    fn keeps_what_it_has(&self) -> bool {
        self.tally.crash_points > 0
    }
}

fn details<'a>(of: impl Iterator<Item = &'a Measured>) -> Vec<&'a DurabilityDetail> {
    of.filter_map(DurabilityDetail::of).collect()
}

impl Tells for DurabilityPlan {
    fn facts(&self, seen: &RowView<'_>) -> Option<super::WorkFacts> {
        let trials = details(seen.trials.iter().copied().flatten());
        let left_out = details(seen.left_out.iter().copied());
        DurabilityFacts::judge(seen.subject, self, &trials, &left_out).map(Into::into)
    }
}

impl Shows for DurabilityFacts {
    const KEY: &'static str = "durability";
    const FIGURE: Option<&'static FactsFigure> =
        Some(&FactsFigure { key: Self::KEY, about: tell::FIGURE, leads: true });

    fn exhibit(all: &[&Self], rows: &dyn RowSource) -> Exhibit {
        tell::exhibit(all, &|of| rows.name(of))
    }
}
