use super::*;
use crate::failure::Kind;
use crate::system::fake::machines;
use crate::system::{Fake, resolve};

fn try_consent(system: &Fake, target: &str, typed: &str) -> Outcome<Consent> {
    consent(system, &resolve(system, target).unwrap(), typed)
}

fn refusal(system: &Fake, target: &str, typed: &str) -> String {
    let failure = try_consent(system, target, typed).unwrap_err();
    assert_eq!(failure.kind, Kind::Refused, "{failure}");
    assert!(!failure.message.contains('\n'));
    failure.message
}

#[test]
fn the_right_name_of_an_unused_device_is_consent() {
    let fake = machines::machine("sata-ssd");
    let consent = try_consent(&fake, "/dev/sdb", "CVCV2030012345").unwrap();
    assert_eq!(consent.device, Path::new("/dev/sdb"));
    assert_eq!((consent.number.major, consent.number.minor), (8, 16));
}

#[test]
fn a_wrong_name_is_a_mistake_that_tells_the_right_one() {
    let fake = machines::machine("sata-ssd");
    for typed in ["", "sdb", "S3Z2NB0K123456A"] {
        let failure = try_consent(&fake, "/dev/sdb", typed).unwrap_err();
        assert_eq!(failure.kind, Kind::Mistake);
        assert!(failure.message.contains("--destroy \"CVCV2030012345\""), "{failure}");
    }
    let failure = try_consent(&fake, "/home/me", "x").unwrap_err();
    assert_eq!(failure.kind, Kind::Mistake);
}

#[test]
fn what_is_in_use_is_refused() {
    let fake = machines::machine("sata-ssd");
    assert!(refusal(&fake, "/dev/sda", "S3Z2NB0K123456A").contains("mounted on"));
    assert!(refusal(&fake, "/dev/sda2", "S3Z2NB0K123456A-part2").contains("mounted on \"/\""));
    assert!(refusal(&fake, "/dev/sda3", "S3Z2NB0K123456A-part3").contains("swap"));
    let raid = machines::machine("crypt-lvm-raid");
    assert!(refusal(&raid, "/dev/sda", "WD-WCC4N1000001").contains("part of md0"));
    assert!(refusal(&raid, "/dev/dm-0", "x").contains("part of dm-1"));
    assert!(refusal(&raid, "/dev/dm-1", "x").contains("mounted on \"/srv\""));
}

#[test]
fn the_second_device_of_a_btrfs_is_in_use_too() {
    let fake = machines::machine("btrfs-two");
    assert!(refusal(&fake, "/dev/sda", "WD-WCC4N1000001").contains("mounted"));
    assert!(refusal(&fake, "/dev/sdb", "WD-WCC4N1000002").contains("btrfs of several devices"));
}

#[test]
fn a_device_behind_a_loop_device_is_refused() {
    let fake = machines::machine("sata-ssd");
    fake.add("dir /sys/block/loop4\nfile /sys/class/block/loop4/loop/backing_file /dev/sdb\n")
        .unwrap();
    assert!(refusal(&fake, "/dev/sdb", "CVCV2030012345").contains("loop4 stands on"));
}

#[test]
fn consent_needs_the_mount_table() {
    let fake = machines::machine("sata-ssd");
    let site = resolve(&fake, "/dev/sdb").unwrap();
    fake.remove("/proc/self/mountinfo");
    let failure = consent(&fake, &site, "CVCV2030012345").unwrap_err();
    assert_eq!(failure.kind, Kind::Refused);
}

#[test]
fn results_lie_where_the_environment_says() {
    let fake = machines::machine("sata-ssd");
    let home = |fake: &Fake| results_directory(fake).unwrap().display().to_string();
    assert_eq!(home(&fake), "/root/.local/share/assay/results");
    fake.set_user(1000).set_variable("HOME", "/home/other");
    assert_eq!(home(&fake), "/home/other/.local/share/assay/results");
    fake.set_variable("XDG_DATA_HOME", "relative");
    assert_eq!(home(&fake), "/home/other/.local/share/assay/results");
    fake.set_variable("XDG_DATA_HOME", "/data");
    assert_eq!(home(&fake), "/data/assay/results");
    fake.set_variable("ASSAY_HOME", "/here");
    assert_eq!(home(&fake), "/here/results");
    assert_eq!(results_directory(&Fake::new()).unwrap_err().kind, Kind::Mistake);
}

#[test]
fn under_sudo_results_are_the_callers() {
    let fake = machines::machine("sata-ssd");
    fake.set_variable("HOME", "/root").set_variable("SUDO_UID", "1000");
    assert_eq!(caller(&fake), None, "half of sudo's variables");
    fake.set_variable("SUDO_GID", "1000");
    assert_eq!(caller(&fake), Some(Caller { user: 1000, group: 1000 }));
    let home = results_directory(&fake).unwrap();
    assert_eq!(home, Path::new("/home/me/.local/share/assay/results"));
    fake.set_user(1000);
    assert_eq!(caller(&fake), None, "an ordinary user with the variables set");
}
