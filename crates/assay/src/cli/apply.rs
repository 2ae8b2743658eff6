//! `assay advise apply`: applies the winning setting permanently.

use clap::Args;
use serde::Serialize;

use super::advise::{self, PairTrust};
use super::advised::{Proposed, proposed};
use super::output;
use super::study_arguments::Allowed;
use crate::store;
use crate::store::acting::{self, Acting};
use assay_core::failure::{Failure, Outcome};
use assay_machine::factors;
use assay_machine::system::System;
use assay_runner::run::apply::{self, Applied, Proposal};
use assay_study::findings::Trust;
use assay_study::results::plan::arm_words;
use assay_study::results::vouch::Purpose;

/// Show the confirmed settings; make them permanent with --yes
///
/// Run assay advise confirm with sudo first, and give the new result ID: Assay applies only settings that root
/// confirmed with fresh trials on this machine. Suspect numbers require --accept-suspect; Assay never applies invalid
/// numbers. Assay writes each setting now, and creates a file that sets the value at each boot: a udev rule for a drive
/// (by serial number), sysctl.d for /proc/sys, tmpfiles.d for other kernel files. Assay does not create filesystems or
/// edit fstab; it prints the lines to add. assay advise undo reverts the changes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay advise apply 20261120-1031         show the changes
  assay advise apply 20261120-1031 --yes   apply the changes (root)
  assay advise undo                        undo the changes")]
pub struct ApplyArguments {
    #[arg(value_name = "ID", help = format!("{}, of assay advise confirm", super::ID))]
    result: String,
    /// Apply the changes instead of only showing them
    #[arg(long)]
    yes: bool,
    /// Apply a result with suspect numbers
    #[arg(long)]
    accept_suspect: bool,
    /// Choose the workload if workloads disagree
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    #[command(flatten)]
    allowed: Allowed,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub fn run(system: &dyn System, arguments: &ApplyArguments) -> Outcome<()> {
    let acting = acting::open(system, Some(&arguments.result), Purpose::Apply);
    let Acting { stored, voucher, .. } =
        acting.map_err(|refusal| unconfirmed(system, arguments).unwrap_or(refusal))?;
    let findings = store::findings_of(&stored);
    let best = advise::confirmed(&findings, arguments.workload.as_deref())?;
    let allowed = arguments.allowed.paths()?;
    factors::check_permitted(best.configuration.keys().map(String::as_str), &allowed)
        .map_err(Failure::mistake)?;
    let pair_trust = PairTrust::new(&findings, best);
    // Without --yes, nothing changes: a preview needs no acceptance.
    let accepts_suspect = arguments.accept_suspect || !arguments.yes;
    check_trust(&stored.id, &pair_trust, accepts_suspect)?;
    let proposal = advise::propose(system, &stored, best)?;
    let is_empty = proposal.settings.is_empty() && proposal.files.is_empty();
    if !arguments.json {
        output::text(&format!(
            "{}: {}\n  numbers: {}\n{}",
            arm_words(&best.configuration),
            best.text,
            pair_trust.words(),
            advise::proposal_text(&proposal)
        ));
    }
    if arguments.yes && is_empty {
        return Err(refused!(
            "assay cannot apply any of these settings permanently; change them by hand"
        ));
    }
    let done = if arguments.yes { Some(apply::apply(system, &voucher, &proposal)?) } else { None };
    print_outcome(arguments, &stored.id, &pair_trust, &proposal, done);
    Ok(())
}

/// Refuses winners with invalid numbers, and those with suspect numbers unless the user accepts them.
fn check_trust(id: &str, pair_trust: &PairTrust, accepts_suspect: bool) -> Outcome<()> {
    let words = pair_trust.words();
    match pair_trust.trust {
        Trust::Suspect if !accepts_suspect => Err(mistake!(
            "the numbers of this winner are {words}; run `assay advise confirm {id}`, or add --accept-suspect"
        )),
        Trust::Invalid => Err(refused!(
            "the numbers of this winner are {words} and do not justify a change; run `assay advise confirm {id}`"
        )),
        Trust::Trusted | Trust::Suspect => Ok(()),
    }
}

/// Returns an error if fresh trials are missing, the most common reason, before any other check. Returns `None` for
/// results that cannot be confirmed.
fn unconfirmed(system: &dyn System, arguments: &ApplyArguments) -> Option<Failure> {
    let acting = acting::open(system, Some(&arguments.result), Purpose::GoOn).ok()?;
    let findings = store::findings_of(&acting.stored);
    findings.study.confirms.is_none().then_some(())?;
    advise::confirmed(&findings, None).err()
}

#[derive(Serialize)]
struct ApplyDocument<'a> {
    format: &'static str,
    id: &'a str,
    trust: Trust,
    /// Whether the drive is virtual: the trust then covers only this virtual device.
    virtual_device: bool,
    reasons: &'a [String],
    proposal: Proposed<'a>,
    done: bool,
    already_applied: bool,
}

