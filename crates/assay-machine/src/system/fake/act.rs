//! Changes of the machine in memory: settings with choices, mounts, loop devices, file systems.

use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use assay_sys::memory_file;

use super::disks::{place_of, queue};
use super::tree::Node;
use super::{Fake, FakeState};
use crate::system::journal::excluded_by;
use crate::system::{ADD_ZRAM, Act, DeviceNumber, Errno, MOST_SWAP_PRIORITY, devices, swaps};

pub(super) const MOUNTS: &str = "/proc/self/mountinfo";
const LOOP_MAJOR: u32 = 7;
const ZRAM_MAJOR: u32 = 252;

/// Behavior of a setting on writes, other than storing the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manner {
    Ignores,
    RoundsTo(u64),
    ReadOnly,
    /// Stores the value and sets this other setting to 0.
    Zeroes(PathBuf),
    /// Never takes a smaller number than it has.
    Rises,
}

impl Fake {
    /// Sets the behavior of a setting on writes.
    pub fn set_manner(&self, path: impl Into<PathBuf>, manner: Manner) -> &Self {
        self.lock().manners.insert(path.into(), manner);
        self
    }

    /// Installs a program; only `mkfs` ones do anything.
    pub fn install(&self, program: &str) -> &Self {
        self.lock().programs.insert(program.to_owned());
        self
    }

    /// Replaces a loop device with another device of the same size.
    pub fn replug(&self, device: &Path) -> &Self {
        let name = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut state = self.lock();
        state.sequence += 1;
        let sequence = format!("{}\n", state.sequence);
        let path = PathBuf::from(format!("/sys/devices/virtual/block/{name}/diskseq"));
        state.tree.put(&path, Node::File(vec![sequence.into_bytes()]));
        drop(state);
        self
    }

    pub fn replug_after_discarding(&self, device: impl Into<PathBuf>) -> &Self {
        self.lock().replugged = Some(device.into());
        self
    }

