//! The first step of a run: checks permissions, resolves and locks targets, starts the guard.

use super::event::Context;
use super::places::{Place, places_of};
use super::request::Consented;
use super::{changes, holds, marks, others};
use assay_core::failure::{Failure, Outcome};
use assay_machine::factors::layers::{self, Levels, RaisedStack, Stack, Wish};
use assay_machine::factors::{self, Guard};
use assay_machine::system::journal::{self, Mark};
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{Hold, System, Watchdog, identity};
use assay_study::file::{Study, Target, simulated};
use assay_study::plan::design::{Demands, ResolvedDesign, TargetGround};

pub struct Resolved<'a> {
    pub places: Vec<Place>,
    pub loops: Vec<(Stack, RaisedStack)>,
    pub guard: Option<Guard<'a>>,
    pub watchdog: Option<Box<dyn Watchdog>>,
    pub marks: Vec<Mark>,
    pub holds: Vec<Hold>,
}

/// Resolves and locks the targets of a study and creates loop devices; reverts changes on failure.
pub fn targets<'a>(
    context: &mut Context<'a>,
    demands: &Demands,
    targets: &[String],
    Consented { destroy, allowed, wait, .. }: &Consented,
    id: &str,
) -> Outcome<Resolved<'a>> {
    let system = context.system;
    changes::check_permitted(demands, allowed)?;
    if let Some(fault) = demands.network.to_nobody.clone() {
        return Err(Failure::mistake(fault));
    }
    refuse_unfinished(system)?;
    if demands.changes() {
        check_root(system, demands)?;
        let shaped = demands.network.shaped.iter().filter(|_| !demands.network.makes_link);
        for interface in shaped {
            factors::network::check_can_shape(system, interface)?;
        }
    }
    changes::check_token(system, demands).map_err(Failure::refused)?;
    let makes_own = demands.own_target().is_some();
    let resolve_named = || check_as_shown(system, places_of(system, demands, targets, destroy)?);
    let named = if makes_own { Vec::new() } else { resolve_named()? };
    others::check_observable(demands, &named)?;
    let holds = holds::lock_all(context, demands, &named, *wait)?;
    // The state may have changed during the wait.
    let named = if wait.is_zero() || makes_own { named } else { resolve_named()? };
    let mut guard = if demands.changes() {
        Some(Guard::begin(system, &identity::state_directory(system)?, id)?)
    } else {
        None
    };
    if let Some(guard) = guard.as_mut().filter(|_| demands.network.makes_link) {
        factors::network::make_lab(system, guard)?;
    }
    let watchdog = guard.as_ref().and(others::start_watchdog(system, demands, id)?);
    let loops = match (&demands.ground, &mut guard) {
        (TargetGround::Own { size, members }, Some(guard)) => {
            let devices = (0..*members).map(|_| make_own_target(guard, size.0));
            devices.collect::<Outcome<Vec<_>>>()?
        }
        _ => Vec::new(),
    };
    let places = if loops.is_empty() {
        named
    } else {
        let made = loops.iter().map(|(_, raised)| Place::of_base(system, &raised.base));
        vec![Place::combined(made.collect::<Outcome<_>>()?)?]
    };
    let marks = marks::marks_of(system, &places);
    if let Some(guard) = &mut guard {
        guard.change_only(marks.clone());
    }
    Ok(Resolved { places, loops, guard, watchdog, marks, holds })
}

/// Verifies that the devices to overwrite are those that `assay plan` showed.
fn check_as_shown(system: &dyn System, places: Vec<Place>) -> Outcome<Vec<Place>> {
    let devices = places.iter().flat_map(Place::devices);
    for place in devices.filter(|place| place.consent.is_some()) {
        identity::as_shown(system, &place.site)?;
    }
    Ok(places)
}

fn make_own_target(guard: &mut Guard<'_>, bytes: u64) -> Outcome<(Stack, RaisedStack)> {
    let none = Levels::new();
    let wish = Wish { own_target: Some(bytes), ..Wish::new(&none) };
    let stack = Stack::new(&wish).map_err(Failure::refused)?;
    let raised = stack.make(guard, Vec::new())?;
    Ok((stack, raised))
}

/// Creating layers needs root; for settings, the kernel decides case by case.
fn check_root(system: &dyn System, demands: &Demands) -> Outcome<()> {
    let makes_layers = demands.own_target().is_some() || demands.made.any;
    if demands.network.changes && system.user().id != 0 {
        let action =
            if demands.network.makes_link { "a lab of network namespaces" } else { "shaping" };
        return Err(Failure::refused(format!("{action} needs root; run it with sudo")));
    }
    if makes_layers && system.user().id != 0 {
        let layers = layers::nouns();
        return Err(Failure::refused(format!("creating {layers} needs root; run it with sudo")));
    }
    Ok(())
}

/// Fails if an earlier run has not restored the machine.
pub fn refuse_unfinished(system: &dyn System) -> Outcome<()> {
    let home = identity::state_directory(system)?;
    let left = journal::unfinished(system, &factors::guard::journals(&home))?;
    let Some(first) = left.first() else { return Ok(()) };
    let fault = first.faults.first().map_or_else(String::new, |fault| format!(" ({fault})"));
    Err(Failure::refused(format!(
        "{} ended without restoring the machine{fault}; run assay restore first",
        first.id
    )))
}

pub(super) fn design<'d>(
    study: &Study,
    demands: &'d Demands,
    places: &[Place],
) -> ResolvedDesign<'d> {
    let targets: Vec<String> = places.iter().map(|place| place.site.target.clone()).collect();
    ResolvedDesign::new(study, demands, &targets)
}

/// Writes the seed and the targets into the study; several targets become levels of the factor `target`.
pub(super) fn set_targets(study: &mut Study, places: &[Place], seed: u64) {
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
