use assay_core::failure::Kind;

use super::*;
use crate::system::Faulty;
use crate::system::fake::machines;

fn site(machine: &str, target: &str) -> Site {
    resolve(&machines::machine(machine), target).unwrap_or_else(|failure| panic!("{failure}"))
}

fn names(layers: &[Layer]) -> Vec<&str> {
    layers.iter().map(|layer| layer.name.as_str()).collect()
}

fn drives(site: &Site) -> Vec<&str> {
    site.drives.iter().map(|drive| drive.name.as_str()).collect()
}

#[test]
fn a_directory_on_a_partition() {
    let found = site("sata-ssd", "/home/me/here");
    assert_eq!((found.kind, found.backing), (TargetKind::Directory, Backing::Blocks));
    assert_eq!(found.path, Path::new("/home/me"));
    assert_eq!(
        (found.filesystem().as_str(), found.counted.as_slice()),
        ("ext4", &["sda2".to_owned()][..])
    );
    assert_eq!((found.shared.join(" "), drives(&found)), ("sda2 sda".to_owned(), vec!["sda"]));
    assert_eq!(
        (lock_names(&found), found.compression.reason()),
        (vec!["8:0".to_owned()], Some("off"))
    );
    assert_eq!(site("sata-ssd", "/boot/efi/EFI").counted, ["sda1"]);
    assert_eq!(site("sata-ssd", "/home/me/big.bin").kind, TargetKind::File);
}

#[test]
fn a_device_has_no_mount() {
    let found = site("sata-ssd", "/dev/sdb");
    assert_eq!(
        (found.kind, found.mount.reason()),
        (TargetKind::Device, Some("the target is a block device"))
    );
    assert_eq!(
        (found.counted.join(" "), found.device.to_string()),
        ("sdb".to_owned(), "8:16".to_owned())
    );
    assert!(found.followed.is_empty());
    assert_eq!(site("crypt-lvm-raid", "/dev/mapper/secret").counted, ["dm-1"]);
}

#[test]
fn other_boards_and_buses() {
    assert_eq!(drives(&site("nvme-one-lane", "/srv")), ["nvme0n1"]);
    assert_eq!(names(&site("sd-card", "/home/pi").layers), ["mmcblk0p2", "mmcblk0"]);
    let zram = site("sd-card", "/var/log");
    assert_eq!(
        (drives(&zram), zram.compression.value().map(String::as_str)),
        (vec!["zram0"], Some("zstd"))
    );
    assert_eq!(site("usb-stick", "/media/me/STICK").shared, ["sdc1", "sdc"]);
}

#[test]
fn a_stack_is_followed_down_to_both_disks() {
    let found = site("crypt-lvm-raid", "/srv/data");
    assert_eq!(names(&found.layers), ["dm-1", "dm-0", "md0", "sda1", "sdb1", "sda", "sdb"]);
    assert_eq!((found.counted.join(" "), drives(&found)), ("dm-1".to_owned(), vec!["sda", "sdb"]));
    assert_eq!(found.shared.len(), 7);
    assert_eq!(lock_names(&found), ["8:0", "8:16"]);
}

#[test]
fn a_loop_device_is_followed_but_not_shared() {
    let found = site("vm-virtio", "/tmp/bench/mnt");
    assert_eq!(
        (names(&found.layers), drives(&found)),
        (vec!["loop0", "vda"], vec!["loop0", "vda"])
    );
    assert_eq!(
        (found.counted.join(" "), found.shared.join(" ")),
        ("loop0".to_owned(), "loop0".to_owned())
    );
    assert_eq!(found.followed[0].point, Path::new("/"));
    assert_eq!(lock_names(&found), ["254:0"]);
    assert_eq!(site("vm-virtio", "/dev/loop0").followed.len(), 1);
}

#[test]
fn an_overmount_hides_what_was_there() {
    let found = site("vm-virtio", "/dev/shm");
    assert_eq!((found.backing, lock_names(&found)), (Backing::Memory, vec!["0:27".to_owned()]));
}

#[test]
fn overlays_are_followed_where_they_can_be() {
    let inside = site("container-overlay", "/inside");
    assert_eq!((inside.backing, inside.counted.join(" ")), (Backing::Blocks, "sda2".to_owned()));
    assert_eq!(
        (inside.filesystem().as_str(), inside.followed[0].filesystem.as_str()),
        ("overlay", "ext4")
    );
    let root = site("container-overlay", "/home");
    assert_eq!((root.backing, lock_names(&root)), (Backing::Unknown, vec!["0:60".to_owned()]));
    assert!(root.backing_reason.unwrap().contains("c0ffee/diff: not found"));
    assert!(site("container-overlay", "/readonly").backing_reason.unwrap().contains("read-only"));
    assert!(site("container-overlay", "/circle").backing_reason.unwrap().contains("cycle"));
    assert_eq!(site("container-overlay", "/data").counted, ["sda2"]);
}

#[test]
fn fuse_is_followed_by_its_source() {
    let private = site("gocryptfs", "/home/me/Private files");
    assert_eq!(
        (private.filesystem().as_str(), private.counted.join(" ")),
        ("fuse.gocryptfs", "nvme0n1p2".to_owned())
    );
    assert_eq!(private.followed.len(), 1);
    assert_eq!(site("usb-stick", "/media/me/old").counted, ["sdc1"]);
    assert_eq!(site("usb-stick", "/media/me/cloud").backing, Backing::Remote);
    let riddle = site("usb-stick", "/media/me/riddle");
    assert_eq!(riddle.backing, Backing::Unknown);
    assert!(riddle.compression.reason().unwrap().starts_with("unknown"));
}

