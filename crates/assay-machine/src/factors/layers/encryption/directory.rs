//! Encrypted directories above a filesystem: by the filesystem itself (fscrypt), or by a program (gocryptfs).

use std::path::{Path, PathBuf};

use crate::system::journal::Undo;
use crate::system::site::Mount;
use crate::system::{Act, Key, System, mounts};
use assay_core::failure::{Failure, Outcome};

use super::{ENCRYPTION_FACTOR, FSCRYPT, GOCRYPTFS, SERVED};
use crate::factors::Factor;
use crate::factors::filesystem::{self, FileSystem};
use crate::factors::guard::Builder;
use crate::factors::layers::{
    Base, ByHand, Commands, Gives, Layer, Levels, Made, Recipe, Wish, missing_program,
};

/// Programs that mount FUSE file systems; one is enough.
const HELPERS: [&str; 2] = ["fusermount3", "fusermount"];
/// Directory of the encrypted files within the file system.
const INSIDE: &str = "encrypted";
/// Name of a test file that shows whether names are encrypted.
const PLAIN: &str = "assay-plain-name";
const WHY: &str = "assay encrypts directories only for measurements and discards their keys";
/// Placeholder for the directory with decrypted files.
const SHOWN: &str = "DIRECTORY";

pub(in crate::factors) struct EncryptedDirectories;

struct ByFileSystem(Option<&'static FileSystem>);

/// An encrypted directory on this filesystem, served by gocryptfs.
struct ByProgram(Option<&'static FileSystem>);

impl Layer for EncryptedDirectories {
    fn noun(&self) -> &'static str {
        "encrypted directory"
    }

    fn factors(&self) -> &'static [&'static dyn Factor] {
        &[]
    }

    fn chooser(&self) -> Option<&'static dyn Factor> {
        Some(&ENCRYPTION_FACTOR)
    }

    fn ground(&self) -> Levels {
        Levels::from([("filesystem".to_owned(), "ext4".to_owned())])
    }

    fn recipe(&self, wish: &Wish<'_>) -> Option<Box<dyn Recipe>> {
        let on = wish.level("filesystem").and_then(filesystem::find);
        match wish.asked(&ENCRYPTION_FACTOR)? {
            FSCRYPT => Some(Box::new(ByFileSystem(on))),
            GOCRYPTFS => Some(Box::new(ByProgram(on))),
            _ => None,
        }
    }

    fn choices(&self) -> Vec<String> {
        vec![FSCRYPT.to_owned(), GOCRYPTFS.to_owned()]
    }
}

/// The directory of a file system that the run made.
fn point_of(below: &[Base]) -> Outcome<PathBuf> {
    match below {
        [Base::Directory(point)] => Ok(point.clone()),
        _ => Err(Failure::refused("directory encryption needs one filesystem")),
    }
}

fn without_file_system(level: &str) -> String {
    format!("{level} encrypts a directory of a filesystem; add filesystem = \"ext4\"")
}

/// Checks that a directory of encrypted files, which had `before` entries, lists the new file only by another name.
fn check_hidden(system: &dyn System, directory: &Path, before: usize) -> Result<(), String> {
    let names = system
        .list(directory)
        .map_err(|error| format!("cannot list {}: {error}", directory.display()))?;
    if names.iter().any(|name| name == PLAIN) {
        return Err("not encrypted: file names are readable without the key".to_owned());
    }
    if names.len() <= before {
        return Err(
            "a new file does not appear in the encrypted directory of this mount".to_owned()
        );
    }
    Ok(())
}

impl ByFileSystem {
    /// Checks that the kernel encrypts the directory with the usual ciphers and has the key.
    fn check_policy(system: &dyn System, directory: &Path) -> Result<(), String> {
        let policy = system
            .encryption_of(directory)
            .map_err(|error| format!("cannot read the directory's policy: {error}"))?;
        match policy {
            None => {
                Err("the directory is not encrypted, although no error was reported".to_owned())
            }
            Some(policy) if !policy.is_usual => {
                Err("the directory has another encryption policy".to_owned())
            }
            Some(policy) if !policy.has_key => {
                Err("the filesystem has no key for the directory".to_owned())
            }
            Some(_) => Ok(()),
        }
    }

    /// Creates a file, and checks that its name is unreadable after the key is removed; then adds the key again.
    fn check_names(builder: &mut Builder<'_, '_>, directory: &Path, key: &Key) -> Outcome<()> {
        let owned = directory.to_owned();
        let path = directory.join(PLAIN);
        builder.act_within(directory, &Act::CreateFile { path: path.clone(), bytes: 0 })?;
        let undo = Undo::DirectoryKey { directory: owned.clone() };
        let forget = Act::ForgetKey { directory: owned.clone() };
        builder.act(undo.clone(), &forget)?;
        check_hidden(builder.system(), directory, 0).map_err(Failure::refused)?;
        let again = Act::EncryptDirectory { directory: owned, key: key.clone() };
        builder.act(undo, &again)?;
        builder.act_within(directory, &Act::RemoveFile { path })
    }
}

