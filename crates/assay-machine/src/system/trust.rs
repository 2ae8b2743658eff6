//! Checks whether others could write to a directory that root relies on.

use std::io;
use std::path::{Component, Path};

use super::{FileKind, System};

pub const ALL_WRITE: u32 = 0o002;
/// Only owners may rename and remove files in the directory.
const STICKY: u32 = 0o1000;
pub const OTHERS_WRITE: u32 = 0o022;

/// Returns why others may have written to a directory; `None` if it belongs to root or one of `owners`, and none of the
/// mode bits `closed` is set.
pub fn fault(
    system: &dyn System,
    directory: &Path,
    owners: &[u32],
    closed: u32,
) -> io::Result<Option<String>> {
    let found = system.status(directory)?;
    Ok(if system.read_link(directory).is_ok() {
        Some("it is a symbolic link".to_owned())
    } else if found.kind != FileKind::Directory {
        Some("not a directory".to_owned())
    } else if found.user != 0 && !owners.contains(&found.user) {
        Some(format!("it belongs to user {}", found.user))
    } else if found.mode & closed != 0 {
        Some("other users can write to it".to_owned())
    } else {
        None
    })
}

/// Returns the first fault on the path to a directory: someone other than root and `owner` may reach or replace it.
pub fn fault_on_way(system: &dyn System, path: &Path, owner: u32) -> io::Result<Option<String>> {
    let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
    if !path.is_absolute() || !path.components().all(is_plain) {
        return Ok(Some(format!("{} is not an absolute path", path.display())));
    }
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    // From the top: nobody else can replace files below a directory that passed.
    for part in parts {
        // In a sticky directory, such as /tmp, others cannot replace files of a user. Root still refuses it.
        let is_sticky = part != path && system.status(part)?.mode & STICKY != 0;
        let closed = if is_sticky && owner != 0 { 0 } else { OTHERS_WRITE };
        if let Some(fault) = fault(system, part, &[owner], closed)? {
            return Ok(Some(format!("{}: {fault}", part.display())));
        }
    }
    Ok(None)
}

/// Returns why someone other than `owner` may have written the directory or one of its files.
pub fn fault_below(system: &dyn System, path: &Path, owner: u32) -> io::Result<Option<String>> {
    let found = |fault: &str| Ok(Some(format!("{}: {fault}", path.display())));
    if system.read_link(path).is_ok() {
        return found("it is a symbolic link");
    }
    let status = system.status(path)?;
    if status.user != owner {
        return found(&format!("it belongs to user {}", status.user));
    }
    if status.mode & OTHERS_WRITE != 0 {
        return found("other users can write to it");
    }
    match status.kind {
        FileKind::File => Ok(None),
        FileKind::Directory => {
            for name in system.list(path)? {
                if let Some(fault) = fault_below(system, &path.join(name), owner)? {
                    return Ok(Some(fault));
                }
            }
            Ok(None)
        }
        _ => found("it is neither a file nor a directory"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::Fake;

    /// Faults of the path to a result and of its files, for this user.
    fn faults(facts: &str, user: u32) -> [Option<String>; 2] {
        let fake = Fake::new();
        fake.add("file /a/b/c/one x\nfile /a/b/c/below/two x").unwrap();
        fake.add(facts).unwrap();
        let result = Path::new("/a/b/c");
        [fault_on_way(&fake, result, user), fault_below(&fake, result, user)].map(Result::unwrap)
    }

    #[test]
    fn way_and_files_belong_to_root_alone() {
        assert_eq!(faults("", 0), [None, None]);
        for (facts, what) in [
            ("mode /a 1777", "/a: other users can write to it"),
            ("mode /a/b 0775", "/a/b: other users can write to it"),
            ("owner /a 1000", "/a: it belongs to user 1000"),
            ("owner / 65534", "/: it belongs to user 65534"),
        ] {
            assert_eq!(faults(facts, 0)[0].as_deref(), Some(what));
        }
        for (facts, what) in [
            ("owner /a/b/c/below/two 1000", "/a/b/c/below/two: it belongs to user 1000"),
            ("mode /a/b/c/below 0777", "/a/b/c/below: other users can write to it"),
            ("mode /a/b/c/one 0664", "/a/b/c/one: other users can write to it"),
            ("link /a/b/c/one /etc/passwd", "/a/b/c/one: it is a symbolic link"),
            ("block /a/b/c/sda 8:0", "/a/b/c/sda: it is neither a file nor a directory"),
        ] {
            assert_eq!(faults(facts, 0)[1].as_deref(), Some(what));
        }
    }

    #[test]
    fn files_of_a_user_belong_to_that_user() {
        assert_eq!(faults("owner /a/b 1000", 1000), [None, None]);
        let roots = faults("owner /a/b 1000\nowner /a/b/c/one 0", 1000);
        assert_eq!(roots[1].as_deref(), Some("/a/b/c/one: it belongs to user 0"));
        assert_eq!(faults("mode /a 1777\nowner /a/b 1000", 1000), [None, None]);
        assert!(
            faults("mode /a/b/c 1777", 1000)[0].is_some()
                && faults("mode /a 0777", 1000)[0].is_some()
        );
        let others = faults("owner /a/b 1001", 1000);
        assert_eq!(others[0].as_deref(), Some("/a/b: it belongs to user 1001"));
    }

    #[test]
    fn way_is_absolute_and_has_no_link() {
        let fake = Fake::new();
        fake.add("dir /a/b\nlink /c /a").unwrap();
        let fault = |path: &str| fault_on_way(&fake, Path::new(path), 0).unwrap();
        assert_eq!(fault("/c/b").as_deref(), Some("/c: it is a symbolic link"));
        for path in ["a/b", "/a/../a/b", ""] {
            assert!(
                fault(path).is_some_and(|why| why.ends_with("is not an absolute path")),
                "{path}"
            );
        }
        assert!(fault_on_way(&fake, Path::new("/a/none"), 0).is_err());
    }
}
