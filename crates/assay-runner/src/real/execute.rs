//! Runs and measures the user's programs, including all child processes, and leaves none of them running.

mod asked;
mod counters;
mod group;
mod running;
mod tree;

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use asked::ProgramCall;
use assay_core::digest::Sum;
use assay_core::presence::Presence;
use assay_machine::system::execute::{
    CpuCounts, Ending, Happened, HeardOutput, KEPT_COMPLAINT_BYTES,
};
use assay_machine::system::{Executed, Execution};
use assay_sys::{Launch, Launched, NotStarted, ProgramOwner, Step};
use counters::PerfCounters;
use group::{Group, Groups};
use running::{OutputStream, Running};
use rustix::pipe::fcntl_setpipe_size;
use rustix::process::{child_subreaper, getpid, set_child_subreaper};
use tree::{Own, Tree};

/// One program runs at a time; two would disturb each other, and leftovers could belong to either.
static TURN: Mutex<Groups> = Mutex::new(Groups::Unknown);

/// Requested pipe size: the default maximum for unprivileged users.
const PIPE_BYTES: usize = 1 << 20;

/// Waits until no program runs; none can start until the returned guard is dropped.
pub(super) fn lock_turn() -> MutexGuard<'static, Groups> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a program and measures it. All of its processes have ended when this returns.
pub fn execute(execution: &Execution<'_>) -> io::Result<Executed> {
    let mut groups = lock_turn(); // one measured program at a time
    // The user may have stopped while another program was running.
    if execution.stop.load(Ordering::Relaxed) {
        return Ok(not_started());
    }
    let Some(limit) = execution.memory else { return measure(execution, groups.ready()) };
    let group = groups
        .ready()
        .ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, group::why_impossible()))?;
    let limited = group.limit(limit)?;
    let executed = measure(execution, Some(group));
    let kills = limited.kills();
    limited.lift()?;
    executed.map(|executed| Executed { memory_kills: kills, ..executed })
}

fn not_started() -> Executed {
    let why = "the program was not started";
    Executed {
        ending: Ending::Stopped,
        wall_ns: 0,
        user_ns: 0,
        system_ns: 0,
        peak_memory: Presence::absent(why),
        read_bytes: Presence::absent(why),
        write_bytes: Presence::absent(why),
        happened: Happened::default(),
        counted: CpuCounts::absent(why),
        complaint: String::new(),
        left_running: 0,
        heard: HeardOutput::default(),
        memory_kills: Presence::absent(why),
    }
}

/// Runs a program and measures it; `group` is its control group, if any.
pub(super) fn measure(execution: &Execution<'_>, group: Option<&Group>) -> io::Result<Executed> {
    let call = ProgramCall::new(execution)?;
    let _orphans = Orphans::adopt()?;
    let (complaint_reader, complaint) = pipe()?;
    let is_heard = execution.heard_bytes > 0 || execution.hashed;
    let (output_reader, output) = is_heard.then(wide_pipe).transpose()?.unzip();
    let null = File::options().read(true).write(true).open("/dev/null")?;
    // A process without a terminal has none.
    let terminal = File::open("/dev/tty").ok();
    let own = Own::find()?;
    let sum = execution.hashed.then(Sum::default);
    let streams = [
        OutputStream::new(Some(complaint_reader), KEPT_COMPLAINT_BYTES, None),
        OutputStream::new(output_reader, execution.heard_bytes as usize, sum),
    ];
    let counters = PerfCounters::open(execution.counted);
    // `start` starts the clock: all work after it runs in parallel with the program.
    let ends = ProgramEnds {
        null: &null,
        terminal: terminal.as_ref(),
        complaint: &complaint,
        output: output.as_ref(),
    };
    let (launched, group) = start(&call, group, &ends, execution.memory.is_some())?;
    // A reader sees the end only when all writers are closed.
    drop((complaint, output));
    let tree = Tree::new(own, launched.process, group);
    Running::new(execution, launched, tree, streams, counters).finish()
}

fn pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    Ok((reader, writer))
}

/// A larger pipe, to rarely block a program that prints a lot. Its content is charged to the program.
fn wide_pipe() -> io::Result<(PipeReader, PipeWriter)> {
    let (reader, writer) = pipe()?;
    // The kernel refuses this to a user with many pipes; a smaller pipe also works.
    let _ = fcntl_setpipe_size(&writer, PIPE_BYTES);
    Ok((reader, writer))
}

struct ProgramEnds<'a> {
    null: &'a File,
    terminal: Option<&'a File>,
    complaint: &'a PipeWriter,
    output: Option<&'a PipeWriter>,
}

/// Ends and removes the control groups of ended processes; returns which ones.
pub fn clear_groups() -> Vec<String> {
    let _turn = lock_turn();
    group::clear_leftovers()
}

pub fn leave() {
    lock_turn().remove();
}

/// Starts the program in the control group; if that fails, without one unless it is needed. Returns the group it is in.
fn start<'a>(
    call: &ProgramCall,
    group: Option<&'a Group>,
    ends: &ProgramEnds<'_>,
    is_group_needed: bool,
) -> io::Result<(Launched, Option<&'a Group>)> {
    let launch = Launch {
        paths: &call.paths,
        words: &call.words,
        environment: &call.environment,
        directory: &call.directory,
        input: call.input.as_deref(),
        null: ends.null.as_fd(),
        terminal: ends.terminal.map(File::as_fd),
        complaint: ends.complaint.as_fd(),
        output: ends.output.map(PipeWriter::as_fd),
        owner: call.owner.as_ref().map(|owner| ProgramOwner {
            user: owner.user,
            group: owner.group,
            groups: &owner.groups,
        }),
        group: group.map(Group::entry),
    };
    match launch.start() {
        Ok(launched) => Ok((launched, group)),
        Err(NotStarted { step: Step::Group, .. }) if !is_group_needed => {
            let launch = Launch { group: None, ..launch };
            let launched = launch.start().map_err(|failed| call.explain(&failed))?;
            Ok((launched, None))
        }
        Err(failed) => Err(call.explain(&failed)),
    }
}

/// Makes orphans of the program children of this process, which lets Assay find every leftover process.
struct Orphans {
    was_subreaper: bool,
}

impl Orphans {
    fn adopt() -> io::Result<Self> {
        let was_subreaper = child_subreaper()?.is_some();
        set_child_subreaper(Some(getpid()))?;
        Ok(Self { was_subreaper })
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        if !self.was_subreaper {
            // Restoring the previous state cannot fail.
            let _ = set_child_subreaper(None);
        }
    }
}
