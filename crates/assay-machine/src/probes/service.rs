//! Service times of array members, and members much slower than the others. Derived from kernel counters: nothing runs
//! within the measured time.
//!
//! A member with more or larger requests takes longer without being slow. So a member is slow only if it did no more
//! work than the others and is behind per request and per byte. Stripes and mirrors write to all members alike; reads
//! of a mirror may be pinned to one member, which then has a longer queue: for reads its busy time must be longer as
//! well.

use crate::system::devices::Counters;
use assay_core::quantity::units::show;
use serde::Serialize;

use super::block_latency::counts::ClassSpan;
use super::disk::DeviceEvidence;

/// Minimum number of requests per class and member for a meaningful mean.
pub const FEWEST_REQUESTS: u64 = 32;
/// A slow member takes this many times the median of the others.
pub const SLOW_TIMES: f64 = 2.0;
/// Tolerated excess of work over the median of the others, as a factor: the effect of metadata.
const NO_MORE_WORK: f64 = 1.25;
const READ: &str = "read";
const WRITE: &str = "write";
/// Resolution of the kernel's sums: each of two readings lost up to 1 ms.
const STEP_NS: f64 = 1e6;

/// Completed requests of one class on a member.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Served {
    pub requests: u64,
    pub bytes: u64,
    pub sum_ns: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    pub device: String,
    pub reads: Served,
    pub writes: Served,
    pub busy_ns: f64,
}

/// The member with the longest service time in a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slowest {
    pub device: String,
    /// `read` or `write`.
    pub class: &'static str,
    pub mean_ns: f64,
    pub others_ns: f64,
    pub ratio: f64,
    /// Whether it is slow, or only the slowest of similar ones.
    pub is_slow: bool,
}

impl Work {
    /// The requests that a device's counters count, with their total and busy times.
    pub fn of_counters(device: &str, counted: &Counters) -> Self {
        let ms = |ms: u64| ms as f64 * 1e6;
        let served = |requests, bytes, took| Served { requests, bytes, sum_ns: ms(took) };
        let reads = served(counted.reads_completed, counted.read_bytes, counted.read_ms);
        let writes = served(counted.writes_completed, counted.written_bytes, counted.write_ms);
        // Busy time counts in kernel ticks: short rare requests look longer, but at most their sum.
        let busy_ns = ms(counted.io_ticks_ms.min(counted.weighted_ms));
        Self { device: device.to_owned(), reads, writes, busy_ns }
    }

    /// From the counters around a trial; `None` if an older version did not store the times.
    pub fn of_evidence(device: &str, seen: &DeviceEvidence) -> Option<Self> {
        let mut counted = Counters::default();
        for span in [&seen.run, &seen.settle] {
            counted.reads_completed += span.reads;
            counted.read_bytes += span.read_bytes;
            counted.read_ms += span.read_ms?;
            counted.writes_completed += span.writes;
            counted.written_bytes += span.write_bytes;
            counted.write_ms += span.write_ms?;
            counted.io_ticks_ms += span.busy_ms;
            counted.weighted_ms += span.weighted_ms;
        }
        Some(Self::of_counters(device, &counted))
    }

    /// Replaces requests and times by traced ones, if there are any: traced times of the driver exclude queueing.
    #[must_use]
    pub fn with_traced(self, read: Option<&ClassSpan>, write: Option<&ClassSpan>) -> Self {
        let traced = |own: Served, class: Option<&ClassSpan>| match class {
            Some(class) if !class.issued.is_empty() => Served {
                requests: class.requests,
                bytes: class.bytes,
                sum_ns: class.issued.sum_ns as f64,
            },
            _ => own,
        };
        Self { reads: traced(self.reads, read), writes: traced(self.writes, write), ..self }
    }

    pub const fn requests(&self) -> u64 {
        self.reads.requests.saturating_add(self.writes.requests)
    }

    fn busy_per_request_ns(&self) -> f64 {
        self.busy_ns / self.requests().max(1) as f64
    }
}

impl Served {
    fn mean_ns(&self) -> f64 {
        self.sum_ns / self.requests.max(1) as f64
    }

    fn ns_per_byte(&self) -> f64 {
        self.sum_ns / self.bytes.max(1) as f64
    }

    /// The same with a changed sum.
    fn plus_ns(self, ns: f64) -> Self {
        Self { sum_ns: (self.sum_ns + ns).max(0.0), ..self }
    }
}

