//! Draws the findings of a study workload by workload: only the trials of one workload are in memory.

use std::{borrow::Cow, collections::BTreeSet};

use assay_machine::factors::{cautions, permanent};
use assay_machine::probes::processors::ProcessorTicks;
use assay_study::findings::measurements::{Measurements, Series};
use assay_study::findings::{
    AbsentCell, AdviceKind, Check, Comparison, Findings, Sentence, StudyFacts, Trust, Verdict,
    WorkloadFacts, notes::Note,
};
use assay_study::results::plan::{Arm, Plan};
use assay_study::results::{course, design::Design, environment::Environment, record::Trial};
use assay_workloads::WorkFacts;

use super::rows::{self, RowTrials};
use super::verdicts::{add_note, explain};
use super::{
    acknowledged, add_answers, add_numbers, borrowed, card, checks, checks::CheckCounts, classes,
    design, different, distinct, facts, gated, hosts, kinds, layers, memory, played, published,
    race, sentences, series, surfaces, surroundings, watched,
};

/// Findings of a study whose workloads are added one after the other.
pub struct Analysis<'a> {
    plan: &'a Plan,
    environment: &'a Environment,
    design: Cow<'a, Design>,
    found: Findings,
    of_rows: OfRows<'a>,
}

#[derive(Default)]
struct OfRows<'a> {
    rows: Vec<RowTrials<'a>>,
    series: Vec<Series>,
    /// The series of the classes of a replayed load.
    played: Vec<Series>,
    classes: Vec<classes::ClassSeries>,
    trials: TrialCounts,
    rules: RowRules,
    hosts: hosts::HostRates,
    of_kinds: Vec<WorkFacts>,
    conversions: Vec<layers::Conversion>,
    rollbacks: Vec<Sentence>,
    surfaces: Vec<surfaces::Surface>,
    accesses: Vec<surfaces::Accesses>,
}

/// Counters over all trials, including the search for a load.
#[derive(Default)]
struct TrialCounts {
    counts: CheckCounts,
    costs: watched::CostSums,
    ticks: ProcessorTicks,
    race: race::RaceRuns,
}

#[derive(Default)]
struct RowRules {
    borrowed: borrowed::Rates,
    different: Vec<different::WorkOfRow>,
    acknowledged: Vec<acknowledged::Writes>,
}

impl<'a> Analysis<'a> {
    pub fn new(study: StudyFacts, plan: &'a Plan, environment: &'a Environment) -> Self {
        let found = Findings::new(study, facts::environment_facts(plan, environment));
        Self { plan, environment, design: design(plan), found, of_rows: OfRows::default() }
    }

    /// Adds the trials of the next workload of the plan; ignores trials after the last one.
    pub fn add(&mut self, trials: &[&Trial]) {
        let (plan, environment, own) = (self.plan, self.environment, &mut self.of_rows);
        // Each call adds one row, so the number of rows is the index of the next workload.
        let Some(workload) = plan.workloads.get(own.rows.len()) else { return };
        own.trials.add(plan, environment, trials);
        // Trials of a search only report their number.
        let searches = course::is_of(plan);
        let mut trials = trials.to_vec();
        trials.retain(|trial| !searches || !course::is_search(trial));
        let row = rows::row_of(workload, plan, environment, &trials);
        let (series, absent) = series::row_series(&self.design, &row);
        let (by_class, lacking) = played::class_series(&self.design, &row);
        let is_emulated = environment.machine.emulator().is_some();
        own.rules.add(own.rows.len(), &row, &series, is_emulated);
        own.hosts.add(&row);
        own.played.extend(by_class);
        own.classes.extend(classes::class_series(&row));
        own.of_kinds.extend(kinds::facts_of(&row));
        own.conversions.extend(layers::conversions(&row));
        own.rollbacks.extend(kinds::rollback(&workload.name, &trials));
        let found = &mut self.found;
        found.workloads.push(workload_facts(&row));
        found.absent.extend(absent);
        found.absent.extend(lacking);
        own.surfaces.extend(surfaces::surface_of_row(plan, &row, &series));
        own.accesses.extend(surfaces::accesses(plan, &row, &series));
        found.environment.activity.members.extend(watched::members(&row));
        surroundings::add_row(&mut found.environment.activity, &row);
        own.series.extend(series);
        own.rows.push(RowTrials {
            remarks: row.remarks,
            unquiet: row.unquiet,
            trust: row.trust,
            ..rows::bare_row(workload, plan, environment)
        });
    }

