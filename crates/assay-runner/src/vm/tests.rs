use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::process::{Command, Stdio};

use assay_testkit::needs::{Need, have};
use assay_testkit::{Scratch, is_root};

use super::cpio::{Archive, CpioKind};
use super::*;

#[test]
fn words_reach_the_job_as_they_are() {
    for word in ["a b", "it's", "$HOME", "", "*"] {
        let line = format!("printf %s {}", for_shell(word));
        assert_eq!(call("sh", &["-c", &line]).as_deref(), Ok(word));
    }
}

#[test]
fn the_first_process_is_a_shell_script_that_can_be_read() {
    let mut shell = Command::new("sh").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(shell.stdin.as_mut().unwrap(), INIT.as_bytes()).unwrap();
    drop(shell.stdin.take());
    assert!(shell.wait().unwrap().success());
}

#[test]
fn a_wire_leads_from_one_guest_to_the_other() {
    let [own, other] = [Link::Listens(4711), Link::Dials(4711)].map(|link| link.words().join(" "));
    assert_eq!(
        own,
        "-netdev socket,id=link,listen=127.0.0.1:4711 -device \
         virtio-net-pci,netdev=link,romfile=,mac=52:54:00:83:09:01"
    );
    assert!(other.contains("connect=127.0.0.1:4711") && other.ends_with("09:02"), "{other}");
}

fn small() -> Vec<u8> {
    let mut archive = Archive::default();
    archive.add("a", CpioKind::Directory, 0o755, &[]);
    archive.add("a/five", CpioKind::File, 0o640, b"12345");
    archive.add("a/link", CpioKind::Link, 0o777, b"five");
    archive.end()
}

/// Another program reads it: the one that defines the format.
#[test]
fn cpio_unpacks_what_is_packed() {
    if !have(&[Need::Program("cpio")]) {
        return;
    }
    let scratch = Scratch::new("cpio").unwrap();
    let mut archive = Archive::default();
    archive.add("dev", CpioKind::Directory, 0o755, &[]);
    if is_root() {
        archive.add("dev/console", CpioKind::Device(5, 1), 0o600, &[]);
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
