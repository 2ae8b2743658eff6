//! Starts a program at minimal cost: with everything prepared, in a process that shares this one's memory until exec.

mod into_group;

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Instant;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
use rustix::process::{
    DumpableBehavior, Gid, Pid, Resource, Rlimit, Signal, Uid, chdir, dumpable_behavior, getpid,
    getppid, set_dumpable_behavior, set_parent_process_death_signal, setpgid, setrlimit, setsid,
};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// The steps until exec need little; the pages are there before the clock runs.
const STACK_BYTES: usize = 64 << 10;
/// No page of any machine is larger.
const GUARD_BYTES: usize = 64 << 10;
/// The kernel's limit is 64; the C library reserves and rejects some.
const SIGNALS: std::ops::RangeInclusive<c_int> = 1..=64;
/// Runs executable files without an interpreter line.
const SHELL: &CStr = c"/bin/sh";
const NOT_STARTED: c_int = 127;

#[derive(Clone, Copy, Debug)]
pub struct ProgramOwner<'a> {
    pub user: u32,
    pub group: u32,
    /// Ids of the other groups.
    pub groups: &'a [u32],
}

/// A program to start in a new process group, without a terminal. Not in a new session: the kernel may give each
/// session its own share of the CPUs (`sched_autogroup_enabled`), and on a busy machine such a program starts late.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Candidate paths: the first one that can be started wins.
    pub paths: &'a [CString],
    /// Its arguments, beginning with its name.
    pub words: &'a [CString],
    /// Its environment, `NAME=value` each.
    pub environment: &'a [CString],
    /// Working directory; other paths are relative to it.
    pub directory: &'a CStr,
    /// Standard input; empty if there is none.
    pub input: Option<&'a CStr>,
    /// `/dev/null`, open for reading and writing.
    pub null: BorrowedFd<'a>,
    /// The terminal of this process (`/dev/tty`), if it has one: the program is detached from it.
    pub terminal: Option<BorrowedFd<'a>>,
    /// Where it complains.
    pub complaint: BorrowedFd<'a>,
    /// Standard output; discarded if there is none.
    pub output: Option<BorrowedFd<'a>>,
    /// User of the program, if different from this process's.
    pub owner: Option<ProgramOwner<'a>>,
    /// Control group in which it starts.
    pub group: Option<GroupEntry<'a>>,
}

#[derive(Clone, Copy, Debug)]
pub enum GroupEntry<'a> {
    /// Version 1: its list of `tasks`, open for writing.
    Tasks(BorrowedFd<'a>),
    /// Version 2: its directory. Writing to its process list would stall all processes of the machine.
    Directory(BorrowedFd<'a>),
}

/// What could not be done on the way to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A process, its group, its limits, its signals.
    Process,
    Group,
    Owner,
    Directory,
    Input,
    /// What it reads would be a terminal.
    Terminal,
    Program,
}

#[derive(Debug)]
pub struct NotStarted {
    pub step: Step,
    pub error: io::Error,
}

#[derive(Debug)]
pub struct Launched {
    /// Right before it was started.
    pub began: Instant,
    /// Its id, and that of its process group.
    pub process: Pid,
    pub handle: OwnedFd,
    /// Freed later, because work right after the start would slow down the program.
    _stack: ChildStack,
}

impl Launch<'_> {
    /// Starts the program with default signal actions, so that it ends with the calling thread. Returns after its exec.
    pub fn start(&self) -> Result<Launched, NotStarted> {
        let no_process = |error| NotStarted { step: Step::Process, error };
        let stack = ChildStack::new().map_err(no_process)?;
        let words = pointers(self.words);
        let environment = pointers(self.environment);
        // For a script without an interpreter line: the shell, room for the script's path, the script's arguments, and
        // the null pointer that ends `words`.
        let mut script = vec![SHELL.as_ptr(), std::ptr::null()];
        script.extend(&words[1.min(words.len() - 1)..]);
        let groups: Vec<Gid> =
            self.owner.iter().flat_map(|owner| owner.groups).map(|id| Gid::from_raw(*id)).collect();
        let plan = LaunchPlan {
            launch: self,
            words: &words,
            environment: &environment,
            script: Cell::from_mut(script.as_mut_slice()).as_slice_of_cells(),
            groups: &groups,
            parent: getpid(),
            signals: &unusual_signals(),
            failed: Cell::new(None),
        };
        let dumpable = dumpable_behavior();
        let (began, started) = with_signals_blocked(|| (Instant::now(), clone(&stack, &plan)));
        if self.owner.is_some() && matches!(dumpable, Ok(DumpableBehavior::Dumpable)) {
            // The kernel cleared this flag of the shared memory to protect the new owner.
            let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
        }
        let into_group = matches!(self.group, Some(GroupEntry::Directory(_)));
        let step = if into_group { Step::Group } else { Step::Process };
        let (process, handle) = started.map_err(|error| NotStarted { step, error })?;
        let Some((step, errno)) = plan.failed.get() else {
            return Ok(Launched { began, process, handle, _stack: stack });
        };
        // It has ended or is about to; nothing else waits for it.
        let _ = reap_when_ended(process);
        Err(NotStarted { step, error: errno.into() })
    }
}