    /// Everything that the factors' programs need: all that make file systems, in a kernel with all.
    pub fn with_file_systems(&self) -> &Self {
        let kinds = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "vfat", "exfat", "ntfs3"];
        for kind in kinds {
            self.install(&format!("mkfs.{kind}"));
        }
        self.install("mkfs.ntfs");
        self.lock().tree.put(&Path::new(super::arrays::BTRFS).join("features"), Node::Directory);
        self.put(ADD_ZRAM, "");
        self.put(swaps::TABLE, "Filename Type Size Used Priority\n");
        for (name, value) in
            [("enabled", "N\n"), ("compressor", "lzo\n"), ("max_pool_percent", "20\n")]
        {
            self.put(format!("/sys/module/zswap/parameters/{name}"), value);
        }
        self.put("/proc/filesystems", kinds.map(|kind| format!("\t{kind}\n")).concat())
    }

    /// Makes mounting succeed without mounting anything, as behind a helper that failed.
    pub fn mount_nothing(&self) -> &Self {
        self.lock().mounts_nothing = true;
        self
    }

    /// Makes the kernel show these mount options, independent of the request.
    pub fn mount_showing(&self, options: &str) -> &Self {
        self.lock().shows = Some(options.to_owned());
        self
    }

    /// Acts so far, including failed ones.
    pub fn acted(&self) -> Vec<Act> {
        self.lock().acted.clone()
    }

    /// All mutable state as text for comparisons, except files below `home`.
    pub fn condition(&self, home: &Path) -> String {
        let state = self.lock();
        let nodes = state.tree.nodes.iter().filter(|(path, _)| !path.starts_with(home));
        let shown = nodes.map(|(path, node)| match node {
            Node::File(readings) => {
                let text = readings.last().map(|bytes| String::from_utf8_lossy(bytes));
                format!("{} {:?}\n", path.display(), text.unwrap_or_default())
            }
            other => format!("{} {other:?}\n", path.display()),
        });
        let made = state.made.iter().map(|(device, made)| format!("{device} {made:?}\n"));
        shown.chain(made).chain([format!("{:?}\n", state.encrypted)]).collect()
    }

    pub(super) fn carry_out(&self, act: &Act) -> io::Result<()> {
        match act {
            Act::Set { path, value } => self.lock().set(path, value),
            Act::Mount { device, point, filesystem, options } => {
                self.mount(device, point, filesystem, options)
            }
            Act::Unmount { point } => self.lock().unmount(point),
            Act::CreateFile { path, bytes } => {
                let mut state = self.lock();
                let path = state.new_place(path)?;
                state.sizes.insert(path.clone(), *bytes);
                state.tree.put(&path, Node::File(vec![Vec::new()]));
                if let Some(below) = state.below_name(&path) {
                    state.tree.put(&below, Node::File(vec![Vec::new()]));
                }
                Ok(())
            }
            Act::AllocateFile { path, bytes } => {
                self.carry_out(&Act::CreateFile { path: path.clone(), bytes: *bytes })
            }
            Act::MakeSwap { path } => self.lock().tree.find(path).map(drop),
            Act::SwapOn { path, .. } => self.lock().swap_on(path),
            Act::SwapOff { path } => self.lock().swap_off(path),
            Act::RemoveFile { path } => self.lock().remove(path),
            Act::CreateDirectory { path } => {
                let mut state = self.lock();
                let path = state.new_place(path)?;
                state.tree.put(&path, Node::Directory);
                Ok(())
            }
            Act::RemoveDirectory { path } => {
                let mut state = self.lock();
                if !state.tree.list(path)?.is_empty() {
                    return Err(Errno::NOTEMPTY.into());
                }
                let point = state.tree.find(path)?.0.display().to_string();
                let table = state.text(Path::new(MOUNTS));
                if table.lines().any(|line| line.split(' ').any(|word| word == point)) {
                    return Err(Errno::BUSY.into());
                }
                state.remove(path)
            }
            Act::WriteFile { path, text } => {
                let mut state = self.lock();
                let path = state.place(path)?;
                state.tree.put(&path, Node::File(vec![text.clone().into_bytes()]));
                Ok(())
            }
            Act::AttachLoop { device, file } => self.lock().attach(device, file),
            Act::DetachLoop { device } => self.lock().detach(device),
            Act::AddZram { number } => self.lock().add_zram(*number),
            Act::RemoveZram { number } => self.lock().remove_zram(*number),
            Act::AddPartition { disk, number, range } => {
                self.lock().add_partition(disk, *number, range)
            }
            Act::RemovePartition { disk, number } => self.lock().remove_partition(disk, *number),
            Act::Run { program, arguments } => self.run(program, arguments),
            Act::RunWithKey { program, arguments, key } => self.run_with(program, arguments, key),
            Act::EncryptDirectory { directory, key } => self.lock().encrypt(directory, key),
            Act::ForgetKey { directory } => self.lock().forget_key(directory),
            Act::Wipe { device, range } => self.wipe(device, range),
            Act::Discard { .. } => Ok(()),
        }
    }

    pub(super) fn check_installed(&self, program: &str) -> io::Result<()> {
        if self.lock().programs.contains(program) {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::NotFound, format!("{program} is not installed")))
    }

    fn run(&self, program: &str, arguments: &[String]) -> io::Result<()> {
        self.check_installed(program)?;
        match (program, arguments) {
            ("ip", _) => return self.ip(arguments),
            ("tc", _) => return self.tc(arguments),
            ("mdadm", _) => return self.mdadm(arguments),
            ("cryptsetup", [word, name]) if word == "close" => return self.close(name),
            _ => {}
        }
        match program.strip_prefix("mkfs.") {
            Some(kind) => self.make_file_system(kind, arguments),
            None => Ok(()),
        }
    }

    fn make_file_system(&self, kind: &str, arguments: &[String]) -> io::Result<()> {
        // The kernel's name of the file system.
        let filesystem = if kind == "ntfs" { "ntfs3" } else { kind };
        // The devices follow the last other argument.
        let last_option = arguments.iter().rposition(|word| !word.starts_with("/dev/"));
        let mut numbers = Vec::new();
        for device in &arguments[last_option.map_or(0, |last| last + 1)..] {
            numbers.push(self.lock().tree.number_of(Path::new(device))?);
        }
        let first = *numbers.first().ok_or(Errno::INVAL)?;
        if numbers.iter().any(|number| self.is_busy(*number)) {
            return Err(Errno::BUSY.into());
        }
        let is_label = |pair: &&[String]| ["-L", "-n", "-l"].contains(&pair[0].as_str());
        let label = arguments.windows(2).find(is_label).map_or("", |pair| pair[1].as_str());
        for number in &numbers {
            let (disk, start) = self.disk_and_start(*number);
            self.put_marks(disk, start, &format!("{kind} filesystem - {label}"))?;
        }
        self.add_pool(arguments, &numbers);
        let mut state = self.lock();
        state.made.insert(first, filesystem.to_owned());
        state.encrypting.remove(&first);
        if arguments.iter().any(|word| word.split(',').any(|feature| feature == "encrypt")) {
            state.encrypting.insert(first);
        }
        Ok(())
    }

    fn wipe(&self, device: &Path, range: &Range<u64>) -> io::Result<()> {
        let number = self.lock().tree.number_of(device)?;
        let name = device.file_name().ok_or(Errno::INVAL)?.to_string_lossy().into_owned();
        if self.lock().is_held(&name) {
            return Err(Errno::BUSY.into());
        }
        let zeros = vec![0; (range.end - range.start) as usize];
        self.content(number)?.write_all_at(&zeros, range.start)?;
        let made: Vec<DeviceNumber> = self.lock().made.keys().copied().collect();
        let gone =
            made.into_iter().filter(|own| self.disk_and_start(*own) == (number, range.start));
        for own in gone.collect::<Vec<_>>() {
            let mut state = self.lock();
            state.made.remove(&own);
            state.pools.remove(&own);
            state.encrypting.remove(&own);
        }
        Ok(())
    }

    fn mount(&self, device: &Path, point: &Path, kind: &str, options: &str) -> io::Result<()> {
        let number = self.lock().tree.number_of(device)?;
        let mut state = self.lock();
        let (point, _) = state.tree.find(point)?;
        if state.mounts_nothing {
            return Ok(());
        }
        if state.made.get(&number).map(String::as_str) != Some(kind) {
            return Err(Errno::INVAL.into());
        }
        // As btrfs: it shows its devices elsewhere, and its files have a separate device number.
        let own = options.split(',').filter(|one| !one.is_empty() && !one.starts_with("device="));
        let options = ["rw"].into_iter().chain(own).collect::<Vec<_>>().join(",");
        let number = state.show_pool(number).unwrap_or(number);
        let options = state.shows.clone().unwrap_or(options);
        let (point, device) = (point.display(), device.display());
        let line = format!("99 1 {number} / {point} {options} - {kind} {device} rw\n");
        state.change_text(Path::new(MOUNTS), |text| text + &line);
        state.tree.devices.insert(PathBuf::from(point.to_string()), number);
        Ok(())
    }
}

