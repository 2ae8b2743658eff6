mod counted;
mod resumed;

use std::collections::BTreeMap;
use std::path::Path;

use assay_core::presence::Presence;
use assay_core::quantity::Better;
use assay_machine::system::execute::{Ending, HeardOutput, PeakBy, PeakMemory};
use assay_machine::system::{Executed, Fake, System};

use super::*;
use crate::measured::RunResult;
use crate::{PlannedWork as _, WorkloadSpec as _, testing};

const MS: u64 = 1_000_000;

/// A run of this duration, with half of it as CPU time.
fn took(wall_ns: u64) -> Executed {
    Executed {
        user_ns: wall_ns / 4,
        system_ns: wall_ns / 4,
        peak_memory: Presence::Present(PeakMemory { bytes: 4096, by: PeakBy::Cgroup }),
        read_bytes: Presence::Present(0),
        write_bytes: Presence::Present(512),
        ..testing::executed(Ending::Exited(0), wall_ns)
    }
}

fn ended(ending: Ending, complaint: &str) -> Executed {
    Executed { ending, complaint: complaint.to_owned(), ..took(10 * MS) }
}

/// A system on which the shell takes 1 ms, and `work` 10 ms in addition.
fn fake() -> Fake {
    let fake = Fake::new();
    fake.put_executions("sh -c ", [took(MS)]);
    fake.put_executions("sh -c work", [took(11 * MS)]);
    fake.put_executions("sh -c before", [took(MS)]);
    fake.put_executions("sh -c after", [took(MS)]);
    fake
}

fn run_on(fake: &Fake, time_ns: u64) -> Run<'_> {
    let path = Path::new("/home/me");
    Run { path, time_ns, seed: 7, ..testing::run_on(fake, testing::NO_AREA, None) }
}

fn trial(fake: &Fake, asked: &CommandSpec, time_ns: u64) -> Result<RunResult, String> {
    asked.make_plan().unwrap().run(&run_on(fake, time_ns))
}

fn value(ran: &RunResult, metric: &str) -> f64 {
    ran.measured.values[metric]
}

#[test]
fn a_trial_runs_until_its_time_is_over_and_the_shell_is_taken_off() {
    let ran = trial(&fake(), &CommandSpec::new("work"), 100 * MS).unwrap();
    let detail = CommandDetail::of(&ran.measured).unwrap();
    assert!((5..=10).contains(&detail.runs), "{detail:?}");
    assert_eq!(detail.shell_ns, Some(1e6));
    assert!((value(&ran, "duration_s") - 0.01).abs() < 1e-12);
    assert!((value(&ran, "user_s") - 0.002_5).abs() < 1e-12);
    assert_eq!(value(&ran, "peak_memory_bytes"), 4096.0);
    assert_eq!(value(&ran, "write_bytes"), 512.0);
    assert_eq!(detail.endings, BTreeMap::from([("exit code 0".to_owned(), detail.runs)]));
    assert!(detail.alone_ns().all(|ns| (ns - 1e7).abs() < 1.0));
}

#[test]
fn counted_runs_are_counted_and_one_run_is_the_least() {
    let counted = CommandSpec { runs_per_trial: Some(3), ..CommandSpec::new("work") };
    let ran = trial(&fake(), &counted, 1000 * MS).unwrap();
    assert_eq!(ran.measured.operations(), 3);
    let short = trial(&fake(), &CommandSpec::new("work"), 1).unwrap();
    assert_eq!(short.measured.operations(), 1);
}

#[test]
fn without_a_shell_the_line_is_the_words() {
    let fake = Fake::new();
    fake.put_executions("tool a b", [took(10 * MS)]);
    let asked =
        CommandSpec { shell: false, runs_per_trial: Some(2), ..CommandSpec::new("tool 'a' b") };
    let ran = trial(&fake, &asked, 1000 * MS).unwrap();
    assert_eq!(CommandDetail::of(&ran.measured).unwrap().shell_ns, None);
    assert_eq!(fake.executed(), ["tool a b", "tool a b"]);
    assert!((value(&ran, "duration_s") - 0.01).abs() < 1e-12);
}

