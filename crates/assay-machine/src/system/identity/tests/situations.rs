//! Situations in which a device must not be overwritten, one row each, on machines of text. The
//! same on loop devices: `tests/machine/consent.rs`.

use std::fmt::Write;
use std::io;
use std::path::Path;

use assay_core::failure::{Kind, Outcome};
use assay_testkit::recordings::Recording;

use super::super::*;
use crate::system::{Caching, Consent, DeviceNumber, Fake, Faulty, resolve};

const SECTORS_PER_MIB: u64 = 2048;

fn disk(name: &str, number: &str, mebibytes: u64) -> String {
    let home = format!("/sys/devices/virtual/block/{name}");
    let sectors = mebibytes * SECTORS_PER_MIB;
    format!(
        "link /sys/class/block/{name} {home}\nlink /sys/block/{name} {home}\n\
         link /sys/dev/block/{number} {home}\nfile {home}/dev {number}\nfile {home}/size {sectors}\n\
         file {home}/ro 0\nfile {home}/diskseq 7\ndir {home}/holders\ndir {home}/slaves\n\
         file {home}/uevent DEVNAME={name}\nblock /dev/{name} {number}\n"
    )
}

/// A partition by number, with its start and size in MiB.
fn part(disk: &str, name: &str, number: &str, (at, start, size): (u32, u64, u64)) -> String {
    let home = format!("/sys/devices/virtual/block/{disk}/{name}");
    let (start, size) = (start * SECTORS_PER_MIB, size * SECTORS_PER_MIB);
    format!(
        "link /sys/class/block/{name} {home}\nlink /sys/dev/block/{number} {home}\n\
         file {home}/dev {number}\nfile {home}/size {size}\nfile {home}/start {start}\n\
         file {home}/partition {at}\nfile {home}/ro 0\ndir {home}/holders\n\
         file {home}/uevent PARTN={at}\nblock /dev/{name} {number}\n"
    )
}

/// Root on `sda1`; `sdb` with a GPT and two partitions with ext4 and FAT; `sdc` blank; `loop4` over a file; an NVMe
/// drive with a LUKS partition; a zram device.
pub(super) fn machine() -> Fake {
    let mut text = String::new();
    for (name, number, size) in [
        ("sda", "8:0", 1024),
        ("sdb", "8:16", 1024),
        ("sdc", "8:32", 1024),
        ("loop4", "7:4", 512),
        ("nvme0n1", "259:0", 2048),
        ("zram1", "253:1", 64),
    ] {
        text += &disk(name, number, size);
    }
    text += &part("sda", "sda1", "8:1", (1, 1, 1000));
    text += &part("sdb", "sdb1", "8:17", (1, 1, 400));
    text += &part("sdb", "sdb2", "8:18", (2, 500, 400));
    text += &part("nvme0n1", "nvme0n1p1", "259:1", (1, 1, 1000));
    text += "file /sys/devices/virtual/block/sda/serial ROOT\n\
             file /sys/devices/virtual/block/sdb/serial SERIAL-B\n\
             file /sys/devices/virtual/block/sdc/serial SERIAL-C\n\
             file /sys/devices/virtual/block/nvme0n1/serial S3EVNX0J123456\n\
             file /sys/devices/virtual/block/loop4/loop/backing_file /images/four\n\
             file /images/four x\nfile /images/five x\n\
             device /images/four 8:1\ndevice /images/five 8:1\ndevice /dev 0:6\n\
             file /proc/self/mountinfo\n| 25 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
             | 26 25 0:30 / /tmp rw - tmpfs tmpfs rw\n\
             file /proc/swaps\n| Filename Type Size Used Priority\n\
             file /etc/fstab\n| # comment /dev/sdb1\n| UUID=00000000-1111-2222-3333-444444444444 / ext4 defaults 0 1\n\
             file /etc/crypttab\n| # nothing\n";
    let fake = Fake::recorded(&text).unwrap();
    for (number, start, lines) in [
        ((8, 16), 0, "gpt partition-table 0ee828f1-547e-4ec9-a932-3539813c185e -"),
        ((8, 16), 1 << 20, FOURTH),
        ((8, 16), 500 << 20, "vfat filesystem 8270-A12B THIRTYTWO"),
        ((259, 0), 1 << 20, CLOSED),
        ((259, 1), 0, CLOSED),
        ((8, 17), 0, FOURTH),
    ] {
        fake.put_marks(number_of(number), start, lines).unwrap();
    }
    fake
}

