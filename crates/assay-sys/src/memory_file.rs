//! Files that exist only in memory, for those who may not call the kernel themselves.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use rustix::io::Errno;

/// Granularity of data and holes, bytes.
const PAGE: usize = 4096;

/// A file of zeros that exists only in memory and ends with its handle.
pub fn memory_file(bytes: u64) -> io::Result<File> {
    let file = File::from(memfd_create("assay", MemfdFlags::CLOEXEC)?);
    file.set_len(bytes)?;
    Ok(file)
}

/// Copies a file into memory; holes and zeros take no space.
pub fn memory_copy(file: &File) -> io::Result<File> {
    let bytes = file.metadata()?.len();
    let copy = memory_file(bytes)?;
    let mut at = 0;
    while let Some(start) = seek_to(file, SeekFrom::Data(at))? {
        let end = seek_to(file, SeekFrom::Hole(start))?.unwrap_or(bytes);
        let mut written = vec![0; (end - start) as usize];
        file.read_exact_at(&mut written, start)?;
        // Zero pages become holes in the copy, because unneeded pages cost most of its time.
        for (offset, page) in (start..).step_by(PAGE).zip(written.chunks(PAGE)) {
            if page.iter().any(|byte| *byte != 0) {
                copy.write_all_at(page, offset)?;
            }
        }
        at = end;
    }
    Ok(copy)
}

/// Next data or hole from an offset; `None` at the end.
fn seek_to(file: &File, from: SeekFrom) -> io::Result<Option<u64>> {
    match seek(file, from) {
        Ok(place) => Ok(Some(place)),
        Err(Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileExt, MetadataExt};

    use super::{memory_copy, memory_file};

    #[test]
    fn a_copy_has_the_bytes_and_the_holes_and_goes_its_own_way() {
        let file = memory_file(1 << 30).unwrap();
        for (bytes, offset) in [(b"begin", 0), (b"there", 5 << 20), (b"after", (1 << 30) - 5)] {
            file.write_all_at(bytes, offset).unwrap();
        }
        let copy = memory_copy(&file).unwrap();
        file.write_all_at(b"later", 5 << 20).unwrap();
        for (bytes, offset) in [(b"begin", 0), (b"there", 5 << 20), (b"after", (1 << 30) - 5)] {
            let mut read = [0; 5];
            copy.read_exact_at(&mut read, offset).unwrap();
            assert_eq!(&read, bytes);
        }
        let blocks = |file: &std::fs::File| file.metadata().unwrap().blocks();
        assert_eq!(blocks(&copy), blocks(&file));
        file.write_all_at(&[0; 8192], 5 << 20).unwrap();
        let wiped = memory_copy(&file).unwrap();
        assert!(blocks(&wiped) < blocks(&copy), "zeros are no page of the copy");
        let mut read = [1; 5];
        wiped.read_exact_at(&mut read, 5 << 20).unwrap();
        assert_eq!(read, [0; 5]);
        assert_eq!(
            memory_copy(&memory_file(4096).unwrap()).unwrap().metadata().unwrap().len(),
            4096
        );
    }

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
