use super::screen::{self, LevelDifference};
use super::*;
use crate::file::text;
use crate::plan::{self, tests::survey};
use crate::results::design::Factor;
use crate::results::plan::{Arm, Refusal, Survey};
use assay_core::draws::Draws;

/// 96 configurations: six copies, four sizes, four numbers of threads.
fn text(screen: bool) -> String {
    format!(
        "format = \"assay-study/1\"\ntitle = \"t\"\nreplicates = 12\nmargin = \"5%\"\n\
         stop = {{ rule = \"best\", screen = {screen} }}\n[factors]\n\
         aa_copy = [\"c0\", \"c1\", \"c2\", \"c3\", \"c4\", \"c5\"]\n\
         block_size = [\"4 KiB\", \"8 KiB\", \"16 KiB\", \"32 KiB\"]\nthreads = [1, 2, 3, 4]\n[[workload]]\n\
         name = \"w\"\nio = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }}\n"
    )
}

fn planned_of(text: &str, refused: Vec<Refusal>) -> Plan {
    let survey = Survey { refused, ..survey("here", 1) };
    plan::make(&text::parse("test", text).unwrap(), vec![survey], 9)
}

fn planned() -> Plan {
    planned_of(&text(true), Vec::new())
}

/// How far a setting is ahead: by its copy and by its size, and not by its threads.
fn truth(arm: &Arm) -> f64 {
    let copy = if arm["aa_copy"] == "c4" { 0.3 } else { 0.0 };
    let size = if arm["block_size"] == "16 KiB" { 0.2 } else { 0.0 };
    copy + size
}

/// The logarithm that a trial measures.
fn noisy(trial: &PlannedTrial) -> f64 {
    let mut draws = Draws::new(trial.seed, "a test");
    truth(&trial.arm) + (draws.below(1000) as f64 / 1000.0 - 0.5) * 0.02
}

/// All alike, to the last digit.
fn equal(_: &PlannedTrial) -> f64 {
    0.0
}

fn all_well(_: &PlannedTrial) -> Status {
    Status::Ok
}

fn raced_as(
    plan: &Plan,
    fate: &dyn Fn(&PlannedTrial) -> Status,
    log: &dyn Fn(&PlannedTrial) -> f64,
) -> (Vec<Run>, Vec<PlannedTrial>, Race) {
    let (mut runs, mut trials) = (Vec::new(), Vec::new());
    loop {
        let at = race(plan, &runs).unwrap();
        if at.next.is_empty() {
            return (runs, trials, at);
        }
        for (trial, repeats) in &at.next {
            let status = if trial.is_lead_in() { Status::Warmup } else { fate(trial) };
            runs.push(Run {
                order: trial.order,
                replicate: trial.replicate,
                arm: trial.workload,
                status,
                repeats: *repeats,
                log: status.counts().then(|| log(trial)),
                harmed: false,
            });
            trials.push(trial.clone());
        }
    }
}

fn raced(plan: &Plan) -> (Vec<Run>, Vec<PlannedTrial>, Race) {
    raced_as(plan, &all_well, &noisy)
}

fn lost(plan: &Plan, race: &Race) -> Vec<String> {
    let levels = &race.screen.as_ref().expect("a screen").levels;
    let name =
        |own: &screen::ScreenLevel| plan.design.factors[own.factor].levels[own.level].clone();
    levels.iter().filter(|own| own.left).map(name).collect()
}

#[test]
fn a_screen_has_six_passes_and_no_more_trials_than_settings() {
    let passes = |levels: &[usize]| {
        let factor = |count: &usize| Factor {
            name: "f".to_owned(),
            levels: (0..*count).map(|level| level.to_string()).collect(),
        };
        let arms = levels.iter().product();
        screen::passes(&levels.iter().map(factor).collect::<Vec<Factor>>(), arms)
    };
    // 200 settings in passes of 16, 48 in passes of 8, 42 in passes of 14, 82 in one.
    assert_eq!([passes(&[8, 5, 5]), passes(&[4, 3, 4]), passes(&[7, 6])], [6, 6, 3]);
    assert_eq!([passes(&[41, 2]), passes(&[5]), passes(&[])], [1, 1, 1]);
}

