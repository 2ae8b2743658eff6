//! A study from its targets to its records: resolve, lock, survey, plan, run, store. And the same
//! for a study that was interrupted: the plan is the one that was stored.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::around;
use super::changes;
use super::event::{Context, Event};
use super::places::{Place, places};
use super::session::{End, Judge, Session};
use super::stage::{self, Stage};
use super::survey;
use crate::failure::{Failure, Outcome};
use crate::plan;
use crate::plan::allocation::{self, Quick};
use crate::plan::pace::Pace;
use crate::probes::block_latency::Tracer;
use crate::results::bundle::{Bundle, Stored};
use crate::results::environment::{self, Environment};
use crate::results::id::{entropy, new_id};
use crate::results::log::{ENDED, Entry};
use crate::results::plan::{Plan, Survey};
use crate::results::record::Trial;
use crate::results::seal::key;
use crate::results::vouch::Voucher;
use crate::study::{Study, Target, simulated};
use crate::system::site::{Site, TargetKind};
use crate::system::{System, machine};
use crate::workloads::io;

/// What the user has said himself that a study may do, on the command line and nowhere else.
#[derive(Clone, Copy, Default)]
pub struct Consented<'a> {
    /// Ids of devices that may be overwritten.
    pub destroy: &'a [String],
    /// Settings that may be written though studies usually have no business there.
    pub allowed: &'a [PathBuf],
}

/// Says, in a sentence a workload, what a plan will be able to see.
pub type Foresee<'a> = dyn Fn(&Plan) -> Vec<String> + 'a;

/// What to run, where, and where to keep it.
pub struct Request<'a> {
    /// The study; its targets are set from `targets`.
    pub study: Study,
    /// Targets as the user wrote them.
    pub targets: Vec<String>,
    /// Ids of devices that may be overwritten.
    pub destroy: Vec<String>,
    /// Settings that may be written though studies usually have no business there.
    pub allowed: Vec<PathBuf>,
    /// Directory that holds the bundles; without one nothing is kept.
    pub results: Option<PathBuf>,
    /// Looks at what was measured where the stopping rule wants that.
    pub judge: Option<&'a Judge<'a>>,
    /// What of this process looks on meanwhile, one sentence, if something does.
    pub observer: Option<String>,
    /// Where it is a quick look, how that is divided into trials.
    pub quick: Option<Quick>,
    /// Says what a plan will be able to see.
    pub foresee: Option<&'a Foresee<'a>>,
}

/// A study that was run, or as much of it as was.
pub struct Finished {
    /// Id of the bundle.
    pub id: String,
    /// Where the bundle lies, if all of it could be written; none of a study stopped before its first
    /// trial.
    pub directory: Option<PathBuf>,
    /// What became of a bundle that could not be written to its end.
    pub unkept: Option<Unkept>,
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
    /// What could not be put back, if anything.
    pub left: Option<Failure>,
}

/// A bundle that could not be written to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unkept {
    /// Trials that are in it, from the first on; none where it could not be begun.
    pub trials: usize,
    /// Where it lies, and what the kernel said.
    pub why: String,
}

impl Unkept {
    /// That a directory took the first `trials` trials and no more.
    pub fn after(trials: usize, directory: &Path, error: &std::io::Error) -> Self {
        Self { trials, why: format!("{} cannot be written: {error}", directory.display()) }
    }