const FOURTH: &str = "ext4 filesystem 51963364-7423-424f-9fd0-05c2673ad644 fourth";
const CLOSED: &str = "crypto_LUKS crypto 67b0057a-386d-47b8-b3b5-55da871ff3a6 closed";

pub(super) fn number_of((major, minor): (u32, u32)) -> DeviceNumber {
    DeviceNumber { major, minor }
}

pub(super) const B: (&str, &str) = ("/dev/sdb", "SERIAL-B+gpt+ext4+vfat");
pub(super) const B1: (&str, &str) = ("/dev/sdb1", "SERIAL-B-part1+ext4");
pub(super) const C: (&str, &str) = ("/dev/sdc", "SERIAL-C");
pub(super) const LOOP: (&str, &str) = ("/dev/loop4", "loop4:512MiB");
const NVME: (&str, &str) = ("/dev/nvme0n1p1", "S3EVNX0J123456-part1+crypto_LUKS");
const ZRAM: (&str, &str) = ("/dev/zram1", "zram1:64MiB");

pub(super) fn give(system: &Fake, (target, typed): (&str, &str)) -> Outcome<Consent> {
    consent(system, &resolve(system, target).unwrap(), typed)
}

fn mounts(line: &str) -> String {
    format!("file /proc/self/mountinfo\n| 25 1 8:1 / / rw - ext4 /dev/sda1 rw\n| {line}\n")
}

fn swap(path: &str) -> String {
    format!("file /proc/swaps\n| Filename Type Size Used Priority\n| {path} partition 1 0 -2\n")
}

fn fstab(line: &str) -> String {
    format!("file /etc/fstab\n| {line}\n")
}

fn holder(below: &str, name: &str, more: &str) -> String {
    let mut text = disk(name, "252:9", 64);
    write!(text, "link /sys/class/block/{below}/holders/{name} /sys/class/block/{name}\n{more}")
        .unwrap();
    // Links in sysfs lead into the tree of devices.
    text.replace(
        &format!("link /sys/class/block/{below}/holders"),
        &format!("link {}/holders", home(below)),
    )
}

pub(super) fn home(name: &str) -> String {
    let disk = name.strip_suffix(char::is_numeric).filter(|disk| disk.starts_with("sd"));
    let above = disk.map_or_else(String::new, |disk| format!("{disk}/"));
    format!("/sys/devices/virtual/block/{above}{name}")
}

/// Name of the situation, device, recorded files, and expected words.
type Situation = (&'static str, (&'static str, &'static str), String, &'static str);

