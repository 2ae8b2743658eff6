//! Temperatures: sensors of drives and boards, else the kernel's thermal zones.

use std::path::Path;

use serde::Serialize;

use crate::quantity::units::show;
use crate::seen::Seen;
use crate::system::{System, sysfs};

/// One temperature.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensor {
    /// Driver and label: `nvme Composite`.
    pub name: String,
    /// Degrees Celsius.
    pub celsius: f64,
}

/// Drivers whose sensors a drive answers itself, between the requests of others.
const OF_DRIVES: [&str; 2] = ["nvme", "drivetemp"];

/// All that tell; those of drives only where they may be asked.
pub fn read(system: &dyn System, ask_drives: bool) -> Seen<Vec<Sensor>> {
    let mut found =
        below(system, "/sys/class/hwmon", &|system, folder| of_monitor(system, folder, ask_drives));
    if found.is_empty() {
        found = below(system, "/sys/class/thermal", &of_zone);
    }
    Seen::from_option((!found.is_empty()).then_some(found), "no sensor tells a temperature here")
}

fn below(
    system: &dyn System,
    folder: &str,
    of: &dyn Fn(&dyn System, &Path) -> Vec<Sensor>,
) -> Vec<Sensor> {
    let folder = Path::new(folder);
    let names = sysfs::names(system, folder);
    names.iter().flat_map(|name| of(system, &folder.join(name))).collect()
}

fn of_monitor(system: &dyn System, folder: &Path, ask_drives: bool) -> Vec<Sensor> {
    let driver = sysfs::text(system, &folder.join("name"));
    let driver = driver.value().map_or("sensor", String::as_str);
    if !ask_drives && OF_DRIVES.contains(&driver) {
        return Vec::new();
    }
    let inputs = sysfs::names(system, folder).into_iter();
    let stems = inputs.filter_map(|file| Some(file.strip_suffix("_input")?.to_owned()));
    let stems = stems.filter(|stem| stem.starts_with("temp"));
    stems
        .filter_map(|stem| {
            let celsius = celsius(system, &folder.join(format!("{stem}_input")))?;
            let label = sysfs::text(system, &folder.join(format!("{stem}_label")));
            let label = label.value().map_or_else(|| stem.clone(), Clone::clone);
            Some(Sensor { name: show::clean(&format!("{driver} {label}")), celsius })
        })
        .collect()
}

fn of_zone(system: &dyn System, folder: &Path) -> Vec<Sensor> {
    let name = sysfs::text(system, &folder.join("type"));
    let celsius = celsius(system, &folder.join("temp"));
    let sensor = |celsius| {
        let name = show::clean(name.value().map_or("zone", String::as_str));
        Sensor { name, celsius }
    };
    celsius.map(sensor).into_iter().collect()
}

/// Thousandths of a degree, which may be below zero.
fn celsius(system: &dyn System, path: &Path) -> Option<f64> {
    let thousandths: i64 = system.read_text(path).ok()?.trim().parse().ok()?;
    Some(thousandths as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    #[test]
    fn sensors_have_their_labels_and_zones_stand_in() {
        let fake = Fake::new();
        assert!(read(&fake, true).reason().unwrap().contains("no sensor"));
        fake.put("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
        fake.put("/sys/class/thermal/thermal_zone0/temp", "-1500\n");
        let zone = Sensor { name: "x86_pkg_temp".to_owned(), celsius: -1.5 };
        assert_eq!(read(&fake, true), Seen::Present(vec![zone]));
        fake.put("/sys/class/hwmon/hwmon0/name", "nvme\n");
        fake.put("/sys/class/hwmon/hwmon0/temp1_input", "41850\n");
        fake.put("/sys/class/hwmon/hwmon0/temp1_label", "Composite\n");
        let drive = Sensor { name: "nvme Composite".to_owned(), celsius: 41.85 };
        assert_eq!(read(&fake, true), Seen::Present(vec![drive]));
        let zone = read(&fake, false).value().unwrap()[0].name.clone();
        assert_eq!(zone, "x86_pkg_temp", "a drive is not asked");
    }
}
