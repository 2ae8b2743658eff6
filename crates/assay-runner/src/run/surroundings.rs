//! What Assay observes once before and after the trials: drive health and idle energy.

use std::time::Duration;

use super::event::{Context, Event};
use assay_core::presence::Presence;
use assay_core::quantity::units::show;
use assay_machine::probes::energy::{self, Energy};
use assay_machine::probes::{ProbeRequest, drive_health};
use assay_machine::system::System;
use assay_machine::system::site::{Drive, Site, TargetKind};
use assay_study::results::bundle::Bundle;
use assay_study::results::environment::Environment;
use assay_study::results::plan::Plan;
use assay_study::results::surroundings::Surroundings;

/// Interval for checking the stop flag during a rest.
const STEP: Duration = Duration::from_millis(100);

/// Reads the health of the drives and, if an energy meter exists, the power of the idle machine.
pub fn before(context: &mut Context<'_>, plan: &Plan, sites: &[Site]) -> Surroundings {
    let mut found = Surroundings {
        health_before: drive_health::of_sites(context.system, sites),
        ..Surroundings::default()
    };
    let real = sites.iter().any(|site| site.kind != TargetKind::Simulated);
    // Without an energy meter, a rest shows nothing.
    let has_meter = || plan.meter.is_some() || energy::read(context.system).has_source();
    if let Some(rest_ns) = plan.idle_ns.filter(|_| real && has_meter()) {
        let time = show::duration(rest_ns as f64);
        (context.tell)(Event::Making { what: format!("a baseline of the idle machine, {time}") });
        found.idle = idle(context, plan, Duration::from_nanos(rest_ns));
    }
    found
}

fn idle(context: &Context<'_>, plan: &Plan, rest: Duration) -> Presence<Energy> {
    let asked = ProbeRequest { probes: &plan.probes, meter: plan.meter.as_deref() };
    let system = context.system;
    let early = energy::read(system);
    let mut left = rest;
    while !left.is_zero() && !context.is_stopped() {
        let step = left.min(STEP);
        system.sleep(step);
        left -= step;
    }
    if context.is_stopped() {
        return Presence::absent("the idle time before the first trial was interrupted");
    }
    let late = energy::read(system).with_meter(system, asked.meter);
    energy::between(&early, &late, energy::is_asked(asked))
}

/// After the last trial: reads the drives' health again and stores it with the environment.
pub fn after(system: &dyn System, environment: &mut Environment, bundle: Option<&Bundle<'_>>) {
    let mut sites = environment.sites.clone();
    let found = &mut environment.surroundings;
    let was_read = |drive: &Drive| found.health_before.get(&drive.name).is_some_and(has_value);
    for site in &mut sites {
        site.drives.retain(was_read);
    }
    found.health_after = drive_health::of_sites(system, &sites);
    let is_changed = !found.health_after.is_empty() || !found.studies.is_empty();
    if let Some(bundle) = bundle.filter(|_| is_changed) {
        let _ = bundle.keep_environment(environment);
    }
}

fn has_value<T>(seen: &Presence<T>) -> bool {
    seen.value().is_some()
}
