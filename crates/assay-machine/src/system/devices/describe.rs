//! One whole device: model, identity, queue.

use std::path::{Path, PathBuf};

use assay_core::presence::Presence;

use super::link::{bus, link, usb_device};
use super::{name_of, number_of, place, size_of};
use crate::system::site::{Drive, MemoryCard};
use crate::system::{DeviceNumber, System, sysfs};

/// Everything that can be known of a whole device, by kernel name.
pub fn drive(system: &dyn System, name: &str) -> Drive {
    let block = sysfs::block(name);
    let queue = block.join("queue");
    let bus = bus(system, name);
    let number = |file: &str| sysfs::number(system, &queue.join(file));
    Drive {
        name: name.to_owned(),
        number: number_of(system, name).unwrap_or(DeviceNumber { major: 0, minor: 0 }),
        id: device_id(system, name),
        model: model(system, name, &bus),
        firmware: firmware(system, &block, &bus),
        serial: serial(system, name, &bus),
        size_bytes: size_of(system, name),
        rotational: sysfs::flag(system, &queue.join("rotational")),
        rpm: rotation_rate(system, name, &bus),
        removable: sysfs::flag(system, &block.join("removable")),
        ports: ports(&place(system, name)),
        link: link(system, name, &bus),
        usb_version: usb_version(system, name, &bus),
        card: card(system, name),
        bus,
        scheduler: sysfs::parsed(sysfs::text(system, &queue.join("scheduler")), sysfs::chosen),
        write_cache: sysfs::text(system, &queue.join("write_cache")),
        discard: number("discard_max_bytes").map(|bytes| bytes > 0),
        logical_block_bytes: number("logical_block_size"),
        physical_block_bytes: number("physical_block_size"),
        queue_requests: number("nr_requests"),
        read_ahead_bytes: number("read_ahead_kb").map(|kib| kib.saturating_mul(1024)),
    }
}

/// Rotation rate from VPD page 0xb1 of a SCSI device, also for translated ATA: after four bytes of header (SBC-4,
/// section 6.6.2); 1 means non-rotating, 0 unknown.
fn rotation_rate(system: &dyn System, name: &str, bus: &Presence<String>) -> Presence<u64> {
    const SLOWEST: u16 = 0x401;
    const FASTEST: u16 = 0xfffe;
    const PHYSICAL: [&str; 5] = ["sata", "scsi", "usb", "nvme", "mmc"];
    if bus.value().is_some_and(|bus| !PHYSICAL.contains(&bus.as_str())) {
        return Presence::absent("not a physical drive");
    }
    let block = sysfs::block(name);
    let page = system.read_bytes(&block.join("device/vpd_pgb1")).unwrap_or_default();
    let rate = page.get(4..6).map(|rate| u16::from_be_bytes([rate[0], rate[1]]));
    let rotational = sysfs::flag(system, &block.join("queue/rotational"));
    match rate {
        Some(rate @ SLOWEST..=FASTEST) => Presence::Present(u64::from(rate)),
        Some(1) => Presence::absent("not rotational"),
        _ if rotational.value() == Some(&false) => Presence::absent("not rotational (kernel)"),
        Some(_) => Presence::absent("the drive does not report its rotation rate"),
        None if rotational.value() == Some(&true) => {
            Presence::absent("page 0xb1 is missing (unsupported, or Linux before 5.18)")
        }
        // Absent with the reason of the kernel.
        None => rotational.map(u64::from),
    }
}

fn usb_version(system: &dyn System, name: &str, bus: &Presence<String>) -> Presence<String> {
    if !is_on(bus, "usb") {
        return Presence::absent("not on USB");
    }
    usb_text(system, name, "version")
}

fn card(system: &dyn System, name: &str) -> Presence<MemoryCard> {
    if !name.starts_with("mmcblk") {
        return Presence::absent("not a memory card");
    }
    let text = |file: &str| sysfs::text(system, &sysfs::block(name).join("device").join(file));
    Presence::Present(MemoryCard {
        kind: text("type"),
        maker_id: text("manfid"),
        oem_id: text("oemid"),
        made: text("date"),
    })
}

/// Ports of ATA and USB on the way to a device: `ata1`, `2-1.4`.
fn ports(place: &Path) -> Vec<String> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|sign| sign.is_ascii_digit());
    let is_usb = |name: &str| {
        let parts = name.split_once('-');
        parts.is_some_and(|(bus, port)| is_number(bus) && port.split('.').all(is_number))
    };
    let is_port = |name: &String| name.strip_prefix("ata").is_some_and(is_number) || is_usb(name);
    let names = place.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    names.filter(is_port).collect()
}

fn is_on(bus: &Presence<String>, name: &str) -> bool {
    bus.value().is_some_and(|bus| bus == name)
}

fn model(system: &dyn System, name: &str, bus: &Presence<String>) -> Presence<String> {
    let device = sysfs::block(name).join("device");
    let text = |file: &str| sysfs::text(system, &device.join(file));
    match bus.value().map(String::as_str) {
        Some("usb") => sysfs::first(
            [usb_text(system, name, "product"), scsi_model(text)],
            "the kernel reports no model",
        ),
        Some("mmc") => card_model(text),
        Some("nvme") => text("model"),
        Some("sata" | "scsi") => scsi_model(text),
        Some("virtio") if name.starts_with("sd") => scsi_model(text),
        Some("virtio" | "xen") => Presence::absent("a virtual disk reports no model"),
        _ => Presence::absent("not a physical drive"),
    }
}

/// For ATA drives the vendor field is "ATA".
fn scsi_model(text: impl Fn(&str) -> Presence<String>) -> Presence<String> {
    let vendor = text("vendor").value().filter(|vendor| *vendor != "ATA").cloned();
    text("model").map(|model| match vendor {
        Some(vendor) => format!("{vendor} {model}"),
        None => model,
    })
}

