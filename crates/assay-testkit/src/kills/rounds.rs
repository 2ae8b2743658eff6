//! Kills at random moments: `kill -9`, `assay restore`, and everything as before.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::{Draws, KillPlan, Kills, LIMIT};
use crate::fleet::Ranks;
use crate::process::{Assay, Ended};
use crate::{Done, turn};

/// Attempts to restore everything after a failure.
const TRIES: u32 = 20;
/// Time for which tests that run at the same time may have devices.
const OTHERS: Duration = Duration::from_secs(10);
/// Every such kill resumes the study.
const RESUMED: u32 = 10;
/// Exit codes of a host that lost another one: before it joined, and after that.
const ALONE: [i32; 2] = [3, 5];

/// Studies that are killed, and everything that they may leave behind.
pub(super) struct Victim<'a> {
    /// The program on each host, with its own home.
    pub hosts: Vec<Assay>,
    /// Arguments of each study.
    pub runs: Vec<Vec<String>>,
    /// Starts the study on all hosts of a fleet.
    pub fleet: Option<&'a Ranks>,
    /// Whether a finished trial always has a measurement: the OOM killer may end those of `memory`.
    pub measures_each: bool,
    pub condition: &'a dyn Fn() -> Done<String>,
}

/// Returns the outcome; after a failure, restores everything with several attempts if something is busy, because the
/// journals are removed with the home.
pub(super) fn cleared<T>(hosts: &[Assay], outcome: Done<T>) -> Done<T> {
    let Err(failure) = outcome else { return outcome };
    let mut left = String::new();
    for _ in 0..TRIES {
        match hosts.iter().try_for_each(|host| restored(host).map(drop)) {
            Ok(()) => return Err(failure),
            Err(error) => left = error,
        }
        thread::sleep(Duration::from_millis(500));
    }
    Err(format!("{failure}\nand this remains: {left}"))
}

/// Kills `count` runs at moments drawn from `seed`: a few after the end, and every third one in the first second, in
/// which Assay creates most. An error says what remained. Takes a [`turn`] for each run.
pub(super) fn kill(victim: &Victim<'_>, plan: KillPlan<'_>) -> Done<Kills> {
    cleared(&victim.hosts, all(victim, plan))
}

fn all(victim: &Victim<'_>, plan: KillPlan<'_>) -> Done<Kills> {
    let KillPlan { count, seed, log, .. } = plan;
    let first = turn()?;
    let before = (victim.condition)()?;
    let mut lengths = Vec::new();
    for words in &victim.runs {
        let start = Instant::now();
        victim.run(words, 0, LIMIT)?;
        lengths.push(start.elapsed());
        log(&format!("an undisturbed run takes {:.1} s", start.elapsed().as_secs_f64()));
        victim.is_as(&before)?;
    }
    drop(first);
    let (mut draws, mut kills) = (Draws(seed | 1), Kills::default());
    for number in 1..=count {
        let _turn = turn()?;
        let which = number as usize % victim.runs.len();
        let whole = lengths[which];
        let first = whole.min(Duration::from_secs(1));
        let span = if number.is_multiple_of(3) { first } else { whole.mul_f64(1.02) };
        let after = span.mul_f64(draws.share());
        let line = victim.one(number, &victim.runs[which], after, &before, &mut kills).map_err(
            |error| format!("kill {number} after {:.3} s: {error}", after.as_secs_f64()),
        )?;
        log(&format!("{number:3}: {line}"));
    }
    Ok(kills)
}

