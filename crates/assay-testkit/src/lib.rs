//! A small lab on the real machine: file systems in files, loop devices, a slow device.
//!
//! Used by the tests of all crates and by xtask; not shipped. Everything is in a new directory and removed in reverse
//! order when its guard is dropped, even if a test panics. The directory is in memory if there is room, so tests do not
//! compete for a drive.
//!
//! This crate contains helpers for tests of several crates. Fake machines are next to their trait, in `assay-machine`.
//!
//! Main types: [`Scratch`] (a directory), [`LoopDevice`], [`volume::Volume`], [`process::Assay`] (the program under
//! test), [`needs::Need`] (requirements of a test).

#![forbid(unsafe_code)]

pub mod certain;
pub mod clean;
pub mod commits;
pub mod expected;
pub mod facts;
pub mod fleet;
pub mod fuzz;
pub mod goodness;
pub mod home;
mod host;
pub mod hostile;
pub mod journals;
pub mod kills;
pub mod kinds;
pub mod layers;
pub mod liar;
pub mod live;
pub mod loads;
pub mod needs;
pub mod process;
pub mod recordings;
pub mod samples;
pub mod schema;
pub mod slow;
pub mod volume;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;

pub use host::{Done, call, has, is_root};

/// Lock for changing settings of this machine, held until dropped: the second of two studies would refuse to run.
pub fn turn() -> Done<fs::File> {
    let path = Path::new("/run/assay-lab.lock");
    let taken = fs::File::create(path).and_then(|file| file.lock().map(|()| file));
    taken.map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns whether the running kernel has a file system, built in or as a loadable module.
pub fn kernel_knows(filesystem: &str) -> bool {
    fs::read_to_string("/proc/filesystems")
        .is_ok_and(|text| text.lines().any(|line| line.split('\t').next_back() == Some(filesystem)))
}

/// Directory in memory on every Linux.
const MEMORY: &str = "/dev/shm";
/// More than any test stores there at a time.
const ROOM: u64 = 6 << 30;

fn has_room(place: &Path) -> bool {
    let free = rustix::fs::statvfs(place).map_or(0, |space| space.f_bavail * space.f_frsize);
    // Its files take memory that others may need.
    free.min(available_memory().unwrap_or_default()) >= ROOM
}

fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// A new directory, removed with its content on drop.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates one, in memory if there is room; `name` is part of its name.
    pub fn new(name: &str) -> Done<Self> {
        let memory = Path::new(MEMORY);
        if has_room(memory) { Self::below(memory, name) } else { Self::on_drive(name) }
    }

    /// Creates one below the temporary directory, for measurements of that drive.
    pub fn on_drive(name: &str) -> Done<Self> {
        Self::below(&std::env::temp_dir(), name)
    }

    fn below(place: &Path, name: &str) -> Done<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("assay-lab-{}-{count}-{name}", std::process::id());
        let path = place.join(name);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A home for results that root acts on: only root can write to the directories above.
    pub fn home(&self) -> Done<PathBuf> {
        let path = self.out_of_reach().join("home");
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    fn out_of_reach(&self) -> PathBuf {
        let place = if is_root() { Some("/run".into()) } else { std::env::var_os("HOME") };
        let place = place.map_or_else(std::env::temp_dir, PathBuf::from);
        place.join(self.path.file_name().unwrap_or_default())
    }

    /// A directory below it, made if need be, with these permissions and this owner.
    pub fn folder(&self, name: &str, mode: u32, owner: Option<u32>) -> Done<PathBuf> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path.join(name);
        let fail = |error: std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(&path).map_err(fail)?;
        std::os::unix::fs::chown(&path, owner, owner).map_err(fail)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).map_err(fail)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        for path in [self.out_of_reach(), self.path.clone()] {
            // A mount that would not go away must not be emptied through this path.
            if mounted_below(&path) {
                complain(&format!("{} still holds a mount and stays", path.display()));
                continue;
            }
            match fs::remove_dir_all(&path) {
                Err(error) if path.exists() => complain(&format!("{}: {error}", path.display())),
                _ => {}
            }
        }
    }
}

fn mounted_below(path: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .any(|point| Path::new(point).starts_with(path))
}

