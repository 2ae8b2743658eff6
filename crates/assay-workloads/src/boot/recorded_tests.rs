//! Journals of real machines: Debian 12 in a systemd-nspawn container and under QEMU, reduced to the relevant messages.

use super::{BootGrouping, measured};
use crate::boot::journal::entry;
use crate::boot::journal::timeline::{Boot, BootEnd, boots};
use assay_testkit::journals::exported;

const CONTAINER: &[u8] = include_bytes!("../../tests/fixtures/boots/container.json");
const CLOCK_JUMP: &[u8] = include_bytes!("../../tests/fixtures/boots/clock-jump.json");
const CUT_OFF: &[u8] = include_bytes!("../../tests/fixtures/boots/cut-off.json");

fn read(text: &[u8]) -> Vec<Boot> {
    let read = entry::read(text);
    assert_eq!(read.faults, 0);
    boots(&read.entries, Some("multi-user.target"))
}

fn seconds(boot: &Boot, metric: &str) -> Option<f64> {
    measured(boot.clone()).unwrap().values.get(metric).copied()
}

#[test]
fn a_containers_boots() {
    let found = read(CONTAINER);
    assert_eq!(found.len(), 3);
    let BootEnd::Unfinished(why) = &found[1].end else { panic!("{:?}", found[1].end) };
    assert!(
        why.contains("interrupted") && why.contains("slow-thing.service was starting"),
        "{why}"
    );
    for boot in [&found[0], &found[2]] {
        assert_eq!(seconds(boot, "boot_kernel_s"), None);
        let userspace = seconds(boot, "boot_userspace_s").unwrap();
        let until = seconds(boot, "boot_unit_s").unwrap();
        assert!(until > 0.0 && until <= userspace, "{until} of {userspace}");
        assert_eq!(boot.units[0].name, "slow-thing.service");
    }
}

#[test]
fn a_boot_whose_clock_jumped_is_read_by_the_kernels_clock() {
    let found = read(CLOCK_JUMP);
    let whole: Vec<f64> = found.iter().filter_map(|boot| seconds(boot, "boot_s")).collect();
    // As printed by systemd: 8.823 + 17.691, 9.327 + 18.596 and 6.462 + 14.283 s.
    let printed = [26.514, 27.923, 20.746];
    assert!(whole.iter().zip(printed).all(|(one, other)| (one - other).abs() < 0.002), "{whole:?}");
    assert!(found[0].notes.is_empty() && found[1].notes.is_empty());
    let jumped = &found[2];
    assert!(
        jumped.notes[0].starts_with("the wall clock was set forward by 72 h"),
        "{:?}",
        jumped.notes
    );
    assert!(jumped.units.iter().all(|unit| unit.took_us < 20_000_000), "{:?}", jumped.units);
    assert_eq!(BootGrouping::RootDevice.group(jumped), "/dev/nvme0n1");
    assert_eq!(BootGrouping::Kernel.group(jumped), "6.1.0-50-cloud-amd64");
}

#[test]
fn a_boot_that_lost_its_power_is_unfinished_and_the_others_are_as_they_were() {
    let found = read(CUT_OFF);
    let ends: Vec<bool> = found.iter().map(|boot| boot.end == BootEnd::Finished).collect();
    assert_eq!(ends, [true, false, true]);
    let BootEnd::Unfinished(why) = &found[1].end else { panic!() };
    assert!(why.ends_with("dbus.service and 3 more were starting"), "{why}");
    assert!(measured(found[1].clone()).is_err());
}

#[test]
fn the_order_of_time_is_that_of_the_journal_whatever_the_order_of_its_lines() {
    let mut read = entry::read(CUT_OFF);
    let forward: Vec<String> = boots(&read.entries, None).into_iter().map(|boot| boot.id).collect();
    read.entries.reverse();
    let backward: Vec<String> =
        boots(&read.entries, None).into_iter().map(|boot| boot.id).collect();
    assert_eq!(forward, backward);
}

#[test]
fn an_export_tells_what_json_tells() {
    for text in [CONTAINER, CLOCK_JUMP, CUT_OFF] {
        let export = exported(text).unwrap();
        assert!(export.starts_with(b"__REALTIME_TIMESTAMP="));
        assert_eq!(entry::read(&export), entry::read(text));
    }
    assert!(entry::read(CUT_OFF).entries.len() > 100);
}

const RELEASES: [&[u8]; 4] = [
    include_bytes!("../../tests/fixtures/journals/bullseye.json"),
    include_bytes!("../../tests/fixtures/journals/bookworm.json"),
    include_bytes!("../../tests/fixtures/journals/trixie.json"),
    include_bytes!("../../tests/fixtures/journals/sid.json"),
];

/// `UPDATE_EXPECT=1` rewrites the file.
#[test]
#[allow(clippy::disallowed_methods, reason = "a fixture of a test")]
fn all_that_is_told_of_a_recorded_boot() {
    let mut found = String::new();
    for text in [CONTAINER, CLOCK_JUMP, CUT_OFF].into_iter().chain(RELEASES) {
        for boot in read(text) {
            let groups: Vec<String> = BootGrouping::ALL.iter().map(|by| by.group(&boot)).collect();
            found.extend([format!("{}\n", serde_json::to_string(&boot).unwrap())]);
            found.extend([format!(
                "    {groups:?} {:?}\n",
                measured(boot).map(|own| (own.values, own.absent))
            )]);
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/boots/told.txt");
    assay_testkit::expected::expect(path, &found);
}

/// Seven boots of each of four releases under QEMU, one of them with a clock months behind.
#[test]
fn four_releases_of_debian() {
    for text in RELEASES {
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let lines = lines.map(|line| serde_json::from_slice::<serde_json::Value>(line).unwrap());
        let printed = lines.filter_map(|line| {
            let part = |name: &str| line[name].as_str()?.parse::<f64>().ok();
            Some((part("KERNEL_USEC")? + part("USERSPACE_USEC")?) / 1e6)
        });
        let printed: Vec<f64> = printed.collect();
        let found = read(text);
        let whole: Vec<f64> = found.iter().filter_map(|boot| seconds(boot, "boot_s")).collect();
        assert_eq!((found.len(), whole.len(), printed.len()), (7, 7, 7));
        assert!(whole.iter().zip(&printed).all(|(one, other)| (one - other).abs() < 1e-6));
        for boot in &found {
            assert!(boot.units.len() > 5, "{:?}", boot.units);
            assert!(boot.units.is_sorted_by(|one, other| one.took_us >= other.took_us));
        }
        // The clock was set after the boot, so there is no note.
        assert!(found.iter().all(|boot| boot.notes.is_empty()));
        let clock = |boot: &Boot| boot.began_wall_us.unwrap();
        let wrong = found.iter().map(clock).min().unwrap();
        let others = found.iter().map(clock).filter(|began| *began != wrong);
        assert!(others.min().unwrap() - wrong > 30 * 86_400_000_000, "it was that wrong");
    }
}
