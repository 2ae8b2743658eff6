//! Actions of the guard on a device, step by step, on a fake machine.

use std::path::Path;

use crate::system::fake::Manner;
use crate::system::{Fake, Faulty, Half};

use super::*;
use crate::factors::layers::{Base, Device, DeviceRange, RaisedStack, Stack};
use crate::factors::tests::{DISK, HOME, lab, machine, put_back, stack};

const MIB: u64 = 1 << 20;

/// A guard with a loop device, `loop0`, that may be overwritten.
fn with_a_disk(fake: &Fake) -> (Guard<'_>, Device) {
    let mut guard = Guard::begin(fake, Path::new(HOME), "20261122-1200-ab12").unwrap();
    let device = lab(&mut guard).unwrap();
    assert_eq!(device.file(), Path::new("/dev/loop0"));
    (guard, device)
}

fn extent(range: Range<u64>) -> DeviceRange {
    let whole = range == (0..DISK);
    DeviceRange { device: "loop0".to_owned(), range, whole }
}

fn ext4(mount_options: &str) -> Stack {
    match mount_options {
        "" => stack(&[("filesystem", "ext4")]),
        _ => stack(&[("filesystem", "ext4"), ("mount_options", mount_options)]),
    }
}

/// Makes a file system on a part of a disk.
fn make(
    guard: &mut Guard<'_>,
    (disk, extent): (&Device, DeviceRange),
    options: &str,
    discard: bool,
) -> Outcome<RaisedStack> {
    let device = Device { extent, discard, ..disk.clone() };
    ext4(options).make(guard, vec![Base::Device(device)])
}

/// Actions since `from`, abbreviated: partitions with their ranges, programs with their devices, and discards.
fn steps(fake: &Fake, from: usize) -> Vec<String> {
    let told = |act: &Act| match act {
        Act::AddPartition { disk, number, range } => {
            Some(format!("part {} {number} {}+{}", disk.display(), range.start, range.end))
        }
        Act::Discard { device, range } => {
            Some(format!("discard {} {}+{}", device.display(), range.start, range.end))
        }
        Act::Run { program, arguments } => Some(format!("{program} {}", arguments.last()?)),
        Act::Mount { device, options, .. } => Some(format!("mount {} {options}", device.display())),
        _ => None,
    };
    fake.acted()[from..].iter().filter_map(told).collect()
}

#[test]
fn a_whole_device_is_discarded_made_and_mounted_as_a_whole() {
    let fake = machine();
    let (mut guard, disk) = with_a_disk(&fake);
    make(&mut guard, (&disk, extent(0..DISK)), "noatime", true).unwrap();
    let discarded = format!("discard /dev/loop0 0+{DISK}");
    assert_eq!(steps(&fake, 0), [&*discarded, "mkfs.ext4 /dev/loop0", "mount /dev/loop0 noatime"]);
}

#[test]
fn a_part_of_a_device_is_a_partition_and_nothing_else_of_it_is_touched() {
    let fake = machine();
    let (mut guard, disk) = with_a_disk(&fake);
    let own = [256 * MIB..512 * MIB, 512 * MIB..1024 * MIB];
    for range in &own {
        make(&mut guard, (&disk, extent(range.clone())), "", true).unwrap();
    }
    assert_eq!(
        steps(&fake, 0),
        [
            format!("part /dev/loop0 1 {}+{}", own[0].start, own[0].end),
            // Counted from the start of the partition.
            format!("discard /dev/loop0p1 0+{}", 256 * MIB),
            "mkfs.ext4 /dev/loop0p1".to_owned(),
            "mount /dev/loop0p1 ".to_owned(),
            format!("part /dev/loop0 2 {}+{}", own[1].start, own[1].end),
            format!("discard /dev/loop0p2 0+{}", 512 * MIB),
            "mkfs.ext4 /dev/loop0p2".to_owned(),
            "mount /dev/loop0p2 ".to_owned(),
        ]
    );
}

