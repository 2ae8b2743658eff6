//! Races of very many settings on the simulated drive: levels leave in a screen before them, and nothing grows
//! faster than the trials.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use assay_analysis::inference;
use assay_machine::system::Fake;
use assay_report::evidence::{self, Evidence};
use assay_report::html::{self, PagePlace};
use assay_report::{document, markdown, text};
use assay_runner::run::{self, Acting, Consented, Event, Finished, Looks, Request};
use assay_study::findings::race::{RaceAnswer, RaceEnd};
use assay_study::results::environment::Environment;
use assay_study::results::plan::Plan;
use assay_study::results::record::Trial;
use assay_study::results::vouch::{Purpose, vouch};
use assay_testkit::needs::{count, is_sampled};

use crate::races::{answer, findings, machine, raced, request};

/// Depths up to this number, each for so many copies of it; four servers are all at work from depth 4 on.
fn study(depths: usize, copies: usize, stop: &str) -> String {
    let list = |count: usize, name: &dyn Fn(usize) -> String| {
        (1..=count).map(|at| format!("\"{}\"", name(at))).collect::<Vec<_>>().join(", ")
    };
    format!(
        "format = \"assay-study/1\"\ntitle = \"Which depth?\"\nreplicates = 6\nseed = 5\nmargin = \"10%\"\n\
         stop = {{ rule = \"best\", {stop} }}\nbaseline = {{ queue_depth = \"1\", aa_copy = \"c1\" }}\n[factors]\n\
         queue_depth = [{}]\naa_copy = [{}]\n[[workload]]\nname = \"read\"\n\
         io = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"20 ms\" }}\n",
        list(depths, &|at: usize| at.to_string()),
        list(copies, &|at: usize| format!("c{at}"))
    )
}

/// 48 settings; a screen of three passes of 16.
fn screened() -> String {
    study(8, 6, "screen = true")
}

fn dropped(race: &RaceAnswer, factor: &str) -> Vec<String> {
    let screen = race.screen.as_ref().expect("a screen");
    let own = screen.levels.iter().filter(|own| own.eliminated && own.factor == factor);
    own.map(|own| own.level.clone()).collect()
}

#[test]
#[ignore = "nightly: 1 s"]
fn levels_leave_in_the_screen_and_every_view_says_what_was_not_looked_at() {
    let finished = raced(&screened());
    let found = findings(&finished);
    let race = answer(&found);
    let screen = race.screen.as_ref().expect("a screen");
    assert_eq!((screen.passes, screen.trials, screen.levels.len()), (3, 48, 14));
    let depths = dropped(race, "queue_depth");
    for depth in ["1", "2", "3"] {
        assert!(depths.iter().any(|own| own == depth), "{depth} stayed: {depths:?}");
    }
    assert!(depths.len() < 8);
    let winner = race.winner.as_ref().expect("a winner");
    assert!(winner["queue_depth"].parse::<u32>().unwrap() >= 4, "{winner:?}");
    // Whoever left with a level ran in no replicate; the baseline stays, although its depth left.
    assert!(screen.settings >= 17 && race.baseline_eliminated, "{}", screen.settings);
    for runner in &race.entries {
        let is_lost = depths.contains(&runner.configuration["queue_depth"])
            && runner.configuration != race.baseline;
        let left = runner.eliminated.as_ref();
        assert!(!is_lost || left.is_some_and(|own| own.dropped.is_some() && own.after == 0));
        assert!(!is_lost || runner.n == 0);
    }
    let said = found.summary.iter().find(|own| own.topic == "screen").expect("a sentence");
    let looked = "he screen ignores interactions";
    assert!(said.text.contains(looked) && said.text.contains("A screen of 48 trials"));
    let document = document::usual(&found);
    let page = html::page(&Evidence::bare(found.clone()), PagePlace::Alone);
    for told in [text::render(&document, 80, false), markdown::comment(&found), page] {
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(looked), "{told}");
    }
    let stored = serde_json::to_string(&found).unwrap();
    assert!(stored.contains(looked) && stored.contains("\"ratio_to_best\""));
}

#[test]
fn few_settings_have_no_use_for_a_screen() {
    let nothing = AtomicBool::new(false);
    for (text, wanted) in [
        (study(8, 5, "screen = true"), "more than 40 configurations"),
        (study(48, 1, "screen = true"), "two factors"),
    ] {
        let ran = run::run(&machine(), request(&text), &nothing, &mut |_| {});
        let failure = ran.err().expect("a mistake");
        assert!(failure.message.contains(wanted), "{failure}");
    }
}

