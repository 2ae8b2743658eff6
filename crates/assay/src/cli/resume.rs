//! `assay resume`: continues an interrupted study.

use clap::Args;

use super::study_arguments::Permitted;
use super::{reboots, running};
use crate::store::acting::{self, Acting};
use assay_core::failure::Outcome;
use assay_machine::system::System;
use assay_study::plan;
use assay_study::plan::repeats::{RanTrial, repeats};
use assay_study::results::bundle::{self, Stored};
use assay_study::results::plan::Plan;
use assay_study::results::record::Trial;
use assay_study::results::vouch::Purpose;

/// Continue an interrupted study
///
/// Assay uses the plan made before the first trial. The target must be unchanged.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay resume                  resume the latest result
  assay resume 20261120-1031    resume the result with this ID")]
pub struct ResumeArguments {
    #[arg(value_name = "ID", help = format!("{}{}", super::ID, super::LATEST))]
    result: Option<String>,
    /// Overwrite this device: ID and +NAMEs of its current contents
    #[arg(long, value_name = "ID")]
    destroy: Vec<String>,
    /// What the unit of assay run boot --reboots says
    #[arg(long, hide = true, requires = "result")]
    after_boot: bool,
    #[command(flatten)]
    permitted: Permitted,
    #[command(flatten)]
    waiting: running::Waiting,
    #[command(flatten)]
    pub(super) how: running::Printing,
}

pub fn run(system: &dyn System, arguments: &ResumeArguments) -> Outcome<()> {
    if arguments.after_boot {
        return reboots::resume(system, arguments.result.as_deref(), true, arguments.how);
    }
    let acting = acting::open(system, arguments.result.as_deref(), Purpose::GoOn)?;
    unfinished(&acting.stored)?;
    if bundle::is_running(system, &acting.directory) {
        return Err(refused!("{} is running; wait until it ends", acting.stored.id));
    }
    if acting.stored.plan.is_only_watched() {
        let id = &acting.stored.id;
        return Err(refused!(
            "cannot resume {id}: truncated recording; record again with assay watch, and delete this result with assay \
             remove {id}"
        ));
    }
    if plan::recorded::asked(&acting.stored.study).is_some() {
        return reboots::resume(system, arguments.result.as_deref(), false, arguments.how);
    }
    let consented = arguments.waiting.with(arguments.permitted.consented(&arguments.destroy)?);
    let ran = running::resume(system, acting, &consented, arguments.how.quiet)?;
    running::conclude(system, ran, arguments.how)
}

/// Fails if the study of a result has ended or has all its trials.
pub(super) fn unfinished(stored: &Stored) -> Outcome<()> {
    let id = &stored.id;
    if stored.ended.is_some() || has_all_trials(&stored.plan, &stored.trials) {
        return Err(mistake!(
            "{id} has ended; use assay show {id}, or run the study again with assay run"
        ));
    }
    Ok(())
}

pub(super) fn has_all_trials(plan: &Plan, trials: &[Trial]) -> bool {
    let ran: Vec<RanTrial> = trials.iter().map(RanTrial::from).collect();
    // The number of trials of a race is known only at its end.
    ran.len() >= plan.trials.len() + repeats(plan, &ran).len() && !plan::race::is_one(plan)
}

/// Returns how to resume the newest result if that is an unfinished study that may continue here.
pub(super) fn hint(system: &dyn System) -> Option<String> {
    let Acting { stored, directory, .. } = acting::open(system, None, Purpose::GoOn).ok()?;
    let is_left = unfinished(&stored).is_ok()
        && stored.environment.fleet.is_none()
        && plan::recorded::asked(&stored.study).is_none()
        && !bundle::is_running(system, &directory);
    let id = stored.id;
    is_left.then(|| format!("{id} is unfinished; continue with assay resume {id}"))
}
