//! What drives say of their own health: the log of NVMe devices, the attributes and statistics of ATA
//! drives, the registers of memory cards, and what `smartctl` reads of the rest.

mod ata;
mod mmc;
mod nvme;
mod smartctl;

use std::collections::BTreeMap;

use assay_base::catalogue::About;
use assay_base::presence::Presence;
use assay_base::quantity::units::show;
use assay_system::system::site::{Drive, Site};
use assay_system::system::{System, devices, sysfs};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Presentation, Unit, field};

pub static PROBE: Entry = Entry {
    about: About {
        name: "drive-health",
        summary: "wear, errors and temperature of the drives, as they tell them themselves",
        text: "Asked once before the first trial and once after the last one, because wear is \
               part of what a study costs: NVMe drives give their health log (temperature, \
               percentage used, spare, bytes written, media errors, unsafe shutdowns, minutes \
               above their warning and critical temperatures, how often they slowed down for \
               heat). SATA drives, and those behind bridges that say that they take ATA commands \
               (VPD page 0x89), are asked for their own verdict, the attributes 5, 9, 187, 194, \
               197, 198 and 199, and the log of statistics (wear, hours, bytes written); one that \
               sleeps is not woken. Where they tell no wear, and of drives that take no ATA \
               commands, smartctl is asked where it is installed: it knows what the makers' own \
               attributes mean (177, 231, 233, 241). Soldered memory cards (eMMC) tell their life \
               time in steps of 10 %. The result says what the study wrote and how far the wear \
               went. Costs some milliseconds, up to some seconds for smartctl, and nothing in \
               trials. Needs root for all but memory cards; virtual drives and SD cards tell \
               nothing.",
    },
    fields: &[
        field("*.source", Unit::Word, "who was asked"),
        field("*.temperature_c", Unit::Count, "degrees Celsius"),
        field("*.used_percent", Unit::Count, "wear in percent of what it was made for"),
        field("*.spare_percent", Unit::Count, "of the blocks that stand in, what is left"),
        field("*.passed", Unit::Word, "the drive's own verdict: no failure is near"),
        field("*.written_bytes", Unit::Bytes, "that were ever written"),
        field("*.counters.*", Unit::Count, "what its kind counts"),
    ],
    rules: &[],
    presentation: Presentation::Tailored,
    here: Some(here),
};

/// What a drive says of itself. What its kind does not count is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Who was asked: `nvme`, `ata`, `mmc`, `smartctl`.
    pub source: String,
    /// Degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<i64>,
    /// Wear in percent of what it was made for; may pass 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_percent: Option<u64>,
    /// What is left of the blocks that stand in for bad ones, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_percent: Option<u64>,
    /// Its own verdict: whether it expects to go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// Bytes that were ever written to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Counters by name, such as `media_errors`, `unsafe_shutdowns`, `reallocated_sectors`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
}

/// Counters that are no trouble, however high.
const EVERYDAY: [&str; 3] = ["power_on_hours", "error_log_entries", "critical_warning"];
/// What each bit of the critical warning of an NVMe drive says, the lowest first (NVM Express Base
/// Specification 2.0, figure 207).
const WARNINGS: [&str; 6] = [
    "its spare blocks run out",
    "its temperature is out of bounds",
    "it is unreliable after many errors",
    "it takes no writes any more",
    "its backup of volatile memory failed",
    "its persistent memory is read-only",
];

impl Health {
    /// The verdict in a word or two: `passed, 3 % worn`.
    pub fn brief(&self) -> String {
        let verdict = match self.passed {
            Some(true) => "passed",
            Some(false) => "FAILING",
            None => "no verdict",
        };
        let worn = self.used_percent.map(|used| format!("{used} % worn"));
        [verdict.to_owned()].into_iter().chain(worn).collect::<Vec<_>>().join(", ")
    }

