//! Files that exist only in memory, for those who may not call the kernel themselves.

use std::fs::File;
use std::io;

use rustix::fs::{MemfdFlags, memfd_create};

/// A file of zeros that exists only in memory and ends with its handle.
///
/// # Errors
/// The kernel's.
pub fn memory_file(bytes: u64) -> io::Result<File> {
    let file = File::from(memfd_create("assay", MemfdFlags::CLOEXEC)?);
    file.set_len(bytes)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::memory_file;

    #[test]
    fn it_holds_zeros_until_it_is_written() {
        let file = memory_file(8192).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 8192);
        file.write_all_at(b"here", 4096).unwrap();
        let mut read = [1; 8];
        file.read_exact_at(&mut read, 4092).unwrap();
        assert_eq!(&read, b"\0\0\0\0here");
    }
}
