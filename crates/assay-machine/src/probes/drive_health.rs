//! Health reports of drives: the log of NVMe devices, the registers of memory cards, and `smartctl` for the rest.

mod mmc;
mod nvme;
mod smartctl;

use std::collections::{BTreeMap, BTreeSet};

use crate::system::site::{Drive, Site};
use crate::system::{System, devices, sysfs};
use assay_core::catalogue::About;
use assay_core::presence::Presence;
use assay_core::quantity::units::show;
use serde::{Deserialize, Serialize};

use super::look::{Entry, Presentation, Unit, field};

pub static PROBE: Entry = Entry {
    about: About {
        name: "drive-health",
        summary: "the wear, errors and temperature of the drives",
        text: "Assay reads the drive health before the first trial and after the last trial, and reports the writes \
               and wear of the study. From NVMe drives, Assay reads the health log: temperature, percentage used, \
               available spare, bytes written, media errors, unsafe shutdowns, minutes above the warning and critical \
               temperatures, and thermal throttling. For SATA and USB drives, smartctl (package smartmontools) reads \
               the self-assessment, temperature, power-on hours and the attributes 5, 187, 197, 198 and 199; wear and \
               bytes written come from the statistics log or from vendor attributes (177, 231, 233, 241). Assay does \
               not wake a sleeping drive. eMMC storage reports its wear in steps of 10%. Cost: milliseconds, or up to \
               a few seconds with smartctl, outside the trials. Needs root, except for eMMC; virtual drives and SD \
               cards do not report their health.",
    },
    fields: &[
        field("*.source", Unit::Word, "source of the data, such as smartctl"),
        field("*.temperature_c", Unit::Count, "temperature in degrees Celsius"),
        field("*.used_percent", Unit::Count, "wear in percent of the rated endurance"),
        field("*.spare_percent", Unit::Count, "remaining spare blocks in percent"),
        field("*.passed", Unit::Word, "whether the drive's self-assessment passed"),
        field("*.written_bytes", Unit::Bytes, "bytes written over the drive's lifetime"),
        field("*.counters.*", Unit::Count, "other counters, which depend on the drive type"),
    ],
    rules: &[],
    presentation: Presentation::Tailored,
    here: Some(here),
};

/// Health report of a drive. Fields that its kind does not count are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_percent: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_percent: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
}

/// Counters that are harmless at any value.
const EVERYDAY: [&str; 3] = ["power_on_hours", "error_log_entries", "critical_warning"];
/// Bit of the critical warning for a temperature out of bounds.
const TEMPERATURE: u64 = 2;
/// Bits of the critical warning, the lowest first (NVM Express Base Specification 2.0, figure 207).
const WARNINGS: [&str; 6] = [
    "few spare blocks left",
    "temperature out of range",
    "unreliable because of many errors",
    "read-only",
    "backup of volatile memory failed",
    "persistent memory is read-only",
];

impl Health {
    /// The verdict with its reasons: `passed, 3% worn`. A temperature warning is not a failure.
    pub fn brief(&self) -> String {
        let bits = self.counters.get("critical_warning").copied().unwrap_or_default();
        let verdict = match self.passed {
            Some(true) => "passed",
            Some(false) if bits == TEMPERATURE => "warning",
            Some(false) => "FAILING",
            None => "no verdict",
        };
        let mut text = verdict.to_owned();
        let warnings = self.warnings();
        if !warnings.is_empty() {
            text = format!("{text} ({})", warnings.join(", "));
        }
        text.extend(self.used_percent.map(|used| format!(", {used}% worn")));
        text
    }

    /// All relevant facts: `FAILING, 41 \u{b0}C, 10,000 hours; pending sectors 3`.
    pub fn words(&self) -> String {
        let mut facts = vec![self.brief()];
        facts.extend(self.temperature_c.map(|celsius| format!("{celsius} \u{b0}C")));
        facts.extend(self.spare_percent.map(|spare| format!("{spare}% spare")));
        let hours = self.counters.get("power_on_hours");
        facts.extend(hours.map(|hours| match hours {
            1 => "1 hour".to_owned(),
            _ => format!("{} hours", show::count(*hours)),
        }));
        facts.extend(self.written_bytes.map(|bytes| format!("{} written", show::bytes(bytes))));
        let mut parts = vec![facts.join(", ")];
        for (name, count) in &self.counters {
            if *count > 0 && !EVERYDAY.contains(&name.as_str()) {
                parts.push(format!("{} {}", name.replace('_', " "), show::count(*count)));
            }
        }
        parts.join("; ")
    }

    fn warnings(&self) -> Vec<String> {
        let bits = self.counters.get("critical_warning").copied().unwrap_or_default();
        let set = WARNINGS.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        set.map(|(_, words)| (*words).to_owned()).collect()
    }
}

/// Health of each drive below some targets, by kernel name; simulated targets have none.
pub fn of_sites(system: &dyn System, sites: &[Site]) -> BTreeMap<String, Presence<Health>> {
    let mut health = BTreeMap::new();
    for drive in sites.iter().flat_map(|site| &site.drives) {
        health.entry(drive.name.clone()).or_insert_with(|| read(system, drive));
    }
    health
}

