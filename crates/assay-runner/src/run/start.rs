//! A study from its targets to its records: resolve, design, survey, plan, trials, end. And the same
//! for a study that was interrupted: the plan is the one that was stored. `ARCHITECTURE.md` lists the
//! steps.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::bed::TestBed;
use super::event::{Context, Event};
use super::finished::Finished;
use super::fleet::{self, Fleet};
use super::others::Others;
use super::places::Place;
use super::request::{Acting, Consented, Looks, Request};
use super::session::{End, Session};
use super::{changes, cuts, now, pilot, preview, resolve, surroundings};
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::units::show;
use assay_machine::factors::{self, Role};
use assay_machine::probes::Probes;
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{System, machine, quoted};
use assay_study::file::Study;
use assay_study::plan;
use assay_study::plan::allocation;
use assay_study::plan::design::Demands;
use assay_study::plan::most_load;
use assay_study::plan::pace::Pace;
use assay_study::results::bundle::{Bundle, Stored};
use assay_study::results::course;
use assay_study::results::design::Factor;
use assay_study::results::environment::{self, Environment};
use assay_study::results::id::{self, entropy};
use assay_study::results::log::{ENDED, Entry};
use assay_study::results::plan::{Arm, Plan};
use assay_study::results::record::Trial;

/// Runs a study. Everything that it made on a target is gone when this returns.
pub fn run(
    system: &dyn System,
    mut request: Request<'_>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Outcome<Finished> {
    let Some(member) = request.fleet.take() else {
        return begin(system, request, (stop, tell), &mut None);
    };
    let seed = request.study.seed;
    let mut fleet = Some(Fleet::join(system, stop, member, seed, &request.targets)?);
    let ran = begin(system, request, (stop, tell), &mut fleet);
    if let (Err(failure), Some(fleet)) = (&ran, &mut fleet) {
        // So that the others do not wait for what will not come.
        fleet.leave(&failure.message);
    }
    ran
}

/// The same, alone or with the other hosts of a fleet.
fn begin<'a>(
    system: &'a dyn System,
    mut request: Request<'_>,
    (stop, tell): (&AtomicBool, &mut dyn FnMut(Event)),
    fleet: &mut Option<Fleet<'a>>,
) -> Outcome<Finished> {
    let began_ns = system.monotonic_ns();
    let started = system.now();
    let asked = request.study.clone();
    request.study = now::resolved(system, request.study, &request.targets)?;
    let seed = fleet.as_ref().map(Fleet::seed).or(request.study.seed);
    let seed = seed.unwrap_or_else(|| entropy(system));
    let id = id::of_study(system, request.results.as_deref(), &started);
    let targets = &request.targets;
    let consented = &request.consented;
    let runs_as = consented.runs_as(system);
    let demands = Demands::of(&request.study);
    let mut context = Context { system, runs_as, stop, tell };
    let resolved = resolve::targets(&mut context, &demands, targets, consented, &id)?;
    // Another study that was waited for had its own levels there until now.
    if let Some(study) = now::again(system, asked, targets, &request.study) {
        request.study = study;
    }
    let demands = Demands::of(&request.study);
    now::tell(&mut context, &request.study);
    let mut bed = TestBed::of(system, &demands, resolved, seed);
    resolve::set_targets(&mut request.study, bed.places(), seed);
    for text in changes::lacks(system, &demands) {
        (context.tell)(Event::Warning(format!("unavailable: {text}")));
    }
    let design = resolve::design(&request.study, &demands, bed.places());
    let study = request.study.clone();
    let seen = preview::of_places(system, study, &design, bed.places(), (request.quick, seed));
    estimated(&mut context, seen.ok().as_ref().map(|seen| &seen.plan), 0);
    if let Err(failure) = bed.survey(&mut context, &design) {
        return Err(torn_down(bed, failure));
    }
    if let Err(failure) = agreed(fleet.as_mut(), &mut bed) {
        return Err(torn_down(bed, failure));
    }
    if let Some(quick) = request.quick {
        request.study = allocation::settle(request.study, quick, &bed.surveys());
    }
    let plan = plan::make(&request.study, bed.surveys(), seed);
    let proved =
        enough(&plan).and_then(|()| fleet.as_mut().map_or(Ok(()), |fleet| fleet.prove(&plan)));
    if let Err(failure) = proved {
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
        fleet: fleet.as_ref().map(|fleet| fleet.stored(false)),
        started,
    };
    let results = request.results.as_deref();
    let made = create(system, (results, &id), (&request.study, &plan, &environment));
    let bundle = match made {
        Ok(bundle) => bundle,
        Err(failure) => return Err(torn_down(bed, failure)),
    };
    if let Some(fleet) = fleet.as_mut().filter(|fleet| fleet.leads()) {
        let id = id::of_study(system, results, &environment.started);
        let whole = Environment { fleet: Some(fleet.stored(true)), ..environment.clone() };
        match create(system, (results, &id), (&request.study, &plan, &whole)) {
            Ok(bundle) => fleet.keep(id, bundle),
            Err(failure) => return Err(torn_down(bed, failure)),
        }
    }
    let fleet = fleet.take();
    let Request { study, judge, log, read, consented, .. } = request;
    let trials = Vec::with_capacity(plan.trials.len());
    let demands = &demands;
    let begun = Begun {
        id,
        study,
        demands,
        plan,
        environment,
        bed,
        bundle,
        trials,
        consented: &consented,
        began_ns,
        fleet,
    };
    Ok(conduct(begun, Looks { judge, log, read }, &mut context))
}

