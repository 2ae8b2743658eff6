//! Study and surveys -> plan: every trial in order, fixed before the first starts. Pure.

pub mod allocation;
pub mod arms;
pub mod budget;
pub mod draws;
pub mod order;
pub mod pace;
pub mod repeats;

use crate::digest::{hexadecimal, sha256};
use crate::quantity::Bytes;
use crate::quantity::units::show;
use crate::results::plan::{
    AbsentWorkload, Arm, FORMAT, Plan, PlannedTrial, PlannedWorkload, Survey,
};
use crate::study::{Content, Engine, Io, Mix, Pattern, Study, Workload, WriteSync};

use arms::PlannedArm;
use draws::Draws;

/// Makes the plan of a study for surveyed targets; the same input gives the same plan.
pub fn make(study: &Study, surveys: Vec<Survey>, seed: u64) -> Plan {
    let (design, arms) = arms::arms(study, &surveys);
    let (workloads, absent) = planned_workloads(study, &arms, &surveys);
    let groups = groups(study, &arms, &workloads);
    let rules = rules(study, &arms);
    let turns = budget::Turns { rules, groups: &groups };
    let timed = budget::timed(study, &surveys, workloads, &turns);
    let replicates = arms::replicates(study);
    let trials = trials(study, rules, &timed.workloads, &groups, seed);
    let mut plan = Plan {
        format: FORMAT.to_owned(),
        sha256: String::new(),
        seed,
        order: design.order.name().to_owned(),
        design,
        replicates,
        probes: study.probes.clone(),
        meter: study.meter.clone(),
        idle_ns: study.idle_ns(),
        gap_ns: timed.gap_ns,
        budget_ns: timed.budget_ns,
        deadline_ns: timed.deadline_ns,
        surveys,
        workloads: timed.workloads,
        absent,
        trials,
    };
    plan.sha256 = hash(&plan);
    plan
}

/// SHA-256 of a plan without its hash, hexadecimal.
pub fn hash(plan: &Plan) -> String {
    let bare = Plan { sha256: String::new(), ..plan.clone() };
    // A plan is made of strings, numbers and lists: it can always be written.
    let text = serde_json::to_vec(&bare).unwrap_or_default();
    hexadecimal(&sha256(&text))
}

fn planned_workloads(
    study: &Study,
    arms: &[PlannedArm],
    surveys: &[Survey],
) -> (Vec<PlannedWorkload>, Vec<AbsentWorkload>) {
    let (mut planned, mut absent) = (Vec::new(), Vec::new());
    for arm in arms {
        for workload in &study.workload {
            let survey = &surveys[arm.target];
            let possible = refused(survey, &arm.levels)
                .map_or_else(|| arms::under(&workload.io, &arm.levels), Err)
                .and_then(|io| blocked(workload, &io, survey).map_or(Ok(io), Err));
            match possible {
                Ok(io) => planned.push(planned_workload(workload, &io, arm, survey)),
                Err(reason) => absent.push(AbsentWorkload {
                    name: workload.name.clone(),
                    arm: arm.levels.clone(),
                    target: arm.target,
                    reason,
                }),
            }
        }
    }
    (planned, absent)
}

/// The workloads of a study as they will be run at a target under the baseline.
pub fn under_baseline(study: &Study, survey: &Survey) -> Vec<PlannedWorkload> {
    let surveys = std::slice::from_ref(survey);
    let (design, arms) = arms::arms(study, surveys);
    let own = arms.into_iter().find(|arm| arms::matches(&arm.levels, &design.baseline));
    planned_workloads(study, own.as_slice(), surveys).0
}

/// Why an arm cannot be had at a target.
fn refused(survey: &Survey, arm: &Arm) -> Option<String> {
    let refusal = survey.refused.iter().find(|refusal| arms::matches(arm, &refusal.levels))?;
    Some(format!("not measured: {}", refusal.reason))
}

/// Why a workload, or what goes on beside it, cannot be run at a target.
fn blocked(workload: &Workload, io: &Io, survey: &Survey) -> Option<String> {
    let Some(beside) = &workload.beside else { return obstacle(io, survey) };
    let area = survey.area.halves()[0];
    let half = Survey { area, ..survey.clone() };
    obstacle(io, &half).or_else(|| obstacle(beside, &half))
}

/// Why reads and writes cannot be done at a target.
fn obstacle(io: &Io, survey: &Survey) -> Option<String> {
    if io.mix.writes() && !survey.area.written {
        return Some(
            "not measured: this target is only read; name a directory to measure writes".to_owned(),
        );
    }
    let needed = io.size.0 * u64::from(io.threads);
    if survey.area.length < needed {
        return Some(format!(
            "not measured: the area of {} is smaller than one operation of {}",
            Bytes(survey.area.length),
            Bytes(needed)
        ));
    }
    if let Some(reason) = no_spread(io, survey) {
        return Some(reason);
    }
    let unit = survey.direct.value().map_or(1, |direct| u64::from(direct.offset_alignment));
    (io.direct && !io.size.0.is_multiple_of(unit)).then(|| {
        format!(
            "not measured: direct I/O here needs multiples of {}, the operation has {}",
            Bytes(unit),
            io.size
        )
    })
}

