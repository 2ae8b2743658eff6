//! Devices that must not be overwritten: situations on loop devices, each refused with its reason and nothing changed.
//! `src/system/identity/tests/situations.rs` has those that need other hardware.

use std::any::Any;
use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use assay_testkit::process::{Assay, Ended, Running};
use assay_testkit::recordings::Recording;
use assay_testkit::volume::Filesystem;
use assay_testkit::{Done, LoopDevice, Mounted, Scratch, call};

use crate::turn::{LIMIT, Need, has, word};

const MIB: u64 = 16;

/// A device in a situation; guards are dropped in order, the devices last.
struct Case {
    device: String,
    text: String,
    code: i32,
    reason: String,
    /// Program that wraps the one under test.
    around: Vec<String>,
    guards: Vec<Box<dyn Any>>,
    /// Files whose bytes must not change.
    images: Vec<PathBuf>,
}

impl Case {
    fn new(device: &str, text: impl Into<String>, (code, reason): (i32, &str)) -> Self {
        let (device, text, reason) = (device.to_owned(), text.into(), reason.to_owned());
        Self {
            device,
            text,
            code,
            reason,
            around: Vec::new(),
            guards: Vec::new(),
            images: Vec::new(),
        }
    }

    fn keep(mut self, guard: impl Any) -> Self {
        self.guards.push(Box::new(guard));
        self
    }

    fn keep_device(mut self, device: LoopDevice) -> Self {
        self.images.push(device.image.clone());
        self.keep(device)
    }
}

fn blank(place: &Path, name: &str, mebibytes: u64) -> Done<LoopDevice> {
    LoopDevice::new(place.join(name), mebibytes)
}

/// Returns a loop device with a recording of `tests/fixtures/signatures`.
fn recorded(place: &Path, recording: &str) -> Done<LoopDevice> {
    let path = place.join("image");
    let image = fs::File::create(&path).unwrap();
    Recording::load(recording)?.write(&image, 0).unwrap();
    LoopDevice::over(path)
}

fn id(device: &LoopDevice) -> String {
    let bytes = fs::metadata(&device.image).unwrap().len();
    format!("{}:{}MiB", device.name(), bytes >> 20)
}

fn mounted(place: &Path) -> Done<Case> {
    let device = blank(place, "image", MIB)?;
    call("mkfs.ext4", &["-q", device.device()])?;
    let point = place.join("mnt");
    let mount = Mounted::new(&[device.device()], &point)?;
    let case = Case::new(device.device(), id(&device) + "+ext4", (3, "is mounted on"));
    Ok(case.keep(mount).keep(device))
}

/// Mounted in another namespace: only the kernel's exclusive claim shows it.
fn mounted_elsewhere(place: &Path) -> Done<Case> {
    let device = blank(place, "image", MIB)?;
    call("mkfs.ext4", &["-q", device.device()])?;
    let point = place.join("mnt");
    fs::create_dir(&point).unwrap();
    let script = format!(
        "mount {} {} && touch {}/ready && sleep 60",
        device.device(),
        point.display(),
        place.display()
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "--kill-child", "--fork", "sh", "-c", &script]);
    let mut holder = Running::start(&mut command)?;
    holder.until(Duration::from_secs(20), || place.join("ready").exists())?;
    let case = Case::new(device.device(), id(&device) + "+ext4", (3, "it is in use"));
    Ok(case.keep(holder).keep(device))
}

/// Returns a loop device with two partitions, the first one mounted.
fn partitions(place: &Path) -> Done<(LoopDevice, Mounted)> {
    let image = place.join("image");
    fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let name = word(&image);
    let device = call("losetup", &["--find", "--show", "--partscan", &name])?;
    let device = device.trim().to_owned();
    let guard = LoopDevice::taken(&device, image);
    for (number, start) in [("1", "2048"), ("2", "65536")] {
        call("addpart", &[&device, number, start, "32768"])?;
    }
    let (first, second) = (format!("{device}p1"), format!("{device}p2"));
    call("mkfs.ext4", &["-q", &first])?;
    call("mkfs.ext4", &["-q", &second])?;
    let mount = Mounted::new(&[&first], &place.join("mnt"))?;
    Ok((guard, mount))
}

fn disk_of_a_mounted_partition(place: &Path) -> Done<Case> {
    let (device, mount) = partitions(place)?;
    let case = Case::new(device.device(), id(&device) + "+ext4", (3, "p1); unmount it first"));
    Ok(case.keep(mount).keep(device))
}

