//! Kernels for guests: downloads, unpacks and stores a distribution's package without installing it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::vm::{Done, call, found, has};

/// Metapackages of the newest kernel, the smaller one first.
const NAMING: [&str; 2] = ["linux-image-cloud-amd64", "linux-image-amd64"];
const TURN: &str = ".turn";
const UNFINISHED: &str = ".unfinished";

/// Index files for `modprobe`, each after `modules.`.
const LISTS: &str = "alias builtin builtin.modinfo dep order softdep symbols devname";

#[derive(Clone, Debug, Default)]
pub struct Kernel {
    /// Its directory in `/lib/modules`: `6.1.0-18-cloud-amd64`.
    pub release: String,
    pub image: PathBuf,
    pub modules: PathBuf,
    /// Dependencies of a module, by file below that directory: `modules.dep`.
    needs: BTreeMap<String, Vec<String>>,
    /// Soft dependencies of a module, by name: `modules.softdep`.
    soft_needs: BTreeMap<String, Vec<String>>,
    /// Modules by alias: `modules.alias`.
    aliases: BTreeMap<String, Vec<String>>,
}

impl Kernel {
    /// Reads an unpacked kernel package.
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
        Ok(Self::read(release, image, modules, &text))
    }

    fn read(release: String, image: PathBuf, modules: PathBuf, dep: &str) -> Self {
        // A kernel without these lists has no soft dependencies.
        let text = |list: &str| fs::read_to_string(modules.join(list)).unwrap_or_default();
        let (soft_needs, aliases) =
            (soft_dependencies(&text("modules.softdep")), aliases(&text("modules.alias")));
        Self { release, image, needs: dependencies(dep), soft_needs, aliases, modules }
    }

    /// Returns the readable installed kernels, the running one first.
    pub fn installed() -> Vec<Self> {
        let running = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let names = fs::read_dir("/lib/modules").into_iter().flatten().flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut releases: Vec<String> = names.collect();
        releases.sort_by_key(|release| (release != running.trim(), release.clone()));
        releases.iter().filter_map(|release| Self::of_release(release)).collect()
    }

    fn of_release(release: &str) -> Option<Self> {
        let modules = Path::new("/lib/modules").join(release);
        let images = [format!("/boot/vmlinuz-{release}").into(), modules.join("vmlinuz")];
        let image = images.into_iter().find(|image| fs::File::open(image).is_ok())?;
        let dep = fs::read_to_string(modules.join("modules.dep")).ok()?;
        Some(Self::read(release.to_owned(), image, modules, &dep))
    }

    /// All kernels stored in a directory, the newest last.
    pub fn kept(below: &Path) -> Vec<Self> {
        let entries = fs::read_dir(below).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        folders.sort();
        folders.iter().filter_map(|folder| Self::unpacked(folder).ok()).collect()
    }

    /// Returns the newest packaged kernel with all modules; without network, a stored one.
    pub fn fetched(below: &Path, modules: &[&str]) -> Done<Self> {
        let mut reason = None;
        for naming in NAMING {
            match fetch_newest(below, naming) {
                Ok(kernel) if kernel.lacks(modules).is_empty() => return Ok(kernel),
                Ok(_) => {}
                Err(why) => reason = reason.or(Some(why)),
            }
        }
        let reason = reason.unwrap_or_else(|| "no kernel has all required modules".to_owned());
        likeliest(Self::kept(below), modules).ok_or(reason)
    }

    /// Returns which modules this kernel has neither as a file nor built in.
    pub fn lacks(&self, modules: &[&str]) -> Vec<String> {
        let built_in = self.built_in();
        let has = |name: &str| {
            let name = module_name(name);
            self.needs.keys().any(|file| module_of(file) == name) || built_in.contains(&name)
        };
        modules.iter().filter(|name| !has(name)).map(|name| (*name).to_owned()).collect()
    }

    fn built_in(&self) -> BTreeSet<String> {
        let text = fs::read_to_string(self.modules.join("modules.builtin")).unwrap_or_default();
        text.lines().map(module_of).collect()
    }

    pub fn files_below(&self, folders: &[&str]) -> impl Iterator<Item = &String> {
        let starts: Vec<String> =
            folders.iter().map(|folder| format!("kernel/{folder}/")).collect();
        self.needs.keys().filter(move |file| starts.iter().any(|start| file.starts_with(start)))
    }

    /// Returns module files in load order: dependencies first. Built-in modules have no file.
    pub fn files_of(&self, names: &[&str]) -> Done<Vec<String>> {
        let mut files: Vec<String> = Vec::new();
        for name in names {
            let wanted = module_name(name);
            let Some(file) = self.file(&wanted) else {
                if self.built_in().contains(&wanted) {
                    continue;
                }
                return Err(format!("{} has no module {name}", self.release));
            };
            self.add_in_order(file, &mut files);
        }
        Ok(files)
    }

    fn file(&self, module_name: &str) -> Option<&String> {
        self.needs.keys().find(|file| module_of(file) == module_name)
    }

    /// Adds a module after its dependencies and their soft dependencies.
    fn add_in_order(&self, file: &String, files: &mut Vec<String>) {
        // The last dependency loads first.
        let needed = self.needs.get(file).into_iter().flatten().rev();
        for file in needed.chain([file]) {
            if files.contains(file) {
                continue;
            }
            for soft_dependency in self.soft_files_of(&module_of(file)) {
                if !files.contains(soft_dependency) && soft_dependency != file {
                    self.add_in_order(soft_dependency, files);
                }
            }
            files.push(file.clone());
        }
    }

    fn soft_files_of(&self, module_name: &str) -> impl Iterator<Item = &String> {
        let names = self.soft_needs.get(module_name).into_iter().flatten();
        let meant = names.flat_map(|name| {
            std::iter::once(name).chain(self.aliases.get(name).into_iter().flatten())
        });
        meant.filter_map(|name| self.file(name))
    }

    pub fn lists(&self) -> Vec<PathBuf> {
        let paths = LISTS.split(' ').map(|name| self.modules.join(format!("modules.{name}")));
        paths.filter(|path| path.is_file()).collect()
    }
}

