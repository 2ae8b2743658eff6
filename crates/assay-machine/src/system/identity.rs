//! The calling user, the directory of the user's results, and the permission to overwrite a device.

use std::io;
use std::path::{Path, PathBuf};

use assay_core::failure::{Failure, Outcome};

use super::{System, trust};

mod consent;
mod made;
mod shown;
mod tables;
mod usage;

pub use super::devices::device_id;
pub use consent::{DataLoss, Stake, confirm, consent, disk_sequence, stake, way_on};
pub use made::consent_of_made;
pub use shown::{as_shown, remember};

/// Root's directory on this machine, independent of the environment.
pub const ROOTS_OWN: &str = "/var/lib/assay";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub user: u32,
    pub group: u32,
}

/// The user that called sudo; `None` if this process is not root's or not started by sudo.
pub fn caller(system: &dyn System) -> Option<Caller> {
    if system.user().id != 0 {
        return None;
    }
    let id = |name| system.variable(name)?.parse().ok();
    Some(Caller { user: id("SUDO_UID")?, group: id("SUDO_GID")? })
}

/// Directory of the results: `$ASSAY_HOME/results`; for root `/var/lib/assay/results`; otherwise `assay/results` in the
/// user's data directory. Refused for root if others can write to it.
pub fn results_directory(system: &dyn System) -> Outcome<PathBuf> {
    let directory = results_named(system)?;
    if system.user().id != 0 {
        return Ok(directory);
    }
    let callers: Vec<u32> = caller(system).iter().map(|caller| caller.user).collect();
    // This process creates missing directories; an inaccessible one is not writable.
    match trust::fault(system, &directory, &callers, trust::ALL_WRITE) {
        Ok(None) | Err(_) => Ok(directory),
        Ok(Some(fault)) => Err(Failure::refused(format!(
            "root does not trust the results in {}: {fault}; check the results and make the directory writable only by \
             its owner, or set ASSAY_HOME to a directory owned by root",
            directory.display()
        ))),
    }
}

/// Directories with results for this user, the user's own first, then root's. `$ASSAY_HOME` replaces both.
pub fn results_directories(system: &dyn System) -> Outcome<Vec<PathBuf>> {
    let own = results_directory(system)?;
    let roots = Path::new(ROOTS_OWN).join("results");
    if own == roots || system.variable("ASSAY_HOME").is_some_and(|home| !home.is_empty()) {
        return Ok(vec![own]);
    }
    Ok(vec![own, roots])
}

/// Directory of the results by environment and user, unchecked; a user error if there is no home directory.
fn results_named(system: &dyn System) -> Outcome<PathBuf> {
    let set = |name| system.variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = set("ASSAY_HOME") {
        return Ok(home.join("results"));
    }
    if system.user().id == 0 {
        // The user that called sudo can edit files in the user's home.
        return Ok(Path::new(ROOTS_OWN).join("results"));
    }
    // The specification requires that relative paths are ignored.
    let data = set("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let home = || set("HOME").or_else(|| home_of(system, system.user().id));
    let data = data.or_else(|| Some(home()?.join(".local/share")));
    let advice = "no home directory; set ASSAY_HOME to a directory for the results";
    Ok(data.ok_or_else(|| Failure::mistake(advice))?.join("assay/results"))
}

/// Directory of the tool's own state of this machine: `$ASSAY_HOME`, else the system's own for root, who alone
/// can change anything. Absolute and without links, like the kernel's names of mount points.
pub fn state_directory(system: &dyn System) -> Outcome<PathBuf> {
    let set = system.variable("ASSAY_HOME").filter(|value| !value.is_empty());
    let home = match set {
        Some(home) => home.into(),
        None if system.user().id == 0 => ROOTS_OWN.into(),
        None => {
            let results = results_named(system)?;
            results.parent().map_or(results.clone(), Path::to_path_buf)
        }
    };
    without_links(system, &home).map_err(|error| {
        Failure::mistake(format!(
            "cannot access {}: {error}; set ASSAY_HOME to a directory that you own",
            home.display()
        ))
    })
}

/// Resolves the links of a path, as far as its components exist.
fn without_links(system: &dyn System, path: &Path) -> io::Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return system.canonical(Path::new("."));
    }
    let found = system.canonical(path);
    if found.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        && let (Some(parent), Some(name)) = (path.parent(), path.file_name())
    {
        return Ok(without_links(system, parent)?.join(name));
    }
    found
}

fn home_of(system: &dyn System, user: u32) -> Option<PathBuf> {
    let table = system.read_text(Path::new("/etc/passwd")).ok()?;
    table.lines().find_map(|line| {
        // `name:password:user:group:comment:home:shell`
        let mut fields = line.split(':');
        let id: u32 = fields.nth(2)?.parse().ok()?;
        let home = fields.nth(2).filter(|home| !home.is_empty())?;
        (id == user).then(|| home.into())
    })
}

#[cfg(test)]
mod tests;
