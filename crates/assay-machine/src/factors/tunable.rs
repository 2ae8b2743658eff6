//! Any other setting of the kernel or of a module, by the path of its file.

use std::path::{Component, Path, PathBuf};

use crate::system::journal::setting_value;
use crate::system::site::Site;
use crate::system::{Act, sysfs};
use assay_core::{catalogue::About, presence::Presence};

use super::{Factor, Role, Setting, View};

pub(super) const PREFIX: &str = "tunable:";

/// Files that studies may write without special permission: `*` matches one component of a path, `**` any number; at
/// the end of a pattern, `**` matches at least one.
const LISTED: &[&str] = &[
    "/proc/sys/vm/*",
    "/sys/block/*/queue/**",
    "/sys/class/block/*/queue/**",
    "/sys/devices/**/block/*/queue/**",
    "/sys/module/zswap/parameters/*",
    "/sys/block/*/comp_algorithm",
    "/sys/block/*/recomp_algorithm",
    "/sys/block/*/max_comp_streams",
    "/sys/block/*/mem_limit",
    "/sys/block/*/writeback_limit",
    "/sys/block/*/writeback_limit_enable",
    "/sys/fs/cgroup/**/memory.*",
    "/sys/fs/cgroup/**/io.*",
    "/sys/fs/cgroup/**/blkio.*",
];

/// Listed files that may change under a mounted device in production: no data can be lost.
const LIVE: &[&str] = &[
    "/proc/sys/vm/dirty_*",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/vfs_cache_pressure",
    "/proc/sys/vm/page-cluster",
    "/sys/**/queue/add_random",
    "/sys/**/queue/iosched/*",
    "/sys/**/queue/max_sectors_kb",
    "/sys/**/queue/nomerges",
    "/sys/**/queue/nr_requests",
    "/sys/**/queue/read_ahead_kb",
    "/sys/**/queue/rq_affinity",
    "/sys/**/queue/scheduler",
    "/sys/**/queue/wbt_lat_usec",
    "/sys/fs/cgroup/**/io.*",
    "/sys/fs/cgroup/**/blkio.*",
];

/// Files there that do not tune performance: they protect the machine, start programs, or contain a path.
const NOT_LISTED: &[&str] = &[
    "/proc/sys/vm/hugetlb_shm_group",
    "/proc/sys/vm/legacy_va_layout",
    // Linux 6.3 to 6.6 only raise it.
    "/proc/sys/vm/memfd_noexec",
    "/proc/sys/vm/memory_failure_*",
    "/proc/sys/vm/mmap_*",
    "/proc/sys/vm/panic_on_oom",
    "/proc/sys/vm/unprivileged_userfaultfd",
];

pub(super) struct Tunable;

static ABOUT: About = About {
    name: "tunable:PATH",
    summary: "any setting below /sys or /proc/sys, named by path",
    text: "Example: `tunable:/proc/sys/vm/page-cluster`; for a module parameter: \
           `tunable:/sys/module/zfs/parameters/zfs_vdev_async_write_max_active`. Assay writes the level verbatim and \
           verifies it by reading the file. Before the first trial, Assay writes the current value back; it refuses a \
           setting that it cannot restore. Assay also records and restores other files in the same directory that \
           change with the setting. `--allow-tunable PATH` is required for settings outside `/proc/sys/vm`, block \
           device queues, zswap, zram and control group limits.",
};

/// File of a factor with a path as name; `None` for other names.
pub(super) fn path_of(name: &str) -> Option<PathBuf> {
    let path = Path::new(name.strip_prefix(PREFIX)?);
    let is_inside = path.starts_with("/sys/") || path.starts_with("/proc/sys/");
    let has_parent = path.components().any(|part| matches!(part, Component::ParentDir));
    if !is_inside || has_parent || name.chars().any(char::is_control) {
        return None;
    }
    // One name per file: no `//` or `/./`.
    Some(path.components().collect())
}

pub(super) fn is_listed(path: &Path) -> bool {
    is_among(LISTED, path) && !is_among(NOT_LISTED, path)
}

