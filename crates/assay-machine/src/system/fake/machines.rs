//! The recorded machines that the tests of this module share.

use super::Fake;

pub fn machine(name: &str) -> Fake {
    let text = match name {
        "btrfs-two" => include_str!("../../../tests/fixtures/machines/btrfs-two.txt"),
        "container-overlay" => {
            include_str!("../../../tests/fixtures/machines/container-overlay.txt")
        }
        "crypt-lvm-raid" => include_str!("../../../tests/fixtures/machines/crypt-lvm-raid.txt"),
        "emulated" => include_str!("../../../tests/fixtures/machines/emulated.txt"),
        "gocryptfs" => include_str!("../../../tests/fixtures/machines/gocryptfs.txt"),
        "nvme-one-lane" => include_str!("../../../tests/fixtures/machines/nvme-one-lane.txt"),
        "remote-memory" => include_str!("../../../tests/fixtures/machines/remote-memory.txt"),
        "sata-ssd" => include_str!("../../../tests/fixtures/machines/sata-ssd.txt"),
        "sd-card" => include_str!("../../../tests/fixtures/machines/sd-card.txt"),
        "usb-stick" => include_str!("../../../tests/fixtures/machines/usb-stick.txt"),
        "vm-virtio" => include_str!("../../../tests/fixtures/machines/vm-virtio.txt"),
        other => panic!("no recorded machine {other}"),
    };
    Fake::recorded(text).unwrap()
}

/// All machines, each with a target to resolve.
pub const ALL: [(&str, &str); 11] = [
    ("btrfs-two", "/home/me"),
    ("container-overlay", "/inside"),
    ("crypt-lvm-raid", "/srv/data"),
    ("emulated", "/srv"),
    ("gocryptfs", "/home/me/Private files"),
    ("nvme-one-lane", "/srv"),
    ("remote-memory", "/mnt/loop"),
    ("sata-ssd", "/home/me"),
    ("sd-card", "/var/log"),
    ("usb-stick", "/media/me/STICK"),
    ("vm-virtio", "/tmp/bench/mnt"),
];
