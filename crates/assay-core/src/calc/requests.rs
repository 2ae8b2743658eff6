//! Statistics of recorded requests: count per class, size, place, randomness, burstiness, share of the device touched
//! and touched again. Counted in one pass, in memory independent of the number of requests, and stored next to the
//! recording.

mod count;
mod over_time;
mod pages;
mod pair;

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

pub use count::RequestCounter;
pub use over_time::{MOST_STEPS, OverTime};
pub use pair::{GatheredSides, TracePair, TraceSide};

#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the kernel's own")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub device: usize,
    /// `read`, `write`, `flush`, `discard`, `write-zeroes` or `fua`.
    pub class: &'static str,
    /// Arrival, nanoseconds since the recording began; `None` if unknown.
    pub arrived_ns: Option<u64>,
    /// End, on the same clock.
    pub ended_ns: u64,
    /// Offset, bytes; `None` if unknown, and for a flush.
    pub offset_bytes: Option<u64>,
    pub bytes: u64,
    pub sync: bool,
    pub meta: bool,
    /// Readahead.
    pub read_ahead: bool,
    pub failed: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recorded {
    /// Nanoseconds that were recorded.
    pub span_ns: u64,
    pub requests: u64,
    /// Lost requests: the buffer was full, or only the kernel's counters contain their bytes.
    pub dropped: u64,
    pub file_bytes: u64,
    /// Devices by kernel name.
    pub devices: BTreeMap<String, OfDevice>,
}

impl Recorded {
    /// Share of missing requests.
    pub fn missing(&self) -> f64 {
        let all = self.requests.saturating_add(self.dropped);
        if all == 0 { 0.0 } else { self.dropped as f64 / all as f64 }
    }
}

/// Requests of one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfDevice {
    pub bytes: u64,
    /// Unit in which touched space is counted, bytes.
    pub unit_bytes: u64,
    pub classes: BTreeMap<String, OfClass>,
}

/// Requests of one class on one device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfClass {
    pub requests: u64,
    pub failed: u64,
    pub bytes: u64,
    pub sync: u64,
    pub meta: u64,
    pub read_ahead: u64,
    /// Number of requests by size, rounded down to a power of two.
    #[serde(deserialize_with = "read_by_power")]
    pub sizes: BTreeMap<u64, u64>,
    /// Requests that begin at the end of one of the last requests of the class.
    pub in_order: u64,
    /// Number of requests by distance from the end of the previous one, in either direction, rounded down to a power of
    /// two (0: adjacent).
    #[serde(deserialize_with = "read_by_power")]
    pub distances: BTreeMap<u64, u64>,
    /// Bytes of the units that were touched.
    pub touched_bytes: u64,
    /// Bytes of requests that began in a unit that was touched before.
    pub reused_bytes: u64,
    /// Nanoseconds from arrival to end, summed over requests with an observed arrival.
    pub queued_ns: u64,
    /// Variance over mean of arrivals per 100 ms: 1 for a Poisson process, more for bursts; absent below ten intervals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dispersion: Option<f64>,
    /// The most that arrived within a tenth of a second.
    pub most_in_100_ms: u64,
    /// Arrivals over time; `None` if times are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<OverTime>,
    /// Bytes of units over the time in which they were touched first; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_touch: Option<OverTime>,
}

/// Rounds down to a power of two; 0 stays 0.
fn floor_power(number: u64) -> u64 {
    number.checked_ilog2().map_or(0, |bit| 1 << bit)
}

/// For serde: JSON keys are strings, and stay strings in findings below the keys of kinds.
fn read_by_power<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<u64, u64>, D::Error> {
    let by_text = BTreeMap::<String, u64>::deserialize(deserializer)?;
    let mut counts = BTreeMap::new();
    for (power, count) in by_text {
        counts.insert(power.parse().map_err(D::Error::custom)?, count);
    }
    Ok(counts)
}

/// Returns the sum of all counts, saturating, because imported counts may overflow.
pub fn sum(all: &BTreeMap<u64, u64>) -> u64 {
    all.values().fold(0, |sum, many| sum.saturating_add(*many))
}

impl OfClass {
    /// Median size, rounded down to a power of two.
    pub fn median_size(&self) -> Option<u64> {
        let half = sum(&self.sizes).div_ceil(2);
        let mut so_far = 0_u64;
        for (size, count) in &self.sizes {
            so_far = so_far.saturating_add(*count);
            if so_far >= half {
                return Some(*size);
            }
        }
        None
    }

    /// How many were under way, on average over the span: the law of Little.
    pub fn mean_in_flight(&self, span_ns: u64) -> f64 {
        self.queued_ns as f64 / span_ns.max(1) as f64
    }
}
