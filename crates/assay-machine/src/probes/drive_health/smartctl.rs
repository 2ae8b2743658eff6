//! Health by the program `smartctl`, as JSON: SATA drives, USB bridges, and NVMe drives whose log
//! the kernel does not give.

use std::collections::BTreeMap;
use std::path::Path;

use assay_base::presence::Presence;
use assay_system::system::{System, sysfs};
use serde_json::Value;

use crate::probes::drive_health::Health;

const PROGRAM: &str = "smartctl";
/// Attributes of SATA drives that count what went wrong.
const ATTRIBUTES: [(u64, &str); 5] = [
    (5, "reallocated_sectors"),
    (187, "reported_uncorrectable"),
    (197, "pending_sectors"),
    (198, "offline_uncorrectable"),
    (199, "interface_crc_errors"),
];
/// Attributes whose value falls from 100 with the wear.
const WEAR: [u64; 3] = [231, 233, 177];
const WRITTEN: u64 = 241;
/// Counters of NVMe drives: what smartctl calls them, what they are called here.
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

/// Asks a drive; behind a USB bridge also in the way that most of them pass on.
pub fn read(system: &dyn System, device: &Path, usb: bool) -> Presence<Health> {
    if system.program(PROGRAM).is_none() {
        return Presence::absent("smartctl is not installed (package smartmontools)");
    }
    let first = ask(system, device, &[]);
    if !usb || first.value().is_some() {
        return first;
    }
    let second = ask(system, device, &["-d", "sat"]);
    match second {
        Presence::Present(health) => Presence::Present(health),
        Presence::Absent(reason) => {
            Presence::absent(format!("the USB bridge does not pass it on: {reason}"))
        }
    }
}

fn ask(system: &dyn System, device: &Path, way: &[&str]) -> Presence<Health> {
    let device = device.to_string_lossy();
    let arguments = [&["-j", "-a"], way, &[&*device]].concat();
    match system.output_of(PROGRAM, &arguments) {
        Ok(text) => parse(&text),
        Err(error) => Presence::absent(format!("{PROGRAM}: {}", sysfs::reason(&error))),
    }
}

fn parse(text: &str) -> Presence<Health> {
    let Ok(told) = serde_json::from_str::<Value>(text) else {
        return Presence::absent("smartctl did not answer in JSON (version 7 or later does)");
    };
    let health = if told["nvme_smart_health_information_log"].is_object() {
        nvme(&told)
    } else {
        sata(&told)
    };
    let empty = health.counters.is_empty() && health.used_percent.is_none();
    Presence::from_option((!empty).then_some(health), message(&told))
}

/// What smartctl complains of.
fn message(told: &Value) -> String {
    let messages = told["smartctl"]["messages"].as_array();
    let texts = messages.into_iter().flatten().filter_map(|one| one["string"].as_str());
    let text = texts.map(str::trim).collect::<Vec<_>>().join("; ");
    if text.is_empty() { "smartctl tells no attributes of it".to_owned() } else { text }
}

fn nvme(told: &Value) -> Health {
    let log = &told["nvme_smart_health_information_log"];
    let counter = |(theirs, ours): (&str, &str)| Some((ours.to_owned(), log[theirs].as_u64()?));
    let units = log["data_units_written"].as_u64();
    Health {
        source: PROGRAM.to_owned(),
        temperature_c: told["temperature"]["current"].as_i64(),
        used_percent: log["percentage_used"].as_u64(),
        written_bytes: units.map(|units| units.saturating_mul(512_000)),
        spare_percent: log["available_spare"].as_u64(),
        passed: told["smart_status"]["passed"].as_bool(),
        counters: NVME.into_iter().filter_map(counter).collect(),
    }
}

fn sata(told: &Value) -> Health {
    let table = told["ata_smart_attributes"]["table"].as_array();
    let find = |id: u64| table.into_iter().flatten().find(|row| row["id"].as_u64() == Some(id));
    let counters: BTreeMap<String, u64> = ATTRIBUTES
        .into_iter()
        .filter_map(|(id, name)| Some((name.to_owned(), raw(find(id)?)?)))
        .collect();
    let named = |row: &&Value| {
        // The same numbers mean other things with other makers.
        let name = row["name"].as_str().unwrap_or_default();
        ["Wear", "Life"].iter().any(|word| name.contains(word))
    };
    let left = WEAR.into_iter().filter_map(find).find(named).and_then(|row| row["value"].as_u64());
    let told_used = told["endurance_used"]["current_percent"].as_u64();
    Health {
        source: PROGRAM.to_owned(),
        temperature_c: told["temperature"]["current"].as_i64(),
        used_percent: told_used.or_else(|| Some(100_u64.saturating_sub(left?))),
        written_bytes: find(WRITTEN).and_then(|row| written(row, told)),
        passed: told["smart_status"]["passed"].as_bool(),
        spare_percent: None,
        counters,
    }
}

