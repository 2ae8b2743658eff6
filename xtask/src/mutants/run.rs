//! Programs that are run to their end, to a limit, or until the user ends the chore: nothing of them
//! is left in any case.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::lab::Done;

/// Whether the user ends it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on signals do nothing else.
    pub fn listen() -> Done<Self> {
        let stop = Self::default();
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&stop.0)).map_err(|error| error.to_string())?;
        }
        Ok(stop)
    }

    fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How a program ended.
#[derive(Clone, Debug)]
pub struct Ended {
    pub well: bool,
    /// It was ended at the limit.
    pub over: bool,
    /// Both outputs, as they came.
    pub text: String,
    pub seconds: f64,
}

/// Runs a command in a group of its own, its output in a file: a pipe might be held open by a child of
/// the child. The group ends with it.
pub fn run(command: &mut Command, out: &Path, limit: Duration, stop: &Stop) -> Done<Ended> {
    use std::os::unix::process::CommandExt;
    let fail = |error: std::io::Error| format!("{command:?}: {error}");
    let file = File::create(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let errors = file.try_clone().map_err(fail)?;
    let began = Instant::now();
    let started = command.process_group(0).stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
    let mut child = started.map_err(|error| format!("{command:?}: {error}"))?;
    let mut over = false;
    while !has_ended(&child) {
        over = began.elapsed() > limit;
        if over || stop.is_wanted() {
            break;
        }
        let early = began.elapsed() < Duration::from_millis(100);
        thread::sleep(Duration::from_millis(if early { 1 } else { 10 }));
    }
    // Not yet waited for, it keeps its number: no other group can have it.
    if let Some(group) = Pid::from_raw(child.id() as i32) {
        // There may be none left.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let status = child.wait().map_err(|error| error.to_string())?;
    if stop.is_wanted() {
        return Err("ended by the user".to_owned());
    }
    let text = String::from_utf8_lossy(&fs::read(out).unwrap_or_default()).into_owned();
    let seconds = began.elapsed().as_secs_f64();
    Ok(Ended { well: status.success() && !over, over, text, seconds })
}

fn has_ended(child: &Child) -> bool {
    let Some(id) = Pid::from_raw(child.id() as i32) else { return true };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(id), options), Ok(None))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod own_tests {
    use super::*;
    use crate::lab::Scratch;

    fn shell(script: &str, limit: Duration, stop: &Stop) -> Done<Ended> {
        let scratch = Scratch::new("mutants-run").unwrap();
        let out = scratch.path().join("out");
        run(Command::new("sh").args(["-c", script]), &out, limit, stop)
    }

    #[test]
    fn what_ended_tells_how() {
        let (long, stop) = (Duration::from_secs(60), Stop::default());
        let well = shell("echo a; echo b >&2", long, &stop).unwrap();
        assert_eq!((well.well, well.over, well.text.as_str()), (true, false, "a\nb\n"));
        assert!(!shell("exit 3", long, &stop).unwrap().well);
    }

    #[test]
    fn at_the_limit_its_children_end_with_it() {
        // A child that outlives its parent would still hold the lock.
        let scratch = Scratch::new("mutants-group").unwrap();
        let held = scratch.path().join("held");
        let script = format!("exec 9>{}; flock 9; (sleep 1000 & wait) & wait", held.display());
        let ended = shell(&script, Duration::from_millis(200), &Stop::default()).unwrap();
        assert!(ended.over && !ended.well);
        assert!(File::open(&held).unwrap().lock().is_ok());
    }

    #[test]
    fn the_user_ends_it() {
        let stop = Stop::default();
        stop.0.store(true, Ordering::Relaxed);
        let ended = shell("sleep 1000", Duration::from_secs(600), &stop);
        assert_eq!(ended.unwrap_err(), "ended by the user");
    }
}
