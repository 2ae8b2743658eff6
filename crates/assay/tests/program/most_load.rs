//! Maximum load under a latency limit on the simulated drive: a queue with one server and known values. Tests the plan
//! and the results, with and without interruption.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use assay_analysis::inference;
use assay_machine::system::Fake;
use assay_runner::run::{self, Acting, Consented, Event, Finished, Looks, Request};
use assay_study::file::limit::bracket::Standing;
use assay_study::file::text;
use assay_study::findings::Findings;
use assay_study::findings::most_load::MostLoad;
use assay_study::results::bundle;
use assay_study::results::course::{self, SEARCHES, STEPS};
use assay_study::results::vouch::{Purpose, vouch};

use crate::races::{findings, machine};

/// 5,000 operations per second, with random service times.
const DRIVE: &str = "simulated:exponential,mean=200us,servers=1";

fn study(limit: &str) -> String {
    of_work(limit, "")
}

fn of_work(limit: &str, more: &str) -> String {
    format!(
        "format = \"assay-study/1\"\ntitle = \"How much?\"\nseed = 11\n[[workload]]\nname = \"read\"\nio = {{ pattern \
         = \"random\", mix = \"read\", block_size = \"4 KiB\", queue_depth = 1024, runtime = \"2 s\"{more} \
         }}\n[[question]]\nkind = \"max-rate\"\nask = \"How much can it take?\"\nworkloads = [\"read\"]\nslo = \
         \"{limit}\"\n"
    )
}

fn request(limit: &str) -> Request<'static> {
    Request {
        results: Some(PathBuf::from("/var/lib/assay/results")),
        read: Some(inference::trial_metric),
        ..Request::bare(
            text::parse("test", &study(limit)).unwrap().settled(),
            vec![DRIVE.to_owned()],
        )
    }
}

fn interrupted_after(fake: &Fake, limit: &str, last: usize) -> Finished {
    let stop = AtomicBool::new(false);
    run::run(fake, request(limit), &stop, &mut |event| {
        if matches!(event, Event::TrialEnded { index, .. } if index == last) {
            stop.store(true, Ordering::Relaxed);
        }
    })
    .unwrap()
}

fn resumed(fake: &Fake, id: &str) -> Finished {
    let directory = Path::new("/var/lib/assay/results").join(id);
    let (stored, voucher) = vouch(fake, &directory, Purpose::GoOn).unwrap();
    let acting = Acting { stored, voucher, directory };
    let looks = Looks { read: Some(inference::trial_metric), ..Looks::default() };
    let (nothing, going) = (Consented::default(), AtomicBool::new(false));
    run::resume(fake, acting, &nothing, looks, &going, &mut |_| {}).unwrap()
}

fn found(findings: &Findings) -> &MostLoad {
    findings.answers.all[0].max_rate.as_ref().unwrap()
}

#[test]
#[ignore = "nightly: 1 s"]
fn the_bracket_is_about_what_a_queue_can_take() {
    let finished =
        run::run(&machine(), request("p99 < 4 ms"), &AtomicBool::new(false), &mut |_| {});
    let finished = finished.unwrap();
    let told = findings(&finished);
    let load = found(&told);
    let per_s = |name: Option<&str>| name.unwrap().trim_end_matches("/s").parse::<f64>().unwrap();
    let [holds, fails] =
        [&load.max_passing_rate, &load.min_failing_rate].map(|name| per_s(name.as_deref()));
    // Evenly spaced arrivals wait less than those of a Poisson process, whose limit is 3,849 per second.
    assert!(holds > 2500.0 && holds < fails && fails < 5300.0, "{holds} {fails}");
    assert!(load.rates.iter().all(|rate| rate.trials == 6), "{load:?}");
    // The search has no setting or cell, and is not shown.
    let rates: Vec<&str> = load.rates.iter().map(|rate| rate.rate.as_str()).collect();
    assert!(
        told.measurements
            .iter()
            .all(|cell| rates.contains(&cell.configuration[course::RATE].as_str()))
    );
    let mut trials = told.measurements.iter().flat_map(|cell| &cell.trials);
    assert!(trials.all(|one| one.replicate > 0), "a trial that searched stands in a cell");
    assert_eq!(told.study.factors[0].levels, rates);
    assert!(
        told.summary_texts()[0].contains("p99 < 4 ms: passes at"),
        "{:?}",
        told.summary_texts()
    );
    assert!(told.comparisons.iter().all(|one| one.verdict.is_none()), "rates are no choice");
    let searched = finished.trials.iter().filter(|trial| trial.replicate == 0).count();
    assert_eq!(searched, 1 + SEARCHES as usize);
    assert!(finished.plan.workloads.len() <= STEPS);
}

