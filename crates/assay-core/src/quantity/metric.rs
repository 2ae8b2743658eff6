//! Metrics: a name that carries its unit, and which direction is better.

use serde::{Deserialize, Serialize};

/// Which direction is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither direction counts as better or worse.
    #[default]
    Unknown,
}

impl Better {
    pub fn is_known(self) -> bool {
        self != Self::Unknown
    }

    /// +1 if more is better, -1 if less is.
    pub const fn sign(self) -> f64 {
        match self {
            Self::Higher | Self::Unknown => 1.0,
            Self::Lower => -1.0,
        }
    }

    /// Words for the heading of a table or axis.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Higher => "higher is better",
            Self::Lower => "lower is better",
            Self::Unknown => "the better direction is unknown",
        }
    }
}

/// How two values of a metric are compared (R3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// As ratios: rates, times, energies.
    #[default]
    Ratio,
    /// As differences: counts and metrics that may be zero.
    Difference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name with the unit in it; part of the contract with scripts.
    pub name: &'static str,
    pub better: Better,
    pub noun: &'static str,
    pub summary: &'static str,
    pub of: Of,
    pub nature: Nature,
    pub scale: Scale,
    side: Side,
    /// Probe that observes the data of this metric; `None` if the workload reports it.
    pub by: Option<&'static str>,
}

impl Metric {
    /// The same metric with the nature of a size or count.
    #[must_use]
    pub const fn amount(self) -> Self {
        Self { nature: Nature::Amount, ..self }
    }

    /// The same metric with the nature of traffic.
    #[must_use]
    pub const fn traffic(self) -> Self {
        Self { nature: Nature::Traffic, ..self }
    }

    /// The same metric, may be zero: compared by differences.
    #[must_use]
    pub const fn may_be_zero(self) -> Self {
        Self { scale: Scale::Difference, ..self }
    }

    /// The same metric, derived from this probe.
    #[must_use]
    pub const fn by(self, probe: &'static str) -> Self {
        Self { by: Some(probe), ..self }
    }

    /// The same metric, of reads only.
    #[must_use]
    pub const fn of_reads(self) -> Self {
        Self { side: Side::Reads, ..self }
    }

    /// The same metric, of writes only.
    #[must_use]
    pub const fn of_writes(self) -> Self {
        Self { side: Side::Writes, ..self }
    }

    pub fn side(&self) -> Side {
        match self.of {
            Of::Class { class: "read", .. } => Side::Reads,
            Of::Class { .. } => Side::Writes,
            Of::Counts | Of::Latencies => self.side,
        }
    }
}

/// Direction of I/O that a metric or remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Both,
    Reads,
    /// Writes, flushes and discards.
    Writes,
}

impl Side {
    /// Returns whether a statement about this direction also applies to the other.
    pub fn reaches(self, other: Self) -> bool {
        self == Self::Both || other == Self::Both || self == other
    }
}

/// Dependence of a metric on the machine: a trust rule flags only metrics that its cause can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// How fast the machine is: times and rates, processor time, energy.
    Speed,
    /// Transferred bytes and requests of a task, independent of speed.
    Traffic,
    /// Sizes, and counts of existing things.
    Amount,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Counts,
    Latencies,
    /// Requests of one class that reached the devices.
    Class {
        class: &'static str,
        what: Statistic,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    Mean,
    P50,
    P90,
    P99,
    /// Requests per second.
    Rate,
    /// Standard deviation of the latency.
    Deviation,
    /// Bytes per second.
    Bytes,
    /// Bytes of a request.
    Size,
    Requests,
}

type Text = &'static str;

/// A metric of sums and counters of a trial.
pub const fn metric(name: Text, better: Better, noun: Text, summary: Text) -> Metric {
    Metric {
        name,
        better,
        noun,
        summary,
        of: Of::Counts,
        nature: Nature::Speed,
        scale: Scale::Ratio,
        side: Side::Both,
        by: None,
    }
}

/// A metric of the times of single operations.
pub(super) const fn of_latencies(name: Text, better: Better, noun: Text, summary: Text) -> Metric {
    Metric { of: Of::Latencies, ..metric(name, better, noun, summary) }
}

const fn time(name: &'static str, side: Side, noun: &'static str, summary: &'static str) -> Metric {
    Metric { side, ..of_latencies(name, Better::Lower, noun, summary) }
}

const fn of_class(
    class: &'static str,
    what: Statistic,
    name: &'static str,
    better: Better,
    noun: &'static str,
    summary: &'static str,
) -> Metric {
    Metric { of: Of::Class { class, what }, ..metric(name, better, noun, summary) }
}

/// Rows of metrics of sums and counters: name, direction, noun, summary, and modifiers.
macro_rules! metrics {
    ($($name:literal, $better:ident, $noun:literal, $summary:literal $(, $special:ident($($probe:literal)?))*;)*) => {
        &[$(metric($name, Better::$better, $noun, $summary)$(.$special($($probe)?))*),*]
    };
}

