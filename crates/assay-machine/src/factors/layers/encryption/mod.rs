//! Encryption: one factor for two layers, a device (dm-crypt) and a directory above it (fscrypt and gocryptfs).

mod device;
mod directory;

use std::path::Path;

use crate::system::System;
use assay_core::catalogue::About;
use assay_core::presence::Presence;
use assay_core::quantity::Bytes;

use super::DEFAULTS;
use crate::factors::{Choice, has_module};

pub(in crate::factors) use device::EncryptedDevices;
pub(in crate::factors) use directory::EncryptedDirectories;

const NONE: &str = "none";
pub(in crate::factors) const FSCRYPT: &str = "fscrypt";
const GOCRYPTFS: &str = "gocryptfs";
const SERVED: &str = "fuse.gocryptfs";
const DM_CRYPT: &str = "dm-crypt";
const LEVELS: [&str; 4] = [NONE, DM_CRYPT, FSCRYPT, GOCRYPTFS];

/// Sizes of the sectors that dm-crypt encrypts one by one.
const SECTORS: [Bytes; 4] = [Bytes(512), Bytes(1024), Bytes(2048), Bytes(4096)];
/// Flags of dm-crypt that bypass the kernel's work queues, as cryptsetup names them.
const FLAGS: [&str; 2] = ["no_read_workqueue", "no_write_workqueue"];

/// Factor and level of in-place encryption of existing data.
pub const CONVERSION: (&str, &str) = ("encryption_conversion", "in-place");

pub(in crate::factors) static ENCRYPTION_FACTOR: Choice = Choice {
    about: About {
        name: "encryption",
        summary: "encryption of the device, the filesystem or a directory",
        text: "`none`; `dm-crypt`: a LUKS2 volume on the target device, which destroys the device's data; `fscrypt`: \
               an encrypted directory of the filesystem (ext4 or f2fs, created with `-O encrypt`); `gocryptfs`: a \
               directory that gocryptfs encrypts and serves through FUSE. `fscrypt` and `gocryptfs` require the factor \
               filesystem. Assay creates keys per study, passes them to the kernel or to the program's stdin, and \
               discards them. Assay verifies the cipher in the device-mapper table (`dm-crypt`), the directory's \
               policy (`fscrypt`), the mount table (`gocryptfs`), and that file names are encrypted. Assay excludes \
               and reports unavailable levels. The preset encryption measures large sequential I/O; for small \
               random I/O, add the factor to the preset queue-depth.",
    },
    example: "[\"none\", \"dm-crypt\"]",
    judge: |level| {
        if LEVELS.contains(&level) {
            return Ok(());
        }
        Err(format!("unknown encryption `{level}`; use one of {}", LEVELS.join(", ")))
    },
    observe: |view| {
        let site = view.site;
        let served = |filesystem: &str| filesystem == SERVED;
        let level = match &site.mount {
            Presence::Present(mount) if served(&mount.filesystem) => GOCRYPTFS,
            _ if matches!(view.system.encryption_of(&site.path), Ok(Some(_))) => FSCRYPT,
            _ if site.layers.iter().any(|layer| layer.kind == "crypt") => DM_CRYPT,
            _ if site.layers.is_empty() => {
                return Presence::absent("the devices below the target are unknown");
            }
            _ => NONE,
        };
        Presence::Present(level.to_owned())
    },
    ..Choice::PLAIN
};

