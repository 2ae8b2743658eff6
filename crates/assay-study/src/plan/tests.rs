use assay_core::presence::Presence;
use assay_core::quantity::Bytes;
use assay_core::quantity::Time;
use assay_machine::system::clears::Clears;
use assay_workloads::KINDS;
use assay_workloads::io::{self, Engine, IoSpec, Mix, Pattern};

use super::*;
use crate::file::{LeadIn, Order, presets};
use crate::results::plan::{Area, DirectUse, EngineUse, Pilot};

pub(super) fn survey(target: &str, operation_ns: u64) -> Survey {
    let study = presets::check().unwrap();
    Survey {
        target: target.to_owned(),
        kind: None,
        area: Area { start: 0, length: 1 << 30, asked: 1 << 30, written: true, fill_ns: 1 << 30 },
        direct: Presence::Present(DirectUse { memory_alignment: 512, offset_alignment: 512 }),
        engine: EngineUse { name: Engine::IoUring, note: None },
        pilot: Pilot {
            operation_ns: study
                .workload
                .iter()
                .map(|work| (work.name.clone(), operation_ns))
                .collect(),
            ..Pilot::default()
        },
        coverage: Presence::absent("not looked at"),
        notes: Vec::new(),
        between: None,
        clears: Clears::default(),
        under: crate::results::plan::Arm::new(),
        made_ns: 0,
        dirtied: None,
        read_twice: Presence::absent("not looked at"),
        refused: Vec::new(),
    }
}

fn plan_of(targets: &[&str], operation_ns: u64, seed: u64) -> Plan {
    let study = presets::check().unwrap();
    make(&study, targets.iter().map(|target| survey(target, operation_ns)).collect(), seed)
}

#[test]
fn the_same_study_and_seed_give_the_same_plan() {
    let (one, two) = (plan_of(&["a"], 100_000, 7), plan_of(&["a"], 100_000, 7));
    assert_eq!(one, two);
    assert_eq!(one.sha256, hash(&two));
    assert_ne!(one.sha256, plan_of(&["a"], 100_000, 8).sha256);
}

#[test]
fn where_nothing_is_compared_there_is_one_lead_in_of_half_a_trial() {
    let plan = plan_of(&["a"], 100_000, 3);
    assert_eq!(plan.trials.len(), 22);
    let lead_in = &plan.trials[0];
    assert!(lead_in.is_lead_in() && plan.trials[1..].iter().all(|trial| !trial.is_lead_in()));
    assert_eq!(lead_in.workload, plan.trials[1].workload);
    assert!(plan.trials.iter().all(|trial| trial.arm.is_empty()));
    let (led, whole) = (plan.work_of(lead_in), &plan.workloads[lead_in.workload]);
    assert_eq!((led.ramp_ns, led.time_ns), (0, whole.ramp_ns.midpoint(whole.time_ns)));
    let mut seeds: Vec<u64> = plan.trials.iter().map(|trial| trial.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 22);
}

#[test]
fn several_targets_are_visited_once_a_replicate_each_with_a_lead_in() {
    let plan = plan_of(&["a", "b"], 100_000, 5);
    assert_eq!(plan.trials.len(), 48);
    for (index, visit) in plan.trials.chunks(8).enumerate() {
        let lead_in = PlannedTrial { lead_in: true, ..visit[1].clone() };
        assert_eq!(
            PlannedTrial { order: visit[1].order, seed: visit[1].seed, ..visit[0].clone() },
            lead_in
        );
        assert!(visit[1..].iter().all(|trial| !trial.lead_in));
        assert!(visit.iter().all(|trial| trial.arm == visit[0].arm));
        assert!(visit.iter().all(|trial| trial.replicate == 1 + index as u32 / 2));
    }
}

#[test]
fn a_lead_in_lasts_half_a_trial_but_at_least_its_ramp() {
    let lasting = |ramp: &str, time: &str| {
        let study = one_workload(|io| {
            (io.ramp_time, io.runtime) = (Some(ramp.parse().unwrap()), Some(time.parse().unwrap()));
        });
        let plan = make(&study, vec![survey("a", 100_000)], 1);
        let led = plan.work_of(&plan.trials[0]);
        assert_eq!(led.ramp_ns, 0);
        led.time_ns
    };
    assert_eq!(lasting("1 s", "3 s"), 2_000_000_000);
    assert_eq!(lasting("3 s", "1 s"), 3_000_000_000);
    let counted = one_workload(|io| io.operations = Some(101));
    let plan = make(&counted, vec![survey("a", 100_000)], 1);
    assert_eq!(plan.work_of(&plan.trials[0]).work.operations(), Some(51));
}

