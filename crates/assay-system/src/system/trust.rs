//! Whether somebody else could have put something into a directory that root relies on.

use std::io;
use std::path::Path;

use super::{FileKind, System};

/// Write permission of everybody.
pub const ALL_WRITE: u32 = 0o002;
/// Write permission of the group and of everybody.
pub const OTHERS_WRITE: u32 = 0o022;

/// Why what lies in a directory may be anybody's; none where it is root's, or one of the `owners`',
/// and closed to those whose write permission `closed` names.
///
/// # Errors
/// The kernel's, where it cannot be looked at.
pub fn fault(
    system: &dyn System,
    directory: &Path,
    owners: &[u32],
    closed: u32,
) -> io::Result<Option<String>> {
    let found = system.status(directory)?;
    Ok(if system.read_link(directory).is_ok() {
        Some("it is a link".to_owned())
    } else if found.kind != FileKind::Directory {
        Some("it is no directory".to_owned())
    } else if found.user != 0 && !owners.contains(&found.user) {
        Some(format!("it belongs to user {}", found.user))
    } else if found.mode & closed != 0 {
        Some("others may write to it".to_owned())
    } else {
        None
    })
}
