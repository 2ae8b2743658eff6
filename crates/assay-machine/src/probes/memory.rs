//! Swapping, stalls and OOM kills; dirty pages; memory of Assay and its children.

use std::collections::BTreeMap;
use std::path::Path;

use crate::system::machine::kilobytes;
use crate::system::{System, sysfs};
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Pair, Presentation, Unit, field, not_recorded};

pub static PROBE: Entry = Entry {
    about: About {
        name: "memory",
        summary: "swapping, out-of-memory kills, dirty pages and Assay's own memory use",
        text: "Reads pswpin, pswpout, oom_kill, nr_dirtied, allocation stalls and zswap pages from /proc/vmstat; swap \
               usage, Dirty and Writeback from /proc/meminfo; and mm_stat of zram devices. Assay reads these values \
               just before the run and after write-back completes, and RSS and PSS of its processes only at the end. \
               Rules `swap`, `oom` and `buffered-writes` use the values. Cost: three small file reads and two per \
               process, about 1 ms per trial. Needs no privileges; PSS requires a kernel with smaps_rollup.",
    },
    fields: &[
        field("machine.swapped_in_pages", Unit::Count, "pages read from swap"),
        field("machine.swapped_out_pages", Unit::Count, "pages written to swap"),
        field("machine.oom_kills", Unit::Count, "processes killed because memory ran out"),
        field("machine.stalls", Unit::Count, "allocation stalls (direct reclaims)"),
        field("machine.dirtied_pages", Unit::Count, "file pages that became dirty"),
        field("machine.page_bytes", Unit::Bytes, "page size"),
        field("machine.swap_bytes", Unit::Bytes, "total swap size"),
        field("machine.swap_used_bytes.*", Unit::Bytes, "used swap before and after the run"),
        field("machine.dirty_bytes.*", Unit::Bytes, "dirty memory before and after the run"),
        field("machine.writeback_bytes.*", Unit::Bytes, "write-back before and after the run"),
        field("machine.zswap_pages.*", Unit::Count, "pages stored in and loaded from zswap"),
        field("machine.zram.*.original_bytes", Unit::Bytes, "data stored in a zram device"),
        field("machine.zram.*.compressed_bytes", Unit::Bytes, "compressed size of the data"),
        field("machine.zram.*.used_bytes", Unit::Bytes, "memory used by the zram device"),
        field("processes.processes", Unit::Count, "number of processes: Assay and its children"),
        field("processes.rss_bytes", Unit::Bytes, "RSS, with shared pages counted in each process"),
        field("processes.pss_bytes", Unit::Bytes, "PSS, with shared pages divided"),
    ],
    rules: &["swap", "oom", "buffered-writes"],
    presentation: Presentation::Tailored,
    here: Some(|system| processes(system).map(|_| "works".to_owned())),
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryObservation {
    #[serde(default = "not_recorded")]
    pub machine: Presence<Memory>,
    #[serde(default = "not_recorded")]
    pub processes: Presence<ProcessMemory>,
}

impl From<Memory> for MemoryObservation {
    fn from(machine: Memory) -> Self {
        Self { machine: Presence::Present(machine), processes: not_recorded() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    pub swapped_in_pages: u64,
    pub swapped_out_pages: u64,
    pub oom_kills: u64,
    pub stalls: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirtied_pages: Option<u64>,
    /// Page size in bytes; `None` in older bundles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u64>,
    pub swap_bytes: u64,
    pub swap_used_bytes: [u64; 2],
    pub dirty_bytes: [u64; 2],
    pub writeback_bytes: [u64; 2],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zswap_pages: Option<[u64; 2]>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub zram: BTreeMap<String, ZramUse>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZramUse {
    pub original_bytes: u64,
    pub compressed_bytes: u64,
    pub used_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMemory {
    pub processes: u32,
    pub rss_bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pss_bytes: Option<u64>,
}

const MOST_PROCESSES: usize = 1_000;

#[derive(Clone, Debug)]
pub struct MemoryReading {
    machine: MachineMemory,
    zram: BTreeMap<String, ZramUse>,
    processes: Presence<ProcessMemory>,
}

#[derive(Clone, Debug)]
pub struct MachineMemory {
    pub counters: Presence<MemoryCounters>,
    pub levels: Presence<Levels>,
    pub page_bytes: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryCounters {
    pub swapped_in: u64,
    pub swapped_out: u64,
    oom_kills: u64,
    stalls: u64,
    dirtied: Option<u64>,
    zswap: Option<[u64; 2]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Total and available memory, if known.
    pub total_and_available: Option<(u64, u64)>,
    pub swap: u64,
    pub swap_used: u64,
    pub dirty: u64,
    pub writeback: u64,
}

pub struct OfMachine;

impl Pair for OfMachine {
    type Reading = MemoryReading;
    type Observed = MemoryObservation;

    fn read(system: &dyn System) -> MemoryReading {
        MemoryReading { machine: machine(system), zram: zram(system), processes: processes(system) }
    }

    fn between(before: &MemoryReading, after: &MemoryReading) -> Presence<MemoryObservation> {
        Presence::Present(MemoryObservation {
            machine: between(before, after),
            processes: after.processes.clone(),
        })
    }
}

/// Bytes of file pages dirtied since boot, if known.
pub fn dirtied_bytes(system: &dyn System) -> Option<u64> {
    let text = sysfs::text(system, Path::new("/proc/vmstat"));
    parse_counters(text.value()?)?.dirtied?.checked_mul(system.page_bytes())
}

pub fn machine(system: &dyn System) -> MachineMemory {
    let text = |path: &str| sysfs::text(system, Path::new(path));
    MachineMemory {
        counters: sysfs::parsed(text("/proc/vmstat"), parse_counters),
        levels: sysfs::parsed(text("/proc/meminfo"), parse_levels),
        page_bytes: system.page_bytes(),
    }
}

fn between(early: &MemoryReading, late: &MemoryReading) -> Presence<Memory> {
    let counted = early.machine.counters.both(&late.machine.counters, difference);
    let levels = early.machine.levels.both(&late.machine.levels, |before, after| (*before, *after));
    counted.both(&levels, |counted, (before, after)| Memory {
        swapped_in_pages: counted.swapped_in,
        swapped_out_pages: counted.swapped_out,
        oom_kills: counted.oom_kills,
        stalls: counted.stalls,
        dirtied_pages: counted.dirtied,
        page_bytes: Some(late.machine.page_bytes),
        swap_bytes: after.swap,
        swap_used_bytes: [before.swap_used, after.swap_used],
        dirty_bytes: [before.dirty, after.dirty],
        writeback_bytes: [before.writeback, after.writeback],
        zswap_pages: counted.zswap,
        zram: late.zram.clone(),
    })
}

fn difference(before: &MemoryCounters, after: &MemoryCounters) -> MemoryCounters {
    MemoryCounters {
        swapped_in: after.swapped_in.saturating_sub(before.swapped_in),
        swapped_out: after.swapped_out.saturating_sub(before.swapped_out),
        oom_kills: after.oom_kills.saturating_sub(before.oom_kills),
        stalls: after.stalls.saturating_sub(before.stalls),
        dirtied: before.dirtied.zip(after.dirtied).map(|(old, new)| new.saturating_sub(old)),
        zswap: before.zswap.zip(after.zswap).map(|(before, after)| {
            [after[0].saturating_sub(before[0]), after[1].saturating_sub(before[1])]
        }),
    }
}

/// Parses lines like `pswpin 12`. A kernel without swap has none, and swaps nothing.
fn parse_counters(text: &str) -> Option<MemoryCounters> {
    let all: BTreeMap<&str, u64> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, value)| Some((name, value.trim().parse().ok()?)))
        .collect();
    let value = |name: &str| all.get(name).copied();
    // A file without any of these lines is not /proc/vmstat.
    value("nr_free_pages").or_else(|| value("pswpin"))?;
    let stalls = all.iter().filter(|(name, _)| name.starts_with("allocstall")).map(|(_, n)| *n);
    Some(MemoryCounters {
        swapped_in: value("pswpin").unwrap_or(0),
        swapped_out: value("pswpout").unwrap_or(0),
        oom_kills: value("oom_kill").unwrap_or(0),
        stalls: stalls.sum(),
        dirtied: value("nr_dirtied"),
        zswap: value("zswpout").zip(value("zswpin")).map(|(stored, loaded)| [stored, loaded]),
    })
}

/// Parses lines such as `Dirty:  12 kB`, in bytes; `None` without the amount of dirty or written pages.
fn parse_levels(text: &str) -> Option<Levels> {
    let swap = kilobytes(text, "SwapTotal").unwrap_or(0);
    let total = kilobytes(text, "MemTotal");
    Some(Levels {
        total_and_available: total.zip(kilobytes(text, "MemAvailable")),
        swap,
        swap_used: swap.saturating_sub(kilobytes(text, "SwapFree").unwrap_or(0)),
        dirty: kilobytes(text, "Dirty")?,
        writeback: kilobytes(text, "Writeback")?,
    })
}

/// Contents of the zram devices that are in use.
fn zram(system: &dyn System) -> BTreeMap<String, ZramUse> {
    let names = sysfs::names(system, Path::new("/sys/block"));
    let devices = names.into_iter().filter(|name| name.starts_with("zram"));
    let uses = devices.filter_map(|name| {
        let text = system.read_text(&Path::new("/sys/block").join(&name).join("mm_stat")).ok()?;
        let fields = sysfs::numbers(&text)?;
        let [original_bytes, compressed_bytes, used_bytes, ..] = fields[..] else { return None };
        Some((name, ZramUse { original_bytes, compressed_bytes, used_bytes }))
    });
    uses.filter(|(_, zram)| zram.used_bytes > 0).collect()
}

/// Sums the memory of this process and its descendants; the PSS is absent if one of them does not report it.
fn processes(system: &dyn System) -> Presence<ProcessMemory> {
    let mut waiting = vec![system.user().process];
    let mut sum = ProcessMemory { pss_bytes: Some(0), ..ProcessMemory::default() };
    for _ in 0..MOST_PROCESSES {
        let Some(process) = waiting.pop() else { break };
        let folder = Path::new("/proc").join(process.to_string());
        let text = |name: &str| system.read_text(&folder.join(name)).ok();
        waiting.extend(children(system, &folder));
        let Some(rss) = text("status").and_then(|text| kilobytes(&text, "VmRSS")) else { continue };
        let pss = text("smaps_rollup").and_then(|text| kilobytes(&text, "Pss"));
        sum.processes += 1;
        sum.rss_bytes += rss;
        sum.pss_bytes = sum.pss_bytes.zip(pss).map(|(sum, one)| sum + one);
    }
    let found = (sum.processes > 0).then_some(sum);
    Presence::from_option(found, "/proc does not report the memory of this process")
}

fn children(system: &dyn System, folder: &Path) -> Vec<u32> {
    let mut found = Vec::new();
    for task in sysfs::names(system, &folder.join("task")) {
        let file = folder.join("task").join(task).join("children");
        let text = system.read_text(&file).unwrap_or_default();
        found.extend(text.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    const VMSTAT: &str = "nr_free_pages 100\nnr_dirtied 50\npswpin 5\npswpout 7\nallocstall_dma 1\n\
                          allocstall_normal 30\noom_kill 1\nzswpin 0\nzswpout 2\n";
    const MEMINFO: &str = "MemTotal:  1000 kB\nSwapTotal:  800 kB\nSwapFree:  300 kB\n\
                           Dirty:  12 kB\nWriteback:  0 kB\n";

    fn machine() -> Fake {
        let fake = Fake::new();
        fake.put("/proc/vmstat", VMSTAT).put("/proc/meminfo", MEMINFO);
        fake
    }

    #[test]
    fn counters_grow_and_levels_stand_side_by_side() {
        let fake = machine();
        let before = OfMachine::read(&fake);
        let later = VMSTAT.replace("pswpin 5", "pswpin 25").replace("oom_kill 1", "oom_kill 2");
        let later = later.replace("nr_dirtied 50", "nr_dirtied 62");
        fake.put("/proc/vmstat", later.replace("allocstall_normal 30", "allocstall_normal 33"));
        fake.put("/proc/meminfo", MEMINFO.replace("Dirty:  12 kB", "Dirty:  2 kB"));
        fake.put("/sys/block/zram0/mm_stat", "  1048576  400000  450560 0 450560 3 0 0 0\n");
        fake.put("/sys/block/zram1/mm_stat", "0 0 0 0 0 0 0 0 0\n");
        let found = between(&before, &OfMachine::read(&fake));
        let found = found.value().unwrap();
        assert_eq!((found.swapped_in_pages, found.swapped_out_pages), (20, 0));
        assert_eq!((found.oom_kills, found.stalls), (1, 3));
        assert_eq!(found.dirtied_pages, Some(12));
        assert_eq!(dirtied_bytes(&fake), Some(62 * fake.page_bytes()));
        assert_eq!(dirtied_bytes(&Fake::new()), None);
        assert_eq!((found.swap_bytes, found.swap_used_bytes), (800 << 10, [500 << 10; 2]));
        assert_eq!(found.dirty_bytes, [12 << 10, 2 << 10]);
        assert_eq!(found.zswap_pages, Some([0, 0]));
        assert_eq!(found.zram.keys().collect::<Vec<_>>(), ["zram0"]);
        assert_eq!(found.zram["zram0"].compressed_bytes, 400_000);
    }

    #[test]
    fn the_tree_of_processes_is_added_up() {
        let fake = machine();
        let own = fake.user().process;
        for (process, children) in [(own, "20 21 "), (20, "22"), (21, ""), (22, "")] {
            fake.put(format!("/proc/{process}/status"), "Name:\tx\nVmRSS:\t  100 kB\n");
            fake.put(format!("/proc/{process}/smaps_rollup"), "Rss: 100 kB\nPss:   40 kB\n");
            fake.put(format!("/proc/{process}/task/{process}/children"), children);
        }
        let sum = ProcessMemory { processes: 4, rss_bytes: 400 << 10, pss_bytes: Some(160 << 10) };
        assert_eq!(processes(&fake), Presence::Present(sum));
        fake.remove("/proc/22/smaps_rollup");
        assert_eq!(processes(&fake).value().unwrap().pss_bytes, None);
    }

    #[test]
    fn absent_where_the_files_are_not_there() {
        let reading = OfMachine::read(&Fake::new());
        assert!(between(&reading, &reading).reason().unwrap().contains("vmstat"));
        assert!(reading.processes.reason().is_some());
        assert_eq!(parse_counters("what 1\n"), None);
    }
}