#[test]
fn lead_ins_may_be_whole_or_none() {
    let mut study = presets::find("queue-depth").unwrap().unwrap().settled();
    let lead_ins = |study: &Study| {
        let plan = make(study, vec![survey("a", 100_000)], 1);
        let lead_ins = plan.trials.iter().filter(|trial| trial.lead_in);
        let lasting = |trial: &PlannedTrial| plan.work_of(trial).time_ns;
        let whole = |trial: &PlannedTrial| plan.workloads[trial.workload].time_ns;
        let all: Vec<bool> = lead_ins.map(|trial| lasting(trial) == whole(trial)).collect();
        assert!(all.is_empty() || all.len() == study.replicates as usize);
        (!all.is_empty()).then(|| all.iter().all(|whole| *whole))
    };
    assert_eq!(lead_ins(&study), Some(false));
    study.warmup_trial = LeadIn::Full;
    assert_eq!(lead_ins(&study), Some(true));
    study.warmup_trial = LeadIn::None;
    assert_eq!(lead_ins(&study), None);
}

#[test]
fn plans_of_older_versions_are_read_as_they_were() {
    let plan = plan_of(&["a"], 100_000, 3);
    let mut value = serde_json::to_value(&plan).unwrap();
    let lead_in = value["trials"][0].as_object_mut().unwrap();
    lead_in.remove("lead_in");
    lead_in.insert("replicate".to_owned(), 0.into());
    value.as_object_mut().unwrap().remove("design");
    let older: Plan = serde_json::from_value(value).unwrap();
    assert_eq!(older.design.order, Order::Chained);
    assert!(older.trials[0].is_lead_in() && !older.trials[1].is_lead_in());
    // Its only lead-in was a whole trial.
    let whole = &older.workloads[older.trials[0].workload];
    assert_eq!(&*older.work_of(&older.trials[0]), whole);
}

#[test]
fn a_target_that_is_only_read_has_no_write_rows() {
    let study = presets::check().unwrap();
    let mut only_read = survey("a", 100_000);
    only_read.area.written = false;
    let plan = make(&study, vec![only_read], 1);
    assert_eq!(plan.absent.len(), 4);
    assert!(plan.workloads.iter().all(|workload| !workload.writes()));
    assert!(plan.absent[0].reason.contains("cannot write"));
}

#[test]
fn a_slow_device_gets_a_queue_that_drains_in_time() {
    let plan = plan_of(&["a"], 250_000_000, 1);
    for workload in &plan.workloads {
        let trial_ns = workload.ramp_ns + workload.time_ns;
        assert!(u64::from(workload.work.in_flight()) * 250_000_000 <= trial_ns.max(250_000_000));
        assert_eq!(
            workload.note.is_some(),
            workload.work.asked_in_flight() > workload.work.in_flight()
        );
    }
}

#[test]
fn a_baseline_that_does_not_vary_is_replaced_by_the_first_levels() {
    let mut study = presets::find("queue-depth").unwrap().unwrap().settled();
    let baseline = |study: &Study| make(study, vec![survey("a", 50_000)], 1).design.baseline;
    let depth = |level: &str| Arm::from([("queue_depth".to_owned(), level.to_owned())]);
    study.factors = [("queue_depth".to_owned(), ["4", "1"].map(str::to_owned).to_vec())].into();
    study.baseline = depth("1");
    assert_eq!(baseline(&study), depth("1"));
    study.baseline = [("threads".to_owned(), "1".to_owned())].into();
    assert_eq!(baseline(&study), depth("4"));
}

#[test]
fn all_targets_get_the_queue_depth_of_the_slowest() {
    let study = presets::check().unwrap();
    let plan = make(&study, vec![survey("slow", 250_000_000), survey("fast", 50_000)], 1);
    for workload in &plan.workloads {
        let mut others = plan.workloads.iter().filter(|other| other.name == workload.name);
        assert!(others.all(|other| other.work.in_flight() == workload.work.in_flight()));
    }
    assert!(plan.workloads.iter().any(|own| own.work.asked_in_flight() > own.work.in_flight()));
    let study = presets::find("small-files").unwrap().unwrap().settled();
    let plan = make(&study, vec![survey("slow", 250_000_000), survey("fast", 50_000)], 1);
    let [slow, .., fast] = plan.workloads.as_slice() else { panic!("two targets") };
    assert_eq!(slow.work.operations(), fast.work.operations());
}

