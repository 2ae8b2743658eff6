//! `cargo xtask lab --check`: the program in a guest of QEMU. Its results are readable on the host, marked as emulated,
//! and have no verdict.

pub mod checks;
mod durability;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use assay_workloads::metrics;
use serde_json::Value;

use durability::CutTrial;

use crate::lab::process::{Assay, Running};
use crate::lab::{Done, Scratch};
use crate::lab_guest::{self, INTERRUPTED};
use crate::plug;
use crate::vm::kernel::Kernel;
use crate::vm::machine::{Accelerator, QEMU};
use crate::vm::{self, Asked, FinishedJob};

const LIMIT: Duration = Duration::from_secs(60);

/// Share of its time that a guest may wait for processors; above it, a failed check is repeated once.
const DISTURBED: f64 = 0.1;

/// A check of the drive and a study of memory. An emulated machine does not finish all trials of a quick check in time:
/// exit code 5.
const JOB: &str = r"set -e
assay check /dev/vda --quick --destroy virtual0 --quiet >/dev/null || [ $? -eq 5 ]
assay run stack-size --replicates 1 --quiet >/dev/null
";

/// Boots emulated guests, checks their results, and runs all scripts, each in a separate guest.
pub fn check(program: &Path) -> Done<bool> {
    let kernel = match lab_guest::kernel(&[]) {
        Ok(kernel) => kernel,
        Err(reason) => {
            println!("SKIP lab: {reason}");
            return Ok(true);
        }
    };
    // Each guest takes one CPU.
    thread::scope(|scope| {
        let jobs = scope.spawn(|| run_jobs(program, &kernel));
        let scripts = checks::run(program)?;
        let jobs = jobs.join().map_err(|_| "the job thread panicked".to_owned())??;
        Ok(jobs & scripts)
    })
}

fn run_jobs(program: &Path, kernel: &Kernel) -> Done<bool> {
    let well = check_job(program, kernel.clone())? & check_interrupt(program)?;
    Ok(well && check_cuts(program)? && plug::run(program)?)
}

const fn cuts(
    method: &'static str,
    write_to: &'static str,
    drive: &'static str,
    cuts: u64,
) -> CutTrial {
    CutTrial { method, write_to, drive, cuts }
}

/// Faulty drives that must be found, and honest ones; each cut of the method kill takes a guest.
const CUTS: [CutTrial; 4] = [
    cuts("kill", "ext4", "drops-flushes", 60),
    cuts("replay", "ext4", HONEST, 20),
    cuts("kill", "drive", "loses-last", 60),
    cuts("kill", "ext4", HONEST, 2),
];
const HONEST: &str = "honors-flushes";

/// Crash points of gzip: 18 of 60 lost the file when measured.
const GZIP_CUTS: u64 = 60;

/// Checks that Assay finds faulty drives and no fault in honest ones.
fn check_cuts(program: &Path) -> Done<bool> {
    let kernel = lab_guest::kernel(&["ext4"])?;
    let bench = durability::Bench::new(program, &kernel)?;
    let mut well = true;
    for trial in CUTS {
        let CutTrial { method, write_to, drive, .. } = trial;
        let is_honest = drive == HONEST;
        let found = if is_honest { bench.run(trial)? } else { bench.run_until_found(trial)? };
        println!(
            "xtask: lab: {method} over {write_to}, {drive}: {} of {} crashes lost data",
            found.lost, found.cuts
        );
        well &= (found.lost > 0) != is_honest;
    }
    for (flags, is_safe) in [("", false), ("--synchronous", true)] {
        let found = bench.run_gzip(flags, GZIP_CUTS)?;
        println!("xtask: lab: gzip {flags}: {} of {} crashes lost data", found.lost, found.cuts);
        well &= (found.lost > 0) != is_safe;
    }
    Ok(well)
}

/// Checks that the job succeeds and that its results are right.
fn check_job(program: &Path, kernel: Kernel) -> Done<bool> {
    let asked = Asked {
        accelerator: Some(Accelerator::Tcg),
        memory_bytes: 512 << 20,
        drives: vec![256 << 20],
        script: Some(JOB.as_bytes().to_vec()),
        ..lab_guest::usual(program.to_owned(), kernel)
    };
    run_checked(&asked, &|ended, printed| {
        println!("xtask: lab: {}", lab_guest::describe(ended));
        if ended.code != 0 {
            println!("xtask: lab: the job failed:\n{printed}");
            return Ok(false);
        }
        check_results(ended, program)
    })
}

/// Runs a guest and checks what came of it. If the check fails and others had kept the processors from the guest, runs
/// it once more at the usual priority: at that of the guests they get a third of what a busy program does.
fn run_checked(asked: &Asked, check: &dyn Fn(&FinishedJob, &str) -> Done<bool>) -> Done<bool> {
    let (ended, printed) = vm::run_to_end(asked)?;
    let well = check(&ended, &printed)?;
    let waited = ended.waited.as_secs_f64() / ended.time.as_secs_f64();
    if well || waited <= DISTURBED {
        return Ok(well);
    }
    println!("xtask: lab: waited {:.0}% of the time for CPUs; trying again", waited * 100.0);
    // Without the right to raise the priority, this one has to do.
    let _ = rustix::process::setpriority_process(None, 0);
    let (ended, printed) = vm::run_to_end(asked)?;
    check(&ended, &printed)
}

