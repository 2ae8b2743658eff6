//! The contract of every factor: it takes effect or reports that it did not, and wherever a run dies, during a change
//! or its recovery, the machine ends in its original state.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::system::fake::Manner;
use crate::system::journal::{self, Unfinished};
use crate::system::{Fake, Faulty, Half, resolve};
use assay_core::failure::Outcome;
use assay_testkit::needs::{is_in_full, is_sampled};

use super::filesystem::FILE_SYSTEMS;
use super::guard::{Guard, journals};
use super::layers::{Base, Device, DeviceRange, Levels, Stack, Wish};
use super::*;

pub(super) const HOME: &str = "/var/lib/assay";
pub(super) const DISK: u64 = 1 << 30;
/// Number of devices for layers on several devices: enough for every level.
const MEMBERS: usize = 4;
const MACHINE: &str = "
file /proc/sys/kernel/random/boot_id 1111
file /proc/sys/kernel/osrelease 6.18.0
file /proc/sys/vm/dirty_ratio 20
file /proc/sys/vm/dirty_bytes 0
file /proc/sys/vm/dirty_background_ratio 10
file /proc/sys/vm/dirty_background_bytes 0
file /proc/sys/vm/swappiness 60
file /sys/devices/system/cpu/cpufreq/boost 1
file /sys/devices/system/cpu/cpufreq/policy0/scaling_governor powersave
file /sys/devices/system/cpu/cpufreq/policy1/scaling_governor powersave
file /proc/self/mountinfo
| 20 1 8:1 / / rw - ext4 /dev/sda1 rw
file /proc/swaps
| Filename Type Size Used Priority
dir /sys/block
dir /sys/class/block
dir /sys/dev/block
dir /sys/devices/virtual/block
dir /dev
dir /var/lib
dir /sys/fs
";

pub(super) fn machine() -> Fake {
    let fake = Fake::recorded(MACHINE).unwrap();
    fake.with_file_systems().with_encryption();
    fake.with_arrays();
    for factor in FACTORS {
        // A setting of the whole machine begins at the last level of its example.
        let level = example_levels(*factor).pop().unwrap();
        let lines = factor.commands(name_of(*factor), &level, &Site::loop_to_be(DISK));
        let files = lines.iter().filter_map(|line| line.strip_prefix("echo ")?.split_once(" > "));
        for (value, path) in files.filter(|(_, path)| fake.read_text(Path::new(path)).is_err()) {
            fake.put(path, format!("{value}\n"));
        }
    }
    fake
}

/// Levels of a walk: file systems differ only in the program that creates them.
fn walked(factor: &dyn Factor) -> Vec<String> {
    let mut levels = example_levels(factor);
    if factor.role() == Role::Layer && !is_in_full() {
        levels.truncate(2);
    }
    levels
}

fn name_of(factor: &dyn Factor) -> &str {
    match factor.about().name {
        "tunable:PATH" => "tunable:/proc/sys/vm/page-cluster",
        name => name,
    }
}

/// A target of the tool's own: a loop device that may be overwritten.
pub(super) fn lab(guard: &mut Guard<'_>) -> Outcome<Device> {
    let none = Levels::new();
    let wish = Wish { own_target: Some(DISK), ..Wish::new(&none) };
    match Stack::new(&wish).unwrap().make(guard, Vec::new())?.base {
        Base::Device(device) => Ok(device),
        other @ Base::Directory(_) => panic!("{other:?}"),
    }
}

/// Devices for a stack, as many as it uses, each from an offset on.
pub(super) fn below(guard: &mut Guard<'_>, stack: &Stack, start: u64) -> Outcome<Vec<Base>> {
    let count = if stack.takes_all() { MEMBERS } else { 1 };
    (0..count).map(|_| Ok(Base::Device(from(&lab(guard)?, start)))).collect()
}

/// A device from an offset on; the whole device at 0.
pub(super) fn from(device: &Device, start: u64) -> Device {
    let extent = DeviceRange { range: start..DISK, whole: start == 0, ..device.extent.clone() };
    Device { extent, discard: true, ..device.clone() }
}