#[test]
fn each_trial_is_of_another_setting_and_passes_have_all_levels_alike() {
    let plan = planned();
    assert_eq!((plan.design.stopping.passes(), plan.replicates), (6, 18));
    let own = |pass: u32| {
        let of_pass = move |trial: &&PlannedTrial| trial.replicate == pass && !trial.is_lead_in();
        plan.trials.iter().filter(of_pass)
    };
    let mut seen = BTreeSet::new();
    for pass in 1..=6 {
        assert_eq!(own(pass).count(), 12, "pass {pass}");
        for factor in &plan.design.factors {
            let came = |level: &String| {
                own(pass).filter(|trial| trial.arm[&factor.name] == *level).count()
            };
            let counts: Vec<usize> = factor.levels.iter().map(came).collect();
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 3, "pass {pass}, {}: {counts:?}", factor.name);
        }
        seen.extend(own(pass).map(|trial| trial.workload));
    }
    assert_eq!(seen.len(), 72, "a setting came twice");
    // Every replicate of the race has all arms.
    assert!((7..=18).all(|replicate| own(replicate).count() == 96));
    let leads = plan.trials.iter().filter(|trial| trial.is_lead_in());
    assert_eq!(leads.count(), 18, "each pass begins with a warm-up, too");
}

#[test]
fn without_a_screen_a_plan_is_what_it_was() {
    let plain = planned_of(&text(false), Vec::new());
    assert_eq!((plain.design.stopping.passes(), plain.replicates), (0, 12));
    let race = race(&plain, &[]).unwrap();
    assert_eq!((race.screen.clone(), race.pass(&plain)), (None, None));
    let stored = serde_json::to_string(&plain.design.stopping).unwrap();
    assert!(!stored.contains("screen"), "{stored}");
    // The race uses the arms drawn for the screen.
    let screened = planned();
    let order = |plan: &Plan, from: u32| -> Vec<usize> {
        let own = plan.trials.iter().filter(|trial| trial.replicate > from);
        own.map(|trial| trial.workload).collect()
    };
    assert_eq!(order(&plain, 0), order(&screened, 6));
}

#[test]
fn levels_that_are_behind_leave_with_their_settings_and_the_best_wins() {
    let plan = planned();
    let (runs, trials, end) = raced(&plan);
    let best: Vec<&str> = vec!["c4", "16 KiB"];
    let gone = lost(&plan, &end);
    for level in ["c0", "c1", "c2", "c3", "c5", "4 KiB", "8 KiB", "32 KiB"] {
        assert!(gone.iter().any(|own| own == level), "{level} stayed: {gone:?}");
    }
    assert!(!gone.iter().any(|own| best.contains(&own.as_str())), "{gone:?}");
    let winner = &plan.workloads[end.standing.leader.unwrap()].arm;
    assert_eq!([winner["aa_copy"].as_str(), winner["block_size"].as_str()], ["c4", "16 KiB"]);
    // Whoever has a lost level runs in no replicate, but for the baseline.
    let of_race = trials.iter().filter(|trial| trial.replicate > 6 && trial.replicate <= 18);
    for trial in of_race {
        let is_lost = gone.iter().any(|own| trial.arm.values().any(|level| level == own));
        assert!(!is_lost || trial.workload == 0, "{:?}", trial.arm);
    }
    assert!(trials.iter().any(|trial| trial.replicate > 6 && trial.workload == 0));
    assert!(end.standing.is_in(0) && end.standing.baseline_behind.is_some());
    assert!(runs.len() < 110, "{}", runs.len());
    // The estimated differences match the simulated ones.
    let screen = end.screen.as_ref().unwrap();
    let c0 = screen.levels.iter().find(|own| (own.factor, own.level) == (0, 0)).unwrap();
    let LevelDifference { by, width } = c0.beside.unwrap();
    assert!((by + 0.3).abs() < width && width < 0.03, "{by} {width}");
    assert_eq!(screen.trials, 72);
}

#[test]
fn among_equal_settings_no_level_leaves() {
    let plan = planned();
    let (_, _, end) = raced_as(&plan, &all_well, &equal);
    assert_eq!(lost(&plan, &end), Vec::<String>::new());
    assert!(end.standing.left.iter().flatten().all(|left| left.after > 0));
}

