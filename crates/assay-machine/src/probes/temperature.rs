//! Temperatures of processors, drives and boards, and whether they reach their limits.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::system::{System, sysfs};
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Pair, Presentation, Unit, field};
use super::unused_name;

pub static PROBE: Entry = Entry {
    about: About {
        name: "temperature",
        summary: "temperatures of CPUs, drives and boards, and their limits",
        text: "Reads temp*_input of every hwmon device with its label and limit, or the thermal zones if there is no \
               hwmon device, just before the run and after write-back completes. Rule `throttled` triggers if a sensor \
               reaches the slowdown temperature of its hardware: temp*_crit for CPUs (coretemp, k10temp, cpu_thermal), \
               temp*_max for NVMe drives, and the passive trip point of a CPU's thermal zone above 45 \u{b0}C. Other \
               limits are operating ranges or unset. CPUs below their maximum clock cause only a note. Cost: one to \
               three small file reads per sensor before and after the run; reading a drive's sensor may take \
               milliseconds. Needs no privileges; most virtual machines have no sensors, and SATA drives need the \
               module drivetemp.",
    },
    fields: &[
        field("sensors.*.before_mc", Unit::Millidegrees, "temperature before the run"),
        field("sensors.*.after_mc", Unit::Millidegrees, "temperature after write-back completes"),
        field("sensors.*.limit_mc", Unit::Millidegrees, "slowdown temperature of the hardware"),
        field("slow_processors", Unit::Count, "CPUs below their maximum clock at the end"),
    ],
    rules: &["throttled"],
    presentation: Presentation::Tailored,
    here: Some(|system| Sensors::read(system).names().map(|names| names.join(", "))),
};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Temperature {
    /// Thousandths of a degree Celsius, by sensor name.
    pub sensors: BTreeMap<String, Sensor>,
    /// CPUs below their highest allowed frequency at the end, because of idling or heat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_processors: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sensor {
    pub before_mc: i64,
    pub after_mc: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_mc: Option<i64>,
}

const HWMON: &str = "/sys/class/hwmon";
const ZONES: &str = "/sys/class/thermal";
const MOST_SENSORS: usize = 64;
/// Plausible range of sensors, thousandths of a degree.
const PLAUSIBLE_MC: std::ops::Range<i64> = -50_000..200_000;
const DRIVES: [&str; 2] = ["nvme", "drivetemp"];
/// hwmon limits at which the hardware throttles; other drivers have operating ranges and alarms.
const SLOWS_DOWN: [(&str, &str); 4] =
    [("coretemp", "crit"), ("k10temp", "crit"), ("cpu_thermal", "crit"), ("nvme", "max")];
/// No hardware throttles below this: a lower limit is unset. Thousandths of a degree.
pub const LEAST_LIMIT_MC: i64 = 45_000;

#[derive(Clone, Debug)]
pub struct TemperatureReading {
    sensors: Presence<Readings>,
    slow_processors: Option<u32>,
}

impl TemperatureReading {
    pub fn names(&self) -> Presence<Vec<String>> {
        self.sensors.clone().map(|sensors| sensors.into_keys().collect())
    }
}

pub struct Sensors;

impl Pair for Sensors {
    type Reading = TemperatureReading;
    type Observed = Temperature;

    fn read(system: &dyn System) -> TemperatureReading {
        let mut found = read_monitors(system);
        if found.is_empty() {
            found = read_zones(system);
        }
        let sensors = (!found.is_empty()).then_some(found);
        TemperatureReading {
            sensors: Presence::from_option(sensors, "the kernel reports no temperature sensor"),
            slow_processors: slow_processors(system),
        }
    }

    fn between(before: &TemperatureReading, after: &TemperatureReading) -> Presence<Temperature> {
        before.sensors.both(&after.sensors, |early, late| {
            let mut sensors = BTreeMap::new();
            for (name, &(after_mc, limit_mc)) in late {
                if let Some(&(before_mc, _)) = early.get(name) {
                    sensors.insert(name.clone(), Sensor { before_mc, after_mc, limit_mc });
                }
            }
            Temperature { sensors, slow_processors: after.slow_processors }
        })
    }
}

