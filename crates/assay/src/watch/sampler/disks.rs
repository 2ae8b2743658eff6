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
    pub unseen: Option<String>,
}

/// Returns the named disks, each once, in order; without names, all disks.
///
/// # Errors
/// Fails like [`choose`].
pub fn named(system: &dyn System, wanted: &[String]) -> Outcome<Vec<Disk>> {
    if wanted.is_empty() {
        return all_disks(system);
    }
    let mut disks = Vec::<Disk>::new();
    for word in wanted {
        for disk in choose(system, Some(word))? {
            if !disks.iter().any(|other| other.name == disk.name) {
                disks.push(disk);
            }
        }
    }
    Ok(disks)
}

/// Returns the disks for a kernel name or the path of a device, file or directory; without one, all disks.
///
/// # Errors
/// Fails if the name is unknown or there is no block device below it.
pub fn choose(system: &dyn System, wanted: Option<&str>) -> Outcome<Vec<Disk>> {
    let Some(wanted) = wanted else { return all_disks(system) };
    let is_plain = !wanted.is_empty() && !wanted.contains('/') && !wanted.starts_with('.');
    let names = if is_plain && system.status(&sysfs::block(wanted)).is_ok() {
        vec![wanted.to_owned()]
    } else {
        devices_below(system, wanted)?
    };
    let whole: BTreeSet<String> = names.iter().map(|name| members::disk_of(system, name)).collect();
    let disks: Vec<Disk> = whole.iter().filter_map(|name| disk(system, name, true)).collect();
    if disks.is_empty() {
        let names = whole.into_iter().collect::<Vec<_>>().join(" ");
        return Err(refused!(
            "{names}: the device has no number (for example a multipath path); use the name of the drive (see ls /dev)"
        ));
    }
    Ok(disks)
}

fn all_disks(system: &dyn System) -> Outcome<Vec<Disk>> {
    let mut drives = devices::drives(system);
    if drives.len() > MOST_TRACED {
        drives.retain(|drive| !comes_and_goes(&drive.name) || was_used(system, &drive.name));
    }
    let disks: Vec<Disk> = drives
        .iter()
        .filter_map(|drive| disk(system, &drive.name, !comes_and_goes(&drive.name)))
        .collect();
    if disks.is_empty() {
        return Err(refused!("nothing to watch: sysfs shows no block device"));
    }
    Ok(disks)
}

/// Returns whether most machines have many unused devices of this type.
fn comes_and_goes(name: &str) -> bool {
    ["loop", "zram", "ram", "nbd", "fd", "sr"].iter().any(|start| name.starts_with(start))
}

/// Returns whether a device has completed any request.
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

fn disk(system: &dyn System, name: &str, named: bool) -> Option<Disk> {
    let number = devices::number_of(system, name)?;
    let (words, unseen) = (words(system, name), block_latency::why_unseen(system, name));
    Some(Disk { name: name.to_owned(), number, words, named, unseen })
}

fn words(system: &dyn System, name: &str) -> String {
    let drive = devices::drive(system, name);
    let (layer, below) = devices::layer(system, name);
    let kind = drive.model.value().cloned().unwrap_or(layer.kind);
    let base = match below {
        Below::Devices(names) if names.is_empty() => String::new(),
        Below::Devices(names) => format!(", on {}", names.join(" ")),
        Below::File(file) => file_words(system, &file),
    };
    show::clean(&format!("{kind}, {}{base}", show::bytes(drive.size_bytes)))
}

fn file_words(system: &dyn System, file: &Path) -> String {
    let site = file.to_str().and_then(|file| resolve(system, file).ok());
    let name = site.as_ref().and_then(|site| site.counted.first().cloned());
    let in_memory = site.is_some_and(|site| site.backing == Backing::Memory);
    match name {
        Some(name) => format!(", file on {name}"),
        None if in_memory => ", file in memory".to_owned(),
        None => String::new(),
    }
}
