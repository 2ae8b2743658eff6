//! Job files of fio: what the study that a file comes to would do, against what fio itself does by
//! its own record of every operation.

use std::fs;
use std::path::Path;
use std::process::Command;

use assay_core::study::{Study, file, fio_job};
use assay_core::work::Work;
use assay_core::work::io::{Mix, Pattern};

use assay_lab::needs::{Need, have};

use crate::home;

/// Job files that say the same to both, with a size that fio is through with at once.
const JOBS: [&str; 8] = [
    "rw=read\nbs=64k\nsize=16m\n",
    "rw=write\nbs=1m\nsize=16m\n",
    "rw=randread\nbs=4k\nsize=16m\nnorandommap\n",
    "rw=randwrite\nbs=16k\nsize=16m\nio_size=4m\n",
    "rw=rw\nbs=8k\nsize=16m\nrwmixread=70\n",
    "rw=randrw\nbs=4k\nsize=16m\nrwmixwrite=20\n",
    "readwrite=read\nblocksize=128k\nfilesize=16m\nbuffered=1\niodepth=4\n",
    "rw=read\nbs=256k\nsize=16m\nnumjobs=2\nioengine=psync\n",
];

/// Reads and writes of a record: whether it writes, offset, bytes.
fn recorded(text: &str) -> Vec<(bool, u64, u64)> {
    let one = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // The third version begins with a time.
        let at = words.iter().position(|word| ["read", "write"].contains(word))?;
        Some((
            words[at] == "write",
            words.get(at + 1)?.parse().ok()?,
            words.get(at + 2)?.parse().ok()?,
        ))
    };
    text.lines().filter_map(one).collect()
}

/// Share of the reads.
fn percent(mix: Mix) -> f64 {
    match mix {
        Mix::Shares { read_percent } => f64::from(read_percent),
        Mix::Rewrite => 50.0,
    }
}

fn studied(text: &str) -> Study {
    let translated = fio_job::translate("job.fio", text).unwrap();
    file::parse("job.toml", &translated.study).unwrap()
}

#[test]
#[ignore = "needs fio: cargo xtask test"]
fn sizes_counts_and_shares_are_those_that_fio_records() {
    if !have(&[Need::Program("fio")]) {
        return;
    }
    let home = home("fio-jobs");
    let folder = home.scratch.path();
    for (number, job) in JOBS.iter().enumerate() {
        let jobs = if job.contains("numjobs=2") { 2 } else { 1 };
        let text = format!("[job]\nfilename=data\n{job}");
        let own = folder.join(format!("{number}.fio"));
        fs::write(&own, format!("{text}write_iolog=log{number}\n")).unwrap();
        let ran = Command::new("fio")
            .arg(own.file_name().unwrap())
            .arg("--output=/dev/null")
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{job}: {}", String::from_utf8_lossy(&ran.stderr));
        let mut operations = recorded(&log(folder, number));
        if jobs == 2 {
            // Each of them records apart, or one for both: the first is half of all.
            operations.truncate((16 << 20) / (256 << 10));
        }
        let study = studied(&text);
        let Work::Io(io) = &study.workload[0].work else { panic!("{job}") };
        let size = io.size.0;
        assert!(operations.iter().all(|(_, _, bytes)| *bytes == size), "{job}");
        let asked = io.operations.expect("a number of operations");
        assert_eq!(asked, operations.len() as u64 * jobs, "{job}");
        let end = operations.iter().map(|(_, offset, bytes)| offset + bytes).max().unwrap();
        let area = study.area.size.expect("an area");
        assert!(end <= area.0, "{job}: {end}");
        let writes = operations.iter().filter(|(writes, ..)| *writes).count();
        let mix = io.mix;
        let share = 100.0 * (operations.len() - writes) as f64 / operations.len() as f64;
        assert!((share - percent(mix)).abs() < 6.0, "{job}: {share}");
        // Reads and writes of fio have a sequence each, which the translation says.
        let rises = [false, true].into_iter().all(|kind| {
            let own: Vec<u64> =
                operations.iter().filter(|one| one.0 == kind).map(|one| one.1).collect();
            own.windows(2).all(|pair| pair[0] < pair[1])
        });
        let is_random = io.pattern == Pattern::Random;
        assert_eq!(rises, !is_random, "{job}");
    }
}

fn log(folder: &Path, number: usize) -> String {
    let named = folder.join(format!("log{number}"));
    fs::read_to_string(&named)
        .or_else(|_| fs::read_to_string(folder.join(format!("log{number}.0"))))
        .unwrap_or_else(|error| panic!("{}: {error}", named.display()))
}

#[test]
fn a_job_file_is_shown_as_a_study_and_explained_back() {
    let home = home("fio-shown");
    let text = "[global]\nsize=16m\nruntime=1\ntime_based\ndirect=1\n[first]\nrw=randread\nioengine=libaio\niodepth=4\n";
    let file = home.file("jobs.fio", text);
    let ended = home.run(&["explain", &file]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert!(ended.stderr.contains("pattern = \"random\""), "{}", ended.stderr);
    assert!(ended.stderr.contains("io_uring does the same work"), "{}", ended.stderr);
    for part in ["--rw=randread", "--iodepth=4", "--direct=1", "--runtime=1s"] {
        assert!(ended.stdout.replace("\\\n", "").contains(part), "{part}: {}", ended.stdout);
    }
    let bad = home.file(
        "bad.fio",
        format!("{text}exec_prerun=touch {}/made\n", home.scratch.path().display()),
    );
    let told = home.told(2, &["run", &bad, "simulated:lognormal,mean=100us,p99=400us,servers=4"]);
    assert!(told.contains("bad.fio:10:1: exec_prerun: a program"), "{told}");
    assert!(!home.scratch.path().join("made").exists());
}