/// Why evenly spaced places cannot be gone to one after another.
fn no_spread(io: &Io, survey: &Survey) -> Option<String> {
    if io.pattern != Pattern::Spread {
        return None;
    }
    let Some(places) = io.operations else {
        return Some("not measured: the pattern spread needs a number of operations".to_owned());
    };
    if io.in_flight() > 1 {
        return Some(
            "not measured: the pattern spread takes one operation after the other".to_owned(),
        );
    }
    let blocks = survey.area.length / io.size.0.max(1);
    (blocks < places).then(|| {
        format!(
            "not measured: the area of {} has {} blocks of {}, too few for {} places",
            Bytes(survey.area.length),
            show::count(blocks),
            io.size,
            show::count(places)
        )
    })
}

fn planned_workload(
    workload: &Workload,
    io: &Io,
    arm: &PlannedArm,
    survey: &Survey,
) -> PlannedWorkload {
    let (engine, threads, depth, engine_note) = engine_of(io, survey);
    let direct = io.direct && survey.direct.value().is_some();
    let direct_note = (io.direct && !direct)
        .then(|| survey.direct.reason().map(|reason| format!("through the page cache: {reason}")))
        .flatten();
    PlannedWorkload {
        name: workload.name.clone(),
        arm: arm.levels.clone(),
        control: arm.control,
        target: arm.target,
        engine,
        pattern: io.pattern.name().to_owned(),
        read_percent: io.mix.read_percent(),
        rewrite: io.mix == Mix::Rewrite,
        size_bytes: io.size.0 as u32,
        depth,
        threads,
        asked_depth: io.in_flight(),
        data_sync: io.sync == WriteSync::EachWrite,
        content: match io.content {
            Content::Random => "random".to_owned(),
            Content::Zero => "zero".to_owned(),
        },
        direct,
        ramp_ns: io.ramp.map_or(0, |ramp| ramp.0),
        time_ns: io.time.map_or(0, |time| time.0),
        operations: io.operations,
        note: join(engine_note, direct_note),
        beside: workload.beside.as_ref().map(|io| {
            let other = Workload { name: "beside".to_owned(), io: io.clone(), beside: None };
            let planned = planned_workload(&other, io, arm, survey);
            Box::new(PlannedWorkload { arm: Arm::new(), control: false, ..planned })
        }),
    }
}

/// Engine, threads and depth: where `io_uring` is refused, threads keep the operations in flight.
fn engine_of(io: &Io, survey: &Survey) -> (String, u32, u32, Option<String>) {
    let chosen = match io.engine {
        _ if survey.engine.name == "simulated" => "simulated",
        Engine::Auto if io.depth > 1 => survey.engine.name.as_str(),
        Engine::Auto | Engine::Psync => "psync",
        Engine::IoUring => "io_uring",
    };
    if chosen == "psync" && io.engine == Engine::Auto && io.depth > 1 {
        return (chosen.to_owned(), io.in_flight(), 1, survey.engine.note.clone());
    }
    (chosen.to_owned(), io.threads, io.depth, None)
}

/// Two remarks as one.
fn join(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}; {second}")),
        (first, second) => first.or(second),
    }
}

/// Planned workloads that share a costly change, in the order of the arms.
fn groups(study: &Study, arms: &[PlannedArm], workloads: &[PlannedWorkload]) -> Vec<Vec<usize>> {
    let mut groups: Vec<((bool, Arm), Vec<usize>)> = Vec::new();
    for (index, workload) in workloads.iter().enumerate() {
        let own = |arm: &&PlannedArm| arm.levels == workload.arm && arm.control == workload.control;
        let Some(arm) = arms.iter().find(own) else { continue };
        let part = arms::costly_part(study, arm);
        match groups.iter_mut().find(|(known, _)| *known == part) {
            Some((_, members)) => members.push(index),
            None => groups.push((part, vec![index])),
        }
    }
    groups.into_iter().map(|(_, members)| members).collect()
}

/// How the trials of a study are put in order.
fn rules(study: &Study, arms: &[PlannedArm]) -> order::Rules {
    order::Rules { order: study.order, lead_in: study.lead_in, compared: arms.len() > 1 }
}

fn trials(
    study: &Study,
    rules: order::Rules,
    workloads: &[PlannedWorkload],
    groups: &[Vec<usize>],
    seed: u64,
) -> Vec<PlannedTrial> {
    let replicates = arms::replicates(study) as usize;
    let mut seeds = Draws::new(seed, "trials");
    let turns = order::turns(rules, groups, replicates, &mut Draws::new(seed, "order"));
    let trial = |(order, turn): (u32, order::Turn)| PlannedTrial {
        order,
        replicate: turn.replicate,
        lead_in: turn.lead_in,
        workload: turn.item,
        arm: workloads[turn.item].arm.clone(),
        seed: seeds.bits(),
    };
    (0..).zip(turns).map(trial).collect()
}

#[cfg(test)]
mod tests;
