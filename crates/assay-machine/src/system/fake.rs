//! A machine in memory, for tests: a tree of files and a virtual clock.

mod act;
mod arrays;
mod copy;
mod disks;
mod encryption;
mod files;
#[cfg(test)]
pub(super) mod machines;
mod mains;
mod marks;
mod network;
mod trace;
mod tree;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use assay_sys::memory_file;

use super::journal::Warrant;
use super::mains::Mains;
use super::network::{LinkJob, LinkRun};
use super::signatures::PROGRAMS;
use super::{
    Act, AreaFile, BlockTracer, CachedPages, Caching, Consent, DeviceNumber, DeviceUser,
    DirectAlignment, DirectoryPolicy, Errno, Executed, Execution, Extent, FileStatus, Hold,
    HoldError, KernelLog, Leftover, Locking, OwnFile, ProgramOutput, Space, System, TraceMeans,
    Watchdog, WorkDirectory, devices, identity,
};
pub use act::Manner;
pub use mains::POWER;
use tree::{FakeTree, Node};

/// Start of the clock: 2026-11-20, 10:00 in a zone one hour east.
const START_SECONDS: i64 = 1_795_165_200;
const ZONE_HOURS: i8 = 1;
const PROCESS: u32 = 4711;
const PAGE: u64 = 4096;
const KERNEL_LOG: &str = "/dev/kmsg";
const OTHERS_ANYTHING: u32 = 0o077;

/// A machine in memory, with absolute paths and a clock that moves only by [`System::sleep`].
#[derive(Debug)]
pub struct Fake {
    state: Mutex<FakeState>,
}

#[derive(Clone, Debug, Default)]
struct FakeState {
    tree: FakeTree,
    clock: Duration,
    refuses_direct: bool,
    named_areas: bool,
    leftovers: BTreeMap<PathBuf, u64>,
    holders: BTreeMap<String, (u32, u32)>,
    dropped: Vec<Range<u64>>,
    manners: BTreeMap<PathBuf, Manner>,
    programs: BTreeSet<String>,
    mounts_nothing: bool,
    /// Mount options that the kernel shows for any mount.
    shows: Option<String>,
    acted: Vec<Act>,
    /// After the next discard, another device is in the place of this one.
    replugged: Option<PathBuf>,
    made: BTreeMap<DeviceNumber, String>,
    /// File systems on several devices, by the first device.
    pools: BTreeMap<DeviceNumber, arrays::FakePool>,
    encrypting: BTreeSet<DeviceNumber>,
    encrypted: encryption::Encrypted,
    /// Bytes of devices that were written to.
    contents: BTreeMap<DeviceNumber, Arc<File>>,
    /// Sizes of files without stored content.
    sizes: BTreeMap<PathBuf, u64>,
    /// Devices so far, as the kernel numbers them.
    sequence: u64,
    traces: trace::Traces,
    /// Nanoseconds that the wall clock was set forward in all.
    stepped_ns: i64,
    outputs: BTreeMap<String, String>,
    /// Results of programs that inspect an open file, by command line.
    told: BTreeMap<String, ProgramOutput>,
    executions: BTreeMap<String, VecDeque<Executed>>,
    executed: Vec<String>,
    network: network::FakeNetwork,
    power: mains::Power,
}

impl Default for Fake {
    fn default() -> Self {
        Self::new()
    }
}

impl Fake {
    /// A machine with an empty root directory; its user is root.
    pub fn new() -> Self {
        let fake = Self { state: Mutex::default() };
        fake.lock().tree.put(Path::new("/"), Node::Directory);
        fake
    }

    /// A machine from a recorded tree (`tests/fixtures/machines`; the format is in `fake/tree.rs`).
    pub fn recorded(text: &str) -> Result<Self, String> {
        let fake = Self::new();
        fake.lock().tree.read(text)?;
        Ok(fake)
    }

    /// The recorded machine with a SATA SSD, which tests of the crates above begin with.
    pub fn sata_ssd() -> Result<Self, String> {
        Self::recorded(include_str!("../../tests/fixtures/machines/sata-ssd.txt"))
    }

