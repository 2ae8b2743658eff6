//! Encryption in memory: volumes of cryptsetup, directories of gocryptfs and of fscrypt.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::act::MOUNTS;
use super::disks::{place_of, queue};
use super::tree::Node;
use super::{Fake, FakeState};
use crate::system::{DeviceNumber, DirectoryPolicy, Errno, Key, devices};

const MAPPER_MAJOR: u32 = 254;
/// Offset of a volume's passphrase, which is not secret in memory.
const PASSPHRASE: u64 = 4096;
const CONFIGURATION: &str = "gocryptfs.conf";

#[derive(Clone, Debug, Default)]
pub(super) struct Encrypted {
    /// Directories of gocryptfs, by mount point.
    served: BTreeMap<PathBuf, PathBuf>,
    passphrases: BTreeMap<PathBuf, Vec<u8>>,
    /// Directories of fscrypt: their key, and whether the file system has it.
    directories: BTreeMap<PathBuf, (Vec<u8>, bool)>,
    /// Output of `cryptsetup status`, by volume name.
    volumes: BTreeMap<String, String>,
}

impl Fake {
    /// Everything that encryption needs: programs, modules, and a kernel with all.
    pub fn with_encryption(&self) -> &Self {
        for program in ["cryptsetup", "gocryptfs", "fusermount3"] {
            self.install(program);
        }
        self.put("/sys/module/dm_crypt/version", "1\n");
        self.put("/sys/fs/ext4/features/encryption", "supported\n");
        self.put("/sys/fs/f2fs/features/encryption", "supported\n");
        self.lock()
            .tree
            .put(Path::new("/dev/fuse"), Node::Character(DeviceNumber { major: 10, minor: 229 }));
        self
    }

    pub(super) fn run_with(&self, program: &str, words: &[String], key: &Key) -> io::Result<()> {
        self.check_installed(program)?;
        let last = Path::new(words.last().ok_or(Errno::INVAL)?);
        let has = |word: &str| words.iter().any(|argument| argument == word);
        match program {
            "gocryptfs" if has("-init") => self.lock().init_gocryptfs(last, key),
            "gocryptfs" => {
                let [.., cipher, _] = words else { return Err(Errno::INVAL.into()) };
                self.lock().mount_gocryptfs(Path::new(cipher), last, key)
            }
            "cryptsetup" if has("luksFormat") || has("reencrypt") => {
                self.format_luks(last, words, key)
            }
            "cryptsetup" if has("open") => self.open_luks(words, key),
            _ => Err(Errno::INVAL.into()),
        }
    }

    fn format_luks(&self, device: &Path, words: &[String], key: &Key) -> io::Result<()> {
        let number = self.lock().tree.number_of(device)?;
        let option = |name: &str| {
            words.windows(2).find(|pair| pair[0] == name).map_or("", |pair| pair[1].as_str())
        };
        let (disk, start) = self.disk_and_start(number);
        self.put_marks(disk, start, &format!("crypto_LUKS crypto - {}", option("--label")))?;
        self.put_content(disk, start + PASSPHRASE, &key.passphrase())?;
        let (cipher, sector) = (option("--cipher"), option("--sector-size"));
        let cipher = if cipher.is_empty() { "aes-xts-plain64" } else { cipher };
        let sector = if sector.is_empty() { "512" } else { sector };
        self.lock().made.insert(number, format!("luks {cipher} {sector}"));
        Ok(())
    }

