//! Applies the settings of an arm permanently, and reverts them: a file restores each setting at the next boot, and the
//! setting itself changes now.
//!
//! Its journal is outside the directory of unfinished runs, and stays until the revert.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::resolve::refuse_unfinished;
use assay_core::failure::{Failure, Outcome};
use assay_core::outside;
use assay_machine::factors::guard::{Guard, SETTINGS, applied, setters};
use assay_machine::factors::permanent::{self, Keeper};
use assay_machine::factors::{self, Role, Setting, View};
use assay_machine::system::journal::{self, Report, Undo, Unfinished, setting_value};
use assay_machine::system::site::{Site, TargetKind};
use assay_machine::system::{Hold, System, identity, lock_names, resolve};
use assay_study::file::Target;
use assay_study::results::id::is_one as is_id;
use assay_study::results::plan::Arm;
use assay_study::results::vouch::Voucher;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    pub files: Vec<(PathBuf, String)>,
    pub settings: Vec<(Setting, String)>,
    /// Steps for the operator, one line each, with reasons.
    pub by_hand: Vec<(String, String)>,
    pub unmeasured: Vec<String>,
    locks: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    Now,
    Before,
}

/// Resolves the measured target again; fails if it is absent or on other drives. A stack that Assay `made` is gone.
pub fn site_now(
    system: &dyn System,
    target: Option<&Target>,
    before: &Site,
    made: bool,
) -> Outcome<Site> {
    if matches!(target, Some(Target::Loop(_))) {
        return Ok(Site::loop_to_be(before.layers.first().map_or(0, |layer| layer.size_bytes)));
    }
    if before.kind == TargetKind::Simulated {
        return Ok(before.clone());
    }
    let path = before.path.to_string_lossy();
    let now = resolve(system, if made { &before.target } else { &path })?;
    let ids =
        |site: &Site| -> Vec<String> { site.drives.iter().map(|drive| drive.id.clone()).collect() };
    if ids(&now) == ids(before) {
        return Ok(now);
    }
    Err(Failure::refused(format!(
        "{} was on {} and is now on {}, so the result does not apply",
        before.target,
        ids(before).join(", "),
        ids(&now).join(", ")
    )))
}

/// Returns how to make the levels of an arm (a configuration) permanent: settings, files for each boot, manual steps.
pub fn propose(system: &dyn System, id: &str, arm: &Arm, site: &Site) -> Proposal {
    let mut proposal = Proposal::default();
    let mut boot_lines: Vec<(Keeper, String)> = Vec::new();
    for (name, level) in setters(arm) {
        match lasting_settings(system, name, level, site) {
            Ok(lasting) => {
                for (setting, now, permanent) in lasting {
                    boot_lines.push((permanent.keeper, permanent.line));
                    if setting.device.is_none() {
                        proposal.locks.insert(SETTINGS.to_owned());
                    } else {
                        proposal.locks.extend(lock_names(site));
                    }
                    proposal.settings.push((setting, now));
                }
            }
            Err(why) => {
                let commands = permanent::commands(&Arm::from([(name.into(), level.into())]), site);
                let line = commands.first().cloned().unwrap_or_else(|| format!("{name}={level}"));
                proposal.by_hand.push((line, why));
            }
        }
    }
    let kept = permanent::kept(arm, id);
    for setting in kept.iter().flat_map(|kept| &kept.settings) {
        match lasting_setting(system, setting.clone()) {
            Ok((setting, now, permanent)) => {
                boot_lines.push((permanent.keeper, permanent.line));
                proposal.locks.insert(SETTINGS.to_owned());
                proposal.settings.push((setting, now));
            }
            Err(why) => {
                let line = format!("echo {} > {}", setting.value, setting.path.display());
                proposal.by_hand.push((line, why));
            }
        }
    }
    proposal.files = keeper_files(id, &boot_lines);
    proposal.files.extend(kept.into_iter().flat_map(|kept| kept.files));
    proposal.by_hand.extend(manual_steps(arm, site));
    proposal
}

/// Warns about present values that were not levels of the study: its best level may not be better than those.
pub fn unmeasured(
    system: &dyn System,
    levels: &BTreeMap<String, Vec<String>>,
    arm: &Arm,
    site: &Site,
) -> Vec<String> {
    let view = View { system, site };
    let warning = |(name, level): (&str, &str)| {
        let factor = factors::find(name)?;
        let now = factor.observe(name, &view).value()?.clone();
        if levels.get(name)?.iter().any(|level| factor.same(level, &now)) {
            return None;
        }
        Some(format!(
            "{name} is now {now}, which is not a level of the study; the study does not show that {level} is better"
        ))
    };
    setters(arm).into_iter().filter_map(warning).collect()
}

