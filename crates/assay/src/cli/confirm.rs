//! `assay advise confirm`: runs fresh trials of the best arm and its baseline.

use std::sync::atomic::AtomicBool;

use clap::Args;

use super::running;
use super::study_arguments::Permitted;
use crate::store;
use crate::store::acting::{self, Acting};
use assay_core::failure::Outcome;
use assay_core::quantity::Time;
use assay_machine::system::System;
use assay_runner::run::{Consented, Request};
use assay_study::file::Study;
use assay_study::findings::race::RaceAnswer;
use assay_study::findings::{Advice, AdviceKind, Comparison, Findings, Verdict};
use assay_study::plan::arms::TARGET;
use assay_study::results::bundle::Stored;
use assay_study::results::plan::{Arm, Plan};
use assay_study::results::vouch::Purpose;

/// Run fresh trials of the best configuration and its baseline
///
/// The best of many configurations looks better than it is, because of selection bias. Fresh trials of the best
/// configuration and the baseline remove this bias.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  assay advise confirm                    best setting of the latest result
  assay advise confirm 20261120-1031 --replicates 10")]
pub struct ConfirmArguments {
    #[arg(value_name = "ID", help = format!("{}{}", super::ID, super::LATEST))]
    result: Option<String>,
    /// Run N complete passes [default: as in the study, at least 6]
    #[arg(long, value_name = "N")]
    replicates: Option<u32>,
    /// Choose the workload if workloads disagree
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// Set the seed of order, offsets and data [default: random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Overwrite this device: ID and +NAMEs of its current contents
    #[arg(long, value_name = "ID")]
    destroy: Vec<String>,
    #[command(flatten)]
    permitted: Permitted,
    #[command(flatten)]
    pub(super) how: running::Printing,
}

pub fn run(system: &dyn System, arguments: &ConfirmArguments) -> Outcome<()> {
    let consented = arguments.permitted.consented(&arguments.destroy)?;
    let asked = Confirmation {
        result: arguments.result.as_deref(),
        workload: arguments.workload.as_deref(),
        replicates: arguments.replicates,
        seed: arguments.seed,
    };
    let stop = running::stop_on_signals(&running::RESTORES)?;
    confirm(system, &asked, consented, &stop, arguments.how)
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Confirmation<'a> {
    /// Result to confirm; `None` selects the newest.
    pub result: Option<&'a str>,
    pub workload: Option<&'a str>,
    pub replicates: Option<u32>,
    pub seed: Option<u64>,
}

/// Runs fresh trials of the best setting of a result, or of a race's winner, against the baseline.
pub fn confirm(
    system: &dyn System,
    asked: &Confirmation<'_>,
    consented: Consented,
    stop: &AtomicBool,
    how: running::Printing,
) -> Outcome<()> {
    let Acting { stored, .. } = acting::open(system, asked.result, Purpose::GoOn)?;
    let findings = store::findings_of(&stored);
    let best = match &findings.race {
        Some(race) => winner_of_race(race, &findings)?,
        None => best_of_advice(&findings, asked.workload)?,
    };
    let targets = targets(&stored, &best);
    acting::on_the_same_drives(system, &stored, &targets)?;
    let study = confirming_study(stored, &best, asked);
    let request = Request {
        consented,
        results: running::results_directory(system)?,
        ..Request::bare(study, targets)
    };
    running::conclude(system, running::run_with(system, request, stop, how.quiet)?, how)
}

struct Best {
    baseline: Arm,
    arm: Arm,
    workloads: Vec<String>,
    /// Ratio to the baseline that a race estimated.
    estimated_ratio: Option<f64>,
    /// Whether it won a race, whose replicates do not set the number of fresh ones.
    has_raced: bool,
}

fn winner_of_race(race: &RaceAnswer, findings: &Findings) -> Outcome<Best> {
    let winner = race.winner.clone().filter(|_| race.can_be_confirmed());
    let arm = winner
        .ok_or_else(|| mistake!("nothing to confirm in {}: {}", findings.study.id, race.text))?;
    let (baseline, workloads) = (race.baseline.clone(), vec![race.workload.clone()]);
    Ok(Best { baseline, arm, workloads, estimated_ratio: race.winner_ratio, has_raced: true })
}

