//! A study from its targets to its records: resolve, lock, survey, plan, run, store. And the same
//! for a study that was interrupted: the plan is the one that was stored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::bed::{self, TestBed};
use super::changes;
use super::event::{Context, Event};
use super::others::Others;
use super::places::{Place, places_of};
use super::session::{End, Judge, Session};
use super::surroundings;
use super::survey;
use assay_core::factors::{self, Role};
use assay_core::failure::{Failure, Outcome};
use assay_core::plan;
use assay_core::plan::allocation::{self, Quick};
use assay_core::plan::arms::{self, Layout};
use assay_core::plan::pace::Pace;
use assay_core::probes::Probes;
use assay_core::results::bundle::{Bundle, Stored};
use assay_core::results::design::Factor;
use assay_core::results::environment::{self, Environment};
use assay_core::results::id::{entropy, new_id};
use assay_core::results::log::{ENDED, Entry};
use assay_core::results::plan::{Arm, Plan, Refusal, Survey};
use assay_core::results::record::Trial;
use assay_core::results::seal::key;
use assay_core::results::vouch::Voucher;
use assay_core::study::{Study, Target, simulated};
use assay_core::system::identity::{self, Caller};
use assay_core::system::site::{Site, TargetKind};
use assay_core::system::{System, machine, quoted, virtual_machine};

/// What the user has said himself that a study may do, on the command line and nowhere else.
#[derive(Clone, Debug, Default)]
pub struct Consented {
    /// Ids of devices that may be overwritten.
    pub destroy: Vec<String>,
    /// Settings that may be written though studies usually have no business there.
    pub allowed: Vec<PathBuf>,
    /// Under sudo, commands run as root too, and not as the user who called it.
    pub as_root: bool,
    /// How long it waits for what another study holds.
    pub wait: Duration,
}

impl Consented {
    /// Who runs commands, where that is not the user of this process.
    fn runs_as(&self, system: &dyn System) -> Option<Caller> {
        if self.as_root { None } else { identity::caller(system) }
    }
}

/// Says, in a sentence a workload, what a plan will be able to see.
pub type Foresee<'a> = dyn Fn(&Plan) -> Vec<String> + 'a;

/// What to run, where, and where to keep it.
pub struct Request<'a> {
    /// The study; its targets are set from `targets`.
    pub study: Study,
    /// Targets as the user wrote them.
    pub targets: Vec<String>,
    /// What of it the user has allowed.
    pub consented: Consented,
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
    /// Whether it can be gone on with: a signal ended it, or a device that it stands on was gone.
    pub interrupted: bool,
    /// What became of that device.
    pub gone: Option<String>,
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
    let consented = &request.consented;
    let runs_as = consented.runs_as(system);
    let mut context = Context { system, runs_as, stop, tell };
    let mut bed = TestBed::set_up(&mut context, &request.study, targets, consented, (&id, seed))?;
    set_targets(&mut request.study, bed.places(), seed);
    for text in changes::lacks(system, &request.study) {
        (context.tell)(Event::Warning(format!("not here: {text}")));
    }
    let layout = layout(&request.study, bed.places());
    if let Err(failure) = bed.survey(&mut context, &request.study, &layout) {
        return Err(torn_down(bed, failure));
    }
    if let Some(quick) = request.quick {
        request.study = allocation::settle(request.study, quick, &bed.surveys());
    }
    let plan = plan::make(&request.study, bed.surveys(), seed);
    let plan = plan::within(plan, virtual_machine::own(system));
    if let Err(failure) = enough(system, &request.study, &plan) {
        return Err(torn_down(bed, failure));
    }
    let sites = bed.sites();
    let foreseen = request.foresee.map_or_else(Vec::new, |foresee| foresee(&plan));
    for text in foreseen {
        (context.tell)(Event::Foreseen { text });
    }
    let planned_ns = system.monotonic_ns();
    let surroundings = surroundings::before(&mut context, &plan, &sites);
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
    let Request { study, judge, .. } = request;
    let trials = Vec::with_capacity(plan.trials.len());
    let begun = Begun { id, study, plan, environment, bed, bundle, unkept, trials, began_ns };
    Ok(conduct(begun, judge, &mut context))
}

/// A study that is about to run: from its first trial, or from where it was interrupted.
struct Begun<'a> {
    id: String,
    study: Study,
    plan: Plan,
    environment: Environment,
    bed: TestBed<'a>,
    bundle: Option<Bundle<'a>>,
    unkept: Option<Unkept>,
    /// Those that have run.
    trials: Vec<Trial>,
    began_ns: u64,
}

