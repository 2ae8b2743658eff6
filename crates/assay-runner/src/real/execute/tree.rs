//! The processes of one run: found by parentage, never by name.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::group::Group;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process_group, pidfd_open, pidfd_send_signal,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub id: i32,
    pub name: String,
    parent: i32,
    group: i32,
    /// Ticks since boot; with the ID, it identifies a process uniquely.
    pub started: u64,
    resident_pages: u64,
    /// It ended, and its parent has not reaped it yet.
    pub is_over: bool,
}

impl Process {
    pub fn find(id: i32) -> Option<Self> {
        let bytes = std::fs::read(format!("/proc/{id}/stat")).ok()?;
        Self::parse(id, &String::from_utf8_lossy(&bytes))
    }

    /// Parses /proc/ID/stat. The name may contain anything, including brackets; all later fields are numbers.
    fn parse(id: i32, text: &str) -> Option<Self> {
        let (head, tail) = text.rsplit_once(')')?;
        let fields: Vec<&str> = tail.split_whitespace().collect();
        // Index 0 is the state, the first field after the name: field 3 of proc(5).
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let is_dead = matches!(*fields.first()?, "Z" | "X");
        Some(Self {
            id,
            name: head.split_once('(')?.1.to_owned(),
            parent: number(1)? as i32,
            group: number(2)? as i32,
            // The first thread may end before the others.
            is_over: is_dead && number(17)? <= 1,
            started: number(19)?,
            resident_pages: number(21)?,
        })
    }

    /// Sends it a signal through a pidfd, which refers to this process even if its ID is reused.
    fn send(&self, signal: Signal) -> io::Result<()> {
        let Some(id) = Pid::from_raw(self.id) else { return Ok(()) };
        let handle = match pidfd_open(id, PidfdFlags::empty()) {
            Err(Errno::SRCH) => return Ok(()),
            other => other?,
        };
        if Self::find(self.id).is_none_or(|now| now.started != self.started) {
            return Ok(());
        }
        match pidfd_send_signal(handle, signal) {
            Err(Errno::SRCH) => Ok(()),
            other => Ok(other?),
        }
    }
}

#[derive(Debug)]
pub struct Tree<'a> {
    program: i32,
    own: Own,
    group: Option<&'a Group>,
    /// Start time; read only if processes may be left.
    started: OnceCell<u64>,
}

#[derive(Clone, Copy, Debug)]
pub struct Own {
    id: i32,
    group: i32,
}

impl Own {
    /// Finds this process, to distinguish it from the measured ones.
    pub fn find() -> io::Result<Self> {
        let id = getpid().as_raw_nonzero().get();
        // The kernel's value: in a PID namespace, its group may be outside, with the number 0.
        let Some(process) = Process::find(id) else {
            let message =
                "/proc shows no processes, so Assay cannot find leftover processes; mount /proc";
            return Err(io::Error::other(message));
        };
        Ok(Self { id, group: process.group })
    }
}

impl<'a> Tree<'a> {
    /// The program must not be reaped before this is dropped: its ID identifies the whole group.
    pub const fn new(own: Own, program: Pid, group: Option<&'a Group>) -> Self {
        let started = OnceCell::new();
        Self { program: program.as_raw_nonzero().get(), own, group, started }
    }

    fn started(&self) -> u64 {
        // It exists until it is reaped; otherwise no process matches, and none is touched.
        *self
            .started
            .get_or_init(|| Process::find(self.program).map_or(u64::MAX, |program| program.started))
    }