static CIPHER_FACTOR: Choice = Choice {
    about: About {
        name: "encryption_cipher",
        summary: "cipher of dm-crypt",
        text: "In the notation of cryptsetup, such as `aes-xts-plain64`; or `defaults`. Append a slash and the key \
               size in bits if it is not the default (512 for XTS, otherwise 256): `aes-xts-plain64/256`. Requires the \
               factor encryption; use `defaults` without dm-crypt.",
    },
    example: "[\"aes-xts-plain64\", \"xchacha12,aes-adiantum-plain64\"]",
    judge: |level| {
        if level == DEFAULTS {
            return Ok(());
        }
        let (cipher, bits) = split_cipher(level);
        let word = |sign: char| sign.is_ascii_alphanumeric() || "-,:_()".contains(sign);
        let is_word = cipher.chars().all(word) && cipher.contains('-') && !cipher.starts_with('-');
        let known =
            bits.is_none_or(|bits| bits.parse().is_ok_and(|bits: u32| bits.is_multiple_of(64)));
        if is_word && known {
            return Ok(());
        }
        Err(format!("`{level}` is not a cipher; example: aes-xts-plain64 or {DEFAULTS}"))
    },
    observe: |_| Presence::absent("Assay reads this setting only from volumes that it created"),
    ..Choice::PLAIN
};

static SECTOR_FACTOR: Choice = Choice {
    about: About {
        name: "encryption_sector_size",
        summary: "sector size of dm-crypt",
        text: "`512 B`, `1 KiB`, `2 KiB`, `4 KiB`, or `defaults`. Requires the factor encryption; use `defaults` \
               without dm-crypt.",
    },
    example: "[\"512 B\", \"4 KiB\"]",
    judge: |level| {
        if level == DEFAULTS || sector(level).is_some() {
            return Ok(());
        }
        Err(format!("`{level}` is not a sector size; use 512 B, 1 KiB, 2 KiB, 4 KiB or {DEFAULTS}"))
    },
    same: |one, other| one == other || sector(one).is_some_and(|one| sector(other) == Some(one)),
    observe: |_| Presence::absent("Assay reads this setting only from volumes that it created"),
    ..Choice::PLAIN
};

static QUEUES_FACTOR: Choice = Choice {
    about: About {
        name: "encryption_flags",
        summary: "whether dm-crypt uses the kernel's work queues",
        text: "`defaults`: dm-crypt uses the work queues. `no_read_workqueue`, `no_write_workqueue` or both, joined by \
               +: the thread that reads or writes also decrypts or encrypts (since Linux 5.9). Requires the factor \
               encryption; use `defaults` without dm-crypt.",
    },
    example: "[\"defaults\", \"no_read_workqueue+no_write_workqueue\"]",
    judge: |level| {
        if level == DEFAULTS || flags(level).is_some() {
            return Ok(());
        }
        Err(format!("unknown level `{level}`; use {}, or {DEFAULTS}", FLAGS.join("+")))
    },
    same: |one, other| one == other || flags(one).is_some_and(|one| flags(other) == Some(one)),
    observe: |_| Presence::absent("Assay reads this setting only from volumes that it created"),
    ..Choice::PLAIN
};

static CONVERSION_FACTOR: Choice = Choice {
    about: About {
        name: CONVERSION.0,
        summary: "whether dm-crypt creates an empty volume or encrypts existing data",
        text: "`defaults`: an empty volume. `in-place`: Assay reads, encrypts and writes every byte of the device \
               (`cryptsetup reencrypt --encrypt`), like the initial encryption of a drive with data. Nothing else uses \
               the device during the conversion. Assay reports the duration and rate above the tables. A whole drive \
               takes hours per replicate; use only a part of the drive (--destroy ID:8GiB). Requires the factor \
               encryption; has no effect without dm-crypt.",
    },
    example: "[\"defaults\", \"in-place\"]",
    judge: |level| {
        if [DEFAULTS, CONVERSION.1].contains(&level) {
            return Ok(());
        }
        Err(format!("unknown level `{level}`; use {}, or {DEFAULTS}", CONVERSION.1))
    },
    observe: |_| Presence::absent("Assay reads this setting only from volumes that it created"),
    ..Choice::PLAIN
};

/// Splits a level into cipher and key size, if given.
fn split_cipher(level: &str) -> (&str, Option<&str>) {
    level.split_once('/').map_or((level, None), |(cipher, bits)| (cipher, Some(bits)))
}

fn sector(level: &str) -> Option<Bytes> {
    level.parse::<Bytes>().ok().filter(|bytes| SECTORS.contains(bytes))
}