/// One temperature of a device of hwmon, or of a thermal zone.
#[derive(Clone, Debug)]
pub struct Monitor {
    folder: PathBuf,
    /// Prefix of its files: `temp1`.
    stem: String,
    /// The driver, or the kind of the zone, if known.
    pub kind: Option<String>,
    /// The driver's label for hwmon devices; otherwise the file prefix.
    pub label: String,
    /// Thousandths of a degree Celsius, which may be below zero.
    pub now_mc: i64,
}

/// All hwmon temperatures; those of drives only if `ask_drives`.
pub fn monitors(system: &dyn System, ask_drives: bool) -> Vec<Monitor> {
    let mut found = Vec::new();
    for device in sysfs::names(system, Path::new(HWMON)) {
        let folder = Path::new(HWMON).join(&device);
        let kind = sysfs::text(system, &folder.join("name")).value().cloned();
        if !ask_drives && kind.as_deref().is_some_and(|kind| DRIVES.contains(&kind)) {
            continue;
        }
        let files = sysfs::names(system, &folder);
        for file in files.iter().filter(|file| file.starts_with("temp")) {
            let Some(stem) = file.strip_suffix("_input") else { continue };
            let Some(now_mc) = thousandths(system, &folder.join(file)) else { continue };
            let label = sysfs::text(system, &folder.join(format!("{stem}_label")));
            let label = label.value().cloned().unwrap_or_else(|| stem.to_owned());
            let (folder, kind, stem) = (folder.clone(), kind.clone(), stem.to_owned());
            found.push(Monitor { folder, stem, kind, label, now_mc });
        }
    }
    found
}

/// All thermal zones of the kernel with a temperature.
pub fn zones(system: &dyn System) -> Vec<Monitor> {
    let names = sysfs::names(system, Path::new(ZONES)).into_iter();
    let zone = |name: String| {
        let folder = Path::new(ZONES).join(&name);
        let now_mc = thousandths(system, &folder.join("temp"))?;
        let kind = sysfs::text(system, &folder.join("type")).value().cloned();
        Some(Monitor { folder, stem: "temp".to_owned(), kind, label: name, now_mc })
    };
    names.filter(|name| name.starts_with("thermal_zone")).filter_map(zone).collect()
}

/// Temperature and limit, by sensor name.
type Readings = BTreeMap<String, (i64, Option<i64>)>;

/// Plausible hwmon temperatures, each with the limit at which the hardware slows down, if known.
fn read_monitors(system: &dyn System) -> Readings {
    let mut readings = BTreeMap::new();
    let is_plausible = |found: &Monitor| PLAUSIBLE_MC.contains(&found.now_mc);
    for found in monitors(system, true).into_iter().filter(is_plausible) {
        let device = found.folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = found.kind.or(device).unwrap_or_default();
        let owner = sensor_owner(system, &found.folder, &name);
        let limit = SLOWS_DOWN.iter().find(|(driver, _)| *driver == name).and_then(|(_, limit)| {
            limit_of(system, &found.folder.join(format!("{}_{limit}", found.stem)))
        });
        add_reading(&mut readings, &format!("{owner} {}", found.label), (found.now_mc, limit));
    }
    readings
}

/// Plausible temperatures of thermal zones; those of CPUs with the limit at which the kernel throttles.
fn read_zones(system: &dyn System) -> Readings {
    let mut readings = BTreeMap::new();
    let is_plausible = |found: &Monitor| PLAUSIBLE_MC.contains(&found.now_mc);
    for found in zones(system).into_iter().filter(is_plausible) {
        let kind = found.kind.unwrap_or(found.label);
        let of_processor = kind.starts_with("cpu") || kind == "x86_pkg_temp";
        let limit = of_processor.then(|| passive_limit(system, &found.folder)).flatten();
        add_reading(&mut readings, &kind, (found.now_mc, limit));
    }
    readings
}