    pub const fn group(&self) -> Option<&'a Group> {
        self.group
    }

    /// Whether a process is an orphan of the program: a child of this process outside its group.
    fn is_orphan(&self, process: &Process) -> bool {
        process.id != self.program
            && process.parent == self.own.id
            && process.group != self.own.group
            && process.started >= self.started()
    }

    /// Returns the orphans. Without orphans, only the program itself can run.
    pub fn orphans(&self) -> Vec<Process> {
        let children = children(self.own.id).unwrap_or_else(all_processes);
        let processes = children.into_iter().filter_map(Process::find);
        processes.filter(|process| self.is_orphan(process)).collect()
    }

    /// Returns the running processes of the tree: descendants, its group, orphans, and members of the control group.
    pub fn running(&self) -> Vec<Process> {
        let mut processes: Vec<Process> =
            all_processes().into_iter().filter_map(Process::find).collect();
        processes.sort_by_key(|process| process.started);
        let members = self.group.map(Group::members).unwrap_or_default();
        let mut found: Vec<Process> = Vec::new();
        let mut ids = BTreeSet::from([self.program]);
        // IDs wrap around, so a child may precede its parent: repeat until nothing is found.
        loop {
            let (more, rest): (Vec<_>, Vec<_>) = processes.into_iter().partition(|process| {
                ids.contains(&process.id)
                    || process.group == self.program
                    || self.is_orphan(process)
                    || members.contains(&process.id)
                    || ids.contains(&process.parent)
            });
            if more.is_empty() {
                break;
            }
            ids.extend(more.iter().map(|process| process.id));
            found.extend(more);
            processes = rest;
        }
        found.retain(|process| !process.is_over && process.id != self.own.id);
        found
    }

    /// Resident memory of all running processes in bytes; shared pages count for each of them.
    pub fn resident_bytes(&self, orphans: &[Process]) -> u64 {
        let mut pages = 0;
        let mut next: Vec<Process> = orphans.to_vec();
        next.extend(Process::find(self.program));
        while let Some(process) = next.pop() {
            pages += process.resident_pages;
            let below = children(process.id).unwrap_or_default();
            next.extend(below.into_iter().filter_map(Process::find));
        }
        pages * rustix::param::page_size() as u64
    }

    /// Sends a signal to all running processes; returns the first that could not receive it.
    pub fn send(&self, signal: Signal) -> Option<(Process, io::Error)> {
        let mut failed = None;
        for process in self.running() {
            if let Err(error) = process.send(signal) {
                failed.get_or_insert((process, error));
            }
        }
        failed
    }

    /// Kills everything, the process group first: its number cannot be reused yet. Returns the first failure.
    pub fn kill(&self) -> Option<(Process, io::Error)> {
        if let Some(program) = Pid::from_raw(self.program) {
            // The group may be empty.
            let _ = kill_process_group(program, Signal::KILL);
        }
        if let Some(group) = self.group {
            group.kill();
        }
        self.send(Signal::KILL)
    }
}

/// Children of a process; `None` if the kernel does not list them.
fn children(id: i32) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    for thread in std::fs::read_dir(format!("/proc/{id}/task")).ok()? {
        let path = thread.ok()?.path().join("children");
        match std::fs::read_to_string(path) {
            Ok(text) => {
                found.extend(text.split_whitespace().filter_map(|id| id.parse::<i32>().ok()));
            }
            // The thread ended, or the kernel has no lists, which the first thread shows.
            Err(_) if Path::new(&format!("/proc/{id}/task/{id}/children")).exists() => {}
            Err(_) => return None,
        }
    }
    Some(found)
}

fn all_processes() -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

pub fn kill(ids: &[i32]) {
    for process in ids.iter().filter_map(|id| Process::find(*id)) {
        // The next scan finds a process that could not be killed.
        let _ = process.send(Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let line = |state: &str, threads: u32| {
            format!(
                "7 (a) b (c) {state} 4 5 6 0 -1 0 0 0 0 0 1 2 0 0 20 0 {threads} 0 99 4096 12 0"
            )
        };
        let found = Process::parse(7, &line("S", 1)).unwrap();
        assert_eq!(found.name, "a) b (c");
        assert_eq!((found.parent, found.group, found.started), (4, 5, 99));
        assert_eq!((found.resident_pages, found.is_over), (12, false));
        assert!(Process::parse(7, &line("Z", 1)).unwrap().is_over);
        assert!(!Process::parse(7, &line("Z", 3)).unwrap().is_over, "other threads run");
        assert_eq!(Process::parse(7, "7 (a) S 4"), None);
    }

    #[test]
    fn a_signal_for_one_of_other_times_is_not_sent() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let found = Process::find(child.id() as i32).unwrap();
        let earlier = Process { started: found.started - 1, ..found.clone() };
        earlier.send(Signal::KILL).unwrap();
        assert!(child.try_wait().unwrap().is_none());
        found.send(Signal::KILL).unwrap();
        child.wait().unwrap();
        found.send(Signal::KILL).unwrap();
    }
}