fn interrupted_after(fake: &Fake, last: usize) -> Finished {
    let stop = AtomicBool::new(false);
    run::run(fake, request(&screened()), &stop, &mut |event| {
        if matches!(event, Event::TrialEnded { index, .. } if index == last) {
            stop.store(true, Ordering::Relaxed);
        }
    })
    .unwrap()
}

#[test]
#[ignore = "nightly: 5 s"]
fn a_screen_that_was_interrupted_goes_on_to_the_same_end() {
    let whole = raced(&screened());
    let expected = findings(&whole);
    let some = (5..whole.trials.len() - 1).step_by(19).zip(0..);
    for (last, _) in some.filter(|(_, at)| is_sampled(*at, 2)) {
        let fake = machine();
        let begun = interrupted_after(&fake, last);
        assert!(begun.interrupted);
        let under_way = findings(&begun);
        let race = answer(&under_way);
        assert!(race.end.is_none(), "after {last}");
        if race.screen.is_none() {
            assert!(race.text.contains("has not begun"), "{}", race.text);
        }
        let directory = Path::new("/var/lib/assay/results").join(&begun.id);
        let (stored, voucher) = vouch(&fake, &directory, Purpose::GoOn).unwrap();
        let acting = Acting { stored, voucher, directory };
        let going = AtomicBool::new(false);
        let looks = Looks { log: Some(inference::race_log), ..Looks::default() };
        let consented = Consented::default();
        let finished = run::resume(&fake, acting, &consented, looks, &going, &mut |_| {}).unwrap();
        assert_eq!(finished.plan, whole.plan);
        assert_eq!(findings(&finished), expected, "after {last}");
    }
}

static READ: AtomicUsize = AtomicUsize::new(0);

fn counted_log(plan: &Plan, environment: &Environment, trial: &Trial) -> Option<f64> {
    READ.fetch_add(1, Ordering::Relaxed);
    inference::race_log(plan, environment, trial)
}

struct Grown {
    trials: usize,
    read: usize,
    plan_bytes: usize,
    findings_bytes: usize,
    page_bytes: usize,
}

/// A race among depths for so many copies, which ends as soon as its rule may end it.
fn grown(copies: usize) -> Grown {
    let before = READ.load(Ordering::Relaxed);
    let text = study(50, copies, "indifference_zone = \"60%\"");
    // Kept nowhere: a file in memory is copied with each line that is added to it.
    let request = Request { results: None, log: Some(counted_log), ..request(&text) };
    let finished = run::run(&machine(), request, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let found = findings(&finished);
    assert_eq!(answer(&found).end, Some(RaceEnd::WithinZone));
    assert_eq!(answer(&found).entries.len(), 50 * copies);
    let plan_bytes = serde_json::to_string(&finished.plan).unwrap().len();
    let findings_bytes = serde_json::to_string(&found).unwrap().len();
    let mut whole = Evidence::bare(found);
    for (index, planned) in finished.plan.workloads.iter().enumerate() {
        let own = finished.trials.iter().filter(|trial| trial.workload == index);
        let own: Vec<&Trial> = own.collect();
        let series = vec![Vec::new(); own.len()];
        whole.trials.extend(evidence::trial_evidence(planned, &own, series));
        whole.latencies.extend(evidence::latencies(&finished.plan, &finished.environment, &own));
    }
    Grown {
        trials: finished.trials.len(),
        read: READ.load(Ordering::Relaxed) - before,
        plan_bytes,
        findings_bytes,
        page_bytes: html::page(&whole, PagePlace::Alone).len(),
    }
}

#[test]
#[ignore = "nightly: 8 s"]
fn a_race_of_many_settings_grows_with_its_trials_and_no_faster() {
    // In full a thousand settings.
    let sizes = [count(2, 5), count(8, 20)].map(|copies| copies as usize);
    let [small, large] = sizes.map(grown);
    // Three replicates of each, and a warm-up before each of these.
    for (copies, own) in sizes.into_iter().zip([&small, &large]) {
        assert_eq!(own.trials, 3 * (50 * copies + 1));
        assert_eq!(own.read, own.trials, "each trial is read once");
    }
    let times = |of: fn(&Grown) -> usize| of(&large) as f64 / of(&small) as f64;
    let trials = times(|own| own.trials);
    for (what, grown) in [
        ("plan", times(|own| own.plan_bytes)),
        ("findings", times(|own| own.findings_bytes)),
        ("page", times(|own| own.page_bytes)),
    ] {
        assert!(grown < 1.1 * trials, "{what}: {grown} for {trials}");
    }
    assert!(large.page_bytes < 2_000_000, "{} bytes", large.page_bytes);
}