/// Checks that an interrupt ends the command and leaves nothing.
fn check_interrupt(program: &Path) -> Done<bool> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let program = program.display().to_string();
    let mut command = Command::new(own);
    command.args(["lab", "--program", &program, "--accel", "tcg", "--", "sh", "-c"]);
    let (running, output) = Running::start_reading(command.arg("echo up; sleep 100"))?;
    let id = running.id();
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
    running.signal("INT")?;
    let ended = running.end(LIMIT)?;
    let left = leftovers(id)?;
    let well = (line.as_str(), ended.code) == ("up\n", INTERRUPTED) && left.is_empty();
    if !well {
        println!("xtask: lab: interrupted after {line:?}: exit {}, left {left:?}", ended.code);
        println!("{}", ended.stderr);
    }
    Ok(well)
}

/// Returns the directories and the QEMU processes that a process has left.
fn leftovers(id: u32) -> Done<Vec<String>> {
    let mut left = Vec::new();
    for place in [Path::new("/dev/shm"), &std::env::temp_dir()] {
        let names = fs::read_dir(place).map_err(|error| error.to_string())?.flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        left.extend(names.filter(|name| name.starts_with(&format!("assay-lab-{id}-"))));
    }
    let files = format!("/proc/{id}/fd/");
    for entry in fs::read_dir("/proc").map_err(|error| error.to_string())?.flatten() {
        // Processes that end during the scan have no command line.
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        left.extend((line.contains(QEMU) && line.contains(&files)).then_some(line));
    }
    Ok(left)
}

fn check_results(ended: &FinishedJob, program: &Path) -> Done<bool> {
    let scratch = Scratch::new("brought")?;
    let names = vm::unpack(ended, scratch.path())?;
    let assay = Assay::new(program, scratch.path());
    let shown: Vec<Value> = names.iter().map(|name| show(&assay, name)).collect::<Done<_>>()?;
    let find = |kind: &str| shown.iter().find(|one| one["study"]["kind"] == kind);
    let (Some(check), Some(study)) = (find("check"), find("study")) else {
        println!("xtask: lab: the guest returned {names:?} instead of a check and a study");
        return Ok(false);
    };
    let mut wrong = [faults_of_check(check), faults_of_comparison(&assay, check)?].concat();
    let summary = texts(&study["summary"]);
    if !summary.iter().any(|text| text.contains("reserved stack uses no memory")) {
        wrong.push(format!("unexpected stack summary: {summary:?}"));
    }
    for line in &wrong {
        println!("xtask: lab: {line}");
    }
    Ok(wrong.is_empty())
}

pub fn show(assay: &Assay, name: &str) -> Done<Value> {
    let ended = assay.run(&["show", name, "--json"], LIMIT)?;
    if ended.code == 0 { ended.json() } else { Err(format!("show {name}: {}", ended.stderr)) }
}

/// Returns the faults of a check: its summary must begin with the emulation, compare no number and trust no row.
fn faults_of_check(found: &Value) -> Vec<String> {
    let summary = texts(&found["summary"]);
    let [first, last] =
        [summary.first(), summary.last()].map(|one| one.copied().unwrap_or_default());
    let mut wrong = Vec::new();
    if found["environment"]["virtualization"] != "emulated (qemu tcg)" {
        wrong.push(format!("it ran on {}", found["environment"]["virtualization"]));
    }
    if !first.starts_with("Emulated: ") || summary.len() > 2 || !last.contains("suspect") {
        wrong.push(format!("unexpected check summary: {summary:?}"));
    }
    wrong
}

/// Returns the faults of a comparison of emulated results: no speed may have a verdict.
fn faults_of_comparison(assay: &Assay, check: &Value) -> Done<Vec<String>> {
    let id = check["study"]["id"].as_str().unwrap_or_default();
    let (own, other) = (assay.home().join("results").join(id), assay.home().join("again"));
    crate::lab::call("cp", &["-r", &own.display().to_string(), &other.display().to_string()])?;
    let words = ["compare", id, &other.display().to_string(), "--json"];
    let ended = assay.run(&words, LIMIT)?;
    if ended.code != 0 {
        return Ok(vec![format!("compare: exit {}: {}", ended.code, ended.stderr)]);
    }
    let found = ended.json()?;
    let (mut speeds, mut with_verdict, mut with_reason) = (0, 0, 0);
    for one in found["comparisons"].as_array().into_iter().flatten() {
        with_verdict += u32::from(!one["verdict"].is_null());
        // Amounts do not depend on how fast the machine is.
        if one["metric"].as_str().is_some_and(metrics::is_of_speed) {
            speeds += 1;
            with_reason +=
                u32::from(texts(&one["notes"]).iter().any(|note| note.contains("emulated")));
        }
    }
    if speeds == 0 || with_verdict > 0 || with_reason < speeds {
        return Ok(vec![format!(
            "of {speeds} comparisons, {with_verdict} have a verdict, {with_reason} a reason"
        )]);
    }
    Ok(Vec::new())
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
