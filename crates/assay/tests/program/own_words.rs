//! Results of other tools, compared with their printed output of the same run: rates, means and percentiles match the
//! printed digits.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use assay_analysis::import::{self, Imported, ImportedFile, Options};

use assay_testkit::Scratch;
use assay_testkit::needs::{Need, have};

use crate::{home, printed_by};

#[derive(Clone, Copy, Debug)]
struct Printed {
    value: f64,
    last_digit: f64,
}

const DECIMAL: [(&str, f64); 4] = [("k", 1e3), ("M", 1e6), ("G", 1e9), ("", 1.0)];
const BINARY: [(&str, f64); 4] =
    [("KiB/s", 1024.0), ("MiB/s", 1_048_576.0), ("GiB/s", 1_073_741_824.0), ("B/s", 1.0)];

/// Parses a printed number with one of the units, in units of `scale`.
fn printed(text: &str, units: &[(&str, f64)], scale: f64) -> Printed {
    let text = text.trim();
    let (digits, unit) = units
        .iter()
        .find_map(|(unit, worth)| Some((text.strip_suffix(unit)?, worth)))
        .unwrap_or_else(|| panic!("no unit: {text}"));
    let value: f64 = digits.trim().parse().unwrap_or_else(|_| panic!("no number: {text}"));
    let decimals = digits.trim().split_once('.').map_or(0, |(_, behind)| behind.len());
    let worth = unit * scale;
    Printed { value: value * worth, last_digit: worth * 10_f64.powi(-(decimals as i32)) }
}

fn read(name: &str, bytes: &[u8]) -> Imported {
    let file =
        ImportedFile { name: name.to_owned(), bytes: bytes.to_vec(), ..ImportedFile::default() };
    let importer = import::of_bytes(name, bytes).unwrap();
    import::read(importer, &[file], &Options::default())
        .unwrap_or_else(|failure| panic!("{name}: {}", failure.message))
}

fn workloads(imported: &Imported) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for series in &imported.measurements.series {
        if !found.contains(&series.workload.as_str()) {
            found.push(&series.workload);
        }
    }
    found
}

fn values(imported: &Imported, workload: &str, metric: &str) -> Vec<f64> {
    let own = imported.measurements.series.iter();
    own.filter(|series| series.workload == workload && series.metric == metric)
        .flat_map(|series| &series.trials)
        .filter_map(|trial| trial.value)
        .collect()
}

fn same(imported: &Imported, workload: &str, metric: &str, told: Printed) {
    let [value] = values(imported, workload, metric)[..] else {
        panic!("{workload} {metric}: {:?}", values(imported, workload, metric));
    };
    near(&format!("{workload} {metric}"), value, told);
}

/// Tools round or truncate: the difference is less than one unit of the last digit.
fn near(what: &str, value: f64, told: Printed) {
    let off = (value - told.value).abs();
    assert!(off <= told.last_digit * (1.0 + 1e-9), "{what}: {value} is not {told:?}");
}

fn between<'t>(text: &'t str, from: &str, to: &str) -> Option<&'t str> {
    let (_, after) = text.split_once(from)?;
    Some(after.split_once(to).map_or(after, |(inside, _)| inside))
}

