//! Counts requests in order of arrival.

use std::collections::BTreeMap;

use super::pages::Pages;
use super::{MOST_STEPS, OfClass, OfDevice, OverTime, Recorded, Request, floor_power};

/// Maximum number of units per device: 2^26 bits are 8 MiB. Lower for many devices, because each class of each device
/// has its own bitmap and imported files may name any number of devices.
const MOST_UNITS: u64 = 1 << 26;
/// Up to this many devices get the full number of units.
const MANY_DEVICES: u64 = 8;
const SMALLEST_UNIT_BYTES: u64 = 4096;
/// Remembered ends of requests: enough for several streams and out-of-order completion.
const REMEMBERED: usize = 64;
const BIN_NS: u64 = 100_000_000;
/// Maximum number of bins: one week.
const MOST_BINS: usize = 7 * 86_400 * 10;
/// Minimum number of bins for the statistics of bursts.
const FEWEST_BINS: usize = 10;
#[derive(Debug)]
pub struct RequestCounter {
    devices: Vec<DeviceCount>,
    requests: u64,
}

#[derive(Debug)]
struct DeviceCount {
    name: String,
    bytes: u64,
    unit_bytes: u64,
    classes: BTreeMap<&'static str, ClassCount>,
}

#[derive(Debug, Default)]
struct ClassCount {
    counted: OfClass,
    /// One bit per unit.
    touched: Pages<u64>,
    /// Ends of the latest requests, the newest at `newest`.
    ends: Vec<u64>,
    newest: usize,
    bins: Pages<u32>,
    arrivals: OverTime,
    /// Bytes that were touched for the first time.
    fresh: OverTime,
}

impl RequestCounter {
    /// Counts on devices with these names and bytes. The more devices, the coarser their units, to limit memory.
    pub fn new(devices: impl IntoIterator<Item = (String, u64)>) -> Self {
        let devices: Vec<(String, u64)> = devices.into_iter().collect();
        let most_units = MOST_UNITS / (devices.len() as u64).div_ceil(MANY_DEVICES).max(1);
        let mut counter = Self { devices: Vec::new(), requests: 0 };
        for (name, bytes) in devices {
            let least_unit = bytes.div_ceil(most_units.max(1)).next_power_of_two();
            let unit_bytes = least_unit.max(SMALLEST_UNIT_BYTES);
            counter.devices.push(DeviceCount { name, bytes, unit_bytes, classes: BTreeMap::new() });
        }
        counter
    }

    pub fn add(&mut self, request: &Request) {
        let Some(device) = self.devices.get_mut(request.device) else { return };
        self.requests += 1;
        let class = device.classes.entry(request.class).or_default();
        class.add(request, device.bytes, device.unit_bytes);
    }

    /// Returns the summary of a recording of this length.
    pub fn finish(self, span_ns: u64, unrecorded: u64, file_bytes: u64) -> Recorded {
        let mut devices = BTreeMap::new();
        for DeviceCount { name, bytes, unit_bytes, classes } in self.devices {
            let finish = |class: ClassCount| class.finish(unit_bytes, span_ns);
            let classes = classes.into_iter().map(|(name, class)| (name.to_owned(), finish(class)));
            devices.insert(name, OfDevice { bytes, unit_bytes, classes: classes.collect() });
        }
        Recorded { span_ns, requests: self.requests, dropped: unrecorded, file_bytes, devices }
    }
}

impl ClassCount {
    /// Counts a request; ignores the place of one that begins beyond the device.
    fn add(&mut self, request: &Request, device_bytes: u64, unit_bytes: u64) {
        let counted = &mut self.counted;
        counted.requests += 1;
        counted.bytes = counted.bytes.saturating_add(request.bytes);
        counted.failed += u64::from(request.failed);
        counted.sync += u64::from(request.sync);
        counted.meta += u64::from(request.meta);
        counted.read_ahead += u64::from(request.read_ahead);
        *counted.sizes.entry(floor_power(request.bytes)).or_default() += 1;
        if let Some(arrived_ns) = request.arrived_ns {
            let queued_ns = request.ended_ns.saturating_sub(arrived_ns);
            counted.queued_ns = counted.queued_ns.saturating_add(queued_ns);
            self.count_arrival(arrived_ns);
        }
        if let Some(offset) = request.offset_bytes.filter(|offset| *offset < device_bytes) {
            self.count_distance(offset, request.bytes);
            let bytes = request.bytes.min(device_bytes - offset);
            let fresh_units = self.touch_units(offset, bytes, unit_bytes);
            if fresh_units > 0 {
                let at_ns = request.arrived_ns.unwrap_or(request.ended_ns);
                self.fresh.add(at_ns, fresh_units.saturating_mul(unit_bytes));
            }
        }
    }

    /// Adds a request to its bin of 100 ms; ignores arrivals after the last bin.
    fn count_arrival(&mut self, arrived_ns: u64) {
        self.arrivals.add(arrived_ns, 1);
        let bin = usize::try_from(arrived_ns / BIN_NS).unwrap_or(usize::MAX);
        if bin >= MOST_BINS {
            return;
        }
        let count = self.bins.at(bin);
        *count = count.saturating_add(1);
    }