    /// What is said at that moment; the run goes on.
    pub fn warning(&self) -> Event {
        let what = if self.trials == 0 { "the result is" } else { "the trials from now on are" };
        Event::Warning(format!("{what} not kept, only shown at the end: {}", self.why))
    }
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
    let seed = request.study.seed.unwrap_or_else(|| entropy(system));
    let id = new_id(&started, entropy(system));
    let targets = &request.targets;
    let consented = Consented { destroy: &request.destroy, allowed: &request.allowed };
    let mut stage = Stage::set(system, &request.study, targets, consented, (&id, seed))?;
    set_targets(&mut request.study, stage.places(), seed);
    let mut context = Context { system, stop, tell };
    for text in changes::lacks(system, &request.study) {
        (context.tell)(Event::Warning(format!("not here: {text}")));
    }
    if let Err(failure) = stage.survey(&mut context, &request.study) {
        return Err(struck(stage, failure));
    }
    if let Some(quick) = request.quick {
        request.study = allocation::settle(request.study, quick, &stage.surveys());
    }
    let plan = plan::make(&request.study, stage.surveys(), seed);
    if let Err(failure) = enough(&plan) {
        return Err(struck(stage, failure));
    }
    let sites = stage.sites();
    let foreseen = request.foresee.map_or_else(Vec::new, |foresee| foresee(&plan));
    for text in foreseen {
        (context.tell)(Event::Foreseen { text });
    }
    let planned_ns = system.monotonic_ns();
    let surroundings = around::before(&mut context, &plan, &sites);
    // The rest is no part of the study's time.
    let began_ns = began_ns + (system.monotonic_ns() - planned_ns);
    let environment = Environment {
        format: environment::FORMAT.to_owned(),
        assay: env!("CARGO_PKG_VERSION").to_owned(),
        machine: machine::machine(system),
        sites,
        surroundings,
        observer: request.observer.clone(),
        started,
    };
    let directory = request.results.as_ref().map(|results| results.join(&id));
    let made = directory.as_ref().map(|directory| {
        Bundle::create(system, directory, &request.study, &plan, &environment)
            .map_err(|error| Unkept::after(0, directory, &error))
    });
    let (mut bundle, unkept) = match made.transpose() {
        Ok(bundle) => (bundle, None),
        Err(unkept) => {
            (context.tell)(unkept.warning());
            (None, Some(unkept))
        }
    };
    if let Some(bundle) = &mut bundle {
        seal(&mut context, bundle, &request.study, &plan, &environment);
    }
    let mut session = Session {
        system,
        began_ns,
        study: &request.study,
        plan: &plan,
        environment: &environment,
        stage,
        tracer: Tracer::default(),
        bundle,
        unkept,
        judge: request.judge,
        pace: Pace::default(),
        told_ns: began_ns,
        readings_ns: 0,
    };
    let mut trials = Vec::with_capacity(plan.trials.len());
    let end = session.run(&mut trials, &mut context);
    close(&session, &end);
    let mut bundle = session.bundle.take();
    let mut directory = directory.filter(|_| bundle.is_some());
    if end == End::Interrupted && trials.is_empty() {
        // Its lock first: network file systems keep the name of a file that is open.
        bundle = None;
        directory = unbegun(system, directory);
    }
    let unkept = session.unkept.take();
    let left = session.strike().err();
    let mut environment = environment.clone();
    around::after(system, &mut environment, bundle.as_ref());
    let (interrupted, ended) = told(end);
    let study = request.study;
    Ok(Finished {
        id,
        directory,
        unkept,
        study,
        plan,
        environment,
        trials,
        interrupted,
        ended,
        left,
    })
}

/// Takes away the result of a study that was stopped before its first trial had ended: nothing is in
/// it that was measured, and whoever runs the study again makes another plan. Gives its directory
/// where it stays all the same; it can be gone on with then.
fn unbegun(system: &dyn System, directory: Option<PathBuf>) -> Option<PathBuf> {
    let directory = directory?;
    system.remove_directory(&directory).err().map(|_| directory)
}

/// Seals what root measures on something that is there: what is simulated is never acted upon.
fn seal(
    context: &mut Context<'_>,
    bundle: &mut Bundle<'_>,
    study: &Study,
    plan: &Plan,
    environment: &Environment,
) {
    let real = environment.sites.iter().any(|site| site.kind != TargetKind::Simulated);
    if context.system.user().id != 0 || !real {
        return;
    }
    if let Err(error) = bundle.seal(study, plan, environment) {
        (context.tell)(Event::Warning(format!(
            "the result is not sealed: {}: {error}; it can be shown, but assay confirm, resume and apply will refuse it as root",
            key::path().display()
        )));
    }
}

/// Puts the machine back after a failure; where that fails too, that is what matters.
fn struck(stage: Stage<'_>, failure: Failure) -> Failure {
    stage.strike().err().unwrap_or(failure)
}

