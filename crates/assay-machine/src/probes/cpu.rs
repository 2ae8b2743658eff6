//! Processor time of kernel threads (`/proc/PID/schedstat`) and of the whole machine
//! (`/proc/stat`). That of the measuring threads is counted by the load itself.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::system::{System, sysfs};
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Moment, Pair, Presentation, Unit, field, not_recorded};
use super::{parsed_file, ticks};

pub static PROBE: Entry = Entry {
    about: About {
        name: "cpu-time",
        summary: "CPU time of Assay, of kernel threads and of the whole machine",
        text: "Reads the CPU clocks of Assay's process and measuring threads (including the kernel's io_uring \
               workers), the run time of each kernel thread from /proc/PID/schedstat (or the ticks from \
               /proc/PID/stat), and the ticks from /proc/stat except idle, iowait and steal. Assay's CPU time covers \
               the run; the time of kernel threads and of the machine also covers the write-back after the run. Kernel \
               threads work for all programs, so their time belongs to the trial only on an otherwise idle machine. \
               Assay counts threads that start during the run, but not threads that end before the second reading. The \
               machine's time has a resolution of 10 ms. Cost: two small file reads per kernel thread before and after \
               each trial, a few milliseconds, outside the measured time. Needs no privileges; in a container that \
               shows only its own processes, kernel threads are absent.",
    },
    fields: &[
        field(
            "kernel_threads_ns",
            Unit::Nanoseconds,
            "run time of all kernel threads, for all programs",
        ),
        field("busy_ns", Unit::Nanoseconds, "busy time, summed over all CPUs"),
        field("span_ns", Unit::Nanoseconds, "time between the two readings"),
    ],
    rules: &["cpu-starved"],
    presentation: Presentation::Tailored,
    here: None,
};

/// Nanoseconds per tick: user space sees 100 ticks per second at any kernel setting.
const TICK_NS: u64 = 10_000_000;

/// `PF_KTHREAD` of the kernel's flags of a task.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The parent of all kernel threads.
const KTHREADD: u32 = 2;
const CHILDREN: &str = "/proc/2/task/2/children";

/// A thread: its id, and its start in ticks, because ids are used again.
type Thread = (u32, u64);

#[derive(Clone, Debug)]
pub struct CpuReading {
    kernel: Presence<BTreeMap<Thread, u64>>,
    clocks: Presence<MachineClocks>,
}

/// CPU clocks of the whole machine since its start.
#[derive(Clone, Copy, Debug)]
struct MachineClocks {
    busy_ns: u64,
    uptime_ns: u64,
}

/// Processor time from before the run until everything written was on the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuObservation {
    #[serde(default = "not_recorded")]
    pub kernel_threads_ns: Presence<u64>,
    #[serde(default = "not_recorded")]
    pub busy_ns: Presence<u64>,
    #[serde(default = "not_recorded")]
    pub span_ns: Presence<u64>,
}

pub struct Cpu;

impl Pair for Cpu {
    type Reading = CpuReading;
    type Observed = CpuObservation;
    const MOMENTS: [Moment; 2] = [Moment::BeforeRun, Moment::Last];
    const GIVES_REASON: bool = true;

    fn read(system: &dyn System) -> CpuReading {
        let clocks = parsed_file(system, "/proc/stat", machine_clocks);
        CpuReading { kernel: kernel_threads(system), clocks }
    }

    fn between(before: &CpuReading, after: &CpuReading) -> Presence<CpuObservation> {
        let kernel_threads_ns = before.kernel.both(&after.kernel, |before, after| {
            // A thread that is not in `before` started in between, from 0.
            let ran = after.iter().map(|(thread, after_ns)| {
                after_ns.saturating_sub(before.get(thread).copied().unwrap_or_default())
            });
            ran.sum()
        });
        let (old, new) = (&before.clocks, &after.clocks);
        let busy_ns = old.both(new, |old, new| new.busy_ns.saturating_sub(old.busy_ns));
        let span_ns = old.both(new, |old, new| new.uptime_ns.saturating_sub(old.uptime_ns));
        Presence::Present(CpuObservation { kernel_threads_ns, busy_ns, span_ns })
    }
}

