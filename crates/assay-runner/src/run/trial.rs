//! One trial: rest, check for other traffic, measure, sync, and collect the evidence.

use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::cuts;
use super::fleet::StartBarrier;
use super::lookout::Post;
use super::prepare::prepare;
use super::setting::TrialContext;
use assay_analysis::import;
use assay_analysis::rules;
use assay_core::quantity::units::show;
use assay_load::Bystanders;
use assay_machine::probes::{Evidence, Moment, Probes};
use assay_machine::system::{Caching, System};
use assay_study::results::bundle::Histograms;
use assay_study::results::plan::{PlannedTrial, PlannedWorkload};
use assay_study::results::record::{Status, Trial};
use assay_study::results::requests;
use assay_study::results::series::SeriesRow;
use assay_study::results::tally::Tally;
use assay_workloads::durability::plug::NoteStore;
use assay_workloads::{Background, Measured, Programs, Run, RunResult, TestMedium, background};
use assay_workloads::{io, production};

pub struct Done {
    pub trial: Trial,
    pub histograms: Histograms,
    pub series: Vec<SeriesRow>,
    /// Whether the user stopped it: then it is not stored.
    pub stopped: bool,
    /// Duration of the readings right before the run, nanoseconds.
    pub readings_ns: u64,
}

impl Done {
    pub fn without_numbers(trial: Trial, stopped: bool) -> Self {
        Self { trial, histograms: Histograms::new(), series: Vec::new(), stopped, readings_ns: 0 }
    }
}

/// Why a partial record has no evidence.
const KILLED: &str = "the program ended before Assay read the counter";

const WARM_UP_EXCLUDED: &str = "warm-up: excluded by design";

/// Runs one trial, with its evidence; failures are its status.
pub fn run(
    setting: &TrialContext<'_>,
    planned: &PlannedTrial,
    probes: &mut Probes,
    stop: &AtomicBool,
) -> Done {
    let workload = &*setting.plan.work_of(planned);
    let started = setting.system.now();
    // A failure after a stop request is not a failure of the trial.
    let is_stopped = || stop.load(Ordering::Relaxed);
    let (background, readings_ns) = match get_ready(setting, workload, planned, probes, stop) {
        Ok(ready) => ready,
        Err(reason) => {
            let trial = not_run(setting.system, planned, &reason);
            return Done::without_numbers(trial, is_stopped());
        }
    };
    setting.surveyed.note_writes(workload);
    let result = if workload.work.is_others() {
        observe_production(setting, workload, probes, stop)
    } else {
        measure(setting, workload, planned, background.as_ref(), stop)
    };
    let (evidence, flushed) = collect_evidence(setting, workload, probes);
    let flush_ns = flushed.as_ref().ok().copied().flatten();
    // A failed sync fails the trial.
    let result = result.and_then(|done| flushed.map(|_| done));
    let (ran, background, failure) = match result {
        Ok((mut ran, background)) => {
            let area = workload.own_part(&setting.surveyed.survey.area);
            let medium = TestMedium { area, ..setting.surveyed.medium() };
            // Reads the data back if the workload is verified, after all probes.
            io::verify::verify_trial(&workload.work, &medium, &mut ran.measured, stop);
            let rollback_text = rollback_text(&ran.measured);
            (Some(ran), background, rollback_text)
        }
        Err(reason) => (None, None, Some(reason)),
    };
    let stopped = ran.as_ref().map_or_else(is_stopped, |ran| ran.stopped);
    let (measured, histograms, series) = match ran {
        Some(ran) => (Some(ran.measured), ran.histograms, ran.series),
        None => (None, Histograms::new(), Vec::new()),
    };
    let tally = |(class, latencies): (&String, _)| (class.clone(), Tally::from(latencies));
    let mut trial = Trial {
        started,
        measured,
        background,
        flush_ns,
        latency_ns: histograms.iter().map(tally).collect(),
        ..Trial::new(planned, evidence)
    };
    (trial.status, trial.reason) = status(setting, workload, &trial, planned, failure);
    Done { trial, histograms, series, stopped, readings_ns }
}

