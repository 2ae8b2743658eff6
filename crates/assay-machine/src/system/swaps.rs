//! The kernel's table of swap.

use std::io;
use std::path::{Path, PathBuf};

use super::{System, mounts};

pub const TABLE: &str = "/proc/swaps";
pub const MOST_SWAP_PRIORITY: u16 = 0x7fff;
/// Suffix that the kernel appends to the name of a removed file.
const REMOVED: &str = " (deleted)";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapArea {
    pub path: PathBuf,
    pub size_bytes: u64,
    pub used_bytes: u64,
    pub priority: i32,
}

/// All areas; `NotFound` if this kernel has no swap.
pub fn read(system: &dyn System) -> io::Result<Vec<SwapArea>> {
    Ok(system.read_text(Path::new(TABLE))?.lines().skip(1).filter_map(parse_area).collect())
}

pub fn has(system: &dyn System, path: &Path) -> io::Result<bool> {
    Ok(read(system)?.iter().any(|area| area.path == path))
}

fn parse_area(line: &str) -> Option<SwapArea> {
    // Columns from the right: priority, used, size, type, path.
    let mut words = line.split_whitespace().rev();
    let priority = words.next()?.parse().ok()?;
    let kib = |word: &str| word.parse::<u64>().ok()?.checked_mul(1024);
    let (used_bytes, size_bytes) = (kib(words.next()?)?, kib(words.next()?)?);
    let _kind = words.next()?;
    // Characters that would break a line are escaped as in the table of mounts.
    let path = mounts::unescape(words.next()?);
    let path = PathBuf::from(path.strip_suffix(REMOVED).unwrap_or(&path));
    Some(SwapArea { path, size_bytes, used_bytes, priority })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    #[test]
    fn the_table_is_read_as_the_kernel_writes_it() {
        let fake = Fake::new();
        assert!(read(&fake).is_err());
        fake.put(
            TABLE,
            "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
             /dev/zram0                              partition\t1048572\t\t512\t\t32767\n\
             /a\\040b/swap\\040(deleted)               file\t\t1024\t\t0\t\t-2\n",
        );
        let found = read(&fake).unwrap();
        assert_eq!(found[0].path, Path::new("/dev/zram0"));
        assert_eq!((found[0].size_bytes, found[0].used_bytes), (1_048_572 << 10, 512 << 10));
        assert_eq!((found[1].path.as_path(), found[1].priority), (Path::new("/a b/swap"), -2));
        assert!(has(&fake, Path::new("/dev/zram0")).unwrap());
        assert!(!has(&fake, Path::new("/dev/zram1")).unwrap());
    }
}
