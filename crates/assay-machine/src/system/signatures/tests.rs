//! Programs in memory; `assay-runner/src/real/tests/signatures.rs` has the installed ones.

use std::os::unix::fs::FileExt;

use assay_sys::memory_file;
use assay_testkit::recordings::Recording;

use super::*;
use crate::system::{Fake, Faulty};

const LENGTH: u64 = 16 * MIB;
const WIPEFS: &str = "wipefs --no-act --json --output TYPE,USAGE,OFFSET,UUID,LABEL /proc/self/fd/0";
const BLKID: &str = "blkid -p -o export -O 0 -S 16777216 /proc/self/fd/0";

/// What a blank device contains if the programs end so.
fn told(answers: &[(&str, i32, &str, &str)]) -> Result<Vec<String>, String> {
    let fake = Fake::new();
    for (line, code, text, complaint) in answers {
        fake.put_told(line, *code, text, complaint);
    }
    let file = memory_file(LENGTH).unwrap();
    let found = in_range(&fake, &file, &(0..LENGTH), Some(&file));
    let names = found.map(|found| found.into_iter().map(|own| own.name).collect());
    names.map_err(|error| error.to_string())
}

#[test]
fn both_programs_are_believed() {
    let list = r#"{"signatures": [
        {"type":"gpt", "usage":"partition-table", "offset":"0x200", "uuid":null, "label":null},
        {"type":"PMBR", "usage":"partition-table", "offset":"0x1fe", "uuid":null, "label":null},
        {"type":"ext4", "usage":"filesystem", "offset":"0x438", "uuid":"x", "label":"two words"},
        {"type":"ext4", "usage":"filesystem", "offset":"0x800", "uuid":"y", "label":null}]}"#;
    let exported = (BLKID, 0, "TYPE=zfs_member\nUSAGE=filesystem\nPTTYPE=gpt\n", "");
    let found = told(&[(WIPEFS, 0, list, ""), exported]);
    assert_eq!(found.unwrap(), ["gpt", "ext4", "zfs_member"], "each once, and no PMBR");
    assert_eq!(told(&[exported]).unwrap(), ["zfs_member", "gpt"]);
    let ambivalent = (BLKID, 8, "", "ambivalent result");
    assert_eq!(told(&[(WIPEFS, 0, list, ""), ambivalent]).unwrap(), ["gpt", "ext4"]);
    assert_eq!(told(&[(WIPEFS, 0, "", ""), (BLKID, 2, "", "")]).unwrap(), [""; 0], "before 2.37");
    let label = "TYPE=vfat\nLABEL_FATBOOT=two\\ words\\\\\n";
    assert_eq!(parse_export(label).unwrap()[0].label.as_deref(), Some("two words\\"));
    let blank_partition = (BLKID, 0, "DEVNAME=x\nPART_ENTRY_SCHEME=gpt\n", "");
    assert_eq!(told(&[blank_partition]).unwrap(), [""; 0]);
}