impl FakeState {
    /// Writes a setting and what the kernel changes with it; a file with a [`Manner`] rejects or changes the value.
    fn set(&mut self, path: &Path, value: &str) -> io::Result<()> {
        let (path, node) = self.tree.find(path)?;
        let Node::File(_) = node else { return Err(Errno::ISDIR.into()) };
        if path.ends_with("md/array_state") && value.trim() == "clear" {
            return self.stop_array(&path);
        }
        let now = String::from_utf8_lossy(&self.read(&path)?).into_owned();
        let stored = match self.manners.get(&path) {
            Some(Manner::ReadOnly) => return Err(Errno::ACCESS.into()),
            Some(Manner::Ignores) => return Ok(()),
            Some(Manner::RoundsTo(step)) => {
                let number: u64 = value.trim().parse().map_err(|_| Errno::INVAL)?;
                format!("{}\n", number / step * step)
            }
            Some(Manner::Rises) if value.trim().parse::<u64>().ok() < now.trim().parse().ok() => {
                return Err(Errno::INVAL.into());
            }
            Some(Manner::Zeroes(other)) => {
                self.tree.put(other, Node::File(vec![b"0\n".to_vec()]));
                format!("{}\n", value.trim())
            }
            None if now.contains('[') => choose(&now, value.trim()).ok_or(Errno::INVAL)?,
            Some(Manner::Rises) | None => format!("{}\n", value.trim()),
        };
        let changed = stored != now;
        // As in the kernel: one setting of some pairs is 0, which is not an amount of bytes.
        if let Some(other) = excluded_by(&path) {
            if stored == "0\n" && path.to_string_lossy().ends_with("bytes") {
                return Err(Errno::INVAL.into());
            }
            if changed && self.tree.nodes.contains_key(&other) {
                self.tree.put(&other, Node::File(vec![b"0\n".to_vec()]));
            }
        }
        // As in the kernel: without a scheduler no queue is longer than the device's.
        let scheduler = self.text(&path.with_file_name("scheduler"));
        let is_too_long = stored.trim().parse().is_ok_and(|length: u64| length > 1023);
        if path.ends_with("queue/nr_requests") && scheduler.contains("[none]") && is_too_long {
            return Err(Errno::INVAL.into());
        }
        // As in the kernel: after the size is set, algorithm and size cannot change.
        let size = path.with_file_name("disksize");
        if path.ends_with("comp_algorithm") || path == size {
            if self.text(&size) != "0" {
                return Err(Errno::BUSY.into());
            }
            let bytes: u64 = if path == size { stored.trim().parse().unwrap_or(0) } else { 0 };
            let sectors = format!("{}\n", bytes / 512);
            self.tree.put(&path.with_file_name("size"), Node::File(vec![sectors.into_bytes()]));
        }
        self.tree.put(&path, Node::File(vec![stored.into_bytes()]));
        // As in the kernel: another scheduler begins with its own queue depth.
        let depth = path.with_file_name("nr_requests");
        if changed && path.ends_with("queue/scheduler") && self.tree.nodes.contains_key(&depth) {
            let own = if value.trim() == "none" { "128\n" } else { "256\n" };
            self.tree.put(&depth, Node::File(vec![own.into()]));
        }
        Ok(())
    }

