//! A recording as a bundle: a study of one trial that ran nothing, with the classes as evidence. `show`, `compare` and
//! `report` read it like any other.

mod imported;

pub use imported::write_imported;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::State;
use super::sampler::Span;
use assay_core::calc::requests::Recorded;
use assay_core::failure::{Failure, Outcome};
use assay_core::presence::Presence;
use assay_machine::probes::block_latency::counts::{BlockLatency, ClassSpan};
use assay_machine::probes::pressure::{Pressure, PressureObservation, WaitTime};
use assay_machine::probes::{block_latency, processors};
use assay_machine::system::machine::Machine;
use assay_machine::system::site::Site;
use assay_machine::system::{System, devices, machine, resolve};
use assay_study::file::{self, Study};
use assay_study::findings::WATCHED;
use assay_study::plan;
use assay_study::results::bundle::{Bundle, Histograms};
use assay_study::results::design::Design;
use assay_study::results::environment::{self, Environment};
use assay_study::results::log::{ENDED, LogEntry};
use assay_study::results::plan::{
    Arm, EngineUse, FORMAT, Plan, PlannedTrial, PlannedWorkload, Survey,
};
use assay_study::results::record::{DeviceEvidence, Evidence, Traffic, Trial};
use assay_study::results::series::{self, SeriesRow};
use assay_study::results::surroundings::Surroundings;
use assay_workloads::{Measured, io};

const MOST_SECONDS: u64 = 4 * 3600;
const NOTHING_RUN: &str = "Assay only observed and ran no workload";

/// Where and under which title to write a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordWish {
    pub directory: PathBuf,
    pub title: String,
}

impl RecordWish {
    pub fn write_failure(&self, error: &std::io::Error) -> Failure {
        refused!("cannot write {}: {error}", self.directory.display())
    }
}

#[derive(Clone, Debug, Default)]
pub struct Rows {
    rows: Vec<SeriesRow>,
}

impl Rows {
    /// Adds the activity between the last two readings of all shown disks.
    pub fn add(&mut self, state: &State) {
        let Some(second) = middle_second(state) else { return };
        let shown = state.shown();
        let classes = shown.iter().filter_map(|disk| state.last.disks[*disk].classes.value());
        let mut sums: BTreeMap<&str, ClassSpan> = BTreeMap::new();
        for (class, span) in classes.flatten() {
            sums.entry(class).or_default().add(span);
        }
        for (class, span) in sums {
            self.merge_or_push(series::row(second, class, &span));
        }
    }

    /// Merges a row with that of the same second and class, because late readings may share a second.
    fn merge_or_push(&mut self, row: SeriesRow) {
        let latest = self.rows.iter_mut().rev();
        let mut of_second = latest.take_while(|known| known.second == row.second);
        match of_second.find(|known| known.class == row.class) {
            Some(known) => merge(known, &row),
            None => self.rows.push(row),
        }
    }

    pub fn clear(&mut self) {
        self.rows.clear();
    }

    pub fn rows(&self) -> &[SeriesRow] {
        &self.rows
    }
}

/// Returns the second since the start in the middle of the last span; `None` beyond the maximum of a series.
fn middle_second(state: &State) -> Option<u32> {
    let middle_ns = state.whole.span_ns.saturating_sub(state.last.span_ns / 2);
    let second = middle_ns / 1_000_000_000;
    u32::try_from(second).ok().filter(|_| second < MOST_SECONDS)
}

/// Adds a row to a known one of the same second and class.
fn merge(known: &mut SeriesRow, row: &SeriesRow) {
    known.operations = known.operations.saturating_add(row.operations);
    known.bytes = known.bytes.saturating_add(row.bytes);
    known.latency_sum_ns = known.latency_sum_ns.saturating_add(row.latency_sum_ns);
    known.latency_max_ns = known.latency_max_ns.max(row.latency_max_ns);
    let mut buckets: BTreeMap<u32, u32> =
        known.latency_buckets.iter().map(|[bucket, count]| (*bucket, *count)).collect();
    for [bucket, count] in &row.latency_buckets {
        let sum = buckets.entry(*bucket).or_default();
        *sum = sum.saturating_add(*count);
    }
    known.latency_buckets = buckets.into_iter().map(|(bucket, count)| [bucket, count]).collect();
}

