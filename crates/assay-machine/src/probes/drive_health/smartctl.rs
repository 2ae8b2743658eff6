//! Health from `smartctl` as JSON: SATA drives, USB bridges, and NVMe drives whose log the kernel does not provide.

use std::collections::BTreeMap;
use std::path::Path;

use crate::system::{System, sysfs};
use assay_core::presence::Presence;
use serde_json::Value;

use crate::probes::drive_health::Health;

const PROGRAM: &str = "smartctl";
/// Identity, verdict, attributes and statistics; does not wake a drive, and drops wrong checksums.
const ARGUMENTS: [&str; 10] =
    ["--json", "-n", "standby", "-b", "exit", "-i", "-H", "-A", "-l", "devstat"];
/// Attributes of SATA drives that count errors, and how many bytes of their raw value are the number.
const ATTRIBUTES: [(u64, &str, u32); 5] = [
    (5, "reallocated_sectors", 2),
    (187, "reported_uncorrectable", 2),
    (197, "pending_sectors", 4),
    (198, "offline_uncorrectable", 4),
    (199, "interface_crc_errors", 4),
];
/// Attributes that fall from 100 with wear.
const WEAR: [u64; 3] = [231, 233, 177];
const WRITTEN: u64 = 241;
/// Reason for a drive that `-n standby` skips.
pub const ASLEEP: &str = "the drive is asleep, and Assay does not wake it";
/// A value in the device statistics log (ACS-4, 9.5).
#[derive(Clone, Copy)]
struct LogStatistic {
    page: u64,
    offset: u64,
}

const WRITTEN_BLOCKS: LogStatistic = LogStatistic { page: 1, offset: 24 };
const ENDURANCE_USED: LogStatistic = LogStatistic { page: 7, offset: 8 };
/// Counters of NVMe drives: names in smartctl and names here.
const NVME: [(&str, &str); 8] = [
    ("critical_warning", "critical_warning"),
    ("power_on_hours", "power_on_hours"),
    ("unsafe_shutdowns", "unsafe_shutdowns"),
    ("media_errors", "media_errors"),
    ("num_err_log_entries", "error_log_entries"),
    ("warning_temp_time", "warning_temperature_minutes"),
    ("critical_comp_time", "critical_temperature_minutes"),
    ("thermal_temp1_transition_count", "thermal_management_1_count"),
];

pub fn is_installed(system: &dyn System) -> bool {
    system.program(PROGRAM).is_some()
}

/// Reads the health of a drive with smartctl. `type_words` say how a USB bridge passes commands on (`-d sat`).
pub fn read(system: &dyn System, device: &Path, type_words: &[&str]) -> Presence<Health> {
    if !is_installed(system) {
        return Presence::absent("smartctl is not installed (package smartmontools)");
    }
    let device = device.to_string_lossy();
    match system.output_of(PROGRAM, &[&ARGUMENTS, type_words, &[&*device]].concat()) {
        Ok(text) => parse(&text),
        Err(error) => Presence::absent(format!("{PROGRAM}: {}", sysfs::reason(&error))),
    }
}

fn parse(text: &str) -> Presence<Health> {
    let Ok(report) = serde_json::from_str::<Value>(text) else {
        return Presence::absent("smartctl printed no JSON; install version 7 or later");
    };
    let is_nvme = report["nvme_smart_health_information_log"].is_object();
    let health = if is_nvme { nvme(&report) } else { sata(&report) };
    if health.counters.is_empty() && health.used_percent.is_none() {
        return Presence::absent(missing_reason(&report));
    }
    Presence::Present(health)
}

fn missing_reason(report: &Value) -> String {
    if report["smart_support"]["available"] == false {
        return "the drive does not support SMART".to_owned();
    }
    if report["smart_support"]["enabled"] == false {
        return "SMART is disabled on the drive".to_owned();
    }
    let mut texts = Vec::new();
    for message in report["smartctl"]["messages"].as_array().into_iter().flatten() {
        texts.extend(message["string"].as_str().map(str::trim));
    }
    let text = texts.join("; ");
    if text.contains("Device is in STANDBY") || text.contains("Device is in SLEEP") {
        return ASLEEP.to_owned();
    }
    if text.is_empty() {
        let status = &report["smartctl"]["exit_status"];
        return format!("smartctl reports no attributes (exit status {status})");
    }
    text
}

