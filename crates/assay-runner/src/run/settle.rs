//! Waits until the devices are idle.

use std::time::Duration;

use assay_core::presence::Presence;
use assay_machine::probes::disk;
use assay_machine::system::System;

const LOOK: Duration = Duration::from_millis(250);
/// Bytes in that time that count as idle: a journal's own heartbeat.
const IDLE_BYTES: u64 = 64 << 10;

/// Waits until hardly anything moves through the devices, at most `limit_ns`. Where their counters
/// cannot be read, it does not wait.
pub fn settle(system: &dyn System, devices: &[String], limit_ns: u64) {
    let began_ns = system.monotonic_ns();
    let mut before = disk::read(system, devices);
    while system.monotonic_ns() - began_ns < limit_ns {
        system.sleep(LOOK);
        let after = disk::read(system, devices);
        let moved = disk::between(&before, &after).map(|all| {
            all.values().map(|one| one.read_bytes + one.write_bytes + one.discard_bytes).sum()
        });
        match moved {
            Presence::Present(bytes) if bytes > IDLE_BYTES => before = after,
            Presence::Present::<u64>(_) | Presence::Absent(_) => return,
        }
    }
}