    /// Draws the findings from all added workloads: numbers, verdicts, advice, checks and the summary.
    pub fn findings(self) -> Findings {
        let Self { plan, environment, mut found, mut of_rows, .. } = self;
        let OfRows { mut rows, mut series, trials, .. } = of_rows;
        found.absent.extend(planned_absences(plan));
        series.extend(of_rows.played);
        let (by_class, unseen) = classes::series_of_seen_classes(of_rows.classes);
        series.extend(by_class);
        found.absent.extend(unseen);
        of_rows.rules.apply(&mut rows, &mut series);
        if let Some(place) = &mut found.environment.platform {
            place.steal_share = trials.ticks.steal_share();
        }
        let unfinished =
            found.study.stopped_by.is_none() && trials.counts.first < plan.trials.len();
        let others = plan.workloads.iter().filter(|planned| planned.work.is_others());
        let live = distinct(others.map(|planned| planned.name.clone()));
        let mut measured =
            Measurements { design: self.design.into_owned(), series, unfinished, live };
        let stage =
            hosts::advice_stage(environment.fleet.as_ref(), super::advice_stage(&found.study));
        let verdicts = add_numbers(&mut found, stage, &mut measured);
        for comparison in &mut found.comparisons {
            if let Some(note) = in_flight_note(comparison, &rows) {
                add_note(comparison, note);
            }
        }
        found.race = trials.race.answer(plan, &found);
        found.of_kinds = of_rows.of_kinds.into();
        kinds::complete_facts(&mut found);
        add_commands(&mut found, plan, environment);
        found.study.card.clone_from(&plan.design.card);
        let cards = card::rows(plan, &found);
        let published = published::published_numbers(&plan.design, found.environment.is_emulated());
        explain(&mut found.answers.all, &plan.design, &found.absent);
        lower_surface_trust(&mut of_rows.surfaces, &mut of_rows.accesses, &rows);
        let surfaces = surfaces::exhibit(&found, &published, &of_rows.surfaces, &of_rows.accesses);
        found.exhibits.extend(surfaces);
        found.exhibits.extend(published::exhibit(&found, &published));
        found.exhibits.extend(card::exhibit(&cards));
        found.environment.activity.probes = trials.costs.into_costs();
        surroundings::add_drives_and_idle(&mut found.environment.activity, environment);
        found.environment.hosts = of_rows.hosts.finish(environment.fleet.as_ref());
        add_checks(&mut found, plan, environment, &trials.counts);
        let mut facts: Vec<Sentence> = found.race.iter().flat_map(race::sentences).collect();
        facts.extend(of_rows.rollbacks);
        facts.extend(classes::sentences(&found));
        let names = distinct(rows.iter().map(|row| row.workload.name.as_str()));
        facts.extend(names.iter().filter_map(|name| memory::stacks_sentence(name, &found, &rows)));
        facts.extend(layers::encryption_sentence(&of_rows.conversions));
        facts.extend(layers::resync_sentences(&found));
        facts.extend(names.iter().filter_map(|name| memory::swap_sentence(name, &found, &rows)));
        facts.extend(verdicts);
        facts.extend(race::confirmation(&found, plan.design.primary.as_deref()));
        facts.extend(card::classes(plan, environment, &found));
        facts.extend(card::prices(&cards));
        let input =
            sentences::SummaryInput { plan, environment, rows: &rows, found: &found, facts };
        found.summary = sentences::summary(&input);
        add_answers(&mut found, &measured, &expected_rows(plan, &rows));
        found
    }
}

impl TrialCounts {
    fn add(&mut self, plan: &Plan, environment: &Environment, trials: &[&Trial]) {
        for trial in trials {
            self.counts.add(trial);
            self.costs.add(trial);
            self.race.add(plan, environment, trial);
            let ticks = trial.evidence.processors.value().and_then(|cpus| cpus.ticks.value());
            self.ticks = self.ticks.and(ticks.copied().unwrap_or_default());
        }
    }
}

impl RowRules {
    fn add(&mut self, index: usize, row: &RowTrials<'_>, series: &[Series], is_emulated: bool) {
        self.borrowed.add(index, row, series);
        self.different.extend(different::work_of_row(index, row));
        if !is_emulated {
            self.acknowledged.extend(acknowledged::writes_of_row(index, row));
        }
    }

