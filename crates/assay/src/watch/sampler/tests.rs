use std::io;

use super::*;
use crate::watch::State;
use crate::watch::testing::{
    article, machine, nothing, program, state_after, state_untraced, tracing,
};
use crate::watch::words::percent;
use assay_machine::system::{Fake, TraceMeans};

fn classes(state: &State) -> &Presence<BTreeMap<String, ClassSpan>> {
    &state.disk(0).classes
}

#[test]
fn a_span_is_the_difference_of_two_readings() {
    let state = crate::watch::testing::state();
    let span = &state.whole;
    let disk = state.disk(0);
    let counters = disk.counters.value().unwrap();
    assert_eq!((disk.name.as_str(), span.span_ns), ("loop3", 10_000_000_000));
    assert_eq!((counters.reads_completed, counters.flushes_completed), (6123, 37));
    assert_eq!(
        (span.per_s(counters.reads_completed), percent(span.busy(counters))),
        (612.3, "91%".to_owned())
    );
    assert_eq!(span.queue(counters), 8.3);
    let read = &classes(&state).value().unwrap()["read"];
    assert_eq!((read.requests, read.bytes), (8131, 8131 * 8192));
    let load = span.load().unwrap();
    assert_eq!((load.busy(), load.iowait, load.steal), (0.21, 0.05, 0.04));
    assert_eq!(span.pressure.value().unwrap().io, 0.56);
}

#[test]
fn programs_are_told_with_the_disks_that_they_have_open() {
    let state = crate::watch::testing::state();
    let users = &state.last.users.busiest;
    assert_eq!((users[0].name.as_str(), users[0].pid), ("fio", 4123));
    assert_eq!(
        (users[0].written_bytes, users[0].on.as_slice()),
        (351_232_000, &["loop3".to_owned()][..])
    );
    assert_eq!((users[1].name.as_str(), users[1].on.len()), ("rsync", 0));
}

#[test]
fn an_id_that_is_used_again_is_another_program() {
    let fake = machine();
    program(&fake, 77, "old", 9000, 9000);
    let mut watcher = users::Watcher::new(&fake, &[]);
    assert!(watcher.active_programs(&fake).busiest.is_empty());
    program(&fake, 77, "new", 500, 0);
    let found = watcher.active_programs(&fake).busiest;
    assert_eq!((found[0].name.as_str(), found[0].read_bytes), ("new", 500));
}

#[test]
fn classes_that_cannot_be_seen_are_absent_with_the_reason() {
    let reason = |state: &State| classes(state).reason().map(str::to_owned).unwrap();
    assert!(reason(&state_untraced()).contains("not permitted"));
    let lost = BlockTotals { lost_events: 700, ..article() };
    let state = state_after(&machine(), tracing(vec![Ok(nothing()), Ok(lost)]));
    assert!(reason(&state).contains("700 events were lost"));
    let gone = Err(io::Error::from(io::ErrorKind::PermissionDenied));
    let state = state_after(&machine(), tracing(vec![Ok(nothing()), gone]));
    assert_eq!(reason(&state), "tracing stopped: not permitted");
    assert!(state.disk(0).counters.value().is_some(), "the rates go on");
}

#[test]
fn a_few_events_that_a_program_missed_are_told_and_cost_nothing() {
    let lost = BlockTotals { lost_events: 7, ..article() };
    let state = state_after(&machine(), tracing(vec![Ok(nothing()), Ok(lost)]));
    assert_eq!(classes(&state).value().unwrap()["read"].requests, 8131);
    assert!(state.whole.notes[0].starts_with("7 events were lost"), "{:?}", state.whole.notes);
}

#[test]
fn a_trace_that_stands_in_for_a_program_says_why() {
    let fake = machine();
    fake.traces(TraceMeans::Bpf, Err("cannot trace 65 devices; the maximum is 64".to_owned()));
    fake.traces(TraceMeans::Tracefs, Ok(vec![Ok(nothing()), Ok(article())]));
    let disks = disks::choose(&fake, None).unwrap();
    let state = state_after(&fake, Tracing::begin(&fake, &disks));
    assert_eq!(state.whole.means, Some(Means::Tracefs));
    let notes = &state.whole.notes;
    assert!(notes[0].contains("cannot trace 65 devices; the maximum is 64"), "{notes:?}");
}

