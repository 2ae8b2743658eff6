#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::os::unix::fs::{FileTypeExt, MetadataExt};

use assay_guest::cpio::{Archive, Kind};

use super::*;
use crate::is_root;

fn small() -> Vec<u8> {
    let mut archive = Archive::default();
    archive.add("a", Kind::Directory, 0o755, &[]);
    archive.add("a/five", Kind::File, 0o640, b"12345");
    archive.add("a/link", Kind::Link, 0o777, b"five");
    archive.end()
}

/// Another program reads it: the one that defines the format.
#[test]
fn cpio_unpacks_what_is_packed() {
    if !crate::needs::have(&[crate::needs::Need::Program("cpio")]) {
        return;
    }
    let scratch = Scratch::new("cpio").unwrap();
    let mut archive = Archive::default();
    archive.add("dev", Kind::Directory, 0o755, &[]);
    if is_root() {
        archive.add("dev/console", Kind::Device(5, 1), 0o600, &[]);
    }
    let folder = scratch.folder("unpacked", 0o755, None).unwrap();
    for (name, bytes) in [("first", archive.end()), ("second", small())] {
        let file = scratch.path().join(name);
        fs::write(&file, bytes).unwrap();
        let line = r#"cd "$1" && cpio --extract --quiet < "$2""#;
        let [into, from] = [&folder, &file].map(|path| path.display().to_string());
        call("sh", &["-c", line, "sh", &into, &from]).unwrap();
    }
    let seen = fs::metadata(folder.join("a/five")).unwrap();
    assert_eq!((seen.mode() & 0o7777, seen.len()), (0o640, 5));
    assert_eq!(fs::read_link(folder.join("a/link")).unwrap(), Path::new("five"));
    if is_root() {
        assert!(fs::metadata(folder.join("dev/console")).unwrap().file_type().is_char_device());
    }
    assert!(has("cpio"));
}

#[test]
fn what_the_unit_of_a_root_disk_runs_can_be_read() {
    let checked = Scratch::new("start").and_then(|scratch| {
        let file = scratch.path().join("start");
        fs::write(&file, root::START).map_err(|error| error.to_string())?;
        call("sh", &["-n", &file.display().to_string()])
    });
    assert_eq!(checked, Ok(String::new()));
}