fn print_outcome(
    arguments: &ApplyArguments,
    id: &str,
    pair_trust: &PairTrust,
    proposal: &Proposal,
    done: Option<Applied>,
) {
    if arguments.json {
        output::json(&ApplyDocument {
            format: "assay-apply/1",
            id,
            trust: pair_trust.trust,
            virtual_device: pair_trust.is_lent,
            reasons: &pair_trust.reasons,
            proposal: proposed(proposal),
            done: done.is_some(),
            already_applied: done == Some(Applied::Before),
        });
        return;
    }
    output::text(&outcome_text(id, proposal, done));
}

fn outcome_text(id: &str, proposal: &Proposal, done: Option<Applied>) -> String {
    match done {
        Some(Applied::Now) => format!("done; to undo: assay advise undo {id}"),
        Some(Applied::Before) => {
            "nothing to change; all settings already have these values".to_owned()
        }
        None if proposal.settings.is_empty() && proposal.files.is_empty() => {
            "assay cannot apply any of these settings permanently".to_owned()
        }
        None => "nothing was changed; see `assay advise apply --help`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::super::meant::CONSENTS;
    use super::*;
    use assay_core::failure::Kind;
    use assay_machine::system::Fake;
    use assay_runner::run::{self, Request};
    use assay_study::file::text;
    use assay_study::findings::{Because, Findings, LENT};

    const STUDY: &str = "format = \"assay-study/1\"\ntitle = \"Two\"\nreplicates = 6\nseed = 1\n\
        [factors]\nqueue_depth = [1, 4]\n[[workload]]\nname = \"read\"\n\
        io = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"5 ms\" }\n";

    fn findings() -> Findings {
        let request = Request::bare(
            text::parse("test", STUDY).unwrap(),
            vec!["simulated:fixed,mean=100us,servers=4".to_owned()],
        );
        let stop = AtomicBool::new(false);
        let finished = run::run(&Fake::new(), request, &stop, &mut |_| {}).unwrap();
        store::findings_of_run(finished)
    }

    fn told(trust: Trust, accepted: bool) -> Result<String, (Kind, String)> {
        told_of(trust, accepted, false)
    }

    fn told_of(trust: Trust, accepted: bool, lent: bool) -> Result<String, (Kind, String)> {
        let mut findings = findings();
        let best = findings.comparisons[0].clone();
        let own = findings.measurements.iter_mut().find(|cell| {
            (&cell.workload, &cell.metric, &cell.configuration)
                == (&best.workload, &best.metric, &best.configuration)
        });
        let cell = own.unwrap();
        if lent {
            let text = "what its host caches cannot be seen".to_owned();
            cell.reasons.push(Because { rule: LENT.to_owned(), trust: Trust::Trusted, text });
            cell.trust = Some(Trust::Trusted);
        }
        if trust > Trust::Trusted {
            let text = "somebody else wrote meanwhile".to_owned();
            cell.reasons.push(Because { rule: "foreign-io".to_owned(), trust, text });
            cell.trust = Some(trust);
        }
        let pair_trust = PairTrust::new(&findings, &best);
        let fit = check_trust("20261120-1031", &pair_trust, accepted);
        fit.map(|()| pair_trust.words()).map_err(|failure| (failure.kind, failure.message))
    }

    #[test]
    fn what_was_only_shown_says_where_it_stands_how_it_is_done() {
        let mut proposal = Proposal::default();
        let of = |proposal: &Proposal| outcome_text("20261120-1031", proposal, None);
        assert!(of(&proposal).starts_with("assay cannot apply any"));
        proposal.files.push(("/etc/sysctl.d/61-assay.conf".into(), "vm.x = 1\n".to_owned()));
        let told = of(&proposal);
        assert!(told.contains("`assay advise apply --help`"), "{told}");
        assert!(CONSENTS.iter().all(|option| !told.contains(option)), "{told}");
        let done = outcome_text("20261120-1031", &proposal, Some(Applied::Now));
        assert_eq!(done, "done; to undo: assay advise undo 20261120-1031");
    }

    #[test]
    fn suspect_numbers_need_a_word_and_invalid_ones_are_no_reason_to_change_anything() {
        assert_eq!(told(Trust::Trusted, false), Ok("trusted".to_owned()));
        assert_eq!(
            told_of(Trust::Trusted, false, true),
            Ok("trusted for this virtual device".to_owned())
        );
        let lent = told_of(Trust::Suspect, true, true).unwrap();
        assert_eq!(lent, "suspect: somebody else wrote meanwhile", "loud signs are told as ever");
        let (kind, why) = told(Trust::Suspect, false).unwrap_err();
        assert_eq!(kind, Kind::Mistake);
        assert!(why.contains("suspect: somebody else wrote meanwhile"), "{why}");
        assert!(why.contains("`assay advise confirm 20261120-1031`"), "{why}");
        let words = told(Trust::Suspect, true).unwrap();
        assert_eq!(words, "suspect: somebody else wrote meanwhile");
        for accepted in [false, true] {
            let (kind, why) = told(Trust::Invalid, accepted).unwrap_err();
            assert_eq!(kind, Kind::Refused);
            assert!(why.contains("invalid: somebody else wrote meanwhile"), "{why}");
        }
    }
}
