use super::*;
use crate::study::{Study, file};
use crate::work::Work as Kind;

fn of(text: &str) -> Translated {
    translate("jobs.fio", text).unwrap()
}

fn studied(text: &str) -> Study {
    let translated = of(text);
    file::parse("jobs.toml", &translated.study)
        .unwrap_or_else(|failure| panic!("{}\n{failure}", translated.study))
}

fn refused(text: &str) -> String {
    translate("jobs.fio", text).unwrap_err().message
}

fn line(text: &str, workload: usize) -> String {
    let study = of(text).study;
    study.lines().filter(|line| line.starts_with("io = ")).nth(workload).unwrap().to_owned()
}

const JOB: &str = "[global]\nsize=64m\nruntime=10\ntime_based\n[job]\n";

#[test]
fn every_core_key_has_its_place_in_the_study() {
    for (key, part) in [
        ("rw=randread", "pattern = \"random\", mix = \"read\""),
        ("rw=write", "pattern = \"sequential\", mix = \"write\""),
        ("readwrite=randrw\nrwmixread=70", "mix = \"70/30\""),
        ("rw=rw\nrwmixwrite=70", "pattern = \"sequential\", mix = \"30/70\""),
        ("rw=randrw", "mix = \"50/50\""),
        ("bs=64k", "size = \"64 KiB\""),
        ("blocksize=512", "size = \"512 B\""),
        (
            "ioengine=libaio\niodepth=16",
            "depth = 16, threads = 1, direct = false, engine = \"io_uring\"",
        ),
        ("iodepth=16", "depth = 1, threads = 1, direct = false, engine = \"psync\""),
        ("numjobs=4", "threads = 4"),
        ("direct=1", "direct = true"),
        ("buffered=0", "direct = true"),
        ("runtime=2m", "time = \"2 min\""),
        ("runtime=500ms", "time = \"500 ms\""),
        ("ramp_time=3", "ramp = \"3 s\""),
        ("rw=write\nfdatasync=1", "sync = \"each-write\""),
        ("time_based=0", "time = \"10 s\", operations = 16384"),
        ("time_based=0\nio_size=8m\nnumjobs=2", "operations = 4096"),
    ] {
        let text = format!("{JOB}{key}\n");
        let found = line(&text, 0);
        assert!(found.contains(part), "{key}: {found}");
        studied(&text);
    }
}

#[test]
fn places_pass_through_consent() {
    let place = |text: &str| of(&format!("{JOB}{text}\n")).study.lines().nth(2).unwrap().to_owned();
    assert_eq!(place(""), "target     = { directory = \".\" }");
    assert_eq!(place("directory=/mnt/card"), "target     = { directory = \"/mnt/card\" }");
    assert_eq!(place("filename=/mnt/card/f"), "target     = { directory = \"/mnt/card\" }");
    assert_eq!(place("filename=/dev/sdx\nrw=write"), "target     = { device = \"/dev/sdx\" }");
    let remarks = of(&format!("{JOB}filename=/dev/sdx\nrw=write\n")).remarks;
    assert!(remarks.iter().any(|remark| remark.contains("--destroy")), "{remarks:?}");
}

#[test]
fn sizes_are_areas_and_small_ones_grow_aloud() {
    let small = of("[a]\nsize=1m\n");
    assert!(small.study.contains("area       = { size = \"16 MiB\" }"), "{}", small.study);
    assert!(small.remarks.iter().any(|remark| remark.contains("fio would use 1 MiB")));
    let files = of("[a]\nsize=64m\nnumjobs=4\n");
    assert!(files.study.contains("size = \"256 MiB\" }"), "a file for each: {}", files.study);
    let one = of("[a]\nfilename=f\nsize=64m\nnumjobs=4\n");
    assert!(one.study.contains("area       = { size = \"64 MiB\" }"), "{}", one.study);
    assert!(of("[a]\nfilesize=32m\n").study.contains("\"32 MiB\""));
}

