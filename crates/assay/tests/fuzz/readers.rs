//! Readers of foreign files, one per line, for the short run (`tests/fuzz.rs`) and `cargo xtask fuzz`.

#[path = "recordings.rs"]
mod recordings;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use assay::store;
use assay_analysis::collection::flat::{self, Flat};
use assay_analysis::collection::{file as row_file, published};
use assay_analysis::import::requests::{self, Begin};
use assay_analysis::import::{self, IMPORTERS, ImportedFile, Importer, Reads};
use assay_core::calc;
use assay_machine::probes::energy::meter;
use assay_machine::system::journal::{self, Journal, Mark, Undo};
use assay_machine::system::{Fake, System};
use assay_runner::run::{self, Request};
use assay_study::file::{fio_job, text};
use assay_study::results::bundle::Label;
use assay_study::results::imported::{Import, StoredImport};
use assay_study::results::plan::Arm;
use assay_testkit::fuzz::Reader;

pub fn readers() -> Vec<Reader> {
    let mut all = vec![
        Reader::new("bundle", "store::evidence_at", bundles, read_bundle),
        Reader::new("recording", "results::requests", recordings::seeds, recordings::read),
        Reader::new("study", "study::file::parse", studies, read_study),
        Reader::new("csv", "import::trials_csv", tables, read_table),
        Reader::new("jobs", "fio_job::translate", jobs, read_jobs),
        Reader::new("journal", "journal::restore", journals, read_journal),
        Reader::new("edid", "calc::edid::read", edids, read_edid),
        Reader::new("row", "collection::file::read", rows, read_row),
        Reader::new("meter", "meter::parse", meters, read_meter),
    ];
    all.extend(IMPORTERS.iter().filter(|one| !matches!(one.reads, Reads::Table(_))).map(importer));
    all
}

fn importer(own: &'static Importer) -> Reader {
    let name = format!("import/{}", own.about.name);
    Reader::new(
        name,
        "import::read",
        || brought(own.about.name),
        |bytes: &[u8]| read_brought(own, bytes),
    )
}

/// Returns the workspace root, from any of its crates.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().find(|place| place.join("Cargo.lock").exists()).unwrap_or(here).to_owned()
}

fn files(folder: &str, ending: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut waiting = vec![root().join(folder)];
    let mut found = Vec::new();
    while let Some(place) = waiting.pop() {
        for entry in fs::read_dir(&place).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                found.extend(fs::read(&path).ok().map(|bytes| (path, bytes)));
            }
        }
    }
    found.sort();
    found
}

fn contents(folder: &str, ending: &str) -> Vec<Vec<u8>> {
    files(folder, ending).into_iter().map(|(_, bytes)| bytes).collect()
}

/// Prefix of a line that starts a file of a bundle in the combined text.
const FILE: &str = "=== ";
const RESULT: &str = "/results/20261122-0000-abcd";
const STUDY: &str = r#"
format     = "assay-study/1"
title      = "Which depth?"
replicates = 2
seed       = 11
margin     = "5%"
area       = { size = "16 MiB" }

[factors]
queue_depth = ["1", "4"]

[[workload]]
name = "read"
io   = { pattern = "random", mix = "read", block_size = "4 KiB", runtime = "2 ms" }
"#;
const DRIVE: &str = "simulated:lognormal,mean=100us,p99=400us,servers=4";

/// Returns bundles of an old and the current version, each as one text.
fn bundles() -> Vec<Vec<u8>> {
    let folder = "crates/assay/tests/fixtures/bundles/check-before-factors";
    let old = files(folder, "").into_iter().map(|(path, bytes)| {
        let name = path.strip_prefix(root().join(folder)).unwrap_or(&path).to_owned();
        (name, String::from_utf8_lossy(&bytes).into_owned())
    });
    let mut bundles = vec![joined(old)];
    let fake = Fake::sata_ssd().unwrap_or_default();
    for (study, target) in [(STUDY, DRIVE), (STUDY, "/home/me")] {
        let Ok(study) = text::parse("seed", study) else { continue };
        let request = Request {
            results: Some("/results".into()),
            ..Request::bare(study, vec![target.to_owned()])
        };
        let ran = run::run(&fake, request, &AtomicBool::new(false), &mut |_| {});
        if let Ok(directory) = ran.map(|finished| finished.directory.unwrap_or_default()) {
            let kept = fake.files().into_iter().filter_map(|(path, text)| {
                Some((path.strip_prefix(&directory).ok()?.to_owned(), text))
            });
            bundles.push(joined(kept));
        }
    }
    bundles
}

