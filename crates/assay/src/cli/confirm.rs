//! `assay advise confirm`: fresh trials of the best arm against its baseline.

use clap::Args;

use super::running;
use super::study_arguments::Permitted;
use crate::runner::Request;
use crate::store;
use crate::store::acting::{self, Acting};
use assay_base::failure::{Failure, Outcome};
use assay_study::findings::{Advice, AdviceKind, Comparison, Findings, Verdict};
use assay_study::plan::arms::TARGET;
use assay_study::results::bundle::Stored;
use assay_study::results::vouch::Purpose;
use assay_study::study::Study;
use assay_study::study::presets::is_one_workload;
use assay_system::system::System;

/// Fresh replicates of the best setting of a study against its baseline
///
/// The best of many settings looks better than it is, because luck helped to make it the best. Fresh
/// trials of it and the baseline alone have no such luck.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay advise confirm                    the best setting of the newest result
  assay advise confirm 20261120-1031 --replicates 10")]
pub struct Arguments {
    /// Id, or the beginning of one [default: the newest]
    #[arg(value_name = "ID")]
    result: Option<String>,
    /// Complete passes over both settings [default: as the study, at least 6]
    #[arg(long, value_name = "N")]
    replicates: Option<u32>,
    /// The best setting of this workload, where workloads disagree
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Seed of order, offsets and content; drawn where it is not given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Overwrite the block device, as the study did: its id and +NAME for all it carries now
    #[arg(long, value_name = "ID")]
    destroy: Vec<String>,
    #[command(flatten)]
    permitted: Permitted,
    #[command(flatten)]
    pub(super) how: running::Printing,
}

pub fn run(system: &dyn System, arguments: &Arguments) -> Outcome<()> {
    let wanted = arguments.result.as_deref();
    let Acting { stored, .. } = acting::open(system, wanted, Purpose::GoOn)?;
    let findings = store::findings_of(&stored);
    let best = best(&findings, arguments.workload.as_deref())?;
    let targets = targets(&stored, best);
    acting::on_the_same_drives(system, &stored, &targets)?;
    let consented = arguments.permitted.consented(&arguments.destroy)?;
    let study = fresh(stored, &findings, best, arguments);
    let request = Request {
        consented,
        results: running::results_directory(system)?,
        ..Request::bare(study, targets)
    };
    let ran = running::run(system, request, arguments.how.quiet)?;
    running::conclude(system, ran, arguments.how)
}

/// The comparison that the study's advice rests on.
fn best<'a>(findings: &'a Findings, workload: Option<&str>) -> Outcome<&'a Comparison> {
    let advised =
        findings.advice.iter().filter(|one| is_for(one)).flat_map(|advice| &advice.evidence);
    let named = |id: &String| findings.comparisons.iter().find(|found| found.id == *id);
    let better = |found: &&Comparison| found.verdict == Some(Verdict::Better);
    let mut candidates = advised.filter_map(named).filter(better);
    let wanted =
        |found: &&Comparison| workload.is_none_or(|name| is_one_workload(&found.workload, name));
    candidates.find(wanted).ok_or_else(|| {
        let whose = workload.map_or_else(String::new, |name| format!(" in {name}"));
        Failure::mistake(format!(
            "nothing to confirm: no setting of {} is advised{whose}",
            findings.study.id
        ))
    })
}

/// Whether an advice speaks for an arm, at least in one workload.
fn is_for(advice: &Advice) -> bool {
    advice.kind != AdviceKind::Against
}

/// Both arms' targets, or the study's only one.
fn targets(stored: &Stored, best: &Comparison) -> Vec<String> {
    let of = |arm: &assay_study::results::plan::Arm| arm.get(TARGET).cloned();
    match (of(&best.baseline), of(&best.arm)) {
        (Some(one), Some(other)) if one != other => vec![one, other],
        (Some(one), _) => vec![one],
        _ => stored.study.target.iter().map(assay_study::study::Target::word).collect(),
    }
}

/// The study with the two arms alone, and the workloads in which the one is advised.
fn fresh(stored: Stored, findings: &Findings, best: &Comparison, arguments: &Arguments) -> Study {
    let advised: Vec<&str> = findings
        .comparisons
        .iter()
        .filter(|found| {
            let named = findings
                .advice
                .iter()
                .filter(|one| is_for(one))
                .any(|advice| advice.evidence.contains(&found.id));
            named && found.arm == best.arm
        })
        .map(|found| found.workload.as_str())
        .collect();
    let several = best.baseline.get(TARGET) != best.arm.get(TARGET);
    let bare = |arm: &assay_study::results::plan::Arm| {
        let mut arm = arm.clone();
        if !several {
            arm.remove(TARGET);
        }
        arm
    };
    let least = assay_study::study::DEFAULT_REPLICATES;
    let id = stored.id;
    let mut study = stored.study;
    study.title = format!("Fresh trials of the best setting of {id}");
    study.confirms = Some(id);
    study.preset = None;
    study.question.clear();
    study.card = None;
    study.replicates = arguments.replicates.unwrap_or(study.replicates.max(least));
    study.seed = arguments.seed;
    study.stop = assay_study::study::Stop::default();
    // Whether the winner is better is asked, and not whether anything is worse.
    study.gate = None;
    study.control = Some(false);
    study.baseline = bare(&best.baseline);
    study.arms = vec![bare(&best.baseline), bare(&best.arm)];
    study.workload.retain(|workload| advised.contains(&workload.name.as_str()));
    if !several {
        study.factors.remove(TARGET);
    }
    study
}
