use assay_core::presence::Presence;
use assay_machine::system::execute::{Ending, HeardOutput, MemoryLimit};
use assay_machine::system::{Executed, Fake, System};

use super::child::{ChildCounters, ChildLine, ChildResult, read_held_memory};
use super::*;
use crate::measured::RunResult;
use crate::{PlannedWork as _, WorkloadSpec as _, testing};

const MIB: u64 = 1 << 20;

fn planned() -> MemoryPlan {
    MemorySpec::default().planned().unwrap()
}

fn counters(faults: u64, swapped: u64) -> ChildCounters {
    ChildCounters {
        major_faults: Presence::Present(faults),
        swapped: Presence::Present([swapped, 2 * swapped]),
        waited_ns: Presence::absent("no pressure here"),
    }
}

fn half_packed() -> HeldMemory {
    HeldMemory {
        resident_bytes: Presence::Present(300 * MIB),
        swapped_bytes: Presence::Present(276 * MIB),
        zram_original_bytes: 200 * MIB,
        zram_used_bytes: 100 * MIB,
        zswap_original_bytes: Presence::absent("this kernel has none"),
        zswap_used_bytes: Presence::absent("this kernel has none"),
        others_moved_bytes: Presence::Present(0),
        swap_cached_bytes: 0,
    }
}

fn done() -> ChildResult {
    ChildResult {
        window_ns: 1_000_000_000,
        cpu_ns: 400_000_000,
        waited_ns: None,
        fill_ns: 7,
        latency_ns: vec![(100, 900), (2_000_000, 1100)],
        before: counters(10, 100),
        after: counters(1110, 1200),
        held: half_packed(),
    }
}

fn executed(ending: Ending, lines: &[ChildLine], kills: Presence<u64>) -> Executed {
    let lines = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n");
    Executed {
        user_ns: 3,
        system_ns: 4,
        complaint: "assay: no memory".to_owned(),
        // The last line of a killed process may be incomplete.
        heard: HeardOutput::from((lines.collect::<String>() + "{\"fil").as_str()),
        memory_kills: kills,
        ..testing::executed(ending, 2_000_000_000)
    }
}

fn ran(planned: &MemoryPlan, executed: Executed) -> Result<RunResult, String> {
    let fake = Fake::new();
    fake.add("dir /proc\ndir /proc/self\nlink /proc/self/exe /usr/bin/assay").unwrap();
    let job = ChildJob { pages: planned.clone(), ramp_ns: 1, time_ns: 2, seed: 3 };
    let own = fake.read_link(std::path::Path::new("/proc/self/exe")).unwrap();
    let line = format!("{} hold-pages {}", own.display(), serde_json::to_string(&job).unwrap());
    fake.put_executions(&line, [executed]);
    planned.run(&run_on(&fake))
}

fn run_on(fake: &Fake) -> Run<'_> {
    Run { ramp_ns: 1, time_ns: 2, seed: 3, ..testing::run_on(fake, testing::NO_AREA, None) }
}

#[test]
fn what_the_process_says_becomes_numbers() {
    let lines =
        [ChildLine::Filled(576 * MIB), ChildLine::Touching, ChildLine::Done(Box::new(done()))];
    let ran = ran(&planned(), executed(Ending::Exited(0), &lines, Presence::Present(0))).unwrap();
    let value = |name: &str| planned().value(name, &ran.measured).unwrap();
    assert_eq!(value("accesses_per_s"), Ok(2000.0));
    assert_eq!(value("major_faults_per_access"), Ok(0.55));
    let page = Fake::new().page_bytes() as f64;
    assert_eq!(value("swapped_out_bytes_per_s"), Ok(2200.0 * page));
    assert_eq!(value("memory_pressure_full_share"), Err("no pressure here".to_owned()));
    assert_eq!(value("working_set_reached_bytes"), Ok((576 * MIB) as f64));
    assert_eq!(value("working_set_per_memory"), Ok(576.0 / 400.0));
    // 200 MiB at 2 : 1 plus 0.1%.
    let expected = value("working_set_per_memory_expected").unwrap();
    assert!((expected - 576.0 / 400.2).abs() < 1e-9, "{expected}");
    assert_eq!(value("oom_killed_share"), Ok(0.0));
    assert_eq!(ran.measured.operations(), 2000);
    assert_eq!(ran.measured.detail.cut_short(), None);
    assert_eq!(ran.histograms["access"].len(), 2000);
    assert_eq!(planned().value("iops", &ran.measured), None);
}

