//! One trial: rest and look for others' traffic, measure, wait until everything is on the device,
//! collect the evidence.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::prepare::prepare;
use super::survey::Surveyed;
use crate::probes::block_latency::{self, Tracer};
use crate::probes::{
    Costs, cpu, disk_stats, members, own_traffic, page_cache, processors, surroundings,
};
use crate::results::bundle::Histograms;
use crate::results::plan::{Plan, PlannedTrial, PlannedWorkload};
use crate::results::record::{DeviceEvidence, Evidence, Status, Traffic, Trial, TrialRecord};
use crate::results::series::SeriesRow;
use crate::results::tally::Tally;
use crate::seen::Seen;
use crate::study::Prepare;
use crate::system::site::{Site, TargetKind};
use crate::system::{Caching, System};
use crate::truth;
use crate::workloads::{beside, io};

/// A finished trial with what is stored of it beside its record.
pub struct Done {
    /// The trial.
    pub trial: Trial,
    /// Its histograms.
    pub histograms: Histograms,
    /// Rows per second.
    pub series: Vec<SeriesRow>,
    /// Whether the user asked to stop while it ran: it is not kept then.
    pub stopped: bool,
    /// Nanoseconds that the readings right before the run took.
    pub readings_ns: u64,
}

impl Done {
    /// A trial that was not run.
    pub fn without_numbers(trial: Trial, stopped: bool) -> Self {
        Self { trial, histograms: Histograms::new(), series: Vec::new(), stopped, readings_ns: 0 }
    }
}

/// Why a lead-in does not count.
const LEFT_OUT: &str = "lead-in: left out by design";

/// Everything around a trial that does not change from one to the next.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The machine.
    pub system: &'a dyn System,
    /// The plan.
    pub plan: &'a Plan,
    /// What the trial's target stands on.
    pub site: &'a Site,
    /// The target, open.
    pub surveyed: &'a Surveyed<'a>,
    /// The state that it is to be in.
    pub prepare: &'a Prepare,
    /// What the readings before the run took the last time: they are part of the rest.
    pub readings_ns: u64,
}

/// Runs one trial.
pub fn run(
    setting: &Setting<'_>,
    planned: &PlannedTrial,
    tracer: &mut Tracer,
    stop: &AtomicBool,
) -> Done {
    let workload = &*setting.plan.work_of(planned);
    let started = setting.system.now();
    if let Err(error) = setting.surveyed.ground.set_direct(workload.direct) {
        let way = if workload.direct { "past" } else { "through" };
        let reason = format!("the target cannot be used {way} the page cache: {error}");
        let trial = not_run(setting.system, planned, &reason);
        return Done::without_numbers(trial, false);
    }
    if let Err(reason) = prepare(setting, workload) {
        let trial = not_run(setting.system, planned, &reason);
        return Done::without_numbers(trial, false);
    }
    let beside = match others(setting, workload) {
        Ok(beside) => beside,
        Err(reason) => {
            let trial = not_run(setting.system, planned, &reason);
            return Done::without_numbers(trial, false);
        }
    };
    let watch = Watch::start(setting, tracer);
    let readings_ns = watch.readings_ns;
    let own = beside::Run {
        workload,
        medium: setting.surveyed.medium(),
        area: &setting.surveyed.survey.area,
        seed: planned.seed,
    };
    let result = beside::run(&own, beside.as_ref(), stop);
    let (evidence, synced) = watch.end(setting, workload, tracer);
    let result = result.map_err(|error| error.to_string()).and_then(|done| synced.map(|()| done));
    let (counted, histograms, series, failure, stopped) = match result {
        Ok((outcome, other)) => {
            let histograms = io::histograms(&outcome);
            let stopped = outcome.stopped;
            (
                Some(beside::counted(&outcome, other.as_ref())),
                histograms,
                io::series(&outcome),
                None,
                stopped,
            )
        }
        Err(reason) => (None, Histograms::new(), Vec::new(), Some(reason), false),
    };
    let mut record = TrialRecord {
        order: planned.order,
        replicate: planned.replicate,
        workload: planned.workload,
        arm: planned.arm.clone(),
        repeats: None,
        status: Status::Ok,
        reason: None,
        started,
        counted,
        evidence,
        histograms: BTreeMap::new(),
        series: None,
        spent: None,
    };
    (record.status, record.reason) = status(setting, workload, &record, planned, failure);
    let tally = |(class, latencies): (&String, _)| (class.clone(), Tally::from(latencies));
    let latency_ns = histograms.iter().map(tally).collect();
    Done { trial: Trial { record, latency_ns }, histograms, series, stopped, readings_ns }
}

