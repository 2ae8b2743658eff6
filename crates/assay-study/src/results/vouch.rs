//! Results that Assay may act on: measured here, and writable only by root or this user.

use std::path::Path;

use assay_core::failure::{Failure, Outcome};
use assay_machine::factors;
use assay_machine::system::site::TargetKind;
use assay_machine::system::{System, identity, machine, trust};

use super::bundle::{self, Stored};
use super::plan::Arm;
use super::{foreign, id as ids, imported};
use crate::file::simulated;

/// Files and directories of a bundle that must not be links if Assay acts on the bundle.
#[rustfmt::skip]
const PARTS: [&str; 8] = [
    "study.toml", "plan.json", "environment.json", "trials.jsonl", "log.jsonl", "label.json", "histograms",
    "series",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Run the study of the result: `confirm`, `resume`.
    GoOn,
    Apply,
}

/// Proof that Assay may act on a result. Only [`vouch`] creates one.
pub struct Voucher {
    id: String,
    purpose: Purpose,
}

impl Voucher {
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn is_for_keeps(&self) -> bool {
        self.purpose == Purpose::Apply
    }
}

/// Reads a result to act on.
///
/// Root acts only on results in root's directory that only root can write. Other users may resume any result, as they
/// cannot change others' data; but a result with programs to run must be theirs, and writable by nobody else.
///
/// # Errors
/// Refused, with the reason and a fix; a user error if the result is damaged.
pub fn vouch(
    system: &dyn System,
    directory: &Path,
    purpose: Purpose,
) -> Outcome<(Stored, Voucher)> {
    let id = bundle::id_of(directory);
    bundle::plain_id(&id)?;
    if foreign::is_one(system, directory) {
        return Err(Failure::refused(format!(
            "{id} was measured elsewhere and added here, so Assay cannot apply or resume it; run the study again here"
        )));
    }
    if !ids::is_one(&id) {
        return Err(Failure::refused(format!(
            "{id} is not a valid result ID; restore the original name of the directory"
        )));
    }
    bundle::unlinked(system, directory)?;
    PARTS.iter().try_for_each(|part| bundle::unlinked(system, &directory.join(part)))?;
    if imported::is_one(system, directory) {
        return Err(Failure::refused(format!(
            "{id} was imported; Assay applies and resumes only results measured here"
        )));
    }
    // Checked before reading: a user without write access now has none during the reading.
    let place = check_out_of_reach(system, directory);
    let stored = bundle::read_as_planned(system, directory)?;
    let voucher = Voucher { id: id.clone(), purpose };
    if stored.environment.fleet.is_some() {
        return Err(Failure::refused(format!(
            "{id} was measured by several hosts together, so Assay cannot apply or resume it; start a new study"
        )));
    }
    if is_simulated(&stored) {
        check_simulated(system, &stored, purpose)?;
        return Ok((stored, voucher));
    }
    if system.user().id != 0 && !runs_programs(&stored) {
        return Ok((stored, voucher));
    }
    place?;
    if stored.environment.machine.identity != machine::identity(system) {
        return Err(Failure::refused(format!(
            "{id} was measured on another machine, or by an older Assay version; run the study again here"
        )));
    }
    Ok((stored, voucher))
}

/// Rejects a result that others can write. Root's results are in root's directory; all files belong to this user, and
/// only root and this user can write to them and the directories above.
fn check_out_of_reach(system: &dyn System, directory: &Path) -> Outcome<()> {
    let id = bundle::id_of(directory);
    let user = system.user().id;
    if user == 0 {
        let results = identity::results_directory(system)?;
        if directory.parent() != Some(results.as_path()) {
            return Err(Failure::refused(format!(
                "{id} is not in root's results directory {}; run the study again with sudo",
                results.display()
            )));
        }
    }
    let fault = match trust::fault_on_way(system, directory, user) {
        Ok(None) => trust::fault_below(system, directory, user),
        fault => fault,
    };
    match fault {
        Ok(None) => Ok(()),
        Ok(Some(fault)) => Err(Failure::refused(format!(
            "{id}: another user could have changed the result: {fault}; run the study again where only {} can write",
            if user == 0 { "root" } else { "you" }
        ))),
        Err(error) => Err(Failure::refused(format!("cannot check the files of {id}: {error}"))),
    }
}

fn runs_programs(stored: &Stored) -> bool {
    let in_study = stored.study.workload.iter().map(|workload| workload.work.kind());
    let in_plan = stored.plan.workloads.iter().map(|workload| workload.work.kind());
    in_study.chain(in_plan).any(|kind| kind.runs_programs)
}

fn is_simulated(stored: &Stored) -> bool {
    let mut sites = stored.environment.sites.iter();
    sites.any(|site| site.kind == TargetKind::Simulated)
        || all_targets(stored).any(|target| target.starts_with(simulated::PREFIX))
}

/// All targets that the study, the plan or the environment names.
fn all_targets(stored: &Stored) -> impl Iterator<Item = String> {
    let sites = stored.environment.sites.iter().map(|site| site.target.clone());
    let surveys = stored.plan.surveys.iter().map(|survey| survey.target.clone());
    stored.study.targets().into_iter().chain(sites).chain(surveys)
}

/// Simulated studies are never applied, and resumed only if they change no settings.
fn check_simulated(system: &dyn System, stored: &Stored, purpose: Purpose) -> Outcome<()> {
    let id = &stored.id;
    if purpose == Purpose::Apply {
        return Err(Failure::refused(format!(
            "cannot apply {id}: it was simulated and does not describe this machine"
        )));
    }
    let is_all_simulated = all_targets(stored).all(|target| target.starts_with(simulated::PREFIX))
        && stored.environment.sites.iter().all(|site| site.kind == TargetKind::Simulated);
    // A power meter is a file of the real machine, and root can read any file.
    let reads_meter = stored.study.power_meter.is_some() || stored.plan.meter.is_some();
    if !is_all_simulated || changes_settings(stored) || reads_meter && system.user().id == 0 {
        return Err(Failure::refused(format!(
            "{id} was simulated, but also uses the real machine; run the study again"
        )));
    }
    Ok(())
}

/// Returns whether any configuration of the study or its plan names a factor that changes settings.
fn changes_settings(stored: &Stored) -> bool {
    let (study, plan) = (&stored.study, &stored.plan);
    let arms = study.configurations.iter().chain([&study.baseline, &plan.design.baseline]);
    let arms = arms.chain(plan.workloads.iter().map(|workload| &workload.arm));
    let arms = arms.chain(plan.trials.iter().map(|trial| &trial.arm));
    let arms = arms.chain(plan.surveys.iter().map(|survey| &survey.under));
    let mut named = arms.flat_map(Arm::keys).chain(study.factors.keys());
    named.any(|name| factors::changes(name))
}
