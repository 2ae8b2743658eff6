//! Consent for a device that this run created: derived from the devices that the user named, or from Assay's own file,
//! for devices created on them only; or the device is in memory alone.

use std::path::Path;

use assay_core::failure::{Failure, Outcome};

use super::consent::disk_sequence;
use super::tables;
use super::usage::{Family, disk_of, unknown_state};
use crate::system::devices::Below;
use crate::system::journal::{Journal, Undo};
use crate::system::{Consent, FileKind, System, devices};

/// Checks that a device may be overwritten because this run created it: the journal undoes exactly it, it uses only
/// devices in `below`, is not larger, and nothing uses it.
pub fn consent_of_made(
    system: &dyn System,
    journal: &Journal,
    device: &Path,
    undo: &Undo,
    below: &[&Consent],
) -> Outcome<Consent> {
    let refuse = |why: &str| Failure::refused(format!("{} {why}", device.display()));
    if !journal.undos().iter().any(|known| known.is_for_the_same(undo)) {
        return Err(refuse("is not in the journal of this run, so Assay does not touch it"));
    }
    let found = system.status(device);
    let found = found.map_err(|error| unknown_state("the created device", device, &error))?;
    let number = found.own_device.filter(|_| found.kind == FileKind::BlockDevice);
    let number = number.ok_or_else(|| refuse("is not a block device"))?;
    // Read first, so that opening the device detects later changes.
    let sequence = disk_sequence(system, number);
    let name = devices::name_of(system, number);
    let name = name.ok_or_else(|| refuse("is not a device in sysfs"))?;
    if !undo.removes_device(system, &name) {
        return Err(refuse("was not created by this run"));
    }
    let most_bytes = match undo {
        // In memory alone, with the size at creation.
        Undo::Zram { .. } if below.is_empty() && has_nothing_below(system, &name) => {
            Some(devices::size_of(system, &name))
        }
        _ => bytes_below(system, journal, &name, below)?,
    };
    let most_bytes =
        most_bytes.ok_or_else(|| refuse("is on storage that may not be overwritten"))?;
    let family = Family::read(system, &name)?;
    if !family.is_device(number) {
        return Err(refuse("is now another device"));
    }
    if let Some(reason) = family.in_use(system)? {
        return Err(refuse(&reason));
    }
    if let Some(reason) = tables::find(system, &family, &[])? {
        return Err(refuse(&reason));
    }
    let size_bytes = devices::size_of(system, &name);
    if size_bytes > most_bytes {
        return Err(refuse(&format!(
            "has {size_bytes} bytes, but the storage below has only {most_bytes}"
        )));
    }
    Ok(Consent { device: device.to_owned(), number, sequence, size_bytes })
}

fn has_nothing_below(system: &dyn System, name: &str) -> bool {
    matches!(devices::layer(system, name).1, Below::Devices(names) if names.is_empty())
}

/// Bytes of the devices below a device; `None` unless they are exactly those that `consents` permit to overwrite.
fn bytes_below(
    system: &dyn System,
    journal: &Journal,
    name: &str,
    consents: &[&Consent],
) -> Outcome<Option<u64>> {
    let names = match devices::layer(system, name).1 {
        Below::Devices(names) => names,
        Below::File(file) => match devices::name_at(system, &file) {
            Some(name) => vec![name],
            None => return bytes_of_own_file(system, journal, &file, consents),
        },
    };
    if names.is_empty() || names.len() != consents.len() {
        return Ok(None);
    }
    // Each consent permits one device: itself, or a partition of it.
    let mut left: Vec<&Consent> = consents.to_vec();
    let mut bytes = 0_u64;
    for name in &names {
        let disk = disk_of(system, name)?;
        let permits = |consent: &&Consent| {
            let named = devices::name_of(system, consent.number);
            let is_same_disk = disk_sequence(system, consent.number) == consent.sequence;
            is_same_disk
                && named.is_some_and(|named| named == *name || disk.as_ref() == Some(&named))
        };
        let Some(at) = left.iter().position(permits) else { return Ok(None) };
        left.swap_remove(at);
        bytes = bytes.saturating_add(devices::size_of(system, name));
    }
    Ok(Some(bytes))
}

/// Bytes of the file below a device; `None` unless this run created it.
fn bytes_of_own_file(
    system: &dyn System,
    journal: &Journal,
    file: &Path,
    consents: &[&Consent],
) -> Outcome<Option<u64>> {
    let removes_it =
        |undo: &Undo| matches!(undo, Undo::File { path } if is_same_file(system, path, file));
    if !consents.is_empty() || !journal.undos().iter().any(removes_it) {
        return Ok(None);
    }
    let found = system.status(file).map_err(|error| unknown_state("the file", file, &error))?;
    Ok((found.kind == FileKind::File).then_some(found.size_bytes))
}

fn is_same_file(system: &dyn System, one: &Path, other: &Path) -> bool {
    let resolve = |path: &Path| system.canonical(path).ok();
    one == other || resolve(one).is_some_and(|one| resolve(other) == Some(one))
}
