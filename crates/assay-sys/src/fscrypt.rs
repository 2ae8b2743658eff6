//! Encryption of directories by the file system itself (`fscrypt`): its keys and policies, version 2.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::ioctl::{self, Opcode, Updater};

pub const FSCRYPT_KEY_BYTES: usize = 64;
/// Length of the kernel's identifier of a key.
const IDENTIFIER_BYTES: usize = 16;

/// `FS_IOC_SET_ENCRYPTION_POLICY`: its number contains the size of version 1 for both versions.
const SET_POLICY: Opcode = 0x800c_6613;
/// `FS_IOC_GET_ENCRYPTION_POLICY_EX`.
const GET_POLICY: Opcode = 0xc009_6616;
/// `FS_IOC_ADD_ENCRYPTION_KEY`.
const ADD_KEY: Opcode = 0xc050_6617;
/// `FS_IOC_REMOVE_ENCRYPTION_KEY`.
const REMOVE_KEY: Opcode = 0xc040_6618;
/// `FS_IOC_GET_ENCRYPTION_KEY_STATUS`.
const KEY_STATUS: Opcode = 0xc080_661a;

/// `FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER`.
const BY_IDENTIFIER: u32 = 2;
/// `FSCRYPT_POLICY_V2`.
const VERSION: u8 = 2;
/// `FSCRYPT_MODE_AES_256_XTS`, for file contents.
const AES_256_XTS: u8 = 1;
/// `FSCRYPT_MODE_AES_256_CTS`, of their names.
const AES_256_CTS: u8 = 4;
/// `FSCRYPT_POLICY_FLAGS_PAD_32`.
const PAD_32: u8 = 3;
/// `FSCRYPT_KEY_STATUS_ABSENT` and the two others.
const ABSENT: u32 = 1;
const PRESENT: u32 = 2;
/// `FSCRYPT_KEY_REMOVAL_STATUS_FLAG_FILES_BUSY`.
const FILES_BUSY: u32 = 1;

/// `struct fscrypt_key_specifier`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Specifier {
    kind: u32,
    reserved: u32,
    identifier: [u8; IDENTIFIER_BYTES],
    rest: [u8; 16],
}

/// `struct fscrypt_add_key_arg` with a key behind it.
#[repr(C)]
struct AddKey {
    specifier: Specifier,
    raw_size: u32,
    key_id: u32,
    flags: u32,
    reserved: [u32; 7],
    raw: [u8; FSCRYPT_KEY_BYTES],
}

/// `struct fscrypt_remove_key_arg`.
#[repr(C)]
#[derive(Default)]
struct RemoveKey {
    specifier: Specifier,
    removal_status_flags: u32,
    reserved: [u32; 5],
}

/// `struct fscrypt_get_key_status_arg`.
#[repr(C)]
#[derive(Default)]
struct StatusOfKey {
    specifier: Specifier,
    reserved: [u32; 6],
    status: u32,
    flags: u32,
    users: u32,
    out_reserved: [u32; 13],
}

/// `struct fscrypt_policy_v2`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Policy {
    version: u8,
    contents: u8,
    names: u8,
    flags: u8,
    reserved: [u8; 4],
    identifier: [u8; IDENTIFIER_BYTES],
}

/// `struct fscrypt_get_policy_ex_arg`.
#[repr(C)]
struct GetPolicy {
    size: u64,
    policy: Policy,
}

/// What the kernel calls a key by.
pub type KeyIdentifier = [u8; IDENTIFIER_BYTES];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryPolicy {
    /// What the kernel calls its key by: no secret.
    pub key: KeyIdentifier,
    /// Whether the policy is AES-256-XTS for files and AES-256-CTS for names, version 2.
    pub is_usual: bool,
    /// Whether the kernel has its complete key.
    pub has_key: bool,
}

fn specifier(identifier: KeyIdentifier) -> Specifier {
    Specifier { kind: BY_IDENTIFIER, identifier, ..Specifier::default() }
}

