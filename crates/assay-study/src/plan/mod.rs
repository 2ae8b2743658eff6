//! Study and surveys -> plan: every trial in order, fixed before the first starts. Pure.

pub mod allocation;
pub mod arms;
pub mod budget;
pub mod design;
pub mod most_load;
pub mod order;
pub mod pace;
pub mod race;
pub mod recorded;
pub mod repeats;

use assay_core::digest::{hexadecimal, sha256};
use assay_core::draws::Draws;
use assay_core::exhibit::parts::parted;
use assay_machine::probes::block_latency;
use assay_machine::system::site::TargetKind;
use assay_workloads::{Background, Needs, Offer, io};

use crate::file::{Study, Workload};
use crate::results::design::{Design, Stopping};
use crate::results::plan::{
    AbsentWorkload, Arm, FORMAT, Plan, PlannedTrial, PlannedWorkload, Survey, pilot_key,
};

use arms::{ArmLayout, PlannedArm};

/// Creates the plan of a study for surveyed targets; the same input gives the same plan.
pub fn make(study: &Study, surveys: Vec<Survey>, seed: u64) -> Plan {
    let layout = ArmLayout::new(study, &arms::targets(&surveys));
    let arms = layout.placed(&surveys);
    let (workloads, mut absent) = planned_workloads(&study.workload, &arms, &surveys);
    absent.extend(absent_by_design(study, &layout));
    let groups = groups(study, &workloads);
    let rules = rules(study, &arms);
    let replicates = layout.replicates;
    let turns = budget::Turns { rules, groups: &groups, replicates };
    let sharing_replicates = match layout.design.stopping {
        // Few arms of a race run in the maximum number of replicates.
        Stopping::Race { screen, .. } => replicates.min(race::usual_replicates(screen > 0)),
        // Its budget ends the study before the maximum number, which would make trials too short.
        Stopping::Open { .. } if study.budget.is_some() => replicates.min(budget::MOST_SHARING),
        _ => replicates,
    };
    let sharing = budget::Turns { replicates: sharing_replicates, ..turns };
    let timed = budget::timed(study, &surveys, workloads, &sharing);
    let trials = trials(&turns, &layout.design, &timed.workloads, seed);
    let mut plan = Plan {
        format: FORMAT.to_owned(),
        sha256: String::new(),
        seed,
        design: layout.design,
        replicates,
        probes: probes(study),
        meter: study.power_meter.clone(),
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

/// Additional probes of each trial; a production workload always has request classes.
fn probes(study: &Study) -> Vec<String> {
    let probe = block_latency::PROBE.about.name;
    let others = study.workload.iter().any(|workload| workload.work.is_others());
    let added = others && !study.probes.iter().any(|name| name == probe);
    study.probes.iter().cloned().chain(added.then(|| probe.to_owned())).collect()
}

/// SHA-256 of a plan without its hash, hexadecimal.
pub fn hash(plan: &Plan) -> String {
    let bare = Plan { sha256: String::new(), ..plan.clone() };
    // A plan consists of strings, numbers and lists, so serializing cannot fail.
    let text = serde_json::to_vec(&bare).unwrap_or_default();
    hexadecimal(&sha256(&text))
}

/// Plans each workload for each arm; returns those that are possible, and the others with their reasons.
fn planned_workloads(
    work: &[Workload],
    arms: &[PlannedArm],
    surveys: &[Survey],
) -> (Vec<PlannedWorkload>, Vec<AbsentWorkload>) {
    let (mut planned, mut absent) = (Vec::new(), Vec::new());
    for arm in arms {
        for workload in work {
            let survey = &surveys[arm.target];
            let refusal =
                refusal_of(survey, &arm.levels).or_else(|| refused_by_pilot(survey, workload, arm));
            let result = match refusal {
                Some(reason) => Err(reason),
                None => planned_workload(workload, arm, survey),
            };
            match result {
                Ok(possible) => planned.push(possible),
                Err(reason) => absent.push(AbsentWorkload {
                    name: workload.name.clone(),
                    configuration: arm.levels.clone(),
                    target: arm.target,
                    reason,
                }),
            }
        }
    }
    for workload in work {
        share_engine(workload, &mut planned);
    }
    (planned, absent)
}

/// Gives all arms of a workload the same engine, so they differ only in their factor.
fn share_engine(workload: &Workload, workloads: &mut [PlannedWorkload]) {
    let mut plans: Vec<&mut io::IoPlan> = Vec::new();
    for planned in workloads.iter_mut().filter(|planned| planned.name == workload.name) {
        let asked = workload.under(&planned.arm).ok();
        let asked = asked.as_ref().and_then(|workload| io::IoSpec::of(&workload.work));
        if asked.is_some_and(|io| io.engine == io::AskedEngine::Auto) {
            plans.extend(io::IoPlan::of_mut(&mut planned.work));
        }
    }
    if plans.iter().any(|io| io.engine == io::Engine::IoUring) {
        for io in plans {
            io.engine = io::Engine::IoUring;
        }
    }
}

/// Unavailable settings and excluded combinations, as absent workloads.
fn absent_by_design(study: &Study, layout: &ArmLayout) -> Vec<AbsentWorkload> {
    let absent = |name: String, reason: String| AbsentWorkload {
        name,
        configuration: Arm::new(),
        target: 0,
        reason,
    };
    let settings =
        study.unavailable.iter().map(|(name, reason)| absent(name.clone(), reason.clone()));
    let combinations = layout.omitted.iter().map(|omitted| {
        let name = format!("{} of {} combinations", omitted.count, omitted.of);
        absent(name, format!("excluded by the study: {}", omitted.constraint))
    });
    settings.chain(combinations).collect()
}

fn refusal_of(survey: &Survey, arm: &Arm) -> Option<String> {
    let refusal = survey.refused.iter().find(|refusal| arms::matches(arm, &refusal.levels))?;
    Some(refusal.reason.clone())
}

fn refused_by_pilot(survey: &Survey, workload: &Workload, arm: &PlannedArm) -> Option<String> {
    survey.pilot.refused.get(&pilot_key(&workload.name, &arm.levels)).cloned()
}

/// Returns why a target does not meet the needs of a workload; `None` for a target of unknown kind.
fn unsuited(needs: Needs, survey: &Survey) -> Option<String> {
    let kind = survey.kind?;
    // A file system of a factor is a directory on a device.
    let is_directory = kind == TargetKind::Directory || !survey.under.is_empty();
    match needs {
        Needs::Directory if !is_directory => Some(
            "this workload needs a directory; give one, or create a filesystem with --set filesystem=ext4"
                .to_owned(),
        ),
        Needs::Device if kind != TargetKind::Device => {
            Some("this workload needs a block device; give a device".to_owned())
        }
        _ => None,
    }
}

/// Plans a workload for one configuration; fails with the reason if its target cannot run the workload.
fn planned_workload(
    workload: &Workload,
    arm: &PlannedArm,
    survey: &Survey,
) -> Result<PlannedWorkload, String> {
    let at_levels = workload.under(&arm.levels)?;
    if let Some(reason) = unsuited(at_levels.needs(), survey) {
        return Err(reason);
    }
    let offer = |area| Offer {
        area,
        direct: &survey.direct,
        engine: &survey.engine,
        between: survey.between.as_ref(),
        clears: &survey.clears,
    };
    let area = survey.area.measured(workload.background.is_some());
    let (work, note) = at_levels.work.plan(&offer(area))?;
    // The second half has room for the background load.
    let load = workload.background.as_ref().map(|io| io::plan(io, &offer(area)));
    let load = load.transpose()?;
    Ok(PlannedWorkload {
        name: workload.name.clone(),
        arm: arm.levels.clone(),
        control: arm.control,
        target: arm.target,
        work,
        ramp_ns: at_levels.work.ramp().map_or(0, |ramp| ramp.0),
        time_ns: at_levels.work.time().map_or(0, |time| time.0),
        note,
        background: load.map(|(work, note)| Background { work, note }),
    })
}

fn join(first: Option<String>, second: Option<String>) -> Option<String> {
    match (first, second) {
        (Some(first), Some(second)) => Some(format!("{first}; {second}")),
        (first, second) => first.or(second),
    }
}

/// Groups the workloads, by index, whose arms share a costly change.
fn groups(study: &Study, workloads: &[PlannedWorkload]) -> Vec<Vec<usize>> {
    let costly_part = |index: usize| arms::costly_part(study, &workloads[index]);
    let groups = parted(0..workloads.len(), costly_part);
    groups.into_iter().map(|(_, members)| members).collect()
}

fn rules(study: &Study, arms: &[PlannedArm]) -> order::Rules {
    order::Rules { order: study.order, lead_in: study.warmup_trial, compared: arms.len() > 1 }
}

/// Orders all trials: the passes of a screen, then the replicates; each has its own seed.
fn trials(
    turns: &budget::Turns<'_>,
    design: &Design,
    workloads: &[PlannedWorkload],
    seed: u64,
) -> Vec<PlannedTrial> {
    if most_load::has_steps(workloads) {
        return most_load::trials(turns.rules, turns.replicates as usize, seed);
    }
    let mut seeds = Draws::new(seed, "trials");
    let passes = design.stopping.passes();
    let replicates = turns.replicates.saturating_sub(passes) as usize;
    let screen = race::screen::turns(turns, design, workloads, seed);
    let order = order::turns(turns.rules, turns.groups, replicates, &mut Draws::new(seed, "order"));
    // The passes of a screen are the first replicates.
    let after_screen =
        |turn: order::Turn| order::Turn { replicate: turn.replicate + passes, ..turn };
    let turns = screen.into_iter().chain(order.into_iter().map(after_screen));
    let trial = |(order, turn): (u32, order::Turn)| {
        planned_trial(order, turn, workloads[turn.item].arm.clone(), seeds.bits())
    };
    (0..).zip(turns).map(trial).collect()
}

/// Plans a turn as the trial number `order`.
fn planned_trial(order: u32, turn: order::Turn, arm: Arm, seed: u64) -> PlannedTrial {
    let order::Turn { replicate, item, lead_in } = turn;
    PlannedTrial { order, host: 0, replicate, lead_in, workload: item, arm, seed }
}

#[cfg(test)]
mod tests;
