//! Programs that end with this process, and one that survives it.

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, getppid, set_parent_process_death_signal, setsid};

/// Kills a program when the thread that started it ends, so no `mkfs` writes during a recovery.
pub fn end_with_parent(command: &mut Command) -> &mut Command {
    let parent = rustix::process::getpid();
    let set = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before the call; then no signal would arrive.
        if getppid() == Some(parent) { Ok(()) } else { Err(rustix::io::Errno::SRCH.into()) }
    };
    // SAFETY: the child makes only three system calls between fork and exec; it neither allocates nor locks.
    unsafe { command.pre_exec(set) }
}

/// Starts a program in a new session, so that it survives its parent's group and terminal.
pub fn in_own_session(command: &mut Command) -> &mut Command {
    let lead = || Ok(setsid().map(|_| ())?);
    // SAFETY: the child makes only one system call between fork and exec; it neither allocates nor locks.
    unsafe { command.pre_exec(lead) }
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
    fn a_program_leads_a_session_of_its_own() {
        let mut child = in_own_session(Command::new("sleep").arg("60")).spawn().unwrap();
        let id = rustix::process::Pid::from_child(&child);
        assert_eq!(rustix::process::getsid(Some(id)).unwrap(), id);
        child.kill().unwrap();
        child.wait().unwrap();
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