#[test]
fn a_partition_is_used_again_for_its_own_range_and_for_no_other() {
    let fake = machine();
    let (mut guard, disk) = with_a_disk(&fake);
    let half = extent(DISK / 2..DISK);
    let mounted = make(&mut guard, (&disk, half.clone()), "", false).unwrap();
    guard.lower(&mounted).unwrap();
    let before = fake.acted().len();
    let mounted = make(&mut guard, (&disk, half.clone()), "", false).unwrap();
    guard.lower(&mounted).unwrap();
    assert_eq!(steps(&fake, before), ["mkfs.ext4 /dev/loop0p1", "mount /dev/loop0p1 "]);
    // Another partition of the same name now exists: shorter, or elsewhere.
    for (file, sectors) in [("size", 8), ("start", 2048)] {
        let place = format!("/sys/devices/virtual/block/loop0/loop0p1/{file}");
        let kept = fake.read_text(Path::new(&place)).unwrap();
        fake.put(&place, format!("{sectors}\n"));
        let before = fake.acted().len();
        let number = guard.file_of_extent(&half, &Mark::now(&fake, "loop0")).unwrap();
        assert_ne!(number, Path::new("/dev/loop0p1"), "{file}");
        assert_eq!(steps(&fake, before).len(), 1, "{file}");
        fake.put(&place, kept);
        guard.partitions.insert(("loop0".to_owned(), DISK / 2), 1);
    }
}

#[test]
fn without_discarding_nothing_is_discarded() {
    let fake = machine();
    let (mut guard, disk) = with_a_disk(&fake);
    make(&mut guard, (&disk, extent(0..DISK)), "", false).unwrap();
    assert_eq!(steps(&fake, 0), ["mkfs.ext4 /dev/loop0", "mount /dev/loop0 "]);
}

#[test]
fn another_device_under_the_same_name_is_not_touched() {
    let fake = machine();
    let (mut guard, disk) = with_a_disk(&fake);
    fake.replug(Path::new("/dev/loop0"));
    let before = fake.acted().len();
    let refused = make(&mut guard, (&disk, extent(0..DISK)), "", true).unwrap_err();
    assert_eq!(refused.kind.exit_code(), 3, "{refused}");
    assert_eq!(fake.acted().len(), before);
}

#[test]
fn a_device_that_was_exchanged_after_discarding_gets_no_file_system() {
    let fake = machine();
    let (mut guard, disk) = with_a_disk(&fake);
    fake.replug_after_discarding("/dev/loop0");
    make(&mut guard, (&disk, extent(0..DISK)), "", true).unwrap_err();
    assert_eq!(steps(&fake, 0), [format!("discard /dev/loop0 0+{DISK}")]);
}

/// Mounts an ext4 with options on a kernel that shows others.
fn mounted_as(asked: &'static str, shown: &str) -> (Fake, Outcome<RaisedStack>) {
    let fake = machine();
    fake.mount_showing(shown);
    let found = {
        let (mut guard, disk) = with_a_disk(&fake);
        let made = make(&mut guard, (&disk, extent(0..DISK)), asked, false);
        guard.finish().unwrap();
        made
    };
    (fake, found)
}

#[test]
fn mount_options_that_were_not_taken_are_told_and_the_file_system_goes_again() {
    for (asked, shown, missing) in [
        ("noatime", "rw,relatime", "noatime"),
        ("noatime,discard", "rw,noatime", "discard"),
        ("barrier=0", "rw", "barrier=0"),
        ("barrier=1", "rw,nobarrier", "barrier=1"),
        ("strictatime", "rw,noatime", "strictatime"),
        ("data=writeback", "rw,data=ordered", "data=writeback"),
    ] {
        let (fake, found) = mounted_as(asked, shown);
        let told = found.unwrap_err().message;
        let wanted = format!("mounting ext4: {missing} requested, the kernel uses {shown}");
        assert_eq!(told, wanted, "{asked}");
        let before = machine();
        before.mount_showing(shown);
        assert_eq!(fake.condition(Path::new(HOME)), before.condition(Path::new(HOME)), "{asked}");
    }
}

#[test]
fn mount_options_that_the_kernel_shows_or_never_shows_were_taken() {
    for (asked, shown) in [
        ("noatime", "rw,noatime"),
        ("defaults", "rw,relatime"),
        ("rw,relatime,atime,suid,dev,exec,barrier", "rw"),
        ("barrier=1", "rw"),
        ("barrier=0", "rw,nobarrier"),
        ("strictatime", "rw"),
        ("data=writeback,,noatime", "rw,noatime,data=writeback"),
    ] {
        let (_, found) = mounted_as(asked, shown);
        assert!(found.is_ok(), "{asked}: {}", found.unwrap_err());
    }
}

