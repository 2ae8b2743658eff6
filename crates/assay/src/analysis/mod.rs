//! From records to findings: pure functions, so the same records give the same bytes.
//!
//! Whatever was measured becomes [`Measurements`] first, and [`judge`] draws the findings from
//! them: a study that ran here and a table that was brought along go the same way.

mod across;
mod around;
mod card;
mod cells;
mod checks;
mod classes;
mod facts;
mod foresight;
mod lines;
mod metrics;
mod null;
mod rows;
mod sentences;
mod series;
mod surfaces;
#[cfg(test)]
mod tests;
mod verdicts;
mod watched;

pub use across::compare;
pub use foresight::{Foresight, foresee};
pub use null::{Null, NullWorkload, null};

use std::borrow::Cow;

use crate::results::around::Around;
use crate::results::block::ClassSpan;
use crate::results::design::{Design, Factor, Order};
use crate::results::environment::Environment;
use crate::results::findings::{
    AbsentCell, Comparison, EnvironmentFacts, FORMAT, Findings, StudyFacts, WorkloadFacts,
};
use crate::results::measurements::{Measurements, Series};
use crate::results::plan::{Arm, Plan};
use crate::results::record::{Trial, TrialRecord};

use rows::Row;
use verdicts::Stage;

/// Everything that the trials of a study say, in the order of its plan.
pub fn findings(
    study: StudyFacts,
    plan: &Plan,
    environment: &Environment,
    trials: &[Trial],
) -> Findings {
    let design = design(plan);
    let rows = rows::rows(plan, environment, trials);
    let (series, mut absent): (Vec<Series>, _) = series::series(&design, &rows);
    absent.extend(planned_absences(plan));
    let (by_class, unseen) = classes::series(&rows);
    absent.extend(unseen);
    let series = series.into_iter().chain(by_class).collect();
    let unfinished = study.ended.is_none() && checks::is_unfinished(plan, trials);
    let measured = Measurements { design: design.into_owned(), series, unfinished };
    let mut found = judge(study, facts::environment(plan, environment), measured);
    found.workloads = rows.iter().map(workload_facts).collect();
    for comparison in &mut found.comparisons {
        comparison.notes.extend(in_flight(comparison, &rows));
    }
    found.summary.splice(0..0, classes::sentences(&found));
    found.surfaces = surfaces::surfaces(plan, &rows);
    lines::add(&mut found, plan, environment);
    found.card = card::row(plan, &found);
    found.absent = absent;
    found.members = watched::members(&rows);
    found.probes = watched::costs(trials);
    found.surroundings = around::around(environment, &rows);
    let mut checks = checks::checks(plan, trials, found.study.ended.as_deref());
    checks.append(&mut found.checks);
    checks.extend(around::checks(&found.surroundings, &environment.started));
    checks.extend(around::observer(environment));
    found.checks = checks;
    found.summary = sentences::summary(&sentences::Story {
        rows: &rows,
        absent: plan.absent.len(),
        found: &found,
        judged: plan.design.margin.is_some(),
        environment,
    });
    found
}

/// What one trial says of the metric that its workload is compared by: the metric, and its value or
/// why there is none. The trial's workload is one of the plan's.
pub fn trial_value(
    plan: &Plan,
    environment: &Environment,
    trial: &Trial,
) -> (String, Result<f64, String>) {
    let row = rows::one(plan, environment, trial);
    let design = design(plan);
    let metric = design.primary.as_deref().unwrap_or_else(|| series::primary(&design, &row));
    let measured = row.trials.first().ok_or_else(|| "nothing was measured".to_owned());
    let value = measured.and_then(|measured| metrics::value(metric, &row, measured));
    (metric.to_owned(), value)
}

/// Requests of one class that the devices of a trial's target completed.
pub struct ClassOfTrial {
    /// The name of their cells.
    pub workload: String,
    /// The class.
    pub class: &'static str,
    /// The requests.
    pub span: ClassSpan,
}

