//! Tests of the SNIA specification: the cells of a round, and the tracked ones.
//!
//! Source: SNIA, Solid State Storage Performance Test Specification 2.0.2, as quoted by two public implementations; the
//! text itself was not available.

use crate::quantity::Bytes;
use serde::{Deserialize, Serialize};

const KIB: u64 = 1 << 10;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Random reads and writes of all mixes and sizes.
    #[default]
    Iops,
    /// Sequential reads, then writes, of one size.
    Throughput,
    /// One operation after the other.
    Latency,
    /// Random writes from fresh on.
    WriteSaturation,
}

/// One read/write mix and block size: runs for one minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PtsPoint {
    /// Reads in percent of all operations.
    pub read_percent: u8,
    pub size_bytes: u64,
}

impl PtsPoint {
    /// `65/35`, as the specification writes a mix: reads, then writes.
    pub fn mix(self) -> String {
        format!("{}/{}", self.read_percent, 100 - self.read_percent.min(100))
    }

    /// `65/35 of 4 KiB`.
    pub fn words(self) -> String {
        format!("{} of {}", self.mix(), Bytes(self.size_bytes))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Iops,
    Bandwidth,
    /// Nanoseconds of an operation in the mean.
    Latency,
}

impl Test {
    pub const ALL: [Self; 4] = [Self::Iops, Self::Throughput, Self::Latency, Self::WriteSaturation];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Iops => "iops",
            Self::Throughput => "throughput",
            Self::Latency => "latency",
            Self::WriteSaturation => "write-saturation",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Iops => "IOPS",
            Self::Throughput => "Throughput",
            Self::Latency => "Latency",
            Self::WriteSaturation => "Write Saturation",
        }
    }

    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|own| own.name() == name)
    }

    pub const fn measure(self) -> Measure {
        match self {
            Self::Iops | Self::WriteSaturation => Measure::Iops,
            Self::Throughput => Measure::Bandwidth,
            Self::Latency => Measure::Latency,
        }
    }

    /// Mixes of a round in their order, each by its reads in percent.
    const fn mixes(self) -> &'static [u8] {
        match self {
            Self::Iops => &[100, 95, 65, 50, 35, 5, 0],
            Self::Throughput => &[100, 0],
            Self::Latency => &[100, 65, 0],
            Self::WriteSaturation => &[0],
        }
    }

    /// Sizes of each mix in their order, bytes.
    const fn sizes(self) -> &'static [u64] {
        match self {
            Self::Iops => {
                &[1024 * KIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, KIB / 2]
            }
            Self::Throughput => &[128 * KIB],
            Self::Latency => &[8 * KIB, 4 * KIB, KIB / 2],
            Self::WriteSaturation => &[4 * KIB],
        }
    }

    /// Cells of a round in their order: all sizes of a mix, then the next mix. `size` is the block size of the
    /// throughput test, which runs once per size.
    pub fn cells(self, size: Option<Bytes>) -> Vec<PtsPoint> {
        let sizes = match size {
            Some(size) if self == Self::Throughput => vec![size.0],
            _ => self.sizes().to_vec(),
        };
        let mut cells = Vec::new();
        for read_percent in self.mixes().iter().copied() {
            cells.extend(sizes.iter().map(|size| PtsPoint { read_percent, size_bytes: *size }));
        }
        cells
    }

    /// The cell that determines steady state: writes only, 4 KiB unless the test has one size.
    pub fn tracked(self, size: Option<Bytes>) -> PtsPoint {
        let size_bytes = match (self, size) {
            (Self::Throughput, Some(size)) => size.0,
            (Self::Throughput, None) => 128 * KIB,
            _ => 4 * KIB,
        };
        PtsPoint { read_percent: 0, size_bytes }
    }

    /// Maximum number of rounds. For write saturation, whose limit was not available, one day of minutes.
    pub const fn most_rounds(self) -> u32 {
        match self {
            Self::WriteSaturation => 1440,
            _ => 25,
        }
    }

    /// Bytes of the purge writes before the first round; `None` without them.
    pub fn fill_bytes(self, size: Option<Bytes>) -> Option<u64> {
        match self {
            Self::WriteSaturation => None,
            Self::Throughput => Some(self.tracked(size).size_bytes),
            _ => Some(128 * KIB),
        }
    }
    pub const fn is_sequential(self) -> bool {
        matches!(self, Self::Throughput)
    }
}

