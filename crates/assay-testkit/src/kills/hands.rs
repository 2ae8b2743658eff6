//! Impatient users: every study that changes the machine, ended by one to three signals, half of them within a tenth of
//! a second, others up to two seconds apart, including `kill -9`. Each ending must have the documented effect.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Draws, LIMIT, Site, rounds};
use crate::process::{Assay, Running};
use crate::{Done, turn};

/// The shipped studies that change something, with options that shorten them.
const STUDIES: [(&str, &[&str]); 11] = [
    ("schedulers", &["--set", "scheduler=none,mq-deadline", "--set", "filesystem=ext4,btrfs"]),
    ("tunable", &["--set", "tunable:/proc/sys/vm/dirty_background_ratio=1,7"]),
    ("filesystems", &["--set", "threads=1,8"]),
    ("write-cache", &[]),
    ("read-ahead", &["--set", "read_ahead=0 KiB,128 KiB,4 MiB"]),
    ("starvation", &[]),
    ("queue-depth", &["--set", "queue_depth=1,8"]),
    ("flash", &[]),
    ("energy", &[]),
    ("large-files", &[]),
    ("surface", &[]),
];
/// What asks a study to end.
const ASKING: [&str; 4] = ["INT", "TERM", "HUP", "QUIT"];
/// Before that, the program may not handle signals yet: it dies of them, and has changed nothing.
const STARTED: Duration = Duration::from_millis(250);
const FIRST: Duration = Duration::from_secs(6);
/// Maximum delay of the next signal: during the end of a trial, or during the restore.
const NEXT: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(2)];

/// Exit codes that a signal leads to.
const NOT_RESTORED: i32 = 4;
const INTERRUPTED: i32 = 130;
const KILLED: i32 = 128 + 9;

#[derive(Debug, Default)]
pub struct Endings {
    /// Before the first signal.
    pub by_itself: u32,
    /// Whose last trial had ended when the signal came: its result is complete.
    pub too_late: u32,
    /// One signal: the study restored everything before it ended.
    pub asked: u32,
    /// A third signal ended it at once: exit code 4, with the command that restores.
    pub at_once: u32,
    pub killed: u32,
    /// After which `assay restore` had something to do.
    pub restored: u32,
}

/// One signal: how long after the one before, and its name.
type Signal = (Duration, &'static str);

/// Ends `count` studies at moments drawn from `seed`; an error names the leftovers. Takes a [`turn`] each.
pub fn impatient(
    program: &Path,
    count: u32,
    seed: u64,
    mut tell: impl FnMut(&str),
) -> Done<Endings> {
    let site = Site::new(program)?;
    let outcome = ended(&site, count, seed, &mut tell);
    rounds::cleared(std::slice::from_ref(&site.assay), outcome)
}

fn ended(site: &Site, count: u32, seed: u64, tell: &mut dyn FnMut(&str)) -> Done<Endings> {
    let first = turn()?;
    let before = site.condition()?;
    drop(first);
    let mut draws = Draws(seed | 1);
    let mut endings = Endings::default();
    for number in 1..=count {
        let (study, how) = STUDIES[(number as usize - 1) % STUDIES.len()];
        let signals = signals(&mut draws);
        let said = said(study, &signals);
        // Other tests change the machine, too.
        let _turn = turn()?;
        let line = one(site, (study, how), &signals, &before, &mut endings)
            .map_err(|error| format!("{number}: {said}: {error}"))?;
        tell(&format!("{number:3}: {said}: {line}"));
    }
    Ok(endings)
}

/// One to three signals; every fourth last one is `kill -9`.
fn signals(draws: &mut Draws) -> Vec<Signal> {
    let count = 1 + draws.below(3);
    let is_killed = draws.below(4) == 0;
    (1..=count)
        .map(|number| {
            let next = Duration::ZERO..NEXT[draws.below(NEXT.len())];
            let span = if number == 1 { STARTED..FIRST } else { next };
            let after = span.start + span.end.mul_f64(draws.share());
            let name = ASKING[draws.below(ASKING.len())];
            (after, if number == count && is_killed { "KILL" } else { name })
        })
        .collect()
}

fn said(study: &str, signals: &[Signal]) -> String {
    let mut parts = vec![study.to_owned()];
    for (after, name) in signals {
        parts.push(format!("{name} after {:.2} s", after.as_secs_f64()));
    }
    parts.join(", ")
}

fn one(
    site: &Site,
    (study, how): (&str, &[&str]),
    signals: &[Signal],
    before: &str,
    endings: &mut Endings,
) -> Done<String> {
    let words = ["run", study, "--scratch", "--quick", "--replicates", "2", "--quiet"];
    let words: Vec<&str> = words.iter().chain(how).copied().collect();
    let known = rounds::results(&site.assay);
    let mut running = site.assay.start(&words)?;
    let sent = send(&mut running, signals)?;
    let ended = running.end(LIMIT)?;
    let killed = sent.last() == Some(&"KILL");
    let named = ended.stderr.contains("run assay restore");
    match ended.code {
        0 if sent.is_empty() => endings.by_itself += 1,
        0 if is_complete(&site.assay, &known)? => endings.too_late += 1,
        INTERRUPTED if !sent.is_empty() => endings.asked += 1,
        NOT_RESTORED if sent.len() == 3 && !killed && named => endings.at_once += 1,
        KILLED if killed => endings.killed += 1,
        code => return Err(format!("after {sent:?} exit {code}: {}", ended.stderr)),
    }
    let mut rest = "nothing left".to_owned();
    if [NOT_RESTORED, KILLED].contains(&ended.code) {
        let things = rounds::restore(&site.assay)?;
        endings.restored += u32::from(things > 0);
        rest = format!("{things} put back by restore");
    }
    rounds::is_as(&site.condition()?, before)?;
    Ok(format!("exit {}, {rest}", ended.code))
}

/// Whether the new result holds every trial of its plan.
fn is_complete(assay: &Assay, known: &[PathBuf]) -> Done<bool> {
    let result = rounds::results(assay).into_iter().find(|path| !known.contains(path));
    let Some(result) = result else { return Ok(false) };
    let Some(trials) = rounds::finished(&result) else { return Ok(false) };
    let text = fs::read_to_string(result.join("plan.json")).map_err(|error| error.to_string())?;
    let plan: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(plan["trials"].as_array().is_some_and(|planned| trials as usize >= planned.len()))
}

/// Sends the signals while the program runs; returns the sent ones.
fn send(running: &mut Running, signals: &[Signal]) -> Done<Vec<&'static str>> {
    let mut sent = Vec::new();
    for (after, name) in signals {
        if !running.outlasts(*after) {
            break;
        }
        running.signal(name)?;
        sent.push(*name);
    }
    Ok(sent)
}
