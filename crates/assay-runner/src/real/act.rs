//! Changes of the machine.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::files;
use assay_machine::system::{ADD_ZRAM, Act, REMOVE_ZRAM};
use assay_sys::LoopOptions;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// Directories of system programs that may be missing from a user's `PATH`.
const SYSTEM_DIRECTORIES: [&str; 4] = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin"];
const CHUNK: usize = 1 << 20;

pub fn act(act: &Act) -> io::Result<()> {
    match act {
        Act::Set { path, value } => set(path, value),
        Act::Mount { device, point, filesystem, options } => {
            let (flags, data) = split_options(options);
            let data = CString::new(data)?;
            let data = (!data.is_empty()).then_some(data.as_c_str());
            Ok(mount(device, point, filesystem.as_str(), flags, data)?)
        }
        Act::Unmount { point } => Ok(unmount(point, UnmountFlags::NOFOLLOW)?),
        Act::CreateFile { path, bytes } => {
            let file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
            file.set_len(*bytes)?;
            file.sync_all()
        }
        Act::AllocateFile { path, bytes } => allocate(path, *bytes),
        Act::MakeSwap { path } => make_swap(path),
        Act::SwapOn { path, priority } => assay_sys::swap_on(path, *priority),
        Act::SwapOff { path } => assay_sys::swap_off(path),
        Act::RemoveFile { path } => {
            std::fs::remove_file(path)?;
            files::sync_directory_of(path)
        }
        Act::CreateDirectory { path } => std::fs::create_dir(path),
        Act::RemoveDirectory { path } => std::fs::remove_dir(path),
        Act::WriteFile { path, text } => files::replace(None, path, text.as_bytes()),
        Act::AttachLoop { device, file } => attach_loop(device, file),
        Act::DetachLoop { device } => assay_sys::detach_loop(writable(device, false)?.as_fd()),
        Act::AddZram { number } => add_zram(*number),
        Act::RemoveZram { number } => write_once(Path::new(REMOVE_ZRAM), &number.to_string()),
        Act::AddPartition { disk, number, range } => {
            let disk = File::open(disk)?;
            assay_sys::add_partition(disk.as_fd(), *number, range.clone())
        }
        Act::RemovePartition { disk, number } => {
            assay_sys::remove_partition(File::open(disk)?.as_fd(), *number)
        }
        Act::Run { program, arguments } => run(program, arguments, None),
        Act::RunWithKey { program, arguments, key } => {
            run(program, arguments, Some(&key.passphrase()))
        }
        Act::EncryptDirectory { directory, key } => {
            assay_sys::encrypt_directory(File::open(directory)?.as_fd(), key.bytes())
        }
        Act::ForgetKey { directory } => {
            let policy = assay_sys::directory_policy(File::open(directory)?.as_fd())?;
            // Not the directory itself: an open handle would keep its key in use.
            let parent = File::open(directory.parent().unwrap_or(directory))?;
            policy.map_or(Ok(()), |policy| assay_sys::forget_key(parent.as_fd(), policy.key))
        }
        Act::Wipe { device, range } => wipe(device, range.clone()),
        Act::Discard { device, range } => discard(device, range.clone()),
    }
}

pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = SYSTEM_DIRECTORIES.iter().map(PathBuf::from);
    let directories = std::env::split_paths(&path).filter(|path| path.is_absolute()).chain(usual);
    directories.map(|directory| directory.join(name)).find(|path| path.is_file())
}

pub fn free_loop() -> io::Result<PathBuf> {
    let control = File::open("/dev/loop-control")?;
    Ok(format!("/dev/loop{}", assay_sys::free_loop(control.as_fd())?).into())
}

fn set(path: &Path, value: &str) -> io::Result<()> {
    let path = std::fs::canonicalize(path)?;
    if !(path.starts_with("/sys") || path.starts_with("/proc/sys")) {
        return Err(Errno::PERM.into());
    }
    write_once(&path, value)
}

