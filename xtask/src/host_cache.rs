//! `cargo xtask host-cache`: what the rules `host-cache` and `cached` say in guests whose drives this machine
//! caches in each way that QEMU knows, start after start. The images lie on the drive of this machine, are full,
//! and begin each start outside of its page cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::Value;

use crate::lab::guest::machine::Accelerator;
use crate::lab::guest::{self, Asked};
use crate::lab::process::Assay;
use crate::lab::{Done, Scratch, call};
use crate::options::Options;
use crate::{build, facts, lab_guest};

/// QEMU's words, and the rule that is expected to speak: what is written is kept here under two of them, what is
/// read alone under `writethrough`, and nothing under the others.
const MODES: [(&str, Option<&str>); 5] = [
    ("writeback", Some("host-cache")),
    ("unsafe", Some("host-cache")),
    ("none", None),
    ("writethrough", Some("cached")),
    ("directsync", None),
];
/// The rules that may speak of what is kept here.
const RULES: [&str; 2] = ["host-cache", "cached"];
const IMAGE_BYTES: u64 = 384 << 20;
const LIMIT: Duration = Duration::from_secs(60);

const STUDY: &str = r#"format = "assay-study/1"
title = "Lent"
replicates = 3
area = { size = "256 MiB" }
[[workload]]
name = "sequential-write"
io = { pattern = "sequential", mix = "write", size = "1 MiB", depth = 8, time = "600 ms", ramp = "100 ms" }
[[workload]]
name = "sequential-read"
io = { pattern = "sequential", mix = "read", size = "1 MiB", depth = 8, time = "600 ms", ramp = "100 ms" }
"#;

/// What one start says of the drives.
struct Start {
    /// For each way: the rules by which a row is suspect, and its figures.
    told: Vec<(Vec<&'static str>, String)>,
}

/// Starts guests and counts in how many each rule is loud.
pub fn run(options: &Options) -> Done<bool> {
    if let Some(reason) = guest::missing() {
        return Err(reason);
    }
    let program = match options.text("--program") {
        Some(program) => PathBuf::from(program),
        None => build::built_binary(&[])?,
    };
    let scratch = Scratch::on_drive("host-cache")?;
    let images: Vec<PathBuf> =
        MODES.iter().map(|(mode, _)| scratch.path().join(format!("{mode}.img"))).collect();
    for image in &images {
        let count = format!("count={}", IMAGE_BYTES >> 20);
        call("dd", &["if=/dev/urandom", &of(image), "bs=1M", &count, "conv=fsync", "status=none"])?;
    }
    let mut lines = Vec::new();
    let mut loud = [[0_usize; RULES.len()]; MODES.len()];
    let starts = options.number("--starts");
    for at in 1..=starts {
        let start = start(&program, &images)?;
        for (((rules, figures), (mode, _)), loud) in start.told.iter().zip(MODES).zip(&mut loud) {
            for (rule, loud) in RULES.iter().zip(loud) {
                *loud += usize::from(rules.contains(rule));
            }
            let told = if rules.is_empty() { "-".to_owned() } else { rules.join(", ") };
            let line = format!("| {at} | {mode} | {told} | {figures} |");
            println!("{line}");
            lines.push(line);
        }
    }
    let counts = counted(&loud, starts);
    println!("loud: {counts}");
    if options.has("--write") {
        build::write_page("host-cache.md", &page(&lines, &counts))?;
    }
    Ok(MODES.iter().zip(&loud).all(|((_, expected), loud)| is_well(*expected, loud, starts)))
}

/// `writeback: host-cache 20, cached 0 of 20; ...`.
fn counted(loud: &[[usize; RULES.len()]], starts: usize) -> String {
    let of = |loud: &[usize; RULES.len()]| -> String {
        let rules = RULES.iter().zip(loud).map(|(rule, loud)| format!("{rule} {loud}"));
        rules.collect::<Vec<_>>().join(", ")
    };
    let modes = MODES.iter().zip(loud);
    let told = modes.map(|((mode, _), loud)| format!("{mode}: {} of {starts}", of(loud)));
    told.collect::<Vec<_>>().join("; ")
}

/// Whether the rule that is expected spoke in 14 of 20 starts at least, and the others in 4 of 20 at most.
fn is_well(expected: Option<&str>, loud: &[usize], starts: usize) -> bool {
    RULES.iter().zip(loud).all(|(rule, loud)| {
        if expected == Some(*rule) { 20 * loud >= 14 * starts } else { 20 * loud <= 4 * starts }
    })
}

fn of(image: &Path) -> String {
    format!("of={}", image.display())
}

fn start(program: &Path, images: &[PathBuf]) -> Done<Start> {
    for image in images {
        // What was written goes to the drive, and out of the page cache.
        call("sync", &[&image.display().to_string()])?;
        call(
            "dd",
            &[&of(image), "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"],
        )?;
    }
    let mut script = format!("set -e\ncat > /tmp/lent.toml <<'END'\n{STUDY}END\n");
    for (at, letter) in ('a'..).take(images.len()).enumerate() {
        let run = format!("assay run /tmp/lent.toml /dev/vd{letter} --destroy virtual{at}");
        script += &(run + " --quiet >/dev/null\n");
    }
    let asked = Asked {
        accelerator: Some(Accelerator::Tcg),
        drives: Vec::new(),
        lent: images.iter().cloned().zip(MODES.map(|(mode, _)| mode.to_owned())).collect(),
        script: Some(script.into_bytes()),
        ..lab_guest::usual(program.to_owned(), lab_guest::kernel(&[])?)
    };
    let mut said = Vec::new();
    let ended =
        guest::run(&asked, &AtomicBool::new(false), &mut |_, bytes| said.extend_from_slice(bytes))?;
    if ended.code != 0 {
        return Err(format!("the guest's job failed:\n{}", String::from_utf8_lossy(&said)));
    }
    let home = Scratch::new("host-cache-home")?;
    let names = guest::unpack(&ended, home.path())?;
    let assay = Assay::new(program, home.path());
    let mut told = Vec::new();
    for name in names {
        let shown = assay.run(&["show", &name, "--json"], LIMIT)?.json()?;
        let drive =
            shown["environment"]["targets"][0]["name"].as_str().unwrap_or_default().to_owned();
        let bundle = home.path().join("results").join(&name);
        told.push((drive, (loud(&shown), figures(&bundle)?)));
    }
    told.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(Start { told: told.into_iter().map(|(_, told)| told).collect() })
}

/// The rules by which a row is suspect.
fn loud(found: &Value) -> Vec<&'static str> {
    let speaks = |rule: &&str| {
        let cells = found["cells"].as_array().into_iter().flatten();
        let mut because = cells.filter_map(|cell| cell["because"].as_array()).flatten();
        because.any(|one| one["rule"] == **rule && one["trust"] == "suspect")
    };
    RULES.into_iter().filter(speaks).collect()
}

