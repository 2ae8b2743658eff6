//! The plan of recorded trials: one trial per record, in time order.

use std::collections::BTreeMap;

use assay_core::exhibit::parts::distinct;
use assay_core::presence::Presence;

use assay_machine::probes::Evidence;
use assay_machine::system::site::{Site, TargetKind};
use assay_workloads::recorded::{Record, RecordedWork, RecordingNames};

use super::arms::ArmLayout;
use super::hash;
use super::order::Turn;
use crate::file::{Order, Study, Workload};
use crate::results::plan::{Arm, FORMAT, Plan, PlannedTrial, PlannedWorkload, Survey};
use crate::results::record::{Status, Trial};

/// Nanoseconds that never pass, because the number of trials ends such a study.
const NO_DEADLINE_NS: u64 = u64::MAX / 2;

#[derive(Clone, Copy)]
pub struct RecordedWorkload<'a> {
    pub workload: &'a Workload,
    pub records: &'a RecordedWork,
}

pub fn asked(study: &Study) -> Option<RecordedWorkload<'_>> {
    let mut all = study.workload.iter();
    all.find_map(|workload| Some(RecordedWorkload { workload, records: workload.work.records()? }))
}

/// The study with the groups of its trials as levels of a factor, unless the study has the factor.
pub fn grouped(mut study: Study, factor: &str, records: &[Record]) -> Study {
    if !study.factors.contains_key(factor) {
        let levels = distinct(records.iter().map(|record| record.group.clone()));
        study.factors.insert(factor.to_owned(), levels);
    }
    study
}

pub fn of_groups(study: &Study, factor: &str, records: Vec<Record>) -> Vec<Record> {
    let levels = study.factors.get(factor).cloned().unwrap_or_default();
    records.into_iter().filter(|record| levels.contains(&record.group)).collect()
}

/// Plans one trial per record, in time order; a record belongs to the configuration of its group.
pub fn plan(
    study: &Study,
    asked: RecordedWorkload<'_>,
    primary: &str,
    groups: &[String],
    target: &str,
    seed: u64,
) -> Plan {
    let layout = ArmLayout::new(study, &[target.to_owned()]);
    let mut design = layout.design.clone();
    (design.order, design.repeats) = (Order::Recorded, 0);
    let by = asked.records.factor();
    design.primary = Some(study.primary_metric.clone().unwrap_or_else(|| primary.to_owned()));
    let workload = |arm: &Arm| PlannedWorkload {
        name: asked.workload.name.clone(),
        arm: arm.clone(),
        control: false,
        target: 0,
        work: asked.records.planned(),
        ramp_ns: 0,
        time_ns: asked.workload.work.time().map_or(0, |time| time.0),
        note: None,
        background: None,
    };
    let workloads: Vec<PlannedWorkload> = layout.arms.iter().map(workload).collect();
    let mut counts: BTreeMap<usize, u32> = BTreeMap::new();
    let trial = |(order, group): (u32, &String)| {
        let workload = layout.arms.iter().position(|arm| arm.get(by) == Some(group))?;
        let replicate = counts.entry(workload).and_modify(|count| *count += 1).or_insert(1);
        let arm = layout.arms[workload].clone();
        let turn = Turn { replicate: *replicate, item: workload, lead_in: false };
        Some(super::planned_trial(order, turn, arm, seed))
    };
    let trials: Vec<PlannedTrial> = (0..).zip(groups).filter_map(trial).collect();
    let mut plan = Plan {
        format: FORMAT.to_owned(),
        sha256: String::new(),
        seed,
        design,
        replicates: counts.values().copied().max().unwrap_or(0),
        probes: Vec::new(),
        meter: None,
        idle_ns: None,
        gap_ns: 0,
        budget_ns: None,
        deadline_ns: NO_DEADLINE_NS,
        surveys: vec![survey(target)],
        workloads,
        absent: Vec::new(),
        trials,
    };
    plan.sha256 = hash(&plan);
    plan
}

fn survey(target: &str) -> Survey {
    Survey {
        kind: Some(TargetKind::Directory),
        ..Survey::untaken(target, "nothing is read or written")
    }
}

/// Facts of the machine for data recorded on another one, with the reason.
pub fn elsewhere(target: &str, why: &str) -> Site {
    let mut site = Site::simulated(target);
    site.kind = TargetKind::File;
    site.mount = Presence::absent(why);
    site.backing_reason = Some(why.to_owned());
    site.compression = Presence::absent(why);
    site
}

/// Makes the trial of a record; it failed if the record has a reason instead of numbers.
pub fn trial(planned: &PlannedTrial, record: Record, recording: &RecordingNames) -> Trial {
    let started = record.began_wall_us.and_then(|us| i64::try_from(us).ok());
    let started = started.and_then(|us| jiff::Timestamp::from_microsecond(us).ok());
    let started = started.unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let (status, reason, measured) = match record.measured {
        Ok(measured) => (Status::Ok, None, Some(measured)),
        Err(why) => (Status::Failed, Some(why), None),
    };
    let not_watched = format!(
        "the {} comes from the system journal; Assay did not observe the event",
        recording.one
    );
    Trial {
        status,
        reason,
        started: started.to_string(),
        measured,
        ..Trial::new(planned, Evidence::absent(&not_watched))
    }
}