    /// Removes the mount, the files below it, and what sysfs shows of its btrfs.
    fn unmount(&mut self, point: &Path) -> io::Result<()> {
        let (point, _) = self.tree.find(point)?;
        if self.is_served_from(&point) {
            return Err(Errno::BUSY.into());
        }
        let at_point = format!(" / {} ", point.display());
        let table = self.text(Path::new(MOUNTS));
        let gone: Vec<&str> = table.lines().filter(|line| line.contains(&at_point)).collect();
        let sources = gone.iter().filter_map(|line| line.split(" - ").nth(1)?.split(' ').nth(1));
        for source in sources {
            self.hide_pool(Path::new(source));
        }
        self.change_text(Path::new(MOUNTS), |text| {
            let left = text.lines().filter(|line| !line.contains(&at_point));
            left.flat_map(|line| [line, "\n"]).collect()
        });
        self.tree.devices.remove(&point);
        if gone.is_empty() {
            return Err(Errno::INVAL.into());
        }
        self.forget_below(&point);
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        let path = self.place(path)?;
        if !self.tree.nodes.contains_key(&path) {
            return Err(Errno::NOENT.into());
        }
        if let Some(below) = self.below_name(&path) {
            self.tree.remove(&below);
        }
        self.tree.remove(&path);
        self.sizes.remove(&path);
        Ok(())
    }

    fn swap_on(&mut self, path: &Path) -> io::Result<()> {
        self.tree.find(path)?;
        let line = swap_line(path);
        if self.text(Path::new(swaps::TABLE)).contains(line.trim()) {
            return Err(Errno::BUSY.into());
        }
        self.change_text(Path::new(swaps::TABLE), |text| text + &line);
        Ok(())
    }

    fn swap_off(&mut self, path: &Path) -> io::Result<()> {
        let line = swap_line(path);
        if !self.text(Path::new(swaps::TABLE)).contains(line.trim()) {
            return Err(Errno::INVAL.into());
        }
        self.change_text(Path::new(swaps::TABLE), |text| text.replace(&line, ""));
        Ok(())
    }

