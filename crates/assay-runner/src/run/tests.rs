//! The whole pipeline on the fake machine: every step may fail.

mod gone;
mod layers;
mod plans;
mod plug;
mod raced;
mod settings;
mod trims;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assay_testkit::needs::{count, is_in_full, is_sampled};

use super::known::{STUDY, able, machine, placed};
use super::*;
use assay_core::failure::{Kind, Outcome};
use assay_core::presence::Presence;
use assay_core::quantity::Bytes;
use assay_machine::probes::drive_health::Health;
use assay_machine::system::journal::{self, setting_value};
use assay_machine::system::{Fake, Faulty, System};
use assay_study::file::{Study, text};
use assay_study::results::bundle;
use assay_study::results::plan::PlannedWorkload;
use assay_study::results::record::{Status, Trial};
use assay_study::results::vouch::{Purpose, vouch};
use assay_workloads::io::{self, Mix, Pattern};

fn study() -> Study {
    let mut study = text::parse("test", STUDY).unwrap();
    // Smaller than users may request: hundreds of runs fill it.
    study.area.size = Some(Bytes(1 << 20));
    study
}

fn request(target: &str) -> Request<'static> {
    Request {
        results: Some(PathBuf::from("/var/lib/assay/results")),
        ..Request::bare(study(), vec![target.to_owned()])
    }
}

/// A study for one run per call: with each kind of call once, or every call of a study of normal size.
fn walked(mut request: Request<'static>) -> (Request<'static>, usize) {
    if !is_in_full() {
        request.study.replicates = 1;
        request.study.workload.truncate(1);
    }
    let arms: usize = request.study.factors.values().map(Vec::len).product();
    let lead_in = 1;
    let trials = request.study.replicates as usize * request.study.workload.len() * arms;
    (request, lead_in + trials)
}

pub(super) fn run_on(system: &dyn System, target: &str) -> Outcome<Finished> {
    run(system, request(target), &AtomicBool::new(false), &mut |_| {})
}

#[test]
fn a_study_runs_and_its_bundle_reads_the_same() {
    let fake = machine();
    let finished = run_on(&fake, "/home/me").unwrap();
    assert_eq!(finished.trials.len(), 7);
    assert_eq!(finished.trials[0].status, Status::Warmup);
    assert!(finished.trials.iter().all(|trial| trial.measured.is_some()));
    let stored =
        bundle::read(&fake, &Path::new("/var/lib/assay/results").join(&finished.id)).unwrap();
    assert_eq!(stored.plan, finished.plan);
    assert_eq!(stored.environment, finished.environment);
    assert_eq!(stored.study, finished.study);
    let records: Vec<_> = finished.trials.iter().collect();
    assert_eq!(stored.trials.iter().collect::<Vec<_>>(), records);
    assert_eq!(stored.trials[3].latency_ns, finished.trials[3].latency_ns);
}

#[test]
fn any_call_may_fail_and_nothing_is_worse_than_a_message() {
    let mut outcomes = [0_u32; 2];
    let (step, later) = (count(3, 1), count(9, 1));
    let mut k = 1;
    loop {
        let fake = machine();
        let faulty = Faulty::new(&fake, k, ErrorKind::PermissionDenied);
        let (request, trials) = walked(request("/home/me"));
        match run(&faulty, request, &AtomicBool::new(false), &mut |_| {}) {
            Ok(finished) => {
                outcomes[0] += 1;
                assert_eq!(finished.trials.len(), trials, "call {k}");
            }
            Err(failure) => {
                outcomes[1] += 1;
                assert!(!failure.message.contains('\n'), "call {k}: {}", failure.message);
            }
        }
        if !faulty.has_failed() {
            break;
        }
        // The first calls decide whether anything runs.
        k += u64::from(if k < 60 { step } else { later });
    }
    assert!(outcomes[0] > 20 && outcomes[1] > 0, "{outcomes:?}");
}

type HasCome = fn(&Event) -> bool;