/// Runs the trials that are left, puts the machine back, and tells how it ended.
fn conduct(begun: Begun<'_>, judge: Option<&Judge<'_>>, context: &mut Context<'_>) -> Finished {
    let system = context.system;
    let Begun { id, study, plan, environment, bed, bundle, unkept, mut trials, began_ns } = begun;
    let mut session = Session {
        system,
        began_ns,
        study: &study,
        plan: &plan,
        environment: &environment,
        bed,
        probes: Probes::default(),
        bundle,
        unkept,
        judge,
        pace: Pace::default(),
        told_ns: began_ns,
        readings_ns: 0,
        others: Others::default(),
        beside: BTreeSet::new(),
    };
    session.count_spent(&trials);
    let end = session.run(&mut trials, context);
    close(&session, &end);
    let mut bundle = session.bundle.take();
    let mut directory = bundle.as_ref().map(|bundle| bundle.directory().to_owned());
    if matches!(end, End::Interrupted | End::Gone(_)) && trials.is_empty() {
        // Its lock first: network file systems keep the name of a file that is open.
        bundle = None;
        directory = unbegun(system, directory);
    }
    let unkept = session.unkept.take();
    let beside = std::mem::take(&mut session.beside);
    let left = session.tear_down().err();
    let mut environment = environment.clone();
    environment.surroundings.studies.extend(beside);
    surroundings::after(system, &mut environment, bundle.as_ref());
    let (interrupted, ended, gone) = match end {
        End::Interrupted => (true, None, None),
        End::Gone(why) => (true, None, Some(why)),
        End::Complete => (false, None, None),
        End::Early(reason) => (false, Some(reason), None),
    };
    Finished {
        id,
        directory,
        unkept,
        study,
        plan,
        environment,
        trials,
        interrupted,
        gone,
        ended,
        left,
    }
}

/// Takes away the result of a study that was stopped before its first trial had ended: nothing is in
/// it that was measured, and whoever runs the study again makes another plan. Gives its directory
/// where it stays all the same; it can be gone on with then.
fn unbegun(system: &dyn System, directory: Option<PathBuf>) -> Option<PathBuf> {
    let directory = directory?;
    system.remove_directory(&directory).err().map(|_| directory)
}

/// Seals what root measures on something that is there: what is simulated is never acted upon.
pub(super) fn seal(
    context: &mut Context<'_>,
    bundle: &mut Bundle<'_>,
    study: &Study,
    plan: &Plan,
    environment: &Environment,
) {
    let real = environment.sites.iter().any(|site| site.kind != TargetKind::Simulated);
    // Who is not root needs a seal for what says which programs to run.
    let runs = study.workload.iter().any(|workload| workload.work.kind().runs_programs);
    if !real || (context.system.user().id != 0 && !runs) {
        return;
    }
    if let Err(error) = bundle.seal(study, plan, environment) {
        (context.tell)(Event::Warning(format!(
            "the result is not sealed: {}: {error}; it can be shown, but assay advise confirm, advise apply and restore resume will refuse it",
            key::path(context.system).unwrap_or_default().display()
        )));
    }
}

/// Puts the machine back after a failure; where that fails too, that is what matters.
fn torn_down(bed: TestBed<'_>, failure: Failure) -> Failure {
    bed.tear_down().err().unwrap_or(failure)
}

/// Why the first of what cannot be had is not.
fn why(plan: &Plan) -> String {
    let first = plan.absent.first();
    first.map_or("there is no work".to_owned(), |absent| absent.reason.clone())
}

/// Refuses a study of which nothing can be run.
fn anything(system: &dyn System, study: &Study, plan: &Plan) -> Outcome<()> {
    if !plan.workloads.is_empty() {
        return Ok(());
    }
    let way_on = changes::way_on(system, study);
    Err(Failure::refused(format!("nothing of this study can be run here: {}{way_on}", why(plan))))
}

/// Why nothing can be compared where a study compares: of each work one arm is left, the baseline. None where
/// something can, and where a single level was asked for.
fn nothing_to_compare(system: &dyn System, study: &Study, plan: &Plan) -> Option<String> {
    // Where the operator changes something, each level is a study of its own, and results are compared.
    let by_hand = |factor: &Factor| factors::has_role(&factor.name, Role::Observed);
    if plan.design.varied().next().is_none() || plan.design.varied().any(by_hand) {
        return None;
    }
    let baseline = &plan.design.baseline;
    let mut known: BTreeMap<&str, &Arm> = BTreeMap::new();
    let mut own = plan.workloads.iter().filter(|work| !work.control);
    let is_lone = own.all(|work| {
        let first = *known.entry(work.name.as_str()).or_insert(&work.arm);
        *first == work.arm && plan::arms::matches(&work.arm, baseline)
    });
    is_lone.then(|| {
        let way_on = changes::way_on(system, study);
        format!("no level can be compared here: {}{way_on}{}", why(plan), alone(plan))
    })
}

