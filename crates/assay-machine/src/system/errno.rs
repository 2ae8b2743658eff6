//! Error numbers of the kernel that Assay handles. Numbers only: this crate makes no system calls.

use std::io;

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
    BUSY EBUSY "Device or resource busy."
    EXIST EEXIST "File exists."
    INVAL EINVAL "Invalid argument."
    IO EIO "I/O error."
    ISDIR EISDIR "Is a directory."
    LOOP ELOOP "Too many symbolic links."
    NAMETOOLONG ENAMETOOLONG "File name too long."
    NODEV ENODEV "No such device."
    NOENT ENOENT "No such file or directory."
    NOSPC ENOSPC "No space left."
    NOSYS ENOSYS "Function not implemented."
    NOTBLK ENOTBLK "Not a block device."
    NOTDIR ENOTDIR "Not a directory."
    NOTEMPTY ENOTEMPTY "Directory not empty."
    NOTSUP ENOTSUP "Operation not supported."
    NOTTY ENOTTY "Inappropriate ioctl for the device."
    NXIO ENXIO "No such device or address."
    PERM EPERM "Operation not permitted."
}

impl Errno {
    /// The kernel's number of an error; `None` for other errors.
    pub fn find(error: &io::Error) -> Option<Self> {
        error.raw_os_error().map(Self)
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.0)
    }
}
