//! One trial: creates the tree, runs the phases, and removes the tree.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use assay_core::presence::Presence;
use assay_core::quantity::Metric;
use assay_core::quantity::units::show;
use assay_load::{FileAct, FileOutcome, FileTree, LoadError, Room};
use assay_machine::system::{FileKind, System, WorkDirectory};

use super::detail::{FilePhase, FilesDetail};
use super::planned::FilesPlan;
use super::{FileSync, metrics};
use crate::emptied;
use crate::measured::{Measured, RunResult, known_and_absent, percentile};
use crate::place::Run;

const BLOCK: u64 = 4096;
/// With less free space, the file system counts as full.
const NO_ROOM_BYTES: u64 = 64 << 10;
/// Files of the pilot's first tree; each further one multiplies them.
const FIRST_FILES: u32 = 64;
const TIMES: u32 = 4;
/// A tree that takes this long shows the cost per file.
const TELLING_NS: u64 = 80_000_000;
/// Shares of a trial's time: creating has two, the other phases one each.
const CREATE_SHARES: u64 = 2;

/// Runs all phases in a new directory.
pub(super) fn run(planned: &FilesPlan, run: &Run<'_>) -> Result<RunResult, String> {
    if let Some(reason) = describe_missing_room(planned, run) {
        return Err(reason);
    }
    let began_ns = run.system.monotonic_ns();
    let directory = TrialDirectory::create(run)?;
    let ended = run_phases(planned, run, &directory);
    // Always remove the directory; report the first failure.
    let removed = directory.remove(run);
    let (outcomes, emptied_bytes) = ended?;
    let note = removed?;
    let stopped = run.stop.load(Ordering::Relaxed);
    let elapsed_ns = run.system.monotonic_ns().saturating_sub(began_ns);
    let mut result = run_result(&outcomes, emptied_bytes, elapsed_ns, stopped);
    result.measured.notes.extend(note);
    Ok(result)
}

/// Cost of one file in nanoseconds; `None` if the target is not a directory.
pub(super) fn pilot(planned: &FilesPlan, run: &Run<'_>) -> Result<Option<u64>, String> {
    let status = run.system.status(run.path);
    if !status.is_ok_and(|status| status.kind == FileKind::Directory) {
        return Ok(None);
    }
    if let Some(reason) = describe_missing_room(planned, run) {
        return Err(reason);
    }
    let mut files = FIRST_FILES;
    loop {
        let tree = planned.with_files(files.min(planned.files));
        let result = self::run(&tree, &Run { time_ns: u64::MAX, ..*run })?;
        let window_ns = result.measured.window_ns;
        if result.stopped || tree.files >= planned.files || window_ns >= TELLING_NS {
            return Ok(Some((window_ns / u64::from(tree.files)).max(1)));
        }
        files = files.saturating_mul(TIMES);
    }
}

/// The directory of a trial, removed on drop.
struct TrialDirectory<'a> {
    system: &'a dyn System,
    made: WorkDirectory,
    removed: bool,
}

impl<'a> TrialDirectory<'a> {
    fn create(run: &Run<'a>) -> Result<Self, String> {
        let made = run.system.create_work_directory(run.path);
        let made = made.map_err(|error| {
            let advice = match error.kind() {
                ErrorKind::PermissionDenied => "; use a writable directory",
                ErrorKind::StorageFull => "; free some space first",
                _ => "",
            };
            format!("cannot create a directory in {}: {error}{advice}", run.path.display())
        })?;
        Ok(Self { system: run.system, made, removed: false })
    }

    /// Removes the directory; returns the note of its creation, if any.
    fn remove(mut self, run: &Run<'_>) -> Result<Option<String>, String> {
        self.removed = true;
        self.system.remove_work_directory(&self.made).map_err(|error| {
            let path = self.made.path.display();
            format!("cannot remove {path}: {error}; the next run in {} will retry", {
                run.path.display()
            })
        })?;
        Ok(self.made.note.take())
    }
}

impl Drop for TrialDirectory<'_> {
    fn drop(&mut self) {
        if !self.removed {
            // A failure cannot be handled here; the next run finds the directory and reports it.
            let _ = self.system.remove_work_directory(&self.made);
        }
    }
}

/// The message if the files, in whole blocks, need more space than is free; `None` if the space is unknown.
fn describe_missing_room(planned: &FilesPlan, run: &Run<'_>) -> Option<String> {
    let free = run.system.space(run.path).ok()?.available_bytes;
    let each = u64::from(planned.size_bytes).next_multiple_of(BLOCK);
    let needed = each.saturating_mul(u64::from(planned.files));
    (free < needed).then(|| {
        format!(
            "not enough space for {}: {} needed, {} free in {}",
            planned.files_words(),
            show::bytes(needed),
            show::bytes(free),
            run.path.display()
        )
    })
}

