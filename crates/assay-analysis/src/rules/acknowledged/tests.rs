use assay_core::presence::Presence;
use assay_core::quantity::Bytes;
use assay_machine::system::site::TargetKind;
use assay_study::findings::Trust;
use assay_workloads::io::WriteSync;

use super::super::testing::{Bench, counted, drive, io_of, measured, site};
use super::*;

/// Random 4 KiB writes, one after the other, each synced, with these latencies in microseconds.
fn synced(us: [u64; 3]) -> Bench {
    let one = |io: &mut io::IoPlan| {
        (io.queue_depth, io.asked_depth) = (1, 1);
        io.sync = WriteSync::EachWrite;
    };
    Bench::write().io(one).each(move |trial| {
        let us = us[trial.replicate as usize - 1];
        measured(trial).window_ns = 800_000_000;
        counted(trial).classes.get_mut("write").unwrap().operations = 800_000 / us;
    })
}

fn lent(bench: Bench, cache: &str) -> Bench {
    bench.site(|site| {
        let own = &mut site.drives[0];
        own.bus = Presence::Present("virtio".to_owned());
        own.link = Presence::absent("a virtual disk has no link");
        // As the kernel reports QEMU's drives.
        own.rotational = Presence::Present(true);
        own.write_cache = Presence::Present(cache.to_owned());
    })
}

fn turning(bench: Bench, bus: &str, turns: Option<u64>) -> Bench {
    bench.site(|site| {
        let own = &mut site.drives[0];
        own.bus = Presence::Present(bus.to_owned());
        own.rotational = Presence::Present(true);
        own.rpm = Presence::from_option(turns, "the drive does not report its rotation rate");
    })
}

fn told(bench: &Bench) -> Option<String> {
    let remark = bench.judge(&RULE)?;
    assert_eq!(remark.trust, Trust::Trusted, "it takes no trust away");
    assert_eq!(bench.disturbances(&RULE), [None, None, None]);
    Some(remark.text)
}

#[test]
fn a_lent_drive_that_is_faster_than_flash_is_told_whatever_it_announces() {
    let text = told(&lent(synced([30, 31, 32]), "write through")).unwrap();
    assert!(text.starts_with("a cache acknowledges syncs: one completes every 31 us"), "{text}");
    assert!(
        text.contains("programs a page in 75 us: the host of sda, which announces no"),
        "{text}"
    );
    assert!(text.ends_with("power-loss protection is unknown"), "{text}");
    let back = told(&lent(synced([30, 31, 32]), "write back")).unwrap();
    assert!(back.contains("which announces a cache"), "{back}");
}

#[test]
fn a_lent_drive_that_may_wait_for_flash_is_not() {
    assert_eq!(told(&lent(synced([105, 107, 110]), "write through")), None);
    // Below the limit on average, but not significantly.
    assert_eq!(told(&lent(synced([30, 31, 200]), "write through")), None);
    assert_eq!(told(&lent(synced([70, 71, 72]), "write through")), None, "too near to it");
    // One of the two drives is local.
    let mixed = lent(synced([30, 31, 32]), "write through");
    assert_eq!(told(&mixed.site(|site| site.drives.push(drive()))), None);
}

#[test]
fn a_disk_that_is_faster_than_it_turns_is_told() {
    let text = told(&turning(synced([400, 410, 420]), "sata", Some(7_200))).unwrap();
    assert!(
        text.contains("at 7,200 rpm, the disk reaches a random position on average after 4.17 ms"),
        "{text}"
    );
    assert!(text.contains("a cache (memory, flash or reserved tracks)"), "{text}");
}

/// A virtual disk, a flash array behind a controller, a stick, and a disk under an old kernel look the same.
#[test]
fn what_calls_itself_a_disk_and_tells_no_rate_is_accused_of_nothing() {
    for bus in ["sata", "scsi", "usb"] {
        assert_eq!(told(&turning(synced([400, 410, 420]), bus, None)), None, "{bus}");
        assert_eq!(told(&turning(synced([40, 41, 42]), bus, None)), None, "{bus}");
        assert!(told(&turning(synced([400, 410, 420]), bus, Some(15_000))).is_some(), "{bus}");
    }
    let zero = turning(synced([400, 410, 420]), "sata", Some(0));
    assert_eq!(told(&zero), None);
}

#[test]
fn disks_that_take_turns_wait_for_their_share_of_one() {
    let line = |us: u64, disks: usize| {
        let bench = turning(synced([us, us + 10, us + 20]), "sata", Some(7_200));
        let bench = bench.io(|io| io.pattern = Pattern::Sequential);
        bench.site(|site| site.drives = vec![site.drives[0].clone(); disks])
    };
    // A revolution takes 8.33 ms.
    assert!(told(&line(5_000, 1)).is_some());
    assert_eq!(told(&line(5_000, 2)), None, "one write of two is on either");
    let text = told(&line(3_000, 2)).unwrap();
    assert!(
        text.contains("one of the disks reaches its next position after 4.17 ms: the disks"),
        "{text}"
    );
    // Random sectors have to pass the head on any disk.
    let random = line(3_000, 4).io(|io| io.pattern = Pattern::Random);
    assert!(told(&random).is_some());
    // Large writes reach the ends of tracks, where the next one starts early.
    let large = line(400, 1).io(|io| io.block_size = Bytes(256 << 10).into());
    assert_eq!(told(&large), None);
}

