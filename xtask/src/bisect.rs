//! `cargo xtask bench-bisect`: how often `assay bisect` finds the right commit, and `git bisect run` with a script as
//! people write it: the mean of three runs against a threshold.
//!
//! Histories are made by `assay_lab::history`. What is told needs no quiet machine, since the program makes up the
//! times and their noise itself; with `--busy` it works, and other work on the machine moves the times.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use assay_base::draws::Draws;
use assay_stats::normal_quantile;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::lab::history::{History, Plan, Work};
use crate::lab::process::{Assay, Ended};
use crate::lab::{Done, Scratch, has};
use crate::options::Options;
use crate::{bench, facts};

/// How much slower the bad commits are, and how far runs of one commit lie apart.
const STEP: f64 = 0.03;
const NOISE: f64 = 0.03;
/// Runs of a trial where times are told: as many as a command of a tenth of a second has by itself.
const RUNS: &str = "10";
/// Runs that the script of `git bisect run` takes the mean of.
const SCRIPT_RUNS: usize = 3;
/// Of so many searches one may be wrong.
const ONE_IN: usize = 20;

/// No search takes longer.
const LIMIT: Duration = Duration::from_secs(4 * 3600);
/// The exit codes of a search that is refused, as another study has the drive, and of one that found nothing.
const REFUSED: i32 = 3;
const PARTIAL: i32 = 5;
/// How often and how long a refused one is waited for.
const ATTEMPTS: usize = 300;
const PAUSE: Duration = Duration::from_secs(1);
/// What a search has to end in by itself when the user ends the chore.
const GRACE: Duration = Duration::from_secs(5);

/// What is asked for.
struct Asked {
    assay: Assay,
    scratch: Scratch,
    work: Work,
    searches: usize,
    commits: usize,
    seed: u64,
    stop: Arc<AtomicBool>,
}

/// What came of one history.
struct Searched {
    /// Where the first bad commit stands, from 0.
    first_bad: usize,
    /// Whether what was found is right; none where nothing was found.
    ours: Option<bool>,
    /// How it ended, in a sentence.
    summary: String,
    steps: usize,
    replicates: u64,
    time: Duration,
    /// The same of `git bisect run`, where it was run.
    theirs: Option<bool>,
}

/// Searches, and prints the page.
pub fn run(options: &Options) -> Done<bool> {
    let asked = Asked::new(options)?;
    let head = facts::lines();
    let mut all = Vec::with_capacity(asked.searches);
    for number in 0..asked.searches {
        if asked.is_stopped() {
            break;
        }
        match asked.search(number) {
            Ok(searched) => {
                println!("{}: {}", number + 1, searched.summary);
                all.push(searched);
            }
            // What was found before is told.
            Err(_) if asked.is_stopped() => break,
            Err(why) => return Err(why),
        }
    }
    let page = asked.page(&head, &all);
    if asked.is_stopped() {
        println!("{page}");
        return Err(format!("ended after {} of {} searches", all.len(), asked.searches));
    }
    bench::keep(options, "bisect.md", &page)?;
    Ok(holds(&all))
}