/// The flags of a level, in order; `None` if one is unknown.
fn flags(level: &str) -> Option<Vec<&'static str>> {
    let named: Vec<&str> = level.split('+').collect();
    if named.iter().any(|name| !FLAGS.contains(name)) {
        return None;
    }
    Some(FLAGS.into_iter().filter(|flag| named.contains(flag)).collect())
}

/// Returns whether the kernel has neither a built-in part nor a loadable module.
fn kernel_lacks(system: &dyn System, module: &str) -> bool {
    let loaded = Path::new("/sys/module").join(module.replace('-', "_"));
    system.status(&loaded).is_err() && !has_module(system, module)
}

#[cfg(test)]
mod tests {
    use crate::system::{Fake, mounts};

    use super::*;
    use crate::factors::Factor as _;
    use crate::factors::layers::{Levels, Stack, Wish};

    #[test]
    fn levels_say_what_to_write() {
        for level in ["aes-xts-plain64", "aes-xts-plain64/256", "xchacha12,aes-adiantum-plain64"] {
            assert_eq!(CIPHER_FACTOR.judge(level), Ok(()), "{level}");
        }
        for level in ["aes", "-aes-xts", "aes xts-plain64", "aes-xts-plain64/100", "aes-xts/", ""] {
            assert!(CIPHER_FACTOR.judge(level).unwrap_err().contains("is not a cipher"), "{level}");
        }
        let bytes =
            ["512 B", "1 KiB", "2 KiB", "4 KiB"].map(|level| sector(level).map(|own| own.0));
        assert_eq!(bytes, [512, 1024, 2048, 4096].map(Some));
        assert_eq!([sector("8 KiB"), sector("256 B"), sector("x")], [None; 3]);
        let both = Some(vec!["no_read_workqueue", "no_write_workqueue"]);
        assert_eq!(flags("no_write_workqueue+no_read_workqueue"), both, "in their order");
        assert_eq!(flags("no_read_workqueue"), Some(vec!["no_read_workqueue"]));
        assert_eq!([flags("no_read_workqueue+x"), flags("")], [None, None]);
        let swapped =
            ["no_read_workqueue+no_write_workqueue", "no_write_workqueue+no_read_workqueue"];
        assert!(
            QUEUES_FACTOR.same(swapped[0], swapped[1])
                && !QUEUES_FACTOR.same(swapped[0], "defaults")
        );
        assert!(!QUEUES_FACTOR.same("no_read_workqueue", "no_write_workqueue"));
        assert!(SECTOR_FACTOR.same("1 KiB", "1024 B") && !SECTOR_FACTOR.same("1 KiB", "2 KiB"));
        assert!(
            !SECTOR_FACTOR.same("defaults", "512 B") && SECTOR_FACTOR.same("defaults", "defaults")
        );
    }

    #[test]
    fn a_module_is_there_where_it_is_loaded_or_listed() {
        let fake = Fake::new();
        fake.put("/proc/sys/kernel/osrelease", "6.18.0\n");
        assert!(kernel_lacks(&fake, "dm-crypt"));
        for list in ["modules.dep", "modules.builtin"] {
            let file = format!("/lib/modules/6.18.0/{list}");
            fake.put(&file, "kernel/drivers/md/dm-crypt.ko.xz: kernel/x.ko\n");
            assert!(!kernel_lacks(&fake, "dm-crypt"), "{list}");
            // Another module may depend on it, which does not prove that its own file exists.
            fake.put(&file, "kernel/x.ko: kernel/drivers/md/dm-crypt.ko.xz\n");
            assert!(kernel_lacks(&fake, "dm-crypt"), "{list}");
        }
        fake.put("/sys/module/dm_crypt/version", "1\n");
        assert!(!kernel_lacks(&fake, "dm-crypt"));
    }

