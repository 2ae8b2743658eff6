use assay_workloads::Work as Kind;

use super::values::{bytes, ns, one_name};
use super::*;
use crate::file::{Study, text};

/// Strict translation with one variable set.
const WHOLE: PortOptions<'static> = PortOptions {
    partly: false,
    variable: &|name| (name == "DISK").then(|| "/dev/vdz".to_owned()),
};

fn of(text: &str) -> Translated {
    translate("jobs.fio", text, WHOLE).unwrap()
}

fn partly(text: &str) -> Result<Translated, String> {
    let found = translate("jobs.fio", text, PortOptions { partly: true, ..WHOLE });
    found.map_err(|failure| failure.message)
}

fn studied(text: &str) -> Study {
    let translated = of(text);
    text::parse("jobs.toml", &translated.study)
        .unwrap_or_else(|failure| panic!("{}\n{failure}", translated.study))
}

fn refused(text: &str) -> String {
    translate("jobs.fio", text, WHOLE).unwrap_err().message
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
        ("bs=64k", "block_size = \"64 KiB\""),
        ("blocksize=512", "block_size = \"512 B\""),
        (
            "ioengine=libaio\niodepth=16",
            "queue_depth = 16, threads = 1, direct = false, engine = \"io_uring\"",
        ),
        ("iodepth=16", "queue_depth = 1, threads = 1, direct = false, engine = \"psync\""),
        ("numjobs=4", "threads = 4"),
        ("ioengine=io_uring\nsqthread_poll=1", "poll = \"sqpoll\""),
        ("ioengine=io_uring\ndirect=1\nhipri", "poll = \"iopoll\""),
        ("direct=1", "direct = true"),
        ("buffered=0", "direct = true"),
        ("runtime=2m", "runtime = \"2 min\""),
        ("runtime=500ms", "runtime = \"500 ms\""),
        ("ramp_time=3", "ramp_time = \"3 s\""),
        ("rw=write\nfdatasync=1", "sync = \"fdatasync\""),
        ("time_based=0", "runtime = \"10 s\", operations = 16384"),
        ("time_based=0\nio_size=8m\nnumjobs=2", "operations = 4096"),
        ("time_based=0\nnumber_ios=500\nnumjobs=2", "operations = 1000"),
        ("time_based=0\nnumber_ios=500\nloops=3\ndirect=1", "operations = 1500"),
        ("time_based=0\nloops=2\nrw=randwrite", "operations = 32768"),
        ("timeout=7", "runtime = \"7 s\""),
        ("bsrange=8k-8k", "block_size = \"8 KiB\""),
        ("bs=16k,16k", "block_size = \"16 KiB\""),
        ("bs=4k,8k", "block_size = \"4 KiB\""),
        ("rw=write\nbs=4k,8k", "block_size = \"8 KiB\""),
        ("rw=randrw\nbs=4k,8k", "block_size = \"read 4 KiB; write 8 KiB\""),
        ("rw=randrw\nbs=,8k", "block_size = \"read 4 KiB; write 8 KiB\""),
        ("bssplit=4k/70:64k/30", "block_size = \"4KiB/70:64KiB/30\""),
        ("bssplit=4k/50:1k:32k", "block_size = \"4KiB/50:1KiB/25:32KiB/25\""),
        ("bssplit=4k/100:64k/0", "block_size = \"4 KiB\""),
        (
            "rw=randrw\nbssplit=4k/70:8k/30,64k",
            "block_size = \"read 4KiB/70:8KiB/30; write 64 KiB\"",
        ),
        ("time_based=0\nbssplit=4k/50:12k/50", "operations = 8192"),
        ("rw=randread\nrandom_distribution=zipf:0.9", "distribution = \"zipf:0.9\""),
        ("rw=randread\nrandom_distribution=zipf", "distribution = \"zipf:1.1\""),
        ("rw=randread\nrandom_distribution=pareto:0.2", "distribution = \"pareto:0.2\""),
        (
            "rw=randread\nrandom_distribution=zoned:80/20:20/80",
            "distribution = \"zoned:80/20:20/80\"",
        ),
        (
            "rw=randread\nrandom_distribution=zoned:50/5:30/15:20/",
            "distribution = \"zoned:50/5:30/15:20/80\"",
        ),
        ("rw=randread\nblockalign=8k", "align = \"8 KiB\""),
        ("rw=read:8k", "pattern = \"stride\", mix = \"read\", block_size = \"4 KiB\""),
        ("rw=write:60k", "stride = \"64 KiB\""),
        ("rw=rw\nrwmixread=70", "rw_split = \"positions\""),
        ("rw=write\nbuffer_compress_percentage=30", "compressibility = \"30%\""),
        ("rw=write\nbuffer_compress_percentage=100", "compressibility = \"100%\""),
        ("rw=write\nzero_buffers", "compressibility = \"100%\""),
        ("rate_iops=500", "arrival_rate = \"500/s\""),
        ("rate_iops=500\nnumjobs=3", "arrival_rate = \"1500/s\""),
        (
            "rate_iops=500\nrate_process=poisson",
            "arrival_rate = \"500/s\", arrival_process = \"poisson\"",
        ),
        ("rate_iops=500,200", "arrival_rate = \"500/s\""),
        ("rw=randwrite\nrate_iops=500,200", "arrival_rate = \"200/s\""),
        ("rw=randrw\nrate_iops=500", "arrival_rate = \"1000/s\""),
        ("rw=randrw\nrwmixread=70\nrate_iops=700,300", "arrival_rate = \"1000/s\""),
        ("thinktime=500", "think_time = \"500 us\""),
        ("thinktime=2ms\nthinktime_blocks=1", "think_time = \"2 ms\""),
        ("rw=write\nverify=crc32c", "verify = true"),
        ("rw=randrw\nverify=md5\ndo_verify=1", "verify = true"),
    ] {
        let text = format!("{JOB}{key}\n");
        let found = line(&text, 0);
        assert!(found.contains(part), "{key}: {found}");
        studied(&text);
    }
}

