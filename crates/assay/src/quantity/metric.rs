//! Metrics: a name that carries its unit, and which direction is better.

use serde::{Deserialize, Serialize};

/// Which direction is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// How two values of a metric are compared (R3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// By their ratio: rates, times, energies.
    #[default]
    Ratio,
    /// By their difference: counts and whatever may be zero.
    Difference,
}

/// One metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name with the unit in it; part of the contract with scripts.
    pub name: &'static str,
    /// Which direction is better.
    pub better: Better,
    /// What a sentence calls it.
    pub noun: &'static str,
    /// One line for people.
    pub summary: &'static str,
}

const fn metric(
    name: &'static str,
    better: Better,
    noun: &'static str,
    summary: &'static str,
) -> Metric {
    Metric { name, better, noun, summary }
}

/// All metrics that trials of kind `io` have.
pub static METRICS: &[Metric] = &[
    metric("iops", Better::Higher, "operations per second", "operations completed per second"),
    metric("bandwidth_bytes_per_s", Better::Higher, "bandwidth", "bytes moved per second"),
    metric("latency_mean_ns", Better::Lower, "mean latency", "mean service time of one operation"),
    metric(
        "latency_p50_ns",
        Better::Lower,
        "median latency",
        "service time that half of the operations stay below",
    ),
    metric(
        "latency_p90_ns",
        Better::Lower,
        "p90 latency",
        "service time that 90 % of the operations stay below",
    ),
    metric(
        "latency_p99_ns",
        Better::Lower,
        "p99 latency",
        "service time that 99 % of the operations stay below",
    ),
    metric(
        "latency_p999_ns",
        Better::Lower,
        "p99.9 latency",
        "service time that 99.9 % of the operations stay below",
    ),
    metric(
        "latency_max_ns",
        Better::Lower,
        "longest latency",
        "service time of the slowest operation",
    ),
    metric(
        "cpu_s_per_gib",
        Better::Lower,
        "processor time per GiB",
        "processor seconds of the measuring threads per GiB moved",
    ),
    metric(
        "kernel_cpu_s_per_gib",
        Better::Lower,
        "kernel threads' time per GiB",
        "processor seconds of all kernel threads per GiB moved, whoever they worked for",
    ),
    metric(
        "machine_cpu_s_per_gib",
        Better::Lower,
        "machine's processor time per GiB",
        "processor seconds of the whole machine per GiB moved, other programs included",
    ),
    metric(
        "cpu_s",
        Better::Lower,
        "processor time",
        "processor seconds of a command, or of the measuring and all kernel threads in a trial; a \
         trial that moved more took more: compare what is per GiB",
    ),
    metric(
        "amplification",
        Better::Lower,
        "write amplification",
        "bytes that the device wrote per byte that was asked for",
    ),
    metric(
        "device_requests_per_operation",
        Better::Lower,
        "device requests per operation",
        "requests that the device completed per operation: below 1 they were merged or answered \
         from memory, above 1 split or accompanied",
    ),
    metric(
        "beside_bandwidth_bytes_per_s",
        Better::Higher,
        "bandwidth of the work beside it",
        "bytes that the work beside moved per second",
    ),
    metric(
        "device_busy_s_per_gib",
        Better::Lower,
        "device's busy time per GiB",
        "seconds in which the device had something under way per GiB moved, summed over devices",
    ),
    metric(
        "energy_j",
        Better::Lower,
        "energy",
        "energy of a trial, until everything written was on the device; what it is of stands \
         with the result",
    ),
    metric("energy_j_per_gib", Better::Lower, "energy per GiB", "energy per GiB moved"),
    metric("power_w", Better::Lower, "power", "mean power over a trial"),
    metric(
        "energy_above_idle_j",
        Better::Lower,
        "energy above idle",
        "energy of a trial less what the machine at rest uses in the same time",
    ),
];