#[derive(Debug, Default)]
struct Direction {
    group: String,
    kind: String,
    /// Metric and number.
    numbers: Vec<(&'static str, Printed)>,
}

fn scale_of(line: &str) -> f64 {
    match () {
        () if line.contains("(usec)") => 1e3,
        () if line.contains("(msec)") => 1e6,
        () => 1.0,
    }
}

const PERCENTILES: [(&str, &str); 4] = [
    ("50.00th", "latency_p50_ns"),
    ("90.00th", "latency_p90_ns"),
    ("99.00th", "latency_p99_ns"),
    ("99.90th", "latency_p999_ns"),
];

fn of_fio(text: &str) -> (Vec<Direction>, Vec<(String, String, Printed)>) {
    let (mut jobs, mut groups): (Vec<Direction>, Vec<_>) = (Vec::new(), Vec::new());
    let (mut group, mut scale, mut kind) = (String::new(), 1.0, "clat");
    for line in text.lines() {
        let plain = line.trim();
        if let Some(id) = between(line, ": (groupid=", ",") {
            id.clone_into(&mut group);
        } else if let Some(id) = between(line, "Run status group ", " ") {
            id.clone_into(&mut group);
        } else if let Some((kind, rates)) = plain.split_once(": IOPS=") {
            let (iops, rest) = rates.split_once(", BW=").unwrap();
            let bandwidth = rest.split_once(' ').unwrap().0;
            let numbers = vec![
                ("iops", printed(iops, &DECIMAL, 1.0)),
                ("bandwidth_bytes_per_s", printed(bandwidth, &BINARY, 1.0)),
            ];
            jobs.push(Direction { group: group.clone(), kind: kind.to_owned(), numbers });
        } else if let Some((kind, rest)) = plain.split_once(": bw=") {
            let rate = printed(rest.split_once(' ').unwrap().0, &BINARY, 1.0);
            groups.push((group.clone(), kind.to_lowercase(), rate));
        } else if plain.contains("lat percentiles (") {
            kind = if plain.starts_with("clat") { "clat" } else { "lat" };
            scale = scale_of(plain);
        } else if let Some(job) = jobs.last_mut() {
            for (name, metric) in PERCENTILES {
                let found = between(plain, &format!("{name}=["), "]").filter(|_| kind == "clat");
                job.numbers.extend(found.map(|told| (metric, printed(told, &DECIMAL, scale))));
            }
            if plain.starts_with("clat (") {
                let unit = scale_of(plain);
                let told = |from| printed(between(plain, from, ",").unwrap(), &DECIMAL, unit);
                job.numbers.push(("latency_max_ns", told("max=")));
                job.numbers.push(("latency_mean_ns", told("avg=")));
            }
        }
    }
    (jobs, groups)
}

fn hold_fio(name: &str, text: &str) -> usize {
    let imported = read(name, text.as_bytes());
    let (jobs, groups) = of_fio(text);
    let mut names = workloads(&imported).into_iter();
    let mut numbers = 0;
    for (group, kind, rate) in &groups {
        let workload = names.next().unwrap();
        same(&imported, workload, "bandwidth_bytes_per_s", *rate);
        let own: Vec<&Direction> =
            jobs.iter().filter(|job| job.group == *group && job.kind == *kind).collect();
        numbers += 1;
        // fio prints totals of several jobs only there.
        if let [job] = own[..] {
            for (metric, told) in &job.numbers {
                // fio prints this for fewer than 10,000 operations, too; an import omits it.
                let is_rare = *metric == "latency_p999_ns";
                if is_rare && values(&imported, workload, metric).is_empty() {
                    continue;
                }
                same(&imported, workload, metric, *told);
                numbers += 1;
            }
        }
    }
    assert_eq!(names.next(), None, "{name}: fio tells of each workload");
    numbers
}

#[test]
fn recorded_files_of_fio_are_equal_to_the_text_beside_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/importers/fio-json");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("both-") && path.extension().is_some_and(|end| end == "json") {
            seen += 1;
            let numbers = hold_fio(&name, &fs::read_to_string(&path).unwrap());
            assert!(numbers > 20, "{name}: {numbers}");
        }
    }
    assert!(seen >= 4, "{seen}");
}

const FIO: &str = "[global]\nfilename=data\nsize=16m\nruntime=1\ntime_based\n[rand]\nrw=randread\n\
    bs=4k\n[mix]\nstonewall\nrw=randrw\nrwmixread=70\nbs=16k\nnumjobs=2\ngroup_reporting\n[many]\n\
    stonewall\nrw=write\nbs=64k\nnumjobs=2\ngroup_reporting=0\n";

#[test]
#[ignore = "nightly: 8 s"]
fn fio_here_is_equal_to_its_own_text() {
    if !have(&[Need::Program("fio")]) {
        return;
    }
    let home = home("words-fio");
    let folder = home.scratch.path();
    fs::write(folder.join("job.fio"), FIO).unwrap();
    for format in ["normal,json", "normal,json+"] {
        let text = printed_by(folder, "fio", &["job.fio", &format!("--output-format={format}")]);
        assert!(hold_fio("fio.json", &text) > 20);
    }
}

