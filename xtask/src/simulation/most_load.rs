//! S15: the highest load under a latency limit (R16). The service rate of a queue with one server varies between trials;
//! at the true rate, 1% of the requests of the mean server exceed the limit. Search and analysis are the product's.

use assay_core::quantity::Better;
use assay_study::file::limit::Limit;
use assay_study::file::limit::bracket::RateSample;
use assay_study::file::{LeadIn, Order};
use assay_study::findings::TrialValue;
use assay_study::findings::measurements::{Measurements, Series};
use assay_study::findings::most_load::MostLoad;
use assay_study::plan::most_load::{self, Aim, RATE_METRIC, RateTrial, SearchEnd};
use assay_study::plan::order::Rules;
use assay_study::results::course;
use assay_study::results::design::{Ask, AskKind, Design, Factor};
use assay_study::results::plan::PlannedTrial;
use assay_study::results::record::Status;
use assay_testkit::Done;
use serde_json::json;

use super::chance::Chance;
use super::experiment::{Bound, Conclusions, Count, Experiment, count};
use super::seam;

/// Mean service rate, requests per second.
pub const SERVICE: f64 = 5000.0;
const TRIAL_S: f64 = 4.0;
const REPLICATES: usize = 6;
/// Maximum number of trials without the closed loop and lead-ins.
const MOST_TRIALS: usize = 54;
/// Limits in milliseconds: 54, 77 and 91% of the service rate.
const LIMITS_MS: [u32; 3] = [2, 4, 10];
/// Standard deviations of the service rate between trials, in percent.
const SCATTERS: [u32; 3] = [0, 1, 3];
/// The standard deviation of the tests: without optimization, a study takes a second.
const DAILY: u32 = 1;
const WORKLOAD: &str = "read";

const COUNTS: [Count; 4] = [
    count("the reported passing rate is too high", Bound::at_most(5.0)),
    count("the reported failing rate is too low", Bound::at_most(5.0)),
    count("both rates found", Bound::at_least(95.0)),
    count("more than 54 trials", Bound::at_most(0.0)),
];

pub fn experiments() -> Vec<Experiment> {
    let cases = LIMITS_MS.into_iter().flat_map(|limit| SCATTERS.map(|scatter| (limit, scatter)));
    let experiment = |(limit_ms, scatter): (u32, u32)| Experiment {
        // Each study is some forty queues of some ten thousand requests.
        one_in: 20,
        most: 200,
        daily: scatter == DAILY,
        ..Experiment::new(
            "S15",
            format!("load {limit_ms} ms {scatter} pc"),
            format!("M/M/1, p99 below {limit_ms} ms, sd of the service rate {scatter}%"),
            COUNTS.to_vec(),
            move |chance| study(chance, limit_ms, f64::from(scatter) / 100.0),
        )
    };
    cases.map(experiment).collect()
}

struct SearchTrial {
    replicate: u32,
    order: u32,
    rate: f64,
    status: Status,
    seen: RateSample,
}

fn study(chance: &mut Chance, limit_ms: u32, scatter: f64) -> Done<Conclusions> {
    let limit: Limit = format!("p99 < {limit_ms} ms").parse()?;
    let (trials, searched) = run_course(chance, limit, scatter)?;
    let found = judge(limit, &trials)?;
    let truth = SERVICE - 100.0_f64.ln() / (f64::from(limit_ms) / 1e3);
    let [holds, fails] = [&found.max_passing_rate, &found.min_failing_rate]
        .map(|name| course::per_s(name.as_deref()?));
    let counted = trials.iter().filter(|trial| trial.status == Status::Ok).count();
    Ok(vec![
        holds.is_some_and(|rate| rate > truth),
        fails.is_some_and(|rate| rate < truth),
        holds.is_some() && fails.is_some(),
        counted + searched > MOST_TRIALS,
    ])
}

/// Runs the search: returns the reported trials and the number of search trials.
fn run_course(chance: &mut Chance, limit: Limit, scatter: f64) -> Done<(Vec<SearchTrial>, usize)> {
    let aim = Aim { limit, time_ns: (TRIAL_S * 1e9) as u64, at_random: true };
    let rules = Rules { order: Order::Random, lead_in: LeadIn::Half, compared: true };
    let (mut ran, mut trials): (Vec<RateTrial>, Vec<SearchTrial>) = (Vec::new(), Vec::new());
    let mut searched = 0;
    for planned in most_load::trials(rules, REPLICATES, chance.bits()) {
        let rate = match most_load::rate(&ran, &planned, aim) {
            Ok(rate) => rate,
            Err(SearchEnd::Whole { .. }) => break,
            Err(end) => return Err(end.to_string()),
        };
        let PlannedTrial { order, replicate, workload, lead_in, .. } = planned;
        let service = SERVICE * (scatter * chance.normal()).exp();
        let seen = match rate {
            None => RateSample { percentile_ns: None, done_per_s: Some(service) },
            // There is no carry-over here.
            Some(_) if lead_in => RateSample::default(),
            Some(rate) => queue(chance, rate, service),
        };
        ran.push(RateTrial { order, replicate, workload, counts: !planned.is_lead_in(), seen });
        let status = if lead_in { Status::Warmup } else { Status::Ok };
        match rate {
            Some(rate) if replicate > 0 => {
                trials.push(SearchTrial { replicate, order, rate, status, seen });
            }
            Some(_) => searched += 1,
            None => {}
        }
    }
    Ok((trials, searched))
}

