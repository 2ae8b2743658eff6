//! fio job files: compares the system calls of a study's run with those of fio, and reads complete files of other
//! projects.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use assay_study::file::{Study, fio_job, text};
use assay_workloads::Work;

use assay_testkit::expected::Expected;
use assay_testkit::home::{Home, WAIT};
use assay_testkit::needs::{Need, have};

use crate::{home, printed_by, turn};

/// Complete files only, with no variable set.
const WAY: fio_job::PortOptions<'static> =
    fio_job::PortOptions { partly: false, variable: &|_| None };

const OWN: [&str; 7] =
    [env!("CARGO_BIN_EXE_assay"), "run", "job.fio", "--replicates", "2", "--quiet", WAIT];

/// One operation: whether it writes, offset, and size in bytes.
type Operation = (bool, u64, u64);

#[derive(Debug, Default)]
struct Thread {
    operations: Vec<Operation>,
    flushes: usize,
    direct: bool,
}

/// Returns the calls of each thread of a program that did I/O with this block size.
fn traced(folder: &Path, size: u64, words: &[&str], home: Option<&Home>) -> Vec<Thread> {
    let calls = folder.join("calls");
    fs::create_dir(&calls).unwrap();
    let mut command = Command::new("strace");
    command
        .args(["-qq", "-ff", "-s", "0", "-e", "trace=pread64,pwrite64,fdatasync,openat,open,fcntl"])
        .arg("-o")
        .arg(calls.join("of"))
        .args(words)
        .current_dir(folder);
    if let Some(home) = home {
        command.env("ASSAY_HOME", home.scratch.path().join("results"));
    }
    let ran = command.output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{words:?}: {told}");
    let mut files: Vec<PathBuf> =
        fs::read_dir(&calls).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let texts: Vec<String> = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    fs::remove_dir_all(&calls).unwrap();
    let is_direct = texts.iter().any(|text| text.contains("O_DIRECT"));
    let threads = texts.iter().map(|text| thread(text, size, is_direct));
    threads.filter(|thread| !thread.operations.is_empty()).collect()
}

fn thread(text: &str, size: u64, direct: bool) -> Thread {
    let mut thread = Thread { direct, ..Thread::default() };
    for line in text.lines() {
        thread.flushes += usize::from(line.starts_with("fdatasync("));
        let writes = line.starts_with("pwrite64(");
        if !writes && !line.starts_with("pread64(") {
            continue;
        }
        let inside = line.split_once(')').map_or("", |(inside, _)| inside);
        let mut fields = inside.rsplit(", ").map(str::parse::<u64>);
        if let (Some(Ok(offset)), Some(Ok(bytes))) = (fields.next(), fields.next())
            && bytes == size
        {
            thread.operations.push((writes, offset, bytes));
        }
    }
    thread
}

/// A key with the lines that show it, and its block size.
const TRACED: [(&str, &str, u64); 15] = [
    ("rw", "rw=read\nbs=256k\nsize=16m\n", 256 << 10),
    ("rw", "rw=write\nbs=1m\nsize=16m\n", 1 << 20),
    ("rw", "rw=read:192k\nbs=64k\nsize=32m\nio_size=6m\n", 64 << 10),
    ("rw", "rw=randread\nbs=64k\nsize=16m\nnorandommap\n", 64 << 10),
    ("bs", "rw=randwrite\nblocksize=128k\nsize=16m\nnorandommap\n", 128 << 10),
    ("ioengine", "rw=read\nbs=64k\nsize=16m\nioengine=psync\n", 64 << 10),
    ("iodepth", "rw=read\nbs=64k\nsize=16m\nioengine=psync\niodepth=8\n", 64 << 10),
    ("numjobs", "rw=read\nbs=256k\nsize=16m\nnumjobs=2\n", 256 << 10),
    ("direct", "rw=read\nbs=64k\nsize=16m\ndirect=1\n", 64 << 10),
    ("buffered", "rw=read\nbs=64k\nsize=16m\nbuffered=0\n", 64 << 10),
    ("size", "rw=read\nbs=64k\nsize=20m\n", 64 << 10),
    ("filesize", "rw=read\nbs=64k\nfilesize=16m\n", 64 << 10),
    ("io_size", "rw=randwrite\nbs=16k\nsize=16m\nio_size=4m\n", 16 << 10),
    ("rwmixread", "rw=randrw\nbs=16k\nsize=16m\nrwmixread=70\nnorandommap\n", 16 << 10),
    ("rwmixwrite", "rw=rw\nbs=16k\nsize=16m\nrwmixwrite=20\n", 16 << 10),
];