#[rustfmt::skip]
fn refused() -> Vec<Situation> {
    let loop5 = disk("loop5", "7:5", 512);
    let backed = |by: &str| format!("{loop5}file {}/loop/backing_file {by}\n", home("loop5"));
    let dm = |uuid: &str| format!("file {}/dm/uuid {uuid}\n", home("dm-9"));
    vec![
        ("a mounted disk", C, mounts("30 25 8:32 / /srv rw - ext4 /dev/sdc rw"), "is mounted on \"/srv\""),
        ("a disk with a mounted partition", B, mounts("30 25 8:17 / /srv rw - ext4 /dev/sdb1 rw"), "is mounted on \"/srv\" (sdb1)"),
        ("a mounted partition", B1, mounts("30 25 8:17 / /srv rw - ext4 /dev/sdb1 rw"), "is mounted on \"/srv\""),
        ("a partition of a disk that is mounted whole", B1, mounts("30 25 8:16 / /srv rw - ext4 /dev/sdb rw"), "is mounted on \"/srv\" (sdb)"),
        ("the disk of the root file system", ("/dev/sda", "ROOT"), String::new(), "is mounted on \"/\" (sda1)"),
        ("a bound directory of it", C, mounts("30 25 8:32 /sub /srv\\040x rw - xfs /dev/sdc rw"), "is mounted on \"/srv x\""),
        ("btrfs tells its first device", C, mounts("30 25 0:44 / /srv rw - btrfs /dev/sdc rw"), "is mounted on \"/srv\""),
        ("btrfs hides its second device", C, format!("{}link /sys/fs/btrfs/0a1b/devices/sdc {}\ndir /sys/fs/btrfs/features\n", mounts("30 25 0:44 / /srv rw - btrfs /dev/sdx rw"), home("sdc")), "part of the btrfs filesystem 0a1b"),
        ("the journal of an xfs", C, mounts("30 25 8:99 / /srv rw - xfs /dev/sdx rw,logdev=/dev/sdc"), "is mounted on \"/srv\""),
        ("the journal of an ext4", C, "dir /proc/fs/jbd2/sdc\n".to_owned(), "contains the journal"),
        ("swap on a disk", C, swap("/dev/sdc"), "is used as swap (/dev/sdc)"),
        ("swap on a partition", B, swap("/dev/sdb2"), "is used as swap (/dev/sdb2)"),
        ("swap whose file is gone", C, swap("/old/sdc\\040(deleted)"), "is used as swap"),
        ("zram that is swap", ZRAM, swap("/dev/zram1"), "is used as swap"),
        ("zram writes to it", C, format!("file {}/backing_dev /dev/sdc\n", home("zram1")), "is the backing device of zram1"),
        ("dm-crypt", C, holder("sdc", "dm-9", &dm("CRYPT-LUKS2-00-x")), "is part of dm-9 (crypt)"),
        ("LVM on a partition", B, holder("sdb1", "dm-9", &dm("LVM-abc")), "is part of dm-9 (lvm)"),
        ("multipath", C, holder("sdc", "dm-9", &dm("mpath-36")), "is part of dm-9 (multipath)"),
        ("a member of an md array", B1, holder("sdb1", "md9", &format!("file {}/md/level raid1\n", home("md9"))), "is part of md9 (raid1)"),
        ("a partition of a member", B1, holder("sdb", "md9", ""), "is part of md9"),
        ("bcache below", C, holder("sdc", "bcache9", ""), "is part of bcache9 (bcache)"),
        ("the cache of a bcache", C, format!("dir {}/bcache\n", home("sdc")), "is part of a bcache"),
        ("the root stands on it", C, format!("{}{}link {}/slaves/sdc /sys/class/block/sdc\n", disk("dm-0", "252:0", 64), mounts("20 1 252:0 / / rw - ext4 /dev/mapper/root rw"), home("dm-0")), "is below the filesystem on \"/\""),
        ("the root stands on it, two steps down", C, format!("{}{}{}link {}/slaves/md0 /sys/class/block/md0\nlink {}/slaves/sdc /sys/class/block/sdc\n", disk("dm-0", "252:0", 64), disk("md0", "9:0", 64), mounts("20 1 252:0 / / rw - ext4 /dev/mapper/root rw"), home("dm-0"), home("md0")), "is below the filesystem on \"/\""),
        ("behind a loop device", C, backed("/dev/sdc"), "is below loop5"),
        ("a partition behind a loop device", B, backed("/dev/sdb1"), "is below loop5"),
        ("a loop device's file in another one", LOOP, backed("/images/four"), "shares its file with loop5"),
        ("the same file by another name", LOOP, format!("{}link /images/again /images/four\n", backed("/images/again")), "shares its file with loop5"),
        ("a loop device's file that is swap", LOOP, swap("/images/four"), "is on a file that is used as swap"),
        ("a loop device's file that is mounted", LOOP, mounts("30 25 0:50 / /ro ro - erofs /images/four ro"), "is on a file that is mounted"),
        ("a loop device over a disk in use", LOOP, format!("file {}/loop/backing_file /dev/sdb\n{}", home("loop4"), mounts("30 25 8:18 / /srv rw - vfat /dev/sdb2 rw")), "is mounted on \"/srv\" (sdb2)"),
        ("fstab names it", C, fstab("/dev/sdc /srv ext4 defaults 0 2"), "is in /etc/fstab as \"/dev/sdc\""),
        ("fstab names a partition", B, fstab("/dev/sdb2 /srv vfat noauto 0 2"), "is in /etc/fstab"),
        ("fstab names the disk of a partition", B1, fstab("/dev/sdb /srv ext4 defaults 0 2"), "is in /etc/fstab"),
        ("fstab by a link", C, format!("{}link /dev/disk/by-id/ata-C ../../sdc\n", fstab("/dev/disk/by-id/ata-C /srv xfs defaults 0 2")), "is in /etc/fstab"),
        ("fstab by the UUID on it", B, fstab("UUID=51963364-7423-424F-9fd0-05c2673ad644 /srv ext4 defaults"), "is in /etc/fstab"),
        ("fstab by the label on it", B, fstab("LABEL=\"fourth\" /srv ext4 defaults"), "is in /etc/fstab"),
        ("fstab by a label that udev knows", C, format!("{}link /dev/disk/by-label/two\\134x20words ../../sdc\n", fstab("LABEL=two\\040words /srv ext4 defaults")), "is in /etc/fstab"),
        ("fstab by the number of a partition", B, format!("{}link /dev/disk/by-partuuid/1234-01 ../../sdb1\n", fstab("PARTUUID=1234-01 /srv ext4 defaults")), "is in /etc/fstab"),
        ("fstab by the name of a partition", B, format!("{}file {}/uevent\n| PARTN=1\n| PARTNAME=backup\n", fstab("PARTLABEL=backup /srv ext4 defaults"), home("sdb1")), "is in /etc/fstab"),
        ("fstab names it as journal", C, fstab("/dev/sdx /srv xfs defaults,logdev=/dev/sdc 0 0"), "is in /etc/fstab"),
        ("crypttab by its UUID", NVME, "file /etc/crypttab\n| home UUID=67b0057a-386d-47b8-b3b5-55da871ff3a6 none luks\n".to_owned(), "is in /etc/crypttab"),
        ("crypttab by its file", C, "file /etc/crypttab\n| swap /dev/sdc /dev/urandom swap\n".to_owned(), "is in /etc/crypttab"),
        ("a read-only disk", C, format!("file {}/ro 1\n", home("sdc")), "is read-only (sdc)"),
        ("a disk with a read-only partition", B, format!("file {}/ro 1\n", home("sdb2")), "is read-only (sdb2)"),
        ("no medium", C, format!("file {}/size 0\n", home("sdc")), "has no medium"),
        ("nobody may look at the mounts", C, "closed /proc/self/mountinfo\n".to_owned(), "cannot determine the mounts"),
        ("nobody may look at the swaps", C, "closed /proc/swaps\n".to_owned(), "cannot determine the active swap"),
        ("nobody may look at fstab", C, "closed /etc/fstab\n".to_owned(), "cannot determine whether an entry names the device"),
        ("nobody may look at the holders", C, format!("closed {}/holders\n", home("sdc")), "cannot determine the holders of the device"),
        ("nobody may look at a partition", B, format!("closed {}/size\n", home("sdb1")), "cannot determine the state of the device"),
    ]
}

