//! A control group for measured programs: the kernel records the peak of its memory and its members.
//!
//! It is below or next to this process's group, and its name identifies its creator: a later process ends and removes
//! the group of a killed one.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::tree::{self, Process};
use assay_core::presence::Presence;
use assay_machine::system::execute::MemoryLimit;
use assay_sys::GroupEntry;

const MARK: &str = "assay";
/// Memory still charged to an empty group, mostly page cache; more would hide the next peak.
const MOST_LEFT_BYTES: u64 = 1 << 20;
/// Controllers that child groups inherit (version 2).
const SUBTREE_CONTROL: &str = "cgroup.subtree_control";
const AFTER_KILL: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub enum Groups {
    Unknown,
    Impossible,
    Made(Group),
}

impl Groups {
    /// Returns an empty group with a reset peak, created at first use; `None` if none can be created.
    pub fn ready(&mut self) -> Option<&Group> {
        let group = match std::mem::replace(self, Self::Impossible) {
            Self::Unknown => Parent::find().into_iter().find_map(Parent::first_group),
            Self::Impossible => None,
            Self::Made(group) if group.reset_peak().is_ok() => Some(group),
            Self::Made(group) => {
                // Before Linux 6.12, only a new group has a new peak.
                let place = group.place.clone();
                group.remove();
                place.make()
            }
        };
        *self = group.map_or(Self::Impossible, Self::Made);
        if let Self::Made(group) = self { Some(group) } else { None }
    }

    pub fn remove(&mut self) {
        if let Self::Made(group) = std::mem::replace(self, Self::Unknown) {
            group.remove();
        }
    }
}

/// Ends and removes groups of ended processes, if permitted; returns which ones.
pub fn clear_leftovers() -> Vec<String> {
    let gone = Parent::find().into_iter().flat_map(|place| place.clear_leftovers());
    gone.map(|path| path.display().to_string()).collect()
}

/// Explains why `Groups::ready` returned `None`.
pub fn why_impossible() -> String {
    let help = match Parent::find().into_iter().find(Parent::withholds_memory) {
        None => "run as root, or boot with cgroup_enable=memory".to_owned(),
        Some(parent) => {
            format!("echo +memory > {}", parent.directory.join(SUBTREE_CONTROL).display())
        }
    };
    format!("cannot create a control group with the memory controller; {help}")
}

#[derive(Debug)]
pub struct Group {
    place: Parent,
    directory: PathBuf,
    entry: File,
    /// The kernel's peak; with version 2, each open file has a separate reset.
    peak: File,
}

impl Group {
    pub fn entry(&self) -> GroupEntry<'_> {
        match self.place.version {
            Version::One => GroupEntry::Tasks(self.entry.as_fd()),
            Version::Two => GroupEntry::Directory(self.entry.as_fd()),
        }
    }

    pub fn members(&self) -> Vec<i32> {
        members(&self.directory)
    }

    pub fn kill(&self) {
        kill_all(&self.directory);
    }

    pub fn peak_bytes(&self) -> Option<u64> {
        let mut text = [0; 32];
        let length = self.peak.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..length]).ok()?.trim().parse().ok()
    }

    /// Resets the peak; fails if memory is left, or on version 2 before Linux 6.12.
    fn reset_peak(&self) -> io::Result<()> {
        let left = number(&self.directory.join(self.place.version.files().now));
        if left.is_none_or(|left| left > MOST_LEFT_BYTES) {
            return Err(io::Error::other(
                "the control group still contains memory of the previous program",
            ));
        }
        self.peak.write_all_at(b"0", 0)
    }

    fn remove(self) {
        clear(&self.directory);
    }

    /// Limits the memory of the group until `LimitedGroup::lift`; sets no limit if this fails.
    pub fn limit(&self, limit: MemoryLimit) -> io::Result<LimitedGroup<'_>> {
        let limited = LimitedGroup { group: self, kills: self.kills() };
        let set = limited.set(limit);
        if set.is_err() {
            // Report this failure, not that of the rollback.
            let _ = limited.lift();
        }
        set.map(|()| limited)
    }

    /// Number of OOM kills in it since its creation.
    fn kills(&self) -> Option<u64> {
        let file = self.directory.join(self.place.version.files().kills);
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        line?.trim().parse().ok()
    }
}