#[test]
fn a_level_of_the_study_is_never_lowered() {
    let mut study = presets::find("queue-depth").unwrap().unwrap().settled();
    study.workload[0].work.set_span(Some("1 s".parse().unwrap()), None);
    for factor in ["queue_depth", "threads"] {
        let levels = ["1", "64"].map(str::to_owned).to_vec();
        study.factors = [(factor.to_owned(), levels)].into();
        study.baseline.clear();
        let mut survey = survey("a", 0);
        let keys = ["1", "64"].map(|level| format!("random-read {factor}={level}"));
        survey.pilot.operation_ns = keys.into_iter().map(|key| (key, 100_000_000)).collect();
        let plan = make(&study, vec![survey], 1);
        let deep = plan.workloads.iter().find(|work| work.arm[factor] == "64").unwrap();
        assert_eq!((deep.work.in_flight(), deep.work.asked_in_flight()), (64, 64), "{factor}");
        let note = deep.note.as_deref().unwrap();
        assert!(note.contains("64 operations in flight may not complete"), "{note}");
    }
}

#[test]
fn lead_ins_of_a_study_are_in_its_budget() {
    for lead_in in [LeadIn::Half, LeadIn::Full, LeadIn::None] {
        let mut study = presets::find("queue-depth").unwrap().unwrap().settled();
        study.warmup_trial = lead_in;
        study.budget = Some("5 min".parse().unwrap());
        for workload in &mut study.workload {
            workload.work.set_span(None, None);
        }
        let plan = make(&study, vec![survey("a", 50_000)], 1);
        let spent: u64 = plan.trials.iter().map(|trial| budget::expected_ns(&plan, trial)).sum();
        let whole = study.budget.unwrap().0;
        assert!(spent < whole && spent > whole * 4 / 5, "{lead_in:?}: {spent}");
    }
}

#[test]
fn trials_fit_the_budget() {
    for (budget, operation_ns) in
        [("15 s", 50_000), ("60 s", 50_000), ("15 s", 20_000_000), ("5 min", 1_000_000)]
    {
        let mut study = presets::check().unwrap();
        study.budget = Some(budget.parse::<Time>().unwrap());
        let plan = make(&study, vec![survey("a", operation_ns)], 1);
        let spent: u64 = plan
            .trials
            .iter()
            .map(|trial| {
                let work = plan.work_of(trial);
                plan.gap_ns + work.ramp_ns + work.time_ns
            })
            .sum();
        let whole = study.budget.unwrap().0;
        assert!(spent < whole, "{budget}: {spent}");
        assert!(spent > whole / 2, "{budget}: {spent}");
    }
}

#[test]
fn threads_stand_in_for_io_uring() {
    let study = presets::check().unwrap();
    let mut refused = survey("a", 100_000);
    refused.engine = EngineUse { name: Engine::Psync, note: Some("refused".to_owned()) };
    let plan = make(&study, vec![refused], 1);
    let deep = plan.workloads.iter().find(|workload| workload.name == "random-read-q32").unwrap();
    let io = io::IoPlan::of(&deep.work).unwrap();
    assert_eq!((io.threads, io.queue_depth, io.engine), (32, 1, Engine::Psync));
    assert_eq!(deep.note.as_deref(), Some("refused"));
}

#[test]
fn without_direct_io_the_page_cache_is_named() {
    let study = presets::check().unwrap();
    let mut buffered = survey("a", 100_000);
    buffered.direct = Presence::absent("tmpfs offers none");
    let plan = make(&study, vec![buffered], 1);
    assert!(plan.workloads.iter().all(|workload| !workload.work.touches().direct));
    assert!(plan.workloads[0].note.as_deref().unwrap().contains("page cache: tmpfs offers none"));
}

fn one_workload(change: impl Fn(&mut IoSpec)) -> Study {
    let mut study = presets::check().unwrap();
    study.workload.truncate(1);
    change(io::IoSpec::of_mut(&mut study.workload[0].work).unwrap());
    study
}

#[test]
fn a_rewrite_reads_writes_and_needs_a_written_area() {
    let study = one_workload(|io| io.mix = Mix::Rewrite);
    let plan = make(&study, vec![survey("a", 100_000)], 1);
    let planned = &plan.workloads[0];
    assert!(planned.reads() && planned.writes());
    let mut only_read = survey("a", 100_000);
    only_read.area.written = false;
    let plan = make(&study, vec![only_read], 1);
    assert!(plan.workloads.is_empty());
    assert!(plan.absent[0].reason.contains("cannot write"), "{}", plan.absent[0].reason);
}

#[test]
fn counted_operations_have_no_ramp_and_plans_without_them_look_as_before() {
    let counted = one_workload(|io| io.operations = Some(100));
    let plan = make(&counted, vec![survey("a", 100_000)], 1);
    let planned = &plan.workloads[0];
    assert_eq!((planned.work.operations(), planned.ramp_ns), (Some(100), 0));
    assert!(planned.time_ns > 0);
    let plain = make(&one_workload(|_| {}), vec![survey("a", 100_000)], 1);
    let text = serde_json::to_string(&plain).unwrap();
    assert!(!text.contains("operations") && !text.contains("rewrite"), "{text}");
}