fn nvme(report: &Value) -> Health {
    let log = &report["nvme_smart_health_information_log"];
    let counter = |(theirs, ours): (&str, &str)| Some((ours.to_owned(), log[theirs].as_u64()?));
    let units = log["data_units_written"].as_u64();
    Health {
        source: PROGRAM.to_owned(),
        temperature_c: report["temperature"]["current"].as_i64(),
        used_percent: log["percentage_used"].as_u64(),
        written_bytes: units.map(|units| units.saturating_mul(512_000)),
        spare_percent: log["available_spare"].as_u64(),
        passed: report["smart_status"]["passed"].as_bool(),
        counters: NVME.into_iter().filter_map(counter).collect(),
    }
}

/// Health of an ATA drive, from its SMART attributes and its device statistics.
fn sata(report: &Value) -> Health {
    let mut counters = BTreeMap::new();
    for (id, name, bytes) in ATTRIBUTES {
        let raw = attribute(report, id).and_then(|row| row["raw"]["value"].as_u64());
        // The bytes above the count hold other values.
        counters.extend(raw.map(|raw| (name.to_owned(), raw & ((1 << (8 * bytes)) - 1))));
    }
    let hours = report["power_on_time"]["hours"].as_u64();
    counters.extend(hours.map(|hours| ("power_on_hours".to_owned(), hours)));
    let block_bytes = report["logical_block_size"].as_u64().unwrap_or(512);
    let blocks = statistic(report, WRITTEN_BLOCKS);
    let written_bytes = match blocks {
        Some(blocks) => blocks.checked_mul(block_bytes),
        None => attribute(report, WRITTEN).and_then(|row| bytes_written(row, block_bytes)),
    };
    Health {
        source: PROGRAM.to_owned(),
        temperature_c: report["temperature"]["current"].as_i64(),
        used_percent: used_percent(report),
        written_bytes,
        passed: report["smart_status"]["passed"].as_bool(),
        spare_percent: None,
        counters,
    }
}

fn attribute(report: &Value, id: u64) -> Option<&Value> {
    report["ata_smart_attributes"]["table"].as_array()?.iter().find(|row| row["id"] == id)
}

/// Reads a statistic; smartctl omits values that the drive marks as invalid.
fn statistic(report: &Value, wanted: LogStatistic) -> Option<u64> {
    let pages = report["ata_device_statistics"]["pages"].as_array()?;
    let page = pages.iter().find(|page| page["number"] == wanted.page)?;
    let row = page["table"].as_array()?.iter().find(|row| row["offset"] == wanted.offset)?;
    row["value"].as_u64()
}

/// Used share of the drive's rated life; without a report of it, from an attribute that falls from 100 with wear.
fn used_percent(report: &Value) -> Option<u64> {
    let used = statistic(report, ENDURANCE_USED)
        .or_else(|| report["endurance_used"]["current_percent"].as_u64());
    if used.is_some() {
        return used;
    }
    for row in WEAR.into_iter().filter_map(|id| attribute(report, id)) {
        // Other vendors use the same numbers for other attributes.
        let name = row["name"].as_str().unwrap_or_default();
        if name.contains("Wear") || name.contains("Life") {
            return row["value"].as_u64().map(|left| 100_u64.saturating_sub(left));
        }
    }
    None
}

