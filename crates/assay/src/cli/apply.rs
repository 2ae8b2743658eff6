//! `assay advise apply`: the winning setting made permanent.

use clap::Args;
use serde_json::json;

use super::study_arguments::Allowed;
use super::{advise, output};
use crate::runner::apply::{self, Applied, Proposal};
use crate::store;
use crate::store::acting::{self, Acting};
use assay_core::factors;
use assay_core::failure::{Failure, Outcome};
use assay_core::results::vouch::Purpose;
use assay_core::system::System;

/// Make the confirmed setting permanent; shown first, done with --yes
///
/// Only what fresh trials confirmed is applied, measured here and by root: run assay advise confirm
/// with sudo first, and give its result. Each setting is written now, and a file brings it back at
/// each start of the machine: a udev rule for a drive, by its serial number; sysctl.d for what lies
/// below /proc/sys; tmpfiles.d for other files of the kernel. File systems are not made and fstab is
/// not edited: their lines are shown. assay restore undo takes it back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay advise apply 20261120-1031         what would be written
  assay advise apply 20261120-1031 --yes   write it (root)
  assay restore undo                       take it back")]
pub struct Arguments {
    /// Id of the result of assay advise confirm, or the beginning of it
    #[arg(value_name = "ID")]
    result: String,
    /// Do it
    #[arg(long)]
    yes: bool,
    /// The work that matters, where workloads disagree
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    #[command(flatten)]
    allowed: Allowed,
    /// One JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let acting = acting::open(system, Some(&arguments.result), Purpose::Apply);
    let Acting { stored, voucher, .. } =
        acting.map_err(|refusal| unconfirmed(system, arguments).unwrap_or(refusal))?;
    let findings = store::findings_of(&stored);
    let best = advise::confirmed(&findings, arguments.workload.as_deref())?;
    let allowed = arguments.allowed.paths()?;
    factors::permitted(best.arm.keys().map(String::as_str), &allowed).map_err(Failure::mistake)?;
    let proposal = advise::propose(system, &stored, best)?;
    let empty = proposal.settings.is_empty() && proposal.files.is_empty();
    if !arguments.json {
        output::text(&format!(
            "{}: {}\n{}",
            advise::arm_of(best),
            best.text,
            advise::proposal_text(&proposal)
        ));
    }
    if arguments.yes && empty {
        return Err(Failure::refused(
            "nothing of it is a setting that assay can make permanent: do it by hand",
        ));
    }
    let done = if arguments.yes { Some(apply::apply(system, &voucher, &proposal)?) } else { None };
    tell(arguments, &stored.id, &proposal, done);
    Ok(())
}

/// What is missing before anything else: fresh trials. Told instead of a refusal, because it is what
/// most people who are refused forgot; not of a result that cannot be confirmed either.
fn unconfirmed(system: &dyn System, arguments: &Arguments) -> Option<Failure> {
    let acting = acting::open(system, Some(&arguments.result), Purpose::GoOn).ok()?;
    let findings = store::findings_of(&acting.stored);
    findings.study.confirms.is_none().then_some(())?;
    advise::confirmed(&findings, None).err()
}

fn tell(arguments: &Arguments, id: &str, proposal: &Proposal, done: Option<Applied>) {
    if arguments.json {
        output::json(&json!({
            "format": "assay-apply/1",
            "id": id,
            "proposal": advise::proposal_json(proposal),
            "done": done.is_some(),
            "was_so_already": done == Some(Applied::Before),
        }));
        return;
    }
    output::text(&match done {
        Some(Applied::Now) => format!("done; assay restore undo {id} takes it back"),
        Some(Applied::Before) => "everything was so already".to_owned(),
        None if proposal.settings.is_empty() && proposal.files.is_empty() => {
            "nothing of it is a setting that assay can make permanent".to_owned()
        }
        None => "nothing was changed: add --yes to do it".to_owned(),
    });
}
