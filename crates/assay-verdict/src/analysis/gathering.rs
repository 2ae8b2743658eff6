//! Findings, gathered one workload after the other: of each workload only what is told of it is kept,
//! so that no more than its trials are in memory at once.

use std::borrow::Cow;
use std::collections::BTreeSet;

use assay_kinds::work::Facts;
use assay_kinds::work::io::Pace;
use assay_machine::probes::processors::ProcessorTicks;
use assay_study::findings::measurements::{Measurements, Series};
use assay_study::findings::notes::Note;
use assay_study::findings::said::Sentence;
use assay_study::findings::{
    AbsentCell, Accesses, Comparison, Findings, Member, StudyFacts, Surface, WorkloadFacts,
};
use assay_study::results::course;
use assay_study::results::design::{Design, Stopping};
use assay_study::results::environment::Environment;
use assay_study::results::plan::{Arm, Plan};
use assay_study::results::record::Trial;

use super::race;
use super::rows::{self, Row};
use super::verdicts::{explain, words};
use super::{
    acknowledged, borrowed, card, checks, classes, conversions, design, different, facts, fitness,
    gated, harm, hosts, judged, kinds, lines, memory, played, published, reserved, sentences,
    series, surfaces, surroundings, synchronised, watched,
};

/// What is known of a study whose workloads are told one after the other.
pub struct Gathering<'a> {
    plan: &'a Plan,
    environment: &'a Environment,
    design: Cow<'a, Design>,
    /// Rows without their trials.
    rows: Vec<Row<'a>>,
    series: Vec<Series>,
    absent: Vec<AbsentCell>,
    /// Of the classes of loads that were played again.
    played: Vec<Series>,
    classes: Vec<classes::Classes>,
    surfaces: Vec<Surface>,
    accesses: Vec<Accesses>,
    of_kinds: Vec<Facts>,
    members: Vec<Member>,
    conversions: Vec<conversions::Conversion>,
    taken_back: Vec<Sentence>,
    /// By row how far the schedule of an open loop was held.
    paces: Vec<Option<Pace>>,
    surroundings: surroundings::Gathered,
    counts: checks::Counts,
    costs: watched::Costs,
    ticks: ProcessorTicks,
    acknowledged: acknowledged::Gathered,
    borrowed: borrowed::Gathered,
    different: different::Gathered,
    race: race::Gathered,
    hosts: hosts::Gathered,
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
            played: Vec::new(),
            classes: Vec::new(),
            surfaces: Vec::new(),
            paces: Vec::new(),
            accesses: Vec::new(),
            of_kinds: Vec::new(),
            members: Vec::new(),
            conversions: Vec::new(),
            taken_back: Vec::new(),
            surroundings: surroundings::Gathered::default(),
            counts: checks::Counts::default(),
            costs: watched::Costs::default(),
            ticks: ProcessorTicks::default(),
            acknowledged: acknowledged::Gathered::default(),
            borrowed: borrowed::Gathered::default(),
            different: different::Gathered::default(),
            race: race::Gathered::default(),
            hosts: hosts::Gathered::default(),
        }
    }

    /// Takes the trials of the next workload of the plan.
    pub fn take(&mut self, trials: &[&Trial]) {
        let (plan, environment) = (self.plan, self.environment);
        let Some(workload) = plan.workloads.get(self.rows.len()) else { return };
        for trial in trials {
            self.counts.add(&trial.record);
            self.costs.add(&trial.record);
            self.race.add(plan, environment, trial);
            let seen = trial.record.evidence.processors.value().and_then(|own| own.ticks.value());
            self.ticks = self.ticks.and(seen.copied().unwrap_or_default());
        }
        // What only found where to look is told of by nothing but its number.
        let reported = course::is_of(plan).then(|| {
            let own = trials.iter().filter(|trial| !course::is_search(&trial.record));
            own.copied().collect::<Vec<&Trial>>()
        });
        let trials = reported.as_deref().unwrap_or(trials);
        let row = rows::row(workload, plan, environment, trials);
        let (series, absent) = series::series(&self.design, &row);
        self.hosts.add(&row);
        self.borrowed.look(self.rows.len(), &row, &series);
        self.different.look(self.rows.len(), &row);
        if environment.machine.emulator().is_none() {
            self.acknowledged.look(self.rows.len(), &row);
        }
        self.absent.extend(absent);
        let (by_class, lacking) = played::series(&self.design, &row);
        self.played.extend(by_class);
        self.absent.extend(lacking);
        self.classes.extend(classes::of_row(&row));
        self.surfaces.extend(surfaces::of_row(plan, &row, &series));
        self.paces.push(facts::pace(&row));
        self.accesses.extend(surfaces::accesses(plan, &row, &series));
        self.series.extend(series);
        self.of_kinds.extend(kinds::of_row(&row));
        self.members.extend(watched::members(&row));
        self.conversions.extend(conversions::of_row(&row));
        self.taken_back.extend(harm::sentence(&workload.name, trials));
        self.surroundings.add(&row);
        let mut bare = rows::bare(workload, plan, environment);
        (bare.remarks, bare.trust) = (row.remarks, row.trust);
        bare.unquiet = row.unquiet;
        self.rows.push(bare);
    }

    /// Everything that the trials say, in the order of the plan.
    pub fn findings(self, study: StudyFacts) -> Findings {
        let Self { plan, environment, mut rows, counts, mut series, mut absent, .. } = self;
        absent.extend(planned_absences(plan));
        let (by_class, unseen) = classes::series(self.classes);
        absent.extend(unseen);
        series.extend(self.played);
        series.extend(by_class);
        self.borrowed.tell(&mut rows, &mut series);
        self.different.tell(&mut rows, &mut series);
        self.acknowledged.tell(&mut rows, &mut series);
        let unfinished = study.stopped_by.is_none() && counts.is_unfinished(plan);
        let others = plan.workloads.iter().filter(|own| own.work.is_others());
        let mut live: Vec<String> = others.map(|own| own.name.clone()).collect();
        live.dedup();
        let judged_by =
            (self.design.gate.is_some() || self.design.fit.is_some()).then(|| self.design.clone());
        let measured = Measurements { design: self.design.into_owned(), series, unfinished, live };
        let mut surrounding = facts::environment(plan, environment);
        if let Some(place) = &mut surrounding.platform {
            place.steal_share = self.ticks.steal_share();
        }
        let stage = hosts::stage(environment.fleet.as_ref(), super::stage(&study));
        let (mut found, mut verdicts) = judged((study, stage), surrounding, measured);
        let with_pace = rows.iter().zip(self.paces);
        found.workloads = with_pace.map(|(row, pace)| workload_facts(row, pace)).collect();
        for comparison in &mut found.comparisons {
            if let Some(note) = in_flight(comparison, &rows) {
                // It names neither side.
                let words = words::note(&note, ["", ""]);
                comparison.add(note, words);
            }
        }
        found.race = self.race.answer(plan, &found);
        let mut told: Vec<Sentence> = found.race.iter().flat_map(race::sentences).collect();
        told.extend(self.taken_back);
        told.extend(classes::sentences(&found));
        told.extend(reserved::sentences(&found, &rows));
        told.extend(conversions::sentence(&self.conversions));
        told.extend(synchronised::sentences(&found));
        told.extend(memory::sentences(&found, &rows));
        told.append(&mut verdicts);
        told.extend(race::confirmed(&found, plan.design.primary.as_deref()));
        found.surfaces = self.surfaces;
        found.accesses = self.accesses;
        // What rows say together came after them.
        let trust = |workload: &str, arm: &Arm| {
            let own = |row: &&Row<'_>| row.workload.name == workload && row.arm == *arm;
            rows.iter().find(own).and_then(|row| row.trust)
        };
        for one in &mut found.surfaces {
            one.trust = one
                .trust
                .max(trust(&one.workload, &one.configuration).filter(|_| one.trust.is_some()));
        }
        for one in &mut found.accesses {
            one.trust = one
                .trust
                .max(trust(&one.workload, &one.configuration).filter(|_| one.trust.is_some()));
        }
        found.of_kinds = self.of_kinds.into();
        kinds::settle(&mut found);
        lines::add(&mut found, plan, environment);
        found.cards = card::rows(plan, &found);
        found.card = <&[_; 1]>::try_from(found.cards.as_slice()).ok().map(|[row]| row.clone());
        told.extend(card::classes(plan, environment, &found));
        found.published = published::beside(&plan.design, found.environment.is_emulated());
        found.absent = absent;
        explain(&mut found.answers, &plan.design, &found.absent);
        found.members = self.members;
        found.probes = self.costs.told();
        found.system_activity = surroundings::facts(environment, self.surroundings);
        let mut checks = checks::checks(plan, &counts, found.study.stopped_by.as_deref());
        checks.append(&mut found.checks);
        checks.extend(surroundings::checks(&found.system_activity, &environment.started));
        checks.extend(surroundings::observer(environment));
        checks.extend(surroundings::studies(environment));
        found.hosts = self.hosts.told(environment.fleet.as_ref());
        checks.extend(hosts::checks(found.hosts.as_ref(), environment.fleet.as_ref()));
        found.checks = checks;
        let told = sentences::summary(&sentences::Story {
            told,
            rows: &rows,
            absent: plan.absent.len(),
            found: &found,
            judged: plan.design.margin.is_some(),
            more_help: plan.design.margin.is_some() && plan.design.stopping == Stopping::Fixed,
            environment,
        });
        found.say(told);
        if let Some(design) = judged_by {
            fitness::tell(&mut found, &design);
            gated::tell(&mut found, &design, &planned(plan, &rows), unfinished);
        }
        found
    }
}