    /// All that should be known of it: `FAILING, 41 \u{b0}C, 10,000 hours; pending sectors 3`.
    pub fn words(&self) -> String {
        let mut told = vec![self.brief()];
        told.extend(self.temperature_c.map(|celsius| format!("{celsius} \u{b0}C")));
        told.extend(self.spare_percent.map(|spare| format!("{spare} % spare")));
        let hours = self.counters.get("power_on_hours");
        told.extend(hours.map(|hours| match hours {
            1 => "1 hour".to_owned(),
            _ => format!("{} hours", show::count(*hours)),
        }));
        told.extend(self.written_bytes.map(|bytes| format!("{} written", show::bytes(bytes))));
        let counted = self
            .counters
            .iter()
            .filter(|(name, count)| **count > 0 && !EVERYDAY.contains(&name.as_str()));
        let troubles = counted
            .map(|(name, count)| format!("{} {}", name.replace('_', " "), show::count(*count)));
        let parts = [told.join(", ")].into_iter().chain(self.warnings()).chain(troubles);
        parts.collect::<Vec<_>>().join("; ")
    }

    /// What an NVMe drive warns of.
    fn warnings(&self) -> Vec<String> {
        let bits = self.counters.get("critical_warning").copied().unwrap_or_default();
        let set = WARNINGS.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        set.map(|(_, words)| (*words).to_owned()).collect()
    }
}

/// The health of each drive below some targets, by its kernel name; nothing of simulated ones.
pub fn of_sites(system: &dyn System, sites: &[Site]) -> BTreeMap<String, Presence<Health>> {
    let drives = sites.iter().flat_map(|site| &site.drives);
    let mut found = BTreeMap::new();
    for drive in drives {
        if !found.contains_key(&drive.name) {
            found.insert(drive.name.clone(), read(system, drive));
        }
    }
    found
}

/// What a drive says of itself; where it tells no wear, what smartctl makes of it.
pub fn read(system: &dyn System, drive: &Drive) -> Presence<Health> {
    let own = ask(system, drive);
    let worn = own.value().is_some_and(|health| health.used_percent.is_some());
    if worn || !drive.name.starts_with("sd") && !drive.name.starts_with("nvme") || !is_root(system)
    {
        return own;
    }
    let usb = drive.bus.value().is_some_and(|bus| bus == "usb");
    let other = smartctl::read(system, &devices::file_of(&drive.name), usb);
    match (own, other) {
        (_, Presence::Present(told)) => Presence::Present(told),
        (Presence::Present(own), _) => Presence::Present(own),
        (Presence::Absent(own), Presence::Absent(other)) => {
            Presence::absent(format!("{own}; {other}"))
        }
    }
}

/// The same without another program: by the drive's own commands.
pub fn ask(system: &dyn System, drive: &Drive) -> Presence<Health> {
    let name = drive.name.as_str();
    if name.starts_with("mmcblk") {
        return mmc::read(system, name);
    }
    if !["nvme", "sd"].iter().any(|start| name.starts_with(start)) {
        return Presence::absent("virtual drives and memory do not tell their health");
    }
    if !is_root(system) {
        return Presence::absent("only root may ask a drive for its health");
    }
    let device = devices::file_of(name);
    if name.starts_with("nvme") {
        return match system.nvme_health_log(&device) {
            Ok(page) => nvme::health(&page),
            Err(error) => Presence::absent(format!("its health log: {}", sysfs::reason(&error))),
        };
    }
    if takes_ata_commands(system, drive) {
        ata::read(system, &device)
    } else {
        Presence::absent("it does not say that it takes ATA commands")
    }
}

fn is_root(system: &dyn System) -> bool {
    system.user().id == 0
}

/// Whether a drive is on an ATA port, or says so behind another one: bridges that do not may hang when
/// they are asked all the same.
fn takes_ata_commands(system: &dyn System, drive: &Drive) -> bool {
    let page = sysfs::block(&drive.name).join("device/vpd_pg89");
    drive.bus.value().is_some_and(|bus| bus == "sata")
        || system.read_bytes(&page).is_ok_and(|page| !page.is_empty())
}