fn joined(files: impl Iterator<Item = (PathBuf, String)>) -> Vec<u8> {
    let parts = files.map(|(name, text)| format!("{FILE}{}\n{text}\n", name.display()));
    parts.collect::<String>().into_bytes()
}

fn read_bundle(bytes: &[u8]) -> bool {
    let fake = Fake::new();
    let text = String::from_utf8_lossy(bytes);
    for part in text.split(FILE).skip(1) {
        let part = part.strip_suffix('\n').unwrap_or(part);
        let (name, content) = part.split_once('\n').unwrap_or((part, ""));
        let plain = |sign: char| sign.is_ascii_alphanumeric() || "._-/".contains(sign);
        if !name.is_empty() && name.chars().all(plain) && !name.contains("..") {
            fake.put(Path::new(RESULT).join(name.trim_matches('/')), content);
        }
    }
    store::evidence_at(&fake, Path::new(RESULT)).is_ok()
}

fn studies() -> Vec<Vec<u8>> {
    let mut all = contents("studies", ".toml");
    all.extend(contents("crates/assay/tests/studies", ".toml"));
    all.push(text::EXAMPLE.as_bytes().to_vec());
    all
}

fn read_study(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Ok(study) = text::parse("study.toml", &text) else { return false };
    let again = text::write(&study).and_then(|text| text::stored("study.toml", &text));
    match again {
        Ok(again) => assert!(again == study, "what is stored of a study is another study"),
        Err(failure) => panic!("what is stored of a study cannot be read: {failure}"),
    }
    true
}

fn tables() -> Vec<Vec<u8>> {
    contents("crates/assay/tests/csv", ".csv")
}

/// Reads a table with any start, and reports errors of the common importer.
fn read_table(bytes: &[u8]) -> bool {
    IMPORTERS.first().is_some_and(|importer| read_with(importer, "trials.csv", bytes))
}

fn brought(format: &str) -> Vec<Vec<u8>> {
    let folder = format!("crates/assay/tests/importers/{format}");
    let all = files(&folder, "").into_iter();
    let small = all.filter(|(path, bytes)| {
        bytes.len() < 64 * 1024 && !path.to_string_lossy().ends_with(".expected.txt")
    });
    small.map(|(_, bytes)| bytes).collect()
}

/// File names of fio logs, which determine their contents.
const NAMES: [&str; 3] = ["job_bw.1.log", "job_lat.1.log", "job_iops.1.log"];

/// Reads a file with its importer, and with any other that recognizes it.
fn read_brought(own: &Importer, bytes: &[u8]) -> bool {
    let name = NAMES[bytes.len() % NAMES.len()];
    let other = import::of_bytes(name, bytes).ok();
    if let Some(other) = other.filter(|other| other.about.name != own.about.name) {
        read_with(other, name, bytes);
    }
    read_with(own, name, bytes)
}

fn jobs() -> Vec<Vec<u8>> {
    contents("crates/assay/tests/fio-jobs", ".fio")
}

fn read_jobs(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let way = fio_job::PortOptions { partly: text.len().is_multiple_of(2), variable: &|_| None };
    let Ok(translated) = fio_job::translate("jobs.fio", &text, way) else { return false };
    // Excessive studies are refused like others.
    text::parse("jobs.toml", &translated.study).is_ok()
}

fn read_requests(begin: Begin, name: &str, bytes: &[u8]) -> bool {
    let (mut all, mut from) = (Vec::new(), bytes);
    let Ok(told) = requests::read(name, begin, &mut from, &mut |one| all.push(one)) else {
        return false;
    };
    for one in &all {
        let Some(device) = told.devices.get(one.device) else { panic!("a request of no device") };
        let end = one.offset_bytes.unwrap_or_default().saturating_add(one.bytes);
        assert!(end <= device.bytes, "a request behind the end of its device");
        assert!(one.arrived_ns.is_none_or(|arrived| arrived <= one.ended_ns));
    }
    true
}

