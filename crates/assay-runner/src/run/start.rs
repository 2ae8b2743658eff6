//! Runs a study from its targets to its records, or resumes one with its stored plan.
//! `ARCHITECTURE.md` lists the steps.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::bed::TestBed;
use super::conductor::{Conductor, Finished, TrialProgress};
use super::event::{Context, Event};
use super::fleet::RunningFleet;
use super::places::Place;
use super::request::{Acting, Consented, Looks, Request};
use super::writer::ResultWriter;
use super::{changes, now, pilot, preview, resolve, surroundings};
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::units::show;
use assay_machine::factors::{self, Role};
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{System, machine, quoted};
use assay_study::file::Study;
use assay_study::plan;
use assay_study::plan::allocation::{self, Quick};
use assay_study::plan::design::{Demands, ResolvedDesign};
use assay_study::plan::most_load;
use assay_study::results::bundle::{Bundle, Stored};
use assay_study::results::design::Factor;
use assay_study::results::environment::{self, Environment};
use assay_study::results::id::{self, entropy};
use assay_study::results::plan::{Arm, Plan};

pub fn run(
    system: &dyn System,
    mut request: Request<'_>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
) -> Outcome<Finished> {
    let Some(member) = request.fleet.take() else {
        return begin(system, request, stop, tell, &mut None);
    };
    let seed = request.study.seed;
    let mut fleet = Some(RunningFleet::join(system, stop, member, seed, &request.targets)?);
    let ran = begin(system, request, stop, tell, &mut fleet);
    if let (Err(failure), Some(fleet)) = (&ran, &mut fleet) {
        // The others must not wait for messages that never come.
        fleet.leave(&failure.message);
    }
    ran
}

fn begin<'a>(
    system: &'a dyn System,
    mut request: Request<'_>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
    fleet: &mut Option<RunningFleet<'a>>,
) -> Outcome<Finished> {
    let began_ns = system.monotonic_ns();
    let started = system.now();
    let asked = request.study.clone();
    request.study = now::resolved(system, request.study, &request.targets)?;
    let seed = fleet.as_ref().map(RunningFleet::seed).or(request.study.seed);
    let seed = seed.unwrap_or_else(|| entropy(system));
    let id = id::of_study(system, request.results.as_deref(), &started);
    let targets = &request.targets;
    let consented = &request.consented;
    let runs_as = consented.runs_as(system);
    let demands = Demands::from_study(&request.study);
    let mut context = Context { system, runs_as, stop, tell };
    let resolved = resolve::targets(&mut context, &demands, targets, consented, &id)?;
    // Another study, which has ended, may have changed the levels.
    if let Some(study) = now::again(system, asked, targets, &request.study) {
        request.study = study;
    }
    let demands = Demands::from_study(&request.study);
    now::tell(&mut context, &request.study);
    let mut bed = TestBed::new(system, &demands, resolved, seed);
    resolve::set_targets(&mut request.study, bed.places(), seed);
    for text in changes::lacks(system, &demands) {
        (context.tell)(Event::Warning(format!("unavailable: {text}")));
    }
    let design = resolve::design(&request.study, &demands, bed.places());
    let study = request.study.clone();
    let seen = preview::of_places(system, study, &design, bed.places(), request.quick, seed);
    estimated(&mut context, seen.ok().as_ref().map(|seen| &seen.plan), 0);
    let study = request.study;
    let surveyed = survey(&mut context, &mut bed, &design, study, request.quick, fleet.as_mut());
    let (study, plan) = surveyed.map_err(|failure| torn_down(&mut bed, failure))?;
    request.study = study;
    let sites = bed.sites();
    for text in request.foresee.map_or_else(Vec::new, |foresee| foresee(&plan)) {
        (context.tell)(Event::Foreseen { text });
    }
    let planned_ns = system.monotonic_ns();
    let surroundings = surroundings::before(&mut context, &plan, &sites);
    // The rest is not part of the study's time.
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
    let made = create(system, results, &id, &request.study, &plan, &environment);
    let writer = made.map_err(|failure| torn_down(&mut bed, failure))?;
    if let Some(fleet) = fleet.as_mut().filter(|fleet| fleet.leads()) {
        let id = id::of_study(system, results, &environment.started);
        let whole = Environment { fleet: Some(fleet.stored(true)), ..environment.clone() };
        let made = create(system, results, &id, &request.study, &plan, &whole);
        fleet.keep(id, made.map_err(|failure| torn_down(&mut bed, failure))?);
    }
    let Request { study, judge, log, read, consented, .. } = request;
    let conductor = Conductor {
        system,
        id,
        study,
        demands: &demands,
        trials: Vec::with_capacity(plan.trials.len()),
        plan,
        environment,
        bed,
        writer,
        consented: &consented,
        looks: Looks { judge, log, read },
        began_ns,
        fleet: fleet.take().map(RefCell::new),
        progress: TrialProgress::default(),
    };
    Ok(conductor.run(&mut context))
}