/// Metrics of the classes of requests that devices complete, for the probe `block-latency`.
pub static CLASS_METRICS: &[Metric] = &[
    metric(
        "block_read_mean_ns",
        Better::Lower,
        "mean latency",
        "mean time that reads took from their arrival in the block layer until their end",
    ),
    metric(
        "block_read_p50_ns",
        Better::Lower,
        "median latency",
        "time that half of the reads of a device stay below, waiting included",
    ),
    metric(
        "block_read_p90_ns",
        Better::Lower,
        "p90 latency",
        "time that 90 % of the reads of a device stay below, waiting included",
    ),
    metric(
        "block_read_p99_ns",
        Better::Lower,
        "p99 latency",
        "time that 99 % of the reads of a device stay below, waiting included",
    ),
    metric(
        "block_read_iops",
        Better::Higher,
        "reads per second",
        "reads that a device completed per second, whoever asked for them",
    ),
    metric(
        "block_write_mean_ns",
        Better::Lower,
        "mean latency",
        "mean time that writes took from their arrival in the block layer until their end",
    ),
    metric(
        "block_write_p50_ns",
        Better::Lower,
        "median latency",
        "time that half of the writes of a device stay below, waiting included",
    ),
    metric(
        "block_write_p90_ns",
        Better::Lower,
        "p90 latency",
        "time that 90 % of the writes of a device stay below, waiting included",
    ),
    metric(
        "block_write_p99_ns",
        Better::Lower,
        "p99 latency",
        "time that 99 % of the writes of a device stay below, waiting included",
    ),
    metric(
        "block_write_iops",
        Better::Higher,
        "writes per second",
        "writes that a device completed per second, whoever asked for them",
    ),
    metric(
        "block_flush_mean_ns",
        Better::Lower,
        "mean latency",
        "mean time that flushes took from their arrival in the block layer until their end",
    ),
    metric(
        "block_flush_p50_ns",
        Better::Lower,
        "median latency",
        "time that half of the flushes of a device stay below, waiting included",
    ),
    metric(
        "block_flush_p90_ns",
        Better::Lower,
        "p90 latency",
        "time that 90 % of the flushes of a device stay below, waiting included",
    ),
    metric(
        "block_flush_p99_ns",
        Better::Lower,
        "p99 latency",
        "time that 99 % of the flushes of a device stay below, waiting included",
    ),
    metric(
        "block_flush_iops",
        Better::Higher,
        "flushes per second",
        "flushes that a device completed per second, whoever asked for them",
    ),
    metric(
        "block_discard_mean_ns",
        Better::Lower,
        "mean latency",
        "mean time that discards took from their arrival in the block layer until their end",
    ),
    metric(
        "block_discard_p50_ns",
        Better::Lower,
        "median latency",
        "time that half of the discards of a device stay below, waiting included",
    ),
    metric(
        "block_discard_p90_ns",
        Better::Lower,
        "p90 latency",
        "time that 90 % of the discards of a device stay below, waiting included",
    ),
    metric(
        "block_discard_p99_ns",
        Better::Lower,
        "p99 latency",
        "time that 99 % of the discards of a device stay below, waiting included",
    ),
    metric(
        "block_discard_iops",
        Better::Higher,
        "discards per second",
        "discards that a device completed per second, whoever asked for them",
    ),
];

/// All metrics that a study can have.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().chain(CLASS_METRICS)
}

/// Metrics of other kinds of work: their names are known, so that numbers that are brought along
/// need not say which way is better.
static OTHERS: &[Metric] = &[
    metric("duration_s", Better::Lower, "time", "time that a command took"),
    metric("peak_rss_bytes", Better::Lower, "peak memory", "largest resident memory"),
    metric("ping_p50_ms", Better::Lower, "median round trip", "median round trip under load"),
    metric("ping_p95_ms", Better::Lower, "p95 round trip", "p95 of the round trip under load"),
];

/// What a sentence calls a metric; one that is not known here keeps its name.
pub fn noun(name: &str) -> &str {
    find(name).map_or(name, |metric| metric.noun)
}

/// The metric with a name.
pub fn find(name: &str) -> Option<&'static Metric> {
    all().chain(OTHERS).find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lower_case() {
        let mut names: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
        assert!(names.iter().all(|name| {
            name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        }));
    }
}