    fn apply(&self, rows: &mut [RowTrials<'_>], series: &mut [Series]) {
        self.borrowed.add_remarks(rows, series);
        different::add_remarks(&self.different, rows, series);
        acknowledged::add_remarks(&self.acknowledged, rows, series);
    }
}

/// Copies the rows' trust to surfaces: cross-row rules may have lowered it since.
fn lower_surface_trust(
    surfaces: &mut [surfaces::Surface],
    accesses: &mut [surfaces::Accesses],
    rows: &[RowTrials<'_>],
) {
    let lowered = |workload: &str, arm: &Arm, trust: Option<Trust>| {
        let row = rows.iter().find(|row| row.workload.name == workload && row.arm == *arm);
        trust.max(row.and_then(|row| row.trust).filter(|_| trust.is_some()))
    };
    for surface in surfaces {
        surface.trust = lowered(&surface.workload, &surface.configuration, surface.trust);
    }
    for access in accesses {
        access.trust = lowered(&access.workload, &access.configuration, access.trust);
    }
}

/// Sets the checks: of the trials, then those that `found` already has (of verdicts), then of the machine.
fn add_checks(found: &mut Findings, plan: &Plan, environment: &Environment, counts: &CheckCounts) {
    let of_verdicts = std::mem::take(&mut found.checks);
    let mut checks = checks::study_checks(plan, counts, found.study.stopped_by.as_deref());
    checks.extend(of_verdicts);
    checks.extend(surroundings::drive_checks(&found.environment.activity, environment));
    let observer = environment.observer.clone();
    checks.extend(observer.map(|text| Check::new("observer", text)));
    checks.extend(surroundings::other_studies_check(environment));
    checks.extend(surroundings::shared_drive_check(environment));
    checks.extend(hosts::checks(found.environment.hosts.as_ref(), environment.fleet.as_ref()));
    found.checks = checks;
}

/// Every planned workload and arm, and those excluded while another arm of the workload was not.
fn expected_rows(plan: &Plan, rows: &[RowTrials<'_>]) -> BTreeSet<gated::Planned> {
    let has_rows = |name: &String| rows.iter().any(|row| row.workload.name == *name);
    let left_out = planned_absences(plan).filter(|absent| has_rows(&absent.workload));
    let left_out = left_out.map(|absent| (absent.workload, absent.configuration));
    let rows = rows.iter().filter(|row| !row.workload.control);
    rows.map(|row| (row.workload.name.clone(), row.arm.clone())).chain(left_out).collect()
}

/// A note if two arms with the same requested queue depth had different numbers of operations in flight.
fn in_flight_note(comparison: &Comparison, rows: &[RowTrials<'_>]) -> Option<Note> {
    let work_of = |arm: &Arm| {
        let mut rows = rows.iter().filter(|row| row.workload.name == comparison.workload);
        rows.find(|row| row.arm == *arm).map(|row| &row.workload.work)
    };
    let (baseline, arm) = (work_of(&comparison.baseline)?, work_of(&comparison.configuration)?);
    if baseline.asked_in_flight() != arm.asked_in_flight() {
        return None;
    }
    let [arm, baseline] = [arm.in_flight(), baseline.in_flight()];
    (arm != baseline).then_some(Note::InFlight { arm, baseline })
}

/// The rows that the plan excludes, with the reason.
fn planned_absences(plan: &Plan) -> impl Iterator<Item = AbsentCell> + '_ {
    plan.absent.iter().map(|absent| AbsentCell {
        workload: absent.name.clone(),
        configuration: if absent.configuration.is_empty() {
            rows::target_arm(plan, absent.target)
        } else {
            absent.configuration.clone()
        },
        metric: None,
        reason: absent.words(),
        obstacle: Some(absent.reason.clone()),
    })
}

fn workload_facts(row: &RowTrials<'_>) -> WorkloadFacts {
    WorkloadFacts {
        name: row.workload.name.clone(),
        configuration: row.arm.clone(),
        text: row.workload.words(),
        requested_queue_depth: row.workload.work.asked_in_flight(),
        queue_depth: row.workload.work.in_flight(),
        time_ns: row.workload.time_ns,
        ramp_ns: row.workload.ramp_ns,
        note: row.workload.note.clone(),
        io: facts::io(row.workload),
        pace: facts::pace(row),
        permanent_commands: row.workload.work.permanent_commands(),
    }
}

/// Adds to each advice to use an arm the commands that apply it permanently, and cautions.
fn add_commands(found: &mut Findings, plan: &Plan, environment: &Environment) {
    let comparisons = &found.comparisons;
    for advice in found.advice.iter_mut().filter(|advice| advice.kind == AdviceKind::Use) {
        let better = comparisons
            .iter()
            .find(|one| one.verdict == Some(Verdict::Better) && advice.evidence.contains(&one.id));
        let Some(arm) = better.map(|one| &one.configuration) else { continue };
        let (lines, lost) = commands(arm, plan, environment);
        if !lines.is_empty() {
            advice.text = format!("{} To apply: {}.", advice.text, lines.join("; "));
        }
        // The warning is also in the lines because users copy them without the text.
        advice.lines = lost.iter().map(|lost| format!("# {lost}")).chain(lines).collect();
        let cautions = cautions(arm).into_iter().map(str::to_owned);
        let cautions: Vec<String> = lost.into_iter().chain(cautions).collect();
        if !cautions.is_empty() {
            advice.text = format!("{} Caution: {}.", advice.text, cautions.join("; "));
        }
    }
}

/// The commands that apply an arm, and what they destroy; empty if the arm or its target is not in the plan.
fn commands(arm: &Arm, plan: &Plan, environment: &Environment) -> (Vec<String>, Option<String>) {
    let planned = plan.workloads.iter().find(|planned| planned.arm == *arm);
    match planned.and_then(|planned| environment.sites.get(planned.target)) {
        Some(site) => (permanent::commands(arm, site), permanent::lost(arm, site)),
        None => (Vec::new(), None),
    }
}