/// What goes on beside a workload, with a handle of its own.
fn others<'a>(
    setting: &Setting<'_>,
    workload: &'a PlannedWorkload,
) -> Result<Option<beside::Beside<'a>>, String> {
    let Some(other) = workload.beside.as_deref() else { return Ok(None) };
    let caching = if other.direct { Caching::Direct } else { Caching::Buffered };
    let file = setting.surveyed.ground.file().map(|file| setting.system.reopen(file, caching));
    let file = file.transpose();
    let file = file.map_err(|error| format!("the work beside it cannot be opened: {error}"))?;
    Ok(Some(beside::Beside { workload: other, file }))
}

/// A trial that is not run, with the reason.
pub fn not_run(system: &dyn System, planned: &PlannedTrial, reason: &str) -> Trial {
    let (status, told) = failed(planned, reason);
    let record = TrialRecord {
        order: planned.order,
        replicate: planned.replicate,
        workload: planned.workload,
        arm: planned.arm.clone(),
        repeats: None,
        status,
        reason: told,
        started: system.now(),
        counted: None,
        evidence: Evidence::absent(reason),
        histograms: BTreeMap::new(),
        series: None,
        spent: None,
    };
    Trial { record, latency_ns: BTreeMap::new() }
}

/// What a trial that failed is: a lead-in counts in no case.
pub fn failed(planned: &PlannedTrial, why: &str) -> (Status, Option<String>) {
    if planned.is_lead_in() {
        return (Status::LeadIn, Some(format!("{LEFT_OUT}; it failed: {why}")));
    }
    (Status::Failed, Some(why.to_owned()))
}

fn status(
    setting: &Setting<'_>,
    workload: &PlannedWorkload,
    record: &TrialRecord,
    planned: &PlannedTrial,
    failure: Option<String>,
) -> (Status, Option<String>) {
    if let Some(reason) = failure {
        return failed(planned, &reason);
    }
    if planned.is_lead_in() {
        return (Status::LeadIn, Some(LEFT_OUT.to_owned()));
    }
    let case = truth::Case {
        site: setting.site,
        survey: &setting.surveyed.survey,
        workload,
        trials: &[record],
    };
    match truth::disturbance(&case, record) {
        Some(reason) => (Status::Disturbed, Some(reason)),
        None => (Status::Ok, None),
    }
}

/// Readings before a trial.
struct Watch {
    gap_start: Disks,
    run_start: Disks,
    own: Seen<crate::results::record::OwnTraffic>,
    cached: Seen<crate::system::CachedPages>,
    processors: Option<(cpu::Reading, processors::Reading)>,
    block: Option<block_latency::Reading>,
    around: Option<surroundings::Reading>,
    costs: Costs,
    readings_ns: u64,
}

impl Watch {
    /// Rests, then reads everything once: what takes longest first, the counters of the devices
    /// last, so that nothing is read in the measured time.
    fn start(setting: &Setting<'_>, tracer: &mut Tracer) -> Self {
        let system = setting.system;
        let mut costs = Costs::default();
        if setting.plan.sees_classes() {
            costs.time(system, &block_latency::PROBE, || tracer.prepare(system, setting.site));
        }
        let cached = costs.time(system, &page_cache::PROBE, || cached_pages(setting));
        let gap_start = Disks::before(setting, &mut costs);
        if setting.site.kind != TargetKind::Simulated {
            let rest_ns = setting.plan.gap_ns.saturating_sub(setting.readings_ns);
            system.sleep(Duration::from_nanos(rest_ns.max(setting.plan.gap_ns / 2)));
        }
        let rested_ns = system.monotonic_ns();
        let processors = (setting.site.kind != TargetKind::Simulated).then(|| {
            (
                costs.time(system, &cpu::PROBE, || cpu::read(system)),
                costs.time(system, &processors::PROBE, || processors::read(system)),
            )
        });
        let around = processors.is_some().then(|| surroundings::read(system, &mut costs));
        let own = costs.time(system, &own_traffic::PROBE, || own_traffic::read(system));
        let block = costs.time(system, &block_latency::PROBE, || tracer.before(system));
        let run_start = Disks::before(setting, &mut costs);
        let readings_ns = system.monotonic_ns().saturating_sub(rested_ns);
        Self { gap_start, run_start, own, cached, processors, block, around, costs, readings_ns }
    }