#[rustfmt::skip]
fn mistaken() -> Vec<Situation> {
    let nothing = String::new;
    vec![
        ("nothing typed", ("/dev/sdc", ""), nothing(), "\"\" is not the ID of"),
        ("the kernel's name", ("/dev/sdc", "sdc"), nothing(), "is not the ID of"),
        ("the id of another device", ("/dev/sdc", "SERIAL-B"), nothing(), "type \"SERIAL-C\""),
        ("the id of its disk", ("/dev/sdb1", "SERIAL-B"), nothing(), "type \"SERIAL-B-part1+ext4\""),
        ("the id of its partition", ("/dev/sdb", "SERIAL-B-part1+ext4"), nothing(), "is not the ID of"),
        ("only the beginning of an id", ("/dev/sdc", "SERIAL"), nothing(), "is not the ID of"),
        ("other letters", ("/dev/sdc", "serial-c"), nothing(), "is not the ID of"),
        ("a letter more, of two bytes", ("/dev/sdc", "SERIAL-C\u{e9}"), nothing(), "is not the ID of"),
        ("what it carries is not named", ("/dev/sdb", "SERIAL-B"), nothing(), "does not include gpt and ext4 and vfat"),
        ("one thing is not named", ("/dev/sdb", "SERIAL-B+vfat+gpt"), nothing(), "does not include ext4"),
        ("a thing that is not there", ("/dev/sdc", "SERIAL-C+xfs"), nothing(), "includes \"xfs\""),
        ("a thing twice", ("/dev/sdb1", "SERIAL-B-part1+ext4+ext4"), nothing(), "contains a name twice"),
        ("a sign too many", ("/dev/sdc", "SERIAL-C+"), nothing(), "includes \"\""),
        ("encryption is not named", ("/dev/nvme0n1p1", "S3EVNX0J123456-part1"), nothing(), "crypto_LUKS encrypted volume on nvme0n1p1 (1000 MiB, label \"closed\", UUID 67b0057a-386d-47b8-b3b5-55da871ff3a6)"),
        ("on a partition of it", ("/dev/nvme0n1", "S3EVNX0J123456"), nothing(), "crypto_LUKS encrypted volume on nvme0n1p1"),
    ]
}