    /// Counts the distance from the end of the previous request, and whether the request continues a recent one.
    fn count_distance(&mut self, offset: u64, bytes: u64) {
        if let Some(last) = self.ends.get(self.newest) {
            *self.counted.distances.entry(floor_power(last.abs_diff(offset))).or_default() += 1;
        }
        let end = offset.saturating_add(bytes);
        // A sequential request replaces the end of its predecessor, so each stream has one entry.
        if let Some(at) = self.ends.iter().position(|known| *known == offset) {
            self.counted.in_order += 1;
            self.ends[at] = end;
            self.newest = at;
        } else if self.ends.len() < REMEMBERED {
            self.newest = self.ends.len();
            self.ends.push(end);
        } else {
            self.newest = (self.newest + 1) % REMEMBERED;
            self.ends[self.newest] = end;
        }
    }

    /// Marks the units of a request, 64 per word; returns how many are new. If the first is not, all bytes are reused.
    fn touch_units(&mut self, offset: u64, bytes: u64, unit_bytes: u64) -> u64 {
        let first = offset / unit_bytes;
        let last = offset.saturating_add(bytes.max(1) - 1) / unit_bytes;
        if *self.touched.at((first / 64) as usize) & (1_u64 << (first % 64)) != 0 {
            self.counted.reused_bytes = self.counted.reused_bytes.saturating_add(bytes);
        }
        let mut fresh = 0;
        for word in first / 64..=last / 64 {
            let low_bit = if word == first / 64 { first % 64 } else { 0 };
            let high_bit = if word == last / 64 { last % 64 } else { 63 };
            let mask = (u64::MAX >> (63 - (high_bit - low_bit))) << low_bit;
            let touched = self.touched.at(word as usize);
            fresh += u64::from((mask & !*touched).count_ones());
            *touched |= mask;
        }
        fresh
    }

    /// Computes what needs all requests of the class.
    fn finish(mut self, unit_bytes: u64, span_ns: u64) -> OfClass {
        let units: u64 = self.touched.all().map(|word| u64::from(word.count_ones())).sum();
        self.counted.touched_bytes = units.saturating_mul(unit_bytes);
        self.counted.most_in_100_ms = self.bins.all().max().map(u64::from).unwrap_or_default();
        let whole_bins = usize::try_from(span_ns / BIN_NS).unwrap_or(usize::MAX).min(MOST_BINS);
        self.counted.dispersion = dispersion(&self.bins, whole_bins);
        // All classes use steps of one length, so one figure can show them.
        let step_ns = span_ns.div_ceil(MOST_STEPS as u64);
        let in_steps = |amounts: OverTime| (amounts.sum() > 0).then(|| amounts.sums_of(step_ns));
        self.counted.arrivals = in_steps(self.arrivals);
        self.counted.first_touch = in_steps(self.fresh);
        self.counted
    }
}

