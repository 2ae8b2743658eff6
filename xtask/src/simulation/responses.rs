//! S18: response times of an open loop. A queue with one server at three rates (M/M/1) has a known p99; counts confidence
//! intervals of six trials that contain it.

use assay_core::quantity::Better;
use assay_study::file::Order;
use assay_study::findings::TrialValue;
use assay_study::findings::measurements::{Measurements, Series};
use assay_study::results::course;
use assay_study::results::design::{Design, Factor};
use assay_study::results::record::Status;
use assay_testkit::Done;

use super::chance::Chance;
use super::experiment::{Bound, Conclusions, Count, Experiment, count};
use super::most_load::{SERVICE, queue};
use super::seam;

/// 20, 50 and 70% of the service rate.
const RATES: [f64; 3] = [1000.0, 2500.0, 3500.0];
const REPLICATES: u32 = 6;
const WORKLOAD: &str = "read";
const METRIC: &str = "response_p99_ns";

const COUNTS: [Count; 4] = [
    count("CI contains the true value at 1000/s", Bound::at_least(93.0)),
    count("CI contains the true value at 2500/s", Bound::at_least(93.0)),
    count("CI contains the true value at 3500/s", Bound::at_least(93.0)),
    count("any CI contains the service time alone", Bound::at_most(1.0)),
];

pub fn experiment() -> Experiment {
    Experiment {
        // Each study is eighteen queues of up to some ten thousand requests.
        one_in: 4,
        most: 1000,
        // With fewer, chance alone would break the bounds.
        daily: false,
        ..Experiment::new(
            "S18",
            "S18-responses",
            format!("M/M/1, {REPLICATES} trials, p99 of the response"),
            COUNTS.to_vec(),
            study,
        )
    }
}

/// Returns the theoretical p99 of the response time in nanoseconds.
fn truth_ns(rate: f64) -> f64 {
    100.0_f64.ln() / (SERVICE - rate) * 1e9
}

fn study(chance: &mut Chance) -> Done<Conclusions> {
    let arms = RATES.len() as u32;
    let mut series: Vec<Series> = Vec::new();
    for (arm, rate) in (0..arms).zip(RATES) {
        let mut trial = |replicate: u32| {
            let order = replicate * arms + (arm + replicate) % arms;
            let value = queue(chance, rate, SERVICE).percentile_ns;
            TrialValue::bare(replicate + 1, Some(order), value, Status::Ok)
        };
        series.push(Series {
            primary: true,
            trials: (0..REPLICATES).map(&mut trial).collect(),
            ..Series::bare(WORKLOAD, course::at_rate(rate), METRIC, Better::Lower)
        });
    }
    let levels = RATES.map(course::level).to_vec();
    let design = Design {
        factors: vec![Factor { name: course::RATE.to_owned(), levels }],
        baseline: course::at_rate(RATES[0]),
        primary: Some(METRIC.to_owned()),
        order: Order::Random,
        ..Design::default()
    };
    let measured = Measurements { series, design, unfinished: false, live: Vec::new() };
    let found = seam::judge(measured);
    let interval = |rate: f64| -> Done<[f64; 2]> {
        let arm = course::at_rate(rate);
        let cell = found
            .measurements
            .iter()
            .find(|cell| cell.metric == METRIC && cell.configuration == arm);
        cell.and_then(|cell| cell.ci95).ok_or_else(|| format!("no CI at {rate}/s"))
    };
    let intervals = RATES.into_iter().map(interval).collect::<Done<Vec<[f64; 2]>>>()?;
    let holds = |[low, high]: &[f64; 2], value: f64| (*low..=*high).contains(&value);
    let mut said: Conclusions =
        intervals.iter().zip(RATES).map(|(own, rate)| holds(own, truth_ns(rate))).collect();
    said.push(intervals.iter().any(|own| holds(own, truth_ns(0.0))));
    Ok(said)
}
