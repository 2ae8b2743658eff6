//! Block devices of the kernel's own: how they appear in sysfs and below /dev, and go again.

use std::path::{Path, PathBuf};

use super::tree::Node;
use super::{Fake, FakeState};
use crate::system::{DeviceNumber, devices};

const QUEUE: [(&str, &str); 8] = [
    ("queue/scheduler", "[none] mq-deadline kyber bfq"),
    ("queue/read_ahead_kb", "128"),
    ("queue/nr_requests", "128"),
    ("queue/write_cache", "write back"),
    ("queue/wbt_lat_usec", "75000"),
    ("queue/nomerges", "0"),
    ("queue/max_sectors_kb", "1280"),
    ("queue/rotational", "0"),
];

impl Fake {
    pub fn put_health_log(&self, device: impl Into<PathBuf>, bytes: &[u8]) -> &Self {
        self.lock().tree.health_logs.insert(device.into(), bytes.to_vec());
        self
    }
}

pub(super) fn queue() -> impl Iterator<Item = (&'static str, String)> {
    QUEUE.into_iter().map(|(path, text)| (path, text.to_owned()))
}

pub(super) fn place_of(name: &str) -> PathBuf {
    PathBuf::from(format!("/sys/devices/virtual/block/{name}"))
}

fn links_to(name: &str, number: DeviceNumber) -> [PathBuf; 3] {
    [
        format!("/sys/block/{name}"),
        format!("/sys/class/block/{name}"),
        format!("/sys/dev/block/{number}"),
    ]
    .map(PathBuf::from)
}

impl FakeState {
    pub(super) fn put_texts<'t>(
        &mut self,
        place: &Path,
        texts: impl IntoIterator<Item = (&'t str, String)>,
    ) {
        for (path, text) in texts {
            self.tree.put(&place.join(path), Node::File(vec![format!("{text}\n").into_bytes()]));
        }
    }

    /// Adds a block device with these files below its directory in sysfs, links to the directory, and its device file.
    pub(super) fn show_device<'t>(
        &mut self,
        name: &str,
        number: DeviceNumber,
        texts: impl IntoIterator<Item = (&'t str, String)>,
    ) {
        let place = place_of(name);
        self.sequence += 1;
        self.put_texts(&place, texts);
        let (sequence, read_only) = (self.sequence.to_string(), "0".to_owned());
        let own = [("dev", number.to_string()), ("ro", read_only), ("diskseq", sequence)];
        self.put_texts(&place, own);
        for directory in ["holders", "slaves"] {
            self.tree.put(&place.join(directory), Node::Directory);
        }
        for link in links_to(name, number) {
            self.tree.put(&link, Node::Link(place.clone()));
        }
        self.tree.put(&devices::file_of(name), Node::Block(number));
    }

    pub(super) fn hide_device(&mut self, name: &str, number: DeviceNumber, place: &Path) {
        for path in links_to(name, number) {
            self.tree.remove(&path);
        }
        self.tree.remove(place);
        self.tree.remove(&devices::file_of(name));
        self.contents.remove(&number);
        self.made.remove(&number);
    }
}