impl Recipe for ByFileSystem {
    fn words(&self) -> String {
        FSCRYPT.to_owned()
    }

    fn gives(&self) -> Gives {
        Gives::Directory
    }

    fn missing(&self, system: &dyn System, _: &[u64]) -> Option<String> {
        let Some(kind) = self.0 else { return Some(without_file_system(FSCRYPT)) };
        let name = kind.name;
        if kind.encrypting.is_empty() {
            return Some(format!("{name} does not support fscrypt; use ext4 or f2fs"));
        }
        // A module that is not loaded has no features file.
        let features = Path::new("/sys/fs").join(name).join("features");
        let lacks = system.status(&features).is_ok()
            && system.status(&features.join("encryption")).is_err();
        lacks.then(|| format!("this kernel's {name} has no encryption (CONFIG_FS_ENCRYPTION)"))
    }

    fn make(&self, builder: &mut Builder<'_, '_>, below: &[Base]) -> Outcome<Base> {
        let directory = point_of(below)?.join(INSIDE);
        let key = builder.key()?;
        builder.act_within(&directory, &Act::CreateDirectory { path: directory.clone() })?;
        let undo = Undo::DirectoryKey { directory: directory.clone() };
        let encrypt = Act::EncryptDirectory { directory: directory.clone(), key: key.clone() };
        builder.act(undo, &encrypt)?;
        Self::check_policy(builder.system(), &directory).map_err(Failure::refused)?;
        Self::check_names(builder, &directory, &key)?;
        Self::check_policy(builder.system(), &directory).map_err(Failure::refused)?;
        Ok(Base::Directory(directory))
    }

    fn check(&self, system: &dyn System, made: &Made) -> Result<(), String> {
        match &made.base {
            Base::Directory(directory) => Self::check_policy(system, directory),
            Base::Device(_) => Ok(()),
        }
    }

    fn commands(&self, below: &[PathBuf]) -> Commands {
        let directory = below.first().cloned().unwrap_or_default().join(INSIDE);
        let acts = vec![
            Act::CreateDirectory { path: directory.clone() },
            Act::EncryptDirectory { directory: directory.clone(), key: Key::placeholder() },
        ];
        Commands { acts, out: directory }
    }

    fn by_hand(&self, below: &[PathBuf]) -> ByHand {
        ByHand { commands: self.commands(below), why: WHY, lasting: None }
    }
}

impl ByProgram {
    fn check_mount(system: &dyn System, point: &Path, cipher: &Path) -> Result<(), String> {
        let Mount { filesystem, source, .. } = mounts::at(system, point)?.mount;
        let is_own = filesystem == SERVED && Path::new(&source).ends_with(cipher);
        if is_own { Ok(()) } else { Err(format!("{filesystem} of {source} is mounted instead")) }
    }

    fn init(cipher: &Path, key: Key) -> Act {
        // A random key needs no slow derivation: 10 is the least that the program takes.
        let words = ["-q", "-init", "-scryptn", "10"].map(str::to_owned);
        let arguments = words.into_iter().chain([cipher.display().to_string()]).collect();
        Act::RunWithKey { program: GOCRYPTFS.to_owned(), arguments, key }
    }

    fn mount(cipher: &Path, point: &Path, key: Key) -> Act {
        let arguments =
            vec!["-q".to_owned(), cipher.display().to_string(), point.display().to_string()];
        Act::RunWithKey { program: GOCRYPTFS.to_owned(), arguments, key }
    }

    /// Creates a file at the mount point, and checks that the `cipher` directory gets a file with another name.
    fn check_names(builder: &mut Builder<'_, '_>, point: &Path, cipher: &Path) -> Outcome<()> {
        let system = builder.system();
        let count = system.list(cipher).map_or(0, |names| names.len());
        let path = point.join(PLAIN);
        builder.serve(point, &Act::CreateFile { path: path.clone(), bytes: 0 })?;
        let checked = check_hidden(system, cipher, count).map_err(Failure::refused);
        builder.serve(point, &Act::RemoveFile { path })?;
        checked
    }
}

impl Recipe for ByProgram {
    fn words(&self) -> String {
        GOCRYPTFS.to_owned()
    }

    fn gives(&self) -> Gives {
        Gives::Directory
    }

    fn missing(&self, system: &dyn System, _: &[u64]) -> Option<String> {
        if self.0.is_none() {
            return Some(without_file_system(GOCRYPTFS));
        }
        if let Some(missing) = missing_program(system, GOCRYPTFS, GOCRYPTFS) {
            return Some(missing);
        }
        if !HELPERS.iter().any(|helper| system.program(helper).is_some()) {
            let [helper, _] = HELPERS;
            return Some(format!("{helper} is not installed; install the package fuse3"));
        }
        let lacks = system.status(Path::new("/dev/fuse")).is_err();
        lacks.then(|| "this machine does not support FUSE (/dev/fuse is missing)".to_owned())
    }

