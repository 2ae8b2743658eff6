//! Compression of a file system, verified in its mount options.

use assay_core::{catalogue::About, presence::Presence};

use super::FileSystem;
use crate::factors::Choice;

const NONE: &str = "none";
const BTRFS: &str = "btrfs";
/// The kernel's default levels of algorithms without one.
const USUAL: [(&str, &str); 2] = [("zlib", "zlib:3"), ("zstd", "zstd:3")];
/// Mount options that also set compression, or turn it off.
const RELATED_OPTIONS: [&str; 4] = ["compress", "compress-force", "nodatasum", "nodatacow"];

pub(in crate::factors) static COMPRESSION_FACTOR: Choice = Choice {
    about: About {
        name: "compression",
        summary: "compression of files by the filesystem",
        text: "`none`, `lzo`, `zlib:1` to `zlib:9`, `zstd:1` to `zstd:15`, and on newer kernels `zstd:-15` to \
               `zstd:-1`; `zlib` and `zstd` mean level 3. Assay mounts btrfs with compress-force, so btrfs tries to \
               compress every block. With compress, as in most fstab files, btrfs stops compressing a file after the \
               first incompressible blocks. To measure that behavior, use mount_options = [\"compress=zstd:3\"]. Assay \
               verifies the algorithm in the kernel's mount table. Rule `compressed` compares the bytes written to the \
               device with the compressible share set by `compressibility`. Before Linux 6.14, direct I/O bypasses \
               compression; since then, it uses the page cache. To measure compressed files, use direct = false and \
               sync = \"fdatasync\". Requires the factor filesystem.",
    },
    example: "[\"none\", \"lzo\", \"zstd:1\", \"zstd:3\", \"zlib\"]",
    judge: |level| {
        let within = |text: &str, least: i32, most: i32| {
            // As the kernel shows numbers: without leading zeros or a plus sign.
            let number = text.parse::<i32>().ok().filter(|number| number.to_string() == text);
            number.is_some_and(|number| number != 0 && (least..=most).contains(&number))
        };
        let known = match level.split_once(':') {
            None => [NONE, "lzo", "zlib", "zstd"].contains(&level),
            Some(("zlib", number)) => within(number, 1, 9),
            Some(("zstd", number)) => within(number, -15, 15),
            Some(_) => false,
        };
        if known {
            return Ok(());
        }
        Err(format!(
            "unknown compression `{level}`; use {NONE}, lzo, zlib:1 to zlib:9, or zstd:1 to zstd:15"
        ))
    },
    same: |one, other| with_default_level(one) == with_default_level(other),
    observe: |view| match &view.site.compression {
        Presence::Absent(reason) if reason == "off" => Presence::Present(NONE.to_owned()),
        level => level.clone(),
    },
    ..Choice::PLAIN
};

fn with_default_level(level: &str) -> &str {
    USUAL.iter().find(|(short, _)| *short == level).map_or(level, |(_, full)| full)
}

/// Returns the mount option of a level; `None` without one.
pub(super) fn option(level: &str) -> Option<String> {
    (level != NONE).then(|| format!("compress-force={}", with_default_level(level)))
}

/// Returns why a file system cannot have this level of compression with these mount options; `None` if it can.
pub(super) fn fault(kind: &FileSystem, level: &str, mount_options: &str) -> Option<String> {
    let FileSystem { name, .. } = kind;
    if level != NONE && *name != BTRFS {
        return Some(format!("compression = {level}: {name} does not support it; use {BTRFS}"));
    }
    let mut keys = mount_options.split(',').filter_map(|option| option.split('=').next());
    let key = keys.find(|key| RELATED_OPTIONS.contains(key))?;
    if ["compress", "compress-force"].contains(&key) {
        return Some(format!(
            "mount_options contain {key}, and the factor compression is {level}; set only one"
        ));
    }
    // The other related options disable compression.
    (level != NONE)
        .then(|| format!("{key} disables compression; remove it, or use compression = {NONE}"))
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use crate::factors::Factor as _;

    #[test]
    fn levels_are_those_of_the_kernel_as_it_shows_them() {
        for level in ["none", "lzo", "zlib", "zlib:9", "zstd", "zstd:1", "zstd:15", "zstd:-5"] {
            COMPRESSION_FACTOR.judge(level).unwrap();
        }
        // The kernel silently changes zstd:16 to zstd:15 and zstd:03 to zstd:3.
        for level in
            ["", "gzip", "lzo:1", "zlib:0", "zlib:10", "zstd:16", "zstd:03", "zstd:+3", "no"]
        {
            let told = COMPRESSION_FACTOR.judge(level).unwrap_err();
            assert!(told.contains("zstd:1 to zstd:15"), "{level}: {told}");
        }
        assert!(
            COMPRESSION_FACTOR.same("zstd", "zstd:3")
                && !COMPRESSION_FACTOR.same("zstd:1", "zstd:3")
        );
        assert_eq!(option("zlib").as_deref(), Some("compress-force=zlib:3"));
        assert_eq!(option("none"), None);
    }

    #[test]
    fn what_does_not_go_together_is_told() {
        let [btrfs, ext4] = ["btrfs", "ext4"].map(|name| find(name).unwrap());
        assert_eq!(fault(btrfs, "zstd:3", "noatime"), None);
        assert_eq!(fault(ext4, "none", "noatime"), None);
        assert_eq!(
            fault(ext4, "lzo", "").unwrap(),
            "compression = lzo: ext4 does not support it; use btrfs"
        );
        let told = |options: &str| fault(btrfs, "lzo", options).unwrap();
        assert!(told("noatime,compress=zstd").contains("set only one"));
        assert!(told("compress").contains("set only one"));
        assert!(told("nodatasum").starts_with("nodatasum disables compression"));
        assert_eq!(fault(btrfs, "none", "nodatasum"), None);
    }
}