fn machine_clocks(stat: &str) -> Option<MachineClocks> {
    let all = ticks::of_all(stat)?;
    let cpus = ticks::of_each(stat)?.len() as u64;
    Some(MachineClocks { busy_ns: all.busy() * TICK_NS, uptime_ns: all.total() * TICK_NS / cpus })
}

/// CPU time of each kernel thread since its start, nanoseconds.
fn kernel_threads(system: &dyn System) -> Presence<BTreeMap<Thread, u64>> {
    let processes = match candidates(system) {
        Ok(processes) => processes.into_iter(),
        Err(error) => return Presence::absent(format!("cannot read /proc: {error}")),
    };
    // Threads that ended since the list was read are missing.
    let threads: BTreeMap<Thread, u64> =
        processes.filter_map(|process| kernel_thread(system, process)).collect();
    let found = (!threads.is_empty()).then_some(threads);
    Presence::from_option(found, "no kernel threads are visible, as in a container")
}

/// Processes that include all kernel threads: the children of kthreadd if the kernel lists them, otherwise all.
fn candidates(system: &dyn System) -> io::Result<Vec<u32>> {
    let numbers = |text: &str| text.split_whitespace().filter_map(|id| id.parse().ok()).collect();
    match system.read_text(Path::new(CHILDREN)) {
        Ok(text) if !text.trim().is_empty() => Ok(numbers(&format!("{KTHREADD} {text}"))),
        _ => Ok(numbers(&system.list(Path::new("/proc"))?.join(" "))),
    }
}

/// A kernel thread with its CPU time in nanoseconds; `None` for other processes.
fn kernel_thread(system: &dyn System, process: u32) -> Option<(Thread, u64)> {
    let folder = Path::new("/proc").join(process.to_string());
    let task = parse_task(&system.read_text(&folder.join("stat")).ok()?)?;
    if task.flags & KERNEL_THREAD == 0 {
        return None;
    }
    let exact = system.read_text(&folder.join("schedstat")).ok();
    let ran_ns = exact.as_deref().and_then(parse_run_time).unwrap_or(task.ticks * TICK_NS);
    Some(((process, task.start), ran_ns))
}

#[derive(Debug, PartialEq, Eq)]
struct Task {
    flags: u64,
    ticks: u64,
    start: u64,
}

/// The name in parentheses may contain parentheses; field 3 follows the last one.
fn parse_task(text: &str) -> Option<Task> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    Some(Task { flags: number(9)?, ticks: number(14)? + number(15)?, start: number(22)? })
}

