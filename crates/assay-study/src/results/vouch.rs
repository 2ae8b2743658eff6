//! Which results are acted upon: what was measured here, by root, on the drive that is here now, and
//! nothing that anybody else could have written.

use std::io;
use std::path::Path;

use assay_base::failure::{Failure, Outcome};
use assay_base::outside;
use assay_machine::factors;
use assay_system::system::site::TargetKind;
use assay_system::system::{System, machine, virtual_machine};

use super::bundle::{self, Sealed, Stored};
use super::plan::Arm;
use super::seal::{self, Reading, Seal, Unproven, key};
use super::{foreign, id as ids, imported};
use crate::results::seal::Known;
use crate::study::simulated;

/// Files and directories of a bundle that are no links where it is acted upon.
const PARTS: [&str; 9] = [
    "study.toml",
    "plan.json",
    "environment.json",
    "trials.jsonl",
    "log.jsonl",
    "label.json",
    seal::FILE,
    "histograms",
    "series",
];

/// What is to be done by a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Run what it says: `confirm`, `resume`.
    GoOn,
    /// Set what it found, for keeps.
    Apply,
}

/// Proof that what a result says may be done. Only [`vouch`] makes one.
pub struct Voucher {
    id: String,
    purpose: Purpose,
    sealed: Option<Sealed>,
}

impl Voucher {
    /// Id of the result.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whether what it found may be set for keeps.
    pub fn is_for_keeps(&self) -> bool {
        self.purpose == Purpose::Apply
    }

    /// How far it is sealed, where it is.
    pub fn into_sealed(self) -> Option<Sealed> {
        self.sealed
    }
}