/// Every workload under every arm that was planned, or left out where others of the workload were not.
fn planned(plan: &Plan, rows: &[Row<'_>]) -> BTreeSet<gated::Planned> {
    let is_there = |name: &String| rows.iter().any(|row| row.workload.name == *name);
    let left_out = planned_absences(plan).filter(|absent| is_there(&absent.workload));
    let left_out = left_out.map(|absent| (absent.workload, absent.configuration));
    let own = rows.iter().filter(|row| !row.workload.control);
    own.map(|row| (row.workload.name.clone(), row.arm.clone())).chain(left_out).collect()
}

/// Arms that could not keep the same number of operations in flight, though the study did not ask
/// for that.
fn in_flight(comparison: &Comparison, rows: &[Row<'_>]) -> Option<Note> {
    let of = |arm: &Arm| {
        let own = |row: &&Row<'_>| row.workload.name == comparison.workload && row.arm == *arm;
        rows.iter().find(own).map(|row| row.workload)
    };
    let (left, right) = (of(&comparison.baseline)?, of(&comparison.configuration)?);
    let asked = left.work.asked_in_flight() == right.work.asked_in_flight();
    let [arm, baseline] = [right.work.in_flight(), left.work.in_flight()];
    (asked && arm != baseline).then_some(Note::InFlight { arm, baseline })
}

/// Rows that the plan left out, with its reasons.
fn planned_absences(plan: &Plan) -> impl Iterator<Item = AbsentCell> + '_ {
    plan.absent.iter().map(|absent| AbsentCell {
        workload: absent.name.clone(),
        configuration: if absent.configuration.is_empty() {
            rows::arm(plan, absent.target)
        } else {
            absent.configuration.clone()
        },
        metric: None,
        reason: absent.words(),
        obstacle: Some(absent.reason.clone()),
    })
}

fn workload_facts(row: &Row<'_>, pace: Option<Pace>) -> WorkloadFacts {
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
        pace,
        permanent_commands: row.workload.work.lasting(),
    }
}