/// Resource usage of an ended process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// User CPU time of the process and its waited-for children.
    pub user_ns: u64,
    /// System CPU time of the process and its waited-for children.
    pub system_ns: u64,
    /// Maximum resident memory of the largest process, at least that of this process at the start.
    pub largest_bytes: u64,
    /// Page faults without I/O of the process and its waited-for children, all threads.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Voluntary context switches of all these threads.
    pub voluntary_switches: u64,
    /// How often it was taken from one.
    pub involuntary_switches: u64,
}

/// Reaps an ended child and returns its resource usage; `None` while it runs.
pub fn reap(process: Pid) -> io::Result<Option<Usage>> {
    wait(process, libc::WNOHANG)
}

fn reap_when_ended(process: Pid) -> io::Result<Option<Usage>> {
    wait(process, 0)
}

/// The kernel's `struct rusage`, from the raw call: the C library may return nothing on 32 bits.
#[repr(C)]
#[derive(Default)]
struct RawUsage {
    user: [c_long; 2],
    system: [c_long; 2],
    largest_kib: c_long,
    /// Three sizes, unused on Linux.
    sizes: [c_long; 3],
    minor_faults: c_long,
    major_faults: c_long,
    /// Whole processes swapped, blocks, messages and signals.
    others: [c_long; 6],
    voluntary_switches: c_long,
    involuntary_switches: c_long,
}