#[test]
fn a_spread_that_does_not_fit_is_absent_with_its_reason() {
    let spread = |io: &mut IoSpec| {
        (io.pattern, io.operations, io.block_size) =
            (Pattern::Spaced, Some(100), Bytes(10 << 20).into());
        (io.queue_depth, io.threads) = (1, 1);
    };
    let reason = |study: &Study, length| {
        let mut survey = survey("a", 100_000);
        survey.area.length = length;
        let plan = make(study, vec![survey], 1);
        plan.absent.first().map(|absent| absent.reason.clone())
    };
    let study = one_workload(spread);
    assert_eq!(reason(&study, 1000 << 20), None);
    assert_eq!(
        reason(&study, 999 << 20).as_deref(),
        Some("the area of 999 MiB has only 99 blocks of 10 MiB, too few for 100 operations")
    );
    let deep = one_workload(|io| {
        spread(io);
        io.queue_depth = 2;
    });
    assert!(reason(&deep, 1 << 30).unwrap().contains("one operation at a time"));
    let endless = one_workload(|io| {
        spread(io);
        io.operations = None;
    });
    assert!(reason(&endless, 1 << 30).unwrap().contains("requires operations"));
}

/// Planned works of one workload under each of some levels of a factor, as plans store them.
fn planned_under(
    own: &Workload,
    factor: &str,
    levels: &[String],
    engine: Engine,
) -> Vec<io::IoPlan> {
    let mut study = presets::find("queue-depth").unwrap().unwrap();
    study.baseline.clear();
    study.question.clear();
    study.factors = [(factor.to_owned(), levels.to_vec())].into();
    study.workload = vec![own.clone()];
    let mut surveyed = survey("a", 100_000);
    surveyed.engine.name = engine;
    let plan = make(&study.settled(), vec![surveyed], 1);
    let works = plan.workloads.iter().filter(|own| !own.control);
    works.filter_map(|own| io::IoPlan::of(&own.work).cloned()).collect()
}

/// Keys of stored workloads that a level may change besides that of its factor.
const FOLLOWING: &[(&str, &[&str])] = &[
    ("queue_depth", &["depth", "asked_depth"]),
    ("threads", &["asked_depth"]),
    ("block_size", &["size_bytes", "sizes"]),
    ("compressibility", &["content"]),
    ("engine", &["engine"]),
];

#[test]
fn levels_differ_in_nothing_but_their_factor() {
    let sample = io::IoSpec { queue_depth: 8, ..io::IoSpec::default() };
    let mut own = presets::find("queue-depth").unwrap().unwrap().workload.remove(0);
    let mut compared = 0;
    let kind = KINDS.iter().find(|kind| kind.about.name == "io").unwrap();
    for parameter in (kind.parameters)() {
        let factor = parameter.about.name;
        let levels: Vec<serde_json::Value> = serde_json::from_str(parameter.example).unwrap();
        let levels: Vec<String> = levels
            .iter()
            .map(|level| level.as_str().map_or_else(|| level.to_string(), str::to_owned))
            .collect();
        for depth in [1, 8] {
            own.work = io::IoSpec { queue_depth: depth, ..sample.clone() }.into();
            let works = planned_under(&own, factor, &levels, Engine::IoUring);
            let stored: Vec<serde_json::Value> =
                works.iter().map(|work| serde_json::to_value(work).unwrap()).collect();
            for pair in stored.windows(2) {
                let [one, other] = [&pair[0], &pair[1]].map(|work| work.as_object().unwrap());
                let follows = FOLLOWING.iter().find(|(name, _)| *name == factor);
                let follows = follows.map_or(&[][..], |(_, keys)| keys);
                for key in one.keys().chain(other.keys()) {
                    let may_differ = key == factor || follows.contains(&key.as_str());
                    assert!(may_differ || one.get(key) == other.get(key), "{factor} changes {key}");
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn all_depths_of_a_comparison_have_one_engine() {
    let mut own = presets::find("queue-depth").unwrap().unwrap().workload.remove(0);
    let engines = |own: &Workload, levels: &[&str], offered| -> Vec<Engine> {
        let levels: Vec<String> = levels.iter().map(|level| (*level).to_owned()).collect();
        planned_under(own, "queue_depth", &levels, offered).iter().map(|io| io.engine).collect()
    };
    assert_eq!(engines(&own, &["1", "8"], Engine::IoUring), [Engine::IoUring; 2]);
    // One level needs no queue, and where io_uring is refused threads carry out all of them.
    assert_eq!(engines(&own, &["1"], Engine::IoUring), [Engine::Psync]);
    assert_eq!(engines(&own, &["1", "8"], Engine::Psync), [Engine::Psync; 2]);
    own.work.set("engine", "io_uring").unwrap().unwrap();
    assert_eq!(engines(&own, &["1", "2"], Engine::IoUring), [Engine::IoUring; 2]);
}
