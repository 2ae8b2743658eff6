//! Tests that all commands that run trials end alike if trials are lost: with exit code 5 (3 if no trial ran) and a
//! message about the stored result.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::running;
use super::{PAGE_COLUMNS, dispatch, read};
use assay_core::failure::{Kind, Outcome};
use assay_core::presence::Presence;
use assay_machine::system::execute::{CpuCounts, Ending, Happened, HeardOutput};
use assay_machine::system::{Executed, Fake, Faulty, System};
use assay_runner::run::{self, Event, Request, known};
use assay_study::file::text;
use assay_study::results::bundle;
use assay_testkit::needs::is_sampled;
use assay_workloads::KindEntry;
use assay_workloads::check_option::{CheckOption, Values, by_option, takes_all};

const ON_A_TARGET: [&str; 5] = [
    "assay check --quiet --seed 1 --budget 2s --area 16MiB /home/me",
    "assay run --quiet /study.toml /home/me",
    "assay run --quiet --replicates 4 /study.toml /home/me",
    "assay run --quiet --set queue_depth=1,2 /study.toml /home/me",
    "assay aa-test --quiet --seed 1 --copies 2 --replicates 3 /study.toml /home/me",
];

/// Returns lines of `check` for work that covers a complete target, with each option and value, on three targets: one
/// trial each.
fn on_all_of_it() -> Vec<String> {
    let line = |option: String| {
        format!(
            "assay check --{option} --quiet --seed 1 --area 16MiB /home/me/a /home/me/b /home/me/c"
        )
    };
    let kinds = taking_all().filter(|(kind, _)| !(kind.sample)().ends_by_time());
    let options = kinds.flat_map(|(kind, option)| {
        let name = kind.about.name;
        let others = option.values.iter().flat_map(Values::all).skip(1);
        std::iter::once(name.to_owned()).chain(others.map(move |value| format!("{name}={value}")))
    });
    options.map(line).collect()
}

/// Returns the kinds whose trials take a given time of the real clock.
fn for_long() -> Vec<&'static str> {
    let kinds = taking_all().filter(|(kind, _)| (kind.sample)().ends_by_time());
    kinds.map(|(kind, _)| kind.about.name).collect()
}

fn taking_all() -> impl Iterator<Item = (&'static KindEntry, &'static CheckOption)> {
    by_option().filter(|(kind, _)| takes_all(kind))
}

/// Returns a line of `check` with such an option, with three short replicates.
fn long(kind: &str) -> String {
    format!(
        r#"
format     = "assay-study/1"
title      = "For long"
replicates = 3
seed       = 11
warmup_trial    = "none"
repeat_disturbed = false
area       = {{ size = "16 MiB" }}

[[workload]]
name = "long"
{kind} = {{ runtime = "300 ms" }}
"#
    )
}

/// A study of observed work, whose levels change nothing.
const LIVE: &str = r#"
format     = "assay-study/1"
title      = "Others' work"
replicates = 3
seed       = 11
aa_control    = false

[factors]
aa_copy = ["a", "b"]

[[workload]]
name    = "live"
production = { runtime = "3 s", settle_time = "1 s" }
"#;

/// A study whose second setting does a quarter of the work of the first.
const GATED: &str = r#"
format     = "assay-study/1"
title      = "A gate"
replicates = 3
seed       = 11
gate       = { max_regression = "5%" }

[factors]
queue_depth = [4, 1]

[[workload]]
name = "read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "100 ms" }
"#;

const FIXED: &str = "simulated:fixed,mean=100us,servers=4";
const DISK: &str = "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";
const COMMANDS: &str =
    "assay run --quiet --seed 1 --set runs_per_trial=1 --command slow --command fast /home/me";

fn machine() -> Fake {
    let fake = known::machine();
    fake.set_variable("ASSAY_HOME", "/assay").put("/study.toml", known::STUDY);
    fake
}

fn run(system: &dyn System, line: &str) -> Outcome<()> {
    let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    dispatch(system, read(&words, PAGE_COLUMNS).unwrap().command.unwrap())
}

fn results(fake: &Fake) -> Vec<String> {
    bundle::ids(fake, Path::new("/assay/results"))
}

/// Checks the message about lost trials, with the path of the others.
fn is_told(what: &str, ended: Outcome<()>, fake: &Fake) {
    let failure = ended.expect_err(what);
    assert_eq!(failure.kind.exit_code(), 5, "{what}: {failure}");
    let id = results(fake).into_iter().next().expect("a result");
    let told = &failure.message;
    assert!(told.contains("trials failed (the first: "), "{what}: {told}");
    assert!(told.ends_with(&format!("stored as {id}: assay show {id}")), "{what}: {told}");
}