/// The outcome of each phase, and [`FilesDetail::emptied_bytes`].
type PhaseOutcomes = (Vec<FileOutcome>, Option<[u64; 2]>);

/// Runs all phases, each with its share of the remaining time.
fn run_phases(
    planned: &FilesPlan,
    run: &Run<'_>,
    directory: &TrialDirectory<'_>,
) -> Result<PhaseOutcomes, String> {
    let describe = |error| describe_error(planned, run, error);
    let job = planned.job(run.seed);
    let mut tree = FileTree::make(&job, directory.made.handle.as_fd()).map_err(describe)?;
    let mut outcomes = Vec::new();
    let mut emptied_bytes = None;
    let mut left_ns = run.time_ns;
    let mut left_shares = FileAct::ALL.len() as u64 + CREATE_SHARES - 1;
    for act in FileAct::ALL {
        if run.stop.load(Ordering::Relaxed) {
            break;
        }
        if planned.cold && act != FileAct::Create {
            let bytes = emptied::empty(run.system)?;
            // Of all [before, after], keep the pair that left the most.
            emptied_bytes = emptied_bytes.into_iter().chain(bytes).max_by_key(|[_, after]| *after);
        }
        let shares = if act == FileAct::Create { CREATE_SHARES } else { 1 };
        // A phase that ends early leaves its time to the later ones.
        let time_ns = left_ns / left_shares * shares;
        let outcome = tree.run(act, time_ns, run.stop).map_err(describe)?;
        left_ns = left_ns.saturating_sub(outcome.elapsed_ns);
        left_shares -= shares;
        outcomes.push(outcome);
    }
    if planned.fsync == FileSync::None {
        // Otherwise the trial's writeback would disturb the next one.
        tree.settle().map_err(describe)?;
    }
    Ok((outcomes, emptied_bytes))
}

/// Describes an error with its file, and with the free space if that explains the error.
fn describe_error(planned: &FilesPlan, run: &Run<'_>, error: LoadError) -> String {
    let LoadError::File { act, file, of, source, room } = error else { return error.to_string() };
    let doing = match act {
        FileAct::Create => "creating",
        FileAct::Stat => "reading the metadata of",
        FileAct::Read => "reading",
        FileAct::Rename => "renaming",
        FileAct::Delete => "deleting",
    };
    let place = format!("{doing} file {} of {}", show::count(file), show::count(of));
    let path = run.path.display();
    match room {
        Some(Room { files: Some(0), .. }) => format!(
            "{place}: the filesystem of {path} has no free inodes; use fewer than {} files, or create the filesystem \
             with more inodes",
            show::count(u64::from(planned.files))
        ),
        Some(Room { bytes, .. }) if bytes < NO_ROOM_BYTES => {
            format!("{place}: {path} is full ({} free)", show::bytes(bytes))
        }
        Some(Room { bytes, .. }) => {
            format!("{place}: {source}, although {path} has {} free", show::bytes(bytes))
        }
        None => format!("{place}: {source}"),
    }
}

fn run_result(
    outcomes: &[FileOutcome],
    emptied_bytes: Option<[u64; 2]>,
    elapsed_ns: u64,
    stopped: bool,
) -> RunResult {
    let sum = |pick: fn(&FileOutcome) -> u64| outcomes.iter().map(pick).sum::<u64>();
    let (values, absent) = known_and_absent(outcomes.iter().flat_map(latencies));
    let phase = |done: &FileOutcome| FilePhase {
        act: done.act,
        operations: done.operations,
        bytes: done.bytes,
        elapsed_ns: done.elapsed_ns,
        sync_ns: done.sync_ns,
        left: done.left,
    };
    let detail = FilesDetail { phases: outcomes.iter().map(phase).collect(), emptied_bytes };
    let histogram = |done: &FileOutcome| (done.act.name().to_owned(), done.latency_ns.clone());
    let measured = Measured {
        window_ns: sum(|done| done.elapsed_ns),
        elapsed_ns,
        cpu_ns: sum(|done| done.cpu_ns),
        waited_ns: outcomes.iter().map(|done| done.waited_ns).sum(),
        values,
        absent,
        ..Measured::from_detail(detail)
    };
    RunResult {
        histograms: outcomes.iter().map(histogram).collect(),
        ..RunResult::new(measured, stopped)
    }
}

/// The p50 and p99 of a phase by metric, absent with too few files; empty for a phase without such metrics.
fn latencies(done: &FileOutcome) -> Vec<(Metric, Presence<f64>)> {
    let Some(act) = metrics::acts().find(|act| act.act == done.act) else {
        return Vec::new();
    };
    let latency = |share: f64| percentile(&done.latency_ns, share, "files");
    vec![(act.half, latency(0.5)), (act.tail, latency(0.99))]
}