    fn attach(&mut self, device: &Path, file: &Path) -> io::Result<()> {
        let name = device.file_name().ok_or(Errno::INVAL)?.to_string_lossy().into_owned();
        let (file, node) = self.tree.find(file)?;
        let below = if let Node::Block(below) = node { Some(*below) } else { None };
        let bytes = match below {
            Some(below) => self.bytes_of(below),
            None => self.sizes.get(&file).copied().unwrap_or(0),
        };
        let minor = name.strip_prefix("loop").and_then(|n| n.parse().ok()).ok_or(Errno::NXIO)?;
        if self.tree.nodes.contains_key(&place_of(&name).join("loop/backing_file")) {
            return Err(Errno::BUSY.into());
        }
        let number = DeviceNumber { major: LOOP_MAJOR, minor };
        let texts = [
            ("size", (bytes / 512).to_string()),
            ("loop/backing_file", file.display().to_string()),
        ];
        self.show_device(&name, number, texts.into_iter().chain(queue()));
        Ok(())
    }

    fn detach(&mut self, device: &Path) -> io::Result<()> {
        let name = device.file_name().ok_or(Errno::INVAL)?.to_string_lossy().into_owned();
        let place = place_of(&name);
        if !self.tree.nodes.contains_key(&place) {
            return Err(Errno::NXIO.into());
        }
        let number = self.tree.number_of(device)?;
        // The kernel succeeds, and releases the file when the last user of the device closes it.
        if self.is_held(&name) || self.is_below_loop(&name) {
            return Ok(());
        }
        let parts = self.tree.list(&place)?.into_iter().filter(|child| child.starts_with(&name));
        for part in parts.collect::<Vec<_>>() {
            let number = part.trim_start_matches(&format!("{name}p")).parse();
            self.remove_partition(device, number.map_err(|_| Errno::INVAL)?)?;
        }
        self.hide_device(&name, number, &place);
        Ok(())
    }

    fn add_zram(&mut self, number: u32) -> io::Result<()> {
        let (name, own) = (format!("zram{number}"), zram_number(number));
        self.tree.find(Path::new(ADD_ZRAM))?;
        if self.tree.nodes.contains_key(&place_of(&name).join("dev")) {
            return Err(Errno::BUSY.into());
        }
        let texts = [
            ("size", "0".to_owned()),
            ("disksize", "0".to_owned()),
            ("comp_algorithm", "[lzo-rle] lzo lz4 lz4hc zstd deflate 842".to_owned()),
            ("backing_dev", "none".to_owned()),
            ("queue/write_cache", "write through".to_owned()),
        ];
        self.show_device(&name, own, texts);
        Ok(())
    }

    fn remove_zram(&mut self, number: u32) -> io::Result<()> {
        let (name, own) = (format!("zram{number}"), zram_number(number));
        let place = place_of(&name);
        if !self.tree.nodes.contains_key(&place.join("dev")) {
            return Err(Errno::NODEV.into());
        }
        let is_swap = self.text(Path::new(swaps::TABLE)).contains(&format!("/dev/{name} "));
        if is_swap || self.is_held(&name) || self.is_below_loop(&name) {
            return Err(Errno::BUSY.into());
        }
        self.hide_device(&name, own, &place);
        Ok(())
    }

    pub(super) fn bytes_of(&mut self, number: DeviceNumber) -> u64 {
        let sectors = self.text(Path::new(&format!("/sys/dev/block/{number}/size")));
        sectors.parse::<u64>().unwrap_or(0) * 512
    }

    fn text(&mut self, path: &Path) -> String {
        String::from_utf8_lossy(&self.read(path).unwrap_or_default()).trim().to_owned()
    }

    pub(super) fn is_mounted(&mut self, name: &str) -> bool {
        let table = self.text(Path::new(MOUNTS));
        table.lines().any(|line| line.split(' ').any(|word| is_on(name, word)))
    }

    /// Returns whether another loop device uses a disk or a part of it.
    fn is_below_loop(&mut self, name: &str) -> bool {
        let loops = self.tree.nodes.keys().filter(|path| path.ends_with("loop/backing_file"));
        let loops: Vec<PathBuf> = loops.cloned().collect();
        loops.iter().any(|file| is_on(name, &self.text(file)))
    }