/// Checks that a command succeeded; in memory, memory capacity checks may be inconclusive.
fn is_whole(what: &str, ended: Outcome<()>) {
    let Err(failure) = ended else { return };
    let silent = failure.kind == Kind::Partial && failure.message.contains("inconclusive for ");
    assert!(silent, "{what}: {failure}");
}

/// Runs a command completely, then loses its target at the first, middle and last trial, or at a sample of these chosen
/// by `place`.
fn loses_its_target(place: u64, what: &str, begun: impl Fn() -> (Fake, String)) {
    let (fake, line) = begun();
    let whole = Faulty::losing_target(&fake, 0);
    is_whole(what, run(&whole, &line));
    let all = whole.made_ready();
    assert!(all >= 3, "{what}: {all}");
    for (turn, lost_at) in (place..).zip([1, all.div_ceil(2), all]) {
        if !is_sampled(turn, 3) {
            continue;
        }
        let (fake, line) = begun();
        let faulty = Faulty::losing_target(&fake, lost_at);
        let ended = run(&faulty, &line);
        let what = format!("{what}, lost at {lost_at} of {all}");
        // The budget may end this run one replicate earlier.
        if lost_at == all && !faulty.has_lost() {
            assert_eq!(ended, Ok(()), "{what}");
            continue;
        }
        is_told(&what, ended, &fake);
    }
}

#[test]
#[ignore = "nightly: 10 s"]
fn a_target_that_is_gone_ends_every_command_that_runs_trials_with_5() {
    for (at, line) in (0..).zip(ON_A_TARGET) {
        loses_its_target(at, line, || (machine(), line.to_owned()));
    }
}

#[test]
#[ignore = "nightly: 2 s"]
fn so_it_does_where_all_of_a_place_is_worked_on() {
    let with_places = || {
        let fake = machine();
        fake.add("dir /home/me/a\ndir /home/me/b\ndir /home/me/c\n").unwrap();
        fake
    };
    let (through, long_ones) = (on_all_of_it(), for_long());
    assert!(through.len() + long_ones.len() > 0);
    for (at, line) in (0..).zip(through) {
        loses_its_target(at, &line, || (with_places(), line.clone()));
    }
    for (at, kind) in (0..).zip(long_ones) {
        let begun = || {
            let fake = with_places();
            fake.put("/long.toml", long(kind));
            (fake, "assay run --quiet /long.toml /home/me/a".to_owned())
        };
        loses_its_target(at, kind, begun);
        // With one trial, the first is the last.
        let check =
            format!("assay check --{kind} --quiet --seed 1 --budget 2s --area 16MiB /home/me/a");
        let fake = with_places();
        is_told(&check, run(&Faulty::losing_target(&fake, 1), &check), &fake);
    }
}

/// Runs a study of observed work with an event at the start of one trial; returns the outcome and the number of trials
/// started.
fn live(at: usize, happens: fn(&Fake)) -> (Fake, Outcome<()>, usize) {
    let fake = machine();
    fake.put(format!("{DISK}/diskseq"), "7\n");
    let request = Request {
        results: Some(PathBuf::from("/assay/results")),
        ..Request::bare(text::parse("/live.toml", LIVE).unwrap(), vec!["/home/me".to_owned()])
    };
    let mut begun = 0;
    let ran = running::run_stoppable(&fake, request, &AtomicBool::new(false), &mut |event| {
        if let Event::TrialStarted { index, .. } = event {
            begun += 1;
            if index == at {
                happens(&fake);
            }
        }
    });
    let ended = ran.and_then(|ran| running::close(&fake, ran));
    (fake, ended, begun)
}

#[test]
fn so_it_does_under_others_work_and_with_3_where_the_drive_is_another() {
    let (_, ended, all) = live(usize::MAX, |_| {});
    assert_eq!(ended, Ok(()));
    assert!(all >= 6, "{all}");
    for at in [0, all / 2, all - 1] {
        let what = format!("live, at {at} of {all}");
        let (fake, ended, _) = live(at, |fake| {
            fake.remove(format!("{DISK}/sda2/stat"));
        });
        is_told(&what, ended, &fake);
        let (fake, ended, begun) = live(at, |fake| {
            fake.put(format!("{DISK}/diskseq"), "8\n");
        });
        let failure = ended.expect_err(&what);
        assert_eq!(failure.kind.exit_code(), 3, "{what}: {failure}");
        // Assay notices this before the trial.
        let kept = match results(&fake).first() {
            Some(id) if at > 0 => format!("; {at} finished trials are stored: assay show {id}"),
            _ => "; nothing is stored".to_owned(),
        };
        assert!(failure.message.contains(&kept), "{what}: {failure}");
        assert_eq!(begun, at + 1, "{what}");
    }
}

