//! Graphics devices by name, from sysfs only: on PCI, or known to DRM (on boards without PCI).

use std::path::{Path, PathBuf};

use assay_core::presence::Presence;
use serde::{Deserialize, Serialize};

use super::site::Link;
use super::{System, devices, pci, sysfs};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graphics {
    /// Its PCI slot (`0000:00:02.0`), or its name on the board.
    pub slot: String,
    pub vendor_id: Presence<String>,
    pub device_id: Presence<String>,
    pub vendor: Presence<String>,
    pub name: Presence<String>,
    pub driver: Presence<String>,
    pub memory_bytes: Presence<u64>,
    /// The slowest PCIe link on the way to it, at present: many devices slow their link at idle.
    pub link: Presence<Link>,
    pub link_max: Presence<Link>,
    /// Outputs at which something is connected: `DP-1`.
    pub outputs: Presence<Vec<String>>,
}

/// Graphics devices: those on PCI, then cards of the kernel that are part of the board.
pub fn devices(system: &dyn System) -> Vec<Graphics> {
    let root = Path::new("/sys/bus/pci/devices");
    let is_display = |slot: &String| {
        let class = sysfs::text(system, &root.join(slot).join("class"));
        class.value().is_some_and(|class| class.starts_with("0x03"))
    };
    let slots: Vec<String> = sysfs::names(system, root).into_iter().filter(is_display).collect();
    let cards = cards(system);
    let mut devices = Vec::new();
    // The database has some thousand lines, so it is read only if there is something to name.
    if !slots.is_empty() {
        let names = pci::PciNames::read(system);
        for slot in &slots {
            let place = canonical(system, &root.join(slot));
            devices.push(on_pci(system, &names, slot, &place, card_of(&cards, &place)));
        }
    }
    let is_on_board = |card: &&GraphicsCard| !slots.iter().any(|slot| card.place.ends_with(slot));
    devices.extend(cards.iter().filter(is_on_board).map(|card| on_board(system, card)));
    devices
}

/// `vendor:device` of the PCI devices.
pub fn numbers(devices: &[Graphics]) -> Vec<String> {
    let id_pair =
        |card: &Graphics| Some(format!("{}:{}", card.vendor_id.value()?, card.device_id.value()?));
    devices.iter().filter_map(id_pair).collect()
}

impl Graphics {
    /// Its name, or at least its IDs: `Intel Corporation HD Graphics 530`.
    pub fn label(&self) -> String {
        let numbers = || {
            let ids = [&self.vendor_id, &self.device_id].map(|id| id.value().cloned());
            match ids {
                [Some(vendor), Some(device)] => format!("PCI device {vendor}:{device}"),
                _ => "unnamed graphics device".to_owned(),
            }
        };
        match (self.vendor.value(), self.name.value()) {
            (Some(vendor), Some(name)) => format!("{vendor} {name}"),
            (None, Some(name)) => name.clone(),
            (Some(vendor), None) => format!("{vendor}, {}", numbers()),
            (None, None) => numbers(),
        }
    }
}

struct GraphicsCard {
    /// `card0`.
    name: String,
    place: PathBuf,
}

fn cards(system: &dyn System) -> Vec<GraphicsCard> {
    let root = Path::new("/sys/class/drm");
    let is_card = |name: &String| {
        let number = name.strip_prefix("card").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let names = sysfs::names(system, root).into_iter().filter(is_card);
    let card = |name: String| {
        let place = system.canonical(&root.join(&name).join("device")).ok()?;
        Some(GraphicsCard { name, place })
    };
    names.filter_map(card).collect()
}

fn card_of<'a>(cards: &'a [GraphicsCard], place: &Path) -> Option<&'a GraphicsCard> {
    // A virtual card has its own device below the PCI device.
    cards.iter().find(|card| card.place.starts_with(place))
}

fn canonical(system: &dyn System, path: &Path) -> PathBuf {
    system.canonical(path).unwrap_or_else(|_| path.to_owned())
}

fn on_pci(
    system: &dyn System,
    names: &pci::PciNames,
    slot: &str,
    place: &Path,
    card: Option<&GraphicsCard>,
) -> Graphics {
    let id = |file: &str| {
        let text = sysfs::text(system, &place.join(file));
        text.map(|text| text.trim_start_matches("0x").to_owned())
    };
    let (vendor_id, device_id) = (id("vendor"), id("device"));
    let named = vendor_id.both(&device_id, |vendor, device| names.look_up(vendor, device));
    let [vendor, name] = match named {
        Presence::Present(named) => named,
        Presence::Absent(reason) => [Presence::absent(&reason), Presence::absent(&reason)],
    };
    Graphics {
        slot: slot.to_owned(),
        name: sysfs::first([name.clone(), nvidia_model(system, slot)], name.reason().unwrap_or("")),
        vendor,
        vendor_id,
        device_id,
        driver: driver(system, place),
        memory_bytes: memory(system, place),
        link: devices::pcie_on_way(system, place),
        link_max: devices::pcie_most(system, place),
        outputs: outputs(system, card),
    }
}

fn on_board(system: &dyn System, card: &GraphicsCard) -> Graphics {
    const NOT_ON_PCI: &str = "not on PCI";
    let tree = sysfs::text(system, &card.place.join("of_node/compatible"));
    // `brcm,bcm2711-vc5`, and more general names after it.
    let by_tree = tree.map(|text| text.split('\0').next().unwrap_or_default().to_owned());
    let board_name = card.place.file_name().map(|name| name.to_string_lossy().into_owned());
    Graphics {
        slot: board_name.unwrap_or_else(|| card.name.clone()),
        vendor_id: Presence::absent(NOT_ON_PCI),
        device_id: Presence::absent(NOT_ON_PCI),
        vendor: Presence::absent(NOT_ON_PCI),
        name: sysfs::first([by_tree], "the kernel reports no name"),
        driver: driver(system, &card.place),
        memory_bytes: memory(system, &card.place),
        link: Presence::absent(NOT_ON_PCI),
        link_max: Presence::absent(NOT_ON_PCI),
        outputs: outputs(system, Some(card)),
    }
}