pub(super) fn stack(levels: &[(&str, &str)]) -> Stack {
    let named = levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned()));
    Stack::new(&Wish::new(&named.collect())).unwrap()
}

/// The stack of a level, with the first suitable level of the factor that it requires.
fn stack_of(name: &str, level: &str) -> Stack {
    // A layer next to a directory needs a file system below.
    let ground = layers::of_factor(name).map(layers::Layer::ground).unwrap_or_default();
    let on = |levels: &[(&str, &str)]| {
        let ground = ground.iter().map(|(name, level)| (name.as_str(), level.as_str()));
        stack(&ground.chain(levels.iter().copied()).collect::<Vec<_>>())
    };
    let Some(first) = layers::goes_with(name) else { return on(&[(name, level)]) };
    let stacks = example_levels(find(first).unwrap()).into_iter();
    let mut stacks = stacks.map(|own| on(&[(first, own.as_str()), (name, level)]));
    let fits = |stack: &Stack| stack.missing(&machine(), &[DISK; MEMBERS]).is_none();
    stacks.find(fits).unwrap_or_else(|| panic!("nothing has {name} = {level}"))
}

/// Sets a loop device to all levels of a factor, one after the other, and restores it.
fn walk(system: &dyn System, factor: &dyn Factor) -> Outcome<()> {
    let mut guard = Guard::begin(system, Path::new(HOME), "20261120-1200-ab12")?;
    let device = lab(&mut guard)?;
    let mut devices = vec![device.clone()];
    let name = name_of(factor);
    for level in walked(factor) {
        if factor.role() == Role::Layer {
            let stack = stack_of(name, &level);
            while stack.takes_all() && devices.len() < MEMBERS {
                devices.push(lab(&mut guard)?);
            }
            for start in [0, DISK / 2] {
                let below = devices.iter().map(|own| Base::Device(from(own, start))).collect();
                let raised = stack.make(&mut guard, below)?;
                stack.check(system, &raised).map_err(assay_core::failure::Failure::refused)?;
                guard.lower(&raised)?;
            }
            continue;
        }
        let site = resolve(system, &device.file().to_string_lossy())?;
        let view = View { system, site: &site };
        let settings =
            factor.settings(name, &level, &view).map_err(assay_core::failure::Failure::refused)?;
        for setting in &settings {
            guard.set(setting)?;
        }
    }
    guard.finish().map(|_| ())
}

fn left(system: &dyn System) -> Vec<Unfinished> {
    journal::unfinished(system, &journals(Path::new(HOME))).unwrap()
}

/// A series of changes that ends with everything restored.
pub(super) type Walk<'w> = dyn Fn(&dyn System) -> Outcome<()> + 'w;

/// One in this many deaths of the recovery is tried after each death of a walk, in rotation.
const RECOVERIES: u64 = 15;

fn dead(fake: &Fake, half: Half<'_>) -> Fake {
    let dead = fake.copy().unwrap();
    half(&dead).unwrap();
    dead
}

/// One in this many deaths of a walk over layers is tried, in rotation per commit; settings have few deaths.
pub(super) const OF_LAYERS: u64 = 5;

/// Tries every death of a walk, or one in several, and the deaths of its recovery; returns the numbers of both. The
/// walk runs once; each death is tried on a copy of the machine.
pub(super) fn dies_everywhere(name: &str, one_in: u64, walk: &Walk<'_>) -> (u32, u32) {
    let (moments, deaths, recoveries) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let fake = machine();
    let before = fake.condition(Path::new(HOME));
    let dies = |half: Half<'_>| {
        let n = moments.fetch_add(1, Ordering::Relaxed) + 1;
        if !is_sampled(n.into(), one_in) {
            return;
        }
        deaths.fetch_add(1, Ordering::Relaxed);
        let tried = recovers_everywhere(&dead(&fake, half), n, &before);
        recoveries.fetch_add(
            tried.unwrap_or_else(|what| panic!("{name} died at {n}{what}")),
            Ordering::Relaxed,
        );
    };
    walk(&Faulty::watched(&fake, &dies)).unwrap();
    (deaths.into_inner(), recoveries.into_inner())
}