/// Waits for a process with `wait4`; `None` if it has not ended (only with the option `WNOHANG`).
fn wait(process: Pid, options: c_int) -> io::Result<Option<Usage>> {
    let mut usage = RawUsage::default();
    let none: *mut c_int = std::ptr::null_mut();
    let id = process.as_raw_nonzero().get();
    loop {
        // SAFETY: the last pointer is to a struct of this frame, as large as the kernel's.
        let waited = unsafe { libc::syscall(libc::SYS_wait4, id, none, options, &raw mut usage) };
        match waited {
            0 => return Ok(None),
            1.. => break,
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(Some(Usage {
        user_ns: nanoseconds(usage.user),
        system_ns: nanoseconds(usage.system),
        largest_bytes: (usage.largest_kib as u64).saturating_mul(1024),
        minor_faults: usage.minor_faults as u64,
        major_faults: usage.major_faults as u64,
        voluntary_switches: usage.voluntary_switches as u64,
        involuntary_switches: usage.involuntary_switches as u64,
    }))
}

/// Converts a `timeval` of seconds and microseconds.
const fn nanoseconds(time: [c_long; 2]) -> u64 {
    time[0] as u64 * 1_000_000_000 + time[1] as u64 * 1000
}

/// All groups of a user by name, as the system's own tables have them, the given one included.
pub fn groups_of(user: &CStr, group: u32) -> Vec<u32> {
    let mut groups: Vec<libc::gid_t> = vec![0; 64];
    loop {
        let mut count = groups.len() as c_int;
        // SAFETY: the name ends with a zero byte and `count` is the capacity for IDs.
        let found = unsafe {
            libc::getgrouplist(user.as_ptr(), group, groups.as_mut_ptr(), &raw mut count)
        };
        let count = count.max(0) as usize;
        if found >= 0 {
            groups.truncate(count);
            return groups;
        }
        // The call returned the required number; the kernel limits the groups of a user to 65,536.
        if groups.len() >= 1 << 16 {
            return vec![group];
        }
        groups.resize(count.max(groups.len() * 2), 0);
    }
}

/// Data of the child between clone and exec: prepared in advance, read-only there.
struct LaunchPlan<'a> {
    launch: &'a Launch<'a>,
    words: &'a [*const c_char],
    environment: &'a [*const c_char],
    script: &'a [Cell<*const c_char>],
    groups: &'a [Gid],
    parent: Pid,
    signals: &'a [c_int],
    /// Set by the child, in the memory that both have.
    failed: Cell<Option<(Step, Errno)>>,
}

impl LaunchPlan<'_> {
    /// Runs in the child: no allocation, no lock, only system calls, because other threads continue.
    fn carry_out(&self) -> (Step, Errno) {
        match self.prepare() {
            Ok(()) => (Step::Program, self.become_program()),
            Err(failed) => failed,
        }
    }

    /// Does everything before exec, in an order that permits each step.
    fn prepare(&self) -> Result<(), (Step, Errno)> {
        let during = |step| move |error| (step, error);
        if let Some(GroupEntry::Tasks(group)) = self.launch.group {
            // In this file, 0 stands for the process that writes it.
            rustix::io::write(group, b"0").map_err(during(Step::Group))?;
        }
        self.leave_terminal().map_err(during(Step::Process))?;
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        setrlimit(Resource::Core, none).map_err(during(Step::Process))?;
        if let Some(owner) = self.launch.owner {
            self.change_user(owner).map_err(during(Step::Owner))?;
        }
        // Only now, because changing the user clears this setting.
        set_parent_process_death_signal(Some(Signal::KILL)).map_err(during(Step::Process))?;
        if getppid() != Some(self.parent) {
            return Err((Step::Process, Errno::SRCH));
        }
        chdir(self.launch.directory).map_err(during(Step::Directory))?;
        let input = self.launch.input.map(open_input).transpose()?;
        duplicate(input.unwrap_or(self.launch.null.as_raw_fd()), 0).map_err(during(Step::Input))?;
        let output = self.launch.output.unwrap_or(self.launch.null);
        duplicate(output.as_raw_fd(), 1).map_err(during(Step::Process))?;
        duplicate(self.launch.complaint.as_raw_fd(), 2).map_err(during(Step::Process))?;
        for signal in self.signals {
            // SAFETY: the default action of a signal uses no state of this process.
            unsafe { libc::signal(*signal, libc::SIG_DFL) };
        }
        Ok(())
    }

    /// Detaches from this process's terminal: if nothing else helps, with a new session.
    fn leave_terminal(&self) -> Result<(), Errno> {
        // SAFETY: the request takes no argument; it changes the calling process alone.
        let is_left = self.launch.terminal.is_none_or(|terminal| unsafe {
            libc::ioctl(terminal.as_raw_fd(), libc::TIOCNOTTY) == 0
        });
        if is_left { setpgid(None, None) } else { setsid().map(drop) }
    }

    /// Changes user and groups without the C library, which would change them for every thread of the parent.
    fn change_user(&self, owner: ProgramOwner<'_>) -> Result<(), Errno> {
        set_thread_groups(self.groups)?;
        let group = Gid::from_raw(owner.group);
        set_thread_res_gid(group, group, group)?;
        let user = Uid::from_raw(owner.user);
        set_thread_res_uid(user, user, user)
    }

    /// Tries each path as a shell does; returns only if none can be started, with `ACCESS` if one was forbidden.
    fn become_program(&self) -> Errno {
        // SAFETY: the set is initialized before its use; this is the only thread of this process.
        unsafe {
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        }
        let mut worst = Errno::NOENT;
        for path in self.launch.paths {
            let mut error = execute(path, self.words.as_ptr(), self.environment);
            if error == Errno::NOEXEC {
                // A script without an interpreter line.
                self.script[1].set(path.as_ptr());
                error = execute(SHELL, self.script.as_ptr().cast(), self.environment);
            }
            match error {
                Errno::NOENT | Errno::NOTDIR => {}
                Errno::ACCESS => worst = Errno::ACCESS,
                other => return other,
            }
        }
        worst
    }
}

/// Opens the standard input without waiting for a writer, because the parent is blocked.
fn open_input(path: &CStr) -> Result<RawFd, (Step, Errno)> {
    let at = |error| (Step::Input, error);
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(at)?;
    let flags = rustix::fs::fcntl_getfl(&file).map_err(at)?;
    rustix::fs::fcntl_setfl(&file, flags.difference(OFlags::NONBLOCK)).map_err(at)?;
    // SAFETY: the descriptor is open; the call only asks.
    if unsafe { libc::isatty(file.as_raw_fd()) } == 1 {
        return Err((Step::Terminal, Errno::NOTTY));
    }
    // It stays open until exec.
    Ok(std::os::fd::IntoRawFd::into_raw_fd(file))
}

