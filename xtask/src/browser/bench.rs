//! `cargo xtask bench-pages`: how long a page takes to be made, and to be opened in Chromium. A
//! benchmark, not a test: other work on the machine moves the times.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::driver::{self, Browser};
use super::{NAME, need};
use crate::lab::process::Assay;
use crate::lab::{Done, Scratch};
use crate::options::Options;
use crate::{bench, build, facts};

const LIMIT: Duration = Duration::from_secs(600);

/// What is looked at: name, factors and replicates of a simulated study, and what is wanted.
const CASES: [(&str, &str, &str); 2] = [
    (
        "160 cells, 6 replicates (5 x 8 settings, 4 workloads)",
        "replicates = 6\n[factors]\ndepth = [1, 2, 4, 8, 16, 32, 64, 128]\n\
         size = [\"4 KiB\", \"8 KiB\", \"16 KiB\", \"32 KiB\", \"64 KiB\"]\n",
        "under 1 MB, opened in under 1 s",
    ),
    (
        "10,000 trials (100 settings, 4 workloads, 25 replicates)",
        "replicates = 25\n[factors]\n\
         depth = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 64]\n\
         size = [\"4 KiB\", \"8 KiB\", \"16 KiB\", \"32 KiB\", \"64 KiB\"]\n",
        "made in under 2 s",
    ),
];

const HEAD: &str = "format = \"assay-study/1\"\ntitle = \"Pages\"\nmargin = \"5 %\"\nseed = 5\n\
    target = { simulated = { law = \"lognormal\", mean = \"100 us\", p99 = \"400 us\" } }\n";

pub fn run(options: &Options) -> Done<bool> {
    if let Some(reason) = driver::missing() {
        return Err(reason);
    }
    let head = facts::lines();
    let binary = build::release_binary()?;
    let rounds = options.number("--rounds");
    let mut page = format!(
        "# Pages\n\n`cargo xtask bench-pages --rounds {rounds}`, release build, headless Chromium; \
         simulated studies.\nTimes: median, with the fastest and the slowest round.\n\n{}\n\n{}",
        head.join("\n"),
        bench::table("result | bytes | `assay report` | opened in Chromium | wanted")
    );
    for (name, factors, wanted) in CASES {
        let scratch = Scratch::new(NAME)?;
        let home = scratch.folder("home", 0o755, None)?;
        let assay = Assay::new(&binary, &home);
        let file = scratch.path().join("page.html");
        study(&assay, scratch.path(), factors)?;
        let mut made = Vec::new();
        for _ in 0..rounds {
            let words = ["report", "-o", &file.display().to_string()];
            let ended = assay.run(&words, LIMIT)?;
            need(ended.code == 0, || ended.stderr.clone())?;
            made.push(ended.time.as_secs_f64());
        }
        let bytes = fs::metadata(&file).map_err(|error| error.to_string())?.len();
        let opened = opened(&file, scratch.path(), rounds)?;
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| {name} | {bytes} | {} | {} | {wanted} |",
            seconds(made),
            seconds(opened)
        );
    }
    bench::keep(options, "pages.md", &page)?;
    Ok(true)
}

fn study(assay: &Assay, folder: &Path, factors: &str) -> Done<()> {
    let text = format!("{HEAD}{factors}{}", bench::accesses());
    let file = folder.join("study.toml");
    fs::write(&file, text).map_err(|error| error.to_string())?;
    let ended = assay.run(&["run", &file.display().to_string(), "--quiet"], LIMIT)?;
    need(ended.code == 0, || ended.stderr.clone())
}

/// Seconds from the beginning of the navigation to the end of its load event.
fn opened(file: &Path, folder: &Path, rounds: usize) -> Done<Vec<f64>> {
    let browser = Browser::start(folder)?;
    let mut times = Vec::new();
    for _ in 0..rounds {
        browser.open("about:blank")?;
        browser.open_file(file)?;
        let milliseconds = browser.number(LOADED)?;
        times.push(milliseconds / 1000.0);
    }
    Ok(times)
}

/// Milliseconds that the page took to load.
pub const LOADED: &str = "const [entry] = performance.getEntriesByType('navigation'); \
                          return entry.loadEventEnd - entry.startTime";

fn seconds(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    let [first, middle, last] = [0, times.len() / 2, times.len().saturating_sub(1)]
        .map(|index| times.get(index).copied().unwrap_or_default());
    format!("{middle:.2} s ({first:.2} to {last:.2})")
}
