//! Signatures on a device: partition tables, filesystems, array members and the like, as `wipefs` and `blkid` of
//! util-linux recognize them.
//!
//! Both programs read a device that Assay has opened, so names cannot lead them to another one. `wipefs` lists
//! everything on a whole device or partition, even with a wrong checksum. `blkid` also reads a range, so it needs no
//! device node of a partition. Neither recognizes a copy of a superblock without the original; [`find_copies`] does.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;

use super::{Caching, Errno, System};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// The open device, which both programs have as standard input.
const INPUT: &str = "/proc/self/fd/0";
/// Exit codes of blkid: nothing recognized, or several signatures of which only one can be valid.
const NOTHING: i32 = 2;
const AMBIVALENT: i32 = 8;
/// Bytes at each end in which the programs look.
const ENDS: u64 = 5 * MIB;
/// The types that Assay creates and removes again, as blkid names them.
const CREATED: &str = "ext2 ext3 ext4 xfs btrfs f2fs vfat exfat ntfs crypto_LUKS linux_raid_member";

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Signature {
    /// The type that blkid prints, and that the user types after `--destroy`: `gpt`, `ext4`, `crypto_LUKS`.
    #[serde(rename = "type")]
    pub name: String,
    /// Usage according to blkid: `filesystem`, `raid`, `crypto`, `partition-table` or `other`.
    pub usage: Option<String>,
    /// First byte of the mark; zero if only blkid recognised it.
    #[serde(deserialize_with = "from_hexadecimal")]
    pub offset: u64,
    pub uuid: Option<String>,
    pub label: Option<String>,
}

impl Signature {
    pub fn kind(&self) -> &'static str {
        match self.usage.as_deref() {
            Some("partition-table") => "partition table",
            Some("filesystem") => "filesystem",
            Some("crypto") => "encrypted volume",
            Some("raid") => "member of an array or pool",
            _ => "data",
        }
    }
}

/// Reads an offset as wipefs prints it: `0x438`.
fn from_hexadecimal<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    let digits = text.strip_prefix("0x").unwrap_or(&text);
    u64::from_str_radix(digits, 16).map_err(serde::de::Error::custom)
}

#[derive(Deserialize)]
struct WipefsAnswer {
    signatures: Vec<Signature>,
}

/// Returns the signatures in a range of an open device, each name once. `node` is the open file of exactly this range.
/// Fails if a program is missing or its output is invalid, or if the device cannot be read.
pub fn in_range(
    system: &dyn System,
    device: &File,
    range: &Range<u64>,
    node: Option<&File>,
) -> io::Result<Vec<Signature>> {
    let mut found = Vec::new();
    if range.is_empty() {
        return Ok(found);
    }
    require_programs(system, device)?;
    let readable = &readable_part(system, device, range)?;
    // wipefs reads a whole node, and treats unreadable data as blank.
    if let Some(node) = node.filter(|_| readable == range) {
        merge(&mut found, wipefs(system, node)?);
    }
    match blkid(system, device, readable, None)? {
        Some(recognised) => merge(&mut found, recognised),
        // wipefs has listed all of them.
        None if found.len() > 1 => {}
        None => return Err(ambivalent()),
    }
    merge(&mut found, find_copies(system, device, readable)?);
    for signature in &found {
        let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "_-.".contains(sign);
        if signature.name.is_empty() || !signature.name.chars().all(is_plain) {
            return Err(io::Error::other(format!("{:?} is not a type", signature.name)));
        }
    }
    // The MBR of a GPT only protects it.
    if found.iter().any(|signature| signature.name == "gpt") {
        found.retain(|signature| signature.name != "PMBR");
    }
    Ok(found)
}

/// Adds signatures with new names, and new facts about known names.
fn merge(found: &mut Vec<Signature>, more: Vec<Signature>) {
    for new in more {
        match found.iter_mut().find(|known| known.name == new.name) {
            Some(known) => {
                known.uuid = known.uuid.take().or(new.uuid);
                known.label = known.label.take().or(new.label);
            }
            None => found.push(new),
        }
    }
}