fn duplicate(from: RawFd, to: RawFd) -> Result<(), Errno> {
    // SAFETY: plain numbers; closes `to` in the child only.
    if unsafe { libc::dup2(from, to) } == to { Ok(()) } else { Err(last_error()) }
}

fn execute(path: &CStr, words: *const *const c_char, environment: &[*const c_char]) -> Errno {
    // SAFETY: both lists end with a null pointer, and all texts outlive the call.
    unsafe { libc::execve(path.as_ptr(), words, environment.as_ptr()) };
    last_error()
}

fn last_error() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}

fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
}

/// Signals that this process catches or ignores: only those must be reset.
fn unusual_signals() -> Vec<c_int> {
    let is_unusual = |signal: &c_int| {
        // SAFETY: all zeros is a value of this plain struct; the call only asks and fills it.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(*signal, std::ptr::null(), &raw mut action) == 0
                && action.sa_sigaction != libc::SIG_DFL
        }
    };
    SIGNALS.filter(is_unusual).collect()
}

/// Blocks signals during `act`: a handler in the child would run in this process's memory.
fn with_signals_blocked<T>(act: impl FnOnce() -> T) -> T {
    // SAFETY: the sets are filled before they are used, and belong to this frame.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let result = act();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}

/// Makes the child, and waits until it has become the program or failed.
fn clone(stack: &ChildStack, plan: &LaunchPlan<'_>) -> io::Result<(Pid, OwnedFd)> {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD;
    let mut handle: c_int = -1;
    let argument: *const LaunchPlan<'_> = plan;
    let argument: *mut c_void = argument.cast_mut().cast();
    // SAFETY: the child runs `child` on a separate stack with a guard page, while this thread waits (CLONE_VFORK): the
    // data it reads stays alive, and nothing else writes to it. Signals are blocked. CLONE_PIDFD writes its descriptor
    // to `handle`.
    let id = unsafe {
        if let Some(GroupEntry::Directory(group)) = plan.launch.group {
            let wanted = into_group::CloneArguments {
                flags: flags as u64 | into_group::FLAG,
                handle: (&raw mut handle) as u64,
                exit_signal: libc::SIGCHLD as u64,
                stack: stack.bottom() as u64,
                stack_bytes: STACK_BYTES as u64,
                group: group.as_raw_fd() as u64,
                ..into_group::CloneArguments::default()
            };
            into_group::clone(&wanted, argument)?
        } else {
            libc::clone(child, stack.top(), flags | libc::SIGCHLD, argument, &raw mut handle)
        }
    };
    let process = Pid::from_raw(id).filter(|_| id > 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: the kernel opened it for this call alone.
    Ok((process, unsafe { OwnedFd::from_raw_fd(handle) }))
}

extern "C" fn child(argument: *mut c_void) -> c_int {
    // SAFETY: `clone` got a plan that lives until the parent continues, which is after this.
    let plan = unsafe { &*argument.cast::<LaunchPlan<'_>>() };
    plan.failed.set(Some(plan.carry_out()));
    // SAFETY: exits this process at once, without the parent's exit handlers.
    unsafe { libc::_exit(NOT_STARTED) }
}

/// Stack of the child, with a guard page: an overflow kills only the child.
#[derive(Debug)]
struct ChildStack(*mut c_void);

// SAFETY: plain memory with this owner only.
unsafe impl Send for ChildStack {}

impl ChildStack {
    /// Maps a stack with an inaccessible guard below, so that an overflow ends the child instead of changing memory.
    fn new() -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::STACK | MapFlags::POPULATE;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory at an address chosen by the kernel; its lower part becomes the guard.
        unsafe {
            let all = GUARD_BYTES + STACK_BYTES;
            let base = rustix::mm::mmap_anonymous(std::ptr::null_mut(), all, access, flags)?;
            let stack = Self(base);
            rustix::mm::mprotect(base, GUARD_BYTES, MprotectFlags::empty())?;
            Ok(stack)
        }
    }

    /// Its lowest byte, above the guard.
    fn bottom(&self) -> *mut c_void {
        self.0.wrapping_byte_add(GUARD_BYTES)
    }

    /// Stacks grow down from here.
    fn top(&self) -> *mut c_void {
        self.bottom().wrapping_byte_add(STACK_BYTES)
    }
}

impl Drop for ChildStack {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly the mapping of `new`; the child has its own memory by now.
        let _ = unsafe { rustix::mm::munmap(self.0, GUARD_BYTES + STACK_BYTES) };
    }
}

#[cfg(test)]
#[path = "launch/tests.rs"]
mod tests;