    fn add_partition(&mut self, disk: &Path, number: u32, range: &Range<u64>) -> io::Result<()> {
        let (name, place, own) = self.partition(disk, number)?;
        if self.tree.nodes.contains_key(&place) {
            return Err(Errno::BUSY.into());
        }
        let texts = [
            ("dev", own.to_string()),
            ("partition", number.to_string()),
            ("start", (range.start / 512).to_string()),
            ("size", ((range.end - range.start) / 512).to_string()),
            ("ro", "0".to_owned()),
        ];
        self.put_texts(&place, texts);
        self.tree.put(&place.join("holders"), Node::Directory);
        for link in [format!("/sys/class/block/{name}"), format!("/sys/dev/block/{own}")] {
            self.tree.put(Path::new(&link), Node::Link(place.clone()));
        }
        self.tree.put(&devices::file_of(&name), Node::Block(own));
        Ok(())
    }

    fn remove_partition(&mut self, disk: &Path, number: u32) -> io::Result<()> {
        let (name, place, own) = self.partition(disk, number)?;
        if !self.tree.nodes.contains_key(&place) {
            return Err(Errno::NXIO.into());
        }
        if self.is_held(&name) {
            return Err(Errno::BUSY.into());
        }
        self.hide_device(&name, own, &place);
        Ok(())
    }

    /// Kernel name, place in sysfs and device number of a partition.
    fn partition(&self, disk: &Path, number: u32) -> io::Result<(String, PathBuf, DeviceNumber)> {
        let disk_name = disk.file_name().ok_or(Errno::INVAL)?.to_string_lossy().into_owned();
        let name = devices::partition_name(&disk_name, number);
        let (place, _) = self.tree.find(&Path::new("/sys/class/block").join(&disk_name))?;
        let disk_number = self.tree.number_of(disk)?;
        let own = DeviceNumber { major: 259, minor: disk_number.minor * 256 + number };
        Ok((name.clone(), place.join(&name), own))
    }

    pub(super) fn change_text(&mut self, path: &Path, change: impl FnOnce(String) -> String) {
        let text = self.read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.tree.put(path, Node::File(vec![change(text.unwrap_or_default()).into_bytes()]));
    }
}

fn swap_line(path: &Path) -> String {
    format!("{} file 1024 0 {MOST_SWAP_PRIORITY}\n", path.display())
}

const fn zram_number(number: u32) -> DeviceNumber {
    DeviceNumber { major: ZRAM_MAJOR, minor: number }
}

/// Returns whether a path is that of a disk or one of its partitions.
fn is_on(disk: &str, path: &str) -> bool {
    path.strip_prefix("/dev/").is_some_and(|name| is_part(disk, name))
}

/// Returns whether a kernel name is that of a disk or one of its partitions.
pub(super) fn is_part(disk: &str, name: &str) -> bool {
    let rest = name.strip_prefix(disk);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('p'))
}

/// The text of a setting with another choice in brackets; `None` if the choice is not listed.
fn choose(now: &str, wanted: &str) -> Option<String> {
    let words: Vec<&str> =
        now.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
    words.contains(&wanted).then(|| {
        let shown = words
            .iter()
            .map(|word| if *word == wanted { format!("[{word}]") } else { (*word).to_owned() });
        shown.collect::<Vec<_>>().join(" ") + "\n"
    })
}

impl Fake {
    /// Disk of a device, and the device's first byte on it; whole devices are their own disk.
    pub(super) fn disk_and_start(&self, number: DeviceNumber) -> (DeviceNumber, u64) {
        let own = (number, 0);
        let Some(name) = devices::name_of(self, number) else { return own };
        let Some(start) = devices::start_of(self, &name) else { return own };
        let link = PathBuf::from(format!("/sys/class/block/{name}"));
        let place = crate::system::System::canonical(self, &link).unwrap_or(link);
        let disk = place.parent().and_then(Path::file_name);
        let disk = disk.and_then(|disk| devices::number_of(self, &disk.to_string_lossy()));
        (disk.unwrap_or(number), start)
    }

    /// Content of a device; zeros until written.
    pub(super) fn content(&self, number: DeviceNumber) -> io::Result<std::fs::File> {
        let bytes = self.device_bytes(number);
        let mut state = self.lock();
        if let Some(file) = state.contents.get(&number) {
            return file.try_clone();
        }
        let file = memory_file(bytes)?;
        state.contents.insert(number, Arc::new(file.try_clone()?));
        Ok(file)
    }
}
