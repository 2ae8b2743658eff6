//! Tests on loop devices that they create.

use std::os::fd::AsFd;

use assay_testkit::needs::skip;

use super::*;
use assay_core::failure::Kind;
use assay_machine::system::identity::consent;
use assay_machine::system::site::Backing;
use assay_machine::system::{lock_names, resolve};

/// A loop device on a file in a directory; detached when dropped, before the directory goes.
pub(super) struct Loop {
    path: String,
    pub(super) name: String,
    device: File,
}

impl Loop {
    pub(super) fn new(scratch: &Scratch, image: &str, mib: u64) -> Self {
        let open = |path: &Path| File::options().read(true).write(true).open(path).unwrap();
        let image = scratch.join(image);
        File::create_new(&image).unwrap().set_len(mib << 20).unwrap();
        for _ in 0..20 {
            let control = open(Path::new("/dev/loop-control"));
            let number = assay_sys::free_loop(control.as_fd()).unwrap();
            let path = format!("/dev/loop{number}");
            let device = open(Path::new(&path));
            let options = assay_sys::LoopOptions::default();
            if assay_sys::attach_loop(device.as_fd(), open(&image).as_fd(), options).is_ok() {
                return Self { path, name: format!("loop{number}"), device };
            }
        }
        panic!("no free loop device");
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        assay_sys::detach_loop(self.device.as_fd()).unwrap();
    }
}

struct Mounted(PathBuf);

impl Mounted {
    fn new(scratch: &Scratch, kind: &str, source: &str, options: &str) -> Self {
        let point = scratch.join("mnt");
        std::fs::create_dir(&point).unwrap();
        run("mount", &["-t", kind, "-o", options, source, &point.to_string_lossy()]);
        Self(point)
    }

    fn site(&self) -> assay_machine::system::site::Site {
        resolve(&Real, &self.0.to_string_lossy()).unwrap()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[&self.0.to_string_lossy()]);
    }
}

#[test]
fn ext4_on_a_loop_device_is_resolved() {
    if !have(&[Need::Root, Need::Program("mkfs.ext4")]) {
        return;
    }
    let scratch = Scratch::new();
    let below = resolve(&Real, &scratch.0.to_string_lossy()).unwrap();
    let device = Loop::new(&scratch, "img", 64);
    run("mkfs.ext4", &["-q", &device.path]);
    let mounted = Mounted::new(&scratch, "ext4", &device.path, "noatime");
    let site = mounted.site();
    assert_eq!((site.filesystem().as_str(), site.backing), ("ext4", Backing::Blocks));
    assert_eq!(site.mount.value().unwrap().point, mounted.0);
    assert!(site.mount.value().unwrap().options.iter().any(|option| option == "noatime"));
    assert_eq!(
        (&site.counted, &site.shared),
        (&vec![device.name.clone()], &vec![device.name.clone()])
    );
    assert_eq!(site.drives[0].id, format!("{}:64MiB", device.name));
    if below.backing == Backing::Blocks {
        assert_eq!(lock_names(&site), lock_names(&below), "the same hardware");
    }
    let refused = consent(&Real, &resolve(&Real, &device.path).unwrap(), "x").unwrap_err();
    assert_eq!(refused.kind, Kind::Refused, "{refused}");
}

#[test]
fn btrfs_on_two_loop_devices_is_resolved() {
    if !have(&[Need::Root, Need::Program("mkfs.btrfs")]) {
        return;
    }
    let scratch = Scratch::new();
    let one = Loop::new(&scratch, "one", 128);
    let two = Loop::new(&scratch, "two", 128);
    run("mkfs.btrfs", &["-q", "-d", "raid1", &one.path, &two.path]);
    run("btrfs", &["device", "scan", &one.path, &two.path]);
    let mounted = Mounted::new(&scratch, "btrfs", &one.path, "compress=zstd");
    let site = mounted.site();
    let mut expected = [one.name.clone(), two.name.clone()];
    expected.sort();
    assert_eq!((site.counted.as_slice(), site.backing), (&expected[..], Backing::Blocks));
    assert!(site.compression.value().unwrap().starts_with("zstd"));
    let refused = consent(&Real, &resolve(&Real, &two.path).unwrap(), "x").unwrap_err();
    assert_eq!(refused.kind, Kind::Refused, "{refused}");
    drop(mounted);
    run("btrfs", &["device", "scan", "--forget", &one.path]);
}

