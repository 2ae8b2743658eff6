//! Whether the machine is plugged in, and what its batteries do.

use std::path::Path;

use super::Probe;
use crate::catalogue::About;
use crate::results::watched::{PowerSupply, Supply};
use crate::seen::Seen;
use crate::system::{System, sysfs};

/// What it says of itself.
pub static PROBE: Probe = Probe {
    about: About {
        name: "power-supply",
        summary: "whether the machine is plugged in, and what its batteries do",
        text: "Reads type, online and status of /sys/class/power_supply right before the run and \
               when everything written was on the device: many machines change their clocks with \
               the plug. The rule `power-supply` speaks when it came or went. Batteries of mice \
               and keyboards are passed over. Costs two or three small files a supply before and \
               after. Needs no rights; servers and virtual machines tell nothing.",
    },
    metrics: &[],
};

/// Where supplies are told.
pub(super) const SUPPLIES: &str = "/sys/class/power_supply";

/// What there is to see of the supplies at one moment.
pub fn read(system: &dyn System) -> Seen<Supply> {
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
                // One plug of several is enough.
                let online = text("online").and_then(|online| online.parse::<u32>().ok());
                supply.mains = online.map(|online| online > 0).max(supply.mains);
            }
            None => {}
        }
    }
    let told = supply.mains.is_some() || !supply.batteries.is_empty();
    Seen::from_option(told.then_some(supply), "the kernel shows no power supply here")
}

/// Both readings.
pub fn between(before: &Seen<Supply>, after: &Seen<Supply>) -> Seen<PowerSupply> {
    before.both(after, |before, after| PowerSupply { before: before.clone(), after: after.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    /// A laptop with a mouse.
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
        let found = between(&before, &read(&fake));
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
