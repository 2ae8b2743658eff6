//! Measures boots: a systemd unit records each boot and restarts the machine until all are done. The journal has the
//! unit's undo entry first; any failure removes the unit.

mod ready;
mod since;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::conductor::Finished;
use super::event::{Context, Event};
use super::recorded::{RecordedStudy, asked, create, environment_of};
use super::request::Acting;
use super::resolve::refuse_unfinished;
use super::writer::ResultWriter;
use assay_core::failure::{Failure, Outcome};
use assay_machine::factors::guard::journals;
use assay_machine::system::journal::{Journal, Undo, unit_files};
use assay_machine::system::{Act, System, identity, machine};
use assay_study::file::Study;
use assay_study::plan::recorded as planned;
use assay_study::results::bundle::{self, Bundle, Stored};
use assay_study::results::id::{self, entropy};
use assay_study::results::log::{ENDED, LogEntry};

pub const UNIT: &str = "assay-reboots.service";
/// Target that starts it: early, to record a boot that is interrupted later.
const WANTED_BY: &str = "sysinit.target";
/// Log event: a boot of the study began; the text is its ID.
pub(super) const BEGUN: &str = "boot";
/// Interval for checking whether the boot is complete: each check takes milliseconds.
const LOOK: Duration = Duration::from_secs(5);
/// Number of checks after which a boot counts as hanging.
const MOST_LOOKS: u32 = 180;
const GRACE: Duration = Duration::from_secs(10);
/// States of `systemctl is-system-running` after the boot.
const STARTED: [&str; 3] = ["running", "degraded", "maintenance"];
/// Variables that determine the results directory: the unit has the values from the study's start.
const HOMES: [&str; 5] = ["ASSAY_HOME", "XDG_DATA_HOME", "HOME", "SUDO_UID", "SUDO_GID"];

#[derive(Clone, Debug)]
pub struct RebootProposal {
    pub study: Study,
    pub id: String,
    pub boots: u32,
    pub results: PathBuf,
    pub unit: String,
    pub cautions: Vec<String>,
}

impl RebootProposal {
    pub fn path(&self) -> PathBuf {
        let [file, _] = unit_files(UNIT, WANTED_BY);
        file
    }
}

pub enum RebootStep {
    Done(Box<Finished>),
    Restarts { recorded: usize, of: usize },
    Ended(Box<Finished>),
}

/// Describes the boots to run; fails without systemd, without root, or in a container.
pub fn propose(
    system: &dyn System,
    study: Study,
    boots: u32,
    results: PathBuf,
) -> Outcome<RebootProposal> {
    let program = ready::check(system, &results)?;
    refuse_unfinished(system)?;
    let id = id::of_study(system, Some(&results), &system.now());
    let home = identity::state_directory(system)?;
    let journal = journals(&home).join(format!("{id}.jsonl"));
    let name = asked(&study)?.workload.work.kind().about.name;
    let unit = unit_text(system, name, &id, &program, &results, &journal)?;
    let cautions = ready::cautions(system);
    Ok(RebootProposal { study, id, boots, results, unit, cautions })
}

/// The text of the systemd unit: it runs once per boot, while the journal of changes exists.
fn unit_text(
    system: &dyn System,
    name: &str,
    id: &str,
    program: &Path,
    results: &Path,
    journal: &Path,
) -> Outcome<String> {
    let checked = |text: String| {
        if text.chars().any(|sign| sign.is_control() || "\"\\%$'".contains(sign)) {
            return Err(Failure::refused(
                "a unit cannot contain a path with quotes, % or $; use another ASSAY_HOME",
            ));
        }
        Ok(text)
    };
    let path = |path: &Path| checked(path.display().to_string());
    let mut environment = String::new();
    for name in HOMES {
        if let Some(value) = system.variable(name).filter(|value| !value.is_empty()) {
            let value = checked(value)?;
            environment.extend(["Environment=\"", name, "=", &value, "\"\n"]);
        }
    }
    let (program, results, journal) = (path(program)?, path(results)?, path(journal)?);
    Ok(format!(
        "# Written by assay run {name} --reboots; assay restore removes it.\n\
         [Unit]\n\
         Description=assay records this boot for the study {id}\n\
         DefaultDependencies=no\n\
         RequiresMountsFor=\"{results}\" \"{journal}\" \"{program}\"\n\
         After=local-fs.target\n\
         Conflicts=shutdown.target\n\
         Before=shutdown.target\n\
         ConditionPathExists={journal}\n\
         \n\
         [Service]\n\
         Type=simple\n\
         {environment}\
         ExecStart=\"{program}\" resume --after-boot {id}\n\
         Restart=no\n\
         TimeoutStopSec=10\n\
         \n\
         [Install]\n\
         WantedBy={WANTED_BY}\n"
    ))
}