#[test]
fn the_head_of_several_paths_is_absent_and_a_path_is_refused() {
    let fake = machine();
    let home = "/sys/devices/virtual/nvme-subsystem/nvme-subsys1/nvme1n1";
    let path = "/sys/devices/pci0000:00/nvme/nvme1/nvme1c1n1";
    fake.add(&format!(
        "link /sys/block/nvme1n1 {home}\nlink /sys/class/block/nvme1n1 {home}\n\
         file {home}/dev 259:7\nfile {home}/size 2048\n\
         link /sys/class/block/nvme1c1n1 {path}\nfile {path}/size 2048\n"
    ))
    .unwrap();
    let three = |totals: BlockTotals| {
        let mut totals = totals;
        totals.devices.push(Default::default());
        Ok(totals)
    };
    let all = tracing(vec![three(nothing()), three(article())]);
    let state = state_after(&fake, all);
    let head = state.whole.disks.iter().find(|disk| disk.name == "nvme1n1").unwrap();
    assert!(head.classes.reason().unwrap().contains("paths"), "{:?}", head.classes);
    assert!(classes(&state).value().is_some(), "the others are seen");

    let alone = disks::choose(&fake, Some("nvme1n1")).unwrap();
    let Tracing::Off(reason) = Tracing::begin(&fake, &alone) else { panic!("it traces") };
    assert!(reason.contains("paths") && fake.traced().is_empty(), "{reason}");

    let failure = disks::choose(&fake, Some("nvme1c1n1")).unwrap_err();
    assert!(failure.message.contains("has no number"), "{failure}");
}

#[test]
fn where_there_are_too_many_disks_those_that_nobody_used_are_left_out() {
    let fake = machine();
    let add = |number: u32| {
        let home = format!("/sys/devices/virtual/block/loop{number}");
        fake.add(&format!(
            "link /sys/block/loop{number} {home}\nlink /sys/class/block/loop{number} {home}\n\
             file {home}/dev 7:{number}\nfile {home}/size 2048\n"
        ))
        .unwrap();
        let reads = u32::from(number == 20);
        fake.put(
            format!("{home}/stat"),
            format!("{reads} 0 {} 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", 8 * reads),
        );
    };
    (10..72).for_each(add);
    assert_eq!(disks::choose(&fake, None).unwrap().len(), 64);
    add(72);
    let names: Vec<_> = disks::choose(&fake, None).unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(names, ["loop20", "nvme0n1"]);
}

#[test]
fn a_machine_that_cannot_trace_says_both_reasons() {
    let fake = Fake::new();
    let Tracing::Off(reason) = Tracing::begin(&fake, &[]) else { panic!("it traces") };
    assert!(reason.contains("BPF program:") && reason.contains("kernel tracing (tracefs):"));
}

#[test]
fn a_device_that_goes_away_is_absent() {
    let fake = machine();
    let disks = disks::choose(&fake, Some("loop3")).unwrap();
    let mut sampler = Sampler::new(&fake, disks, Tracing::Off("no".to_owned()));
    let mut state = State::begin(&mut sampler);
    fake.remove("/sys/devices/virtual/block/loop3");
    state.update(&mut sampler);
    assert!(state.disk(0).counters.reason().unwrap().contains("not found"));
    assert_eq!(state.shown(), [0]);
}

