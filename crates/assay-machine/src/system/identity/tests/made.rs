//! Consent for created devices never exceeds the devices that the user named.

use std::path::{Path, PathBuf};

use super::*;
use crate::system::journal::{Journal, Undo};
use crate::system::{Act, Consent, resolve};

const DISK: u64 = 1 << 30;

/// A machine with a journal, and a file of the run's own.
fn begun() -> (Fake, Journal) {
    let fake = Fake::new();
    fake.add(
        "file /proc/sys/kernel/random/boot_id 1111\nfile /proc/self/mountinfo\n\
         dir /proc/fs/jbd2\ndir /sys/block\ndir /sys/fs/btrfs\ndir /dev\ndir /own\ndir /others",
    )
    .unwrap();
    let journal = Journal::begin(&fake, Path::new("/var/lib/assay/journal"), "x").unwrap();
    (fake, journal)
}

fn file(fake: &Fake, journal: &mut Journal, path: &str) -> PathBuf {
    let undo = Undo::File { path: path.into() };
    let warrant = journal.record(fake, undo).unwrap();
    fake.act(warrant, &Act::CreateFile { path: path.into(), bytes: DISK }).unwrap();
    path.into()
}

fn attach(fake: &Fake, journal: &mut Journal, file: &Path) -> (PathBuf, Undo) {
    let undo = Undo::Loop { file: file.to_owned(), device: None };
    let warrant = journal.record(fake, undo.clone()).unwrap();
    let device = fake.free_loop().unwrap();
    fake.act(warrant, &Act::AttachLoop { device: device.clone(), file: file.to_owned() }).unwrap();
    (device, undo)
}

fn asked(
    fake: &Fake,
    journal: &Journal,
    (device, undo): &(PathBuf, Undo),
    below: &[&Consent],
) -> Result<Consent, String> {
    consent_of_made(fake, journal, device, undo, below).map_err(|failure| failure.message)
}

#[test]
fn consent_reaches_from_the_runs_own_file_to_all_that_stands_on_it() {
    let (fake, mut journal) = begun();
    let own = file(&fake, &mut journal, "/own/disk");
    let first = attach(&fake, &mut journal, &own);
    let below = asked(&fake, &journal, &first, &[]).unwrap();
    confirm(&fake, &below).unwrap();
    let second = attach(&fake, &mut journal, &first.0);
    let above = asked(&fake, &journal, &second, &[&below]).unwrap();
    confirm(&fake, &above).unwrap();
    // Another device comes under that name.
    fake.replug(&second.0);
    assert!(confirm(&fake, &above).is_err());
}

#[test]
fn consent_reaches_a_partition_of_what_was_named() {
    let (fake, mut journal) = begun();
    let own = file(&fake, &mut journal, "/own/disk");
    let disk = attach(&fake, &mut journal, &own);
    let below = asked(&fake, &journal, &disk, &[]).unwrap();
    let part = crate::system::journal::Mark::now(&fake, "loop0");
    let part = Undo::Partition { disk: part, number: 1, start: DISK / 2 };
    let warrant = journal.record(&fake, part).unwrap();
    let range = DISK / 2..DISK;
    fake.act(warrant, &Act::AddPartition { disk: disk.0, number: 1, range }).unwrap();
    let second = attach(&fake, &mut journal, Path::new("/dev/loop0p1"));
    let above = asked(&fake, &journal, &second, &[&below]).unwrap();
    assert_eq!(above.size_bytes, DISK / 2);
}

#[test]
fn what_the_journal_does_not_take_away_is_not_ours() {
    let (fake, mut journal) = begun();
    let own = file(&fake, &mut journal, "/own/disk");
    let made = attach(&fake, &mut journal, &own);
    let other = file(&fake, &mut journal, "/own/other");
    let unknown = (made.0.clone(), Undo::Loop { file: "/own/unknown".into(), device: None });
    let told = asked(&fake, &journal, &unknown, &[]).unwrap_err();
    assert!(told.contains("not in the journal"), "{told}");
    let another = attach(&fake, &mut journal, &other);
    let swapped = (another.0, made.1);
    let told = asked(&fake, &journal, &swapped, &[]).unwrap_err();
    assert!(told.contains("not created by this run"), "{told}");
    let text = (PathBuf::from("/proc/self/mountinfo"), swapped.1);
    let told = asked(&fake, &journal, &text, &[]).unwrap_err();
    assert!(told.contains("not a block device"), "{told}");
}

#[test]
fn what_stands_on_anything_else_is_not_ours() {
    let (fake, mut journal) = begun();
    fake.put("/others/disk", "precious");
    let foreign = attach(&fake, &mut journal, Path::new("/others/disk"));
    let told = asked(&fake, &journal, &foreign, &[]).unwrap_err();
    assert!(told.contains("may not be overwritten"), "a file that this run did not make: {told}");
    let own = file(&fake, &mut journal, "/own/disk");
    let first = attach(&fake, &mut journal, &own);
    let below = asked(&fake, &journal, &first, &[]).unwrap();
    let second = attach(&fake, &mut journal, &first.0);
    for (consents, what) in [(vec![], "without"), (vec![&below, &below], "twice")] {
        let told = asked(&fake, &journal, &second, &consents).unwrap_err();
        assert!(told.contains("may not be overwritten"), "{what}: {told}");
    }
    let third = file(&fake, &mut journal, "/own/third");
    let third = attach(&fake, &mut journal, &third);
    let third = asked(&fake, &journal, &third, &[]).unwrap();
    let told = asked(&fake, &journal, &second, &[&third]).unwrap_err();
    assert!(told.contains("may not be overwritten"), "the consent for another one: {told}");
    fake.replug(&first.0);
    let told = asked(&fake, &journal, &second, &[&below]).unwrap_err();
    assert!(told.contains("may not be overwritten"), "the one below was exchanged: {told}");
}

#[test]
fn what_is_larger_than_what_it_stands_on_or_is_used_is_refused() {
    let (fake, mut journal) = begun();
    let own = file(&fake, &mut journal, "/own/disk");
    let made = attach(&fake, &mut journal, &own);
    let size = "/sys/devices/virtual/block/loop0/size";
    let fits = fake.read_text(Path::new(size)).unwrap();
    fake.put(size, format!("{}\n", DISK / 512 + 1));
    let told = asked(&fake, &journal, &made, &[]).unwrap_err();
    assert!(told.contains("bytes, but the storage below has only"), "{told}");
    fake.put(size, "0\n");
    let told = asked(&fake, &journal, &made, &[]).unwrap_err();
    assert!(told.contains("no medium"), "{told}");
    fake.put(size, fits);
    fake.put("/proc/self/mountinfo", "30 1 7:0 / /mnt rw - ext4 /dev/loop0 rw\n");
    let told = asked(&fake, &journal, &made, &[]).unwrap_err();
    assert!(told.contains("is mounted"), "{told}");
    fake.put("/proc/self/mountinfo", "");
    fake.put("/etc/fstab", "/dev/loop0 /data ext4 defaults 0 2\n");
    let told = asked(&fake, &journal, &made, &[]).unwrap_err();
    assert!(told.contains("fstab"), "{told}");
    assert!(resolve(&fake, "/dev/loop0").is_ok());
}
