//! What a study would change of the machine, and how each change is undone: told beforehand.

use std::path::PathBuf;

use super::places::Place;
use assay_core::factors::layers::{self, Stack, Wish};
use assay_core::factors::{self, Factor, Role, View};
use assay_core::failure::{Failure, Outcome};
use assay_core::plan::arms::{self, Layout};
use assay_core::presence::Presence;
use assay_core::probes::{Asked, energy};
use assay_core::quantity::Bytes;
use assay_core::results::plan::{Arm, Refusal};
use assay_core::study::{Study, Target};
use assay_core::system::site::TargetKind;
use assay_core::system::{System, devices, identity, virtual_machine};

/// Refuses a study that writes where studies have no business, unless the user has said himself, on
/// the command line, that it may.
///
/// # Errors
/// The user's mistake, with what to say.
pub fn permitted(study: &Study, allowed: &[PathBuf]) -> Outcome<()> {
    let named = study.arms.iter().chain([&study.baseline]).flat_map(Arm::keys);
    let named = named.chain(study.factors.keys()).map(String::as_str);
    let named: Vec<&str> = named.collect();
    factors::permitted(named.iter().copied(), allowed).map_err(Failure::mistake)?;
    if study.workload.iter().any(|workload| workload.work.is_others()) {
        factors::live(named, allowed).map_err(Failure::mistake)?;
    }
    Ok(())
}

/// What else can be done where a study on devices of its own finds no kernel for them here; nothing
/// where it cannot go to a virtual machine, or is in one.
pub fn way_on(system: &dyn System, study: &Study) -> &'static str {
    let own = matches!(study.target, Some(Target::Loop(_))) && study.meter.is_none();
    let stays = study.workload.iter().any(|work| work.work.kind().runs_programs);
    if own && !stays && virtual_machine::own(system).is_none() {
        "; with --vm in the place of --lab it runs in a virtual machine with a kernel of its own"
    } else {
        ""
    }
}

/// One sentence a change.
pub fn changes(system: &dyn System, study: &Study, places: &[Place]) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(Target::Loop(size)) = study.target {
        told.push(match study.loop_devices() {
            1 => format!("a loop device over a file of {size} is made; both are removed afterwards"),
            members => format!(
                "{members} loop devices over files of {size} each are made; all are removed afterwards"
            ),
        });
    }
    for place in places.iter().filter(|_| study.prepare.prime.is_some()) {
        let passes = study.prepare.prime.as_ref().map_or(1, |prime| prime.passes);
        let times = if passes == 1 { "once".to_owned() } else { format!("{passes} times") };
        told.push(format!("{}: all of it is written {times} first", place.site.target));
    }
    told.extend(super::links::changes(study));
    let mut names: Vec<&String> = study.factors.keys().collect();
    names.sort_by_key(|name| factors::rank(name));
    for name in names {
        let Some(factor) = factors::find(name) else { continue };
        for place in places {
            told.push(sentence(system, study, place, (factor, name)));
        }
    }
    // What is left out and what is taken back: it stands in the words of the work.
    let others = study.workload.iter().filter(|own| own.work.is_others());
    told.extend(others.map(|own| format!("nothing else; {}", own.work.words())));
    told
}

/// What must be given before a study can run as it stands.
pub fn wanting(system: &dyn System, study: &Study, places: &[Place]) -> Vec<String> {
    let gives_up = arms::gives_up_data(study) || study.needs_whole();
    let open = |place: &&Place| {
        gives_up && place.consent.is_none() && place.site.kind == TargetKind::Device
    };
    let told = |place: &Place| match identity::stake(system, &place.site) {
        // What has to be typed stands where the plan tells what is lost.
        Ok(_) => format!(
            "{}: cannot run as it stands: its data would be lost, and nobody has agreed to that",
            place.site.target
        ),
        Err(failure) => failure.message,
    };
    let there = |place: &&Place| !place.site.path.as_os_str().is_empty();
    let devices = places.iter().flat_map(Place::devices);
    let peer = super::links::named(study).err().map(|failure| failure.message);
    devices.filter(open).filter(there).map(told).chain(peer).collect()
}

/// What a study asks for that is not here, and what becomes of it.
pub fn lacks(system: &dyn System, study: &Study) -> Vec<String> {
    let mut told = Vec::new();
    let asks = Asked { probes: &study.probes, meter: study.meter.as_deref() };
    let asked = study.meter.is_none() && asks.names(&energy::PROBE);
    if let Some(Presence::Absent(reason)) = asked.then(|| energy::read(system).source()) {
        told.push(format!(
            "energy: {reason}; the times are compared without it (--meter FILE takes the log of a \
             power meter)"
        ));
    }
    if system.user().id == 0 {
        return told;
    }
    let root = "only root may do that: run it with sudo";
    if matches!(study.target, Some(Target::Loop(_))) {
        told.push(format!("a loop device: {root}"));
    }
    let roots =
        |name: &&String| factors::find(name).is_some_and(|factor| factor.role() != Role::Observed);
    told.extend(study.factors.keys().filter(roots).map(|name| format!("{name}: {root}")));
    told
}