/// Its path in /dev is irrelevant, because that is a file system in memory.
#[test]
fn fuse_programs_from_dev_fuse_are_unknown() {
    let fake = machines::machine("usb-stick");
    let mounts = Path::new("/proc/self/mountinfo");
    let table = fake.read_text(mounts).unwrap();
    assert!(table.contains("fuse.riddle riddle rw"));
    let more = "39 25 0:5 / /dev rw - devtmpfs udev rw\n";
    fake.put(mounts, table.replace("fuse.riddle riddle", "fuse.riddle /dev/fuse") + more);
    fake.add("character /dev/fuse 10:229\ndevice /dev/fuse 0:5").unwrap();
    let riddle = resolve(&fake, "/media/me/riddle").unwrap();
    assert_eq!((riddle.backing, riddle.followed.len()), (Backing::Unknown, 0));
    assert!(riddle.backing_reason.unwrap().contains("fuse.riddle"));
}

#[test]
fn btrfs_counts_all_its_devices() {
    let found = site("btrfs-two", "/home/me");
    assert_eq!(
        (found.counted.join(" "), lock_names(&found).join(" ")),
        ("sda sdb".to_owned(), "8:0 8:16".to_owned())
    );
    assert_eq!(found.mount.value().unwrap().point, Path::new("/home"));
    assert_eq!(found.compression, Presence::Present("zstd:3".to_owned()));
    let fake = machines::machine("btrfs-two");
    fake.remove("/sys/fs/btrfs");
    assert_eq!(resolve(&fake, "/home/me").unwrap().counted, ["sda"]);
}

#[test]
fn remote_memory_and_unknown() {
    let backing = |target| site("remote-memory", target).backing;
    assert_eq!(
        [backing("/home"), backing("/mnt/cifs"), backing("/mnt/host"), backing("/mnt/ssh")],
        [Backing::Remote; 4]
    );
    assert_eq!((backing("/tmp"), backing("/tank")), (Backing::Memory, Backing::Unknown));
    let zfs = site("remote-memory", "/tank");
    assert_eq!(zfs.compression.reason(), Some("unknown, as are the layers below"));
    assert!(zfs.backing_reason.unwrap().contains("ZFS"));
    assert!(site("remote-memory", "/home").compression.reason().unwrap().starts_with("unknown"));
}

#[test]
fn a_removed_backing_file_is_followed_to_its_directory() {
    let found = site("remote-memory", "/mnt/loop");
    assert_eq!((drives(&found), lock_names(&found)), (vec!["loop0"], vec!["7:0".to_owned()]));
    assert_eq!(found.backing_reason.as_deref(), Some("the file of the loop device is in memory"));
}

fn failure(target: &str) -> Failure {
    let failure = resolve(&machines::machine("sata-ssd"), target).unwrap_err();
    assert!(!failure.message.contains('\n'), "one line");
    failure
}

#[test]
fn mistakes_say_what_to_do() {
    for (target, says) in [
        ("/nowhere", "does not exist"),
        ("/no\nwhere", "\"/no\\nwhere\" does not exist"),
        ("/home/me/round", "is a symbolic link to itself"),
        ("/home/me/big.bin/x", "not a directory"),
        ("/dev/null", "a character device"),
        ("/home/me/socket", "a socket or a pipe"),
    ] {
        let failure = failure(target);
        assert_eq!(failure.kind, Kind::Mistake);
        assert!(failure.message.contains(says), "{failure}");
        assert!(failure.message.ends_with("use a directory, a file or a block device"));
    }
    assert!(failure("sda").message.contains("use /dev/sda"), "{}", failure("sda"));
    assert!(failure("sdzz").message.contains("does not exist"));
    assert_eq!(failure("/root/x").kind, Kind::Refused);
    assert!(failure("/root").message.contains("use sudo"));
}

/// Each call fails in turn: never a panic, and either a one-line error or a site with the absent values.
#[test]
fn every_call_may_fail() {
    for (machine, target) in machines::ALL {
        let fake = machines::machine(machine);
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::NotFound, io::ErrorKind::Other]
        {
            for call in 1.. {
                let faulty = Faulty::new(&fake, call, kind);
                let result = resolve(&faulty, target);
                if !faulty.has_failed() {
                    assert!(call > 10 && result.is_ok(), "{machine}: {call} calls");
                    break;
                }
                check_survived(result);
            }
        }
    }
}

fn check_survived(result: Outcome<Site>) {
    match result {
        Err(failure) => {
            assert!(!failure.message.is_empty() && !failure.message.contains('\n'));
        }
        Ok(site) => {
            assert!(!lock_names(&site).is_empty());
            assert!(site.backing != Backing::Unknown || site.backing_reason.is_some());
            assert!(site.backing != Backing::Blocks || !site.counted.is_empty());
        }
    }
}

#[test]
fn a_site_survives_being_written_down() {
    for (machine, target) in machines::ALL {
        let site = site(machine, target);
        let text = serde_json::to_string(&site).unwrap();
        assert_eq!(serde_json::from_str::<Site>(&text).unwrap(), site);
    }
}