/// Announces how long the trials of a plan take after those that are done.
fn estimated(context: &mut Context<'_>, plan: Option<&Plan>, done: usize) {
    let left = plan.into_iter().flat_map(|plan| {
        plan.trials.iter().skip(done).map(|planned| plan::budget::expected_ns(plan, planned))
    });
    (context.tell)(Event::Estimated { expected_ns: left.sum() });
}

/// A result that is begun, where results are kept.
///
/// # Errors
/// Refused where it cannot be stored: what would be lost is not measured.
fn create<'a>(
    system: &'a dyn System,
    (results, id): (Option<&Path>, &str),
    (study, plan, environment): (&Study, &Plan, &Environment),
) -> Outcome<Option<Bundle<'a>>> {
    let Some(directory) = results.map(|results| results.join(id)) else { return Ok(None) };
    let made = Bundle::create(system, &directory, study, plan, environment);
    made.map(Some).map_err(|error| {
        Failure::refused(format!(
            "cannot store the result: cannot write {}: {error}; set ASSAY_HOME to a directory with free space",
            directory.display()
        ))
    })
}

/// Takes what all hosts have in common, where there are others.
fn agreed(fleet: Option<&mut Fleet<'_>>, bed: &mut TestBed<'_>) -> Outcome<()> {
    let Some(fleet) = fleet else { return Ok(()) };
    let common = fleet.agree(&bed.surveys())?;
    bed.limit(&common);
    Ok(())
}

/// A study that is about to run: from its first trial, or from where it was interrupted.
struct Begun<'a> {
    id: String,
    study: Study,
    demands: &'a Demands,
    plan: Plan,
    environment: Environment,
    bed: TestBed<'a>,
    bundle: Option<Bundle<'a>>,
    trials: Vec<Trial>,
    consented: &'a Consented,
    began_ns: u64,
    /// The other hosts, where there are some.
    fleet: Option<Fleet<'a>>,
}

/// Runs the trials that are left, puts the machine back, and tells how it ended.
fn conduct(begun: Begun<'_>, looks: Looks<'_>, context: &mut Context<'_>) -> Finished {
    let system = context.system;
    let Begun { id, study, demands, plan, environment, bed, consented, .. } = begun;
    let overwritten = changes::overwritten(&plan, demands, bed.places());
    let overwritten: Vec<Site> = overwritten.iter().map(|place| place.site.clone()).collect();
    let Begun { bundle, mut trials, began_ns, fleet, .. } = begun;
    let mut session = Session {
        system,
        began_ns,
        prepare: &demands.prepare,
        plan: &plan,
        environment: &environment,
        bed,
        probes: Probes::default(),
        bundle,
        unkept: None,
        judge: looks.judge,
        log_of: looks.log,
        pace: Pace::default(),
        told_ns: began_ns,
        readings_ns: 0,
        others: Others::default(),
        beside: BTreeSet::new(),
        read: looks.read,
        fleet: fleet.map(RefCell::new),
    };
    session.count_spent(&trials);
    let end = session.run(&mut trials, context);
    close(&session, &end);
    let mut fleet = session.fleet.take().map(RefCell::into_inner);
    if let Some(fleet) = &mut fleet {
        fleet::part(fleet, &end, (&plan, &environment), &trials);
    }
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
    let resume_options = if interrupted {
        changes::resume_options(system, &overwritten, consented)
    } else {
        String::new()
    };
    let ran = trials.iter().map(|trial| &trial.record);
    let ran = ran.map(|record| (record.workload, record.replicate, &record.arm));
    let plan = course::as_run(plan, ran, ended.is_some());
    let own = Finished {
        id,
        directory,
        unkept,
        study,
        plan,
        environment,
        trials,
        interrupted,
        resume_options,
        gone,
        ended,
        left,
    };
    match fleet {
        Some(fleet) => fleet::finished(system, fleet, own),
        None => own,
    }
}

