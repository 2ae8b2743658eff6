//! Running and measuring a program of the user: parameters and results.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use assay_core::{digest::Digest, presence::Presence};
use serde::{Deserialize, Serialize};

use super::System;
use super::identity::Caller;

/// Bytes of standard error to store: the last ones.
pub const KEPT_COMPLAINT_BYTES: usize = 4096;

/// Variables that every measured program inherits: they locate programs and files and set user and locale. Other
/// variables may contain secrets and change from day to day.
const USUAL_VARIABLES: &str = "HOME LANG LANGUAGE LC_ADDRESS LC_ALL LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES \
     LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME LOGNAME MAIL PATH SHELL TERM TMPDIR TZ USER";

/// The variables of this process that a program gets: the usual ones and the named ones.
pub fn passed(system: &dyn System, named: &[String]) -> Vec<String> {
    let all = USUAL_VARIABLES.split(' ').chain(named.iter().map(String::as_str));
    let all: BTreeSet<&str> = all.filter(|name| system.variable(name).is_some()).collect();
    all.into_iter().map(str::to_owned).collect()
}

#[derive(Clone, Copy, Debug)]
pub struct Execution<'a> {
    /// The program, looked for as a shell would along the `PATH` that it gets, and its words.
    pub words: &'a [String],
    pub directory: &'a Path,
    /// Names of the variables of this process that it gets. For a caller, those of a user name the caller.
    pub passed: &'a [String],
    pub environment: &'a [(String, String)],
    /// User that runs it, if it differs from the user of this process.
    pub caller: Option<Caller>,
    /// Standard input, relative to its directory and opened as its user; never a terminal.
    pub input: Option<&'a Path>,
    /// Time limit, after which the program and its children are killed.
    pub timeout: Option<Duration>,
    /// Set by the user's stop: the program and its children are killed, or not started.
    pub stop: &'a AtomicBool,
    /// The memory that it and all that it starts may have together.
    pub memory: Option<MemoryLimit>,
    /// Bytes of its output to store: the last ones.
    pub heard_bytes: u64,
    pub hashed: bool,
    pub counted: bool,
}

/// Memory limit of a program and its children, enforced by a control group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryLimit {
    pub bytes: u64,
    /// Whether it may use swap; otherwise the kernel kills a process beyond the limit.
    pub may_swap: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PeakBy {
    /// From the control group of the program: includes the page cache of files that it read.
    Cgroup,
    /// The resident memory of all its processes was looked at now and then.
    Sampled,
    /// The kernel's record of its largest process: it was over before it could be looked at.
    LargestProcess,
}

/// The most memory that a program and all that it started had at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakMemory {
    pub bytes: u64,
    pub by: PeakBy,
}

/// Resource usage of a program and its children, from the kernel's wait call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// Nanoseconds that the first threads of its processes waited for a processor, and that its end was not seen
    /// because who measures waited for one. At least that: processes that it waited for itself are not in it.
    pub waited_ns: u64,
    /// Bytes that its system calls read, or wrote if that was more. At least that: not all are counted.
    pub called_bytes: u64,
}

impl Happened {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            minor_faults: self.minor_faults.saturating_add(other.minor_faults),
            major_faults: self.major_faults.saturating_add(other.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_add(other.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_add(other.involuntary_switches),
            waited_ns: self.waited_ns.saturating_add(other.waited_ns),
            called_bytes: self.called_bytes.saturating_add(other.called_bytes),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counting {
    pub in_kernel: bool,
    /// Share of the CPU time in which they counted, at most 1; counts are scaled up by it.
    pub share: f64,
}

impl Counting {
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        Self { in_kernel: self.in_kernel && other.in_kernel, share: self.share.min(other.share) }
    }
}

/// What processors counted of a program and all that it started.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuCounts {
    pub instructions: Presence<u64>,
    pub cycles: Presence<u64>,
    /// Misses of the last-level cache on most CPUs.
    pub cache_misses: Presence<u64>,
    /// Counting method; `None` without counts.
    pub how: Option<Counting>,
}

impl CpuCounts {
    pub fn absent(reason: &str) -> Self {
        let absent = || Presence::absent(reason);
        Self { instructions: absent(), cycles: absent(), cache_misses: absent(), how: None }
    }
}

/// Captured output of a program; empty unless requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeardOutput {
    /// Its last bytes, as many as requested.
    pub end: Vec<u8>,
    pub bytes: u64,
    /// SHA-256 of the whole output, if requested.
    pub sha256: Option<Digest>,
}

impl HeardOutput {
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.end)
    }
}

impl From<&str> for HeardOutput {
    fn from(text: &str) -> Self {
        Self { end: text.into(), bytes: text.len() as u64, sha256: None }
    }
}

/// What became of one run: the program with all that it started.
#[derive(Clone, Debug, PartialEq)]
pub struct Executed {
    pub ending: Ending,
    /// Nanoseconds from right before its start until its exit was observed.
    pub wall_ns: u64,
    /// Processor time outside the kernel of all that it started, nanoseconds.
    pub user_ns: u64,
    /// Processor time inside the kernel of all that it started, nanoseconds.
    pub system_ns: u64,
    pub peak_memory: Presence<PeakMemory>,
    /// Bytes that came from storage for it.
    pub read_bytes: Presence<u64>,
    /// Bytes that went, or will go, to storage for it; not those of files that it deleted before.
    pub write_bytes: Presence<u64>,
    pub happened: Happened,
    pub counted: CpuCounts,
    /// The end of its standard error.
    pub complaint: String,
    /// Processes that it had left running when it ended by itself, and that were ended then.
    pub left_running: u32,
    pub heard: HeardOutput,
    /// Its processes killed by the kernel for lack of memory; absent without a limit or a count.
    pub memory_kills: Presence<u64>,
}