/// A setting, its present value, and how to make it permanent.
type Lasting = (Setting, String, permanent::Permanent);

/// Finds the settings of a level, each with its present value and its permanent form.
fn lasting_settings(
    system: &dyn System,
    name: &str,
    level: &str,
    site: &Site,
) -> Result<Vec<Lasting>, String> {
    let factor = factors::find(name).ok_or_else(|| format!("{name} is unknown"))?;
    let settings = factor.settings(name, level, &View { system, site })?;
    settings.into_iter().map(|setting| lasting_setting(system, setting)).collect()
}

fn lasting_setting(system: &dyn System, setting: Setting) -> Result<Lasting, String> {
    let now = read_setting(system, &setting.path)?;
    let permanent = permanent::permanent(system, &setting)?;
    Ok((setting, now, permanent))
}

fn read_setting(system: &dyn System, path: &Path) -> Result<String, String> {
    let text = system.read_text(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(setting_value(&text))
}

/// Returns the files to write: one per keeper, the program that reads the file at boot.
fn keeper_files(id: &str, lines: &[(Keeper, String)]) -> Vec<(PathBuf, String)> {
    let mut bodies: BTreeMap<Keeper, String> = BTreeMap::new();
    for (keeper, line) in lines {
        bodies.entry(*keeper).or_default().extend([line.as_str(), "\n"]);
    }
    let header =
        format!("# Written by assay advise apply {id}; to remove, run assay advise undo {id}.\n");
    bodies.into_iter().map(|(keeper, body)| (keeper.file(id), format!("{header}{body}"))).collect()
}

/// Returns the steps that only the operator can do, with reasons: layers, and settings that Assay does not keep.
fn manual_steps(arm: &Arm, site: &Site) -> Vec<(String, String)> {
    let mut steps = Vec::new();
    if let Some(lost) = permanent::lost(arm, site) {
        steps.push((format!("# {lost}"), "move the files elsewhere first".to_owned()));
    }
    let made = permanent::by_hand(arm, site);
    for layer in &made {
        let acts = layer.commands.acts.iter();
        steps.extend(acts.map(|act| (act.to_string(), layer.why.to_owned())));
    }
    let lasting = made.iter().filter_map(|layer| layer.lasting.clone());
    steps.extend(lasting.map(|(line, why)| (line, why.to_owned())));
    for (name, level) in arm {
        let why = match factors::find(name).map(factors::Factor::role) {
            Some(Role::Setting | Role::Layer) => continue,
            Some(Role::Observed) => "only you can change this setting",
            None if name == assay_study::plan::arms::TARGET => "the location of the data",
            None => "a program setting, not a machine setting",
        };
        steps.push((format!("{name}={level}"), why.to_owned()));
    }
    steps
}

/// Carries out a proposal completely or not at all, even if the process dies.
/// Fails without root, for a result without a valid voucher, with an unfinished run, if a file already exists, if
/// another result's settings are applied, or if a setting cannot be changed.
pub fn apply(system: &dyn System, voucher: &Voucher, proposal: &Proposal) -> Outcome<Applied> {
    let id = voucher.id();
    if system.user().id != 0 {
        return Err(Failure::refused("only root may change settings; run the command with sudo"));
    }
    if !voucher.is_for_keeps() || !is_id(id) {
        return Err(Failure::refused("this result is unverified"));
    }
    proposal.files.iter().try_for_each(|(path, text)| check_no_control_characters(path, text))?;
    refuse_unfinished(system)?;
    let home = identity::state_directory(system)?;
    let known = journal::unfinished(system, &applied(&home))?;
    if known.iter().any(|journal| journal.id == id) {
        if is_in_place(system, proposal) {
            return Ok(Applied::Before);
        }
        return Err(Failure::refused(format!(
            "{id} was applied before and is now missing or incomplete; run assay advise undo {id} first"
        )));
    }
    check_no_clash(&known, proposal)?;
    proposal.files.iter().try_for_each(|(path, _)| check_can_create(system, path))?;
    let _holds = lock(system, proposal)?;
    let mut guard = Guard::begin_lasting(system, &home, id)?;
    if let Err(failure) = carry_out(system, &mut guard, proposal) {
        guard.finish()?;
        return Err(failure);
    }
    guard.keep();
    Ok(Applied::Now)
}

/// Rejects control characters, which would add lines to a file.
fn check_no_control_characters(path: &Path, text: &str) -> Outcome<()> {
    let is_plain = text.chars().all(|sign| !sign.is_control() || sign == '\n');
    if is_plain && !path.to_string_lossy().chars().any(char::is_control) {
        return Ok(());
    }
    let path = path.display().to_string();
    Err(Failure::refused(format!(
        "not written: {} would contain control characters",
        outside::spelled(&path)
    )))
}

/// Changes everything that is proposed, in a journal, and checks that it is in place.
fn carry_out(system: &dyn System, guard: &mut Guard<'_>, proposal: &Proposal) -> Outcome<()> {
    for (setting, _) in &proposal.settings {
        guard.set(setting)?;
    }
    for (path, text) in &proposal.files {
        guard.write(path, text)?;
    }
    if is_in_place(system, proposal) {
        return Ok(());
    }
    Err(Failure::refused("the settings affect each other and cannot all apply at once"))
}

/// Whether all files and settings are as proposed, whichever result wrote the files.
fn is_in_place(system: &dyn System, proposal: &Proposal) -> bool {
    let is_written = |(path, text): &(PathBuf, String)| {
        system.read_text(path).is_ok_and(|now| without_header(&now) == without_header(text))
    };
    let is_set = |(wanted, _): &(Setting, String)| {
        read_setting(system, &wanted.path).is_ok_and(|now| now == wanted.value)
    };
    proposal.files.iter().all(is_written) && proposal.settings.iter().all(is_set)
}

/// A file without its first comment, which names the author and may differ by version.
fn without_header(text: &str) -> &str {
    match text.split_once('\n') {
        Some((head, body)) if head.starts_with('#') => body,
        _ => text,
    }
}

/// Rejects a setting that another applied result already set.
fn check_no_clash(known: &[Unfinished], proposal: &Proposal) -> Outcome<()> {
    let sets_the_same = |undo: &Undo| {
        let Undo::Setting { path, .. } = undo else { return false };
        proposal.settings.iter().any(|(setting, _)| setting.path == *path)
    };
    match known.iter().find(|other| other.undos().iter().any(sets_the_same)) {
        Some(other) => Err(Failure::refused(format!(
            "{} already set this permanently; run assay advise undo {} first",
            other.id, other.id
        ))),
        None => Ok(()),
    }
}

/// Rejects a file that exists, or whose directory does not.
fn check_can_create(system: &dyn System, path: &Path) -> Outcome<()> {
    if system.status(path).is_ok() {
        let path = path.display();
        return Err(Failure::refused(format!(
            "{path} already exists, and Assay did not write it; check the file"
        )));
    }
    let directory = path.parent().unwrap_or(path);
    system.list(directory).map(|_| ()).map_err(|error| {
        Failure::refused(format!(
            "{}: {error}; no program on this machine reads such a file",
            directory.display()
        ))
    })
}

fn lock(system: &dyn System, proposal: &Proposal) -> Outcome<Vec<Hold>> {
    let held = |_| Failure::refused("another assay process is measuring; wait until it ends");
    proposal.locks.iter().map(|name| system.hold(name).map_err(held)).collect()
}

pub fn standing(system: &dyn System) -> Outcome<Vec<Unfinished>> {
    let home = identity::state_directory(system)?;
    let mut known = journal::unfinished(system, &applied(&home))?;
    known.sort_by(|a, b| a.started.cmp(&b.started).then(a.id.cmp(&b.id)));
    Ok(known)
}

/// Reverts applied settings, whose journal is `standing`; fails without root, or if somebody changed one of the files.
pub fn undo(system: &dyn System, standing: &Unfinished) -> Outcome<Report> {
    check_unedited(system, standing)?;
    if system.user().id != 0 {
        return Err(Failure::refused("only root may change settings; run the command with sudo"));
    }
    refuse_unfinished(system)?;
    let report = journal::undo_lasting(system, standing)?;
    if report.failed.is_empty() {
        return Ok(report);
    }
    Err(Failure::not_restored(format!(
        "some changes were not undone: {}; stop the programs that use these settings, then \
         run assay advise undo {} again",
        report.failed.join("; "),
        standing.id
    )))
}

/// Rejects files that somebody changed after Assay wrote them.
pub fn check_unedited(system: &dyn System, standing: &Unfinished) -> Outcome<()> {
    for undo in standing.undos() {
        let Undo::Text { path, written: Some(written), .. } = undo else { continue };
        if let Ok(now) = system.read_text(path)
            && now != *written
        {
            return Err(Failure::refused(format!(
                "{} changed since Assay wrote it, so Assay does not touch it; remove or restore \
                 the file, then run assay advise undo {} again. The file now contains:\n{}",
                path.display(),
                standing.id,
                now.trim_end()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