#[test]
#[ignore = "nightly: 3 s"]
fn bonnie_here_is_equal_to_its_own_table() {
    if !have(&[Need::Program("bonnie++")]) {
        return;
    }
    let home = home("words-bonnie");
    let folder = home.scratch.path();
    let user = if assay_testkit::is_root() { &["-u", "root"][..] } else { &[] };
    let words = [&["-d", ".", "-s", "32M", "-r", "16", "-n", "1"][..], user].concat();
    let text = printed_by(folder, "bonnie++", &words);
    let imported = read("bonnie.txt", text.as_bytes());
    // The table's rows have the order of the tests on the line.
    let row = text.lines().find(|line| line.contains(" 32M ")).unwrap();
    let rates: Vec<&str> = row.split_whitespace().skip(2).step_by(2).collect();
    let tests = ["write by character", "write by block", "rewrite", "read by character"];
    let mut seen = 0;
    for (test, rate) in tests.iter().chain(&["read by block"]).zip(&rates) {
        let found = values(&imported, test, "bandwidth_bytes_per_s");
        if rate.contains('+') {
            assert!(found.is_empty(), "{test}: too fast to time is no number");
        } else {
            near(test, found[0], printed(rate, &[("k", 1024.0), ("m", 1_048_576.0)], 1.0));
            seen += 1;
        }
    }
    let latency = text.lines().find(|line| line.starts_with("Latency")).unwrap();
    for (test, told) in tests.iter().zip(latency.split_whitespace().skip(1)) {
        let units = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
        same(&imported, test, "latency_max_ns", printed(told, &units, 1.0));
        seen += 1;
    }
    assert!(seen >= 4);
}

#[test]
fn hyperfine_here_is_equal_to_its_own_text() {
    if !have(&[Need::Program("hyperfine")]) {
        return;
    }
    let home = home("words-hyperfine");
    let folder = home.scratch.path();
    let words = ["-r", "4", "--style", "basic", "--export-json", "h.json", "sleep 0.02"];
    let text = printed_by(folder, "hyperfine", &words);
    let imported = read("h.json", &fs::read(folder.join("h.json")).unwrap());
    let times = values(&imported, "command", "duration_s");
    assert_eq!(times.len(), 4);
    let units = [("ms", 1e-3), ("s", 1.0)];
    let line = |name: &str| text.lines().find(|line| line.trim().starts_with(name)).unwrap();
    let (_, rest) = line("Time (mean").split_once("):").unwrap();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    near("mean", mean, printed(rest.split(" ±").next().unwrap(), &units, 1.0));
    let (_, rest) = line("Range (min").split_once("):").unwrap();
    let (least, most) = rest.split_once('…').unwrap();
    near("min", times.iter().copied().fold(f64::MAX, f64::min), printed(least, &units, 1.0));
    let most = most.trim().split("    ").next().unwrap();
    near("max", times.iter().copied().fold(0.0, f64::max), printed(most, &units, 1.0));
}

#[test]
fn sysstat_here_is_equal_to_its_own_averages() {
    if !have(&[Need::Program("sar"), Need::Program("sadf"), Need::Path("/proc/diskstats")]) {
        return;
    }
    // On the drive: neither program reports idle disks.
    let scratch = Scratch::on_drive("words-sysstat").unwrap();
    let folder = scratch.path();
    let (going, block) = (AtomicBool::new(true), vec![7; 65_536]);
    let text = thread::scope(|scope| {
        scope.spawn(|| {
            // Longer than the tool's run, but not forever if it fails.
            for _ in (0..400).take_while(|_| going.load(Ordering::Relaxed)) {
                let file = fs::File::create(folder.join("busy")).unwrap();
                file.write_all_at(&block, 0).and_then(|()| file.sync_all()).unwrap();
                thread::sleep(Duration::from_millis(50));
            }
        });
        let text = printed_by(folder, "sar", &["-o", "day", "-d", "1", "3"]);
        going.store(false, Ordering::Relaxed);
        text
    });
    let json = printed_by(folder, "sadf", &["-j", "day", "--", "-d"]);
    if !json.contains("\"disk\"") {
        // The temporary directory is in memory, and nothing else wrote.
        let is_silent = |line: &str| !line.starts_with("Average:") || line.contains("DEV");
        return assert!(text.lines().all(is_silent), "{text}");
    }
    let imported = read("sadf.json", json.as_bytes());
    let mut seen = 0;
    for line in text.lines().filter(|line| line.starts_with("Average:") && !line.contains("DEV")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        // A disk that another process created meanwhile has no line in earlier readings.
        let looks =
            text.lines().filter(|line| line.split_whitespace().any(|word| word == words[1]));
        if looks.count() < 4 {
            continue;
        }
        // tps rkB/s wkB/s dkB/s areq-sz aqu-sz await.
        let metrics = [
            (2, "transfers_per_s", 1.0),
            (3, "read_bytes_per_s", 1024.0),
            (4, "written_bytes_per_s", 1024.0),
        ];
        for (at, metric, scale) in metrics {
            let told = printed(words[at], &[("", 1.0)], scale);
            if told.value > 0.0 {
                // The tool weights its three readings by their lengths, which vary on a busy machine.
                let [value] = values(&imported, words[1], metric)[..] else { panic!("{line}") };
                let wide = Printed { last_digit: told.value / 20.0, ..told };
                near(line, value, wide);
                seen += 1;
            }
        }
    }
    assert!(seen > 0 || text.lines().all(|line| !line.contains(" 1.")), "{text}");
}

