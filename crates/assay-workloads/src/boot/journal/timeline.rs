//! Groups entries into boots. Times come from the monotonic kernel clock: wall clock changes do not affect them.

use std::collections::BTreeMap;

use assay_core::presence::Presence;
use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::finished;

/// Number of slowest units to store per boot; means over boots also need quick ones.
pub const MOST_UNITS: usize = 40;
/// Smallest step of the wall clock during a boot that gets a note, microseconds.
const TELLING_STEP_US: i64 = 2_000_000;

/// IDs of systemd messages, from its catalog.
pub mod ids {
    pub const FINISHED: &str = "b07a249cd024414a82dd00cd181378ff";
    /// The same for a container, or for the services of a user.
    pub const USER_FINISHED: &str = "eed00a68ffd84e31882105fd973abdd1";
    pub const STARTING: &str = "7d4958e842da4a758f6c1cdc7b36dcc5";
    pub const STARTED: &str = "39f53479d3a045ac8e11786248231fbf";
    pub const FAILED: &str = "be02cf6855d2428ba40df7e9d022f03d";
    pub const JOURNAL_STARTED: &str = "f77379a8490b408bbe5f6940505a777b";
    pub const JOURNAL_STOPPED: &str = "d93fb3c9c24d451a97cea615ce59c00b";
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    pub id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// Wall clock at the first entry, microseconds since 1970.
    pub began_wall_us: Option<u64>,
    pub kernel: Presence<String>,
    pub root: Presence<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub end: BootEnd,
    pub phases: Phases,
    /// Microseconds until the named unit had started, if a unit was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Presence<u64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<StartedUnit>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BootEnd {
    Finished,
    /// It never finished, with the reason if the journal contains one.
    Unfinished(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    pub firmware_us: Presence<u64>,
    pub loader_us: Presence<u64>,
    pub kernel_us: Presence<u64>,
    pub initrd_us: Presence<u64>,
    /// Userspace, until the last job of the start-up was done.
    pub userspace_us: Presence<u64>,
}

impl Phases {
    pub fn absent(reason: &str) -> Self {
        let absent = || Presence::absent(reason);
        Self {
            firmware_us: absent(),
            loader_us: absent(),
            kernel_us: absent(),
            initrd_us: absent(),
            userspace_us: absent(),
        }
    }

