//! Changes of the machine, one per act, printed as shell commands.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::Key;

/// Reading it adds a compressed memory device, and gives its number.
pub const ADD_ZRAM: &str = "/sys/class/zram-control/hot_add";
pub const REMOVE_ZRAM: &str = "/sys/class/zram-control/hot_remove";

/// One change of the machine. Only [`System::act`](super::System::act) executes it, and only with a
/// [`Warrant`](super::journal::Warrant): the journal then contains its undo entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Writes a setting of the kernel below `/sys` or `/proc/sys`.
    Set { path: PathBuf, value: String },
    /// Mounts a device with options as in fstab, or none.
    Mount { device: PathBuf, point: PathBuf, filesystem: String, options: String },
    /// Unmounts the file system at a directory.
    Unmount { point: PathBuf },
    /// Creates a new file of zeros.
    CreateFile { path: PathBuf, bytes: u64 },
    /// Creates a new file and allocates its bytes.
    AllocateFile { path: PathBuf, bytes: u64 },
    /// Writes a swap signature to a file or device of Assay.
    MakeSwap { path: PathBuf },
    /// Gives a swap area to the kernel.
    SwapOn { path: PathBuf, priority: u16 },
    /// Takes a swap area back; the kernel first reads its pages into memory.
    SwapOff { path: PathBuf },
    /// Removes a file.
    RemoveFile { path: PathBuf },
    /// Creates a new directory.
    CreateDirectory { path: PathBuf },
    /// Removes an empty directory.
    RemoveDirectory { path: PathBuf },
    /// Writes a text file.
    WriteFile { path: PathBuf, text: String },
    /// Attaches a file to a loop device, with direct I/O if the filesystem of the file supports it.
    AttachLoop { device: PathBuf, file: PathBuf },
    /// Detaches the file of a loop device.
    DetachLoop { device: PathBuf },
    /// Adds an empty zram device; fails as busy if a lower number is free.
    AddZram { number: u32 },
    /// Removes a zram device.
    RemoveZram { number: u32 },
    /// Shows a byte range of a disk as a partition without changing the disk's partition table.
    AddPartition { disk: PathBuf, number: u32, range: Range<u64> },
    /// Removes a partition that only the kernel knows.
    RemovePartition { disk: PathBuf, number: u32 },
    /// Runs a program by name, found in `PATH` and the system directories.
    Run { program: String, arguments: Vec<String> },
    /// Runs a program that reads a key from standard input, which the process list does not show.
    RunWithKey { program: String, arguments: Vec<String>, key: Key },
    /// Encrypts an empty directory with a key (fscrypt), or adds the key of an encrypted directory again.
    EncryptDirectory { directory: PathBuf, key: Key },
    /// Removes the key of a directory from its filesystem (fscrypt).
    ForgetKey { directory: PathBuf },
    /// Writes zeros to a range of an unused device.
    Wipe { device: PathBuf, range: Range<u64> },
    /// Discards a range of an unused device.
    Discard { device: PathBuf, range: Range<u64> },
}

impl Act {
    pub fn run(program: &str, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        Self::Run { program: program.to_owned(), arguments }
    }
}

/// Placeholder for a key file: keys are never printed.
const KEY_FILE: &str = "KEYFILE";

impl fmt::Display for Act {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range_options =
            |range: &Range<u64>| format!("-o {} -l {}", range.start, range.end - range.start);
        let line = match self {
            Self::Set { path, value } => format!("echo {} > {}", quoted(value), shown(path)),
            Self::Mount { device, point, filesystem, options } => {
                let own = if options.is_empty() { "" } else { &format!(" -o {options}") };
                format!("mount -t {filesystem}{own} {} {}", shown(device), shown(point))
            }
            Self::Unmount { point } => format!("umount {}", shown(point)),
            Self::CreateFile { path, bytes } => format!("truncate -s {bytes} {}", shown(path)),
            Self::AllocateFile { path, bytes } => format!("fallocate -l {bytes} {}", shown(path)),
            Self::MakeSwap { path } => format!("mkswap {}", shown(path)),
            Self::SwapOn { path, priority } => format!("swapon -p {priority} {}", shown(path)),
            Self::SwapOff { path } => format!("swapoff {}", shown(path)),
            Self::RemoveFile { path } => format!("rm {}", shown(path)),
            Self::CreateDirectory { path } => format!("mkdir {}", shown(path)),
            Self::RemoveDirectory { path } => format!("rmdir {}", shown(path)),
            Self::WriteFile { path, .. } => format!("write {}", shown(path)),
            Self::AttachLoop { device, file } => {
                format!("losetup --direct-io=on {} {}", shown(device), shown(file))
            }
            Self::DetachLoop { device } => format!("losetup -d {}", shown(device)),
            Self::AddZram { number } => format!("cat {ADD_ZRAM} # zram{number}"),
            Self::RemoveZram { number } => format!("echo {number} > {REMOVE_ZRAM}"),
            Self::AddPartition { disk, number, range } => {
                let (start, length) = (range.start / 512, (range.end - range.start) / 512);
                format!("addpart {} {number} {start} {length}", shown(disk))
            }
            Self::RemovePartition { disk, number } => format!("delpart {} {number}", shown(disk)),
            Self::Run { program, arguments } => command_line(program, arguments),
            Self::RunWithKey { program, arguments, .. } => {
                format!("{} < {KEY_FILE}", command_line(program, arguments))
            }
            Self::EncryptDirectory { directory, .. } => {
                let directory = shown(directory);
                format!("fscrypt encrypt {directory} --source=raw_key --key={KEY_FILE}")
            }
            Self::ForgetKey { directory } => format!("fscrypt lock {}", shown(directory)),
            Self::Wipe { device, range } => {
                format!("blkdiscard -z {} {}", range_options(range), shown(device))
            }
            Self::Discard { device, range } => {
                format!("blkdiscard {} {}", range_options(range), shown(device))
            }
        };
        formatter.write_str(&line)
    }
}

fn command_line(program: &str, arguments: &[String]) -> String {
    let mut line = program.to_owned();
    for word in arguments {
        line.push(' ');
        line.push_str(&quoted(word));
    }
    line
}

fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// Quotes a word for the shell if necessary.
pub fn quoted(word: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || "-_./=,:+@^%".contains(sign);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_is_the_line_that_one_would_type() {
        let set = Act::Set {
            path: "/sys/block/sda/queue/write_cache".into(),
            value: "write back".into(),
        };
        assert_eq!(set.to_string(), "echo 'write back' > /sys/block/sda/queue/write_cache");
        let mount = Act::Mount {
            device: "/dev/sda1".into(),
            point: "/mnt/my card".into(),
            filesystem: "ext4".into(),
            options: "noatime,data=ordered".into(),
        };
        let line = "mount -t ext4 -o noatime,data=ordered /dev/sda1 '/mnt/my card'";
        assert_eq!(mount.to_string(), line);
        let run = Act::Run {
            program: "mkfs.ext4".into(),
            arguments: vec!["-O".into(), "^has_journal".into()],
        };
        assert_eq!(run.to_string(), "mkfs.ext4 -O ^has_journal");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("--bs=4k"), "--bs=4k");
        assert_eq!(quoted(""), "''");
    }
}
