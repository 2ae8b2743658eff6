//! One study from targets to records: resolve, lock, survey, plan, run each trial, store it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::area::Ground;
use super::event::{Context, Event};
use super::survey::{self, Surveyed};
use super::trial::{self, Setting};
use crate::failure::{Failure, Outcome};
use crate::plan;
use crate::results::bundle::Bundle;
use crate::results::environment::{self, Environment};
use crate::results::plan::{Plan, PlannedTrial};
use crate::results::record::Trial;
use crate::study::{Study, Target, simulated};
use crate::system::site::{Site, TargetKind};
use crate::system::{Consent, Hold, HoldError, System, devices, identity, machine, resolve};

/// What to run, where, and where to keep it.
pub struct Request {
    /// The study; its targets are set from `targets`.
    pub study: Study,
    /// Targets as the user wrote them.
    pub targets: Vec<String>,
    /// Ids of devices that may be overwritten.
    pub destroy: Vec<String>,
    /// Directory that holds the bundles; without one nothing is kept.
    pub results: Option<PathBuf>,
}

/// A study that was run, or as much of it as was.
pub struct Finished {
    /// Id of the bundle.
    pub id: String,
    /// Where the bundle lies, if it could be written.
    pub directory: Option<PathBuf>,
    /// The study with its targets.
    pub study: Study,
    /// The plan.
    pub plan: Plan,
    /// The environment.
    pub environment: Environment,
    /// Finished trials.
    pub trials: Vec<Trial>,
    /// Whether a signal ended it.
    pub interrupted: bool,
}

