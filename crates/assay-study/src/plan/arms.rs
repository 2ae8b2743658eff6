//! Arms: all combinations of levels, or the listed ones, and the A/A control.

use assay_core::exhibit::parts::distinct;
use assay_core::quantity::{Loss, Percent};
use assay_machine::factors::layers;
use assay_machine::factors::{self, Role};

use super::{most_load, race};
use crate::file::{StopRule, Study, without};
use crate::results::design::{Design, Factor, Gate, Pointer, Stopping};
use crate::results::plan::{Arm, PlannedWorkload, Survey};

/// Factors that change once per replicate in any case: another target is another open file.
const COSTLY: &[&str] = &["target"];

pub const TARGET: &str = "target";

/// Number of arms from which an A/A control runs unless the study declines (R7).
const ARMS_FOR_CONTROL: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedArm {
    pub levels: Arm,
    pub control: bool,
    pub target: usize,
}

/// The comparison of a study, and the layers of its trials; computed once.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmLayout {
    pub design: Design,
    /// Replicates of the whole plan, including a screen: up to the last interim analysis, if there are any.
    pub replicates: u32,
    pub arms: Vec<Arm>,
    pub omitted: Vec<Omitted>,
    /// Distinct layer parts of the arms; an empty one is the target itself.
    pub bases: Vec<Arm>,
    control: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omitted {
    pub count: usize,
    pub of: usize,
    pub constraint: String,
}

impl ArmLayout {
    /// Determines configurations, baseline and control of a study; searched rates have no control and no margin.
    pub fn new(study: &Study, targets: &[String]) -> Self {
        // Only a study of the highest rate has a limit.
        let slo = most_load::limit(study);
        let factors = match slo {
            Some(_) => vec![most_load::factor()],
            None => factors(study, targets),
        };
        let combinations = if study.configurations.is_empty() {
            without::grid(factors.iter().map(|factor| (&factor.name, &factor.levels)))
        } else {
            study.configurations.clone()
        };
        let (arms, omitted) = exclude(study, combinations);
        let varies = |name: &String| {
            factors.iter().any(|factor| factor.name == *name && factor.levels.len() > 1)
        };
        // A baseline of fixed factors would leave all configurations without a comparison.
        let baseline = if study.baseline.keys().any(varies) {
            study.baseline.clone()
        } else {
            arms.first().map(settable).unwrap_or_default()
        };
        let is_default_control = study.margin.is_some() && arms.len() >= ARMS_FOR_CONTROL;
        let wants_control = study.aa_control.unwrap_or(is_default_control) && arms.len() > 1;
        // The control of a race would compete; searched rates are not compared with each other.
        let is_race = study.stop.rule == StopRule::Best;
        let control = wants_control && !is_race && slo.is_none();
        let stopping = stopping(study, &factors, arms.len());
        let replicates = replicates(study) + stopping.passes();
        let design = Design {
            factors,
            baseline,
            // Rates are compared with the limit, not with each other.
            margin: study.margin.filter(|_| slo.is_none()).map(Percent::fraction),
            primary: slo
                .map(|slo| slo.metric().to_owned())
                .or_else(|| study.primary_metric.clone()),
            order: study.order,
            lead_in: study.warmup_trial,
            stopping,
            gate: gate(study),
            fit: study.requirements.clone(),
            questions: study.question.clone(),
            published: published(study),
            card: study.card.clone(),
            // The rate of each trial depends on the trials before it.
            repeats: if study.repeat_disturbed && slo.is_none() { replicates / 3 } else { 0 },
            fresh: study.recreate_per,
        };
        let bases = bases(&arms);
        Self { design, replicates, arms, omitted, bases, control }
    }

    /// Returns the arms with their targets; the A/A control, a copy of the first possible baseline, is last.
    pub fn placed(&self, surveys: &[Survey]) -> Vec<PlannedArm> {
        let place = |levels: &Arm, control: bool| {
            let target = target_of(levels, surveys);
            PlannedArm { levels: levels.clone(), control, target }
        };
        let mut placed: Vec<PlannedArm> = self.arms.iter().map(|arm| place(arm, false)).collect();
        let is_possible = |arm: &Arm| !surveys.iter().any(|survey| is_refused(survey, arm));
        let is_baseline = |arm: &&Arm| matches(arm, &self.design.baseline) && is_possible(arm);
        if self.control {
            placed.extend(self.arms.iter().find(is_baseline).map(|arm| place(arm, true)));
        }
        placed
    }
}

/// The targets of surveys; file systems on one target follow each other, and are places on it.
pub fn targets(surveys: &[Survey]) -> Vec<String> {
    surveys.iter().map(|survey| survey.target.clone()).collect()
}

fn published(study: &Study) -> Vec<Pointer> {
    let with_article = |pointer: &Pointer| Pointer {
        article: pointer.article.clone().or_else(|| study.articles.first().cloned()),
        ..pointer.clone()
    };
    study.published.iter().map(with_article).collect()
}

/// Replicates of all arms: up to the last interim analysis, if there are any.
fn replicates(study: &Study) -> u32 {
    match study.stop.rule {
        StopRule::Interim => {
            study.stop.interim_at.iter().copied().max().unwrap_or(study.replicates)
        }
        StopRule::Fixed | StopRule::Decided | StopRule::Gate | StopRule::Best => study.replicates,
    }
}

