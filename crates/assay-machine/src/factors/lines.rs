//! An arm as shell commands.

use std::path::PathBuf;

use crate::system::Act;

use super::guard::setters;
use super::layers::{Levels, Stack, Wish};
use super::{View, find};

/// Stands for the directory that a file system is mounted on.
pub const MOUNT_POINT: &str = "MOUNTPOINT";
pub const DEVICE: &str = "/dev/DEVICE";
pub(super) const LABEL: &str = "LABEL";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerBase {
    /// Devices named by the user; no command changes any other.
    pub named: Vec<PathBuf>,
    pub members: usize,
}

/// Commands that configure a target for an arm (one level per factor), in order, with placeholders for unnamed devices.
pub fn lines<'l>(
    arm: impl IntoIterator<Item = (&'l String, &'l String)> + Clone,
    view: Option<&View<'_>>,
    below: &LayerBase,
) -> Vec<String> {
    let mut lines = layer_commands(arm.clone(), below);
    for (name, level) in setters(arm) {
        let (Some(factor), Some(view)) = (find(name), view) else {
            lines.push(format!("# {name}: {level}"));
            continue;
        };
        match factor.settings(name, level, view) {
            Ok(settings) => lines.extend(
                settings.into_iter().map(|s| Act::Set { path: s.path, value: s.value }.to_string()),
            ),
            Err(reason) => lines.push(format!("# {name}: {level}: {reason}")),
        }
    }
    lines
}

/// Commands that create the layers of an arm, after a comment on the data that they destroy; none for an invalid arm.
fn layer_commands<'l>(
    arm: impl IntoIterator<Item = (&'l String, &'l String)>,
    below: &LayerBase,
) -> Vec<String> {
    let named = arm.into_iter().map(|(name, level)| (name.clone(), level.clone()));
    let levels: Levels = named.collect();
    let Ok(stack) = Stack::new(&Wish::new(&levels)) else { return Vec::new() };
    // The user may have named fewer devices than needed: placeholders stand for the others.
    let placeholders = stack.open_names(DEVICE, below.members.max(below.named.len()));
    let placeholders = placeholders.into_iter().skip(below.named.len());
    let files: Vec<PathBuf> = below.named.iter().cloned().chain(placeholders).collect();
    let lost = stack.lost(&files).map(|lost| format!("# {lost}"));
    lost.into_iter().chain(stack.commands(files).acts.iter().map(ToString::to_string)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::system::Fake;
    use crate::system::site::Site;

    use super::*;

    #[test]
    fn an_arm_without_a_machine_is_told_with_open_names() {
        let level = |name: &str, level: &str| (name.to_owned(), level.to_owned());
        let arm: BTreeMap<String, String> = [
            level("filesystem", "xfs"),
            level("mount_options", "noatime"),
            level("scheduler", "bfq"),
            level("queue_depth", "4"),
        ]
        .into();
        let expected = [
            "# all data on /dev/DEVICE are lost",
            "mkfs.xfs -f -q -K -L LABEL /dev/DEVICE",
            "mount -t xfs -o noatime /dev/DEVICE MOUNTPOINT",
            "# scheduler: bfq",
        ];
        assert_eq!(lines(&arm, None, &LayerBase::default()), expected);
    }

    #[test]
    fn lines_name_a_device_only_where_the_user_did_and_as_many_as_an_array_needs() {
        let fake = Fake::new();
        let mut site = Site::loop_to_be(1 << 30);
        site.counted = vec!["vda".to_owned()];
        let view = View { system: &fake, site: &site };
        let arm = |name: &str, level: &str| BTreeMap::from([(name.to_owned(), level.to_owned())]);
        let told = |arm: &BTreeMap<String, String>, named: &[&str], members: usize| {
            let named = named.iter().map(PathBuf::from).collect();
            lines(arm, Some(&view), &LayerBase { named, members }).join("\n")
        };
        let made = arm("filesystem", "ext4");
        assert!(!told(&made, &[], 1).contains("vda"), "{}", told(&made, &[], 1));
        assert!(
            told(&made, &["/dev/sdx"], 1).contains("# all data on /dev/sdx are lost\nmkfs.ext4")
        );
        let array = told(&arm("raid", "raid5"), &[], 4);
        let four = "/dev/DEVICE1 /dev/DEVICE2 /dev/DEVICE3 /dev/DEVICE4";
        assert!(array.contains(&format!("--raid-devices=4 {four}")), "{array}");
        let one_named = told(&arm("raid", "raid5"), &["/dev/sdx"], 1);
        let three = "--raid-devices=3 /dev/sdx /dev/DEVICE2 /dev/DEVICE3";
        assert!(one_named.contains(three), "{one_named}");
        assert!(!told(&arm("scheduler", "none"), &[], 1).contains("lost"));
    }
}