/// Mean, quantiles and maximum of the latencies of single operations, which are also the noun.
macro_rules! times {
    ($key:literal, $side:ident, $mean:literal, [$($point:literal $word:literal),*], $what:literal, $slowest:literal) => {
        &[
            time(concat!($key, "_mean_ns"), Side::$side, concat!("mean ", $key), $mean),
            $(time(
                concat!($key, "_", $point, "_ns"),
                Side::$side,
                concat!($word, " ", $key),
                concat!($word, " ", $what),
            ),)*
            time(concat!($key, "_max_ns"), Side::$side, concat!("longest ", $key), $slowest),
        ]
    };
}

/// Rows of metrics of requests: class, statistic, direction and name, noun, summary.
macro_rules! class_metrics {
    ($($class:literal $what:ident $better:ident $name:literal, $noun:literal, $summary:literal;)*) => {
        &[$(of_class($class, Statistic::$what, $name, Better::$better, $noun, $summary)),*]
    };
}

pub const IOPS: Metric = metric("iops", Better::Higher, "IOPS", "operations completed per second");

pub const BANDWIDTH: Metric =
    metric("bandwidth_bytes_per_s", Better::Higher, "bandwidth", "bytes moved per second");

pub const LATENCY: &[Metric] = times!(
    "latency", Both, "mean service time of one operation",
    ["p50" "median", "p90" "p90", "p99" "p99", "p999" "p99.9", "p9999" "p99.99"], "service time of an operation",
    "service time of the slowest operation"
);

/// Metric by which open loops are compared unless the study sets another.
pub const RESPONSE_P99: &str = "response_p99_ns";

/// Metrics of response time in open loops: includes the queueing time before submission.
pub const RESPONSE: &[Metric] = times!(
    "response", Both, "mean response time, from the intended start of an operation to its completion",
    ["p50" "median", "p90" "p90", "p99" "p99", "p999" "p99.9", "p9999" "p99.99"],
    "response time, from the intended start of an operation to its completion",
    "response time of the slowest operation, from its intended start to its completion"
);

/// Name of the histogram of `fdatasync` calls after writes, without the writes.
pub const FDATASYNCS: &str = "fdatasync";

/// Metrics of `fdatasync` calls after writes, if the engine times them separately.
pub const FDATASYNC: &[Metric] = times!(
    "fdatasync", Writes, "mean time of the fdatasync after a write, excluding the write",
    ["p50" "median", "p90" "p90", "p99" "p99", "p999" "p99.9"], "time of the fdatasync after a write, excluding the write",
    "time of the slowest fdatasync after a write, excluding the write"
);

/// Metrics of all workloads; probes measure them for the traffic that the workload reports.
pub static SHARED: &[Metric] = metrics! {
    "cpu_s_per_gib", Lower, "CPU time per GiB", "CPU seconds of the measuring threads per GiB moved", by("cpu-time");
    "kernel_cpu_s_per_gib", Lower, "kernel threads' time per GiB",
        "CPU seconds of all kernel threads per GiB moved, including work for other programs", by("cpu-time");
    "machine_cpu_s_per_gib", Lower, "machine's CPU time per GiB",
        "CPU seconds of the whole machine per GiB moved, including other programs", by("cpu-time");
    "cpu_s", Lower, "CPU time",
        "CPU seconds of a command, or of the measuring threads and all kernel threads during a trial; to compare \
         trials that moved different amounts, use the values per GiB",
        by("cpu-time");
    "write_amplification", Lower, "write amplification",
        "bytes written by the device (for an array, by its members) per requested byte", traffic(), by("disk");
    "read_amplification", Lower, "read amplification",
        "bytes read by the device (for an array, by its members) per byte requested for reading or writing",
        traffic(), by("disk");
    "device_bytes_per_operation", Lower, "bytes moved per operation",
        "bytes read and written by the device (for an array, by its members) per operation, until all data is \
         written back",
        traffic(), by("disk");
    "device_requests_per_operation", Lower, "device requests per operation",
        "device requests completed per operation; below 1: merged or served from memory; above 1: split or additional",
        by("disk");
    "background_bandwidth_bytes_per_s", Higher, "bandwidth of the background load",
        "bytes moved per second by the background load";
    "device_busy_s_per_gib", Lower, "device's busy time per GiB",
        "seconds that the device was busy per GiB moved, summed over devices", by("disk");
    "resync_bytes_per_s", Higher, "resync rate",
        "bytes resynced per second on each member (raid10: on the whole array)", by("raid-resync");
    "resync_total_s", Lower, "total resync time", "time to resync the whole array at the measured rate",
        by("raid-resync");
    "energy_j", Lower, "energy",
        "energy used during a trial, until all data is written back; the result names the source", by("energy");
    "energy_j_per_gib", Lower, "energy per GiB", "energy per GiB moved", by("energy");
    "power_w", Lower, "power", "mean power over a trial", by("energy");
    "energy_above_idle_j", Lower, "energy above idle",
        "energy used during a trial minus the idle energy over the same time", by("energy");
};

