//! Verifies data written with `verify = true`, by a result or by the stamps on the target.

use std::fs::File;
use std::ops::Range;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use assay_core::failure::{Failure, Outcome};
use assay_core::quantity::units::show;
use assay_load::{FoundRun, Inspected};
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{Caching, FileKind, Hold, HoldError, System, lock_names, resolve};
use assay_study::file::Target;
use assay_study::plan::repeats::{self, RanTrial};
use assay_study::results::bundle::{self, Stored};
use assay_study::results::plan::{PlannedTrial, PlannedWorkload};
use assay_study::results::record::{Status, Trial};
use assay_study::results::trials::Trials;
use assay_workloads::io::verify::{self, Verified, Written};
use assay_workloads::{TestMedium, io};
use serde::Serialize;

pub const FORMAT: &str = "assay-verify/1";

const ALIGNMENT: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OfTrial {
    pub result: String,
    pub workload: String,
    pub replicate: u32,
    pub trial: u32,
    pub ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FoundStamps {
    /// Nanoseconds since 1970 at its start.
    #[serde(with = "assay_load::digits")]
    pub run: u64,
    #[serde(with = "assay_load::digits")]
    pub seed: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    pub format: &'static str,
    pub target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<OfTrial>,
    /// Blocks of one operation each, or sectors if only the stamps are known.
    pub verified: Verified,
    pub runs: Vec<FoundStamps>,
    pub unverified: Vec<String>,
}

impl VerifyReport {
    /// Returns the command's outcome: wrong data fail; an empty or partial pass is inconclusive.
    pub fn ended(&self) -> Outcome<()> {
        let found = &self.verified;
        if found.corrupt.all() > 0 {
            return Err(Failure::gate(format!(
                "{}: {} of {} blocks differ from the written data: {}",
                self.target,
                show::count(found.corrupt.all()),
                show::count(found.read),
                verify::faults(found)
            )));
        }
        if found.cut_short {
            return Err(Failure::interrupted(format!("{}: the pass was interrupted", self.target)));
        }
        if found.intact == 0 && found.unconfirmed == 0 {
            return Err(Failure::partial(format!(
                "{}: contains no data written with verify = true",
                self.target
            )));
        }
        Ok(())
    }
}

/// Verifies the stamps on a target without the result of a run.
pub fn verify_area(system: &dyn System, path: &Path, stop: &AtomicBool) -> Outcome<VerifyReport> {
    let target = path.display().to_string();
    let site = resolve(system, &path.to_string_lossy())?;
    let _holds = lock_device(system, &site)?;
    let (file, is_direct) = open(system, &site)?;
    let length = system.length(&file).map_err(|error| read_failure(&target, &error))?;
    let whole = 0..length / verify::SECTOR_BYTES * verify::SECTOR_BYTES;
    let Inspected { verified, runs } = inspect(&file, &target, &whole, stop)?;
    let mut unverified = verify::limitations(&verified, is_direct);
    unverified.push(
        "without the result of the run, Assay cannot detect stale and lost writes".to_owned(),
    );
    let runs = stamps_of_runs(&runs);
    Ok(VerifyReport { format: FORMAT, target, trial: None, verified, runs, unverified })
}

fn inspect(file: &File, name: &str, range: &Range<u64>, stop: &AtomicBool) -> Outcome<Inspected> {
    let target = assay_load::Target { file: Some(file.as_fd()), memory_alignment: ALIGNMENT };
    assay_load::inspect(range, &target, stop)
        .map_err(|error| Failure::refused(format!("{name}: {error}")))
}

/// Lists the runs whose stamps were found, with the bytes of each.
fn stamps_of_runs(runs: &[FoundRun]) -> Vec<FoundStamps> {
    let stamps_of = |run: &FoundRun| FoundStamps {
        run: run.written.run,
        seed: run.written.seed,
        bytes: run.sectors.saturating_mul(verify::SECTOR_BYTES),
    };
    runs.iter().map(stamps_of).collect()
}

/// Verifies the data of the last trial on its device; fails if the data cannot exist any more.
pub fn verify_result(
    system: &dyn System,
    directory: &Path,
    stored: &Stored,
    stop: &AtomicBool,
) -> Outcome<VerifyReport> {
    let place = lasting_place(stored)?;
    let site = &stored.environment.sites[place];
    let known = known_trials(system, directory, stored, place)?;
    let _holds = lock_device(system, site)?;
    let (file, is_direct) = open(system, site)?;
    let area = stored.plan.surveys[place].area;
    let range = area.start..area.start.saturating_add(area.length);
    let inspected = inspect(&file, &site.target, &range, stop)?;
    let runs = stamps_of_runs(&inspected.runs);
    let newest = inspected.runs.iter().max_by_key(|run| run.written.run);
    let last = last_writer(stored, place, &known, newest)?;
    check_not_refilled(system, directory, stored, &last)?;
    let workload = &*stored.plan.work_of(&last.trial);
    let Some(planned) = io::IoPlan::of(&workload.work) else {
        return Err(Failure::refused("that trial did not read or write any blocks"));
    };
    if !planned.direct {
        // Its operations may not be aligned for direct I/O.
        let set = system.set_caching(&file, Caching::Buffered);
        set.map_err(|error| read_failure(&site.target, &error))?;
    }
    let area = workload.own_part(&area);
    let medium = TestMedium { file: Some(&file), area, memory_alignment: ALIGNMENT, law: None };
    let verified = verify::read_back(planned, &medium, &last.written, stop)
        .map_err(|error| Failure::refused(format!("{}: {error}", site.target)))?;
    let mut unverified = verify::limitations(&verified, is_direct && planned.direct);
    unverified.push("data that other programs wrote since would look like lost data".to_owned());
    let of = OfTrial {
        result: stored.id.clone(),
        workload: workload.name.clone(),
        replicate: last.trial.replicate,
        trial: last.trial.order.saturating_add(1),
        ended: last.written.ended,
    };
    let target = site.target.clone();
    Ok(VerifyReport { format: FORMAT, target, trial: Some(of), verified, runs, unverified })
}

fn is_stamped(workload: &PlannedWorkload) -> bool {
    io::IoPlan::of(&workload.work).is_some_and(|io| verify::stamps(io))
}

/// Returns the target that may still contain stamped data (verify = true); fails if none does, or if only a part does.
fn lasting_place(stored: &Stored) -> Outcome<usize> {
    let stamped: Vec<&PlannedWorkload> =
        stored.plan.workloads.iter().filter(|workload| is_stamped(workload)).collect();
    let Some(first) = stamped.first() else {
        return Err(Failure::mistake(format!(
            "{}: cannot verify: the result has no data written with verify = true",
            stored.id
        )));
    };
    let is_made = matches!(stored.study.target, Some(Target::Loop(_)));
    let is_lasting = |workload: &&&PlannedWorkload| {
        let site = stored.environment.sites.get(workload.target);
        let survey = stored.plan.surveys.get(workload.target);
        !is_made
            && site.is_some_and(|site| site.kind == TargetKind::Device)
            && survey.is_some_and(|survey| survey.under.is_empty())
    };
    let Some(PlannedWorkload { target, .. }) = stamped.iter().find(is_lasting) else {
        return Err(Failure::refused(format!(
            "{}: the data of {} no longer exists: in a directory, Assay uses an unnamed file that \
             is deleted with the run, and it removes devices created for a study. Only a block \
             device retains the data. Assay verified each trial right after the run: assay show {}",
            stored.id, first.name, stored.id
        )));
    };
    let writes_unstamped = |workload: &&PlannedWorkload| {
        let load_writes = workload.background.as_ref().is_some_and(|load| load.work.mix.writes());
        // The area is filled again for reads of other content.
        let is_refilled = workload
            .touches()
            .any(|touch| touch.finds.is_some_and(|content| content != io::Content::Random));
        load_writes || is_refilled || (workload.writes() && !is_stamped(workload))
    };
    let mut on_target = stored.plan.workloads.iter().filter(|workload| workload.target == *target);
    match on_target.find(writes_unstamped) {
        None => Ok(*target),
        Some(other) => Err(Failure::refused(format!(
            "{}: {} writes data without stamps, so the expected data is unknown; set verify = true and random content",
            stored.id, other.name
        ))),
    }
}

#[derive(Clone)]
struct ChosenTrial {
    trial: PlannedTrial,
    written: Written,
    started: Option<String>,
}

struct KnownTrials {
    last: Option<ChosenTrial>,
    /// The trials of the plan, followed by repeats.
    trials: Vec<PlannedTrial>,
}

/// Reads all trials: the last recorded one that wrote to a target, and all that the study may have run.
fn known_trials(
    system: &dyn System,
    directory: &Path,
    stored: &Stored,
    place: usize,
) -> Outcome<KnownTrials> {
    let (mut last, mut ran) = (None, Vec::new());
    Trials::open(system, directory, &stored.plan)?.each_record(&mut |record| {
        ran.push(RanTrial::from(&record));
        let workload = stored.plan.workloads.get(record.workload);
        let detail = record.measured.as_ref().and_then(io::IoDetail::of);
        let written = detail.and_then(|detail| detail.written.clone());
        if let Some(written) = written
            && workload.is_some_and(|workload| workload.target == place)
        {
            last = Some(chosen_trial(record, written));
        }
        Ok(())
    })?;
    let again = repeats::repeats(&stored.plan, &ran).into_iter().map(|(trial, _)| trial);
    let trials = stored.plan.trials.iter().cloned().chain(again).collect();
    Ok(KnownTrials { last, trials })
}

/// A trial from its record: repeats, and trials with another setting than planned, are not in the plan.
fn chosen_trial(record: Trial, written: Written) -> ChosenTrial {
    let trial = PlannedTrial {
        order: record.order,
        host: record.host,
        replicate: record.replicate,
        lead_in: record.status == Status::Warmup,
        workload: record.workload,
        arm: record.arm,
        seed: written.seed,
    };
    ChosenTrial { trial, written, started: Some(record.started) }
}

/// Returns the trial that wrote last: a recorded one, or an interrupted one identified by its stamps.
fn last_writer(
    stored: &Stored,
    place: usize,
    known: &KnownTrials,
    newest: Option<&FoundRun>,
) -> Outcome<ChosenTrial> {
    let is_newer =
        |stamp: &Written| known.last.as_ref().is_none_or(|last| stamp.run > last.written.run);
    let Some(stamp) = newest.map(|run| &run.written).filter(|written| is_newer(written)) else {
        return known.last.clone().ok_or_else(|| {
            Failure::partial(format!(
                "{}: no recorded trial wrote to the target, and the target contains no stamps of this result",
                stored.id
            ))
        });
    };
    let is_writer = |trial: &&PlannedTrial| {
        let workload = stored.plan.workloads.get(trial.workload);
        trial.seed == stamp.seed
            && workload.is_some_and(|workload| workload.target == place && is_stamped(workload))
    };
    let trial = known.trials.iter().find(is_writer).cloned().ok_or_else(|| {
        Failure::partial(format!("{}: a run outside the plan wrote to the target later", stored.id))
    })?;
    Ok(ChosenTrial { trial, written: stamp.clone(), started: None })
}

/// Fails if the area was filled again after a trial: a resumed study begins with that.
fn check_not_refilled(
    system: &dyn System,
    directory: &Path,
    stored: &Stored,
    last: &ChosenTrial,
) -> Outcome<()> {
    let Some(started) = &last.started else { return Ok(()) };
    let log = bundle::log(system, directory);
    if log.iter().any(|entry| entry.event == "resumed" && entry.at > *started) {
        return Err(Failure::partial(format!(
            "{}: the study resumed after trial {} and refilled the area, and no data written with \
             verify = true since then was recorded or found",
            stored.id,
            last.trial.order.saturating_add(1)
        )));
    }
    Ok(())
}

/// Opens a target read-only; also returns whether with direct I/O, which Assay tries for devices only.
fn open(system: &dyn System, site: &Site) -> Outcome<(File, bool)> {
    let path = &site.path;
    let status = system.status(path).map_err(|error| read_failure(&site.target, &error))?;
    if !matches!(status.kind, FileKind::BlockDevice | FileKind::File) {
        let target = &site.target;
        return Err(Failure::mistake(format!("{target} is neither a file nor a block device")));
    }
    if status.kind == FileKind::BlockDevice
        && let Ok(file) = system.open_for_reading(path, Caching::Direct)
    {
        return Ok((file, true));
    }
    let opened = system.open_for_reading(path, Caching::Buffered);
    Ok((opened.map_err(|error| read_failure(&site.target, &error))?, false))
}

fn read_failure(target: &str, error: &std::io::Error) -> Failure {
    Failure::refused(format!("cannot read {target}: {error}"))
}

/// Locks a device against studies: their writes would look like lost data.
fn lock_device(system: &dyn System, site: &Site) -> Outcome<Vec<Hold>> {
    if site.kind != TargetKind::Device {
        return Ok(Vec::new());
    }
    let lock_name = |name: String| match system.hold(&name) {
        Ok(hold) => Ok(hold),
        Err(HoldError::Held { .. }) => Err(Failure::refused(format!(
            "another assay process is measuring {}; wait until it ends",
            site.target
        ))),
        Err(HoldError::Failed(error)) => Err(Failure::refused(format!(
            "cannot determine whether {} is being measured: {error}",
            site.target
        ))),
    };
    lock_names(site).into_iter().map(lock_name).collect()
}

#[cfg(test)]
mod tests {
    use assay_load::FaultCounts;

    use super::*;
    use assay_core::failure::Kind;

    fn report(verified: Verified) -> VerifyReport {
        let (target, untold) = ("/dev/sdb".to_owned(), Vec::new());
        VerifyReport {
            format: FORMAT,
            target,
            trial: None,
            verified,
            runs: Vec::new(),
            unverified: untold,
        }
    }

    #[test]
    fn wrong_data_fail_and_nothing_at_all_is_no_statement() {
        let ended = |verified| report(verified).ended().map_err(|failure| failure.kind);
        let sound = || Verified { read: 10, intact: 4, ..Verified::default() };
        assert_eq!(ended(sound()), Ok(()));
        let wrong = FaultCounts { torn: 1, ..FaultCounts::default() };
        assert_eq!(ended(Verified { corrupt: wrong, ..sound() }), Err(Kind::Gate));
        assert_eq!(ended(Verified { intact: 0, ..sound() }), Err(Kind::Partial));
        assert_eq!(ended(Verified { cut_short: true, ..sound() }), Err(Kind::Interrupted));
        assert_eq!(ended(Verified { intact: 0, unconfirmed: 1, ..sound() }), Ok(()));
        let told = report(Verified { corrupt: wrong, ..sound() }).ended().unwrap_err().message;
        assert_eq!(told, "/dev/sdb: 1 of 10 blocks differ from the written data: 1 torn");
    }
}