    /// From the kernel's start to the end, microseconds: the part available on every machine.
    pub fn from_kernel_us(&self) -> Presence<u64> {
        let sum = self.kernel_us.both(&self.userspace_us, |a, b| a.saturating_add(*b));
        sum.map(|sum| sum.saturating_add(self.initrd_us.value().copied().unwrap_or(0)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedUnit {
    pub name: String,
    /// Microseconds from the message "Starting" to the message "Started".
    pub took_us: u64,
}

/// The boots in these entries, in time order. `until`: a unit whose start time is wanted.
pub fn boots(entries: &[Entry], until: Option<&str>) -> Vec<Boot> {
    let mut by_boot: Vec<(&str, Vec<&Entry>)> = Vec::new();
    let mut indices: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in entries {
        let index = *indices.entry(&entry.boot).or_insert(by_boot.len());
        // The index of a new boot is the next one, which has no list yet.
        if index == by_boot.len() {
            by_boot.push((&entry.boot, Vec::new()));
        }
        by_boot[index].1.push(entry);
    }
    sort_by_sequence(&mut by_boot);
    let count = by_boot.len();
    let mut boots = Vec::with_capacity(count);
    for (number, (id, mut entries)) in (1..).zip(by_boot) {
        let sequence_number = |entry: &Entry| entry.sequence.as_ref().map(|(_, number)| *number);
        entries.sort_by_key(|entry| (entry.monotonic_us, sequence_number(entry)));
        // Overlapping files contain the same entry twice.
        entries.dedup_by(|entry, kept| entry.sequence.is_some() && entry.sequence == kept.sequence);
        boots.push(build_boot(id, &entries, number == count, until));
    }
    boots
}

/// Sorts boots by their lowest sequence number, because the wall clock may have been set.
fn sort_by_sequence(boots: &mut [(&str, Vec<&Entry>)]) {
    // The ID of the sequence and the lowest number in it; `None` if no entry has a number.
    let lowest_number = |entries: &[&Entry]| {
        entries.iter().filter_map(|entry| entry.sequence.clone()).min_by_key(|(_, number)| *number)
    };
    // Numbers of different sequences are not comparable, so sequences stay in the order of their first boots.
    let mut sequence_ids: Vec<String> = Vec::new();
    for (_, entries) in boots.iter() {
        if let Some((id, _)) = lowest_number(entries)
            && !sequence_ids.contains(&id)
        {
            sequence_ids.push(id);
        }
    }
    boots.sort_by_cached_key(|(_, entries)| {
        let (id, number) = lowest_number(entries)?;
        Some((sequence_ids.iter().position(|known| *known == id), number))
    });
}

/// Describes a boot from its entries, sorted by time; `is_last`: it is the newest boot of the journal.
fn build_boot(id: &str, entries: &[&Entry], is_last: bool, until: Option<&str>) -> Boot {
    let ends: Vec<&Entry> = entries.iter().copied().filter(|entry| is_end(entry)).collect();
    let end = ends.first().copied();
    let (phases, boot_start_us) =
        end.map_or_else(|| (Phases::absent("the start-up did not finish"), Some(0)), read_phases);
    let (units, pending) = slowest_units(entries, end.map(|end| end.monotonic_us));
    let mut notes = Vec::new();
    if ends.len() > 1 {
        let more = ends.len() - 1;
        notes.push(format!(
            "userspace was restarted {} without the kernel (soft reboot); only the first start counts",
            if more == 1 { "once".to_owned() } else { format!("{more} times") }
        ));
    }
    notes.extend(describe_clock_step(entries, end));
    Boot {
        id: id.to_owned(),
        machine: entries
            .iter()
            .find(|entry| !entry.machine.is_empty())
            .map_or_else(String::new, |entry| entry.machine.clone()),
        began_wall_us: entries.first().and_then(|first| first.wall_us),
        kernel: find_kernel(entries),
        root: find_root(entries),
        label: None,
        end: match end {
            Some(_) => BootEnd::Finished,
            None => BootEnd::Unfinished(unfinished_reason(entries, &pending, is_last)),
        },
        phases,
        until: until.map(|unit| unit_start_us(entries, unit, boot_start_us)),
        units,
        notes,
    }
}

/// Whether a message ends the boot of the system, rather than the start of a user's services.
fn is_end(entry: &Entry) -> bool {
    let by_init = entry.process.is_none_or(|process| process == 1);
    match entry.message_id.as_str() {
        ids::FINISHED => true,
        ids::USER_FINISHED => by_init && entry.userspace_us.is_some(),
        _ => false,
    }
}

/// The phases in the last start-up message, and the kernel time when the boot began: 0, or a container's, if known.
fn read_phases(end: &Entry) -> (Phases, Option<u64>) {
    let unreported = "systemd did not report this time";
    let present = |time_us: Option<u64>, why: &str| Presence::from_option(time_us, why);
    if end.message_id == ids::USER_FINISHED || end.kernel_us.is_none() {
        let why = "a container uses the host's kernel and does not have this phase";
        let phases =
            Phases { userspace_us: present(end.userspace_us, unreported), ..Phases::absent(why) };
        let from_us = end.userspace_us.and_then(|took_us| end.monotonic_us.checked_sub(took_us));
        return (phases, from_us);
    }
    let before = finished::times_before_kernel(&end.message).unwrap_or_default();
    let not_passed_on = "not reported by the firmware or the boot loader (needs UEFI and a boot loader that passes the \
                    time on)";
    let phases = Phases {
        firmware_us: present(before.firmware_us, not_passed_on),
        loader_us: present(before.loader_us, not_passed_on),
        kernel_us: present(end.kernel_us, unreported),
        initrd_us: present(end.initrd_us, "no initrd, or an initrd without systemd"),
        userspace_us: present(end.userspace_us, unreported),
    };
    (phases, Some(0))
}

/// The slowest units of the start-up, the slowest first, and the units that were still starting at its end.
fn slowest_units(entries: &[&Entry], end_us: Option<u64>) -> (Vec<StartedUnit>, Vec<String>) {
    let mut began_us: BTreeMap<&str, u64> = BTreeMap::new();
    let mut took_us: BTreeMap<&str, u64> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !entry.unit.is_empty()) {
        let unit = entry.unit.as_str();
        match entry.message_id.as_str() {
            ids::STARTING if end_us.is_none_or(|end| entry.monotonic_us <= end) => {
                began_us.entry(unit).or_insert(entry.monotonic_us);
            }
            ids::STARTED | ids::FAILED => {
                if let Some(began_us) = began_us.get(unit) {
                    took_us.entry(unit).or_insert(entry.monotonic_us.saturating_sub(*began_us));
                }
            }
            _ => {}
        }
    }
    let is_pending = |unit: &&&str| !took_us.contains_key(*unit);
    let pending = began_us.keys().filter(is_pending).map(|unit| (*unit).to_owned()).collect();
    let started = |(name, took_us): (&str, u64)| StartedUnit { name: name.to_owned(), took_us };
    let mut units: Vec<StartedUnit> = took_us.into_iter().map(started).collect();
    units.sort_by(|a, b| b.took_us.cmp(&a.took_us).then(a.name.cmp(&b.name)));
    units.truncate(MOST_UNITS);
    (units, pending)
}

/// Microseconds from the beginning of the boot, at `from_us`, until the first successful start of a unit.
fn unit_start_us(entries: &[&Entry], unit: &str, from_us: Option<u64>) -> Presence<u64> {
    let is_start = |entry: &&&Entry| {
        entry.unit == unit
            && entry.message_id == ids::STARTED
            && matches!(entry.job_result.as_str(), "done" | "")
    };
    let Some(from_us) = from_us else { return Presence::absent("the boot start time is unknown") };
    let started = entries.iter().find(is_start);
    let start_us = started.map(|entry| entry.monotonic_us.saturating_sub(from_us));
    Presence::from_option(start_us, format!("the journal has no message that {unit} started"))
}

/// Explains why a start-up did not finish; `pending`: the units that were starting.
fn unfinished_reason(entries: &[&Entry], pending: &[String], is_last: bool) -> String {
    let how = if entries.iter().any(|entry| entry.message_id == ids::JOURNAL_STOPPED) {
        "the machine was shut down before its start-up had finished"
    } else if is_last {
        "its start-up has not finished: it is still running or was interrupted"
    } else {
        "its start-up was interrupted (crash, power loss or reset)"
    };
    match pending {
        [] => how.to_owned(),
        [one] => format!("{how}; {one} was starting"),
        [one, others @ ..] => format!("{how}; {one} and {} more were starting", others.len()),
    }
}

/// A note if the wall clock was set during the boot: no time depends on it.
fn describe_clock_step(entries: &[&Entry], end: Option<&Entry>) -> Option<String> {
    let before_end = |entry: &&&Entry| end.is_none_or(|end| entry.monotonic_us <= end.monotonic_us);
    // Wall clock minus monotonic clock: this changes only if the wall clock is set.
    let offset_us = |entry: &&Entry| {
        Some(i64::try_from(entry.wall_us?).ok()? - i64::try_from(entry.monotonic_us).ok()?)
    };
    let mut offsets = entries.iter().filter(before_end).filter_map(offset_us);
    let first_us = offsets.next()?;
    let steps = offsets.map(|offset_us| offset_us.saturating_sub(first_us));
    let step_us = steps.max_by_key(|step_us| step_us.saturating_abs())?;
    if step_us.saturating_abs() < TELLING_STEP_US {
        return None;
    }
    let direction = if step_us > 0 { "forward" } else { "back" };
    let by = assay_core::quantity::units::show::duration(step_us.saturating_abs() as f64 * 1e3);
    Some(format!(
        "the wall clock was set {direction} by {by} during the boot; times are from the kernel's monotonic clock"
    ))
}

fn kernel_message<'a>(entries: &'a [&Entry], prefix: &'a str) -> Option<&'a str> {
    let mut messages = entries.iter().filter(|entry| entry.transport == "kernel");
    messages.find_map(|entry| entry.message.strip_prefix(prefix))
}

fn find_kernel(entries: &[&Entry]) -> Presence<String> {
    let release =
        kernel_message(entries, "Linux version ").and_then(|rest| rest.split_whitespace().next());
    Presence::from_option(
        release.map(str::to_owned),
        "the journal has no `Linux version` message from the kernel",
    )
}

/// The root device on the kernel command line; the last `root=` counts.
fn find_root(entries: &[&Entry]) -> Presence<String> {
    let line = kernel_message(entries, "Command line: ")
        .or_else(|| kernel_message(entries, "Kernel command line: "));
    let Some(line) = line else {
        return Presence::absent("the journal does not contain the kernel command line");
    };
    let root = line.split_whitespace().rev().find_map(|word| word.strip_prefix("root="));
    Presence::from_option(root.map(str::to_owned), "the kernel command line has no root= parameter")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ONE: &str = "11111111111111111111111111111111";
    const TWO: &str = "22222222222222222222222222222222";

    fn entry(boot: &str, monotonic_us: u64, message_id: &str) -> Entry {
        Entry {
            boot: boot.to_owned(),
            monotonic_us,
            wall_us: Some(1_700_000_000_000_000 + monotonic_us),
            sequence: Some(("s".to_owned(), monotonic_us)),
            message_id: message_id.to_owned(),
            transport: "journal".to_owned(),
            process: Some(1),
            ..Entry::default()
        }
    }

    fn unit(boot: &str, monotonic_us: u64, message_id: &str, unit: &str) -> Entry {
        Entry {
            unit: unit.to_owned(),
            job_result: "done".to_owned(),
            ..entry(boot, monotonic_us, message_id)
        }
    }

    fn end(boot: &str, monotonic_us: u64) -> Entry {
        Entry {
            kernel_us: Some(1_000_000),
            initrd_us: Some(500_000),
            userspace_us: Some(monotonic_us - 1_500_000),
            message: "Startup finished in 1s (kernel) + 500ms (initrd) + 4s (userspace) = 5.5s."
                .to_owned(),
            ..entry(boot, monotonic_us, ids::FINISHED)
        }
    }

    fn kernel(boot: &str, monotonic_us: u64, message: &str) -> Entry {
        let (message, transport) = (message.to_owned(), "kernel".to_owned());
        Entry { message, transport, ..entry(boot, monotonic_us, "") }
    }

    fn whole(boot: &str) -> Vec<Entry> {
        vec![
            kernel(boot, 0, "Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org) #1 SMP"),
            kernel(boot, 1, "Command line: BOOT_IMAGE=/vmlinuz root=UUID=one root=/dev/sda2 ro"),
            entry(boot, 1_600_000, ids::JOURNAL_STARTED),
            unit(boot, 2_000_000, ids::STARTING, "slow.service"),
            unit(boot, 2_100_000, ids::STARTING, "quick.service"),
            unit(boot, 2_200_000, ids::STARTED, "quick.service"),
            unit(boot, 5_000_000, ids::STARTED, "slow.service"),
            unit(boot, 5_100_000, ids::STARTED, "multi-user.target"),
            end(boot, 5_500_000),
            unit(boot, 9_000_000, ids::STARTING, "later.service"),
            unit(boot, 99_000_000, ids::STARTED, "later.service"),
        ]
    }

    #[test]
    fn a_boot_has_its_phases_its_slowest_units_and_the_time_until_one_of_them() {
        let found = boots(&whole(ONE), Some("multi-user.target"));
        let [boot] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(boot.kernel, Presence::Present("6.1.0-18-amd64".to_owned()));
        assert_eq!(boot.root, Presence::Present("/dev/sda2".to_owned()), "the last one counts");
        assert_eq!(boot.phases.from_kernel_us(), Presence::Present(5_500_000));
        assert!(boot.phases.firmware_us.value().is_none());
        assert_eq!(boot.until, Some(Presence::Present(5_100_000)));
        let units: Vec<(&str, u64)> =
            boot.units.iter().map(|one| (one.name.as_str(), one.took_us)).collect();
        assert_eq!(units, [("slow.service", 3_000_000), ("quick.service", 100_000)]);
        assert_eq!((&boot.end, boot.notes.len()), (&BootEnd::Finished, 0));
        let other = &boots(&whole(ONE), Some("x.service"))[0];
        let reason = other.until.as_ref().and_then(Presence::reason);
        assert_eq!(reason, Some("the journal has no message that x.service started"));
    }

    #[test]
    fn a_boot_that_was_cut_off_says_what_it_was_at() {
        let mut entries: Vec<Entry> = whole(ONE).into_iter().take(6).collect();
        entries.extend(whole(TWO));
        for (place, entry) in entries.iter_mut().enumerate() {
            entry.sequence = Some(("s".to_owned(), place as u64));
        }
        let found = boots(&entries, None);
        let BootEnd::Unfinished(why) = &found[0].end else { panic!("{found:?}") };
        assert_eq!(
            why,
            "its start-up was interrupted (crash, power loss or reset); slow.service was starting"
        );
        assert_eq!(found[1].end, BootEnd::Finished);
        entries.insert(
            6,
            Entry {
                sequence: Some(("s".to_owned(), 6)),
                ..entry(ONE, 3_000_000, ids::JOURNAL_STOPPED)
            },
        );
        let BootEnd::Unfinished(why) = &boots(&entries, None)[0].end else { panic!() };
        assert!(why.starts_with("the machine was shut down before"), "{why}");
        let BootEnd::Unfinished(why) = &boots(&entries[..6], None)[0].end else { panic!() };
        assert!(why.contains("still running"), "{why}");
    }

    #[test]
    fn a_wall_clock_that_jumps_changes_neither_times_nor_order() {
        let plain = boots(&whole(ONE), None);
        let mut entries = whole(ONE);
        for entry in &mut entries[..3] {
            entry.wall_us = Some(entry.monotonic_us);
        }
        // The second boot had a wrong, much earlier clock throughout.
        let later = whole(TWO).into_iter().map(|entry| Entry {
            wall_us: Some(entry.monotonic_us),
            sequence: Some(("s".to_owned(), 200_000_000 + entry.monotonic_us)),
            ..entry
        });
        entries.splice(0..0, later);
        let found = boots(&entries, None);
        assert_eq!(found.iter().map(|boot| boot.id.as_str()).collect::<Vec<_>>(), [ONE, TWO]);
        assert_eq!((&found[0].phases, &found[0].units), (&plain[0].phases, &plain[0].units));
        assert!(
            found[0].notes[0].starts_with("the wall clock was set forward by"),
            "{:?}",
            found[0].notes
        );
        assert!(found[1].notes.is_empty());
    }

    #[test]
    fn a_step_of_the_wall_clock_is_told_with_its_direction_from_a_size_on() {
        let told = |step_us: i64, of: std::ops::Range<usize>| {
            let mut entries = whole(ONE);
            for entry in &mut entries[of] {
                entry.wall_us = entry.wall_us.and_then(|wall| wall.checked_add_signed(step_us));
            }
            boots(&entries, None)[0].notes.clone()
        };
        let step = TELLING_STEP_US;
        for (step_us, words) in [(step, "set forward by"), (-step, "set back by")] {
            let notes = told(step_us, 4..9);
            assert!(notes.len() == 1 && notes[0].contains(words), "{notes:?}");
            assert!(told(step_us - step_us.signum(), 4..9).is_empty(), "a small one is none");
            assert!(told(step_us, 9..11).is_empty(), "after the start-up it is of no interest");
        }
    }

    #[test]
    fn a_containers_boot_has_userspace_alone_on_the_hosts_clock() {
        let container = Entry {
            userspace_us: Some(295_018),
            message: "Startup finished in 295ms.".to_owned(),
            ..entry(ONE, 983_422_688, ids::USER_FINISHED)
        };
        let of_a_user = Entry {
            process: Some(812),
            sequence: Some(("s".to_owned(), 983_422_000)),
            ..container.clone()
        };
        let started = unit(ONE, 983_400_000, ids::STARTED, "multi-user.target");
        let found = boots(&[of_a_user.clone(), started, container], Some("multi-user.target"));
        assert_eq!(found[0].phases.userspace_us, Presence::Present(295_018));
        assert!(found[0].phases.kernel_us.reason().unwrap().contains("container"));
        assert_eq!(found[0].until, Some(Presence::Present(400_000 - (422_688 - 295_018))));
        assert!(
            matches!(boots(&[of_a_user], None)[0].end, BootEnd::Unfinished(_)),
            "one user's services"
        );
    }

    #[test]
    fn a_soft_reboot_is_no_boot() {
        let mut entries = whole(ONE);
        entries.push(end(ONE, 80_000_000));
        let found = boots(&entries, None);
        assert_eq!(
            (found.len(), found[0].phases.from_kernel_us()),
            (1, Presence::Present(5_500_000))
        );
        assert!(found[0].notes[0].contains("soft reboot"), "{:?}", found[0].notes);
    }

    proptest! {
        #[test]
        fn no_entries_end_it(all in proptest::collection::vec(
            (0_u8..3, any::<u64>(), 0_usize..7, any::<Option<u64>>(), 0_u8..3), 0..40,
        )) {
            const KINDS: [&str; 7] = [
                ids::FINISHED, ids::USER_FINISHED, ids::STARTING, ids::STARTED, ids::FAILED, ids::JOURNAL_STOPPED, "",
            ];
            let entries: Vec<Entry> = all.into_iter().map(|(boot, at, kind, number, name)| Entry {
                boot: boot.to_string().repeat(32),
                monotonic_us: at,
                wall_us: number,
                message_id: KINDS[kind].to_owned(),
                unit: if name == 0 { String::new() } else { format!("{name}.service") },
                kernel_us: number,
                userspace_us: number.map(|n| n / 2),
                ..Entry::default()
            }).collect();
            for boot in boots(&entries, Some("1.service")) {
                prop_assert!(boot.units.len() <= MOST_UNITS);
                prop_assert_eq!(boot.id.len(), 32);
            }
        }
    }
}
