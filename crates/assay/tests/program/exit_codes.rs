//! Exit codes of gates, line by line, for commands that print a number, without noise from the machine.

use std::path::Path;
use std::time::Duration;

use assay_testkit::needs::is_busy;
use assay_testkit::process::Ended;

use crate::busy;
use crate::commands::Bench;

/// Maximum duration of a line.
const LIMIT: Duration = Duration::from_secs(100);
/// File that shows that a line may be interrupted.
const HANGS: &str = "hangs";

struct Line {
    /// The baseline and the compared command. Their output is read as a rate.
    commands: [&'static str; 2],
    more: &'static [&'static str],
    code: i32,
    says: &'static str,
    keeps: Keeps,
}

#[derive(Clone, Copy, PartialEq)]
enum Keeps {
    Nothing,
    Begun,
    All,
}

macro_rules! table {
    ($($test:ident: $line:expr,)+) => {
        $(#[test]
        fn $test() {
            check(&$line, stringify!($test));
        })+
    };
}

table! {
    a_change_within_the_limit_passes: Line {
        commands: ["echo 100 ops/s", "echo 98 ops/s"],
        more: &[],
        code: 0,
        says: "Gate passed (limit 5%): command (new) passes (2% worse",
        keeps: Keeps::All,
    },
    a_significant_loss_above_the_limit_fails: Line {
        commands: ["echo 100 ops/s", "echo 80 ops/s"],
        more: &[],
        code: 1,
        says: "gate failed (limit 5%): command (new) fails (20% worse",
        keeps: Keeps::All,
    },
    a_failed_gate_outranks_a_failed_trial: Line {
        commands: ["echo 100 ops/s", "test {replicate} -ne 2 && echo 80 ops/s"],
        more: &[],
        code: 1,
        says: "gate failed (limit 5%)",
        keeps: Keeps::All,
    },
    replicates_are_few: Line {
        commands: ["echo 100 ops/s", "echo 80 ops/s"],
        more: &["--replicates", "2"],
        code: 5,
        says: "undisturbed pairs with the baseline; the gate needs 3",
        keeps: Keeps::All,
    },
    trials_lie_apart: Line {
        commands: ["echo 100 ops/s", "echo $((50 + 100 * ({replicate} % 2))) ops/s"],
        more: &[],
        code: 5,
        says: ", must_detect is 30%",
        keeps: Keeps::All,
    },
    an_inconclusive_gate_exits_with_the_chosen_code: Line {
        commands: ["echo 100 ops/s", "echo 80 ops/s"],
        more: &["--replicates", "2", "--exit-inconclusive", "125"],
        code: 125,
        says: "gate inconclusive (limit 5%)",
        keeps: Keeps::All,
    },
    an_inconclusive_gate_may_pass: Line {
        commands: ["echo 100 ops/s", "echo 80 ops/s"],
        more: &["--replicates", "2", "--set", "gate.allow_inconclusive=true"],
        code: 0,
        says: "Gate passed (limit 5%)",
        keeps: Keeps::All,
    },
    zero_has_no_ratio: Line {
        commands: ["echo 100 ops/s", "echo 0 ops/s"],
        more: &["--until", "gate"],
        code: 5,
        says: "gate inconclusive after 4 replicates (limit 5%): command (new): a metric that can be zero has no ratio",
        keeps: Keeps::All,
    },
    until_gate_ends_when_it_is_decided: Line {
        commands: ["echo 100 ops/s", "echo 98 ops/s"],
        more: &["--until", "gate"],
        code: 0,
        says: "Gate passed after",
        keeps: Keeps::All,
    },
    a_side_fails_at_once: Line {
        commands: ["echo 100 ops/s", "echo far too bad >&2; exit 7"],
        more: &[],
        code: 5,
        says: "exited with code 7; stderr: far too bad",
        keeps: Keeps::Nothing,
    },
    what_fails_at_once_may_have_a_code: Line {
        commands: ["echo 100 ops/s", "echo far too bad >&2; exit 7"],
        more: &["--exit-inconclusive", "125"],
        code: 125,
        says: "exited with code 7; stderr: far too bad",
        keeps: Keeps::Nothing,
    },
    a_side_fails_in_every_trial: Line {
        commands: ["echo 100 ops/s", "echo 100 ops/s; test {replicate} -eq 0"],
        more: &[],
        code: 5,
        says: "the row has no number: every trial failed",
        keeps: Keeps::All,
    },
    outputs_differ: Line {
        commands: ["echo 100 ops/s", "echo 100 ops/s; echo other"],
        more: &["--set", "same_output=true"],
        code: 5,
        says: "is invalid",
        keeps: Keeps::All,
    },
    a_number_is_never_there: Line {
        commands: ["echo 100 ops/s", "echo none today"],
        more: &[],
        code: 5,
        says: "the last line is",
        keeps: Keeps::Nothing,
    },
    a_number_is_not_there_once: Line {
        commands: ["echo 100 ops/s", "test {replicate} -eq 2 && echo none || echo 100 ops/s"],
        more: &[],
        code: 5,
        says: "trials failed (the first: run 1 of",
        keeps: Keeps::All,
    },
    somebody_interrupts_it: Line {
        commands: [
            "echo 100 ops/s",
            "if test {trial} -gt 2; then touch hangs; sleep 1000; fi; echo 100 ops/s",
        ],
        more: &[],
        code: 130,
        says: "finished trials are stored",
        keeps: Keeps::Begun,
    },
}

