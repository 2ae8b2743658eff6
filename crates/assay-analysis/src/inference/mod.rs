//! From records to findings, by pure functions. Everything measured becomes [`Measurements`] first, and [`judge`] draws
//! the findings from them, for studies of this machine and imported tables alike.

mod aa_test;
mod acknowledged;
mod across;
mod borrowed;
pub mod card;
mod cells;
mod checks;
pub mod claims;
mod classes;
pub mod days;
mod different;
mod facts;
mod fitness;
mod foresight;
pub mod gate;
mod gated;
mod hosts;
mod kinds;
mod layers;
mod memory;
mod metrics;
pub mod places;
mod played;
pub mod published;
mod race;
mod rows;
mod sentences;
mod series;
mod sessions;
mod stopping;
pub mod surfaces;
mod surroundings;
#[cfg(test)]
mod tests;
mod time;
mod verdicts;
mod watched;
mod windows;
mod workloads;

pub use aa_test::{AaTest, AaWorkload, aa_test};
pub use across::{RESULT, compare, names};
pub use classes::{ClassOfTrial, classes};
pub use foresight::{Foresight, foresee, foresee_from_pilot};
pub use race::race_log;
pub use sessions::compare_sides;
pub use stopping::{StopReason, enough};
pub use verdicts::{COMPARED, note_words};
pub use workloads::Analysis;

use std::{borrow::Cow, collections::BTreeSet};

use assay_core::exhibit::parts::distinct;
use assay_study::findings::measurements::Measurements;
use assay_study::findings::{EnvironmentFacts, Findings, Sentence, StudyFacts};
use assay_study::results::design::{Design, Factor, Order, Stopping};
use assay_study::results::plan::{Arm, Plan};
use assay_study::results::{environment::Environment, record::Trial};
use assay_workloads::metrics::is_told;

use crate::rules;
use verdicts::AdviceStage;

/// `random-read (filesystem=ext4)`, or the workload alone without levels.
fn with_levels(workload: &str, levels: &str) -> String {
    if levels.is_empty() { workload.to_owned() } else { format!("{workload} ({levels})") }
}

/// The arm with a level of one factor.
fn at_level(arm: &Arm, factor: &str, level: &str) -> Arm {
    let mut arm = arm.clone();
    arm.insert(factor.to_owned(), level.to_owned());
    arm
}

fn without_factor(arm: &Arm, factor: &str) -> Arm {
    let mut arm = arm.clone();
    arm.remove(factor);
    arm
}

/// The baseline of an arm: at the baseline's levels, and at the arm's levels of all other factors.
fn baseline_arm(design: &Design, arm: &Arm) -> Arm {
    let mut baseline = arm.clone();
    baseline.extend(design.baseline.clone());
    baseline
}

fn primary_metric<'f>(found: &'f Findings, workload: &str) -> Option<&'f String> {
    let mut cells = found.measurements.iter();
    cells.find(|cell| cell.primary && cell.workload == workload).map(|cell| &cell.metric)
}

/// Draws the findings from all trials of a study, in the order of its plan.
pub fn findings(
    study: StudyFacts,
    plan: &Plan,
    environment: &Environment,
    trials: &[Trial],
) -> Findings {
    let mut by_workload: Vec<Vec<&Trial>> = vec![Vec::new(); plan.workloads.len()];
    for trial in trials {
        if let Some(workload) = by_workload.get_mut(trial.workload) {
            workload.push(trial);
        }
    }
    let mut analysis = Analysis::new(study, plan, environment);
    for trials in &by_workload {
        analysis.add(trials);
    }
    analysis.findings()
}

/// The primary metric of a trial's workload, with its value or the reason why it is missing.
fn primary(plan: &Plan, environment: &Environment, trial: &Trial) -> (String, Result<f64, String>) {
    let row = rows::row_of_trial(plan, environment, trial);
    let design = design(plan);
    let metric =
        design.primary.as_deref().unwrap_or_else(|| series::default_primary(&design, &row));
    let value_of_row = || match row.trials.first() {
        Some(measured) => metrics::value(metric, &row, measured),
        None => Err("nothing was measured".to_owned()),
    };
    let value = classes::trial_value(metric, &row).unwrap_or_else(value_of_row);
    (metric.to_owned(), value)
}

/// The value of one metric in one trial, or why there is none. The trial's workload must be one of the plan's.
pub fn trial_metric(
    plan: &Plan,
    environment: &Environment,
    trial: &Trial,
    metric: &str,
) -> Result<f64, String> {
    let row = rows::row_of_trial(plan, environment, trial);
    let measured = row.trials.first().ok_or("nothing was measured")?;
    metrics::value(metric, &row, measured)
}

/// Indices of the trials that the number of a row summarizes.
pub fn counting(trials: &[&Trial]) -> Vec<usize> {
    let cell_trial = |record: &&Trial| {
        let value = record.measured.as_ref().map(|_| 1.0);
        series::cell_trial(&rows::MeasuredTrial::without_times(record), value)
    };
    cells::counted_positions(&trials.iter().map(cell_trial).collect::<Vec<_>>())
}

/// Draws all findings from measurements: cells, comparisons with verdicts, effects, trends, ranks and checks.
pub fn judge(study: StudyFacts, environment: EnvironmentFacts, mut data: Measurements) -> Findings {
    let stage = advice_stage(&study);
    let mut found = Findings::new(study, environment);
    found.summary = add_numbers(&mut found, stage, &mut data);
    let rows = gated::measured_rows(&found);
    add_answers(&mut found, &data, &rows);
    found
}

/// Answers whether the target meets the requirements and how the gate ended, if the study asks.
fn add_answers(found: &mut Findings, measured: &Measurements, planned: &BTreeSet<gated::Planned>) {
    fitness::add_fitness(found, &measured.design);
    gated::add_gate(found, &measured.design, planned, measured.unfinished);
}

fn advice_stage(study: &StudyFacts) -> AdviceStage {
    match (&study.confirms, study.kind.as_str()) {
        (Some(_), _) => AdviceStage::Confirming,
        (None, "import") => AdviceStage::Imported,
        (None, _) => AdviceStage::Measured,
    }
}

/// Turns series of trials into numbers, comparisons and verdicts; returns the sentences on them.
fn add_numbers(found: &mut Findings, stage: AdviceStage, data: &mut Measurements) -> Vec<Sentence> {
    data.compare_zeros_by_difference(is_told);
    data.series.iter_mut().for_each(rules::apply_import_rules);
    verdicts::mark_outliers(&mut data.series);
    let mut sentences = Vec::new();
    // A race that selects arms overestimates the winner and underestimates the others (R15).
    if !matches!(data.design.stopping, Stopping::Race { .. }) {
        let factors = verdicts::compare(found, data, stage);
        sentences = sentences::verdict_sentences(found, &factors, stage);
    }
    found.measurements = cells::cells(&data.design, std::mem::take(&mut data.series));
    found.study.factors.clone_from(&data.design.factors);
    found.name_means();
    sentences
}

/// The design of a plan; plans of versions before factors compare their targets, without verdicts.
fn design(plan: &Plan) -> Cow<'_, Design> {
    if !plan.design.factors.is_empty() || plan.surveys.len() < 2 {
        return Cow::Borrowed(&plan.design);
    }
    let levels = plan.surveys.iter().map(|survey| survey.target.clone()).collect();
    Cow::Owned(Design {
        factors: vec![Factor { name: "target".to_owned(), levels }],
        baseline: rows::target_arm(plan, 0),
        order: Order::Chained,
        ..plan.design.clone()
    })
}
