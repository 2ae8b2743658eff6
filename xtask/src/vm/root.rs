//! A root disk with systemd: a Debian release by `debootstrap`, with a persistent journal and a unit that runs the job
//! after each boot. It is created once per release; each guest uses a copy.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::MODULES;
use super::kernel::Kernel;
use crate::lab::{Done, Scratch, call, has, is_root};

const PACKAGES: &str = "--include=systemd,systemd-sysv,dbus,udev,kmod";

/// Size of the disk, a sparse file.
const SIZE: &str = "2G";

/// Machine ID of all guests.
const MACHINE: &str = "a55a00000000000000000000000000ab\n";

/// The unit of the job. Its type is simple, so that the startup does not wait for the job.
const UNIT: &str = "[Unit]\nDescription=The job of the lab\nAfter=multi-user.target\n\n\
                    [Service]\nType=simple\nExecStart=/bin/sh /lab/start\n\n\
                    [Install]\nWantedBy=multi-user.target\n";

/// Runs the job, whose script is written for each guest.
pub(super) const START: &str = include_str!("start.sh");

/// The journal is persistent, and a power cut loses at most two seconds.
const JOURNAL: &str = "[Journal]\nStorage=persistent\nSyncIntervalSec=2s\n";

/// Returns the disk of a release; creates it first if necessary.
pub fn cached(below: &Path, release: &str, kernel: &Kernel) -> Done<PathBuf> {
    let image = below.join(format!("{release}-{}.ext4", kernel.release));
    if image.is_file() {
        return Ok(image);
    }
    if !is_root() {
        return Err("needs root to create a root disk".to_owned());
    }
    let programs = ["debootstrap", "mke2fs", "debugfs", "apt-get"];
    if let Some(program) = programs.into_iter().find(|name| !has(name)) {
        return Err(format!("needs the program {program}"));
    }
    if !release.chars().all(|letter| letter.is_ascii_lowercase()) {
        return Err(format!("`{release}` is not a release name"));
    }
    fs::create_dir_all(below).map_err(|error| format!("{}: {error}", below.display()))?;
    let scratch = Scratch::on_drive("root")?;
    let root = scratch.path().join("root");
    let shown = root.display().to_string();
    call("debootstrap", &["--variant=minbase", PACKAGES, release, &shown, &mirror()?])?;
    furnish(&root, kernel)?;
    let made = scratch.path().join("image");
    let file = made.display().to_string();
    call("mke2fs", &["-q", "-F", "-t", "ext4", "-d", &shown, &file, SIZE])?;
    // The cache may be on another filesystem.
    let whole = below.join(format!(".{release}"));
    let copied = call("cp", &["--sparse=always", &file, &whole.display().to_string()]);
    copied.and_then(|_| fs::rename(&whole, &image).map_err(|error| error.to_string()))?;
    Ok(image)
}

/// Returns the package mirror of this machine.
fn mirror() -> Done<String> {
    let words = ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"];
    let targets = call("apt-get", &words)?;
    let mut all = targets.lines().filter(|line| !line.contains("security"));
    let first = all.find(|line| line.trim_end_matches('/').ends_with("/debian"));
    first.map(str::to_owned).ok_or_else(|| "apt-get names no Debian mirror".to_owned())
}

/// Writes the files that the lab needs and removes unused ones.
fn furnish(root: &Path, kernel: &Kernel) -> Done<()> {
    let put = |path: &str, text: &str| -> Done<()> {
        let path = root.join(path);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("{}: {error}", path.display()))
    };
    put("etc/hostname", "lab\n")?;
    put("etc/machine-id", MACHINE)?;
    put("etc/fstab", "/dev/nvme0n1 / ext4 defaults 0 1\n")?;
    put("etc/systemd/journald.conf.d/lab.conf", JOURNAL)?;
    put("etc/modules-load.d/lab.conf", &(MODULES.join("\n") + "\n"))?;
    put("var/log/journal/.lab", "")?;
    put("lab/start", START)?;
    put("etc/systemd/system/lab.service", UNIT)?;
    let wanted = root.join("etc/systemd/system/multi-user.target.wants");
    fs::create_dir_all(&wanted)
        .and_then(|()| symlink("/etc/systemd/system/lab.service", wanted.join("lab.service")))
        .map_err(|error| format!("{}: {error}", wanted.display()))?;
    for waste in
        ["var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale"]
    {
        // A missing directory needs no space.
        let _ = fs::remove_dir_all(root.join(waste));
    }
    modules(root, kernel)
}

/// Copies the kernel modules of guests, and lists only these.
fn modules(root: &Path, kernel: &Kernel) -> Done<()> {
    let into = root.join("lib/modules").join(&kernel.release);
    let fail = |error: std::io::Error| format!("{}: {error}", into.display());
    for file in kernel.files_of(&MODULES)? {
        let to = into.join(&file);
        to.parent().map_or(Ok(()), fs::create_dir_all).map_err(fail)?;
        fs::copy(kernel.modules.join(&file), &to).map_err(fail)?;
    }
    for list in ["modules.builtin", "modules.builtin.modinfo", "modules.order"] {
        fs::copy(kernel.modules.join(list), into.join(list)).map_err(fail)?;
    }
    call("depmod", &["-b", &root.display().to_string(), &kernel.release]).map(drop)
}

/// Copies a disk to a folder, and writes files of this machine (path, mode, source) to the copy.
pub fn copy(image: &Path, into: &Path, files: &[(&str, &str, &Path)]) -> Done<PathBuf> {
    let copy = into.join("root.ext4");
    let [from, to] = [image, &copy].map(|path| path.display().to_string());
    call("cp", &["--sparse=always", &from, &to])?;
    // `debugfs` sets a mode only by the inode.
    let lines = files.iter().flat_map(|(path, mode, from)| {
        let from = from.display();
        [format!("write {from} {path}\n"), format!("set_inode_field {path} mode {mode}\n")]
    });
    let lines: String = lines.collect();
    let commands = into.join("debugfs");
    fs::write(&commands, lines).map_err(|error| format!("{}: {error}", commands.display()))?;
    call("debugfs", &["-w", "-f", &commands.display().to_string(), &to])?;
    Ok(copy)
}