/// Creates the bundle without its trial. A recording of requests does so twice: at its start, with duration 0, so that
/// commands find it after a kill, and at its end, with the measured duration.
pub fn create_bundle<'s>(
    system: &'s dyn System,
    wish: &RecordWish,
    started: &str,
    site: Site,
    span_ns: u64,
) -> Outcome<Bundle<'s>> {
    let probes = [block_latency::PROBE.about.name];
    let study = study(&wish.title, &probes)?;
    let plan = plan(&site.target, span_ns, &probes);
    let environment = environment(started, machine::machine(system), site);
    let begun = Bundle::create(system, &wish.directory, &study, &plan, &environment);
    begun.map_err(|error| wish.write_failure(&error))
}

pub fn write(
    system: &dyn System,
    wish: &RecordWish,
    state: &State,
    rows: &Rows,
    requests: Option<Recorded>,
) -> Outcome<()> {
    let started = state.started();
    let names: Vec<_> = state.active().iter().map(|disk| state.disks[*disk].name.clone()).collect();
    // Idle disks count, too: whether there are several does not depend on their load.
    let counted = state.disks.iter().map(|disk| disk.name.clone()).collect();
    let site = Site { counted, ..site(system, &names)? };
    let bundle = create_bundle(system, wish, started, site, state.whole.span_ns)?;
    let mut trial = trial(started, state.whole.span_ns, requests, evidence(&state.whole, &names));
    append_only_trial(system, wish, &bundle, &mut trial, rows.rows())
}

/// Appends the only trial of a recording, and the log entry of its end.
fn append_only_trial(
    system: &dyn System,
    wish: &RecordWish,
    bundle: &Bundle<'_>,
    trial: &mut Trial,
    rows: &[SeriesRow],
) -> Outcome<()> {
    bundle.append(trial, &Histograms::new(), rows).map_err(|error| wish.write_failure(&error))?;
    bundle.log(&LogEntry::new(system, ENDED, "")).map_err(|error| wish.write_failure(&error))
}

/// Checks that a bundle can be created: the path does not exist or is an empty directory.
pub fn check_unused(system: &dyn System, directory: &Path) -> Outcome<()> {
    let is_empty = system.list(directory).is_ok_and(|names| names.is_empty());
    if is_empty || system.status(directory).is_err() {
        return Ok(());
    }
    Err(mistake!("{} already exists; use a new directory", directory.display()))
}

fn environment(started: &str, machine: Machine, site: Site) -> Environment {
    Environment {
        format: environment::FORMAT.to_owned(),
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        started: started.to_owned(),
        machine,
        sites: vec![site],
        surroundings: Surroundings::default(),
        observer: None,
        fleet: None,
    }
}

fn study(title: &str, probes: &[&str]) -> Outcome<Study> {
    let (title, probes) = (serde_json::Value::from(title), serde_json::Value::from(probes));
    let text = format!(
        "format = \"{}\"\ntitle = {title}\nreplicates = 1\nprobes = {probes}\nworkload = []\n",
        file::FORMAT
    );
    file::text::stored("the study of the watched devices", &text)
}

/// Returns the site of the first disk, with the names of all.
pub fn site(system: &dyn System, names: &[String]) -> Outcome<Site> {
    let first = names.first().map_or("", String::as_str);
    let path = devices::file_of(first);
    let site = resolve(system, &path.display().to_string())?;
    Ok(Site { target: names.join(" "), ..site })
}

/// Returns a plan with one trial, because watching runs no workload.
fn plan(target: &str, span_ns: u64, probes: &[&str]) -> Plan {
    let mut plan = Plan {
        format: FORMAT.to_owned(),
        sha256: String::new(),
        seed: 0,
        design: Design::default(),
        replicates: 1,
        probes: probes.iter().map(|&probe| probe.to_owned()).collect(),
        idle_ns: None,
        meter: None,
        gap_ns: 0,
        budget_ns: None,
        deadline_ns: span_ns,
        surveys: vec![Survey {
            engine: EngineUse { name: io::Engine::None, note: None },
            ..Survey::untaken(target, NOTHING_RUN)
        }],
        workloads: vec![workload(span_ns)],
        absent: Vec::new(),
        trials: vec![planned_trial()],
    };
    plan.sha256 = plan::hash(&plan);
    plan
}