fn told(fake: &Fake, (name, device, setup, reason): &Situation, kind: Kind) {
    fake.add(setup).unwrap();
    let Err(failure) = give(fake, *device) else { panic!("{name}: consent was given") };
    assert_eq!(failure.kind, kind, "{name}: {failure}");
    assert!(failure.message.contains(reason), "{name}: {failure}");
    assert!(!failure.message.contains('\n'), "{name}: {failure}");
}

#[test]
fn what_must_not_be_overwritten_is_refused_with_its_reason() {
    let situations = refused();
    assert!(situations.len() >= 25);
    for situation in &situations {
        told(&machine(), situation, Kind::Refused);
    }
}

/// The same uses of other devices: a rule that sees itself in everything would refuse these.
#[test]
fn what_others_are_used_for_is_no_reason_against_this_one() {
    let loop5 = disk("loop5", "7:5", 512);
    let backed = |by: &str| format!("{loop5}file {}/loop/backing_file {by}\n", home("loop5"));
    let zram = |device: &str| format!("file {}/backing_dev {device}\n", home("zram1"));
    for (device, setup) in [
        (LOOP, backed("/images/five")),
        (LOOP, swap("/images/five")),
        (LOOP, mounts("30 25 0:50 / /ro ro - erofs /images/five ro")),
        (C, backed("/dev/sdb1")),
        (C, zram("/dev/sdb")),
        (C, zram("none")),
        (C, swap("/dev/sdb2")),
        (C, mounts("30 25 8:18 / /srv rw - vfat /dev/sdb2 rw")),
        (C, fstab("/dev/sdb2 /srv vfat defaults 0 2")),
        (C, "file /etc/crypttab\n| swap /dev/sdb /dev/urandom swap\n".to_owned()),
    ] {
        let fake = machine();
        fake.add(&setup).unwrap();
        let given = give(&fake, device);
        assert!(given.is_ok(), "{device:?} {setup}: {given:?}");
    }
}

#[test]
fn what_was_not_named_in_full_is_a_mistake_that_tells_the_text() {
    for situation in &mistaken() {
        told(&machine(), situation, Kind::Mistake);
    }
    // Only a copy of a superblock is left.
    let fake = machine();
    for (offset, bytes) in Recording::load("ext4-copy").unwrap().rows {
        fake.put_content(number_of((8, 32)), offset, &bytes).unwrap();
    }
    let failure = give(&fake, C).unwrap_err();
    assert!(failure.message.contains("found at 128 MiB"), "{failure}");
    assert!(give(&fake, ("/dev/sdc", "SERIAL-C+ext4")).is_ok());
}

/// A missing or misleading node does not hide the content of a partition.
#[test]
fn partitions_are_read_with_and_without_their_nodes() {
    let fake = machine();
    // wipefs alone recognises a wrong checksum, and reads the node.
    fake.put_marks(number_of((8, 18)), 0, "xfs filesystem - -").unwrap();
    assert!(give(&fake, B).unwrap_err().message.contains("does not include xfs"));
    fake.add("block /dev/sdb2 8:99\n").unwrap();
    assert!(give(&fake, B).is_ok());
    fake.remove("/dev/sdb1").remove("/dev/sdb2");
    assert!(give(&fake, B).is_ok());
    let several = "ext4 filesystem - -\nxfs filesystem - -";
    fake.put_marks(number_of((8, 16)), 1 << 20, several).unwrap();
    let reason = "cannot check the contents of sdb1: blkid found conflicting";
    let failure = give(&fake, B).unwrap_err();
    assert!(failure.kind == Kind::Refused && failure.message.contains(reason), "{failure}");
}