#[test]
fn what_platters_can_do_is_not() {
    let at = |us: u64| turning(synced([us, us + 10, us + 20]), "sata", Some(7_200));
    // A short seek and half a revolution.
    assert_eq!(told(&at(5_000)), None);
    assert!(told(&at(3_600)).is_some());
    // The next sequential sector takes a whole revolution.
    let line = |us| at(us).io(|io| io.pattern = Pattern::Sequential);
    assert!(told(&line(5_000)).is_some());
    assert_eq!(told(&line(8_300)), None);
    assert_eq!(told(&at(400).io(|io| io.pattern = Pattern::Stride)), None, "it may fit the turn");
    // One of the drives does not rotate.
    let beside = at(400).site(|site| site.drives.push(drive()));
    assert_eq!(told(&beside), None);
}

#[test]
fn memory_is_told_at_any_speed() {
    let slow = || synced([20_000, 21_000, 22_000]);
    let files = slow().site(|site| site.backing = Backing::Memory);
    let text = told(&files).unwrap();
    assert!(text.starts_with("volatile memory acknowledges syncs: "), "{text}");
    let of_loop = slow().site(|site| site.backing_reason = Some(LOOP_IN_MEMORY.to_owned()));
    assert!(told(&of_loop).unwrap().ends_with(LOOP_IN_MEMORY));
    for bus in ["zram", "ram"] {
        let of_memory = |site: &mut Site| site.drives[0].bus = Presence::Present(bus.to_owned());
        assert!(told(&slow().site(of_memory)).unwrap().ends_with("sda is a RAM disk"));
    }
    assert_eq!(told(&slow()), None);
    let simulated = files.site(|site| site.kind = TargetKind::Simulated);
    assert_eq!(told(&simulated), None);
}

#[test]
fn what_is_not_synced_or_not_alone_promises_nothing() {
    let fast = || lent(synced([30, 31, 32]), "write through");
    assert!(told(&fast()).is_some());
    assert_eq!(told(&fast().io(|io| io.sync = WriteSync::None)), None);
    // With several writes in flight, one flush may serve all of them.
    assert_eq!(told(&fast().io(|io| io.queue_depth = 4)), None);
    assert_eq!(told(&fast().emulated("qemu tcg")), None);
    let mut two = fast();
    two.trials.pop();
    let one_fewer = two.with_case(|case| RULE.judge(case));
    assert_eq!(one_fewer, None, "two trials have no interval");
    // A sync after every fourth write is four times as rare.
    assert_eq!(told(&fast().io(|io| io.sync = WriteSync::EachNth(4))), None);
}

/// A drive without a cache looks the same as one with a protected cache.
#[test]
fn of_a_drive_of_this_machine_one_row_says_nothing() {
    let own = |cache: &str| {
        let cache = Presence::Present(cache.to_owned());
        told(&synced([20, 21, 22]).site(|site| site.drives[0].write_cache = cache))
    };
    assert_eq!(own("write through"), None);
    assert_eq!(own("write back"), None);
}

fn times(us: [f64; 3]) -> WriteTimes {
    WriteTimes { each_ns: us.iter().map(|us| us * 1e3).collect() }
}

#[test]
fn a_sync_that_costs_nothing_though_a_cache_is_announced_is_told_by_intervals() {
    let of = |synced: [f64; 3], bare: [f64; 3]| costless("sda", &times(synced), &times(bare));
    let remark = of([20.0, 20.2, 20.4], [19.8, 20.0, 20.2]).unwrap();
    assert_eq!(remark.trust, Trust::Trusted);
    assert!(
        remark.text.contains("programs a page in 75 us. sda announces a volatile"),
        "{}",
        remark.text
    );
    assert!(remark.text.contains("the medium may be fast nonvolatile memory"), "{}", remark.text);
    // A slow flush, a possibly slow flush, and slow writes.
    assert_eq!(of([900.0, 910.0, 920.0], [19.8, 20.0, 20.2]), None);
    assert_eq!(of([20.0, 30.0, 20.4], [19.8, 20.0, 14.0]), None);
    assert_eq!(of([400.0, 402.0, 404.0], [398.0, 400.0, 402.0]), None);
    let few = WriteTimes { each_ns: vec![20e3, 20.1e3] };
    assert_eq!(costless("sda", &times([20.0, 20.2, 20.4]), &few), None);
}

#[test]
fn only_drives_of_this_machine_that_announce_a_cache_are_asked() {
    assert_eq!(cached_flash(&site()).map(|drive| drive.name.as_str()), Some("sda"));
    let other = |change: fn(&mut Site)| {
        let mut own = site();
        change(&mut own);
        cached_flash(&own).is_some()
    };
    let through = Presence::Present("write through".to_owned());
    let mut own = site();
    own.drives[0].write_cache = through;
    assert!(cached_flash(&own).is_none());
    assert!(!other(|site| site.drives.clear()));
    assert!(!other(|site| site.drives[0].rotational = Presence::Present(true)));
    assert!(!other(|site| site.drives[0].bus = Presence::Present("zram".to_owned())));
    // The kernel reports no bus for persistent memory.
    assert!(!other(|site| site.drives[0].bus = Presence::absent("not told")));
    assert!(other(|site| site.drives[0].bus = Presence::Present("nvme".to_owned())));
    assert!(!other(|site| {
        site.drives[0].bus = Presence::Present("virtio".to_owned());
        site.drives[0].link = Presence::absent("none");
    }));
}

#[test]
fn work_that_waits_or_reads_or_trims_is_not_one_write_after_the_other() {
    assert!(one_by_one(&synced([30; 3]).workload).is_some());
    assert!(one_by_one(&Bench::write().workload).is_none(), "32 in flight");
    assert!(one_by_one(&Bench::files().workload).is_none());
    let mut mixed = Bench::mixed();
    io_of(&mut mixed.workload).queue_depth = 1;
    assert!(one_by_one(&mixed.workload).is_none());
    let held = synced([30; 3]).io(|io| io.think_time = Some("1 ms".parse().unwrap()));
    assert!(one_by_one(&held.workload).is_none());
}