fn is_among(patterns: &[&str], path: &Path) -> bool {
    let path = path.to_string_lossy();
    let parts: Vec<&str> = path.split('/').collect();
    patterns.iter().any(|text| matches_pattern(&text.split('/').collect::<Vec<_>>(), &parts))
}

/// Returns whether a pattern matches a path, both split at `/`: `**` stands for one or more parts, a `*` at the end of
/// a part for any text.
fn matches_pattern(pattern: &[&str], parts: &[&str]) -> bool {
    let ([wanted, later_wanted @ ..], [part, later_parts @ ..]) = (pattern, parts) else {
        return pattern.is_empty() && parts.is_empty();
    };
    if *wanted == "**" {
        return matches_pattern(later_wanted, later_parts) || matches_pattern(pattern, later_parts);
    }
    let start = wanted.strip_suffix('*');
    let fits = start.map_or(wanted == part, |start| part.starts_with(start));
    fits && matches_pattern(later_wanted, later_parts)
}

/// Rejects a setting whose link leads out of the listed files.
fn check_link(view: &View<'_>, path: &Path) -> Result<(), String> {
    let unreadable = |error| format!("{} is {}", path.display(), sysfs::reason(&error));
    let real = view.system.canonical(path).map_err(unreadable)?;
    let is_inside = path_of(&format!("{PREFIX}{}", real.display())).as_ref() == Some(&real);
    // All entries of /sys/block are links to their devices.
    let is_device = real.starts_with("/sys/devices") && real.file_name() == path.file_name();
    // A user who allowed an unlisted path also allowed what it leads to.
    let may_lead_there = !is_listed(path) || is_listed(&real) || is_device;
    if is_inside && (real == path || may_lead_there) {
        return Ok(());
    }
    Err(format!("{} is a link to {}; use that path", path.display(), real.display()))
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

    fn not_live(&self, name: &str) -> Option<&'static str> {
        let live = path_of(name).is_some_and(|path| is_listed(&path) && is_among(LIVE, &path));
        (!live).then_some("it may be unsafe there; see `assay run --help` for how to allow it")
    }

    fn judge(&self, level: &str) -> Result<(), String> {
        if level.trim().is_empty() || level.chars().any(char::is_control) {
            return Err("a level must be one line of text without control characters".to_owned());
        }
        Ok(())
    }

    fn settings(&self, name: &str, level: &str, view: &View<'_>) -> Result<Vec<Setting>, String> {
        let path = path_of(name).ok_or("use a file below /sys or /proc/sys")?;
        self.judge(level)?;
        check_link(view, &path)?;
        let unreadable = |error| format!("{} is {}", path.display(), sysfs::reason(&error));
        let mode = view.system.status(&path).map_err(unreadable)?.mode;
        let refuse = |fault: &str| Err(format!("cannot vary {}: {fault}", path.display()));
        if mode & 0o444 == 0 {
            return refuse("it is write-only, so Assay cannot restore it");
        }
        if mode & 0o222 == 0 {
            return refuse("it is read-only");
        }
        let now = view.system.read_text(&path).map_err(unreadable)?;
        if setting_value(&now).is_empty() {
            return refuse("its current value cannot be restored");
        }
        Ok(vec![Setting { path, value: setting_value(level), device: None }])
    }

    fn commands(&self, name: &str, level: &str, _: &Site) -> Vec<String> {
        let act = |path| Act::Set { path, value: setting_value(level) }.to_string();
        path_of(name).map(act).into_iter().collect()
    }

    fn observe(&self, name: &str, view: &View<'_>) -> Presence<String> {
        let Some(path) = path_of(name) else { return Presence::absent("no such setting") };
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
        for name in [
            "tunable:/etc/passwd",
            "tunable:/sys/../etc/passwd",
            "tunable:sys/x",
            "/sys/x",
            "tunable:/proc/sys/vm/x\ny",
        ] {
            assert!(path_of(name).is_none(), "{name}");
        }
        assert_eq!(path_of("tunable:/proc/sys//vm/./x").unwrap(), Path::new("/proc/sys/vm/x"));
    }

    #[test]
    fn only_settings_that_studies_need_are_written_without_being_allowed() {
        for path in [
            "/proc/sys/vm/dirty_ratio",
            "/sys/block/sda/queue/nr_requests",
            "/sys/block/sda/queue/iosched/fifo_batch",
            "/sys/class/block/nvme0n1/queue/wbt_lat_usec",
            "/sys/devices/pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block/sda/queue/nomerges",
            "/sys/module/zswap/parameters/enabled",
            "/sys/block/zram0/comp_algorithm",
            "/sys/fs/cgroup/user.slice/memory.high",
            "/sys/fs/cgroup/blkio/box/blkio.throttle.read_bps_device",
        ] {
            assert!(is_listed(Path::new(path)), "{path}");
        }
        for path in [
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/modprobe",
            "/proc/sys/vm/mmap_min_addr",
            "/proc/sys/vm/panic_on_oom",
            "/proc/sys/vm",
            "/sys/block/zram0/backing_dev",
            "/sys/block/sda/queue",
            "/sys/fs/cgroup/release_agent",
            "/sys/fs/cgroup/user.slice/cgroup.procs",
            "/sys/kernel/uevent_helper",
            "/sys/module/zfs/parameters/x",
        ] {
            assert!(!is_listed(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn only_what_changes_nothing_on_a_device_is_set_under_others_work() {
        let refused = |path: &str| Tunable.not_live(&format!("{PREFIX}{path}"));
        for path in [
            "/proc/sys/vm/dirty_ratio",
            "/sys/block/sda/queue/wbt_lat_usec",
            "/sys/block/sda/queue/iosched/fifo_batch",
            "/sys/fs/cgroup/blkio/box/blkio.throttle.read_bps_device",
            "/sys/fs/cgroup/user.slice/io.max",
        ] {
            assert_eq!(refused(path), None, "{path}");
        }
        for path in [
            "/sys/block/sda/queue/write_cache",
            "/sys/fs/cgroup/user.slice/memory.max",
            "/proc/sys/vm/drop_caches",
            "/sys/module/zfs/parameters/x",
        ] {
            assert!(refused(path).is_some(), "{path}");
        }
    }

    #[test]
    fn a_link_leads_only_to_what_is_a_setting_itself() {
        let fake = crate::system::Fake::recorded(
            "file /proc/sys/kernel/core_pattern core\n\
             link /proc/sys/vm/x ../kernel/core_pattern\n\
             file /etc/passwd x\n\
             link /sys/module/y/parameters/z /etc/passwd\n\
             link /sys/block/sda ../devices/ata1/block/sda\n\
             file /sys/devices/ata1/block/sda/queue/nr_requests 64\n",
        )
        .unwrap();
        let site = Site::loop_to_be(1 << 30);
        let view = View { system: &fake, site: &site };
        let set = |path: &str| Tunable.settings(&format!("{PREFIX}{path}"), "1", &view);
        assert!(set("/sys/block/sda/queue/nr_requests").is_ok());
        for path in ["/proc/sys/vm/x", "/sys/module/y/parameters/z"] {
            assert!(set(path).unwrap_err().contains("is a link to"), "{path}");
        }
        assert!(Tunable.judge("1\u{1b}[2J").is_err());
    }

    #[test]
    fn settings_without_a_value_to_restore_are_refused() {
        let fake = crate::system::Fake::recorded(
            "file /proc/sys/vm/drop_caches 0\n\
             mode /proc/sys/vm/drop_caches 200\n\
             file /sys/block/sda/queue/dax 0\n\
             mode /sys/block/sda/queue/dax 444\n\
             file /proc/sys/vm/swappiness 60\n",
        )
        .unwrap();
        fake.put("/proc/sys/vm/stat_refresh", "");
        let site = Site::loop_to_be(1 << 30);
        let view = View { system: &fake, site: &site };
        for (path, fault) in [
            ("/proc/sys/vm/drop_caches", "it is write-only"),
            ("/proc/sys/vm/stat_refresh", "its current value"),
            ("/sys/block/sda/queue/dax", "it is read-only"),
        ] {
            let told = Tunable.settings(&format!("{PREFIX}{path}"), "1", &view).unwrap_err();
            assert!(told.starts_with(&format!("cannot vary {path}: {fault}")), "{told}");
        }
        assert!(Tunable.settings("tunable:/proc/sys/vm/swappiness", "1", &view).is_ok());
    }
}