#[test]
fn a_process_that_was_killed_is_a_result_with_how_far_it_came() {
    let killed = |lines: &[ChildLine]| {
        let executed = executed(Ending::Signalled(9), lines, Presence::Present(1));
        ran(&planned(), executed).unwrap().measured
    };
    let filling = killed(&[ChildLine::Filled(100 * MIB), ChildLine::Filled(300 * MIB)]);
    let why = "ran out of memory with 300 MiB of 576 MiB";
    assert_eq!(filling.detail.cut_short().as_deref(), Some(why));
    assert_eq!(filling.values["working_set_reached_bytes"], (300 * MIB) as f64);
    assert_eq!(filling.values["oom_killed_share"], 1.0);
    let rate = planned().value("accesses_per_s", &filling);
    assert_eq!(rate, Some(Err(why.to_owned())));
    let touching = killed(&[ChildLine::Filled(576 * MIB), ChildLine::Touching]);
    let why = "ran out of memory after all 576 MiB were written";
    assert_eq!(touching.detail.cut_short().as_deref(), Some(why));
}

#[test]
fn who_was_killed_within_its_limit_held_what_it_reached_per_byte_of_it() {
    let held = |limit_mib: u64, lines: &[ChildLine]| {
        let limit = Some(MemoryLimit { bytes: limit_mib * MIB, may_swap: false });
        let planned = MemoryPlan { limit, ..planned() };
        let executed = executed(Ending::Signalled(9), lines, Presence::Present(1));
        let measured = ran(&planned, executed).unwrap().measured;
        planned.value("working_set_per_memory", &measured).unwrap().ok()
    };
    assert_eq!(held(320, &[ChildLine::Filled(300 * MIB)]), Some(300.0 / 320.0));
    // Compressed memory is unknown if it got further, and without any line.
    assert_eq!(held(256, &[ChildLine::Filled(300 * MIB)]), None);
    assert_eq!(held(256, &[]), None);
}

#[test]
fn who_was_ended_by_others_has_failed() {
    let other = executed(Ending::Signalled(9), &[], Presence::Present(0));
    let told = ran(&planned(), other).unwrap_err();
    assert_eq!(told, "the process with the test pages failed: no memory");
    let slow = executed(Ending::TimedOut, &[ChildLine::Filled(MIB)], Presence::Present(0));
    assert!(ran(&planned(), slow).unwrap_err().contains("too slow"));
}

#[test]
fn an_arm_without_swap_keeps_the_process_out_of_the_machines_own() {
    let mut asked = MemorySpec::default();
    asked.take(SWAP, "zram:lz4");
    assert!(asked.planned().unwrap().limit.unwrap().may_swap);
    asked.take(SWAP, NO_SWAP);
    let planned = asked.planned().unwrap();
    assert!(!planned.limit.unwrap().may_swap);
    assert!(
        planned.words().contains("under a limit of 384 MiB, without swap"),
        "{}",
        planned.words()
    );
    asked.memory_limit = Some(Bytes(64 << 20));
    assert_eq!(asked.planned().unwrap().set_bytes, 96 << 20);
}

#[test]
fn sets_and_skews_are_read_as_they_are_written() {
    for text in ["150%", "512 MiB"] {
        assert_eq!(text.parse::<SetSize>().unwrap().to_string(), text);
    }
    for text in ["0%", "much", "12.5%", "20000%"] {
        assert!(text.parse::<SetSize>().unwrap_err().contains("such as 150%"), "{text}");
    }
    assert!(SetSize::Percent(150).bytes(None).unwrap_err().contains("memory_limit"));
    for text in ["uniform", "zipf:0.9"] {
        assert_eq!(text.parse::<Skew>().unwrap().to_string(), text);
    }
    for text in ["zipf", "zipf:0", "zipf:9", "pareto"] {
        assert!(text.parse::<Skew>().unwrap_err().contains("zipf:0.9"), "{text}");
    }
}

