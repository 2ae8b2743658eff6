//! Completed requests of block devices by class, with their latencies: the record of the probe `block-latency`.

use std::collections::BTreeMap;

use assay_core::presence::Presence;
use assay_sys::{
    BlockClass, ClassTotals, DeviceTotals, LATENCY_BUCKETS, LatencyTotals, latency_bucket,
    latency_bucket_from_ns,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// Counted by a program in the kernel.
    Bpf,
    /// Read from the kernel's trace, event by event.
    Tracefs,
}

/// Requests of the watched devices in a span of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockLatency {
    pub means: Means,
    pub span_ns: u64,
    /// By device and class (`read`, `write`, `flush`, `discard`, `write-zeroes`, `fua`), for classes with completed
    /// requests. A device that vanished is absent with that reason.
    pub devices: BTreeMap<String, Presence<BTreeMap<String, ClassSpan>>>,
    /// Requests without an observed beginning: their latency excludes the time before.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub unseen_beginnings: u64,
    /// Requests missing from the latencies, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassSpan {
    pub requests: u64,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub failed: u64,
    pub bytes: u64,
    /// From the arrival in the block layer to the end.
    pub queued: Latencies,
    /// From the submission to the driver to the end; empty for bio-based devices.
    #[serde(default, skip_serializing_if = "Latencies::is_empty")]
    pub issued: Latencies,
}

/// Latencies in buckets: their sum is exact, quantiles are within a bucket's width (3%).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latencies {
    pub sum_ns: u64,
    /// Buckets with something in them: index and count. A bucket begins at [`bucket_from_ns`].
    pub buckets: Vec<[u64; 2]>,
}

impl ClassSpan {
    /// Counts a request with its time from arrival to end.
    pub fn count(&mut self, bytes: u64, failed: bool, queued_ns: u64) {
        self.requests += 1;
        self.failed += u64::from(failed);
        self.bytes = self.bytes.saturating_add(bytes);
        let bucket = [latency_bucket(queued_ns) as u64, 1];
        self.queued.add(&Latencies { sum_ns: queued_ns, buckets: vec![bucket] });
    }
}

impl BlockLatency {
    /// Returns the classes of each of these devices, or of all traced ones if none is named; a partition stands for its
    /// disk. An error if a device was not observed.
    pub fn for_devices(
        &self,
        devices: &[String],
    ) -> Result<Vec<&BTreeMap<String, ClassSpan>>, String> {
        let disk_of = |name: &String| {
            let disk = self.devices.keys().find(|disk| is_on(name, disk));
            disk.ok_or_else(|| format!("{name} was not observed"))
        };
        let disks: Vec<&String> = devices.iter().map(disk_of).collect::<Result<_, _>>()?;
        let mut found = Vec::new();
        for (name, classes) in &self.devices {
            if !devices.is_empty() && !disks.contains(&name) {
                continue;
            }
            match classes {
                Presence::Present(classes) => found.push(classes),
                Presence::Absent(reason) => return Err(format!("{name}: {reason}")),
            }
        }
        Ok(found)
    }
}

/// Returns whether a device is this disk or a partition of it: `sda1`, `nvme0n1p2`.
fn is_on(device: &str, disk: &str) -> bool {
    let Some(suffix) = device.strip_prefix(disk) else { return false };
    // After a digit, the number of a partition follows `p`.
    let has_digit = disk.ends_with(|last: char| last.is_ascii_digit());
    let number = if has_digit { suffix.strip_prefix('p') } else { Some(suffix) };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    suffix.is_empty() || number.is_some_and(is_number)
}

/// Lower bound of a bucket, nanoseconds; [`bucket_to_ns`] is the upper one.
pub fn bucket_from_ns(index: u64) -> u64 {
    latency_bucket_from_ns(clamp_index(index))
}

pub fn bucket_to_ns(index: u64) -> u64 {
    latency_bucket_from_ns(clamp_index(index) + 1)
}

/// A bucket beyond the last one, which no version writes, is read as the last one.
fn clamp_index(index: u64) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX).min(LATENCY_BUCKETS - 1)
}