#[test]
fn the_right_text_is_consent_in_any_order() {
    for device in [B, B1, C, LOOP, NVME, ZRAM, ("/dev/sdb", "SERIAL-B+vfat+gpt+ext4")] {
        let given =
            give(&machine(), device).unwrap_or_else(|failure| panic!("{device:?}: {failure}"));
        assert_eq!(given.device, Path::new(device.0));
        assert_eq!(given.sequence, Some(7));
    }
    // A partition may go while its neighbour is in use.
    let fake = machine();
    fake.add(&mounts("30 25 8:18 / /srv rw - vfat /dev/sdb2 rw")).unwrap();
    assert!(give(&fake, B1).is_ok());
    assert_eq!(give(&fake, B).unwrap_err().kind, Kind::Refused);
}

/// Failing reads never look like "not in use". Each call of `consent` fails once, in each situation.
#[test]
fn no_failure_turns_a_refusal_into_consent() {
    for (name, device, setup, _) in refused().iter().chain(&mistaken()) {
        let fake = machine();
        fake.add(setup).unwrap();
        let site = resolve(&fake, device.0).unwrap();
        let mut call = 1;
        loop {
            let faulty = Faulty::new(&fake, call, io::ErrorKind::PermissionDenied);
            let given = consent(&faulty, &site, device.1);
            assert!(given.is_err(), "{name}: consent was given when call {call} failed");
            if !faulty.has_failed() {
                break;
            }
            call += 1;
        }
    }
}

#[test]
fn a_target_that_is_no_device_is_a_mistake() {
    let fake = machine();
    for target in ["/images", "/images/four"] {
        assert_eq!(give(&fake, (target, "x")).unwrap_err().kind, Kind::Mistake);
    }
}

#[test]
fn a_device_that_was_swapped_is_not_opened() {
    let open =
        |fake: &Fake, given: &Consent| fake.open_device_for_writing(given, Caching::Buffered);
    let fake = machine();
    let given = give(&fake, C).unwrap();
    assert!(open(&fake, &given).is_ok());
    fake.add("block /dev/sdc 8:16\n").unwrap();
    assert!(open(&fake, &given).is_err(), "another device under the name");
    fake.add(&format!("block /dev/sdc 8:32\nfile {}/diskseq 8\n", home("sdc"))).unwrap();
    assert!(open(&fake, &given).is_err(), "another disk under the number");
    // A partition has its disk's.
    let fake = machine();
    let given = give(&fake, B1).unwrap();
    fake.add(&format!("file {}/diskseq 8\n", home("sdb"))).unwrap();
    assert!(open(&fake, &given).is_err());
    // Re-pointed between resolving and consent.
    let fake = machine();
    let site = resolve(&fake, "/dev/sdc").unwrap();
    fake.add(&format!("file {}/dev 8:48\n", home("sdc"))).unwrap();
    let failure = consent(&fake, &site, C.1).unwrap_err();
    assert!(failure.message.contains("no longer the same device"), "{failure}");
}

#[test]
fn sizes_and_names_of_what_is_lost() {
    let fake = machine();
    let stake = stake(&fake, &resolve(&fake, "/dev/sdb").unwrap()).unwrap();
    assert_eq!(stake.text(), B.1);
    let expected = [
        "gpt partition table on sdb (1 GiB, UUID 0ee828f1-547e-4ec9-a932-3539813c185e)",
        "ext4 filesystem on sdb1 (400 MiB, label \"fourth\", UUID 51963364-7423-424f-9fd0-05c2673ad644)",
        "vfat filesystem on sdb2 (400 MiB, label \"THIRTYTWO\", UUID 8270-A12B)",
    ];
    assert_eq!(stake.losses.iter().map(DataLoss::words).collect::<Vec<_>>(), expected);
}
