//! Finds the slow member of an array among the watched disks.

use serde::Serialize;

use super::State;
use super::sampler::{Disk, DiskSpan, Span};
use assay_core::presence::Presence;
use assay_machine::probes::service::{FEWEST_REQUESTS, Slowest, Work, slowest};
use assay_machine::system::System;
use assay_machine::system::devices::{self, Below};

/// An array with at least two watched members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedArray {
    /// Name and members: `md0 (raid5 of sda1, sdb1 and sdc1)`.
    pub words: String,
    /// Positions of its members among the watched disks; a partition counts as its disk.
    members: Vec<usize>,
}

/// Returns the arrays of this machine with members among the given disks.
pub fn arrays(system: &dyn System, disks: &[Disk]) -> Vec<WatchedArray> {
    let position_of_member = |name: &String| {
        let whole_disk = disk_of(system, name);
        disks.iter().position(|disk| disk.name == whole_disk)
    };
    let mut watched = Vec::new();
    for array in devices::arrays(system) {
        let mut members: Vec<usize> = array.members.iter().filter_map(position_of_member).collect();
        // Two partitions of a disk may be members.
        members.sort_unstable();
        members.dedup();
        if members.len() > 1 {
            watched.push(WatchedArray { words: array.words(), members });
        }
    }
    watched
}

/// Returns the disk of a partition; a disk itself.
pub(super) fn disk_of(system: &dyn System, name: &str) -> String {
    match devices::layer(system, name) {
        (layer, Below::Devices(below)) if layer.kind == "partition" => {
            below.into_iter().next().unwrap_or(layer.name)
        }
        (layer, _) => layer.name,
    }
}

/// Returns the slowest member by time in the driver if known for all members, otherwise by the kernel's counters.
pub fn slowest_of(array: &WatchedArray, span: &Span) -> Presence<Slowest> {
    let disks = || array.members.iter().filter_map(|index| span.disks.get(*index));
    let by_counters: Option<Vec<Work>> = disks().map(counted_work).collect();
    let Some(by_counters) = by_counters else {
        return Presence::absent("the counters of a member are unavailable");
    };
    let by_driver: Option<Vec<Work>> = disks().map(traced_work).collect();
    Presence::from_option(
        slowest(&by_driver.unwrap_or(by_counters)),
        format!("fewer than two members completed {FEWEST_REQUESTS} reads or writes"),
    )
}

fn counted_work(disk: &DiskSpan) -> Option<Work> {
    disk.counters.value().map(|counters| Work::of_counters(&disk.name, counters))
}

/// Returns the work of a disk with its time in the driver; `None` if a class lacks that time, as on bio-based devices.
fn traced_work(disk: &DiskSpan) -> Option<Work> {
    let classes = disk.classes.value()?;
    let (read, write) = (classes.get("read"), classes.get("write"));
    if [read, write].into_iter().flatten().any(|class| class.issued.is_empty()) {
        return None;
    }
    Some(counted_work(disk)?.with_traced(read, write))
}

/// Returns a sentence per array: its slow member, or that none is slow. Omits arrays with too little activity.
pub fn sentences(state: &State, span: &Span) -> Vec<String> {
    let mut sentences = Vec::new();
    for array in &state.arrays {
        let Presence::Present(slowest) = slowest_of(array, span) else { continue };
        sentences.push(if slowest.is_slow {
            format!("slowest member: {} (in {})", slowest.words(), array.words)
        } else {
            format!("no slow member in {}: the slowest is {}", array.words, slowest.words())
        });
    }
    sentences
}

/// Returns a warning for each array with a slow member since the start.
pub fn warnings(state: &State) -> Vec<String> {
    let mut warnings = Vec::new();
    for array in &state.arrays {
        if let Presence::Present(slowest) = slowest_of(array, &state.whole)
            && slowest.is_slow
        {
            warnings.push(format!("slowest member: {}", slowest.words()));
        }
    }
    warnings
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArrayDocument<'a> {
    /// Name and members.
    array: &'a str,
    members: Vec<&'a str>,
    /// Null if unknown.
    slowest: Option<Slowest>,
    /// Why it is unknown.
    absent: Option<String>,
}

