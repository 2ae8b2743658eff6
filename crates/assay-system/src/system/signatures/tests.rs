#![allow(clippy::disallowed_methods, reason = "the recordings are files")]

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::system::Fake;
use crate::system::identity::witness::{INPUT, NAMES, Witness};

/// A recording (`tests/fixtures/signatures`): a device with what must be found on it.
pub(in crate::system) struct Recorded {
    pub length: u64,
    /// Name, kind, offset, UUID and label, as one line.
    pub expected: Vec<String>,
    pub rows: Vec<(u64, Vec<u8>)>,
    told: String,
}

impl Recorded {
    pub(in crate::system) fn load(name: &str) -> Self {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/signatures");
        let text = std::fs::read_to_string(format!("{folder}/{name}.txt")).unwrap();
        let mut recorded =
            Self { length: 0, expected: Vec::new(), rows: Vec::new(), told: String::new() };
        for line in text.lines() {
            if let Some(told) = line.strip_prefix("# blkid -p: ") {
                recorded.told = told.to_owned();
            } else if let Some(length) = line.strip_prefix("length ") {
                recorded.length = length.parse().unwrap();
            } else if let Some(expected) = line.strip_prefix("expect ") {
                recorded.expected.push(expected.to_owned());
            } else if !line.starts_with('#') {
                let (offset, digits) = line.split_once(": ").unwrap();
                let digits = digits.as_bytes().chunks(2).map(|two| std::str::from_utf8(two));
                let bytes = digits.map(|two| u8::from_str_radix(two.unwrap(), 16).unwrap());
                recorded.rows.push((u64::from_str_radix(offset, 16).unwrap(), bytes.collect()));
            }
        }
        recorded
    }

    fn read(&self, offset: u64, into: &mut [u8]) {
        let end = offset + into.len() as u64;
        assert!(end <= self.length, "read past the end: {end} of {}", self.length);
        into.fill(0);
        for (start, bytes) in &self.rows {
            for (at, byte) in (*start..).zip(bytes) {
                if (offset..end).contains(&at) {
                    into[(at - offset) as usize] = *byte;
                }
            }
        }
    }

    fn found(&self) -> Vec<String> {
        let read = |offset: u64, into: &mut [u8]| {
            self.read(offset, into);
            Ok(())
        };
        let found = find(self.length, &read).unwrap();
        found.iter().map(line).collect()
    }
}

fn line(found: &Signature) -> String {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let Signature { name, kind, offset, uuid, label } = found;
    format!("{name} | {} | {offset} | {} | {}", kind.words(), or_none(uuid), or_none(label))
}

fn names() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/signatures");
    let files = std::fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().to_string_lossy().into_owned());
    names.filter_map(|name| Some(name.strip_suffix(".txt")?.to_owned())).collect()
}

#[test]
fn recorded_devices_carry_what_was_put_on_them_and_nothing_else() {
    let names = names();
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        let recorded = Recorded::load(&name);
        assert_eq!(recorded.found(), recorded.expected, "{name}; blkid says {}", recorded.told);
    }
}

/// What `blkid` does not see: only a copy is left, or the first header of a pair.
const UNSEEN: [&str; 4] = ["ext2-copy", "ext3-copy", "ext4-copy", "gpt-backup"];

#[test]
fn blkid_saw_the_same() {
    for name in names() {
        let recorded = Recorded::load(&name);
        let (found, told) = (recorded.found(), &recorded.told);
        if UNSEEN.contains(&name.as_str()) {
            assert_eq!(told, "finds nothing", "{name}");
            continue;
        }
        let value = |key: &str| {
            let mut words = told.split(' ').filter_map(|word| word.split_once('='));
            words.find(|(found, _)| *found == key).map(|(_, value)| value)
        };
        let kinds: Vec<&str> = [value("TYPE"), value("PTTYPE")].into_iter().flatten().collect();
        assert!(!kinds.is_empty(), "{name}: {told}");
        for kind in kinds {
            let (_, ours) = NAMES.iter().find(|(theirs, _)| *theirs == kind).unwrap();
            let is_it =
                |line: &String| ours.iter().any(|own| line.starts_with(&format!("{own} |")));
            assert!(found.iter().any(is_it), "{name}: {found:?}; {told}");
        }
        let identity = value("UUID").or_else(|| value("PTUUID"));
        let identity = identity.filter(|_| !["ddf", "drbd"].contains(&name.as_str()));
        let found = found.join("; ");
        assert!(identity.is_none_or(|uuid| found.contains(uuid)), "{name}: {found}; {told}");
    }
}

#[test]
fn each_name_was_recorded() {
    // What nothing here makes and blkid knows only with more around it.
    const NOT_RECORDED: [&str; 2] = ["bcachefs", "bsd"];
    let recorded: Vec<String> =
        names().iter().flat_map(|name| Recorded::load(name).expected).collect();
    let missing: BTreeSet<&str> = super::names()
        .filter(|name| !recorded.iter().any(|line| line.starts_with(&format!("{name} |"))))
        .collect();
    assert_eq!(missing, BTreeSet::from(NOT_RECORDED));
}