    #[test]
    fn of_several_mounts_at_a_place_the_last_is_seen() {
        let fake = Fake::new();
        let point = Path::new("/mnt");
        assert!(mounts::at(&fake, point).unwrap_err().contains("cannot read the mounts"));
        fake.put(
            "/proc/self/mountinfo",
            "27 1 254:0 / /mnt rw - ext4 /dev/vda rw\n28 27 0:25 / /mnt rw - tmpfs none rw\n\
             29 27 0:25 / /other rw - xfs /dev/vdb rw\n",
        );
        assert_eq!(mounts::at(&fake, point).unwrap().mount.filesystem, "tmpfs");
        assert!(
            mounts::at(&fake, Path::new("/x")).unwrap_err().contains("nothing is mounted there")
        );
    }

    fn missing(fake: &Fake, levels: &[(&str, &str)], bytes: u64) -> Option<String> {
        let named = levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned()));
        let levels: Levels = named.collect();
        Stack::new(&Wish::new(&levels)).unwrap().missing(fake, &[bytes])
    }

    #[test]
    fn what_is_missing_for_an_encrypted_device_is_said() {
        let fake = Fake::new();
        let of = |bytes| missing(&fake, &[("encryption", "dm-crypt")], bytes);
        assert!(of(1 << 30).unwrap().starts_with("this kernel has no dm-crypt (LUKS2)"));
        fake.put("/sys/module/dm_crypt/version", "1\n");
        assert!(of(1 << 30).unwrap().ends_with("install the package cryptsetup-bin"));
        fake.install("cryptsetup");
        assert_eq!((of(1 << 30), of(32 << 20)), (None, None));
        let small = of((32 << 20) - 1).unwrap();
        assert!(small.starts_with("an encrypted device needs 32 MiB, only"), "{small}");
    }

    #[test]
    fn what_is_missing_for_an_encrypted_directory_is_said() {
        let fake = Fake::new();
        for kind in ["ext4", "xfs"] {
            fake.install(&format!("mkfs.{kind}"));
        }
        fake.put("/proc/filesystems", "\text4\n\txfs\n");
        let on = |level: &str, filesystem: Option<&str>| {
            let mut levels = vec![("encryption", level)];
            levels.extend(filesystem.map(|own| ("filesystem", own)));
            missing(&fake, &levels, 1 << 30)
        };
        for level in ["fscrypt", "gocryptfs"] {
            let told = on(level, None).unwrap();
            assert!(
                told.starts_with(&format!("{level} encrypts a directory of a filesystem")),
                "{told}"
            );
        }
        assert!(on("fscrypt", Some("xfs")).unwrap().starts_with("xfs "));
        assert_eq!(on("fscrypt", Some("ext4")), None, "a module that is not loaded tells nothing");
        fake.put("/sys/fs/ext4/features/lazy_itable_init", "supported\n");
        let told = on("fscrypt", Some("ext4")).unwrap();
        assert_eq!(told, "this kernel's ext4 has no encryption (CONFIG_FS_ENCRYPTION)");
        fake.put("/sys/fs/ext4/features/encryption", "supported\n");
        assert_eq!(on("fscrypt", Some("ext4")), None);
        let served = |words: &str| {
            let told = on("gocryptfs", Some("ext4")).unwrap();
            assert!(told.contains(words), "{told}");
        };
        served("install the package gocryptfs");
        fake.install("gocryptfs");
        served("install the package fuse3");
        fake.install("fusermount");
        served("/dev/fuse is missing");
        fake.put("/dev/fuse", "");
        assert_eq!(on("gocryptfs", Some("ext4")), None);
    }

    #[test]
    fn an_option_of_dm_crypt_is_for_nothing_else() {
        let fake = Fake::new();
        let options = [
            ("encryption_cipher", "aes-xts-plain64"),
            ("encryption_sector_size", "4 KiB"),
            ("encryption_flags", "no_read_workqueue"),
        ];
        for option in options {
            let told = missing(&fake, &[("encryption", "none"), option], 1 << 30).unwrap();
            assert_eq!(told, format!("{} requires dm-crypt; otherwise use defaults", option.0));
            let plain = [("encryption", "none"), (option.0, "defaults")];
            assert_eq!(missing(&fake, &plain, 1 << 30), None);
        }
    }
}