    /// Adds entries in the format of a recorded tree; replaces existing ones.
    pub fn add(&self, text: &str) -> Result<&Self, String> {
        self.lock().tree.read(text)?;
        Ok(self)
    }

    pub fn put(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        self.put_readings(path, [content])
    }

    /// Adds a file with different content for each read; the last one repeats.
    pub fn put_readings<T: AsRef<[u8]>>(
        &self,
        path: impl AsRef<Path>,
        readings: impl IntoIterator<Item = T>,
    ) -> &Self {
        let readings = readings.into_iter().map(|content| content.as_ref().to_vec()).collect();
        self.lock().tree.put(path.as_ref(), Node::File(readings));
        self
    }

    /// Removes a file, or a directory with its content.
    pub fn remove(&self, path: impl AsRef<Path>) -> &Self {
        self.lock().tree.remove(path.as_ref());
        self
    }

    pub fn set_variable(&self, name: &str, value: &str) -> &Self {
        self.lock().tree.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Sets the user that runs the process; 0 is root.
    pub fn set_user(&self, id: u32) -> &Self {
        self.lock().tree.user = id;
        self
    }

    pub fn refuse_direct(&self) -> &Self {
        self.lock().refuses_direct = true;
        self
    }

    /// Makes the file systems reject unnamed files, so that areas get names.
    pub fn refuse_unnamed(&self) -> &Self {
        self.lock().named_areas = true;
        self
    }

    pub fn put_leftover(&self, path: impl Into<PathBuf>, bytes: u64) -> &Self {
        self.lock().leftovers.insert(path.into(), bytes);
        self
    }

    /// Another process takes a lock; for a file, the name is its path.
    pub fn set_holder(&self, name: &str, process: u32, user: u32) -> &Self {
        self.lock().holders.insert(name.to_owned(), (process, user));
        self
    }

    pub fn step_wall_clock(&self, by_ns: i64) -> &Self {
        self.lock().stepped_ns += by_ns;
        self
    }

    /// Sets the output of a program for a command line.
    pub fn put_output(&self, line: &str, text: &str) -> &Self {
        self.lock().outputs.insert(line.to_owned(), text.to_owned());
        self
    }

    /// Sets exit code and output of a program that inspects an open file.
    pub fn put_told(&self, line: &str, code: i32, text: &str, complaint: &str) -> &Self {
        let (text, complaint) = (text.to_owned(), complaint.to_owned());
        let told = ProgramOutput { code: Some(code), text, complaint };
        self.lock().told.insert(line.to_owned(), told);
        self
    }

    /// Sets the results of a program for this command line, run after run; the last one repeats.
    pub fn put_executions(&self, line: &str, runs: impl IntoIterator<Item = Executed>) -> &Self {
        self.lock().executions.insert(line.to_owned(), runs.into_iter().collect());
        self
    }

    pub fn executed(&self) -> Vec<String> {
        self.lock().executed.clone()
    }

    /// Writes bytes to a block device at an offset; the rest is zeros.
    pub fn put_content(&self, number: DeviceNumber, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.content(number)?.write_all_at(bytes, offset)
    }

    pub fn dropped(&self) -> Vec<Range<u64>> {
        self.lock().dropped.clone()
    }

    pub fn files(&self) -> BTreeMap<PathBuf, String> {
        let state = self.lock();
        let content = |node: &Node| match node {
            Node::File(readings) => {
                readings.first().map(|c| String::from_utf8_lossy(c).into_owned())
            }
            _ => None,
        };
        state.tree.nodes.iter().filter_map(|(p, node)| Some((p.clone(), content(node)?))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, FakeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_direct(&self, caching: Caching) -> io::Result<()> {
        if self.lock().refuses_direct && caching == Caching::Direct {
            return Err(Errno::INVAL.into());
        }
        Ok(())
    }

    /// Returns a file that others cannot read; fails if it is not private.
    fn check_secret(&self, path: PathBuf) -> io::Result<PathBuf> {
        let found = self.status(&path)?;
        let is_private = found.user == 0 && found.mode & OTHERS_ANYTHING == 0;
        if is_private { Ok(path) } else { Err(Errno::PERM.into()) }
    }

    /// Size of the block device in bytes, according to its sysfs.
    fn device_bytes(&self, number: DeviceNumber) -> u64 {
        devices::name_of(self, number).map_or(0, |name| devices::size_of(self, &name))
    }
}

/// File with the CPUID signatures of a recorded machine.
const SIGNATURES: &str = "/cpuid/hypervisor";

impl FakeState {
    fn read(&mut self, path: &Path) -> io::Result<Vec<u8>> {
        let (path, _) = self.tree.find(path)?;
        match self.tree.nodes.get_mut(&path) {
            Some(Node::File(readings)) if readings.len() > 1 => Ok(readings.remove(0)),
            Some(Node::File(readings)) => Ok(readings.first().cloned().unwrap_or_default()),
            Some(Node::Directory) => Err(Errno::ISDIR.into()),
            _ => Err(Errno::INVAL.into()),
        }
    }

    /// Path of a new file; its directory must exist.
    fn place(&self, path: &Path) -> io::Result<PathBuf> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::INVAL.into());
        };
        let (directory, node) = self.tree.find(directory)?;
        if *node != Node::Directory {
            return Err(Errno::NOTDIR.into());
        }
        Ok(directory.join(name))
    }

