//! The plan of a study whose trials are boots that were recorded: one trial a boot, in the order of time.
//! Nothing of it is drawn, and its order says so.

use std::collections::BTreeMap;

use assay_base::presence::Presence;
use assay_kinds::work::boot::{self, Asked, Boot};
use assay_kinds::work::io::Engine;
use assay_kinds::work::{Asks as _, Planned};
use assay_machine::probes::Evidence;
use assay_system::system::site::{Site, TargetKind};

use super::arms::Layout;
use super::hash;
use crate::results::plan::{
    Area, Arm, EngineUse, FORMAT, Pilot, Plan, PlannedTrial, PlannedWorkload, Survey,
};
use crate::results::record::{Status, Trial, TrialRecord};
use crate::study::{Order, Study};

/// Why nothing that this program reads around a trial is there.
const NOT_WATCHED: &str = "the boot was recorded by the system's journal, not watched";
/// Nanoseconds in which nothing ends a study of boots: it counts them.
const NO_DEADLINE_NS: u64 = u64::MAX / 2;

/// What a study asks for whose trials are boots; none of any other study.
pub fn asked(study: &Study) -> Option<&Asked> {
    study.workload.iter().find_map(|workload| Asked::of(&workload.work))
}

/// The study with its groups as levels, in the order in which they came; levels that it names itself
/// stay, and boots of others are left out.
pub fn grouped(mut study: Study, asked: &Asked, boots: &[Boot]) -> Study {
    let by = asked.by.name();
    if !study.factors.contains_key(by) {
        let mut levels: Vec<String> = Vec::new();
        for level in boots.iter().map(|boot| asked.by.group(boot)) {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        study.factors.insert(by.to_owned(), levels);
    }
    study
}

/// The boots that belong to a group of a grouped study.
pub fn of_groups(study: &Study, asked: &Asked, boots: Vec<Boot>) -> Vec<Boot> {
    let levels = study.factors.get(asked.by.name()).cloned().unwrap_or_default();
    boots.into_iter().filter(|boot| levels.contains(&asked.by.group(boot))).collect()
}

/// The metric that boots are compared by: from the kernel on where any of them tells it; containers
/// have userspace alone.
pub fn primary(boots: &[Boot]) -> &'static str {
    let whole = |boot: &Boot| boot.phases.from_kernel_us().value().is_some();
    let userspace = |boot: &Boot| boot.phases.userspace_us.value().is_some();
    let alone = !boots.iter().any(whole) && boots.iter().any(userspace);
    if alone { boot::USERSPACE.name } else { boot::WHOLE.name }
}

/// The plan of boots of which the groups are known, one trial each.
pub fn plan(
    study: &Study,
    (asked, primary): (&Asked, &str),
    groups: &[String],
    (target, seed): (&str, u64),
) -> Plan {
    let layout = Layout::of(study, &[target.to_owned()]);
    let mut design = layout.design.clone();
    (design.order, design.repeats) = (Order::Recorded, 0);
    let by = asked.by.name();
    let name = study.workload.iter().find(|own| Asked::of(&own.work).is_some());
    let name = name.map_or("boot", |own| &own.name);
    design.primary = Some(study.primary.clone().unwrap_or_else(|| primary.to_owned()));
    let workload = |arm: &Arm| PlannedWorkload {
        name: name.to_owned(),
        arm: arm.clone(),
        control: false,
        target: 0,
        work: Planned::from(boot::Planned { until: asked.until.clone() }),
        ramp_ns: 0,
        time_ns: asked.time().map_or(0, |time| time.0),
        note: None,
        background: None,
    };
    let workloads: Vec<PlannedWorkload> = layout.arms.iter().map(workload).collect();
    let mut counts: BTreeMap<usize, u32> = BTreeMap::new();
    let trial = |(order, group): (u32, &String)| {
        let workload = layout.arms.iter().position(|arm| arm.get(by) == Some(group))?;
        let replicate = counts.entry(workload).and_modify(|count| *count += 1).or_insert(1);
        let arm = layout.arms[workload].clone();
        Some(PlannedTrial {
            order,
            host: 0,
            replicate: *replicate,
            lead_in: false,
            workload,
            arm,
            seed,
        })
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
        virtual_machine: None,
        surveys: vec![survey(target)],
        workloads,
        absent: Vec::new(),
        trials,
    };
    plan.sha256 = hash(&plan);
    plan
}

/// Nothing of a target is touched.
fn survey(target: &str) -> Survey {
    Survey {
        target: target.to_owned(),
        kind: Some(TargetKind::Directory),
        area: Area { start: 0, length: 0, asked: 0, written: false, fill_ns: 0 },
        direct: Presence::absent("nothing is read or written"),
        engine: EngineUse { name: Engine::Psync, note: None },
        pilot: Pilot::default(),
        coverage: Presence::absent("nothing is read or written"),
        notes: Vec::new(),
        between: None,
        under: Arm::new(),
        made_ns: 0,
        read_twice: Presence::absent("nothing is read or written"),
        refused: Vec::new(),
    }
}

/// What is known of the machine of a journal that was brought along.
pub fn elsewhere(target: &str) -> Site {
    let mut site = Site::simulated(target);
    let why = "the journal is another machine's";
    site.kind = TargetKind::File;
    site.mount = Presence::absent(why);
    site.backing_reason = Some(why.to_owned());
    site.compression = Presence::absent(why);
    site
}

/// A boot as the trial that it is. One that did not finish has failed, with its reason.
pub fn trial(planned: &PlannedTrial, boot: Boot) -> Trial {
    let started = boot.began_wall_us.and_then(|us| i64::try_from(us).ok());
    let started = started.and_then(|us| jiff::Timestamp::from_microsecond(us).ok());
    let started = started.unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let (status, reason, measured) = match boot::measured(boot) {
        Ok(measured) => (Status::Ok, None, Some(measured)),
        Err(why) => (Status::Failed, Some(why), None),
    };
    let record = TrialRecord {
        order: planned.order,
        host: planned.host,
        replicate: planned.replicate,
        workload: planned.workload,
        arm: planned.arm.clone(),
        repeats: None,
        status,
        reason,
        started: started.to_string(),
        measured,
        background: None,
        evidence: Evidence::absent(NOT_WATCHED),
        histograms: BTreeMap::new(),
        series: None,
        spent: None,
        flush_ns: None,
    };
    Trial { record, latency_ns: BTreeMap::new() }
}
