//! Who asks, where the results of that person lie, and which device may be overwritten.

use std::path::{Path, PathBuf};

use super::site::{Site, TargetKind};
use super::{Consent, DeviceNumber, System, devices, mounts, sysfs};
use crate::failure::{Failure, Outcome};

pub use super::devices::device_id;

/// The user on whose behalf sudo runs this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// User id.
    pub user: u32,
    /// Group id.
    pub group: u32,
}

/// Who called sudo; none when this process is not root's or sudo had no part in it.
pub fn caller(system: &dyn System) -> Option<Caller> {
    if system.user().id != 0 {
        return None;
    }
    let id = |name| system.variable(name)?.parse().ok();
    Some(Caller { user: id("SUDO_UID")?, group: id("SUDO_GID")? })
}

/// Directory of the results: `$ASSAY_HOME/results`, else `assay/results` in the user's data
/// directory. Under sudo it is the caller's, not root's.
///
/// # Errors
/// The user's mistake when neither the environment nor the password file names a home.
pub fn results_directory(system: &dyn System) -> Outcome<PathBuf> {
    let set = |name| system.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = set("ASSAY_HOME") {
        return Ok(home.join("results"));
    }
    // The specification says that relative paths here are to be ignored.
    let data = set("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let home = || match caller(system) {
        Some(caller) => home_of(system, caller.user),
        None => set("HOME").or_else(|| home_of(system, system.user().id)),
    };
    let data = data.or_else(|| Some(home()?.join(".local/share")));
    let advice = "no home directory is known: set ASSAY_HOME to a directory for the results";
    Ok(data.ok_or_else(|| Failure::mistake(advice))?.join("assay/results"))
}

/// Directory of the tool's own state of this machine: journals of what is changed, and what is made
/// meanwhile. `$ASSAY_HOME`, else the system's own for root, who alone can change anything.
///
/// # Errors
/// The user's mistake when no home is known.
pub fn state_directory(system: &dyn System) -> Outcome<PathBuf> {
    let set = system.variable("ASSAY_HOME").filter(|value| !value.is_empty());
    match set {
        Some(home) => Ok(home.into()),
        None if system.user().id == 0 => Ok("/var/lib/assay".into()),
        None => {
            let results = results_directory(system)?;
            Ok(results.parent().map_or(results.clone(), Path::to_path_buf))
        }
    }
}

fn home_of(system: &dyn System, user: u32) -> Option<PathBuf> {
    let table = system.read_text(Path::new("/etc/passwd")).ok()?;
    table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let id: u32 = fields.nth(2)?.parse().ok()?;
        let home = fields.nth(2).filter(|home| !home.is_empty())?;
        (id == user).then(|| home.into())
    })
}

/// Makes sure that a device may be overwritten: nothing uses it, and the user typed its name.
///
/// `typed` is what followed `--destroy`.
///
/// # Errors
/// Refused while the device or a part of it is in use, or where that cannot be told; the user's
/// mistake when the target is no device or the typed name is not the device's.
pub fn consent(system: &dyn System, site: &Site, typed: &str) -> Outcome<Consent> {
    let name = match site.counted.first() {
        Some(name) if site.kind == TargetKind::Device => name,
        _ => return Err(not_a_device(site)),
    };
    let family = Family::of(system, name);
    if let Some(use_of_it) = family.in_use(system)? {
        return Err(Failure::refused(format!(
            "{:?} {use_of_it}: nothing may use a device that is overwritten",
            site.target
        )));
    }
    let id = device_id(system, name);
    if id != typed {
        let target = &site.target;
        return Err(Failure::mistake(format!(
            "{typed:?} is not the name of {target:?}: to destroy all data on it, give --destroy {id:?}"
        )));
    }
    Ok(Consent { device: site.path.clone(), number: site.device })
}

fn not_a_device(site: &Site) -> Failure {
    let target = &site.target;
    Failure::mistake(format!(
        "{target:?} is not a block device that sysfs shows: --destroy is for whole devices and partitions"
    ))
}

/// A device and its partitions.
struct Family {
    names: Vec<String>,
    numbers: Vec<DeviceNumber>,
}

impl Family {
    fn of(system: &dyn System, name: &str) -> Self {
        let mut names = vec![name.to_owned()];
        names.extend(devices::partitions(system, name));
        let numbers = names.iter().filter_map(|name| devices::number_of(system, name)).collect();
        Self { names, numbers }
    }

    /// What uses the device, if anything does.
    fn in_use(&self, system: &dyn System) -> Outcome<Option<String>> {
        if let Some(point) = self.mounted(system)? {
            return Ok(Some(format!("is mounted on {point}")));
        }
        if self.swap(system)? {
            return Ok(Some("is used as swap".to_owned()));
        }
        if let Some(holder) = self.holder(system) {
            return Ok(Some(format!("is part of {holder}")));
        }
        Ok(self.behind_loop(system).map(|name| format!("is what {name} stands on")))
    }

    fn has(&self, system: &dyn System, path: &str) -> bool {
        let name = devices::name_at(system, Path::new(path));
        name.is_some_and(|name| self.names.contains(&name))
    }

    fn mounted(&self, system: &dyn System) -> Outcome<Option<String>> {
        let table = mounts::read(system).map_err(|error| {
            let reason = sysfs::reason(&error);
            Failure::refused(format!("cannot tell what is mounted: the mount table is {reason}"))
        })?;
        let mounted = table.iter().find(|entry| {
            let by_source = || self.has(system, &entry.mount.source);
            self.numbers.contains(&entry.number) || by_source()
        });
        let point = mounted.map(|entry| format!("{:?}", entry.mount.point.to_string_lossy()));
        Ok(point.or_else(|| self.in_btrfs(system)))
    }

    /// Of a btrfs on several devices, the mount table names one.
    fn in_btrfs(&self, system: &dyn System) -> Option<String> {
        let root = Path::new("/sys/fs/btrfs");
        sysfs::names(system, root).into_iter().find_map(|directory| {
            let members = sysfs::names(system, &root.join(&directory).join("devices"));
            let ours = members.iter().any(|member| self.names.contains(member));
            ours.then(|| format!("a btrfs of several devices ({directory})"))
        })
    }

    fn swap(&self, system: &dyn System) -> Outcome<bool> {
        let table = match system.read_text(Path::new("/proc/swaps")) {
            Ok(table) => table,
            // A kernel without swap has no such file.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                let reason = sysfs::reason(&error);
                return Err(Failure::refused(format!("cannot tell what is swap: {reason}")));
            }
        };
        let mut sources = table.lines().skip(1).filter_map(|line| line.split_whitespace().next());
        Ok(sources.any(|source| self.has(system, &mounts::unescape(source))))
    }

    fn holder(&self, system: &dyn System) -> Option<String> {
        let holders = |name: &String| sysfs::names(system, &sysfs::block(name).join("holders"));
        self.names.iter().find_map(|name| holders(name).into_iter().next())
    }

    fn behind_loop(&self, system: &dyn System) -> Option<String> {
        let names = sysfs::names(system, Path::new("/sys/block"));
        let loops = names.into_iter().filter(|name| name.starts_with("loop"));
        loops.into_iter().find(|name| {
            let file = devices::backing_file(system, name);
            file.is_some_and(|file| self.has(system, &file.to_string_lossy()))
        })
    }
}

#[cfg(test)]
mod tests;
