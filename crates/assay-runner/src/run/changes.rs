//! What a study will change and how it is reverted; which levels are unavailable without trying them (`refusals`).

use std::path::PathBuf;

use super::places::Place;
use super::request::Consented;
use assay_core::failure::{Failure, Outcome};
use assay_core::presence::Presence;
use assay_core::quantity::Bytes;
use assay_machine::factors::layers::{self, Stack, Wish};
use assay_machine::factors::{self, Factor, Role, View};
use assay_machine::probes::{ProbeRequest, energy};
use assay_machine::system::network::{lab, token};
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{System, devices, identity, quoted};
use assay_study::file::Precondition;
use assay_study::plan::design::{Demands, ResolvedDesign, TargetGround, Varied};
use assay_study::results::plan::{Arm, Plan, PlannedWorkload, Refusal};

/// Rejects a study that the command line does not allow: protected paths, settings under the work of others, and layers
/// next to a directory on a target in memory.
pub fn check_permitted(demands: &Demands, allowed: &[PathBuf]) -> Outcome<()> {
    let named: Vec<&str> = demands.named.iter().map(String::as_str).collect();
    factors::check_permitted(named.iter().copied(), allowed).map_err(Failure::mistake)?;
    if demands.watches() {
        factors::check_live(named, allowed).map_err(Failure::mistake)?;
    }
    if demands.made.any
        && !demands.made.on_device
        && matches!(demands.ground, TargetGround::Own { .. })
    {
        return Err(Failure::mistake(format!(
            "--scratch: Assay creates {} next to a directory; give a directory on a disk",
            layers::with_article(demands.made.noun)
        )));
    }
    Ok(())
}

/// Returns the devices that a plan overwrites, by trials or by the area, except created ones.
pub fn overwrites<'p>(plan: &Plan, demands: &Demands, places: &'p [Place]) -> Vec<&'p Place> {
    if demands.own_target().is_some() {
        return Vec::new();
    }
    let writes = demands.gives_up_data() || plan.workloads.iter().any(PlannedWorkload::writes);
    let is_filled = |place: &Place| {
        plan.surveys.iter().any(|survey| survey.area.written && survey.target == place.site.target)
    };
    let devices = places.iter().flat_map(Place::devices);
    let devices = devices.filter(|place| place.site.kind == TargetKind::Device);
    devices.filter(|place| writes || is_filled(place)).collect()
}

/// Rejects a study that overwrites a device without consent, with the command that gives it.
pub fn check_consents(
    system: &dyn System,
    id: &str,
    plan: &Plan,
    demands: &Demands,
    places: &[Place],
    consented: &Consented,
) -> Outcome<()> {
    let overwritten = overwrites(plan, demands, places);
    let Some(unpermitted) = overwritten.iter().find(|place| place.consent.is_none()) else {
        return Ok(());
    };
    // If the device is in use or unknown, no option helps.
    identity::stake(system, &unpermitted.site)?;
    let options = resume_options(system, overwritten.iter().map(|place| &place.site), consented);
    Err(Failure::mistake(format!(
        "the study overwrites {}; continue with: assay resume {id}{options}",
        unpermitted.site.target
    )))
}

/// Returns the options for `assay resume ID`: the consents that the user gave.
pub fn resume_options<'s>(
    system: &dyn System,
    overwritten: impl IntoIterator<Item = &'s Site>,
    consented: &Consented,
) -> String {
    let mut options = Vec::new();
    for site in overwritten {
        if let Ok(stake) = identity::stake(system, site) {
            options.push(format!(" --destroy {}", quoted(&stake.text())));
        }
    }
    for path in &consented.allowed {
        options.push(format!(" --allow-tunable {}", quoted(&path.to_string_lossy())));
    }
    if consented.as_root {
        options.push(" --as-root".to_owned());
    }
    options.concat()
}

