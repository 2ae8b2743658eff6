//! Hardware of this machine: graphics devices, drives with their health, arrays. Reads sysfs, drives' commands and
//! smartctl.

use serde::Serialize;

use assay_core::presence::Presence;
use assay_core::quantity::units::{self, show};
use assay_machine::probes::drive_health::{self, Health};
use assay_machine::system::System;
use assay_machine::system::devices::{self, Array};
use assay_machine::system::graphics::{self, Graphics};
use assay_machine::system::site::{Drive, MemoryCard};

/// Buses of virtual devices.
const MADE: [&str; 8] = ["loop", "zram", "device-mapper", "md", "bcache", "nbd", "null", "ram"];

#[derive(Debug, Serialize)]
pub struct DriveReport {
    #[serde(flatten)]
    pub drive: Drive,
    pub health: Presence<Health>,
}

#[derive(Debug, Serialize)]
pub struct Inventory {
    graphics: Vec<Graphics>,
    drives: Vec<DriveReport>,
    arrays: Vec<Array>,
}

pub fn drives(system: &dyn System) -> Vec<DriveReport> {
    let report = |drive: Drive| DriveReport { health: drive_health::ask(system, &drive), drive };
    devices::drives(system).into_iter().map(report).collect()
}

impl DriveReport {
    fn is_made(&self) -> bool {
        self.drive.bus.value().is_some_and(|bus| MADE.contains(&bus.as_str()))
    }
}

impl Inventory {
    pub fn new(system: &dyn System) -> Self {
        let mut drives = drives(system);
        drives.retain(|drive| !drive.is_made());
        Self { graphics: graphics::devices(system), drives, arrays: devices::arrays(system) }
    }

    pub fn rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        rows.extend(self.graphics.iter().map(|it| row("graphics", &it.slot, graphics_words(it))));
        if self.graphics.is_empty() {
            rows.push(row("graphics", "-", "no graphics device found".to_owned()));
        }
        rows.extend(self.drives.iter().map(|it| row("drive", &it.drive.name, drive_words(it))));
        if self.drives.is_empty() {
            rows.push(row("drive", "-", "no drive found".to_owned()));
        }
        rows.extend(self.arrays.iter().map(|it| row("array", &it.name, it.words())));
        rows
    }
}

fn row(kind: &str, name: &str, words: String) -> Vec<String> {
    vec![format!("{kind} {name}"), words]
}

fn graphics_words(device: &Graphics) -> String {
    let mut parts = vec![device.label()];
    parts.extend(device.name.reason().map(|reason| format!("name unknown: {reason}")));
    parts.push(match &device.driver {
        Presence::Present(driver) => format!("driver {driver}"),
        Presence::Absent(reason) => reason.clone(),
    });
    let memory = device.memory_bytes.value();
    parts.extend(memory.map(|bytes| format!("{} of memory", show::bytes(*bytes))));
    parts.extend(device.link.value().map(|link| link.name.clone()));
    let outputs = device.outputs.value().filter(|outputs| !outputs.is_empty());
    parts.extend(outputs.map(|outputs| format!("connected: {}", outputs.join(", "))));
    parts.join("; ")
}

fn drive_words(report: &DriveReport) -> String {
    let drive = &report.drive;
    let mut parts = vec![match &drive.model {
        Presence::Present(model) => model.clone(),
        Presence::Absent(reason) => reason.clone(),
    }];
    parts.push(units::size(drive.size_bytes));
    parts.extend(drive.firmware.value().map(|firmware| format!("firmware {firmware}")));
    parts.push(match &drive.link {
        Presence::Present(link) => link.name.clone(),
        Presence::Absent(reason) => format!("link unknown: {reason}"),
    });
    parts.extend(drive.usb_version.value().map(|version| format!("USB version {version}")));
    parts.extend(rotation_words(drive));
    parts.extend(drive.card.value().map(card_words));
    parts.push(match &report.health {
        Presence::Present(health) => format!("health: {}", health.words()),
        Presence::Absent(reason) => format!("health unknown: {reason}"),
    });
    parts.join("; ")
}

/// Returns the speed of rotating drives; `None` for others.
fn rotation_words(drive: &Drive) -> Option<String> {
    match (&drive.rpm, drive.rotational.value()) {
        (Presence::Present(turns), _) => Some(format!("{} rpm", show::count(*turns))),
        // Guests report virtual disks as rotating by default.
        (Presence::Absent(reason), Some(true)) if !is_virtual(drive) => {
            Some(format!("rotation unknown: {reason}"))
        }
        _ => None,
    }
}

fn is_virtual(drive: &Drive) -> bool {
    drive.bus.value().is_some_and(|bus| ["virtio", "xen"].contains(&bus.as_str()))
}

