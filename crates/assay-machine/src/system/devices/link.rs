//! The link of a drive and its maximum bandwidth.

use std::path::{Path, PathBuf};

use assay_core::presence::Presence;

use super::{numbered_part, place};
use crate::system::site::Link;
use crate::system::{System, sysfs};

/// Bus of a device; a part of the path decides before the name, because a USB drive has the name of a SCSI disk.
pub fn bus(system: &dyn System, name: &str) -> Presence<String> {
    const BY_PART: [(&str, &str); 4] =
        [("usb", "usb"), ("ata", "sata"), ("virtio", "virtio"), ("mmc", "mmc")];
    let place = place(system, name);
    let by_part = BY_PART.iter().find(|(part, _)| numbered_part(&place, part).is_some());
    let by_part = by_part.map(|(_, bus)| *bus);
    let bus = by_part.or_else(|| bus_of_name(name)).or_else(|| bus_of_parts(&place));
    Presence::from_option(bus.map(str::to_owned), "the device's sysfs path does not show the bus")
}

fn bus_of_name(name: &str) -> Option<&'static str> {
    const BUSES: [&str; 8] = ["nvme", "loop", "zram", "md", "bcache", "nbd", "rbd", "ram"];
    match name {
        _ if name.starts_with("mmcblk") => Some("mmc"),
        _ if name.starts_with("dm-") => Some("device-mapper"),
        _ if name.starts_with("nullb") => Some("null"),
        _ => BUSES.into_iter().find(|bus| name.starts_with(bus)),
    }
}

fn bus_of_parts(place: &Path) -> Option<&'static str> {
    let has = |start: &str| place.iter().any(|part| part.to_string_lossy().starts_with(start));
    if has("vbd-") {
        Some("xen")
    } else if has("VMBUS:") {
        Some("hyper-v")
    } else if numbered_part(place, "host").is_some() {
        Some("scsi")
    } else {
        None
    }
}

pub fn link(system: &dyn System, name: &str, bus: &Presence<String>) -> Presence<Link> {
    let place = place(system, name);
    match bus {
        Presence::Present(bus) => match bus.as_str() {
            "sata" => sata(system, &place),
            "usb" => usb(system, &place),
            "nvme" => nvme(system, &place),
            "mmc" => mmc(system, &place),
            "virtio" | "xen" => Presence::absent("a virtual disk has no link"),
            "scsi" => Presence::absent("the kernel reports no speed for this bus"),
            _ => Presence::absent("not a physical drive"),
        },
        Presence::Absent(reason) => Presence::absent(reason),
    }
}

fn sata(system: &dyn System, place: &Path) -> Presence<Link> {
    let port = numbered_part(place, "ata").unwrap_or_default().replace("ata", "link");
    let file = Path::new("/sys/class/ata_link").join(port).join("sata_spd");
    sysfs::parsed(sysfs::text(system, &file), sata_link)
}

/// Bandwidth of a SATA link, from its speed in the kernel's format (`6.0 Gbps`): 8b/10b coded.
fn sata_link(speed: &str) -> Option<Link> {
    let number = speed.split_whitespace().next()?;
    let gigabits: f64 = number.parse().ok()?;
    link_of(format!("SATA {number} Gbit/s"), gigabits * 1e9 / 10.0)
}

/// The link of a USB drive with its driver: `uas` queues requests, `usb-storage` sends one at a time.
fn usb(system: &dyn System, place: &Path) -> Presence<Link> {
    let Some(device) = usb_device(system, place) else {
        return Presence::absent("no parent USB device reports a speed");
    };
    let interface = place.ancestors().find(|directory| directory.parent() == Some(&device));
    let driver = interface.and_then(|path| system.read_link(&path.join("driver")).ok());
    let driver = driver.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy());
    sysfs::parsed(sysfs::text(system, &device.join("speed")), usb_link).map(|link| match driver {
        Some(driver) => Link { name: format!("{} ({driver})", link.name), ..link },
        None => link,
    })
}

pub fn usb_device(system: &dyn System, place: &Path) -> Option<PathBuf> {
    let has = |directory: &Path, file: &str| system.read_text(&directory.join(file)).is_ok();
    place
        .ancestors()
        .find(|directory| has(directory, "speed") && has(directory, "idVendor"))
        .map(Path::to_path_buf)
}