/// Describes what a study changes, one line each.
pub fn describe(system: &dyn System, demands: &Demands, places: &[Place]) -> Vec<String> {
    let mut lines = Vec::new();
    if let TargetGround::Own { size, members } = demands.ground {
        lines.push(match members {
            1 => format!("creates a loop device on a file of {size} and removes both afterwards"),
            _ => format!(
                "creates {members} loop devices on files of {size} each and removes all of them afterwards"
            ),
        });
    }
    if let Some(Precondition { passes, .. }) = &demands.precondition {
        let times = if *passes == 1 { "once".to_owned() } else { format!("{passes} times") };
        for place in places {
            lines.push(format!("{}: writes the whole device {times} first", place.site.target));
        }
    }
    if demands.network.makes_link {
        lines.push(format!("creates and later removes {}", lab::words()));
    }
    let shaped = demands.network.shaped.iter();
    lines.extend(shaped.map(|interface| factors::network::shaping(interface)));
    for varied in demands.in_turn() {
        let Some(factor) = varied.factor else { continue };
        for place in places {
            lines.push(describe_factor(system, demands, place, varied, factor));
        }
    }
    // The description of the work names exclusions and rollbacks.
    let production = demands.work.iter().filter(|workload| workload.work.is_others());
    lines.extend(production.map(|workload| format!("no other changes; {}", workload.work.words())));
    lines
}

/// Returns what prevents the run, such as missing permission to destroy data.
pub fn missing_consents(system: &dyn System, demands: &Demands, places: &[Place]) -> Vec<String> {
    let needs_consent = |place: &&Place| {
        // A device that the study creates has no path yet.
        let is_to_be = place.site.path.as_os_str().is_empty();
        demands.gives_up_data()
            && place.consent.is_none()
            && place.site.kind == TargetKind::Device
            && !is_to_be
    };
    let mut reasons = Vec::new();
    for place in places.iter().flat_map(Place::devices).filter(needs_consent) {
        reasons.push(match identity::stake(system, &place.site) {
            // The plan shows the required option next to the data loss.
            Ok(_) => format!(
                "{}: cannot run, because the study destroys its data without permission",
                place.site.target
            ),
            Err(failure) => failure.message,
        });
    }
    reasons.extend(demands.network.to_nobody.clone());
    reasons.extend(check_token(system, demands).err());
    reasons
}

/// Checks the token that the peer requires, if a study has one.
pub fn check_token(system: &dyn System, demands: &Demands) -> Result<(), String> {
    if demands.network.needs_token { token::of_environment(system).map(|_| ()) } else { Ok(()) }
}

/// Returns what a study lacks on this machine, such as root.
pub fn missing_means(system: &dyn System, demands: &Demands) -> Vec<String> {
    let mut missing = Vec::new();
    let request = ProbeRequest { probes: &demands.probes, meter: demands.meter.as_deref() };
    let needs_sensor = demands.meter.is_none() && request.names(&energy::PROBE);
    if needs_sensor && let Presence::Absent(reason) = energy::read(system).source() {
        missing.push(format!(
            "energy: {reason}; Assay compares only times (to read the log of a power meter, use --set power_meter=FILE)"
        ));
    }
    if system.user().id == 0 {
        return missing;
    }
    let needs_root = "needs root; run it with sudo";
    if demands.own_target().is_some() {
        missing.push(format!("a loop device: {needs_root}"));
    }
    for varied in &demands.varied {
        if varied.role().is_some_and(|role| role != Role::Observed) {
            missing.push(format!("{}: {needs_root}", varied.name));
        }
    }
    missing
}

