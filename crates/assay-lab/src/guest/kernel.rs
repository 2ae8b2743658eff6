//! A kernel for guests: a distribution's own, fetched and unpacked by its own programs, installed
//! nowhere. It is kept, because it is the same tomorrow.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{Done, Scratch, call, has, is_root};

/// Packages that name the newest kernel, the smaller one first.
const NAMING: [&str; 2] = ["linux-image-cloud-amd64", "linux-image-amd64"];

/// What `modprobe` reads, beside the modules themselves.
const LISTS: [&str; 8] = [
    "modules.alias",
    "modules.builtin",
    "modules.builtin.modinfo",
    "modules.dep",
    "modules.order",
    "modules.softdep",
    "modules.symbols",
    "modules.devname",
];

/// A kernel with its modules.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// `/lib/modules` has it as a folder: `6.1.0-18-cloud-amd64`.
    pub release: String,
    /// The file that is booted.
    pub image: PathBuf,
    /// The folder with the modules and their lists.
    pub modules: PathBuf,
    /// A module and those that it needs, by file below that folder: `modules.dep`.
    needs: BTreeMap<String, Vec<String>>,
}

impl Kernel {
    /// Reads an unpacked package of a kernel, in which `depmod` has worked.
    pub fn unpacked(folder: &Path) -> Done<Self> {
        let modules = folder.join("lib/modules");
        if !modules.is_dir() {
            return Err(format!("{} has no lib/modules", folder.display()));
        }
        let release = only_name(&modules)?;
        let image = folder.join(format!("boot/vmlinuz-{release}"));
        if !image.is_file() {
            return Err(format!("{} is missing", image.display()));
        }
        let modules = modules.join(&release);
        let list = modules.join("modules.dep");
        let text = fs::read_to_string(&list).map_err(|error| {
            format!("{}: {error}; depmod -b {} {release}", list.display(), folder.display())
        })?;
        Ok(Self { release, image, modules, needs: needs(&text) })
    }

    /// The one that is kept below a folder, fetched where there is none of the newest package.
    pub fn kept(below: &Path) -> Done<Self> {
        let package = match newest() {
            Ok(package) => package,
            // Without a network, one of an earlier day will do.
            Err(reason) => return any(below).ok_or(reason),
        };
        let folder = below.join(&package);
        if !folder.is_dir()
            && let Err(reason) = fetch(&package, below)
        {
            return any(below).ok_or(reason);
        }
        Self::unpacked(&folder)
    }

    /// Files of modules in the order in which they can be loaded: each after those that it needs.
    /// A module that is built in has none.
    pub fn files_of(&self, names: &[&str]) -> Done<Vec<String>> {
        let mut files: Vec<String> = Vec::new();
        for name in names {
            let wanted = plain(name);
            let Some((file, needs)) = self.needs.iter().find(|(file, _)| module(file) == wanted)
            else {
                if self.has_built_in(&wanted) {
                    continue;
                }
                return Err(format!("{} has no module {name}", self.release));
            };
            // The last of those that it needs is the first to be loaded.
            for file in needs.iter().rev().chain([file]) {
                if !files.contains(file) {
                    files.push(file.clone());
                }
            }
        }
        Ok(files)
    }

    fn has_built_in(&self, name: &str) -> bool {
        let text = fs::read_to_string(self.modules.join("modules.builtin")).unwrap_or_default();
        text.lines().any(|line| module(line) == name)
    }

    /// Lists of modules that are there, for `modprobe`.
    pub fn lists(&self) -> Vec<PathBuf> {
        let all = LISTS.iter().map(|name| self.modules.join(name));
        all.filter(|path| path.is_file()).collect()
    }
}

/// The package of the newest kernel that this machine's sources know.
fn newest() -> Done<String> {
    if !has("apt-cache") || !has("dpkg-deb") {
        return Err("needs apt and dpkg to fetch a kernel, or --kernel with an unpacked one".into());
    }
    if let Some(name) = named() {
        return Ok(name);
    }
    if is_root() {
        // The lists may be absent: what is then still not known is what counts.
        let _ = call("apt-get", &["--quiet=2", "update"]);
    }
    named().ok_or_else(|| format!("apt-cache knows no package {}", NAMING.join(" or ")))
}

fn named() -> Option<String> {
    NAMING.iter().find_map(|name| {
        let told = call("apt-cache", &["depends", name]).ok()?;
        depended(&told)
    })
}

/// The package that a naming one depends on: `  Depends: linux-image-6.1.0-18-cloud-amd64`.
fn depended(told: &str) -> Option<String> {
    let mut names = told.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    names.find(|name| name.starts_with("linux-image-")).map(str::to_owned)
}