/// Takes away the result of a study that was stopped before its first trial had ended: nothing is in
/// it that was measured, and whoever runs the study again makes another plan. Gives its directory
/// where it stays all the same; it can be gone on with then.
fn unbegun(system: &dyn System, directory: Option<PathBuf>) -> Option<PathBuf> {
    let directory = directory?;
    if cuts::is_waiting(system, &directory) {
        return Some(directory);
    }
    system.remove_directory(&directory).err().map(|_| directory)
}

/// Puts the machine back after a failure; where that fails too, that is what matters.
fn torn_down(bed: TestBed<'_>, failure: Failure) -> Failure {
    bed.tear_down().err().unwrap_or(failure)
}

/// Why the first of what cannot be had is not.
fn why(plan: &Plan) -> String {
    let first = plan.absent.first();
    first.map_or("no workload".to_owned(), |absent| absent.reason.clone())
}

/// Refuses a study of which nothing can be run.
pub(super) fn anything(plan: &Plan) -> Outcome<()> {
    most_load_can_be_told(plan)?;
    if !plan.workloads.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(format!("this study cannot run here: {}", why(plan))))
}

/// Refuses to look for the most load where no trial could tell of it.
fn most_load_can_be_told(plan: &Plan) -> Outcome<()> {
    let Some((_, limit)) = most_load::asked(&plan.design) else { return Ok(()) };
    if plan.surveys.len() > 1 {
        return Err(Failure::mistake(
            "Assay measures the highest load on one target at a time; give one target",
        ));
    }
    let shortest_ns = most_load::shortest_ns(limit);
    let short = plan.workloads.iter().find(|own| own.time_ns < shortest_ns);
    short.map_or(Ok(()), |own| {
        Err(Failure::mistake(format!(
            "trials of {} are too short for {limit} (growing queues would go unnoticed); set runtime to at least {}",
            show::duration(own.time_ns as f64),
            show::duration(shortest_ns as f64)
        )))
    })
}

/// Why nothing can be compared where a study compares: of each work one arm is left, the baseline. None where
/// something can, and where a single level was asked for.
pub(super) fn nothing_to_compare(plan: &Plan) -> Option<String> {
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
    is_lone.then(|| format!("no level to compare: {}{}", why(plan), alone(plan)))
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
        levels => format!("; to measure only the baseline, use {levels}"),
    }
}

/// Refuses a study whose baseline cannot be had here, or of which nothing can be run or compared.
fn enough(plan: &Plan) -> Outcome<()> {
    anything(plan)?;
    let why = || why(plan);
    let baseline = &plan.design.baseline;
    let is_baseline = |arm: &Arm| plan::arms::matches(arm, baseline);
    let there = plan.workloads.iter().any(|work| is_baseline(&work.arm));
    let compared = plan.design.varied().next().is_some();
    if let Some(reason) = nothing_to_compare(plan) {
        return Err(Failure::refused(reason));
    }
    if let Some(mistake) = plan::race::mistake(plan) {
        return Err(Failure::mistake(mistake));
    }
    if there || baseline.is_empty() || !compared {
        return Ok(());
    }
    let own =
        plan.absent.iter().find(|absent| plan::arms::matches(&absent.configuration, baseline));
    let reason = own.map_or_else(why, |absent| absent.reason.clone());
    Err(Failure::refused(format!(
        "the baseline {} is unavailable: {reason}; use another --baseline",
        assay_study::results::plan::arm_words(baseline)
    )))
}