#[test]
fn every_type_that_blkid_lists_is_known() {
    if !assay_lab::needs::have(&[assay_lab::needs::Need::Program("blkid")]) {
        return;
    }
    let listed = assay_lab::call("blkid", &["-k"]).unwrap();
    let ours: Vec<&str> = super::names().collect();
    let unknown: Vec<&str> = listed
        .lines()
        .map(str::trim)
        .filter(|theirs| {
            let names = NAMES.iter().find(|(name, _)| name == theirs);
            names.is_none_or(|(_, names)| !names.iter().all(|name| ours.contains(name)))
        })
        .collect();
    assert!(listed.lines().count() > 70, "{listed}");
    assert!(unknown.is_empty(), "blkid knows and this program does not: {unknown:?}");
}

/// What the real blkid says of an image, told to a machine that exists only in memory.
fn told_by_blkid(fake: &Fake, image: &std::fs::File, arguments: &[&str]) {
    let mut blkid = std::process::Command::new("blkid");
    let ended = blkid.args(arguments).env("LC_ALL", "C").stdin(image.try_clone().unwrap());
    let ended = ended.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let line = format!("blkid {}", arguments.join(" "));
    let code = ended.status.code().unwrap();
    fake.put_told(&line, code, &text(ended.stdout), &text(ended.stderr));
}

/// The recordings are windows; what blkid saw in the whole it must see in them.
#[test]
fn blkid_sees_nothing_in_a_recording_that_is_not_seen_here() {
    if !assay_lab::needs::have(&[assay_lab::needs::Need::Program("blkid")]) {
        return;
    }
    let fake = Fake::new();
    fake.install("blkid");
    for name in names() {
        let recorded = Recorded::load(&name);
        let image = assay_sys::memory_file(recorded.length).unwrap();
        for (offset, bytes) in &recorded.rows {
            std::os::unix::fs::FileExt::write_all_at(&image, bytes, *offset).unwrap();
        }
        let (range, size) = (0..recorded.length, recorded.length.to_string());
        told_by_blkid(&fake, &image, &["-V"]);
        told_by_blkid(&fake, &image, &["-p", "-o", "export", "-O", "0", "-S", &size, INPUT]);
        let found = in_range(&fake, &image, range.clone()).unwrap();
        let witness = Witness::of(&fake, &image).unwrap().unwrap();
        assert_eq!(witness.unseen(&range, &found).unwrap(), None, "{name}");
        if !UNSEEN.contains(&name.as_str()) && recorded.told != "finds nothing" {
            assert!(witness.unseen(&range, &[]).unwrap().is_some(), "{name}");
        }
    }
}

#[test]
fn every_row_has_a_name_that_can_be_typed_and_something_to_look_for() {
    for row in rows() {
        let plain = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
        assert!(!row.name.is_empty() && row.name.chars().all(plain), "{}", row.name);
        assert!(!row.places.is_empty() && row.magics.iter().all(|magic| magic.len() >= 2));
        assert!(!row.magics.is_empty() || row.fits.is_some(), "{}", row.name);
        // Zeros are what lies past the end.
        assert!(row.magics.iter().all(|magic| magic.iter().any(|byte| *byte != 0)));
    }
}

#[test]
fn several_marks_on_one_device_are_all_found() {
    let (mut both, table) = (Recorded::load("ext4"), Recorded::load("gpt"));
    both.rows.extend(Recorded::load("iso9660").rows.into_iter().filter(|(at, _)| *at >= 0x8000));
    both.rows.extend(table.rows.into_iter().filter(|(at, _)| *at < 0x400));
    let names: Vec<String> =
        both.found().iter().map(|found| found.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(names, ["gpt", "ext4", "iso9660"], "the MBR that protects a GPT is none of its own");
}

#[test]
fn blank_devices_carry_nothing_and_unreadable_ones_cannot_be_told() {
    for length in [0, 1, 511, 512, 4096, 65_535, 1 << 20, 1 << 40, u64::MAX] {
        let found = find(length, &|_, into| {
            into.fill(0);
            Ok(())
        });
        assert_eq!(found.unwrap(), [], "{length}");
    }
    let broken = find(1 << 20, &|_, _| Err(io::ErrorKind::Other.into()));
    assert!(broken.is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Random bytes are no reason to refuse (a card that was filled with them), and no reason to
    /// panic, wherever the device ends.
    #[test]
    fn random_bytes_carry_nothing(seed: u64, length in 0_u64..1 << 21) {
        let found = find(length, &|offset, into| {
            for (at, byte) in (offset..).zip(into.iter_mut()) {
                let mixed = (at ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                *byte = ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 56) as u8;
            }
            Ok(())
        }).unwrap();
        prop_assert_eq!(found, []);
    }

    /// Damaged recordings: anything may be found, nothing may panic.
    #[test]
    fn damaged_structures_do_no_harm(
        which: prop::sample::Index,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..200),
        cut in 0_u64..70_000,
    ) {
        let names = names();
        let mut recorded = Recorded::load(which.get::<String>(&names));
        for (index, byte) in damage {
            let count = recorded.rows.len() * 16;
            let at = index.index(count);
            if let Some(place) = recorded.rows[at / 16].1.get_mut(at % 16) {
                *place = byte;
            }
        }
        recorded.length -= cut.min(recorded.length);
        recorded.found();
    }
}