#[test]
fn a_named_loop_device_is_opened_for_writing() {
    if !have(&[Need::Root]) {
        return;
    }
    let scratch = Scratch::new();
    let device = Loop::new(&scratch, "img", 16);
    let site = resolve(&Real, &device.path).unwrap();
    let wrong = consent(&Real, &site, &device.name).unwrap_err();
    let id = format!("{}:16MiB", device.name);
    assert!(wrong.kind == Kind::Mistake && wrong.message.contains(&id), "{wrong}");
    let given = consent(&Real, &site, &id).unwrap();
    let open = Real.open_device_for_writing(&given, Caching::Direct).unwrap();
    assert_eq!(Real.length(&open).unwrap(), 16 << 20);
    let again = Real.open_device_for_writing(&given, Caching::Buffered).unwrap_err();
    assert_eq!(again.kind(), io::ErrorKind::ResourceBusy, "exclusive");
    drop(open);
    Real.open_device_for_writing(&given, Caching::Buffered).unwrap();
}

#[test]
fn a_device_that_comes_later_under_the_same_number_is_another() {
    if !have(&[Need::Root]) {
        return;
    }
    let scratch = Scratch::new();
    // Another process may take the number in between: try again.
    let taken_again = (0..10).find_map(|attempt| {
        let device = Loop::new(&scratch, &format!("img{attempt}"), 16);
        let site = resolve(&Real, &device.path).unwrap();
        let given = consent(&Real, &site, &format!("{}:16MiB", device.name)).unwrap();
        let (path, name) = (device.path.clone(), device.name.clone());
        drop(device);
        // The kernel may still be detaching the first one.
        let open = |path: &Path| File::options().read(true).write(true).open(path).ok();
        let image = open(&scratch.join(&format!("img{attempt}")))?;
        let again = open(Path::new(&path))?;
        let options = assay_sys::LoopOptions::default();
        assay_sys::attach_loop(again.as_fd(), image.as_fd(), options).ok()?;
        Some((Loop { path, name, device: again }, given))
    });
    let (device, given) = taken_again.expect("a loop device that nobody else takes");
    let number = resolve(&Real, &device.path).unwrap().device;
    assert!(identity::disk_sequence(&Real, number).is_some(), "Linux 5.15 numbers disks");
    let refused = Real.open_device_for_writing(&given, Caching::Buffered).unwrap_err();
    assert!(refused.to_string().contains("no longer refers to the named device"), "{refused}");
}

/// Creates and loses areas where unnamed files are unavailable.
fn check_named_areas(directory: &Path, cachings: &[Caching]) {
    for caching in cachings {
        let area = Real.create_area(directory, *caching).unwrap();
        assert_eq!((area.name.is_some(), area.first_byte), (true, 1 << 20));
        assert!(Real.leftovers(directory).unwrap().is_empty());
        drop(area);
        // A FUSE file system learns of the closed file and its lock slightly later.
        let found = |_| {
            let left = Real.leftovers(directory).unwrap().pop();
            left.or_else(|| {
                std::thread::sleep(std::time::Duration::from_millis(20));
                None
            })
        };
        let left = (0..500).find_map(found).expect("the area that was lost");
        Real.remove_leftover(&left).unwrap();
    }
    assert!(Real.list(directory).unwrap().iter().all(|name| !name.starts_with(".assay")));
}

#[test]
fn fat_offers_no_unnamed_files() {
    if !have(&[Need::Root, Need::Program("mkfs.vfat")]) {
        return;
    }
    if !Real.read_text(Path::new("/proc/filesystems")).unwrap().contains("vfat") {
        return skip("this kernel has no vfat");
    }
    let scratch = Scratch::new();
    let device = Loop::new(&scratch, "img", 64);
    run("mkfs.vfat", &[&device.path]);
    let mounted = Mounted::new(&scratch, "vfat", &device.path, "rw");
    check_named_areas(&mounted.0, &[Caching::Buffered, Caching::Direct]);
}

#[test]
fn gocryptfs_is_followed_and_offers_no_unnamed_files() {
    if !have(&[Need::Root, Need::Program("gocryptfs"), Need::Program("fusermount3")]) {
        return;
    }
    // It runs in the background, as do leftovers of programs measured at the same time.
    let _turn = crate::real::execute::lock_turn();
    let scratch = Scratch::new();
    let (cipher, point, pass) = (scratch.join("cipher"), scratch.join("mnt"), scratch.join("pass"));
    std::fs::create_dir(&cipher).unwrap();
    std::fs::create_dir(&point).unwrap();
    std::fs::write(&pass, "only for this test").unwrap();
    let [cipher, point, pass] = [cipher, point, pass].map(|p| p.to_string_lossy().into_owned());
    run("gocryptfs", &["-init", "-q", "-scryptn", "10", "-passfile", &pass, &cipher]);
    run("gocryptfs", &["-q", "-passfile", &pass, &cipher, &point]);
    let mounted = Mounted(point.into());
    let below = resolve(&Real, &cipher).unwrap();
    let site = mounted.site();
    assert_eq!(site.filesystem(), "fuse.gocryptfs");
    assert_eq!((&site.counted, site.backing), (&below.counted, below.backing));
    check_named_areas(&mounted.0, &[Caching::Buffered]);
}