#[test]
fn memory_of_zram_and_zswap_is_counted_with_what_is_resident() {
    let fake = Fake::new();
    fake.put("/proc/self/status", "Name: a\nRssAnon:\t  1024 kB\nVmSwap:\t 2048 kB\n");
    fake.put(
        "/proc/swaps",
        "Filename Type Size Used Priority\n/dev/zram3 partition 9 8 5\n/swap file 9 1 4\n",
    );
    fake.put("/sys/class/block/zram3/mm_stat", "2097152 900000 1048576 0 1048576 0 0 0 0\n");
    fake.put("/proc/meminfo", "MemTotal: 9 kB\nZswap: 512 kB\nZswapped: 1024 kB\n");
    let found = read_held_memory(&fake);
    assert_eq!(found.memory_bytes(), Presence::Present((1024 + 1024 + 512) << 10));
    assert_eq!(found.packed(), Some([3 << 20, 1536 << 10]));
}

/// A machine with this swap usage in MiB; the set has a part of it, and zram stores the rest.
fn holding(
    own_mib: u64,
    used_mib: u64,
    cached_mib: u64,
    zram_mib: [u64; 2],
    zswap_mib: u64,
) -> HeldMemory {
    let fake = Fake::new();
    fake.put(
        "/proc/self/status",
        format!("Name: a\nRssAnon:\t 65536 kB\nVmSwap:\t {} kB\n", own_mib * 1024),
    );
    fake.put("/proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 9 8 5\n");
    let [original, used] = zram_mib.map(|mib| mib * MIB);
    fake.put("/sys/class/block/zram0/mm_stat", format!("{original} 9 {used} 0 9 0 0 0 0\n"));
    fake.put(
        "/proc/meminfo",
        format!(
            "SwapTotal: 1048576 kB\nSwapFree: {} kB\nSwapCached: {} kB\nZswap: {} kB\nZswapped: {} kB\n",
            (1024 - used_mib) * 1024,
            cached_mib * 1024,
            zswap_mib * 512,
            zswap_mib * 1024
        ),
    );
    read_held_memory(&fake)
}

#[test]
fn swap_of_other_programs_is_not_the_sets() {
    // Others use 256 MiB in zram, compressed to 130 MiB; the set of 160 MiB has 96 MiB there.
    let before = holding(0, 256, 0, [256, 130], 0);
    let held = holding(96, 356, 4, [352, 178], 0).since(&before);
    assert_eq!(held.memory_bytes(), Presence::Present((64 + 48) * MIB));
    assert_eq!(held.packed(), Some([96 * MIB, 48 * MIB]));
    assert_eq!(held.others_moved_bytes, Presence::Present(0));
    // Read-ahead pages, and pages with a copy in swap, do not belong to others.
    for used in [352, 356] {
        let held = holding(96, used, 4, [352, 178], 0).since(&holding(0, 256, 0, [256, 130], 0));
        assert_eq!(held.others_moved_bytes, Presence::Present(0), "{used}");
    }
    // The same with zswap, and without zram in the kernel.
    let before = holding(0, 256, 0, [0, 0], 256);
    let held = holding(96, 352, 0, [0, 0], 352).since(&before);
    assert_eq!(held.memory_bytes(), Presence::Present((64 + 48) * MIB));
    // Others use none.
    let held = holding(96, 96, 0, [96, 48], 0).since(&holding(0, 0, 0, [0, 0], 0));
    assert_eq!(held.packed(), Some([96 * MIB, 48 * MIB]));
}

#[test]
fn others_pages_that_move_meanwhile_are_flagged() {
    let flagged = |used_mib: u64| {
        let before = holding(0, 256, 0, [256, 130], 0);
        let held = holding(96, used_mib, 0, [352, 178], 0).since(&before);
        let mut done = done();
        done.held = held;
        let planned = MemoryPlan { set_bytes: 160 * MIB, ..planned() };
        let lines = [ChildLine::Done(Box::new(done))];
        let ran = ran(&planned, executed(Ending::Exited(0), &lines, Presence::Present(0))).unwrap();
        let rule = MemorySpec::RULES[0];
        (rule.doubt)(&planned.into(), &[&ran.measured, &ran.measured])
    };
    assert_eq!(flagged(352), None);
    // 12 MiB are 5% of the set plus 4 MiB.
    assert_eq!(flagged(352 + 11), None);
    let came = flagged(352 + 13).unwrap();
    assert_eq!(came.what, "other programs moved 13 MiB to or from swap during the measurement");
    assert_eq!((came.trials, came.invalid), (2, false));
    assert!(flagged(352 - 11).is_none() && flagged(352 - 13).is_some());
}