/// Market class of a drive: used share, write cache and queue depth of the test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PtsClass {
    /// Whole device, without write cache.
    #[default]
    Enterprise,
    /// Three quarters of the device, with write cache.
    Client,
}

impl PtsClass {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enterprise => "enterprise",
            Self::Client => "client",
        }
    }
    pub const fn range_percent(self) -> u64 {
        match self {
            Self::Enterprise => 100,
            Self::Client => 75,
        }
    }

    pub const fn has_write_cache(self) -> bool {
        matches!(self, Self::Client)
    }

    /// Default number of threads and queue depth per thread.
    pub const fn in_flight(self, test: Test) -> [u32; 2] {
        match (test, self) {
            (Test::Throughput, _) => [1, 32],
            (Test::Latency, _) => [1, 1],
            (_, Self::Enterprise) => [4, 32],
            (_, Self::Client) => [2, 16],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_of_iops_has_56_cells_in_the_order_of_the_text() {
        let cells = Test::Iops.cells(None);
        assert_eq!(cells.len(), 56);
        assert_eq!(cells[0], PtsPoint { read_percent: 100, size_bytes: 1 << 20 });
        assert_eq!(cells[1].words(), "100/0 of 128 KiB");
        assert_eq!(cells[8].words(), "95/5 of 1 MiB");
        assert_eq!(cells[55], PtsPoint { read_percent: 0, size_bytes: 512 });
        let mixes: Vec<String> = cells.iter().step_by(8).map(|cell| cell.mix()).collect();
        assert_eq!(mixes, ["100/0", "95/5", "65/35", "50/50", "35/65", "5/95", "0/100"]);
    }

    #[test]
    fn each_test_is_judged_by_a_cell_of_its_own_round_which_only_writes() {
        for test in Test::ALL {
            for size in [None, Some(Bytes(1 << 20))] {
                let tracked = test.tracked(size);
                assert!(test.cells(size).contains(&tracked), "{test:?}");
                assert_eq!(tracked.read_percent, 0);
            }
            assert_eq!(Test::find(test.name()), Some(test));
        }
        assert_eq!(Test::find("hir"), None);
        let large = Test::Throughput.cells(Some(Bytes(1 << 20)));
        assert_eq!(
            large.iter().map(|cell| cell.words()).collect::<Vec<_>>(),
            ["100/0 of 1 MiB", "0/100 of 1 MiB"]
        );
        assert_eq!(Test::Latency.cells(Some(Bytes(1 << 20))).len(), 9, "its sizes are fixed");
    }

    #[test]
    fn only_saturation_begins_fresh_and_throughput_fills_by_its_own_size() {
        assert_eq!(Test::WriteSaturation.fill_bytes(None), None);
        assert_eq!(Test::Throughput.fill_bytes(Some(Bytes(1 << 20))), Some(1 << 20));
        assert_eq!(Test::Iops.fill_bytes(None), Some(128 << 10));
        assert_eq!(Test::Latency.fill_bytes(None), Some(128 << 10));
    }

    #[test]
    fn one_class_of_drives_has_a_cache_and_the_other_the_whole_range() {
        assert_eq!(
            (PtsClass::Enterprise.range_percent(), PtsClass::Client.range_percent()),
            (100, 75)
        );
        assert!(PtsClass::Client.has_write_cache() && !PtsClass::Enterprise.has_write_cache());
        assert_eq!(PtsClass::Enterprise.in_flight(Test::Iops), [4, 32]);
        assert_eq!(PtsClass::Client.in_flight(Test::WriteSaturation), [2, 16]);
        assert_eq!(PtsClass::Client.in_flight(Test::Latency), [1, 1]);
    }
}