#[test]
fn answers_in_doubt_are_errors() {
    let not_util_linux = "install util-linux 2.31 or later";
    for (line, code, text, complaint, reason) in [
        ("wipefs -V", 1, "", "BusyBox v1.36.1", not_util_linux),
        ("blkid -V", 0, "BusyBox v1.36.1", "", not_util_linux),
        (WIPEFS, 1, "", "wipefs: unrecognized option '--json'", "unrecognized option"),
        (WIPEFS, 0, "{\"signatures\":[]}", "Input/output error", "Input/output error"),
        (WIPEFS, 0, "DEVICE OFFSET TYPE", "", "cannot parse the output"),
        (WIPEFS, 0, r#"{"signatures":[{"offset":"0x0"}]}"#, "", "cannot parse the output"),
        (WIPEFS, 0, r#"{"signatures":[{"type":"x","offset":"?"}]}"#, "", "cannot parse the output"),
        (WIPEFS, 0, r#"{"signatures":[{"type":"a+b","offset":"0x0"}]}"#, "", "is not a type"),
        (BLKID, 0, "/dev/sda: TYPE=\"ext4\"\n", "", "neither TYPE nor PTTYPE"),
        (BLKID, 0, "TYPE=\n", "", "is not a type"),
        (BLKID, 0, "TYPE=ext4\n", "Input/output error", "Input/output error"),
        (BLKID, 4, "", "", "exit code 4"),
        (BLKID, 8, "", "ambivalent result", "conflicting signatures"),
    ] {
        let error = told(&[(line, code, text, complaint)]).unwrap_err();
        assert!(error.contains(reason), "{line} {code} {text}: {error}");
    }
}

/// Only the end of a device may be unreadable, and only because its medium fails.
#[test]
fn lost_end_is_skipped_and_lost_start_is_refused() {
    let first = "blkid -p -o export -O 0 -S 5242880 /proc/self/fd/0";
    let found = |failing: [u64; 2], error: Errno| {
        let fake = Fake::new();
        fake.put_told(first, 0, "TYPE=ext4\n", "");
        let file = memory_file(LENGTH).unwrap();
        let system = Faulty::at_reads(&fake, failing, error);
        let found = in_range(&system, &file, &(0..LENGTH), Some(&file));
        found.map(|all| all.into_iter().map(|own| own.name).collect::<Vec<String>>())
    };
    assert_eq!(found([LENGTH / 2, LENGTH], Errno::IO).unwrap(), ["ext4"]);
    assert!(found([0, MIB], Errno::IO).is_err());
    assert!(found([0, LENGTH], Errno::IO).is_err());
    assert!(found([LENGTH / 2, LENGTH], Errno::ACCESS).is_err());
}

#[test]
fn no_failed_call_looks_like_a_blank_device() {
    let (fake, file) = (Fake::new(), memory_file(LENGTH).unwrap());
    for call in 1.. {
        let faulty = Faulty::new(&fake, call, io::ErrorKind::NotFound);
        let found = in_range(&faulty, &file, &(0..LENGTH), Some(&file));
        if !faulty.has_failed() {
            assert!(call > 10 && found.unwrap().is_empty());
            break;
        }
        let error = found.unwrap_err().to_string();
        assert!(call > 2 || error.contains("install util-linux"), "call {call}: {error}");
    }
}

/// The superblock contains its own offset: a file with a superblock is not a copy.
#[test]
fn copies_of_btrfs_lie_where_they_say() {
    let place = 64 * MIB;
    let file = memory_file(place + MIB).unwrap();
    let btrfs = Recording::load("btrfs").unwrap();
    for (offset, bytes) in &btrfs.rows {
        file.write_all_at(bytes, place + offset - 64 * KIB).unwrap();
    }
    let found = || find_copies(&Fake::new(), &file, &(0..place + MIB)).unwrap();
    assert_eq!(found(), []);
    file.write_all_at(&place.to_le_bytes(), place + 0x30).unwrap();
    let uuid = Some("e9d776ec-bbc0-4ae3-9cec-918ace88a4f4".to_owned());
    assert_eq!(found(), [signature("btrfs", "filesystem", place, uuid)]);
}

#[test]
fn devices_of_any_length_are_read_to_their_end() {
    for length in [1, 511, 512, 4095, 4096, 5 * MIB + 1] {
        let file = memory_file(length).unwrap();
        assert_eq!(in_range(&Fake::new(), &file, &(0..length), Some(&file)).unwrap(), []);
    }
    let file = memory_file(512).unwrap();
    assert!(in_range(&Fake::new(), &file, &(0..1024), None).is_err(), "shorter than sysfs says");
    file.write_all_at(b"EFI PART\0\0\x01\0\x5c", 0).unwrap();
    assert_eq!(in_range(&Fake::new(), &file, &(0..512), None).unwrap()[0].name, "gpt");
}
