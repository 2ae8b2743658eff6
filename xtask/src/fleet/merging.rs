//! What `assay merge` holds in memory: many bundles with few trials and with ten times as many. Two ranks make one;
//! the others are copies of it that say another rank.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use super::many::study;
use super::{Measured, ended, ranks};
use crate::bench;
use crate::lab::fleet::trials;
use crate::lab::{Done, Scratch, call};
use crate::options::Options;

const DRIVE: &str = "simulated:lognormal,mean=100us,p99=400us,servers=4";
/// Replicates of two depths.
const REPLICATES: [usize; 2] = [3, 30];
/// Times the memory that ten times as many trials may take.
const FLAT: f64 = 1.25;
const TIME: &str = "/usr/bin/time";

/// One merging.
struct Row {
    bundles: usize,
    trials: usize,
    memory_mib: f64,
    seconds: f64,
}

pub fn measure(program: &Path, options: &Options) -> Done<Measured> {
    if !Path::new(TIME).exists() {
        return Err(format!("needs {TIME}, which tells the most memory that a program had"));
    }
    let most = options.number("--bundles");
    let mut rows = Vec::new();
    for replicates in REPLICATES {
        let scratch = Scratch::new("fleet-merge")?;
        let ranks = ranks(program, &scratch, &study(replicates), &vec![DRIVE.to_owned(); 2])?;
        ended(ranks.start(&[])?)?;
        let own = ranks.own(1).ok_or("rank 1 kept nothing")?;
        for bundles in [most.div_ceil(10).max(2), most] {
            let row = merged(program, &scratch, &own, bundles)?;
            println!("{} bundles of {} trials: {:.1} MiB", row.bundles, row.trials, row.memory_mib);
            rows.push(row);
        }
    }
    let mut text = "Results of hosts with a simulated drive, two depths, made one by `assay merge --quiet`; the most \
                    memory that it had, as `/usr/bin/time` tells it.\n\n"
        .to_owned();
    text.push_str(&bench::table("bundles | trials of each | most memory | time"));
    for Row { bundles, trials, memory_mib, seconds } in &rows {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {bundles} | {trials} | {memory_mib:.1} MiB | {seconds:.1} s |");
    }
    let of = |at: usize| rows[at].memory_mib;
    let holds = of(2) <= FLAT * of(0) && of(3) <= FLAT * of(1);
    Ok(Measured { heading: "## Merging", text, holds })
}

/// Makes copies and merges them.
fn merged(program: &Path, scratch: &Scratch, own: &Path, bundles: usize) -> Done<Row> {
    let folder = scratch.folder(&format!("bundles-{bundles}"), 0o755, None)?;
    let environment = read(&own.join("environment.json"))?;
    let copies = (0..bundles).map(|rank| copy(own, &environment, &folder, (rank, bundles)));
    let copies = copies.collect::<Done<Vec<PathBuf>>>()?;
    let home = scratch.folder(&format!("merged-{bundles}"), 0o755, None)?;
    let began = Instant::now();
    let output = Command::new(TIME)
        .args(["-f", "%M"])
        .arg(program)
        .args(["merge", "--quiet"])
        .args(&copies)
        .env("ASSAY_HOME", &home)
        .output()
        .map_err(|error| format!("{TIME}: {error}"))?;
    let seconds = began.elapsed().as_secs_f64();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let kib = told.lines().last().and_then(|line| line.trim().parse::<f64>().ok());
    let kib =
        kib.filter(|_| output.status.success()).ok_or_else(|| format!("assay merge: {told}"))?;
    Ok(Row { bundles, trials: trials(own).lines().count(), memory_mib: kib / 1024.0, seconds })
}

/// The bundle of another rank.
fn copy(
    own: &Path,
    environment: &Value,
    folder: &Path,
    (rank, ranks): (usize, usize),
) -> Done<PathBuf> {
    let into = folder.join(format!("rank-{rank}"));
    let [from, to] = [own, &into].map(|path| path.display().to_string());
    // Linked: what is the same is there once.
    call("cp", &["--archive", "--link", &from, &to])?;
    let mut environment = environment.clone();
    let fleet = &mut environment["fleet"];
    (fleet["rank"], fleet["ranks"]) = (rank.into(), ranks.into());
    fleet["name"] = format!("n{rank}").into();
    let path = into.join("environment.json");
    let written = fs::remove_file(&path).and_then(|()| fs::write(&path, environment.to_string()));
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(into)
}

fn read(path: &Path) -> Done<Value> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}
