//! The kernel's error numbers that mean something here. Numbers only: nothing in this crate can call
//! the kernel.

use std::io;

/// An error number of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(i32);

macro_rules! numbers {
    ($($name:ident $number:ident $meaning:literal)*) => {
        impl Errno {
            $(#[doc = $meaning] pub const $name: Self = Self(libc::$number);)*
        }
    };
}

numbers! {
    ACCESS EACCES "Permission denied."
    BUSY EBUSY "In use."
    EXIST EEXIST "There already."
    INVAL EINVAL "Invalid argument."
    IO EIO "The medium failed."
    ISDIR EISDIR "Is a directory."
    LOOP ELOOP "Too many symbolic links."
    NAMETOOLONG ENAMETOOLONG "Too long a name."
    NODEV ENODEV "No such device."
    NOENT ENOENT "Not there."
    NOSPC ENOSPC "No space left."
    NOSYS ENOSYS "Not a call of this kernel."
    NOTBLK ENOTBLK "Not a block device."
    NOTDIR ENOTDIR "Not a directory."
    NOTEMPTY ENOTEMPTY "A directory that is not empty."
    NOTSUP ENOTSUP "Not supported here."
    NOTTY ENOTTY "Not an operation of this device."
    NXIO ENXIO "No such device or address."
    PERM EPERM "Not permitted."
}

impl Errno {
    /// The kernel's number in an error; none where the error is not the kernel's.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.raw_os_error().map(Self)
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.0)
    }
}