#[derive(Debug)]
#[must_use = "the memory limit would also apply to the next program"]
pub struct LimitedGroup<'a> {
    group: &'a Group,
    kills: Option<u64>,
}

impl LimitedGroup<'_> {
    /// Limits memory first: in version 1, it must not exceed the limit on memory and swap together.
    fn set(&self, limit: MemoryLimit) -> io::Result<()> {
        let files = self.group.place.version.files();
        self.write(files.memory_limit, &limit.bytes.to_string())?;
        let MemoryLimit { bytes, may_swap: false } = limit else { return Ok(()) };
        let no_swap = match self.group.place.version {
            // The limit on memory and swap together equals that on memory.
            Version::One => bytes.to_string(),
            Version::Two => "0".to_owned(),
        };
        match self.write(files.swap_limit, &no_swap) {
            // Without swap there is nothing to limit.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !has_swap() => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the machine has swap, and this kernel cannot limit a control group's swap; boot with swapaccount=1, \
                 or disable swap (swapoff -a)",
            )),
            other => other,
        }
    }

    /// Number of OOM kills since the limit was set.
    pub fn kills(&self) -> Presence<u64> {
        match self.kills.zip(self.group.kills()) {
            Some((before, after)) => Presence::Present(after.saturating_sub(before)),
            None => Presence::absent("this kernel does not count memory kills per control group"),
        }
    }

    /// Removes the limit. The limit on swap first, which must not be below that on memory (version 1).
    pub fn lift(&self) -> io::Result<()> {
        let files = self.group.place.version.files();
        match self.write(files.swap_limit, files.no_limit) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        self.write(files.memory_limit, files.no_limit)
    }

    fn write(&self, file: &str, value: &str) -> io::Result<()> {
        let path = self.group.directory.join(file);
        let write = || File::options().write(true).open(&path)?.write_all_at(value.as_bytes(), 0);
        write().map_err(|error| {
            let text = format!("cannot set {} to {value}: {error}", path.display());
            io::Error::new(error.kind(), text)
        })
    }
}

fn has_swap() -> bool {
    let text = fs::read_to_string("/proc/swaps").unwrap_or_default();
    text.lines().skip(1).any(|line| !line.trim().is_empty())
}

/// The kernel has two kinds of control groups; a controller is in one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

struct GroupFiles {
    entry: &'static str,
    peak: &'static str,
    now: &'static str,
    memory_limit: &'static str,
    /// In version 1, this limits memory and swap together.
    swap_limit: &'static str,
    no_limit: &'static str,
    kills: &'static str,
}