impl Slowest {
    /// `sdc, 38 ms a read, 4.1 times the median of the others`.
    pub fn words(&self) -> String {
        format!(
            "{}, {} per {}, {} times the median of the others",
            self.device,
            show::duration(self.mean_ns),
            self.class,
            show::three_digits(self.ratio)
        )
    }
}

/// The member with the longest service time: the slow one if there is one, otherwise that of the class, reads or
/// writes, with more service time. `None` if less than two members did enough work.
pub fn slowest(members: &[Work]) -> Option<Slowest> {
    let read = slowest_of(members, READ, |work| work.reads);
    let write = slowest_of(members, WRITE, |work| work.writes);
    let sum = |pick: fn(&Work) -> Served| members.iter().map(|work| pick(work).sum_ns).sum::<f64>();
    let mostly_reads = sum(|work| work.reads) >= sum(|work| work.writes);
    let (first, second) = if mostly_reads { (read, write) } else { (write, read) };
    match (first, second) {
        (Some(first), Some(second)) if second.is_slow && !first.is_slow => Some(second),
        (first, second) => first.or(second),
    }
}

/// Compares the member with the longest mean service time of a class (which `pick` selects) with the median of the
/// others; `None` without others.
fn slowest_of(members: &[Work], class: &'static str, pick: fn(&Work) -> Served) -> Option<Slowest> {
    let has_enough = |work: &&Work| pick(work).requests >= FEWEST_REQUESTS;
    let judged: Vec<&Work> = members.iter().filter(has_enough).collect();
    let mean_of = |work: &Work| pick(work).mean_ns();
    let slowest = *judged.iter().max_by(|one, other| mean_of(one).total_cmp(&mean_of(other)))?;
    let others =
        OtherMembers(judged.into_iter().filter(|work| work.device != slowest.device).collect());
    let others_ns = others.median(mean_of)?;
    let is_slow = is_slow(slowest, &others, class, pick)?;
    let mean_ns = mean_of(slowest);
    // The kernel reports a total below 1 ms as 0, which has no meaningful ratio.
    let ratio = if others_ns > 0.0 { mean_ns / others_ns } else { 1.0 };
    Some(Slowest { device: slowest.device.clone(), class, mean_ns, others_ns, ratio, is_slow })
}

/// Returns whether a member did no more work than the median of the others and still took [`SLOW_TIMES`] as long, per
/// request and per byte, even if the kernel's sums are wrong by their resolution. `None` without others.
fn is_slow(
    slowest: &Work,
    others: &OtherMembers<'_>,
    class: &str,
    pick: fn(&Work) -> Served,
) -> Option<bool> {
    let own = pick(slowest);
    // The kernel's sums may be too long for this member, and too short for the others.
    let at_least = own.plus_ns(-STEP_NS);
    let at_most = |other: &Work| pick(other).plus_ns(STEP_NS);
    let no_more = |own: u64, others: f64| own as f64 <= NO_MORE_WORK * others;
    let did_no_more = no_more(own.requests, others.median(|work| pick(work).requests as f64)?)
        && no_more(own.bytes, others.median(|work| pick(work).bytes as f64)?)
        && no_more(slowest.requests(), others.median(|work| work.requests() as f64)?);
    let is_behind = |own: f64, others: f64| own > 0.0 && own >= SLOW_TIMES * others;
    // Reads of a mirror may be pinned to one member, whose queue is then longer.
    let busy_longer = class == WRITE
        || is_behind(slowest.busy_per_request_ns(), others.median(Work::busy_per_request_ns)?);
    Some(
        did_no_more
            && busy_longer
            && is_behind(at_least.mean_ns(), others.median(|other| at_most(other).mean_ns())?)
            && is_behind(
                at_least.ns_per_byte(),
                others.median(|other| at_most(other).ns_per_byte())?,
            ),
    )
}

struct OtherMembers<'a>(Vec<&'a Work>);

impl OtherMembers<'_> {
    /// Median of a value over the members; `None` without members.
    fn median(&self, value: impl Fn(&Work) -> f64) -> Option<f64> {
        let mut values: Vec<f64> = self.0.iter().map(|work| value(work)).collect();
        values.sort_unstable_by(f64::total_cmp);
        let middle = values.len() / 2;
        let upper = values.get(middle)?;
        let is_even = values.len().is_multiple_of(2);
        Some(if is_even { f64::midpoint(values[middle - 1], *upper) } else { *upper })
    }
}

#[cfg(test)]
mod tests;