/// Bytes written, in the unit of the attribute's name.
fn bytes_written(row: &Value, block_bytes: u64) -> Option<u64> {
    let name = row["name"].as_str()?;
    let unit = match name {
        "Total_LBAs_Written" => block_bytes,
        _ if name.ends_with("32MiB") => 32 << 20,
        _ if name.ends_with("GiB") => 1 << 30,
        _ => return None,
    };
    row["raw"]["value"].as_u64()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    /// Recorded from smartctl 7.3 and a drive that QEMU emulates.
    const QEMU: &str = include_str!("../../../tests/fixtures/smartctl/qemu.json");
    /// The others follow the format of smartctl 7.3, with invented numbers.
    const DYING: &str = include_str!("../../../tests/fixtures/smartctl/dying.json");
    const SSD: &str = include_str!("../../../tests/fixtures/smartctl/ssd.json");
    const MAKERS: &str = include_str!("../../../tests/fixtures/smartctl/makers-attributes.json");
    const ASLEEP_TOLD: &str = include_str!("../../../tests/fixtures/smartctl/asleep.json");

    fn health(text: &str) -> Health {
        parse(text).value().unwrap().clone()
    }

    fn counters(health: &Health) -> Vec<(&str, u64)> {
        health.counters.iter().map(|(name, count)| (name.as_str(), *count)).collect()
    }

    #[test]
    fn recorded_drive_passes() {
        let found = health(QEMU);
        assert_eq!((found.passed, found.temperature_c), (Some(true), Some(31)));
        assert_eq!(counters(&found), [("power_on_hours", 1), ("reallocated_sectors", 0)]);
    }

    #[test]
    fn a_dying_disk_is_told_as_it_tells_itself() {
        let found = health(DYING);
        assert_eq!((found.passed, found.temperature_c), (Some(false), Some(41)));
        let known = [
            ("interface_crc_errors", 511),
            ("pending_sectors", 3),
            ("power_on_hours", 10_000),
            ("reallocated_sectors", 42),
        ];
        assert_eq!(counters(&found), known);
        assert_eq!((found.used_percent, found.written_bytes), (None, None));
    }

    #[test]
    fn the_log_of_statistics_tells_wear_and_bytes() {
        let found = health(SSD);
        assert_eq!((found.passed, found.used_percent), (Some(true), Some(12)));
        assert_eq!(found.written_bytes, Some(512_000_000));
        assert_eq!(found.counters["power_on_hours"], 77);
        let large = SSD.replace("\"logical_block_size\":512", "\"logical_block_size\":4096");
        assert_eq!(health(&large).written_bytes, Some(4_096_000_000));
        // A statistic that is present but invalid has no value.
        let stale = SSD.replace("\"size\":1,\"value\":12,", "\"size\":1,");
        assert_ne!(stale, SSD);
        assert_eq!(health(&stale).used_percent, None);
    }

    #[test]
    fn attributes_of_sata_drives_are_named_and_their_units_known() {
        let found = health(MAKERS);
        assert_eq!((found.temperature_c, found.used_percent), (Some(31), Some(7)));
        assert_eq!(found.written_bytes, Some(1_024_000_000));
        let known = [
            ("interface_crc_errors", 8),
            ("reallocated_sectors", 2),
            ("reported_uncorrectable", 1),
        ];
        assert_eq!(counters(&found), known);
        let other = MAKERS.replace("Total_LBAs_Written", "Host_Writes_32MiB");
        assert_eq!(health(&other).written_bytes, Some(2_000_000 << 25));
        let unknown = MAKERS.replace("Total_LBAs_Written", "Unknown_Attribute");
        assert_eq!(health(&unknown).written_bytes, None);
    }

    #[test]
    fn nvme_drives_are_read_as_well() {
        let text = r#"{"temperature":{"current":38},"nvme_smart_health_information_log":{
            "critical_warning":0,"percentage_used":12,"data_units_written":1000,
            "unsafe_shutdowns":4,"media_errors":1,"warning_temp_time":3}}"#;
        let found = parse(text);
        let found = found.value().unwrap();
        assert_eq!((found.used_percent, found.written_bytes), (Some(12), Some(512_000_000)));
        assert_eq!(found.counters["warning_temperature_minutes"], 3);
    }

    #[test]
    fn what_cannot_be_told_says_why() {
        let reason = |text: &str| parse(text).reason().unwrap().to_owned();
        assert_eq!(reason(ASLEEP_TOLD), "the drive is asleep, and Assay does not wake it");
        let without = r#"{"smart_support":{"available":false},"smartctl":{"exit_status":4}}"#;
        assert_eq!(reason(without), "the drive does not support SMART");
        let off = r#"{"smart_support":{"available":true,"enabled":false}}"#;
        assert_eq!(reason(off), "SMART is disabled on the drive");
        // `-b exit` ends like this if the checksum of the attributes is wrong.
        let damaged =
            r#"{"smartctl":{"exit_status":4},"smart_support":{"available":true,"enabled":true}}"#;
        assert!(reason(damaged).contains("no attributes (exit status 4)"));
        assert!(reason("smartctl 6.6\nno json\n").contains("version 7"));
    }

    #[test]
    fn smartctl_is_named_where_it_is_missing() {
        let fake = Fake::new();
        let report = read(&fake, Path::new("/dev/sda"), &[]);
        assert_eq!(report.reason(), Some("smartctl is not installed (package smartmontools)"));
        fake.install(PROGRAM);
        assert!(read(&fake, Path::new("/dev/sdz"), &[]).reason().unwrap().contains("not found"));
    }
}