#[test]
fn what_the_kernel_mounted_otherwise_or_not_at_all_is_told() {
    let fake = machine();
    let (mut guard, disk) = with_a_disk(&fake);
    let mounted = make(&mut guard, (&disk, extent(0..DISK)), "", false).unwrap();
    assert_eq!(ext4("").check(&fake, &mounted), Ok(()));
    let table = Path::new("/proc/self/mountinfo");
    let text = fake.read_text(table).unwrap();
    fake.put(table, text.replace("- ext4 /dev/loop0", "- ext2 /dev/loop0"));
    assert_eq!(ext4("").check(&fake, &mounted), Err("the kernel mounted ext2".to_owned()));
    fake.put(table, "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    let told = ext4("").check(&fake, &mounted).unwrap_err();
    assert!(told.starts_with("nothing is mounted there"), "{told}");
    // The last mount at a directory is the visible one.
    let line = text.lines().find(|line| line.contains("/dev/loop0")).unwrap();
    let over = line.replace("- ext4", "- xfs");
    fake.put(table, format!("{text}{over}\n"));
    assert_eq!(ext4("").check(&fake, &mounted), Err("the kernel mounted xfs".to_owned()));
}

#[test]
fn a_loop_device_needs_room_for_its_file_and_not_a_byte_more() {
    let fake = machine();
    fake.add("space /var/lib 1073741824 2000000000").unwrap();
    let mut guard = Guard::begin(&fake, Path::new(HOME), "20261122-1200-ab12").unwrap();
    let refused = guard.build(|builder| builder.create_loop_file(DISK + 1)).unwrap_err();
    assert_eq!(refused.kind.exit_code(), 3);
    assert!(refused.message.contains("1 GiB free"), "{refused}");
    assert!(!steps(&fake, 0).iter().any(|step| step.contains("loop")), "nothing was started");
    lab(&mut guard).unwrap();
}

#[test]
fn labels_are_never_used_twice_and_fit_into_eleven_letters() {
    let fake = machine();
    let mut guard = Guard::begin(&fake, Path::new(HOME), "20261122-1200-ab12").unwrap();
    let labels: Vec<String> = (0..300).map(|_| guard.unique_label()).collect();
    let different: std::collections::BTreeSet<&String> = labels.iter().collect();
    assert_eq!(different.len(), labels.len());
    assert!(labels.iter().all(|label| label.starts_with("AYAB12") && label.len() == 11));
    assert_ne!(guard.unique_name("disk"), guard.unique_name("disk"));
}

#[test]
fn settings_go_back_for_now_and_everything_else_stays() {
    let fake = machine();
    let (mut guard, disk) = with_a_disk(&fake);
    make(&mut guard, (&disk, extent(0..DISK)), "", false).unwrap();
    let path = Path::new("/sys/block/loop0/queue/read_ahead_kb");
    let value = || fake.read_text(path).unwrap().trim().to_owned();
    let setting =
        |value: &str| Setting { path: path.to_owned(), value: value.to_owned(), device: None };
    for wanted in ["4096", "512", "0"] {
        guard.set(&setting(wanted)).unwrap();
        assert_eq!(value(), wanted);
    }
    let mounts = fake.read_text(Path::new("/proc/self/mountinfo")).unwrap();
    guard.restore_settings().unwrap();
    assert_eq!(value(), "128", "the first value, not the one before the last");
    assert_eq!(fake.read_text(Path::new("/proc/self/mountinfo")).unwrap(), mounts);
    guard.set(&setting("64")).unwrap();
    assert_eq!(value(), "64", "it can be had again");
}

#[test]
fn what_is_set_already_is_neither_written_nor_undone() {
    let fake = machine();
    let (mut guard, _) = with_a_disk(&fake);
    let (acts, undos) = (fake.acted().len(), guard.undos().len());
    let setting = Setting {
        path: "/sys/block/loop0/queue/read_ahead_kb".into(),
        value: "128".to_owned(),
        device: None,
    };
    guard.set(&setting).unwrap();
    assert_eq!((fake.acted().len(), guard.undos().len()), (acts, undos));
}

#[test]
fn a_text_file_is_written_kept_or_gone_again() {
    let fake = machine();
    let path = Path::new("/etc/sysctl.d/90-assay.conf");
    fake.add("dir /etc/sysctl.d").unwrap();
    let mut guard = Guard::begin(&fake, Path::new(HOME), "20261122-1200-ab12").unwrap();
    guard.write(path, "vm.swappiness = 10\n").unwrap();
    assert_eq!(fake.read_text(path).unwrap(), "vm.swappiness = 10\n");
    guard.finish().unwrap();
    assert!(fake.read_text(path).is_err());
    let mut guard = Guard::begin(&fake, Path::new(HOME), "20261122-1201-ab12").unwrap();
    guard.write(path, "vm.swappiness = 10\n").unwrap();
    guard.keep();
    assert_eq!(fake.read_text(path).unwrap(), "vm.swappiness = 10\n");
}

/// Results of `run` if each of its calls fails once in this way, one after the other.
fn each_failing<T>(kind: io::ErrorKind, user: u32, run: impl Fn(&Faulty<'_>) -> T) -> Vec<T> {
    let mut found = Vec::new();
    for at in 1.. {
        let fake = machine();
        fake.set_user(user);
        let faulty = Faulty::new(&fake, at, kind);
        let outcome = run(&faulty);
        if !faulty.has_failed() {
            break;
        }
        found.push(outcome);
    }
    found
}

#[test]
fn a_loop_device_that_another_process_takes_first_is_asked_for_again() {
    let made = |kind| {
        let run = |system: &Faulty<'_>| {
            let guard = Guard::begin(system, Path::new(HOME), "20261122-1200-ab12");
            guard.is_ok_and(|mut guard| lab(&mut guard).is_ok())
        };
        each_failing(kind, 0, run).into_iter().filter(|made| *made).count()
    };
    assert!(made(io::ErrorKind::ResourceBusy) > made(io::ErrorKind::InvalidInput));
}

#[test]
fn what_the_kernel_denies_an_ordinary_user_says_to_become_root() {
    let told = |kind, user| {
        let run = |system: &Faulty<'_>| {
            let begun = Guard::begin(system, Path::new(HOME), "20261122-1200-ab12");
            let Ok(mut guard) = begun else { return false };
            let path = Path::new("/proc/sys/vm/swappiness").to_owned();
            let value = "10".to_owned();
            let set = guard.set(&Setting { path, value, device: None });
            set.is_err_and(|failure| failure.message.ends_with("; run as root"))
        };
        each_failing(kind, user, run).contains(&true)
    };
    assert!(told(io::ErrorKind::PermissionDenied, 1000));
    assert!(!told(io::ErrorKind::PermissionDenied, 0));
    assert!(!told(io::ErrorKind::InvalidInput, 1000));
}