/// The raw value; some makers put more into it than the number, which the text begins with.
fn raw(row: &Value) -> Option<u64> {
    let text = row["raw"]["string"].as_str();
    let first = text.and_then(|text| text.split_whitespace().next()?.parse().ok());
    first.or_else(|| row["raw"]["value"].as_u64())
}

/// Bytes written, in the unit that the attribute's name says.
fn written(row: &Value, told: &Value) -> Option<u64> {
    let name = row["name"].as_str()?;
    let unit = match name {
        "Total_LBAs_Written" => told["logical_block_size"].as_u64().unwrap_or(512),
        _ if name.ends_with("32MiB") => 32 << 20,
        _ if name.ends_with("GiB") => 1 << 30,
        _ => return None,
    };
    row["raw"]["value"].as_u64()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use assay_system::system::Fake;

    use super::*;

    /// After smartctl 7.3 of a SATA SSD.
    const SATA: &str = r#"{"smartctl":{"version":[7,3],"exit_status":4},
        "logical_block_size":512,"temperature":{"current":31},
        "ata_smart_attributes":{"table":[
        {"id":5,"name":"Reallocated_Sector_Ct","value":100,"raw":{"value":2,"string":"2"}},
        {"id":177,"name":"Wear_Leveling_Count","value":93,"raw":{"value":140,"string":"140"}},
        {"id":187,"name":"Reported_Uncorrect","value":100,"raw":{"value":4294967297,"string":"1 (9 9)"}},
        {"id":199,"name":"CRC_Error_Count","value":99,"raw":{"value":8,"string":"8"}},
        {"id":241,"name":"Total_LBAs_Written","value":99,"raw":{"value":2000000,"string":"2000000"}}]}}"#;
    const BRIDGE: &str = r#"{"smartctl":{"exit_status":1,"messages":[
        {"string":"/dev/sdb: Unknown USB bridge [0x152d:0x0578 (0x508)]","severity":"error"}]}}"#;
    const REFUSED: &str = r#"{"smartctl":{"exit_status":2,"messages":[
        {"string":"Read Device Identity failed: scsi error unsupported field in scsi command","severity":"error"}]}}"#;

    fn machine() -> Fake {
        let fake = Fake::new();
        fake.install(PROGRAM);
        fake
    }

    #[test]
    fn attributes_of_sata_drives_are_named_and_their_units_known() {
        let found = parse(SATA);
        let found = found.value().unwrap();
        assert_eq!((found.temperature_c, found.used_percent), (Some(31), Some(7)));
        assert_eq!(found.written_bytes, Some(1_024_000_000));
        let counters: Vec<(&str, u64)> =
            found.counters.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        let known = [
            ("interface_crc_errors", 8),
            ("reallocated_sectors", 2),
            ("reported_uncorrectable", 1),
        ];
        assert_eq!(counters, known);
        let other = SATA.replace("Total_LBAs_Written", "Host_Writes_32MiB");
        assert_eq!(parse(&other).value().unwrap().written_bytes, Some(2_000_000 << 25));
        let unknown = SATA.replace("Total_LBAs_Written", "Unknown_Attribute");
        assert_eq!(parse(&unknown).value().unwrap().written_bytes, None);
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
    fn a_bridge_is_tried_in_the_way_that_most_pass_on() {
        let fake = machine();
        fake.put_output("smartctl -j -a /dev/sdb", BRIDGE);
        fake.put_output("smartctl -j -a -d sat /dev/sdb", SATA);
        let found = read(&fake, Path::new("/dev/sdb"), true);
        assert_eq!(found.value().unwrap().used_percent, Some(7));
        fake.put_output("smartctl -j -a -d sat /dev/sdb", REFUSED);
        let reason = read(&fake, Path::new("/dev/sdb"), true);
        let reason = reason.reason().unwrap();
        assert!(reason.starts_with("the USB bridge does not pass it on: Read Device"), "{reason}");
    }

    #[test]
    fn what_cannot_be_asked_says_why() {
        let fake = Fake::new();
        let told = read(&fake, Path::new("/dev/sda"), false);
        assert!(told.reason().unwrap().contains("smartmontools"));
        let fake = machine();
        fake.put_output("smartctl -j -a /dev/sda", "smartctl 6.6\nno json\n");
        let told = read(&fake, Path::new("/dev/sda"), false);
        assert!(told.reason().unwrap().contains("version 7"));
        assert!(read(&fake, Path::new("/dev/sdz"), false).reason().unwrap().contains("not there"));
    }
}
