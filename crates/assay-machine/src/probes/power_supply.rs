//! Mains connection and batteries.

use std::collections::BTreeMap;
use std::path::Path;

use crate::system::{System, sysfs};
use assay_core::{catalogue::About, presence::Presence};
use serde::{Deserialize, Serialize};

use super::look::{Entry, Pair, Presentation, Unit, field};

pub static PROBE: Entry = Entry {
    about: About {
        name: "power-supply",
        summary: "mains power and battery state",
        text: "Reads type, online and status in /sys/class/power_supply just before the run and after write-back \
               completes, because many machines change CPU clocks with the power source. Rule `power-supply` triggers \
               if mains power changes. Ignores batteries of mice and keyboards. Cost: two or three small file reads \
               per supply before and after the run. Needs no privileges; servers and VMs report no power supplies.",
    },
    fields: &[
        field("before.mains", Unit::Word, "mains power before the run"),
        field("before.batteries.*", Unit::Word, "battery state before the run"),
        field("after.mains", Unit::Word, "mains power at the end"),
        field("after.batteries.*", Unit::Word, "battery state at the end"),
    ],
    rules: &["power-supply"],
    presentation: Presentation::Tailored,
    here: Some(|system| read(system).map(|supply| words(&supply))),
};

/// Power source of the machine, before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerSupply {
    pub before: Supply,
    pub after: Supply,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Supply {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mains: Option<bool>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub batteries: BTreeMap<String, String>,
}

pub(super) const SUPPLIES: &str = "/sys/class/power_supply";

pub struct Supplies;

impl Pair for Supplies {
    type Reading = Presence<Supply>;
    type Observed = PowerSupply;

    fn read(system: &dyn System) -> Presence<Supply> {
        read(system)
    }

    fn between(before: &Presence<Supply>, after: &Presence<Supply>) -> Presence<PowerSupply> {
        before.both(after, |early, late| PowerSupply { before: early.clone(), after: late.clone() })
    }
}

/// Reads plugs and batteries of the machine, not those of devices such as a mouse (scope `Device`).
pub(super) fn read(system: &dyn System) -> Presence<Supply> {
    let mut supply = Supply::default();
    for name in sysfs::names(system, Path::new(SUPPLIES)) {
        let folder = Path::new(SUPPLIES).join(&name);
        let text = |file: &str| sysfs::text(system, &folder.join(file)).value().cloned();
        if text("scope").is_some_and(|scope| scope == "Device") {
            continue;
        }
        match text("type").as_deref() {
            Some("Battery") => {
                let status = text("status").unwrap_or_else(|| "Unknown".to_owned());
                supply.batteries.insert(name, status);
            }
            Some(_) => {
                let online = text("online").and_then(|online| online.parse::<u32>().ok());
                // One plug of several is enough: `Some(true)` is the greatest.
                supply.mains = online.map(|online| online > 0).max(supply.mains);
            }
            None => {}
        }
    }
    let is_known = supply.mains.is_some() || !supply.batteries.is_empty();
    Presence::from_option(is_known.then_some(supply), "the kernel reports no power supply")
}

fn words(supply: &Supply) -> String {
    let mains =
        supply.mains.map(|is_on| if is_on { "on mains power" } else { "not on mains power" });
    let batteries = supply.batteries.iter().map(|(name, status)| format!("{name} {status}"));
    mains.map(str::to_owned).into_iter().chain(batteries).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    pub const LAPTOP: &str = "\
file /sys/class/power_supply/ADP1/type Mains
file /sys/class/power_supply/ADP1/online 1
file /sys/class/power_supply/ucsi-source-psy-1/type USB
file /sys/class/power_supply/ucsi-source-psy-1/online 0
file /sys/class/power_supply/BAT0/type Battery
file /sys/class/power_supply/BAT0/status Full
file /sys/class/power_supply/hidpp_battery_0/type Battery
file /sys/class/power_supply/hidpp_battery_0/scope Device
file /sys/class/power_supply/hidpp_battery_0/status Discharging
";

    #[test]
    fn a_plug_that_is_pulled_is_seen() {
        let fake = Fake::recorded(LAPTOP).unwrap();
        let before = read(&fake);
        fake.put("/sys/class/power_supply/ADP1/online", "0\n");
        fake.put("/sys/class/power_supply/BAT0/status", "Discharging\n");
        let found = Supplies::between(&before, &read(&fake));
        let found = found.value().unwrap();
        assert_eq!((found.before.mains, found.after.mains), (Some(true), Some(false)));
        let batteries: Vec<_> = found.after.batteries.iter().collect();
        assert_eq!(batteries, [(&"BAT0".to_owned(), &"Discharging".to_owned())]);
    }

    #[test]
    fn absent_without_supplies() {
        assert!(read(&Fake::new()).reason().unwrap().contains("no power supply"));
        let fake = Fake::new();
        fake.put("/sys/class/power_supply/x/type", "Battery\n");
        fake.put("/sys/class/power_supply/x/scope", "Device\n");
        assert_eq!(read(&fake).value(), None);
    }
}