/// The first kernel with all modules; else the last of those that lack the fewest.
pub fn likeliest(kernels: Vec<Kernel>, modules: &[&str]) -> Option<Kernel> {
    let lacking = |kernel: &Kernel| kernel.lacks(modules).len();
    if let Some(complete) = kernels.iter().find(|kernel| lacking(kernel) == 0) {
        return Some(complete.clone());
    }
    kernels.into_iter().rev().min_by_key(lacking)
}

fn fetch_newest(below: &Path, naming: &str) -> Done<Kernel> {
    let package = newest_package(naming)?;
    let folder = below.join(&package);
    if !folder.is_dir() {
        fetch(&package, below)?;
    }
    Kernel::unpacked(&folder)
}

/// Returns the kernel package that `naming` depends on; updates the lists of packages if it is unknown.
fn newest_package(naming: &str) -> Done<String> {
    if !has("apt-cache") || !has("dpkg-deb") || !has("depmod") {
        return Err("downloading kernels needs apt, dpkg and depmod (package kmod)".into());
    }
    if let Some(name) = package_of(naming) {
        return Ok(name);
    }
    if rustix::process::geteuid().is_root() {
        // The lists may be missing: the query below decides.
        let _ = call("apt-get", &["--quiet=2", "update"]);
    }
    package_of(naming).ok_or_else(|| format!("apt-cache finds no package {naming}"))
}

fn package_of(naming: &str) -> Option<String> {
    dependency_in(&call("apt-cache", &["depends", naming]).ok()?)
}

/// The package that a metapackage depends on: `  Depends: linux-image-6.1.0-18-cloud-amd64`.
fn dependency_in(told: &str) -> Option<String> {
    let mut names = told.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    names.find(|name| name.starts_with("linux-image-")).map(str::to_owned)
}

/// Downloads and unpacks a package. A partial download has a temporary name and is removed later.
fn fetch(package: &str, below: &Path) -> Done<()> {
    let fail = |error: std::io::Error| format!("{}: {error}", below.display());
    fs::create_dir_all(below).map_err(fail)?;
    let lock = fs::File::create(below.join(TURN)).map_err(fail)?;
    lock.lock().map_err(fail)?;
    let (folder, partial) = (below.join(package), below.join(UNFINISHED));
    if folder.is_dir() {
        // Another process was faster.
        return Ok(());
    }
    let _ = fs::remove_dir_all(&partial);
    fs::create_dir(&partial).map_err(fail)?;
    let done =
        unpack(package, &partial).and_then(|unpacked| fs::rename(unpacked, &folder).map_err(fail));
    let _ = fs::remove_dir_all(&partial);
    done
}

/// Downloads a package to a folder, unpacks it there, and indexes its modules.
fn unpack(package: &str, folder: &Path) -> Done<PathBuf> {
    let into = folder.display().to_string();
    // It writes to the working directory.
    call("sh", &["-c", r#"cd "$1" && apt-get --quiet=2 download "$2""#, "sh", &into, package])?;
    let from = folder.join(only_name(folder)?).display().to_string();
    let unpacked = folder.join("unpacked");
    let to = unpacked.display().to_string();
    call("dpkg-deb", &["--extract", &from, &to])?;
    if !unpacked.join("lib").exists() {
        // Newer packages have everything below usr; `depmod` reads lib.
        std::os::unix::fs::symlink("usr/lib", unpacked.join("lib"))
            .map_err(|error| format!("{to}: {error}"))?;
    }
    let release = only_name(&unpacked.join("lib/modules"))?;
    call(&found("depmod").unwrap_or_default().display().to_string(), &["-b", &to, &release])?;
    Ok(unpacked)
}

fn only_name(folder: &Path) -> Done<String> {
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    let names = fs::read_dir(folder).map_err(fail)?.flatten().map(|entry| entry.file_name());
    let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    match names.as_slice() {
        [one] => Ok(one.clone()),
        _ => Err(format!("{} has {} entries instead of one", folder.display(), names.len())),
    }
}

/// `modules.dep`: `kernel/a.ko: kernel/b.ko kernel/c.ko`.
fn dependencies(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut needs_by_file = BTreeMap::new();
    for (file, needs) in text.lines().filter_map(|line| line.split_once(':')) {
        needs_by_file
            .insert(file.to_owned(), needs.split_whitespace().map(str::to_owned).collect());
    }
    needs_by_file
}

/// `modules.softdep`: `softdep libcrc32c pre: crc32c post: x`; post-dependencies can wait.
fn soft_dependencies(text: &str) -> BTreeMap<String, Vec<String>> {
    let pairs = text.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("softdep ")?.split_once(" pre: ")?;
        let before = rest.split(" post:").next().unwrap_or(rest);
        Some((module_name(name), before.split_whitespace().map(module_name).collect()))
    });
    pairs.collect()
}

