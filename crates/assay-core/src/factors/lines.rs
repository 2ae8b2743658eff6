//! An arm as the lines that one would type.

use std::path::PathBuf;

use super::guard::setters;
use super::layers::{Levels, Stack, Wish};
use super::{View, find};
use crate::system::{Act, devices};

/// Stands for the directory that a file system is mounted on.
pub const MOUNT_POINT: &str = "MOUNTPOINT";
/// Stands for a device that is not known.
const DEVICE: &str = "/dev/DEVICE";
/// Stands for the label that each file system gets.
pub(super) const LABEL: &str = "LABEL";

/// The lines that bring a target to an arm, in their order; without a view, names of devices are
/// left open.
pub fn lines<'l>(
    arm: impl IntoIterator<Item = (&'l String, &'l String)> + Clone,
    view: Option<&View<'_>>,
) -> Vec<String> {
    let device = view.and_then(|view| view.site.counted.first());
    let device = device.map_or_else(|| PathBuf::from(DEVICE), |name| devices::file_of(name));
    let mut lines = layers_of(arm.clone(), device);
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

fn layers_of<'l>(
    arm: impl IntoIterator<Item = (&'l String, &'l String)>,
    device: PathBuf,
) -> Vec<String> {
    let named = arm.into_iter().map(|(name, level)| (name.clone(), level.clone()));
    let levels: Levels = named.collect();
    let acts = Stack::of(&Wish::of(&levels)).map(|stack| stack.typed(vec![device]).acts);
    acts.unwrap_or_default().iter().map(ToString::to_string).collect()
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