/// Encrypts an open directory that is empty or has this key: adds the key to its file system, and sets the policy for
/// all new files below (AES-256-XTS, names with AES-256-CTS). Fails with `EOPNOTSUPP` on a file system created without
/// `encrypt`, `ENOTTY` on one without support, `ENOTEMPTY`, and `EEXIST` if it has another key.
pub fn encrypt_directory(
    directory: BorrowedFd<'_>,
    key: &[u8; FSCRYPT_KEY_BYTES],
) -> io::Result<()> {
    let mut add = AddKey {
        specifier: specifier([0; IDENTIFIER_BYTES]),
        raw_size: FSCRYPT_KEY_BYTES as u32,
        key_id: 0,
        flags: 0,
        reserved: [0; 7],
        raw: *key,
    };
    // SAFETY: the request reads the struct and the `raw_size` bytes after it, which are part of it, and writes the
    // identifier into it; it lives until the call returns.
    let added = unsafe { ioctl::ioctl(directory, Updater::<ADD_KEY, AddKey>::new(&mut add)) };
    // Erases the key from memory; `black_box` prevents the compiler from dropping the store.
    add.raw = [0; FSCRYPT_KEY_BYTES];
    std::hint::black_box(&add.raw);
    added?;
    let mut policy = Policy {
        version: VERSION,
        contents: AES_256_XTS,
        names: AES_256_CTS,
        flags: PAD_32,
        identifier: add.specifier.identifier,
        ..Policy::default()
    };
    // SAFETY: the request reads a policy of the version in its first byte: this struct.
    unsafe { ioctl::ioctl(directory, Updater::<SET_POLICY, Policy>::new(&mut policy))? };
    Ok(())
}

/// How an open directory is encrypted. `ENOTTY` or `EOPNOTSUPP` if its file system cannot encrypt.
pub fn directory_policy(directory: BorrowedFd<'_>) -> io::Result<Option<DirectoryPolicy>> {
    let Some(policy) = read_policy(directory)? else { return Ok(None) };
    let modes = (policy.version, policy.contents, policy.names);
    let is_usual = modes == (VERSION, AES_256_XTS, AES_256_CTS);
    let has_key = policy.version == VERSION && key_status(directory, policy.identifier)? == PRESENT;
    Ok(Some(DirectoryPolicy { key: policy.identifier, is_usual, has_key }))
}

/// Removes a key from the file system of an open file, which must not be encrypted by the key: otherwise the key is in
/// use. Afterwards nobody can read files encrypted with it. Fails with `EBUSY` while files below are open; a repeated
/// call continues.
pub fn forget_key(file: BorrowedFd<'_>, identifier: KeyIdentifier) -> io::Result<()> {
    if key_status(file, identifier)? == ABSENT {
        return Ok(());
    }
    let mut remove = RemoveKey { specifier: specifier(identifier), ..RemoveKey::default() };
    // SAFETY: the request reads and writes this struct, which lives until the call returns.
    unsafe { ioctl::ioctl(file, Updater::<REMOVE_KEY, RemoveKey>::new(&mut remove))? };
    let busy = remove.removal_status_flags & FILES_BUSY != 0;
    if busy { Err(rustix::io::Errno::BUSY.into()) } else { Ok(()) }
}

/// Reads the policy of a directory; `None` if it is not encrypted.
fn read_policy(directory: BorrowedFd<'_>) -> io::Result<Option<Policy>> {
    let mut request = GetPolicy { size: size_of::<Policy>() as u64, policy: Policy::default() };
    // SAFETY: the request writes a policy of at most `size` bytes into the struct behind the pointer.
    let result =
        unsafe { ioctl::ioctl(directory, Updater::<GET_POLICY, GetPolicy>::new(&mut request)) };
    match result {
        Ok(()) => Ok(Some(request.policy)),
        Err(rustix::io::Errno::NODATA) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn key_status(directory: BorrowedFd<'_>, identifier: KeyIdentifier) -> io::Result<u32> {
    let mut request = StatusOfKey { specifier: specifier(identifier), ..StatusOfKey::default() };
    // SAFETY: the request reads and writes this struct, which lives until the call returns.
    unsafe { ioctl::ioctl(directory, Updater::<KEY_STATUS, StatusOfKey>::new(&mut request))? };
    Ok(request.status)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn layouts_are_the_kernels() {
        assert_eq!(size_of::<Specifier>(), 40);
        assert_eq!(size_of::<AddKey>(), 80 + FSCRYPT_KEY_BYTES);
        assert_eq!(size_of::<RemoveKey>(), 64);
        assert_eq!(size_of::<StatusOfKey>(), 128);
        assert_eq!(size_of::<Policy>(), 24);
        assert_eq!(size_of::<GetPolicy>(), 32);
    }

    #[test]
    fn what_is_no_such_file_system_says_so() {
        let proc = File::open("/proc").unwrap();
        let refused = [
            directory_policy(proc.as_fd()).map(|_| ()),
            encrypt_directory(proc.as_fd(), &[7; FSCRYPT_KEY_BYTES]),
            forget_key(proc.as_fd(), [7; IDENTIFIER_BYTES]),
        ];
        for refused in refused {
            assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::ENOTTY));
        }
    }
}
