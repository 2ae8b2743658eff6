//! Targets against the first one: ratios, no verdicts.

use std::collections::BTreeMap;

use assay_stats::paired_ratio;

use super::metrics;
use super::rows::Row;
use crate::quantity::metric;
use crate::results::findings::{Comparison, Kind, Trust};
use crate::results::plan::Plan;

/// From this operation size on, bandwidth is the primary metric (amendment to R5).
const LARGE_BYTES: u32 = 64 << 10;

/// The metric by which a row is compared.
pub(super) fn primary(row: &Row<'_>) -> &'static str {
    if row.workload.size_bytes >= LARGE_BYTES { "bandwidth_bytes_per_s" } else { "iops" }
}

/// Every later target against the first one, workload by workload.
pub(super) fn comparisons(plan: &Plan, rows: &[Row<'_>]) -> Vec<Comparison> {
    if plan.surveys.len() < 2 {
        return Vec::new();
    }
    let (first, later): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.workload.target == 0);
    let mut found = Vec::new();
    for baseline in first {
        let others = later.iter().filter(|row| row.workload.name == baseline.workload.name);
        found.extend(others.filter_map(|row| comparison(baseline, row)));
    }
    found
}

fn comparison(baseline: &Row<'_>, row: &Row<'_>) -> Option<Comparison> {
    let name = primary(baseline);
    let (base, other) = (by_replicate(baseline, name), by_replicate(row, name));
    // A pair needs both; nothing is imputed (R11).
    let (left, right): (Vec<f64>, Vec<f64>) =
        base.iter().filter_map(|(replicate, value)| Some((*value, *other.get(replicate)?))).unzip();
    let ratio = paired_ratio(&left, &right)?;
    let arm = row.arm.iter().map(|(factor, level)| format!("{factor}={level}"));
    Some(Comparison {
        id: format!("{}:{name}:{}", row.workload.name, arm.collect::<Vec<_>>().join(",")),
        kind: Kind::Paired,
        workload: row.workload.name.clone(),
        metric: name.to_owned(),
        better: metric::find(name)?.better,
        baseline: baseline.arm.clone(),
        arm: row.arm.clone(),
        n: ratio.n,
        ratio: Some(ratio.ratio),
        ci95: ratio.ci95.filter(|ends| ends[1].is_finite()),
        ci95_family: None,
        difference: None,
        sd_log: ratio.sd_log,
        primary: true,
        text: String::new(),
        p_sign_flip: None,
        p_holm: None,
        verdict: None,
        margin: None,
        replicates_needed: None,
        notes: notes(baseline, row, ratio.n),
    })
}

fn by_replicate(row: &Row<'_>, metric: &str) -> BTreeMap<u32, f64> {
    row.counting()
        .filter_map(|trial| {
            Some((trial.record.replicate, metrics::value(metric, row, trial).ok()?))
        })
        .collect()
}

fn notes(baseline: &Row<'_>, row: &Row<'_>, pairs: usize) -> Vec<String> {
    let replicates = if pairs == 1 { "1 replicate" } else { &format!("{pairs} replicates") };
    let mut notes = vec![format!("ratio only: no verdict at {replicates}")];
    for one in [baseline, row] {
        let target = one.arm.get("target").map_or("?", String::as_str);
        match one.trust {
            Some(Trust::Invalid) => notes.push(format!("the number of {target} is invalid")),
            Some(Trust::Suspect) => notes.push(format!("the number of {target} is suspect")),
            _ => {}
        }
    }
    let (left, right) = (baseline.workload.in_flight(), row.workload.in_flight());
    if left != right {
        notes.push(format!("{right} operations in flight against {left}"));
    }
    notes
}