/// Reads the health report of a drive; tries the most common commands (`-d sat`) if its USB bridge is unknown.
pub fn read(system: &dyn System, drive: &Drive) -> Presence<Health> {
    let first = ask(system, drive);
    let is_usb = drive.bus.value().is_some_and(|bus| bus == "usb");
    let failed = first.reason().is_some_and(|reason| reason != smartctl::ASLEEP);
    if !failed || !is_usb || !is_root(system) || !smartctl::is_installed(system) {
        return first;
    }
    match smartctl::read(system, &devices::file_of(&drive.name), &["-d", "sat"]) {
        Presence::Absent(reason) => {
            Presence::absent(format!("the USB bridge blocks SMART commands: {reason}"))
        }
        health @ Presence::Present(_) => health,
    }
}

/// Reads the health report of a drive; never tries commands on an unknown USB bridge, which may hang it.
pub fn ask(system: &dyn System, drive: &Drive) -> Presence<Health> {
    let name = drive.name.as_str();
    if name.starts_with("mmcblk") {
        return mmc::read(system, name);
    }
    if !["nvme", "sd"].iter().any(|start| name.starts_with(start)) {
        return Presence::absent("virtual drives and memory do not report their health");
    }
    if !is_root(system) {
        return Presence::absent("only root can read the drive health");
    }
    let device = devices::file_of(name);
    if name.starts_with("sd") {
        return smartctl::read(system, &device, &[]);
    }
    let health = match system.nvme_health_log(&device) {
        Ok(page) => nvme::health(&page),
        Err(error) => Presence::absent(format!("health log: {}", sysfs::reason(&error))),
    };
    let Presence::Absent(reason) = health else { return health };
    match smartctl::read(system, &device, &[]) {
        Presence::Absent(other) => Presence::absent(format!("{reason}; {other}")),
        health @ Presence::Present(_) => health,
    }
}

fn is_root(system: &dyn System) -> bool {
    system.user().id == 0
}

/// Names of this machine's drives with health reports, or the reasons why there are none.
fn here(system: &dyn System) -> Presence<String> {
    let drives = devices::drives(system);
    let (mut names, mut reasons) = (Vec::new(), BTreeSet::new());
    for drive in &drives {
        match read(system, drive) {
            Presence::Present(_) => names.push(drive.name.as_str()),
            Presence::Absent(reason) => reasons.extend([reason]),
        }
    }
    if drives.is_empty() {
        return Presence::absent("no drives found");
    }
    if names.is_empty() {
        return Presence::Absent(reasons.into_iter().collect::<Vec<_>>().join("; "));
    }
    Presence::Present(names.join(", "))
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    fn drive(name: &str, bus: &str) -> Drive {
        let fake = Fake::sata_ssd().unwrap();
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
        assert!(health("nvme1n1", "nvme").reason().unwrap().contains("health log"));
        fake.set_user(1000);
        assert!(health("nvme0n1", "nvme").reason().unwrap().contains("only root"));
    }

    #[test]
    fn a_warning_is_told_with_what_it_warns_of() {
        let brief = |bits: u64| {
            let counters = [("critical_warning".to_owned(), bits)].into();
            let passed = Some(bits == 0);
            Health { passed, used_percent: Some(0), counters, ..Health::default() }.brief()
        };
        assert_eq!(brief(0), "passed, 0% worn");
        assert_eq!(brief(4), "FAILING (unreliable because of many errors), 0% worn");
        assert_eq!(brief(2), "warning (temperature out of range), 0% worn");
        assert_eq!(brief(10), "FAILING (temperature out of range, read-only), 0% worn");
        // ATA drives report no reason.
        let ata = Health { passed: Some(false), ..Health::default() };
        assert_eq!(ata.brief(), "FAILING");
    }

    #[test]
    fn unknown_bridges_are_asked_through_sat_for_studies_only() {
        let fake = Fake::new();
        let stick = drive("sdb", "usb");
        let line = |way: &str| {
            format!("smartctl --json -n standby -b exit -i -H -A -l devstat {way}/dev/sdb")
        };
        fake.install("smartctl").put_output(
            &line(""),
            r#"{"smartctl":{"messages":[{"string":"/dev/sdb: Unknown USB bridge [0x46f4:0x0001 (0x000)]",
                "severity":"error"}],"exit_status":1}}"#,
        );
        let drive = include_str!("../../tests/fixtures/smartctl/ssd.json");
        fake.put_output(&line("-d sat "), drive);
        assert_eq!(read(&fake, &stick).value().unwrap().used_percent, Some(12));
        assert!(ask(&fake, &stick).reason().unwrap().contains("Unknown USB bridge"));
        fake.put_output(&line("-d sat "), "{}");
        let reason = read(&fake, &stick).reason().unwrap().to_owned();
        assert!(reason.starts_with("the USB bridge blocks SMART commands: smartctl"), "{reason}");
        fake.put_output(&line(""), include_str!("../../tests/fixtures/smartctl/asleep.json"));
        assert_eq!(read(&fake, &stick).reason(), Some(smartctl::ASLEEP));
    }

    #[test]
    fn the_machine_says_which_drives_tell() {
        let text = include_str!("../../tests/fixtures/machines/sata-ssd.txt");
        let fake = Fake::recorded(text).unwrap();
        fake.set_user(0);
        assert!(here(&fake).reason().unwrap().contains("smartctl is not installed"));
        assert_eq!(here(&Fake::new()).reason(), Some("no drives found"));
    }
}