/// Superblocks of Assay's label at an offset of a device. Default: none.
#[derive(Debug, Default, PartialEq)]
pub struct Superblocks {
    pub has_original: bool,
    pub copies: Vec<u64>,
}

/// Finds superblocks with Assay's label from an offset of a device on. If `mkfs.ext4` is killed, only the copies of the
/// superblock may exist, because it writes them first. They count only if blkid recognizes nothing else: other contents
/// may be newer.
pub fn superblocks(
    system: &dyn System,
    device: &Path,
    start: u64,
    label: &str,
) -> io::Result<Superblocks> {
    let file = system.open_for_reading(device, Caching::Buffered)?;
    let range = start..system.length(&file)?;
    if range.is_empty() {
        return Ok(Superblocks::default());
    }
    require_programs(system, &file)?;
    // Both programs treat unreadable data as blank.
    if readable_part(system, &file, &range)? != range {
        return Err(Errno::IO.into());
    }
    let offsets = |found: Vec<Signature>| found.iter().map(|copy| start + copy.offset).collect();
    // One query per type that Assay creates: signatures of other types cannot make the answer ambiguous.
    for kind in CREATED.split(' ') {
        let found = blkid(system, &file, &range, Some(kind))?.ok_or_else(ambivalent)?;
        for original in found.into_iter().filter(|signature| signature.name == kind) {
            // mdadm puts a host and a colon before the name of an array.
            let full_name = original.label.as_deref();
            let name = full_name.map(|name| name.rsplit(':').next().unwrap_or(name));
            if name == Some(label) {
                let mut copies = find_copies(system, &file, &range)?;
                copies.retain(|copy| copy.uuid.is_some() && copy.uuid == original.uuid);
                return Ok(Superblocks { has_original: true, copies: offsets(copies) });
            }
        }
    }
    if !blkid(system, &file, &range, None)?.is_some_and(|all| all.is_empty()) {
        return Ok(Superblocks::default());
    }
    let mut copies = find_copies(system, &file, &range)?;
    copies.retain(|copy| copy.label.as_deref() == Some(label));
    Ok(Superblocks { has_original: false, copies: offsets(copies) })
}

/// Programs needed to wipe the layers that Assay created.
pub const PROGRAMS: [&str; 2] = ["wipefs", "blkid"];

/// Returns the missing program for wiping; `None` if there is none.
pub fn missing(system: &dyn System) -> Option<String> {
    let missing = PROGRAMS.into_iter().find(|program| system.program(program).is_none())?;
    Some(format!("{missing} is not installed; install the package util-linux"))
}