#[test]
fn jobs_follow_each_other_or_are_the_load_beside() {
    let study = studied(
        "[global]\nsize=64m\nruntime=5\ntime_based\n[read]\nrw=randread\n[write]\nstonewall\nrw=write\nbs=1m\n[load]\nrw=write\nbs=128k\n",
    );
    assert_eq!(study.workload.len(), 2);
    assert!(matches!(study.workload[0].work, Kind::Io(_)));
    assert!(study.workload[1].background.is_some());
    let told = refused("[global]\nsize=64m\n[a]\n[b]\n[c]\n");
    assert!(told.starts_with("jobs.fio:5:1: [c]: it would run at once with [a] and [b]"), "{told}");
}

#[test]
fn each_refusal_names_line_and_key() {
    let told = refused(
        "[a]\nsize=64m\nexec_prerun=rm -rf /\nverify=crc32c\nbssplit=4k/50:8k/50\nrw=trim\nioengine=rdma\nfilename=${DISK}\nbs=4k-8k\nodd_key=1\ninclude other.fio\n",
    );
    let lines: Vec<&str> = told.lines().collect();
    for (line, key) in [
        (3, "exec_prerun: a program"),
        (4, "verify: each block"),
        (5, "bssplit: several"),
        (6, "rw=trim: there are"),
        (7, "ioengine=rdma: another way"),
        (8, "filename: a variable"),
        (9, "bs=4k-8k: one amount"),
        (10, "odd_key: a key that is not known here"),
        (11, "include: another file"),
    ] {
        let wanted = format!("jobs.fio:{line}:1: {key}");
        assert!(lines.iter().any(|told| told.starts_with(&wanted)), "{wanted}: {told}");
    }
    assert_eq!(lines.len(), 9, "{told}");
    assert!(refused("").contains("no job"));
    assert!(refused("size=1m\n").contains("no section"));
    assert!(refused("[a]\nrw=read\n").contains("size is not said"));
    assert!(refused("[a]\nfilename=/dev/x\n").contains("neither size nor runtime"));
    let share = refused("[a]\nsize=64m\nrwmixread=150\nrwmixwrite=some\niodepth_batch_submit=4\n");
    for told in
        ["3:1: rwmixread=150: this is", "4:1: rwmixwrite=some:", "5:1: iodepth_batch_submit: how"]
    {
        assert!(share.contains(&format!("jobs.fio:{told}")), "{share}");
    }
    let places = refused("[a]\nsize=64m\ndirectory=/x\n[b]\nstonewall\nsize=64m\ndirectory=/y\n");
    assert!(places.starts_with("jobs.fio:7:1: [b]: its place"), "{places}");
}

#[test]
fn what_only_reports_is_passed_over_aloud() {
    let remarks = of("[a]\nsize=64m\ngroup_reporting\nwrite_bw_log=x\n").remarks;
    assert!(remarks.iter().any(|remark| remark.starts_with("group_reporting only says")));
    assert!(remarks.iter().any(|remark| remark.starts_with("write_bw_log only says")));
}

#[test]
fn what_fio_takes_anyway_is_no_wish() {
    let plain = of("[a]\nsize=64m\n");
    let same = of("[a]\nsize=64m\nverify=0\nloops=1\noffset=0\nsync=none\nnrfiles=1\n");
    assert_eq!(plain, same);
    assert!(refused("[a]\nsize=64m\nloops=2\n").starts_with("jobs.fio:3:1: loops: the job"));
}

#[test]
fn amounts_and_times_are_those_of_fio() {
    // As fio 3.33 makes its files: what stands for the standard is the other way round.
    for (text, told) in [
        ("1m", 1 << 20),
        ("1mb", 1 << 20),
        ("1024ki", 1 << 20),
        ("1MiB", 1_000_000),
        ("1024kib", 1_024_000),
        ("4096", 4096),
    ] {
        assert_eq!(bytes(text), Some(told), "{text}");
    }
    for text in ["", "k", "4x", "4kx", "10%", "4k-8k", "99999999999t", "0"] {
        assert_eq!(bytes(text), None, "{text}");
    }
    assert_eq!(
        (ns("2M"), ns("1500ms"), ns("3x")),
        (Some(120_000_000_000), Some(1_500_000_000), None)
    );
}

#[test]
fn a_whole_device_is_said_aloud() {
    let told = of("[a]\nfilename=/dev/x\nruntime=5\n").remarks;
    assert!(told.iter().any(|remark| remark.contains("the whole device; the area is 1 GiB")));
}
