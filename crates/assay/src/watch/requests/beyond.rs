//! Requests missing from a recording: found by the kernel's counters, because a BPF program does not know what it
//! missed.
//!
//! The kernel counts a request's bytes after its completion event. Bytes counted between two readings but not recorded
//! by a later time are therefore missing, or a lower bound of these. Excludes devices without requests (zram, device
//! mapper), which count bios at submission.

use assay_machine::system::devices::{self, Counters};
use assay_machine::system::{BlockClass, DeviceTotals, System, sysfs};

use super::super::sampler::Disk;

/// Counters of the devices before the recording, in their order; `None` for devices without requests.
pub struct CountersBefore(Vec<Option<(String, Counters)>>);

impl CountersBefore {
    pub fn read(system: &dyn System, disks: &[Disk]) -> Self {
        let counters_of = |disk: &Disk| {
            // Only devices with requests have hardware queues.
            system.status(&sysfs::block(&disk.name).join("mq")).ok()?;
            Some((disk.name.clone(), *devices::counters(system, &disk.name).value()?))
        };
        Self(disks.iter().map(counters_of).collect())
    }

    /// Returns the increase since then.
    pub fn increase(&self, system: &dyn System) -> Increase {
        let increase_of = |before: &Option<(String, Counters)>| {
            let (name, before) = before.as_ref()?;
            Some(devices::counters(system, name).value()?.sub(before))
        };
        Increase(self.0.iter().map(increase_of).collect())
    }
}

/// Increase of the counters of each device; `None` for devices without requests or that are gone.
pub struct Increase(Vec<Option<Counters>>);

impl Increase {
    /// Returns the number of missing requests: from the missing bytes and the mean size of recorded requests of the
    /// same kind, at least one if bytes are missing.
    pub fn missing_requests(&self, recorded: &[DeviceTotals]) -> u64 {
        let devices = self.0.iter().zip(recorded);
        devices
            .filter_map(|(counted, recorded)| Some(missing_of(counted.as_ref()?, recorded)))
            .sum()
    }
}

fn missing_of(counted: &Counters, recorded: &DeviceTotals) -> u64 {
    use BlockClass::{Discard, Fua, Read, Write, WriteZeroes};
    missing_of_classes(counted.read_bytes, &[Read], recorded)
        // The kernel counts write-zeroes requests as writes.
        + missing_of_classes(counted.written_bytes, &[Write, Fua, WriteZeroes], recorded)
        + missing_of_classes(counted.discarded_bytes, &[Discard], recorded)
}

fn missing_of_classes(counted_bytes: u64, classes: &[BlockClass], recorded: &DeviceTotals) -> u64 {
    let (mut recorded_bytes, mut recorded_requests) = (0, 0);
    for (class, totals) in BlockClass::ALL.iter().zip(recorded) {
        if classes.contains(class) {
            recorded_bytes += totals.bytes;
            recorded_requests += totals.requests;
        }
    }
    let missing_bytes = counted_bytes.saturating_sub(recorded_bytes);
    match recorded_bytes.checked_div(recorded_requests) {
        Some(mean_bytes) if mean_bytes > 0 => missing_bytes.div_ceil(mean_bytes),
        // Without a mean, missing bytes count as one request.
        _ => missing_bytes.min(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(classes: &[(BlockClass, u64, u64)]) -> DeviceTotals {
        let mut all = DeviceTotals::default();
        for (class, requests, bytes) in classes {
            let at = BlockClass::ALL.iter().position(|one| one == class).unwrap();
            (all[at].requests, all[at].bytes) = (*requests, *bytes);
        }
        all
    }

    fn gained(read_bytes: u64, written_bytes: u64, discarded_bytes: u64) -> Increase {
        let counters =
            Counters { read_bytes, written_bytes, discarded_bytes, ..Counters::default() };
        Increase(vec![Some(counters)])
    }

    #[test]
    fn missing_bytes_are_so_many_requests_of_their_kind() {
        let all = [told(&[
            (BlockClass::Read, 100, 409_600),
            (BlockClass::Write, 10, 40_960),
            (BlockClass::Fua, 1, 4096),
            (BlockClass::WriteZeroes, 1, 8192),
            (BlockClass::Discard, 2, 131_072),
        ])];
        let whole = gained(409_600, 53_248, 131_072);
        assert_eq!(whole.missing_requests(&all), 0);
        assert_eq!(gained(409_600 + 3 * 4096, 53_248, 131_072).missing_requests(&all), 3);
        assert_eq!(gained(409_600 + 512, 53_248 + 512, 131_072 + 512).missing_requests(&all), 3);
        // Requests that are recorded but not yet counted are not missing.
        assert_eq!(gained(0, 0, 0).missing_requests(&all), 0);
    }

    #[test]
    fn of_a_kind_that_nobody_told_at_least_one_is_missing() {
        assert_eq!(gained(1 << 20, 0, 0).missing_requests(&[told(&[])]), 1);
        assert_eq!(gained(0, 0, 0).missing_requests(&[told(&[])]), 0);
        // Bytes of a partially completed request.
        assert_eq!(gained(8192, 0, 0).missing_requests(&[told(&[(BlockClass::Read, 0, 4096)])]), 1);
    }

    #[test]
    fn a_device_without_requests_or_that_is_gone_says_nothing() {
        assert_eq!(Increase(vec![None]).missing_requests(&[told(&[])]), 0);
        assert_eq!(gained(4096, 0, 0).missing_requests(&[]), 0);
    }
}
