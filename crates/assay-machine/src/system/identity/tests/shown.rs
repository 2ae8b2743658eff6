//! A device without a serial number that is replaced after `assay plan` showed it.

use std::path::Path;

use assay_core::failure::{Kind, Outcome};

use super::situations::{C, LOOP, give, home, machine, number_of};
use crate::system::identity::{as_shown, remember};
use crate::system::{Fake, System, resolve};

const NOTE: &str = "/var/lib/assay/shown-loop4.json";

fn with_a_boot() -> Fake {
    let fake = machine();
    fake.add("file /proc/sys/kernel/random/boot_id first\n").unwrap();
    fake
}

fn show(fake: &Fake) {
    remember(fake, &resolve(fake, LOOP.0).unwrap()).unwrap();
}

fn judged(fake: &Fake) -> Outcome<()> {
    as_shown(fake, &resolve(fake, LOOP.0).unwrap())
}

fn set(fake: &Fake, file: &str, value: &str) {
    fake.add(&format!("file {}/{file} {value}\n", home("loop4"))).unwrap();
}

fn refused(fake: &Fake, why: &str) {
    let failure = judged(fake).unwrap_err();
    assert_eq!(failure.kind, Kind::Refused);
    let said = failure.message;
    assert!(said.contains(why) && said.contains("run assay plan"), "{said}");
    // Showing the device again renews the note.
    show(fake);
    judged(fake).unwrap();
}

#[test]
fn what_was_shown_may_go_and_so_may_what_nobody_looked_at() {
    let fake = with_a_boot();
    judged(&fake).unwrap();
    show(&fake);
    judged(&fake).unwrap();
    judged(&fake).unwrap();
    fake.put(NOTE, "{\"half\":");
    judged(&fake).unwrap();
}

#[test]
fn another_disk_under_the_same_name_is_noticed() {
    let fake = with_a_boot();
    show(&fake);
    set(&fake, "diskseq", "8");
    refused(&fake, "a different disk sequence number");
    let note = fake.read_text(Path::new(NOTE)).unwrap();
    fake.put(NOTE, note.replace("536870912", "1073741824"));
    refused(&fake, "the size differs");
}

#[test]
fn where_the_kernel_does_not_count_the_content_tells() {
    let fake = with_a_boot();
    fake.remove(format!("{}/diskseq", home("loop4")));
    show(&fake);
    fake.put_marks(number_of((7, 4)), 0, "ext4 filesystem - -").unwrap();
    refused(&fake, "the contents differ");
    // Writes of the study itself do not indicate another device.
    fake.put_marks(number_of((7, 4)), 0, "LVM2_member raid - -").unwrap();
    judged(&fake).unwrap();
}

#[test]
fn the_end_of_a_device_is_part_of_its_content() {
    let fake = with_a_boot();
    fake.remove(format!("{}/diskseq", home("loop4")));
    show(&fake);
    let number = crate::system::DeviceNumber { major: 7, minor: 4 };
    fake.put_content(number, (512 << 20) - 512, b"$XIDE$").unwrap();
    refused(&fake, "the contents differ");
}

#[test]
fn a_note_of_an_earlier_start_of_the_machine_says_nothing() {
    let fake = with_a_boot();
    show(&fake);
    set(&fake, "diskseq", "8");
    fake.add("file /proc/sys/kernel/random/boot_id second\n").unwrap();
    judged(&fake).unwrap();
}

#[test]
fn a_drive_with_a_serial_number_needs_no_note() {
    let fake = with_a_boot();
    remember(&fake, &resolve(&fake, C.0).unwrap()).unwrap();
    assert!(fake.status(Path::new("/var/lib/assay")).is_err(), "nothing was written");
    assert!(give(&fake, C).is_ok());
}