fn nvidia_model(system: &dyn System, slot: &str) -> Presence<String> {
    let file = Path::new("/proc/driver/nvidia/gpus").join(slot).join("information");
    sysfs::parsed(sysfs::text(system, &file), |text| {
        let model = text.lines().find_map(|line| line.strip_prefix("Model:"))?.trim();
        (!model.is_empty()).then(|| model.to_owned())
    })
}

fn driver(system: &dyn System, place: &Path) -> Presence<String> {
    let link = system.read_link(&place.join("driver")).ok();
    let name = link.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
    Presence::from_option(name, "no driver is loaded")
}

fn memory(system: &dyn System, place: &Path) -> Presence<u64> {
    let total = sysfs::number(system, &place.join("mem_info_vram_total"));
    sysfs::first([total], "the driver does not report the size in sysfs")
}

fn outputs(system: &dyn System, card: Option<&GraphicsCard>) -> Presence<Vec<String>> {
    let Some(card) = card else { return Presence::absent("no driver reports the outputs") };
    let root = Path::new("/sys/class/drm");
    let start = format!("{}-", card.name);
    let is_connected = |name: &String| {
        let status = sysfs::text(system, &root.join(name).join("status"));
        status.value().is_some_and(|status| status == "connected")
    };
    let names = sysfs::names(system, root).into_iter().filter(|name| name.starts_with(&start));
    let connected = names.filter(is_connected);
    Presence::Present(
        connected.filter_map(|name| Some(name.strip_prefix(&start)?.to_owned())).collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    /// A desktop with a discrete card in a narrow slot, and a board's display without PCI.
    const MACHINE: &str = "\
file /usr/share/misc/pci.ids
| 1002  Advanced Micro Devices, Inc. [AMD/ATI]
| \t67df  Ellesmere [Radeon RX 470/480/570]
link /sys/bus/pci/devices/0000:01:00.0 ../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0
link /sys/bus/pci/devices/0000:00:1f.0 ../../../devices/pci0000:00/0000:00:1f.0
file /sys/devices/pci0000:00/0000:00:1f.0/class 0x060100
file /sys/devices/pci0000:00/0000:00:01.0/current_link_speed 5.0 GT/s PCIe
file /sys/devices/pci0000:00/0000:00:01.0/current_link_width 4
file /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/class 0x030000
file /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/vendor 0x1002
file /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/device 0x67df
file /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/mem_info_vram_total 8589934592
file /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/current_link_speed 8.0 GT/s PCIe
file /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/current_link_width 16
file /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/max_link_speed 8.0 GT/s PCIe
file /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/max_link_width 16
link /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/driver ../../../../bus/pci/drivers/amdgpu
link /sys/class/drm/card0/device /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0
file /sys/class/drm/card0-DP-1/status connected
file /sys/class/drm/card0-HDMI-A-1/status disconnected
link /sys/class/drm/card1/device /sys/devices/platform/gpu
link /sys/devices/platform/gpu/driver ../../../bus/platform/drivers/vc4-drm
file /sys/devices/platform/gpu/of_node/compatible brcm,bcm2711-vc5
dir /sys/class/drm/renderD128
";

    #[test]
    fn devices_have_names_drivers_memory_and_the_narrowest_link() {
        let found = devices(&Fake::recorded(MACHINE).unwrap());
        let [card, board] = &found[..] else { panic!("{found:?}") };
        assert_eq!(
            card.label(),
            "Advanced Micro Devices, Inc. [AMD/ATI] Ellesmere [Radeon RX 470/480/570]"
        );
        assert_eq!(
            (card.slot.as_str(), card.driver.value().unwrap().as_str()),
            ("0000:01:00.0", "amdgpu")
        );
        assert_eq!(card.memory_bytes, Presence::Present(8 << 30));
        assert_eq!(card.link.value().unwrap().name, "PCIe 2.0 x4");
        assert_eq!(card.link_max.value().unwrap().name, "PCIe 3.0 x16");
        assert_eq!(card.outputs, Presence::Present(vec!["DP-1".to_owned()]));
        assert_eq!((board.label().as_str(), board.slot.as_str()), ("brcm,bcm2711-vc5", "gpu"));
        assert_eq!(board.link.reason(), Some("not on PCI"));
        assert_eq!(numbers(&found), ["1002:67df"]);
    }

    #[test]
    fn without_the_database_the_numbers_are_its_name() {
        let fake = Fake::recorded(MACHINE).unwrap();
        fake.remove("/usr/share/misc/pci.ids");
        let card = &devices(&fake)[0];
        assert_eq!(card.label(), "PCI device 1002:67df");
        assert!(card.name.reason().unwrap().contains("no PCI ID database"));
        let file = "/proc/driver/nvidia/gpus/0000:01:00.0/information";
        fake.put(file, "Model: \t\t NVIDIA GeForce 7300\nIRQ: 1\n");
        assert_eq!(devices(&fake)[0].label(), "NVIDIA GeForce 7300");
    }

    #[test]
    fn a_machine_without_any_has_none() {
        assert!(devices(&Fake::new()).is_empty());
    }
}