fn mounted_partition(place: &Path) -> Done<Case> {
    let (device, mount) = partitions(place)?;
    let text = id(&device) + "-part1+ext4";
    let case = Case::new(&format!("{}p1", device.device()), text, (3, "is mounted on"));
    Ok(case.keep(mount).keep(device))
}

/// Another partition is in use, this one is not: only its content prevents writing.
fn partition_beside_a_mounted_one(place: &Path) -> Done<Case> {
    let (device, mount) = partitions(place)?;
    let text = id(&device) + "-part2";
    let case = Case::new(&format!("{}p2", device.device()), text, (2, "-part2+ext4\""));
    Ok(case.keep(mount).keep(device))
}

struct Swap(String);

impl Drop for Swap {
    fn drop(&mut self) {
        call("swapoff", &[&self.0]).unwrap();
    }
}

fn swap(place: &Path) -> Done<Case> {
    let device = blank(place, "image", MIB)?;
    call("mkswap", &[device.device()])?;
    call("swapon", &[device.device()])?;
    let swap = Swap(device.device().to_owned());
    let case = Case::new(device.device(), id(&device) + "+swap", (3, "is used as swap"));
    Ok(case.keep(swap).keep(device))
}

fn file_is_swap(place: &Path) -> Done<Case> {
    let path = word(&place.join("image"));
    call("fallocate", &["--length", "16MiB", &path])?;
    let device = LoopDevice::over(path.clone().into())?;
    call("mkswap", &[&path])?;
    call("swapon", &[&path])?;
    let case =
        Case::new(device.device(), id(&device) + "+swap", (3, "a file that is used as swap"));
    Ok(case.keep(Swap(path)).keep(device))
}

struct Forget(String);

impl Drop for Forget {
    fn drop(&mut self) {
        // Older programs lack this option; only memory remains in use then.
        let _ = call("btrfs", &["device", "scan", "--forget", &self.0]);
    }
}

fn btrfs_second(place: &Path) -> Done<Case> {
    let (one, two) = (blank(place, "one", 128)?, blank(place, "two", 128)?);
    call("mkfs.btrfs", &["-q", "-d", "raid1", one.device(), two.device()])?;
    call("btrfs", &["device", "scan", one.device(), two.device()])?;
    let mount = Mounted::new(&["-t", "btrfs", one.device()], &place.join("mnt"))?;
    let case = Case::new(two.device(), id(&two) + "+btrfs", (3, "part of the btrfs"));
    let forget = [Forget(one.device().to_owned()), Forget(two.device().to_owned())];
    Ok(case.keep(mount).keep(forget).keep(one).keep(two))
}

fn ext4_journal(place: &Path) -> Done<Case> {
    let (journal, data) = (blank(place, "journal", MIB)?, blank(place, "data", MIB)?);
    call("mkfs.ext4", &["-q", "-b", "4096", "-O", "journal_dev", journal.device()])?;
    let outside = format!("device={}", journal.device());
    call("mkfs.ext4", &["-q", "-b", "4096", "-J", &outside, data.device()])?;
    let mount = Mounted::new(&[data.device()], &place.join("mnt"))?;
    let case = Case::new(journal.device(), id(&journal) + "+jbd", (3, "contains the journal"));
    Ok(case.keep(mount).keep(data).keep(journal))
}

fn xfs_journal(place: &Path) -> Done<Case> {
    let (journal, data) = (blank(place, "journal", 320)?, blank(place, "data", 320)?);
    let outside = format!("logdev={}", journal.device());
    call("mkfs.xfs", &["-q", "-l", &outside, data.device()])?;
    let mount = Mounted::new(&["-o", &outside, data.device()], &place.join("mnt"))?;
    let case =
        Case::new(journal.device(), id(&journal) + "+xfs_external_log", (3, "is mounted on"));
    Ok(case.keep(mount).keep(data).keep(journal))
}

fn shared_file(place: &Path) -> Done<Case> {
    let one = blank(place, "image", MIB)?;
    let two = LoopDevice::over(one.image.clone())?;
    let reason = format!("shares its file with {}", two.name());
    Ok(Case::new(one.device(), id(&one), (3, &reason)).keep_device(two).keep_device(one))
}

fn shared_through_a_link(place: &Path) -> Done<Case> {
    let one = blank(place, "image", MIB)?;
    fs::hard_link(&one.image, place.join("again")).unwrap();
    let two = LoopDevice::over(place.join("again"))?;
    Ok(Case::new(one.device(), id(&one), (3, "shares its file")).keep_device(two).keep_device(one))
}

