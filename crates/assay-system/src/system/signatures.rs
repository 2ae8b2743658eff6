//! What a device carries: partition tables, file systems, RAID members and the like, told by the
//! marks that their programs leave on it. The reader itself is pure: bytes are handed in by a
//! function.
//!
//! A device without a known mark may still hold something: a card that was filled with random
//! bytes does, and so does a database on a raw device. That is no signature.

mod fields;
mod rare;
mod table;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use super::{Caching, System};
use fields::{Block, Field};

/// What sort of thing left a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    PartitionTable,
    FileSystem,
    /// An encrypted volume.
    Encryption,
    /// A member of an array.
    Raid,
    /// A member of a pool of volumes, or a cache.
    VolumeManager,
    /// Swap space, or the image of a sleeping machine in it.
    Swap,
    /// Anything else, such as the journal of a file system elsewhere.
    Other,
}

impl Kind {
    pub const fn words(self) -> &'static str {
        match self {
            Self::PartitionTable => "partition table",
            Self::FileSystem => "file system",
            Self::Encryption => "encrypted volume",
            Self::Raid => "array member",
            Self::VolumeManager => "volume of a pool",
            Self::Swap => "swap space",
            Self::Other => "data of another program",
        }
    }
}

/// One mark that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What it is called here and after `--destroy`: `gpt`, `ext4`, `luks`.
    pub name: &'static str,
    /// What sort of thing it is.
    pub kind: Kind,
    /// First byte of the structure that holds the mark.
    pub offset: u64,
    /// UUID, as `blkid` prints it.
    pub uuid: Option<String>,
    pub label: Option<String>,
}

/// Fills a buffer with the bytes at an offset; called only within the length that was told.
pub type Read<'a> = dyn Fn(u64, &mut [u8]) -> io::Result<()> + 'a;

/// Where a structure may lie.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// This many bytes from the start.
    Start(u64),
    /// This many bytes before the end, of a length rounded down to a multiple of the second.
    End(u64, u64),
}

impl Place {
    fn offset(self, length: u64) -> Option<u64> {
        match self {
            Self::Start(offset) => Some(offset),
            Self::End(back, unit) => (length - length % unit).checked_sub(back),
        }
    }
}

/// One thing that can be recognised. Offsets count from the start of the structure.
struct Row {
    name: &'static str,
    kind: Kind,
    places: &'static [Place],
    /// Where the mark lies.
    at: u64,
    /// Marks of which one must be there; none where `fits` alone decides.
    magics: &'static [&'static [u8]],
    /// What else must hold.
    fits: Option<fn(&Block<'_>) -> io::Result<bool>>,
    uuid: Field,
    label: Field,
}

impl Row {
    fn find(&self, length: u64, read: &Read<'_>) -> io::Result<Option<Signature>> {
        for place in self.places {
            let Some(offset) = place.offset(length) else { continue };
            let block = Block { length, read, offset };
            if self.is_at(&block)? {
                let (uuid, label) = (self.uuid.of(&block)?, self.label.of(&block)?);
                let (name, kind) = (self.name, self.kind);
                return Ok(Some(Signature { name, kind, offset, uuid, label }));
            }
        }
        Ok(None)
    }

    fn is_at(&self, block: &Block<'_>) -> io::Result<bool> {
        let mut marked = self.magics.is_empty();
        for magic in self.magics {
            marked = marked || block.bytes(self.at, magic.len())? == *magic;
        }
        match self.fits {
            Some(fits) if marked => fits(block),
            _ => Ok(marked),
        }
    }
}

/// Every row, those first that are met often.
fn rows() -> impl Iterator<Item = &'static Row> {
    table::ROWS.iter().chain(rare::ROWS).copied()
}

/// Every name that a mark may have, each once or more often.
pub fn names() -> impl Iterator<Item = &'static str> {
    rows().map(|row| row.name)
}

/// Every known mark on a device of so many bytes, each name once, in the order of the tables.
///
/// # Errors
/// Those of `read`: what a device holds cannot be told from half of it.
pub fn find(length: u64, read: &Read<'_>) -> io::Result<Vec<Signature>> {
    let mut found: Vec<Signature> = Vec::new();
    for row in rows() {
        // A GPT begins with an MBR that only keeps others away.
        let shadowed = row.name == "dos" && found.iter().any(|other| other.name == "gpt");
        let known = found.iter().any(|other| other.name == row.name);
        if !shadowed && !known {
            found.extend(row.find(length, read)?);
        }
    }
    Ok(found)
}

/// Where all structures lie that bear the name, the UUID and the label of one that was found: itself
/// and its copies.
fn copies(length: u64, read: &Read<'_>, of: &Signature) -> io::Result<Vec<u64>> {
    let mut offsets = Vec::new();
    for row in rows().filter(|row| row.name == of.name) {
        for offset in row.places.iter().filter_map(|place| place.offset(length)) {
            let block = Block { length, read, offset };
            let same = row.is_at(&block)?
                && row.uuid.of(&block)? == of.uuid
                && row.label.of(&block)? == of.label;
            if same && !offsets.contains(&offset) {
                offsets.push(offset);
            }
        }
    }
    Ok(offsets)
}

/// Reads an open device from a byte on.
fn reader<'a>(
    system: &'a dyn System,
    file: &'a File,
    start: u64,
) -> impl Fn(u64, &mut [u8]) -> io::Result<()> + 'a {
    move |offset, into| {
        let mut done = 0;
        while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match system.read_at(file, start + offset + done as u64, rest)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => done += count,
            }
        }
        Ok(())
    }
}

/// Every known mark in a byte range of an open device.
///
/// # Errors
/// The kernel's.
pub fn in_range(system: &dyn System, file: &File, range: Range<u64>) -> io::Result<Vec<Signature>> {
    let read = reader(system, file, range.start);
    find(range.end.saturating_sub(range.start), &read)
}

/// Bytes of a device at which there is something of what begins at one of them under a label: that
/// itself and its copies; none where nothing has that label there.
///
/// # Errors
/// The kernel's.
pub fn labelled(
    system: &dyn System,
    device: &Path,
    start: u64,
    label: &str,
) -> io::Result<Vec<u64>> {
    let file = system.open_for_reading(device, Caching::Buffered)?;
    let length = system.length(&file)?.saturating_sub(start);
    let read = reader(system, &file, start);
    let found = find(length, &read)?;
    // mdadm writes the name of the machine, or what stands for it, and a colon before that of an array.
    let is_ours = |found: &&Signature| {
        let own = found.label.as_deref().map(|own| own.rsplit(':').next().unwrap_or(own));
        own == Some(label)
    };
    let Some(ours) = found.iter().find(is_ours) else {
        return Ok(Vec::new());
    };
    Ok(copies(length, &read, ours)?.into_iter().map(|offset| start + offset).collect())
}

#[cfg(test)]
pub(in crate::system) mod tests;