/// What of the rate writing kept, the share of a flush, and how much faster a second reading was.
fn figures(bundle: &Path) -> Done<String> {
    let read = |name: &str| {
        fs::read_to_string(bundle.join(name)).map_err(|error| format!("{name}: {error}"))
    };
    let plan: Value =
        serde_json::from_str(&read("plan.json")?).map_err(|error| error.to_string())?;
    let again = plan["surveys"][0]["read_twice"]["piece_ns"].as_array().into_iter().flatten();
    let mut again: Vec<f64> =
        again.filter_map(|pair| Some(pair[0].as_f64()? / pair[1].as_f64()?)).collect();
    let (mut kept, mut flush) = (Vec::new(), Vec::new());
    for line in read("trials.jsonl")?.lines() {
        let trial: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let wrote = trial["measured"]["elapsed_ns"].as_f64();
        let counts = trial["status"] == "ok" || trial["status"] == "disturbed";
        if let (Some(flush_ns), Some(wrote), true) = (trial["flush_ns"].as_f64(), wrote, counts) {
            kept.push(wrote / (wrote + flush_ns));
            flush.push(100.0 * flush_ns / wrote);
        }
    }
    let [kept, flush, again] = [&mut kept, &mut flush, &mut again].map(|all| middle(all));
    Ok(format!("{kept:.2} | {flush:.2} % | {again:.2}"))
}

fn middle(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

fn page(lines: &[String], counts: &str) -> String {
    format!(
        "# What a host caches, seen from a guest\n\n{}\n\n`cargo xtask host-cache`: guests of QEMU (TCG) with five \
         drives, whose images lie on the drive of this machine and are cached in each way; a study of sequential \
         writes and reads of each, 3 replicates. Rules: those by which a row is suspect; kept: of the rate of \
         writing, with the flush at its end counted; flush: its time as a share of the writing's; again: how much \
         faster three pieces were read the second time (medians).\n\nLoud: {counts}.\n\n\
         | start | cache | rules | kept | flush | again |\n|---|---|---|---|---|---|\n{}\n",
        facts::lines().join("\n"),
        lines.join("\n")
    )
}