/// Does all before the work; returns the background load and the ns of the readings, or why the trial cannot run.
fn get_ready<'a>(
    setting: &TrialContext<'_>,
    workload: &'a PlannedWorkload,
    planned: &PlannedTrial,
    probes: &mut Probes,
    stop: &AtomicBool,
) -> Result<(Option<background::BackgroundLoad<'a>>, u64), String> {
    let direct = workload.work.touches().direct;
    setting.surveyed.opened.set_direct(direct).map_err(|error| {
        let preposition = if direct { "past" } else { "through" };
        format!("cannot use the target {preposition} the page cache: {error}")
    })?;
    prepare(setting, workload, planned.seed, stop)?;
    let background = open_background(setting, workload)?;
    wait_for_hosts(setting)?;
    let readings_ns = rest_and_read(setting, workload, probes);
    wait_for_hosts(setting)?;
    Ok((background, readings_ns))
}

/// Waits for the other hosts: when the settings are ready, and right before the work.
fn wait_for_hosts(setting: &TrialContext<'_>) -> Result<(), String> {
    setting.gate.map_or(Ok(()), StartBarrier::meet)
}

/// Runs the work of a trial with its background load; stores partial counts.
fn measure(
    setting: &TrialContext<'_>,
    workload: &PlannedWorkload,
    planned: &PlannedTrial,
    background: Option<&background::BackgroundLoad<'_>>,
    stop: &AtomicBool,
) -> Result<(RunResult, Option<Measured>), String> {
    let area = workload.own_part(&setting.surveyed.survey.area);
    let partial = setting.keep.filter(|_| !planned.is_lead_in());
    let system = setting.system;
    let keep = |measured: &Measured| {
        let Some(partial) = partial else { return };
        let ended = not_run(system, planned, KILLED);
        let measured = Some(measured.clone());
        // If this fails, storing the whole trial fails, too.
        let _ = partial.keep(&Trial { status: Status::Ok, reason: None, measured, ..ended });
    };
    let notes = setting.directory.map(|directory| cuts::Notes {
        system,
        directory,
        result: directory.file_name().and_then(OsStr::to_str).unwrap_or_default(),
        trial: planned.order,
    });
    let medium = TestMedium { area, ..setting.surveyed.medium() };
    let path = &setting.site.path;
    let bystanders = Bystanders::now();
    let run = Run {
        ramp_ns: workload.ramp_ns,
        time_ns: workload.time_ns,
        seed: planned.seed,
        study_seed: setting.surveyed.seed,
        caller: setting.runs_as,
        keep: Some(&keep),
        programs: Programs {
            replicate: planned.replicate,
            trial: planned.order.saturating_add(1),
            formats: import::numbers,
            recall: requests::recall,
            notes: notes.as_ref().map(|notes| notes as &dyn NoteStore),
        },
        ..Run::new(system, medium, path, &bystanders, stop)
    };
    if let Some(gate) = setting.gate {
        gate.begins(workload.ramp_ns, setting.scene().is_simulated());
    }
    background::run(&workload.work, &run, background)
}

fn observe_production(
    setting: &TrialContext<'_>,
    workload: &PlannedWorkload,
    probes: &mut Probes,
    stop: &AtomicBool,
) -> Result<(RunResult, Option<Measured>), String> {
    let post = Post::new(setting.scene(), probes);
    let (medium, bystanders) = (setting.surveyed.medium(), Bystanders::now());
    let run = Run {
        ramp_ns: workload.ramp_ns,
        time_ns: workload.time_ns,
        study_seed: setting.surveyed.seed,
        caller: setting.runs_as,
        lookout: Some(&post),
        limits: setting.limits,
        ..Run::new(setting.system, medium, &setting.site.path, &bystanders, stop)
    };
    workload.work.run(&run).map(|ran| (ran, None))
}

/// Describes why a level was rolled back during a trial; `None` if it did not harm the production workload.
pub fn rollback_text(measured: &Measured) -> Option<String> {
    let detail = production::ProductionDetail::of(measured)?;
    let breach = detail.harm.as_ref()?;
    Some(format!(
        "rolled back after {}: {}",
        show::duration(measured.elapsed_ns as f64),
        breach.words()
    ))
}

