//! An arm as the lines that one would type.

use std::path::{Path, PathBuf};

use super::filesystem::Recipe;
use super::guard::setters;
use super::{View, find};
use crate::system::{Act, devices};

/// Stands for the directory that a file system is mounted on.
pub const MOUNT_POINT: &str = "MOUNTPOINT";
/// Stands for a device that is not known.
const DEVICE: &str = "/dev/DEVICE";
/// Stands for the label that each file system gets.
const LABEL: &str = "LABEL";

/// The lines that bring a target to an arm, in their order; without a view, names of devices are
/// left open.
pub fn lines<'l>(
    arm: impl IntoIterator<Item = (&'l String, &'l String)> + Clone,
    view: Option<&View<'_>>,
) -> Vec<String> {
    let device = view.and_then(|view| view.site.counted.first());
    let device = device.map_or_else(|| PathBuf::from(DEVICE), |name| devices::file_of(name));
    let mut lines = ground(arm.clone(), &device);
    for (name, level) in setters(arm) {
        let settings = match (find(name), view) {
            (Some(factor), Some(view)) => factor.settings(name, level, view),
            _ => Err(String::new()),
        };
        match settings {
            Ok(settings) => lines.extend(
                settings.into_iter().map(|s| Act::Set { path: s.path, value: s.value }.to_string()),
            ),
            Err(reason) if reason.is_empty() => lines.push(format!("# {name}: {level}")),
            Err(reason) => lines.push(format!("# {name}: {level}: {reason}")),
        }
    }
    lines
}

fn ground<'l>(
    arm: impl IntoIterator<Item = (&'l String, &'l String)>,
    device: &Path,
) -> Vec<String> {
    let levels: Vec<(&String, &String)> = arm.into_iter().collect();
    let level =
        |name: &str| levels.iter().find(|(own, _)| *own == name).map(|(_, level)| level.as_str());
    let Some(recipe) = Recipe::of(level) else { return Vec::new() };
    let make = Act::Run {
        program: recipe.kind.program.to_owned(),
        arguments: recipe.arguments(LABEL, device),
    };
    let mount = Act::Mount {
        device: device.to_owned(),
        point: MOUNT_POINT.into(),
        filesystem: recipe.kind.name.to_owned(),
        options: recipe.mount_options.to_owned(),
    };
    vec![make.to_string(), mount.to_string()]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn an_arm_without_a_machine_is_told_with_open_names() {
        let level = |name: &str, level: &str| (name.to_owned(), level.to_owned());
        let arm: BTreeMap<String, String> = [
            level("filesystem", "xfs"),
            level("mount-options", "noatime"),
            level("scheduler", "bfq"),
            level("depth", "4"),
        ]
        .into();
        let expected = [
            "mkfs.xfs -f -q -K -L LABEL /dev/DEVICE",
            "mount -t xfs -o noatime /dev/DEVICE MOUNTPOINT",
            "# scheduler: bfq",
        ];
        assert_eq!(lines(&arm, None), expected);
    }
}