    fn open_luks(&self, words: &[String], key: &Key) -> io::Result<()> {
        let [.., device, name] = words else { return Err(Errno::INVAL.into()) };
        let device = Path::new(device);
        let number = self.lock().tree.number_of(device)?;
        let below = devices::name_of(self, number).ok_or(Errno::NODEV)?;
        let (disk, start) = self.disk_and_start(number);
        let mut passphrase = vec![0; key.passphrase().len()];
        self.content(disk)?.read_exact_at(&mut passphrase, start + PASSPHRASE)?;
        if passphrase != key.passphrase() {
            let text = "cryptsetup: exit status: 2: No key available with this passphrase.";
            return Err(io::Error::other(text));
        }
        let flags: Vec<&str> =
            words.iter().filter_map(|word| word.strip_prefix("--perf-")).collect();
        let mut state = self.lock();
        let volume = state.made.get(&number).cloned().unwrap_or_default();
        let ["luks", cipher, sector] = volume.split(' ').collect::<Vec<_>>()[..] else {
            return Err(io::Error::other("cryptsetup: exit status: 1: not a LUKS device"));
        };
        let status = format!(
            "/dev/mapper/{name} is active.\n  type:    LUKS2\n  cipher:  {cipher}\n  device:  {}\n  \
             sector size:  {sector}\n  flags:   {}\n",
            device.display(),
            flags.join(" ")
        );
        if state.mounts_nothing {
            return Ok(());
        }
        let bytes = state.bytes_of(number).saturating_sub(16 << 20);
        state.add_mapping(name, &below, bytes)?;
        state.encrypted.volumes.insert(name.clone(), status);
        Ok(())
    }

    pub(super) fn close(&self, name: &str) -> io::Result<()> {
        let device = devices::mapping(self, name)?;
        let device = device.ok_or_else(|| {
            io::Error::other(format!("cryptsetup: exit status: 4: Device {name} is not active."))
        })?;
        let mut state = self.lock();
        if state.is_mounted(&device) || state.is_held(&device) {
            let text = format!("cryptsetup: exit status: 5: Device {name} is still in use.");
            return Err(io::Error::other(text));
        }
        state.remove_mapping(&device)?;
        state.encrypted.volumes.remove(name);
        Ok(())
    }

    pub(super) fn volume_status(&self, line: &str) -> Option<String> {
        let name = line.strip_prefix("cryptsetup status ")?;
        let known = self.lock().encrypted.volumes.get(name).cloned();
        Some(known.unwrap_or_else(|| format!("/dev/mapper/{name} is inactive.\n")))
    }

    /// Shows every volume with another cipher than requested.
    pub fn show_cipher(&self, cipher: &str) -> &Self {
        for status in self.lock().encrypted.volumes.values_mut() {
            *status = status.replace("aes-xts-plain64", cipher);
        }
        self
    }
}

impl FakeState {
    fn init_gocryptfs(&mut self, cipher: &Path, key: &Key) -> io::Result<()> {
        if !self.tree.list(cipher)?.is_empty() {
            return Err(io::Error::other("gocryptfs: exit status: 6: the directory is not empty"));
        }
        let file = self.place(&cipher.join(CONFIGURATION))?;
        self.tree.put(&file, Node::File(vec![b"{}".to_vec()]));
        self.encrypted.passphrases.insert(cipher.to_owned(), key.passphrase());
        Ok(())
    }

    fn mount_gocryptfs(&mut self, cipher: &Path, point: &Path, key: &Key) -> io::Result<()> {
        let (point, _) = self.tree.find(point)?;
        if self.encrypted.passphrases.get(cipher) != Some(&key.passphrase()) {
            return Err(io::Error::other("gocryptfs: exit status: 12: Password incorrect."));
        }
        if self.mounts_nothing {
            return Ok(());
        }
        let number = DeviceNumber { major: 0, minor: 77 };
        let (shown, source) = (point.display(), cipher.display());
        let line = format!("98 1 {number} / {shown} rw - fuse.gocryptfs {source} rw\n");
        self.change_text(Path::new(MOUNTS), |text| text + &line);
        self.tree.devices.insert(point.clone(), number);
        self.encrypted.served.insert(point, cipher.to_owned());
        Ok(())
    }

    /// Path below gocryptfs or fscrypt of a file created above, with its encrypted name.
    pub(super) fn below_name(&self, path: &Path) -> Option<PathBuf> {
        let cipher = self.encrypted.served.get(path.parent()?)?;
        Some(cipher.join(encrypt_name(path.file_name()?.to_string_lossy().as_ref())))
    }

    pub(super) fn visible_names(&self, directory: &Path, names: Vec<String>) -> Vec<String> {
        match self.encrypted.directories.get(directory) {
            Some((_, false)) => names.iter().map(|name| encrypt_name(name)).collect(),
            _ => names,
        }
    }

