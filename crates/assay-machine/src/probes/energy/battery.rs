//! Energy from batteries while the machine has no other supply.

use std::collections::BTreeMap;
use std::path::Path;

use crate::system::{System, sysfs};
use assay_core::presence::Presence;

use super::EnergyCounter;
use crate::probes::power_supply::SUPPLIES;

const WATT_HOUR: f64 = 3_600.0;

/// Remaining energy of each battery, if all batteries discharge. Absent without a reason if there is no battery.
pub fn read(system: &dyn System) -> Presence<BTreeMap<String, EnergyCounter>> {
    let mut counters = BTreeMap::new();
    for name in sysfs::names(system, Path::new(SUPPLIES)) {
        let folder = Path::new(SUPPLIES).join(&name);
        let text = |file: &str| sysfs::text(system, &folder.join(file)).value().cloned();
        // The battery of a mouse or another device has the scope `Device`.
        let supplies_machine = text("type").is_some_and(|kind| kind == "Battery")
            && text("scope").is_none_or(|scope| scope != "Device");
        if !supplies_machine {
            continue;
        }
        if is_plugged_in(system) || text("status").is_some_and(|status| status == "Charging") {
            return Presence::absent(format!(
                "{name}: the machine runs on mains power, not on battery"
            ));
        }
        let Some(left) = left_joules(system, &folder) else {
            return Presence::absent(format!("{name} does not report the charge"));
        };
        // Two batteries discharge one after the other, so an unchanged one is not an error.
        let counter =
            EnergyCounter { joules: left, range_joules: None, most_watts: 0.0, falls: true };
        counters.insert(name, counter);
    }
    Presence::from_option((!counters.is_empty()).then_some(counters), "")
}

/// Remaining energy of a battery, from the energy that it reports, or from its charge and voltage.
fn left_joules(system: &dyn System, folder: &Path) -> Option<f64> {
    let micro = |file: &str| {
        sysfs::number(system, &folder.join(file)).value().map(|value| *value as f64 / 1e6)
    };
    let watt_hours = micro("energy_now").or_else(|| {
        // The rated voltage comes first: the present one falls under load, as if the battery lost energy.
        let volts = micro("voltage_min_design").or_else(|| micro("voltage_now"))?;
        Some(micro("charge_now")? * volts)
    })?;
    Some(watt_hours * WATT_HOUR)
}

fn is_plugged_in(system: &dyn System) -> bool {
    let supply = crate::probes::power_supply::read(system);
    supply.value().is_some_and(|supply| supply.mains == Some(true))
}
