use crate::system::Fake;

use super::*;
use crate::probes::block_latency::counts::ClassSpan;

const SDA: DeviceNumber = DeviceNumber { major: 8, minor: 0 };
const SDB: DeviceNumber = DeviceNumber { major: 8, minor: 16 };

/// A machine with a disk of two partitions and another disk.
fn machine() -> Fake {
    let fake = Fake::new();
    let disk = |name: &str, number: &str| {
        let home = format!("/sys/devices/pci/block/{name}");
        format!(
            "link /sys/class/block/{name} {home}\nfile {home}/dev {number}\nfile {home}/diskseq 7\n"
        )
    };
    let home = "/sys/devices/pci/block/sda/sda1";
    let part = format!(
        "link /sys/class/block/sda1 {home}\nfile {home}/dev 8:1\nfile {home}/partition 1\n"
    );
    fake.add(&(disk("sda", "8:0") + &disk("sdb", "8:16") + &part)).unwrap();
    fake
}

fn site(shared: &[&str]) -> Site {
    Site {
        kind: TargetKind::Directory,
        shared: shared.iter().map(|name| (*name).to_owned()).collect(),
        ..Site::simulated("/home/me")
    }
}

/// Counts of several devices: this many reads of each.
fn totals(reads: &[u64]) -> BlockTotals {
    let mut totals = BlockTotals::default();
    for reads in reads {
        let mut device = assay_sys::DeviceTotals::default();
        device[0].requests = *reads;
        device[0].bytes = reads * 4096;
        totals.devices.push(device);
    }
    totals
}

fn trial(tracer: &mut TracerProbe, fake: &Fake, site: &Site) -> Presence<BlockLatency> {
    tracer.prepare(fake, site);
    let before = tracer.read_before(fake).unwrap();
    fake.sleep(std::time::Duration::from_millis(2));
    tracer.finish(fake, &before)
}

fn reads(seen: &Presence<BlockLatency>, disk: &str) -> u64 {
    let classes = seen.value().unwrap().devices[disk].value().unwrap();
    classes.get("read").map_or(0, |span: &ClassSpan| span.requests)
}

#[test]
fn requests_of_a_partition_are_its_disks_and_only_what_grew_is_told() {
    let fake = machine();
    let readings = vec![Ok(totals(&[5])), Ok(totals(&[12])), Ok(totals(&[12]))];
    fake.traces(TraceMeans::Bpf, Ok(readings));
    let mut tracer = TracerProbe::default();
    let site = site(&["sda1", "sda"]);
    let first = trial(&mut tracer, &fake, &site);
    assert_eq!(reads(&first, "sda"), 7);
    assert_eq!(first.value().unwrap().span_ns, 2_000_000);
    assert_eq!(first.value().unwrap().means, Means::Bpf);
    assert_eq!(reads(&trial(&mut tracer, &fake, &site), "sda"), 0);
    assert_eq!(fake.traced(), [(TraceMeans::Bpf, vec![SDA])], "attached once");
}

#[test]
fn a_kernel_without_btf_is_read_through_its_trace() {
    let fake = machine();
    fake.traces(TraceMeans::Bpf, Err("this kernel has no BTF".to_owned()));
    fake.traces(TraceMeans::Tracefs, Ok(vec![Ok(totals(&[0])), Ok(totals(&[3]))]));
    let seen = trial(&mut TracerProbe::default(), &fake, &site(&["sda"]));
    assert_eq!(reads(&seen, "sda"), 3);
    assert_eq!(seen.value().unwrap().means, Means::Tracefs);
    let notes = &seen.value().unwrap().notes;
    assert!(notes[0].contains("BPF: this kernel has no BTF"), "{notes:?}");
}

#[test]
fn where_nothing_is_possible_both_reasons_are_told_and_nobody_insists() {
    let fake = machine();
    fake.traces(TraceMeans::Bpf, Err("this kernel has no BTF".to_owned()));
    fake.traces(TraceMeans::Tracefs, Err("tracefs is not mounted".to_owned()));
    let mut tracer = TracerProbe::default();
    for _ in 0..3 {
        let seen = trial(&mut tracer, &fake, &site(&["sda"]));
        let both = "BPF: this kernel has no BTF; tracefs: tracefs is not mounted";
        assert_eq!(seen.reason(), Some(both));
    }
    assert_eq!(fake.traced().len(), 2);
}

#[test]
fn lost_events_make_the_reading_absent() {
    let fake = machine();
    let lost = BlockTotals { lost_events: 40, ..totals(&[9]) };
    let more = BlockTotals { lost_events: 47, ..totals(&[11]) };
    fake.traces(
        TraceMeans::Tracefs,
        Ok(vec![Ok(totals(&[0])), Ok(lost.clone()), Ok(lost), Ok(more)]),
    );
    let mut tracer = TracerProbe::default();
    let site = site(&["sda"]);
    let reason = |seen: &Presence<BlockLatency>| seen.reason().unwrap_or_default().to_owned();
    assert!(
        reason(&trial(&mut tracer, &fake, &site)).starts_with("40 events were lost: more requests")
    );
    assert!(reason(&trial(&mut tracer, &fake, &site)).starts_with("7 events were lost"));
}