impl Victim<'_> {
    fn one(
        &self,
        number: u32,
        words: &[String],
        after: Duration,
        before: &str,
        kills: &mut Kills,
    ) -> Done<String> {
        let known: Vec<PathBuf> = self.hosts.iter().flat_map(results).collect();
        let host = number as usize % self.hosts.len();
        let killed = self.run(words, host, after)?;
        if killed {
            refuses(&self.hosts[host], words)?;
        }
        let mut items = 0;
        for host in &self.hosts {
            items += restore(host)?;
        }
        self.is_as(before)?;
        kills.killed += u32::from(killed);
        kills.ended += u32::from(!killed);
        kills.restored += u32::from(items > 0);
        kills.items += items;
        for host in &self.hosts {
            let new = results(host).into_iter().filter(|result| !known.contains(result));
            for result in new.filter(|_| self.measures_each) {
                let is_resumed = number.is_multiple_of(RESUMED) && self.fleet.is_none();
                lost_no_trial(host, &result, is_resumed.then_some(words), kills)?;
            }
        }
        self.is_as(before)?;
        let what = if killed { "killed" } else { "ended" };
        Ok(format!("{what} after {:.3} s, {items} restored", after.as_secs_f64()))
    }

    /// Runs a study and kills one of its hosts after a time, unless the study has ended by then. Returns whether it
    /// was killed.
    fn run(&self, words: &[String], host: usize, after: Duration) -> Done<bool> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut running = match self.fleet {
            Some(ranks) => ranks.start(&["--set", "hosts.join_timeout=15s"])?,
            None => vec![self.hosts[0].start(&words)?],
        };
        let killed = running[host].outlasts(after);
        if killed {
            running[host].signal("KILL")?;
        }
        for (rank, own) in running.into_iter().enumerate() {
            let Ended { code, stderr, .. } = own.end(LIMIT)?;
            if code != 0 && !(killed && (rank == host || ALONE.contains(&code))) {
                return Err(format!("the study ended with {code}: {stderr}"));
            }
        }
        Ok(killed)
    }

    /// Waits until everything is as before: tests that run at the same time have devices for a moment.
    fn is_as(&self, before: &str) -> Done<()> {
        let until = Instant::now() + OTHERS;
        loop {
            let outcome = is_as(&(self.condition)()?, before);
            if outcome.is_ok() || Instant::now() >= until {
                return outcome;
            }
            thread::sleep(Duration::from_millis(200));
        }
    }
}

/// With an unfinished journal, the next run refuses and names the command that restores.
fn refuses(assay: &Assay, words: &[String]) -> Done<()> {
    if fs::read_dir(assay.home().join("journal")).into_iter().flatten().count() == 0 {
        return Ok(());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = assay.run(&words, LIMIT)?;
    if ended.code == 3 && ended.stderr.contains("assay restore") {
        return Ok(());
    }
    Err(format!("with an unfinished journal: {}: {}", ended.code, ended.stderr))
}

pub(super) fn results(assay: &Assay) -> Vec<PathBuf> {
    let entries = fs::read_dir(assay.home().join("results")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The number of whole lines of finished trials; none if the run was killed while it created the result.
pub(super) fn finished(result: &Path) -> Option<u32> {
    let whole = ["study.toml", "plan.json", "environment.json"];
    let is_whole = whole.iter().all(|name| result.join(name).exists());
    is_whole.then(|| crate::fleet::trials(result).matches('\n').count() as u32)
}

/// Reads the finished trials of a result; resumes the study that had these arguments.
fn lost_no_trial(
    assay: &Assay,
    result: &Path,
    resumed: Option<&[String]>,
    kills: &mut Kills,
) -> Done<()> {
    let Some(trials) = finished(result) else { return Ok(()) };
    kills.trials += trials;
    if trials < 2 {
        return Ok(());
    }
    let id = result.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let shown = assay.run(&["show", &id, "--json"], LIMIT)?.json()?;
    let cells = shown["measurements"].as_array().into_iter().flatten();
    let primary = cells.filter(|cell| cell["primary"] == true);
    let shown: usize = primary.map(|cell| cell["trials"].as_array().map_or(0, Vec::len)).sum();
    if (shown as u32) < trials - 1 {
        return Err(format!("{trials} trials were finished, {shown} are shown"));
    }
    let Some(words) = resumed else { return Ok(()) };
    let consent =
        words.iter().position(|word| word == "--destroy").map_or(&[][..], |at| &words[at..]);
    let consent = consent.iter().map(String::as_str);
    let words: Vec<&str> = ["resume", &id].into_iter().chain(consent).collect();
    let ended = assay.run(&words, LIMIT)?;
    match ended.code {
        0 => kills.resumed += 1,
        // It was killed after its last trial.
        _ if ended.stderr.contains("has ended") => {}
        code => return Err(format!("resume: {code}: {}", ended.stderr)),
    }
    Ok(())
}

pub(super) fn is_as(now: &str, before: &str) -> Done<()> {
    if now == before { Ok(()) } else { Err(format!("left behind:\n{now}\nbefore:\n{before}")) }
}

/// Restores, and once more, which must find nothing to do. Returns the number of restored items.
pub(super) fn restore(assay: &Assay) -> Done<u32> {
    let first = restored(assay)?;
    if restored(assay)? > 0 {
        return Err("a second restore found something to do".to_owned());
    }
    Ok(first)
}

fn restored(assay: &Assay) -> Done<u32> {
    let ended = assay.run(&["restore", "--json"], LIMIT)?;
    if ended.code != 0 {
        return Err(format!("restore: {}: {}{}", ended.code, ended.stdout, ended.stderr));
    }
    Ok(ended.json()?["done"].as_array().map_or(0, Vec::len) as u32)
}
