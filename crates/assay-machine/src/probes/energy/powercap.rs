//! Energy of processor packages and of their memory (RAPL and its like, by powercap).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::system::{System, sysfs};
use assay_core::presence::Presence;

use super::EnergyCounter;

const ROOT: &str = "/sys/class/powercap";
/// Upper bound of a package's power without a limit, watts.
const MOST_WATTS: f64 = 1_000.0;
/// Upper bound of the power of a package's memory, watts.
const MOST_MEMORY_WATTS: f64 = 200.0;
/// How far above its limit it may be for a moment.
const ABOVE_LIMIT: f64 = 3.0;
/// The same zones by another way; Linux shows package 0 by both.
const DUPLICATE: &str = "-mmio";

/// A zone: `intel-rapl:0`, or `intel-rapl:0:1` in it.
struct PowercapZone {
    /// What counts: `intel-rapl`.
    control: String,
    /// Numbers after it, outermost first.
    numbers: Vec<u32>,
    /// Name: `package-0`, `dram`, `core`, `uncore`, `psys`.
    name: String,
    path: PathBuf,
}

/// Packages, each once, and their memory. The platform (`psys`) includes both, so it counts only if there is nothing
/// else. `core` and `uncore` are parts of their package.
pub fn read(system: &dyn System) -> Presence<BTreeMap<String, EnergyCounter>> {
    let zones = zones(system);
    let packages = packages(&zones);
    let mut counted: Vec<(String, &PowercapZone)> =
        packages.iter().map(|zone| (zone.name.clone(), *zone)).collect();
    for package in &packages {
        let memory = zones.iter().filter(|zone| {
            zone.name == "dram"
                && zone.control == package.control
                && zone.numbers.starts_with(&package.numbers)
        });
        counted.extend(memory.map(|zone| (format!("dram of {}", package.name), zone)));
    }
    if counted.is_empty() {
        let platform = zones.iter().find(|zone| zone.name == "psys");
        counted.extend(platform.map(|zone| ("psys".to_owned(), zone)));
    }
    if counted.is_empty() {
        return Presence::absent("");
    }
    let read = counted.into_iter().map(|(name, zone)| Ok((name, counter(system, zone)?)));
    match read.collect::<Result<_, String>>() {
        Ok(counters) => Presence::Present(counters),
        Err(reason) => Presence::Absent(reason),
    }
}

/// Zones of CPU packages; a zone that is listed twice counts once, if possible by the direct way.
fn packages(zones: &[PowercapZone]) -> Vec<&PowercapZone> {
    let is_package =
        |zone: &&PowercapZone| zone.name.starts_with("package") && zone.numbers.len() == 1;
    let is_direct = |zone: &PowercapZone| !zone.control.ends_with(DUPLICATE);
    let packages = || zones.iter().filter(is_package);
    let direct: BTreeSet<&str> =
        packages().filter(|zone| is_direct(zone)).map(|zone| zone.name.as_str()).collect();
    packages().filter(|zone| is_direct(zone) || !direct.contains(zone.name.as_str())).collect()
}

/// Every zone once: some are listed at several places.
fn zones(system: &dyn System) -> Vec<PowercapZone> {
    let names = sysfs::names(system, Path::new(ROOT));
    let mut zones: Vec<PowercapZone> =
        names.iter().filter_map(|entry| read_zone(system, entry)).collect();
    let mut seen = BTreeSet::new();
    zones.retain(|zone| system.canonical(&zone.path).is_ok_and(|real| seen.insert(real)));
    zones
}

/// Reads a zone whose directory is named like `intel-rapl:0:1`: the control, then the zone's numbers.
fn read_zone(system: &dyn System, entry: &str) -> Option<PowercapZone> {
    let (control, numbers) = entry.split_once(':')?;
    let path = Path::new(ROOT).join(entry);
    let name = sysfs::text(system, &path.join("name")).value().cloned()?;
    let numbers = numbers.split(':').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    Some(PowercapZone { control: control.to_owned(), numbers, name, path })
}

/// Reads the counter of a zone, with the maximum power that determines how fast the counter can wrap.
fn counter(system: &dyn System, zone: &PowercapZone) -> Result<EnergyCounter, String> {
    let number = |file: &str| sysfs::number(system, &zone.path.join(file));
    let joules = match system.read_text(&zone.path.join("energy_uj")) {
        Ok(text) => {
            let micro: u64 =
                text.trim().parse().map_err(|_| format!("{}: not a number", zone.name))?;
            micro as f64 / 1e6
        }
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(format!(
                "powercap: only root can read the counters; run sudo chmod a+r {ROOT}/{}:*/energy_uj",
                zone.control
            ));
        }
        Err(error) => return Err(format!("powercap: {}: {error}", zone.name)),
    };
    let most = if zone.name == "dram" { MOST_MEMORY_WATTS } else { MOST_WATTS };
    let largest = |kind: &str| {
        let files = (0..3).map(|index| format!("constraint_{index}_{kind}"));
        let all = files.filter_map(|file| number(&file).value().copied());
        all.max().map(|micro| micro as f64 / 1e6).filter(|watts| *watts > 0.0)
    };
    // Zones of memory often have no power limit, but a maximum power.
    let limit_watts = largest("power_limit_uw").or_else(|| largest("max_power_uw"));
    Ok(EnergyCounter {
        joules,
        range_joules: number("max_energy_range_uj").value().map(|micro| *micro as f64 / 1e6),
        most_watts: limit_watts.map_or(most, |watts| (watts * ABOVE_LIMIT).min(most)),
        falls: false,
    })
}
