//! `cargo xtask bench-bundle`: how long `assay import` takes for a whole result of some megabytes, packed, with
//! its own files alone and with as many as one may have; in memory and on the drive, beside plain copies of the
//! same files. A benchmark, not a test: other work on the machine moves the times.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::lab::home::Home;
use crate::lab::process::Assay;
use crate::lab::{Done, Scratch, call, hostile};
use crate::options::Options;
use crate::{build, facts, serve};

/// No command takes longer.
const LIMIT: Duration = Duration::from_secs(600);

/// A result as one file.
struct Packed {
    name: &'static str,
    file: PathBuf,
    bytes: u64,
}

pub fn run(options: &Options) -> Done<bool> {
    let head = facts::lines();
    let (binary, build) = match options.text("--program") {
        Some(path) => (PathBuf::from(path), "the program that was named"),
        None => (build::release_binary()?, "release build"),
    };
    let (rounds, more) = (options.number("--rounds"), options.number("--files"));
    let home = Home::new(&binary.display().to_string(), "bench-bundle");
    let result = serve::study(&home, options.number("--trials").div_ceil(serve::EACH))?;
    let own = packed(&home, &result, "its own files")?;
    for index in 0..more {
        let path = result.join(format!("series/more-{index:05}.json"));
        fs::write(&path, "[]").map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let many = packed(&home, &result, "and as many more as it may have")?;
    let (memory, drive) = (Scratch::new("bench-bundle")?, Scratch::on_drive("bench-bundle")?);
    let mut page = format!(
        "# A whole result as one file\n\n`cargo xtask bench-bundle --rounds {rounds}`, {build}; `assay \
         import FILE.assay` from the start of the program to its end, beside a copy of the same files and one \
         `sync -f`. {more} more files.\n\n{}\n\n\
         | file | packed | where | import, median | slowest | plain copies, median | wanted |\n\
         |---|---|---|---|---|---|---|\n",
        head.join("\n")
    );
    for packed in [&own, &many] {
        for (place, name) in [(&memory, "in memory"), (&drive, "on the drive")] {
            let mut times: [Vec<Duration>; 2] = Default::default();
            for _ in 0..rounds {
                let [import, plain] = once(&binary, place.path(), &packed.file)?;
                times[0].push(import);
                times[1].push(plain);
            }
            for own in &mut times {
                own.sort();
            }
            let shown = |time: Duration| format!("{:.2} s", time.as_secs_f64());
            // Writing to a String cannot fail.
            let _ = writeln!(
                page,
                "| {} | {:.1} MB | {name} | {} | {} | {} | under 10 s for 4 MB |",
                packed.name,
                packed.bytes as f64 / 1e6,
                shown(times[0][rounds / 2]),
                shown(times[0][rounds - 1]),
                shown(times[1][rounds / 2])
            );
        }
    }
    println!("{page}");
    if options.has("--write") {
        build::write_page("bundle.md", &page)?;
    }
    Ok(true)
}

/// The result in a directory as one file.
fn packed(home: &Home, result: &Path, name: &'static str) -> Done<Packed> {
    let file = home.scratch.path().join(format!("{}.assay", name.replace(' ', "-")));
    let (directory, path) = (result.display().to_string(), file.display().to_string());
    let words = ["export", &directory, "--format", "bundle", "-o", &path];
    let ended = home.assay.run(&words, LIMIT)?;
    if ended.code != 0 {
        return Err(ended.stderr);
    }
    let bytes = fs::metadata(&file).map_err(|error| error.to_string())?.len();
    Ok(Packed { name, file, bytes })
}

/// Takes a file in at a place where nothing is, and copies what came of it; how long either took.
fn once(binary: &Path, place: &Path, file: &Path) -> Done<[Duration; 2]> {
    let (home, plain) = (place.join("home"), place.join("plain"));
    let ended = Assay::new(binary, &home).run(&["import", &file.display().to_string()], LIMIT)?;
    if ended.code != 0 {
        return Err(ended.stderr);
    }
    let added = home.join("results").join(ended.stdout.trim());
    let began = Instant::now();
    hostile::copy(&added, &plain);
    call("sync", &["-f", &plain.display().to_string()])?;
    let times = [ended.time, began.elapsed()];
    for left in [home, plain] {
        fs::remove_dir_all(&left).map_err(|error| format!("{}: {error}", left.display()))?;
    }
    Ok(times)
}
