//! Whether a target meets the requirements of a study. The CI decides each bound; doubt about the numbers leaves it
//! open.

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

use super::acknowledged::of_because;
use crate::inference::distinct;

/// Puts the outcome before all other findings. The answers have the order of the design's questions.
pub(super) fn tell(found: &mut Findings, design: &Design) {
    let Some(purpose) = &design.fit else { return };
    let seen: &Findings = found;
    let asked = design.questions.iter().enumerate();
    let bounds =
        asked.map(|(at, ask)| bound(seen, ask, purpose, seen.answers.all.get(at))).collect();
    let told = Fitness::new(purpose.clone(), bounds);
    let about = told.bounds.iter().flat_map(|bound| metrics(found, bound)).collect();
    let answer = Sentence::new(SentenceRole::Answer, "fitness", as_sentence(&told.text));
    found.summary.insert(0, Sentence { about, ..answer });
    found.answers.requirements = Some(told);
}

fn metrics(found: &Findings, bound: &FitBound) -> Vec<MetricRef> {
    let mut all = Vec::new();
    for workload in &bound.workloads {
        let primary = || {
            let mut cells = found.measurements.iter();
            cells.find(|cell| cell.primary && cell.workload == *workload).map(|cell| &cell.metric)
        };
        let metric = bound.metric.as_ref().or_else(primary);
        all.extend(metric.map(|metric| MetricRef::new(workload, metric)));
    }
    all
}

fn bound(found: &Findings, ask: &Ask, purpose: &str, answer: Option<&Answer>) -> FitBound {
    let shown = match answer.map(|own| own.verdict) {
        Some(Claim::Supported) => Fit::Pass,
        Some(Claim::Contradicted) => Fit::Fail,
        Some(Claim::NotShown | Claim::NoData) | None => Fit::Inconclusive,
    };
    let mut because = match answer {
        Some(own) => own.reasons.clone(),
        None => vec!["Trials are pending.".to_owned()],
    };
    if let Some(first) = because.first_mut() {
        let limit = asked_for(ask)
            .map_or("no limit is published".to_owned(), |asked| format!("the limit is {asked}"));
        *first = format!("{}; {limit}.", first.trim_end_matches('.'));
    }
    if shown == Fit::Inconclusive {
        because.extend(untold(found, ask, purpose));
    }
    because.extend(acknowledged(found, ask));
    let doubt = doubt(found, ask, shown);
    let ended = if doubt.is_some() { Fit::Inconclusive } else { shown };
    if let Some(why) = doubt {
        // Suspect numbers have a separate message.
        let of_ask = |cell: &&Measurement| ask.workloads.contains(&cell.workload);
        let mut cells = found.measurements.iter().filter(of_ask);
        let is_suspect = cells.any(|cell| cell.primary && cell.trust == Some(Trust::Suspect));
        let at = usize::from(is_suspect).min(because.len());
        because.insert(at, format!("{why}."));
    }
    FitBound {
        ask: ask.ask.clone(),
        outcome: ended,
        reasons: because,
        published: ask.published.clone(),
        workloads: ask.workloads.clone(),
        metric: ask.metric.clone(),
    }
}

/// Why rows lack the requested number, and the next step: a slow drive does too few operations for a percentile.
fn untold(found: &Findings, ask: &Ask, purpose: &str) -> Vec<String> {
    let is_asked = |cell: &&AbsentCell| {
        let is_own = cell.metric.is_some() && cell.metric == ask.metric;
        is_own && ask.workloads.contains(&cell.workload) && matches(&cell.configuration, &ask.at)
    };
    let absent = found.absent.iter().filter(is_asked);
    let study = presets::find(purpose).map_or("FILE", |_| purpose);
    let next = format!("repeat without --quick, or `assay run {study} --set runtime=60s`");
    distinct(absent.map(|cell| format!("{}: {}; next: {next}.", cell.workload, cell.reason)))
}

fn asked_for(ask: &Ask) -> Option<String> {
    let least = ask.min.iter().map(|own| format!("at least {}", own.text));
    let most = ask.max.iter().map(|own| format!("at most {}", own.text));
    least.chain(most).reduce(|one, other| format!("{one} and {other}"))
}

/// Why the numbers are doubtful, even with a narrow interval.
fn doubt(found: &Findings, ask: &Ask, shown: Fit) -> Option<String> {
    let dying = found.environment.activity.drives.iter().find(|drive| !drive.grown.is_empty());
    if let Some(drive) = dying {
        return Some(format!("{} reported new internal errors during the study", drive.drive));
    }
    asked(found, ask).find_map(|cell| doubted(cell, shown == Fit::Pass))
}

fn asked<'f>(found: &'f Findings, ask: &'f Ask) -> impl Iterator<Item = &'f Measurement> {
    found.measurements.iter().filter(move |cell| {
        let is_own = match &ask.metric {
            Some(metric) => cell.metric == *metric,
            None => cell.primary,
        };
        is_own && ask.workloads.contains(&cell.workload) && matches(&cell.configuration, &ask.at)
    })
}

/// The remark on the syncs behind the requested numbers: printed with the answer, without effect on it.
fn acknowledged(found: &Findings, ask: &Ask) -> Vec<String> {
    distinct(asked(found, ask).filter_map(|cell| of_because(&cell.reasons)).map(as_sentence))
}

/// Suspect numbers may pass only if they were slowed; the same holds for disturbed trials.
fn doubted(cell: &Measurement, passes: bool) -> Option<String> {
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
    let quiet = trials().filter(|trial| trial.status == Status::Ok).map(replicate);
    let quiet: BTreeSet<u32> = quiet.collect();
    let is_disturbed = trials().any(|trial| trial.status == Status::Disturbed);
    (is_disturbed && !is_slowed && quiet.len() < FEWEST_FOR_INTERVAL)
        .then(|| format!("{name} has too few undisturbed trials"))
}

#[cfg(test)]
mod tests;