/// Recovers a machine after a walk died at its n-th change, with one in several deaths of the recovery; returns their
/// number, or the leftovers of the walk.
fn recovers_everywhere(fake: &Fake, n: u32, before: &str) -> Result<u32, String> {
    let (changes, tried, worst) = (AtomicU32::new(0), AtomicU32::new(1), Mutex::new(Ok(())));
    let dies = |half: Half<'_>| {
        let j = changes.fetch_add(1, Ordering::Relaxed) + 1;
        if is_sampled((j + n).into(), RECOVERIES) {
            tried.fetch_add(1, Ordering::Relaxed);
            let dead = dead(fake, half);
            put_back(&dead);
            if dead.condition(Path::new(HOME)) != before {
                *worst.lock().unwrap() =
                    Err(format!(", then at {j}: {}", dead.condition(Path::new(HOME))));
            }
        }
    };
    let dying = Faulty::watched(fake, &dies);
    for unfinished in left(&dying) {
        assert_eq!(journal::restore(&dying, &unfinished).unwrap().failed, Vec::<String>::new());
    }
    assert!(left(fake).is_empty());
    worst.into_inner().unwrap()?;
    let after = fake.condition(Path::new(HOME));
    if after == before { Ok(tried.into_inner()) } else { Err(format!(": {after}")) }
}

/// Restores the changes of a run, as `assay restore` does.
pub(super) fn put_back(fake: &Fake) {
    for unfinished in left(fake) {
        let report = journal::restore(fake, &unfinished).unwrap();
        assert_eq!(report.failed, Vec::<String>::new());
    }
    assert!(left(fake).is_empty());
}

/// Fewer deaths than each share has.
const DEATHS: u32 = 20;

/// Checks the contract for one share of the factors of a role; the shares run in parallel.
fn of_role(role: Role, [share, of]: [usize; 2]) -> (u32, u32) {
    let own = all().filter(|factor| factor.role() == role);
    let one_in = if role == Role::Layer { OF_LAYERS } else { 1 };
    let found = own.skip(share).step_by(of).map(|factor| {
        dies_everywhere(name_of(factor), one_in, &|system: &dyn System| walk(system, factor))
    });
    found.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

#[test]
fn whenever_a_setting_or_its_recovery_dies_the_machine_ends_as_it_began() {
    let (deaths, recoveries) = of_role(Role::Setting, [0, 1]);
    assert!(deaths > DEATHS && recoveries > deaths, "{deaths} {recoveries}");
}

#[test]
fn whenever_a_first_layer_or_its_recovery_dies_the_machine_ends_as_it_began() {
    let (deaths, recoveries) = of_role(Role::Layer, [0, 2]);
    assert!(deaths > DEATHS && recoveries > deaths, "{deaths} {recoveries}");
}

#[test]
fn whenever_a_second_layer_or_its_recovery_dies_the_machine_ends_as_it_began() {
    let (deaths, recoveries) = of_role(Role::Layer, [1, 2]);
    assert!(deaths > DEATHS && recoveries > deaths, "{deaths} {recoveries}");
}

/// Changes the kernel's names of backing files as after the end of the killed run's mount namespace.
fn forget_the_mount(fake: &Fake, shown: fn(&str) -> String) {
    for name in fake.list(Path::new("/sys/block")).unwrap() {
        let place = format!("/sys/devices/virtual/block/{name}/loop/backing_file");
        let Ok(text) = fake.read_text(Path::new(&place)) else { continue };
        fake.put(place, format!("{}\n", shown(text.trim_end())));
    }
}

/// Members of an array or a pool, killed at each change, in a separate mount namespace.
#[test]
fn whenever_a_run_dies_with_its_mounts_no_loop_device_stays() {
    let within = |path: &str| path.strip_prefix("/var/lib").unwrap().to_owned();
    let removed =
        |path: &str| format!("{} (deleted)", path.strip_prefix("/var/lib/assay").unwrap());
    for shown in [within, removed] {
        let fake = machine();
        let before = fake.condition(Path::new(HOME));
        let (deaths, stood) = (AtomicU32::new(0), AtomicU32::new(0));
        let loops = |fake: &Fake| {
            let names = fake.list(Path::new("/sys/block")).unwrap();
            names.iter().filter(|name| name.starts_with("loop")).count() as u32
        };
        let dies = |half: Half<'_>| {
            let dead = dead(&fake, half);
            forget_the_mount(&dead, shown);
            stood.fetch_max(loops(&dead), Ordering::Relaxed);
            put_back(&dead);
            let death = deaths.fetch_add(1, Ordering::Relaxed) + 1;
            assert_eq!(loops(&dead), 0, "death {death}");
            assert_eq!(dead.condition(Path::new(HOME)), before);
        };
        let watched = Faulty::watched(&fake, &dies);
        let mut guard = Guard::begin(&watched, Path::new(HOME), "20261120-1200-ab12").unwrap();
        for _ in 0..MEMBERS {
            lab(&mut guard).unwrap();
        }
        guard.finish().unwrap();
        assert_eq!(stood.into_inner() as usize, MEMBERS);
        assert!(deaths.into_inner() as usize > 4 * MEMBERS);
    }
}