/// A card's name has only five letters, so the manufacturer is added.
fn card_model(text: impl Fn(&str) -> Presence<String>) -> Presence<String> {
    let maker = text("manfid").value().cloned();
    text("name").map(|name| match maker {
        Some(maker) => format!("{name} (maker {maker})"),
        None => name,
    })
}

fn usb_text(system: &dyn System, name: &str, file: &str) -> Presence<String> {
    match usb_device(system, &place(system, name)) {
        Some(device) => sysfs::text(system, &device.join(file)),
        None => Presence::absent("no USB device above this drive"),
    }
}

fn firmware(system: &dyn System, block: &Path, bus: &Presence<String>) -> Presence<String> {
    let files = ["firmware_rev", "rev", "fwrev"].map(|file| block.join("device").join(file));
    if is_on(bus, "virtio") {
        return Presence::absent("a virtual disk has no firmware");
    }
    let sources = files.map(|file| sysfs::text(system, &file));
    sysfs::first(sources, "the kernel reports no firmware revision")
}

fn serial(system: &dyn System, name: &str, bus: &Presence<String>) -> Presence<String> {
    let block = sysfs::block(name);
    let device = block.join("device");
    let text = |path: PathBuf| sysfs::text(system, &path);
    let usb_serial =
        if is_on(bus, "usb") { usb_text(system, name, "serial") } else { Presence::absent("") };
    // The one that identifies the drive best comes first.
    let sources = [
        usb_serial,
        text(device.join("serial")),
        text(block.join("serial")),
        serial_page(system, &device.join("vpd_pg80")),
        text(device.join("wwid")).map(|wwid| serial_of_wwid(&wwid)),
        text(block.join("wwid")),
    ];
    sysfs::first(sources, "the kernel reports no serial number")
}

/// Page 0x80 of a SCSI device: four bytes of header, then the serial number.
fn serial_page(system: &dyn System, path: &Path) -> Presence<String> {
    let page = system.read_bytes(path).unwrap_or_default();
    let text = page.get(4..).map(String::from_utf8_lossy).unwrap_or_default();
    let text = text.trim_matches(|sign: char| sign.is_whitespace() || sign == '\0');
    Presence::from_option((!text.is_empty()).then(|| text.to_owned()), "no serial number page")
}

/// `t10.ATA     MODEL     SERIAL` ends with the serial number; other forms are numbers themselves.
fn serial_of_wwid(wwid: &str) -> String {
    let last = wwid.split_whitespace().next_back().unwrap_or(wwid);
    if wwid.starts_with("t10.") { last } else { wwid }.to_owned()
}

/// ID of a block device for `--destroy`: its serial number, else its by-id name, else NAME:SIZE (`loop3:512MiB`). A
/// partition has the ID of its drive, followed by `-part` and its number.
pub fn device_id(system: &dyn System, name: &str) -> String {
    match partition_of(system, name) {
        Some((drive, number)) => format!("{}-part{number}", whole_device_id(system, &drive)),
        None => whole_device_id(system, name),
    }
}

fn partition_of(system: &dyn System, name: &str) -> Option<(String, u64)> {
    let number = *sysfs::number(system, &sysfs::block(name).join("partition")).value()?;
    let place = place(system, name);
    Some((place.parent()?.file_name()?.to_string_lossy().into_owned(), number))
}

fn whole_device_id(system: &dyn System, name: &str) -> String {
    let name_and_size = || format!("{name}:{}", exact_size(size_of(system, name)));
    lasting_id(system, name).unwrap_or_else(name_and_size)
}

/// Returns whether the ID of a device is persistent; the next device may get a name such as `loop3:512MiB`.
pub fn has_lasting_id(system: &dyn System, name: &str) -> bool {
    let drive = partition_of(system, name).map_or(name.to_owned(), |(drive, _)| drive);
    lasting_id(system, &drive).is_some()
}

fn lasting_id(system: &dyn System, name: &str) -> Option<String> {
    serial(system, name, &bus(system, name)).value().cloned().or_else(|| by_id(system, name))
}

/// The first link in `/dev/disk/by-id` that leads to a device.
fn by_id(system: &dyn System, name: &str) -> Option<String> {
    let directory = Path::new("/dev/disk/by-id");
    let leads_here = |link: &String| {
        let status = system.status(&directory.join(link)).ok();
        let number = status.and_then(|status| status.own_device);
        number.and_then(|number| name_of(system, number)).is_some_and(|found| found == name)
    };
    sysfs::names(system, directory).into_iter().find(leads_here)
}

/// The largest unit in which a size is a whole number: `512MiB`.
fn exact_size(bytes: u64) -> String {
    const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let fits = |(_, power): &&(&str, u32)| bytes > 0 && bytes.is_multiple_of(1 << power);
    match UNITS.iter().find(fits) {
        Some((unit, power)) => format!("{}{unit}", bytes >> power),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers_of_the_largest_unit() {
        assert_eq!(exact_size(512 << 20), "512MiB");
        assert_eq!(exact_size(1 << 40), "1TiB");
        assert_eq!(exact_size((1 << 30) + 1024), "1048577KiB");
        assert_eq!(exact_size(1000), "1000B");
        assert_eq!(exact_size(0), "0B");
    }

    #[test]
    fn serials_of_world_wide_names() {
        assert_eq!(serial_of_wwid("t10.ATA     Samsung SSD 860    S3Z2NB0K"), "S3Z2NB0K");
        assert_eq!(serial_of_wwid("naa.5002538d"), "naa.5002538d");
    }
}
