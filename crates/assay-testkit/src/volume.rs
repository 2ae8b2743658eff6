//! File systems to measure in, each new and empty.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::StatVfs;

use crate::{Done, LoopDevice, Mounted, Scratch, call, has, kernel_knows};

/// No blocks for root, and no initialization after the mount, while other tests measure.
const EXT4: [&str; 6] = ["-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filesystem {
    Ext4,
    Xfs,
    Btrfs,
    Tmpfs,
    /// In memory, without holes: a loop device over its files does not support discards.
    Ramfs,
    /// Over an ext4 on a loop device.
    Overlay,
    /// FUSE, over an ext4 on a loop device.
    Gocryptfs,
}

impl Filesystem {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Tmpfs => "tmpfs",
            Self::Ramfs => "ramfs",
            Self::Overlay => "overlay",
            Self::Gocryptfs => "gocryptfs",
        }
    }

    /// Returns the requirement that this machine lacks; `None` if there is none.
    pub fn missing(self) -> Option<String> {
        let (programs, kernel): (&[&str], &str) = match self {
            Self::Ext4 => (&["losetup", "mkfs.ext4"], "ext4"),
            Self::Xfs => (&["losetup", "mkfs.xfs"], "xfs"),
            Self::Btrfs => (&["losetup", "mkfs.btrfs"], "btrfs"),
            Self::Tmpfs => (&[], "tmpfs"),
            Self::Ramfs => (&[], "ramfs"),
            Self::Overlay => (&["losetup", "mkfs.ext4"], "overlay"),
            Self::Gocryptfs => (&["losetup", "mkfs.ext4", "gocryptfs", "fusermount3"], "fuse"),
        };
        if let Some(program) = programs.iter().find(|program| !has(program)) {
            return Some(format!("needs the program {program}"));
        }
        let loads = call("modprobe", &["--quiet", kernel]).is_ok();
        (!loads && !kernel_knows(kernel)).then(|| format!("needs {kernel} in the kernel"))
    }
}

/// A mounted file system; removed from the top down on drop.
#[derive(Debug)]
pub struct Volume {
    // Dropped in this order.
    mounts: Vec<Mounted>,
    device: Option<LoopDevice>,
    second: Option<LoopDevice>,
    scratch: Scratch,
    directory: PathBuf,
}

impl Volume {
    /// A file system of this many MiB that everybody may write to.
    pub fn new(kind: Filesystem, mebibytes: u64) -> Done<Self> {
        Self::with_options(kind, mebibytes, "defaults")
    }

    /// The same over a file on the drive of the temporary directory, for benchmarks.
    pub fn on_drive(kind: Filesystem, mebibytes: u64) -> Done<Self> {
        Self::nothing_yet(Scratch::on_drive(kind.name())?).made(kind, mebibytes, "defaults")
    }

    pub fn with_options(kind: Filesystem, mebibytes: u64, options: &str) -> Done<Self> {
        Self::nothing_yet(Scratch::new(kind.name())?).made(kind, mebibytes, options)
    }

    fn made(mut self, kind: Filesystem, mebibytes: u64, options: &str) -> Done<Self> {
        let volume = &mut self;
        let point = volume.directory.clone();
        match kind {
            Filesystem::Ext4 => {
                volume.on_loop(mebibytes, "mkfs.ext4", &EXT4, options)?;
            }
            Filesystem::Xfs => volume.on_loop(mebibytes, "mkfs.xfs", &["-q", "-f"], options)?,
            Filesystem::Btrfs => volume.on_loop(mebibytes, "mkfs.btrfs", &["-q", "-f"], options)?,
            Filesystem::Tmpfs => {
                let options = format!("size={mebibytes}m");
                volume.mount(&["-t", "tmpfs", "-o", &options, "tmpfs"], &point)?;
            }
            Filesystem::Ramfs => volume.mount(&["-t", "ramfs", "ramfs"], &point)?,
            Filesystem::Overlay => volume.overlay(mebibytes)?,
            Filesystem::Gocryptfs => volume.gocryptfs(mebibytes)?,
        }
        open_to_everybody(&volume.directory)?;
        Ok(self)
    }

