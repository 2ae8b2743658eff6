//! Bytes that this process moved through block devices (`/proc/self/io`).

use std::path::Path;

use super::Probe;
use crate::catalogue::About;
use crate::results::record::OwnTraffic;
use crate::seen::Seen;
use crate::system::System;

/// What it says of itself.
pub static PROBE: Probe = Probe {
    about: About {
        name: "own-traffic",
        summary: "bytes that the tool itself moved through block devices",
        text: "Reads read_bytes and write_bytes of /proc/self/io right before and after the run. \
               Gives no metric: the rule `foreign` takes them from the bytes of the devices, and \
               what remains was moved by others. Costs one small file before and after. Needs \
               no rights, and a kernel that accounts the traffic of processes.",
    },
    metrics: &[],
};

/// Bytes since the process started.
pub fn read(system: &dyn System) -> Seen<OwnTraffic> {
    match system.read_text(Path::new("/proc/self/io")) {
        Ok(text) => Seen::from_option(parse(&text), "/proc/self/io does not have the known form"),
        Err(error) => Seen::absent(format!("/proc/self/io cannot be read: {error}")),
    }
}

/// Bytes between two readings.
pub fn between(before: &Seen<OwnTraffic>, after: &Seen<OwnTraffic>) -> Seen<OwnTraffic> {
    before.both(after, |before, after| OwnTraffic {
        read_bytes: after.read_bytes.saturating_sub(before.read_bytes),
        write_bytes: after.write_bytes.saturating_sub(before.write_bytes),
    })
}

fn parse(text: &str) -> Option<OwnTraffic> {
    let field = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")?.parse().ok())
    };
    Some(OwnTraffic { read_bytes: field("read_bytes")?, write_bytes: field("write_bytes")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_two_fields_that_touch_devices() {
        let text =
            "rchar: 9\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n";
        assert_eq!(parse(text), Some(OwnTraffic { read_bytes: 4096, write_bytes: 8192 }));
        assert_eq!(parse("rchar: 9\n"), None);
    }
}
