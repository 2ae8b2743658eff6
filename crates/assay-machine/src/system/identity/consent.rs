//! Consent to overwrite a block device: nothing uses it, and the user typed its ID and the name of everything on it.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::units::show;

use super::tables;
use super::usage::{Family, unknown_state};
use crate::system::signatures::{self, Signature};
use crate::system::site::{Site, TargetKind};
use crate::system::{Caching, Consent, DeviceNumber, System, devices, sysfs};

/// Bytes of the unit of `start` and `size` in sysfs.
const SECTOR: u64 = 512;
/// Offset from which a signature is printed with its place.
const FAR: u64 = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataLoss {
    /// Kernel name of the device or partition that carries it.
    pub device: String,
    pub size_bytes: u64,
    pub signature: Signature,
}

impl DataLoss {
    /// Describes it: `ext4 file system on sdb1 (100 GiB, label "data", UUID ...)`.
    pub fn words(&self) -> String {
        let signature = &self.signature;
        let Signature { name, offset, uuid, label, .. } = signature;
        let mut facts = vec![show::bytes(self.size_bytes)];
        // A copy of a superblock, or data at the end: the start of the device alone would not show it.
        facts.extend((*offset >= FAR).then(|| format!("found at {}", show::bytes(*offset))));
        facts.extend(label.as_ref().map(|label| format!("label {label:?}")));
        facts.extend(uuid.as_ref().map(|uuid| format!("UUID {}", uuid.escape_debug())));
        format!("{name} {} on {} ({})", signature.kind(), self.device, facts.join(", "))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stake {
    pub id: String,
    pub size_bytes: u64,
    pub losses: Vec<DataLoss>,
}

impl Stake {
    /// Names of the lost data, each once, in the order found.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for loss in &self.losses {
            if !names.contains(&loss.signature.name.as_str()) {
                names.push(&loss.signature.name);
            }
        }
        names
    }

    /// Required argument of `--destroy`: the ID and `+NAME` for all lost data.
    pub fn text(&self) -> String {
        let names: Vec<String> = self.names().iter().map(|name| format!("+{name}")).collect();
        format!("{}{}", self.id, names.concat())
    }

    /// Returns what is wrong with a typed `ID+NAME+NAME...`, which must name all lost data; `None` if it is correct.
    fn fault(&self, typed: &str, target: &str) -> Option<String> {
        let after_id = typed.strip_prefix(&self.id);
        let is_end_or_list = |text: &&str| text.is_empty() || text.starts_with('+');
        let Some(list) = after_id.filter(is_end_or_list) else {
            return Some(format!("is not the ID of {target:?}"));
        };
        let given: Vec<&str> = list.split('+').skip(1).collect();
        let wanted = self.names();
        let missing = wanted.iter().filter(|name| !given.contains(name));
        let missing: Vec<&str> = missing.copied().collect();
        if !missing.is_empty() {
            return Some(format!(
                "does not include {}, which {target:?} contains",
                missing.join(" and ")
            ));
        }
        if let Some(spare) = given.iter().find(|name| !wanted.contains(name)) {
            return Some(format!("includes {spare:?}, which {target:?} does not contain"));
        }
        (given.len() > wanted.len()).then(|| "contains a name twice".to_owned())
    }
}

/// Returns the data lost by overwriting a device. Refused while the system uses or expects the device or a part of it,
/// or if usage or content cannot be read; a user error if the target is not a device.
pub fn stake(system: &dyn System, site: &Site) -> Outcome<Stake> {
    let name = match site.counted.first() {
        Some(name) if site.kind == TargetKind::Device => name,
        _ => {
            return Err(Failure::mistake(format!(
                "{:?} is not a block device in sysfs; Assay overwrites only whole devices and partitions",
                site.target
            )));
        }
    };
    let family = Family::read(system, name)?;
    let refuse = |reason: String| Failure::refused(format!("{:?} {reason}", site.target));
    if !family.is_device(site.device) {
        return Err(refuse("is no longer the same device; give the ID again".to_owned()));
    }
    if let Some(reason) = family.in_use(system)? {
        return Err(refuse(reason));
    }
    let losses = find_losses(system, site, &family)?;
    if let Some(reason) = tables::find(system, &family, &losses)? {
        return Err(refuse(reason));
    }
    let size_bytes = devices::size_of(system, name);
    Ok(Stake { id: devices::device_id(system, name), size_bytes, losses })
}

