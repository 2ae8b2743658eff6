//! Counters of every device of a stack, including devices below a loop device's file, although they are not shared.

use std::collections::BTreeMap;

use crate::system::site::Site;
use assay_core::{catalogue::About, presence::Presence};

use super::disk::{self, DeviceEvidence, FourReadings};
use super::look::{Entry, Moment, Presentation, Probe, Scene, not_recorded};

pub static PROBE: Entry = Entry {
    about: About {
        name: "members",
        summary: "traffic and busy time of each device below the target",
        text: "Reads the counters of probe `disk` for devices that only store the backing file of a loop device; \
               `disk` itself reads all other devices, including mirrors and stripes. Provides a table instead of \
               metrics: bytes read and written by each device per byte of the workload, including write-back, and the \
               busy share of the device. Assay prints the table if a target has parallel devices, and in `assay show \
               --full` for every device stack. For a drive shared with other programs, the counters include their \
               bytes. Cost: one small file read per device for each reading. Needs no privileges. Works only with \
               device stacks in sysfs, not with ZFS or remote filesystems.",
    },
    fields: disk::FIELDS,
    rules: &["unwritten", "cached", "device-bytes", "compressed", "slow-member"],
    presentation: Presentation::Tailored,
    here: None,
};

#[derive(Default)]
pub struct Members(FourReadings);

impl Probe for Members {
    type Observed = BTreeMap<String, DeviceEvidence>;
    const MOMENTS: &'static [Moment] = FourReadings::MOMENTS;

    fn look(&mut self, _moment: Moment, scene: &Scene<'_>) {
        self.0.look(scene.system, &below(scene.site));
    }

    fn observed(&mut self, scene: &Scene<'_>) -> Presence<Self::Observed> {
        let evidence = self.0.take();
        if below(scene.site).is_empty() { not_recorded() } else { evidence }
    }
}

/// Devices of the stack outside of the shared ones.
fn below(site: &Site) -> Vec<String> {
    let names = site.layers.iter().map(|layer| &layer.name);
    names.filter(|name| !site.shared.contains(name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use crate::system::DeviceNumber;
    use crate::system::site::Layer;

    use super::*;

    #[test]
    fn what_is_shared_is_not_read_twice() {
        let layer = |name: &str| Layer {
            name: name.to_owned(),
            number: DeviceNumber { major: 7, minor: 0 },
            kind: "loop".to_owned(),
            below: Vec::new(),
            size_bytes: 0,
        };
        let site = Site {
            layers: ["loop0", "loop1", "vda1", "vda"].map(layer).into(),
            shared: vec!["loop0".to_owned(), "loop1".to_owned()],
            ..Site::simulated("a mirror in two files")
        };
        assert_eq!(below(&site), ["vda1", "vda"]);
        assert!(below(&Site::simulated("none")).is_empty());
    }
}
