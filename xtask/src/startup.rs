//! `cargo xtask startup`: how long the program takes to start and how much memory a check takes.
//! A benchmark, not a test: other work on the machine moves the times.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::lab::process::Assay;
use crate::lab::volume::{Filesystem, Volume};
use crate::lab::{Done, is_root};
use crate::options::Options;
use crate::{bench, build, facts};

const STARTS: usize = 50;
const LIMIT: Duration = Duration::from_secs(150);

pub fn run(options: &Options) -> Done<bool> {
    if !is_root() {
        return Err("needs root for a loop device of its own".to_owned());
    }
    let head = facts::lines();
    let binary = build::release_binary()?;
    let times = starts(&binary)?;
    let mut rows = vec![
        ("`assay --version`, fastest of 50".to_owned(), milliseconds(times[0]), "under 10 ms"),
        (
            "`assay --version`, median of 50".to_owned(),
            milliseconds(times[STARTS / 2]),
            "under 10 ms",
        ),
    ];
    let volume = Volume::on_drive(Filesystem::Ext4, 3072)?;
    let home = volume.scratch().folder("home", 0o755, None)?;
    let target = volume.directory().display().to_string();
    for words in [
        ["check", &target, "--area", "1GiB", "--quick"].as_slice(),
        ["check", &target, "--area", "1GiB"].as_slice(),
    ] {
        let bytes = peak(&Assay::new(&binary, &home), words)?;
        let shown = words.join(" ").replace(&target, "DIRECTORY");
        let size = format!("{:.1} MiB", bytes as f64 / (1024.0 * 1024.0));
        rows.push((format!("`assay {shown}`, peak resident memory"), size, "under 32 MiB"));
    }
    let size = std::fs::metadata(&binary).map_or(0, |data| data.len());
    rows.push((
        "size of the program".to_owned(),
        format!("{:.1} MiB", size as f64 / (1024.0 * 1024.0)),
        "-",
    ));
    let mut page = format!(
        "# Start and memory\n\n`cargo xtask startup`, release build.\n\n{}\n\n",
        head.join("\n")
    );
    page.push_str(&bench::table("what | measured | wanted"));
    for (what, measured, wanted) in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "| {what} | {measured} | {wanted} |");
    }
    bench::keep(options, "startup.md", &page)?;
    Ok(true)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// Times of starting it, shortest first.
fn starts(binary: &Path) -> Done<Vec<Duration>> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let start = Instant::now();
        let status = Command::new(binary).arg("--version").stdout(Stdio::null()).status();
        let status = status.map_err(|error| error.to_string())?;
        times.push(start.elapsed());
        if !status.success() {
            return Err(format!("assay --version: {status}"));
        }
    }
    times.sort();
    Ok(times)
}

/// Largest resident size that the kernel saw while the program ran. The kernel keeps the maximum,
/// so that only what happens in the last 20 ms before the end can be missed.
fn peak(assay: &Assay, words: &[&str]) -> Done<u64> {
    let mut running = assay.start(words)?;
    let path = format!("/proc/{}/status", running.id());
    let mut kibibytes = 0;
    running
        .until(LIMIT, || {
            let status = std::fs::read_to_string(&path).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let seen =
                line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
            kibibytes = kibibytes.max(seen.unwrap_or_default());
            false
        })
        .err();
    let ended = running.end(LIMIT)?;
    if ended.code != 0 {
        return Err(format!("assay {}: {}", words.join(" "), ended.stderr));
    }
    Ok(kibibytes * 1024)
}