/// One write call: the kernel takes each for a whole value.
fn write_once(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

/// Adds the zram device with this number. The kernel assigns the number: a different one fails after its removal.
fn add_zram(number: u32) -> io::Result<()> {
    let added = std::fs::read_to_string(ADD_ZRAM)?;
    if added.trim() == number.to_string() {
        return Ok(());
    }
    write_once(Path::new(REMOVE_ZRAM), added.trim())?;
    Err(Errno::BUSY.into())
}

/// Creates a file without holes, as swap requires; writes zeros if the file system cannot preallocate.
fn allocate(path: &Path, bytes: u64) -> io::Result<()> {
    let file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    let none = rustix::fs::FallocateFlags::empty();
    match rustix::fs::fallocate(&file, none, 0, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_zeros(&file, 0..bytes)?,
        other => other?,
    }
    file.sync_all()
}

fn write_zeros(file: &File, range: Range<u64>) -> io::Result<()> {
    let zeros = vec![0; CHUNK];
    let mut at = range.start;
    while at < range.end {
        let step = (range.end - at).min(CHUNK as u64);
        file.write_all_at(&zeros[..step as usize], at)?;
        at += step;
    }
    Ok(())
}

/// Writes the first page of swap to a file or device, as `mkswap` does: version 1, no bad pages, no name.
fn make_swap(path: &Path) -> io::Result<()> {
    /// Offset of the header, after space for a boot loader.
    const HEADER: usize = 1024;
    const MARK: &[u8] = b"SWAPSPACE2";
    let page = rustix::param::page_size();
    let file = writable(path, false)?;
    let bytes = match file.metadata()?.len() {
        0 => assay_sys::block_device_bytes(file.as_fd())?,
        bytes => bytes,
    };
    let last_page = u32::try_from((bytes / page as u64).saturating_sub(1)).unwrap_or_default();
    if last_page == 0 {
        return Err(Errno::INVAL.into());
    }
    let mut first_page = vec![0; page];
    first_page[HEADER..HEADER + 4].copy_from_slice(&1_u32.to_ne_bytes());
    first_page[HEADER + 4..HEADER + 8].copy_from_slice(&last_page.to_ne_bytes());
    first_page[page - MARK.len()..].copy_from_slice(MARK);
    file.write_all_at(&first_page, 0)?;
    file.sync_all()
}

/// Splits mount options into kernel flags and the text of the others, which the file system reads.
fn split_options(options: &str) -> (MountFlags, String) {
    let mut flags = MountFlags::empty();
    let mut others = Vec::new();
    for option in options.split(',').filter(|option| !option.is_empty()) {
        match option {
            "defaults" | "rw" => {}
            "ro" => flags |= MountFlags::RDONLY,
            "noatime" => flags |= MountFlags::NOATIME,
            "relatime" => flags |= MountFlags::RELATIME,
            "strictatime" => flags |= MountFlags::STRICTATIME,
            "nodiratime" => flags |= MountFlags::NODIRATIME,
            "lazytime" => flags |= MountFlags::LAZYTIME,
            "sync" => flags |= MountFlags::SYNCHRONOUS,
            "dirsync" => flags |= MountFlags::DIRSYNC,
            "nosuid" => flags |= MountFlags::NOSUID,
            "nodev" => flags |= MountFlags::NODEV,
            "noexec" => flags |= MountFlags::NOEXEC,
            other => others.push(other),
        }
    }
    (flags, others.join(","))
}

fn writable(device: &Path, exclusive: bool) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | if exclusive { OFlags::EXCL } else { OFlags::empty() };
    File::options().read(true).write(true).custom_flags(flags.bits() as i32).open(device)
}

/// Attaches a file to a loop device, with direct I/O if the file system of the file supports it.
fn attach_loop(device: &Path, file: &Path) -> io::Result<()> {
    let device = writable(device, false)?;
    let file = writable(file, false)?;
    let direct = LoopOptions { direct_io: true, partitions: true, ..LoopOptions::default() };
    let attach = |options| assay_sys::attach_loop(device.as_fd(), file.as_fd(), options);
    match attach(direct) {
        // The file system has no direct I/O: the survey notes buffered loop devices.
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            attach(LoopOptions { direct_io: false, ..direct })
        }
        other => other,
    }
}

