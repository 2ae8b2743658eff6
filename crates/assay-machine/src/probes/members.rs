//! Counters of every device of a stack: what lies below a loop device's file is not shared, but
//! told all the same.

use std::collections::BTreeMap;

use assay_base::catalogue::About;
use assay_base::presence::Presence;
use assay_system::system::site::Site;

use super::disk::{self, DeviceEvidence, Four};
use super::look::{Entry, Moment, Presentation, Probe, Scene, not_recorded};

pub static PROBE: Entry = Entry {
    about: About {
        name: "members",
        summary: "traffic and busy time of each device below the target",
        text: "Reads the same counters as `disk` for devices that only carry a loop device's file; `disk` already \
               reads all others, mirrors and stripes included. Gives no metric but a table: bytes that each device \
               read and wrote per byte of the workload until the device has everything, and its busy share of the \
               run. Assay shows the table if a target has several parallel devices, and in `assay show --full` for \
               every device stack. A drive that carries more than the target also counts other programs' bytes. \
               Costs one small file per device and reading. Needs no privileges, and a stack in sysfs: ZFS and \
               remote filesystems have none.",
    },
    fields: disk::FIELDS,
    rules: &["unwritten", "cached", "device-bytes", "compressed", "slow-member"],
    presentation: Presentation::Tailored,
    here: None,
};

/// The devices that are not shared.
#[derive(Default)]
pub struct Members(Four);

impl Probe for Members {
    type Observed = BTreeMap<String, DeviceEvidence>;
    const MOMENTS: &'static [Moment] = Four::MOMENTS;

    fn look(&mut self, _moment: Moment, scene: &Scene<'_>) {
        self.0.look(scene.system, &below(scene.site));
    }

    fn observed(&mut self, scene: &Scene<'_>) -> Presence<Self::Observed> {
        let told = self.0.take();
        if below(scene.site).is_empty() { not_recorded() } else { told }
    }
}

/// Devices of the stack that are not among the shared ones.
fn below(site: &Site) -> Vec<String> {
    let names = site.layers.iter().map(|layer| &layer.name);
    names.filter(|name| !site.shared.contains(name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use assay_system::system::DeviceNumber;
    use assay_system::system::site::Layer;

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