/// Moments of a study with unfinished work: a journal of changes and a partly written area, an area without a plan, a
/// result without trials.
const BEFORE_THE_FIRST_TRIAL: [(&str, HasCome); 4] = [
    ("the area is being written", |event| matches!(event, Event::Filling { .. })),
    ("the pilot", |event| matches!(event, Event::Pilot { .. })),
    ("the plan was made", |event| matches!(event, Event::Planned { .. })),
    ("the first trial starts", |event| matches!(event, Event::TrialStarted { index: 0, .. })),
];

#[test]
fn a_stop_before_the_first_trial_keeps_nothing_half_done() {
    for (moment, has_come) in BEFORE_THE_FIRST_TRIAL {
        let fake = machine();
        // This test would not see an unnamed area.
        fake.refuse_unnamed();
        let before = fake.files();
        let stop = AtomicBool::new(false);
        let outcome = run(&fake, schedulers(&["mq-deadline", "none"]), &stop, &mut |event| {
            assert!(!matches!(event, Event::TrialEnded { .. }), "{moment}: it went on");
            if has_come(&event) {
                assert_ne!(fake.files(), before, "{moment}: there is nothing to keep");
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        });
        assert!(stop.into_inner(), "{moment} never came");
        is_interrupted_with_nothing(moment, outcome);
        assert_eq!(differing(&before, &fake.files()), [""; 0], "stopped when {moment}");
    }
}

type Files = std::collections::BTreeMap<PathBuf, String>;

/// Names of files that were added, removed or changed.
fn differing<'a>(before: &'a Files, after: &'a Files) -> Vec<&'a str> {
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    let differ = names.filter(|name| before.get(*name) != after.get(*name));
    differ.filter_map(|name| name.to_str()).collect()
}

#[test]
fn a_stop_before_the_start_begins_nothing() {
    let fake = machine();
    let counting = Faulty::dying(&fake, 0);
    let stop = AtomicBool::new(true);
    let outcome = run(&counting, request("/home/me"), &stop, &mut |event| {
        assert!(matches!(event, Event::Estimated { .. }), "{event:?}");
    });
    is_interrupted_with_nothing("it has not begun", outcome);
    assert_eq!(counting.calls(), 0, "something was changed");
}

/// A study ends as interrupted before its plan, or after it without trials and without a result.
fn is_interrupted_with_nothing(moment: &str, outcome: Outcome<Finished>) {
    match outcome {
        Err(failure) => assert_eq!(failure.kind.exit_code(), 130, "{moment}: {failure}"),
        Ok(finished) => {
            assert!(finished.interrupted && finished.trials.is_empty(), "{moment}");
            assert_eq!((finished.directory, finished.left), (None, None), "{moment}");
        }
    }
}

#[test]
fn a_result_without_trials_that_cannot_be_removed_can_be_gone_on_with() {
    let going = || AtomicBool::new(false);
    let stopped_at_once = |system: &dyn System| {
        let stop = going();
        run(system, request("/home/me"), &stop, &mut |event| {
            if matches!(event, Event::Planned { .. }) {
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        })
    };
    let fake = machine();
    let counting = Faulty::dying(&fake, 0);
    stopped_at_once(&counting).unwrap();
    // It dies while it removes the result: next it would only remove its area.
    let fake = machine();
    let dying = Faulty::dying(&fake, counting.calls() - 1);
    let finished = stopped_at_once(&dying).unwrap();
    let directory = finished.directory.expect("the result stayed");
    let (stored, voucher) = vouch(&fake, &directory, Purpose::GoOn).unwrap();
    assert_eq!(stored.trials.len(), 0);
    let (acting, nothing) = (Acting { stored, voucher, directory }, Consented::default());
    let resumed = resume(&fake, acting, &nothing, Looks::default(), &going(), &mut |_| {}).unwrap();
    assert_eq!(resumed.trials.len(), resumed.plan.trials.len());
}

#[test]
fn a_stop_in_the_middle_keeps_the_finished_trials() {
    let fake = machine();
    let stop = AtomicBool::new(false);
    let finished = run(&fake, request("/home/me"), &stop, &mut |event| {
        if matches!(event, Event::TrialEnded { index: 2, .. }) {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    })
    .unwrap();
    assert!(finished.interrupted);
    assert_eq!(finished.trials.len(), 3);
    assert_eq!(
        bundle::read(&fake, &Path::new("/var/lib/assay/results").join(&finished.id))
            .unwrap()
            .trials
            .len(),
        3
    );
}

#[test]
fn a_result_that_takes_no_more_says_which_trials_are_kept_and_can_be_gone_on_with() {
    let fake = machine();
    let mut warnings = Vec::new();
    let finished =
        run(&fake, request("/home/me"), &AtomicBool::new(false), &mut |event| match event {
            Event::TrialEnded { index: 4, .. } => {
                let id = fake.list(Path::new("/var/lib/assay/results")).unwrap().remove(0);
                fake.remove(format!("/var/lib/assay/results/{id}/histograms"));
            }
            Event::Warning(text) => warnings.push(text),
            _ => {}
        })
        .unwrap();
    assert_eq!((finished.trials.len(), finished.directory.as_deref()), (7, None));
    assert_eq!(finished.unkept.as_ref().unwrap().trials, 4);
    assert!(warnings.iter().any(|text| text.starts_with("the following trials")));
    let directory = Path::new("/var/lib/assay/results").join(&finished.id);
    let stored = bundle::frame(&fake, &directory).unwrap();
    assert_eq!(stored.ended, None, "an end in the log would keep it from being resumed");
    let lines = fake.read_text(&directory.join("trials.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 4);
}

#[test]
fn a_result_that_cannot_be_begun_leaves_nothing_behind() {
    let fake = machine();
    let before = fake.files().len();
    let finished = run_simulated(simulated(""));
    let directory = Path::new("/var/lib/assay/results/one");
    let (mut call, mut unkept) = (1, 0);
    loop {
        let full = Faulty::new(&fake, call, ErrorKind::StorageFull);
        let (study, plan) = (&finished.study, &finished.plan);
        let made = bundle::Bundle::create(&full, directory, study, plan, &finished.environment);
        if !full.has_failed() {
            break;
        }
        if made.is_err() {
            unkept += 1;
            assert_eq!(fake.files().len(), before, "call {call}");
            assert!(fake.status(directory).is_err(), "call {call}");
        }
        drop(made);
        fake.remove("/var/lib/assay/results");
        call += 1;
    }
    assert!(unkept > 3, "{unkept}");
}

#[test]
fn a_study_whose_result_cannot_be_stored_is_refused_before_its_first_trial() {
    let fake = machine();
    fake.put("/var/lib/assay/results", "a file in the way");
    let mut trials = 0;
    let ran = run(&fake, request("/home/me"), &AtomicBool::new(false), &mut |event| {
        trials += usize::from(matches!(event, Event::TrialStarted { .. }));
    });
    let refused = ran.err().unwrap();
    assert!(refused.message.contains("set ASSAY_HOME"), "{refused}");
    assert_eq!((refused.kind, trials), (Kind::Refused, 0));
}

#[test]
fn a_line_cut_off_by_a_crash_is_passed_over() {
    let fake = machine();
    let finished = run_on(&fake, "/home/me").unwrap();
    let directory = Path::new("/var/lib/assay/results").join(&finished.id);
    let text = fake.read_text(&directory.join("trials.jsonl")).unwrap();
    fake.put(directory.join("trials.jsonl"), &text[..text.len() - 40]);
    assert_eq!(bundle::read(&fake, &directory).unwrap().trials.len(), 6);
}

/// The partial record of a killed program is read as that trial, and replaced by the complete one.
#[test]
fn a_trial_is_kept_as_far_as_it_came() {
    let fake = machine();
    let finished = run_simulated(simulated(""));
    let directory = Path::new("/var/lib/assay/results/one");
    let (study, plan) = (&finished.study, &finished.plan);
    let made = bundle::Bundle::create(&fake, directory, study, plan, &finished.environment);
    let made = made.unwrap();
    let mut records = finished.trials.clone();
    for record in &mut records {
        // Their histograms are not in files here.
        record.histograms.clear();
        record.latency_ns.clear();
        record.series = None;
    }
    let stored = || bundle::read(&fake, directory).unwrap().trials;
    let none = assay_study::results::bundle::Histograms::new();
    made.so_far().keep(&records[0]).unwrap();
    assert_eq!(stored(), records[..1]);
    made.append(&mut records[0].clone(), &none, &[]).unwrap();
    assert_eq!(stored(), records[..1]);
    for _ in 0..2 {
        made.so_far().keep(&records[1]).unwrap();
        assert_eq!(stored(), records[..2]);
    }
    made.append(&mut records[1].clone(), &none, &[]).unwrap();
    made.append(&mut records[2].clone(), &none, &[]).unwrap();
    assert_eq!(stored(), records[..3]);
    made.so_far().keep(&records[3]).unwrap();
    drop(made);
    // A resumed study runs it again.
    let again = bundle::Bundle::reopen(&fake, directory).unwrap();
    assert_eq!(stored(), records[..3]);
    again.append(&mut records[3].clone(), &none, &[]).unwrap();
    assert_eq!(stored(), records[..4]);
}

#[test]
fn a_held_drive_is_refused_with_its_holder() {
    let fake = machine();
    for name in assay_machine::system::lock_names(
        &assay_machine::system::resolve(&fake, "/home/me").unwrap(),
    ) {
        fake.set_holder(&name, 4711, 1000);
    }
    let failure = run_on(&fake, "/home/me").err().expect("refused");
    assert_eq!(failure.kind.exit_code(), 3);
    assert!(
        failure.message.contains("4711") && failure.message.contains("another assay"),
        "{failure}"
    );
}

#[test]
fn leftovers_are_removed_and_told() {
    let fake = machine();
    fake.refuse_unnamed();
    fake.put_leftover("/home/me/.assay-area-0123456789abcdef", 1 << 20);
    let mut warnings = Vec::new();
    let finished = run(&fake, request("/home/me"), &AtomicBool::new(false), &mut |event| {
        if let Event::Warning(text) = event {
            warnings.push(text);
        }
    })
    .unwrap();
    assert!(
        warnings.iter().any(|text| text.contains(".assay-area-0123456789abcdef")),
        "{warnings:?}"
    );
    assert!(finished.plan.surveys[0].notes.iter().any(|note| note.contains("killed")));
    assert!(fake.leftovers(Path::new("/home/me")).unwrap().is_empty());
}

#[test]
fn a_panic_takes_the_area_away() {
    let fake = machine();
    fake.refuse_unnamed();
    let seen = |fake: &Fake| fake.list(Path::new("/home/me")).unwrap();
    let before = seen(&fake);
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run(&fake, request("/home/me"), &AtomicBool::new(false), &mut |event| {
            if matches!(event, Event::TrialStarted { index: 1, .. }) {
                assert_ne!(seen(&fake), before, "the area has a name");
                panic!("provoked");
            }
        })
    }));
    assert!(ended.is_err());
    assert_eq!(seen(&fake), before);
}

#[test]
fn a_loop_device_in_the_page_cache_is_told() {
    let text = include_str!("../../../assay-machine/tests/fixtures/machines/vm-virtio.txt");
    let notes = |dio: &str| {
        let fake = Fake::recorded(text).unwrap();
        fake.put("/sys/devices/virtual/block/loop0/loop/dio", dio);
        run_on(&fake, "/tmp/bench/mnt").unwrap().plan.surveys[0].notes.clone()
    };
    assert!(notes("0\n").iter().any(|note| note.contains("loop0 uses the page cache")));
    assert!(notes("1\n").is_empty());
}

fn simulated(more: &str) -> Request<'static> {
    let text = format!(
        "format = \"assay-study/1\"\ntitle = \"Depth\"\nseed = 3\nmargin = \"5%\"\n{more}\n\
         [factors]\nqueue_depth = [\"1\", \"2\"]\n[[workload]]\nname = \"read\"\n\
         io = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"20 ms\" }}\n"
    );
    Request {
        results: Some(PathBuf::from("/var/lib/assay/results")),
        ..Request::bare(
            text::parse("test", &text).unwrap(),
            vec!["simulated:fixed,mean=100us".to_owned()],
        )
    }
}

fn run_simulated(request: Request<'_>) -> Finished {
    run(&machine(), request, &AtomicBool::new(false), &mut |_| {}).unwrap()
}

fn replicates(finished: &Finished) -> u32 {
    finished.trials.iter().map(|trial| trial.replicate).max().unwrap()
}

#[test]
fn looks_are_taken_where_they_were_declared() {
    let looked = std::cell::RefCell::new(Vec::new());
    let judge = |_: &assay_study::results::Plan,
                 _: &assay_study::results::Environment,
                 trials: &[assay_study::results::Trial]| {
        let replicate = trials.last().unwrap().replicate;
        looked.borrow_mut().push(replicate);
        (replicate == 5).then(|| "enough".to_owned())
    };
    let stop = "stop = { rule = \"interim\", interim_at = [3, 5, 8] }";
    let finished = run_simulated(Request { interim: Some(&judge), ..simulated(stop) });
    assert_eq!(*looked.borrow(), [3, 5]);
    assert_eq!((replicates(&finished), finished.ended.as_deref()), (5, Some("enough")));
    assert_eq!(finished.plan.replicates, 8);
}

#[test]
fn open_stopping_looks_after_every_replicate_and_fixed_never() {
    let count = std::cell::Cell::new(0);
    let judge = |_: &assay_study::results::Plan,
                 _: &assay_study::results::Environment,
                 _: &[assay_study::results::Trial]| {
        count.set(count.get() + 1);
        None
    };
    let open = "replicates = 4\nstop = { rule = \"decided\" }";
    let finished = run_simulated(Request { interim: Some(&judge), ..simulated(open) });
    // After the last one there is nothing to decide.
    assert_eq!((count.get(), replicates(&finished), finished.ended), (3, 4, None));
    count.set(0);
    run_simulated(Request { interim: Some(&judge), ..simulated("replicates = 4") });
    assert_eq!(count.get(), 0);
}

#[test]
fn a_study_that_ended_says_so_in_its_log() {
    let fake = machine();
    let going = AtomicBool::new(false);
    let finished = run(&fake, simulated("replicates = 3"), &going, &mut |_| {}).unwrap();
    let directory = Path::new("/var/lib/assay/results").join(&finished.id);
    assert_eq!(bundle::read(&fake, &directory).unwrap().ended.as_deref(), Some(""));
}

#[test]
fn a_preview_touches_nothing_and_plans_the_same_trials() {
    let fake = machine();
    let before = fake.list(Path::new("/home/me")).unwrap();
    let seen =
        preview(&fake, study(), &["/home/me".to_owned()], &Consented::default(), None).unwrap();
    let (plan, sites) = (seen.plan, seen.sites);
    assert_eq!(fake.list(Path::new("/home/me")).unwrap(), before);
    assert_eq!(sites.len(), 1);
    let finished = run_on(&fake, "/home/me").unwrap();
    let order = |plan: &assay_study::results::Plan| -> Vec<(u32, usize)> {
        plan.trials.iter().map(|trial| (trial.replicate, trial.workload)).collect()
    };
    assert_eq!(order(&plan), order(&finished.plan));
}

#[test]
fn rewrites_and_spread_reads_run_and_are_kept() {
    let fake = machine();
    let text = STUDY.replace(
        "\"write\", block_size = \"4 KiB\", runtime = \"2 ms\"",
        "\"rewrite\", block_size = \"4 KiB\", runtime = \"2 ms\"",
    ) + r#"
[[workload]]
name = "surface"
io   = { pattern = "spaced", mix = "read", block_size = "64 KiB", operations = 100, runtime = "60 s" }
"#;
    let mut asked = request("/home/me");
    asked.study = text::parse("test", &text).unwrap();
    let finished = run(&fake, asked, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let stored =
        bundle::read(&fake, &Path::new("/var/lib/assay/results").join(&finished.id)).unwrap();
    assert_eq!(stored.trials.len(), 10);
    for trial in &stored.trials {
        let workload = &stored.plan.workloads[trial.workload];
        let measured = trial.measured.as_ref().unwrap();
        let (planned, counted) =
            (io::IoPlan::of(&workload.work).unwrap(), io::IoDetail::of(measured).unwrap());
        let samples = if planned.pattern == Pattern::Spaced { 100 } else { 0 };
        assert_eq!(counted.sample_latencies_ns.len(), samples, "{}", workload.name);
        if planned.mix == Mix::Rewrite {
            assert_eq!(measured.claims.read, measured.claims.write);
            assert!(counted.classes["rewrite"].operations > 0);
            assert!(trial.latency_ns.contains_key("rewrite"));
        }
    }
    let mix = |workload: &PlannedWorkload| io::IoPlan::of(&workload.work).unwrap().mix;
    assert!(stored.plan.workloads.iter().any(|workload| mix(workload) == Mix::Rewrite));
}

/// A background load for the first workload of a study.
fn with_others(mut request: Request<'static>, time: &str) -> Request<'static> {
    let first = &mut request.study.workload[0];
    let io = io::IoSpec::of(&first.work).unwrap().clone();
    first.work.set_span(time.parse().ok(), io.ramp_time);
    let other = io::IoSpec { runtime: None, ramp_time: None, operations: None, ..io };
    first.background = Some(io::IoSpec { mix: Mix::WRITES, direct: false, ..other });
    request
}

#[test]
fn others_work_is_counted_beside_and_belongs_to_what_is_claimed() {
    let ran = |time| {
        let fake = machine();
        let asked = with_others(request("/home/me"), time);
        let finished = run(&fake, asked, &AtomicBool::new(false), &mut |_| {}).unwrap();
        bundle::read(&fake, &Path::new("/var/lib/assay/results").join(&finished.id)).unwrap()
    };
    let worked = |trial: &Trial| {
        let background = trial.background.as_ref();
        background.is_none_or(|background| background.operations() > 0)
    };
    // Long enough for both to overlap on a busy machine.
    let mut stored = ran("60 ms");
    for time in ["500 ms", "4 s"] {
        if !stored.trials.iter().all(worked) {
            stored = ran(time);
        }
    }
    let first = &stored.study.workload[0].name;
    for trial in &stored.trials {
        let workload = &stored.plan.workloads[trial.workload];
        let measured = trial.measured.as_ref().unwrap();
        assert_eq!(trial.background.is_some(), workload.name == *first);
        let Some(background) = &trial.background else { continue };
        assert!(background.operations() > 0 && measured.operations() > 0);
        assert!(trial.claims().write.bytes >= background.claims.write.bytes);
        let area = stored.plan.surveys[workload.target].area;
        let [own, other] = area.halves();
        assert_eq!(own.start + own.length, other.start);
        assert_eq!(own.length + other.length, area.length);
    }
}

#[test]
fn simulated_work_beside_is_the_same_each_time() {
    let [one, two] = [(); 2].map(|()| run_simulated(with_others(simulated(""), "60 ms")));
    let counts = |finished: &Finished| {
        let own = |trial: &Trial| (trial.measured.clone(), trial.background.clone());
        finished.trials.iter().map(own).collect::<Vec<_>>()
    };
    assert_eq!(counts(&one), counts(&two));
    assert!(counts(&one).iter().any(|(_, background)| background.is_some()));
}

/// The same study with two schedulers, on a drive whose queue depth is not a default.
fn schedulers(levels: &[&str]) -> Request<'static> {
    let mut request = request("/home/me");
    let levels = levels.iter().map(|&level| level.to_owned()).collect();
    request.study.factors.insert("scheduler".to_owned(), levels);
    request.study.replicates = 2;
    request.study.baseline = [("scheduler".to_owned(), "mq-deadline".to_owned())].into();
    request
}

fn queue(fake: &Fake, name: &str) -> String {
    let path = format!("/sys/class/block/sda/queue/{name}");
    setting_value(&fake.read_text(Path::new(&path)).unwrap())
}

fn is_put_back(fake: &Fake) -> bool {
    queue(fake, "scheduler") == "mq-deadline" && queue(fake, "nr_requests") == "64"
}

#[test]
fn a_level_is_the_same_whichever_one_it_follows_and_all_is_put_back() {
    let fake = machine();
    assert!(is_put_back(&fake));
    let mut seen = std::collections::BTreeSet::new();
    let finished =
        run(&fake, schedulers(&["mq-deadline", "none"]), &AtomicBool::new(false), &mut |event| {
            if matches!(event, Event::TrialEnded { .. }) {
                seen.insert((queue(&fake, "scheduler"), queue(&fake, "nr_requests")));
            }
        });
    assert!(finished.unwrap().trials.iter().all(|trial| trial.measured.is_some()));
    // Neither of them has a default queue depth of 64.
    let pair = |scheduler: &str, depth: &str| (scheduler.to_owned(), depth.to_owned());
    assert_eq!(seen, [pair("mq-deadline", "256"), pair("none", "128")].into());
    assert!(is_put_back(&fake));
    assert!(fake.list(Path::new("/var/lib/assay/journal")).unwrap().is_empty());
}

#[test]
fn levels_that_cannot_be_had_are_left_out_and_a_baseline_is_refused() {
    let fake = machine();
    let stop = AtomicBool::new(false);
    let levels = ["mq-deadline", "bfq", "none"];
    let finished = run(&fake, schedulers(&levels), &stop, &mut |_| {}).unwrap();
    let reasons: Vec<&str> =
        finished.plan.absent.iter().map(|absent| absent.reason.as_str()).collect();
    assert!(!reasons.is_empty());
    assert!(reasons.iter().all(|reason| reason.contains("the kernel refused bfq")), "{reasons:?}");
    assert!(is_put_back(&fake));
    let mut request = schedulers(&["mq-deadline", "bfq"]);
    request.study.baseline = [("scheduler".to_owned(), "bfq".to_owned())].into();
    let failure = run(&fake, request, &stop, &mut |_| {}).err().unwrap();
    assert!(failure.message.starts_with("the baseline scheduler=bfq is unavailable"));
    assert!(is_put_back(&fake));
}

#[test]
fn over_an_unfinished_journal_nothing_starts() {
    let fake = machine();
    {
        let dying = Faulty::dying(&fake, 12);
        let stop = AtomicBool::new(false);
        let _ = run(&dying, schedulers(&["none", "mq-deadline"]), &stop, &mut |_| {});
        assert!(dying.has_failed());
    }
    let failure = run_on(&fake, "/home/me").err().unwrap();
    assert!(failure.message.ends_with("run assay restore first"), "{}", failure.message);
    for left in journal::unfinished(&fake, Path::new("/var/lib/assay/journal")).unwrap() {
        assert_eq!(journal::restore(&fake, &left).unwrap().failed, Vec::<String>::new());
    }
    assert!(is_put_back(&fake));
    run_on(&fake, "/home/me").unwrap();
}

/// Any single call may fail: the journal restores what was not restored immediately.
#[test]
fn any_call_may_fail_and_the_machine_is_put_back() {
    let (step, later) = (count(6, 1), count(42, 7));
    let mut call = 1;
    loop {
        let fake = machine();
        let faulty = Faulty::new(&fake, call, ErrorKind::Other);
        let stop = AtomicBool::new(false);
        let (request, _) = walked(schedulers(&["none", "mq-deadline"]));
        let _ = run(&faulty, request, &stop, &mut |_| {});
        if !faulty.has_failed() {
            break;
        }
        for left in journal::unfinished(&fake, Path::new("/var/lib/assay/journal")).unwrap() {
            assert_eq!(journal::restore(&fake, &left).unwrap().failed, Vec::<String>::new());
        }
        let now = (queue(&fake, "scheduler"), queue(&fake, "nr_requests"));
        assert!(is_put_back(&fake), "after call {call}: {now:?}");
        call += u64::from(if call < 200 { step } else { later });
    }
    assert!(call > 200, "{call}");
}

#[test]
fn every_preset_dry_runs() {
    use assay_study::file::{presets, without};
    for (name, study) in presets::all() {
        let study = study.unwrap().settled();
        let quick = Some(assay_study::plan::allocation::Quick { replicates: None });
        let short = placed(study.clone().quick().settled());
        for (study, quick) in [(placed(study), None), (short, quick)] {
            let fake = able();
            let looks = assay_study::plan::most_load::limit(&study).is_some();
            let StudyPreview { study, plan, .. } =
                preview(&fake, study, &[".".to_owned()], &Consented::default(), quick).unwrap();
            let all = without::grid(&study.factors);
            let constraints = without::constraints(&study);
            let (arms, left_out) = without::exclude(all, &constraints, &study.baseline);
            let arms = if looks { assay_study::results::course::STEPS } else { arms.len() };
            let cells = arms * study.workload.len();
            let replicates = study.replicates as usize;
            // Work on a whole device runs once.
            assert!(replicates >= 3 || study.needs_whole(), "{name}: {replicates}");
            let told = left_out.iter().filter(|count| **count > 0).count();
            assert_eq!(plan.absent.len(), told, "{name}: {:?}", plan.absent);
            let own = plan.workloads.iter().filter(|work| !work.control).count();
            assert_eq!(own, cells, "{name}");
            let counted = plan.trials.iter().filter(|trial| !trial.is_lead_in()).count();
            assert_eq!(counted, replicates * plan.workloads.len(), "{name}");
            assert_eq!(plan.design.questions, study.question, "{name}");
        }
    }
}

/// smartctl's output for a drive with some bytes written and some wear.
fn smart(written: u64, left: u64) -> String {
    format!(
        r#"{{"logical_block_size":512,"ata_smart_attributes":{{"table":[
        {{"id":231,"name":"SSD_Life_Left","value":{left},"raw":{{"value":0}}}},{{"id":241,"name":"Total_LBAs_Written","value":99,
          "raw":{{"value":{written},"string":"{written}"}}}}]}}}}"#
    )
    .replace('\n', "")
}