fn estimated(context: &mut Context<'_>, plan: Option<&Plan>, done: usize) {
    let left = plan.into_iter().flat_map(|plan| {
        plan.trials.iter().skip(done).map(|planned| plan::budget::expected_ns(plan, planned))
    });
    (context.tell)(Event::Estimated { expected_ns: left.sum() });
}

/// Creates the result, if results are stored; fails if it cannot be stored.
fn create<'a>(
    system: &'a dyn System,
    results: Option<&Path>,
    id: &str,
    study: &Study,
    plan: &Plan,
    environment: &Environment,
) -> Outcome<ResultWriter<'a>> {
    let Some(results) = results else { return Ok(ResultWriter::default()) };
    let directory = results.join(id);
    let made = Bundle::create(system, &directory, study, plan, environment);
    made.map(ResultWriter::new).map_err(|error| {
        Failure::refused(format!(
            "cannot store the result: cannot write {}: {error}; set ASSAY_HOME to a directory with free space",
            directory.display()
        ))
    })
}

fn survey(
    context: &mut Context<'_>,
    bed: &mut TestBed<'_>,
    design: &ResolvedDesign<'_>,
    mut study: Study,
    quick: Option<Quick>,
    mut fleet: Option<&mut RunningFleet<'_>>,
) -> Outcome<(Study, Plan)> {
    bed.survey(context, design)?;
    if let Some(fleet) = &mut fleet {
        bed.limit(&fleet.agree(&bed.surveys())?);
    }
    if let Some(quick) = quick {
        study = allocation::settle(study, quick, &bed.surveys());
    }
    let plan = plan::make(&study, bed.surveys(), bed.seed());
    enough(&plan)?;
    if let Some(fleet) = fleet {
        fleet.prove(&plan)?;
    }
    Ok((study, plan))
}

/// Restores the machine after a failure; a failure to restore takes precedence.
fn torn_down(bed: &mut TestBed<'_>, failure: Failure) -> Failure {
    bed.tear_down().err().unwrap_or(failure)
}

/// The most frequent reason for unavailable workloads; the first of several such reasons.
fn why(plan: &Plan) -> String {
    let reasons = || plan.absent.iter().map(|absent| absent.reason.as_str());
    let count = |reason: &&str| reasons().filter(|other| other == reason).count();
    // The last of equals is taken.
    reasons().rev().max_by_key(count).unwrap_or("no workload").to_owned()
}