#[test]
fn a_set_that_holds_little_more_than_the_process_is_refused() {
    let of = |set: &str, limit: Option<u64>| {
        let set = set.parse().unwrap();
        let asked =
            MemorySpec { working_set: set, memory_limit: limit.map(Bytes), ..Default::default() };
        asked.planned().map(|own| own.set_bytes)
    };
    assert_eq!(of("16 MiB", None), Ok(16 * MIB));
    let told = of("16777215 B", None).unwrap_err();
    assert!(told.ends_with("is too small; use at least 16 MiB"), "{told}");
    // Whole pages on any machine: multiples of 64 KiB.
    assert_eq!(of("33%", Some(100 * MIB)), Ok(33 * MIB));
    assert_eq!(of("33%", Some(100 * MIB + 65_536)), Ok(33 * MIB));
    assert_eq!(of("10000%", Some(MIB)), Ok(100 * MIB));
    assert!("10001%".parse::<SetSize>().is_err() && "1%".parse::<SetSize>().is_ok());
    assert_eq!("zipf:4".parse(), Ok(Skew::Zipf(4.0)));
    assert!("zipf:4.1".parse::<Skew>().is_err());
    assert_eq!([Skew::Uniform, Skew::Zipf(0.9)].map(Skew::exponent), [0.0, 0.9]);
}

#[test]
fn a_trial_has_a_fifth_of_its_time_before_it() {
    let settled = |time, ramp| {
        let mut own = MemorySpec { runtime: time, ramp_time: ramp, ..Default::default() };
        own.settle();
        [own.runtime, own.ramp_time].map(|own| own.unwrap().0)
    };
    assert_eq!(settled(None, None), [3_000_000_000, 600_000_000]);
    assert_eq!(settled(Some(Time(50)), None), [50, 10]);
    assert_eq!(settled(Some(Time(50)), Some(Time(1))), [50, 1]);
    let hurried = |time, ramp| {
        let mut own = MemorySpec { runtime: time, ramp_time: ramp, ..Default::default() };
        own.make_quick(None);
        [own.time(), own.ramp()].map(|own| own.unwrap().0)
    };
    assert_eq!(hurried(None, None), [600_000_000, 120_000_000]);
    assert_eq!(hurried(Some(Time(50)), Some(Time(3))), [50, 3]);
    assert_eq!(hurried(Some(TRIAL), Some(TRIAL)), [600_000_000, 120_000_000]);
    let mut own = MemorySpec::default();
    own.set_span(Some(Time(8)), Some(Time(9)));
    assert_eq!((own.time(), own.ramp()), (Some(Time(8)), Some(Time(9))));
}

#[test]
fn costs_are_those_of_a_process_with_a_limit_or_without() {
    let work = |memory_limit| crate::Work::from(MemorySpec { memory_limit, ..Default::default() });
    let own = MemorySpec::default();
    assert!(own.costs_like(&work(Some(Bytes(1)))) && !own.costs_like(&work(None)));
    let free = MemorySpec { memory_limit: None, ..Default::default() };
    assert!(free.costs_like(&work(None)) && !free.costs_like(&work(Some(Bytes(1)))));
}

#[test]
fn where_the_kernel_counts_no_kills_a_signal_under_a_limit_is_one() {
    let uncounted = || Presence::absent("version 1");
    let of = |planned: &MemoryPlan, ending| ran(planned, executed(ending, &[], uncounted()));
    let killed = of(&planned(), Ending::Signalled(9)).unwrap();
    assert_eq!(killed.measured.values["oom_killed_share"], 1.0);
    assert!(of(&planned(), Ending::Signalled(15)).is_err());
    let free = MemoryPlan { limit: None, ..planned() };
    assert!(of(&free, Ending::Signalled(9)).is_err(), "nothing but the user ends it");
}

#[test]
fn a_process_that_was_stopped_or_said_nothing_is_told_apart() {
    let stopped = executed(Ending::Stopped, &[ChildLine::Filled(MIB)], Presence::Present(0));
    let stopped = ran(&planned(), stopped).unwrap();
    assert!(stopped.stopped);
    let measured = &stopped.measured;
    assert_eq!((measured.cpu_ns, measured.elapsed_ns), (7, 2_000_000_000));
    assert_eq!(measured.values["working_set_reached_bytes"], MIB as f64);
    assert_eq!(measured.values["oom_killed_share"], 0.0);
    assert_eq!(measured.absent["accesses_per_s"], "it was stopped");
    let silent = executed(Ending::Exited(0), &[ChildLine::Touching], Presence::Present(0));
    let told = ran(&planned(), silent).unwrap_err();
    assert_eq!(told, "the process with the test pages reported no result");
}

