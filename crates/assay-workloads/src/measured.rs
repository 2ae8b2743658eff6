//! The recorded result of one trial.

use std::collections::BTreeMap;

use assay_core::presence::Presence;
use assay_core::quantity::units::show;
use assay_core::quantity::{Better, Metric};
use assay_core::stats::{observations_needed, percentile_is_supported};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::WorkDetail;

/// Operations and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Count {
    pub operations: u64,
    pub bytes: u64,
}

impl Count {
    fn plus(self, other: Self) -> Self {
        Self {
            operations: self.operations.saturating_add(other.operations),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

/// Claimed traffic of the target by direction, over the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub read: Count,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub write: Count,
    /// Discarded bytes of a device, or holes in a file: without data transfer.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub trim: Count,
    /// Zeroed bytes, which a device may count as written and a file system may only record.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub zero: Count,
}

impl Claims {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            read: self.read.plus(other.read),
            write: self.write.plus(other.write),
            trim: self.trim.plus(other.trim),
            zero: self.zero.plus(other.zero),
        }
    }

    /// Operations with data transfer, in both directions.
    pub fn operations(&self) -> u64 {
        self.read.plus(self.write).operations
    }

    pub fn bytes(&self) -> u64 {
        self.read.plus(self.write).bytes
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub window_ns: u64,
    /// Nanoseconds from the start to the end of the run, including uncounted parts.
    pub elapsed_ns: u64,
    /// CPU time of the measuring threads and of kernel workers for them, nanoseconds.
    pub cpu_ns: u64,
    /// CPU wait summed over the measuring threads, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
    #[serde(default)]
    pub claims: Claims,
    /// Directly measured metrics by name; others are computed from counters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, f64>,
    /// Unavailable metrics by name, with reasons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub detail: WorkDetail,
}

impl Measured {
    /// A result with these details and nothing else.
    pub fn from_detail(detail: impl Into<WorkDetail>) -> Self {
        Self {
            window_ns: 0,
            elapsed_ns: 0,
            cpu_ns: 0,
            waited_ns: None,
            claims: Claims::default(),
            values: BTreeMap::new(),
            absent: BTreeMap::new(),
            notes: Vec::new(),
            detail: detail.into(),
        }
    }

    pub fn operations(&self) -> u64 {
        self.detail.operations()
    }

    /// The value of a directly measured metric, or why it is missing.
    pub fn value(&self, metric: &str) -> Option<Result<f64, String>> {
        let reason = || self.absent.get(metric).cloned().map(Err);
        self.values.get(metric).copied().map(Ok).or_else(reason)
    }

    pub fn per_second(&self, amount: u64) -> Result<f64, String> {
        if self.window_ns == 0 {
            return Err("the measurement window was empty".to_owned());
        }
        Ok(amount as f64 / (self.window_ns as f64 / 1e9))
    }
}

/// Returns quantile `q` of times, or how many times it lacks; `of` is the timed noun, in the plural.
pub(super) fn percentile(times_ns: &Histogram<u64>, q: f64, of: &str) -> Presence<f64> {
    let count = times_ns.len();
    if percentile_is_supported(count, q) {
        return Presence::Present(times_ns.value_at_quantile(q) as f64);
    }
    let needed = observations_needed(q).map_or_else(|| "more".to_owned(), show::count);
    Presence::absent(format!("needs {needed} {of} per trial, but had only {}", show::count(count)))
}

/// Metric values by name, and reasons of absent ones by name.
pub(super) type KnownAndAbsent = (BTreeMap<String, f64>, BTreeMap<String, String>);

/// Splits amounts by metric into values and reasons for absence.
pub(super) fn known_and_absent(
    all: impl IntoIterator<Item = (Metric, Presence<f64>)>,
) -> KnownAndAbsent {
    let (mut values, mut absent) = (BTreeMap::new(), BTreeMap::new());
    for (metric, value) in all {
        let name = metric.name.to_owned();
        match value {
            Presence::Present(value) => drop(values.insert(name, value)),
            Presence::Absent(reason) => drop(absent.insert(name, reason)),
        }
    }
    (values, absent)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnMetric {
    pub name: String,
    pub better: Better,
}

pub trait Counts {
    /// Operations inside the window, as defined by the kind of work.
    fn operations(&self) -> u64;

    /// Metrics from programs' output, in the order of parsing.
    fn own_metrics(&self) -> &[OwnMetric] {
        &[]
    }

    /// Why it ended early, if that is its result.
    fn cut_short(&self) -> Option<String> {
        None
    }

    /// Whether the counts up to a stop are a result, which is stored.
    fn keeps_what_it_has(&self) -> bool {
        false
    }
}

/// Histograms of service times in nanoseconds by class; `io::of_response` names the response times.
pub type Histograms = BTreeMap<String, Histogram<u64>>;

/// One class of operations in one second, in storage format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesRow {
    /// Second from the start of the run, including the ramp.
    pub second: u32,
    /// Class of operations: `read`, `write`, `rewrite`, `trim` or `zero`.
    pub class: String,
    pub operations: u64,
    pub bytes: u64,
    pub latency_sum_ns: u64,
    pub latency_max_ns: u64,
    /// Nonempty latency buckets: index and count. A bucket begins at `results::series::bucket_from_ns`. Empty in the
    /// series of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_buckets: Vec<[u32; 2]>,
}

#[derive(Clone, Debug)]
pub struct RunResult {
    pub measured: Measured,
    pub histograms: Histograms,
    pub series: Vec<SeriesRow>,
    /// CPU time of the measuring threads, nanoseconds.
    pub threads_cpu_ns: u64,
    pub stopped: bool,
}

impl RunResult {
    /// A trial without histograms, with CPU time of its threads only.
    pub fn new(measured: Measured, stopped: bool) -> Self {
        let (histograms, threads_cpu_ns) = (Histograms::new(), measured.cpu_ns);
        Self { measured, histograms, series: Vec::new(), threads_cpu_ns, stopped }
    }
}
