//! What is measured of a trial.

use assay_core::quantity::Metric;

use crate::durability::trial::DurabilityDetail;
use crate::metrics::{higher, lower};

pub const ROUNDS: Metric = higher(
    "durability_rounds_per_s",
    "rounds per second",
    "rounds of the write pattern per second; each round ends with an acknowledgment if the writer syncs",
);

pub const LOST: Metric = lower(
    "durability_failures",
    "crash points with a lost write",
    "crash points after which an acknowledged write was missing",
)
.amount()
.may_be_zero();

pub const CUTS: Metric =
    higher("durability_crash_points", "cuts", "evaluated crash points").amount();

pub const METRICS: &[Metric] = &[ROUNDS, LOST, CUTS];

pub fn values(detail: &DurabilityDetail) -> [(String, f64); 3] {
    let all = [
        (ROUNDS, detail.rounds as f64 / (detail.window_ns.max(1) as f64 / 1e9)),
        (LOST, detail.tally.lost as f64),
        (CUTS, detail.tally.crash_points as f64),
    ];
    all.map(|(metric, value)| (metric.name.to_owned(), value))
}