/// Variance over mean of the counts in `whole` bins; missing bins count as empty.
fn dispersion(bins: &Pages<u32>, whole: usize) -> Option<f64> {
    if whole < FEWEST_BINS {
        return None;
    }
    let counts = || bins.all().take(whole).map(f64::from);
    let mean = counts().sum::<f64>() / whole as f64;
    let empty = whole.saturating_sub(bins.len()) as f64;
    // Each missing bin deviates from the mean by the mean.
    let squares = counts().map(|count| (count - mean).powi(2)).sum::<f64>() + empty * mean * mean;
    (mean > 0.0).then(|| squares / (whole - 1) as f64 / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn request(ended_ns: u64, offset: u64, bytes: u64) -> Request {
        Request {
            device: 0,
            class: "read",
            arrived_ns: Some(ended_ns.saturating_sub(50_000)),
            ended_ns,
            offset_bytes: Some(offset),
            bytes,
            sync: false,
            meta: false,
            read_ahead: false,
            failed: false,
        }
    }

    fn counted(requests: impl IntoIterator<Item = Request>, span_ns: u64) -> OfClass {
        let mut counter = RequestCounter::new([("sda".to_owned(), 64 * MIB)]);
        for request in requests {
            counter.add(&request);
        }
        let mut found = counter.finish(span_ns, 0, 0);
        assert_eq!(found.devices["sda"].unit_bytes, 4096);
        found.devices.get_mut("sda").unwrap().classes.remove("read").unwrap()
    }

    #[test]
    fn a_walk_is_in_order_and_touches_everything_once() {
        let walk = (0..256).map(|at| request(1_000_000 * (at + 1), 65_536 * at, 65_536));
        let found = counted(walk, 256_000_000);
        assert_eq!((found.requests, found.bytes, found.in_order), (256, 16 * MIB, 255));
        assert_eq!((found.touched_bytes, found.reused_bytes), (16 * MIB, 0));
        assert_eq!(found.distances, BTreeMap::from([(0, 255)]));
        assert_eq!(found.sizes, BTreeMap::from([(65_536, 256)]));
        assert_eq!((found.median_size(), found.dispersion), (Some(65_536), None));
        assert!((found.mean_in_flight(256_000_000) - 0.05).abs() < 1e-12);
    }

    #[test]
    fn arrivals_and_what_is_touched_first_are_kept_over_the_time() {
        let walk = (0..256).map(|at| request(1_000_000 * (at + 1), 65_536 * (at % 128), 65_536));
        let found = counted(walk, 256_000_000);
        let (arrivals, fresh) = (found.arrivals.unwrap(), found.first_touch.unwrap());
        assert_eq!((arrivals.step_ns, fresh.step_ns), (4_000_000, 4_000_000));
        assert_eq!((arrivals.sum(), fresh.sum()), (256, 8 * MIB));
        // The second half touches only known units.
        assert!(arrivals.amounts.len() == 64 && fresh.amounts.len() <= 33, "{fresh:?}");
        let unseen = counted([Request { arrived_ns: None, ..request(9, 0, 4096) }], 1_000_000);
        assert_eq!(unseen.arrivals, None);
    }

    #[test]
    fn two_streams_that_take_turns_are_in_order_each() {
        let turns = (0..100_u64).map(|at| {
            let (stream, step) = (at % 2, at / 2);
            request(1_000_000 * (at + 1), stream * 32 * MIB + step * 4096, 4096)
        });
        let found = counted(turns, 1_000_000_000);
        assert_eq!(found.in_order, 98);
        assert_eq!(found.distances.keys().copied().max(), Some(32 * MIB));
    }

    #[test]
    fn what_is_read_again_is_touched_once() {
        let again = (0..10).map(|at| request(1_000_000 * (at + 1), 4096 * (at % 2) * 100, 4096));
        let found = counted(again, 1_000_000_000);
        assert_eq!((found.touched_bytes, found.reused_bytes, found.in_order), (8192, 8 * 4096, 0));
    }

    #[test]
    fn bursts_are_told_from_what_comes_evenly() {
        let evenly = (0..1000).map(|at| request(10_000_000 * (at + 1), 4096 * at, 4096));
        let even = counted(evenly, 10_000_000_000);
        let in_bursts = (0..1000).map(|at| request(1_000_000_000 * (at / 100) + 100_000, 0, 4096));
        let bursts = counted(in_bursts, 10_000_000_000);
        assert!(even.dispersion.unwrap() < 0.1, "{:?}", even.dispersion);
        assert!((bursts.dispersion.unwrap() - 90.9).abs() < 0.1, "{:?}", bursts.dispersion);
        assert_eq!((even.most_in_100_ms, bursts.most_in_100_ms), (10, 100));
    }

    /// Rare requests use memory per request, and the time between counts as empty.
    #[test]
    fn bins_that_have_nothing_take_no_room_and_count() {
        let hour_ns = 3_600_000_000_000;
        let mut class = ClassCount::default();
        for hour in 0..20 {
            class.count_arrival(hour * hour_ns);
        }
        class.count_arrival(u64::MAX);
        assert_eq!(class.bins.all().filter(|count| *count > 0).count(), 20);
        // Twenty bins of one, and zero in all others: the variance of rare events is their mean.
        let found = dispersion(&class.bins, 20 * 36_000).unwrap();
        assert!((found - 1.0).abs() < 1e-3, "{found}");
        assert_eq!(dispersion(&class.bins, 9), None);
    }

    #[test]
    fn many_devices_have_larger_units_and_few_the_smallest() {
        let unit_bytes = |count: usize| {
            let devices = (0..count).map(|at| (at.to_string(), 256 << 30));
            RequestCounter::new(devices).devices[0].unit_bytes
        };
        assert_eq!((unit_bytes(1), unit_bytes(8)), (4096, 4096));
        assert_eq!((unit_bytes(9), unit_bytes(64)), (8192, 32_768));
    }

    #[test]
    fn what_lies_outside_of_the_device_or_nowhere_has_no_place() {
        let outside =
            [request(1, 64 * MIB, 4096), Request { offset_bytes: None, ..request(2, 0, 0) }];
        let found = counted(outside, 1_000_000_000);
        assert_eq!((found.requests, found.touched_bytes), (2, 0));
        assert!(found.distances.is_empty());
        let mut counter = RequestCounter::new([]);
        counter.add(&request(1, 0, 1));
        assert_eq!(counter.finish(1, 0, 0), Recorded { span_ns: 1, ..Recorded::default() });
    }

    #[test]
    fn of_a_large_device_units_are_larger_and_the_end_of_it_has_one() {
        let mut counter = RequestCounter::new([("nvme0n1".to_owned(), 16 << 40)]);
        counter.add(&request(1, (16 << 40) - 4096, 1 << 30));
        let found = counter.finish(1, 3, 9);
        let device = &found.devices["nvme0n1"];
        assert_eq!(device.unit_bytes, 1 << 18);
        assert_eq!(device.classes["read"].touched_bytes, 1 << 18);
        assert!((found.missing() - 0.75).abs() < 1e-12);
        assert_eq!(Recorded::default().missing(), 0.0);
    }
}