/// Reads a result that is to be acted upon. What is returned is what was looked through: each file is
/// read once.
///
/// Root does only what root has sealed. Whoever is not root may go on with what lies there, because he
/// can change nothing that is not his; but a result that says which programs to run has to be sealed
/// by himself.
///
/// # Errors
/// Refused, with the reason and what to do instead; the user's mistake where it is damaged.
pub fn vouch(
    system: &dyn System,
    directory: &Path,
    purpose: Purpose,
) -> Outcome<(Stored, Voucher)> {
    let id = bundle::id_of(directory);
    bundle::plain_id(&id)?;
    if foreign::is_one(system, directory) {
        return Err(Failure::refused(format!(
            "{id} was measured elsewhere and added here: it is shown, compared and collected, and nothing \
             of it is set or gone on with; run the study again here"
        )));
    }
    if !ids::is_one(&id) {
        return Err(Failure::refused(format!(
            "{id}: no result that was measured here is called so; give its directory its own name back"
        )));
    }
    bundle::unlinked(system, directory)?;
    PARTS.iter().try_for_each(|part| bundle::unlinked(system, &directory.join(part)))?;
    if imported::is_one(system, directory) {
        return Err(Failure::refused(format!(
            "{id} was imported: only what was measured here is acted upon"
        )));
    }
    let mut seen = Some(Reading::default());
    let mut stored = bundle::read_seen(system, directory, &mut seen)?;
    let voucher = |sealed| Voucher { id: id.clone(), purpose, sealed };
    if stored.plan.virtual_machine != virtual_machine::own(system) {
        return Err(Failure::refused(format!(
            "{id} ran in a virtual machine that is gone: it can be shown and compared, and nothing of it is \
             set or gone on with; run the study again with --vm, or here"
        )));
    }
    if stored.environment.fleet.is_some() {
        return Err(Failure::refused(format!(
            "{id} was measured by several hosts together: it can be shown and compared, and nothing of it is \
             set or gone on with; start a new study"
        )));
    }
    if is_simulated(&stored) {
        may_be_simulated(system, &stored, purpose)?;
        return Ok((stored, voucher(None)));
    }
    if system.user().id != 0 && !runs_programs(&stored) {
        return Ok((stored, voucher(None)));
    }
    let text = match bundle::content(system, &directory.join(seal::FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(unsealed(system, &id)),
        Err(error) => {
            return Err(Failure::refused(format!("{id}: its seal cannot be read: {error}")));
        }
    };
    let seal = proven(system, directory, &text)?;
    let sealed = held(&id, &seal, &seen.unwrap_or_default(), &mut stored)?;
    let text = text[..seal.whole_bytes].to_owned();
    Ok((stored, voucher(Some(Sealed { chain: seal.chain, text, trials: sealed }))))
}

/// How far the files of a result are known to be what was measured, for whoever only reads them.
pub fn sealed(system: &dyn System, directory: &Path) -> Known {
    if imported::is_one(system, directory) {
        return Known::Imported;
    }
    let text = match bundle::content(system, &directory.join(seal::FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Known::None,
        Err(_) => return Known::NotLookedAt,
    };
    let Ok(unproven) = Unproven::read(&text) else { return Known::Broken };
    let about = unproven.about();
    let store = bundle::store_of(system, directory).ok();
    let elsewhere =
        about.machine != machine::identity(system) || store != Some(about.store.clone());
    if about.id != bundle::id_of(directory) || elsewhere {
        return Known::Elsewhere;
    }
    let Ok(key) = key::read(system) else { return Known::NotLookedAt };
    let Some(seal) = unproven.prove(&key) else { return Known::Broken };
    let mut seen = Some(Reading::default());
    match bundle::read_seen(system, directory, &mut seen) {
        Ok(_) if seal.holds(&seen.unwrap_or_default()).is_ok() => Known::Whole,
        _ => Known::Broken,
    }
}

/// Whether a result says which programs to run: those of somebody else's are not run by anybody.
fn runs_programs(stored: &Stored) -> bool {
    let asked = stored.study.workload.iter().map(|workload| workload.work.kind());
    let planned = stored.plan.workloads.iter().map(|workload| workload.work.kind());
    asked.chain(planned).any(|kind| kind.runs_programs)
}

fn unsealed(system: &dyn System, id: &str) -> Failure {
    if system.user().id != 0 {
        return Failure::refused(format!(
            "{id} says which programs to run and has no seal of yours: anybody could have written it; \
             run the study again"
        ));
    }
    Failure::refused(format!(
        "{id} has no seal: it was measured without root, or before results were sealed, and anybody \
         could have written it; run the study again with sudo"
    ))
}

/// The seal of a result, once it is known to be one of this machine's.
fn proven(system: &dyn System, directory: &Path, text: &str) -> Outcome<Seal> {
    let id = bundle::id_of(directory);
    let refused = |how: &str| Failure::refused(format!("{id}: {how}; run the study again here"));
    let unproven = Unproven::read(text).map_err(|how| refused(&how))?;
    let about = unproven.about();
    if about.id != id {
        let own = outside::spelled(&about.id);
        return Err(refused(&format!("its seal is that of {own}")));
    }
    if about.machine != machine::identity(system) {
        return Err(refused("it was measured on another machine"));
    }
    let store = bundle::store_of(system, directory);
    let store =
        store.map_err(|error| refused(&format!("where it lies cannot be told: {error}")))?;
    if about.store != store {
        let own = outside::spelled(&about.store);
        return Err(refused(&format!("it was measured into {own} and was brought here")));
    }
    let key = key::read(system).map_err(|error| {
        let path = key::path(system).unwrap_or_default();
        Failure::refused(format!("{id} cannot be vouched for: {}: {error}", path.display()))
    })?;
    unproven.prove(&key).ok_or_else(|| refused("its seal was not made here, or was changed"))
}

/// Holds what was read against the seal; gives the number of sealed trials. What is not sealed is
/// taken away from what was read.
fn held(id: &str, seal: &Seal, seen: &Reading, stored: &mut Stored) -> Outcome<usize> {
    let drives = bundle::drives(&stored.environment);
    let changed = |what: &str| {
        Failure::refused(format!(
            "{id}: {what} was changed after it was measured; run the study again"
        ))
    };
    let sealed = seal.holds(seen).map_err(changed)?;
    if seal.about.drives != drives {
        return Err(changed("environment.json"));
    }
    stored.trials.truncate(sealed);
    if !seal.has_ended(seen) {
        stored.ended = None;
    }
    Ok(sealed)
}

/// Whether anything of a result is simulated.
fn is_simulated(stored: &Stored) -> bool {
    let sites = stored.environment.sites.iter();
    sites.clone().any(|site| site.kind == TargetKind::Simulated)
        || words(stored).any(|word| word.starts_with(simulated::PREFIX))
}

/// All targets that a result names, as the command line would.
fn words(stored: &Stored) -> impl Iterator<Item = String> {
    let sites = stored.environment.sites.iter().map(|site| site.target.clone());
    let surveys = stored.plan.surveys.iter().map(|survey| survey.target.clone());
    stored.study.targets().into_iter().chain(sites).chain(surveys)
}

/// Simulated studies are nobody's proof: they are never applied, and gone on with only where nothing
/// of the machine is in them, so that they need no seal.
fn may_be_simulated(system: &dyn System, stored: &Stored, purpose: Purpose) -> Outcome<()> {
    let id = &stored.id;
    if purpose == Purpose::Apply {
        return Err(Failure::refused(format!(
            "{id} was simulated: it says nothing of this machine, and nothing of it is applied"
        )));
    }
    let simulated = words(stored).all(|word| word.starts_with(simulated::PREFIX))
        && stored.environment.sites.iter().all(|site| site.kind == TargetKind::Simulated);
    let reads = stored.study.meter.is_some() || stored.plan.meter.is_some();
    if !simulated || changes(stored) || reads && system.user().id == 0 {
        return Err(Failure::refused(format!(
            "{id} was simulated, but the machine is part of it: run the study itself"
        )));
    }
    Ok(())
}

/// Whether a factor that changes the machine stands anywhere in a result.
fn changes(stored: &Stored) -> bool {
    let (study, plan) = (&stored.study, &stored.plan);
    let arms = study.arms.iter().chain([&study.baseline, &plan.design.baseline]);
    let arms = arms.chain(plan.workloads.iter().map(|workload| &workload.arm));
    let arms = arms.chain(plan.trials.iter().map(|trial| &trial.arm));
    let arms = arms.chain(plan.surveys.iter().map(|survey| &survey.under));
    let mut named = arms.flat_map(Arm::keys).chain(study.factors.keys());
    named.any(|name| factors::changes(name))
}
