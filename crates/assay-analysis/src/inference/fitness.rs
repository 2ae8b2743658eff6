//! Whether a target meets the requirements of a study. The CI decides each bound; doubtful numbers leave it open.

use std::collections::BTreeSet;

use assay_core::stats::FEWEST_FOR_INTERVAL;
use assay_study::file::presets;
use assay_study::findings::answers::{Answer, Claim};
use assay_study::findings::fitness::{Fit, FitBound, Fitness};
use assay_study::findings::{
    AbsentCell, Findings, Measurement, MetricRef, Sentence, SentenceRole, TrialValue, Trust,
    as_sentence,
};
use assay_study::plan::arms::matches;
use assay_study::results::design::{Ask, Design};
use assay_study::results::record::Status;

use super::acknowledged::sync_reason;
use crate::inference::{distinct, primary_metric};

/// Puts the outcome before all other findings. The answers are in the order of the design's questions.
pub(super) fn add_fitness(found: &mut Findings, design: &Design) {
    let Some(purpose) = &design.fit else { return };
    let mut bounds = Vec::new();
    for (index, ask) in design.questions.iter().enumerate() {
        bounds.push(judge_bound(found, ask, purpose, found.answers.all.get(index)));
    }
    let fitness = Fitness::new(purpose.clone(), bounds);
    let about = fitness.bounds.iter().flat_map(|bound| bound_metrics(found, bound)).collect();
    let answer = Sentence::new(SentenceRole::Answer, "fitness", as_sentence(&fitness.text));
    found.summary.insert(0, Sentence { about, ..answer });
    found.answers.requirements = Some(fitness);
}

/// The metric of a requirement in each of its workloads, by default the primary one.
fn bound_metrics(found: &Findings, bound: &FitBound) -> Vec<MetricRef> {
    let mut all = Vec::new();
    for workload in &bound.workloads {
        let metric = bound.metric.as_ref().or_else(|| primary_metric(found, workload));
        all.extend(metric.map(|metric| MetricRef::new(workload, metric)));
    }
    all
}

/// Whether a requirement is met, with the reasons; a doubt about its numbers makes any outcome inconclusive.
fn judge_bound(found: &Findings, ask: &Ask, purpose: &str, answer: Option<&Answer>) -> FitBound {
    let by_numbers = match answer.map(|answer| answer.verdict) {
        Some(Claim::Supported) => Fit::Pass,
        Some(Claim::Contradicted) => Fit::Fail,
        Some(Claim::NotShown | Claim::NoData) | None => Fit::Inconclusive,
    };
    let mut reasons = match answer {
        Some(answer) => answer.reasons.clone(),
        None => vec!["Trials are pending.".to_owned()],
    };
    if let Some(first) = reasons.first_mut() {
        let limit = match limits_text(ask) {
            Some(limits) => format!("the limit is {limits}"),
            None => "no limit is published".to_owned(),
        };
        *first = format!("{}; {limit}.", first.trim_end_matches('.'));
    }
    if by_numbers == Fit::Inconclusive {
        reasons.extend(missing_numbers(found, ask, purpose));
    }
    reasons.extend(sync_remarks(found, ask));
    let mut outcome = by_numbers;
    if let Some(why) = why_doubtful(found, ask, by_numbers) {
        outcome = Fit::Inconclusive;
        // The first reason of suspect numbers says so: the doubt follows it.
        let mut cells = found.measurements.iter();
        let is_suspect = cells.any(|cell| {
            let is_asked = cell.primary && ask.workloads.contains(&cell.workload);
            is_asked && cell.trust == Some(Trust::Suspect)
        });
        reasons.insert(usize::from(is_suspect).min(reasons.len()), format!("{why}."));
    }
    FitBound {
        ask: ask.ask.clone(),
        outcome,
        reasons,
        published: ask.published.clone(),
        workloads: ask.workloads.clone(),
        metric: ask.metric.clone(),
    }
}

