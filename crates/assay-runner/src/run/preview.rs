//! Preview of a study without changing anything: the steps of a run up to its plan, from estimates.

use std::sync::atomic::AtomicBool;

use super::fleet::{FleetMember, OfHost, RunningFleet};
use super::places::{Place, places_of, usable_range};
use super::request::Consented;
use super::start::{check_load_search, reason_to_refuse};
use super::{changes, now, others, resolve, survey};
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_machine::system::site::Site;
use assay_study::file::Study;
use assay_study::plan;
use assay_study::plan::allocation::{self, Quick};
use assay_study::plan::design::{Demands, ResolvedDesign, TargetGround};
use assay_study::results::id::entropy;
use assay_study::results::plan::{Plan, Survey};

pub struct StudyPreview {
    pub study: Study,
    pub plan: Plan,
    pub sites: Vec<Site>,
    pub changes: Vec<String>,
    pub lacks: Vec<String>,
}

/// Predicts what a study would do, with estimates in place of pilots; touches nothing.
pub fn preview(
    system: &dyn System,
    study: Study,
    targets: &[String],
    consented: &Consented,
    quick: Option<Quick>,
) -> Outcome<StudyPreview> {
    let mut study = now::resolve_levels(system, study, targets)?;
    let demands = Demands::from_study(&study);
    changes::check_permitted(&demands, &consented.allowed)?;
    let places = match demands.ground {
        TargetGround::Own { size, members } => vec![Place::future_loops(size, members)],
        TargetGround::Named | TargetGround::Together(_) => {
            places_of(system, &demands, targets, &consented.destroy)?
        }
    };
    others::check_observable(&demands, &places)?;
    let seed = study.seed.unwrap_or_else(|| entropy(system));
    resolve::set_targets(&mut study, &places, seed);
    let design = resolve::design(&study, &demands, &places);
    let mut preview = estimate(system, study, &design, &places, quick, seed)?;
    preview.changes = changes::missing_consents(system, &demands, &places);
    preview.changes.extend(changes::describe(system, &demands, &places));
    let refusal = reason_to_refuse(&preview.plan);
    preview.lacks.extend(refusal.or_else(|| plan::race::mistake(&preview.plan)));
    preview.lacks.extend(changes::missing_means(system, &demands));
    Ok(preview)
}

pub struct AllHosts {
    /// Common to all hosts, except the targets, which are this host's.
    pub own: StudyPreview,
    pub hosts: Vec<OfHost>,
}

impl AllHosts {
    /// Previews a study on this host and others, which prove that their plans are equal.
    pub fn preview(
        system: &dyn System,
        member: FleetMember<'_>,
        stop: &AtomicBool,
        study: Study,
        targets: &[String],
        consented: &Consented,
        quick: Option<Quick>,
    ) -> Outcome<Self> {
        let mut fleet = RunningFleet::join(system, stop, member, study.seed, targets)?;
        let study = Study { seed: Some(fleet.seed()), ..study };
        let own = preview_together(system, &mut fleet, study, targets, consented, quick);
        if let Err(failure) = &own {
            // The others must not wait for messages that never come.
            fleet.leave(&failure.message);
        }
        Ok(Self { own: own?, hosts: fleet.surveyed })
    }
}

/// Previews a study whose surveys and plan all hosts agree on.
fn preview_together(
    system: &dyn System,
    fleet: &mut RunningFleet<'_>,
    study: Study,
    targets: &[String],
    consented: &Consented,
    quick: Option<Quick>,
) -> Outcome<StudyPreview> {
    let preview = preview(system, study, targets, consented, None)?;
    let mut surveys = preview.plan.surveys.clone();
    let common = fleet.agree(&surveys)?;
    for (survey, agreed) in surveys.iter_mut().zip(&common.surveys) {
        agreed.apply_to(survey);
    }
    let study = match quick {
        Some(quick) => allocation::settle(preview.study, quick, &surveys),
        None => preview.study,
    };
    let plan = plan::make(&study, surveys, fleet.seed());
    check_load_search(&plan)?;
    fleet.prove(&plan)?;
    Ok(StudyPreview { study, plan, ..preview })
}

/// Plans a study from estimates: one survey and its site per place (target) and base (layers on it).
pub(super) fn estimate(
    system: &dyn System,
    mut study: Study,
    design: &ResolvedDesign<'_>,
    places: &[Place],
    quick: Option<Quick>,
    seed: u64,
) -> Outcome<StudyPreview> {
    let demands = design.demands;
    let (mut surveys, mut sites) = (Vec::new(), Vec::new());
    for place in places {
        for base in &design.layout.bases {
            let on_device = demands.made.on_device && !base.is_empty();
            if on_device && demands.own_target().is_none() {
                for device in place.devices() {
                    usable_range(system, demands, &device.site, !place.others.is_empty())?;
                }
            }
            let survey = survey::predict(system, design, place)?;
            let refused = changes::refusals(system, design, place);
            surveys.push(Survey { under: base.clone(), refused, ..survey });
            sites.push(place.site.clone());
        }
    }
    if let Some(quick) = quick {
        study = allocation::settle(study, quick, &surveys);
    }
    let plan = plan::make(&study, surveys, seed);
    check_load_search(&plan)?;
    Ok(StudyPreview { study, plan, sites, changes: Vec::new(), lacks: Vec::new() })
}