fn planned_trial() -> PlannedTrial {
    PlannedTrial {
        order: 1,
        host: 0,
        replicate: 1,
        lead_in: false,
        workload: 0,
        arm: Arm::new(),
        seed: 0,
    }
}

fn workload(span_ns: u64) -> PlannedWorkload {
    PlannedWorkload {
        name: WATCHED.to_owned(),
        arm: Arm::new(),
        control: false,
        target: 0,
        work: io::IoPlan::watched().into(),
        ramp_ns: 0,
        time_ns: span_ns,
        note: None,
        background: None,
    }
}

fn trial(started: &str, span_ns: u64, requests: Option<Recorded>, evidence: Evidence) -> Trial {
    let requests = requests.map(Box::new);
    Trial {
        started: started.to_owned(),
        measured: Some(Measured {
            window_ns: span_ns,
            elapsed_ns: span_ns,
            ..Measured::from_detail(io::IoDetail {
                submitting_ns: span_ns,
                requests,
                ..io::IoDetail::default()
            })
        }),
        ..Trial::new(&planned_trial(), evidence)
    }
}

fn evidence(whole: &Span, names: &[String]) -> Evidence {
    Evidence {
        disk: traffic(whole, names),
        block_latency: block_latency(whole, names),
        processors: Presence::Present(processors::ThrottleObservation {
            ticks: Presence::absent(NOTHING_RUN),
            throttle_events: whole.throttle_events.clone(),
            group_throttled: Presence::absent(NOTHING_RUN),
        }),
        pressure: pressure(whole),
        ..Evidence::absent(NOTHING_RUN)
    }
}

/// Returns the time that tasks waited, which shows whether CPUs were equally busy in two compared recordings.
fn pressure(whole: &Span) -> Presence<PressureObservation> {
    let shares = match &whole.pressure {
        Presence::Present(shares) => shares,
        Presence::Absent(reason) => return Presence::absent(reason.clone()),
    };
    let to_ns = |share: f64| (share * whole.span_ns as f64).round() as u64;
    let wait_time =
        |some: f64, full: Option<f64>| WaitTime { some_ns: to_ns(some), full_ns: full.map(to_ns) };
    let waited = [
        ("cpu".to_owned(), wait_time(shares.cpu, None)),
        ("io".to_owned(), wait_time(shares.io, Some(shares.io_full))),
        ("memory".to_owned(), wait_time(shares.memory, Some(shares.memory_full))),
    ];
    Presence::Present(Pressure { span_ns: whole.span_ns, waited: waited.into() }.into())
}

fn traffic(whole: &Span, names: &[String]) -> Presence<BTreeMap<String, DeviceEvidence>> {
    let disks = whole.disks.iter().filter(|disk| names.contains(&disk.name));
    let evidence = disks.filter_map(|disk| {
        let run = Traffic::new(disk.counters.value()?, whole.span_ns);
        Some((disk.name.clone(), DeviceEvidence { run, ..DeviceEvidence::default() }))
    });
    Presence::Present(evidence.collect())
}

fn block_latency(whole: &Span, names: &[String]) -> Presence<BlockLatency> {
    let disks = || whole.disks.iter().filter(|disk| names.contains(&disk.name));
    let Some(means) = whole.means else {
        let reason = disks().find_map(|disk| disk.classes.reason());
        return Presence::absent(reason.unwrap_or("requests were not traced"));
    };
    Presence::Present(BlockLatency {
        means,
        span_ns: whole.span_ns,
        devices: disks().map(|disk| (disk.name.clone(), disk.classes.clone())).collect(),
        unseen_beginnings: whole.unseen_beginnings,
        notes: whole.notes.clone(),
    })
}

#[cfg(test)]
mod tests;