#[test]
fn disks_are_named_by_name_path_and_nothing() {
    let fake = machine();
    let names = |wanted: Option<&str>| -> Vec<String> {
        disks::choose(&fake, wanted).unwrap().into_iter().map(|disk| disk.name).collect()
    };
    assert_eq!(names(Some("loop3")), ["loop3"]);
    assert_eq!(names(Some("/dev/nvme0n1")), ["nvme0n1"]);
    assert_eq!(names(None), ["loop3", "nvme0n1"]);
    let failure = disks::choose(&fake, Some("nothing")).unwrap_err();
    assert!(failure.message.contains("does not exist"), "{failure}");
    let several = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let found = disks::choose_each(&fake, &words)?;
        Ok::<_, assay_core::failure::Failure>(
            found.into_iter().map(|disk| disk.name).collect::<Vec<_>>(),
        )
    };
    assert_eq!(several(&["nvme0n1", "loop3", "/dev/nvme0n1"]).unwrap(), ["nvme0n1", "loop3"]);
    assert_eq!(several(&[]).unwrap(), names(None));
    assert!(several(&["loop3", "nothing"]).is_err());
    // A loop device that does nothing is hidden, a drive is not.
    let all = disks::choose(&fake, None).unwrap();
    assert_eq!(all.iter().map(|disk| disk.named).collect::<Vec<_>>(), [false, true]);
    assert_eq!(all[1].words, "Example NVMe 500, 477 GiB");
}

#[test]
fn a_directory_in_memory_has_no_device() {
    let fake = machine();
    fake.add("dir /tmp\nfile /proc/self/mountinfo\n| 9 1 0:9 / / rw - tmpfs tmpfs rw\n").unwrap();
    let failure = disks::choose(&fake, Some("/tmp")).unwrap_err();
    assert!(failure.message.contains("in memory"), "{failure}");
}

#[test]
fn beginning_anew_empties_what_grows() {
    let fake = machine();
    let disks = disks::choose(&fake, None).unwrap();
    let mut sampler = Sampler::new(&fake, disks, tracing(vec![Ok(nothing()), Ok(article())]));
    let mut state = State::begin(&mut sampler);
    crate::watch::testing::ten_seconds(&fake);
    state.update(&mut sampler);
    assert!(!state.users().is_empty() && state.deepest[0] > 8.0);
    state.reset(&sampler);
    assert!(classes(&state).value().unwrap().is_empty() && state.users().is_empty());
    assert_eq!((state.whole.span_ns, state.deepest[0]), (0, 0.0));
}

#[test]
fn names_from_elsewhere_do_not_move_the_cursor() {
    let fake = machine();
    let model = "/sys/devices/pci0000:00/nvme/nvme0/nvme0n1/device/model";
    fake.put(model, "Example\u{1b}[2J NVMe");
    fake.put("/sys/class/hwmon/hwmon0/temp1_label", "Compo\u{7}site");
    let state = state_after(&fake, Tracing::Off("no".to_owned()));
    assert_eq!(state.disks[1].words, "Example?[2J NVMe, 477 GiB");
    assert_eq!(state.last.sensors.value().unwrap()[0].name, "nvme Compo?site");
    program(&fake, 4123, "f\u{1b}[31m\nio", 0, 0);
    let mut watcher = users::Watcher::new(&fake, &[]);
    watcher.active_programs(&fake);
    program(&fake, 4123, "f\u{1b}[31m\nio", 0, 8192);
    assert_eq!(watcher.active_programs(&fake).busiest[0].name, "f?[31m?io");
}

#[test]
fn beside_a_study_neither_drives_nor_open_files_are_asked() {
    let fake = machine();
    let disks = disks::choose(&fake, None).unwrap();
    let mut sampler = Sampler::during_study(&fake, disks, Tracing::Off("no".to_owned()));
    let mut state = State::begin(&mut sampler);
    crate::watch::testing::ten_seconds(&fake);
    state.update(&mut sampler);
    assert!(state.last.sensors.reason().unwrap().contains("no sensor"));
    let users = &state.last.users.busiest;
    assert_eq!((users[0].name.as_str(), users[0].on.len()), ("fio", 0));
    let own = crate::store::progress::StudyProgress::of_this_process("Depth");
    let warnings = crate::watch::words::warnings(&state, Some(&own)).join(" ");
    assert!(warnings.contains("fio (PID 4123) writes 33.5 MiB/s somewhere during"), "{warnings}");
}
