//! Finds and opens a result for actions beyond displaying it.

use std::path::{Path, PathBuf};

use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_machine::system::site::TargetKind;
pub use assay_runner::run::Acting;
use assay_runner::run::apply::site_now;
use assay_study::file::Target;
use assay_study::results::bundle::{self, Stored};
use assay_study::results::vouch::{Purpose, vouch};

/// Opens the result that a command acts upon, and writes nothing. Fails like [`super::find`] and [`vouch`].
pub fn open(system: &dyn System, wanted: Option<&str>, purpose: Purpose) -> Outcome<Acting> {
    if let Some(path) = wanted.map(Path::new).filter(|path| bundle::is_bundle(system, path)) {
        // Drops a trailing slash, with which the check would follow a link.
        let bare: PathBuf = path.components().collect();
        bundle::unlinked(system, &bare)?;
    }
    let directory = super::find(system, wanted)?;
    let (stored, voucher) = vouch(system, &directory, purpose)?;
    Ok(Acting { stored, voucher, directory })
}

/// Refuses a result if one of these targets (all if empty) is now on another drive.
pub fn on_the_same_drives(system: &dyn System, stored: &Stored, targets: &[String]) -> Outcome<()> {
    let is_loop = matches!(stored.study.target, Some(Target::Loop(_)));
    if is_loop || stored.environment.sites.iter().all(|site| site.kind == TargetKind::Simulated) {
        return Ok(());
    }
    let mut has_checked = false;
    for (site, survey) in stored.environment.sites.iter().zip(&stored.plan.surveys) {
        let path = site.path.display().to_string();
        if targets.is_empty() || targets.contains(&survey.target) || targets.contains(&path) {
            site_now(system, stored.study.target.as_ref(), site, !survey.under.is_empty())?;
            has_checked = true;
        }
    }
    if !has_checked {
        return Err(refused!(
            "{}: the result does not record the devices below the targets; run the study again",
            stored.id
        ));
    }
    Ok(())
}
