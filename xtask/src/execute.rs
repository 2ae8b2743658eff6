//! `cargo xtask bench-execute`: what it costs to measure a program.
//!
//! The same short program by the product and by a bare loop (start, wait, clock), in turns, in an order
//! drawn for each pair: whatever the product does between its two looks at the clock shows here.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use assay_base::presence::Presence;
use assay_runner::real::{self, Real};
use assay_system::system::execute::{PeakBy, passed};
use assay_system::system::{Execution, System};

use crate::bench::{Draws, middle};
use crate::lab::Done;
use crate::options::Options;
use crate::{bench, facts};

/// Pairs of a round: the medians of a round are one pair of the interval.
const PAIRS: usize = 25;
/// What measuring may add to a program of one millisecond: this share of its time.
const MOST_COST: f64 = 0.05;
const PROGRAMS: [&[&str]; 2] = [&["/bin/true"], &["/bin/sleep", "0.001"]];

/// A program with what was measured, seconds.
struct Case {
    words: Vec<String>,
    /// Median of each round by the bare loop, and by the product.
    bare: Vec<f64>,
    ours: Vec<f64>,
    /// The same with what is done before the start and after the end.
    whole: Vec<f64>,
    peak: &'static str,
}

pub fn run(options: &Options) -> Done<bool> {
    let rounds = options.number("--rounds");
    if cfg!(debug_assertions) {
        return bench::optimised("bench-execute", options, &["--rounds"]);
    }
    let head = facts::lines();
    let mut draws = Draws::new();
    let mut cases: Vec<Case> = PROGRAMS.iter().map(|words| Case::new(words)).collect();
    for round in 0..=rounds {
        for case in &mut cases {
            case.round(&mut draws, round > 0)?;
        }
    }
    real::leave();
    let (page, holds) = page(&head, rounds, &cases)?;
    bench::keep(options, "execute.md", &page)?;
    Ok(holds)
}

impl Case {
    fn new(words: &[&str]) -> Self {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Self { words, bare: Vec::new(), ours: Vec::new(), whole: Vec::new(), peak: "not known" }
    }

    /// The first round warms up and is not kept.
    fn round(&mut self, draws: &mut Draws, kept: bool) -> Done<()> {
        let (mut bare, mut ours, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..PAIRS {
            for by_product in draws.both() {
                if by_product {
                    let began = Instant::now();
                    ours.push(self.by_product()?);
                    whole.push(began.elapsed().as_secs_f64());
                } else {
                    bare.push(self.by_hand()?);
                }
            }
        }
        if kept {
            self.bare.push(middle(&bare));
            self.ours.push(middle(&ours));
            self.whole.push(middle(&whole));
        }
        Ok(())
    }

    fn by_product(&mut self) -> Done<f64> {
        let executed = Real::new().execute(&Execution {
            words: &self.words,
            directory: Path::new("/"),
            passed: &passed(&Real::new(), &[]),
            environment: &[],
            caller: None,
            input: None,
            timeout: None,
            stop: &AtomicBool::new(false),
            memory: None,
            heard_bytes: 0,
            hashed: false,
            counted: true,
        });
        let executed = executed.map_err(|error| error.to_string())?;
        self.peak = match executed.peak_memory {
            Presence::Present(peak) if peak.by == PeakBy::Cgroup => "control group",
            Presence::Present(peak) if peak.by == PeakBy::Sampled => "sampled",
            Presence::Present(_) => "largest process",
            Presence::Absent(_) => "not known",
        };
        Ok(executed.wall_ns as f64 / 1e9)
    }

    /// As little as can be done: files are opened before, the kernel is asked to start it and to wait.
    fn by_hand(&self) -> Done<f64> {
        let fail = |error: std::io::Error| error.to_string();
        let null = File::options().read(true).write(true).open("/dev/null").map_err(fail)?;
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(null.try_clone().map_err(fail)?);
        command.stdout(null.try_clone().map_err(fail)?).stderr(null);
        let began = Instant::now();
        let status = command.spawn().and_then(|mut child| child.wait()).map_err(fail)?;
        let time = began.elapsed().as_secs_f64();
        if status.success() { Ok(time) } else { Err(format!("{:?}: {status}", self.words)) }
    }
}

fn page(head: &[String], rounds: usize, cases: &[Case]) -> Done<(String, bool)> {
    let mut page = format!(
        "# What measuring a program costs\n\n\
         `cargo xtask bench-execute --rounds {rounds}`: a short program by `System::execute` and by a bare loop\n\
         (`posix_spawn`, wait, clock; nothing else), {PAIRS} pairs a round in an order drawn for each pair, one\n\
         round before that to warm up. The ratio is of the medians of each round, ours / bare: geometric mean\n\
         over the rounds with its 95 % t interval on the log scale. Target: no more than {:.2}.\n\n{}\n\n{}",
        1.0 + MOST_COST,
        head.join("\n"),
        bench::table(
            "program | bare, ms | ours, ms | ratio | 95 % interval | with all before and after, ms | \
             peak of memory by"
        )
    );
    let mut holds = true;
    for case in cases {
        let [ratio, low, high] = bench::ratio(&case.bare, &case.ours)?;
        holds &= ratio <= 1.0 + MOST_COST;
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| `{}` | {:.3} | {:.3} | {ratio:.3} | {low:.3} to {high:.3} | {:.3} | {} |",
            case.words.join(" "),
            middle(&case.bare) * 1e3,
            middle(&case.ours) * 1e3,
            middle(&case.whole) * 1e3,
            case.peak
        );
    }
    page.push_str("\nTimes are medians over the rounds.\n");
    Ok((page, holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_whether_the_target_is_met() -> Done<()> {
        let case = |ours: f64| Case {
            bare: vec![1e-3, 1.01e-3, 0.99e-3],
            ours: vec![ours, ours * 1.01, ours * 0.99],
            whole: vec![2e-3; 3],
            ..Case::new(&["/bin/true"])
        };
        let (page, holds) = page(&[], 3, &[case(1.02e-3)])?;
        assert!(holds && page.contains("| `/bin/true` | 1.000 | 1.020 | 1.020 |"), "{page}");
        assert!(!super::page(&[], 3, &[case(1.02e-3), case(1.2e-3)])?.1);
        Ok(())
    }
}