fn behind_a_loop(place: &Path) -> Done<Case> {
    let below = blank(place, "image", MIB)?;
    let above = LoopDevice::over(below.device().into())?;
    let reason = above.name().to_owned();
    Ok(Case::new(below.device(), id(&below), (3, &reason)).keep(above).keep_device(below))
}

fn over_a_mounted_device(place: &Path) -> Done<Case> {
    let below = blank(place, "image", MIB)?;
    call("mkfs.ext4", &["-q", below.device()])?;
    let above = LoopDevice::over(below.device().into())?;
    let mount = Mounted::new(&[below.device()], &place.join("mnt"))?;
    let text = format!("{}:16MiB+ext4", above.name());
    let case = Case::new(above.device(), text, (3, "is mounted on"));
    Ok(case.keep(mount).keep(above).keep(below))
}

fn read_only(place: &Path) -> Done<Case> {
    let image = place.join("image");
    fs::File::create(&image).unwrap().set_len(MIB << 20).unwrap();
    let device = call("losetup", &["--find", "--show", "--read-only", &word(&image)])?;
    let device = LoopDevice::taken(device.trim(), image);
    Ok(Case::new(device.device(), id(&device), (3, "is read-only")).keep_device(device))
}

/// Detached: the device is gone, but the node remains. Other tests attach the lowest free device; eight lower ones are
/// therefore freed, too.
fn no_medium(place: &Path) -> Done<Case> {
    let attach = |number| blank(place, &format!("image{number}"), MIB);
    let devices: Vec<LoopDevice> = (0..9).map(attach).collect::<Done<_>>()?;
    let (path, text) = (devices[8].device().to_owned(), id(&devices[8]));
    drop(devices);
    Ok(Case::new(&path, text, (3, "has no medium")))
}

fn wrong_id(place: &Path) -> Done<Case> {
    let device = blank(place, "image", MIB)?;
    let case = Case::new(device.device(), "loop99:1GiB", (2, "is not the ID of"));
    Ok(case.keep_device(device))
}

fn bare_name(place: &Path) -> Done<Case> {
    let device = blank(place, "image", MIB)?;
    let case = Case::new(device.device(), device.name(), (2, "is not the ID of"));
    Ok(case.keep_device(device))
}

fn id_of_another(place: &Path) -> Done<Case> {
    let (one, two) = (blank(place, "one", MIB)?, blank(place, "two", MIB)?);
    let case = Case::new(one.device(), id(&two), (2, "is not the ID of"));
    Ok(case.keep_device(one).keep_device(two))
}

fn spare_name(place: &Path) -> Done<Case> {
    let device = blank(place, "image", MIB)?;
    let case = Case::new(device.device(), id(&device) + "+ext4", (2, "does not contain"));
    Ok(case.keep_device(device))
}

fn unnamed(place: &Path, recording: &str, name: &str) -> Done<Case> {
    let device = recorded(place, recording)?;
    let reason = format!("type \"{}+{name}\"", id(&device));
    Ok(Case::new(device.device(), id(&device), (2, &reason)).keep_device(device))
}

fn held(place: &Path) -> Done<Case> {
    let device = blank(place, "image", MIB)?;
    let script = format!(
        "import os,time\nos.open('{}', os.O_RDWR | os.O_EXCL)\nopen('{}/ready','w')\ntime.sleep(60)",
        device.device(),
        place.display()
    );
    let mut holder = Running::start(Command::new("python3").args(["-c", &script]))?;
    holder.until(Duration::from_secs(20), || place.join("ready").exists())?;
    let case = Case::new(device.device(), id(&device), (3, "it is in use"));
    Ok(case.keep(holder).keep_device(device))
}