const MOST_COMPLAINT_BYTES: usize = 64 << 10;

/// Runs a program to its end; fails with its error output. The input goes through a pipe, which nobody else can open.
fn run(name: &str, arguments: &[String], input: Option<&[u8]>) -> io::Result<()> {
    let path = program(name).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("{name} is not installed"))
    })?;
    let mut command = Command::new(path);
    let stdin = if input.is_some() { Stdio::piped() } else { Stdio::null() };
    // A file, not a pipe: a daemon that the program starts may leave it open.
    let complaints = assay_sys::memory_file(0)?;
    command.args(arguments).stdin(stdin).stdout(Stdio::null()).stderr(complaints.try_clone()?);
    command.env("LC_ALL", "C");
    let mut child = assay_sys::end_with_parent(&mut command).spawn()?;
    if let (Some(input), Some(mut pipe)) = (input, child.stdin.take()) {
        // A program that ends without reading its input reports the reason.
        let _ = pipe.write_all(input);
    }
    let status = child.wait()?;
    if status.success() {
        return Ok(());
    }
    let mut bytes = vec![0; MOST_COMPLAINT_BYTES];
    let length = complaints.read_at(&mut bytes, 0)?;
    let text = String::from_utf8_lossy(&bytes[..length]);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(io::Error::other(format!("{name}: {status}: {}", lines.join("; "))))
}

/// Overwrites a range of bytes of a device with zeros.
fn wipe(device: &Path, range: Range<u64>) -> io::Result<()> {
    let device = writable(device, true)?;
    let end = range.end.min(assay_sys::block_device_bytes(device.as_fd())?);
    write_zeros(&device, range.start..end)?;
    device.sync_all()
}

fn discard(device: &Path, range: Range<u64>) -> io::Result<()> {
    assay_sys::discard(writable(device, true)?.as_fd(), range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_flags_are_told_from_a_file_systems_options() {
        let (flags, own) = split_options("noatime,data=writeback,ro,,defaults,barrier=0");
        assert_eq!(flags, MountFlags::NOATIME | MountFlags::RDONLY);
        assert_eq!(own, "data=writeback,barrier=0");
    }

    #[test]
    fn only_the_kernels_settings_are_set() {
        let error = set(Path::new("/etc/passwd"), "x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        let error = set(Path::new("/sys/../etc/passwd"), "x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let arguments = ["/no/such/file".to_owned()];
        let message = run("ls", &arguments, None).unwrap_err().to_string();
        assert!(
            message.contains("ls: exit status: 2: ") && message.contains("/no/such"),
            "{message}"
        );
        let message = run("assay-no-such-program", &[], None).unwrap_err().to_string();
        assert_eq!(message, "assay-no-such-program is not installed");
    }

    #[test]
    fn what_a_program_leaves_in_the_background_is_not_waited_for() {
        let line = ["-c".to_owned(), "sleep 300 & echo $! >&2; exit 3".to_owned()];
        let start = std::time::Instant::now();
        let message = run("sh", &line, None).unwrap_err().to_string();
        assert!(start.elapsed() < std::time::Duration::from_secs(200), "it waited");
        let id = message.rsplit(' ').next().unwrap().to_owned();
        run("kill", &[id], None).unwrap();
    }

    #[test]
    fn a_program_reads_what_it_is_handed_and_may_end_without() {
        let line = |script: &str| ["-c".to_owned(), script.to_owned()];
        let read = line("read -r word && test \"$word\" = secret");
        run("sh", &read, Some(b"secret")).unwrap_err();
        run("sh", &read, Some(b"secret\n")).unwrap();
        run("sh", &line("exit 0"), Some(&vec![b'x'; 1 << 20])).unwrap();
    }
}