impl Asked {
    fn new(options: &Options) -> Done<Self> {
        if !has("git") {
            return Err("needs git".to_owned());
        }
        let program = bench::program(options)?;
        let scratch = Scratch::new("bench-bisect")?;
        let home = scratch.folder("home", 0o755, None)?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&stop)).map_err(|error| error.to_string())?;
        }
        let work = if options.has("--busy") { Work::Busy } else { Work::Told };
        let [searches, commits] = ["--count", "--commits"].map(|name| options.number(name));
        if commits < 2 {
            return Err("--commits: a history has two at least".to_owned());
        }
        let seed = options.number("--seed") as u64;
        let assay = Assay::new(&program, &home);
        Ok(Self { assay, scratch, work, searches, commits, seed, stop })
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// One history, searched by both.
    fn search(&self, number: usize) -> Done<Searched> {
        let mut draws = Draws::new(self.seed.wrapping_add(number as u64), "bench-bisect");
        let first_bad = 1 + draws.below(self.commits as u64 - 1) as usize;
        let folder = self.scratch.folder(&number.to_string(), 0o755, None)?;
        let (work, commits) = (self.work, self.commits);
        let plan = Plan { work, commits, first_bad, step: STEP, noise: NOISE };
        let history = History::new(&folder, plan, || deviation(&mut draws))?;
        let began = Instant::now();
        let ended = self.waited_for(&self.words(&history))?;
        let time = began.elapsed();
        if ![0, PARTIAL].contains(&ended.code) {
            return Err(format!(
                "search {}: exit code {}: {}",
                number + 1,
                ended.code,
                ended.stderr
            ));
        }
        let found = ended.json()?;
        let theirs = self.by_git(&history)?;
        let first = found["first_bad"]["id"].as_str();
        let searched = Searched {
            first_bad,
            ours: first.map(|id| id == history.first_bad()),
            summary: found["summary"].as_str().unwrap_or_default().to_owned(),
            steps: found["steps"].as_array().map_or(0, Vec::len),
            replicates: replicates(&found),
            time,
            theirs,
        };
        // Repositories of all searches together would fill a memory.
        std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(searched)
    }

    fn words(&self, history: &History) -> Vec<String> {
        let [good, bad] = history.ends();
        let repository = history.repository().path().display().to_string();
        let line = history.line();
        let mut words: Vec<&str> =
            vec!["bisect", good, bad, "--repository", &repository, "--command", &line];
        if self.work == Work::Told {
            words.extend(["--reads", "took ([0-9]+) us:us:lower", "--runs", RUNS]);
        }
        words.extend(["--quiet", "--json"]);
        words.into_iter().map(str::to_owned).collect()
    }

    /// A search to its end; one that another study keeps from its drive is tried again.
    fn waited_for(&self, words: &[String]) -> Done<Ended> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut ended = self.ran(&words)?;
        for _ in 0..ATTEMPTS {
            if ended.code != REFUSED {
                break;
            }
            thread::sleep(PAUSE);
            ended = self.ran(&words)?;
        }
        Ok(ended)
    }

    /// The product, until it ends or the user ends the chore.
    fn ran(&self, words: &[&str]) -> Done<Ended> {
        let mut running = self.assay.start(words)?;
        while !running.has_ended() && !self.is_stopped() {
            thread::sleep(Duration::from_millis(50));
        }
        if self.is_stopped() {
            // A terminal tells all of its programs, anybody else this one alone.
            thread::sleep(GRACE);
            if !running.has_ended() {
                running.signal("INT")?;
                thread::sleep(GRACE);
            }
            return Err("ended by the user".to_owned());
        }
        running.end(LIMIT)
    }

    /// Whether `git bisect run` is right, with the mean of three runs and a threshold in the middle between such
    /// means of both ends; none where there is no hyperfine that could take the time of what works.
    fn by_git(&self, history: &History) -> Done<Option<bool>> {
        let line = history.line();
        let mean = match self.work {
            Work::Told => mean_of_told(&line),
            Work::Busy if has("hyperfine") => mean_of_hyperfine(&line),
            Work::Busy => return Ok(None),
        };
        let of = |commit: &str| -> Done<u64> {
            let told = history.printed_at(commit, &mean)?;
            told.trim().parse::<u64>().map_err(|error| format!("{told}: {error}"))
        };
        let [good, bad] = history.ends();
        let threshold = u64::midpoint(of(good)?, of(bad)?);
        let found = history.bisected_by_git(&format!("test \"$({mean})\" -le {threshold}"))?;
        Ok(Some(found == history.first_bad()))
    }

    fn page(&self, head: &[String], all: &[Searched]) -> String {
        let busy = if self.work == Work::Busy { " --busy" } else { "" };
        let mut page = format!(
            "# Bisect\n\n`cargo xtask bench-bisect --count {} --commits {} --seed {}{busy}`\n\n{}\n\n",
            self.searches,
            self.commits,
            self.seed,
            head.join("\n")
        );
        page.push_str(&self.words_of_it());
        page.push_str(&bench::table(
            "search | first worse commit | assay bisect | steps | replicates | minutes | git bisect run",
        ));
        for (number, one) in (1..).zip(all) {
            // Writing to a String cannot fail.
            let _ = writeln!(
                page,
                "| {number} | {} | {} | {} | {} | {:.1} | {} |",
                one.first_bad + 1,
                one.ours.map_or("not found", word),
                one.steps,
                one.replicates,
                one.time.as_secs_f64() / 60.0,
                one.theirs.map_or("-", word)
            );
        }
        page + &told(all)
    }

    /// What was done.
    fn words_of_it(&self) -> String {
        let [step, noise] = [STEP, NOISE].map(|share| 100.0 * share);
        let (what, mean) = match self.work {
            Work::Told => (
                format!(
                    "The program says at once how long it took, and the product reads that (`--reads`, {RUNS} runs a \
                     trial, as many as a command of a tenth of a second has by itself)."
                ),
                "what the program says",
            ),
            Work::Busy => (
                "The program goes round a loop of a tenth of a second or more, which the product times."
                    .to_owned(),
                "`hyperfine --warmup 1`",
            ),
        };
        format!(
            "Histories of {} commits, of which all from one on that was drawn are {step:.0} % slower. Each run scatters \
             by {noise:.0} % (normal, drawn from the seed, one list for both). {what} Beside it the same history by \
             `git bisect run` with a script as people write it: a commit is bad where the mean of {SCRIPT_RUNS} runs \
             ({mean}) is above the middle between the means of {SCRIPT_RUNS} runs of the first commit and of \
             {SCRIPT_RUNS} of the last.\n\n",
            self.commits
        )
    }
}