pub fn matches(arm: &Arm, named: &Arm) -> bool {
    named.iter().all(|(factor, level)| arm.get(factor) == Some(level))
}

/// Returns the levels whose change is costly; workloads with equal parts run together, and the A/A control apart.
pub fn costly_part(study: &Study, workload: &PlannedWorkload) -> (bool, Arm) {
    let is_costly = |name: &String| {
        COSTLY.contains(&name.as_str()) || is_layer(name) || study.hard_to_change.contains(name)
    };
    let mut part = workload.arm.clone();
    part.retain(|name, _| is_costly(name));
    // The A/A control makes the same costly change as any other arm.
    (workload.control && !part.is_empty(), part)
}

/// An arm without factors that only the operator can set: results differ in those levels.
pub fn settable(arm: &Arm) -> Arm {
    let levels = arm.iter().filter(|(name, _)| !factors::has_role(name, Role::Observed));
    levels.map(|(name, level)| (name.clone(), level.clone())).collect()
}

fn is_refused(survey: &Survey, arm: &Arm) -> bool {
    survey.refused.iter().any(|refusal| matches(arm, &refusal.levels))
}

pub fn is_layer(name: &str) -> bool {
    factors::has_role(name, Role::Layer)
}

pub fn makes_layers(study: &Study) -> bool {
    study.factors.keys().any(|name| is_layer(name))
}

pub fn makes_on_device(study: &Study) -> bool {
    layers::chosen(study.factors.keys()).any(layers::Layer::needs_device)
}

pub fn gives_up_data(study: &Study) -> bool {
    study.precondition.is_some() || makes_on_device(study)
}

/// Layer levels of an arm; empty if the trials use the target directly.
pub fn layer_part(arm: &Arm) -> Arm {
    let levels = arm.iter().filter(|(name, _)| is_layer(name));
    levels.map(|(name, level)| (name.clone(), level.clone())).collect()
}

/// Lists the distinct layers of the arms, such as their filesystems.
fn bases(arms: &[Arm]) -> Vec<Arm> {
    distinct(arms.iter().map(layer_part))
}

fn factors(study: &Study, targets: &[String]) -> Vec<Factor> {
    let levels = distinct(targets.iter().cloned());
    let several = (levels.len() > 1).then(|| Factor { name: TARGET.to_owned(), levels });
    let others = study
        .factors
        .iter()
        .filter(|(name, _)| *name != TARGET)
        .map(|(name, levels)| Factor { name: name.clone(), levels: levels.clone() });
    several.into_iter().chain(others).collect()
}

/// Applies the constraints of the study; returns the remaining arms, and how many each constraint omitted.
fn exclude(study: &Study, all: Vec<Arm>) -> (Vec<Arm>, Vec<Omitted>) {
    let (constraints, of) = (without::constraints(study), all.len());
    if constraints.is_empty() {
        return (all, Vec::new());
    }
    let (arms, counts) = without::exclude(all, &constraints, &study.baseline);
    let mut omitted = Vec::new();
    for (constraint, count) in constraints.iter().zip(counts).filter(|(_, count)| *count > 0) {
        omitted.push(Omitted { count, of, constraint: constraint.text().to_owned() });
    }
    (arms, omitted)
}

/// Returns the index of an arm's survey: of its target, and of its layers if surveyed.
fn target_of(arm: &Arm, surveys: &[Survey]) -> usize {
    let name = arm.get(TARGET);
    let base = layer_part(arm);
    let is_on_target = |survey: &Survey| name.is_none_or(|name| survey.target == *name);
    let has_layers = |survey: &Survey| survey.under.is_empty() || survey.under == base;
    let exact = surveys.iter().position(|survey| is_on_target(survey) && has_layers(survey));
    exact.or_else(|| surveys.iter().position(is_on_target)).unwrap_or(0)
}

/// Translates the stop rule of a study to its form in the plan.
fn stopping(study: &Study, factors: &[Factor], arms: usize) -> Stopping {
    let half_width = study.stop.ci_half_width.map(Percent::fraction);
    match study.stop.rule {
        StopRule::Fixed => Stopping::Fixed,
        StopRule::Interim => Stopping::Looks { at: study.stop.interim_at.clone(), half_width },
        StopRule::Decided | StopRule::Gate => Stopping::Open { half_width },
        StopRule::Best => {
            let closeness = study.stop.indifference_zone.or(study.margin);
            Stopping::Race {
                closeness: closeness.map_or(0.0, Percent::fraction),
                screen: if study.stop.screen { race::screen::passes(factors, arms) } else { 0 },
            }
        }
    }
}

fn gate(study: &Study) -> Option<Gate> {
    let gate = study.gate.as_ref()?;
    let (max_regression, more) = match gate.max_regression {
        Loss::Share(share) => (share.fraction(), None),
        Loss::Amount(amount) => (0.0, Some(amount)),
    };
    Some(Gate {
        max_regression,
        more,
        must_detect: gate.must_detect.map(Percent::fraction),
        metric: gate.metric.clone(),
        until_decided: study.stop.rule == StopRule::Gate,
        allow_inconclusive: gate.allow_inconclusive,
    })
}