/// Fails unless both programs are those of util-linux: the blkid of BusyBox ignores the options.
fn require_programs(system: &dyn System, device: &File) -> io::Result<()> {
    for program in PROGRAMS {
        let is_suitable = match system.told_of(program, &["-V"], device) {
            Ok(version) => (version.text + &version.complaint).contains("util-linux"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        };
        if !is_suitable {
            return Err(io::Error::other(
                "cannot check the device contents: wipefs or blkid is missing; install util-linux 2.31 or later",
            ));
        }
    }
    Ok(())
}

/// Returns the readable part of a range: its beginning if the medium fails at the end (EIO). An unreadable
/// beginning is a failure: it may hide a table of partitions that can be rescued.
fn readable_part(system: &dyn System, device: &File, range: &Range<u64>) -> io::Result<Range<u64>> {
    let length = (range.end - range.start).min(ENDS);
    let mut bytes = vec![0; length as usize];
    read_exact(system, device, range.start, &mut bytes)?;
    match read_exact(system, device, range.end - length, &mut bytes) {
        Ok(()) => Ok(range.clone()),
        Err(error) if Errno::find(&error) == Some(Errno::IO) => {
            Ok(range.start..range.start + length)
        }
        Err(error) => Err(error),
    }
}

/// Fills `into` with the bytes from `start` on; fails at the end of the file.
pub fn read_exact(system: &dyn System, file: &File, start: u64, into: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < into.len() {
        match system.read_at(file, start + done as u64, &mut into[done..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => done += count,
        }
    }
    Ok(())
}

fn ambivalent() -> io::Error {
    io::Error::other("blkid found conflicting signatures; run wipefs on the device")
}

/// Asks wipefs for everything on an open device or partition.
fn wipefs(system: &dyn System, node: &File) -> io::Result<Vec<Signature>> {
    let words = ["--no-act", "--json", "--output", "TYPE,USAGE,OFFSET,UUID,LABEL", INPUT];
    let answer = system.told_of("wipefs", &words, node)?;
    let complaint = answer.complaint.trim();
    if answer.code != Some(0) || !complaint.is_empty() {
        return Err(program_failure("wipefs", answer.code, complaint));
    }
    // util-linux before 2.37 prints nothing instead of an empty list.
    if answer.text.trim().is_empty() {
        return Ok(Vec::new());
    }
    match serde_json::from_str::<WipefsAnswer>(&answer.text) {
        Ok(answer) => Ok(answer.signatures),
        Err(error) => Err(io::Error::other(format!("cannot parse the output of wipefs: {error}"))),
    }
}

/// Runs blkid on a range, for any type or only `kind`: finds a file system or array member, and a partition table.
/// `None` if blkid finds several types and cannot decide.
fn blkid(
    system: &dyn System,
    device: &File,
    range: &Range<u64>,
    kind: Option<&str>,
) -> io::Result<Option<Vec<Signature>>> {
    let (start, size) = (range.start.to_string(), (range.end - range.start).to_string());
    let mut words = vec!["-p", "-o", "export", "-O", &start, "-S", &size];
    if let Some(kind) = kind {
        words.extend(["-n", kind]);
    }
    words.push(INPUT);
    let answer = system.told_of("blkid", &words, device)?;
    match (answer.code, answer.complaint.trim()) {
        (Some(0), "") => parse_export(&answer.text).map(Some),
        (Some(NOTHING), "") => Ok(Some(Vec::new())),
        (Some(AMBIVALENT), _) => Ok(None),
        (code, complaint) => Err(program_failure("blkid", code, complaint)),
    }
}

fn program_failure(program: &str, code: Option<i32>, complaint: &str) -> io::Error {
    let code = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
    io::Error::other(format!("{program} failed with {code}: {complaint}"))
}

/// Reads the lines `KEY=value` of `blkid -o export`.
fn parse_export(text: &str) -> io::Result<Vec<Signature>> {
    let value = |key: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once('='));
        lines.find(|(found, _)| *found == key).map(|(_, value)| unescape(value))
    };
    let mut found = Vec::new();
    if let Some(name) = value("TYPE") {
        let label = value("LABEL").or_else(|| value("LABEL_FATBOOT"));
        let (usage, uuid) = (value("USAGE"), value("UUID"));
        found.push(Signature { name, usage, offset: 0, uuid, label });
    }
    if let Some(name) = value("PTTYPE") {
        let usage = Some("partition-table".to_owned());
        found.push(Signature { name, usage, offset: 0, uuid: value("PTUUID"), label: None });
    }
    // For a blank partition blkid prints fields of its disk's partition table.
    if found.is_empty() && value("PART_ENTRY_SCHEME").is_none() {
        return Err(io::Error::other("blkid printed neither TYPE nor PTTYPE"));
    }
    Ok(found)
}

/// Removes the backslash before each escaped character.
fn unescape(value: &str) -> String {
    let mut plain = String::new();
    let mut signs = value.chars();
    while let Some(sign) = signs.next() {
        plain.push(if sign == '\\' { signs.next().unwrap_or(sign) } else { sign });
    }
    plain
}