#[test]
fn what_takes_no_longer_than_the_shell_has_no_time_and_says_why() {
    let fake = fake();
    fake.put_executions("sh -c true", [took(MS)]);
    let asked = CommandSpec { runs_per_trial: Some(2), ..CommandSpec::new("true") };
    let ran = trial(&fake, &asked, 1000 * MS).unwrap();
    let planned = asked.make_plan().unwrap();
    let told = planned.value("duration_s", &ran.measured).unwrap().unwrap_err();
    assert!(told.contains("--set shell=false"), "{told}");
    assert!(planned.value("user_s", &ran.measured).unwrap().is_ok());
}

#[test]
fn each_run_is_prepared_and_cleaned_up_after() {
    let asked = CommandSpec {
        runs_per_trial: Some(2),
        prepare: Some("before".to_owned()),
        conclude: Some("after".to_owned()),
        ..CommandSpec::new("work")
    };
    let fake = fake();
    trial(&fake, &asked, 1000 * MS).unwrap();
    let lines: Vec<String> = fake.executed().into_iter().filter(|line| line != "sh -c ").collect();
    let once = ["sh -c before", "sh -c work", "sh -c after"];
    assert_eq!(lines, [once, once].concat());
}

#[test]
fn a_run_that_fails_is_named_with_what_it_said_and_cleaned_up_after() {
    let fake = fake();
    let fails = ended(Ending::Exited(3), "a\nno \u{1b}[31mroom\n\n");
    fake.put_executions("sh -c work", [took(MS), took(MS), took(MS), fails, took(MS)]);
    let asked = CommandSpec { conclude: Some("after".to_owned()), ..CommandSpec::new("work") };
    let told = trial(&fake, &asked, 1000 * MS).unwrap_err();
    assert_eq!(told, "run 4 of `work` exited with code 3; stderr: a; no \\u{1b}[31mroom");
    assert_eq!(fake.executed().last().unwrap(), "sh -c after");
}

#[test]
fn failures_count_where_that_is_asked_for() {
    let fake = fake();
    fake.put_executions("sh -c work", [took(MS), ended(Ending::Signalled(9), "")]);
    let asked =
        CommandSpec { ignore_failure: true, runs_per_trial: Some(3), ..CommandSpec::new("work") };
    let ran = trial(&fake, &asked, 1000 * MS).unwrap();
    let endings = &CommandDetail::of(&ran.measured).unwrap().endings;
    assert_eq!(endings.get("signal 9"), Some(&2));
    assert_eq!(endings.get("exit code 0"), Some(&1));
}

#[test]
fn a_run_that_does_not_end_fails_its_trial_whatever_is_ignored() {
    let fake = fake();
    fake.put_executions("sh -c work", [ended(Ending::TimedOut, "")]);
    let timeout = Some("2 s".parse().unwrap());
    let asked = CommandSpec { ignore_failure: true, timeout, ..CommandSpec::new("work") };
    let told = trial(&fake, &asked, 1000 * MS).unwrap_err();
    assert!(told.starts_with("run 1 of `work` did not finish within 2 s"), "{told}");
}

#[test]
fn who_stops_a_run_loses_nothing_but_its_trial() {
    let fake = fake();
    fake.put_executions("sh -c work", [ended(Ending::Stopped, "")]);
    let asked = CommandSpec { conclude: Some("after".to_owned()), ..CommandSpec::new("work") };
    let ran = trial(&fake, &asked, 1000 * MS).unwrap();
    assert!(ran.stopped);
    assert_eq!(fake.executed().last().unwrap(), "sh -c after");
}

#[test]
fn a_run_that_was_never_begun_is_not_cleaned_up_after() {
    let fake = fake();
    let asked = CommandSpec {
        shell: false,
        conclude: Some("after".to_owned()),
        ..CommandSpec::new("work")
    };
    let planned = asked.make_plan().unwrap();
    fake.put_executions("after", [took(MS)]);
    let ran = planned.run(&Run { stop: testing::stop(true), ..run_on(&fake, MS) }).unwrap();
    assert!(ran.stopped && fake.executed().is_empty());
}

#[test]
fn the_environment_is_larger_by_what_the_seed_says() {
    let paddings = |seed: u64| -> Vec<u64> {
        let mut draws = assay_core::draws::Draws::new(seed, "environment");
        (0..3).map(|_| draws.below(4096)).collect()
    };
    assert_eq!(paddings(1), paddings(1));
    assert_ne!(paddings(1), paddings(2));
}

