//! Activates and deactivates swap areas.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Flag: the area has an explicit priority.
const PREFER: libc::c_int = 0x8000;
pub const MOST_SWAP_PRIORITY: u16 = 0x7fff;

/// Activates a file or device with a swap signature.
pub fn swap_on(path: &Path, priority: u16) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let flags = PREFER | libc::c_int::from(priority.min(MOST_SWAP_PRIORITY));
    // SAFETY: the path ends with a zero byte and is only read.
    let result = unsafe { libc::swapon(path.as_ptr(), flags) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Deactivates an area: the kernel first moves its pages to memory.
pub fn swap_off(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path ends with a zero byte and is only read.
    let result = unsafe { libc::swapoff(path.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_swap_is_refused() {
        let nothing = Path::new("/no/such/file");
        // Without root the kernel does not check the path.
        let expected = [io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied];
        assert!(expected.contains(&swap_on(nothing, 5).unwrap_err().kind()));
        assert!(expected.contains(&swap_off(nothing).unwrap_err().kind()));
        let odd = Path::new("/a\0b");
        assert_eq!(swap_on(odd, 5).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
}