#[test]
fn no_setting_of_a_stranger_is_changed_whatever_names_it() {
    let limit = "/sys/fs/cgroup/blkio/work/blkio.throttle.read_bps_device";
    let set = |path: &str, value: &str| Setting {
        path: path.into(),
        value: value.to_owned(),
        device: None,
    };
    let levels = [
        set("/sys/block/loop0/queue/read_ahead_kb", "512"),
        set("/sys/block/loop0/queue/nr_requests", "64"),
        set(limit, "7:0 1000"),
    ];
    for known in [true, false] {
        let fake = machine();
        fake.put(limit, "7:0 4000\n");
        let (mut guard, _) = with_a_disk(&fake);
        if known {
            guard.change_only(vec![Mark::now(&fake, "loop0")]);
        }
        guard.set(&levels[0]).unwrap();
        fake.replug(Path::new("/dev/loop0"));
        let before = fake.acted().len();
        for level in &levels {
            let done = guard.set(level).map_err(|failure| failure.message);
            assert_eq!(done.is_err(), known, "{level:?}");
            assert!(done.err().is_none_or(|told| told.contains("loop0 was replaced")));
        }
        assert_eq!(fake.acted().len() == before, known);
    }
}

#[test]
fn settings_that_exclude_each_other_are_put_back() {
    let vm = |name: &str| Path::new("/proc/sys/vm").join(name);
    let set =
        |name: &str, value: &str| Setting { path: vm(name), value: value.to_owned(), device: None };
    for ([bytes, ratio], [bytes_before, ratio_before], levels) in [
        (["dirty_bytes", "dirty_ratio"], ["0", "20"], vec![set("dirty_bytes", "67108864")]),
        (["dirty_bytes", "dirty_ratio"], ["67108864", "0"], vec![set("dirty_ratio", "5")]),
        (
            ["dirty_background_bytes", "dirty_background_ratio"],
            ["0", "10"],
            vec![set("dirty_background_bytes", "4096"), set("dirty_background_ratio", "3")],
        ),
        (
            ["overcommit_kbytes", "overcommit_ratio"],
            ["0", "50"],
            vec![set("overcommit_kbytes", "99"), set("overcommit_kbytes", "98")],
        ),
    ] {
        let fake = machine();
        fake.put(vm(bytes), format!("{bytes_before}\n"));
        fake.put(vm(ratio), format!("{ratio_before}\n"));
        let holds = || [bytes, ratio].map(|name| fake.read_text(&vm(name)).unwrap());
        let before = holds();
        let mut guard = Guard::begin(&fake, Path::new(HOME), "20261122-1200-ab12").unwrap();
        for level in &levels {
            guard.set(level).unwrap();
            assert_eq!(fake.read_text(&level.path).unwrap().trim(), level.value);
            assert!(!guard.is_as_found());
        }
        // Between two arms, and to a level equal to the original.
        guard.restore_settings().unwrap();
        assert_eq!(holds(), before);
        guard.set(&levels[0]).unwrap();
        let zero = if bytes_before == "0" { bytes } else { ratio };
        guard.set(&set(zero, "0")).unwrap();
        assert_eq!(holds(), before);
        guard.set(&levels[0]).unwrap();
        assert!(guard.finish().unwrap().failed.is_empty());
        assert_eq!(holds(), before, "{bytes}");
    }
}

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const CLUSTER: &str = "/proc/sys/vm/page-cluster";

