//! Energy counters of boards, graphics cards and power supplies (`energy*_input` of hwmon).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::system::{System, sysfs};
use assay_core::presence::Presence;

use super::EnergyCounter;
use crate::probes::unused_name;

const ROOT: &str = "/sys/class/hwmon";

/// Labels of counters that include the others of their device, widest first.
const WIDEST: [&str; 3] = ["card", "pkg", "Esocket"];

struct HwmonDevice {
    name: String,
    /// The hardware behind it, if known.
    hardware: Option<PathBuf>,
    joules: BTreeMap<String, f64>,
}

/// Energy counters by device name and label: only those of each device that include its others.
pub fn read(system: &dyn System) -> Presence<BTreeMap<String, EnergyCounter>> {
    let (mut devices, mut with_power) = (Vec::new(), Vec::new());
    for entry in sysfs::names(system, Path::new(ROOT)) {
        let folder = Path::new(ROOT).join(&entry);
        let name = sysfs::text(system, &folder.join("name")).value().cloned().unwrap_or(entry);
        let files = sysfs::names(system, &folder);
        let is_power = |file: &String| {
            file.starts_with("power") && (file.ends_with("_average") || file.ends_with("_input"))
        };
        if files.iter().any(is_power) {
            with_power.push(name.clone());
        }
        let hardware = system.canonical(&folder.join("device")).ok();
        let joules = widest(energies(system, &folder, &files));
        devices.push(HwmonDevice { name, hardware, joules });
    }
    let mut counters = BTreeMap::new();
    for device in devices.iter().filter(|device| !is_part(device, &devices)) {
        for (label, &joules) in &device.joules {
            let name = unused_name(&counters, &format!("{} {label}", device.name));
            let counter =
                EnergyCounter { joules, range_joules: None, most_watts: 0.0, falls: false };
            counters.insert(name, counter);
        }
    }
    with_power.dedup();
    let reason = (!with_power.is_empty())
        .then(|| format!("{} reports only instantaneous power, not energy", with_power.join(", ")));
    Presence::from_option((!counters.is_empty()).then_some(counters), reason.unwrap_or_default())
}

/// Every counter of a device, joules by label.
fn energies(system: &dyn System, folder: &Path, files: &[String]) -> BTreeMap<String, f64> {
    let stems = files.iter().filter_map(|file| file.strip_suffix("_input"));
    let mut joules = BTreeMap::new();
    for stem in stems.filter(|stem| stem.starts_with("energy")) {
        let file = sysfs::number(system, &folder.join(format!("{stem}_input")));
        let Presence::Present(microjoules) = file else { continue };
        let label = sysfs::text(system, &folder.join(format!("{stem}_label")));
        let label = label.value().cloned().unwrap_or_else(|| stem.to_owned());
        joules.insert(label, microjoules as f64 / 1e6);
    }
    joules
}

/// The counters that include the others, as far as known.
fn widest(mut joules: BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let known = WIDEST.iter().find(|kind| joules.keys().any(|label| label.starts_with(**kind)));
    joules.retain(|label, _| known.is_none_or(|kind| label.starts_with(kind)));
    joules
}

/// Returns whether a device is a part of another: `i915_gt0` of `i915` on the same hardware.
fn is_part(device: &HwmonDevice, all: &[HwmonDevice]) -> bool {
    let Some((whole, _)) = device.name.split_once("_gt") else { return false };
    let is_whole = |other: &HwmonDevice| {
        other.name == whole && other.hardware == device.hardware && !other.joules.is_empty()
    };
    all.iter().any(is_whole)
}