/// `modules.alias`: `alias crypto-crc32c crc32c_generic`.
fn aliases(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let pair = line.strip_prefix("alias ").and_then(|rest| rest.split_once(' '));
        if let Some((alias, name)) = pair {
            all.entry(module_name(alias)).or_default().push(module_name(name));
        }
    }
    all
}

/// The module of a file: `virtio_blk` of `kernel/drivers/block/virtio_blk.ko.xz`.
fn module_of(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    module_name(name.split('.').next().unwrap_or(name))
}

fn module_name(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let own = format!("assay-guest-{}-{name}", std::process::id());
            let folder = std::env::temp_dir().join(own);
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn kernel(release: &str, dep: &str, builtin: &str) -> (Folder, Kernel) {
        let folder = Folder::new(release);
        let modules = folder.0.join("lib/modules").join(release);
        fs::create_dir_all(&modules).unwrap();
        fs::create_dir_all(folder.0.join("boot")).unwrap();
        fs::write(folder.0.join(format!("boot/vmlinuz-{release}")), "").unwrap();
        fs::write(modules.join("modules.dep"), dep).unwrap();
        fs::write(modules.join("modules.builtin"), builtin).unwrap();
        let kernel = Kernel::unpacked(&folder.0).unwrap();
        (folder, kernel)
    }

    #[test]
    fn a_module_comes_after_those_that_it_needs_and_once() {
        let dep = "kernel/d/virtio_blk.ko: kernel/v/virtio_ring.ko kernel/v/virtio.ko\n\
                   kernel/v/virtio.ko:\nkernel/v/virtio_ring.ko: kernel/v/virtio.ko\n";
        let (_folder, kernel) = kernel("6.1-x", dep, "kernel/fs/ext4/ext4.ko\n");
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
    fn what_a_module_asks_for_is_loaded_before_it_whatever_name_it_uses() {
        let dep = "kernel/lib/libcrc32c.ko:\nkernel/crypto/crc32c_generic.ko:\n\
                   kernel/md/raid456.ko: kernel/lib/libcrc32c.ko\n";
        let folder = kernel("6.1-soft", dep, "").0;
        let modules = folder.0.join("lib/modules/6.1-soft");
        fs::write(modules.join("modules.softdep"), "softdep libcrc32c pre: crc32c post: none\n")
            .unwrap();
        fs::write(modules.join("modules.alias"), "alias crc32c crc32c_generic\n").unwrap();
        let kernel = Kernel::unpacked(&folder.0).unwrap();
        assert_eq!(
            kernel.files_of(&["raid456"]).unwrap(),
            ["kernel/crypto/crc32c_generic.ko", "kernel/lib/libcrc32c.ko", "kernel/md/raid456.ko"]
        );
    }

    #[test]
    fn the_newest_kernel_is_what_the_naming_package_depends_on() {
        let told = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-18-cloud-amd64\n";
        assert_eq!(dependency_in(told).as_deref(), Some("linux-image-6.1.0-18-cloud-amd64"));
        assert_eq!(dependency_in("linux-image-amd64\n  Conflicts: x\n"), None);
    }

    #[test]
    fn the_first_kernel_with_all_modules_is_taken_else_the_one_that_lacks_least() {
        let (_one, small) = kernel("6.1-small", "kernel/a.ko:\n", "kernel/fs/ext4/ext4.ko\n");
        let (_two, large) = kernel("6.1-large", "kernel/a.ko:\nkernel/f2fs.ko.xz:\n", "");
        let both = || vec![small.clone(), large.clone()];
        let taken = |modules: &[&str]| likeliest(both(), modules).unwrap().release;
        assert_eq!(taken(&["a"]), "6.1-small");
        assert_eq!(taken(&["a", "f2fs"]), "6.1-large");
        assert_eq!(taken(&["a", "none"]), "6.1-large");
        assert_eq!(taken(&["ext4", "none"]), "6.1-small");
        assert_eq!(small.lacks(&["f2fs", "ext4"]), ["f2fs"]);
        assert!(likeliest(Vec::new(), &[]).is_none());
    }

    #[test]
    fn what_is_no_kernel_is_refused_by_what_is_missing() {
        let folder = Folder::new("nothing");
        let error = Kernel::unpacked(&folder.0).unwrap_err();
        assert!(error.ends_with("has no lib/modules"), "{error}");
    }
}
