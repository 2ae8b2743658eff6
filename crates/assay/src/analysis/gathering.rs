//! Findings, gathered one workload after the other: of each workload only what is told of it is kept,
//! so that no more than its trials are in memory at once.

use std::borrow::Cow;

use super::rows::{self, Row};
use super::{
    around, card, checks, classes, design, facts, judge, lines, sentences, series, surfaces,
    watched,
};
use crate::results::design::{Design, Stopping};
use crate::results::environment::Environment;
use crate::results::findings::{
    AbsentCell, Comparison, Findings, Member, StudyFacts, Surface, WorkloadFacts,
};
use crate::results::measurements::{Measurements, Series};
use crate::results::plan::{Arm, Plan};
use crate::results::record::Trial;

/// What is known of a study whose workloads are told one after the other.
pub struct Gathering<'a> {
    plan: &'a Plan,
    environment: &'a Environment,
    design: Cow<'a, Design>,
    /// Rows without their trials.
    rows: Vec<Row<'a>>,
    series: Vec<Series>,
    absent: Vec<AbsentCell>,
    classes: Vec<classes::Classes>,
    surfaces: Vec<Surface>,
    members: Vec<Member>,
    around: around::Gathered,
    counts: checks::Counts,
    costs: watched::Costs,
}

impl<'a> Gathering<'a> {
    /// Nothing is known yet.
    pub fn new(plan: &'a Plan, environment: &'a Environment) -> Self {
        Self {
            plan,
            environment,
            design: design(plan),
            rows: Vec::new(),
            series: Vec::new(),
            absent: Vec::new(),
            classes: Vec::new(),
            surfaces: Vec::new(),
            members: Vec::new(),
            around: around::Gathered::default(),
            counts: checks::Counts::default(),
            costs: watched::Costs::default(),
        }
    }

    /// Takes the trials of the next workload of the plan.
    pub fn take(&mut self, trials: &[&Trial]) {
        let (plan, environment) = (self.plan, self.environment);
        let Some(workload) = plan.workloads.get(self.rows.len()) else { return };
        for trial in trials {
            self.counts.add(&trial.record);
            self.costs.add(&trial.record);
        }
        let row = rows::row(workload, plan, environment, trials);
        let (series, absent) = series::series(&self.design, &row);
        self.series.extend(series);
        self.absent.extend(absent);
        self.classes.push(classes::of_row(&row));
        self.surfaces.extend(surfaces::of_row(plan, &row));
        self.members.extend(watched::members(&row));
        self.around.add(&row);
        let mut bare = rows::bare(workload, plan, environment);
        (bare.remarks, bare.trust, bare.rates) = (row.remarks, row.trust, row.rates);
        bare.unquiet = row.unquiet;
        self.rows.push(bare);
    }

    /// Everything that the trials say, in the order of the plan.
    pub fn findings(self, study: StudyFacts) -> Findings {
        let Self { plan, environment, rows, counts, mut series, mut absent, .. } = self;
        absent.extend(planned_absences(plan));
        let (by_class, unseen) = classes::series(self.classes);
        absent.extend(unseen);
        series.extend(by_class);
        let unfinished = study.ended.is_none() && counts.is_unfinished(plan);
        let measured = Measurements { design: self.design.into_owned(), series, unfinished };
        let mut found = judge(study, facts::environment(plan, environment), measured);
        found.workloads = rows.iter().map(workload_facts).collect();
        for comparison in &mut found.comparisons {
            comparison.notes.extend(in_flight(comparison, &rows));
        }
        found.summary.splice(0..0, classes::sentences(&found));
        found.surfaces = self.surfaces;
        lines::add(&mut found, plan, environment);
        found.card = card::row(plan, &found);
        found.absent = absent;
        found.members = self.members;
        found.probes = self.costs.told();
        found.surroundings = around::around(environment, self.around);
        let mut checks = checks::checks(plan, counts, found.study.ended.as_deref());
        checks.append(&mut found.checks);
        checks.extend(around::checks(&found.surroundings, &environment.started));
        checks.extend(around::observer(environment));
        found.checks = checks;
        found.summary = sentences::summary(&sentences::Story {
            rows: &rows,
            absent: plan.absent.len(),
            found: &found,
            judged: plan.design.margin.is_some(),
            more_help: plan.design.margin.is_some() && plan.design.stopping == Stopping::Fixed,
            environment,
        });
        found
    }
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
