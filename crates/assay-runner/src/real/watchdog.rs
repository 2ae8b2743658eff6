//! A second process that restores everything if this one dies: it notices the end of its pipe.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};

use assay_machine::system::Watchdog;
use rustix::mm::{MlockAllFlags, mlockall};

const OWN: &str = "/proc/self/exe";
pub const COMMAND: &str = "watchdog";
const DISMISSED: u8 = b'.';
/// The OOM killer selects it last.
const LAST: &str = "-1000";

struct Dog {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Watchdog for Dog {}

impl Drop for Dog {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // If it has ended, there is nothing to dismiss.
            let _ = pipe.write_all(&[DISMISSED]);
        }
        let _ = self.child.wait();
    }
}

/// Starts this program again as the watchdog of a run, in its own session: signals of the terminal do not reach it.
pub fn start(id: &str) -> io::Result<Box<dyn Watchdog>> {
    let mut command = Command::new(OWN);
    command.arg0("assay").args([COMMAND, id]).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let mut child = assay_sys::in_own_session(&mut command).spawn()?;
    let pipe = child.stdin.take();
    Ok(Box::new(Dog { child, pipe }))
}

/// Locks the memory of this process and protects it from the OOM killer.
pub fn be_ready() {
    // Both are optional.
    let _ = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE);
    let _ = std::fs::write("/proc/self/oom_score_adj", LAST);
}

/// Waits until the other process dismisses this one, or dies. Returns whether it died.
pub fn is_left_alone() -> io::Result<bool> {
    let mut said = Vec::new();
    io::stdin().lock().read_to_end(&mut said)?;
    Ok(!said.contains(&DISMISSED))
}