/// Which drives tell it here, or why none does.
fn here(system: &dyn System) -> Presence<String> {
    let all = devices::drives(system);
    let asked: Vec<(&Drive, Presence<Health>)> =
        all.iter().map(|drive| (drive, read(system, drive))).collect();
    let telling = asked.iter().filter(|(_, health)| health.value().is_some());
    let names: Vec<&str> = telling.map(|(drive, _)| drive.name.as_str()).collect();
    let mut reasons: Vec<&str> = asked.iter().filter_map(|(_, health)| health.reason()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let reason =
        if all.is_empty() { "no drive is visible here".to_owned() } else { reasons.join("; ") };
    Presence::from_option((!names.is_empty()).then(|| names.join(", ")), reason)
}

#[cfg(test)]
mod tests {
    use assay_system::system::Fake;

    use super::*;

    fn drive(name: &str, bus: &str) -> Drive {
        let machine = include_str!("../../../assay-system/tests/fixtures/machines/sata-ssd.txt");
        let fake = Fake::recorded(machine).unwrap();
        let known = devices::drives(&fake).remove(0);
        Drive { name: name.to_owned(), bus: Presence::Present(bus.to_owned()), ..known }
    }

    #[test]
    fn each_kind_of_drive_is_asked_in_its_way() {
        let fake = Fake::new();
        let health = |name: &str, bus: &str| read(&fake, &drive(name, bus));
        assert!(health("vda", "virtio").reason().unwrap().contains("virtual drives"));
        assert!(health("sda", "sata").reason().unwrap().contains("smartctl is not installed"));
        let mut page = vec![0; 512];
        page[5] = 3;
        fake.put_health_log("/dev/nvme0n1", &page);
        assert_eq!(health("nvme0n1", "nvme").value().unwrap().used_percent, Some(3));
        assert!(health("nvme1n1", "nvme").reason().unwrap().contains("its health log"));
        fake.set_user(1000);
        assert!(health("nvme0n1", "nvme").reason().unwrap().contains("only root"));
    }

    #[test]
    fn health_is_a_sentence_that_begins_with_the_verdict() {
        let counters = [
            ("critical_warning", 0b101),
            ("media_errors", 0),
            ("power_on_hours", 12_345),
            ("unsafe_shutdowns", 7),
        ];
        let health = Health {
            passed: Some(false),
            temperature_c: Some(41),
            used_percent: Some(104),
            spare_percent: Some(3),
            counters: counters.map(|(name, count)| (name.to_owned(), count)).into(),
            ..Health::default()
        };
        assert_eq!(
            health.words(),
            "FAILING, 104 % worn, 41 \u{b0}C, 3 % spare, 12,345 hours; its spare blocks run out; it \
             is unreliable after many errors; unsafe shutdowns 7"
        );
        assert_eq!(Health::default().words(), "no verdict");
        assert_eq!(Health { passed: Some(true), ..Health::default() }.brief(), "passed");
    }

    #[test]
    fn only_drives_that_say_so_are_sent_ata_commands() {
        let fake = Fake::recorded("file /sys/class/block/sdb/size 1\n").unwrap();
        let stick = drive("sdb", "usb");
        assert!(ask(&fake, &stick).reason().unwrap().contains("does not say"));
        fake.put("/sys/class/block/sdb/device/vpd_pg89", [0, 0x89, 2, 0x38]);
        // It is asked now, and the fake machine has no answer.
        assert!(!ask(&fake, &stick).reason().unwrap().contains("does not say"));
    }

    #[test]
    fn the_machine_says_which_drives_tell() {
        let text = include_str!("../../../assay-system/tests/fixtures/machines/sata-ssd.txt");
        let fake = Fake::recorded(text).unwrap();
        fake.set_user(0);
        assert!(here(&fake).reason().unwrap().contains("smartctl is not installed"));
        assert_eq!(here(&Fake::new()).reason(), Some("no drive is visible here"));
    }
}
