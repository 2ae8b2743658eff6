//! A study from its targets to its records: resolve, lock, survey, plan, run, store. And the same
//! for a study that was interrupted: the plan is the one that was stored.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::area::{self, Fill, Ground};
use super::event::{Context, Event};
use super::places::{Place, hold_all, places};
use super::session::{End, Judge, Session};
use super::survey::{self, Surveyed};
use crate::failure::{Failure, Outcome};
use crate::plan;
use crate::results::bundle::{Bundle, Stored};
use crate::results::environment::{self, Environment};
use crate::results::id::{entropy, new_id};
use crate::results::log::{ENDED, Entry};
use crate::results::plan::{Plan, Survey};
use crate::results::record::Trial;
use crate::study::{Study, Target, simulated};
use crate::system::site::{Site, TargetKind};
use crate::system::{System, devices, machine};

/// What to run, where, and where to keep it.
pub struct Request<'a> {
    /// The study; its targets are set from `targets`.
    pub study: Study,
    /// Targets as the user wrote them.
    pub targets: Vec<String>,
    /// Ids of devices that may be overwritten.
    pub destroy: Vec<String>,
    /// Directory that holds the bundles; without one nothing is kept.
    pub results: Option<PathBuf>,
    /// Looks at what was measured where the stopping rule wants that.
    pub judge: Option<&'a Judge<'a>>,
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
    /// Why it ended before its last planned trial, where a rule ended it.
    pub ended: Option<String>,
}

/// Runs a study. Everything that it made on a target is gone when this returns.
pub fn run(
    system: &dyn System,
    mut request: Request<'_>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Outcome<Finished> {
    let began_ns = system.monotonic_ns();
    let started = system.now();
    let places = places(system, &request.targets, &request.destroy)?;
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
        judge: request.judge,
    };
    let mut trials = Vec::with_capacity(plan.trials.len());
    let end = session.run(&mut trials, &mut context);
    close(&session, &end);
    let directory = if session.bundle.is_some() { directory } else { None };
    drop(surveyed);
    let (interrupted, ended) = told(end);
    let study = request.study;
    Ok(Finished { id, directory, study, plan, environment, trials, interrupted, ended })
}

