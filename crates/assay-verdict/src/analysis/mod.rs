//! From records to findings: pure functions, so the same records give the same bytes.
//!
//! Whatever was measured becomes [`Measurements`] first, and [`judge`] draws the findings from
//! them: a study that ran here and a table that was brought along go the same way.

mod aa_test;
mod acknowledged;
mod across;
mod borrowed;
mod card;
mod cells;
mod checks;
pub mod claims;
mod classes;
mod conversions;
pub mod days;
mod different;
mod facts;
mod fitness;
mod foresight;
pub mod gate;
mod gated;
mod gathering;
mod harm;
mod hosts;
mod kinds;
mod lines;
mod memory;
mod metrics;
pub mod places;
mod played;
mod published;
mod race;
mod reserved;
mod rows;
mod sentences;
mod series;
mod sessions;
mod stopping;
mod surfaces;
mod surroundings;
mod synchronised;
#[cfg(test)]
mod tests;
mod time;
mod verdicts;
mod watched;
mod windows;

pub use aa_test::{AaTest, AaWorkload, aa_test};
pub use across::{RESULT, compare, names};
pub use foresight::{Foresight, foresee, foreseen};
pub use gathering::Gathering;
pub use race::log as race_log;
pub use sessions::compare_sides;
pub use stopping::{Enough, enough};
pub use verdicts::{COMPARED, note_words};

use std::borrow::Cow;

use assay_kinds::work::metrics::is_told;
use assay_machine::probes::block_latency::counts::ClassSpan;
use assay_study::findings::measurements::Measurements;
use assay_study::findings::said::Sentence;
use assay_study::findings::{EnvironmentFacts, FORMAT, Findings, OfKinds, StudyFacts};
use assay_study::results::design::{Design, Factor, Order, Stopping};
use assay_study::results::environment::Environment;
use assay_study::results::plan::Plan;
use assay_study::results::record::{Trial, TrialRecord};
use assay_study::results::surroundings::facts::SurroundingsFacts;

use crate::truth;
use verdicts::{Stage, Verdicts};

/// Everything that the trials of a study say, in the order of its plan.
pub fn findings(
    study: StudyFacts,
    plan: &Plan,
    environment: &Environment,
    trials: &[Trial],
) -> Findings {
    let mut own: Vec<Vec<&Trial>> = vec![Vec::new(); plan.workloads.len()];
    for trial in trials {
        own.get_mut(trial.record.workload).into_iter().for_each(|own| own.push(trial));
    }
    let mut gathering = Gathering::new(plan, environment);
    for trials in &own {
        gathering.take(trials);
    }
    gathering.findings(study)
}

/// What one trial says of the metric that its workload is compared by: the metric, and its value or
/// why there is none. The trial's workload is one of the plan's.
fn trial_value(
    plan: &Plan,
    environment: &Environment,
    trial: &Trial,
) -> (String, Result<f64, String>) {
    let row = rows::one(plan, environment, trial);
    let design = design(plan);
    let metric = design.primary.as_deref().unwrap_or_else(|| series::primary(&design, &row));
    let measured = || row.trials.first().ok_or_else(|| "nothing was measured".to_owned());
    let own = || measured().and_then(|measured| metrics::value(metric, &row, measured));
    (metric.to_owned(), classes::in_trial(metric, &row).unwrap_or_else(own))
}

/// The value of one metric in one trial, or why there is none. The trial's workload is one of the plan's.
pub fn trial_metric(
    plan: &Plan,
    environment: &Environment,
    trial: &Trial,
    metric: &str,
) -> Result<f64, String> {
    let row = rows::one(plan, environment, trial);
    let measured = row.trials.first().ok_or("nothing was measured")?;
    metrics::value(metric, &row, measured)
}

/// Where those trials of a workload under an arm stand that the numbers of its row sum up.
pub fn counting(trials: &[&TrialRecord]) -> Vec<usize> {
    let told = |record: &&TrialRecord| {
        let value = record.measured.as_ref().map(|_| 1.0);
        series::cell_trial(&rows::Measured::without_times(record), value)
    };
    cells::counting(&trials.iter().map(told).collect::<Vec<_>>())
}

/// Requests of one class that the devices of a trial's target completed.
pub struct ClassOfTrial {
    /// The name of their cells.
    pub workload: String,
    pub class: &'static str,
    pub span: ClassSpan,
}

/// The requests of a trial by class, where they were looked at.
pub fn classes(plan: &Plan, environment: &Environment, trial: &TrialRecord) -> Vec<ClassOfTrial> {
    let found = classes::of_trial(plan, environment, trial).into_iter();
    found.map(|(workload, class, span)| ClassOfTrial { workload, class, span }).collect()
}

/// Everything that measurements say, whatever they were measured by: cells, comparisons with
/// their verdicts, effects, trends, ranks and checks. The one way from numbers to verdicts.
pub fn judge(study: StudyFacts, environment: EnvironmentFacts, measured: Measurements) -> Findings {
    let Design { gate, fit, .. } = &measured.design;
    let design = (gate.is_some() || fit.is_some()).then(|| measured.design.clone());
    let unfinished = measured.unfinished;
    let stage = stage(&study);
    let (mut found, sentences) = judged((study, stage), environment, measured);
    found.say(sentences);
    if let Some(design) = design {
        fitness::tell(&mut found, &design);
        let rows = gated::measured(&found);
        gated::tell(&mut found, &design, &rows, unfinished);
    }
    found
}

/// How far numbers have been confirmed, and whether they can be.
fn stage(study: &StudyFacts) -> Stage {
    match (&study.confirms, study.kind.as_str()) {
        (Some(_), _) => Stage::Confirming,
        (None, "import") => Stage::Imported,
        (None, _) => Stage::Measured,
    }
}

/// The same, with the sentences on verdicts beside the findings.
fn judged(
    (study, stage): (StudyFacts, Stage),
    environment: EnvironmentFacts,
    mut measured: Measurements,
) -> (Findings, Vec<Sentence>) {
    measured.compare_zeros_by_difference(is_told);
    measured.series.iter_mut().for_each(truth::weigh);
    verdicts::mark(&mut measured.series);
    let is_race = matches!(measured.design.stopping, Stopping::Race { .. });
    let told = if is_race {
        Verdicts::of_a_race(stage)
    } else {
        verdicts::verdicts(&measured, stage, environment.is_emulated())
    };
    let sentences = if is_race { Vec::new() } else { sentences::of_verdicts(&told) };
    let mut found = Findings {
        format: FORMAT.to_owned(),
        study,
        environment,
        workloads: Vec::new(),
        measurements: cells::cells(&measured.design, measured.series),
        absent: Vec::new(),
        summary: Vec::new(),
        summary_facts: Vec::new(),
        comparisons: told.comparisons,
        effects: told.effects,
        interactions: told.interactions,
        trends: told.trends,
        ranks: told.ranks,
        noise_floor: told.noise_floor,
        advice: told.advice,
        checks: told.checks,
        surfaces: Vec::new(),
        accesses: Vec::new(),
        of_kinds: OfKinds::default(),
        gate: None,
        requirements: None,
        race: None,
        answers: told.answers,
        card: None,
        cards: Vec::new(),
        published: Vec::new(),
        platforms: None,
        windows: None,
        hosts: None,
        factors: measured.design.factors,
        members: Vec::new(),
        probes: Vec::new(),
        system_activity: SurroundingsFacts::default(),
    };
    found.name_means();
    (found, sentences)
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