    /// Reads everything again: right after the run, and once more when all is on the device; says
    /// why it did not get there.
    fn end(
        self,
        setting: &Setting<'_>,
        workload: &PlannedWorkload,
        tracer: &mut Tracer,
    ) -> (Evidence, Result<(), String>) {
        let system = setting.system;
        let mut costs = self.costs;
        let run_end = Disks::after(setting, &mut costs);
        let own = costs.time(system, &own_traffic::PROBE, || {
            own_traffic::between(&self.own, &own_traffic::read(system))
        });
        let change = self.processors.as_ref().map(|(_, before)| {
            costs.time(system, &processors::PROBE, || {
                processors::between(before, &processors::read(system))
            })
        });
        let written = setting.surveyed.ground.file().filter(|_| workload.writes());
        let synced = written.map_or(Ok(()), |file| {
            let told = |error| format!("what it wrote cannot be synced: {error}");
            system.sync_data(file).map_err(told)
        });
        let settled = Disks::after(setting, &mut costs);
        let block = self.block.as_ref().map(|before| {
            costs.time(system, &block_latency::PROBE, || tracer.after(system, before))
        });
        let asked = surroundings::Asked::of(setting.plan);
        let watched = self.around.map(|mut before| {
            let after = surroundings::again(system, &mut before, asked, &mut costs);
            surroundings::between(&before, &after, asked)
        });
        let ran = self.processors.as_ref().map(|(before, _)| {
            costs.time(system, &cpu::PROBE, || cpu::between(before, &cpu::read(system)))
        });
        let disks = [&self.gap_start, &self.run_start, &run_end, &settled];
        let nothing = Evidence::absent("simulated");
        let found = Evidence {
            devices: devices(&disks.map(|disks| &disks.shared)),
            cached_before: self.cached,
            cached_after: costs.time(system, &page_cache::PROBE, || cached_pages(setting)),
            block: block.unwrap_or(nothing.block.clone()),
            ..nothing
        };
        let Some((change, ran)) = change.zip(ran) else { return (found, synced) };
        let below = if members::below(setting.site).is_empty() {
            found.below.clone()
        } else {
            devices(&disks.map(|disks| &disks.below))
        };
        let found = Evidence {
            own,
            processors: change.ticks,
            throttle_events: change.throttle_events,
            group_throttled: change.group_throttled,
            below,
            kernel_threads_ns: ran.kernel_threads_ns,
            busy_ns: ran.busy_ns,
            watched: watched.unwrap_or_default(),
            probe_ns: costs.told(),
            ..found
        };
        (found, synced)
    }
}

/// Counters of the shared devices, and of those of the stack that are not shared.
struct Disks {
    shared: disk_stats::Reading,
    below: disk_stats::Reading,
}

impl Disks {
    /// Before a run, or a rest: the shared devices last.
    fn before(setting: &Setting<'_>, costs: &mut Costs) -> Self {
        let below = Self::below(setting, costs);
        Self { shared: Self::shared(setting, costs), below }
    }

    /// After a run, or a sync: the shared devices first.
    fn after(setting: &Setting<'_>, costs: &mut Costs) -> Self {
        let shared = Self::shared(setting, costs);
        Self { shared, below: Self::below(setting, costs) }
    }

    fn shared(setting: &Setting<'_>, costs: &mut Costs) -> disk_stats::Reading {
        costs.time(setting.system, &disk_stats::PROBE, || {
            disk_stats::read(setting.system, &setting.site.shared)
        })
    }

    fn below(setting: &Setting<'_>, costs: &mut Costs) -> disk_stats::Reading {
        costs.time(setting.system, &members::PROBE, || {
            disk_stats::read(setting.system, &members::below(setting.site))
        })
    }
}

/// Traffic of each device in gap, run and settling, from four readings.
fn devices(readings: &[&disk_stats::Reading; 4]) -> Seen<BTreeMap<String, DeviceEvidence>> {
    let [gap, run, settle] =
        [0, 1, 2].map(|span| disk_stats::between(readings[span], readings[span + 1]));
    gap.both(&run, |gap, run| (gap.clone(), run.clone())).both(&settle, |(gap, run), settle| {
        run.keys().map(|name| (name.clone(), evidence(name, [gap, run, settle]))).collect()
    })
}

fn evidence(name: &str, spans: [&BTreeMap<String, Traffic>; 3]) -> DeviceEvidence {
    let [gap, run, settle] = spans.map(|span| span.get(name).copied().unwrap_or_default());
    DeviceEvidence { gap, run, settle }
}

pub(super) fn range(setting: &Setting<'_>) -> std::ops::Range<u64> {
    let area = setting.surveyed.survey.area;
    area.start..area.start + area.length
}

pub(super) fn cached_pages(setting: &Setting<'_>) -> Seen<crate::system::CachedPages> {
    match setting.surveyed.ground.file() {
        Some(file) if setting.site.kind != TargetKind::Device => {
            page_cache::read(setting.system, file, range(setting), &setting.site.filesystem())
        }
        Some(_) => Seen::absent("a block device's pages are not looked at"),
        None => Seen::absent("simulated"),
    }
}
