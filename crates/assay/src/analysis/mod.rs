//! From records to findings: pure functions, so the same records give the same bytes.

mod cells;
mod checks;
mod comparisons;
mod facts;
mod metrics;
mod rows;
mod sentences;
#[cfg(test)]
mod tests;

use crate::results::environment::Environment;
use crate::results::findings::{AbsentCell, FORMAT, Findings, StudyFacts, WorkloadFacts};
use crate::results::plan::Plan;
use crate::results::record::Trial;

use rows::Row;

/// Everything that the trials of a study say, in the order of its plan.
pub fn findings(
    study: StudyFacts,
    plan: &Plan,
    environment: &Environment,
    trials: &[Trial],
) -> Findings {
    let rows = rows::rows(plan, environment, trials);
    let (cells, mut absent) = cells::cells(&rows);
    absent.extend(planned_absences(plan));
    let comparisons = comparisons::comparisons(plan, &rows);
    let summary = sentences::summary(&sentences::Story {
        rows: &rows,
        absent: plan.absent.len(),
        comparisons: &comparisons,
        environment,
    });
    Findings {
        format: FORMAT.to_owned(),
        study,
        environment: facts::environment(plan, environment),
        workloads: rows.iter().map(workload_facts).collect(),
        factors: plan.design.factors.clone(),
        cells,
        absent,
        comparisons,
        effects: Vec::new(),
        interactions: Vec::new(),
        trends: Vec::new(),
        ranks: Vec::new(),
        noise_floor: None,
        advice: Vec::new(),
        summary,
        checks: checks::checks(plan, trials),
    }
}

/// Rows that the plan left out, with its reasons.
fn planned_absences(plan: &Plan) -> impl Iterator<Item = AbsentCell> + '_ {
    plan.absent.iter().map(|absent| AbsentCell {
        workload: absent.name.clone(),
        arm: rows::arm(plan, absent.target),
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
        note: row.workload.note.clone(),
    }
}