/// Starts: creates the bundle and the unit, and restarts. On failure, all changes are reverted.
pub fn start(
    system: &dyn System,
    proposal: RebootProposal,
    context: &mut Context<'_>,
) -> Outcome<()> {
    let RebootProposal { mut study, id, boots, results, unit, .. } = proposal;
    let records = asked(&study)?.records;
    let (factor, recording) = (records.factor(), records.recording());
    let now = [records.running(system, &results)?];
    study = planned::grouped(study, factor, &now);
    let asked = asked(&study)?;
    let primary = asked.records.primary(&now);
    let [now] = now;
    let groups = vec![now.group; usize::try_from(boots).unwrap_or(usize::MAX)];
    let seed = study.seed.unwrap_or_else(|| entropy(system));
    let plan = planned::plan(&study, asked, primary, &groups, "/", seed);
    let mut environment = environment_of(system, recording, "/", true, system.now());
    environment.observer = Some(OBSERVER.to_owned());
    let directory = results.join(&id);
    let writer = create(system, Some(&directory), &study, &plan, &environment, context);
    if let (_, Some(unkept)) = writer.into_parts() {
        return Err(Failure::refused(format!("no restart: {}", unkept.why)));
    }
    let home = identity::state_directory(system)?;
    let mut journal = Journal::begin(system, &journals(&home), &id)?;
    let began =
        install(system, &mut journal, &unit).and_then(|()| restart(system, &mut journal, &unit));
    if let Err(failure) = began {
        let left = journal.finish(system);
        let _ = system.remove_directory(&directory);
        return Err(with_leftover(failure, &left.failed));
    }
    Ok(())
}

const OBSERVER: &str = "a unit started assay resume early in each boot, which checked every 5 s \
                        whether startup had ended";

fn undo_of(unit: &str) -> Undo {
    let (name, wanted_by) = (UNIT.to_owned(), WANTED_BY.to_owned());
    Undo::Unit { name, wanted_by, written: unit.to_owned() }
}

/// Writes and enables the unit, after its removal is in the journal of changes.
fn install(system: &dyn System, journal: &mut Journal, unit: &str) -> Outcome<()> {
    let refused = |act: &Act, error| Failure::refused(format!("{act}: {error}"));
    let [path, _] = unit_files(UNIT, WANTED_BY);
    if system.status(&path).is_ok() {
        return Err(Failure::refused(format!("{} already exists; remove it", path.display())));
    }
    let warrant = journal.record(system, undo_of(unit))?;
    let write = Act::WriteFile { path, text: unit.to_owned() };
    system.act(warrant, &write).map_err(|error| refused(&write, error))?;
    let enable = systemctl(&["enable", UNIT]);
    system.act(warrant, &enable).map_err(|error| refused(&enable, error))
}

fn restart(system: &dyn System, journal: &mut Journal, unit: &str) -> Outcome<()> {
    let warrant = journal.record(system, undo_of(unit))?;
    let reboot = systemctl(&["reboot"]);
    system.act(warrant, &reboot).map_err(|error| Failure::refused(format!("{reboot}: {error}")))
}

fn systemctl(words: &[&str]) -> Act {
    let arguments = words.iter().map(|word| (*word).to_owned()).collect();
    Act::Run { program: "systemctl".to_owned(), arguments }
}

/// Adds to a failure what could not be reverted.
fn with_leftover(failure: Failure, left: &[String]) -> Failure {
    match left.first() {
        None => failure,
        Some(leftover) => {
            Failure::not_restored(format!("{}; {leftover}; run assay restore", failure.message))
        }
    }
}

/// Removes the unit of a study, so nothing restarts the machine any more.
pub fn give_up(system: &dyn System, id: &str) -> Outcome<()> {
    let home = identity::state_directory(system)?;
    let Some(journal) = Journal::resume(system, &journals(&home), id)? else { return Ok(()) };
    let left = journal.finish(system);
    match left.failed.first() {
        None => Ok(()),
        Some(leftover) => Err(Failure::not_restored(format!("{leftover}; run assay restore"))),
    }
}

/// Notes that a boot began and waits until it is complete, reading nothing else; removes the unit on failure.
pub fn begin_boot(
    system: &dyn System,
    id: &str,
    directory: &Path,
    context: &Context<'_>,
) -> Outcome<()> {
    if let Err(failure) = log_boot_begin(system, directory) {
        give_up(system, id)?;
        return Err(failure);
    }
    wait_for_startup(system, context);
    Ok(())
}