/// Returns the best configuration of the advice, with all workloads for which the advice names it.
fn best_of_advice(findings: &Findings, workload: Option<&str>) -> Outcome<Best> {
    let best = best_comparison(findings, workload)?;
    // The study confirms all workloads for which the advice names this configuration.
    let mut workloads = Vec::new();
    for comparison in &findings.comparisons {
        let mut advised = findings.advice.iter().filter(|advice| is_positive(advice));
        if comparison.configuration == best.configuration
            && advised.any(|advice| advice.evidence.contains(&comparison.id))
        {
            workloads.push(comparison.workload.clone());
        }
    }
    let (baseline, arm) = (best.baseline.clone(), best.configuration.clone());
    Ok(Best { baseline, arm, workloads, estimated_ratio: None, has_raced: false })
}

/// Returns the first better comparison that the advice names.
fn best_comparison<'a>(findings: &'a Findings, workload: Option<&str>) -> Outcome<&'a Comparison> {
    let is_wanted = |comparison: &&Comparison| {
        comparison.verdict == Some(Verdict::Better)
            && workload.is_none_or(|name| comparison.workload == name)
    };
    for id in findings.advice.iter().filter(|it| is_positive(it)).flat_map(|it| &it.evidence) {
        let named = findings.comparisons.iter().find(|comparison| comparison.id == *id);
        if let Some(best) = named.filter(is_wanted) {
            return Ok(best);
        }
    }
    let place = workload.map_or_else(String::new, |name| format!(" in {name}"));
    Err(mistake!("nothing to confirm: {} recommends no configuration{place}", findings.study.id))
}

fn is_positive(advice: &Advice) -> bool {
    advice.kind != AdviceKind::Avoid
}

fn targets(stored: &Stored, best: &Best) -> Vec<String> {
    match (best.baseline.get(TARGET), best.arm.get(TARGET)) {
        (Some(base), Some(target)) if base != target => vec![base.clone(), target.clone()],
        (Some(base), _) => vec![base.clone()],
        _ => stored.study.target.iter().map(assay_study::file::Target::word).collect(),
    }
}

/// Returns the study reduced to the two arms and to the workloads in which the arm is recommended.
fn confirming_study(stored: Stored, best: &Best, asked: &Confirmation<'_>) -> Study {
    let compares_targets = best.baseline.get(TARGET) != best.arm.get(TARGET);
    let (mut baseline, mut arm) = (best.baseline.clone(), best.arm.clone());
    if !compares_targets {
        baseline.remove(TARGET);
        arm.remove(TARGET);
    }
    let least = assay_study::file::DEFAULT_REPLICATES;
    let id = stored.id;
    let mut study = stored.study;
    if best.has_raced {
        set_durations(&mut study, &stored.plan);
    }
    let winner = if best.has_raced { "winner" } else { "best setting" };
    study.title = format!("Fresh trials of the {winner} of {id}");
    study.confirms = Some(id);
    study.race_ratio = best.estimated_ratio.map(|ratio| ratio.to_string());
    study.preset = None;
    study.question.clear();
    study.requirements = None;
    study.card = None;
    let usual = if best.has_raced { least } else { study.replicates.max(least) };
    study.replicates = asked.replicates.unwrap_or(usual);
    study.seed = asked.seed;
    study.stop = assay_study::file::Stop::default();
    // The trials compare the winner with the baseline; they test no gate.
    study.gate = None;
    study.aa_control = Some(false);
    study.baseline.clone_from(&baseline);
    study.configurations = vec![baseline, arm];
    // Exclusions do not apply to two settings.
    study.exclude.clear();
    study.workload.retain(|workload| best.workloads.contains(&workload.name));
    if !compares_targets {
        study.factors.remove(TARGET);
    }
    study
}

/// Gives fresh trials the duration of the race's trials if a budget set it.
fn set_durations(study: &mut Study, plan: &Plan) {
    if study.budget.take().is_none() {
        return;
    }
    for workload in &mut study.workload {
        let planned = plan.workloads.iter().find(|planned| planned.name == workload.name);
        if let (Some(planned), None) = (planned, workload.work.time()) {
            workload.work.set_span(Some(Time(planned.time_ns)), Some(Time(planned.ramp_ns)));
        }
    }
}