/// Random arrivals at one server: the p99 of the response is ln 100 over the unused service rate, or 4 ms at 3,849 per
/// second.
#[test]
#[ignore = "nightly: 1 s"]
fn with_starts_at_random_distances_the_bracket_holds_what_theory_says() {
    let text = of_work("p99 < 4 ms", ", arrival_process = \"poisson\"");
    let study = text::parse("test", &text).unwrap().settled();
    let request = Request { study, ..request("p99 < 4 ms") };
    let finished = run::run(&machine(), request, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let told = findings(&finished);
    let load = found(&told);
    let [holds, fails] = [&load.max_passing_rate, &load.min_failing_rate].map(|side| {
        let name = side.as_deref().unwrap_or_else(|| panic!("one side is missing: {load:?}"));
        course::per_s(name).unwrap()
    });
    let truth = 5000.0 - 100_f64.ln() / 4e-3;
    assert!(holds < truth && truth < fails, "{holds} {truth} {fails}");
    assert!(fails / holds < 2.0, "{holds} {fails}");
}

#[test]
#[ignore = "nightly: 6 s"]
fn wherever_it_was_interrupted_the_course_is_the_same() {
    let limit = "p99 < 4 ms";
    let whole = run::run(&machine(), request(limit), &AtomicBool::new(false), &mut |_| {}).unwrap();
    let expected = serde_json::to_string(&findings(&whole)).unwrap();
    let trials = whole.trials.len();
    // In the closed loop, in the search, at its end, in a replicate, and before the last trial.
    for last in [0, 3, 6, 7, 20, trials - 2] {
        let fake = machine();
        let begun = interrupted_after(&fake, limit, last);
        assert!(begun.interrupted);
        let finished = resumed(&fake, &begun.id);
        assert_eq!(finished.plan, whole.plan, "after {last}");
        assert_eq!(serde_json::to_string(&findings(&finished)).unwrap(), expected, "after {last}");
        // The stored plan is the drawn one, which readers of the result find.
        let stored =
            bundle::read(&fake, &Path::new("/var/lib/assay/results").join(&begun.id)).unwrap();
        assert_eq!((&stored.plan, stored.ended), (&whole.plan, whole.ended.clone()));
        let frame =
            bundle::frame(&fake, &Path::new("/var/lib/assay/results").join(&begun.id)).unwrap();
        assert_eq!(frame.plan, whole.plan);
    }
}

#[test]
fn a_study_that_is_not_done_says_nothing_of_its_limit() {
    let begun = interrupted_after(&machine(), "p99 < 4 ms", 20);
    let told = findings(&begun);
    assert!(
        told.answers.all.is_empty()
            && !told.summary_texts().iter().any(|text| text.contains("passes at"))
    );
}

#[test]
fn a_limit_that_is_long_beside_the_trials_is_refused() {
    let ended = run::run(&machine(), request("p99 < 1 s"), &AtomicBool::new(false), &mut |_| {});
    let message = ended.map(drop).unwrap_err().message;
    assert!(message.contains("too short for p99 < 1 s") && message.contains("20 s"), "{message}");
}

#[test]
#[ignore = "nightly: 1 s"]
fn a_limit_that_no_rate_holds_is_said_so() {
    let finished =
        run::run(&machine(), request("p99 < 10 us"), &AtomicBool::new(false), &mut |_| {}).unwrap();
    let told = findings(&finished);
    let load = found(&told);
    assert_eq!(load.max_passing_rate, None);
    assert!(load.rates.iter().all(|rate| rate.outcome == Standing::Exceeds), "{load:?}");
    assert!(
        told.summary_texts()[0].contains("no tested rate passes"),
        "{:?}",
        told.summary_texts()
    );
}