/// Nanoseconds on a processor, nanoseconds waiting, times on one; all 0 if the kernel does not count.
fn parse_run_time(text: &str) -> Option<u64> {
    let numbers = sysfs::numbers(text)?;
    let counts = numbers.iter().any(|number| *number > 0);
    numbers.first().copied().filter(|_| counts)
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    fn ran(before: &CpuReading, after: &CpuReading) -> CpuObservation {
        Cpu::between(before, after).value().cloned().unwrap()
    }

    /// Recorded on Linux 6.18.
    const KTHREADD: &str = "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 6 0 0 20 0 1 0 21 0 0 \
                            18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 0 0 0 0 0 0 0 \
                            0 0 0 0 0 0 0\n";
    const SHELL: &str = "7 (my (odd) sh) S 1 7 7 34816 7 4194304 900 0 0 0 3 4 0 0 20 0 1 0 99 \
                         4 5 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n";
    const STAT: &str = "cpu  10 1 5 100 2 3 1 7 4 0\ncpu0 10 1 5 100 2 3 1 7 4 0\n";

    fn thread(name: &str, start: u64) -> String {
        KTHREADD.replace("kthreadd", name).replace(" 21 ", &format!(" {start} "))
    }

    fn machine() -> Fake {
        let fake = Fake::new();
        fake.put("/proc/stat", STAT).put("/proc/7/stat", SHELL).put("/proc/7/schedstat", "9 9 9");
        fake.put("/proc/2/stat", KTHREADD).put("/proc/2/schedstat", "60211644 68252810 2604\n");
        fake
    }

    #[test]
    fn names_with_spaces_and_parentheses_do_not_shift_the_fields() {
        let shell = Task { flags: 4_194_304, ticks: 7, start: 99 };
        assert_eq!(parse_task(SHELL), Some(shell));
        let kernel = Task { flags: 2_129_984, ticks: 6, start: 21 };
        assert_eq!(parse_task(KTHREADD), Some(kernel));
        assert_eq!(parse_task("2 (kthreadd) S 0 0"), None);
        assert_eq!(parse_task(""), None);
    }

    #[test]
    fn only_kernel_threads_are_added_up() {
        let fake = machine();
        let before = Cpu::read(&fake);
        fake.put("/proc/7/schedstat", "900000000 9 9");
        fake.put("/proc/2/schedstat", "60211944 68252810 2605\n");
        fake.put("/proc/stat", STAT.replace("cpu  10 1 5 100", "cpu  12 1 6 400"));
        let change = ran(&before, &Cpu::read(&fake));
        assert_eq!(change.kernel_threads_ns, Presence::Present(300));
        assert_eq!(change.busy_ns, Presence::Present(3 * TICK_NS));
        assert_eq!(change.span_ns, Presence::Present(303 * TICK_NS));
    }

    #[test]
    fn where_the_kernel_lists_its_threads_no_other_process_is_read() {
        let fake = machine();
        fake.put("/proc/2/task/2/children", "3 4 ");
        fake.put("/proc/3/stat", thread("ksoftirqd/0", 30)).put("/proc/3/schedstat", "5000 1 1");
        // A thread that ended after the list was read, and one that no list contains.
        fake.put("/proc/9/stat", thread("no child", 30)).put("/proc/9/schedstat", "900 1 1");
        let before = Cpu::read(&fake);
        fake.put("/proc/3/schedstat", "5600 1 1").put("/proc/9/schedstat", "9900 1 1");
        assert_eq!(ran(&before, &Cpu::read(&fake)).kernel_threads_ns, Presence::Present(600));
    }

    #[test]
    fn new_threads_count_from_their_beginning_and_ended_ones_are_lost() {
        let fake = machine();
        fake.put("/proc/30/stat", thread("kworker/0:1", 500));
        fake.put("/proc/30/schedstat", "5000 1 1");
        fake.put("/proc/31/stat", thread("kworker/1:1", 500));
        fake.put("/proc/31/schedstat", "8000 1 1");
        let before = Cpu::read(&fake);
        fake.remove("/proc/30");
        // The id of an ended thread, used again.
        fake.put("/proc/31/stat", thread("kworker/1:2", 600));
        fake.put("/proc/31/schedstat", "70 1 1");
        fake.put("/proc/32/stat", thread("loop0", 600));
        fake.put("/proc/32/schedstat", "4 1 1");
        assert_eq!(ran(&before, &Cpu::read(&fake)).kernel_threads_ns, Presence::Present(74));
    }

    #[test]
    fn ticks_stand_in_where_the_scheduler_keeps_no_time() {
        let fake = machine();
        fake.put("/proc/2/schedstat", "0 0 0\n");
        let before = Cpu::read(&fake);
        fake.put("/proc/2/stat", KTHREADD.replace(" 0 6 0 0 20", " 0 9 0 0 20"));
        let ticks = ran(&before, &Cpu::read(&fake)).kernel_threads_ns;
        assert_eq!(ticks, Presence::Present(3 * TICK_NS));
        fake.remove("/proc/2/schedstat");
        let ticks = ran(&before, &Cpu::read(&fake)).kernel_threads_ns;
        assert_eq!(ticks, Presence::Present(3 * TICK_NS));
    }

    #[test]
    fn absent_where_nothing_is_visible() {
        let fake = machine();
        fake.remove("/proc/2").put("/proc/stat", "intr 1\n");
        let reading = Cpu::read(&fake);
        let change = ran(&reading, &reading);
        assert!(change.kernel_threads_ns.reason().unwrap().contains("no kernel thread"));
        assert!(change.busy_ns.reason().unwrap().contains("known form"));
    }
}
