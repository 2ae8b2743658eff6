//! Devices without a serial number, as shown by `assay plan`: the next device may get the name `loop3:512MiB`, too. So
//! Assay notes the inspected device and overwrites only that one.
//!
//! A note can only refuse: without one, or after a reboot, the typed ID alone decides.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use assay_core::digest::hexadecimal;
use assay_core::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{disk_sequence, state_directory};
use crate::system::site::Site;
use crate::system::{Caching, System, devices, journal, signatures};

/// Bytes at each end of a device that stand for its content.
const END_BYTES: u64 = 1 << 20;

/// Properties that distinguish devices with the same name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Witnessed {
    /// The start of the machine: numbers of disks count from there.
    boot: String,
    /// When it was shown, RFC 3339.
    at: String,
    /// The kernel's running number of the disk, from Linux 5.15 on.
    sequence: Option<u64>,
    size_bytes: u64,
    /// Digest of both ends of the device; empty if overwritten since, with consent.
    content: String,
}

impl Witnessed {
    fn now(system: &dyn System, site: &Site) -> io::Result<Self> {
        let file = system.open_for_reading(&site.path, Caching::Buffered)?;
        let size_bytes = system.length(&file)?;
        Ok(Self {
            boot: journal::boot_id(system).unwrap_or_default(),
            at: system.now(),
            sequence: disk_sequence(system, site.device),
            size_bytes,
            content: hash_ends(system, &file, size_bytes)?,
        })
    }

    /// Returns a difference from the shown device; `None` if there is none.
    fn find_difference(&self, now: &Self) -> Option<&'static str> {
        if self.size_bytes != now.size_bytes {
            return Some("the size differs");
        }
        if let (Some(then), Some(now)) = (self.sequence, now.sequence) {
            return (then != now).then_some("the kernel reports a different disk sequence number");
        }
        // Without disk sequence numbers, only the content distinguishes devices of the same size.
        if !self.content.is_empty() && self.content != now.content {
            return Some("the contents differ");
        }
        None
    }
}

/// Notes the shown device. Devices with a serial number need no note.
pub fn remember(system: &dyn System, site: &Site) -> io::Result<()> {
    let Some(path) = note_path(system, site) else { return Ok(()) };
    write_note(system, &path, &Witnessed::now(system, site)?)
}

/// Refuses a device that replaced the one that `assay plan` showed under this name since the boot; accepts a device
/// that was not shown.
pub fn as_shown(system: &dyn System, site: &Site) -> Outcome<()> {
    let Some(path) = note_path(system, site) else { return Ok(()) };
    let text = system.read_text(&path).unwrap_or_default();
    let Ok(then) = serde_json::from_str::<Witnessed>(&text) else { return Ok(()) };
    if then.boot != journal::boot_id(system).unwrap_or_default() {
        return Ok(());
    }
    let target = &site.target;
    let now = Witnessed::now(system, site).map_err(|error| {
        Failure::refused(format!(
            "cannot determine whether {target:?} is the device that assay plan showed: {error}"
        ))
    })?;
    if let Some(what) = then.find_difference(&now) {
        return Err(Failure::refused(format!(
            "{target:?} is not the device that assay plan showed at {}: {what}; run assay plan {target:?} again",
            then.at
        )));
    }
    if now.sequence.is_none() {
        // Writes from now on do not indicate another device; if the note cannot be updated, the next run refuses.
        let _ = write_note(system, &path, &Witnessed { content: String::new(), ..now });
    }
    Ok(())
}

fn write_note(system: &dyn System, path: &std::path::Path, shown: &Witnessed) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        system.create_own_directory(directory)?;
    }
    system.write_whole(path, &serde_json::to_vec(shown)?)
}

/// File of a device's note; `None` if it needs none.
fn note_path(system: &dyn System, site: &Site) -> Option<PathBuf> {
    let name = site.counted.first()?;
    if devices::has_lasting_id(system, name) {
        return None;
    }
    Some(state_directory(system).ok()?.join(format!("shown-{name}.json")))
}

/// Hash of the first and the last bytes of a device.
fn hash_ends(system: &dyn System, file: &File, size_bytes: u64) -> io::Result<String> {
    let mut hash = Sha256::new();
    let head_end = END_BYTES.min(size_bytes);
    let tail_start = size_bytes.saturating_sub(END_BYTES).max(head_end);
    for range in [0..head_end, tail_start..size_bytes] {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        signatures::read_exact(system, file, range.start, &mut bytes)?;
        hash.update(&bytes);
    }
    Ok(hexadecimal(&hash.finalize().into()))
}
