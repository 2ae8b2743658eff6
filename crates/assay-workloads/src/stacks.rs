//! Threads with a given stack size: their reserved and their used memory.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier};
use std::thread;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::Form;
use assay_core::presence::Presence;
use assay_core::quantity::{Bytes, Metric, Time};
use assay_machine::system::{System, machine, sysfs};
use serde::{Deserialize, Serialize};

use super::keys::{choice, keys};
use super::measured::{Counts, KnownAndAbsent, Measured, RunResult, known_and_absent};
use super::place::{Offer, Run, own_program, run_without_limit};
use super::workload::{Basis, ManualCommand, ManualRun, PlannedWork, WorkloadKind, WorkloadSpec};
use crate::metrics::lower;

const MOST_THREADS: u64 = 10_000;
const LEAST: Bytes = Bytes(64 << 10);
const MOST: Bytes = Bytes(1 << 30);
/// Processes of a trial, one after the other: its values are their means.
const PROCESSES: usize = 20;
/// A trial ends sooner: this is only an upper bound.
const BOUND: Time = Time(10_000_000_000);
/// Assumed time of one process, before any has run.
const USUAL_NS: u64 = 1_500_000_000;

keys! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct StacksSpec {
        threads: u32 = 200 => {
            words: "number of threads",
            form: Form::Whole { least: 1, most: MOST_THREADS },
            example: "threads = 200",
        }
        stack_size: Bytes = Bytes(8 << 20) => {
            words: "reserved stack size per thread (`ulimit -s`)",
            form: Form::Size { least: LEAST, most: MOST },
            example: "stack_size = \"8 MiB\"",
            factor: choice("An amount with its unit: `256 KiB`, from 64 KiB to 1 GiB.", "[\"8 MiB\", \"256 KiB\"]", set_stack_size),
        }
    }
}

fn set_stack_size(spec: &mut StacksSpec, text: &str) -> Result<(), String> {
    let limit: Bytes = text.parse()?;
    if !(LEAST..=MOST).contains(&limit) {
        return Err(format!("a stack size must be {LEAST} to {MOST}, not {limit}"));
    }
    spec.stack_size = limit;
    Ok(())
}

const fn growth(name: &'static str, noun: &'static str, summary: &'static str) -> Metric {
    lower(name, noun, summary).amount()
}

pub const RESIDENT: Metric = growth(
    "stacks_resident_bytes",
    "resident memory",
    "resident memory added by the threads (Rss)",
);
const PROPORTIONAL: Metric = growth(
    "stacks_pss_bytes",
    "proportional memory",
    "proportional memory added by the threads (Pss)",
);
pub const VIRTUAL: Metric =
    growth("stacks_virtual_bytes", "address space", "virtual memory added by the threads (VmSize)");
const COMMITTED: Metric = growth(
    "stacks_committed_bytes",
    "committed memory",
    "committed memory added by the threads and other programs (Committed_AS)",
);
const PAGE_TABLES: Metric = growth(
    "stacks_page_tables_bytes",
    "page tables",
    "page table memory added by the threads (VmPTE)",
);
const STARTING: Metric = lower("stacks_start_s", "time to start", "time until all threads run");

impl WorkloadKind for StacksSpec {
    const ABOUT: About = About {
        name: "stacks",
        summary: "threads with a given stack size",
        text: "A separate process starts idle threads with a reserved stack of the given size and measures the memory \
               that they add: reserved (VmSize), used (VmRSS, Pss, VmPTE) and committed memory (Committed_AS, for the \
               whole machine). A stack uses no memory until its thread touches the pages. Committed memory matters if \
               the kernel does not overcommit (vm.overcommit_memory = 2).",
    };
    const EXAMPLE: &'static str = "stacks = { threads = 200, stack_size = \"8 MiB\" }";
    const METRICS: &'static [&'static [Metric]] =
        &[&[RESIDENT, PROPORTIONAL, VIRTUAL, COMMITTED, PAGE_TABLES, STARTING]];
    const JUDGED: &'static [Basis] = &[Basis::Machine];
}

impl WorkloadSpec for StacksSpec {
    fn words(&self) -> String {
        format!("{} threads with a stack of {}", self.threads, self.stack_size)
    }

    fn time(&self) -> Option<Time> {
        Some(BOUND)
    }

    fn plan(&self, _: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        Ok((StacksPlan { threads: self.threads, limit_bytes: self.stack_size.0 }.into(), None))
    }

