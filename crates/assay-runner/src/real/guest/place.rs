//! The drive and port of a virtual machine, for a job inside.

use std::ffi::CStr;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};

use super::{awake, own_command};
use crate::vm::driven::{DRIVE, TALK};
use assay_load::{OneByOne, OneDirectory, Target};
use assay_workloads::durability::below::On;
use assay_workloads::durability::command::{CommandLines, EndedLine};
use assay_workloads::durability::files::Directory;
use assay_workloads::durability::guest::{
    GuestStorage, MountedStorage, PIECE_BYTES, Pieces, Trouble, work,
};
use assay_workloads::durability::trial::Medium;

const PORTS: &str = "/sys/class/virtio-ports";
const MOUNT: &str = "/run/written";
const FILE: &str = "/run/written/file";
const DIRECTORY: &str = "/run/written/files";
const OFF_THE_DRIVE: &str = "/run";
const LARGEST: u32 = 1 << 20;

/// Performs the orders of the host, one per line of the port, until the port is closed.
pub fn obey() -> Result<(), String> {
    let mut port = open_port()?;
    let reader = BufReader::new(port.try_clone().map_err(|error| error.to_string())?);
    let lines = reader.lines().map_while(Result::ok);
    let mut orders = lines.filter(|line| !awake::handle_wake_line(line));
    let mut say = |line: &str| {
        port.write_all(format!("{line}\n").as_bytes()).map_err(|error| error.to_string())
    };
    work(&mut OwnDrive, &mut || orders.next(), &mut say)
}

/// Opens the virtio port through which the host sends orders.
fn open_port() -> Result<File, String> {
    for entry in fs::read_dir(PORTS).map_err(|error| error.to_string())?.flatten() {
        let name = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
        if name.trim() == TALK {
            let path = Path::new("/dev").join(entry.file_name());
            let port = OpenOptions::new().read(true).write(true).open(path);
            return port.map_err(|error| error.to_string());
        }
    }
    Err(format!("port {TALK} does not exist"))
}

struct OwnDrive;

impl GuestStorage for OwnDrive {
    fn make(&mut self, on: On) -> Result<(), String> {
        if let Some(words) = on.mkfs_command(DRIVE) {
            run(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
        drop_drive_cache()
    }

    fn written(
        &mut self,
        on: On,
        mounted: &str,
        write: &mut dyn FnMut(&mut dyn Medium) -> Result<(), String>,
    ) -> Result<(), Trouble> {
        let _mount = GuestMount::new(on, mounted)?;
        let file = if on.has_files() { new_file() } else { open_path(DRIVE, true) };
        let file = file.map_err(|error| Trouble::Otherwise(error.to_string()))?;
        let target = Target { file: Some(file.as_fd()), memory_alignment: 4096 };
        let opened = OneByOne::open(&target, LARGEST);
        let mut medium = opened.map_err(|error| Trouble::Otherwise(error.to_string()))?;
        write(&mut medium).map_err(Trouble::Otherwise)
    }

    fn inspect(&mut self, on: On) -> Result<Option<String>, String> {
        let Some(words) = on.fsck_command(Some(DRIVE)) else { return Ok(None) };
        drop_drive_cache()?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = output_of(&words)?;
        Ok((!output.status.success()).then(|| complaint(&output)))
    }

    fn room(
        &mut self,
        on: On,
        mounted: &str,
        work: &mut dyn FnMut(&mut dyn MountedStorage) -> Result<(), String>,
    ) -> Result<(), Trouble> {
        let _mount = GuestMount::new(on, mounted)?;
        let directory =
            open_directory().map_err(|error| Trouble::Unreachable(error.to_string()))?;
        work(&mut OwnRoom(directory)).map_err(Trouble::Otherwise)
    }

    fn read(&mut self, on: On, mounted: &str, bytes: u64) -> Result<Pieces, Trouble> {
        let _mount = GuestMount::new(on, mounted)?;
        let path = if on.has_files() { FILE } else { DRIVE };
        let file =
            open_path(path, false).map_err(|error| Trouble::Unreachable(error.to_string()))?;
        let mut pieces = Pieces::new();
        for offset in (0..bytes).step_by(PIECE_BYTES as usize) {
            let piece = read_piece(&file, offset);
            let is_end = piece.as_ref().is_some_and(|bytes| (bytes.len() as u64) < PIECE_BYTES);
            pieces.push(piece);
            if is_end {
                break;
            }
        }
        Ok(pieces)
    }
}

fn open_directory() -> std::io::Result<File> {
    if !Path::new(DIRECTORY).is_dir() {
        fs::create_dir(DIRECTORY)?;
        File::open(MOUNT)?.sync_all()?;
    }
    File::open(DIRECTORY)
}

struct OwnRoom(File);

impl MountedStorage for OwnRoom {
    fn files(&mut self) -> Box<dyn Directory + '_> {
        Box::new(OneDirectory::new(self.0.as_fd()))
    }

    fn command(
        &mut self,
        own: &CommandLines,
        promised: &mut dyn FnMut(String) -> Result<(), String>,
    ) -> Result<EndedLine, String> {
        own_command::run(own, Path::new(DIRECTORY), promised)
    }

    fn check(&mut self, own: &CommandLines, lines: &[String]) -> Result<EndedLine, String> {
        own_command::check(own, Path::new(DIRECTORY), lines, Path::new(OFF_THE_DRIVE))
    }
}

fn open_path(path: &str, writes: bool) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(writes).open(path)
}