/// Why rows lack the requested number, and the next step: a slow drive does too few operations for a percentile.
fn missing_numbers(found: &Findings, ask: &Ask, purpose: &str) -> Vec<String> {
    let is_asked = |cell: &&AbsentCell| {
        let has_metric = cell.metric.is_some() && cell.metric == ask.metric;
        has_metric
            && ask.workloads.contains(&cell.workload)
            && matches(&cell.configuration, &ask.at)
    };
    let absent = found.absent.iter().filter(is_asked);
    let study = presets::find(purpose).map_or("FILE", |_| purpose);
    let next = format!("repeat without --quick, or `assay run {study} --set runtime=60s`");
    distinct(absent.map(|cell| format!("{}: {}; next: {next}.", cell.workload, cell.reason)))
}

fn limits_text(ask: &Ask) -> Option<String> {
    let least = ask.min.iter().map(|limit| format!("at least {}", limit.text));
    let most = ask.max.iter().map(|limit| format!("at most {}", limit.text));
    least.chain(most).reduce(|one, other| format!("{one} and {other}"))
}

/// Why the numbers are doubtful, even with a narrow interval.
fn why_doubtful(found: &Findings, ask: &Ask, by_numbers: Fit) -> Option<String> {
    let failing = found.environment.activity.drives.iter().find(|drive| !drive.grown.is_empty());
    if let Some(drive) = failing {
        return Some(format!("{} reported new internal errors during the study", drive.drive));
    }
    asked_cells(found, ask).find_map(|cell| cell_doubt(cell, by_numbers == Fit::Pass))
}

/// The cells of a requirement: its metric, workloads and levels.
fn asked_cells<'f>(found: &'f Findings, ask: &'f Ask) -> impl Iterator<Item = &'f Measurement> {
    let has_metric = |cell: &&Measurement| match &ask.metric {
        Some(metric) => cell.metric == *metric,
        None => cell.primary,
    };
    let cells = found.measurements.iter().filter(has_metric);
    cells.filter(|cell| {
        ask.workloads.contains(&cell.workload) && matches(&cell.configuration, &ask.at)
    })
}

/// The remark on the syncs behind the requested numbers: printed with the answer, without effect on it.
fn sync_remarks(found: &Findings, ask: &Ask) -> Vec<String> {
    distinct(asked_cells(found, ask).filter_map(|cell| sync_reason(&cell.reasons)).map(as_sentence))
}

/// Why a number cannot decide a bound. If suspect numbers pass (`passes`), they were only slowed, and still decide.
fn cell_doubt(cell: &Measurement, passes: bool) -> Option<String> {
    let name = &cell.workload;
    let is_slowed = passes && cell.trust == Some(Trust::Suspect);
    if let Some(trust @ (Trust::Suspect | Trust::Invalid)) = cell.trust.filter(|_| !is_slowed) {
        let why = cell.reasons.iter().find(|because| because.trust == trust);
        let why = why.map(|because| format!(": {}", because.text)).unwrap_or_default();
        let word = if trust == Trust::Suspect { "suspect" } else { "invalid" };
        return Some(format!("The numbers of {name} are {word}{why}"));
    }
    let trials = || cell.trials.iter().filter(|trial| trial.status != Status::Warmup);
    let failed = trials().filter(|trial| trial.status == Status::Failed).count();
    if failed > 0 {
        return Some(format!("{failed} of {} trials of {name} failed", trials().count()));
    }
    let replicate = |trial: &TrialValue| trial.repeats.map_or(trial.replicate, |of| of.replicate);
    let undisturbed = trials().filter(|trial| trial.status == Status::Ok);
    let undisturbed: BTreeSet<u32> = undisturbed.map(replicate).collect();
    let is_disturbed = trials().any(|trial| trial.status == Status::Disturbed);
    (is_disturbed && !is_slowed && undisturbed.len() < FEWEST_FOR_INTERVAL)
        .then(|| format!("{name} has too few undisturbed trials"))
}

#[cfg(test)]
mod tests;
