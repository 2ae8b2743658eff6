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
use assay_core::exhibit::parts::distinct;
use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::units::show;
use assay_machine::factors::{self, Role};
use assay_machine::system::site::{Drive, Site, TargetKind};
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

/// Runs a study, with the other hosts if it has any.
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

/// Surveys the targets, makes the plan, creates the result, and runs all trials; restores the machine on failure.
fn begin<'a>(
    system: &'a dyn System,
    mut request: Request<'_>,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Event),
    fleet: &mut Option<RunningFleet<'a>>,
) -> Outcome<Finished> {
    let began_ns = system.monotonic_ns();
    let started = system.now();
    let unresolved = request.study.clone();
    request.study = now::resolve_levels(system, request.study, &request.targets)?;
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
    if let Some(study) = now::resolve_again(system, unresolved, targets, &request.study) {
        request.study = study;
    }
    let demands = Demands::from_study(&request.study);
    for (name, reason) in &request.study.unavailable {
        (context.tell)(Event::Warning(format!("unavailable: {name}: {reason}")));
    }
    let mut bed = TestBed::new(system, &demands, resolved, seed);
    resolve::set_targets(&mut request.study, bed.places(), seed);
    for text in changes::missing_means(system, &demands) {
        (context.tell)(Event::Warning(format!("unavailable: {text}")));
    }
    let design = resolve::design(&request.study, &demands, bed.places());
    let study = request.study.clone();
    // If the preview fails, only the estimate is missing.
    let preview = preview::estimate(system, study, &design, bed.places(), request.quick, seed);
    tell_estimate(&mut context, preview.ok().as_ref().map(|preview| &preview.plan), 0);
    let study = request.study;
    let surveyed = survey(&mut context, &mut bed, &design, study, request.quick, fleet.as_mut());
    let (study, plan) = surveyed.map_err(|failure| tear_down_after(&mut bed, failure))?;
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
    let created = create_results(system, &request, &id, &plan, &environment, fleet.as_mut());
    let writer = created.map_err(|failure| tear_down_after(&mut bed, failure))?;
    let Request { study, interim, log, read, consented, .. } = request;
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
        looks: Looks { interim, log, read },
        began_ns,
        fleet: fleet.take().map(RefCell::new),
        progress: TrialProgress::default(),
    };
    Ok(conductor.run(&mut context))
}

/// Reports the expected time of all trials but the first `done`; 0 without a plan.
fn tell_estimate(context: &mut Context<'_>, plan: Option<&Plan>, done: usize) {
    let mut expected_ns = 0;
    if let Some(plan) = plan {
        let left = plan.trials.iter().skip(done);
        expected_ns = left.map(|planned| plan::budget::expected_ns(plan, planned)).sum();
    }
    (context.tell)(Event::Estimated { expected_ns });
}

/// Creates the result of this host and, on rank 0 of several hosts, that of all hosts, which the fleet stores.
fn create_results<'a>(
    system: &'a dyn System,
    request: &Request<'_>,
    id: &str,
    plan: &Plan,
    environment: &Environment,
    fleet: Option<&mut RunningFleet<'a>>,
) -> Outcome<ResultWriter<'a>> {
    let (results, study) = (request.results.as_deref(), &request.study);
    let writer = create(system, results, id, study, plan, environment)?;
    if let Some(fleet) = fleet.filter(|fleet| fleet.leads()) {
        let id = id::of_study(system, results, &environment.started);
        let whole = Environment { fleet: Some(fleet.stored(true)), ..environment.clone() };
        let writer_of_all = create(system, results, &id, study, plan, &whole)?;
        fleet.keep(id, writer_of_all);
    }
    Ok(writer)
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

/// Surveys the targets and makes the plan; all hosts of a fleet must agree on both.
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
        bed.limit_to(&fleet.agree(&bed.surveys())?);
    }
    if let Some(quick) = quick {
        study = allocation::settle(study, quick, &bed.surveys());
    }
    let plan = plan::make(&study, bed.surveys(), bed.seed());
    check_comparison(&plan)?;
    if let Some(fleet) = fleet {
        fleet.prove(&plan)?;
    }
    Ok((study, plan))
}

/// Restores the machine after a failure; a failure to restore takes precedence.
fn tear_down_after(bed: &mut TestBed<'_>, failure: Failure) -> Failure {
    bed.tear_down().err().unwrap_or(failure)
}

/// The most frequent reason for unavailable workloads; the first of several such reasons.
fn commonest_reason(plan: &Plan) -> String {
    let reasons = || plan.absent.iter().map(|absent| absent.reason.as_str());
    let count = |reason: &&str| reasons().filter(|other| other == reason).count();
    // `max_by_key` returns the last maximum.
    reasons().rev().max_by_key(count).unwrap_or("no workload").to_owned()
}