/// In a mount namespace whose `/etc` contains a test table.
fn expected(place: &Path, table: &str, line: &str, device: LoopDevice, names: &str) -> Case {
    let ours = place.join(table);
    fs::write(&ours, format!("{line}\n")).unwrap();
    let script =
        format!("mount -t tmpfs none /etc && cp {} /etc/{table} && exec \"$@\"", ours.display());
    let reason = format!("is in /etc/{table}");
    let text = id(&device) + names;
    let mut case = Case::new(device.device(), text, (3, &reason)).keep_device(device);
    case.around = ["unshare", "--mount", "sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
    case
}

fn in_fstab(place: &Path) -> Done<Case> {
    let device = blank(place, "image", MIB)?;
    let line = format!("{} /srv ext4 noauto 0 0", device.device());
    Ok(expected(place, "fstab", &line, device, ""))
}

fn in_fstab_by_link(place: &Path) -> Done<Case> {
    let device = blank(place, "image", MIB)?;
    symlink(device.device(), place.join("my disk")).unwrap();
    let line = format!("{}/my\\040disk /srv ext4 noauto 0 0", place.display());
    Ok(expected(place, "fstab", &line, device, ""))
}

fn in_fstab_by_uuid(place: &Path) -> Done<Case> {
    let device = recorded(place, "ext4")?;
    let line = "UUID=51963364-7423-424f-9fd0-05c2673ad644 /srv ext4 defaults 0 2";
    Ok(expected(place, "fstab", line, device, "+ext4"))
}

fn in_fstab_by_label(place: &Path) -> Done<Case> {
    let device = recorded(place, "ext4")?;
    Ok(expected(place, "fstab", "LABEL=fourth /srv ext4 defaults 0 2", device, "+ext4"))
}

fn in_crypttab(place: &Path) -> Done<Case> {
    let device = recorded(place, "luks2")?;
    let line = "home UUID=67b0057a-386d-47b8-b3b5-55da871ff3a6 none luks";
    Ok(expected(place, "crypttab", line, device, "+crypto_LUKS"))
}

fn swapped_link(place: &Path) -> Done<Case> {
    let (one, two) = (blank(place, "one", MIB)?, blank(place, "two", MIB)?);
    let link = place.join("link");
    symlink(one.device(), &link).unwrap();
    let planned = run(place, &[], &["plan", "check", &word(&link), "--destroy", &id(&one)]);
    assert_eq!(planned.code, 0, "{}", planned.stderr);
    fs::remove_file(&link).unwrap();
    symlink(two.device(), &link).unwrap();
    let case = Case::new(&word(&link), id(&one), (2, "is not the ID of"));
    Ok(case.keep_device(one).keep_device(two))
}

/// Planned, detached, and replaced by another file under the same name: without a serial number, both are
/// `loop3:16MiB`.
fn exchanged(place: &Path) -> Done<Case> {
    // Retries if another process takes the name in between.
    for attempt in 0..10 {
        let one = blank(place, &format!("one{attempt}"), MIB)?;
        let (path, text) = (one.device().to_owned(), id(&one));
        let planned = run(place, &[], &["plan", "check", &path, "--destroy", &text]);
        assert_eq!(planned.code, 0, "{}", planned.stderr);
        drop(one);
        let image = place.join(format!("two{attempt}"));
        fs::File::create(&image).unwrap().set_len(MIB << 20).unwrap();
        if call("losetup", &[&path, &word(&image)]).is_ok() {
            let two = LoopDevice::taken(&path, image);
            let case = Case::new(&path, text, (3, "is not the device that assay plan showed"));
            return Ok(case.keep_device(two));
        }
    }
    Err("others take every name".to_owned())
}

/// An XFS with a wrong checksum on a partition, which only wipefs recognizes.
fn damaged_on_a_partition(place: &Path) -> Done<Case> {
    let path = place.join("image");
    let image = fs::File::create(&path).unwrap();
    image.set_len(64 << 20).unwrap();
    Recording::load("xfs")?.write(&image, 1 << 20).unwrap();
    image.write_all_at(b"damaged", (1 << 20) + 0x70).unwrap();
    let device = LoopDevice::over(path)?;
    call("addpart", &[device.device(), "1", "2048", "32768"])?;
    let reason = format!("type \"{}+xfs\"", id(&device));
    Ok(Case::new(device.device(), id(&device), (2, &reason)).keep_device(device))
}

fn run(place: &Path, around: &[&str], words: &[&str]) -> Ended {
    let home = place.join("home");
    fs::create_dir_all(&home).unwrap();
    let assay = Assay::new(Path::new(env!("CARGO_BIN_EXE_assay")), &home).through(around);
    assay.run(words, LIMIT).unwrap()
}

type Maker = fn(&Path) -> Done<Case>;

const SITUATIONS: [(&str, Maker); 34] = [
    ("mounted", mounted),
    ("mounted in another namespace", mounted_elsewhere),
    ("disk of a mounted partition", disk_of_a_mounted_partition),
    ("mounted partition", mounted_partition),
    ("partition beside a mounted one", partition_beside_a_mounted_one),
    ("swap", swap),
    ("file is swap", file_is_swap),
    ("second device of a btrfs", btrfs_second),
    ("journal of an ext4", ext4_journal),
    ("journal of an xfs", xfs_journal),
    ("file of another loop device", shared_file),
    ("file of another loop device by another name", shared_through_a_link),
    ("behind a loop device", behind_a_loop),
    ("over a mounted device", over_a_mounted_device),
    ("read-only", read_only),
    ("no medium", no_medium),
    ("held by another process", held),
    ("wrong id", wrong_id),
    ("bare name", bare_name),
    ("id of another device", id_of_another),
    ("name of what is not there", spare_name),
    ("ext4 not named", |place| unnamed(place, "ext4", "ext4")),
    ("luks not named", |place| unnamed(place, "luks2", "crypto_LUKS")),
    ("gpt at the end not named", |place| unnamed(place, "gpt-backup", "gpt")),
    ("copy of an ext4 superblock not named", |place| unnamed(place, "ext4-copy", "ext4")),
    ("firmware RAID in the last sector not named", |place| {
        unnamed(place, "lsi", "lsi_mega_raid_member")
    }),
    ("damaged XFS on a partition not named", damaged_on_a_partition),
    ("fstab", in_fstab),
    ("fstab by link", in_fstab_by_link),
    ("fstab by UUID", in_fstab_by_uuid),
    ("fstab by label", in_fstab_by_label),
    ("crypttab", in_crypttab),
    ("link swapped between plan and run", swapped_link),
    ("device exchanged between plan and run", exchanged),
];

#[test]
fn what_must_not_be_overwritten_is_refused_and_stays() {
    let needs = [
        Need::Volume(Filesystem::Ext4),
        Need::Volume(Filesystem::Xfs),
        Need::Volume(Filesystem::Btrfs),
        Need::Program("python3"),
        Need::Program("unshare"),
        Need::Program("addpart"),
        Need::Program("wipefs"),
    ];
    if !has(&needs) {
        return;
    }
    for (name, make) in SITUATIONS {
        // Swap files are not possible in memory.
        let scratch = Scratch::on_drive("consent").unwrap();
        let case = make(scratch.path()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let bytes =
            || -> Vec<_> { case.images.iter().map(|path| fs::read(path).unwrap()).collect() };
        let before = bytes();
        let around: Vec<&str> = case.around.iter().map(String::as_str).collect();
        // Other tests may use the drive below the image.
        let words = ["check", &case.device, "--destroy", &case.text, "--quick", "--wait", "5m"];
        let ended = run(scratch.path(), &around, &words);
        assert_eq!(ended.code, case.code, "{name}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stderr.contains(&case.reason), "{name}: {}", ended.stderr);
        assert!(ended.stdout.is_empty(), "{name}: {}", ended.stdout);
        let refusals = ended.stderr.lines().filter(|line| !line.contains("waiting: "));
        assert_eq!(refusals.count(), 1, "{name}: {}", ended.stderr);
        assert!(bytes() == before, "{name}: the device was changed");
        drop(case);
    }
}

#[test]
fn a_plan_tells_what_is_lost_and_what_unlocks_it() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let scratch = Scratch::new("consent").unwrap();
    let device = recorded(scratch.path(), "ext4").unwrap();
    let before = fs::read(&device.image).unwrap();
    let text = id(&device) + "+ext4";
    let without = run(scratch.path(), &[], &["plan", "check", device.device()]);
    assert_eq!(without.code, 0, "{}", without.stderr);
    let flat = without.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(&format!("--destroy \"{text}\"")), "{flat}");
    assert!(flat.contains("UUID 51963364-7423-424f-9fd0-05c2673ad644"), "{flat}");
    let with = ["plan", "check", device.device(), "--json", "--destroy", &text];
    let document = run(scratch.path(), &[], &with).json().unwrap();
    let stake = &document["data_at_risk"][0];
    assert_eq!(stake["overwritten"], true, "{stake}");
    assert!(stake["lost"][0].as_str().unwrap().contains("label \"fourth\""), "{stake}");
    assert!(fs::read(&device.image).unwrap() == before, "a plan changes nothing");
}

#[test]
fn what_was_named_in_full_is_overwritten() {
    if !has(&[Need::Volume(Filesystem::Ext4)]) {
        return;
    }
    let scratch = Scratch::new("consent").unwrap();
    let device = recorded(scratch.path(), "lvm").unwrap();
    let text = id(&device) + "+LVM2_member";
    let words = ["check", device.device(), "--budget", "5s", "--json", "--destroy", &text];
    let ended = run(scratch.path(), &[], &words);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    let start = fs::read(&device.image).unwrap()[512..520].to_vec();
    assert_ne!(start, b"LABELONE", "nothing was written");
}
