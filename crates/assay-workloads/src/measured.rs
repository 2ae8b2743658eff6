//! What came of one trial, as it is recorded.

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
    /// Bytes.
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

/// What is claimed to have been moved to and from the target, by direction, all of the run included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    #[serde(default, skip_serializing_if = "crate::keys::is_default")]
    pub read: Count,
    #[serde(default, skip_serializing_if = "crate::keys::is_default")]
    pub write: Count,
    /// Given up, by discards of a device or holes in a file: nothing was moved for it.
    #[serde(default, skip_serializing_if = "crate::keys::is_default")]
    pub trim: Count,
    /// Made zeros, which a device may count as written and a file system may only note.
    #[serde(default, skip_serializing_if = "crate::keys::is_default")]
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

    /// Operations that move bytes, in both directions.
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
    /// Nanoseconds from the beginning of the run to its end, what does not count included.
    pub elapsed_ns: u64,
    /// Processor time in nanoseconds of the measuring threads and of the kernel's workers for them.
    pub cpu_ns: u64,
    /// Nanoseconds, summed over the measuring threads, in which they waited for a processor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ns: Option<u64>,
    #[serde(default)]
    pub claims: Claims,
    /// Metrics that are measured as they are, by name; others are made of what is counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, f64>,
    /// Those that could not be had, by name, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub absent: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub detail: WorkDetail,
}

impl Measured {
    pub fn of(detail: impl Into<WorkDetail>) -> Self {
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

    /// What a metric was that is measured as it is, or why there is none.
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

/// Returns a percentile of times, or what is missing for it; `of` is what was timed, in the plural.
pub(super) fn percentile(times_ns: &Histogram<u64>, q: f64, of: &str) -> Presence<f64> {
    let had = times_ns.len();
    if percentile_is_supported(had, q) {
        return Presence::Present(times_ns.value_at_quantile(q) as f64);
    }
    let needed = observations_needed(q).map_or_else(|| "more".to_owned(), show::count);
    Presence::absent(format!("needs {needed} {of} per trial, but had only {}", show::count(had)))
}

/// Values of metrics by name, and by name why others are absent.
pub(super) type KnownAndAbsent = (BTreeMap<String, f64>, BTreeMap<String, String>);

/// Amounts by the name of their metric; those that are not there by their reasons.
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
    /// Operations inside the window, of whatever the kind of work calls one.
    fn operations(&self) -> u64;

    /// Metrics that programs told of themselves, in the order in which they were read.
    fn told(&self) -> &[OwnMetric] {
        &[]
    }

    /// Why it ended early, where that is its result.
    fn cut_short(&self) -> Option<String> {
        None
    }

    /// Whether what was counted up to a stop is a result: it is kept then.
    fn keeps_what_it_has(&self) -> bool {
        false
    }
}

/// Histograms of service times in nanoseconds by class; `io::of_response` names the response times.
pub type Histograms = BTreeMap<String, Histogram<u64>>;

/// One class of operations in one second, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeriesRow {
    /// Second from the start of the run, ramp included.
    pub second: u32,
    /// Class of operations: `read`, `write`, `rewrite`, `trim` or `zero`.
    pub class: String,
    pub operations: u64,
    pub bytes: u64,
    pub latency_sum_ns: u64,
    pub latency_max_ns: u64,
    /// Buckets of latency with something in them: index and count. A bucket begins at
    /// `results::series::bucket_from_ns`. Empty in the series of versions that did not count them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_buckets: Vec<[u32; 2]>,
}

#[derive(Clone, Debug)]
pub struct Ran {
    pub measured: Measured,
    pub histograms: Histograms,
    pub series: Vec<SeriesRow>,
    /// Processor time of the measuring threads alone, nanoseconds.
    pub threads_cpu_ns: u64,
    pub stopped: bool,
}

impl Ran {
    /// A trial without histograms, whose threads alone took processor time.
    pub fn of(measured: Measured, stopped: bool) -> Self {
        let (histograms, threads_cpu_ns) = (Histograms::new(), measured.cpu_ns);
        Self { measured, histograms, series: Vec::new(), threads_cpu_ns, stopped }
    }
}