/// Records the boots since the last call, then restarts or ends; removes the unit on failure.
pub fn after_boot(
    system: &dyn System,
    acting: Acting,
    context: &mut Context<'_>,
) -> Outcome<RebootStep> {
    let id = acting.stored.id.clone();
    let step = advance(system, acting, context);
    if step.is_err() {
        give_up(system, &id)?;
    }
    step
}

/// Records new boots, then restarts; ends after the last boot or on request.
fn advance(system: &dyn System, acting: Acting, context: &mut Context<'_>) -> Outcome<RebootStep> {
    let finished = record(system, acting, context)?;
    if context.is_stopped() {
        return Ok(RebootStep::Ended(Box::new(Finished { interrupted: true, ..finished })));
    }
    let (recorded, of) = (finished.trials.len(), finished.plan.trials.len());
    if let Some(unkept) = &finished.unkept {
        return Err(Failure::partial(format!("no restart: {}", unkept.why)));
    }
    if recorded >= of {
        give_up(system, &finished.id)?;
        return Ok(RebootStep::Done(Box::new(finished)));
    }
    let grace = GRACE.as_secs();
    (context.tell)(Event::Warning(format!(
        "boot {recorded} of {of} is recorded; the machine restarts in {grace} s (to stop, run assay restore)"
    )));
    let mut left = GRACE;
    while !left.is_zero() && !context.is_stopped() {
        system.sleep(Duration::from_secs(1).min(left));
        left = left.saturating_sub(Duration::from_secs(1));
    }
    let home = identity::state_directory(system)?;
    let journal = Journal::resume(system, &journals(&home), &finished.id)?;
    let Some(mut journal) = journal.filter(|_| !context.is_stopped()) else {
        return Ok(RebootStep::Ended(Box::new(Finished { interrupted: true, ..finished })));
    };
    let unit = journal.undos().iter().find_map(|undo| match undo {
        Undo::Unit { written, .. } => Some(written.clone()),
        _ => None,
    });
    let unit = unit.ok_or_else(|| Failure::refused("the journal of changes contains no unit"))?;
    restart(system, &mut journal, &unit)?;
    Ok(RebootStep::Restarts { recorded, of })
}

/// Logs and syncs that a boot began: an interrupted boot leaves a trace.
fn log_boot_begin(system: &dyn System, directory: &Path) -> Outcome<()> {
    let id = machine::boot_id(system)?;
    let known = bundle::log(system, directory);
    if known.iter().any(|entry| entry.event == BEGUN && entry.text == id) {
        return Ok(());
    }
    let unwritable =
        |error| Failure::refused(format!("cannot write {}: {error}", directory.display()));
    let mut line = serde_json::to_vec(&LogEntry::new(system, BEGUN, &id))
        .map_err(|error| unwritable(error.into()))?;
    line.push(b'\n');
    system.append(&directory.join("log.jsonl"), &line).map_err(unwritable)
}

/// Waits until systemd reports a complete boot, or for a quarter of an hour.
fn wait_for_startup(system: &dyn System, context: &Context<'_>) {
    for _ in 0..MOST_LOOKS {
        for _ in 0..LOOK.as_secs() {
            if context.is_stopped() {
                return;
            }
            system.sleep(Duration::from_secs(1));
        }
        let state = system.output_of("systemctl", &["is-system-running"]).unwrap_or_default();
        if STARTED.contains(&state.trim()) {
            return;
        }
    }
}

/// Stores the boots since the last call; returns the study as it is now.
pub fn record(system: &dyn System, acting: Acting, context: &mut Context<'_>) -> Outcome<Finished> {
    let Acting { stored, directory, .. } = acting;
    let log = bundle::log(system, &directory);
    let Stored { id, study, plan, environment, trials, .. } = stored;
    let records = planned::asked(&study).map(|asked| asked.records);
    let records =
        records.ok_or_else(|| Failure::mistake(format!("{id} is not a study of boots")))?;
    let recording = records.recording();
    let unwritable =
        |error| Failure::refused(format!("cannot write {}: {error}", directory.display()));
    let bundle = Bundle::reopen(system, &directory).map_err(unwritable)?;
    let writer = ResultWriter::new(bundle);
    let began = environment.machine.boot_id.value().cloned().unwrap_or_default();
    let fresh = since::new_boots(system, records, &began, &log, trials.len())?;
    let mut recorded = RecordedStudy { id, study, plan, environment, trials, writer };
    recorded.store(fresh, recording, context);
    if recorded.trials.len() >= recorded.plan.trials.len() {
        recorded.writer.log(system, ENDED, "");
    }
    Ok(recorded.into_finished())
}

#[cfg(test)]
mod tests;