fn read_with(importer: &Importer, name: &str, bytes: &[u8]) -> bool {
    if let Reads::Requests(begin) = importer.reads {
        return read_requests(begin, name, bytes);
    }
    let name = || name.to_owned();
    let files = [ImportedFile { name: name(), arm: Arm::new(), bytes: bytes.to_vec() }];
    let Ok(read) = import::read(importer, &files, &import::Options::default()) else {
        return false;
    };
    let about = Import {
        format: String::new(),
        assay: String::new(),
        importer: importer.about.name.to_owned(),
        file: name(),
        sha256: String::new(),
        title: name(),
        imported: String::new(),
        baseline: Arm::new(),
        margin: None,
        primary: None,
        trials: read.trials,
        files: Vec::new(),
        in_order: false,
        better: std::collections::BTreeMap::new(),
    };
    let contents = files.map(|file| file.bytes).to_vec();
    let stored = StoredImport { id: name(), about, contents, label: Label::default() };
    store::findings_of_import(&stored, read);
    true
}

const HOME: &str = "/var/lib/assay/journal";
const ID: &str = "20261122-0000-abcd";
/// A disk, a loop device and a changed setting.
const CHANGED: &str = "\
file /proc/sys/kernel/random/boot_id first
file /proc/self/mountinfo
| 25 1 8:1 / / rw - ext4 /dev/sda1 rw
file /sys/block/sda/dev 8:0
file /sys/block/sda/size 327680
file /sys/block/sda/queue/read_ahead_kb 4096
link /sys/class/block/sda /sys/block/sda
link /sys/dev/block/8:0 /sys/block/sda
block /dev/sda 8:0
file /etc/sysctl.d/61-assay.conf vm.swappiness = 1
";

fn changed() -> Fake {
    let fake = Fake::new();
    // An invalid line would leave no seeds.
    let _ = fake.add(CHANGED);
    fake
}

fn journals() -> Vec<Vec<u8>> {
    let fake = changed();
    let disk = Mark::now(&fake, "sda");
    let path = |path: &str| PathBuf::from(path);
    let undos = [
        Undo::Setting {
            path: path("/sys/block/sda/queue/read_ahead_kb"),
            original: "128".to_owned(),
            device: Some(disk.clone()),
        },
        Undo::Loop { file: path("/var/lib/assay/made/image"), device: None },
        Undo::Zram { number: 1, sequence: Some(9) },
        Undo::File { path: path("/var/lib/assay/made/image") },
        Undo::Partition { disk: disk.clone(), number: 3, start: 1 << 20 },
        Undo::FileSystem { disk, start: 1 << 20, label: "assay-1".to_owned() },
        Undo::Directory { path: path("/var/lib/assay/made/mount") },
        Undo::Mount { point: path("/var/lib/assay/made/mount") },
        Undo::Unit {
            name: "assay-reboots.service".to_owned(),
            wanted_by: "sysinit.target".to_owned(),
            written: "[Unit]\n".to_owned(),
        },
        Undo::Text {
            path: path("/etc/sysctl.d/61-assay.conf"),
            original: None,
            written: Some("vm.swappiness = 1\n".to_owned()),
        },
    ];
    let Ok(mut journal) = Journal::begin(&fake, Path::new(HOME), ID) else { return Vec::new() };
    for undo in undos {
        // An undo action that cannot be recorded is only missing in the seed.
        let _ = journal.record(&fake, undo);
    }
    drop(journal);
    let kept = fake.read_bytes(&Path::new(HOME).join(format!("{ID}.jsonl")));
    kept.into_iter().collect()
}

/// Reads a journal, and undoes it on a fake machine.
fn read_journal(bytes: &[u8]) -> bool {
    let fake = changed();
    fake.put(Path::new(HOME).join(format!("{ID}.jsonl")), bytes);
    let found = journal::unfinished(&fake, Path::new(HOME)).unwrap_or_default();
    let restored = found.iter().map(|journal| journal::restore(&fake, journal));
    restored.flatten().count() > 0
}