#[derive(Debug)]
pub struct Mounted {
    point: PathBuf,
}

impl Mounted {
    pub fn new(arguments: &[&str], point: &Path) -> Done<Self> {
        fs::create_dir_all(point).map_err(|error| format!("{}: {error}", point.display()))?;
        let mut all = arguments.to_vec();
        let text = point.display().to_string();
        all.push(&text);
        call("mount", &all)?;
        Ok(Self { point: point.to_owned() })
    }

    pub fn point(&self) -> &Path {
        &self.point
    }

    /// Takes over a mount that another program made (a FUSE program).
    pub fn made_by_another(point: &Path) -> Done<Self> {
        if mounted_below(point) {
            return Ok(Self { point: point.to_owned() });
        }
        Err(format!("{}: nothing was mounted", point.display()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let point = self.point.display().to_string();
        insist("umount", &[&point]);
    }
}

fn create_image(path: &Path, mebibytes: u64) -> Done<()> {
    let made = fs::File::create(path).and_then(|file| file.set_len(mebibytes << 20));
    made.map_err(|error| format!("{}: {error}", path.display()))
}

#[derive(Debug)]
pub struct LoopDevice {
    device: String,
    pub image: PathBuf,
}

impl LoopDevice {
    /// Creates a file of this many MiB, and a device over it with direct I/O if its filesystem supports that.
    pub fn new(image: PathBuf, mebibytes: u64) -> Done<Self> {
        create_image(&image, mebibytes)?;
        Self::over(image)
    }

    /// Creates a device over an existing file, through the page cache.
    pub fn buffered(image: PathBuf) -> Done<Self> {
        Self::attached(image, &["--direct-io=off"])
    }

    pub fn over(image: PathBuf) -> Done<Self> {
        let direct = Self::attached(image.clone(), &["--direct-io=on"]);
        direct.or_else(|_| Self::attached(image, &[]))
    }

    /// The same, on which the kernel takes partitions.
    pub fn over_with_partitions(image: PathBuf) -> Done<Self> {
        let direct = Self::attached(image.clone(), &["--partscan", "--direct-io=on"]);
        direct.or_else(|_| Self::attached(image, &["--partscan"]))
    }

    fn attached(image: PathBuf, options: &[&str]) -> Done<Self> {
        let name = image.display().to_string();
        let device = call("losetup", &[&["--find", "--show"], options, &[&name]].concat())?;
        Ok(Self { device: device.trim().to_owned(), image })
    }

    /// Takes over a device with other options.
    pub fn taken(device: &str, image: PathBuf) -> Self {
        Self { device: device.to_owned(), image }
    }

    /// Waits until it is unused: mount namespaces of other tests may contain its mounts.
    pub fn wait_until_free(&self) -> Done<()> {
        let mut last = String::new();
        for _ in 0..1200 {
            let alone = OFlags::EXCL.bits().cast_signed();
            match OpenOptions::new().read(true).custom_flags(alone).open(&self.device) {
                Ok(_) => return Ok(()),
                Err(error) => last = format!("{}: {error}", self.device),
            }
            thread::sleep(Duration::from_millis(100));
        }
        Err(last)
    }

    pub fn device(&self) -> &str {
        &self.device
    }

    pub fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }

    pub fn number(&self) -> Done<String> {
        let path = format!("/sys/class/block/{}/dev", self.name());
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        Ok(text.trim().to_owned())
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        insist("losetup", &["--detach", &self.device]);
    }
}

/// Runs an undo program until it succeeds; prints an error if it never does.
fn insist(program: &str, arguments: &[&str]) {
    if let Err(error) = patiently(program, arguments) {
        complain(&error);
    }
}

/// Repeats a program until it succeeds, for some seconds: an ended process may still use a mount or device for a
/// moment, because the kernel removes its rings later.
pub fn patiently(program: &str, arguments: &[&str]) -> Done<()> {
    let mut last = String::new();
    for _ in 0..50 {
        match call(program, arguments) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
        thread::sleep(Duration::from_millis(100));
    }
    Err(last)
}

fn complain(text: &str) {
    use std::io::Write;
    // Nothing better can be done with an error while undoing.
    let _ = std::io::stderr().write_all(format!("laboratory: {text}\n").as_bytes());
}