/// The link for a speed in megabits per second. Line codes take a part: 8b/10b at 5 Gbit/s, 128b/132b above.
fn usb_link(speed: &str) -> Option<Link> {
    let megabits: f64 = speed.parse().ok()?;
    let payload = match megabits {
        ..5000.0 => 1.0,
        ..10_000.0 => 8.0 / 10.0,
        _ => 128.0 / 132.0,
    };
    let name = if megabits < 1000.0 {
        format!("USB {megabits} Mbit/s")
    } else {
        format!("USB {} Gbit/s", megabits / 1000.0)
    };
    link_of(name, megabits * 1e6 / 8.0 * payload)
}

fn nvme(system: &dyn System, place: &Path) -> Presence<Link> {
    pcie_on_way(system, &nvme_controller(system, place))
}

/// The slowest PCIe link on the way to a place in sysfs: a bridge may be narrower than the device.
pub fn pcie_on_way(system: &dyn System, place: &Path) -> Presence<Link> {
    let links = place.ancestors().filter_map(|directory| pcie_at(system, directory));
    let slowest = links.min_by(|a, b| a.ceiling_bytes_per_s.total_cmp(&b.ceiling_bytes_per_s));
    Presence::from_option(slowest, "no PCIe link (another transport, or a guest)")
}

/// The fastest PCIe link that the device with this directory in sysfs supports.
pub fn pcie_most(system: &dyn System, place: &Path) -> Presence<Link> {
    let read = |file: &str| sysfs::text(system, &place.join(file));
    let (speed, width) = (read("max_link_speed"), read("max_link_width"));
    match speed.both(&width, |speed, width| pcie_link(speed, width)) {
        Presence::Present(link) => Presence::from_option(link, "the PCIe link reports no speed"),
        Presence::Absent(_) => Presence::absent("no separate PCIe link"),
    }
}

/// Directory of the controller: the drive's, or with multipath a controller that its subsystem lists.
fn nvme_controller(system: &dyn System, place: &Path) -> PathBuf {
    let subsystem = place.ancestors().find(|part| {
        part.file_name().is_some_and(|name| name.to_string_lossy().starts_with("nvme-subsys"))
    });
    let Some(subsystem) = subsystem else { return place.to_path_buf() };
    let is_controller = |name: &String| numbered_part(Path::new(name), "nvme").is_some();
    let controller = sysfs::names(system, subsystem).into_iter().find(is_controller);
    controller
        .and_then(|name| system.canonical(&subsystem.join(name)).ok())
        .unwrap_or_else(|| place.to_path_buf())
}

/// The current PCIe link of a directory in sysfs; its name includes a faster link that the device supports.
fn pcie_at(system: &dyn System, directory: &Path) -> Option<Link> {
    let read = |file: &str| system.read_text(&directory.join(file)).ok();
    let current = pcie_link(&read("current_link_speed")?, &read("current_link_width")?)?;
    let maximum = pcie_link(
        &read("max_link_speed").unwrap_or_default(),
        &read("max_link_width").unwrap_or_default(),
    );
    let faster = maximum.filter(|link| link.ceiling_bytes_per_s > current.ceiling_bytes_per_s);
    let name = match faster {
        Some(maximum) => format!("{} (device supports {})", current.name, maximum.name),
        None => current.name,
    };
    Some(Link { name, ..current })
}

/// The link for the kernel's speed `16.0 GT/s PCIe` and width `4`, with its payload after line coding.
fn pcie_link(speed: &str, width: &str) -> Option<Link> {
    let lanes: u32 = width.trim().parse().ok().filter(|lanes| (1..=32).contains(lanes))?;
    let transfers: f64 = speed.split_whitespace().next()?.parse().ok()?;
    let generation = match transfers {
        2.5 => "1.0",
        5.0 => "2.0",
        8.0 => "3.0",
        16.0 => "4.0",
        32.0 => "5.0",
        64.0 => "6.0",
        _ => return None,
    };
    let payload = match transfers {
        ..8.0 => 8.0 / 10.0,
        ..64.0 => 128.0 / 130.0,
        _ => 242.0 / 256.0,
    };
    let bytes = transfers * 1e9 / 8.0 * payload * f64::from(lanes);
    link_of(format!("PCIe {generation} x{lanes}"), bytes)
}

fn mmc(system: &dyn System, place: &Path) -> Presence<Link> {
    let host = numbered_part(place, "mmc").unwrap_or_default();
    match sysfs::text(system, &Path::new("/sys/kernel/debug").join(host).join("ios")) {
        Presence::Present(text) => {
            Presence::from_option(mmc_link(&text), "the card slot does not report the clock")
        }
        Presence::Absent(_) => {
            Presence::absent("the kernel reports the bus speed of a card only in debugfs")
        }
    }
}