/// Goes on with a study that was interrupted, at the trial where it stopped.
pub fn resume(
    system: &dyn System,
    stored: Stored,
    directory: &Path,
    (destroy, judge): (&[String], Option<&Judge<'_>>),
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Outcome<Finished> {
    let Stored { id, study, plan, environment, mut trials, .. } = stored;
    if plan::hash(&plan) != plan.sha256 {
        return Err(Failure::mistake(format!(
            "{id}: the plan is not the one that was made before the first trial (its hash differs); a study cannot go on by another plan"
        )));
    }
    let targets: Vec<String> = environment.sites.iter().map(word_of).collect();
    let places = places(system, &targets, destroy)?;
    let _holds = hold_all(system, &places)?;
    for (place, before) in places.iter().zip(&environment.sites) {
        same_place(&place.site, before)?;
    }
    let mut context = Context { system, stop, tell };
    tell_of_changes(&mut context, &environment);
    let grounds: Outcome<Vec<Surveyed<'_>>> = places
        .iter()
        .zip(&plan.surveys)
        .map(|(place, survey)| reopen(&mut context, &study, place, survey, plan.seed))
        .collect();
    let surveyed = grounds?;
    let bundle = Bundle::reopen(system, directory).map_err(|error| {
        Failure::refused(format!("{} cannot be written: {error}", directory.display()))
    })?;
    let text = format!("went on after {} finished trials", trials.len());
    // The log is for people; a study goes on without it.
    let _ = bundle.log(&Entry::new(system, "resumed", &text));
    let mut session = Session {
        system,
        began_ns: system.monotonic_ns(),
        plan: &plan,
        environment: &environment,
        surveyed: &surveyed,
        bundle: Some(bundle),
        judge,
    };
    session.count_spent(&trials);
    let end = session.run(&mut trials, &mut context);
    close(&session, &end);
    drop(surveyed);
    let (interrupted, ended) = told(end);
    let directory = Some(directory.to_owned());
    Ok(Finished { id, directory, study, plan, environment, trials, interrupted, ended })
}

/// What a study would do, from what can be seen without touching anything: estimates stand where a
/// pilot would measure.
pub fn preview(
    system: &dyn System,
    mut study: Study,
    targets: &[String],
    destroy: &[String],
) -> Outcome<(Study, Plan, Vec<Site>)> {
    let places = places(system, targets, destroy)?;
    let seed = study.seed.unwrap_or_else(|| entropy(system));
    set_targets(&mut study, &places, seed);
    let surveys: Outcome<Vec<Survey>> =
        places.iter().map(|place| survey::estimate(system, &study, place)).collect();
    let plan = plan::make(&study, surveys?, seed);
    Ok((study, plan, places.into_iter().map(|place| place.site).collect()))
}

fn told(end: End) -> (bool, Option<String>) {
    match end {
        End::Interrupted => (true, None),
        End::Complete => (false, None),
        End::Early(reason) => (false, Some(reason)),
    }
}

/// Notes in the log that a study has ended, so that it is not gone on with.
fn close(session: &Session<'_>, end: &End) {
    let text = match end {
        // An early end is in the log since it was decided.
        End::Interrupted | End::Early(_) => return,
        End::Complete => "",
    };
    if let Some(bundle) = &session.bundle {
        // Without this line the study shows as complete by its trials, or can be gone on with.
        let _ = bundle.log(&Entry::new(session.system, ENDED, text));
    }
}

/// A resolved target as the command line names it.
fn word_of(site: &Site) -> String {
    match site.kind {
        TargetKind::Simulated => site.target.clone(),
        _ => site.path.display().to_string(),
    }
}

/// Refuses to go on at another place than the one that was measured.
fn same_place(now: &Site, before: &Site) -> Outcome<()> {
    let drives =
        |site: &Site| -> Vec<String> { site.drives.iter().map(|drive| drive.id.clone()).collect() };
    let differs = if now.kind != before.kind {
        Some("it is another kind of target now".to_owned())
    } else if now.filesystem() != before.filesystem() {
        Some(format!("it was {} and is {} now", before.filesystem(), now.filesystem()))
    } else if drives(now) != drives(before) {
        let (before, now) = (drives(before).join(", "), drives(now).join(", "));
        Some(format!("it was on {before} and is on {now} now"))
    } else {
        None
    };
    differs.map_or(Ok(()), |how| {
        Err(Failure::refused(format!(
            "{} is not what was measured before: {how}; start a new study instead",
            now.target
        )))
    })
}

/// Says what of the machine has changed since the study began; the result keeps it in mind.
fn tell_of_changes(context: &mut Context<'_>, environment: &Environment) {
    let (before, now) = (&environment.machine.kernel, machine::machine(context.system).kernel);
    if *before != now {
        let told = |seen: &crate::seen::Seen<String>| {
            seen.value().cloned().unwrap_or_else(|| "not known".to_owned())
        };
        (context.tell)(Event::Warning(format!(
            "the kernel was {} when the study began and is {} now: its replicates are not alike",
            told(before),
            told(&now)
        )));
    }
}

/// A target opened again, with an area like the one that was surveyed.
fn reopen<'a>(
    context: &mut Context<'a>,
    study: &Study,
    place: &Place,
    survey: &Survey,
    seed: u64,
) -> Outcome<Surveyed<'a>> {
    let (system, site) = (context.system, &place.site);
    if site.kind == TargetKind::Directory {
        clear_leftovers(context, site);
    }
    let ground = match place.law {
        Some(_) => Ground::simulated(system),
        None => Ground::open(system, site, place.consent.as_ref())?,
    };
    let changed = ground.direct.value() != survey.direct.value();
    if changed || (place.law.is_none() && ground.first_byte() != survey.area.start) {
        return Err(Failure::refused(format!(
            "{} cannot be opened as before: start a new study instead",
            site.target
        )));
    }
    if survey.area.written && place.law.is_none() {
        let how = Fill {
            engine: &survey.engine.name,
            content: survey::fill_content(study),
            limit_ns: u64::MAX / 4,
            seed,
        };
        area::fill(context, &ground, site, survey.area.length, &how)?;
    }
    Ok(Surveyed { ground, survey: survey.clone(), law: place.law })
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

/// That a result cannot be kept where it should be.
pub fn unkept(directory: &std::path::Path, error: &std::io::Error) -> Event {
    Event::Warning(format!(
        "the result is not kept: {} cannot be written: {error}; set ASSAY_HOME to a directory of yours",
        directory.display()
    ))
}