/// Kind of the device, with the name of the drive or card if known.
fn sensor_owner(system: &dyn System, folder: &Path, name: &str) -> String {
    let device = system.canonical(&folder.join("device")).ok();
    let device = device.as_deref().and_then(Path::file_name).map(|file| file.to_string_lossy());
    match device {
        Some(device) if name == "nvme" => device.into_owned(),
        Some(device) if DRIVES.contains(&name) => format!("{name} {device}"),
        _ => name.to_owned(),
    }
}

/// Temperature at which the kernel throttles: the zone's first passive trip point.
fn passive_limit(system: &dyn System, folder: &Path) -> Option<i64> {
    let is_passive = |trip: &usize| {
        let kind = sysfs::text(system, &folder.join(format!("trip_point_{trip}_type")));
        kind.value().is_some_and(|kind| kind == "passive")
    };
    let trip = (0..12).find(is_passive)?;
    limit_of(system, &folder.join(format!("trip_point_{trip}_temp")))
}

fn limit_of(system: &dyn System, path: &Path) -> Option<i64> {
    thousandths(system, path).filter(|mc| (LEAST_LIMIT_MC + 1..PLAUSIBLE_MC.end).contains(mc))
}

fn add_reading(found: &mut Readings, name: &str, value: (i64, Option<i64>)) {
    if found.len() >= MOST_SENSORS {
        return;
    }
    found.insert(unused_name(found, name), value);
}

fn thousandths(system: &dyn System, path: &Path) -> Option<i64> {
    system.read_text(path).ok()?.trim().parse().ok()
}

