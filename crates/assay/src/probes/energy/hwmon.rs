//! Energy counters of boards, graphics cards and power supplies (`energy*_input` of hwmon).

use std::collections::BTreeMap;
use std::path::Path;

use super::Counter;
use crate::seen::Seen;
use crate::system::{System, sysfs};

const ROOT: &str = "/sys/class/hwmon";

/// Counters by the name of their device and their label.
pub fn read(system: &dyn System) -> Seen<BTreeMap<String, Counter>> {
    let (mut counters, mut powers) = (BTreeMap::new(), Vec::new());
    for device in sysfs::names(system, Path::new(ROOT)) {
        let folder = Path::new(ROOT).join(&device);
        let name = sysfs::text(system, &folder.join("name")).value().cloned().unwrap_or(device);
        for file in sysfs::names(system, &folder) {
            if file.starts_with("power") && (file.ends_with("_average") || file.ends_with("_input"))
            {
                powers.push(name.clone());
            }
            let stem = file.strip_suffix("_input").filter(|stem| stem.starts_with("energy"));
            let Some(stem) = stem else { continue };
            let Some(micro) = sysfs::number(system, &folder.join(&file)).value().copied() else {
                continue;
            };
            let label = sysfs::text(system, &folder.join(format!("{stem}_label")));
            let label = label.value().cloned().unwrap_or_else(|| stem.to_owned());
            let counter = Counter {
                joules: micro as f64 / 1e6,
                range_joules: None,
                most_watts: 0.0,
                falls: false,
            };
            counters.insert(format!("{name} {label}"), counter);
        }
    }
    powers.dedup();
    let why = if powers.is_empty() {
        String::new()
    } else {
        format!(
            "{} tells the power of a moment, which is not the energy of a trial",
            powers.join(", ")
        )
    };
    Seen::from_option((!counters.is_empty()).then_some(counters), why)
}