/// Describes what a study does with a factor on a place (a target), and how Assay undoes this.
fn describe_factor(
    system: &dyn System,
    demands: &Demands,
    place: &Place,
    varied: &Varied,
    factor: &dyn Factor,
) -> String {
    let view = View { system, site: &place.site };
    let (name, levels) = (&varied.name, varied.levels.join(", "));
    let undone = match factor.role() {
        Role::Layer if demands.own_target().is_some() => "Assay deletes the device afterwards",
        role => role.undone(),
    };
    match factor.role() {
        Role::Layer if layers::of_factor(name).is_some_and(|layer| !layer.needs_device()) => {
            format!("{name}: {levels}, next to {}; removed afterwards", place.site.target)
        }
        Role::Layer => {
            let start = start_text(system, demands, place);
            format!("{name}: {levels}, on {}{start}; {undone}", place.site.target)
        }
        Role::Observed => {
            let now = level_text(factor.observe(name, &view));
            format!("{name}: currently {now}, of {levels}; {undone}")
        }
        Role::Setting if demands.own_target().is_some() => {
            format!("{name}: {levels}, on the loop device; {undone}")
        }
        Role::Setting => {
            let now = level_text(factor.observe(name, &view));
            let settings = varied.levels.first().map(|level| factor.settings(name, level, &view));
            match settings {
                Some(Ok(settings)) => {
                    let files = settings.iter().map(|setting| setting.path.display().to_string());
                    let files = files.collect::<Vec<_>>().join(", ");
                    format!("{name}: {levels} (now {now}); {undone} in {files}")
                }
                Some(Err(reason)) => format!("{name}: {reason}"),
                None => format!("{name}: no level"),
            }
        }
    }
}

fn level_text(seen: Presence<String>) -> String {
    match seen {
        Presence::Present(level) => level,
        Presence::Absent(reason) => format!("unknown: {reason}"),
    }
}

fn start_text(system: &dyn System, demands: &Demands, place: &Place) -> String {
    let device = place.site.counted.first();
    let bytes = device.map_or(0, |name| devices::size_of(system, name));
    match demands.area.first_byte(bytes) {
        0 => String::new(),
        start => format!(" from {}", Bytes(start)),
    }
}

/// Returns the levels, and the sets of levels of a base (layers), that are unavailable, without changing anything.
pub fn refusals(system: &dyn System, design: &ResolvedDesign<'_>, place: &Place) -> Vec<Refusal> {
    let (site, demands) = (&place.site, design.demands);
    let view = View { system, site };
    let own_target = demands.own_target();
    let size_bytes = |device: &Place| match own_target {
        Some(size) => size.0,
        None => device.site.counted.first().map_or(0, |name| devices::size_of(system, name)),
    };
    let below_bytes: Vec<u64> = place.devices().map(size_bytes).collect();
    let is_in_directory = site.kind == TargetKind::Directory && !demands.made.on_device;
    let mut found = Vec::new();
    for base in &design.layout.bases {
        let missing = match Stack::new(&Wish::new(base)) {
            Ok(stack) => stack.missing(system, &below_bytes).or_else(|| {
                is_in_directory.then(|| stack.missing_beside(system, &site.path)).flatten()
            }),
            Err(reason) => Some(reason),
        };
        if let Some(reason) = missing {
            found.push(Refusal { levels: base.clone(), reason });
        }
    }
    for Varied { name, levels, factor, .. } in &demands.varied {
        let Some(factor) = *factor else { continue };
        for level in levels {
            let reason = match factor.role() {
                Role::Setting if own_target.is_none() => factor.settings(name, level, &view).err(),
                Role::Observed => check_observed(factor, name, level, &view).err(),
                Role::Setting | Role::Layer => None,
            };
            let levels = Arm::from([(name.clone(), level.clone())]);
            found.extend(reason.map(|reason| Refusal { levels, reason }));
        }
    }
    found
}

/// Fails unless the machine is at a level that only its operator can set.
pub(super) fn check_observed(
    factor: &dyn factors::Factor,
    name: &str,
    level: &str,
    view: &View<'_>,
) -> Result<(), String> {
    match factor.observe(name, view) {
        Presence::Present(now) if factor.same(&now, level) => Ok(()),
        Presence::Present(now) => Err(format!(
            "{name} is {now} on this machine; run the study on a machine with {level}, then compare the two results"
        )),
        Presence::Absent(reason) => Err(format!("cannot determine {name}: {reason}")),
    }
}
