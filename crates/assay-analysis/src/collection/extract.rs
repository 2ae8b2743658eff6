//! Converts findings to rows, one per target. Contributor and machine are left out.

use std::collections::BTreeMap;

use assay_core::exhibit::parts::distinct;
use assay_study::file::fields::TARGET_FACTOR;
use assay_study::findings::{Because, Findings, LENT, TargetFacts, Trust, WorkloadFacts};
use assay_study::results::plan::{Arm, without_target};

use super::file::is_within_range;
use super::numbers::{self, ENERGY};
use super::row::{CollectionRow, FORMAT, Identity, RowValue};

const MOST_TRIALS: usize = 100;
/// Latencies that a row stores, with their metrics.
const QUANTILES: [(&str, f64); 4] = [
    ("latency_p50_ns", 0.5),
    ("latency_p90_ns", 0.9),
    ("latency_p99_ns", 0.99),
    ("latency_p999_ns", 0.999),
];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra {
    pub device: Option<String>,
    pub claimed: Vec<String>,
    pub price: Option<String>,
    pub by: Option<String>,
    pub identity: bool,
    pub foreign: bool,
}

/// The rows of a result, one per target. Fails if it has no number for a row, or if its study varied settings: then
/// no configuration is *the* device.
pub fn rows(findings: &Findings, extra: &Extra) -> Result<Vec<CollectionRow>, String> {
    let targets = &findings.environment.targets;
    let several = targets.len() > 1;
    if several && extra.device.is_some() {
        return Err("the result has several targets, but --device names one".to_owned());
    }
    let mut rows = Vec::new();
    for target in targets {
        let is_on_target =
            |arm: &Arm| !several || arm.get(TARGET_FACTOR).is_none_or(|name| *name == target.name);
        rows.push(row_of_target(findings, target, &is_on_target, extra)?);
    }
    rows.retain(|row| !row.measured.is_empty());
    if rows.is_empty() {
        return Err("it has no sequential or random rate of a device; add a check or a flash run"
            .to_owned());
    }
    Ok(rows)
}

/// The row of a target; `Err` if no number would describe only the device.
fn row_of_target(
    findings: &Findings,
    target: &TargetFacts,
    is_on_target: &dyn Fn(&Arm) -> bool,
    extra: &Extra,
) -> Result<CollectionRow, String> {
    let mut measured: BTreeMap<String, RowValue> = BTreeMap::new();
    let mut arms: Vec<&Arm> = Vec::new();
    for workload in findings.workloads.iter().filter(|one| is_on_target(&one.configuration)) {
        let kind = workload.io.as_ref().and_then(|io| numbers::kind_for(io, workload.queue_depth));
        let Some(kind) = kind else { continue };
        let Some(value) = row_value(findings, workload, kind.metric) else { continue };
        if !arms.contains(&&workload.configuration) {
            arms.push(&workload.configuration);
        }
        // Of several queue depths, the best one counts.
        if measured.get(kind.name).is_none_or(|known| known.value < value.value) {
            measured.insert(kind.name.to_owned(), value);
        }
        if kind.name == "write_mb_s"
            && let Some(energy) = row_value(findings, workload, ENERGY)
        {
            measured.insert(ENERGY.to_owned(), energy);
        }
    }
    if distinct(arms.iter().map(|arm| without_target(arm))).len() > 1 {
        return Err(
            "the result varies settings, so no number describes only the device; add a check or a flash run"
                .to_owned(),
        );
    }
    let card = findings.study.card.clone().unwrap_or_default();
    let claims = card.rated.map(|rated| rated.claims).unwrap_or_default();
    let claimed = claims.into_iter().map(|(text, _)| text).collect();
    let price = card.price.map(|price| price.text);
    // Numbers of a simulated target never get the name of a drive.
    let named = extra.device.clone().filter(|_| !is_simulated(target));
    Ok(CollectionRow {
        format: FORMAT.to_owned(),
        device: named.unwrap_or_else(|| device_name(target)),
        capacity_bytes: card.capacity.map(|bytes| bytes.0).or(target.size_bytes),
        claimed: if extra.claimed.is_empty() { claimed } else { extra.claimed.clone() },
        price: extra.price.clone().or(price),
        measured,
        date: findings.study.started.get(..10).map(str::to_owned),
        machine: machine_words(findings),
        filesystem: target.filesystem_name().unwrap_or_else(|| "none".to_owned()),
        by: extra.by.clone(),
        result: Some(findings.study.id.clone()),
        plan_sha256: Some(findings.study.plan_sha256.clone()),
        assay: findings.environment.assay.clone(),
        foreign: extra.foreign,
        published: None,
        identity: extra
            .identity
            .then(|| Identity { serial: target.serial.clone(), target: target.name.clone() }),
    })
}

fn is_simulated(target: &TargetFacts) -> bool {
    target.drive == "simulated"
}

fn device_name(target: &TargetFacts) -> String {
    let describe = || {
        if is_simulated(target) {
            return "simulated drive".to_owned();
        }
        if target.on_a_file {
            return "file (loop device)".to_owned();
        }
        // `vda, virtio`: publish the interface only, not a name of somebody's machine.
        match target.drive.rsplit_once(", ") {
            Some((_, interface)) => format!("{interface} disk"),
            None => target.drive.split(" (").next().unwrap_or_default().to_owned(),
        }
    };
    target.model.clone().unwrap_or_else(describe)
}

/// Kernel, processor and place, without the name of the machine.
fn machine_words(findings: &Findings) -> String {
    let facts = &findings.environment;
    let place = facts.platform.as_ref().map_or(facts.virtualization.as_str(), |place| &place.name);
    format!("Linux {}, {}, {place}", facts.kernel, facts.cpu)
}

/// The mean, spread and latencies of a workload; `None` if it lacks the metric.
fn row_value(findings: &Findings, workload: &WorkloadFacts, metric: &str) -> Option<RowValue> {
    let cell_of = |metric: &str| findings.cell(&workload.name, &workload.configuration, metric);
    let cell = cell_of(metric)?;
    let value = cell.value().filter(|value| value.is_finite())?;
    let mut trials = cell.values();
    trials.truncate(MOST_TRIALS);
    // With very many trials the mean may be outside the range of the stored ones: then store none of them.
    if !is_within_range(value, &trials) {
        trials.clear();
    }
    let latency_ns = QUANTILES
        .iter()
        .filter_map(|(quantile, share)| Some([*share, cell_of(quantile)?.value()?]));
    // The only note to publish is the one on a borrowed drive.
    let is_published = |one: &&Because| one.trust != Trust::Trusted || one.rule == LENT;
    let because = cell.reasons.iter().filter(is_published).map(|one| one.rule.clone());
    Some(RowValue {
        value,
        ci95: cell.ci95,
        trust: cell.trust,
        because: distinct(because),
        how: workload.text.clone(),
        trials,
        latency_ns: latency_ns.collect(),
    })
}
