//! `cargo xtask bench-commands`: times of commands by the product and by hyperfine, in turns, and what
//! studies of known commands say.
//!
//! A benchmark: other work on the machine moves the times, and the page says how it was.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::bench::Draws;
use crate::lab::process::Assay;
use crate::lab::{Done, Scratch, has};
use crate::options::Options;
use crate::{bench, facts};

/// Runs of one side in a round come as this many trials.
const TRIALS: usize = 3;
const LIMIT: Duration = Duration::from_secs(600);
/// The exit code of a study that is refused, and how often and how long it is waited for.
const REFUSED: i32 = 3;
const ATTEMPTS: usize = 300;
const PAUSE: Duration = Duration::from_secs(1);
/// Studies of two identical commands of which so many may have a winner.
const MOST_WINNERS: usize = 3;

/// A command that both sides time.
struct Timed {
    line: &'static str,
    shell: bool,
    /// Runs of a trial.
    runs: usize,
}

const TIMED: [Timed; 5] = [
    Timed { line: "true", shell: false, runs: 100 },
    Timed { line: "gzip -kc small", shell: true, runs: 20 },
    Timed { line: "gzip -9 -kc large", shell: true, runs: 4 },
    Timed { line: "sleep 0.5", shell: true, runs: 1 },
    Timed { line: "xz -2 -T1 -kc large", shell: true, runs: 1 },
];

/// Two commands, and what a study of them has to say.
struct Known {
    commands: [&'static str; 2],
    expected: &'static str,
    within_margin: bool,
}

const KNOWN: [Known; 2] = [
    Known { commands: ["sleep 0.1", "sleep 0.11"], expected: "worse", within_margin: false },
    Known { commands: ["sleep 0.1", "sleep 0.102"], expected: "worse", within_margin: true },
];

/// Where everything is run.
struct Site {
    assay: Assay,
    scratch: Scratch,
}

/// Measures and prints the page.
pub fn run(options: &Options) -> Done<bool> {
    let [rounds, studies] = ["--rounds", "--studies"].map(|name| options.number(name));
    let head = facts::lines();
    let (program, _) = bench::program(options)?;
    let site = Site::new(&program)?;
    let mut page = format!(
        "# Commands\n\n`cargo xtask bench-commands --rounds {rounds} --studies {studies}`\n\n{}\n",
        head.join("\n")
    );
    let mut holds = site.known(&mut page)?;
    holds &= site.identical(studies, &mut page)?;
    if has("hyperfine") {
        holds &= site.beside_hyperfine(rounds, &mut page)?;
    } else {
        page.push_str("\nhyperfine is not installed: nothing was held against it.\n");
    }
    bench::keep(options, "commands.md", &page)?;
    Ok(holds)
}

impl Site {
    fn new(program: &Path) -> Done<Self> {
        let scratch = Scratch::on_drive("bench-commands")?;
        let home = scratch.folder("home", 0o755, None)?;
        let site = Self { assay: Assay::new(program, &home), scratch };
        for (name, lines) in [("small", 60_000_u64), ("large", 1_000_000)] {
            // Lines that packers find work in, the same each time.
            let text = (0..lines).fold(String::new(), |mut text, line| {
                let _ = writeln!(text, "{}", line.wrapping_mul(2_654_435_761) % 1_000_003);
                text
            });
            fs::write(site.folder().join(name), text).map_err(|error| error.to_string())?;
        }
        Ok(site)
    }

    fn folder(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }

    /// The findings of a study of commands.
    fn study(&self, words: &[&str]) -> Done<Value> {
        let folder = self.folder().display().to_string();
        let words = [&["run", &folder, "--quiet", "--json"], words].concat();
        // Another study may have the same storage for a while: that one refuses this one.
        let mut ended = self.assay.run(&words, LIMIT)?;
        for _ in 0..ATTEMPTS {
            if ended.code != REFUSED {
                break;
            }
            thread::sleep(PAUSE);
            ended = self.assay.run(&words, LIMIT)?;
        }
        if ended.code != 0 {
            return Err(format!("{words:?}: {}", ended.stderr));
        }
        ended.json()
    }

    /// Studies whose answer is known.
    fn known(&self, page: &mut String) -> Done<bool> {
        page.push_str(
            "\n## Known answers\n\nTen replicates, margin 5 %; the first command is the baseline.\n\n",
        );
        page.push_str(&bench::table(
            "commands | ratio | 95 % interval | verdict | smaller than the margin",
        ));
        let mut holds = true;
        for Known { commands: [first, second], expected, within_margin } in &KNOWN {
            let found = self.study(&["--command", first, "--command", second])?;
            let one = compared(&found)?;
            let within = one["within_margin"].as_bool().unwrap_or(false);
            holds &= one["verdict"] == **expected && within == *within_margin;
            let _ = writeln!(
                page,
                "| `{first}`, `{second}` | {} | {} | {} | {within} |",
                number(&one["ratio"]),
                interval(&one["ci95_family"]),
                one["verdict"].as_str().unwrap_or("none"),
            );
        }
        Ok(holds)
    }