/// Returns superblock copies of ext and btrfs and headers of a GPT, with their offsets in the range.
fn find_copies(system: &dyn System, file: &File, range: &Range<u64>) -> io::Result<Vec<Signature>> {
    let length = range.end - range.start;
    let mut found = Vec::new();
    let mut block = [0; KIB as usize];
    // A GPT begins in the second sector and has a copy in the last one; btrfs has copies at 64 MiB and 256 GiB.
    let mut places = vec![512, 4 * KIB, 64 * MIB, 256 << 30];
    places.extend([512, 4 * KIB].iter().filter_map(|back| length.checked_sub(*back)));
    // The ext groups 1, 3, 5, 7 and 9 begin with a copy; 16 is the first group of clusters of 16 blocks (`bigalloc`). A
    // group has as many blocks as its map of one block has bits, but fewer than 64 Ki.
    for bytes in [KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB] {
        let blocks = if bytes > 4 * KIB { 65_528.min(8 * bytes) } else { 8 * bytes };
        let first = if bytes == KIB { KIB } else { 0 };
        places.extend([1, 3, 5, 7, 9, 16].map(|group| group * blocks * bytes + first));
    }
    places.sort_unstable();
    places.dedup();
    for offset in places {
        if offset >= length {
            continue;
        }
        block.fill(0);
        let count = (length - offset).min(KIB) as usize;
        read_exact(system, file, range.start + offset, &mut block[..count])?;
        found.extend(parse_copy(&block, offset));
    }
    Ok(found)
}

/// Recognizes a GPT header, or a copy of a btrfs or ext superblock that belongs at this offset.
fn parse_copy(block: &[u8; KIB as usize], offset: u64) -> Option<Signature> {
    let u16_at = |at: usize| u64::from(u16::from_le_bytes([block[at], block[at + 1]]));
    let u32_at = |at: usize| u16_at(at) | u16_at(at + 2) << 16;
    let u64_at = |at: usize| u32_at(at) | u32_at(at + 4) << 32;
    if block.starts_with(b"EFI PART") && (92..=4096).contains(&u32_at(12)) {
        return Some(signature("gpt", "partition-table", offset, None));
    }
    if &block[0x40..0x48] == b"_BHRfS_M" && u64_at(0x30) == offset {
        return Some(signature("btrfs", "filesystem", offset, uuid_at(block, 0x20)));
    }
    // ext at 0x5a: the group of the copy; 0x18: block size, as KiB << shift; 0x14: first block; 0x20: blocks per group;
    // 0x38: magic number.
    let (group, shift) = (u16_at(0x5a), u32_at(0x18).min(6));
    let copy_start = (u32_at(0x14) + group * u32_at(0x20)) << (10 + shift);
    if u16_at(0x38) == 0xef53 && group > 0 && copy_start == offset {
        let (journal, incompatible, read_only) = (u32_at(0x5c) & 4, u32_at(0x60), u32_at(0x64));
        // The masks are the features of ext3.
        let name = match journal {
            _ if incompatible & !0x16 != 0 || read_only & !7 != 0 => "ext4",
            0 => "ext2",
            _ => "ext3",
        };
        let label = block[0x78..0x88].split(|byte| *byte == 0).next().unwrap_or_default();
        let label = String::from_utf8_lossy(label).into_owned();
        let copy = signature(name, "filesystem", offset, uuid_at(block, 0x68));
        return Some(Signature { label: Some(label), ..copy });
    }
    None
}

fn signature(name: &str, usage: &str, offset: u64, uuid: Option<String>) -> Signature {
    Signature { name: name.to_owned(), usage: Some(usage.to_owned()), offset, uuid, label: None }
}

/// Returns the UUID at a byte as blkid prints it.
fn uuid_at(block: &[u8; KIB as usize], at: usize) -> Option<String> {
    let bytes = block[at..].first_chunk().copied()?;
    let digits = format!("{:032x}", u128::from_be_bytes(bytes));
    Some([&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-"))
}

#[cfg(test)]
pub(in crate::system) mod tests;