#[test]
fn what_is_verified_is_what_a_job_writes_itself() {
    let refusal = |text: &str| refused(&format!("{JOB}{text}\n"));
    for (text, told) in [
        ("rw=read\nverify=crc32c", "verify: fio compares each block with data"),
        ("rw=write\nverify=pattern", "verify: fio compares each block with a pattern"),
        ("rw=write\nverify=crc32c\nzero_buffers", "verify: each block needs a header, which"),
        ("rw=write\nverify=crc32c\nbs=700", "verify: each block needs a header, so all"),
        (
            "rw=write\nverify=crc32c\nbssplit=4k/50:8k/50",
            "verify: each block needs a header, so all",
        ),
        ("rw=randwrite\nverify=crc32c\nbs=4k\nba=512", "verify: each block needs a header, so all"),
        ("rw=write\nverify=crc32c\ndedupe_percentage=30", "duplicate blocks"),
    ] {
        assert!(refusal(text).contains(told), "{text}");
    }
    for text in ["verify=0", "verify=none", "do_verify=0", "rw=write\nverify=crc32c\ndo_verify=0"] {
        assert!(!line(&format!("{JOB}{text}\n"), 0).contains("verify"), "{text}");
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
    let told = |remark: &String| remark.contains("would be overwritten; assay plan shows");
    assert!(remarks.iter().any(told), "{remarks:?}");
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
    // No multiple of a block follows this size.
    let _ = translate("jobs.fio", &format!("[a]\nsize={}\n", u64::MAX), WHOLE);
}

#[test]
fn jobs_follow_each_other_or_are_the_load_beside() {
    let study = studied(
        "[global]\nsize=64m\nruntime=5\ntime_based\n[read]\nrw=randread\n[write]\nstonewall\nrw=write\nbs=1m\n[load]\nrw=write\nbs=128k\n",
    );
    assert_eq!(study.workload.len(), 2);
    assert!(matches!(study.workload[0].work, Kind::Io(_)));
    assert!(study.workload[1].background.is_some());
    let told = refused("[global]\nsize=64m\n[a]\n[b]\nbs=8k\n[c]\nbs=16k\n");
    assert!(
        told.starts_with("jobs.fio:6:1: [c]: would run concurrently with [a] and [b]"),
        "{told}"
    );
}

#[test]
fn each_refusal_names_line_and_key() {
    let told = refused(
        "[a]\nsize=64m\nexec_prerun=rm -rf /\nverify_fatal=1\npercentage_random=50\nrw=trimwrite\nioengine=rdma\nfilename=${OTHER}\nbs=4k-8k\nodd_key=1\ninclude other.fio\n",
    );
    let lines: Vec<&str> = told.lines().collect();
    for (line, key) in [
        (3, "exec_prerun: runs a program"),
        (4, "verify_fatal: ends the job"),
        (5, "percentage_random: makes only a share"),
        (6, "rw=trimwrite: use read"),
        (7, "ioengine=rdma: sends data"),
        (8, "filename: the variable OTHER is not set; set it (OTHER=VALUE"),
        (9, "bs=4k-8k: use one size"),
        (10, "odd_key: unknown key"),
        (11, "include: not supported"),
    ] {
        let wanted = format!("jobs.fio:{line}:1: {key}");
        assert!(lines.iter().any(|told| told.starts_with(&wanted)), "{wanted}: {told}");
    }
    assert_eq!(lines.len(), 9, "{told}");
    assert!(refused("").contains("no job"));
    assert!(refused("size=1m\n").contains("no section"));
    assert!(refused("[a]\nrw=read\n").contains("no size"));
    assert!(refused("[a]\nsize=$(cat x)\n").contains("a program's output"));
    let share = refused("[a]\nsize=64m\nrwmixread=150\nrwmixwrite=some\niodepth_batch_submit=4\n");
    for told in [
        "3:1: rwmixread=150: more than 100%",
        "4:1: rwmixwrite=some:",
        "5:1: iodepth_batch_submit: sets how",
    ] {
        assert!(share.contains(&format!("jobs.fio:{told}")), "{share}");
    }
    let places = refused("[a]\nsize=64m\ndirectory=/x\n[b]\nstonewall\nsize=64m\ndirectory=/y\n");
    assert!(places.starts_with("jobs.fio:7:1: [b]: the target"), "{places}");
}

#[test]
fn sizes_and_places_that_cannot_be_done_are_refused_by_name() {
    for (text, told) in [
        ("bssplit=4k/70:64k/20", "bssplit=4k/70:64k/20: use sizes with whole"),
        ("bssplit=4k/70:4k/30", "bssplit: "),
        ("bssplit=4k:8k:16k", "whole percentages"),
        ("bs=4k,x", "bs=4k,x: use one size"),
        ("rw=randread\nrandom_distribution=normal:50", "random_distribution=normal:50: use zipf"),
        ("rw=randread\nrandom_distribution=zipf:1.2:0.5", "zipf:1.2:0.5"),
        ("rw=randread\nrandom_distribution=zoned:60/10:30/20:10/60", "add up to 100"),
        ("rw=read:-4k", "rw=read:-4k: after the colon"),
        ("rw=randread:8", "the counts of randread"),
        ("rw=read:8k\nbssplit=4k/50:8k/50", "rw: a gap between blocks needs one block size"),
    ] {
        let found = refused(&format!("{JOB}{text}\n"));
        assert!(found.starts_with("jobs.fio:") && found.contains(told), "{text}: {found}");
    }
    // Sequential jobs draw no offsets, and defaults are not printed.
    let plain = line(JOB, 0);
    assert_eq!(line(&format!("{JOB}random_distribution=zipf:1.2\n"), 0), plain);
    let random = format!("{JOB}rw=randread\n");
    assert_eq!(line(&format!("{random}random_distribution=random\n"), 0), line(&random, 0));
    for same in ["ba=4k", "blockalign=4k"] {
        assert_eq!(line(&format!("{random}{same}\n"), 0), line(&random, 0));
    }
    assert_eq!(line(&format!("{JOB}ba=64k\n"), 0), plain, "only random places are drawn");
    for key in ["distribution", "align", "stride", "rw_split"] {
        assert!(!plain.contains(key), "{plain}");
    }
}

#[test]
fn what_only_reports_is_passed_over_aloud() {
    let remarks = of("[a]\nsize=64m\ngroup_reporting\nwrite_bw_log=x\n").remarks;
    assert!(remarks.iter().any(|remark| remark.starts_with("group_reporting only affects")));
    assert!(remarks.iter().any(|remark| remark.starts_with("write_bw_log only affects")));
}

#[test]
fn what_fio_takes_anyway_is_no_wish() {
    let plain = of("[a]\nsize=64m\n");
    let same = of("[a]\nsize=64m\nverify=0\nloops=1\noffset=0\nsync=none\nnrfiles=1\n");
    assert_eq!(plain, same);
    assert!(refused("[a]\nsize=64m\nloops=2\n").starts_with("jobs.fio:3:1: loops: fio drops"));
}

#[test]
fn amounts_and_times_are_those_of_fio() {
    // As fio 3.33 writes its files: `kib` is 1000 and `kb` is 1024.
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
    assert!(told.iter().any(|remark| remark.contains("the whole device; Assay uses")));
    // Without a size, the trial ends by time.
    for text in ["[a]\nfilename=/dev/x\nruntime=5\n", "[a]\nfilename=/dev/x\n"] {
        assert!(!of(text).study.contains("area"), "{text}");
        studied(text);
    }
    assert!(
        of("[a]\nfilename=/dev/x\nsize=64m\n").study.contains("area       = { size = \"64 MiB\" }")
    );
}

#[test]
fn a_comment_begins_anywhere_in_a_line() {
    let plain = of("[a]\nsize=64m\nnumjobs=4\n");
    for text in [
        "[a] ; a job\nsize=64m\nnumjobs=4 ; four threads\n",
        "[a]# a job\nsize=64m # bytes\nnumjobs=4;four\n  # nothing\n;\n",
    ] {
        assert_eq!(of(text), plain);
    }
}

#[test]
fn variables_that_are_set_are_replaced_and_others_are_named() {
    let place = of("[a]\nsize=64m\nfilename=${DISK}\n").study;
    assert!(place.contains("device = \"/dev/vdz\""), "{place}");
    let place = of("[a]\nsize=64m\ndirectory=/x/${DISK}/y\n").study;
    assert!(place.contains("directory = \"/x//dev/vdz/y\""), "{place}");
    assert!(refused("[a]\nsize=64m\nfilename=${DISK\n").contains("no closing brace"));
    assert!(refused("[a]\nsize=64m\nfilename=${NO\u{1b}[2J}\n").find('\u{1b}').is_none());
}

#[test]
fn jobs_that_run_at_once_and_do_alike_are_one_work() {
    let text = "[global]\nsize=64m\nruntime=5\nrw=randread\n[a]\n[b]\n[c]\nnumjobs=2\n";
    let same = of(text);
    assert!(line(text, 0).contains("mix = \"read\"") && line(text, 0).contains("threads = 4"));
    assert!(same.remarks.iter().any(|remark| remark.contains("one workload of 4 threads")));
    let text = &text.replace("numjobs=2", "numjobs=2\nrw=randwrite\n[d]\nbs=64k");
    // Only where alike ones leave more than two: then those that read or write are mixed, too.
    assert!(line(text, 0).contains("mix = \"50/50\"") && line(text, 0).contains("threads = 4"));
    assert!(of(text).study.contains("background"));
    let told = refused(&format!("{text}[e]\nbs=128k\n"));
    assert!(
        told.starts_with("jobs.fio:12:1: [e]: would run concurrently with [a] and [d]"),
        "{told}"
    );
}

#[test]
fn works_that_differ_in_reading_and_writing_alone_are_mixed() {
    let text = "[global]\nsize=64m\nrw=randread\n[a]\n[b]\nrw=randwrite\n[c]\nrw=randrw\n";
    assert!(line(text, 0).contains("mix = \"50/50\"") && line(text, 0).contains("threads = 3"));
    assert_eq!(of(text).study.matches("[[workload]]").count(), 1);
    assert!(!of(text).study.contains("background"));
    // Two jobs still become workload and background load.
    let two = "[global]\nsize=64m\nrw=randread\n[a]\n[b]\nrw=randwrite\n";
    assert!(of(two).study.contains("background"));
}

#[test]
fn what_cannot_be_done_is_left_out_aloud_where_that_was_asked_for() {
    let text = "[global]\nsize=64m\nverify=crc32c\n[a]\nrw=randread\n[b]\nstonewall\nrw=trim\n[c]\n\
        stonewall\ndirectory=/elsewhere\n[d]\nstonewall\nioengine=rdma\n[e]\nstonewall\nbs=8k\n";
    refused(text);
    let found = partly(text).unwrap();
    assert_eq!(found.study.matches("[[workload]]").count(), 2, "{}", found.study);
    for (line, words) in [
        (3, "verify: fio compares each block"),
        (8, "[b]: rw=trim"),
        (11, "[c]: [c]: the target"),
        (14, "[d]: ioengine=rdma"),
    ] {
        let wanted = format!("line {line} ignored: {words}");
        assert!(
            found.remarks.iter().any(|own| own.starts_with(&wanted)),
            "{wanted}: {:?}",
            found.remarks
        );
    }
    // A job with an unset variable in its file name is skipped.
    assert!(partly("[a]\nsize=64m\nfilename=${OTHER}\n").unwrap_err().contains("OTHER is not set"));
    assert!(partly("[a]\nsize=64m\nsse_key=${OTHER}\n").is_ok());
    // A file without a size is as large as a study takes it, and a ramp counts where bytes end a job.
    let unsized_file = partly("[a]\nrw=randread\n").unwrap();
    assert!(unsized_file.remarks.iter().any(|remark| remark.contains("an existing file")));
    let ramp = "[a]\nsize=64m\nramp_time=5\n";
    assert!(refused(ramp).starts_with("jobs.fio:3:1: ramp_time: not supported in a job"));
    assert!(!partly(ramp).unwrap().study.contains("ramp ="));
    // Supported jobs translate alike in both modes.
    let whole = "[a]\nsize=64m\n[b]\nstonewall\nsize=64m\n";
    assert_eq!(partly(whole), Ok(of(whole)));
    let nothing = partly("[a]\nioengine=rdma\n").unwrap_err();
    assert!(
        nothing.starts_with("jobs.fio:1:1: Assay does not support any of the jobs: line 2"),
        "{nothing}"
    );
}

#[test]
fn a_job_whose_variable_is_not_set_is_left_out_alone() {
    let text = "[global]\nsize=64m\n[a]\nrw=randread\n[b]\nstonewall\nrw=${KIND}\nbs=${BLOCK}\n";
    let told = refused(text);
    assert!(told.starts_with("jobs.fio:7:1: rw: the variable KIND is not set"), "{told}");
    let found = partly(text).unwrap();
    assert_eq!(found.study.matches("[[workload]]").count(), 1, "{}", found.study);
    for wanted in ["line 7 ignored: [b]: rw: the variable KIND", "line 8 ignored: [b]: bs: the"] {
        assert!(found.remarks.iter().any(|own| own.starts_with(wanted)), "{:?}", found.remarks);
    }
    // A key of the job overrides the global one; a bad global key blocks all jobs.
    let own = partly("[global]\nsize=64m\nrw=${KIND}\n[a]\nrw=randread\n").unwrap();
    assert!(!own.remarks.iter().any(|remark| remark.contains("KIND")), "{:?}", own.remarks);
    let all = partly("[global]\nsize=64m\nrw=${KIND}\n[a]\n").unwrap_err();
    assert!(
        all.contains("Assay does not support any of the jobs: line 3 ignored: [a]: rw"),
        "{all}"
    );
}

#[test]
fn a_job_that_waits_for_the_one_before_it_is_alone() {
    let text = "[global]\nsize=64m\n[a]\nrw=write\n[b]\nwait_for=a\nrw=randread\n[c]\nwait_for=a\n\
        rw=randwrite\n[d]\nstonewall\n";
    let study = studied(text);
    let loads: Vec<bool> = study.workload.iter().map(|one| one.background.is_some()).collect();
    // The second and the third begin together, when the first has ended.
    assert_eq!(loads, [false, true, false]);
    assert_eq!(
        of(text),
        of(&text.replacen("wait_for=a", "stonewall", 1).replace("wait_for=a\n", "\n"))
    );
    for (jobs, told) in [
        ("[a]\n[b]\nbs=8k\n[c]\nwait_for=a\n", "7:1: wait_for=a: supported only if"),
        ("[c]\nwait_for=nobody\n", "4:1: wait_for=nobody: supported only if"),
        (
            "[a]\n[b]\nwait_for=a\n[c]\n",
            "6:1: [c]: would run concurrently with the jobs before [b]",
        ),
    ] {
        let found = refused(&format!("[global]\nsize=64m\n{jobs}"));
        assert!(found.starts_with(&format!("jobs.fio:{told}")), "{found}");
    }
    let unset = partly("[global]\nsize=64m\n[a]\n[b]\nwait_for=${NAME}\n").unwrap();
    assert!(!unset.study.contains("background"), "{}", unset.study);
    let wanted = "line 5 ignored: [b]: wait_for: the variable NAME";
    assert!(unset.remarks.iter().any(|own| own.starts_with(wanted)), "{:?}", unset.remarks);
}

#[test]
fn rounds_and_counts_end_a_job_as_in_fio() {
    let ends = |text: &str| line(&format!("[a]\nsize=64m\n{text}"), 0);
    // The smaller one of both, and neither where its time ends it.
    assert!(ends("number_ios=100000\n").contains("operations = 16384"));
    assert!(!ends("number_ios=10\nloops=3\ntime_based\nruntime=5\n").contains("operations"));
    assert_eq!(ends("number_ios=0\n"), ends(""));
    // Through the page cache a second round of reads is another one than fio's.
    assert!(refused("[a]\nsize=64m\nrw=rw\nloops=2\n").contains("use direct=1"));
    assert!(refused("[a]\nsize=64m\nloops=0\n").contains("loops: 0 never runs"));
    assert!(ends("rw=read\nbuffered=0\nloops=2\n").contains("operations = 32768"));
    let device = "[a]\nfilename=/dev/x\ndirect=1\nloops=2\n";
    assert!(refused(device).starts_with("jobs.fio:4:1: loops: the amount of I/O"));
}

#[test]
fn what_is_written_compresses_as_it_would_in_fio() {
    let content = |text: &str| line(&format!("[a]\n{text}"), 0).contains("compressibility");
    assert!(!content("size=64m\nrw=write\nbuffer_compress_percentage=0\nzero_buffers=0\n"));
    // A file is laid out with it, a device is read as it is.
    assert!(content("size=64m\nrw=read\nbuffer_compress_percentage=50\n"));
    assert!(!content("filename=/dev/x\nrw=read\nbuffer_compress_percentage=50\n"));
    assert!(content("filename=/dev/x\nrw=write\nbuffer_compress_percentage=50\n"));
    assert!(refused("[a]\nsize=64m\nbuffer_compress_percentage=101\n").contains("more than 100%"));
    assert!(refused("[a]\nsize=64m\nbuffer_compress_chunk=64k\n").contains("supports only 4k"));
    assert_eq!(of("[a]\nsize=64m\nbuffer_compress_chunk=4k\n"), of("[a]\nsize=64m\n"));
    // Works of different content stay apart.
    let three = "[global]\nsize=64m\nrw=write\n[a]\n[b]\n[c]\nzero_buffers\n";
    assert!(of(three).study.contains("background = "), "{}", of(three).study);
}

#[test]
fn sizes_that_are_one_and_names_with_colons() {
    for text in ["bsrange=4k-64k", "blocksize_range=4k-64k", "bsrange=4k-4k,8k-8k"] {
        let told = refused(&format!("[a]\nsize=64m\n{text}\n"));
        let key = text.split('=').next().unwrap();
        assert!(told.starts_with(&format!("jobs.fio:3:1: {key}: a range of")), "{told}");
    }
    let sizes = of("[a]\nsize=64m\nrw=randrw\nblocksize=4k,8k\n").study;
    assert!(sizes.contains("block_size = \"read 4 KiB; write 8 KiB\""), "{sizes}");
    assert_eq!(one_name("/dev/disk/by-path/pci-0\\:1\\:2").unwrap(), "/dev/disk/by-path/pci-0:1:2");
    assert_eq!(one_name("a\\b").unwrap(), "a\\b");
    assert_eq!(one_name("/dev/a:/dev/b"), None);
    let place = of("[a]\nfilename=/dev/disk/by-path/pci-0\\:1\n").study;
    assert!(place.contains("target     = { device = \"/dev/disk/by-path/pci-0:1\" }"), "{place}");
    assert!(refused("[a]\nsize=1g\nfilename=/dev/a:/dev/b\n").contains("several files; a study"));
    // 100% of a device is the default area; of a missing file it is unknown.
    assert!(!of("[a]\nfilename=/dev/x\nsize=100%\n").study.contains("area"));
    assert!(refused("[a]\nsize=100%\n").contains("size=100%: use one size"));
}

#[test]
fn engines_that_reach_no_storage_are_named_for_what_they_do() {
    for (engine, does) in
        [("cpuio", "loads the CPUs"), ("exec", "runs a program"), ("rbd", "accesses another")]
    {
        let told = refused(&format!("[a]\nsize=64m\nioengine={engine}\n"));
        assert!(told.starts_with(&format!("jobs.fio:3:1: ioengine={engine}: {does}")), "{told}");
    }
}

#[test]
fn rates_and_pauses_that_mean_something_else_are_told() {
    for (text, part) in [
        ("rw=randrw\nrwmixread=70\nrate_iops=500", "fio limits reads and writes"),
        ("rw=randrw\nrate_iops=700,300", "the ratio of the mix"),
        ("rate_iops=fast", "rate_iops=fast: not a whole number"),
        ("rate_iops=500\nrate_process=bursts", "use linear or poisson"),
        ("rate_iops=500\nthinktime=500", "remove one of the two"),
        ("ioengine=io_uring\niodepth=4\nthinktime=500", "use iodepth=1"),
        ("thinktime=500\nthinktime_blocks=8", "only after every"),
        ("thinktime=long", "not a duration"),
        ("thinktime=10s", "must be shorter than the job"),
        ("rate_iops=9000000\nnumjobs=2", "at most 10,000,000 IOPS"),
    ] {
        let found = refused(&format!("{JOB}{text}\n"));
        assert!(found.contains(part), "{text}: {found}");
    }
}

#[test]
fn what_cannot_be_polled_is_told_and_what_is_not_polled_is_none() {
    for (text, part) in [
        ("ioengine=libaio\nhipri=1", "hipri: Assay polls only io_uring"),
        ("sqthread_poll=1", "sqthread_poll: Assay polls only io_uring"),
        ("ioengine=io_uring\nhipri=1", "need direct I/O"),
        ("ioengine=io_uring\nrw=write\ndirect=1\nhipri=1\nfdatasync=1", "remove syncs and trims"),
        ("ioengine=io_uring\ndirect=1\nhipri=1\nsqthread_poll=1", "only one of the two"),
        ("cpus_allowed_policy=split", "sets how jobs share the CPUs"),
    ] {
        let found = refused(&format!("{JOB}{text}\n"));
        assert!(found.contains(part), "{text}: {found}");
    }
    for text in ["hipri=0", "sqthread_poll=0", "cpus_allowed_policy=shared"] {
        assert!(!line(&format!("{JOB}{text}\n"), 0).contains("poll"), "{text}");
    }
}

#[test]
fn the_third_rate_is_that_of_trims_and_what_is_not_said_is_as_the_one_before() {
    for (rw, rate, part) in [
        ("randtrim", "1,2,300", "arrival_rate = \"300/s\""),
        ("randtrim", "1,200", "arrival_rate = \"200/s\""),
        ("randtrim", "100", "arrival_rate = \"100/s\""),
        ("randwrite", "1,200,3", "arrival_rate = \"200/s\""),
        ("randread", "100,2,3", "arrival_rate = \"100/s\""),
    ] {
        let text = format!("[a]\nfilename=/dev/sdx\nruntime=5\nrw={rw}\nrate_iops={rate}\n");
        let found = of(&text).study;
        assert!(found.contains(part), "{text}: {found}");
    }
}

#[test]
fn what_is_no_rate_and_no_pause_leaves_nothing_in_the_study() {
    for text in [
        "rate_iops=0",
        "rate_iops=0,500",
        "thinktime=0",
        "rate_process=linear",
        "rate_process=poisson",
    ] {
        let found = line(&format!("{JOB}{text}\n"), 0);
        assert!(
            ["arrival_rate", "arrival_process", "think_time"]
                .iter()
                .all(|key| !found.contains(key)),
            "{found}"
        );
    }
}

#[test]
fn jobs_that_run_at_once_by_one_law_add_up_their_rates() {
    let three = "[global]\nsize=64m\nruntime=10\ntime_based\nrate_iops=100\n[a]\n[b]\n[c]\n";
    let found = line(three, 0);
    assert!(found.contains("threads = 3") && found.contains("arrival_rate = \"300/s\""), "{found}");
    studied(three);
}