#[test]
fn a_study_of_energy_rests_first_and_tells_what_each_trial_used() {
    const ZONE: &str = "/sys/class/powercap/intel-rapl:0";
    let fake = machine();
    fake.put(format!("{ZONE}/name"), "package-0\n");
    fake.put(format!("{ZONE}/max_energy_range_uj"), "262143328850\n");
    // Each reading adds two joules.
    fake.put_readings(
        format!("{ZONE}/energy_uj"),
        (0..200_u64).map(|reading| (reading * 2_000_000).to_string()),
    );
    let mut request = request("/home/me");
    request.study.probes = vec!["energy".to_owned()];
    let began_ns = fake.monotonic_ns();
    let finished = run(&fake, request, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert!(fake.monotonic_ns() - began_ns >= 10_000_000_000);
    let idle = finished.environment.surroundings.idle.value().unwrap();
    assert_eq!((idle.joules, idle.span_ns), (2.0, 10_000_000_000));
    for trial in &finished.trials {
        let energy = trial.evidence.energy.value().unwrap();
        assert_eq!((energy.joules, energy.source.as_str()), (2.0, "powercap"));
    }
}

#[test]
fn who_looks_on_is_kept_with_the_environment() {
    let fake = machine();
    let mut request = request("/home/me");
    request.observer = Some("a page".to_owned());
    let finished = run(&fake, request, &AtomicBool::new(false), &mut |_| {}).unwrap();
    let stored = bundle::frame(&fake, finished.directory.as_deref().unwrap()).unwrap();
    assert_eq!(stored.environment.observer.as_deref(), Some("a page"));
}

#[test]
fn the_drives_are_asked_before_and_after_and_both_are_kept() {
    let fake = machine();
    fake.add(&format!("smartctl /dev/sda {}", smart(1000, 98))).unwrap();
    let mut worn = false;
    let finished = run(&fake, request("/home/me"), &AtomicBool::new(false), &mut |event| {
        if matches!(event, Event::TrialEnded { .. }) && !worn {
            fake.add(&format!("smartctl /dev/sda {}", smart(5000, 97))).unwrap();
            worn = true;
        }
    })
    .unwrap();
    let found = &finished.environment.surroundings;
    let wear = |all: &std::collections::BTreeMap<String, Presence<Health>>| {
        all["sda"].value().map(|health| (health.used_percent, health.written_bytes))
    };
    assert_eq!(wear(&found.health_before), Some((Some(2), Some(512_000))));
    assert_eq!(wear(&found.health_after), Some((Some(3), Some(2_560_000))));
    let stored =
        bundle::read(&fake, &Path::new("/var/lib/assay/results").join(&finished.id)).unwrap();
    assert_eq!(stored.environment, finished.environment);
}