/// Rejects a search for the highest load with several targets or too short trials.
pub(super) fn check_load_search(plan: &Plan) -> Outcome<()> {
    let Some((_, limit)) = most_load::asked(&plan.design) else { return Ok(()) };
    if plan.surveys.len() > 1 {
        return Err(Failure::mistake(
            "Assay measures the highest load on one target at a time; give one target",
        ));
    }
    let shortest_ns = most_load::shortest_ns(limit);
    let Some(short) = plan.workloads.iter().find(|workload| workload.time_ns < shortest_ns) else {
        return Ok(());
    };
    Err(Failure::mistake(format!(
        "trials of {} are too short for {limit} (growing queues would go unnoticed); set runtime to at least {}",
        show::duration(short.time_ns as f64),
        show::duration(shortest_ns as f64)
    )))
}

/// Returns why nothing is left to run, or to compare: each workload has only the baseline. `None` otherwise.
pub(super) fn reason_to_refuse(plan: &Plan) -> Option<String> {
    if plan.workloads.is_empty() {
        return Some(format!("this study cannot run here: {}", commonest_reason(plan)));
    }
    // If the operator changes a factor by hand, each level is a separate study, and results are compared.
    let by_hand = |factor: &Factor| factors::has_role(&factor.name, Role::Observed);
    if plan.design.varied().next().is_none() || plan.design.varied().any(by_hand) {
        return None;
    }
    let baseline = &plan.design.baseline;
    let mut first_arms: BTreeMap<&str, &Arm> = BTreeMap::new();
    for workload in plan.workloads.iter().filter(|workload| !workload.control) {
        let first = *first_arms.entry(workload.name.as_str()).or_insert(&workload.arm);
        if *first != workload.arm || !plan::arms::matches(&workload.arm, baseline) {
            return None;
        }
    }
    Some(format!("no level to compare: {}{}", commonest_reason(plan), baseline_hint(plan)))
}

/// How to measure the baseline alone, if useful.
fn baseline_hint(plan: &Plan) -> String {
    if plan.workloads.iter().any(|work| work.work.is_others()) {
        // `assay watch` shows the same as observing a single level.
        return String::new();
    }
    let factors = plan.design.varied().filter(|factor| factor.name != "target");
    let levels = factors.filter_map(|factor| {
        let level = plan.design.baseline.get(&factor.name)?;
        Some(format!("--set {}", quoted(&format!("{}={level}", factor.name))))
    });
    let options = levels.collect::<Vec<_>>().join(" ");
    if options.is_empty() {
        return String::new();
    }
    format!("; to measure only the baseline, use {options}")
}

/// Fails if no workload, no level or no baseline is left to run.
fn check_comparison(plan: &Plan) -> Outcome<()> {
    check_load_search(plan)?;
    if let Some(reason) = reason_to_refuse(plan) {
        return Err(Failure::refused(reason));
    }
    if let Some(mistake) = plan::race::mistake(plan) {
        return Err(Failure::mistake(mistake));
    }
    let baseline = &plan.design.baseline;
    let is_baseline = |arm: &Arm| plan::arms::matches(arm, baseline);
    let has_baseline = plan.workloads.iter().any(|work| is_baseline(&work.arm));
    if has_baseline || baseline.is_empty() || plan.design.varied().next().is_none() {
        return Ok(());
    }
    let absent = plan.absent.iter().find(|absent| is_baseline(&absent.configuration));
    let reason = absent.map_or_else(|| commonest_reason(plan), |absent| absent.reason.clone());
    Err(Failure::refused(format!(
        "the baseline {} is unavailable: {reason}; use another --baseline",
        assay_study::results::plan::arm_words(baseline)
    )))
}

