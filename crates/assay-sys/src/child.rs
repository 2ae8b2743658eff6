//! Programs that do not outlive this process.

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// Makes a program end with the thread that starts it, even when that is killed: a `mkfs` must not
/// go on writing while a recovery takes the device away.
pub fn end_with_parent(command: &mut Command) -> &mut Command {
    let parent = rustix::process::getpid();
    let set = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before the call: then nobody would send the signal any more.
        if getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec only three system calls are made; nothing allocates or locks.
    unsafe { command.pre_exec(set) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_runs_and_its_end_is_seen() {
        let status = end_with_parent(&mut Command::new("true")).status().unwrap();
        assert!(status.success());
    }

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let mut child = std::thread::spawn(|| {
            end_with_parent(Command::new("sleep").arg("60")).spawn().unwrap()
        })
        .join()
        .unwrap();
        let status = child.wait().unwrap();
        assert!(!status.success());
    }
}