    fn pilot(&self, run: &Run<'_>) -> Result<Option<u64>, String> {
        let planned = StacksPlan { threads: self.threads, limit_bytes: self.stack_size.0 };
        planned.run(run).map(|ran| Some(ran.measured.elapsed_ns))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StacksPlan {
    pub threads: u32,
    pub limit_bytes: u64,
}

impl PlannedWork for StacksPlan {
    fn words(&self) -> String {
        let limit = Bytes(self.limit_bytes);
        format!("{} idle threads, each with a stack of {limit}", self.threads)
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        let began_ns = run.system.monotonic_ns();
        let is_stopped = || run.stop.load(Ordering::Relaxed);
        let mut held = Vec::new();
        while held.len() < PROCESSES && !is_stopped() {
            held.push(measure_in_child(run.system, self)?);
        }
        let elapsed_ns = run.system.monotonic_ns().saturating_sub(began_ns);
        let (values, absent) = mean_growth(&held);
        Ok(RunResult::new(
            Measured {
                window_ns: held.iter().map(|memory| memory.start_ns).sum(),
                elapsed_ns,
                values,
                absent,
                ..Measured::from_detail(StacksDetail { held })
            },
            is_stopped(),
        ))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        RESIDENT.name
    }

    fn ends_by_time(&self) -> bool {
        false
    }

    fn expected_ns(&self, pilot_ns: u64) -> Option<u64> {
        // The pilot is a whole trial.
        Some(if pilot_ns > 0 { pilot_ns } else { USUAL_NS })
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn by_hand(&self, _: &ManualRun<'_>) -> ManualCommand {
        let kibibytes = self.limit_bytes >> 10;
        let line = format!(
            "ulimit -s {kibibytes}; python3 -c 'import threading, time; [threading.Thread(target=time.sleep, \
             args=(9,)).start() for _ in range({})]; print(open(\"/proc/self/status\").read())' | grep Vm",
            self.threads
        );
        let remark = "the values include the interpreter's own memory";
        ManualCommand::new(&["sh", "-c", &line], &[remark])
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StacksDetail {
    pub held: Vec<StackMemory>,
}

impl Counts for StacksDetail {
    fn operations(&self) -> u64 {
        self.held.len() as u64
    }
}

/// Memory of a process before the start of its threads, and while all of them ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackMemory {
    pub before: ProcessBytes,
    pub after: ProcessBytes,
    pub start_ns: u64,
}

/// Memory of a process, and memory committed to all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessBytes {
    pub reserved: Presence<u64>,
    /// Used (Rss, else VmRSS).
    pub resident: Presence<u64>,
    /// Used, with shared pages divided (Pss).
    pub proportional: Presence<u64>,
    pub page_tables: Presence<u64>,
    /// Committed by the kernel to all processes (Committed_AS).
    pub committed: Presence<u64>,
}

impl ProcessBytes {
    /// Reads the memory of this process and what the kernel has committed.
    fn now(system: &dyn System) -> Self {
        let status = |name| own_bytes(system, "/proc/self/status", name);
        Self {
            reserved: status("VmSize"),
            // VmRSS sums per-CPU counters, so it may be off by some pages per CPU.
            resident: sysfs::first(
                [own_bytes(system, "/proc/self/smaps_rollup", "Rss"), status("VmRSS")],
                "/proc has no such entry",
            ),
            proportional: own_bytes(system, "/proc/self/smaps_rollup", "Pss"),
            page_tables: status("VmPTE"),
            committed: machine::memory(system, "Committed_AS"),
        }
    }
}

fn own_bytes(system: &dyn System, path: &str, name: &str) -> Presence<u64> {
    sysfs::parsed(sysfs::text(system, Path::new(path)), |text| machine::kilobytes(text, name))
}

/// Returns the memory that the threads added, by metric: the mean over processes.
fn mean_growth(held: &[StackMemory]) -> KnownAndAbsent {
    let processes = held.len().max(1) as f64;
    let growth = |pick: fn(&ProcessBytes) -> &Presence<u64>| {
        let mut sum = Presence::Present(0_u64);
        for StackMemory { before, after, .. } in held {
            let added =
                pick(after).both(pick(before), |after, before| after.saturating_sub(*before));
            sum = sum.both(&added, |sum, added| sum.saturating_add(*added));
        }
        sum.map(|sum| sum as f64 / processes)
    };
    let start_ns: u64 = held.iter().map(|process| process.start_ns).sum();
    known_and_absent([
        (STARTING, Presence::Present(start_ns as f64 / processes / 1e9)),
        (RESIDENT, growth(|memory| &memory.resident)),
        (PROPORTIONAL, growth(|memory| &memory.proportional)),
        (VIRTUAL, growth(|memory| &memory.reserved)),
        (COMMITTED, growth(|memory| &memory.committed)),
        (PAGE_TABLES, growth(|memory| &memory.page_tables)),
    ])
}

/// Starts the threads in a new process, which reads its own memory.
fn measure_in_child(system: &dyn System, planned: &StacksPlan) -> Result<StackMemory, String> {
    let program = own_program(system)?;
    let [threads, limit] = [u64::from(planned.threads), planned.limit_bytes].map(|n| n.to_string());
    // An allocator with one arena per thread would reserve more than the stacks.
    let words = ["MALLOC_ARENA_MAX=1", &program, "stacks", &threads, &limit];
    let text = run_without_limit(system, "env", &words)?.text;
    serde_json::from_str(&text).map_err(|_| {
        format!("cannot start {threads} threads with a stack of {}", Bytes(planned.limit_bytes))
    })
}

/// Starts threads with stacks in this process, and reads its memory while they run.
pub fn hold(system: &dyn System, threads: u32, limit_bytes: u64) -> std::io::Result<StackMemory> {
    let before = ProcessBytes::now(system);
    let all_started = Arc::new(Barrier::new(threads as usize + 1));
    let may_end = Arc::new(Barrier::new(threads as usize + 1));
    let began_ns = system.monotonic_ns();
    for _ in 0..threads {
        let (all_started, may_end) = (Arc::clone(&all_started), Arc::clone(&may_end));
        let thread = thread::Builder::new().stack_size(limit_bytes as usize);
        thread.spawn(move || {
            all_started.wait();
            may_end.wait();
        })?;
    }
    all_started.wait();
    let start_ns = system.monotonic_ns().saturating_sub(began_ns);
    let after = ProcessBytes::now(system);
    may_end.wait();
    Ok(StackMemory { before, after, start_ns })
}

#[cfg(test)]
mod tests {
    use assay_machine::system::Fake;

    use super::*;
    use crate::workload::DeclaredKeys as _;

    const KIB: u64 = 1 << 10;

    fn memory(reserved: u64, resident: u64) -> ProcessBytes {
        ProcessBytes {
            reserved: Presence::Present(reserved),
            resident: Presence::Present(resident),
            proportional: Presence::absent("not permitted"),
            page_tables: Presence::Present(40 * KIB),
            committed: Presence::Present(9),
        }
    }

    #[test]
    fn what_the_threads_added_is_told_and_what_is_not_there_is_absent() {
        let held = |reserved, resident| StackMemory {
            before: memory(100, 20),
            after: memory(reserved, resident),
            start_ns: 2_000_000_000,
        };
        let (values, absent) = mean_growth(&[held(1100, 25), held(1300, 30)]);
        assert_eq!(values["stacks_virtual_bytes"], 1100.0);
        assert_eq!(values["stacks_resident_bytes"], 7.5);
        assert_eq!(values["stacks_page_tables_bytes"], 0.0);
        assert_eq!(values["stacks_start_s"], 2.0);
        assert_eq!(absent["stacks_pss_bytes"], "not permitted");
    }

    #[test]
    fn memory_is_read_as_the_kernel_tells_it() {
        let fake = Fake::new();
        fake.put(
            "/proc/self/status",
            "Name:\ta\nVmSize:\t  1024 kB\nVmRSS:\t 4 kB\nVmPTE:\t 2 kB\n",
        );
        fake.put(
            "/proc/self/smaps_rollup",
            "55-7f ---p 00 00:00 0 [rollup]\nRss: 4 kB\nPss: 3 kB\n",
        );
        fake.put("/proc/meminfo", "Committed_AS:  77 kB\n");
        let now = ProcessBytes::now(&fake);
        let told =
            [&now.reserved, &now.resident, &now.proportional, &now.page_tables, &now.committed];
        assert_eq!(told.map(|one| *one.value().unwrap()), [1024, 4, 3, 2, 77].map(|n| n * KIB));
    }

    #[test]
    fn threads_run_at_the_same_time() {
        let held = hold(&Fake::new(), 20, 128 * KIB).unwrap();
        assert!(held.before.resident.value().is_none(), "a fake tells no memory");
    }

    #[test]
    fn a_trial_takes_what_the_pilot_took_and_not_its_bound() {
        let planned = StacksPlan { threads: 200, limit_bytes: 256 * KIB };
        assert_eq!(planned.expected_ns(7), Some(7));
        assert!(planned.expected_ns(0).unwrap() < BOUND.0 / 4);
    }

    #[test]
    fn a_limit_has_bounds() {
        let mut asked = StacksSpec::default();
        let set = StacksSpec::FACTORS[0].set;
        assert_eq!(set(&mut asked, "256 KiB"), Ok(()));
        assert_eq!(asked.stack_size, Bytes(256 * KIB));
        for wrong in ["1 KiB", "2 GiB", "much"] {
            assert!(set(&mut asked, wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_process_that_cannot_have_them_is_told() {
        let fake = Fake::new();
        let planned = StacksPlan { threads: 9, limit_bytes: 1 << 30 };
        let error = measure_in_child(&fake, &planned).unwrap_err();
        assert!(error.contains("cannot find the assay program"));
    }
}
