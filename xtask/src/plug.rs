//! Part of `cargo xtask lab --check`: the method `plug` between two virtual machines. One writes and loses its power, the
//! other records acknowledged writes.

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::guest::show;
use crate::lab::process::Assay;
use crate::lab::{Done, Scratch};
use crate::lab_guest;
use crate::vm::kernel::Kernel;
use crate::vm::machine::Accelerator;
use crate::vm::{self, Asked, FinishedJob, Link};

/// Kernel modules of both machines.
const MODULES: [&str; 2] = ["ext4", "virtio_net"];
const PEER: &str = include_str!("plug/peer.sh");
const MACHINE: &str = include_str!("plug/machine.sh");
/// Addresses of the peer, and of the machine that loses its power.
const ADDRESSES: [&str; 2] = ["10.83.9.1", "10.83.9.2"];
/// The tested drive, the one that survives a cut, and the one whose content replaces that of the first.
const DRIVES: [u64; 3] = [256 << 20; 3];
const CUTS: u64 = 2;
const LIMIT: Duration = Duration::from_secs(1800);
/// An emulated machine is up by then.
const UP: Duration = Duration::from_secs(300);

/// A study and the number of writes that it must find lost.
struct PlugRow {
    /// `honors-flushes` or `older`, see `plug/machine.sh`.
    drive: &'static str,
    writer: &'static str,
    sync: &'static str,
    lost: u64,
}

/// An honest drive, one that returns an older copy, and writes that nobody synced.
const ALL: [PlugRow; 3] = [
    PlugRow { drive: "honors-flushes", writer: "log", sync: "fdatasync", lost: 0 },
    PlugRow { drive: "older", writer: "transaction", sync: "fsync", lost: 1 },
    PlugRow { drive: "older", writer: "log", sync: "none", lost: 0 },
];

impl PlugRow {
    fn study(&self) -> String {
        let Self { writer, sync, .. } = self;
        format!(
            "format = \"assay-study/1\"\ntitle = \"The plug\"\nreplicates = {CUTS}\nseed = 1\nwarmup_trial = \"none\"\n\
             area = {{ size = \"16 MiB\" }}\n[[workload]]\nname = \"plug\"\ndurability = {{ method = \"plug\", \
             peer = \"{}:7710\", writer = \"{writer}\", sync = \"{sync}\", runtime = \"10 min\" }}\n",
            ADDRESSES[0]
        )
    }
}

/// Runs all studies; returns whether all results are right.
pub fn run(program: &Path) -> Done<bool> {
    let mut well = true;
    let kernel = lab_guest::kernel(&MODULES)?;
    for row in &ALL {
        let began = Instant::now();
        let faults = cut(program, &kernel, row)?;
        let (seconds, PlugRow { drive, writer, sync, .. }) = (began.elapsed().as_secs(), row);
        let outcome = if faults.is_empty() { "well" } else { "WRONG" };
        println!("xtask: lab: plug, {drive} drive, {writer}, {sync}: {outcome} in {seconds} s");
        for line in &faults {
            println!("xtask: lab: {line}");
        }
        well &= faults.is_empty();
    }
    Ok(well)
}

fn port() -> Done<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    Ok(listener.local_addr().map_err(|error| error.to_string())?.port())
}

