//! Rounds of kills at random moments: a run, `kill -9`, a recovery, and the original state.

use std::thread;
use std::time::{Duration, Instant};

use super::{Draws, Kills, LIMIT};
use crate::Done;
use crate::process::Assay;

/// Maximum number of restores after a failure.
const TRIES: u32 = 20;
/// Time limit for objects of concurrent tests.
const OTHERS: Duration = Duration::from_secs(10);

/// The killed command, and the state that it must not leave.
pub(super) struct Victim<'a> {
    pub assay: &'a Assay,
    pub runs: Vec<Vec<String>>,
    pub condition: &'a dyn Fn() -> Done<String>,
}

/// Returns the outcome; after a failure restores again until nothing is busy, because the journals are deleted with the
/// test's home.
pub(super) fn cleared<T>(assay: &Assay, outcome: Done<T>) -> Done<T> {
    let Err(failure) = outcome else { return outcome };
    let mut left = String::new();
    for _ in 0..TRIES {
        match restored(assay) {
            Ok(_) => return Err(failure),
            Err(error) => left = error,
        }
        thread::sleep(Duration::from_millis(500));
    }
    Err(format!("{failure}\nand this stays: {left}"))
}

/// Kills `count` runs at moments drawn from `seed`: sometimes after the end, which must be harmless, too, and every
/// third one in the first second, which has the most changes. An error names the leftovers.
pub(super) fn kill(
    victim: &Victim<'_>,
    count: u32,
    seed: u64,
    tell: &mut dyn FnMut(&str),
) -> Done<Kills> {
    cleared(victim.assay, all(victim, count, seed, tell))
}

fn all(victim: &Victim<'_>, count: u32, seed: u64, tell: &mut dyn FnMut(&str)) -> Done<Kills> {
    let before = (victim.condition)()?;
    let mut lengths = Vec::new();
    for words in &victim.runs {
        let time = whole_run(victim.assay, words)?;
        tell(&format!("an undisturbed run takes {:.1} s", time.as_secs_f64()));
        lengths.push(time);
        victim.is_as(&before)?;
    }
    let (mut draws, mut kills) = (Draws(seed | 1), Kills::default());
    for number in 1..=count {
        let which = number as usize % victim.runs.len();
        let whole = lengths[which];
        let first = whole.min(Duration::from_secs(1));
        let span = if number.is_multiple_of(3) { first } else { whole.mul_f64(1.02) };
        let after = span.mul_f64(draws.share());
        let line =
            victim.one(&victim.runs[which], after, &before, &mut kills).map_err(|error| {
                format!("kill {number} after {:.3} s: {error}", after.as_secs_f64())
            })?;
        tell(&format!("{number:3}: {line}"));
    }
    Ok(kills)
}

impl Victim<'_> {
    fn one(
        &self,
        words: &[String],
        after: Duration,
        before: &str,
        kills: &mut Kills,
    ) -> Done<String> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let killed = kill_after(self.assay, &words, after)?;
        let things = restore(self.assay)?;
        self.is_as(before)?;
        kills.killed += u32::from(killed);
        kills.ended += u32::from(!killed);
        kills.put_back += u32::from(things > 0);
        kills.things += things;
        let what = if killed { "killed" } else { "ended" };
        Ok(format!("{what} after {:.3} s, {things} put back", after.as_secs_f64()))
    }

    /// Checks for the original state. Devices of concurrent tests disappear after a moment; leftovers of a run stay.
    fn is_as(&self, before: &str) -> Done<()> {
        let until = Instant::now() + OTHERS;
        loop {
            let told = is_as(&(self.condition)()?, before);
            if told.is_ok() || Instant::now() >= until {
                return told;
            }
            thread::sleep(Duration::from_millis(200));
        }
    }
}

/// Runs a study to its end, and returns how long it takes.
pub(super) fn whole_run(assay: &Assay, words: &[String]) -> Done<Duration> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = assay.run(&words, LIMIT)?;
    if ended.code != 0 {
        return Err(format!("the study ended with {}: {}", ended.code, ended.stderr));
    }
    Ok(ended.time)
}

/// Starts a study and kills it after a time, unless it has ended by then. Returns whether it was killed.
pub(super) fn kill_after(assay: &Assay, words: &[&str], after: Duration) -> Done<bool> {
    let mut running = assay.start(words)?;
    let killed = running.outlasts(after);
    if killed {
        running.signal("KILL")?;
    }
    let ended = running.end(LIMIT)?;
    if !killed && ended.code != 0 {
        return Err(format!("ended with {}: {}", ended.code, ended.stderr));
    }
    Ok(killed)
}

pub(super) fn is_as(now: &str, before: &str) -> Done<()> {
    if now == before { Ok(()) } else { Err(format!("left behind:\n{now}\nbefore:\n{before}")) }
}

/// Restores twice: the second time must find nothing. Returns the number of restored changes.
pub(super) fn restore(assay: &Assay) -> Done<u32> {
    let first = restored(assay)?;
    if restored(assay)? > 0 {
        return Err("a second recovery found something to do".to_owned());
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
