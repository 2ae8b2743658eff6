//! Any other setting of the kernel or of a module, by the path of its file.

use std::path::{Component, Path, PathBuf};

use super::{Factor, Role, Setting, View};
use crate::catalogue::About;
use crate::seen::Seen;
use crate::system::journal::setting_value;
use crate::system::site::Site;
use crate::system::{Act, sysfs};

const PREFIX: &str = "tunable:";

/// A setting that is named by its path.
pub(super) struct Tunable;

static ABOUT: About = About {
    name: "tunable:PATH",
    summary: "any setting below /sys or /proc/sys, by the path of its file",
    text: "For example `tunable:/proc/sys/vm/page-cluster` or, for a parameter of a module, \
           `tunable:/sys/module/zfs/parameters/zfs_vdev_async_write_max_active`. A level is written \
           as it is and must read back the same.",
};

/// The file that a factor's name stands for; none where it is no such name.
pub(super) fn path_of(name: &str) -> Option<PathBuf> {
    let path = Path::new(name.strip_prefix(PREFIX)?);
    let inside = path.starts_with("/sys/") || path.starts_with("/proc/sys/");
    let plain = path.components().all(|part| !matches!(part, Component::ParentDir));
    (inside && plain).then(|| path.to_owned())
}

impl Factor for Tunable {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn example(&self) -> &'static str {
        "[\"3\", \"10\"]"
    }

    fn role(&self) -> Role {
        Role::Setting
    }

    fn judge(&self, level: &str) -> Result<(), String> {
        if level.trim().is_empty() || level.contains('\n') {
            return Err("a level is one line of text".to_owned());
        }
        Ok(())
    }

    fn settings(&self, name: &str, level: &str, view: &View<'_>) -> Result<Vec<Setting>, String> {
        let path = path_of(name).ok_or("name a file below /sys or /proc/sys")?;
        if let Err(error) = view.system.read_text(&path) {
            return Err(format!("{} is {}", path.display(), sysfs::reason(&error)));
        }
        Ok(vec![Setting { path, value: setting_value(level), device: None, also: Vec::new() }])
    }

    fn typed(&self, name: &str, level: &str, _: &Site) -> Vec<String> {
        let act = |path| Act::Set { path, value: setting_value(level) }.to_string();
        path_of(name).map(act).into_iter().collect()
    }

    fn observe(&self, name: &str, view: &View<'_>) -> Seen<String> {
        let Some(path) = path_of(name) else { return Seen::absent("no such setting") };
        sysfs::text(view.system, &path).map(|text| setting_value(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_settings_of_the_kernel_are_named() {
        for name in ["tunable:/sys/module/zfs/parameters/x", "tunable:/proc/sys/vm/swappiness"] {
            assert!(path_of(name).is_some(), "{name}");
        }
        for name in ["tunable:/etc/passwd", "tunable:/sys/../etc/passwd", "tunable:sys/x", "/sys/x"]
        {
            assert!(path_of(name).is_none(), "{name}");
        }
    }
}
