//! Options that a level may pass to the programs that create and mount a file system.
//!
//! Levels must not name other devices (the user consents to one), nor labels, by which Assay recognizes its own.

use super::FileSystem;

/// An option that a level may give to a program.
pub type Allowed = (&'static str, OptionValue);

#[derive(Clone, Copy, Debug)]
pub enum OptionValue {
    Nothing,
    Value,
    /// A power of two, in bytes: the programs silently round other values down.
    Power,
    /// Allowed keys of a comma-separated list, with or without values; a `^` prefix turns a key off.
    Keys(&'static str),
}

pub(super) struct OptionFault {
    /// Number of words before the faulty one.
    at: usize,
    pub reason: String,
}

/// Returns the first option that a level must not pass to the program of a file system; `None` if all are allowed.
pub(super) fn fault(kind: &FileSystem, line: &str) -> Option<OptionFault> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut at = 0;
    while at < words.len() {
        match check_option(kind.options, &words[at..]) {
            Ok(count) => at += count,
            Err(reason) => return Some(OptionFault { at, reason }),
        }
    }
    None
}

/// Returns an error if no program accepts the line: that of the program that accepts most of it.
pub(super) fn fault_of_all(kinds: &[&FileSystem], line: &str) -> Option<String> {
    let faults: Option<Vec<OptionFault>> = kinds.iter().map(|kind| fault(kind, line)).collect();
    faults?.into_iter().max_by_key(|fault| fault.at).map(|fault| fault.reason)
}

/// Checks the option at the start of the words; returns its number of words, the value included.
fn check_option(options: &[Allowed], words: &[&str]) -> Result<usize, String> {
    let word = words[0];
    if word.contains('/') {
        return Err(path_fault(word));
    }
    if !word.starts_with('-') {
        return Err(format!("{word} does not belong to an option"));
    }
    let Some((name, takes, joined)) = options.iter().find_map(|known| matched(*known, word)) else {
        return Err(format!("a study cannot use the option {word}"));
    };
    if matches!(takes, OptionValue::Nothing) {
        return Ok(1);
    }
    let value = joined.or_else(|| words.get(1).copied()).unwrap_or_default();
    // An option without its value would consume the next option or the device.
    if value.is_empty() || value.starts_with('-') {
        return Err(format!("{name} needs a value"));
    }
    if value.contains('/') {
        return Err(path_fault(value));
    }
    if matches!(takes, OptionValue::Power) && !value.parse::<u64>().is_ok_and(u64::is_power_of_two)
    {
        return Err(format!("{name} {value}: use a power of two in bytes, such as 4096"));
    }
    if let OptionValue::Keys(keys) = takes {
        value.split(',').try_for_each(|part| check_key(name, keys, part))?;
    }
    Ok(if joined.is_some() { 1 } else { 2 })
}

/// Returns an allowed option and the value that the same word contains, if any; `None` if the word is another option.
fn matched(known: Allowed, word: &str) -> Option<(&'static str, OptionValue, Option<&str>)> {
    let (name, takes) = known;
    let rest = word.strip_prefix(name)?;
    if rest.is_empty() {
        return Some((name, takes, None));
    }
    let joined = if name.starts_with("--") { rest.strip_prefix('=')? } else { rest };
    // Flags run together, as in -qL, are not taken apart but refused.
    (!matches!(takes, OptionValue::Nothing)).then_some((name, takes, Some(joined)))
}

/// Checks a part `KEY`, `^KEY` (turns it off) or `KEY=VALUE` of an option's value against the allowed keys.
fn check_key(option: &str, keys: &str, part: &str) -> Result<(), String> {
    let key = part.split('=').next().unwrap_or_default();
    let key = key.strip_prefix('^').unwrap_or(key);
    if keys.split(' ').any(|own| own == key) {
        return Ok(());
    }
    Err(format!(
        "a study cannot use {option} {part}; use {option} with {}",
        keys.replace(' ', ", ")
    ))
}

fn path_fault(word: &str) -> String {
    format!("{word} names a file or a device; options must not contain a path")
}

/// Options of a mount that name another device or file, or do something else than mounting.
const NOT_MOUNTED_WITH: &str = "bind device helper journal_dev journal_path logdev loop move offset private rbind remount rprivate \
     rshared rslave rtdev runbindable shared sizelimit slave source uhelper unbindable";

/// Returns why a level must not pass these mount options; `None` if it may.
pub(super) fn mount_fault(options: &str) -> Option<String> {
    options.split(',').filter(|option| !option.is_empty()).find_map(|option| {
        let key = option.split('=').next().unwrap_or_default();
        let plain = |sign: char| sign.is_ascii_alphanumeric() || "_-".contains(sign);
        // Keys with a dot are mount(8)'s own: X-mount.mkdir, verity.hashdevice.
        let is_forbidden = NOT_MOUNTED_WITH.split(' ').any(|forbidden| forbidden == key);
        if is_forbidden || !key.chars().all(plain) || key.is_empty() {
            return Some(format!("a study cannot use the mount option {option}"));
        }
        option.contains(['/', '"', '\\']).then(|| path_fault(option))
    })
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::super::volume::Volume;
    use super::super::{FILE_SYSTEMS, find};
    use super::*;
    use crate::factors::layers::Recipe;

    fn told(name: &str, line: &str) -> Option<String> {
        fault(find(name).unwrap(), line).map(|fault| fault.reason)
    }

    #[test]
    fn options_of_the_file_system_alone_are_allowed() {
        let rows = [
            ("ext2", "-b 4096 -E stride=1,stripe-width=16 -O ^has_journal"),
            ("ext3", "-b4096 -J size=16 -i 65536"),
            ("ext4", "-b 4096 -E stride=1,stripe-width=16 -O ^has_journal"),
            ("ext4", "-O ^has_journal,metadata_csum -Estride=2 -m 0 -N 1000 -T largefile"),
            ("ext4", "-O bigalloc -C 65536 -I 256 -G 64"),
            ("xfs", "-m crc=0"),
            ("xfs", "-d agcount=4,su=64k,sw=2 -l size=64m,lazy-count=1 -i size=512 -s size=4096"),
            ("xfs", "-b size=4k -n size=8k,ftype=1 -d noalign -m crc=1,reflink=0"),
            ("btrfs", "-m single -d single --csum xxhash -n 16k"),
            ("btrfs", "--nodesize=16k --mixed -O ^no-holes,free-space-tree -R quota"),
            ("f2fs", "-a 0 -o 5 -s 2 -z 1 -O extra_attr,inode_checksum -i -w 4096"),
            ("vfat", "-F 32 -s 8 -S 512 -R 32 -a"),
            ("exfat", "-c 32K -b 1M --pack-bitmap"),
            ("ntfs3", "-c 4096 -C -T"),
        ];
        for (name, line) in rows {
            assert_eq!(told(name, line), None, "{name} {line}");
            assert_eq!(fault_of_all(FILE_SYSTEMS, line), None, "{line}");
        }
        for kind in FILE_SYSTEMS {
            assert_eq!(told(kind.name, ""), None);
        }
    }

    #[test]
    fn other_devices_files_and_labels_are_refused() {
        let rows = [
            ("ext4", "-L mine", "cannot use the option -L"),
            ("ext4", "-Lmine", "cannot use the option -Lmine"),
            ("ext4", "-qL mine", "cannot use the option -qL"),
            ("ext4", "-vL mine", "cannot use the option -vL"),
            ("ext4", "-J device=UUID=1234", "cannot use -J device=UUID=1234"),
            ("ext4", "-J size=4,device=LABEL=x", "cannot use -J device=LABEL=x"),
            ("ext4", "-Jdevice=UUID=1234", "cannot use -J device"),
            ("ext4", "-E offset=4096", "cannot use -E offset=4096; use -E with stride"),
            ("ext4", "-E stride=1,lazy_itable_init=1", "cannot use -E lazy_itable_init=1"),
            ("ext4", "-E discard", "cannot use -E discard"),
            ("ext4", "-O journal_dev", "cannot use -O journal_dev"),
            ("ext4", "-O FEATURE_I3", "cannot use -O FEATURE_I3"),
            ("ext4", "-d files", "cannot use the option -d"),
            ("ext4", "-z undo", "cannot use the option -z"),
            ("ext4", "-l list", "cannot use the option -l"),
            ("ext4", "-n", "cannot use the option -n"),
            ("ext4", "-S", "cannot use the option -S"),
            ("ext4", "-t ext2", "cannot use the option -t"),
            ("ext4", "-b", "-b needs a value"),
            ("ext4", "-b -E", "-b needs a value"),
            ("ext4", "-b 4096 1000", "1000 does not belong to an option"),
            ("ext4", "-b 4096 -- x", "cannot use the option --"),
            ("ext4", "-T /etc/x", "/etc/x names a file"),
            ("ext4", "-b/dev/sda", "/dev/sda names a file"),
            ("xfs", "-L mine", "cannot use the option -L"),
            ("xfs", "-l logdev=/dev/x", "logdev=/dev/x names a file"),
            ("xfs", "-l size=64m,logdev=x", "cannot use -l logdev=x"),
            ("xfs", "-r rtdev=x", "cannot use -r rtdev=x"),
            ("xfs", "-d name=x", "cannot use -d name=x"),
            ("xfs", "-d agcount=4,file,name=x", "cannot use -d file"),
            ("xfs", "-p proto", "cannot use the option -p"),
            ("xfs", "-c options=x", "cannot use the option -c"),
            ("xfs", "-N", "cannot use the option -N"),
            ("btrfs", "-m raid1 -d raid1 /dev/loop5", "/dev/loop5 names a file"),
            ("btrfs", "-m raid1 -d raid1 loop5", "loop5 does not belong to an option"),
            ("btrfs", "--rootdir files", "cannot use the option --rootdir"),
            ("btrfs", "--rootdir=files", "cannot use the option --rootdir=files"),
            ("btrfs", "--root files", "cannot use the option --root"),
            ("btrfs", "-r files", "cannot use the option -r"),
            ("btrfs", "-L mine", "cannot use the option -L"),
            ("btrfs", "--label mine", "cannot use the option --label"),
            ("btrfs", "--label=mine", "cannot use the option --label=mine"),
            ("btrfs", "--lab=mine", "cannot use the option --lab=mine"),
            ("btrfs", "-ML mine", "cannot use the option -ML"),
            ("btrfs", "--csum=", "--csum needs a value"),
            ("btrfs", "--mixed=x", "cannot use the option --mixed=x"),
            ("btrfs", "-O list-all", "cannot use -O list-all"),
            ("f2fs", "-l mine", "cannot use the option -l"),
            ("f2fs", "-c loop5", "cannot use the option -c"),
            ("f2fs", "-c/dev/loop5", "-c/dev/loop5 names a file"),
            ("f2fs", "-t 1", "cannot use the option -t"),
            ("f2fs", "-il mine", "cannot use the option -il"),
            ("vfat", "-n MINE", "cannot use the option -n"),
            ("vfat", "-C", "cannot use the option -C"),
            ("vfat", "-an MINE", "cannot use the option -an"),
            ("vfat", "-m message", "cannot use the option -m"),
            ("vfat", "-l list", "cannot use the option -l"),
            ("vfat", "--offset=8", "cannot use the option --offset=8"),
            ("vfat", "--mbr=y", "cannot use the option --mbr=y"),
            ("exfat", "-L mine", "cannot use the option -L"),
            ("exfat", "--volume-label=mine", "cannot use the option --volume-label=mine"),
            ("ntfs3", "-L mine", "cannot use the option -L"),
            ("ntfs3", "-F", "cannot use the option -F"),
        ];
        for (name, line, expected) in rows {
            let reason = told(name, line).unwrap_or_else(|| panic!("{name} {line} is allowed"));
            assert!(reason.contains(expected), "{name} {line}: {reason}");
            assert!(!reason.contains('\n'), "{reason}");
        }
    }

    #[test]
    fn a_line_that_no_program_takes_is_known_without_the_file_system() {
        let rows = [
            ("-L mine", "cannot use the option -L"),
            ("--label=mine", "cannot use the option --label=mine"),
            ("-m raid1 -d raid1 /dev/loop5", "/dev/loop5 names a file"),
            ("-m raid1 -d raid1 loop5", "loop5 does not belong to an option"),
            ("-b 4096 -O ^has_journal -L mine", "cannot use the option -L"),
            ("--offset=8", "cannot use the option --offset=8"),
        ];
        for (line, expected) in rows {
            let reason = fault_of_all(FILE_SYSTEMS, line).unwrap();
            assert!(reason.contains(expected), "{line}: {reason}");
        }
        // The label option of one program is the log option of another.
        assert_eq!(fault_of_all(FILE_SYSTEMS, "-l size=64m"), None);
    }

    #[test]
    fn what_a_level_may_not_ask_for_is_missing_wherever_it_is_to_be_made() {
        let system = Fake::recorded("").unwrap();
        let missing = |mkfs: &str, mount: &str| {
            let (mkfs_options, mount_options) = (mkfs.to_owned(), mount.to_owned());
            let vfat = Volume {
                kind: find("vfat").unwrap(),
                mkfs_options,
                mount_options,
                profile: None,
                encrypts: false,
                compression: None,
            };
            vfat.missing(&system, &[1 << 30]).unwrap()
        };
        // The log's options of one program are the bad blocks of another.
        assert_eq!(
            missing("-l size=64m", ""),
            "mkfs.vfat: a study cannot use the option -l (allowed: -a -b -D -f -F -h -i --invariant -M -r -R -s -S)"
        );
        assert_eq!(missing("-F 32", "loop"), "a study cannot use the mount option loop");
        assert!(missing("-F 32", "noatime").contains("not installed"));
    }

    #[test]
    fn mounts_of_something_else_are_refused() {
        let fine = [
            "",
            "noatime",
            "noatime,data=writeback,commit=60",
            "compress=zstd:3,subvol=x,discard=async",
            "logbsize=256k,logbufs=8",
            "uid=1000,iocharset=utf8",
        ];
        for options in fine {
            assert_eq!(mount_fault(options), None, "{options}");
        }
        let refused = [
            "loop",
            "loop=x",
            "offset=4096",
            "bind",
            "rbind",
            "move",
            "remount",
            "remount,ro",
            "logdev=x",
            "rtdev=x",
            "journal_dev=0x801",
            "journal_path=x",
            "device=x",
            "source=x",
            "noatime,bind",
            "subvol=/x",
            "usrjquota=a/b",
            "X-mount.mkdir",
            "verity.hashdevice=x",
            "\"noatime",
            "context=\"a",
            "=x",
            "noatime,make\\054loop",
        ];
        for options in refused {
            let reason = mount_fault(options).unwrap_or_else(|| panic!("{options} is allowed"));
            assert!(!reason.contains('\n'), "{reason}");
        }
    }
}
