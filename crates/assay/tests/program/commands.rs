//! Commands without a study file as typed: compared, failing, hanging, leaving files behind.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_testkit::home::Home;
use assay_testkit::needs::count;
use assay_testkit::process::run;
use serde_json::Value;

use crate::busy::is_kept_from_them;

/// A separate home for each test.
pub struct Bench {
    pub home: Home,
}

impl Bench {
    pub fn new(test: &str) -> Self {
        Self { home: Home::out_of_reach(env!("CARGO_BIN_EXE_assay"), test) }
    }

    pub fn words<'a>(&'a self, words: &[&'a str]) -> Vec<&'a str> {
        let folder = self.home.scratch.path().to_str().unwrap();
        [&["run", folder, "--quiet"], words].concat()
    }

    pub fn json(&self, words: &[&str]) -> Value {
        self.home.json(&[self.words(words), vec!["--json"]].concat())
    }

    pub fn text(&self, words: &[&str]) -> String {
        self.home.text(&self.words(words))
    }

    pub fn refused(&self, code: i32, words: &[&str]) -> String {
        self.home.refused(code, &self.words(words))
    }

    pub fn path(&self, name: &str) -> String {
        self.home.scratch.path().join(name).display().to_string()
    }

    pub fn results(&self) -> Vec<String> {
        let folder = self.home.assay.home().join("results");
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

const SHORT: [&str; 4] = ["--replicates", "5", "--set", "runs_per_trial=2"];

fn is_gone(process: &str) -> bool {
    let process = process.trim();
    assert!(!process.is_empty());
    let stat = fs::read_to_string(Path::new("/proc").join(process).join("stat"));
    // Ignores zombies that their new parent has not reaped.
    stat.map_or(true, |stat| stat.contains(") Z "))
}

fn read_when_there(path: &str) -> String {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text,
            _ => assert!(Instant::now() < until, "{path} never came"),
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_longer_sleep_takes_longer_and_the_table_has_everything() {
    let bench = Bench::new("commands-longer");
    // Thirty times as long: far more than the effect of busy CPUs.
    let commands = ["--command", "sleep 0.01", "--command", "sleep 0.3"];
    let found =
        bench.json(&[&commands[..], &["--replicates", "3", "--set", "runs_per_trial=2"]].concat());
    let compared = found["comparisons"].as_array().unwrap();
    let own = compared.iter().find(|one| one["metric"] == "duration_s").unwrap();
    assert_eq!(own["baseline"]["command"], "sleep 0.01");
    // Fewer than three undisturbed pairs have no ratio.
    let few = own["n"].as_u64() < Some(3);
    assert!(own["ratio"].as_f64().map_or(few, |ratio| ratio > 3.0), "{own:#}");
    // The certainty depends on the machine's load: the page agrees with the numbers.
    let verdict = own["verdict"].as_str().unwrap();
    assert_ne!(verdict, "better", "{own:#}");
    let id = found["study"]["id"].as_str().unwrap();
    let page = bench.home.text(&["show", id]);
    for word in ["sleep 0.3", "range", "memory", verdict, "through the shell"] {
        assert!(page.contains(word), "{word} is not in {page}");
    }
    let by_hand = bench.home.text(&["plan", id, "--commands"]);
    assert!(by_hand.contains("hyperfine --runs 2 'sleep 0.01'"), "{by_hand}");
}

/// The tutorial's command that compares two sleeps.
#[test]
#[ignore = "nightly: 4 s"]
fn the_sleeps_of_the_tutorial_are_compared() {
    let bench = Bench::new("commands-tutorial");
    let tutorial = include_str!("../../../../docs/tutorial.md");
    let is_shown =
        |line: &&str| line.starts_with("assay run --command 'sleep") && !line.contains("--gate");
    let program = Path::new(env!("CARGO_BIN_EXE_assay")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let mut seen = 0;
    for line in tutorial.lines().filter(is_shown) {
        seen += 1;
        let mut shell = std::process::Command::new("sh");
        // In full it takes half a minute.
        shell
            .args(["-c", &format!("{line} --quick")])
            .current_dir(bench.home.scratch.path())
            .env("PATH", &path);
        shell.env("ASSAY_HOME", bench.home.assay.home());
        let ended = run(&mut shell, Duration::from_secs(100)).unwrap();
        assert_eq!(ended.code, 0, "{line}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains("95% CI"), "{line}: {}", ended.stdout);
    }
    assert!(seen > 0);
}

#[test]
fn the_baseline_is_the_one_that_is_named_and_placeholders_are_factors() {
    let bench = Bench::new("commands-factors");
    let found = bench.json(
        &[
            &["--command", "sleep {s}", "--command", "sleep {s}; true", "-L", "s", "0.01,0.03"][..],
            &["--baseline", "sleep {s}; true", "--replicates", "3", "--set", "runs_per_trial=1"],
        ]
        .concat(),
    );
    let names: Vec<&str> = found["study"]["factors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["command", "s"]);
    let compared = found["comparisons"].as_array().unwrap();
    assert!(compared.iter().all(|one| one["baseline"]["command"] == "sleep {s}; true"));
}

#[test]
fn one_command_has_its_row_and_a_comment_is_markdown() {
    let bench = Bench::new("commands-one");
    let one = ["--command", "sleep 0.01", "--replicates", "3", "--set", "runs_per_trial=1"];
    assert!(bench.text(&one).contains("\ncommands\n"));
    let comment = bench.text(&[&one[..], &["--markdown"]].concat());
    assert!(comment.starts_with("### How long does this command take: sleep 0.01\n"), "{comment}");
    assert!(comment.contains("| workload | mean |"), "{comment}");
}

#[test]
fn what_was_measured_before_is_a_gate() {
    let bench = Bench::new("commands-gate");
    bench.text(&[&["--command", "sleep 0.01"][..], &SHORT].concat());
    let earlier = bench.results().remove(0);
    let gate = ["--against", &earlier, "--gate", "50%", "--set", "gate.must_detect=400%"];
    let slow = bench.words(&[&["--command", "sleep 0.1"][..], &SHORT, &gate].concat());
    let ended = bench.home.run(&slow);
    let told = format!("{}{}", ended.stdout, ended.stderr);
    let gate = told.split_whitespace().collect::<Vec<_>>().join(" ");
    // With busy CPUs, the gate is inconclusive.
    let words = if is_kept_from_them(ended.code, &told) {
        ["gate: inconclusive (command: ", "gate inconclusive (limit 50%)"]
    } else {
        assert_eq!(ended.code, 1, "{told}");
        ["gate: command fails (", "gate failed (limit 50%)"]
    };
    assert!(words.iter().all(|words| gate.contains(words)), "{told}");
    let told = bench.refused(2, &["--command", "true", "--gate", "5%"]);
    assert!(told.contains("--against"), "{told}");
}

#[test]
fn what_cannot_be_run_is_told_before_anything_is_measured() {
    let bench = Bench::new("commands-mistakes");
    for (words, said) in [
        (&["--command", "surely-not-there a", "--set", "shell=false"][..], "surely-not-there"),
        (&["--command", "kill -9 $$"], "signal 9"),
        (&["--command", "true", "--prepare", "exit 1"], "prepare `exit 1` exited with code 1"),
        (&["--command", "cat", "--set", "input=nothing"], "nothing"),
    ] {
        let told = bench.refused(3, words);
        assert!(told.contains(said), "{told}");
    }
    for (words, said) in [
        (&["--command", "true", "-L", "n", "1,2"][..], "{n}"),
        (&["--command", "a", "--command", "a"], "twice"),
        (&["--command", "tar 'x", "--set", "shell=false"], "quote"),
        (&["--command", "true", "--set", "timeout=soon"], "timeout=soon"),
    ] {
        let told = bench.home.told(2, &bench.words(words));
        assert!(told.contains(said), "{told}");
    }
    assert_eq!(bench.results(), Vec::<String>::new());
}

#[test]
fn trials_that_were_fine_stay_when_a_later_run_fails() {
    let bench = Bench::new("commands-fourth");
    // The pilot is its first run; the fourth is in a trial. Disturbed trials may not count. It takes longer than
    // starting a shell, including with busy CPUs.
    let line = "echo x >> count; sleep 0.3; test $(wc -l < count) -ne 4";
    let words = bench.words(&["--command", line, "--replicates", "5", "--set", "runs_per_trial=1"]);
    let ended = bench.home.run(&words);
    assert_eq!(ended.code, 5, "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("1 of "), "{}", ended.stderr);
    let kept = bench.home.json(&["show", "--json"]);
    let cell =
        kept["measurements"].as_array().unwrap().iter().find(|one| one["metric"] == "duration_s");
    assert!(matches!(cell.unwrap()["n"].as_u64(), Some(1..=4)), "{kept}");
    assert!(kept.to_string().contains("exited with code 1"));
    bench.text(&[
        "--command",
        "false",
        "--set",
        "ignore_failure=true",
        "--replicates",
        "2",
        "--set",
        "runs_per_trial=1",
    ]);
}

#[test]
#[ignore = "nightly: 1 s"]
fn nothing_of_a_command_is_left_running_whatever_it_does() {
    let bench = Bench::new("commands-left");
    let pid = bench.path("pid");
    let line = "(setsid sh -c 'trap \"\" TERM; echo $$ > pid; sleep 1000' &) ; \
                while ! test -s pid; do sleep 0.01; done";
    bench.text(&["--command", line, "--replicates", "2", "--set", "runs_per_trial=1"]);
    assert!(is_gone(&read_when_there(&pid)));
    fs::remove_file(&pid).unwrap();
    let line = "trap '' TERM; echo $$ > pid; while true; do sleep 1; done";
    let told = bench.refused(3, &["--command", line, "--set", "timeout=300ms"]);
    assert!(told.contains("did not finish within 300 ms"), "{told}");
    assert!(is_gone(&read_when_there(&pid)));
}

#[test]
#[ignore = "nightly: 1 s"]
fn floods_and_terminals_are_no_trouble() {
    let bench = Bench::new("commands-flood");
    let bytes = count(60_000_000, 300_000_000);
    let flood = format!("head -c {bytes} /dev/zero | tr '\\0' x; head -c {bytes} /dev/zero >&2");
    bench.text(&["--command", &flood, "--replicates", "2", "--set", "runs_per_trial=1"]);
    let asks = "cat; if (read x < /dev/tty) 2> /dev/null; then exit 1; fi";
    bench.text(&["--command", asks, "--replicates", "2", "--set", "runs_per_trial=1"]);
}

#[test]
fn who_interrupts_a_prepare_leaves_nothing_running() {
    let bench = Bench::new("commands-interrupted");
    let pid = bench.path("pid");
    let words = ["--command", "sleep 0.01", "--replicates", "3", "--prepare"];
    let prepare = "echo $$ > pid; sleep 1000";
    let words = bench.words(&[&words[..], &[prepare]].concat());
    let running = bench.home.assay.start(&words).unwrap();
    let process = read_when_there(&pid);
    running.signal("INT").unwrap();
    let ended = running.end(Duration::from_secs(60)).unwrap();
    assert_eq!(ended.code, 130, "{}{}", ended.stdout, ended.stderr);
    assert!(is_gone(&process));
}

#[test]
fn what_is_set_up_once_is_set_up_once_more_where_the_study_is_resumed() {
    let bench = Bench::new("commands-resumed");
    let lines =
        |name: &str| fs::read_to_string(bench.path(name)).map_or(0, |text| text.lines().count());
    // The fourth run is in a trial, and hangs.
    let line = "echo x >> runs; test $(wc -l < runs) -ne 4 || sleep 1000; cat data";
    let once = "echo once >> once; test ! -e broken && echo 1 > data";
    let words =
        ["--command", line, "--setup", once, "--replicates", "4", "--set", "runs_per_trial=1"];
    let words = bench.words(&words);
    let mut running = bench.home.assay.start(&words).unwrap();
    running.until(Duration::from_secs(60), || lines("runs") == 4).unwrap();
    running.signal("INT").unwrap();
    let ended = running.end(Duration::from_secs(60)).unwrap();
    assert_eq!(ended.code, 130, "{}{}", ended.stdout, ended.stderr);
    assert_eq!(lines("once"), 1);
    // As after a reboot of a machine with such files in memory.
    fs::remove_file(bench.path("data")).unwrap();
    fs::write(bench.path("broken"), "").unwrap();
    let told = bench.home.told(3, &["resume", "--quiet"]);
    assert!(told.contains("cannot continue: setup `echo once"), "{told}");
    assert_eq!((lines("once"), lines("runs")), (2, 4));
    fs::remove_file(bench.path("broken")).unwrap();
    bench.home.text(&["resume", "--quiet"]);
    assert_eq!(lines("once"), 3);
    let id = bench.results().remove(0);
    let result = bench.home.assay.home().join("results").join(id);
    let log = fs::read_to_string(result.join("log.jsonl")).unwrap();
    assert_eq!(log.matches("\"setup\"").count(), 1, "{log}");
}

/// A study without setup runs none on resume.
#[test]
fn a_study_that_sets_nothing_up_goes_on_with_its_trials_alone() {
    let bench = Bench::new("commands-resumed-bare");
    let runs = bench.path("runs");
    let lines = || fs::read_to_string(&runs).map_or(0, |text| text.lines().count());
    let line = "echo x >> runs; test $(wc -l < runs) -ne 4 || sleep 1000";
    let words = bench.words(&["--command", line, "--replicates", "4", "--set", "runs_per_trial=1"]);
    let mut running = bench.home.assay.start(&words).unwrap();
    running.until(Duration::from_secs(60), || lines() == 4).unwrap();
    running.signal("INT").unwrap();
    assert_eq!(running.end(Duration::from_secs(60)).unwrap().code, 130);
    bench.home.text(&["resume", "--quiet"]);
    let id = bench.results().remove(0);
    let result = bench.home.assay.home().join("results").join(id);
    let log = fs::read_to_string(result.join("log.jsonl")).unwrap();
    assert!(log.contains("\"resumed\"") && !log.contains("\"setup\""), "{log}");
}

#[test]
fn values_of_the_environment_are_kept_nowhere() {
    let bench = Bench::new("commands-secret");
    let run_with_secret = |words: &[&str]| {
        let mut command = bench.home.assay.command(words);
        command.env("A_SECRET", "zmxncbvalskdj");
        let ended = run(&mut command, Duration::from_secs(100)).unwrap();
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    };
    // Only programs that receive the secret get it, and they do not pass it on.
    let line = "test -z \"$A_SECRET\"";
    run_with_secret(&bench.words(&[
        "--command",
        line,
        "--replicates",
        "2",
        "--set",
        "runs_per_trial=1",
    ]));
    let study = "format = \"assay-study/1\"\ntitle = \"given\"\nreplicates = 2\n[[workload]]\nname = \"a\"\n\
                 command = { run = 'test -n \"$A_SECRET\"', runs_per_trial = 1, pass_env = [\"A_SECRET\"] }\n";
    let study = bench.home.file("given.toml", study);
    run_with_secret(&["run", &study, bench.home.scratch.path().to_str().unwrap()]);
    let kept = bench.home.assay.home().to_owned();
    let mut looked_at = 0;
    let mut folders = vec![kept];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                looked_at += 1;
                let text = fs::read(&path).unwrap();
                assert!(!String::from_utf8_lossy(&text).contains("zmxncbvalskdj"), "{path:?}");
            }
        }
    }
    assert!(looked_at > 3);
}

#[test]
fn commands_of_a_result_that_was_brought_along_are_not_run() {
    let bench = Bench::new("commands-stranger");
    let marker = bench.path("was-run");
    let line = "echo x >> was-run";
    bench.text(&["--command", line, "--replicates", "2", "--set", "runs_per_trial=1"]);
    let id = bench.results().remove(0);
    let result = bench.home.assay.home().join("results").join(&id);
    fs::remove_file(&marker).unwrap();
    fs::set_permissions(result.join("plan.json"), fs::Permissions::from_mode(0o666)).unwrap();
    for words in [&["resume", &id, "--quiet"][..], &["advise", "confirm", &id, "--quiet"]] {
        let told = bench.home.told(3, words);
        assert!(told.contains("plan.json: other users can write to it"), "{told}");
    }
    assert!(!Path::new(&marker).exists());
}