/// Fetches a package and unpacks it below a folder; nothing half-done is left there.
fn fetch(package: &str, below: &Path) -> Done<()> {
    let fail = |error: std::io::Error| format!("{}: {error}", below.display());
    fs::create_dir_all(below).map_err(fail)?;
    let scratch = Scratch::beside(below, "kernel")?;
    let into = scratch.path().display().to_string();
    // It writes where it stands.
    call("sh", &["-c", r#"cd "$1" && apt-get --quiet=2 download "$2""#, "sh", &into, package])?;
    let file = only_name(scratch.path())?;
    let from = scratch.path().join(file).display().to_string();
    let unpacked = scratch.path().join("unpacked");
    let to = unpacked.display().to_string();
    call("dpkg-deb", &["--extract", &from, &to])?;
    if !unpacked.join("lib").exists() {
        // Packages of later releases put everything below usr; `depmod` looks in lib.
        std::os::unix::fs::symlink("usr/lib", unpacked.join("lib")).map_err(fail)?;
    }
    let release = only_name(&unpacked.join("lib/modules"))?;
    call("depmod", &["-b", &to, &release])?;
    fs::rename(&unpacked, below.join(package)).map_err(fail)
}

/// Any kernel that is kept.
fn any(below: &Path) -> Option<Kernel> {
    let mut folders: Vec<PathBuf> = fs::read_dir(below).ok()?.flatten().map(|e| e.path()).collect();
    folders.sort();
    folders.iter().rev().find_map(|folder| Kernel::unpacked(folder).ok())
}

/// The one name in a folder.
fn only_name(folder: &Path) -> Done<String> {
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    let names: Vec<String> = fs::read_dir(folder)
        .map_err(fail)?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    match names.as_slice() {
        [one] => Ok(one.clone()),
        _ => Err(format!("{} has {} entries, not one", folder.display(), names.len())),
    }
}

/// `modules.dep`: `kernel/a.ko: kernel/b.ko kernel/c.ko`.
fn needs(text: &str) -> BTreeMap<String, Vec<String>> {
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .map(|(file, needs)| {
            (file.to_owned(), needs.split_whitespace().map(str::to_owned).collect())
        })
        .collect()
}

/// The module of a file: `virtio_blk` of `kernel/drivers/block/virtio_blk.ko.xz`.
fn module(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    plain(name.split('.').next().unwrap_or(name))
}

/// Modules are the same with either line.
fn plain(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    fn kernel(dep: &str, builtin: &str) -> (Scratch, Kernel) {
        let scratch = Scratch::new("kernel").unwrap();
        let modules = scratch.folder("lib/modules/6.1-x", 0o755, None).unwrap();
        scratch.folder("boot", 0o755, None).unwrap();
        fs::write(scratch.path().join("boot/vmlinuz-6.1-x"), "").unwrap();
        fs::write(modules.join("modules.dep"), dep).unwrap();
        fs::write(modules.join("modules.builtin"), builtin).unwrap();
        let kernel = Kernel::unpacked(scratch.path()).unwrap();
        (scratch, kernel)
    }

    #[test]
    fn a_module_comes_after_those_that_it_needs_and_once() {
        let dep = "kernel/d/virtio_blk.ko: kernel/v/virtio_ring.ko kernel/v/virtio.ko\n\
                   kernel/v/virtio.ko:\nkernel/v/virtio_ring.ko: kernel/v/virtio.ko\n";
        let (_scratch, kernel) = kernel(dep, "kernel/fs/ext4/ext4.ko\n");
        let files = kernel.files_of(&["virtio-blk", "virtio_ring", "ext4"]).unwrap();
        assert_eq!(
            files,
            ["kernel/v/virtio.ko", "kernel/v/virtio_ring.ko", "kernel/d/virtio_blk.ko"]
        );
        let error = kernel.files_of(&["no_such"]).unwrap_err();
        assert_eq!(error, "6.1-x has no module no_such");
        assert_eq!(kernel.lists().len(), 2);
    }

    #[test]
    fn the_newest_kernel_is_what_the_naming_package_depends_on() {
        let told = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-18-cloud-amd64\n";
        assert_eq!(depended(told).as_deref(), Some("linux-image-6.1.0-18-cloud-amd64"));
        assert_eq!(depended("linux-image-amd64\n  Conflicts: x\n"), None);
    }

    #[test]
    fn what_is_no_kernel_is_refused_by_what_is_missing() {
        let scratch = Scratch::new("kernel").unwrap();
        let error = Kernel::unpacked(scratch.path()).unwrap_err();
        assert!(error.ends_with("has no lib/modules"), "{error}");
    }
}