#[test]
fn flent_here_is_equal_to_its_own_summary() {
    if !have(&[Need::Program("flent"), Need::Program("ping"), Need::Program("netperf")]) {
        return;
    }
    let home = home("words-flent");
    let folder = home.scratch.path();
    printed_by(folder, "flent", &["ping", "-H", "127.0.0.1", "-l", "2", "-D", "."]);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let file = files.into_iter().find(|path| path.to_string_lossy().ends_with(".flent.gz"));
    let file = file.expect("a data file");
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let imported = read(&name, &fs::read(&file).unwrap());
    let text = printed_by(folder, "flent", &["-f", "summary", &name]);
    let line = text.lines().find(|line| line.contains("Ping (ms)")).unwrap();
    let (series, rest) = line.split_once(" : ").unwrap();
    let own = format!("ping: {}", series.trim());
    let told = rest.split_whitespace().next().unwrap();
    same(&imported, &own, "time_ms", printed(told, &[("", 1.0)], 1.0));
}

#[test]
fn iozone_here_is_equal_to_its_own_report() {
    if !have(&[Need::Program("iozone")]) {
        return;
    }
    let home = home("words-iozone");
    let words =
        ["-a", "-R", "-n", "256", "-g", "512", "-y", "64", "-q", "128", "-i", "0", "-i", "2"];
    let text = printed_by(home.scratch.path(), "iozone", &words);
    let imported = read("iozone.txt", text.as_bytes());
    let mut seen = 0;
    for (title, test) in [
        ("\"Writer report\"", "write"),
        ("\"Re-writer report\"", "rewrite"),
        ("\"Random read report\"", "random read"),
        ("\"Random write report\"", "random write"),
    ] {
        let (_, after) = text.split_once(title).unwrap_or_else(|| panic!("{title}: {text}"));
        let rows = after.lines().skip(2).take_while(|line| line.starts_with('"'));
        let numbers = rows.flat_map(|row| row.split_whitespace().skip(1));
        let told: Vec<f64> = numbers.map(|word| word.parse::<f64>().unwrap() * 1024.0).collect();
        assert_eq!(values(&imported, test, "bandwidth_bytes_per_s"), told, "{test}");
        seen += told.len();
    }
    assert_eq!(seen, 16);
}

#[test]
fn dd_here_is_equal_to_its_own_line() {
    let home = home("words-dd");
    let ran = Command::new("dd")
        .args(["if=/dev/zero", "of=made", "bs=1M", "count=8"])
        .env("LC_ALL", "C")
        .current_dir(home.scratch.path())
        .output()
        .unwrap();
    let text = String::from_utf8(ran.stderr).unwrap();
    let imported = read("dd.txt", text.as_bytes());
    let line = text.lines().find(|line| line.contains("copied")).unwrap();
    let rate = line.rsplit(", ").next().unwrap();
    let units = [("kB/s", 1e3), ("MB/s", 1e6), ("GB/s", 1e9)];
    // The seconds also have six digits.
    let told = printed(rate, &units, 1.0);
    same(&imported, "copy", "bandwidth_bytes_per_s", told);
}