impl Version {
    const fn files(self) -> GroupFiles {
        match self {
            Self::One => GroupFiles {
                entry: "tasks",
                peak: "memory.max_usage_in_bytes",
                now: "memory.usage_in_bytes",
                memory_limit: "memory.limit_in_bytes",
                swap_limit: "memory.memsw.limit_in_bytes",
                no_limit: "-1",
                kills: "memory.oom_control",
            },
            Self::Two => GroupFiles {
                entry: ".",
                peak: "memory.peak",
                now: "memory.current",
                memory_limit: "memory.max",
                swap_limit: "memory.swap.max",
                no_limit: "max",
                kills: "memory.events",
            },
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parent {
    directory: PathBuf,
    version: Version,
}

impl Parent {
    /// Places where this process may create a group, the best first.
    fn find() -> Vec<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        parents_of(&groups, &mounts)
    }

    /// Whether it has the memory controller (version 2) without passing it to child groups.
    fn withholds_memory(&self) -> bool {
        let lists = |file: &str| {
            let text = fs::read_to_string(self.directory.join(file)).unwrap_or_default();
            text.split_whitespace().any(|name| name == "memory")
        };
        lists("cgroup.controllers") && !lists(SUBTREE_CONTROL)
    }

    fn first_group(self) -> Option<Group> {
        drop(self.clear_leftovers());
        self.make()
    }

    fn make(self) -> Option<Group> {
        let directory = self.directory.join(Name::own()?.to_string());
        let is_new = match fs::create_dir(&directory) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(_) => return None,
        };
        let group = self.open(&directory).ok();
        let group = group.filter(|group| is_new || group.reset_peak().is_ok());
        if group.is_none() {
            clear(&directory);
        }
        group
    }

    fn open(self, directory: &Path) -> io::Result<Group> {
        let files = self.version.files();
        let path = directory.join(files.peak);
        // Writing resets the peak; before Linux 6.12, version 2 only reports it.
        let peak =
            File::options().read(true).write(true).open(&path).or_else(|_| File::open(path))?;
        let is_list = self.version == Version::One;
        let entry =
            File::options().read(!is_list).write(is_list).open(directory.join(files.entry))?;
        Ok(Group { place: self, directory: directory.to_owned(), entry, peak })
    }

    /// Ends and removes groups of ended processes; returns which ones.
    fn clear_leftovers(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.directory) else { return Vec::new() };
        let Some(own) = Name::own() else { return Vec::new() };
        let is_left = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).and_then(Name::parse);
            name.is_some_and(|name| name.space == own.space && !name.is_alive())
        };
        let left: Vec<PathBuf> =
            entries.flatten().map(|entry| entry.path()).filter(is_left).collect();
        for path in &left {
            clear(path);
        }
        left
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Name {
    process: i32,
    started: u64,
    /// PID namespace (a container has a separate one).
    space: String,
}

impl Name {
    fn own() -> Option<Self> {
        let process = Process::find(std::process::id() as i32)?;
        // pid:[4026531836]
        let link = fs::read_link("/proc/self/ns/pid").ok()?;
        let space = link.to_str()?.chars().filter(char::is_ascii_digit).collect();
        Some(Self { process: process.id, started: process.started, space })
    }

    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('-').collect();
        let [MARK, process, started, space] = parts[..] else { return None };
        let is_number = !space.is_empty() && space.bytes().all(|byte| byte.is_ascii_digit());
        let (process, started) = (process.parse().ok()?, started.parse().ok()?);
        is_number.then(|| Self { process, started, space: space.to_owned() })
    }

    fn is_alive(&self) -> bool {
        Process::find(self.process).is_some_and(|found| found.started == self.started)
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{MARK}-{}-{}-{}", self.process, self.started, self.space)
    }
}