#[test]
fn the_names_of_the_variables_that_it_got_are_kept_and_nothing_of_what_they_hold() {
    let fake = fake();
    fake.set_variable("PATH", "/bin").set_variable("SECRET", "s3cret").set_variable("MINE", "ok");
    let variables = |named: &[&str]| {
        let environment = named.iter().map(|name| (*name).to_owned()).collect();
        let asked = CommandSpec {
            pass_env: environment,
            runs_per_trial: Some(1),
            ..CommandSpec::new("work")
        };
        let ran = trial(&fake, &asked, 1000 * MS).unwrap();
        assert!(!serde_json::to_string(&ran.measured).unwrap().contains("s3cret"));
        CommandDetail::of(&ran.measured).unwrap().variables.clone()
    };
    assert_eq!(variables(&[]), ["PATH"]);
    assert_eq!(variables(&["MINE", "ABSENT"]), ["MINE", "PATH"]);
}

#[test]
fn a_cold_run_empties_the_cache_and_looks_what_is_left() {
    let fake = fake();
    fake.put("/proc/meminfo", "Active(file): 3000 kB\nInactive(file): 100 kB\nMapped: 100 kB\n");
    let asked =
        CommandSpec { drop_caches: true, runs_per_trial: Some(1), ..CommandSpec::new("work") };
    let ran = trial(&fake, &asked, 1000 * MS).unwrap();
    let left = CommandDetail::of(&ran.measured).unwrap().emptied_bytes;
    assert_eq!(left, Some([3000 << 10, 3000 << 10]));
}

#[test]
fn amounts_that_one_run_does_not_tell_are_told_of_none() {
    let fake = fake();
    let untold = Executed { read_bytes: Presence::absent("not permitted"), ..took(11 * MS) };
    fake.put_executions("sh -c work", [took(11 * MS), untold, took(11 * MS)]);
    let asked = CommandSpec { runs_per_trial: Some(3), ..CommandSpec::new("work") };
    let ran = trial(&fake, &asked, 1000 * MS).unwrap();
    assert!(!ran.measured.values.contains_key("read_bytes"));
    let planned = asked.make_plan().unwrap();
    let told = planned.value("read_bytes", &ran.measured).unwrap();
    assert_eq!(told, Err("not permitted".to_owned()));
}

#[test]
fn peaks_are_known_no_better_than_the_worst_of_them() {
    let fake = fake();
    let peak = |bytes, by| Presence::Present(PeakMemory { bytes, by });
    let runs = [
        Executed { peak_memory: peak(10, PeakBy::Cgroup), ..took(11 * MS) },
        Executed { peak_memory: peak(30, PeakBy::Cgroup), ..took(11 * MS) },
        Executed { peak_memory: peak(20, PeakBy::LargestProcess), ..took(11 * MS) },
    ];
    fake.put_executions("sh -c work", runs);
    let asked = CommandSpec { runs_per_trial: Some(3), ..CommandSpec::new("work") };
    let ran = trial(&fake, &asked, 1000 * MS).unwrap();
    assert_eq!(value(&ran, "peak_memory_bytes"), 30.0);
    assert_eq!(CommandDetail::of(&ran.measured).unwrap().peak_by, Some(PeakBy::LargestProcess));
    assert!(ran.measured.notes.iter().any(|note| note.contains("largest process")));
}

#[test]
fn only_so_many_runs_are_kept_and_all_are_counted() {
    let fake = Fake::new();
    fake.put_executions("fast", [took(1000)]);
    let asked =
        CommandSpec { shell: false, runs_per_trial: Some(1500), ..CommandSpec::new("fast") };
    let ran = trial(&fake, &asked, 1000 * MS).unwrap();
    let detail = CommandDetail::of(&ran.measured).unwrap();
    assert_eq!((detail.runs, detail.wall_ns.len()), (1500, KEPT_RUNS));
}

#[test]
fn a_pilot_runs_it_once_and_refuses_what_is_not_there() {
    let fake = fake();
    assert_eq!(CommandSpec::new("work").pilot(&run_on(&fake, 0)), Ok(Some(11 * MS)));
    let told = CommandSpec::new("nothere").pilot(&run_on(&fake, 0)).unwrap_err();
    assert!(told.starts_with("`nothere`: "), "{told}");
    assert_eq!(fake.executed(), ["sh -c work", "sh -c nothere"]);
}