fn edids() -> Vec<Vec<u8>> {
    let ranges = [
        (3, [0x0F, 12, 60, 31, 105, 17, 4, 0, 0xFC]),
        (4, [0b1011, 1, 105, 30, 22, 60, 4, 0, 3 << 2]),
        (4, [0, 48, 144, 30, 200, 0, 1, 0, 0xFF]),
    ];
    let edid = |(revision, range): (u8, [u8; 9])| {
        let mut bytes = vec![0; 128];
        bytes[..8].copy_from_slice(&[0, 255, 255, 255, 255, 255, 255, 0]);
        (bytes[18], bytes[19], bytes[75], bytes[93]) = (1, revision, 0xFD, 0xFC);
        bytes[76..85].copy_from_slice(&range);
        bytes[95..101].copy_from_slice(b"T221\n ");
        sealed(bytes)
    };
    ranges.into_iter().map(edid).collect()
}

/// Corrects the checksum; otherwise nothing after it would be read.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(block) = bytes.get_mut(..128) {
        let sum = block[..127].iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
        block[127] = 0_u8.wrapping_sub(sum);
    }
    bytes
}

fn read_edid(bytes: &[u8]) -> bool {
    let as_it_is = calc::edid::read(bytes).is_ok();
    calc::edid::read(&sealed(bytes.to_vec())).is_ok() || as_it_is
}

fn meters() -> Vec<Vec<u8>> {
    let rows = |line: fn(u32) -> String| (0..20).map(line).collect::<String>();
    [
        rows(|at| format!("2026-11-20T09:00:{at:02}Z,{at}.5\n")),
        "time;power\n".to_owned() + &rows(|at| format!("{};{at} W\n", 1_795_165_200 + at)),
        "\"unix ms\",\"power (mW)\"\n".to_owned()
            + &rows(|at| format!("{}000,4200\n", 1_795_165_200 + at)),
        "volt\tdate\tkilowatts\n".to_owned()
            + &rows(|at| format!("5\t2026-11-20T10:00:{at:02}+01:00\t0.0042\n")),
    ]
    .map(String::into_bytes)
    .to_vec()
}

/// Rows of a collection: a published one, and one with all parts.
fn rows() -> Vec<Vec<u8>> {
    let published = published::rows().into_iter().next();
    let published = published.and_then(|row| row_file::write(&row).ok()).map(|(_, text)| text);
    let whole = r#"{ "format": "assay-collection/1", "device": "SD16G", "capacity_bytes": 16000000000,
"claimed": ["95 MB/s", "V30"], "price": "12.50 GBP", "measured": { "write_iops": { "value": 19.3, "ci95": [18.9, 19.7],
"trust": "suspect", "because": ["cached"], "how": "random", "trials": [19.0, 19.6], "latency_ns": [[0.5, 1e6]] } },
"date": "2026-11-24", "machine": "Linux", "filesystem": "ext4", "by": "jane", "foreign": true,
"result": "20261124-103107-a3f9", "identity": { "serial": "1", "target": "/dev/x" } }"#;
    published.into_iter().chain([whole.to_owned()]).map(String::into_bytes).collect()
}

fn read_row(bytes: &[u8]) -> bool {
    let Ok(row) = row_file::read(&String::from_utf8_lossy(bytes)) else { return false };
    let (name, text) = row_file::write(&row).unwrap_or_default();
    assert_eq!(row_file::read_named(&name, &text).as_ref(), Ok(&row));
    let line = Flat::new(&name, &row);
    assert_eq!(flat::table(&[line]).lines().count(), 2);
    true
}

fn read_meter(bytes: &[u8]) -> bool {
    let Ok(samples) = meter::parse(&String::from_utf8_lossy(bytes)) else { return false };
    let (start, second) = (1_795_165_200_000_000_000, 1_000_000_000);
    for (from, to) in [(start, start + 20 * second), (0, u64::MAX), (start, start)] {
        // It returns an error if the samples do not cover the span.
        let _ = meter::joules(&samples, from, to);
    }
    !samples.is_empty()
}