/// Runs a study and returns its faults.
fn cut(program: &Path, kernel: &Kernel, row: &PlugRow) -> Done<Vec<String>> {
    let port = port()?;
    let base = Asked {
        accelerator: Some(Accelerator::Tcg),
        memory_bytes: 512 << 20,
        modules: MODULES.map(str::to_owned).to_vec(),
        limit: Some(LIMIT),
        ..lab_guest::usual(program.to_owned(), kernel.clone())
    };
    let peer = Asked {
        drives: Vec::new(),
        link: Some(Link::Listens(port)),
        script: Some(PEER.as_bytes().to_vec()),
        words: vec![ADDRESSES[0].to_owned()],
        ..base.clone()
    };
    let machine = Asked {
        drives: DRIVES.to_vec(),
        link: Some(Link::Dials(port)),
        script: Some(MACHINE.as_bytes().to_vec()),
        words: [row.drive, ADDRESSES[1]].map(str::to_owned).to_vec(),
        files: vec![("lab/study.toml".to_owned(), row.study().into_bytes())],
        ..base
    };
    let (stop, listens) = (AtomicBool::new(false), AtomicBool::new(false));
    let (ended, printed) = thread::scope(|scope| {
        let peer = scope.spawn(|| {
            let mut printed = Vec::new();
            let mut tell = |_, bytes: &[u8]| {
                printed.extend_from_slice(bytes);
                let is_up = String::from_utf8_lossy(&printed).contains("listening on");
                listens.store(is_up, Ordering::Relaxed);
            };
            vm::run(&peer, &stop, &mut tell)
        });
        let began = Instant::now();
        while !listens.load(Ordering::Relaxed) && !peer.is_finished() && began.elapsed() < UP {
            thread::sleep(Duration::from_millis(100));
        }
        let ended = if listens.load(Ordering::Relaxed) {
            vm::run_to_end(&machine)
        } else {
            Err("the peer did not start".to_owned())
        };
        stop.store(true, Ordering::Relaxed);
        let peer = peer.join().map_err(|_| "the peer thread panicked".to_owned());
        // A stopped peer reports that it was interrupted.
        let reason = peer.and_then(|peer| peer).err().unwrap_or_default();
        ended.map_err(|error| format!("{error}; the peer: {reason}"))
    })?;
    let mut faults = check(&ended, program, row)?;
    if !faults.is_empty() {
        faults.push(printed);
    }
    Ok(faults)
}

/// Returns the faults of the result of the machine.
fn check(ended: &FinishedJob, program: &Path, row: &PlugRow) -> Done<Vec<String>> {
    let code = u8::from(row.lost > 0);
    if ended.code != code {
        return Ok(vec![format!("exit code {} instead of {code}", ended.code)]);
    }
    let scratch = Scratch::new("plug")?;
    let names = vm::unpack(ended, scratch.path())?;
    let [name] = &names[..] else { return Ok(vec![format!("the guest returned {names:?}")]) };
    let found = show(&Assay::new(program, scratch.path()), name)?;
    Ok(faults_in(&found["durability"][0], row))
}

fn faults_in(found: &Value, row: &PlugRow) -> Vec<String> {
    let is_synced = row.sync != "none";
    let acknowledged = found["acknowledged_writes"].as_u64();
    let facts = [
        ("crash points", found["crash_points"] == CUTS),
        ("lost writes", found["lost"] == row.lost),
        ("acknowledged writes", acknowledged.is_some_and(|count| (count > 0) == is_synced)),
        ("bound", found["lost_share_bound95"].is_null() != is_synced),
        ("counterexample", found["counterexample_text"].is_null() == (row.lost == 0)),
        ("method", found["method"] == "plug"),
    ];
    let wrong = facts.into_iter().filter(|(_, is_right)| !is_right);
    wrong.map(|(what, _)| format!("{what}: {found}")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn what_both_machines_run_is_a_shell_script_that_can_be_read() {
        for script in [PEER, MACHINE] {
            let mut shell = Command::new("sh").arg("-n").stdin(Stdio::piped()).spawn().unwrap();
            shell.stdin.as_mut().unwrap().write_all(script.as_bytes()).unwrap();
            drop(shell.stdin.take());
            assert!(shell.wait().unwrap().success());
        }
    }

    #[test]
    fn a_result_is_as_its_row_or_said_to_be_wrong() {
        let found = |lost: u64, promises: u64| {
            let most = (promises > 0).then_some(0.8);
            let story = (lost > 0).then_some("Shortest counterexample");
            serde_json::json!({
                "method": "plug", "crash_points": CUTS, "lost": lost, "acknowledged_writes": promises,
                "lost_share_bound95": most, "counterexample_text": story,
            })
        };
        let [honest, older, none] = ALL;
        for (row, lost, promises) in [(&honest, 0, 9), (&older, 1, 9), (&none, 0, 0)] {
            assert_eq!(faults_in(&found(lost, promises), row), Vec::<String>::new());
            assert!(!faults_in(&found(1 - lost, promises), row).is_empty());
            assert!(!faults_in(&serde_json::json!({}), row).is_empty());
        }
        assert!(!faults_in(&found(0, 0), &honest).is_empty(), "nothing was promised");
    }
}