#[test]
fn the_same_by_hand_is_a_line_of_hyperfine() {
    let asked = CommandSpec {
        prepare: Some("rm -rf tree".to_owned()),
        conclude: Some("sync".to_owned()),
        input: Some("words".to_owned()),
        ignore_failure: true,
        runs_per_trial: Some(5),
        shell: false,
        ..CommandSpec::new("tar xf a.tar")
    };
    let line = asked.make_plan().unwrap().by_hand(&testing::manual_run("command", "/home/me"));
    assert_eq!(
        line.words,
        [
            "hyperfine",
            "--runs",
            "5",
            "--shell=none",
            "--ignore-failure",
            "--prepare",
            "rm -rf tree",
            "--conclude",
            "sync",
            "--input",
            "words",
            "tar xf a.tar"
        ]
    );
}

#[test]
fn the_fake_clock_goes_on_while_a_program_runs() {
    let fake = fake();
    let before = fake.monotonic_ns();
    trial(&fake, &CommandSpec { runs_per_trial: Some(1), ..CommandSpec::new("work") }, MS).unwrap();
    assert!(fake.monotonic_ns() - before >= 11 * MS);
}

/// The fake with this program and the tools that create and remove a tree.
fn with_tree() -> Fake {
    let fake = fake();
    fake.add("link /proc/self/exe /usr/bin/assay\ndir /home/me\n").unwrap();
    for line in ["/usr/bin/assay tree assay-tree --c-files 2", "rm -rf assay-tree", tree::PRIME] {
        fake.put_executions(&format!("sh -c {line}"), [took(MS)]);
    }
    fake
}

fn in_tree() -> CommandSpec {
    let prepare = Some("before".to_owned());
    CommandSpec {
        c_files: Some(2),
        prepare,
        runs_per_trial: Some(1),
        shell: false,
        ..CommandSpec::new("work")
    }
}

#[test]
fn a_tree_is_made_read_before_each_run_and_removed() {
    let fake = with_tree();
    // Like a leftover of a killed run.
    fake.put("/home/me/assay-tree/.made-by-assay", "");
    trial(&fake, &in_tree(), MS).unwrap();
    let lines = fake.executed();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_start_matches("sh -c ")).collect();
    let wanted = [
        "rm -rf assay-tree",
        "/usr/bin/assay tree assay-tree --c-files 2",
        "before",
        tree::PRIME,
        "work",
        "rm -rf assay-tree",
    ];
    assert_eq!(lines, wanted);
}

#[test]
fn a_tree_without_room_is_not_begun() {
    let fake = with_tree();
    fake.add("space /home/me 5000 1000000\n").unwrap();
    let told = trial(&fake, &in_tree(), MS).unwrap_err();
    assert!(told.contains("not enough space for a generated tree of 2 C files"), "{told}");
    assert!(fake.executed().is_empty());
}

#[test]
fn jobs_stand_for_a_number_unless_they_are_a_factor() {
    let mut asked = CommandSpec { jobs: Some(4), ..CommandSpec::new("make -j{jobs}") };
    assert_eq!(asked.make_plan().unwrap().run, "make -j4");
    asked.take("jobs", "16");
    assert_eq!(asked.make_plan().unwrap().run, "make -j16");
}

#[test]
fn a_source_with_spaces_is_one_word() {
    let tree = SourceTree::Copied { source: "/home/me/the source".to_owned() };
    let lines = tree.creation_lines("/opt/my assay");
    assert_eq!(lines[0], "'/opt/my assay' tree assay-tree");
    assert!(lines[1].starts_with("cp -a '/home/me/the source'/. assay-tree/"), "{lines:?}");
}

/// Number of shell-only starts, and of runs of the line.
fn starts_and_runs(fake: &Fake) -> (usize, usize) {
    let lines = fake.executed();
    let count = |wanted: &str| lines.iter().filter(|line| *line == wanted).count();
    (count("sh -c "), count("sh -c work"))
}

