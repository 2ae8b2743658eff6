//! Study and surveys -> plan: every trial in order, fixed before the first starts. Pure.

pub mod budget;
pub mod draws;
pub mod order;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::quantity::Bytes;
use crate::results::plan::{
    AbsentWorkload, Arm, FORMAT, Plan, PlannedTrial, PlannedWorkload, Survey,
};
use crate::study::{Content, Engine, Io, Pattern, Study, Workload, WriteSync};

use draws::Draws;

/// Makes the plan of a study for surveyed targets; the same input gives the same plan.
pub fn make(study: &Study, surveys: Vec<Survey>, seed: u64) -> Plan {
    let (workloads, absent) = planned_workloads(study, &surveys);
    let per_target = budget::timed(study, &surveys, workloads);
    let trials = trials(study, &surveys, &per_target.workloads, seed);
    let mut plan = Plan {
        format: FORMAT.to_owned(),
        sha256: String::new(),
        seed,
        order: "chained".to_owned(),
        replicates: study.replicates,
        gap_ns: per_target.gap_ns,
        deadline_ns: per_target.deadline_ns,
        surveys,
        workloads: per_target.workloads,
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
    Sha256::digest(&text).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The arm of a target: its name where targets are compared, nothing otherwise.
fn arm_of(surveys: &[Survey], target: usize) -> Arm {
    if surveys.len() < 2 {
        return Arm::new();
    }
    BTreeMap::from([("target".to_owned(), surveys[target].target.clone())])
}

fn planned_workloads(
    study: &Study,
    surveys: &[Survey],
) -> (Vec<PlannedWorkload>, Vec<AbsentWorkload>) {
    let (mut planned, mut absent) = (Vec::new(), Vec::new());
    for (target, survey) in surveys.iter().enumerate() {
        for workload in &study.workload {
            match obstacle(workload, survey) {
                Some(reason) => {
                    absent.push(AbsentWorkload { name: workload.name.clone(), target, reason });
                }
                None => planned.push(planned_workload(workload, target, survey)),
            }
        }
    }
    (planned, absent)
}

/// Why a workload cannot be run at a target.
fn obstacle(workload: &Workload, survey: &Survey) -> Option<String> {
    let io = &workload.io;
    if io.mix.read_percent < 100 && !survey.area.written {
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
    let unit = survey.direct.value().map_or(1, |direct| u64::from(direct.offset_alignment));
    (io.direct && !io.size.0.is_multiple_of(unit)).then(|| {
        format!(
            "not measured: direct I/O here needs multiples of {}, the operation has {}",
            Bytes(unit),
            io.size
        )
    })
}

fn planned_workload(workload: &Workload, target: usize, survey: &Survey) -> PlannedWorkload {
    let io = &workload.io;
    let (engine, threads, depth, engine_note) = engine_of(io, survey);
    let direct = io.direct && survey.direct.value().is_some();
    let direct_note = (io.direct && !direct)
        .then(|| survey.direct.reason().map(|reason| format!("through the page cache: {reason}")))
        .flatten();
    PlannedWorkload {
        name: workload.name.clone(),
        target,
        engine,
        pattern: match io.pattern {
            Pattern::Sequential => "sequential".to_owned(),
            Pattern::Random => "random".to_owned(),
        },
        read_percent: io.mix.read_percent,
        size_bytes: io.size.0 as u32,
        depth,
        threads,
        asked_depth: io.depth * io.threads,
        data_sync: io.sync == WriteSync::EachWrite,
        content: match io.content {
            Content::Random => "random".to_owned(),
            Content::Zero => "zero".to_owned(),
        },
        direct,
        ramp_ns: io.ramp.map_or(0, |ramp| ramp.0),
        time_ns: io.time.map_or(0, |time| time.0),
        note: join(engine_note, direct_note),
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
        return (chosen.to_owned(), io.threads * io.depth, 1, survey.engine.note.clone());
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

fn trials(
    study: &Study,
    surveys: &[Survey],
    workloads: &[PlannedWorkload],
    seed: u64,
) -> Vec<PlannedTrial> {
    let sequence = sequence(study.replicates as usize, surveys.len(), workloads, seed);
    let mut seeds = Draws::new(seed, "trials");
    let lead_in = sequence.first().map(|&(_, workload)| (0, workload));
    lead_in
        .into_iter()
        .chain(sequence)
        .enumerate()
        .map(|(order, (replicate, workload))| PlannedTrial {
            order: order as u32,
            replicate,
            workload,
            arm: arm_of(surveys, workloads[workload].target),
            seed: seeds.bits(),
        })
        .collect()
}

/// Replicate and workload of each trial: targets in chained order, workloads inside them in an
/// order of their own; with one target the workloads are the arms and chain.
fn sequence(
    replicates: usize,
    targets: usize,
    workloads: &[PlannedWorkload],
    seed: u64,
) -> Vec<(u32, usize)> {
    let mut draws = Draws::new(seed, "order");
    let rows: Vec<Vec<usize>> = if targets < 2 {
        order::chained(workloads.len(), replicates, &mut draws)
    } else {
        order::chained(targets, replicates, &mut draws)
            .into_iter()
            .map(|row| {
                row.into_iter().flat_map(|target| at(target, workloads, &mut draws)).collect()
            })
            .collect()
    };
    rows.into_iter()
        .zip(1..)
        .flat_map(|(row, replicate)| row.into_iter().map(move |workload| (replicate, workload)))
        .collect()
}

/// The workloads of one target in random order.
fn at(target: usize, workloads: &[PlannedWorkload], draws: &mut Draws) -> Vec<usize> {
    let mut indices: Vec<usize> =
        (0..workloads.len()).filter(|&index| workloads[index].target == target).collect();
    draws.shuffle(&mut indices);
    indices
}

#[cfg(test)]
mod tests;