pub(super) fn most_load_can_be_told(plan: &Plan) -> Outcome<()> {
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

/// Returns why nothing is left to run, or to compare: each workload has only the baseline. `None` otherwise.
pub(super) fn nothing_left(plan: &Plan) -> Option<String> {
    if plan.workloads.is_empty() {
        return Some(format!("this study cannot run here: {}", why(plan)));
    }
    // If the operator changes a factor by hand, each level is a separate study, and results are compared.
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

/// How to measure the baseline alone, if useful.
fn alone(plan: &Plan) -> String {
    if plan.workloads.iter().any(|work| work.work.is_others()) {
        // `assay watch` shows the same as observing a single level.
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

fn enough(plan: &Plan) -> Outcome<()> {
    most_load_can_be_told(plan)?;
    let why = || why(plan);
    let baseline = &plan.design.baseline;
    let is_baseline = |arm: &Arm| plan::arms::matches(arm, baseline);
    let there = plan.workloads.iter().any(|work| is_baseline(&work.arm));
    let compared = plan.design.varied().next().is_some();
    if let Some(reason) = nothing_left(plan) {
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
    let demands = Demands::from_study(&study);
    let mut context = Context { system, runs_as: consented.runs_as(system), stop, tell };
    let resolved = resolve::targets(&mut context, &demands, &targets, consented, &id)?;
    let mut bed = TestBed::new(system, &demands, resolved, plan.seed);
    tell_of_changes(&mut context, &environment);
    let same = same_places(&bed, &demands, &plan, &environment).and_then(|()| {
        changes::consented_again(system, &id, &plan, &demands, bed.places(), consented)
    });
    estimated(&mut context, Some(&plan), trials.len());
    let ready = same.and_then(|()| bed.reopen(&mut context, &plan)).and_then(|()| {
        Bundle::reopen(system, &directory).map_err(|error| {
            Failure::refused(format!("cannot write {}: {error}", directory.display()))
        })
    });
    let writer = ResultWriter::new(ready.map_err(|failure| torn_down(&mut bed, failure))?);
    let text = format!("resumed after {} finished trials", trials.len());
    writer.log(system, "resumed", &text);
    let lines = ready_again(&context, &bed, &plan);
    for line in lines.map_err(|failure| torn_down(&mut bed, failure))? {
        writer.log(system, "setup", &format!("Assay ran `{line}` again"));
    }
    let conductor = Conductor {
        system,
        id,
        study,
        demands: &demands,
        plan,
        environment,
        bed,
        writer,
        trials,
        consented,
        looks,
        began_ns,
        fleet: None,
        progress: TrialProgress::default(),
    };
    Ok(conductor.run(&mut context))
}

/// Runs the setup commands again at each open target and returns them. Created layers need none.
fn ready_again(context: &Context<'_>, bed: &TestBed<'_>, plan: &Plan) -> Outcome<Vec<String>> {
    let mut ran = Vec::new();
    for index in 0..plan.surveys.len() {
        let Some((site, surveyed)) = bed.at(index) else { continue };
        let bench = pilot::Bench::new(context, surveyed.medium(), &site.path, plan.seed);
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

/// A resolved target as the command line names it: the device below a file system that Assay created.
fn word_of(site: &Site, plan: &Plan) -> String {
    let made = plan.surveys.iter().any(|survey| !survey.under.is_empty());
    match site.kind {
        TargetKind::Simulated => site.target.clone(),
        _ if made => site.target.clone(),
        _ => site.path.display().to_string(),
    }
}

fn same_places(
    bed: &TestBed<'_>,
    demands: &Demands,
    plan: &Plan,
    environment: &Environment,
) -> Outcome<()> {
    if demands.own_target().is_some() {
        // A loop device of Assay is equivalent to the last one.
        return Ok(());
    }
    let made = plan.surveys.iter().any(|survey| !survey.under.is_empty());
    if made {
        // The file systems are new, but on the same drive.
        return bed.places().iter().try_for_each(|place| {
            let own = |site: &&Site| site.target == place.site.target;
            let before = environment.sites.iter().find(own);
            before.map_or(Ok(()), |before| same_members(place, before))
        });
    }
    let pairs = bed.places().iter().zip(&environment.sites);
    pairs.into_iter().try_for_each(|(place, before)| same_place(&place.site, before))
}

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

/// The same for a place with several devices, some of which an arm may use.
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
