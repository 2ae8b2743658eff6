//! How a bundle looks from outside: what was made of it stands as long as it looks the same.

use std::path::Path;

use assay_system::system::{FileKind, System};

/// Files that change when what a bundle says changes; all others are written before the line of
/// their trial is.
const FILES: [&str; 8] = [
    "plan.json",
    "import.json",
    "trials.csv",
    "study.toml",
    "environment.json",
    "trials.jsonl",
    "log.jsonl",
    "label.json",
];

/// Inode, size and time of the last change of each of [`FILES`]: a file that is written anew has
/// another inode.
pub(super) type Stamp = [Option<(u64, u64, i64)>; FILES.len()];

/// How a bundle looks now.
pub(super) fn stamp(system: &dyn System, directory: &Path) -> Stamp {
    FILES.map(|name| {
        let found = system.status(&directory.join(name)).ok()?;
        let looks = (found.inode, found.size_bytes, found.modified_ns);
        (found.kind == FileKind::File).then_some(looks)
    })
}