/// How the baseline is measured by itself, where that says something.
fn alone(plan: &Plan) -> String {
    if plan.workloads.iter().any(|work| work.work.is_others()) {
        // Minutes of looking at one level would tell nothing that assay watch does not.
        return String::new();
    }
    let factors = plan.design.varied().filter(|factor| factor.name != "target");
    let levels = factors.filter_map(|factor| {
        let level = plan.design.baseline.get(&factor.name)?;
        Some(format!("--set {}", quoted(&format!("{}={level}", factor.name))))
    });
    match levels.collect::<Vec<_>>().join(" ") {
        none if none.is_empty() => none,
        levels => format!("; the baseline alone is measured with {levels}"),
    }
}

/// Refuses a study whose baseline cannot be had here, or of which nothing can be run or compared.
fn enough(system: &dyn System, study: &Study, plan: &Plan) -> Outcome<()> {
    anything(system, study, plan)?;
    let why = || why(plan);
    let baseline = &plan.design.baseline;
    let is_baseline = |arm: &Arm| plan::arms::matches(arm, baseline);
    let there = plan.workloads.iter().any(|work| is_baseline(&work.arm));
    let compared = plan.design.varied().next().is_some();
    if let Some(reason) = nothing_to_compare(system, study, plan) {
        return Err(Failure::refused(reason));
    }
    if there || baseline.is_empty() || !compared {
        return Ok(());
    }
    let own = plan.absent.iter().find(|absent| plan::arms::matches(&absent.arm, baseline));
    let reason = own.map_or_else(why, |absent| absent.reason.clone());
    Err(Failure::refused(format!(
        "the baseline {} cannot be had here: {reason}; name another with --baseline{}",
        assay_core::results::plan::arm_words(baseline),
        changes::way_on(system, study)
    )))
}

