//! What may be changed on the machine, one act each; shown as the line that one would type.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::Key;

/// Reading it adds a compressed memory device, and gives its number.
pub const ADD_ZRAM: &str = "/sys/class/zram-control/hot_add";
pub const REMOVE_ZRAM: &str = "/sys/class/zram-control/hot_remove";

/// One change of the machine. Only [`System::act`](super::System::act) carries it out, and only
/// with a [`Warrant`](super::journal::Warrant): the journal knows by then how it is undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Writes a setting of the kernel, below `/sys` or `/proc/sys`.
    Set {
        path: PathBuf,
        value: String,
    },
    Mount {
        device: PathBuf,
        point: PathBuf,
        filesystem: String,
        /// Options as fstab writes them; may be empty.
        options: String,
    },
    Unmount {
        point: PathBuf,
    },
    /// Makes a file of zeros; it must not be there.
    CreateFile {
        path: PathBuf,
        bytes: u64,
    },
    /// Makes a file whose bytes the file system has set aside; it must not be there.
    AllocateFile {
        path: PathBuf,
        bytes: u64,
    },
    /// Writes the mark of swap into a file or a device of the tool's own.
    MakeSwap {
        path: PathBuf,
    },
    SwapOn {
        path: PathBuf,
        priority: u16,
    },
    /// Takes it back from the kernel: what lies in it comes back to memory.
    SwapOff {
        path: PathBuf,
    },
    RemoveFile {
        path: PathBuf,
    },
    CreateDirectory {
        path: PathBuf,
    },
    RemoveDirectory {
        path: PathBuf,
    },
    WriteFile {
        path: PathBuf,
        text: String,
    },
    /// Puts a file behind a loop device, past the file's page cache where its file system can.
    AttachLoop {
        device: PathBuf,
        file: PathBuf,
    },
    DetachLoop {
        device: PathBuf,
    },
    /// Adds an empty compressed memory device; refused as busy where another number is free first.
    AddZram {
        number: u32,
    },
    RemoveZram {
        number: u32,
    },
    /// Shows a byte range of a disk as a partition; the disk's own table is not touched.
    AddPartition {
        disk: PathBuf,
        number: u32,
        range: Range<u64>,
    },
    RemovePartition {
        disk: PathBuf,
        number: u32,
    },
    Run {
        /// Name; looked for in `PATH` and the system's own directories.
        program: String,
        arguments: Vec<String>,
    },
    /// Runs a program to its end that reads a key from its standard input, where no list of processes
    /// shows it.
    RunWithKey {
        program: String,
        arguments: Vec<String>,
        /// The key, which it reads as a passphrase in one line.
        key: Key,
    },
    /// Has a file system encrypt all that is made in an empty directory (fscrypt); of one that has this
    /// key it is only given again.
    EncryptDirectory {
        directory: PathBuf,
        key: Key,
    },
    /// Takes a directory's key away from its file system (fscrypt).
    ForgetKey {
        directory: PathBuf,
    },
    /// Writes zeros over a range of a device that nothing uses.
    Wipe {
        device: PathBuf,
        range: Range<u64>,
    },
    /// Tells a device that nothing uses that a range of it holds nothing.
    Discard {
        device: PathBuf,
        range: Range<u64>,
    },
}

/// Stands for a file with a key: what a key is is never shown.
pub const KEY_FILE: &str = "KEYFILE";

impl fmt::Display for Act {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set { path, value } => {
                write!(formatter, "echo {} > {}", quoted(value), quoted_path(path))
            }
            Self::Mount { device, point, filesystem, options } if options.is_empty() => {
                write!(
                    formatter,
                    "mount -t {filesystem} {} {}",
                    quoted_path(device),
                    quoted_path(point)
                )
            }
            Self::Mount { device, point, filesystem, options } => {
                let (device, point) = (quoted_path(device), quoted_path(point));
                write!(formatter, "mount -t {filesystem} -o {options} {device} {point}")
            }
            Self::Unmount { point } => write!(formatter, "umount {}", quoted_path(point)),
            Self::CreateFile { path, bytes } => {
                write!(formatter, "truncate -s {bytes} {}", quoted_path(path))
            }
            Self::AllocateFile { path, bytes } => {
                write!(formatter, "fallocate -l {bytes} {}", quoted_path(path))
            }
            Self::MakeSwap { path } => write!(formatter, "mkswap {}", quoted_path(path)),
            Self::SwapOn { path, priority } => {
                write!(formatter, "swapon -p {priority} {}", quoted_path(path))
            }
            Self::SwapOff { path } => write!(formatter, "swapoff {}", quoted_path(path)),
            Self::RemoveFile { path } => write!(formatter, "rm {}", quoted_path(path)),
            Self::CreateDirectory { path } => write!(formatter, "mkdir {}", quoted_path(path)),
            Self::RemoveDirectory { path } => write!(formatter, "rmdir {}", quoted_path(path)),
            Self::WriteFile { path, .. } => write!(formatter, "write {}", quoted_path(path)),
            Self::AttachLoop { device, file } => {
                write!(
                    formatter,
                    "losetup --direct-io=on {} {}",
                    quoted_path(device),
                    quoted_path(file)
                )
            }
            Self::DetachLoop { device } => write!(formatter, "losetup -d {}", quoted_path(device)),
            Self::AddZram { number } => {
                write!(formatter, "cat {ADD_ZRAM} # zram{number}")
            }
            Self::RemoveZram { number } => write!(formatter, "echo {number} > {REMOVE_ZRAM}"),
            Self::AddPartition { disk, number, range } => {
                let (start, length) = (range.start / 512, (range.end - range.start) / 512);
                write!(formatter, "addpart {} {number} {start} {length}", quoted_path(disk))
            }
            Self::RemovePartition { disk, number } => {
                write!(formatter, "delpart {} {number}", quoted_path(disk))
            }
            Self::Run { program, arguments } => {
                write!(formatter, "{program}")?;
                arguments.iter().try_for_each(|word| write!(formatter, " {}", quoted(word)))
            }
            Self::RunWithKey { program, arguments, .. } => {
                write!(formatter, "{program}")?;
                arguments.iter().try_for_each(|word| write!(formatter, " {}", quoted(word)))?;
                write!(formatter, " < {KEY_FILE}")
            }
            Self::EncryptDirectory { directory, .. } => {
                let directory = quoted_path(directory);
                write!(formatter, "fscrypt encrypt {directory} --source=raw_key --key={KEY_FILE}")
            }
            Self::ForgetKey { directory } => {
                write!(formatter, "fscrypt lock {}", quoted_path(directory))
            }
            Self::Wipe { device, range } => {
                let (start, length) = (range.start, range.end - range.start);
                write!(formatter, "blkdiscard -z -o {start} -l {length} {}", quoted_path(device))
            }
            Self::Discard { device, range } => {
                let (start, length) = (range.start, range.end - range.start);
                write!(formatter, "blkdiscard -o {start} -l {length} {}", quoted_path(device))
            }
        }
    }
}

fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

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