    fn make(&self, builder: &mut Builder<'_, '_>, below: &[Base]) -> Outcome<Base> {
        let cipher = point_of(below)?.join(INSIDE);
        let key = builder.key()?;
        builder.act_within(&cipher, &Act::CreateDirectory { path: cipher.clone() })?;
        builder.act_within(&cipher, &Self::init(&cipher, key.clone()))?;
        let point = builder.unused_path("plain")?;
        let undo = Undo::Directory { path: point.clone() };
        builder.act(undo, &Act::CreateDirectory { path: point.clone() })?;
        builder.serve(&point, &Self::mount(&cipher, &point, key))?;
        Self::check_mount(builder.system(), &point, &cipher)
            .map_err(|how| Failure::refused(format!("cannot mount {GOCRYPTFS}: {how}")))?;
        Self::check_names(builder, &point, &cipher)?;
        Ok(Base::Directory(point))
    }

    fn check(&self, system: &dyn System, made: &Made) -> Result<(), String> {
        match &made.base {
            Base::Directory(point) => Self::check_mount(system, point, Path::new(INSIDE)),
            Base::Device(_) => Ok(()),
        }
    }

    fn commands(&self, below: &[PathBuf]) -> Commands {
        let cipher = below.first().cloned().unwrap_or_default().join(INSIDE);
        let out = PathBuf::from(SHOWN);
        let acts = vec![
            Act::CreateDirectory { path: cipher.clone() },
            Self::init(&cipher, Key::placeholder()),
            Self::mount(&cipher, &out, Key::placeholder()),
        ];
        Commands { acts, out }
    }

    fn by_hand(&self, below: &[PathBuf]) -> ByHand {
        let cipher = below.first().cloned().unwrap_or_default().join(INSIDE);
        let out = PathBuf::from(SHOWN);
        let named = cipher.display().to_string();
        let acts = vec![
            Act::CreateDirectory { path: cipher },
            Act::run(GOCRYPTFS, &["-init", &named]),
            Act::run(GOCRYPTFS, &[&named, SHOWN]),
        ];
        ByHand { commands: Commands { acts, out }, why: WHY, lasting: None }
    }
}

#[cfg(test)]
mod tests {
    use crate::system::Fake;

    use super::*;

    #[test]
    fn a_name_that_can_be_read_and_one_that_is_not_there_hide_nothing() {
        let fake = Fake::new();
        let below = Path::new("/below");
        assert!(check_hidden(&fake, below, 0).unwrap_err().contains("cannot list /below"));
        fake.put("/below/gocryptfs.conf", "");
        assert!(check_hidden(&fake, below, 1).unwrap_err().contains("does not appear"));
        fake.put("/below/xYz0", "");
        assert_eq!(check_hidden(&fake, below, 1), Ok(()));
        assert!(check_hidden(&fake, below, 2).is_err(), "both were there before");
        fake.put("/below/assay-plain-name", "");
        assert!(check_hidden(&fake, below, 1).unwrap_err().contains("not encrypted"));
    }

    #[test]
    fn a_directory_is_encrypted_where_that_was_served_from_below() {
        let fake = Fake::new();
        let (point, cipher) = (Path::new("/plain"), Path::new("/below/encrypted"));
        let seen = |filesystem: &str, source: &str| {
            let line = format!("27 1 0:25 / /plain rw - {filesystem} {source} rw\n");
            fake.put("/proc/self/mountinfo", line);
            ByProgram::check_mount(&fake, point, cipher)
        };
        assert_eq!(seen("fuse.gocryptfs", "/below/encrypted"), Ok(()));
        let told = "fuse.sshfs of /below/encrypted is mounted instead";
        assert_eq!(seen("fuse.sshfs", "/below/encrypted").unwrap_err(), told);
        assert!(
            seen("fuse.gocryptfs", "/other").unwrap_err().starts_with("fuse.gocryptfs of /other")
        );
    }

    #[test]
    fn a_directory_without_a_policy_is_not_encrypted() {
        let fake = Fake::new();
        fake.put("/mnt/encrypted/x", "");
        let told = ByFileSystem::check_policy(&fake, Path::new("/mnt/encrypted")).unwrap_err();
        assert!(told.contains("not encrypted") || told.contains("cannot read"), "{told}");
        let device = point_of(&[]).unwrap_err().message;
        assert_eq!(device, "directory encryption needs one filesystem");
        assert_eq!(point_of(&[Base::Directory("/a".into())]).unwrap(), Path::new("/a"));
        let two = [Base::Directory("/a".into()), Base::Directory("/b".into())];
        assert!(point_of(&two).is_err());
    }
}
