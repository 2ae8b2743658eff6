//! Checks that a study still has the devices that it started on. Device names can be reused.

use super::places::Place;
use assay_machine::system::System;
use assay_machine::system::journal::Mark;

/// Reads the identity (mark) of the devices of the places and of their drives, except those without sysfs entry.
pub(super) fn marks_of(system: &dyn System, places: &[Place]) -> Vec<Mark> {
    let mut names: Vec<&str> = Vec::new();
    for Place { site, .. } in places.iter().flat_map(Place::devices) {
        names.extend(site.counted.iter().map(String::as_str));
        names.extend(site.drives.iter().map(|drive| drive.name.as_str()));
    }
    names.sort_unstable();
    names.dedup();
    // A mark with a partly unreadable ID could match another device later.
    let is_readable = |mark: &Mark| mark.gone(system).is_none();
    let mark_of = |name: &str| Mark::read(system, name).ok().flatten().filter(is_readable);
    names.into_iter().filter_map(mark_of).collect()
}

/// Returns the first device that disappeared or is another one now.
pub(super) fn find_gone(system: &dyn System, marks: &[Mark]) -> Option<String> {
    marks.iter().find_map(|mark| mark.gone(system))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::known::machine;
    use assay_machine::system::{Fake, resolve};

    const DISK: &str =
        "/sys/devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";

    fn marked() -> (Fake, Vec<Mark>) {
        let fake = machine();
        fake.put(format!("{DISK}/diskseq"), "7\n");
        let site = resolve(&fake, "/home/me").unwrap();
        let place = Place { site, law: None, consent: None, others: Vec::new() };
        let marks = marks_of(&fake, &[place]);
        (fake, marks)
    }

    #[test]
    fn a_drive_is_gone_when_its_name_is_anothers_or_nobodys() {
        let (fake, marks) = marked();
        let names: Vec<&str> = marks.iter().map(|mark| mark.name.as_str()).collect();
        assert_eq!(names, ["sda", "sda2"]);
        fake.put(format!("{DISK}/diskseq"), "8\n");
        let told = "sda was replaced by another device";
        assert_eq!(find_gone(&fake, &marks).as_deref(), Some(told));
        fake.remove("/sys/class/block/sda");
        assert_eq!(find_gone(&fake, &marks).as_deref(), Some("sda was removed"));
    }

    #[test]
    fn silent_while_it_is_the_same_and_where_nothing_is_known_of_it() {
        let (fake, marks) = marked();
        assert_eq!(find_gone(&fake, &marks), None);
        fake.put("/sys/class/block/sdz/dev", "8:240\n");
        assert_eq!(find_gone(&fake, &marks), None);
        assert_eq!(find_gone(&fake, &[]), None);
    }
}