/// Goes on with a study that was interrupted, at the trial where it stopped.
pub fn resume(
    system: &dyn System,
    acting: Acting,
    consented: &Consented,
    looks: Looks<'_>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Outcome<Finished> {
    let Acting { stored, directory, .. } = acting;
    let Stored { id, study, plan, environment, trials, .. } = stored;
    let began_ns = system.monotonic_ns();
    if plan::hash(&plan) != plan.sha256 {
        return Err(Failure::mistake(format!(
            "cannot resume {id}: the plan changed since the first trial (different hash)"
        )));
    }
    let mut targets: Vec<String> =
        environment.sites.iter().map(|site| word_of(site, &plan)).collect();
    targets.dedup();
    let demands = Demands::of(&study);
    let mut context = Context { system, runs_as: consented.runs_as(system), stop, tell };
    let resolved = resolve::targets(&mut context, &demands, &targets, consented, &id)?;
    let mut bed = TestBed::of(system, &demands, resolved, plan.seed);
    tell_of_changes(&mut context, &environment);
    let same = same_places(&bed, &demands, &plan, &environment);
    let again = || {
        let study = (&plan, &demands);
        changes::consented_again(system, &id, study, bed.places(), consented)
    };
    let same = same.and_then(|()| again());
    estimated(&mut context, Some(&plan), trials.len());
    let ready = same.and_then(|()| bed.reopen(&mut context, &plan)).and_then(|()| {
        Bundle::reopen(system, &directory).map_err(|error| {
            Failure::refused(format!("cannot write {}: {error}", directory.display()))
        })
    });
    let bundle = match ready {
        Ok(bundle) => bundle,
        Err(failure) => return Err(torn_down(bed, failure)),
    };
    let text = format!("resumed after {} finished trials", trials.len());
    // The log is for people; a study goes on without it.
    let _ = bundle.log(&Entry::new(system, "resumed", &text));
    let lines = match ready_again(&context, &bed, &plan) {
        Ok(lines) => lines,
        Err(failure) => return Err(torn_down(bed, failure)),
    };
    for line in lines {
        let _ = bundle.log(&Entry::new(system, "setup", &format!("Assay ran `{line}` again")));
    }
    let (bundle, fleet) = (Some(bundle), None);
    let demands = &demands;
    let begun = Begun {
        id,
        study,
        demands,
        plan,
        environment,
        bed,
        bundle,
        trials,
        consented,
        began_ns,
        fleet,
    };
    Ok(conduct(begun, looks, &mut context))
}

/// Runs again what comes once before the first run of a study, at each target that is open; gives what was run.
/// What is made for the trials alone is made without that, as ever.
fn ready_again(context: &Context<'_>, bed: &TestBed<'_>, plan: &Plan) -> Outcome<Vec<String>> {
    let mut ran = Vec::new();
    for index in 0..plan.surveys.len() {
        let Some((site, surveyed)) = bed.at(index) else { continue };
        let bench = pilot::Bench {
            system: context.system,
            medium: surveyed.medium(),
            path: &site.path,
            seed: plan.seed,
            study_seed: plan.seed,
            runs_as: context.runs_as,
            stop: context.stop,
        };
        let own = plan.workloads.iter().filter(|workload| workload.target == index);
        let lines = pilot::ready_again(own, &bench).map_err(|why| {
            Failure::refused(format!(
                "the study cannot continue: {why}; remove the cause, then resume the study (this runs the line again)"
            ))
        });
        ran.extend(lines?);
    }
    Ok(ran)
}

/// Notes in the log that a study has ended, so that it is not gone on with.
fn close(session: &Session<'_, '_>, end: &End) {
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
    demands: &Demands,
    plan: &Plan,
    environment: &Environment,
) -> Outcome<()> {
    if demands.own_target().is_some() {
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
        Some("the kind of target changed".to_owned())
    } else if now.filesystem() != before.filesystem() {
        Some(format!("the target was {} and is now {}", before.filesystem(), now.filesystem()))
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
        Err(elsewhere(
            &place.site,
            &format!("{} is no longer one of the devices of the target", gone.id),
        ))
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
    Err(elsewhere(
        now,
        &format!("the target was on {} and is now on {}", was.join(", "), is.join(", ")),
    ))
}

fn elsewhere(now: &Site, how: &str) -> Failure {
    Failure::refused(format!(
        "{} is not the previously measured target: {how}; start a new study",
        now.target
    ))
}

/// Says what of the machine has changed since the study began; the result keeps it in mind.
fn tell_of_changes(context: &mut Context<'_>, environment: &Environment) {
    let (before, now) = (&environment.machine.kernel, machine::machine(context.system).kernel);
    if *before != now {
        let told = |seen: &assay_core::presence::Presence<String>| {
            seen.value().cloned().unwrap_or_else(|| "unknown".to_owned())
        };
        (context.tell)(Event::Warning(format!(
            "the kernel was {} when the study began and is now {}, so the replicates are not comparable",
            told(before),
            told(&now)
        )));
    }
}
