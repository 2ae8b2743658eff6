//! Judges rounds: the steady measurement window, the numbers of each cell in it, and deviations from the specification.

use assay_core::quantity::Bytes;
use assay_core::quantity::units::show;
use assay_core::stats::{SNIA_ROUNDS, SniaWindow};
use serde::{Deserialize, Serialize};

use super::{SteadyStateDetail, SteadyStatePlan};
use assay_core::calc::pts::{Measure, PtsPoint};

/// Duration of a cell in the specification.
pub(super) const MINUTE_NS: u64 = 60_000_000_000;
pub(super) const FILLS: u64 = 2;

/// The five counted rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SteadyWindow {
    /// The first of them, from 1.
    pub first: usize,
    pub last: usize,
    /// Mean of the tracking cell.
    pub mean: f64,
    /// Its range (maximum minus minimum) as a share of the mean: at most 20% in steady state.
    pub range_share: f64,
    /// Rise of the regression line over the window as a share of the mean: at most 10% in steady state.
    pub slope_share: f64,
    /// Whether both hold.
    pub steady: bool,
}

/// The first steady window, else the last one; `None` with fewer than five rounds.
pub fn window(tracked: &[f64]) -> Option<SteadyWindow> {
    let window_from = |first: usize| {
        let found = SniaWindow::from_rounds(tracked.get(first..first + SNIA_ROUNDS)?)?;
        (found.mean > 0.0).then(|| SteadyWindow {
            first: first + 1,
            last: first + SNIA_ROUNDS,
            mean: found.mean,
            range_share: found.range / found.mean,
            slope_share: found.rise / found.mean,
            steady: found.is_steady(),
        })
    };
    let last = tracked.len().checked_sub(SNIA_ROUNDS)?;
    let steady = (0..=last).filter_map(window_from).find(|window| window.steady);
    steady.or_else(|| window_from(last))
}