/// A standard normal number.
fn deviation(draws: &mut Draws) -> f64 {
    // In the middle of its step, so that it is neither 0 nor 1.
    let share = ((draws.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    normal_quantile(share).unwrap_or_default()
}

/// Replicates of all studies of a search.
fn replicates(found: &Value) -> u64 {
    let steps = found["steps"].as_array().into_iter().flatten();
    let studies = steps.chain([&found["ends"], &found["once_more"]["step"]]);
    studies.filter_map(|step| step["replicates"].as_u64()).sum()
}

/// A line that prints the mean of three runs that tell their time.
fn mean_of_told(line: &str) -> String {
    format!(
        "for run in $(seq {SCRIPT_RUNS}); do {line}; done | awk '{{ sum += $2 }} END {{ print int(sum / NR) }}'"
    )
}

/// A line that prints hyperfine's mean of three runs, in microseconds.
fn mean_of_hyperfine(line: &str) -> String {
    format!(
        "hyperfine --warmup 1 --runs {SCRIPT_RUNS} --export-json /dev/stdout --style none '{line}' | \
         awk -F: '/\"mean\"/ {{ print int(1000000 * $2) }}'"
    )
}

fn word(is_right: bool) -> &'static str {
    if is_right { "right" } else { "wrong" }
}

fn right(all: &[Searched]) -> usize {
    all.iter().filter(|one| one.ours == Some(true)).count()
}

/// How many of so many searches have to be right.
const fn fewest(searches: usize) -> usize {
    searches - searches / ONE_IN
}

fn holds(all: &[Searched]) -> bool {
    !all.is_empty() && right(all) >= fewest(all.len())
}

/// How often each was right.
fn told(all: &[Searched]) -> String {
    let count = all.len();
    let verdict = if holds(all) { "This holds." } else { "**This DOES NOT HOLD.**" };
    let wrong = all.iter().filter(|one| one.ours == Some(false)).count();
    let mut text = format!(
        "\n`assay bisect` is right in {} of {count} (at least {} must be), wrong in {wrong}, and says in {} that it \
         found no single commit. {verdict}\n",
        right(all),
        fewest(count),
        count - right(all) - wrong
    );
    let theirs: Vec<bool> = all.iter().filter_map(|one| one.theirs).collect();
    if theirs.is_empty() {
        text.push_str("\nhyperfine is not installed: nothing stood beside it.\n");
    } else {
        let right = theirs.iter().filter(|is_right| **is_right).count();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "\n`git bisect run` is right in {right} of {}.", theirs.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(ours: Option<bool>, theirs: Option<bool>) -> Searched {
        let (first_bad, steps, replicates) = (3, 7, 100);
        let (summary, time) = (String::new(), Duration::from_secs(60));
        Searched { first_bad, ours, summary, steps, replicates, time, theirs }
    }

    #[test]
    fn one_of_twenty_may_be_wrong_and_none_of_fewer() {
        assert_eq!([1, 2, 19, 20, 40].map(fewest), [1, 2, 19, 19, 38]);
        let of = |wrong: usize, all: usize| -> Vec<Searched> {
            (0..all).map(|at| searched(Some(at >= wrong), None)).collect()
        };
        assert!(holds(&of(1, 20)) && !holds(&of(2, 20)));
        assert!(!holds(&of(1, 2)) && holds(&of(0, 2)) && !holds(&[]));
        let mut unsure = of(0, 20);
        unsure.extend([searched(None, Some(true)), searched(Some(true), Some(false))]);
        let text = told(&unsure);
        assert!(
            text.contains("right in 21 of 22 (at least 21 must be), wrong in 0, and says in 1 ")
        );
        assert!(text.ends_with("`git bisect run` is right in 1 of 2.\n"), "{text}");
    }

    #[test]
    fn noise_is_that_of_its_seed_and_normal() {
        let draw = |seed: u64| -> Vec<f64> {
            let mut draws = Draws::new(seed, "bench-bisect");
            (0..1000).map(|_| deviation(&mut draws)).collect()
        };
        let first = draw(1);
        assert!(first == draw(1) && first != draw(2));
        let mean = first.iter().sum::<f64>() / 1000.0;
        let square = first.iter().map(|one| one * one).sum::<f64>() / 1000.0;
        // Three standard errors.
        assert!(mean.abs() < 0.1 && (square - 1.0).abs() < 0.14, "{mean} {square}");
    }

    #[test]
    fn replicates_of_all_studies_are_counted() {
        let of = |count: u64| serde_json::json!({ "replicates": count });
        let found = serde_json::json!({
            "ends": of(30), "steps": [of(10), { "fate": "no-build" }], "once_more": { "step": of(5) },
        });
        assert_eq!(replicates(&found), 45);
        assert_eq!(replicates(&serde_json::json!({ "steps": [] })), 0);
    }

    #[test]
    fn the_script_takes_the_mean_of_three() -> Done<()> {
        let line = mean_of_told("echo took 4 us");
        assert_eq!(crate::lab::call("sh", &["-c", &line])?, "4\n");
        Ok(())
    }
}