#[test]
fn whoever_goes_on_in_a_screen_or_after_it_runs_what_would_have_run() {
    let plan = planned();
    let disturbed = |trial: &PlannedTrial| match trial.seed % 9 {
        0 => Status::Disturbed,
        1 => Status::Failed,
        _ => Status::Ok,
    };
    let (mut runs, trials, end) = raced_as(&plan, &disturbed, &noisy);
    for (at, wanted) in trials.iter().enumerate() {
        let so_far = race(&plan, &runs[..at]).unwrap();
        assert_eq!(so_far.next.first().map(|(trial, _)| trial), Some(wanted), "{at}");
        assert_eq!(so_far.screen.is_some(), so_far.pass(&plan).is_none(), "{at}");
    }
    let again = runs.iter().filter(|run| run.repeats.is_some_and(|of| of.replicate <= 6));
    assert!(again.count() > 0, "nothing of a pass ran again");
    Draws::new(3, "a test").shuffle(&mut runs);
    assert_eq!(race(&plan, &runs).unwrap(), end);
}

#[test]
fn a_level_without_numbers_leaves_where_others_have_some() {
    let plan = planned();
    let dead = |trial: &PlannedTrial| {
        if trial.arm["block_size"] == "8 KiB" { Status::Failed } else { Status::Ok }
    };
    let (_, _, end) = raced_as(&plan, &dead, &equal);
    assert_eq!(lost(&plan, &end), ["8 KiB"]);
    let levels = &end.screen.as_ref().unwrap().levels;
    let own = levels.iter().find(|own| own.left).unwrap();
    assert_eq!((own.n, own.beside), (0, None));
    // Without numbers there is no result.
    let (_, _, end) = raced_as(&plan, &|_| Status::Failed, &equal);
    assert_eq!(lost(&plan, &end), Vec::<String>::new());
}

#[test]
fn effects_that_always_come_together_let_nobody_go() {
    // Each of the two sizes has its own copy, so copy and size are confounded.
    let apart = |copy: &str, size: &str| Refusal {
        levels: Arm::from([
            ("aa_copy".to_owned(), copy.to_owned()),
            ("block_size".to_owned(), size.to_owned()),
        ]),
        reason: "not here".to_owned(),
    };
    let copies = ["c0", "c1", "c2", "c3", "c4"];
    let mut refused: Vec<Refusal> = copies.map(|copy| apart(copy, "32 KiB")).into();
    refused.extend(["4 KiB", "8 KiB", "16 KiB"].map(|size| apart("c5", size)));
    let plan = planned_of(&text(true), refused);
    assert_eq!(plan.workloads.len(), 64);
    let (_, _, end) = raced(&plan);
    assert_eq!(lost(&plan, &end), Vec::<String>::new());
    assert!(end.screen.unwrap().levels.iter().all(|own| own.beside.is_none()));
}

#[test]
fn where_the_best_levels_cannot_be_had_together_all_settings_race() {
    let refused = vec![Refusal {
        levels: Arm::from([
            ("aa_copy".to_owned(), "c4".to_owned()),
            ("block_size".to_owned(), "16 KiB".to_owned()),
        ]),
        reason: "not here".to_owned(),
    }];
    let plan = planned_of(&text(true), refused);
    let (_, _, end) = raced(&plan);
    assert_eq!(lost(&plan, &end), Vec::<String>::new());
    let winner = &plan.workloads[end.standing.leader.unwrap()].arm;
    assert_eq!(winner["aa_copy"], "c4", "the larger of the two effects");
}

#[test]
fn a_screen_is_for_many_settings_of_several_factors() {
    let mut plan = planned();
    assert_eq!(unscreenable(&plan), None);
    plan.workloads.truncate(41);
    assert_eq!(unscreenable(&plan), None);
    plan.workloads.truncate(40);
    assert!(unscreenable(&plan).is_some_and(|why| why.contains("more than 40 configurations")));
    assert!(mistake(&plan).is_some_and(|why| why.contains("stop.screen")));
    let mut one = planned();
    one.design.factors.truncate(1);
    assert!(unscreenable(&one).is_some_and(|why| why.contains("two factors")));
    let mut plain = planned_of(&text(false), Vec::new());
    plain.workloads.truncate(3);
    assert_eq!(unscreenable(&plain), None);
}
