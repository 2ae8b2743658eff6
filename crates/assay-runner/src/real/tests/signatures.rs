//! The contract with the installed wipefs and blkid: what they recognise on recorded devices.

use std::collections::BTreeSet;

use assay_machine::system::signatures::{Superblocks, in_range, superblocks};
use assay_testkit::recordings::Recording;

use super::*;

const PROGRAMS: [Need; 2] = [Need::Program("wipefs"), Need::Program("blkid")];
const MIB: u64 = 1 << 20;

/// Each row of `recognised.csv` is a recording and what util-linux 2.38.1 recognizes in it; an empty field may be
/// anything. Other versions may recognise more.
#[test]
fn installed_programs_recognise_every_recording() {
    if !have(&PROGRAMS) {
        return;
    }
    let table = std::fs::read_to_string(Recording::folder().join("recognised.csv")).unwrap();
    let mut seen = BTreeSet::new();
    for row in table.lines().skip(1) {
        let (name, wanted) = row.split_once(',').unwrap();
        let recording = Recording::load(name).unwrap();
        let start_of_line = format!("{},", wanted.trim_end_matches(','));
        seen.insert(name.to_owned());
        // Without a device node, at an offset of 1 MiB; then a whole device.
        for (start, has_node) in [(MIB, false), (0, true)] {
            let device = assay_sys::memory_file(start + recording.length).unwrap();
            recording.write(&device, start).unwrap();
            let range = start..start + recording.length;
            let found = in_range(&Real, &device, &range, has_node.then_some(&device)).unwrap();
            let mut lines = found.iter().map(|own| {
                let [uuid, label] =
                    [&own.uuid, &own.label].map(|text| text.as_deref().unwrap_or(""));
                format!("{},{uuid},{label},", own.name)
            });
            let is_it = |line: String| wanted == ",," || line.starts_with(&start_of_line);
            assert!(lines.any(is_it), "{row}: {found:?}");
        }
    }
    assert_eq!(seen, Recording::names().unwrap());
}

/// File systems as Assay creates them, with the number of superblock copies to remove.
#[test]
fn made_filesystems_are_found_by_their_label() {
    if !have(&PROGRAMS) || !have(&[Need::Program("mkfs.ext4")]) {
        return;
    }
    let scratch = Scratch::new();
    let image = scratch.join("image");
    let path = image.display().to_string();
    for (program, words, copies) in [
        ("mkfs.ext2", ["-q", "-b", "1024", "-L"].as_slice(), 5),
        ("mkfs.ext3", &["-q", "-b", "2048", "-L"], 5),
        ("mkfs.ext4", &["-q", "-b", "4096", "-L"], 1),
        ("mkfs.xfs", &["-q", "-f", "-L"], 0),
        ("mkfs.btrfs", &["-q", "-f", "-L"], 1),
        ("mkfs.f2fs", &["-q", "-f", "-l"], 0),
        ("mkfs.vfat", &["-n"], 0),
        ("mkfs.exfat", &["-L"], 0),
        ("mkfs.ntfs", &["-q", "-F", "-f", "-L"], 0),
    ] {
        if Real.program(program).is_none() {
            continue;
        }
        File::create(&image).unwrap().set_len(320 * MIB).unwrap();
        let made = Command::new(program).args(words).args(["AB12", &path]).output().unwrap();
        let error = String::from_utf8_lossy(&made.stderr);
        // mkfs.btrfs looks at all mounted loop devices; a user may not see the files of those of root.
        if error.contains("cannot check mount status") {
            skip(&error);
            continue;
        }
        assert!(made.status.success(), "{program}: {error}");
        let found = |start, label| superblocks(&Real, &image, start, label).unwrap();
        let own = found(0, "AB12");
        assert_eq!((own.has_original, own.copies.len()), (true, copies), "{program}");
        assert_eq!(found(MIB, "AB12"), Superblocks::default(), "{program}");
        if program.starts_with("mkfs.ext") {
            let file = File::options().write(true).open(&image).unwrap();
            file.write_all_at(&[0; 1024], 1024).unwrap();
            assert_eq!(found(0, "AB12"), Superblocks { has_original: false, ..own }, "{program}");
            assert_eq!(found(0, "AB1"), Superblocks::default(), "{program}");
        }
    }
}