#[test]
fn every_factor_takes_its_example_and_goes_all_the_way() {
    let mut names: Vec<&str> = Vec::new();
    for factor in all() {
        let about = factor.about();
        assert!(!names.contains(&about.name) && about.name == about.name.replace(' ', ""));
        names.push(about.name);
        assert!(!about.summary.ends_with('.') && about.text.ends_with('.'), "{}", about.name);
        assert!(example_levels(factor).len() > 1);
        for level in example_levels(factor) {
            factor.judge(&level).unwrap();
        }
        assert!(find(name_of(factor)).is_some());
        let fake = machine();
        let before = fake.condition(Path::new(HOME));
        walk(&fake, factor).unwrap();
        assert_eq!(fake.condition(Path::new(HOME)), before, "{}", about.name);
    }
}

/// Every setting, on a machine whose file misbehaves in some manner, reports that it did not take effect, and restores
/// earlier changes.
#[test]
fn a_setting_that_does_not_take_is_found_every_time() {
    for factor in all().filter(|factor| factor.role() == Role::Setting) {
        for manner in [Manner::Ignores, Manner::ReadOnly] {
            let fake = machine();
            let before = fake.condition(Path::new(HOME));
            for path in files(&fake, factor) {
                fake.set_manner(path, manner.clone());
            }
            let failure = walk(&fake, factor).unwrap_err();
            let expected =
                if manner == Manner::Ignores { "the kernel uses" } else { "the kernel refused" };
            assert!(failure.message.contains(expected), "{}", failure.message);
            assert_eq!(fake.condition(Path::new(HOME)), before, "{}", factor.about().name);
        }
    }
}

#[test]
fn a_value_that_the_kernel_rounds_is_found_and_one_that_cannot_be_put_back_is_left() {
    let path = PathBuf::from("/proc/sys/vm/swappiness");
    let set = |step: u64, value: &str| {
        let fake = machine();
        fake.set_manner(&path, Manner::RoundsTo(step));
        let before = fake.condition(Path::new(HOME));
        let mut guard = Guard::begin(&fake, Path::new(HOME), "x").unwrap();
        let setting = Setting { path: path.clone(), value: value.to_owned(), device: None };
        let failure = guard.set(&setting).unwrap_err();
        let put_back = guard.finish().is_ok() && fake.condition(Path::new(HOME)) == before;
        (failure.message, put_back)
    };
    let (message, put_back) = set(20, "50");
    assert!(message.ends_with("50 requested, the kernel uses 40") && put_back, "{message}");
    // The setting is 60 and read-only.
    let (message, _) = set(50, "100");
    assert!(message.contains("cannot restore the original value"), "{message}");
}