/// Requests that ended between two readings of one device, by class name.
pub fn between(before: &DeviceTotals, after: &DeviceTotals) -> BTreeMap<String, ClassSpan> {
    let classes = BlockClass::ALL.into_iter().zip(before.iter().zip(after));
    let spans = classes.map(|(class, (before, after))| (class, class_between(before, after)));
    let nonempty = spans.filter(|(_, span)| span.requests > 0);
    nonempty.map(|(class, span)| (class.name().to_owned(), span)).collect()
}

fn class_between(before: &ClassTotals, after: &ClassTotals) -> ClassSpan {
    ClassSpan {
        requests: after.requests.saturating_sub(before.requests),
        failed: after.failed.saturating_sub(before.failed),
        bytes: after.bytes.saturating_sub(before.bytes),
        queued: latencies_between(&before.queued, &after.queued),
        issued: latencies_between(&before.issued, &after.issued),
    }
}

/// Latencies of the requests that ended between two readings; only nonempty buckets, as index and count.
fn latencies_between(before: &LatencyTotals, after: &LatencyTotals) -> Latencies {
    let counts = before.buckets.iter().zip(&after.buckets).enumerate();
    let ended =
        counts.map(|(index, (before, after))| [index as u64, after.saturating_sub(*before)]);
    Latencies {
        sum_ns: after.sum_ns.saturating_sub(before.sum_ns),
        buckets: ended.filter(|[_, count]| *count > 0).collect(),
    }
}

impl ClassSpan {
    pub fn add(&mut self, other: &Self) {
        self.requests = self.requests.saturating_add(other.requests);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.queued.add(&other.queued);
        self.issued.add(&other.issued);
    }
}