#[test]
fn a_few_that_a_program_missed_are_told_and_many_make_it_absent() {
    let fake = machine();
    let missed = |lost_events, reads| Ok(BlockTotals { lost_events, ..totals(&[reads]) });
    let readings = vec![missed(0, 0), missed(5, 500), missed(5, 500), missed(11, 1_000)];
    fake.traces(TraceMeans::Bpf, Ok(readings));
    let mut tracer = TracerProbe::default();
    let site = site(&["sda"]);
    let few = trial(&mut tracer, &fake, &site);
    assert_eq!(reads(&few, "sda"), 500);
    assert!(few.value().unwrap().notes[0].starts_with("5 events were lost"), "{few:?}");
    let many = trial(&mut tracer, &fake, &site);
    assert!(many.reason().unwrap().starts_with("6 events were lost"), "{many:?}");
}

#[test]
fn what_was_lost_before_a_trial_is_not_held_against_it() {
    let fake = machine();
    let early = BlockTotals { lost_events: 40, ..totals(&[9]) };
    let later = BlockTotals { lost_events: 40, ..totals(&[11]) };
    fake.traces(TraceMeans::Bpf, Ok(vec![Ok(early), Ok(later)]));
    assert_eq!(reads(&trial(&mut TracerProbe::default(), &fake, &site(&["sda"])), "sda"), 2);
}

#[test]
fn a_device_that_goes_away_is_absent_and_the_others_are_not() {
    let fake = machine();
    fake.traces(TraceMeans::Bpf, Ok(vec![Ok(totals(&[0, 0])), Ok(totals(&[2, 4]))]));
    let mut tracer = TracerProbe::default();
    tracer.prepare(&fake, &site(&["sda", "sdb"]));
    let before = tracer.read_before(&fake).unwrap();
    // Another disk under the old name and number.
    fake.put("/sys/devices/pci/block/sda/diskseq", "8\n");
    let seen = tracer.finish(&fake, &before);
    assert_eq!(reads(&seen, "sdb"), 4);
    let gone = seen.value().unwrap().devices["sda"].reason().unwrap().to_owned();
    assert_eq!(gone, "the device disappeared during the trial");
}

#[test]
fn a_right_that_is_lost_half_way_costs_that_trial_alone() {
    let fake = machine();
    let lost: Result<BlockTotals, String> = Err("Operation not permitted".to_owned());
    fake.traces(TraceMeans::Bpf, Ok(vec![Ok(totals(&[0])), lost.clone()]));
    fake.traces(TraceMeans::Bpf, Ok(vec![lost]));
    fake.traces(TraceMeans::Bpf, Ok(vec![Ok(totals(&[1])), Ok(totals(&[6]))]));
    let mut tracer = TracerProbe::default();
    let site = site(&["sda"]);
    for _ in 0..2 {
        let seen = trial(&mut tracer, &fake, &site);
        assert!(seen.reason().unwrap().ends_with("Operation not permitted"), "{seen:?}");
    }
    assert_eq!(reads(&trial(&mut tracer, &fake, &site), "sda"), 5);
}

#[test]
fn targets_that_take_turns_are_watched_together() {
    let fake = machine();
    fake.traces(TraceMeans::Bpf, Ok(vec![Ok(totals(&[0])), Ok(totals(&[1]))]));
    let both =
        vec![Ok(totals(&[0, 0])), Ok(totals(&[3, 4])), Ok(totals(&[3, 4])), Ok(totals(&[8, 9]))];
    fake.traces(TraceMeans::Bpf, Ok(both));
    let mut tracer = TracerProbe::default();
    let (one, other) = (site(&["sda"]), site(&["sdb"]));
    assert_eq!(reads(&trial(&mut tracer, &fake, &one), "sda"), 1);
    let seen = trial(&mut tracer, &fake, &other);
    assert_eq!(reads(&seen, "sdb"), 3);
    assert_eq!(seen.value().unwrap().devices.len(), 1, "only the target's own");
    assert_eq!(reads(&trial(&mut tracer, &fake, &one), "sda"), 5);
    let asked: Vec<_> = fake.traced().into_iter().map(|(_, devices)| devices).collect();
    assert_eq!(asked, [vec![SDA], vec![SDB, SDA]]);
}

#[test]
fn nothing_is_said_where_nobody_asked() {
    assert!(TracerProbe::default().read_before(&machine()).is_none());
}

#[test]
fn simulated_targets_and_those_without_devices_are_absent() {
    let fake = machine();
    let mut tracer = TracerProbe::default();
    let reason = |seen: Presence<BlockLatency>| seen.reason().unwrap().to_owned();
    assert_eq!(reason(trial(&mut tracer, &fake, &Site::simulated("x"))), "simulated");
    let none = reason(trial(&mut tracer, &fake, &site(&[])));
    assert_eq!(none, "no known block device below the target");
    assert_eq!(reason(trial(&mut tracer, &fake, &site(&["sdz"]))), "sdz does not exist");
    assert!(fake.traced().is_empty());
}

#[test]
fn the_head_of_several_paths_is_absent() {
    let fake = machine();
    let home = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
    fake.add(&format!("link /sys/class/block/nvme0n1 {home}\nfile {home}/dev 259:0\n")).unwrap();
    let seen = trial(&mut TracerProbe::default(), &fake, &site(&["nvme0n1"]));
    assert!(seen.reason().unwrap().contains("paths"), "{seen:?}");
}