#[test]
#[ignore = "nightly: 12 s"]
fn a_run_makes_the_calls_that_fio_makes() {
    if !have(&[Need::Program("fio"), Need::Program("strace")]) {
        return;
    }
    let _turn = turn();
    for (key, job, size) in TRACED {
        let home = home("fio-calls");
        let folder = home.scratch.path();
        fs::write(folder.join("job.fio"), format!("[job]\nthread\n{job}")).unwrap();
        // Files to read must exist: fio creates its file with other write sizes.
        printed_by(folder, "fio", &["job.fio", "--create_only=1", "--output=/dev/null"]);
        let fio = traced(folder, size, &["fio", "job.fio", "--output=/dev/null"], None);
        let own = traced(folder, size, &OWN, Some(&home));
        let count = fio[0].operations.len();
        // The pilot and the warm-up are shorter than a trial.
        let trials: Vec<&Thread> =
            own.iter().filter(|thread| thread.operations.len() == count).collect();
        let jobs = fio.len();
        assert!(trials.len() >= 2 * jobs, "{key}: {} of {count} each", trials.len());
        for trial in trials {
            assert_eq!(trial.direct, fio[0].direct, "{key}: {job}");
            let one = |thread: &Thread| -> Vec<u64> {
                thread.operations.iter().map(|(_, offset, _)| *offset).collect()
            };
            let of = |thread: &Thread, writes: bool| -> Vec<u64> {
                let own = thread.operations.iter().filter(|operation| operation.0 == writes);
                own.map(|(_, offset, _)| *offset).collect()
            };
            let (theirs, ours) = (one(&fio[0]), one(trial));
            if job.contains("rand") {
                let end = theirs.iter().max().unwrap();
                let ends = ours.iter().all(|at| at % size == 0 && *at <= *end + (1 << 20));
                assert!(ends, "{key}: {job}");
            } else if jobs == 1 && !job.contains("rw=rw") {
                assert_eq!(ours, theirs, "{key}: {job}");
            } else {
                // Each direction has a separate sequence.
                for writes in [false, true] {
                    let (theirs, ours) = (of(&fio[0], writes), of(trial, writes));
                    assert!(ours.windows(2).all(|pair| pair[0] < pair[1]), "{key}: {job}");
                    let alike = ours.iter().zip(&theirs).all(|(own, other)| own == other);
                    assert!(jobs > 1 || alike, "{key}: {job}");
                }
            }
            let share = |thread: &Thread| {
                let writes = thread.operations.iter().filter(|one| one.0).count();
                100.0 * writes as f64 / thread.operations.len() as f64
            };
            // Both choose the kind at random: within a few per cent for a thousand operations.
            assert!((share(trial) - share(&fio[0])).abs() < 6.0, "{key}: {job}");
        }
    }
}

#[test]
fn each_write_is_flushed_as_fio_does() {
    if !have(&[Need::Program("fio"), Need::Program("strace")]) {
        return;
    }
    let _turn = turn();
    let home = home("fio-flushes");
    let folder = home.scratch.path();
    let job = "[log]\nrw=write\nbs=256k\nsize=16m\nfdatasync=1\nioengine=sync\n";
    fs::write(folder.join("job.fio"), job.replace("sync\n", "psync\n")).unwrap();
    let fio = traced(folder, 256 << 10, &["fio", "job.fio", "--output=/dev/null"], None);
    let own = traced(folder, 256 << 10, &OWN, Some(&home));
    for thread in fio.iter().chain(&own) {
        // fio omits the flush after the last write.
        let (writes, flushes) = (thread.operations.len(), thread.flushes);
        assert!(flushes.abs_diff(writes) <= 1, "{flushes} of {writes}");
    }
}

fn studied(text: &str) -> Study {
    let translated = fio_job::translate("job.fio", text, WAY).unwrap();
    text::parse("job.toml", &translated.study).unwrap()
}

fn understood(folder: &Path, text: &str) -> Value {
    fs::write(folder.join("job.fio"), text).unwrap();
    let text = printed_by(folder, "fio", &["job.fio", "--output-format=json"]);
    serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap()
}

#[test]
#[ignore = "nightly: 4 s"]
fn times_depths_and_places_are_those_of_fio() {
    if !have(&[Need::Program("fio")]) {
        return;
    }
    let home = home("fio-times");
    let folder = home.scratch.path();
    fs::create_dir(folder.join("there")).unwrap();
    let text = "[global]\nsize=16m\nruntime=1\ntime_based\nramp_time=1\ndirectory=there\n\
        ioengine=io_uring\niodepth=4\n[first]\nrw=randread\nfilename=data\n[second]\nstonewall\n\
        rw=read\nfilename=data\nbs=64k\n";
    let told = understood(folder, text);
    let study = studied(text);
    assert_eq!(study.workload.len(), told["jobs"].as_array().unwrap().len());
    for (workload, job) in study.workload.iter().zip(told["jobs"].as_array().unwrap()) {
        let Work::Io(io) = &workload.work else { panic!("{}", workload.name) };
        assert_eq!(workload.name, job["jobname"].as_str().unwrap());
        // runtime and time_based: it continues after reading the file, which takes a moment; ramp_time is excluded.
        let asked_ms = io.runtime.unwrap().0 / 1_000_000;
        let ran_ms = job["read"]["runtime"].as_u64().unwrap();
        assert!(ran_ms.abs_diff(asked_ms) < asked_ms / 2, "{ran_ms} of {asked_ms}");
        assert!(io.operations.is_none(), "the time ends it");
        assert_eq!(io.ramp_time.map(|ramp| ramp.0), Some(1_000_000_000));
        let levels = job["iodepth_level"].as_object().unwrap();
        let most = levels
            .iter()
            .max_by(|one, other| one.1.as_f64().unwrap().total_cmp(&other.1.as_f64().unwrap()));
        assert_eq!(most.unwrap().0, "4");
        assert_eq!(io.queue_depth, 4);
        // stonewall: each job runs alone, in a separate group.
        assert!(workload.background.is_none());
    }
    assert_ne!(told["jobs"][0]["groupid"], told["jobs"][1]["groupid"]);
    // directory and filename: fio's file is the study's target.
    assert_eq!(fs::metadata(folder.join("there/data")).unwrap().len(), 16 << 20);
    let place = fio_job::translate("job.fio", text, WAY).unwrap().study;
    assert!(place.contains("directory = \"there\""), "{place}");
}