    /// Studies of twice the same command: how many say that there is a difference.
    fn identical(&self, studies: usize, page: &mut String) -> Done<bool> {
        let mut verdicts: Vec<String> = Vec::new();
        let mut rows = String::new();
        for study in 1..=studies {
            let found = self.study(&["--command", "sleep 0.1", "--command", "sleep 0.10"])?;
            let one = compared(&found)?;
            let verdict = one["verdict"].as_str().unwrap_or("none").to_owned();
            let _ = writeln!(
                rows,
                "| {study} | {} | {} | {verdict} |",
                number(&one["ratio"]),
                interval(&one["ci95_family"])
            );
            verdicts.push(verdict);
        }
        let of = |word: &str| verdicts.iter().filter(|verdict| *verdict == word).count();
        let winners = of("better") + of("worse");
        let _ = write!(
            page,
            "\n## Twice the same\n\n`sleep 0.1` against `sleep 0.10`, {studies} studies: {winners} say better \
             or worse (at most {MOST_WINNERS} may), {} equivalent.\n\n{}{rows}",
            of("equivalent"),
            bench::table("study | ratio | 95 % interval | verdict")
        );
        Ok(winners <= MOST_WINNERS && 2 * of("equivalent") > studies)
    }

    /// Both sides of each command, in turns.
    fn beside_hyperfine(&self, rounds: usize, page: &mut String) -> Done<bool> {
        let version = crate::lab::call("hyperfine", &["--version"])?;
        let _ = write!(
            page,
            "\n## Beside {}\n\nEach command by both, {rounds} rounds, the first of each round drawn. The ratio \
             is of the means of each round, ours over hyperfine's: geometric mean over the rounds with its \
             95 % t interval on the log scale. They agree where the interval holds 1.\n\n{}",
            version.trim(),
            bench::table(
                "command | runs a round | hyperfine, ms | ours, ms | ratio | 95 % interval | agree"
            )
        );
        let mut draws = Draws::new();
        let mut holds = true;
        for timed in &TIMED {
            let (mut theirs, mut ours) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                for by_us in draws.both() {
                    if by_us {
                        ours.push(self.ours(timed)?);
                    } else {
                        theirs.push(self.theirs(timed)?);
                    }
                }
            }
            let [ratio, low, high] = bench::ratio(&theirs, &ours)?;
            let agree = low <= 1.0 && 1.0 <= high;
            holds &= agree;
            let _ = writeln!(
                page,
                "| `{}`{} | {} | {:.3} | {:.3} | {ratio:.3} | {low:.3} to {high:.3} | {agree} |",
                timed.line,
                if timed.shell { "" } else { ", without a shell" },
                TRIALS * timed.runs,
                mean(&theirs) * 1e3,
                mean(&ours) * 1e3,
            );
        }
        Ok(holds)
    }

    /// Seconds of a run by the product.
    fn ours(&self, timed: &Timed) -> Done<f64> {
        let (trials, runs) = (TRIALS.to_string(), timed.runs.to_string());
        let mut words = vec!["--command", timed.line, "--replicates", &trials, "--runs", &runs];
        words.extend((!timed.shell).then_some("--no-shell"));
        let found = self.study(&words)?;
        let cells = found["cells"].as_array().into_iter().flatten();
        let own = cells.into_iter().find(|cell| cell["metric"] == "duration_s");
        own.and_then(|cell| cell["geometric_mean"].as_f64()).ok_or_else(|| format!("{found}"))
    }

    /// Seconds of a run by hyperfine.
    fn theirs(&self, timed: &Timed) -> Done<f64> {
        let out = self.folder().join("hyperfine.json");
        let mut command = Command::new("hyperfine");
        command.current_dir(self.folder()).args(["--runs", &(TRIALS * timed.runs).to_string()]);
        command.args(["--warmup", "1", "--style", "none", "--export-json"]).arg(&out);
        command.args((!timed.shell).then_some("--shell=none")).arg(timed.line);
        let ended = command.output().map_err(|error| format!("hyperfine: {error}"))?;
        if !ended.status.success() {
            return Err(format!("hyperfine: {}", String::from_utf8_lossy(&ended.stderr)));
        }
        let text = fs::read_to_string(&out).map_err(|error| error.to_string())?;
        let found: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        found["results"][0]["mean"].as_f64().ok_or_else(|| "hyperfine tells no mean".to_owned())
    }
}

/// The comparison of the times.
fn compared(found: &Value) -> Done<&Value> {
    let all = found["comparisons"].as_array().into_iter().flatten();
    let own = all.into_iter().find(|one| one["metric"] == "duration_s");
    own.ok_or_else(|| "nothing was compared".to_owned())
}

fn number(value: &Value) -> String {
    value.as_f64().map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"))
}

fn interval(ends: &Value) -> String {
    format!("{} to {}", number(&ends[0]), number(&ends[1]))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
