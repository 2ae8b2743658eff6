//! What a step costs: by the clock, and of the processors by all that it started.

use std::fs;
use std::io;
use std::process::Command;
use std::time::Instant;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Something that goes on.
pub struct Cost {
    start: Instant,
    processors_s: f64,
}

/// What it came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    pub wall_s: f64,
    /// User and system time of the process and of all its children that ended.
    pub processors_s: f64,
}

impl Cost {
    /// What this process and its children cost from now on.
    pub fn begin() -> Self {
        Self { start: Instant::now(), processors_s: processor_seconds("self") }
    }

    /// Until now.
    pub fn end(&self) -> Ended {
        let processors_s = processor_seconds("self") - self.processors_s;
        Ended { wall_s: self.start.elapsed().as_secs_f64(), processors_s }
    }

    /// Runs a command: whether it ended well, and what it cost.
    pub fn of(mut command: Command) -> io::Result<(bool, Ended)> {
        let start = Instant::now();
        let mut child = command.spawn()?;
        let id = child.id();
        if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
            // Ended and not yet reaped: its times can still be read, and are its own.
            waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)?;
        }
        let processors_s = processor_seconds(&id.to_string());
        let ended = Ended { wall_s: start.elapsed().as_secs_f64(), processors_s };
        Ok((child.wait()?.success(), ended))
    }
}

impl Ended {
    /// Both.
    pub fn told(&self) -> String {
        format!("{:.1} s, {:.1} s of processors", self.wall_s, self.processors_s)
    }
}

/// User and system time of a process and of its children that ended (proc_pid_stat(5), 14 to 17).
fn processor_seconds(process: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(4);
    let sum: f64 = ticks.filter_map(|word| word.parse::<f64>().ok()).sum();
    sum / rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted() {
        let before = processor_seconds("self");
        let mut sum = 0_u64;
        while processor_seconds("self") <= before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
    }

    #[test]
    fn a_command_is_charged_with_what_its_children_did() {
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let mut busy = Command::new("sh");
        busy.args(["-c", &format!("sh -c '{work}'; exit 3")]);
        let (well, ended) = Cost::of(busy).unwrap();
        assert!(!well && ended.processors_s > 0.0 && ended.wall_s > 0.0, "{ended:?}");
        let mut idle = Command::new("sleep");
        idle.arg("0.05");
        let (well, ended) = Cost::of(idle).unwrap();
        assert!(well && ended.processors_s < ended.wall_s, "{ended:?}");
    }
}