fn new_file() -> std::io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(FILE)?;
    file.sync_all()?;
    File::open(MOUNT)?.sync_all()?;
    Ok(file)
}

/// Reads a piece, which is short at the end of the file; `None` if unreadable.
fn read_piece(file: &File, offset: u64) -> Option<Vec<u8>> {
    let mut bytes = vec![0; PIECE_BYTES as usize];
    let mut length = 0;
    while length < bytes.len() {
        match file.read_at(&mut bytes[length..], offset + length as u64) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    bytes.truncate(length);
    Some(bytes)
}

struct GuestMount(On);

impl GuestMount {
    /// Mounts the drive if it has files, without cached data: reads must come from the drive.
    fn new(on: On, mounted: &str) -> Result<Self, Trouble> {
        drop_drive_cache().map_err(Trouble::Otherwise)?;
        if on.has_files() {
            fs::create_dir_all(MOUNT).map_err(|error| Trouble::Otherwise(error.to_string()))?;
            mount(on, mounted).map_err(Trouble::Unreachable)?;
        }
        Ok(Self(on))
    }
}

impl Drop for GuestMount {
    fn drop(&mut self) {
        if self.0.has_files() {
            // If this fails, the next mount reports it. A system call is faster than a program.
            let _ = rustix::mount::unmount(MOUNT, rustix::mount::UnmountFlags::empty());
        }
    }
}

/// Mounts the drive; with options, by the `mount` program, which takes longer in an emulated machine.
fn mount(on: On, options: &str) -> Result<(), String> {
    if options.is_empty() {
        let flags = rustix::mount::MountFlags::empty();
        let mounted = rustix::mount::mount(DRIVE, MOUNT, on.name(), flags, None::<&CStr>);
        return mounted.map_err(|error| format!("mount: {error}"));
    }
    run(&["mount", "-t", on.name(), "-o", options, DRIVE, MOUNT])
}

fn drop_drive_cache() -> Result<(), String> {
    let forgotten = open_path(DRIVE, true).and_then(|drive| {
        drive.sync_all()?;
        Ok(rustix::fs::fadvise(&drive, 0, None, rustix::fs::Advice::DontNeed)?)
    });
    forgotten.map_err(|error| format!("{DRIVE}: {error}"))
}

fn run(words: &[&str]) -> Result<(), String> {
    let output = output_of(words)?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{}: {}", words[0], complaint(&output)))
}

fn output_of(words: &[&str]) -> Result<Output, String> {
    let output = Command::new(words[0]).args(&words[1..]).output();
    output.map_err(|error| format!("{}: {error}", words[0]))
}

fn complaint(output: &Output) -> String {
    let said = [output.stderr.as_slice(), &output.stdout].concat();
    String::from_utf8_lossy(&said).trim().to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::ops::ControlFlow;

    use assay_testkit::Scratch;
    use assay_workloads::durability::files::{Content, FileScript, FileShape, read_back};
    use assay_workloads::durability::sync::Sync;

    use super::*;

    /// Without a power cut on a real file system, all data exists; changes from outside are found.
    #[test]
    fn files_of_a_script_are_there_when_nothing_is_cut() {
        for sync in [Sync::Fsync, Sync::Dsync, Sync::None] {
            let place = Scratch::new("files-of-a-script").unwrap();
            let mut room = OwnRoom(File::open(place.path()).unwrap());
            let script =
                FileScript::from_shape(&FileShape { sync, rounds: 40, most_bytes: 9000, seed: 5 });
            let mut told = Vec::new();
            let mut tell = |calls| {
                told.push(calls);
                Ok(ControlFlow::Continue(()))
            };
            let done = script.run(7, &mut *room.files(), &mut tell).unwrap();
            assert_eq!((done.rounds, done.calls), (40, script.calls.len() as u64));
            assert!(told.iter().copied().eq(script.reports()));
            fs::write(place.path().join("somebody's"), "other").unwrap();
            let mut listing = read_back(&script, 7, &mut *room.files()).unwrap();
            let all = script.cut_at(script.calls.len());
            assert_eq!(script.judge(&listing, all).lost, []);
            let whole = |own: &Content| matches!(own, Content::Whole(_));
            assert_eq!(listing.values().filter(|own| !whole(own)).count(), 1, "{listing:?}");
            let name = listing.iter().find(|(_, own)| whole(own)).unwrap().0.clone();
            fs::write(place.path().join(&name), "changed").unwrap();
            listing = read_back(&script, 7, &mut *room.files()).unwrap();
            assert_eq!(script.judge(&listing, all).lost.len(), usize::from(sync != Sync::None));
        }
    }
}