/// If another device appears under the same name, Assay creates nothing on it.
#[test]
fn another_device_under_the_same_name_is_left_alone() {
    let fake = machine();
    let mut guard = Guard::begin(&fake, Path::new(HOME), "x").unwrap();
    let device = lab(&mut guard).unwrap();
    let stack = stack(&[("filesystem", "ext4")]);
    let raised = stack.make(&mut guard, vec![Base::Device(device.clone())]).unwrap();
    guard.lower(&raised).unwrap();
    fake.replug(&device.file());
    let before = fake.condition(Path::new(HOME));
    let failure = stack.make(&mut guard, vec![Base::Device(device)]).unwrap_err();
    assert!(failure.message.contains("cannot overwrite"), "{}", failure.message);
    assert_eq!(fake.condition(Path::new(HOME)), before);
}

#[test]
fn a_file_system_that_was_not_mounted_is_found() {
    for kind in FILE_SYSTEMS {
        let fake = machine();
        fake.mount_nothing();
        let before = fake.condition(Path::new(HOME));
        let mut guard = Guard::begin(&fake, Path::new(HOME), "x").unwrap();
        let device = Base::Device(lab(&mut guard).unwrap());
        let stack = stack(&[("filesystem", kind.name)]);
        let failure = stack.make(&mut guard, vec![device]).unwrap_err();
        assert!(failure.message.contains("nothing is mounted"), "{}", failure.message);
        guard.finish().unwrap();
        assert_eq!(fake.condition(Path::new(HOME)), before);
    }
}

#[test]
fn what_is_missing_for_a_file_system_is_said() {
    let xfs = stack(&[("filesystem", "xfs")]);
    let bare = Fake::recorded(MACHINE).unwrap();
    let missing = xfs.missing(&bare, &[DISK]).unwrap();
    assert_eq!(missing, "mkfs.xfs is not installed; install the package xfsprogs");
    bare.install("mkfs.xfs");
    assert_eq!(xfs.missing(&bare, &[DISK]).unwrap(), "this kernel has no xfs");
    let fake = machine();
    assert_eq!(
        xfs.missing(&fake, &[16 << 20]).unwrap(),
        "xfs needs 300 MiB, only 16 MiB available"
    );
    assert_eq!(xfs.missing(&fake, &[DISK]), None);
    bare.put("/lib/modules/6.18.0/modules.dep", "kernel/fs/xfs/xfs.ko.zst: kernel/lib/x.ko\n");
    assert_eq!(xfs.missing(&bare, &[DISK]), None);
}

fn files(fake: &Fake, factor: &dyn Factor) -> Vec<PathBuf> {
    let mut guard = Guard::begin(fake, Path::new(HOME), "look").unwrap();
    let device = lab(&mut guard).unwrap();
    let site = resolve(fake, &device.file().to_string_lossy()).unwrap();
    let level = example_levels(factor)[0].clone();
    let settings = factor.settings(name_of(factor), &level, &View { system: fake, site: &site });
    let found = settings.unwrap().into_iter().map(|setting| fake.canonical(&setting.path).unwrap());
    let found = found.collect();
    guard.finish().unwrap();
    found
}

#[test]
fn only_what_is_safe_under_a_mounted_device_at_work_is_taken_there() {
    let live = ["scheduler", "nr_requests", "read_ahead", "wbt_latency", "dirty_expire"];
    assert_eq!(super::check_live(live, &[]), Ok(()));
    for name in ["write_cache", "filesystem", "mount_options"] {
        let told = super::check_live([name], &[]).unwrap_err();
        assert!(told.starts_with(&format!("cannot change {name} of")), "{told}");
        assert!(told.contains("generated load"), "{told}");
    }
    let zfs = "/sys/module/zfs/parameters/zfs_vdev_async_write_max_active";
    let name = format!("tunable:{zfs}");
    assert!(super::check_live([name.as_str()], &[]).unwrap_err().contains("to allow it"));
    assert_eq!(super::check_live([name.as_str()], &[zfs.into()]), Ok(()));
    // Every layer on a device destroys its data.
    for factor in all().filter(|factor| factor.role() == Role::Layer) {
        assert!(factor.not_live(factor.about().name).is_some(), "{}", factor.about().name);
    }
}