impl Latencies {
    pub fn len(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, [_, count]| sum.saturating_add(*count))
    }

    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Mean in nanoseconds; `None` if empty.
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.len();
        (count > 0).then(|| self.sum_ns as f64 / count as f64)
    }

    /// Sample standard deviation (n - 1), nanoseconds, as if each latency were the middle of its bucket.
    pub fn sd_ns(&self) -> Option<f64> {
        let count = self.len();
        let mean = self.mean_ns().filter(|_| count > 1)?;
        let squares = self.buckets.iter().map(|[index, many]| {
            let middle = bucket_from_ns(*index).midpoint(bucket_to_ns(*index)) as f64;
            *many as f64 * (middle - mean).powi(2)
        });
        Some((squares.sum::<f64>() / (count - 1) as f64).sqrt())
    }

    /// Quantile `q` (0 < q < 1), nanoseconds, interpolated within its bucket. `None` for too few requests for this `q`.
    pub fn percentile_ns(&self, q: f64) -> Option<f64> {
        let count = self.len();
        if !assay_core::stats::percentile_is_supported(count, q) {
            return None;
        }
        let rank = (q * count as f64).max(1.0);
        let mut below = 0.0;
        for [index, count] in &self.buckets {
            let in_bucket = *count as f64;
            if below + in_bucket >= rank {
                let (from, to) = (bucket_from_ns(*index), bucket_to_ns(*index));
                let width = to.saturating_sub(from) as f64;
                return Some(from as f64 + width * (rank - below) / in_bucket);
            }
            below += in_bucket;
        }
        None
    }

    /// Upper bound of the highest nonempty bucket, nanoseconds.
    pub fn highest_ns(&self) -> Option<u64> {
        self.buckets.last().map(|[index, _]| bucket_to_ns(*index))
    }

    /// Lower bound in nanoseconds and count for each power of two from the lowest to the highest nonempty one.
    pub fn by_doubling(&self) -> Vec<(u64, u64)> {
        let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
        for [index, count] in &self.buckets {
            let sum = counts.entry(bucket_from_ns(*index).max(1).ilog2()).or_default();
            *sum = sum.saturating_add(*count);
        }
        let Some((&lowest, _)) = counts.first_key_value() else { return Vec::new() };
        let highest = counts.last_key_value().map_or(lowest, |(&highest, _)| highest);
        let count_of = |power| counts.get(&power).copied().unwrap_or(0);
        (lowest..=highest).map(|power| (1 << power, count_of(power))).collect()
    }

    /// Adds the requests of another histogram; buckets stay sorted by index.
    fn add(&mut self, other: &Self) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        for [index, count] in &other.buckets {
            match self.buckets.binary_search_by_key(index, |[own, _]| *own) {
                Ok(at) => self.buckets[at][1] = self.buckets[at][1].saturating_add(*count),
                Err(at) => self.buckets.insert(at, [*index, *count]),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use assay_sys::latency_bucket;

    use super::*;

    pub fn latencies_of(all_ns: &[u64]) -> Latencies {
        let mut after = LatencyTotals::default();
        for ns in all_ns {
            after.sum_ns += ns;
            after.buckets[latency_bucket(*ns)] += 1;
        }
        latencies_between(&LatencyTotals::default(), &after)
    }

    #[test]
    fn the_mean_is_exact_and_the_rest_within_a_bucket() {
        let all: Vec<u64> = (1..=2_000).map(|step| step * 1_000).collect();
        let found = latencies_of(&all);
        assert_eq!((found.len(), found.mean_ns()), (2_000, Some(1_000_500.0)));
        let near = |found: f64, known: f64| (found / known - 1.0).abs() < 0.032;
        assert!(near(found.sd_ns().unwrap(), 577_494.6));
        for (q, known) in [(0.5, 1e6), (0.9, 1.8e6), (0.99, 1.98e6)] {
            let found = found.percentile_ns(q).unwrap();
            assert!(near(found, known), "{q}: {found}");
        }
        assert_eq!(found.percentile_ns(0.999), None);
    }

    #[test]
    fn doublings_are_those_of_the_article() {
        let found = latencies_of(&[600, 1_000, 1_025, 5_000, 0]);
        let doublings = found.by_doubling();
        assert_eq!(doublings.first(), Some(&(1, 1)));
        assert_eq!(&doublings[9..], [(512, 2), (1024, 1), (2048, 0), (4096, 1)]);
    }

    #[test]
    fn what_no_version_writes_is_read_without_overflow() {
        let last = LATENCY_BUCKETS as u64 - 1;
        let found = Latencies {
            sum_ns: u64::MAX,
            buckets: vec![[last, u64::MAX], [last + 1, u64::MAX], [u64::MAX, 1]],
        };
        assert_eq!(found.len(), u64::MAX);
        assert_eq!(found.highest_ns(), Some(bucket_to_ns(last)));
        assert_eq!(bucket_from_ns(u64::MAX), bucket_from_ns(last));
        assert_eq!(found.by_doubling(), [(1 << bucket_from_ns(last).ilog2(), u64::MAX)]);
        let median = found.percentile_ns(0.5).unwrap();
        assert!(median > bucket_from_ns(last) as f64 && found.sd_ns().unwrap().is_finite());
    }

    #[test]
    fn a_partition_stands_with_its_disk() {
        for (device, disk) in
            [("sda", "sda"), ("sda12", "sda"), ("nvme0n1p2", "nvme0n1"), ("loop0", "loop0")]
        {
            assert!(is_on(device, disk), "{device}");
        }
        for (device, disk) in [("sdab", "sda"), ("loop01", "loop0"), ("nvme0n12", "nvme0n1")] {
            assert!(!is_on(device, disk), "{device}");
        }
    }

    #[test]
    fn only_what_grew_is_told_and_spans_add_up() {
        let (mut before, mut after) = (DeviceTotals::default(), DeviceTotals::default());
        before[0].requests = 3;
        after[0] = ClassTotals { requests: 5, failed: 1, bytes: 8192, ..ClassTotals::default() };
        after[0].queued.sum_ns = 30;
        after[0].queued.buckets[7] = 2;
        let found = between(&before, &after);
        assert_eq!(found.keys().collect::<Vec<_>>(), ["read"]);
        let mut read = found["read"].clone();
        assert_eq!((read.requests, read.failed, read.bytes), (2, 1, 8192));
        read.add(&found["read"].clone());
        assert_eq!((read.queued.sum_ns, read.queued.buckets.as_slice()), (60, &[[7, 4]][..]));
    }
}