/// Metrics of the classes of requests that devices complete, for the probe `block-latency`.
pub static CLASS_METRICS: &[Metric] = class_metrics! {
    "read" Mean Lower "block_read_mean_ns", "mean request latency",
        "mean latency of reads, from arrival in the block layer to completion";
    "read" P50 Lower "block_read_p50_ns", "median request latency",
        "median latency of device reads, including queueing";
    "read" P90 Lower "block_read_p90_ns", "p90 request latency", "p90 latency of device reads, including queueing";
    "read" P99 Lower "block_read_p99_ns", "p99 request latency", "p99 latency of device reads, including queueing";
    "read" Rate Higher "block_read_iops", "reads per second",
        "reads that the device completed per second, from all programs";
    "write" Mean Lower "block_write_mean_ns", "mean request latency",
        "mean latency of writes, from arrival in the block layer to completion";
    "write" P50 Lower "block_write_p50_ns", "median request latency",
        "median latency of device writes, including queueing";
    "write" P90 Lower "block_write_p90_ns", "p90 request latency", "p90 latency of device writes, including queueing";
    "write" P99 Lower "block_write_p99_ns", "p99 request latency", "p99 latency of device writes, including queueing";
    "write" Rate Higher "block_write_iops", "writes per second",
        "writes that the device completed per second, from all programs";
    "flush" Mean Lower "block_flush_mean_ns", "mean request latency",
        "mean latency of flushes, from arrival in the block layer to completion";
    "flush" P50 Lower "block_flush_p50_ns", "median request latency",
        "median latency of device flushes, including queueing";
    "flush" P90 Lower "block_flush_p90_ns", "p90 request latency",
        "p90 latency of device flushes, including queueing";
    "flush" P99 Lower "block_flush_p99_ns", "p99 request latency",
        "p99 latency of device flushes, including queueing";
    "flush" Rate Higher "block_flush_iops", "flushes per second",
        "flushes per second that the device completed, from all programs";
    "discard" Mean Lower "block_discard_mean_ns", "mean request latency",
        "mean latency of discards, from arrival in the block layer to completion";
    "discard" P50 Lower "block_discard_p50_ns", "median request latency",
        "median latency of device discards, including queueing";
    "discard" P90 Lower "block_discard_p90_ns", "p90 request latency",
        "p90 latency of device discards, including queueing";
    "discard" P99 Lower "block_discard_p99_ns", "p99 request latency",
        "p99 latency of device discards, including queueing";
    "discard" Rate Higher "block_discard_iops", "discards per second",
        "discards that the device completed per second, from all programs";
    "read" Deviation Lower "block_read_stddev_ns", "standard deviation of the request latency",
        "standard deviation of the latency of reads, including queueing";
    "write" Deviation Lower "block_write_stddev_ns", "standard deviation of the request latency",
        "standard deviation of the latency of writes, including queueing";
    "flush" Deviation Lower "block_flush_stddev_ns", "standard deviation of the request latency",
        "standard deviation of the latency of flushes, including queueing";
    "discard" Deviation Lower "block_discard_stddev_ns", "standard deviation of the request latency",
        "standard deviation of the latency of discards, including queueing";
    "read" Bytes Higher "block_read_bytes_per_s", "bytes of reads per second",
        "bytes that the device read per second, for all programs";
    "write" Bytes Higher "block_write_bytes_per_s", "bytes of writes per second",
        "bytes that the device wrote per second, for all programs";
    "discard" Bytes Higher "block_discard_bytes_per_s", "bytes of discards per second",
        "bytes that the device discarded per second, for all programs";
    "read" Size Higher "block_read_request_bytes", "size of reads",
        "mean size of the reads that the device completed, from all programs";
    "write" Size Higher "block_write_request_bytes", "size of writes",
        "mean size of the writes that the device completed, from all programs";
    "read" Requests Higher "block_read_requests", "number of reads",
        "reads that the device completed during a trial, from all programs";
    "write" Requests Higher "block_write_requests", "number of writes",
        "writes that the device completed during a trial, from all programs";
    "flush" Requests Higher "block_flush_requests", "number of flushes",
        "flushes that the device completed during a trial, from all programs";
    "discard" Requests Higher "block_discard_requests", "number of discards",
        "discards that the device completed during a trial, from all programs";
};

/// Metrics of other benchmarks: imported results with these names need no direction.
pub static OTHERS: &[Metric] = metrics! {
    "duration_s", Lower, "time", "run time of a command";
    "peak_rss_bytes", Lower, "peak memory", "maximum resident memory", amount();
    "ping_p50_ms", Lower, "median round trip", "median round trip under load";
    "ping_p95_ms", Lower, "p95 round trip", "p95 of the round trip under load";
};

/// Returns the class of requests and the statistic of a metric; `None` for other metrics.
pub fn class(name: &str) -> Option<(&'static str, Statistic)> {
    match CLASS_METRICS.iter().find(|metric| metric.name == name)?.of {
        Of::Class { class, what } => Some((class, what)),
        Of::Counts | Of::Latencies => None,
    }
}

pub fn of_requests(class: &'static str, what: Statistic) -> Option<&'static Metric> {
    CLASS_METRICS.iter().find(|metric| metric.of == Of::Class { class, what })
}