/// Runs a line as typed, and interrupts it when it hangs.
fn ended(bench: &Bench, line: &Line) -> Ended {
    let [old, new] = line.commands;
    let sides =
        ["--command", old, "--command", new, "-n", "old", "-n", "new", "--set", "runs_per_trial=1"];
    let gate = ["--parse", "([0-9.]+) ops/s:ops/s:higher", "--gate", "5%"];
    let is_said = line.more.iter().any(|word| ["--replicates", "--until"].contains(word));
    let replicates: &[&str] = if is_said { &[] } else { &["--replicates", "6"] };
    let words = bench.words(&[&sides[..], &gate, replicates, line.more].concat());
    if line.keeps != Keeps::Begun {
        return bench.home.run(&words);
    }
    let mut running = bench.home.assay.start(&words).unwrap();
    let hangs = bench.path(HANGS);
    running.until(LIMIT, || Path::new(&hangs).exists()).unwrap();
    running.signal("INT").unwrap();
    running.end(LIMIT).unwrap()
}

/// Maximum number of runs of a line: with busy CPUs, its gate is correctly inconclusive.
const ATTEMPTS: u32 = 5;

fn check(line: &Line, test: &str) {
    // Verdicts need CPUs that other tests leave alone.
    let _turn = crate::turn();
    for attempt in 1..=ATTEMPTS {
        let bench = Bench::new(&format!("exit-codes-{test}-{attempt}"));
        let ended = ended(&bench, line);
        let said = format!("{}\n{}", ended.stdout, ended.stderr);
        let is_as_told = ended.code == line.code && one_line(&said).contains(line.says);
        if is_as_told || !busy::says_so(ended.code, &said) {
            return judge(line, &bench, &ended);
        }
    }
    assert!(is_busy(), "it says each time that others have the processors");
}

/// Joins lines broken at the page width.
fn one_line(said: &str) -> String {
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn judge(line: &Line, bench: &Bench, ended: &Ended) {
    let said = format!("{}\n{}", ended.stdout, ended.stderr);
    assert_eq!(ended.code, line.code, "{said}");
    assert!(one_line(&said).contains(line.says), "{said}");
    let kept = bench.results().len();
    assert_eq!(kept, usize::from(line.keeps != Keeps::Nothing), "{said}");
    // The result reports the same gate, with any exit code.
    if line.keeps == Keeps::All {
        let found = bench.home.json(&["show", "--json"]);
        let ended = found["gate"]["outcome"].as_str().unwrap();
        let expected: &[&str] = match line.code {
            0 => &["pass"],
            1 => &["fail"],
            // Lost trials give the same exit code with any gate result.
            _ => &["inconclusive", "pass"],
        };
        assert!(expected.contains(&ended), "{}", found["gate"]);
    }
}