    fn new_place(&self, path: &Path) -> io::Result<PathBuf> {
        if self.tree.find(path).is_ok() {
            return Err(Errno::EXIST.into());
        }
        self.place(path)
    }
}

/// A machine in memory dies with its process.
struct NoWatchdog;

impl Watchdog for NoWatchdog {}

impl System for Fake {
    fn read_text(&self, path: &Path) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&self.lock().read(path)?).into_owned())
    }

    fn read_bytes(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.lock().read(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let state = self.lock();
        Ok(state.visible_names(directory, state.tree.list(directory)?))
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        let state = self.lock();
        let path = state.place(path)?;
        match state.tree.nodes.get(&path) {
            Some(Node::Link(target)) => Ok(target.clone()),
            Some(_) => Err(Errno::INVAL.into()),
            None => Err(Errno::NOENT.into()),
        }
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(self.lock().tree.find(path)?.0)
    }

    fn status(&self, path: &Path) -> io::Result<FileStatus> {
        let state = self.lock();
        let found = state.tree.status(path)?;
        let (place, _) = state.tree.find(path)?;
        let size_bytes = state.sizes.get(&place).copied().unwrap_or(found.size_bytes);
        Ok(FileStatus { size_bytes, ..found })
    }

    fn space(&self, path: &Path) -> io::Result<Space> {
        let state = self.lock();
        let (path, _) = state.tree.find(path)?;
        let plenty = Space { available_bytes: 1 << 40, usable_bytes: 1 << 40, read_only: false };
        Ok(tree::nearest(&state.tree.spaces, &path).copied().unwrap_or(plenty))
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.lock().tree.variables.get(name).cloned()
    }

    fn user(&self) -> DeviceUser {
        DeviceUser { id: self.lock().tree.user, process: PROCESS }
    }

    fn now(&self) -> String {
        let seconds = START_SECONDS + self.lock().clock.as_secs() as i64;
        let time = jiff::Timestamp::from_second(seconds).unwrap_or_default();
        time.to_zoned(jiff::tz::offset(ZONE_HOURS).to_time_zone())
            .strftime("%Y-%m-%dT%H:%M:%S%:z")
            .to_string()
    }

    fn hypervisor_signatures(&self) -> Vec<String> {
        // In a recorded tree, one per line.
        let told = self.read_text(Path::new(SIGNATURES)).unwrap_or_default();
        told.lines().map(str::to_owned).collect()
    }

    /// As on some ARM machines, so that tests do not rely on 4 KiB.
    fn page_bytes(&self) -> u64 {
        16_384
    }

    fn monotonic_ns(&self) -> u64 {
        self.lock().clock.as_nanos() as u64
    }

    fn wall_ns(&self) -> u64 {
        let state = self.lock();
        let now_ns = START_SECONDS as u64 * 1_000_000_000 + state.clock.as_nanos() as u64;
        now_ns.saturating_add_signed(state.stepped_ns)
    }

    fn sleep(&self, time: Duration) {
        self.lock().clock += time;
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        for part in path.ancestors() {
            match state.tree.find(part) {
                Ok((_, Node::Directory)) => break,
                Ok(_) => return Err(Errno::EXIST.into()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        state.tree.set_owner(path);
        state.tree.put(path, Node::Directory);
        Ok(())
    }

    fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        let path = state.place(path)?;
        state.tree.set_owner(&path);
        state.tree.put(&path, Node::File(vec![bytes.to_vec()]));
        Ok(())
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        let path = state.place(path)?;
        let mut content = match state.tree.nodes.get(&path) {
            Some(Node::File(readings)) => readings.first().cloned().unwrap_or_default(),
            Some(_) => return Err(Errno::ISDIR.into()),
            None => Vec::new(),
        };
        content.extend_from_slice(bytes);
        state.tree.put(&path, Node::File(vec![content]));
        Ok(())
    }

    fn create_own_directory(&self, path: &Path) -> io::Result<()> {
        let exists = matches!(self.lock().tree.find(path), Ok((_, Node::Directory)));
        if exists { Ok(()) } else { self.create_directory(path) }
    }

    fn lock_file(&self, path: &Path, locking: Locking) -> Result<OwnFile, HoldError> {
        self.hold(&path.to_string_lossy())?;
        let found = self.lock().tree.find(path).map(|(path, _)| path);
        let path = match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound && locking == Locking::New => {
                self.append(path, b"").map(|()| path.to_owned()).inspect(|path| {
                    self.lock().tree.modes.insert(path.clone(), 0o600);
                })
            }
            Ok(path) if locking == Locking::Secret => self.check_secret(path),
            other => other,
        };
        Ok(OwnFile { path: path.map_err(HoldError::Failed)?, file: None })
    }

    fn read_own(&self, file: &OwnFile) -> io::Result<String> {
        self.read_text(&file.path)
    }

    fn append_own(&self, file: &OwnFile, bytes: &[u8]) -> io::Result<()> {
        self.append(&file.path, bytes)
    }

    /// Always the same bytes, for deterministic tests.
    fn random(&self) -> io::Result<[u8; 32]> {
        Ok([42; 32])
    }

    fn make_tree(&self, directory: &Path, files: &[(String, String)]) -> io::Result<()> {
        if self.status(directory).is_ok() {
            return Err(Errno::EXIST.into());
        }
        for (path, text) in files {
            self.put(directory.join(path), text);
        }
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.lock();
        let path = state.place(path)?;
        match state.tree.nodes.get(&path) {
            Some(Node::Directory) => state.tree.remove(&path),
            Some(_) => return Err(Errno::NOTDIR.into()),
            None => return Err(Errno::NOENT.into()),
        }
        Ok(())
    }

    fn create_area(&self, directory: &Path, caching: Caching) -> io::Result<AreaFile> {
        self.check_direct(caching)?;
        let (directory, _) = self.lock().tree.find(directory)?;
        let file = memory_file(0)?;
        if !self.lock().named_areas {
            return Ok(AreaFile { file, name: None, note: None, first_byte: 0 });
        }
        let name = directory.join(".assay-area-0123456789abcdef");
        self.write_whole(&name, b"assay area 1\n")?;
        let note = Some("this filesystem does not support unnamed files".to_owned());
        Ok(AreaFile { file, name: Some(name), note, first_byte: 1 << 20 })
    }

    fn remove_area(&self, area: &AreaFile) -> io::Result<()> {
        if let Some(name) = area.name.as_ref().filter(|name| !self.remove_kept(name)) {
            self.lock().tree.remove(name);
        }
        Ok(())
    }

    /// A machine in memory has no directory that can be handed on.
    fn create_work_directory(&self, _: &Path) -> io::Result<WorkDirectory> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove_work_directory(&self, _: &WorkDirectory) -> io::Result<()> {
        Ok(())
    }

    fn leftovers(&self, directory: &Path) -> io::Result<Vec<Leftover>> {
        let state = self.lock();
        let here = state.leftovers.iter().filter(|(path, _)| path.parent() == Some(directory));
        let leftover =
            |(path, bytes): (&PathBuf, &u64)| Leftover { path: path.clone(), size_bytes: *bytes };
        Ok(here.map(leftover).collect())
    }

    fn remove_leftover(&self, leftover: &Leftover) -> io::Result<()> {
        let removed = self.lock().leftovers.remove(&leftover.path);
        removed.map(|_| ()).ok_or_else(|| Errno::NOENT.into())
    }

    fn open_for_reading(&self, path: &Path, caching: Caching) -> io::Result<File> {
        self.check_direct(caching)?;
        let status = self.status(path)?;
        if let Some(number) = status.own_device {
            return self.content(number);
        }
        let file = memory_file(0)?;
        file.write_all_at(&self.read_bytes(path)?, 0)?;
        Ok(file)
    }

    fn open_device_for_writing(&self, consent: &Consent, caching: Caching) -> io::Result<File> {
        self.check_direct(caching)?;
        let status = self.status(&consent.device)?;
        let is_same = status.own_device == Some(consent.number)
            && identity::disk_sequence(self, consent.number) == consent.sequence
            && self.device_bytes(consent.number) == consent.size_bytes;
        if !is_same {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.content(consent.number)
    }

    fn length(&self, file: &File) -> io::Result<u64> {
        Ok(file.metadata()?.len())
    }

    fn direct_alignment(&self, _: &File) -> io::Result<Option<DirectAlignment>> {
        Ok(Some(DirectAlignment { memory_bytes: 512, offset_bytes: 512 }))
    }

    fn read_at(&self, file: &File, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        file.read_at(into, offset)
    }

    fn sync_data(&self, _: &File) -> io::Result<()> {
        Ok(())
    }

    fn extents(&self, _: &File, range: Range<u64>) -> io::Result<Vec<Extent>> {
        let length = range.end.saturating_sub(range.start);
        Ok(vec![Extent { start: range.start, length, unwritten: false, encoded: false }])
    }

    fn cached_pages(&self, _: &File, range: Range<u64>) -> io::Result<CachedPages> {
        let of = range.end.saturating_sub(range.start).div_ceil(PAGE);
        Ok(CachedPages { cached: 0, of })
    }

    fn resident_pages(&self, file: &File, range: Range<u64>) -> io::Result<CachedPages> {
        self.cached_pages(file, range)
    }

    fn reopen(&self, file: &File, _: Caching) -> io::Result<File> {
        file.try_clone()
    }

    fn set_caching(&self, _: &File, caching: Caching) -> io::Result<()> {
        self.check_direct(caching)
    }

    fn drop_cached(&self, _: &File, range: Range<u64>) -> io::Result<()> {
        self.lock().dropped.push(range);
        Ok(())
    }

    fn encryption_of(&self, directory: &Path) -> io::Result<Option<DirectoryPolicy>> {
        self.lock().policy(directory)
    }

    fn program(&self, name: &str) -> Option<PathBuf> {
        let state = self.lock();
        let recorded = name == "smartctl" && !state.tree.smartctl.is_empty();
        let is_there = recorded || PROGRAMS.contains(&name) || state.programs.contains(name);
        is_there.then(|| Path::new("/usr/sbin").join(name))
    }

    fn free_loop(&self) -> io::Result<PathBuf> {
        let state = self.lock();
        let taken = |number: &u32| {
            state.tree.nodes.contains_key(Path::new(&format!("/sys/block/loop{number}")))
        };
        let free = (0..256).find(|number| !taken(number)).ok_or(Errno::NOSPC)?;
        Ok(format!("/dev/loop{free}").into())
    }

    fn act(&self, _: Warrant, act: &Act) -> io::Result<()> {
        self.lock().acted.push(act.clone());
        self.carry_out(act)?;
        let replugged = match act {
            Act::Discard { .. } => self.lock().replugged.take(),
            _ => None,
        };
        if let Some(device) = replugged {
            self.replug(&device);
        }
        Ok(())
    }

    fn trace_block(
        &self,
        devices: &[DeviceNumber],
        means: TraceMeans,
    ) -> io::Result<Box<dyn BlockTracer>> {
        trace::begin(&mut self.lock().traces, devices, means)
    }

    fn start_watchdog(&self, _: &str) -> io::Result<Box<dyn Watchdog>> {
        Ok(Box::new(NoWatchdog))
    }

    fn follow_kernel_log(&self) -> io::Result<KernelLog> {
        let seen = self.read_text(Path::new(KERNEL_LOG))?.lines().count();
        Ok(KernelLog { file: None, seen })
    }

    fn new_in_kernel_log(&self, log: &mut KernelLog) -> io::Result<Vec<String>> {
        let text = self.read_text(Path::new(KERNEL_LOG))?;
        let new: Vec<String> = text.lines().skip(log.seen).map(str::to_owned).collect();
        log.seen += new.len();
        Ok(new)
    }

    fn output_of(&self, program: &str, arguments: &[&str]) -> io::Result<String> {
        let line = [&[program], arguments].concat().join(" ");
        let state = self.lock();
        let known = state.outputs.get(&line).or_else(|| state.tree.smartctl.get(&line)).cloned();
        drop(state);
        known
            .or_else(|| self.network_output(program, arguments))
            .or_else(|| self.volume_status(&line))
            .ok_or_else(|| Errno::NOENT.into())
    }

    fn load_link(&self, job: &LinkJob<'_>) -> io::Result<LinkRun> {
        self.run_link(job)
    }

    fn mains(&self) -> io::Result<&dyn Mains> {
        Ok(self)
    }

    fn told_of(&self, program: &str, words: &[&str], input: &File) -> io::Result<ProgramOutput> {
        let line = [&[program], words].concat().join(" ");
        let output = self.lock().told.get(&line).cloned();
        let output = output.or_else(|| marks::output_of(program, words, input));
        output.ok_or_else(|| Errno::NOENT.into())
    }

    fn answer_of(&self, program: &str, arguments: &[&str], most: u64) -> io::Result<ProgramOutput> {
        let line = [&[program], arguments].concat().join(" ");
        let state = self.lock();
        // An output without arguments is for all command lines of the program.
        let output = state.told.get(&line).or_else(|| state.told.get(program)).cloned();
        let mut output = output.ok_or_else(|| io::Error::from(Errno::NOENT))?;
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(output.text.len());
        let end = (0..=most).rev().find(|at| output.text.is_char_boundary(*at));
        output.text.truncate(end.unwrap_or(0));
        Ok(output)
    }

    fn execute(&self, execution: &Execution<'_>) -> io::Result<Executed> {
        let line = execution.words.join(" ");
        let mut state = self.lock();
        state.executed.push(line.clone());
        let runs = state.executions.get_mut(&line).ok_or(Errno::NOENT)?;
        let next = if runs.len() > 1 { runs.pop_front() } else { runs.front().cloned() };
        drop(state);
        let executed = next.ok_or(Errno::NOENT)?;
        self.sleep(Duration::from_nanos(executed.wall_ns));
        Ok(executed)
    }

    fn forget_cache(&self) -> io::Result<()> {
        Ok(())
    }

    fn nvme_health_log(&self, device: &Path) -> io::Result<Vec<u8>> {
        let logs = &self.lock().tree.health_logs;
        logs.get(device).cloned().ok_or_else(|| Errno::NOTTY.into())
    }

    fn hold(&self, name: &str) -> Result<Hold, HoldError> {
        let Some((process, user)) = self.lock().holders.get(name).copied() else {
            return Ok(Hold::new(None, None));
        };
        Err(HoldError::Held { process: Some(process), user: Some(user) })
    }
}

#[cfg(test)]
mod tests;