/// CPUs below their highest allowed frequency, if known.
fn slow_processors(system: &dyn System) -> Option<u32> {
    let root = Path::new("/sys/devices/system/cpu");
    let clock = |cpu: &str, file: &str| {
        sysfs::number(system, &root.join(cpu).join("cpufreq").join(file)).value().copied()
    };
    let is_numbered = |name: &String| {
        let number = name.strip_prefix("cpu");
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let mut slow = None;
    for cpu in sysfs::names(system, root).iter().filter(|name| is_numbered(name)) {
        let now = clock(cpu, "scaling_cur_freq");
        if let Some((now, most)) = now.zip(clock(cpu, "scaling_max_freq")) {
            slow = Some(slow.unwrap_or(0) + u32::from(now < most));
        }
    }
    slow
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    /// A laptop: processor, NVMe drive, two SATA drives; after hwmon of Linux 6.1.
    const LAPTOP: &str = "\
file /sys/class/hwmon/hwmon0/name coretemp
file /sys/class/hwmon/hwmon0/temp1_input 47000
file /sys/class/hwmon/hwmon0/temp1_label Package id 0
file /sys/class/hwmon/hwmon0/temp1_crit 100000
file /sys/class/hwmon/hwmon0/temp1_max 80000
file /sys/class/hwmon/hwmon1/name nvme
dir /sys/devices/pci0000:00/nvme/nvme0
link /sys/class/hwmon/hwmon1/device /sys/devices/pci0000:00/nvme/nvme0
file /sys/class/hwmon/hwmon1/temp1_input 38850
file /sys/class/hwmon/hwmon1/temp1_label Composite
file /sys/class/hwmon/hwmon1/temp1_max 81850
file /sys/class/hwmon/hwmon1/temp1_crit 84850
file /sys/class/hwmon/hwmon2/name drivetemp
dir /sys/devices/ata1/0:0:0:0
link /sys/class/hwmon/hwmon2/device /sys/devices/ata1/0:0:0:0
file /sys/class/hwmon/hwmon2/temp1_input 31000
file /sys/class/hwmon/hwmon2/temp1_max 70000
file /sys/class/hwmon/hwmon3/name acpitz
file /sys/class/hwmon/hwmon3/temp1_input -273200
file /sys/class/hwmon/hwmon4/name coretemp
file /sys/class/hwmon/hwmon4/temp1_input 45000
file /sys/class/hwmon/hwmon4/temp1_label Package id 0
file /sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq 800000
file /sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq 3600000
file /sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq 3600000
file /sys/devices/system/cpu/cpu1/cpufreq/scaling_max_freq 3600000
file /sys/class/thermal/thermal_zone0/type acpitz
file /sys/class/thermal/thermal_zone0/temp 27800
";

    #[test]
    fn sensors_have_names_and_limits() {
        let fake = Fake::recorded(LAPTOP).unwrap();
        let before = Sensors::read(&fake);
        fake.put("/sys/class/hwmon/hwmon1/temp1_input", "82850\n");
        let found = Sensors::between(&before, &Sensors::read(&fake));
        let found = found.value().unwrap();
        let names: Vec<&str> = found.sensors.keys().map(String::as_str).collect();
        let known = [
            "coretemp Package id 0",
            "coretemp Package id 0 2",
            "drivetemp 0:0:0:0 temp1",
            "nvme0 Composite",
        ];
        assert_eq!(names, known);
        let drive = Sensor { before_mc: 38_850, after_mc: 82_850, limit_mc: Some(81_850) };
        assert_eq!(found.sensors["nvme0 Composite"], drive);
        assert_eq!(found.sensors["coretemp Package id 0"].limit_mc, Some(100_000));
        assert_eq!(found.slow_processors, Some(1));
    }

    #[test]
    fn zones_stand_in_where_there_is_no_hwmon() {
        let board = "\
file /sys/class/thermal/thermal_zone0/type cpu-thermal
file /sys/class/thermal/thermal_zone0/temp 61322
file /sys/class/thermal/thermal_zone0/trip_point_0_type critical
file /sys/class/thermal/thermal_zone0/trip_point_0_temp 110000
file /sys/class/thermal/thermal_zone0/trip_point_1_type passive
file /sys/class/thermal/thermal_zone0/trip_point_1_temp 80000
file /sys/class/thermal/cooling_device0/type fan
";
        let reading = Sensors::read(&Fake::recorded(board).unwrap());
        let found = Sensors::between(&reading, &reading);
        let zone = Sensor { before_mc: 61_322, after_mc: 61_322, limit_mc: Some(80_000) };
        assert_eq!(found.value().unwrap().sensors["cpu-thermal"], zone);
    }

    #[test]
    fn limits_that_slow_nothing_down_are_left_out() {
        let board = "\
file /sys/class/hwmon/hwmon0/name jc42
file /sys/class/hwmon/hwmon0/temp1_input 31000
file /sys/class/hwmon/hwmon0/temp1_crit 0
file /sys/class/hwmon/hwmon1/name drivetemp
file /sys/class/hwmon/hwmon1/temp1_input 41000
file /sys/class/hwmon/hwmon1/temp1_max 40000
file /sys/class/hwmon/hwmon2/name coretemp
file /sys/class/hwmon/hwmon2/temp1_input 41000
file /sys/class/hwmon/hwmon2/temp1_crit 0
file /sys/class/hwmon/hwmon3/name acpitz
file /sys/class/hwmon/hwmon3/temp1_input 41000
file /sys/class/hwmon/hwmon3/temp1_crit 90000
";
        let reading = Sensors::read(&Fake::recorded(board).unwrap());
        let found = Sensors::between(&reading, &reading);
        let sensors = &found.value().unwrap().sensors;
        assert_eq!(sensors.len(), 4);
        assert!(sensors.values().all(|sensor| sensor.limit_mc.is_none()), "{sensors:?}");
    }

    #[test]
    fn absent_without_sensors() {
        let reading = Sensors::read(&Fake::new());
        assert!(
            Sensors::between(&reading, &reading)
                .reason()
                .unwrap()
                .contains("no temperature sensor")
        );
    }
}