/// Goes on with a study that was interrupted, at the trial where it stopped.
pub fn resume(
    system: &dyn System,
    (stored, voucher): (Stored, Voucher),
    directory: &Path,
    (consented, judge): (&Consented, Option<&Judge<'_>>),
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Outcome<Finished> {
    let Stored { id, study, plan, environment, trials, .. } = stored;
    let began_ns = system.monotonic_ns();
    if plan.format != assay_core::results::plan::FORMAT {
        return Err(Failure::mistake(format!(
            "{id} was begun by an older version, in the format {}: go on with that version, or start a new study",
            plan.format
        )));
    }
    if plan::hash(&plan) != plan.sha256 {
        return Err(Failure::mistake(format!(
            "{id}: the plan is not the one that was made before the first trial (its hash differs); a study cannot go on by another plan"
        )));
    }
    let mut targets: Vec<String> =
        environment.sites.iter().map(|site| word_of(site, &plan)).collect();
    targets.dedup();
    let mut context = Context { system, runs_as: consented.runs_as(system), stop, tell };
    let mut bed = TestBed::set_up(&mut context, &study, &targets, consented, (&id, plan.seed))?;
    tell_of_changes(&mut context, &environment);
    let same = same_places(&bed, &study, &plan, &environment);
    let ready = same.and_then(|()| bed.reopen(&mut context, &study, &plan)).and_then(|()| {
        Bundle::reopen(system, directory, voucher.into_sealed()).map_err(|error| {
            Failure::refused(format!("{} cannot be written: {error}", directory.display()))
        })
    });
    let bundle = match ready {
        Ok(bundle) => bundle,
        Err(failure) => return Err(torn_down(bed, failure)),
    };
    let text = format!("went on after {} finished trials", trials.len());
    // The log is for people; a study goes on without it.
    let _ = bundle.log(&Entry::new(system, "resumed", &text));
    let (bundle, unkept) = (Some(bundle), None);
    let begun = Begun { id, study, plan, environment, bed, bundle, unkept, trials, began_ns };
    Ok(conduct(begun, judge, &mut context))
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
///
/// # Errors
/// A mistake or a refusal; refused where no trial of it can be run.
pub fn preview(
    system: &dyn System,
    study: Study,
    targets: &[String],
    consented: &Consented,
    quick: Option<Quick>,
) -> Outcome<Preview> {
    let (mut seen, places) =
        estimated(system, study, (targets, consented), quick, changes::refused)?;
    seen.changes = changes::wanting(system, &seen.study, &places);
    seen.changes.extend(changes::changes(system, &seen.study, &places));
    seen.lacks.extend(nothing_to_compare(system, &seen.study, &seen.plan));
    seen.lacks.extend(changes::lacks(system, &seen.study));
    Ok(seen)
}

/// The same of a study in a virtual machine: what this machine lacks does not count there.
///
/// # Errors
/// Those of [`preview`].
pub fn preview_in_vm(
    system: &dyn System,
    study: Study,
    consented: &Consented,
    quick: Option<Quick>,
) -> Outcome<Preview> {
    let none: Refused = |_, _, _| Vec::new();
    estimated(system, study, (&[], consented), quick, none).map(|(seen, _)| seen)
}

/// Levels that cannot be had at a place.
type Refused = fn(&dyn System, (&Study, &Layout), &Place) -> Vec<Refusal>;

/// The plan by estimates, and its places.
fn estimated(
    system: &dyn System,
    mut study: Study,
    (targets, Consented { destroy, allowed, .. }): (&[String], &Consented),
    quick: Option<Quick>,
    refused: Refused,
) -> Outcome<(Preview, Vec<Place>)> {
    changes::permitted(&study, allowed)?;
    let places = match study.target {
        Some(Target::Loop(size)) => vec![Place::to_be(size, study.loop_devices())],
        _ => places_of(system, &study, targets, destroy)?,
    };
    super::others::there(&study, &places)?;
    let seed = study.seed.unwrap_or_else(|| entropy(system));
    set_targets(&mut study, &places, seed);
    let layout = layout(&study, &places);
    let (mut surveys, mut sites) = (Vec::new(), Vec::new());
    for place in &places {
        for base in &layout.bases {
            let on_device = arms::makes_on_device(&study) && !base.is_empty();
            if on_device && !matches!(study.target, Some(Target::Loop(_))) {
                for device in place.devices() {
                    bed::extent(system, &study, &device.site, !place.others.is_empty())?;
                }
            }
            let survey = survey::estimate(system, &study, place)?;
            let refused = refused(system, (&study, &layout), place);
            surveys.push(Survey { under: base.clone(), refused, ..survey });
            sites.push(place.site.clone());
        }
    }
    if let Some(quick) = quick {
        study = allocation::settle(study, quick, &surveys);
    }
    let plan = plan::make(&study, surveys, seed);
    anything(system, &study, &plan)?;
    let (changes, lacks) = (Vec::new(), Vec::new());
    Ok((Preview { study, plan, sites, changes, lacks }, places))
}

/// Notes in the log that a study has ended, so that it is not gone on with.
fn close(session: &Session<'_>, end: &End) {
    let text = match end {
        // An early end is in the log since it was decided.
        End::Interrupted | End::Gone(_) | End::Early(_) => return,
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
    bed: &TestBed<'_>,
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
        return bed.places().iter().try_for_each(|place| {
            let own = |site: &&Site| site.target == place.site.target;
            let before = environment.sites.iter().find(own);
            before.map_or(Ok(()), |before| same_members(place, before))
        });
    }
    let pairs = bed.places().iter().zip(&environment.sites);
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

/// The same of a place that may have several devices, of which an arm may stand on some.
fn same_members(place: &Place, before: &Site) -> Outcome<()> {
    if place.others.is_empty() {
        return same_drives(&place.site, before);
    }
    let now = || place.devices().flat_map(|own| &own.site.drives);
    let gone = before.drives.iter().find(|drive| now().all(|own| own.id != drive.id));
    gone.map_or(Ok(()), |gone| {
        Err(elsewhere(&place.site, &format!("{} is not among its devices now", gone.id)))
    })
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
        let told = |seen: &assay_core::presence::Presence<String>| {
            seen.value().cloned().unwrap_or_else(|| "not known".to_owned())
        };
        (context.tell)(Event::Warning(format!(
            "the kernel was {} when the study began and is {} now: its replicates are not alike",
            told(before),
            told(&now)
        )));
    }
}

/// What a study compares at its targets.
fn layout(study: &Study, places: &[Place]) -> Layout {
    let targets: Vec<String> = places.iter().map(|place| place.site.target.clone()).collect();
    Layout::of(study, &targets)
}

/// Writes the targets into the study: one as its target, several as the factor `target`.
fn set_targets(study: &mut Study, places: &[Place], seed: u64) {
    study.seed = Some(seed);
    if matches!(study.target, Some(Target::Loop(_) | Target::Devices(_))) {
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
