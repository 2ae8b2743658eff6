//! The maximum load within a limit (R16), from the trials of each rate, regardless of how the rates were chosen.

use assay_study::file::limit::Limit;
use assay_study::file::limit::bracket::{self, Bracket, RateSample, Standing};
use assay_study::findings::answers::{Answer, Claim};
use assay_study::findings::most_load::{MostLoad, Rate};
use assay_study::findings::{TrialValue, Trust, measurements::Series};
use assay_study::plan::most_load::RATE_METRIC;
use assay_study::results::course::{self, RATE};
use assay_study::results::{design::Ask, plan::Arm, record::Status};

use super::words::{SUSPECT, most_load as words};
use crate::inference::distinct;

/// The rule on operations that were issued later than scheduled.
const LATE_RULE: &str = "late-submission";

/// Answers from the trials of all rates; `stopped_by` says why the study ended, for an answer without any rate.
pub(super) fn max_rate_answer(
    ask: &Ask,
    limit: Limit,
    series: &[Series],
    emulated: bool,
    stopped_by: Option<&str>,
) -> Answer {
    let workload = ask.workloads.first().map_or("", String::as_str);
    let rates = judge_rates(workload, limit, series);
    let standings: Vec<Standing> = rates.iter().map(|rate| rate.outcome).collect();
    let Bracket { holds, fails } = Bracket::from_outcomes(&standings);
    let rate_at = |index: Option<usize>| index.map(|index| rates[index].rate.clone());
    let found = MostLoad {
        workload: workload.to_owned(),
        metric: limit.metric().to_owned(),
        slo: limit.to_string(),
        slo_ns: limit.below_ns(),
        max_passing_rate: rate_at(holds),
        min_failing_rate: rate_at(fails),
        rates,
    };
    let is_suspect = [&found.max_passing_rate, &found.min_failing_rate]
        .into_iter()
        .flatten()
        .filter_map(|name| found.rate(name))
        .any(|rate| rate.trust == Some(Trust::Suspect));
    let (verdict, answer) = if found.rates.is_empty() {
        (Claim::NoData, words::nothing(stopped_by))
    } else if emulated {
        (Claim::NotShown, words::EMULATED.to_owned())
    } else if is_suspect {
        (Claim::NotShown, format!("{}, {SUSPECT}.", words::outcome(&found, limit)))
    } else {
        (max_rate_claim(&found), format!("{}.", words::outcome(&found, limit)))
    };
    Answer {
        ask: ask.ask.clone(),
        published: ask.published.clone(),
        answer,
        verdict,
        reasons: found.rates.iter().map(|rate| words::rate_words(rate, limit)).collect(),
        evidence: Vec::new(),
        max_rate: Some(found),
    }
}

/// A passing load supports the claim; a failure at the lowest load contradicts it.
fn max_rate_claim(found: &MostLoad) -> Claim {
    match (&found.max_passing_rate, &found.min_failing_rate) {
        (Some(_), _) => Claim::Supported,
        (None, Some(fails)) if found.rates.first().is_some_and(|rate| rate.rate == *fails) => {
            Claim::Contradicted
        }
        _ => Claim::NotShown,
    }
}

/// Judges each offered rate of a workload by its trials; the rates are in ascending order.
fn judge_rates(workload: &str, limit: Limit, series: &[Series]) -> Vec<Rate> {
    let of_workload = || series.iter().filter(move |one| one.workload == workload && !one.control);
    let mut arms: Vec<(f64, &Arm)> = Vec::new();
    for series in of_workload() {
        let Some(per_s) = course::rate(&series.arm) else { continue };
        if arms.iter().all(|(_, arm)| **arm != series.arm) {
            arms.push((per_s, &series.arm));
        }
    }
    arms.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let rate = |(per_s, arm): (f64, &Arm)| {
        let find = |metric: &str| of_workload().find(|one| one.metric == metric && one.arm == *arm);
        judge_rate(arm, per_s, limit, find(limit.metric()), find(RATE_METRIC))
    };
    arms.into_iter().map(rate).collect()
}

/// Judges one offered rate: by the latency percentile and the rate of completed operations of each replicate.
fn judge_rate(
    arm: &Arm,
    per_s: f64,
    limit: Limit,
    percentiles: Option<&Series>,
    completed: Option<&Series>,
) -> Rate {
    let series = [percentiles, completed].into_iter().flatten();
    let trials = series.clone().flat_map(undisturbed);
    let value_in = |series: Option<&Series>, replicate: u32| {
        undisturbed(series?).find(|trial| trial.replicate == replicate)?.value
    };
    let mut samples: Vec<RateSample> = Vec::new();
    for replicate in distinct(trials.map(|trial| trial.replicate)) {
        samples.push(RateSample {
            percentile_ns: value_in(percentiles, replicate),
            done_per_s: value_in(completed, replicate),
        });
    }
    let judged = bracket::judge(&samples, per_s, limit.below_ns() as f64);
    let fails = judged.standing == Standing::Exceeds;
    let worst_trust = series.filter_map(|one| rate_trust(one, fails)).max();
    // Invalid numbers neither pass nor fail.
    let is_valid = worst_trust != Some(Trust::Invalid);
    let round_ns = |ns: f64| ns.round() as u64;
    Rate {
        rate: arm.get(RATE).cloned().unwrap_or_default(),
        outcome: if is_valid { judged.standing } else { Standing::Inconclusive },
        trials: samples.len(),
        late: samples.iter().filter(|sample| sample.is_late(per_s)).count(),
        mean_ns: judged.middle_ns.map(round_ns),
        bounds_ns: judged.ends_ns.map(|ends| ends.map(round_ns)),
        trust: worst_trust,
    }
}

/// The trust in the numbers of a rate. Late operations do not make a failing rate doubtful: they are its cause.
fn rate_trust(series: &Series, fails: bool) -> Option<Trust> {
    let is_late = series.because.iter().any(|because| because.rule == LATE_RULE);
    if !fails || !is_late {
        return series.trust;
    }
    let others = series.because.iter().filter(|because| because.rule != LATE_RULE);
    let doubt = others.map(|because| because.trust).max().unwrap_or(Trust::Trusted);
    series.trust.map(|_| doubt)
}

fn undisturbed(series: &Series) -> impl Iterator<Item = &TrialValue> {
    series.trials.iter().filter(|trial| trial.status == Status::Ok && trial.value.is_some())
}