fn plain(path: &str, value: &str) -> Setting {
    Setting { path: path.into(), value: value.to_owned(), device: None }
}

/// The guard does not know these pairs: it compares values. A run may die at any change.
#[test]
fn neighbors_that_a_setting_changes_are_restored() {
    let queue = |name: &str| format!("/sys/devices/pci/block/sda/queue/{name}");
    let (depth, batch) = (queue("nr_requests"), queue("iosched/async_depth"));
    for (path, level, changed, is_mutual) in [
        (SWAPPINESS, "10", CLUSTER, false),
        // The other setting of the pair is 0 now.
        (CLUSTER, "5", SWAPPINESS, true),
        (&depth, "64", &batch, false),
    ] {
        let fake = machine();
        fake.put(&depth, "256\n").put(&batch, "100\n");
        if path == CLUSTER {
            fake.put(CLUSTER, "0\n");
        }
        fake.set_manner(path, Manner::Zeroes(changed.into()));
        if is_mutual {
            fake.set_manner(changed, Manner::Zeroes(path.into()));
        }
        let before = fake.condition(Path::new(HOME));
        let dies = |half: Half<'_>| {
            let dead = fake.copy().unwrap();
            half(&dead).unwrap();
            put_back(&dead);
            assert_eq!(dead.condition(Path::new(HOME)), before, "{path}");
        };
        let watched = Faulty::watched(&fake, &dies);
        let mut guard = Guard::begin(&watched, Path::new(HOME), "20261122-1200-ab12").unwrap();
        for _ in 0..2 {
            guard.set(&plain(path, level)).unwrap();
            assert_eq!(guard.side_effects_of(&plain(path, level)), [plain(changed, "0")]);
            assert_eq!(guard.undos().len(), 2, "only what changed is noted");
            guard.restore_settings().unwrap();
            assert!(guard.is_as_found());
        }
        guard.set(&plain(path, level)).unwrap();
        guard.finish().unwrap();
        assert_eq!(fake.condition(Path::new(HOME)), before, "{path}");
    }
}

#[test]
fn a_setting_that_never_comes_back_names_the_way_out() {
    let fake = machine();
    fake.set_manner(SWAPPINESS, Manner::Rises);
    let mut guard = Guard::begin(&fake, Path::new(HOME), "20261122-1200-ab12").unwrap();
    let refused = guard.set(&plain(SWAPPINESS, "70")).unwrap_err();
    assert!(refused.message.starts_with("cannot restore the original value"), "{refused}");
    guard.set(&plain(CLUSTER, "5")).unwrap();
    let failure = guard.finish().unwrap_err();
    assert!(failure.message.contains("or reboot"), "{failure}");
    assert_eq!(fake.read_text(Path::new(CLUSTER)).unwrap(), "3\n", "the other one is back");
    fake.put("/proc/sys/kernel/random/boot_id", "2222\n");
    put_back(&fake);
}

#[test]
fn a_limit_of_a_device_that_is_gone_is_not_put_back() {
    let fake = machine();
    let limit = Path::new("/sys/fs/cgroup/blkio/work/blkio.throttle.read_bps_device");
    fake.put(limit, "7:0 4000\n");
    let (mut guard, _) = with_a_disk(&fake);
    let (value, device) = ("7:0 1000".to_owned(), None);
    guard.set(&Setting { path: limit.into(), value, device }).unwrap();
    fake.replug(Path::new("/dev/loop0"));
    guard.restore_settings().unwrap();
    assert_eq!(fake.read_text(limit).unwrap().trim(), "7:0 1000");
}
