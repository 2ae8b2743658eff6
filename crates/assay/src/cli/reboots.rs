//! Trials by rebooting: `--reboots`, and how such a study continues.

use super::{output, running};
use crate::store;
use crate::store::acting;
use assay_core::failure::Outcome;
use assay_machine::system::{System, identity};
use assay_runner::run::reboots::{self, RebootStep};
use assay_runner::run::{Context, Event};
use assay_study::file::Study;
use assay_study::results::vouch::Purpose;

/// Shows the plan for reboots, and executes it with `--yes`. Fails with the reason if reboots are impossible.
pub fn run(system: &dyn System, study: Study, boots: u32, is_sure: bool) -> Outcome<()> {
    let stop = running::stop_on_signals(&running::RESTORES)?;
    let proposal = reboots::propose(system, study, boots, identity::results_directory(system)?)?;
    let mut text = format!(
        "restarts this machine {boots} times, and records each boot in the result {} when startup ends\nuntil the last \
         boot, this unit exists as {}:\n\n{}\n",
        proposal.id,
        proposal.path().display(),
        proposal.unit
    );
    text.extend(proposal.cautions.iter().flat_map(|caution| ["- ", caution, "\n"]));
    text += "- Assay removes the unit after the last boot and after any failure; assay restore also removes the unit\n";
    output::text(&text);
    if !is_sure {
        output::text("nothing was changed; see `assay run --help`");
        return Ok(());
    }
    let id = proposal.id.clone();
    let mut context = Context { system, runs_as: None, stop: &stop, tell: &mut print_warning };
    reboots::start(system, proposal, &mut context)?;
    output::message(&format!("restarting; when finished, run: assay show {id}"));
    Ok(())
}

fn print_warning(event: Event) {
    if let Event::Warning(text) = event {
        output::message(&text);
    }
}

/// Continues a study of boots: adds the boots since then and, as the unit, reboots for the next one.
pub fn resume(
    system: &dyn System,
    id: Option<&str>,
    after_boot: bool,
    how: running::Printing,
) -> Outcome<()> {
    let stop = running::stop_on_signals(&running::RESTORES)?;
    let mut context = Context { system, runs_as: None, stop: &stop, tell: &mut print_warning };
    let Some(id) = id.filter(|_| after_boot) else {
        let acting = acting::open(system, id, Purpose::GoOn)?;
        let recorded = reboots::record(system, acting, &mut context)?;
        return running::conclude(system, recorded.into(), how);
    };
    let ready = store::find_kept(system, id)
        .and_then(|directory| reboots::begin_boot(system, id, &directory, &context))
        .and_then(|()| acting::open(system, Some(id), Purpose::GoOn));
    let acting = match ready {
        Ok(acting) => acting,
        Err(failure) => {
            reboots::give_up(system, id)?;
            return Err(failure);
        }
    };
    match reboots::after_boot(system, acting, &mut context)? {
        RebootStep::Done(finished) => running::conclude(system, (*finished).into(), how),
        RebootStep::Ended(finished) => running::close(system, (*finished).into()),
        RebootStep::Restarts { recorded, of } => {
            output::message(&format!("recorded boot {recorded} of {of}; restarting"));
            Ok(())
        }
    }
}