/// The link of a card slot: clock times bus width, twice for the modes that use both edges of the clock.
fn mmc_link(ios: &str) -> Option<Link> {
    let field = |name: &str| {
        let line = ios.lines().find_map(|line| line.trim().strip_prefix(name));
        line.and_then(|rest| rest.trim_start().strip_prefix(':')).map(str::trim)
    };
    let bracketed =
        |name: &str| field(name).and_then(|text| text.split_once('(')?.1.strip_suffix(')'));
    let clock = field("actual clock").or_else(|| field("clock"))?;
    let hertz: f64 = clock.split_whitespace().next()?.parse().ok()?;
    let bits: f64 = bracketed("bus width")?.split_whitespace().next()?.parse().ok()?;
    let timing = bracketed("timing spec").unwrap_or("unknown timing");
    let mode = timing.to_lowercase();
    let edges = if mode.contains("ddr") || mode.contains("hs400") { 2.0 } else { 1.0 };
    let name = format!("{timing}, {bits} bit, {} MHz", hertz / 1e6);
    link_of(name, hertz * bits * edges / 8.0)
}

fn link_of(name: String, ceiling_bytes_per_s: f64) -> Option<Link> {
    // Line codes leave meaningless fractions, so round to bytes.
    let ceiling_bytes_per_s = ceiling_bytes_per_s.round();
    (ceiling_bytes_per_s > 0.0).then_some(Link { name, ceiling_bytes_per_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling(link: Option<Link>) -> f64 {
        link.unwrap().ceiling_bytes_per_s
    }

    #[test]
    fn sata_loses_a_fifth_to_its_code() {
        assert_eq!(ceiling(sata_link("6.0 Gbps")), 600e6);
        assert_eq!(ceiling(sata_link("3.0 Gbps")), 300e6);
        assert_eq!(ceiling(sata_link("1.5 Gbps")), 150e6);
        assert_eq!(sata_link("<unknown>"), None);
    }

    #[test]
    fn pcie_by_generation_and_lanes() {
        assert_eq!(ceiling(pcie_link("2.5 GT/s PCIe", "1")), 250e6);
        assert_eq!(ceiling(pcie_link("5.0 GT/s PCIe", "2\n")), 1000e6);
        let four = pcie_link("16.0 GT/s PCIe", "4").unwrap();
        assert_eq!(four.name, "PCIe 4.0 x4");
        assert!((four.ceiling_bytes_per_s - 7.877e9).abs() < 1e6);
        assert_eq!(pcie_link("Unknown", "4"), None);
        assert_eq!(pcie_link("8.0 GT/s PCIe", "0"), None);
        assert_eq!(pcie_link("8.0 GT/s PCIe", "255"), None);
    }

    #[test]
    fn usb_by_speed() {
        let stick = usb_link("480").unwrap();
        assert_eq!((stick.name.as_str(), stick.ceiling_bytes_per_s), ("USB 480 Mbit/s", 60e6));
        assert_eq!(ceiling(usb_link("5000")), 500e6);
        assert!((ceiling(usb_link("10000")) - 1.2121e9).abs() < 1e5);
        assert_eq!(usb_link("20000").unwrap().name, "USB 20 Gbit/s");
        assert_eq!(ceiling(usb_link("1.5")), 187_500.0);
        assert_eq!(usb_link("0"), None);
    }

    #[test]
    fn cards_by_clock_and_width() {
        let ios = "clock:\t\t208000000 Hz\nactual clock:\t200000000 Hz\nvdd:\t\t21 (3.3 ~ 3.4 V)\n\
                   bus width:\t2 (4 bits)\ntiming spec:\t6 (sd uhs SDR104)\n";
        let link = mmc_link(ios).unwrap();
        assert_eq!(link.name, "sd uhs SDR104, 4 bit, 200 MHz");
        assert_eq!(link.ceiling_bytes_per_s, 100e6);
        let ddr = "clock:\t50000000 Hz\nbus width:\t2 (4 bits)\ntiming spec:\t7 (sd uhs DDR50)\n";
        assert_eq!(ceiling(mmc_link(ddr)), 50e6);
        assert_eq!(mmc_link("clock:\t0 Hz\nbus width:\t0 (1 bits)\n"), None);
    }
}