/// The requests of a trial by class, where they were looked at.
pub fn classes(plan: &Plan, environment: &Environment, trial: &TrialRecord) -> Vec<ClassOfTrial> {
    let found = classes::of_trial(plan, environment, trial).into_iter();
    found.map(|(workload, class, span)| ClassOfTrial { workload, class, span }).collect()
}

/// Everything that measurements say, whatever they were measured by: cells, comparisons with
/// their verdicts, effects, trends, ranks and checks. The one way from numbers to verdicts.
pub fn judge(
    study: StudyFacts,
    environment: EnvironmentFacts,
    mut measured: Measurements,
) -> Findings {
    verdicts::mark(&mut measured.series);
    let stage = match (&study.confirms, study.kind.as_str()) {
        (Some(_), _) => Stage::Confirming,
        (None, "import") => Stage::Imported,
        (None, _) => Stage::Measured,
    };
    let told = verdicts::verdicts(&measured, stage);
    Findings {
        format: FORMAT.to_owned(),
        study,
        environment,
        workloads: Vec::new(),
        cells: measured.series.iter().map(cells::cell).collect(),
        absent: Vec::new(),
        summary: sentences::of_verdicts(&told),
        comparisons: told.comparisons,
        effects: told.effects,
        interactions: told.interactions,
        trends: told.trends,
        ranks: told.ranks,
        noise_floor: told.noise_floor,
        advice: told.advice,
        checks: told.checks,
        surfaces: Vec::new(),
        answers: told.answers,
        card: None,
        factors: measured.design.factors,
        members: Vec::new(),
        probes: Vec::new(),
        surroundings: Around::default(),
    }
}

/// The design of a plan; plans of versions before factors compare their targets, without verdicts.
fn design(plan: &Plan) -> Cow<'_, Design> {
    if !plan.design.factors.is_empty() || plan.surveys.len() < 2 {
        return Cow::Borrowed(&plan.design);
    }
    let levels = plan.surveys.iter().map(|survey| survey.target.clone()).collect();
    Cow::Owned(Design {
        factors: vec![Factor { name: "target".to_owned(), levels }],
        baseline: rows::arm(plan, 0),
        order: Order::Chained,
        ..plan.design.clone()
    })
}

/// Arms that could not keep the same number of operations in flight, though the study did not ask
/// for that.
fn in_flight(comparison: &Comparison, rows: &[Row<'_>]) -> Option<String> {
    let of = |arm: &Arm| {
        let own = |row: &&Row<'_>| row.workload.name == comparison.workload && row.arm == *arm;
        rows.iter().find(own).map(|row| row.workload)
    };
    let (left, right) = (of(&comparison.baseline)?, of(&comparison.arm)?);
    let asked = left.asked_depth == right.asked_depth;
    (asked && left.in_flight() != right.in_flight())
        .then(|| format!("{} operations in flight against {}", right.in_flight(), left.in_flight()))
}

/// Rows that the plan left out, with its reasons.
fn planned_absences(plan: &Plan) -> impl Iterator<Item = AbsentCell> + '_ {
    plan.absent.iter().map(|absent| AbsentCell {
        workload: absent.name.clone(),
        arm: if absent.arm.is_empty() {
            rows::arm(plan, absent.target)
        } else {
            absent.arm.clone()
        },
        metric: None,
        reason: absent.reason.clone(),
    })
}

fn workload_facts(row: &Row<'_>) -> WorkloadFacts {
    WorkloadFacts {
        name: row.workload.name.clone(),
        arm: row.arm.clone(),
        text: facts::workload_words(row.workload),
        asked_depth: row.workload.asked_depth,
        depth: row.workload.in_flight(),
        time_ns: row.workload.time_ns,
        ramp_ns: row.workload.ramp_ns,
        note: row.workload.note.clone(),
    }
}