/// The measurement window. A fresh drive looks steady while it has blocks that were never written: a test without a
/// fill uses the last five rounds, and continues until every block was written once.
pub(super) fn measurement_window(
    planned: &SteadyStatePlan,
    tracked: &[f64],
) -> Option<SteadyWindow> {
    if planned.fill_bytes.is_some() {
        return window(tracked);
    }
    let skipped = tracked.len().checked_sub(SNIA_ROUNDS)?;
    let last = window(&tracked[skipped..])?;
    Some(SteadyWindow { first: last.first + skipped, last: last.last + skipped, ..last })
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InWindow {
    /// Which.
    pub cell: PtsPoint,
    /// The mean of its measure over the rounds of the window, or over all rounds without one.
    pub mean: f64,
    /// The slowest of its operations in them, nanoseconds.
    pub slowest_ns: u64,
}

/// Means of each cell over the rounds of the window, or over all rounds without one; leaves cells without numbers out.
pub fn cell_means(
    detail: &SteadyStateDetail,
    measure: Measure,
    window: Option<&SteadyWindow>,
) -> Vec<InWindow> {
    let rounds = match window {
        Some(window) => detail.rounds.get(window.first - 1..window.last).unwrap_or_default(),
        None => detail.rounds.as_slice(),
    };
    let mut means = Vec::new();
    for (index, cell) in detail.cells.iter().enumerate() {
        let results = || rounds.iter().filter_map(|round| round.cells.get(index));
        let Some(slowest_ns) = results().map(|result| result.most_ns).max() else { continue };
        let values: Vec<f64> = results().filter_map(|result| result.value(measure)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        if mean.is_finite() {
            means.push(InWindow { cell: *cell, mean, slowest_ns });
        }
    }
    means
}

#[derive(Clone, Debug, PartialEq)]
pub struct SteadyJudgement {
    pub tracked: Vec<f64>,
    pub window: Option<SteadyWindow>,
    /// Deviations from the specification, one phrase each.
    pub departures: Vec<String>,
}

/// Judges a trial; `None` if the tracking cell has no numbers.
pub fn judge_trial(
    planned: &SteadyStatePlan,
    detail: &SteadyStateDetail,
) -> Option<SteadyJudgement> {
    let tracked = detail.course(planned.tracked(), planned.test.measure())?;
    let window = measurement_window(planned, &tracked);
    // As far as the text of the specification was available.
    let mut departures = target_departures(planned, detail);
    departures.extend(fill_departure(planned, detail));
    departures.extend(cell_departures(planned, detail));
    departures.extend(round_departures(planned, detail, window.as_ref()));
    Some(SteadyJudgement { tracked, window, departures })
}

/// How the target and its preparation deviate from the specification.
fn target_departures(planned: &SteadyStatePlan, detail: &SteadyStateDetail) -> Vec<String> {
    let prepared = &detail.prepared;
    let mut found = Vec::new();
    if planned.is_simulated() {
        found.push("the drive is simulated".to_owned());
    } else if !prepared.is_device {
        let range = Bytes(prepared.range_bytes);
        found.push(format!("the test used a file of {range} instead of a whole device"));
    } else if let Some(whole) = prepared.device_bytes {
        let wanted = whole / 100 * planned.class.range_percent();
        // Whole operations of the largest size may leave a small rest.
        if prepared.range_bytes + whole / 1000 < wanted {
            let (range, whole) = (Bytes(prepared.range_bytes), Bytes(whole));
            found.push(format!("the test used only {range} of a device of {whole}"));
        }
    } else {
        found.push("the size of the device is unknown".to_owned());
    }
    if let Some(why) = &prepared.not_purged {
        found.push(format!("the target was not purged ({why})"));
    }
    if prepared.is_device {
        found.extend(cache_departure(planned, prepared.write_cache.as_deref()));
    }
    if !planned.direct {
        found.push("I/O used the page cache".to_owned());
    }
    found
}

/// A deviation if the write cache is not on or off as the class of test requires.
fn cache_departure(planned: &SteadyStatePlan, answer: Option<&str>) -> Option<String> {
    let wanted = planned.class.has_write_cache();
    let (class, on) = (planned.class.name(), if wanted { "on" } else { "off" });
    match answer {
        Some("write back") if wanted => None,
        Some("write through") if !wanted => None,
        Some(answer) => Some(format!(
            "the kernel reports the write cache as `{answer}`, but class {class} requires the cache to be {on}"
        )),
        None => Some(format!("Assay cannot determine whether the write cache is {on}")),
    }
}

/// A deviation if less than the required bytes were written before the first round.
fn fill_departure(planned: &SteadyStatePlan, detail: &SteadyStateDetail) -> Option<String> {
    planned.fill_bytes?;
    let filled_bytes = detail.prepared.filled_bytes;
    let wanted_bytes = FILLS * detail.prepared.wanted_bytes;
    // At the end of each fill, less than one operation of at most 1 MiB may be missing.
    if filled_bytes + (1 << 20) * FILLS >= wanted_bytes {
        return None;
    }
    let (filled, wanted) = (Bytes(filled_bytes), Bytes(wanted_bytes));
    Some(format!("only {filled} of the required {wanted} were written before the first round"))
}

/// Deviations of the cells: some were left out or cut short.
fn cell_departures(planned: &SteadyStatePlan, detail: &SteadyStateDetail) -> Vec<String> {
    let mut found = planned.left_out.clone();
    let (run, planned_cells) = (detail.cells.len(), planned.cells.len());
    if run < planned_cells {
        found.push(format!("only {run} of {planned_cells} cells ran, because the trial ended"));
    }
    if detail.cell_ns < MINUTE_NS {
        let time = show::duration(detail.cell_ns as f64);
        found.push(format!("cells ran for {time} instead of one minute"));
    }
    found
}

/// Deviations of the rounds: too few ran, or none became steady.
fn round_departures(
    planned: &SteadyStatePlan,
    detail: &SteadyStateDetail,
    window: Option<&SteadyWindow>,
) -> Vec<String> {
    let rounds = detail.rounds.len();
    let mut found = Vec::new();
    if rounds < SNIA_ROUNDS {
        let times = if rounds == 1 { "round" } else { "rounds" };
        found.push(format!("only {rounds} {times} ran, but the test requires five rounds"));
    } else if !window.is_some_and(|window| window.steady) {
        let most = if rounds >= planned.most_rounds as usize { ", the maximum" } else { "" };
        found.push(format!("no steady state within {rounds} rounds{most}"));
    }
    found.extend(detail.ended.iter().cloned());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_steady_window_counts_and_else_the_last() {
        let found = window(&[200.0, 150.0, 110.0, 104.0, 102.0, 101.0, 100.0, 100.0]).unwrap();
        assert_eq!((found.first, found.last, found.steady), (3, 7, true));
        assert!((found.mean - 103.4).abs() < 1e-9, "{found:?}");
        assert!((found.range_share - 10.0 / 103.4).abs() < 1e-9);
        // Slope -2.3 per round.
        assert!((found.slope_share - 9.2 / 103.4).abs() < 1e-9, "{found:?}");
        let never = window(&[200.0, 170.0, 140.0, 110.0, 80.0, 50.0]).unwrap();
        assert_eq!((never.first, never.last, never.steady), (2, 6, false));
        assert_eq!(window(&[100.0; 4]), None);
        assert_eq!(window(&[0.0; 6]), None, "nothing was done");
    }

    #[test]
    fn what_is_written_from_fresh_on_is_judged_by_its_last_rounds() {
        use super::super::Test;
        use super::super::tests::planned;
        let rounds = [900.0, 900.0, 900.0, 900.0, 900.0, 500.0, 100.0, 100.0, 101.0, 100.0, 99.0];
        let of = |test: Test, count: usize| {
            let own = measurement_window(&planned(test), &rounds[..count]).unwrap();
            (own.first, own.last, own.steady)
        };
        assert_eq!(of(Test::Iops, rounds.len()), (1, 5, true));
        assert_eq!(of(Test::WriteSaturation, 5), (1, 5, true));
        assert_eq!(of(Test::WriteSaturation, 9), (5, 9, false));
        assert_eq!(of(Test::WriteSaturation, rounds.len()), (7, 11, true));
        assert_eq!(measurement_window(&planned(Test::WriteSaturation), &rounds[..4]), None);
    }

    /// The test vectors of the protocol (R9 b), round by round.
    #[test]
    fn the_vectors_of_the_specification_end_at_their_rounds() {
        let ends = |course: &dyn Fn(i32) -> f64| {
            let rounds: Vec<f64> = (0..25).map(course).collect();
            (5..=25).find(|count| window(&rounds[..*count]).is_some_and(|own| own.steady))
        };
        assert_eq!(ends(&|_| 100.0), Some(5));
        assert_eq!(ends(&|at| 100.0 + 100.0 * (-f64::from(at) / 5.0).exp()), Some(13));
        assert_eq!(ends(&|at| 100.0 * 0.98_f64.powi(at)), Some(5));
        assert_eq!(ends(&|at| 100.0 * 0.97_f64.powi(at)), None);
        // Alternately 9% above and below: no slope, and a range of 18%.
        assert_eq!(ends(&|at| if at % 2 == 0 { 109.0 } else { 91.0 }), Some(5));
        assert_eq!(ends(&|at| if at % 2 == 0 { 111.0 } else { 89.0 }), None);
    }
}