/// Runs a study. Everything that it made on a target is gone when this returns.
pub fn run(
    system: &dyn System,
    mut request: Request,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Outcome<Finished> {
    let began_ns = system.monotonic_ns();
    let started = system.now();
    let places = places(system, &request)?;
    let _holds = hold_all(system, &places)?;
    let seed = request.study.seed.unwrap_or_else(|| entropy(system));
    set_targets(&mut request.study, &places, seed);
    let mut context = Context { system, stop, tell };
    let surveyed: Outcome<Vec<Surveyed<'_>>> = places
        .iter()
        .map(|place| survey_one(system, &mut context, &request.study, place, seed))
        .collect();
    let surveyed = surveyed?;
    let surveys = surveyed.iter().map(|surveyed| surveyed.survey.clone()).collect();
    let plan = plan::make(&request.study, surveys, seed);
    let environment = Environment {
        format: environment::FORMAT.to_owned(),
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        machine: machine::machine(system),
        sites: places.into_iter().map(|place| place.site).collect(),
        started,
    };
    let id = new_id(&environment.started, entropy(system));
    let directory = request.results.map(|results| results.join(&id));
    let bundle = directory.as_ref().and_then(|directory| {
        let made = Bundle::create(system, directory, &request.study, &plan, &environment);
        made.map_err(|error| (context.tell)(unkept(directory, &error))).ok()
    });
    let mut session = Session {
        system,
        began_ns,
        plan: &plan,
        environment: &environment,
        surveyed: &surveyed,
        bundle,
    };
    let (trials, interrupted) = session.run_all(&mut context);
    let directory = if session.bundle.is_some() { directory } else { None };
    drop(surveyed);
    Ok(Finished { id, directory, study: request.study, plan, environment, trials, interrupted })
}

/// A target, resolved.
struct Place {
    site: Site,
    law: Option<assay_load::Law>,
    consent: Option<Consent>,
}

fn places(system: &dyn System, request: &Request) -> Outcome<Vec<Place>> {
    let mut places = Vec::new();
    for target in &request.targets {
        places.push(match target.strip_prefix(simulated::PREFIX) {
            Some(text) => Place {
                site: Site::simulated(target),
                law: Some(simulated::law(text)?),
                consent: None,
            },
            None => real_place(system, target, &request.destroy)?,
        });
    }
    let spare =
        request.destroy.len() > places.iter().filter(|place| place.consent.is_some()).count();
    if spare {
        return Err(Failure::mistake(
            "--destroy names a device that is no target: name the device file as target too",
        ));
    }
    Ok(places)
}

fn real_place(system: &dyn System, target: &str, destroy: &[String]) -> Outcome<Place> {
    let site = resolve::resolve(system, target)?;
    let consent = match (site.kind, destroy) {
        (TargetKind::Device, [_, ..]) => Some(consent_of(system, &site, destroy)?),
        _ => None,
    };
    Ok(Place { site, law: None, consent })
}

/// The consent for a device: one of the ids given must be its own.
fn consent_of(system: &dyn System, site: &Site, destroy: &[String]) -> Outcome<Consent> {
    let mut refusal = None;
    for id in destroy {
        match identity::consent(system, site, id) {
            Ok(consent) => return Ok(consent),
            Err(failure) => refusal = Some(failure),
        }
    }
    Err(refusal.unwrap_or_else(|| Failure::mistake("--destroy needs the id of the device")))
}

/// One lock a drive below any target, so that no two runs disturb each other.
fn hold_all(system: &dyn System, places: &[Place]) -> Outcome<Vec<Hold>> {
    let names: BTreeSet<String> = places
        .iter()
        .filter(|place| place.law.is_none())
        .flat_map(|place| resolve::lock_names(&place.site))
        .collect();
    names.iter().map(|name| system.hold(name).map_err(|error| held(name, places, &error))).collect()
}

fn held(name: &str, places: &[Place], error: &HoldError) -> Failure {
    let drive = places
        .iter()
        .flat_map(|place| &place.site.drives)
        .find(|drive| drive.number.to_string() == *name)
        .map_or_else(|| format!("device {name}"), |drive| drive.name.clone());
    match error {
        HoldError::Held { process, user } => {
            let process = process.map_or_else(String::new, |id| format!(" (process {id}"));
            let user = user.map_or_else(String::new, |id| format!(", user {id}"));
            let end = if process.is_empty() { "" } else { ")" };
            Failure::refused(format!(
                "{drive} is being measured by another assay{process}{user}{end}: wait until it has finished"
            ))
        }
        HoldError::Failed(error) => {
            Failure::refused(format!("{drive} cannot be locked against other runs: {error}"))
        }
    }
}

/// Writes the targets into the study: one as its target, several as the factor `target`.
fn set_targets(study: &mut Study, places: &[Place], seed: u64) {
    study.seed = Some(seed);
    if let [place] = places {
        study.target = Some(target_of(&place.site));
    } else {
        let names = places.iter().map(|place| place.site.target.clone()).collect();
        study.factors.insert("target".to_owned(), names);
    }
}

fn target_of(site: &Site) -> Target {
    let path = site.path.display().to_string();
    match site.kind {
        TargetKind::Directory => Target::Directory(path),
        TargetKind::File => Target::File(path),
        TargetKind::Device => Target::Device(path),
        TargetKind::Simulated => {
            Target::Simulated(site.target.trim_start_matches(simulated::PREFIX).to_owned())
        }
    }
}

fn survey_one<'a>(
    system: &'a dyn System,
    context: &mut Context<'_>,
    study: &Study,
    place: &Place,
    seed: u64,
) -> Outcome<Surveyed<'a>> {
    let site = &place.site;
    let told = match site.kind {
        TargetKind::Directory => clear_leftovers(context, site),
        _ => Vec::new(),
    };
    let mut ground = match place.law {
        Some(_) => Ground::simulated(system),
        None => Ground::open(system, site, place.consent.as_ref())?,
    };
    ground.notes.extend(told);
    ground.notes.extend(buffered_loops(system, site));
    let how = (place.consent.is_some(), place.law);
    survey::make(context, study, site, ground, how, seed)
}

/// Removes area files of runs that were killed, and says so.
fn clear_leftovers(context: &mut Context<'_>, site: &Site) -> Vec<String> {
    let mut told = Vec::new();
    for leftover in context.system.leftovers(&site.path).unwrap_or_default() {
        let path = leftover.path.display();
        let text = match context.system.remove_leftover(&leftover) {
            Ok(()) => format!("removed {path}, left behind by a run that was killed"),
            Err(error) => format!(
                "{path} was left behind by a run that was killed and cannot be removed: {error}"
            ),
        };
        (context.tell)(Event::Warning(text.clone()));
        told.push(text);
    }
    told
}

/// Loop devices that answer from memory: their own counters cannot tell.
fn buffered_loops(system: &dyn System, site: &Site) -> Vec<String> {
    let layers = site.layers.iter().map(|layer| &layer.name);
    layers
        .filter(|name| devices::is_buffered_loop(system, name))
        .map(|name| {
            format!(
                "{name} goes through the page cache of its file: what it reads may come from \
                 memory (losetup --direct-io=on {name} goes past it)"
            )
        })
        .collect()
}