fn sentence(
    system: &dyn System,
    study: &Study,
    place: &Place,
    (factor, name): (&dyn Factor, &str),
) -> String {
    let view = View { system, site: &place.site };
    let levels = study.factors.get(name).map(|levels| levels.join(", ")).unwrap_or_default();
    let undone = factor.role().undone();
    match factor.role() {
        Role::Layer if layers::of_factor(name).is_some_and(|layer| !layer.needs_device()) => {
            format!("{name}: {levels}, beside {}; taken down, and removed", place.site.target)
        }
        Role::Layer => {
            let start = devices_start(system, study, place);
            format!("{name}: {levels}, on {}{start}; {undone}", place.site.target)
        }
        Role::Observed => {
            let now = level_or_reason(factor.observe(name, &view));
            format!("{name}: {now} here, of {levels}; {undone}")
        }
        Role::Setting if matches!(study.target, Some(Target::Loop(_))) => {
            format!("{name}: {levels}, on the loop device; {undone}")
        }
        Role::Setting => {
            let now = level_or_reason(factor.observe(name, &view));
            let first = study.factors.get(name).and_then(|levels| levels.first());
            let settings = first.map(|level| factor.settings(name, level, &view));
            match settings {
                Some(Ok(settings)) => {
                    let files = settings.iter().map(|setting| setting.path.display().to_string());
                    let files = files.collect::<Vec<_>>().join(", ");
                    format!("{name}: {levels} (now {now}), in {files}; {undone}")
                }
                Some(Err(reason)) => format!("{name}: {reason}"),
                None => format!("{name}: no level"),
            }
        }
    }
}

fn level_or_reason(seen: Presence<String>) -> String {
    match seen {
        Presence::Present(level) => level,
        Presence::Absent(reason) => format!("not known: {reason}"),
    }
}

fn devices_start(system: &dyn System, study: &Study, place: &Place) -> String {
    let device = place.site.counted.first();
    let bytes = device.map_or(0, |name| devices::size_of(system, name));
    match study.area.first_byte(bytes) {
        0 => String::new(),
        start => format!(" from {} on", Bytes(start)),
    }
}

/// Levels of which can be told without changing anything that they cannot be had.
pub fn refused(
    system: &dyn System,
    (study, layout): (&Study, &Layout),
    place: &Place,
) -> Vec<Refusal> {
    let site = &place.site;
    let view = View { system, site };
    let own = matches!(study.target, Some(Target::Loop(_)));
    let bytes = |device: &Place| match &study.target {
        Some(Target::Loop(size)) => size.0,
        _ => device.site.counted.first().map_or(0, |name| devices::size_of(system, name)),
    };
    let below: Vec<u64> = place.devices().map(bytes).collect();
    let is_beside = site.kind == TargetKind::Directory && !arms::makes_on_device(study);
    let beside = |stack: &Stack| {
        if is_beside { stack.missing_beside(system, &site.path) } else { None }
    };
    let mut found = Vec::new();
    for base in &layout.bases {
        let missing = match Stack::of(&Wish::of(base)) {
            Ok(stack) => stack.missing(system, &below).or_else(|| beside(&stack)),
            Err(reason) => Some(reason),
        };
        if let Some(reason) = missing {
            found.push(Refusal { levels: base.clone(), reason });
        }
    }
    for (name, levels) in &study.factors {
        let Some(factor) = factors::find(name) else { continue };
        for level in levels {
            let reason = match factor.role() {
                Role::Setting if !own => factor.settings(name, level, &view).err(),
                Role::Observed => seen_at(factor, name, level, &view).err(),
                Role::Setting | Role::Layer => None,
            };
            let levels = Arm::from([(name.clone(), level.clone())]);
            found.extend(reason.map(|reason| Refusal { levels, reason }));
        }
    }
    found
}

/// Whether the machine is at a level that nobody but its operator can bring about.
pub(super) fn seen_at(
    factor: &dyn factors::Factor,
    name: &str,
    level: &str,
    view: &View<'_>,
) -> Result<(), String> {
    match factor.observe(name, view) {
        Presence::Present(now) if factor.same(&now, level) => Ok(()),
        Presence::Present(now) => Err(format!(
            "{name} is {now} here: run the study where it is {level}, then compare the two results"
        )),
        Presence::Absent(reason) => Err(format!("{name} cannot be told: {reason}")),
    }
}