    pub(super) fn encrypt(&mut self, directory: &Path, key: &Key) -> io::Result<()> {
        let (directory, _) = self.tree.find(directory)?;
        let point = directory.parent().ok_or(Errno::INVAL)?;
        let number = self.tree.devices.get(point).copied().ok_or(Errno::NOTTY)?;
        if !self.encrypting.contains(&number) {
            return Err(Errno::NOTSUP.into());
        }
        let own = key.passphrase();
        match self.encrypted.directories.get(&directory) {
            Some((known, _)) if *known != own => return Err(Errno::EXIST.into()),
            None if !self.tree.list(&directory)?.is_empty() => return Err(Errno::NOTEMPTY.into()),
            _ => {}
        }
        self.encrypted.directories.insert(directory, (own, true));
        Ok(())
    }

    pub(super) fn forget_key(&mut self, directory: &Path) -> io::Result<()> {
        let (directory, _) = self.tree.find(directory)?;
        if let Some((_, has_key)) = self.encrypted.directories.get_mut(&directory) {
            *has_key = false;
        }
        Ok(())
    }

    pub(super) fn policy(&self, directory: &Path) -> io::Result<Option<DirectoryPolicy>> {
        let (directory, _) = self.tree.find(directory)?;
        let own = self.encrypted.directories.get(&directory);
        let policy = |has_key| DirectoryPolicy { key: [7; 16], is_usual: true, has_key };
        Ok(own.map(|(_, has_key)| policy(*has_key)))
    }

    /// A mount from below a directory prevents unmounting it.
    pub(super) fn is_served_from(&self, point: &Path) -> bool {
        self.encrypted.served.values().any(|cipher| cipher.starts_with(point))
    }

    /// Removes the state of a file system with its mount.
    pub(super) fn forget_below(&mut self, point: &Path) {
        let gone: Vec<PathBuf> = self.tree.nodes.below(point).cloned().collect();
        for path in gone {
            self.tree.remove(&path);
            self.sizes.remove(&path);
        }
        self.encrypted.served.remove(point);
        self.encrypted.passphrases.retain(|path, _| !path.starts_with(point));
        self.encrypted.directories.retain(|path, _| !path.starts_with(point));
    }

    fn add_mapping(&mut self, name: &str, below: &str, bytes: u64) -> io::Result<()> {
        let taken = |minor: &u32| {
            self.tree.nodes.contains_key(&place_of(&format!("dm-{minor}")).join("dev"))
        };
        let minor = (0..256).find(|minor| !taken(minor)).ok_or(Errno::NODEV)?;
        let number = DeviceNumber { major: MAPPER_MAJOR, minor };
        let device = format!("dm-{minor}");
        let (under, _) = self.tree.find(&Path::new("/sys/class/block").join(below))?;
        let texts = [
            ("size", (bytes / 512).to_string()),
            ("dm/name", name.to_owned()),
            ("dm/uuid", format!("CRYPT-LUKS2-0-{name}")),
        ];
        self.show_device(&device, number, texts.into_iter().chain(queue()));
        let place = place_of(&device);
        self.tree.put(&place.join("slaves").join(below), Node::Link(under.clone()));
        self.tree.put(&under.join("holders").join(&device), Node::Link(place));
        Ok(())
    }

    fn remove_mapping(&mut self, device: &str) -> io::Result<()> {
        let place = place_of(device);
        let number = self.tree.number_of(&devices::file_of(device))?;
        for below in self.tree.list(&place.join("slaves"))? {
            let (under, _) = self.tree.find(&Path::new("/sys/class/block").join(below))?;
            self.tree.remove(&under.join("holders").join(device));
        }
        self.hide_device(device, number, &place);
        self.encrypting.remove(&number);
        Ok(())
    }

    /// Returns whether a device, or a part of it, has another device on top.
    pub(super) fn has_holders(&self, device: &str) -> bool {
        let own = self.tree.find(&Path::new("/sys/class/block").join(device));
        let Ok((place, _)) = own else { return false };
        let is_holder =
            |path: &PathBuf| path.parent().is_some_and(|parent| parent.ends_with("holders"));
        self.tree.nodes.below(&place).any(is_holder)
    }
}

/// A name as the kernel lists it without the key.
fn encrypt_name(name: &str) -> String {
    let letters = name.bytes().map(|byte| format!("{:02x}", byte ^ 0x5a));
    format!("_{}", letters.collect::<String>())
}
