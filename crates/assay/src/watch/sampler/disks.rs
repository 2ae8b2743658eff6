//! Selects the disks to watch.

use std::collections::BTreeSet;
use std::path::Path;

use crate::watch::members;
use assay_core::failure::Outcome;
use assay_core::quantity::units::show;
use assay_machine::probes::block_latency;
use assay_machine::system::devices::{self, Below, Counters};
use assay_machine::system::site::Backing;
use assay_machine::system::{DeviceNumber, MOST_TRACED, System, resolve, sysfs};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    pub name: String,
    pub number: DeviceNumber,
    /// Description: `loop, 512 MiB, on vda`.
    pub words: String,
    /// Shown even if idle.
    pub named: bool,
    /// Why its requests cannot be traced, if known.
    pub untraced: Option<String>,
}

/// Returns the named disks, each once, in order; without names, all disks. Fails like [`choose`].
pub fn choose_each(system: &dyn System, wanted: &[String]) -> Outcome<Vec<Disk>> {
    if wanted.is_empty() {
        return all_disks(system);
    }
    let mut disks = Vec::<Disk>::new();
    for name in wanted {
        for disk in choose(system, Some(name))? {
            if !disks.iter().any(|other| other.name == disk.name) {
                disks.push(disk);
            }
        }
    }
    Ok(disks)
}

/// Returns the disks for a kernel name or the path of a device, file or directory; without one, all disks. Fails if the
/// name is unknown or there is no block device below it.
pub fn choose(system: &dyn System, wanted: Option<&str>) -> Outcome<Vec<Disk>> {
    let Some(wanted) = wanted else { return all_disks(system) };
    let is_path = wanted.is_empty() || wanted.contains('/') || wanted.starts_with('.');
    let names = if !is_path && system.status(&sysfs::block(wanted)).is_ok() {
        vec![wanted.to_owned()]
    } else {
        devices_below(system, wanted)?
    };
    let whole_disks: BTreeSet<String> =
        names.iter().map(|name| members::disk_of(system, name)).collect();
    let disks: Vec<Disk> = whole_disks.iter().filter_map(|name| disk(system, name)).collect();
    if disks.is_empty() {
        let names = whole_disks.into_iter().collect::<Vec<_>>().join(" ");
        return Err(refused!(
            "{names}: the device has no number (for example a multipath path); use the name of the drive (see ls /dev)"
        ));
    }
    Ok(disks)
}

fn all_disks(system: &dyn System) -> Outcome<Vec<Disk>> {
    let mut drives = devices::drives(system);
    if drives.len() > MOST_TRACED {
        drives.retain(|drive| !is_often_unused(&drive.name) || was_used(system, &drive.name));
    }
    let mut disks = Vec::new();
    for drive in &drives {
        if let Some(disk) = disk(system, &drive.name) {
            // Often unused ones are shown only when active.
            disks.push(Disk { named: !is_often_unused(&drive.name), ..disk });
        }
    }
    if disks.is_empty() {
        return Err(refused!("nothing to watch: sysfs shows no block device"));
    }
    Ok(disks)
}

/// Returns whether most machines have many unused devices of this type.
fn is_often_unused(name: &str) -> bool {
    ["loop", "zram", "ram", "nbd", "fd", "sr"].iter().any(|start| name.starts_with(start))
}

/// Returns whether a device has completed any request, or its counters are unavailable.
fn was_used(system: &dyn System, name: &str) -> bool {
    devices::counters(system, name).value().is_none_or(|counters| *counters != Counters::default())
}

/// Returns the block devices below a target that share its load.
fn devices_below(system: &dyn System, wanted: &str) -> Outcome<Vec<String>> {
    let site = resolve(system, wanted)?;
    if !site.shared.is_empty() {
        return Ok(site.shared);
    }
    let why = match site.backing {
        Backing::Memory => "the data is in memory".to_owned(),
        Backing::Remote => "the data is on another machine".to_owned(),
        _ => site.backing_reason.unwrap_or_else(|| "the devices below are unknown".to_owned()),
    };
    Err(refused!("cannot watch {wanted}: {why}; see `assay list drives`"))
}

/// Returns a disk that is shown even if idle; `None` if it has no device number.
fn disk(system: &dyn System, name: &str) -> Option<Disk> {
    Some(Disk {
        name: name.to_owned(),
        number: devices::number_of(system, name)?,
        words: describe(system, name),
        named: true,
        untraced: block_latency::why_unseen(system, name),
    })
}

/// Returns model or type, size, and what the disk is on: `loop, 512 MiB, on vda`.
fn describe(system: &dyn System, name: &str) -> String {
    let drive = devices::drive(system, name);
    let (layer, below) = devices::layer(system, name);
    let kind = drive.model.value().cloned().unwrap_or(layer.kind);
    let base = match below {
        Below::Devices(names) if names.is_empty() => String::new(),
        Below::Devices(names) => format!(", on {}", names.join(" ")),
        Below::File(file) => describe_file(system, &file),
    };
    show::clean(&format!("{kind}, {}{base}", show::bytes(drive.size_bytes)))
}

/// Returns where the file of a loop device is; empty if unknown.
fn describe_file(system: &dyn System, file: &Path) -> String {
    let site = file.to_str().and_then(|file| resolve(system, file).ok());
    let Some(site) = site else { return String::new() };
    match site.counted.first() {
        Some(name) => format!(", file on {name}"),
        None if site.backing == Backing::Memory => ", file in memory".to_owned(),
        None => String::new(),
    }
}
