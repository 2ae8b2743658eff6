//! What is looked at once before and once after the trials of a study: the drives' health, and the
//! energy of the machine at rest.

use std::time::Duration;

use super::event::{Context, Event};
use crate::probes::surroundings::{self, Asked};
use crate::probes::{Costs, drive_health};
use crate::quantity::units::show;
use crate::results::bundle::Bundle;
use crate::results::environment::Environment;
use crate::results::plan::Plan;
use crate::results::watched::{Energy, Surroundings};
use crate::seen::Seen;
use crate::system::System;
use crate::system::site::{Drive, Site, TargetKind};

/// How often a rest looks whether the user wants to stop.
const STEP: Duration = Duration::from_millis(100);

/// Before the first trial.
pub fn before(context: &mut Context<'_>, plan: &Plan, sites: &[Site]) -> Surroundings {
    let mut found = Surroundings {
        health_before: drive_health::of_sites(context.system, sites),
        ..Surroundings::default()
    };
    let real = sites.iter().any(|site| site.kind != TargetKind::Simulated);
    if let Some(rest_ns) = plan.idle_ns.filter(|_| real) {
        let time = show::duration(rest_ns as f64);
        (context.tell)(Event::Making { what: format!("a baseline of the idle machine, {time}") });
        found.idle = idle(context, plan, Duration::from_nanos(rest_ns));
    }
    found
}

/// Energy while nothing is done.
fn idle(context: &Context<'_>, plan: &Plan, rest: Duration) -> Seen<Energy> {
    let (system, asked) = (context.system, Asked::of(plan));
    let mut costs = Costs::default();
    let mut early = surroundings::read(system, &mut costs);
    let mut left = rest;
    while !left.is_zero() && !context.is_stopped() {
        let step = left.min(STEP);
        system.sleep(step);
        left -= step;
    }
    if context.is_stopped() {
        return Seen::absent("the rest before the first trial was cut short");
    }
    let late = surroundings::again(system, &mut early, asked, &mut costs);
    surroundings::between(&early, &late, asked).energy
}

/// After the last trial, also of a study that was interrupted: the drives that told something once
/// more, kept with the environment. A study whose result cannot be written is told all the same.
pub fn after(system: &dyn System, environment: &mut Environment, bundle: Option<&Bundle<'_>>) {
    let mut sites = environment.sites.clone();
    let found = &mut environment.surroundings;
    let told = |drive: &Drive| found.health_before.get(&drive.name).is_some_and(has_value);
    for site in &mut sites {
        site.drives.retain(told);
    }
    found.health_after = drive_health::of_sites(system, &sites);
    if let Some(bundle) = bundle.filter(|_| !found.health_after.is_empty()) {
        let _ = bundle.keep_environment(environment);
    }
}

fn has_value<T>(seen: &Seen<T>) -> bool {
    seen.value().is_some()
}
