//! What the kernel counts of a block device: `/sys/class/block/NAME/stat`.

use assay_core::presence::Presence;

use super::SECTOR;
use crate::system::{System, sysfs};

/// Counters of a block device since the machine started, or the difference of two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub reads_completed: u64,
    pub read_bytes: u64,
    pub read_ms: u64,
    pub writes_completed: u64,
    pub written_bytes: u64,
    pub write_ms: u64,
    /// Requests under way at this moment: a level, not a count.
    pub in_flight: u64,
    /// Milliseconds with at least one request in flight.
    pub io_ticks_ms: u64,
    /// Milliseconds that requests were under way, summed over all.
    pub weighted_ms: u64,
    /// Discards that ended (0 before Linux 4.18).
    pub discards_completed: u64,
    pub discarded_bytes: u64,
    /// Flushes that ended (0 before Linux 5.5, and always for partitions).
    pub flushes_completed: u64,
    pub flush_ms: u64,
}

impl Counters {
    /// Parses a `stat` file: 11 numbers in old kernels, 17 in new ones. `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let numbers = sysfs::numbers(text)?;
        if numbers.len() < 11 {
            return None;
        }
        let field = |index: usize| numbers.get(index).copied().unwrap_or(0);
        Some(Self {
            reads_completed: field(0),
            read_bytes: field(2).saturating_mul(SECTOR),
            read_ms: field(3),
            writes_completed: field(4),
            written_bytes: field(6).saturating_mul(SECTOR),
            write_ms: field(7),
            in_flight: field(8),
            io_ticks_ms: field(9),
            weighted_ms: field(10),
            discards_completed: field(11),
            discarded_bytes: field(13).saturating_mul(SECTOR),
            flushes_completed: field(15),
            flush_ms: field(16),
        })
    }

    /// Difference from an earlier reading; 0 if a counter decreased (a new device).
    #[must_use]
    pub const fn sub(&self, earlier: &Self) -> Self {
        Self {
            reads_completed: self.reads_completed.saturating_sub(earlier.reads_completed),
            read_bytes: self.read_bytes.saturating_sub(earlier.read_bytes),
            read_ms: self.read_ms.saturating_sub(earlier.read_ms),
            writes_completed: self.writes_completed.saturating_sub(earlier.writes_completed),
            written_bytes: self.written_bytes.saturating_sub(earlier.written_bytes),
            write_ms: self.write_ms.saturating_sub(earlier.write_ms),
            in_flight: self.in_flight,
            io_ticks_ms: self.io_ticks_ms.saturating_sub(earlier.io_ticks_ms),
            weighted_ms: self.weighted_ms.saturating_sub(earlier.weighted_ms),
            discards_completed: self.discards_completed.saturating_sub(earlier.discards_completed),
            discarded_bytes: self.discarded_bytes.saturating_sub(earlier.discarded_bytes),
            flushes_completed: self.flushes_completed.saturating_sub(earlier.flushes_completed),
            flush_ms: self.flush_ms.saturating_sub(earlier.flush_ms),
        }
    }
}

/// Counters of a block device or partition, by kernel name.
pub fn counters(system: &dyn System, device: &str) -> Presence<Counters> {
    sysfs::parsed(sysfs::text(system, &sysfs::block(device).join("stat")), Counters::parse)
}

/// Reads and writes of a block device in flight.
pub fn under_way(system: &dyn System, device: &str) -> Presence<[u64; 2]> {
    let text = sysfs::text(system, &sysfs::block(device).join("inflight"));
    sysfs::parsed(text, |text| sysfs::numbers(text)?.try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: &str = "   48039     6759  3000586    10526     9649    14187  1586248     4933 \
                       0     5440    15778     4032       92   221728      269     1116       48\n";

    #[test]
    fn every_field_lies_where_the_kernel_says() {
        let counters = Counters::parse(NEW).unwrap();
        assert_eq!(counters.reads_completed, 48039);
        assert_eq!(counters.read_bytes, 3_000_586 * 512);
        assert_eq!(counters.written_bytes, 1_586_248 * 512);
        assert_eq!((counters.in_flight, counters.io_ticks_ms), (0, 5440));
        assert_eq!((counters.discards_completed, counters.discarded_bytes), (4032, 221_728 * 512));
        assert_eq!((counters.flushes_completed, counters.flush_ms), (1116, 48));
    }

    #[test]
    fn old_kernels_have_eleven_numbers() {
        let counters = Counters::parse("1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((counters.weighted_ms, counters.flushes_completed), (11, 0));
        assert_eq!(Counters::parse("1 2 3"), None);
        assert_eq!(Counters::parse("1 2 3 4 5 6 7 8 9 10 x"), None);
    }

    #[test]
    fn differences_never_go_below_zero() {
        let counters = Counters::parse(NEW).unwrap();
        assert_eq!(counters.sub(&counters), Counters::default());
        assert_eq!(Counters::default().sub(&counters), Counters::default());
    }
}
