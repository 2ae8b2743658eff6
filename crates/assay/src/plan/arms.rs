//! Arms: every combination of the levels, or the ones that the study lists, and the second copy of
//! the baseline.

use std::collections::BTreeMap;

use crate::factors::{self, Role};
use crate::results::design::{Design, Factor, Stopping};
use crate::results::plan::{Arm, Survey};
use crate::study::{Io, StopRule, Study, parameters};

/// Factors that are changed once a replicate whatever the study says: another target is another
/// open file with another area.
const COSTLY: &[&str] = &["target"];

/// Name of the factor that chooses among targets.
pub const TARGET: &str = "target";

/// Arms from which a second copy of the baseline is run unless the study declines (R7).
const ARMS_FOR_CONTROL: usize = 3;

/// One arm of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedArm {
    /// Levels.
    pub levels: Arm,
    /// The second copy of the baseline.
    pub control: bool,
    /// Index of its target.
    pub target: usize,
}

/// The design of a study and its arms, the baseline's second copy last.
pub fn arms(study: &Study, surveys: &[Survey]) -> (Design, Vec<PlannedArm>) {
    let factors = factors(study, surveys);
    let levels = if study.arms.is_empty() { grid(&factors) } else { study.arms.clone() };
    let baseline = if study.baseline.is_empty() {
        levels.first().map(settable).unwrap_or_default()
    } else {
        study.baseline.clone()
    };
    let wanted = study.margin.is_some() && levels.len() >= ARMS_FOR_CONTROL;
    let control = study.control.unwrap_or(wanted) && levels.len() > 1;
    let had = |arm: &&Arm| !surveys.iter().any(|survey| is_refused(survey, arm));
    let copy = levels.iter().filter(had).find(|arm| matches(arm, &baseline));
    let copy = copy.filter(|_| control).cloned();
    let planned = levels.into_iter().map(|arm| (arm, false)).chain(copy.map(|arm| (arm, true)));
    let planned = planned.map(|(levels, control)| PlannedArm {
        target: target_of(&levels, surveys),
        levels,
        control,
    });
    let planned: Vec<PlannedArm> = planned.collect();
    let replicates = replicates(study);
    let design = Design {
        factors,
        baseline,
        margin: study.margin.map(crate::quantity::Percent::fraction),
        primary: study.primary.clone(),
        order: study.order,
        lead_in: study.lead_in,
        stopping: stopping(study),
        questions: study.question.clone(),
        card: study.card.clone(),
        repeats: if study.repeat_disturbed { replicates / 3 } else { 0 },
        fresh: study.fresh,
    };
    (design, planned)
}

/// Replicates of the whole plan: the last look where looks were declared.
pub fn replicates(study: &Study) -> u32 {
    match study.stop.rule {
        StopRule::Looks => study.stop.looks.iter().copied().max().unwrap_or(study.replicates),
        StopRule::Fixed | StopRule::Open => study.replicates,
    }
}

/// Whether an arm has every level that another one names.
pub fn matches(arm: &Arm, named: &Arm) -> bool {
    named.iter().all(|(factor, level)| arm.get(factor) == Some(level))
}

/// The part of an arm that is costly to change: trials are grouped by it.
pub fn costly_part(study: &Study, arm: &PlannedArm) -> (bool, Arm) {
    let costly = |name: &String| {
        COSTLY.contains(&name.as_str()) || is_ground(name) || study.costly.contains(name)
    };
    let part: Arm = arm
        .levels
        .iter()
        .filter(|(name, _)| costly(name))
        .map(|(name, level)| (name.clone(), level.clone()))
        .collect();
    // A second copy of the baseline goes through the same costly change as any other arm.
    (arm.control && !part.is_empty(), part)
}

/// An arm without what nobody but the operator can set: another result has its other levels.
pub fn settable(arm: &Arm) -> Arm {
    let levels = arm.iter().filter(|(name, _)| !factors::has_role(name, Role::Observed));
    levels.map(|(name, level)| (name.clone(), level.clone())).collect()
}

/// Whether an arm cannot be had at a target.
fn is_refused(survey: &Survey, arm: &Arm) -> bool {
    survey.refused.iter().any(|refusal| matches(arm, &refusal.levels))
}

/// Whether a factor makes what trials stand on.
pub fn is_ground(name: &str) -> bool {
    factors::has_role(name, Role::Ground)
}

/// Whether a study makes what its trials stand on.
pub fn makes_grounds(study: &Study) -> bool {
    study.factors.keys().any(|name| is_ground(name))
}

/// Whether a study needs a device whose data are given up.
pub fn gives_up_data(study: &Study) -> bool {
    study.prepare.prime.is_some() || makes_grounds(study)
}

/// The part of an arm that makes what its trials stand on; empty where that is the target itself.
pub fn ground_part(arm: &Arm) -> Arm {
    let levels = arm.iter().filter(|(name, _)| is_ground(name));
    levels.map(|(name, level)| (name.clone(), level.clone())).collect()
}

/// What the arms of a study want to stand on, each once, in their order.
pub fn grounds(study: &Study) -> Vec<Arm> {
    let mut found: Vec<Arm> = Vec::new();
    for arm in arms(study, &[]).1 {
        let ground = ground_part(&arm.levels);
        if !found.contains(&ground) {
            found.push(ground);
        }
    }
    found
}

/// A workload's parameters under an arm.
pub fn under(io: &Io, arm: &Arm) -> Result<Io, String> {
    let mut io = io.clone();
    for (name, level) in arm {
        if let Some(parameter) = parameters::find(name) {
            (parameter.set)(&mut io, level)?;
        }
    }
    Ok(io)
}

fn factors(study: &Study, surveys: &[Survey]) -> Vec<Factor> {
    let mut names: Vec<String> = surveys.iter().map(|survey| survey.target.clone()).collect();
    names.dedup();
    let targets =
        (names.len() > 1).then(|| Factor { name: TARGET.to_owned(), levels: names.clone() });
    let others = study
        .factors
        .iter()
        .filter(|(name, _)| *name != TARGET)
        .map(|(name, levels)| Factor { name: name.clone(), levels: levels.clone() });
    targets.into_iter().chain(others).collect()
}

/// Every combination, the first factor changing slowest.
fn grid(factors: &[Factor]) -> Vec<Arm> {
    factors.iter().fold(vec![BTreeMap::new()], |arms, factor| {
        arms.iter()
            .flat_map(|arm| factor.levels.iter().map(|level| with(arm, factor, level)))
            .collect()
    })
}

fn with(arm: &Arm, factor: &Factor, level: &str) -> Arm {
    let mut arm = arm.clone();
    arm.insert(factor.name.clone(), level.to_owned());
    arm
}

fn target_of(arm: &Arm, surveys: &[Survey]) -> usize {
    let name = arm.get(TARGET);
    let at = |survey: &&Survey| name.is_none_or(|name| survey.target == *name);
    let ground = ground_part(arm);
    let on = |survey: &Survey| survey.under.is_empty() || survey.under == ground;
    let own = surveys.iter().position(|survey| at(&survey) && on(survey));
    own.or_else(|| surveys.iter().position(|survey| at(&survey))).unwrap_or(0)
}

fn stopping(study: &Study) -> Stopping {
    let half_width = study.stop.half_width.map(crate::quantity::Percent::fraction);
    match study.stop.rule {
        StopRule::Fixed => Stopping::Fixed,
        StopRule::Looks => Stopping::Looks { at: study.stop.looks.clone(), half_width },
        StopRule::Open => Stopping::Open { half_width },
    }
}
