//! What encrypts on the way from a target to its drive: then processors are part of what is compared.

use std::path::Path;

use super::site::{Layer, Mount};
use super::{FileKind, System};

/// File systems that encrypt all that goes through them, by what the kernel calls them.
const BY_MOUNT: [(&str, &str); 5] = [
    ("fuse.gocryptfs", "gocryptfs"),
    ("fuse.encfs", "encfs"),
    ("fuse.cryfs", "cryfs"),
    ("fuse.securefs", "securefs"),
    ("ecryptfs", "ecryptfs"),
];
/// The device mapper's kind of an encrypted device.
const DEVICE: (&str, &str) = ("crypt", "dm-crypt");
/// Encryption of a directory by its file system.
const DIRECTORY: &str = "fscrypt";

/// Everything that is seen to encrypt what lies at a path, the uppermost first. What cannot be asked
/// (a drive that encrypts by itself, a machine at the other end) is not among it.
pub fn of(system: &dyn System, path: &Path, met: &[Mount], layers: &[Layer]) -> Vec<String> {
    let is_directory = system.status(path).is_ok_and(|status| status.kind == FileKind::Directory);
    let below = if is_directory { Some(path) } else { path.parent() };
    let policy = below.and_then(|directory| system.encryption_of(directory).ok().flatten());
    let mounts = met.iter().filter_map(|mount| {
        BY_MOUNT.iter().find(|(name, _)| *name == mount.filesystem).map(|(_, name)| *name)
    });
    let devices = layers.iter().filter(|layer| layer.kind == DEVICE.0).map(|_| DEVICE.1);
    policy.map(|_| DIRECTORY).into_iter().chain(mounts).chain(devices).map(str::to_owned).collect()
}
