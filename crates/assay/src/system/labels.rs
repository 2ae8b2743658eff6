//! Labels of the file systems that the tool makes, read from their super blocks.

use std::io;
use std::path::Path;

use super::{Caching, System};

/// Where file systems keep their label: first byte of the magic number, the number, first byte of
/// the label, its length.
const PLACES: [(u64, &[u8], u64, usize); 6] = [
    (0x438, &[0x53, 0xEF], 0x478, 16),
    (0, b"XFSB", 108, 12),
    (0x1_0040, b"_BHRfS_M", 0x1_012B, 256),
    (0x52, b"FAT32   ", 0x47, 11),
    (0x36, b"FAT16   ", 0x2B, 11),
    (0x36, b"FAT12   ", 0x2B, 11),
];
/// Bytes from the start of a file system in which all of them lie.
const HEAD: usize = 0x1_1000;

/// Label of the file system that begins at a byte of a device, if one of those does.
pub fn label_at(system: &dyn System, device: &Path, start: u64) -> io::Result<Option<String>> {
    let file = system.open_for_reading(device, Caching::Buffered)?;
    let mut head = vec![0; HEAD];
    let mut filled = 0;
    while filled < HEAD {
        match system.read_at(&file, start + filled as u64, &mut head[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(label_in(&head))
}

fn label_in(head: &[u8]) -> Option<String> {
    let (_, _, start, length) = PLACES.iter().find(|(at, magic, _, _)| {
        head.get(*at as usize..).is_some_and(|rest| rest.starts_with(magic))
    })?;
    let bytes = head.get(*start as usize..*start as usize + length)?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Some(String::from_utf8_lossy(&bytes[..end]).trim_end().to_owned())
}