/// Refuses a study whose baseline cannot be had here, or of which nothing can be run.
fn enough(plan: &Plan) -> Outcome<()> {
    const NOT_MEASURED: &str = "not measured: ";
    let told = |reason: &'_ str| reason.trim_start_matches(NOT_MEASURED).to_owned();
    let why = || {
        let first = plan.absent.first();
        first.map_or("there is no work".to_owned(), |absent| told(&absent.reason))
    };
    if plan.workloads.is_empty() {
        return Err(Failure::refused(format!("nothing of this study can be run here: {}", why())));
    }
    let baseline = &plan.design.baseline;
    let there = plan.workloads.iter().any(|work| plan::arms::matches(&work.arm, baseline));
    let compared = plan.design.factors.iter().any(|factor| factor.levels.len() > 1);
    if there || baseline.is_empty() || !compared {
        return Ok(());
    }
    let own = plan.absent.iter().find(|absent| plan::arms::matches(&absent.arm, baseline));
    let reason = own.map_or_else(why, |absent| told(&absent.reason));
    Err(Failure::refused(format!(
        "the baseline {} cannot be had here: {reason}; name another with --baseline",
        crate::results::plan::arm_words(baseline)
    )))
}

/// Goes on with a study that was interrupted, at the trial where it stopped.
pub fn resume(
    system: &dyn System,
    (stored, voucher): (Stored, Voucher),
    directory: &Path,
    (consented, judge): (Consented<'_>, Option<&Judge<'_>>),
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Outcome<Finished> {
    let Stored { id, study, plan, environment, mut trials, .. } = stored;
    let began_ns = system.monotonic_ns();
    if plan::hash(&plan) != plan.sha256 {
        return Err(Failure::mistake(format!(
            "{id}: the plan is not the one that was made before the first trial (its hash differs); a study cannot go on by another plan"
        )));
    }
    io::understood(&plan).map_err(|error| Failure::mistake(format!("{id}: {error}")))?;
    let mut targets: Vec<String> =
        environment.sites.iter().map(|site| word_of(site, &plan)).collect();
    targets.dedup();
    let mut stage = Stage::set(system, &study, &targets, consented, (&id, plan.seed))?;
    let mut context = Context { system, stop, tell };
    tell_of_changes(&mut context, &environment);
    let same = same_places(&stage, &study, &plan, &environment);
    let ready = same.and_then(|()| stage.reopen(&mut context, &study, &plan)).and_then(|()| {
        Bundle::reopen(system, directory, voucher.into_sealed()).map_err(|error| {
            Failure::refused(format!("{} cannot be written: {error}", directory.display()))
        })
    });
    let bundle = match ready {
        Ok(bundle) => bundle,
        Err(failure) => return Err(struck(stage, failure)),
    };
    let text = format!("went on after {} finished trials", trials.len());
    // The log is for people; a study goes on without it.
    let _ = bundle.log(&Entry::new(system, "resumed", &text));
    let mut session = Session {
        system,
        began_ns,
        study: &study,
        plan: &plan,
        environment: &environment,
        stage,
        tracer: Tracer::default(),
        bundle: Some(bundle),
        unkept: None,
        judge,
        pace: Pace::default(),
        told_ns: began_ns,
        readings_ns: 0,
    };
    session.count_spent(&trials);
    let end = session.run(&mut trials, &mut context);
    close(&session, &end);
    let bundle = session.bundle.take();
    let directory = bundle.as_ref().map(|bundle| bundle.directory().to_owned());
    let unkept = session.unkept.take();
    let left = session.strike().err();
    let mut environment = environment.clone();
    around::after(system, &mut environment, bundle.as_ref());
    let (interrupted, ended) = told(end);
    Ok(Finished {
        id,
        directory,
        unkept,
        study,
        plan,
        environment,
        trials,
        interrupted,
        ended,
        left,
    })
}

/// What a study would do.
pub struct Preview {
    /// The study with its targets.
    pub study: Study,
    /// Its plan, made from estimates.
    pub plan: Plan,
    /// What each survey of the plan is about.
    pub sites: Vec<Site>,
    /// What factors and preparation would change, and how it is undone.
    pub changes: Vec<String>,
    /// What is asked for that is not here.
    pub lacks: Vec<String>,
}

/// What a study would do, from what can be seen without touching anything: estimates stand where a
/// pilot would measure.
pub fn preview(
    system: &dyn System,
    mut study: Study,
    targets: &[String],
    Consented { destroy, allowed }: Consented<'_>,
    quick: Option<Quick>,
) -> Outcome<Preview> {
    changes::permitted(&study, allowed)?;
    let places = match study.target {
        Some(Target::Loop(size)) => vec![Place::to_be(size)],
        _ => places(system, targets, destroy)?,
    };
    let seed = study.seed.unwrap_or_else(|| entropy(system));
    set_targets(&mut study, &places, seed);
    let grounds = plan::arms::grounds(&study);
    let (mut surveys, mut sites) = (Vec::new(), Vec::new());
    for place in &places {
        for ground in &grounds {
            if !ground.is_empty() && !matches!(study.target, Some(Target::Loop(_))) {
                stage::plot(system, &study, &place.site)?;
            }
            let survey = survey::estimate(system, &study, place)?;
            let refused = changes::refused(system, &study, place);
            surveys.push(Survey { under: ground.clone(), refused, ..survey });
            sites.push(place.site.clone());
        }
    }
    if let Some(quick) = quick {
        study = allocation::settle(study, quick, &surveys);
    }
    let plan = plan::make(&study, surveys, seed);
    let mut changes = changes::changes(system, &study, &places);
    changes.splice(0..0, changes::wanting(system, &study, &places));
    let lacks = changes::lacks(system, &study);
    Ok(Preview { study, plan, sites, changes, lacks })
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

/// A resolved target as the command line names it: that below a file system of the tool's own.
fn word_of(site: &Site, plan: &Plan) -> String {
    let made = plan.surveys.iter().any(|survey| !survey.under.is_empty());
    match site.kind {
        TargetKind::Simulated => site.target.clone(),
        _ if made => site.target.clone(),
        _ => site.path.display().to_string(),
    }
}

/// Refuses to go on at other places than those that were measured.
fn same_places(
    stage: &Stage<'_>,
    study: &Study,
    plan: &Plan,
    environment: &Environment,
) -> Outcome<()> {
    if matches!(study.target, Some(Target::Loop(_))) {
        // A loop device of the tool's own is like the last one.
        return Ok(());
    }
    let made = plan.surveys.iter().any(|survey| !survey.under.is_empty());
    if made {
        // The file systems are made anew, but on the same drive.
        return stage.places().iter().try_for_each(|place| {
            let own = |site: &&Site| site.target == place.site.target;
            let before = environment.sites.iter().find(own);
            before.map_or(Ok(()), |before| same_drives(&place.site, before))
        });
    }
    let pairs = stage.places().iter().zip(&environment.sites);
    pairs.into_iter().try_for_each(|(place, before)| same_place(&place.site, before))
}

/// Refuses to go on at another place than the one that was measured.
fn same_place(now: &Site, before: &Site) -> Outcome<()> {
    let differs = if now.kind != before.kind {
        Some("it is another kind of target now".to_owned())
    } else if now.filesystem() != before.filesystem() {
        Some(format!("it was {} and is {} now", before.filesystem(), now.filesystem()))
    } else {
        return same_drives(now, before);
    };
    differs.map_or(Ok(()), |how| Err(elsewhere(now, &how)))
}

/// Refuses to go on on other drives.
fn same_drives(now: &Site, before: &Site) -> Outcome<()> {
    let drives =
        |site: &Site| -> Vec<String> { site.drives.iter().map(|drive| drive.id.clone()).collect() };
    let (was, is) = (drives(before), drives(now));
    if was == is {
        return Ok(());
    }
    Err(elsewhere(now, &format!("it was on {} and is on {} now", was.join(", "), is.join(", "))))
}

fn elsewhere(now: &Site, how: &str) -> Failure {
    Failure::refused(format!(
        "{} is not what was measured before: {how}; start a new study instead",
        now.target
    ))
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

/// Writes the targets into the study: one as its target, several as the factor `target`.
fn set_targets(study: &mut Study, places: &[Place], seed: u64) {
    study.seed = Some(seed);
    if matches!(study.target, Some(Target::Loop(_))) {
        return;
    }
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