fn unkept(directory: &std::path::Path, error: &std::io::Error) -> Event {
    Event::Warning(format!(
        "the result is not kept: {} cannot be written: {error}; set ASSAY_HOME to a directory of yours",
        directory.display()
    ))
}

/// Bits that differ from run to run: the clocks and the process id, stirred.
fn entropy(system: &dyn System) -> u64 {
    use sha2::{Digest, Sha256};
    let source = format!("{} {} {}", system.now(), system.monotonic_ns(), system.user().process);
    let digest = Sha256::digest(source.as_bytes());
    digest.iter().take(8).fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

/// `20261120-103107-a3f9`: sorts by time, short enough to type.
fn new_id(started: &str, bits: u64) -> String {
    let digits: String = started.chars().take(19).filter(char::is_ascii_digit).collect();
    let (day, time) = digits.split_at(digits.len().min(8));
    format!("{day}-{time}-{:04x}", bits & 0xffff)
}

struct Session<'a> {
    system: &'a dyn System,
    began_ns: u64,
    plan: &'a Plan,
    environment: &'a Environment,
    surveyed: &'a [Surveyed<'a>],
    bundle: Option<Bundle<'a>>,
}

impl Session<'_> {
    /// Runs the plan's trials; true when the user asked to stop.
    fn run_all(&mut self, context: &mut Context<'_>) -> (Vec<Trial>, bool) {
        let mut remaining_ns = self.plan.trials.iter().map(|trial| self.expected_ns(trial)).sum();
        (context.tell)(Event::Planned {
            trials: self.plan.trials.len(),
            expected_ns: remaining_ns,
        });
        let mut trials = Vec::with_capacity(self.plan.trials.len());
        for (index, planned) in self.plan.trials.iter().enumerate() {
            if context.is_stopped() {
                return (trials, true);
            }
            (context.tell)(self.starting(index, planned, remaining_ns));
            remaining_ns -= self.expected_ns(planned);
            let mut done = self.run_one(planned, context.stop);
            if done.stopped {
                return (trials, true);
            }
            (context.tell)(Event::TrialEnded { index, result: result_of(&done.trial) });
            self.keep(&mut done, context);
            trials.push(done.trial);
        }
        (trials, false)
    }

    fn run_one(&self, planned: &PlannedTrial, stop: &AtomicBool) -> trial::Done {
        if self.system.monotonic_ns() - self.began_ns > self.plan.deadline_ns {
            let trial = trial::not_run(self.system, planned, "the time was over before this trial");
            return trial::Done { trial, series: Vec::new(), stopped: false };
        }
        let target = self.plan.workloads[planned.workload].target;
        let setting = Setting {
            system: self.system,
            plan: self.plan,
            site: &self.environment.sites[target],
            surveyed: &self.surveyed[target],
        };
        trial::run(&setting, planned, stop)
    }

    /// Stores a trial; where that fails, the rest of the run is kept in memory alone.
    fn keep(&mut self, done: &mut trial::Done, context: &mut Context<'_>) {
        let Some(bundle) = &self.bundle else { return };
        if let Err(error) = bundle.append(&mut done.trial, &done.series) {
            (context.tell)(unkept(bundle.directory(), &error));
            self.bundle = None;
        }
    }

    fn starting(&self, index: usize, planned: &PlannedTrial, remaining_ns: u64) -> Event {
        let workload = &self.plan.workloads[planned.workload];
        Event::TrialStarted {
            index,
            workload: workload.name.clone(),
            target: self.plan.surveys[workload.target].target.clone(),
            replicate: planned.replicate,
            remaining_ns,
        }
    }

    fn expected_ns(&self, planned: &PlannedTrial) -> u64 {
        let workload = &self.plan.workloads[planned.workload];
        let wait = self.plan.surveys[workload.target].pilot.of(workload);
        self.plan.gap_ns + workload.ramp_ns + workload.time_ns + wait + plan::budget::OVERHEAD_NS
    }
}

fn result_of(trial: &Trial) -> Result<u64, String> {
    match &trial.record.counted {
        Some(counted) => Ok(counted.operations()),
        None => Err(trial.record.reason.clone().unwrap_or_default()),
    }
}
