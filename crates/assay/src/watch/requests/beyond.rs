//! Requests missing from a recording: found by the kernel's counters, because a BPF program does not know what it
//! missed.
//!
//! The kernel counts a request's bytes after its completion event. Bytes counted between two readings but not recorded
//! by a later time are therefore missing, or a lower bound of these. Excludes devices without requests (zram, device
//! mapper), which count bios at submission.

use assay_core::presence::Presence;
use assay_machine::system::devices::{self, Counters};
use assay_machine::system::{BlockClass, ClassTotals, DeviceTotals, System, sysfs};

use super::super::sampler::Disk;

/// Counters of the devices before the recording, in their order; `None` for devices without requests.
pub struct Before(Vec<Option<(String, Counters)>>);

impl Before {
    pub fn read(system: &dyn System, disks: &[Disk]) -> Self {
        let counted = |disk: &Disk| {
            let makes_requests = system.status(&sysfs::block(&disk.name).join("mq")).is_ok();
            let counters = devices::counters(system, &disk.name);
            counters.value().filter(|_| makes_requests).map(|known| (disk.name.clone(), *known))
        };
        Self(disks.iter().map(counted).collect())
    }

    /// Returns the increase since then; `None` for devices that are gone.
    pub fn gained(&self, system: &dyn System) -> Gained {
        let increase = |known: &Option<(String, Counters)>| {
            let (name, before) = known.as_ref()?;
            match devices::counters(system, name) {
                Presence::Present(now) => Some(now.sub(before)),
                Presence::Absent(_) => None,
            }
        };
        Gained(self.0.iter().map(increase).collect())
    }
}

pub struct Gained(Vec<Option<Counters>>);

impl Gained {
    /// Returns the number of missing requests: from the missing bytes and the mean size of recorded requests of the
    /// same kind, at least one if bytes are missing.
    pub fn missing_requests(&self, recorded: &[DeviceTotals]) -> u64 {
        let pairs = self.0.iter().zip(recorded);
        pairs.filter_map(|(gained, recorded)| Some(of_device(gained.as_ref()?, recorded))).sum()
    }
}

/// The kernel counts write-zeroes requests as writes.
fn of_device(gained: &Counters, recorded: &DeviceTotals) -> u64 {
    use BlockClass::{Discard, Fua, Read, Write, WriteZeroes};
    let groups: [(u64, &[BlockClass]); 3] = [
        (gained.read_bytes, &[Read]),
        (gained.written_bytes, &[Write, Fua, WriteZeroes]),
        (gained.discarded_bytes, &[Discard]),
    ];
    groups.into_iter().map(|(bytes, classes)| of_group(bytes, classes, recorded)).sum()
}

fn of_group(gained_bytes: u64, classes: &[BlockClass], recorded: &DeviceTotals) -> u64 {
    let of_classes = || {
        let pairs = BlockClass::ALL.iter().zip(recorded);
        pairs.filter(|(class, _)| classes.contains(class)).map(|(_, totals)| totals)
    };
    let sum = |number: fn(&ClassTotals) -> u64| of_classes().map(number).sum::<u64>();
    let missing = gained_bytes.saturating_sub(sum(|totals| totals.bytes));
    let mean_bytes = sum(|totals| totals.bytes).checked_div(sum(|totals| totals.requests));
    missing.div_ceil(mean_bytes.filter(|bytes| *bytes > 0).unwrap_or(missing.max(1)))
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

    fn gained(read_bytes: u64, written_bytes: u64, discarded_bytes: u64) -> Gained {
        let counters =
            Counters { read_bytes, written_bytes, discarded_bytes, ..Counters::default() };
        Gained(vec![Some(counters)])
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
        assert_eq!(Gained(vec![None]).missing_requests(&[told(&[])]), 0);
        assert_eq!(gained(4096, 0, 0).missing_requests(&[]), 0);
    }
}