/// Returns the consent to overwrite a device if it is unused and `typed`, the value of `--destroy`, names it with its
/// contents. A user error with the right value if not.
pub fn consent(system: &dyn System, site: &Site, typed: &str) -> Outcome<Consent> {
    // Read first, so that opening the device detects later changes.
    let sequence = disk_sequence(system, site.device);
    let stake = stake(system, site)?;
    let Some(fault) = stake.fault(typed, &site.target) else {
        let (device, number) = (site.path.clone(), site.device);
        return Ok(Consent { device, number, sequence, size_bytes: stake.size_bytes });
    };
    let lost: Vec<String> = stake.losses.iter().map(DataLoss::words).collect();
    let lost = if lost.is_empty() {
        "Assay found no known contents".to_owned()
    } else {
        format!("this would destroy {}", lost.join("; "))
    };
    let text = stake.text();
    Err(Failure::mistake(format!("{typed:?} {fault}; {lost}; type {text:?}")))
}

/// Checks, right before a change, that a device is still the named one and unused.
pub fn confirm(system: &dyn System, consent: &Consent) -> Outcome<()> {
    let device = consent.device.display();
    system
        .open_device_for_writing(consent, Caching::Buffered)
        .map(drop)
        .map_err(|error| Failure::refused(format!("cannot overwrite {device}: {error}")))
}

/// Next step after refusing a device that its user named without consent. The plan prints the required argument with
/// the lost data, because no refusal may hand out a consent option.
pub fn way_on(study: &str, target: &str) -> String {
    format!("run assay plan {study} {target} to see the contents and the ID to type")
}

/// The kernel's sequence number of a device's disk (Linux 5.15); a later disk under the same name has another.
pub fn disk_sequence(system: &dyn System, number: DeviceNumber) -> Option<u64> {
    let place = PathBuf::from(format!("/sys/dev/block/{number}"));
    let files = [place.join("diskseq"), place.join("../diskseq")];
    files.iter().find_map(|file| sysfs::number(system, file).value().copied())
}

/// Finds contents of the device and its partitions, which are read through the device if they have no node.
fn find_losses(system: &dyn System, site: &Site, family: &Family) -> Outcome<Vec<DataLoss>> {
    let unread = |error: io::Error| unknown_state("the contents", &site.path, &error);
    let file = system.open_for_reading(&site.path, Caching::Buffered).map_err(unread)?;
    let length = system.length(&file).map_err(unread)?;
    let mut losses = Vec::new();
    for member in family.members() {
        let device = &member.name;
        let open_node = |_| node_of(system, family, device);
        let part_node = member.start.map(open_node).transpose()?.flatten();
        let (start, size, node) = match member.start {
            None => (0, length, Some(&file)),
            Some(start) => (start.saturating_mul(SECTOR), member.size_bytes, part_node.as_ref()),
        };
        let size_bytes = size.min(length.saturating_sub(start));
        let found = signatures::in_range(system, &file, &(start..start + size_bytes), node)
            .map_err(|error| {
                Failure::refused(format!("cannot check the contents of {device}: {error}"))
            })?;
        for signature in found {
            losses.push(DataLoss { device: device.clone(), size_bytes, signature });
        }
    }
    Ok(losses)
}

/// Opens the device node of a partition, if it exists and leads to the device or a part of it.
fn node_of(system: &dyn System, family: &Family, name: &str) -> Outcome<Option<File>> {
    let path = devices::file_of(name);
    if !family.is_at(system, &path)? {
        return Ok(None);
    }
    let node = system.open_for_reading(&path, Caching::Buffered);
    node.map(Some).map_err(|error| unknown_state("the contents", &path, &error))
}