/// Job files based on guides of other projects.
const WHOLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fio-jobs");

fn whole() -> BTreeMap<String, String> {
    let entries = fs::read_dir(WHOLE).unwrap().map(|entry| entry.unwrap().path());
    let jobs = entries.filter(|path| path.extension().is_some_and(|end| end == "fio"));
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    jobs.map(read).collect()
}

#[test]
fn ten_whole_files_are_translated_or_refused_by_line_and_key() {
    let mut refused = 0;
    let mut expected = Expected::default();
    let files = whole();
    assert!(files.len() >= 10);
    for (name, text) in files {
        let found = match fio_job::translate(&name, &text, WAY) {
            Ok(translated) => {
                text::parse(&name, &translated.study)
                    .unwrap_or_else(|failure| panic!("{}\n{failure}", translated.study));
                let remarks: Vec<String> =
                    translated.remarks.iter().map(|remark| format!("# {remark}\n")).collect();
                format!("{}{}", remarks.concat(), translated.study)
            }
            Err(failure) => {
                refused += 1;
                for told in failure.message.lines() {
                    let rest = told.strip_prefix(&format!("{name}:")).unwrap();
                    let (line, rest) = rest.split_once(":1: ").unwrap();
                    let own = text.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap();
                    let key = rest.split([':', '=']).next().unwrap();
                    assert!(own.trim().starts_with(key), "{told}: {own}");
                }
                format!("refused: {}\n", failure.message)
            }
        };
        expected.hold(Path::new(WHOLE).join(format!("{name}.expected.txt")), &found);
    }
    assert!((1..=5).contains(&refused), "{refused}");
}

#[test]
#[ignore = "nightly: 2 s"]
fn fio_reads_the_whole_files_and_what_explain_goes_back_to() {
    if !have(&[Need::Program("fio")]) {
        return;
    }
    let home = home("fio-back");
    for (name, text) in whole() {
        let file = home.file(&name, &text);
        let parsed = Command::new("fio").args(["--parse-only", &file]).output().unwrap();
        let told = String::from_utf8_lossy(&parsed.stderr).into_owned()
            + &String::from_utf8_lossy(&parsed.stdout);
        // A missing engine in this fio build is not an error of the file.
        assert!(parsed.status.success() || told.contains("engine"), "{name}: {told}");
    }
    let folder = home.scratch.path();
    let text = format!(
        "[global]\nsize=16m\nruntime=1\ntime_based\ndirectory={}\n[a]\nrw=randrw\nrwmixread=70\n\
         bs=16k\nnumjobs=2\n",
        folder.display()
    );
    let file = home.file("back.fio", &text);
    let explained = home.text(&["plan", &file, "--commands"]).replace("\\\n", " ");
    let line =
        explained.lines().find(|line| line.trim().starts_with("fio ")).unwrap_or_else(|| {
            panic!("{explained}");
        });
    printed_by(folder, "sh", &["-c", &format!("{line} --parse-only")]);
}

#[test]
fn a_job_file_is_shown_as_a_study_and_explained_back() {
    let home = home("fio-shown");
    let text = "[global]\nsize=16m\nruntime=1\ntime_based\ndirect=1\n[first]\nrw=randread\nioengine=libaio\niodepth=4\n";
    let file = home.file("jobs.fio", text);
    let ended = home.run(&["plan", &file, "--commands"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("pattern = \"random\""), "{}", ended.stderr);
    assert!(ended.stderr.contains("Assay uses io_uring instead"), "{}", ended.stderr);
    for part in ["--rw=randread", "--iodepth=4", "--direct=1", "--runtime=1s"] {
        assert!(ended.stdout.replace("\\\n", "").contains(part), "{part}: {}", ended.stdout);
    }
    let bad = home.file(
        "bad.fio",
        format!("{text}exec_prerun=touch {}/made\n", home.scratch.path().display()),
    );
    let told = home.told(2, &["run", &bad, "simulated:lognormal,mean=100us,p99=400us,servers=4"]);
    assert!(told.contains("bad.fio:10:1: exec_prerun: runs a program"), "{told}");
    assert!(!home.scratch.path().join("made").exists());
}