#[test]
fn the_shell_alone_is_started_five_times_and_then_for_a_tenth_of_the_time() {
    let fake = fake();
    trial(&fake, &CommandSpec { runs_per_trial: Some(1), ..CommandSpec::new("work") }, 1000 * MS)
        .unwrap();
    assert_eq!(starts_and_runs(&fake), (5, 1));
    // Five starts take 5 ms: the sixth is due after five runs of 11 ms.
    let fake = self::fake();
    trial(&fake, &CommandSpec { runs_per_trial: Some(5), ..CommandSpec::new("work") }, 1000 * MS)
        .unwrap();
    assert_eq!(starts_and_runs(&fake), (5, 5));
    let fake = self::fake();
    trial(&fake, &CommandSpec { runs_per_trial: Some(6), ..CommandSpec::new("work") }, 1000 * MS)
        .unwrap();
    assert_eq!(starts_and_runs(&fake), (6, 6));
    // For any duration, at most fifty times.
    let fake = self::fake();
    trial(
        &fake,
        &CommandSpec { runs_per_trial: Some(80), ..CommandSpec::new("work") },
        10_000 * MS,
    )
    .unwrap();
    assert_eq!(starts_and_runs(&fake), (50, 80));
    // Without a shell there is nothing to start.
    let fake = Fake::new();
    fake.put_executions("work", [took(10 * MS)]);
    let asked = CommandSpec { shell: false, runs_per_trial: Some(20), ..CommandSpec::new("work") };
    trial(&fake, &asked, 1000 * MS).unwrap();
    assert_eq!(fake.executed().len(), 20);
}

#[test]
fn a_shell_that_fails_is_told() {
    let fake = fake();
    fake.put_executions("sh -c ", [ended(Ending::Exited(127), "no such file")]);
    let told = trial(&fake, &CommandSpec::new("work"), 100 * MS).unwrap_err();
    assert_eq!(told, "the empty shell command exited with code 127; stderr: no such file");
}

#[test]
fn of_what_a_program_said_the_last_six_lines_are_told() {
    let told = |complaint: &str| {
        let fake = fake();
        fake.put_executions("sh -c work", [ended(Ending::Exited(1), complaint)]);
        trial(&fake, &CommandSpec::new("work"), 100 * MS).unwrap_err()
    };
    assert_eq!(told(""), "run 1 of `work` exited with code 1");
    assert_eq!(told(" \n\n"), "run 1 of `work` exited with code 1");
    let all = "run 1 of `work` exited with code 1; stderr: 2; 3; 4; 5; 6; 7";
    assert_eq!(told("1\n2\n 3 \n4\n\n5\n6\n7\n"), all);
    let fake = fake();
    fake.put_executions("sh -c work", [ended(Ending::Signalled(11), "")]);
    let told = trial(&fake, &CommandSpec::new("work"), 100 * MS).unwrap_err();
    assert_eq!(told, "run 1 of `work` was killed by signal 11");
}

#[test]
fn lines_around_a_run_that_fail_fail_the_trial_whatever_is_ignored() {
    for (line, name) in [("before", "prepare"), ("after", "conclude")] {
        let fake = fake();
        fake.put_executions(&format!("sh -c {line}"), [ended(Ending::Exited(2), "")]);
        let asked = CommandSpec {
            prepare: Some("before".to_owned()),
            conclude: Some("after".to_owned()),
            ignore_failure: true,
            ..CommandSpec::new("work")
        };
        let told = trial(&fake, &asked, 100 * MS).unwrap_err();
        assert_eq!(told, format!("{name} `{line}` exited with code 2"));
        // After a successful setup, cleanup runs; after a failed one, no run starts.
        let (_, runs) = starts_and_runs(&fake);
        assert_eq!(runs, usize::from(name == "conclude"), "{name}");
        assert_eq!(fake.executed().last().unwrap(), "sh -c after");
    }
}

#[test]
fn a_target_that_is_full_is_told_with_the_reason() {
    let of = |free: u64| {
        let fake = with_tree();
        fake.add(&format!("space /home/me {free} 1000000000\n")).unwrap();
        fake.put_executions("sh -c work", [ended(Ending::Exited(1), "cannot write")]);
        let asked = CommandSpec { c_files: None, source: Some("/src".to_owned()), ..in_tree() };
        for line in [
            "/usr/bin/assay tree assay-tree",
            "cp -a /src/. assay-tree/ && { sync -f . 2> /dev/null || sync; }",
        ] {
            fake.put_executions(&format!("sh -c {line}"), [took(MS)]);
        }
        trial(&fake, &asked, MS).unwrap_err()
    };
    let full = of((1 << 20) - 1);
    assert!(
        full.starts_with("/home/me is full (1 MiB free)") && full.contains("cannot write"),
        "{full}"
    );
    let other = of(1 << 20);
    assert!(other.starts_with("run 1 of `work`"), "{other}");
}

