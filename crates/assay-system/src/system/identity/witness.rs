//! A second witness of what a device carries: `blkid` of util-linux, where it is installed. What it
//! recognises and this program does not is a reason to refuse, also what only newer ones know.

use std::fs::File;
use std::io;
use std::ops::Range;

use crate::system::System;
use crate::system::signatures::Signature;

const PROGRAM: &str = "blkid";
/// The open device, handed over as standard input: whatever its name leads to by now.
pub const INPUT: &str = "/proc/self/fd/0";
/// It recognised nothing, or could not look; then it complains.
const NOTHING: i32 = 2;
/// It recognised several things that cannot all be true.
const SEVERAL: i32 = 8;

/// What it calls things, and what that is called here: one of these must have been found.
pub const NAMES: &[(&str, &[&str])] = &[
    ("linux_raid_member", &["md"]),
    ("ddf_raid_member", &["ddf"]),
    ("isw_raid_member", &["isw"]),
    ("lsi_mega_raid_member", &["lsi"]),
    ("via_raid_member", &["via"]),
    ("silicon_medley_raid_member", &["silicon-image"]),
    ("nvidia_raid_member", &["nvidia"]),
    ("promise_fasttrack_raid_member", &["promise"]),
    ("hpt45x_raid_member", &["highpoint"]),
    ("hpt37x_raid_member", &["highpoint"]),
    ("adaptec_raid_member", &["adaptec"]),
    ("jmicron_raid_member", &["jmicron"]),
    ("bcache", &["bcache"]),
    ("bcachefs", &["bcachefs"]),
    ("ceph_bluestore", &["ceph"]),
    ("drbd", &["drbd"]),
    ("drbdmanage_control_volume", &["drbdmanage"]),
    ("drbdproxy_datalog", &["drbdproxy"]),
    ("LVM2_member", &["lvm"]),
    ("LVM1_member", &["lvm1"]),
    ("DM_snapshot_cow", &["lvm-snapshot"]),
    ("DM_verity_hash", &["dm-verity"]),
    ("DM_integrity", &["dm-integrity"]),
    ("crypto_LUKS", &["luks"]),
    ("VMFS_volume_member", &["vmfs-member"]),
    ("ubi", &["ubi"]),
    ("vdo", &["vdo"]),
    ("stratis", &["stratis"]),
    ("BitLocker", &["bitlocker"]),
    ("vfat", &["vfat"]),
    ("swsuspend", &["hibernation"]),
    ("swap", &["swap"]),
    ("xfs", &["xfs"]),
    ("xfs_external_log", &["xfs-journal"]),
    ("exfs", &["exfs"]),
    ("ext4dev", &["ext4"]),
    ("ext4", &["ext4"]),
    ("ext3", &["ext3"]),
    ("ext2", &["ext2"]),
    ("jbd", &["ext-journal"]),
    ("reiserfs", &["reiserfs"]),
    ("reiser4", &["reiser4"]),
    ("jfs", &["jfs"]),
    ("udf", &["udf"]),
    ("iso9660", &["iso9660"]),
    ("zfs_member", &["zfs"]),
    ("hfsplus", &["hfsplus"]),
    ("hfs", &["hfs"]),
    ("ufs", &["ufs"]),
    ("hpfs", &["hpfs"]),
    ("sysv", &["sysv"]),
    ("xenix", &["xenix"]),
    ("ntfs", &["ntfs"]),
    ("ReFS", &["refs"]),
    ("cramfs", &["cramfs"]),
    ("romfs", &["romfs"]),
    ("minix", &["minix"]),
    ("gfs", &["gfs"]),
    ("gfs2", &["gfs2"]),
    ("ocfs", &["ocfs"]),
    ("ocfs2", &["ocfs2"]),
    ("oracleasm", &["oracle-asm"]),
    ("vxfs", &["vxfs"]),
    ("squashfs", &["squashfs"]),
    ("squashfs3", &["squashfs"]),
    ("nss", &["nss"]),
    ("btrfs", &["btrfs"]),
    ("ubifs", &["ubifs"]),
    ("bfs", &["bfs"]),
    ("VMFS", &["vmfs"]),
    ("befs", &["befs"]),
    ("nilfs2", &["nilfs2"]),
    ("exfat", &["exfat"]),
    ("f2fs", &["f2fs"]),
    ("mpool", &["mpool"]),
    ("apfs", &["apfs"]),
    ("zonefs", &["zonefs"]),
    ("erofs", &["erofs"]),
    // Tables of partitions; the MBR of a GPT stands alone where the rest was wiped.
    // A boot sector of these ends like a table.
    ("dos", &["dos", "exfat", "ntfs", "bitlocker"]),
    ("gpt", &["gpt"]),
    ("PMBR", &["gpt", "dos"]),
    ("mac", &["mac"]),
    ("sun", &["sun"]),
    ("bsd", &["bsd"]),
    ("aix", &["aix"]),
    ("sgi", &["sgi"]),
    ("atari", &["atari"]),
    ("ultrix", &["ultrix"]),
];

/// The other program, asked about an open device.
pub struct Witness<'a> {
    system: &'a dyn System,
    device: &'a File,
}

impl<'a> Witness<'a> {
    /// Where it is installed. Others of the same name take other options and are no witness.
    ///
    /// # Errors
    /// When it is there and does not answer.
    pub fn of(system: &'a dyn System, device: &'a File) -> io::Result<Option<Self>> {
        if system.program(PROGRAM).is_none() {
            return Ok(None);
        }
        let told = system.told_of(PROGRAM, &["-V"], device)?;
        let ours = [told.text, told.complaint].iter().any(|said| said.contains("util-linux"));
        Ok(ours.then_some(Self { system, device }))
    }

    /// What it recognises in a range of the device and this program did not, if anything.
    ///
    /// # Errors
    /// When it could not look: then it cannot be told whether both agree.
    pub fn unseen(&self, range: &Range<u64>, found: &[Signature]) -> io::Result<Option<String>> {
        if range.is_empty() {
            return Ok(None);
        }
        let (start, size) = (range.start.to_string(), (range.end - range.start).to_string());
        let words = ["-p", "-o", "export", "-O", &start, "-S", &size, INPUT];
        let told = self.system.told_of(PROGRAM, &words, self.device)?;
        let complaint = told.complaint.trim();
        match told.code {
            Some(0) => Ok(contradiction(&told.text, found)),
            Some(NOTHING) if complaint.is_empty() => Ok(None),
            Some(SEVERAL) if found.len() > 1 => Ok(None),
            Some(SEVERAL) => Ok(Some("several things at once".to_owned())),
            code => {
                let code = code.map_or("a signal".to_owned(), |code| format!("code {code}"));
                Err(io::Error::other(format!("{PROGRAM} ended with {code} {complaint}")))
            }
        }
    }
}

/// The first thing in what it printed (`KEY=value`) that was not found.
fn contradiction(text: &str, found: &[Signature]) -> Option<String> {
    let values = text.lines().filter_map(|line| line.split_once('='));
    let mut told = values.filter(|(key, _)| ["TYPE", "PTTYPE"].contains(key));
    let seen = |theirs: &str| {
        let names = NAMES.iter().find(|(name, _)| *name == theirs);
        names.is_some_and(|(_, ours)| found.iter().any(|found| ours.contains(&found.name)))
    };
    told.find(|(_, theirs)| !seen(theirs)).map(|(_, theirs)| theirs.escape_debug().to_string())
}
