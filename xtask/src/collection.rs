//! `cargo xtask bench-collection`: what 100,000 rows cost. A benchmark, not a test: other work on the
//! machine moves the times.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use assay_claims::collection::{FORMAT, Number, Row, file};
use assay_study::findings::Trust;

use crate::lab::process::Assay;
use crate::lab::{Done, Scratch};
use crate::options::Options;
use crate::{bench, build, facts};

const ROWS: usize = 100_000;
const DEVICES: usize = 3_000;
const LIMIT: Duration = Duration::from_secs(600);
const ABOUT: &str = "{ \"format\": \"assay-collection/1\" }\n";

pub fn run(options: &Options) -> Done<bool> {
    let rounds = options.number("--rounds");
    let binary = build::release_binary()?;
    let scratch = Scratch::new("bench-collection")?;
    let home = scratch.folder("home", 0o755, None)?;
    let folder = scratch.folder("cards", 0o755, None)?;
    make(&folder)?;
    let assay = Assay::new(&binary, &home);
    let page = scratch.path().join("page.html").display().to_string();
    let cards = folder.display().to_string();
    let question =
        ["collection", "query", "write_iops>=359", "--sort", "-write_iops", "--in", &cards];
    let mut times: [Vec<Duration>; 3] = Default::default();
    for _ in 0..rounds {
        // Without its index it is made anew.
        let index = home.join("index");
        if index.exists() {
            fs::remove_dir_all(&index).map_err(|error| error.to_string())?;
        }
        times[0].push(once(&assay, &question)?);
        times[1].push(once(&assay, &question)?);
        times[2].push(once(&assay, &["collection", "build", "--in", &cards, "-o", &page])?);
    }
    let bytes = fs::metadata(&page).map_err(|error| error.to_string())?.len();
    let mut told = format!(
        "# A collection of 100,000 rows\n\n`cargo xtask bench-collection --rounds {rounds}`, release build, from \
         the start of the program to its end; {DEVICES} devices.\n\n{}\n\n{}",
        facts::lines().join("\n"),
        bench::table("what | median | slowest | wanted")
    );
    let names = [
        ("a question without an index: it is made of 100,000 files", "under 10 s"),
        ("the same question from the index", "under 0.2 s"),
        ("the page, index included", "-"),
    ];
    for ((name, wanted), own) in names.into_iter().zip(&times) {
        let [middle, slowest] = bench::middle_and_slowest(own);
        // Writing to a String cannot fail.
        let _ = writeln!(told, "| {name} | {middle:.2} s | {slowest:.2} s | {wanted} |");
    }
    let _ = writeln!(told, "\nThe page has {bytes} bytes (wanted: under 3,000,000).");
    bench::keep(options, "collection.md", &told)?;
    Ok(true)
}

fn once(assay: &Assay, words: &[&str]) -> Done<Duration> {
    let ended = assay.run(words, LIMIT)?;
    if ended.code == 0 { Ok(ended.time) } else { Err(ended.stderr) }
}

/// The files of a collection as `assay collection add` writes them.
fn make(folder: &Path) -> Done<()> {
    fs::write(folder.join("collection.json"), ABOUT).map_err(|error| error.to_string())?;
    for index in 0..ROWS {
        write(folder, &row(index))?;
    }
    Ok(())
}

/// Writes one row where it belongs.
pub fn write(folder: &Path, row: &Row) -> Done<()> {
    let (name, text) = file::write(row)?;
    let path = folder.join("rows").join(name);
    let parent = path.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(|error| error.to_string())?;
    fs::write(&path, text).map_err(|error| error.to_string())
}

/// A row that differs from all others.
fn row(index: usize) -> Row {
    let part = 0.8 + 0.4 * (index * 7919 % ROWS) as f64 / ROWS as f64;
    let numbers =
        [("read_mb_s", 9e7), ("write_mb_s", 3e7), ("read_iops", 1800.0), ("write_iops", 300.0)];
    let measured: BTreeMap<String, Number> =
        numbers.map(|(name, value)| (name.to_owned(), number(value * part))).into();
    Row {
        format: FORMAT.to_owned(),
        device: format!("Maker {} model {}", index % 40, index % DEVICES),
        capacity_bytes: Some(64_000_000_000),
        claimed: ["95 MB/s", "V30", "A1"].map(str::to_owned).to_vec(),
        price: Some("12.50 GBP".to_owned()),
        measured,
        date: Some("2026-11-24".to_owned()),
        machine: "Linux 6.12.0, a processor, bare metal".to_owned(),
        filesystem: "ext4".to_owned(),
        by: Some(format!("contributor {index}")),
        ..Row::default()
    }
}

/// A number with its interval, trials and latencies.
pub fn number(value: f64) -> Number {
    Number {
        value,
        ci95: Some([value * 0.97, value * 1.03]),
        trust: Some(Trust::Trusted),
        because: Vec::new(),
        how: "4 KiB, depth 1".to_owned(),
        trials: vec![value * 0.99, value, value * 1.01],
        latency_ns: vec![[0.5, 1e6], [0.9, 2e6], [0.99, 9e6], [0.999, 4e7]],
    }
}