    /// A btrfs on two loop devices of this many MiB each, with a data profile (`raid1`).
    pub fn btrfs_of_two(profile: &str, mebibytes: u64) -> Done<Self> {
        let mut volume = Self::nothing_yet(Scratch::new("btrfs-of-two")?);
        let second = LoopDevice::new(volume.scratch.path().join("second"), mebibytes)?;
        let name = second.device().to_owned();
        volume.second = Some(second);
        let with = ["-q", "-f", "-m", "raid1", "-d", profile, &name];
        volume.on_loop(mebibytes, "mkfs.btrfs", &with, "defaults")?;
        open_to_everybody(&volume.directory)?;
        Ok(volume)
    }

    fn nothing_yet(scratch: Scratch) -> Self {
        let directory = scratch.path().join("mnt");
        Self { mounts: Vec::new(), device: None, second: None, directory, scratch }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The directory around it: for results and copies.
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    pub fn device(&self) -> Done<&LoopDevice> {
        self.device.as_ref().ok_or_else(|| "this volume has no device of its own".to_owned())
    }

    /// The second loop device, if there are two.
    pub fn second(&self) -> Done<&LoopDevice> {
        self.second.as_ref().ok_or_else(|| "this volume has no second device".to_owned())
    }

    pub fn used_bytes(&self) -> Done<u64> {
        let space = self.space()?;
        Ok((space.f_blocks - space.f_bfree) * space.f_frsize)
    }

    pub fn free_bytes(&self) -> Done<u64> {
        let space = self.space()?;
        Ok(space.f_bavail * space.f_frsize)
    }

    /// Asks the kernel: starting `df` takes too long next to a program that fills the volume.
    fn space(&self) -> Done<StatVfs> {
        let point = self.directory.display();
        rustix::fs::statvfs(&self.directory).map_err(|error| format!("{point}: {error}"))
    }

    pub fn names(&self) -> Done<Vec<String>> {
        let fail = |error: std::io::Error| format!("{}: {error}", self.directory.display());
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name().to_string_lossy().into_owned();
            if name != "lost+found" {
                names.push(name);
            }
        }
        Ok(names)
    }

    pub fn remount(&self, options: &str) -> Done<()> {
        let options = format!("remount,{options}");
        call("mount", &["-o", &options, &self.directory.display().to_string()]).map(drop)
    }

    fn mount(&mut self, arguments: &[&str], point: &Path) -> Done<()> {
        self.mounts.insert(0, Mounted::new(arguments, point)?);
        Ok(())
    }

    fn on_loop(&mut self, mebibytes: u64, make: &str, with: &[&str], options: &str) -> Done<()> {
        let device = LoopDevice::new(self.scratch.path().join("image"), mebibytes)?;
        let name = device.device().to_owned();
        self.device = Some(device);
        call(make, &[with, &[&name]].concat())?;
        self.mount(&["-o", options, &name], &self.scratch.path().join("mnt"))
    }

    fn overlay(&mut self, mebibytes: u64) -> Done<()> {
        self.on_loop(mebibytes, "mkfs.ext4", &EXT4, "defaults")?;
        let base = self.directory.clone();
        for name in ["lower", "upper", "work"] {
            fs::create_dir(base.join(name)).map_err(|error| format!("{name}: {error}"))?;
        }
        let base = base.display();
        let options = format!("lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work");
        let point = self.scratch.path().join("merged");
        self.mount(&["-t", "overlay", "-o", &options, "overlay"], &point)?;
        self.directory = point;
        Ok(())
    }

    fn gocryptfs(&mut self, mebibytes: u64) -> Done<()> {
        self.on_loop(mebibytes, "mkfs.ext4", &EXT4, "defaults")?;
        let cipher = self.directory.join("cipher");
        let plain = self.scratch.path().join("plain");
        for path in [&cipher, &plain] {
            fs::create_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let (cipher, point) = (cipher.display().to_string(), plain.display().to_string());
        let word = self.scratch.path().join("word");
        fs::write(&word, "open\n").map_err(|error| format!("{}: {error}", word.display()))?;
        let word = word.display().to_string();
        call("gocryptfs", &["-q", "-init", "-scryptn", "10", "-passfile", &word, &cipher])?;
        call("gocryptfs", &["-q", "-allow_other", "-passfile", &word, &cipher, &point])?;
        self.mounts.insert(0, Mounted::made_by_another(&plain)?);
        self.directory = plain;
        Ok(())
    }
}

fn open_to_everybody(directory: &Path) -> Done<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::Permissions::from_mode(0o1777);
    fs::set_permissions(directory, mode)
        .map_err(|error| format!("{}: {error}", directory.display()))
}