/// Simulates a queue that begins empty (Lindley's recursion): the p99 of the response time of all requests that arrive
/// during the trial, and the completed requests per second.
pub fn queue(chance: &mut Chance, rate: f64, service: f64) -> RateSample {
    let (mut now, mut free) = (0.0_f64, 0.0_f64);
    let (mut responses, mut done) = (Vec::with_capacity((rate * TRIAL_S * 1.1) as usize), 0_u32);
    loop {
        now -= chance.uniform().ln() / rate;
        if now >= TRIAL_S {
            break;
        }
        free = now.max(free) - chance.uniform().ln() / service;
        done += u32::from(free <= TRIAL_S);
        responses.push(free - now);
    }
    responses.sort_by(f64::total_cmp);
    let at = (0.99 * responses.len() as f64).ceil() as usize;
    let percentile = at.checked_sub(1).and_then(|at| responses.get(at));
    RateSample {
        percentile_ns: percentile.map(|seconds| seconds * 1e9),
        done_per_s: Some(f64::from(done) / TRIAL_S),
    }
}

fn judge(limit: Limit, trials: &[SearchTrial]) -> Done<MostLoad> {
    let mut rates: Vec<f64> = Vec::new();
    for trial in trials {
        if !rates.contains(&trial.rate) {
            rates.push(trial.rate);
        }
    }
    rates.sort_by(f64::total_cmp);
    let series_of =
        |rate: f64, metric: &str, better: Better, value: fn(&RateSample) -> Option<f64>| {
            let own = trials.iter().filter(|trial| trial.rate == rate);
            let cell = |own: &SearchTrial| {
                TrialValue::bare(own.replicate, Some(own.order), value(&own.seen), own.status)
            };
            Series {
                primary: metric == limit.metric(),
                trials: own.map(cell).collect(),
                ..Series::bare(WORKLOAD, course::at_rate(rate), metric, better)
            }
        };
    let series = rates.iter().flat_map(|rate| {
        [
            series_of(*rate, limit.metric(), Better::Lower, |seen| seen.percentile_ns),
            series_of(*rate, RATE_METRIC, Better::Higher, |seen| seen.done_per_s),
        ]
    });
    let measured = Measurements {
        series: series.collect(),
        design: design(limit, &rates)?,
        unfinished: false,
        live: Vec::new(),
    };
    let found = seam::judge(measured);
    let answer = found.answers.all.into_iter().next();
    answer.and_then(|answer| answer.max_rate).ok_or_else(|| "the question has no answer".to_owned())
}

fn design(limit: Limit, rates: &[f64]) -> Done<Design> {
    let ask: Ask = serde_json::from_value(json!({
        "kind": AskKind::MaxRate,
        "ask": "How much load can it take?",
        "workloads": [WORKLOAD],
        "slo": limit.to_string(),
    }))
    .map_err(|error| error.to_string())?;
    let levels = rates.iter().map(|rate| course::level(*rate)).collect();
    Ok(Design {
        factors: vec![Factor { name: course::RATE.to_owned(), levels }],
        baseline: rates.first().map(|rate| course::at_rate(*rate)).unwrap_or_default(),
        primary: Some(limit.metric().to_owned()),
        order: Order::Random,
        questions: vec![ask],
        ..Design::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1% waits longer than ln 100 divided by the spare service rate.
    #[test]
    #[ignore = "nightly: 2 s"]
    fn a_long_queue_waits_as_theory_says() {
        let mut chance = Chance::new(1, 0, "queue").unwrap_or_else(|error| panic!("{error}"));
        for rate in [2000.0, 3500.0] {
            let logs = (0..100).filter_map(|_| queue(&mut chance, rate, SERVICE).percentile_ns);
            let logs: Vec<f64> = logs.map(f64::ln).collect();
            let middle = (logs.iter().sum::<f64>() / logs.len() as f64).exp() / 1e9;
            let theory = 100.0_f64.ln() / (SERVICE - rate);
            assert!((middle / theory - 1.0).abs() < 0.05, "{rate}: {middle} {theory}");
        }
        let over = queue(&mut chance, 2.0 * SERVICE, SERVICE);
        assert!(over.is_late(2.0 * SERVICE) && !over.is_late(SERVICE));
    }
}