#[test]
fn a_tree_of_somebody_else_is_left_where_it_is() {
    let fake = with_tree();
    fake.put("/home/me/assay-tree/their-own", "");
    let told = trial(&fake, &in_tree(), MS).unwrap_err();
    assert!(told.contains("was not created by Assay; move it away"), "{told}");
    assert!(fake.executed().is_empty());
}

#[test]
fn half_of_the_runs_is_rounded_up() {
    let half = |runs: Option<u64>| {
        let planned =
            CommandSpec { runs_per_trial: runs, ..CommandSpec::new("work") }.make_plan().unwrap();
        match crate::WorkPlan::from(planned).halved() {
            crate::WorkPlan::Command(own) => own.runs_per_trial,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        [half(None), half(Some(1)), half(Some(4)), half(Some(5))],
        [None, Some(1), Some(2), Some(3)]
    );
}

#[test]
fn by_hand_a_tree_is_set_up_and_the_lines_are_typed_in_it() {
    let how = |asked: CommandSpec| {
        asked.make_plan().unwrap().by_hand(&testing::manual_run("command", "/home/me"))
    };
    let plain = how(CommandSpec::new("work"));
    assert_eq!(plain.words, ["hyperfine", "--min-runs", "2", "work"]);
    assert_eq!(plain.remarks, ["run this line in /home/me"]);
    let tree = how(CommandSpec {
        drop_caches: true,
        prepare: Some("make clean".to_owned()),
        conclude: Some("sync".to_owned()),
        timeout: Some("2 s".parse().unwrap()),
        c_files: Some(2),
        ..CommandSpec::new("make")
    });
    assert_eq!(
        tree.words,
        [
            "hyperfine",
            "--min-runs",
            "2",
            "--prepare",
            "cd assay-tree && make clean; sync; echo 3 | sudo tee /proc/sys/vm/drop_caches; find . -type f \
             -exec cat {} + > /dev/null",
            "--conclude",
            "cd assay-tree && sync",
            "--setup",
            "assay tree assay-tree --c-files 2",
            "--cleanup",
            "rm -rf assay-tree",
            "cd assay-tree && make"
        ]
    );
    assert_eq!(tree.remarks[1], "hyperfine has no timeout (here 2 s)");
}

#[test]
fn a_quick_look_compiles_a_sixth_and_counted_runs_have_a_day() {
    let mut asked = CommandSpec { c_files: Some(13), ..CommandSpec::new("make") };
    asked.make_quick(None);
    assert_eq!((asked.c_files, asked.runtime), (Some(3), Some(QUICK)));
    let mut counted = CommandSpec { runs_per_trial: Some(1), ..CommandSpec::new("make") };
    counted.make_quick(None);
    assert_eq!(counted.runtime, None);
    counted.settle();
    assert_eq!(counted.runtime.map(|time| time.0), Some(24 * 3600 * 1000 * MS));
    let mut other = CommandSpec::new("make");
    other.settle();
    assert_eq!(other.runtime.map(|time| time.0), Some(1000 * MS));
    let said = CommandSpec { runtime: Some(QUICK), ..CommandSpec::new("make") };
    assert_eq!(
        {
            let mut own = said.clone();
            own.settle();
            own
        }
        .runtime,
        Some(QUICK)
    );
    assert!(said.ends_by_time() && !counted.ends_by_time());
}

#[test]
fn costs_are_those_of_a_line_that_is_the_same() {
    let work = |run: &str| Work::from(CommandSpec::new(run));
    assert!(CommandSpec::new("a").costs_like(&work("a")));
    assert!(!CommandSpec::new("a").costs_like(&work("b")));
    let cold = CommandSpec { drop_caches: true, ..CommandSpec::new("a") };
    assert!(!cold.costs_like(&work("a")));
}

fn prints(text: &str) -> Executed {
    Executed { heard: HeardOutput::from(text), ..took(11 * MS) }
}

fn print_command(specification: &str) -> CommandSpec {
    CommandSpec {
        runs_per_trial: Some(2),
        parse: vec![specification.parse().unwrap()],
        ..CommandSpec::new("work")
    }
}

#[derive(Default)]
struct Mistakes(Vec<String>);

impl Complaints for Mistakes {
    fn value(&mut self, path: &str, message: String, _: Option<String>) {
        self.0.push(format!("{path}: {message}"));
    }

    fn key(&mut self, path: &str, message: String, hint: Option<String>) {
        self.value(path, message, hint);
    }

    fn is_wrong(&self, _: &str) -> bool {
        false
    }
}

#[test]
fn a_list_of_readings_has_an_end() {
    let mistakes = |count: usize| {
        let one = |index: usize| -> ParseSpec { format!("/n{index}::higher").parse().unwrap() };
        let asked =
            CommandSpec { parse: (0..count).map(one).collect(), ..CommandSpec::new("work") };
        let mut mistakes = Mistakes::default();
        asked.complain_of_output("w", &mut mistakes);
        mistakes.0
    };
    assert_eq!(mistakes(33), ["w/parse/32: parse has 33 metrics; the maximum is 32"]);
    assert!(mistakes(32).is_empty());
}

#[test]
fn numbers_that_runs_print_are_metrics_of_the_trial() {
    let fake = fake();
    fake.put_executions("sh -c work", [prints("1 ops/s\n"), prints("at first 9\r2 ops/s\n")]);
    let ran = trial(&fake, &print_command("([0-9]+) ops/s:ops/s:higher"), 1000 * MS).unwrap();
    assert_eq!(value(&ran, "reported_ops_per_s"), 1.5);
    assert!((value(&ran, "duration_s") - 0.01).abs() < 1e-12);
    let detail = CommandDetail::of(&ran.measured).unwrap();
    assert_eq!(detail.told[0].better, Better::Higher);
    assert_eq!(detail.written[0].text, "at first 9\r2 ops/s\n");
    // Without requested numbers, no output is stored.
    let ran = trial(
        &fake,
        &CommandSpec { runs_per_trial: Some(1), ..CommandSpec::new("work") },
        1000 * MS,
    )
    .unwrap();
    let detail = CommandDetail::of(&ran.measured).unwrap();
    assert!(detail.told.is_empty() && detail.written.is_empty() && detail.produced.is_empty());
}

#[test]
fn a_run_whose_number_is_not_there_fails_its_trial_with_the_line() {
    let fake = fake();
    fake.put_executions("sh -c work", [prints("1 ops/s\n"), prints("no room\n\n")]);
    let told = trial(&fake, &print_command("([0-9]+) ops/s:ops/s:higher"), 1000 * MS).unwrap_err();
    assert_eq!(
        told,
        "run 2 of `work`: no line matches `([0-9]+) ops/s`; the last line is `no room`"
    );
}

#[test]
fn a_file_that_numbers_stand_in_is_read_by_a_line_of_who_runs_the_command() {
    let fake = fake();
    fake.put_executions("sh -c cat -- 'a b.json'", [prints("{\"a\": 3}")]);
    let mut asked = print_command("/a::lower");
    asked.parse[0].file = Some("a b.json".to_owned());
    let ran = trial(&fake, &asked, 1000 * MS).unwrap();
    assert_eq!(value(&ran, "reported_a"), 3.0);
    let written = &CommandDetail::of(&ran.measured).unwrap().written;
    assert_eq!((written.len(), written[0].file.as_deref()), (1, Some("a b.json")));
    // An unchanged file belongs to an earlier run.
    fake.put("/home/me/a b.json", "{\"a\": 3}");
    let told = trial(&fake, &asked, 1000 * MS).unwrap_err();
    assert!(told.contains("the command did not write a b.json"), "{told}");
    // Reading anything but a file may never end.
    asked.parse[0].file = Some("out".to_owned());
    fake.put("/home/me/out/in", "");
    let told = trial(&fake, &asked, 1000 * MS).unwrap_err();
    assert!(told.contains("out is not a readable file"), "{told}");
}

/// A shell warns of a missing locale: only its exit code counts.
#[test]
fn what_is_complained_of_while_a_file_is_read_does_not_matter_and_a_failure_does() {
    let mut asked = print_command("/a::lower");
    asked.parse[0].file = Some("a.json".to_owned());
    let warned = Executed { complaint: "cannot change locale".to_owned(), ..prints("{\"a\": 3}") };
    let failed = Executed { ending: Ending::Exited(1), ..warned.clone() };
    let fake = fake();
    fake.put_executions("sh -c cat -- a.json", [warned]);
    assert_eq!(value(&trial(&fake, &asked, 1000 * MS).unwrap(), "reported_a"), 3.0);
    fake.put_executions("sh -c cat -- a.json", [failed]);
    let told = trial(&fake, &asked, 1000 * MS).unwrap_err();
    assert!(told.contains("code 1; stderr: cannot change locale"), "{told}");
}

/// The user did not type the line that reads it.
#[test]
fn what_cannot_be_hashed_is_told_in_the_words_that_were_typed() {
    let at = |path: &str| CommandSpec {
        same_output: Some(Produced::At(path.to_owned())),
        runs_per_trial: Some(1),
        ..CommandSpec::new("work")
    };
    let fake = fake();
    let failed = ended(Ending::Exited(1), "/dev/zero is no file");
    fake.put_executions(&format!("sh -c {}", same::print_command("/dev/zero")), [failed]);
    assert_eq!(
        trial(&fake, &at("/dev/zero"), 1000 * MS).unwrap_err(),
        "run 1 of `work`: reading /dev/zero for same_output exited with code 1; stderr: /dev/zero is no file"
    );
    fake.put_executions(&format!("sh -c {}", same::print_command("out")), [took(MS)]);
    assert!(trial(&fake, &at("out"), 1000 * MS).is_ok());
}

#[test]
fn levels_stand_in_the_names_of_what_is_written() {
    let mut asked = print_command("/a::lower");
    asked.parse[0].file = Some("in-{size}".to_owned());
    asked.same_output = Some(Produced::At("out-{size}-{trial}".to_owned()));
    asked.take("size", "4k");
    let planned = asked.make_plan().unwrap();
    assert_eq!(planned.parse[0].file.as_deref(), Some("in-4k"));
    assert_eq!(planned.same_output, Some(Produced::At("out-4k-{trial}".to_owned())));
    let printed =
        CommandSpec { same_output: Some(Produced::Printed(true)), ..CommandSpec::new("work") };
    assert_eq!(printed.make_plan().unwrap().same_output, Some(Produced::Printed(true)));
}

#[test]
fn what_runs_produce_is_kept_by_its_hash() {
    let fake = fake();
    let summed = |byte| {
        let heard = HeardOutput { end: Vec::new(), bytes: 1, sha256: Some([byte; 32]) };
        Executed { heard, ..took(11 * MS) }
    };
    fake.put_executions("sh -c work", [summed(1), summed(2), summed(2)]);
    let same_output = Some(Produced::Printed(true));
    let asked = CommandSpec { runs_per_trial: Some(3), same_output, ..CommandSpec::new("work") };
    let ran = trial(&fake, &asked, 1000 * MS).unwrap();
    let produced = &CommandDetail::of(&ran.measured).unwrap().produced;
    let expected = [("01".repeat(32), 1), ("02".repeat(32), 2)];
    assert_eq!(*produced, BTreeMap::from(expected));
}

#[test]
fn a_trial_is_set_up_before_its_runs_and_lines_know_which_it_is() {
    let fake = fake();
    fake.put_executions("sh -c echo 0", [took(MS)]);
    let trial_setup = Some("echo {trial}".to_owned());
    let asked = CommandSpec { trial_setup, runs_per_trial: Some(2), ..CommandSpec::new("work") };
    trial(&fake, &asked, 1000 * MS).unwrap();
    let lines: Vec<String> = fake.executed().into_iter().filter(|line| line != "sh -c ").collect();
    assert_eq!(lines, ["sh -c echo 0", "sh -c work", "sh -c work"]);
}

#[test]
fn a_command_with_a_name_is_its_line() {
    let lines = BTreeMap::from([("old".to_owned(), "work".to_owned())]);
    let mut asked: Work = CommandSpec { commands: lines, ..CommandSpec::new("") }.into();
    for (level, run) in [("old", "work"), ("other", "other")] {
        asked.set("command", level).unwrap().unwrap();
        assert_eq!(CommandSpec::of(&asked).unwrap().run, run);
    }
}
