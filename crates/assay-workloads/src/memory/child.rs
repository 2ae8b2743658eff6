//! The process with the pages: its parameters, its work, and its reports.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use assay_core::presence::Presence;
use assay_load::{PageJob, PageSet};
use assay_machine::system::{System, machine, sysfs};
use serde::{Deserialize, Serialize};

use super::detail::HeldMemory;
use super::planned::MemoryPlan;

/// Parameters of the process, as one word of its command line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChildJob {
    pub pages: MemoryPlan,
    pub ramp_ns: u64,
    pub time_ns: u64,
    pub seed: u64,
}

impl ChildJob {
    fn page_job(&self) -> PageJob {
        PageJob {
            bytes: self.pages.set_bytes,
            content: self.pages.content,
            skew: self.pages.skew.exponent(),
            written_percent: self.pages.writes_percent,
            ramp_ns: self.ramp_ns,
            time_ns: self.time_ns,
            seed: self.seed,
        }
    }
}

/// One line of the process' output: after a kill, the last one shows its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ChildLine {
    Filled(u64),
    Touching,
    Done(Box<ChildResult>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ChildResult {
    pub window_ns: u64,
    pub cpu_ns: u64,
    pub waited_ns: Option<u64>,
    pub fill_ns: u64,
    /// Values of the histogram with their counts.
    pub latency_ns: Vec<(u64, u64)>,
    pub before: ChildCounters,
    pub after: ChildCounters,
    pub held: HeldMemory,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ChildCounters {
    pub major_faults: Presence<u64>,
    /// Pages of the machine swapped in and out, including zswap's.
    pub swapped: Presence<[u64; 2]>,
    /// Time in which some task, and in which all tasks, waited for memory, nanoseconds.
    pub waited_ns: Presence<[u64; 2]>,
}

impl ChildCounters {
    /// Reads the counters of this process and of the machine.
    fn now(system: &dyn System) -> Self {
        let text = |path: &str| sysfs::text(system, Path::new(path));
        Self {
            major_faults: sysfs::parsed(text("/proc/self/stat"), |stat| {
                // Field 12, the tenth after the name in parentheses (field 2), which may contain spaces.
                stat.rsplit(')').next()?.split_whitespace().nth(9)?.parse().ok()
            }),
            swapped: sysfs::parsed(text("/proc/vmstat"), parse_swapped),
            waited_ns: sysfs::parsed(text("/proc/pressure/memory"), parse_waited),
        }
    }
}

/// Pages swapped in and out; zswap has separate counters.
fn parse_swapped(vmstat: &str) -> Option<[u64; 2]> {
    let counts: BTreeMap<&str, u64> = vmstat
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, count)| Some((name, count.trim().parse().ok()?)))
        .collect();
    let both =
        |disk: &str, zswap: &str| Some(counts.get(disk)? + counts.get(zswap).copied().unwrap_or(0));
    Some([both("pswpin", "zswpin")?, both("pswpout", "zswpout")?])
}

fn parse_waited(text: &str) -> Option<[u64; 2]> {
    let total = |kind: &str| {
        let line = text.lines().find(|line| line.starts_with(kind))?;
        line.rsplit_once("total=")?.1.trim().parse::<u64>().ok()?.checked_mul(1000)
    };
    Some([total("some")?, total("full")?])
}

/// Reads where the memory of this process is: resident, in swap or compressed.
pub(super) fn read_held_memory(system: &dyn System) -> HeldMemory {
    let value_of = |name| {
        let text = sysfs::text(system, Path::new("/proc/self/status"));
        sysfs::parsed(text, |text| machine::kilobytes(text, name))
    };
    let [zram_original_bytes, zram_used_bytes] = zram(system);
    HeldMemory {
        resident_bytes: value_of("RssAnon"),
        swapped_bytes: value_of("VmSwap"),
        zram_original_bytes,
        zram_used_bytes,
        zswap_original_bytes: machine::memory(system, "Zswapped"),
        zswap_used_bytes: machine::memory(system, "Zswap"),
        others_moved_bytes: machine::memory(system, "SwapTotal")
            .both(&machine::memory(system, "SwapFree"), |total, free| total.saturating_sub(*free)),
        swap_cached_bytes: machine::memory(system, "SwapCached").value().copied().unwrap_or(0),
    }
}

/// Bytes stored in zram swap devices, and the memory that they use.
fn zram(system: &dyn System) -> [u64; 2] {
    let swaps = system.read_text(Path::new("/proc/swaps")).unwrap_or_default();
    let names = swaps.lines().filter_map(|line| {
        line.split_whitespace()
            .next()?
            .strip_prefix("/dev/")
            .filter(|name| name.starts_with("zram"))
    });
    let mut sums = [0, 0];
    for name in names {
        let text = system.read_text(&sysfs::block(name).join("mm_stat")).unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().collect();
        // The second word is the compressed size without the allocator's overhead.
        if let [original, _, used, ..] = words[..]
            && let (Ok(original), Ok(used)) = (original.parse::<u64>(), used.parse::<u64>())
        {
            sums = [sums[0] + original, sums[1] + used];
        }
    }
    sums
}

/// Allocates and accesses the pages; prints each line immediately.
pub fn hold(system: &dyn System, job: &ChildJob, say: &mut dyn FnMut(&str)) -> io::Result<()> {
    let mut print = |line: &ChildLine| say(&serde_json::to_string(line).unwrap_or_default());
    let page_job = job.page_job();
    let others = read_held_memory(system);
    let mut set = PageSet::new(&page_job)?;
    let began_ns = system.monotonic_ns();
    set.fill(&page_job, &mut |bytes| print(&ChildLine::Filled(bytes)));
    let fill_ns = system.monotonic_ns().saturating_sub(began_ns);
    print(&ChildLine::Touching);
    let before = ChildCounters::now(system);
    let done = set.touch(&page_job);
    let after = ChildCounters::now(system);
    let held = read_held_memory(system).since(&others);
    let bins = done.latency_ns.iter_recorded();
    let latency_ns = bins.map(|bin| (bin.value_iterated_to(), bin.count_at_value())).collect();
    print(&ChildLine::Done(Box::new(ChildResult {
        window_ns: done.window_ns,
        cpu_ns: done.cpu_ns,
        waited_ns: done.waited_ns,
        fill_ns,
        latency_ns,
        before,
        after,
        held,
    })));
    Ok(())
}