#[test]
fn all_that_a_process_says_has_its_metric() {
    let mut own = done();
    own.before.waited_ns = Presence::Present([0, 100]);
    own.after.waited_ns = Presence::Present([250_000_000, 5_000_000_100]);
    own.waited_ns = Some(9);
    let lines = [ChildLine::Done(Box::new(own))];
    let ran = ran(&planned(), executed(Ending::Exited(0), &lines, Presence::Present(0))).unwrap();
    let measured = &ran.measured;
    assert_eq!(measured.values["memory_pressure_some_share"], 0.25);
    assert_eq!(measured.values["memory_pressure_full_share"], 1.0, "never more than all of it");
    assert_eq!(measured.values["access_cpu_ns"], 200_000.0);
    let page = Fake::new().page_bytes() as f64;
    assert_eq!(measured.values["swapped_in_bytes_per_s"], 1100.0 * page);
    assert_eq!((measured.window_ns, measured.cpu_ns), (1_000_000_000, 400_000_000));
    assert_eq!((measured.waited_ns, measured.elapsed_ns), (Some(9), 2_000_000_000));
    assert!(!ran.stopped);
    // Without accesses there is no mean, and no negative count.
    let mut none = done();
    none.latency_ns.clear();
    none.after.major_faults = Presence::Present(0);
    let lines = [ChildLine::Done(Box::new(none))];
    let ran = self::ran(&planned(), executed(Ending::Exited(0), &lines, Presence::Present(0)));
    let measured = ran.unwrap().measured;
    assert_eq!(measured.absent["access_cpu_ns"], "no page was accessed");
    assert_eq!(measured.values["major_faults_per_access"], 0.0);
    assert!(measured.absent["access_p50_ns"].ends_with("accesses per trial, but had only 0"));
}

#[test]
fn nothing_is_packed_below_a_mebibyte() {
    let held = |original, used| HeldMemory {
        zram_original_bytes: original,
        zram_used_bytes: used,
        ..half_packed()
    };
    assert_eq!(held(MIB, 1).packed(), Some([MIB, 1]));
    assert_eq!([held(MIB - 1, 1).packed(), held(MIB, 0).packed()], [None, None]);
    let mut own = done();
    own.held = held(0, 0);
    let lines = [ChildLine::Done(Box::new(own))];
    let ran = ran(&planned(), executed(Ending::Exited(0), &lines, Presence::Present(0))).unwrap();
    let told = planned().value("working_set_per_memory_expected", &ran.measured);
    assert_eq!(told, Some(Err("no compressed pages in memory".to_owned())));
}

#[test]
fn a_pilot_holds_a_set_that_fits() {
    let fake = Fake::new();
    fake.add("dir /proc\ndir /proc/self\nlink /proc/self/exe /usr/bin/assay").unwrap();
    let pages = MemoryPlan { set_bytes: 4 * MIB, ..planned() };
    let job = ChildJob { pages, ramp_ns: 0, time_ns: 20_000_000, seed: 3 };
    let line = format!("/usr/bin/assay hold-pages {}", serde_json::to_string(&job).unwrap());
    let pilot = |executed: Executed| {
        fake.put_executions(&line, [executed]);
        MemorySpec::default().pilot(&run_on(&fake))
    };
    let lines = [ChildLine::Done(Box::new(done()))];
    let well = executed(Ending::Exited(0), &lines, Presence::Present(0));
    assert_eq!(pilot(well), Ok(Some(500_000)), "a second over 2000 accesses");
    let killed = executed(Ending::Signalled(9), &[ChildLine::Filled(MIB)], Presence::Present(1));
    let told = pilot(killed).unwrap_err();
    assert_eq!(told, "ran out of memory with 1 MiB of 4 MiB");
}

#[test]
fn who_is_killed_before_the_first_step_has_reached_nothing() {
    let killed = executed(Ending::Signalled(9), &[], Presence::Present(1));
    let measured = ran(&planned(), killed).unwrap().measured;
    assert_eq!(measured.values["working_set_reached_bytes"], 0.0);
    let why = "ran out of memory with 0 B of 576 MiB";
    assert_eq!(measured.detail.cut_short().as_deref(), Some(why));
}
