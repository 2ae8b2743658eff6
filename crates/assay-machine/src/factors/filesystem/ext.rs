//! ext2, ext3 and ext4.

use assay_core::quantity::Bytes;

use super::FileSystem;
use super::allowed::{
    Allowed,
    OptionValue::{Keys, Nothing, Power, Value},
};

pub(super) static EXT2: FileSystem = FileSystem {
    name: "ext2",
    summary: "the second extended filesystem, without a journal",
    program: "mkfs.ext2",
    package: "e2fsprogs",
    smallest: Bytes(2 << 20),
    options: OPTIONS,
    encrypting: &[],
    arguments,
};

pub(super) static EXT3: FileSystem = FileSystem {
    name: "ext3",
    summary: "ext2 with a journal",
    program: "mkfs.ext3",
    package: "e2fsprogs",
    smallest: Bytes(8 << 20),
    options: OPTIONS,
    encrypting: &[],
    arguments,
};

pub(super) static EXT4: FileSystem = FileSystem {
    name: "ext4",
    summary: "ext3 with extents and delayed allocation",
    program: "mkfs.ext4",
    package: "e2fsprogs",
    smallest: Bytes(8 << 20),
    options: OPTIONS,
    encrypting: &["-O", "encrypt"],
    arguments,
};

const OPTIONS: &[Allowed] = &[
    ("-b", Power),
    ("-C", Power),
    ("-D", Nothing),
    ("-e", Value),
    ("-E", Keys(EXTENDED)),
    ("-g", Value),
    ("-G", Value),
    ("-i", Value),
    ("-I", Power),
    ("-j", Nothing),
    ("-J", Keys("fast_commit_size location size")),
    ("-m", Value),
    ("-N", Value),
    ("-O", Keys(FEATURES)),
    ("-T", Value),
    ("-U", Value),
];

/// Excludes options that defer work to the background, or discard.
const EXTENDED: &str = "stride stripe-width stripe_width encoding encoding_flags hash_seed mmp_update_interval num_backup_sb \
     orphan_file_size packed_meta_blocks quotatype resize";

const FEATURES: &str = "64bit bigalloc casefold dir_index dir_nlink ea_inode encrypt ext_attr extent extents extra_isize \
     fast_commit filetype flex_bg has_journal huge_file inline_data large_dir large_file meta_bg \
     metadata_csum metadata_csum_seed mmp none orphan_file project quota resize_inode sparse_super \
     sparse_super2 stable_inodes uninit_bg verity";

/// Otherwise the kernel initializes inode tables during the trials.
const INITIALIZED_AT_ONCE: &str = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";

/// Returns the arguments of mke2fs before the device. It uses only the last of several `-E` and of several `-O`, so all
/// values are joined in one each.
fn arguments(label: &str, options: &[&str]) -> Vec<String> {
    let (mut extended, mut features, mut others) =
        (vec![INITIALIZED_AT_ONCE], Vec::new(), Vec::new());
    let mut words = options.iter();
    while let Some(word) = words.next() {
        match *word {
            "-E" => extended.extend(words.next()),
            "-O" => features.extend(words.next()),
            // The value may follow without a space.
            _ if word.starts_with("-E") => extended.push(&word[2..]),
            _ if word.starts_with("-O") => features.push(&word[2..]),
            _ => others.push((*word).to_owned()),
        }
    }
    let mut arguments = ["-F", "-q", "-L", label, "-E"].map(str::to_owned).to_vec();
    arguments.push(extended.join(","));
    arguments.extend(others);
    if !features.is_empty() {
        arguments.extend(["-O".to_owned(), features.join(",")]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_options_are_joined() {
        let options = ["-b", "4096", "-E", "stride=1,stripe-width=16", "-O", "^has_journal"];
        let line = arguments("X", &options).join(" ");
        assert_eq!(
            line,
            "-F -q -L X -E lazy_itable_init=0,lazy_journal_init=0,nodiscard,stride=1,stripe-width=16 \
             -b 4096 -O ^has_journal"
        );
        let line = arguments("X", &["-O", "^has_journal", "-Oquota", "-O", "encrypt"]).join(" ");
        assert!(line.ends_with("nodiscard -O ^has_journal,quota,encrypt"), "{line}");
    }
}
