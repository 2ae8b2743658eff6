//! The numbers of a row: what counts as each, and how it is shown.

use assay_study::findings::facts::IoFacts;
use assay_workloads::io::Pattern;

#[derive(Debug)]
pub struct NumberKind {
    pub name: &'static str,
    pub title: &'static str,
    pub work: &'static str,
    pub metric: &'static str,
    /// Size of the shown unit, in the unit of the metric.
    pub unit: f64,
    /// Whether a workload of these facts and this depth measures it.
    fits: fn(&IoFacts, u32) -> bool,
}

/// Smallest block size of published sequential rates: smaller operations measure the path, not the medium.
const LEAST_LINEAR_BYTES: u64 = 128 << 10;
const SMALL_BYTES: u64 = 4 << 10;
/// Metrics with the size of the shown unit.
const RATE: (&str, f64) = ("bandwidth_bytes_per_s", 1e6);
const IOPS: (&str, f64) = ("iops", 1.0);

impl NumberKind {
    /// `names` are the name, the title and the work.
    const fn new(
        names: [&'static str; 3],
        metric: (&'static str, f64),
        fits: fn(&IoFacts, u32) -> bool,
    ) -> Self {
        let [name, title, work] = names;
        Self { name, title, work, metric: metric.0, unit: metric.1, fits }
    }
}

fn is_linear(io: &IoFacts) -> bool {
    io.pattern == Pattern::Sequential && io.size_bytes >= LEAST_LINEAR_BYTES && is_unsynced(io)
}

fn is_random(io: &IoFacts) -> bool {
    io.pattern == Pattern::Random && io.size_bytes == SMALL_BYTES && is_unsynced(io)
}

fn is_unsynced(io: &IoFacts) -> bool {
    !io.data_sync && !io.partly_synced
}

pub static NUMBERS: [NumberKind; 7] = [
    NumberKind::new(["read_mb_s", "read MB/s", "linear read"], RATE, |io, _| {
        is_linear(io) && io.only_reads()
    }),
    NumberKind::new(["write_mb_s", "write MB/s", "linear write"], RATE, |io, _| {
        is_linear(io) && io.only_writes()
    }),
    NumberKind::new(["read_iops", "read IOPS", "random read"], IOPS, |io, depth| {
        is_random(io) && io.only_reads() && depth == 1
    }),
    NumberKind::new(["write_iops", "write IOPS", "random write"], IOPS, |io, depth| {
        is_random(io) && io.only_writes() && depth == 1
    }),
    NumberKind::new(["queued_read_iops", "queued read IOPS", "queued read"], IOPS, |io, depth| {
        is_random(io) && io.only_reads() && depth > 1
    }),
    NumberKind::new(
        ["queued_write_iops", "queued write IOPS", "queued write"],
        IOPS,
        |io, depth| is_random(io) && io.only_writes() && depth > 1,
    ),
    NumberKind::new(["sync_write_iops", "synced write IOPS", "synced write"], IOPS, |io, _| {
        io.data_sync && io.only_writes() && io.size_bytes == SMALL_BYTES
    }),
];

/// Energy per GiB of sequential writes.
pub const ENERGY: &str = "energy_j_per_gib";

pub fn find(name: &str) -> Option<&'static NumberKind> {
    NUMBERS.iter().find(|kind| kind.name == name)
}

/// The kind that a workload measures; `None` for mixed block sizes or a distribution of offsets.
pub fn kind_for(io: &IoFacts, depth: u32) -> Option<&'static NumberKind> {
    // A rate-limited or paused workload does not show what a device can do.
    NUMBERS.iter().find(|kind| !io.rate_limited && !io.shaped && (kind.fits)(io, depth))
}

#[cfg(test)]
mod tests {
    use assay_workloads::io::Mix;

    use super::*;

    #[test]
    fn each_work_is_one_number_and_its_neighbour_is_none() {
        let (linear, random) = (Pattern::Sequential, Pattern::Random);
        let (reads, writes) = (Mix::READS, Mix::WRITES);
        let plain = IoFacts {
            pattern: random,
            mix: reads,
            size_bytes: 4096,
            data_sync: false,
            rate_limited: false,
            shaped: false,
            partly_synced: false,
        };
        for (pattern, mix, size_bytes, data_sync, depth, name) in [
            (linear, reads, 128 << 10, false, 1, "read_mb_s"),
            (linear, reads, 1 << 20, false, 32, "read_mb_s"),
            (linear, writes, 128 << 10, false, 1, "write_mb_s"),
            (linear, reads, 64 << 10, false, 1, ""),
            (linear, writes, 1 << 20, true, 1, ""),
            (random, reads, 4096, false, 1, "read_iops"),
            (random, reads, 4096, false, 2, "queued_read_iops"),
            (random, writes, 4096, false, 1, "write_iops"),
            (random, writes, 4096, false, 2, "queued_write_iops"),
            (random, reads, 8192, false, 1, ""),
            (random, writes, 1 << 20, false, 1, ""),
            (random, writes, 4096, true, 1, "sync_write_iops"),
            (linear, writes, 4096, true, 1, "sync_write_iops"),
            (random, writes, 8192, true, 1, ""),
        ] {
            let io = IoFacts { pattern, mix, size_bytes, data_sync, ..plain };
            let found = kind_for(&io, depth).map_or("", |kind| kind.name);
            assert_eq!(found, name, "{io:?} {depth}");
            assert!(kind_for(&IoFacts { rate_limited: true, ..io }, depth).is_none());
            assert!(kind_for(&IoFacts { shaped: true, ..io }, depth).is_none());
        }
        let trims = "trim".parse().unwrap();
        for (mix, partly_synced) in [(trims, false), (writes, true)] {
            let io = IoFacts { pattern: random, mix, partly_synced, ..plain };
            assert!(kind_for(&io, 1).is_none(), "{io:?}");
        }
        for kind in &NUMBERS {
            assert!(std::ptr::eq(find(kind.name).unwrap(), kind));
        }
        assert!(find(ENERGY).is_none(), "energy is told beside them");
    }
}
