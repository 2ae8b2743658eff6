//! One trial: rest and look for others' traffic, measure, wait until everything is on the device,
//! collect the evidence.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::survey::Surveyed;
use crate::probes::{disk_stats, own_traffic, page_cache, processors};
use crate::results::bundle::SeriesRow;
use crate::results::plan::{Plan, PlannedTrial, PlannedWorkload};
use crate::results::record::{DeviceEvidence, Evidence, Status, Traffic, Trial, TrialRecord};
use crate::seen::Seen;
use crate::system::System;
use crate::system::site::{Site, TargetKind};
use crate::truth;
use crate::workloads::io;

/// A finished trial with its rows per second.
pub struct Done {
    /// The trial.
    pub trial: Trial,
    /// Rows per second.
    pub series: Vec<SeriesRow>,
    /// Whether the user asked to stop while it ran: it is not kept then.
    pub stopped: bool,
}

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
}

/// Runs one trial.
pub fn run(setting: &Setting<'_>, planned: &PlannedTrial, stop: &AtomicBool) -> Done {
    let workload = &setting.plan.workloads[planned.workload];
    let started = setting.system.now();
    if let Err(error) = setting.surveyed.ground.set_direct(workload.direct) {
        let way = if workload.direct { "past" } else { "through" };
        let reason = format!("the target cannot be used {way} the page cache: {error}");
        let trial = not_run(setting.system, planned, &reason);
        return Done { trial, series: Vec::new(), stopped: false };
    }
    let watch = Watch::start(setting, workload);
    let job = io::job(workload, &setting.surveyed.survey.area, planned.seed);
    let result = io::run(&workload.engine, &job, &setting.surveyed.medium(), stop);
    let evidence = watch.end(setting, workload);
    let (counted, latency_ns, series, failure, stopped) = match result {
        Ok(outcome) => {
            let latencies = outcome
                .classes
                .iter()
                .map(|class| (io::class_name(class.class).to_owned(), class.latency_ns.clone()))
                .collect();
            let stopped = outcome.stopped;
            (Some(io::counted(&outcome)), latencies, io::series(&outcome), None, stopped)
        }
        Err(error) => (None, BTreeMap::new(), Vec::new(), Some(error.to_string()), false),
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
    };
    (record.status, record.reason) =
        status(setting, workload, &record, planned.is_lead_in(), failure);
    Done { trial: Trial { record, latency_ns }, series, stopped }
}

/// A trial that is not run, with the reason.
pub fn not_run(system: &dyn System, planned: &PlannedTrial, reason: &str) -> Trial {
    let absent = || reason.to_owned();
    let evidence = Evidence {
        devices: Seen::Absent(absent()),
        own: Seen::Absent(absent()),
        cached_before: Seen::Absent(absent()),
        cached_after: Seen::Absent(absent()),
        processors: Seen::Absent(absent()),
        throttle_events: Seen::Absent(absent()),
        group_throttled: Seen::Absent(absent()),
    };
    let record = TrialRecord {
        order: planned.order,
        replicate: planned.replicate,
        workload: planned.workload,
        arm: planned.arm.clone(),
        repeats: None,
        status: Status::Failed,
        reason: Some(reason.to_owned()),
        started: system.now(),
        counted: None,
        evidence,
        histograms: BTreeMap::new(),
        series: None,
    };
    Trial { record, latency_ns: BTreeMap::new() }
}

fn status(
    setting: &Setting<'_>,
    workload: &PlannedWorkload,
    record: &TrialRecord,
    lead_in: bool,
    failure: Option<String>,
) -> (Status, Option<String>) {
    if let Some(reason) = failure {
        return (Status::Failed, Some(reason));
    }
    if lead_in {
        return (Status::LeadIn, Some("lead-in: left out by design".to_owned()));
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
    gap_start: disk_stats::Reading,
    run_start: disk_stats::Reading,
    own: Seen<crate::results::record::OwnTraffic>,
    cached: Seen<crate::system::CachedPages>,
    processors: Option<processors::Reading>,
}

impl Watch {
    /// Rests, then reads everything once.
    fn start(setting: &Setting<'_>, workload: &PlannedWorkload) -> Self {
        let system = setting.system;
        if !workload.direct && workload.reads() {
            forget_cached(setting);
        }
        let cached = cached_pages(setting);
        let gap_start = disk_stats::read(system, &setting.site.shared);
        if setting.site.kind != TargetKind::Simulated {
            system.sleep(Duration::from_nanos(setting.plan.gap_ns));
        }
        let processors =
            (setting.site.kind != TargetKind::Simulated).then(|| processors::read(system));
        let own = own_traffic::read(system);
        Self {
            gap_start,
            run_start: disk_stats::read(system, &setting.site.shared),
            own,
            cached,
            processors,
        }
    }

    /// Reads everything again: right after the run, and once more when all is on the device.
    fn end(self, setting: &Setting<'_>, workload: &PlannedWorkload) -> Evidence {
        let system = setting.system;
        let run_end = disk_stats::read(system, &setting.site.shared);
        let own = own_traffic::between(&self.own, &own_traffic::read(system));
        let change =
            self.processors.map(|before| processors::between(&before, &processors::read(system)));
        if let (true, Some(file)) = (workload.writes(), setting.surveyed.ground.file()) {
            // A failure to sync shows as bytes that the device never got.
            let _ = system.sync_data(file);
        }
        let settled = disk_stats::read(system, &setting.site.shared);
        let simulated = setting.site.kind == TargetKind::Simulated;
        let (processors, throttle_events, group_throttled) = match change {
            Some(change) => (change.ticks, change.throttle_events, change.group_throttled),
            None => {
                (Seen::absent("simulated"), Seen::absent("simulated"), Seen::absent("simulated"))
            }
        };
        Evidence {
            devices: devices(&[&self.gap_start, &self.run_start, &run_end, &settled]),
            own: if simulated { Seen::absent("simulated") } else { own },
            cached_before: self.cached,
            cached_after: cached_pages(setting),
            processors,
            throttle_events,
            group_throttled,
        }
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

fn range(setting: &Setting<'_>) -> std::ops::Range<u64> {
    let area = setting.surveyed.survey.area;
    area.start..area.start + area.length
}

/// Reads through the page cache start cold.
fn forget_cached(setting: &Setting<'_>) {
    if let Some(file) = setting.surveyed.ground.file() {
        // Verified by the reading of cached pages that follows, so a refusal is seen there.
        let _ = setting.system.drop_cached(file, range(setting));
    }
}

fn cached_pages(setting: &Setting<'_>) -> Seen<crate::system::CachedPages> {
    match setting.surveyed.ground.file() {
        Some(file) if setting.site.kind != TargetKind::Device => {
            page_cache::read(setting.system, file, range(setting), &setting.site.filesystem())
        }
        Some(_) => Seen::absent("a block device's pages are not looked at"),
        None => Seen::absent("simulated"),
    }
}