/// Opens the target again for the background load, which uses the second half of the area.
fn open_background<'a>(
    setting: &TrialContext<'_>,
    workload: &'a PlannedWorkload,
) -> Result<Option<background::BackgroundLoad<'a>>, String> {
    let Some(Background { work, .. }) = &workload.background else { return Ok(None) };
    let caching = if work.direct { Caching::Direct } else { Caching::Buffered };
    let file = setting.surveyed.opened.file().map(|file| setting.system.reopen(file, caching));
    let file = file.transpose();
    let file = file.map_err(|error| format!("cannot open the background target: {error}"))?;
    let [_, area] = setting.surveyed.survey.area.halves();
    Ok(Some(background::BackgroundLoad { work, file, area }))
}

pub fn not_run(system: &dyn System, planned: &PlannedTrial, reason: &str) -> Trial {
    let evidence = Evidence::absent(reason);
    let (status, reason) = failure_status(planned, reason);
    Trial { status, reason, started: system.now(), ..Trial::new(planned, evidence) }
}

/// Status of a failed trial: a warm-up never counts.
pub fn failure_status(planned: &PlannedTrial, why: &str) -> (Status, Option<String>) {
    if planned.is_lead_in() {
        return (Status::Warmup, Some(format!("{WARM_UP_EXCLUDED}; it failed: {why}")));
    }
    (Status::Failed, Some(why.to_owned()))
}

/// Returns the status of a trial that ran, and its reason.
fn status(
    setting: &TrialContext<'_>,
    workload: &PlannedWorkload,
    record: &Trial,
    planned: &PlannedTrial,
    failure: Option<String>,
) -> (Status, Option<String>) {
    if let Some(reason) = failure {
        return failure_status(planned, &reason);
    }
    if planned.is_lead_in() {
        return (Status::Warmup, Some(WARM_UP_EXCLUDED.to_owned()));
    }
    let case = rules::Case {
        site: setting.site,
        survey: &setting.surveyed.survey,
        workload,
        trials: &[record],
        // Not an event: it disturbs no trial.
        emulator: None,
    };
    let design = &setting.plan.design;
    let gated_metric = design.gate.as_ref().map(|gate| {
        let named = gate.metric.as_deref().or(design.primary.as_deref());
        named.unwrap_or_else(|| workload.work.primary(&|_| false))
    });
    match rules::disturbance(&case, record, gated_metric) {
        Some(reason) => (Status::Disturbed, Some(reason)),
        None => (Status::Ok, None),
    }
}

/// Rests, then runs the readings of the probes. Returns the duration of the readings right before the run.
fn rest_and_read(
    setting: &TrialContext<'_>,
    workload: &PlannedWorkload,
    probes: &mut Probes,
) -> u64 {
    let (system, scene) = (setting.system, setting.scene());
    probes.look(Moment::Ready, &scene);
    probes.look(Moment::BeforeRest, &scene);
    if workload.work.is_others() {
        // Production work needs no check for other traffic; measurement starts after the change has settled.
        return 0;
    }
    if !scene.is_simulated() {
        let rest_ns = setting.plan.gap_ns.saturating_sub(setting.readings_ns);
        system.sleep(Duration::from_nanos(rest_ns.max(setting.plan.gap_ns / 2)));
    }
    let rested_ns = system.monotonic_ns();
    probes.look(Moment::BeforeRun, &scene);
    system.monotonic_ns().saturating_sub(rested_ns)
}

/// Runs the readings of the probes after the run and the sync. Returns the sync's duration or error.
fn collect_evidence(
    setting: &TrialContext<'_>,
    workload: &PlannedWorkload,
    probes: &mut Probes,
) -> (Evidence, Result<Option<u64>, String>) {
    let scene = setting.scene();
    probes.look(Moment::AfterRun, &scene);
    let written = setting.surveyed.opened.file().filter(|_| workload.writes());
    let flushed = written.map(|file| {
        let began_ns = setting.system.monotonic_ns();
        let synced = setting.system.sync_data(file);
        synced.map_err(|error| format!("cannot sync the writes: {error}"))?;
        Ok(setting.system.monotonic_ns().saturating_sub(began_ns))
    });
    probes.look(Moment::Settled, &scene);
    probes.look(Moment::Last, &scene);
    (probes.evidence(&scene), flushed.transpose())
}