fn interrupted() -> (Fake, String) {
    let fake = machine();
    let stop = AtomicBool::new(false);
    let request = Request {
        results: Some(PathBuf::from("/assay/results")),
        ..Request::bare(
            text::parse("/study.toml", known::STUDY).unwrap(),
            vec!["/home/me".to_owned()],
        )
    };
    let finished = run::run(&fake, request, &stop, &mut |event| {
        if matches!(event, Event::TrialEnded { index: 2, .. }) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let id = finished.unwrap().id;
    (fake, format!("assay resume --quiet {id}"))
}

#[test]
fn so_it_does_when_a_study_is_gone_on_with() {
    loses_its_target(0, "resume", interrupted);
}

fn took(wall_ns: u64, code: i32) -> Executed {
    Executed {
        ending: Ending::Exited(code),
        wall_ns,
        user_ns: wall_ns / 4,
        system_ns: wall_ns / 4,
        peak_memory: Presence::absent("not here"),
        read_bytes: Presence::Present(0),
        write_bytes: Presence::Present(0),
        happened: Happened::default(),
        counted: CpuCounts::absent("no counters"),
        complaint: String::new(),
        left_running: 0,
        heard: HeardOutput::default(),
        memory_kills: Presence::absent("no limit"),
    }
}

/// Adds a slow command, and a fast one that fails after `fails_after` runs.
fn put_commands(fake: &Fake, fails_after: usize) {
    let about = |ms: u64| move |k: u64| took((ms + 7 * (k % 5)) * 1_000_000, 0);
    fake.put_executions("sh -c ", [took(1_000_000, 0)]);
    fake.put_executions("sh -c slow", (0..500).map(about(2000)));
    let fails = std::iter::once(took(1_000_000, 1));
    fake.put_executions("sh -c fast", (0..500).map(about(1000)).take(fails_after).chain(fails));
}

fn runs_of_fast(fake: &Fake) -> usize {
    fake.executed().iter().filter(|line| *line == "sh -c fast").count()
}

/// Runs commands completely, then lets one of them fail from its first, middle and last run.
fn fails_as_a_command(what: &str, line: impl Fn(&Fake) -> String) {
    let whole = machine();
    put_commands(&whole, 500);
    let own = line(&whole);
    let before = runs_of_fast(&whole);
    run(&whole, &own).unwrap_or_else(|failure| panic!("{what}: {failure}"));
    let all = runs_of_fast(&whole) - before;
    assert!(all >= 6, "{what}: {all}");
    for fails_after in [0, 1, 2, all / 2, all - 1] {
        let fake = machine();
        put_commands(&fake, 500);
        let line = line(&fake);
        let before = results(&fake);
        put_commands(&fake, fails_after);
        let what = format!("{what}, {fails_after} of {all}");
        match run(&fake, &line) {
            // Before the first trial, there is nothing to store.
            Err(failure) if failure.kind == Kind::Broken && fails_after < all / 2 => {
                assert_eq!(results(&fake), before, "{what}: {failure}");
            }
            ended => is_told(&what, ended, &fake),
        }
    }
}

#[test]
#[ignore = "nightly: 2 s"]
fn a_command_that_fails_ends_a_study_of_commands_and_its_confirmation_with_5() {
    fails_as_a_command("commands", |_| COMMANDS.to_owned());
    fails_as_a_command("confirm", |fake| {
        run(fake, COMMANDS).unwrap();
        format!("assay advise confirm --quiet --seed 2 {}", results(fake)[0])
    });
}

#[test]
fn a_study_that_is_gone_on_with_ends_by_its_gate() {
    let fake = machine();
    fake.put("/gated.toml", GATED);
    let code =
        |line: &str| run(&fake, line).map_or_else(|failure| failure.kind.exit_code(), |()| 0);
    assert_eq!(code(&format!("assay run --quiet /gated.toml {FIXED}")), 1);
    assert_eq!(code(&format!("assay run --quiet --baseline queue_depth=1 /gated.toml {FIXED}")), 0);
    // An interrupted study reports no gate; resumed, it ends like the complete one.
    let fake = machine();
    let study = text::parse("/gated.toml", GATED).unwrap();
    let request = Request {
        results: Some(PathBuf::from("/assay/results")),
        ..Request::bare(study, vec![FIXED.to_owned()])
    };
    let stop = AtomicBool::new(false);
    let ran = run::run(&fake, request, &stop, &mut |event| {
        if matches!(event, Event::TrialEnded { index: 3, .. }) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let ended = running::close(&fake, ran.unwrap().into()).unwrap_err();
    assert_eq!(ended.kind, Kind::Interrupted, "{ended}");
    let id = results(&fake).into_iter().next().unwrap();
    let ended = run(&fake, &format!("assay resume --quiet {id}")).unwrap_err();
    assert_eq!(ended.kind, Kind::Gate, "{ended}");
    assert!(ended.message.starts_with("gate failed (limit 5%): read (queue_depth 1)"), "{ended}");
}
