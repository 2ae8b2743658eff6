//! `cargo xtask bench-serve`: what looking at large results costs the server. A benchmark, not a
//! test: other work on the machine moves the times.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::lab::Done;
use crate::lab::home::Home;
use crate::lab::server::Server;
use crate::options::Options;
use crate::{bench, facts};

/// No study takes longer.
const LIMIT: Duration = Duration::from_secs(3600);
/// Memory that the server never reaches, bytes.
const MOST_MEMORY: u64 = 100_000_000;

/// A hundred settings and four workloads.
const STUDY: &str = "format = \"assay-study/1\"\ntitle = \"Large\"\nmargin = \"5 %\"\nseed = 5\n\
    target = { simulated = { law = \"lognormal\", mean = \"100 us\", p99 = \"400 us\" } }\n";
const FACTORS: &str = "[factors]\n\
    depth = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 64]\n\
    size = [\"4 KiB\", \"8 KiB\", \"16 KiB\", \"32 KiB\", \"64 KiB\"]\n";
/// Trials of one replicate.
pub const EACH: usize = 400;

pub fn run(options: &Options) -> Done<bool> {
    let head = facts::lines();
    let (binary, build) = bench::program(options)?;
    let replicates = options.number("--trials").div_ceil(EACH);
    let count = options.number("--results");
    let home = Home::new(&binary.display().to_string(), "bench-serve");
    let good = study(&home, replicates)?;
    let ids = copies(&good, count)?;
    let server = Server::start(&home, "127.0.0.1:0");
    let idle = server.most_memory();
    let (list, _) = timed(&server, "/")?;
    let listed = server.most_memory();
    let mut page = format!(
        "# Serving\n\n`cargo xtask bench-serve`, {build}; {count} simulated results of {} trials each \
         (100 settings, 4 workloads, {replicates} replicates), looked at in turn.\n\n{}\n\n\
         | looked at | first time | again | bytes of the page | most memory so far |\n\
         |---|---|---|---|---|\n",
        replicates * EACH,
        head.join("\n")
    );
    let mut row = |what: &str, first: f64, again: f64, bytes: usize, memory: u64| {
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| {what} | {first:.2} s | {again:.3} s | {bytes} | {:.1} MB |",
            memory as f64 / 1e6
        );
    };
    row("nothing", 0.0, 0.0, 0, idle);
    let (again, bytes) = timed(&server, "/")?;
    row("the list", list, again, bytes, listed);
    for (number, id) in (1..).zip(&ids) {
        let (first, bytes) = timed(&server, &format!("/result/{id}"))?;
        let (again, _) = timed(&server, &format!("/result/{id}"))?;
        row(&format!("result {number}"), first, again, bytes, server.most_memory());
    }
    for (number, id) in (1..).zip(&ids) {
        let (first, bytes) = timed(&server, &format!("/live/{id}"))?;
        let (again, _) = timed(&server, &format!("/live/{id}"))?;
        row(&format!("result {number}, as it ran"), first, again, bytes, server.most_memory());
    }
    let most = server.most_memory();
    server.stop();
    bench::keep(options, "serve.md", &page)?;
    println!("xtask: {most} bytes at most, {MOST_MEMORY} allowed");
    Ok(most < MOST_MEMORY)
}

/// A study that has run, by its directory.
pub fn study(home: &Home, replicates: usize) -> Done<PathBuf> {
    let text = format!("{STUDY}replicates = {replicates}\n{FACTORS}{}", bench::accesses());
    let file = home.file("study.toml", text);
    let ended = home.assay.run(&["run", &file, "--quiet"], LIMIT)?;
    if ended.code != 0 {
        return Err(ended.stderr);
    }
    let results = home.assay.home().join("results");
    let entries = fs::read_dir(&results).map_err(|error| error.to_string())?;
    let mut found = entries.flatten().map(|entry| entry.path());
    found.next().ok_or_else(|| "the study left no result".to_owned())
}

/// The result and others that differ from it by their names alone; the ids of all.
fn copies(good: &Path, count: usize) -> Done<Vec<String>> {
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut ids: Vec<String> = name(good).into_iter().collect();
    for index in 1..count {
        let id = format!("20250101-000000-{index:04}");
        link(good, &good.with_file_name(&id)).map_err(|error| error.to_string())?;
        ids.push(id);
    }
    Ok(ids)
}

/// The same files in another directory.
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let there = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            link(&entry.path(), &there)?;
        } else {
            fs::hard_link(entry.path(), there)?;
        }
    }
    Ok(())
}

/// Seconds until a path was answered whole, and the bytes of the page.
fn timed(server: &Server, path: &str) -> Done<(f64, usize)> {
    let began = Instant::now();
    let answer = server.get(path);
    if answer.status != 200 {
        return Err(format!("{path}: {}", answer.status));
    }
    Ok((began.elapsed().as_secs_f64(), answer.body.len()))
}