fn card_words(card: &MemoryCard) -> String {
    let named = [
        ("", &card.kind),
        ("maker ", &card.maker_id),
        ("oem ", &card.oem_id),
        ("made ", &card.made),
    ];
    let parts = named.iter().filter_map(|(name, seen)| Some(format!("{name}{}", seen.value()?)));
    parts.collect::<Vec<_>>().join(", ")
}

pub fn turns_cell(drive: &Drive) -> String {
    drive.rpm.value().map_or_else(|| "-".to_owned(), |turns| format!("{turns}/min"))
}

pub fn health_cell(report: &DriveReport) -> String {
    report.health.value().map_or_else(|| "-".to_owned(), Health::brief)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_machine::system::Fake;

    fn machine(name: &str) -> Fake {
        let path = format!(
            "{}/../assay-machine/tests/fixtures/machines/{name}.txt",
            env!("CARGO_MANIFEST_DIR")
        );
        #[allow(clippy::disallowed_methods, reason = "the fixture of a test")]
        Fake::recorded(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    fn words(fake: &Fake) -> Vec<String> {
        Inventory::new(fake).rows().into_iter().map(|row| row.join(": ")).collect()
    }

    #[test]
    fn disks_of_an_array_are_told_with_their_rate_and_their_health() {
        let told = words(&machine("btrfs-two"));
        assert_eq!(told[0], "graphics -: no graphics device found");
        assert_eq!(
            told[1],
            "drive sda: WDC WD40EFRX-68N; 3.64 TiB; firmware 82.00A82; SATA 6.0 Gbit/s; 5,400 rpm; health unknown: the \
             drive is asleep, and Assay does not wake it"
        );
        assert!(
            told[2].contains("SATA 3.0 Gbit/s; rotation unknown: page 0xb1 is missing"),
            "{}",
            told[2]
        );
        assert_eq!(told[3], "array btrfs: btrfs of sda and sdb");
    }

    /// Recorded in a guest whose drives QEMU emulates, with their answers.
    #[test]
    fn drives_that_were_asked_for_real_are_told_by_their_own_answers() {
        let told = words(&machine("qemu-drives"));
        let expected = [
            "graphics 0000:00:04.0: Cirrus Logic GD 5446; driver cirrus",
            "graphics 0000:02:00.0: Red Hat, Inc. Virtio 1.0 GPU; no driver is loaded; PCIe 1.0 x1",
            "drive mmcblk0: QEMU! (maker 0x0000aa); 256 MiB; firmware 0x1; link unknown: the kernel reports the bus \
             speed of a card only in debugfs; SD, maker 0x0000aa, oem 0x5859, made 02/2006; health unknown: SD cards \
             and old MMC devices do not report their health",
            "drive nvme0n1: QEMU NVMe Ctrl; 256 MiB; firmware 7.2.22; PCIe 1.0 x1; health: passed, \
             0% worn, 50 \u{b0}C, 0% spare, 0 hours, 0 B written",
            "drive sda: Lab disk; 256 MiB; firmware 2.5+; SATA 1.5 Gbit/s; 7,200 rpm; \
             health: passed, 31 \u{b0}C, 1 hour",
            "drive sdb: QEMU HARDDISK; 256 MiB; firmware 2.5+; SATA 1.5 Gbit/s; health: passed, 31 \
             \u{b0}C, 1 hour",
            "drive sdc: QEMU USB HARDDRIVE; 256 MiB; firmware 2.5+; USB 5 Gbit/s; USB version 3.00; rotation unknown: \
             page 0xb1 is missing (unsupported, or Linux before 5.18); health unknown: /dev/sdc: Unknown USB \
             bridge [0x46f4:0x0001 (0x000)]",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_card_says_who_made_it_and_memory_is_no_hardware() {
        let told = words(&machine("sd-card"));
        let card = told.iter().find(|line| line.starts_with("drive mmcblk0")).unwrap();
        assert!(card.contains("SD, maker 0x000003, oem 0x5344, made 04/2019"), "{card}");
        assert!(card.contains("health unknown: SD cards"), "{card}");
        assert!(!told.iter().any(|line| line.contains("zram")), "{told:?}");
    }

    #[test]
    fn the_document_has_every_field_with_its_reason() {
        let told = serde_json::json!(Inventory::new(&machine("nvme-one-lane")));
        let drive = &told["drives"][0];
        assert_eq!(drive["name"], "nvme0n1");
        assert!(drive["health"]["absent"].is_string() && drive["rpm"]["absent"].is_string());
        assert_eq!(drive["link"]["present"]["name"], "PCIe 4.0 x1 (device supports PCIe 4.0 x4)");
        let none = Inventory::new(&Fake::new()).rows();
        assert_eq!(none.len(), 2, "{none:?}");
    }
}
