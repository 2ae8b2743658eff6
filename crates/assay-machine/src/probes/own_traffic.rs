//! Bytes that this process moved through block devices (`/proc/self/io`).

use crate::system::System;
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Moment, Pair, Presentation, Unit, field};
use super::parsed_file;

pub static PROBE: Entry = Entry {
    about: About {
        name: "process-io",
        summary: "block device traffic of Assay itself",
        text: "Reads read_bytes and write_bytes from /proc/self/io just before and after the run. Provides no metrics. \
               Rule `foreign-io` subtracts these bytes from the bytes of the devices and attributes the rest to other \
               programs. Cost: one small file read before and after the run. Needs no privileges, but a kernel with \
               per-process I/O accounting.",
    },
    fields: &[
        field("read_bytes", Unit::Bytes, "bytes read by this process"),
        field("write_bytes", Unit::Bytes, "bytes written or dirtied by this process"),
    ],
    rules: &["foreign-io"],
    presentation: Presentation::Tailored,
    here: None,
};

/// Bytes that this process moved through block devices, as the kernel accounts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnTraffic {
    pub read_bytes: u64,
    pub write_bytes: u64,
}

pub struct OwnTrafficProbe;

impl Pair for OwnTrafficProbe {
    type Reading = Presence<OwnTraffic>;
    type Observed = OwnTraffic;
    const MOMENTS: [Moment; 2] = [Moment::BeforeRun, Moment::AfterRun];
    const GIVES_REASON: bool = true;

    fn read(system: &dyn System) -> Presence<OwnTraffic> {
        read(system)
    }

    fn between(early: &Presence<OwnTraffic>, late: &Presence<OwnTraffic>) -> Presence<OwnTraffic> {
        early.both(late, |early, late| OwnTraffic {
            read_bytes: late.read_bytes.saturating_sub(early.read_bytes),
            write_bytes: late.write_bytes.saturating_sub(early.write_bytes),
        })
    }
}

/// Bytes since the process started.
pub fn read(system: &dyn System) -> Presence<OwnTraffic> {
    parsed_file(system, "/proc/self/io", parse)
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