/// Kills all processes of a group and removes it. If this fails, the group is a leftover for the next run.
fn clear(directory: &Path) {
    let until = Instant::now() + AFTER_KILL;
    loop {
        kill_all(directory);
        tree::kill(&members(directory));
        if fs::remove_dir(directory).is_ok() || !directory.exists() || Instant::now() >= until {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn kill_all(directory: &Path) {
    // Version 2 has it since Linux 5.14; otherwise the processes are killed one by one.
    let file = File::options().write(true).open(directory.join("cgroup.kill"));
    let _ = file.and_then(|file| file.write_at(b"1", 0));
}

fn members(directory: &Path) -> Vec<i32> {
    let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Directories for groups with the memory controller, from the kernel's lists of groups and mounts.
/// In version 2, a group with processes cannot have children, so its siblings are tried too.
fn parents_of(groups: &str, mounts: &str) -> Vec<Parent> {
    // ID:CONTROLLERS:PATH, without controllers in version 2.
    let mut own_groups = groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let has_memory = |list: &str| list.split(',').any(|controller| controller == "memory");
    if let Some((_, path)) = own_groups.clone().find(|(controllers, _)| has_memory(controllers)) {
        let is_memory_mount = |kind: &str, options: &str| kind == "cgroup" && has_memory(options);
        let directory = mount_path(mounts, path, is_memory_mount);
        let parent = directory.map(|directory| Parent { directory, version: Version::One });
        return parent.into_iter().collect();
    }
    let Some((_, path)) = own_groups.find(|(controllers, _)| controllers.is_empty()) else {
        return Vec::new();
    };
    let parent_group = Path::new(path).parent().and_then(Path::to_str);
    let paths = [Some(path), parent_group].into_iter().flatten();
    let directories =
        paths.filter_map(|path| mount_path(mounts, path, |kind, _| kind == "cgroup2"));
    directories.map(|directory| Parent { directory, version: Version::Two }).collect()
}

/// Returns the directory of a group below the first mount that shows it; `is_meant` gets the kind and the options.
fn mount_path(mounts: &str, group: &str, is_meant: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        // ID PARENT DEVICE ROOT POINT ... - KIND SOURCE OPTIONS
        let (front, back) = line.split_once(" - ")?;
        let mut back = back.split(' ');
        let (kind, options) = (back.next()?, back.nth(1)?);
        let mut front = front.split(' ').skip(3);
        let (root, point) = (front.next()?, front.next()?);
        // A container only sees a part of the tree.
        let below = Path::new(group).strip_prefix(root).ok()?;
        let is_seen = !group.split('/').any(|part| part == "..");
        (is_meant(kind, options) && is_seen).then(|| Path::new(point).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n\
        32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
        35 31 0:32 /in /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_own_group_of_the_memory_controller_is_found() {
        let found = parents_of("5:devices:/\n4:memory:/in/deep/er\n0::/\n", MOUNTS);
        let directory = "/sys/fs/cgroup/memory/deep/er".into();
        assert_eq!(found, [Parent { directory, version: Version::One }]);
        assert_eq!(parents_of("4:memory:/elsewhere\n", MOUNTS), []);
        assert_eq!(parents_of("", MOUNTS), []);
    }

    #[test]
    fn of_version_2_the_own_group_and_its_parent_are_asked_for() {
        let place = |directory: &str| Parent { directory: directory.into(), version: Version::Two };
        let mounts =
            "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let found = parents_of("0::/user.slice/user-1000.slice/session-3.scope\n", mounts);
        let slice = "/sys/fs/cgroup/user.slice/user-1000.slice";
        assert_eq!(found, [place(&format!("{slice}/session-3.scope")), place(slice)]);
        assert_eq!(parents_of("0::/\n", mounts), [place("/sys/fs/cgroup/")]);
        assert_eq!(parents_of("0::/../other\n", mounts), [], "out of sight");
    }

    #[test]
    fn what_a_killed_process_left_in_its_group_is_ended() {
        use assay_testkit::needs::{Need, have, skip};
        if !have(&[Need::Root]) {
            return;
        }
        let _turn = super::super::lock_turn();
        let Some(place) = Parent::find().pop() else { return skip("no controller of memory here") };
        let own = Name::own().unwrap();
        let dead = Name { started: own.started - 1, ..own };
        let left = place.directory.join(dead.to_string());
        if let Err(error) = fs::create_dir(&left) {
            return skip(&format!("no control group can be made here: {error}"));
        }
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        fs::write(left.join("cgroup.procs"), child.id().to_string()).unwrap();
        place.clear_leftovers();
        assert!(!left.exists());
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn the_name_of_a_group_names_its_process() {
        let own = Name::own().unwrap();
        assert_eq!(Name::parse(&own.to_string()), Some(Name::own().unwrap()));
        assert!(own.is_alive());
        assert!(!Name { started: own.started - 1, ..own }.is_alive());
        for other in
            ["assay-7-8", "assay-7-8-9-1", "other-7-8-9", "assay-x-8-9", "assay-7-8-", "assay"]
        {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }
}