pub fn document(state: &State) -> Vec<ArrayDocument<'_>> {
    let arrays = state.arrays.iter().map(|array| {
        let members = array.members.iter().map(|index| state.disks[*index].name.as_str());
        let (slowest, absent) = match slowest_of(array, &state.whole) {
            Presence::Present(slowest) => (Some(slowest), None),
            Presence::Absent(reason) => (None, Some(reason)),
        };
        ArrayDocument { array: &array.words, members: members.collect(), slowest, absent }
    });
    arrays.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::watch::sampler::{Sampler, Tracing, disks};
    use assay_machine::system::Fake;
    use assay_machine::system::devices::Counters;

    fn machine() -> Fake {
        let fake = Fake::new();
        for (at, name) in ["sda", "sdb"].into_iter().enumerate() {
            let text = format!(
                "link /sys/block/{name} /sys/devices/ata{at}/block/{name}\n\
                 link /sys/class/block/{name} /sys/devices/ata{at}/block/{name}\n\
                 file /sys/devices/ata{at}/block/{name}/dev 8:{}\n\
                 file /sys/devices/ata{at}/block/{name}/size 2048\n\
                 file /sys/fs/btrfs/0000/devices/{name}/dev 8:{}\n",
                16 * at,
                16 * at
            );
            fake.add(&text).unwrap();
        }
        fake
    }

    /// Returns the state after a second with 100 writes per disk in the given total times (milliseconds).
    fn state(fake: &Fake, took_ms: [u64; 2]) -> State {
        let stat = |writes: u64, ms: u64| {
            format!("0 0 0 0 {writes} 0 {} {ms} 0 {ms} {ms} 0 0 0 0 0 0\n", writes * 8)
        };
        let put = |at: usize, name: &str, text: String| {
            fake.put(format!("/sys/devices/ata{at}/block/{name}/stat"), text);
        };
        for (at, name) in ["sda", "sdb"].into_iter().enumerate() {
            put(at, name, stat(0, 0));
        }
        let found = disks::choose(fake, None).unwrap();
        let mut sampler = Sampler::new(fake, found, Tracing::Off("no".to_owned()));
        let mut state = State::begin(&mut sampler);
        fake.sleep(Duration::from_secs(1));
        for (at, name) in ["sda", "sdb"].into_iter().enumerate() {
            put(at, name, stat(100, took_ms[at]));
        }
        state.update(&mut sampler);
        state
    }

    #[test]
    fn a_slow_member_is_told_on_the_page_at_the_end_and_in_the_document() {
        let state = state(&machine(), [930, 3800]);
        let words = "slowest member: sdb, 38 ms per write, 4.09 times the median of the others";
        assert_eq!(sentences(&state, &state.whole), [format!("{words} (in btrfs of sda and sdb)")]);
        assert_eq!(warnings(&state), [words]);
        let printed = crate::watch::summary::render(&state);
        assert!(printed.contains("slowest member: sdb, 38 ms per write"), "{printed}");
        assert!(crate::watch::words::warnings(&state, None).contains(&words.to_owned()));
        let told = &crate::watch::document::document(&state)["members"][0];
        assert_eq!(
            (&told["slowest"]["device"], &told["slowest"]["is_slow"]),
            (&json!("sdb"), &json!(true))
        );
    }

    #[test]
    fn members_that_are_alike_are_said_to_be() {
        let state = state(&machine(), [930, 1100]);
        assert_eq!(
            sentences(&state, &state.whole),
            ["no slow member in btrfs of sda and sdb: the slowest is sdb, 11 ms per write, 1.18 \
              times the median of the others"]
        );
        assert!(warnings(&state).is_empty());
    }

    #[test]
    fn an_array_at_rest_or_watched_in_part_says_nothing() {
        let fake = machine();
        let state = state(&fake, [0, 0]);
        assert!(warnings(&state).is_empty());
        let one = disks::choose(&fake, Some("sda")).unwrap();
        assert!(arrays(&fake, &one).is_empty());
        let idle = slowest_of(&state.arrays[0], &state.last);
        assert!(idle.value().is_some_and(|one| !one.is_slow), "{idle:?}");
        let mut at_rest = state.last.clone();
        at_rest
            .disks
            .iter_mut()
            .for_each(|disk| disk.counters = Presence::Present(Counters::default()));
        assert!(slowest_of(&state.arrays[0], &at_rest).reason().unwrap().contains("32 reads"));
    }
}