/// Runs the remaining trials of a stored study.
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
    let targets = distinct(environment.sites.iter().map(|site| target_text(site, &plan)));
    let demands = Demands::from_study(&study);
    let mut context = Context { system, runs_as: consented.runs_as(system), stop, tell };
    let resolved = resolve::targets(&mut context, &demands, &targets, consented, &id)?;
    let mut bed = TestBed::new(system, &demands, resolved, plan.seed);
    warn_of_new_kernel(&mut context, &environment);
    let checked = check_same_places(&bed, &demands, &plan, &environment).and_then(|()| {
        changes::check_consents(system, &id, &plan, &demands, bed.places(), consented)
    });
    tell_estimate(&mut context, Some(&plan), trials.len());
    let bundle = checked.and_then(|()| bed.reopen(&mut context, &plan)).and_then(|()| {
        Bundle::reopen(system, &directory).map_err(|error| {
            Failure::refused(format!("cannot write {}: {error}", directory.display()))
        })
    });
    let writer = ResultWriter::new(bundle.map_err(|failure| tear_down_after(&mut bed, failure))?);
    let text = format!("resumed after {} finished trials", trials.len());
    writer.log(system, "resumed", &text);
    let lines = repeat_setup(&context, &bed, &plan);
    for line in lines.map_err(|failure| tear_down_after(&mut bed, failure))? {
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
fn repeat_setup(context: &Context<'_>, bed: &TestBed<'_>, plan: &Plan) -> Outcome<Vec<String>> {
    let mut ran = Vec::new();
    for index in 0..plan.surveys.len() {
        let Some((site, surveyed)) = bed.surveyed(index) else { continue };
        let bench = pilot::Bench::new(context, surveyed.medium(), &site.path, plan.seed);
        let workloads = plan.workloads.iter().filter(|workload| workload.target == index);
        let lines = pilot::ready_again(workloads, &bench).map_err(|why| {
            Failure::refused(format!(
                "the study cannot continue: {why}; remove the cause, then resume the study (this runs the line again)"
            ))
        });
        ran.extend(lines?);
    }
    Ok(ran)
}

/// A resolved target as the command line names it: the device below a file system that Assay created.
fn target_text(site: &Site, plan: &Plan) -> String {
    let is_below_stack = plan.surveys.iter().any(|survey| !survey.under.is_empty());
    match site.kind {
        TargetKind::Simulated => site.target.clone(),
        _ if is_below_stack => site.target.clone(),
        _ => site.path.display().to_string(),
    }
}

/// Rejects a resumed study whose targets are not those of its result.
fn check_same_places(
    bed: &TestBed<'_>,
    demands: &Demands,
    plan: &Plan,
    environment: &Environment,
) -> Outcome<()> {
    if demands.own_target().is_some() {
        // A loop device of Assay is equivalent to the last one.
        return Ok(());
    }
    if plan.surveys.iter().all(|survey| survey.under.is_empty()) {
        let mut pairs = bed.places().iter().zip(&environment.sites);
        return pairs.try_for_each(|(place, before)| check_same_place(&place.site, before));
    }
    // The file systems are new, but on the same drive.
    for place in bed.places() {
        let before = environment.sites.iter().find(|site| site.target == place.site.target);
        if let Some(before) = before {
            check_same_members(place, before)?;
        }
    }
    Ok(())
}

fn check_same_place(now: &Site, before: &Site) -> Outcome<()> {
    if now.kind != before.kind {
        return Err(other_target(now, "the kind of target changed"));
    }
    let (old, new) = (before.filesystem(), now.filesystem());
    if new != old {
        return Err(other_target(now, &format!("the target was {old} and is now {new}")));
    }
    check_same_drives(now, before)
}

/// Rejects a target of several devices that lacks a drive of the result; a configuration may not use all devices.
fn check_same_members(place: &Place, before: &Site) -> Outcome<()> {
    if place.others.is_empty() {
        return check_same_drives(&place.site, before);
    }
    let drives = place.devices().flat_map(|device| &device.site.drives);
    let now: Vec<&str> = drives.map(|drive| drive.id.as_str()).collect();
    match before.drives.iter().find(|drive| !now.contains(&drive.id.as_str())) {
        None => Ok(()),
        Some(Drive { id, .. }) => {
            let how = format!("{id} is no longer one of the devices of the target");
            Err(other_target(&place.site, &how))
        }
    }
}

fn check_same_drives(now: &Site, before: &Site) -> Outcome<()> {
    let ids = |site: &Site| site.drives.iter().map(|drive| drive.id.clone()).collect::<Vec<_>>();
    let (old, new) = (ids(before), ids(now));
    if old == new {
        return Ok(());
    }
    let how = format!("the target was on {} and is now on {}", old.join(", "), new.join(", "));
    Err(other_target(now, &how))
}

fn other_target(now: &Site, how: &str) -> Failure {
    Failure::refused(format!(
        "{} is not the previously measured target: {how}; start a new study",
        now.target
    ))
}

fn warn_of_new_kernel(context: &mut Context<'_>, environment: &Environment) {
    let (before, now) = (&environment.machine.kernel, machine::machine(context.system).kernel);
    if *before != now {
        let [before, now] =
            [before, &now].map(|version| version.value().map_or("unknown", String::as_str));
        (context.tell)(Event::Warning(format!(
            "the kernel was {before} when the study began and is now {now}, so the replicates are not comparable"
        )));
    }
}
