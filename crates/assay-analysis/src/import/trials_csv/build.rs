//! From rows to measurements, with a note on every assumption.

use std::collections::{BTreeMap, BTreeSet};

use assay_study::file::Order;
use assay_study::findings::TrialValue;
use assay_study::findings::measurements::{Measurements, Series};
use assay_study::results::design::{self, Design};
use assay_study::results::plan::{Arm, arm_words};
use assay_study::results::record::Status;

use super::table::{FactorColumn, TrialLine, TrialTable};
use crate::import::order::{self, OrderedTrial, levels_in_order as in_order};
use crate::import::words::listed;
use crate::import::{Imported, Options};

pub(super) fn build(table: TrialTable, options: &Options) -> Imported {
    let placed = ordered_trials(&table);
    let primaries = primary_metrics(&table, options.primary.as_deref());
    let notes = notes(&table, options, &primaries, &placed);
    let mut trials: Vec<_> = table.rows.iter().map(TrialLine::trial).collect();
    trials.sort_unstable();
    trials.dedup();

    let design = design(&table, options, &placed);
    let series = series(table, &primaries);
    let measurements = Measurements { design, series, unfinished: false, live: Vec::new() };
    Imported { measurements, notes, trials: trials.len() }
}

/// Rows with a position in time.
fn ordered_trials(table: &TrialTable) -> Vec<OrderedTrial> {
    let placed = |row: &TrialLine| {
        let (workload, arm, replicate) = (row.workload as usize, row.arm as usize, row.replicate);
        let lead_in = row.status == Status::Warmup;
        Some(OrderedTrial { order: row.order?, lead_in, workload, arm, replicate })
    };
    table.rows.iter().filter_map(placed).collect()
}

fn design(table: &TrialTable, options: &Options, placed: &[OrderedTrial]) -> Design {
    let baseline =
        if options.baseline.is_empty() { first_arm(table) } else { options.baseline.clone() };
    let order = if placed.is_empty() { Order::Unknown } else { order::order(placed) };
    options.design(table.factors.iter().map(factor).collect(), baseline, order)
}

/// The arm of the first row: authors start with the known configuration.
fn first_arm(table: &TrialTable) -> Arm {
    table.arms.all.first().map(|levels| arm(&table.factors, levels)).unwrap_or_default()
}

fn arm(factors: &[FactorColumn], levels: &[usize]) -> Arm {
    let named = factors.iter().zip(levels);
    named.map(|(factor, &level)| (factor.name.clone(), factor.levels.all[level].clone())).collect()
}

fn factor(factor: &FactorColumn) -> design::Factor {
    let levels =
        in_order(&factor.levels.all).into_iter().map(|level| factor.levels.all[level].clone());
    design::Factor { name: factor.name.clone(), levels: levels.collect() }
}

/// Position of each arm in the grid of ordered levels, the first factor slowest.
fn arm_positions(table: &TrialTable) -> Vec<usize> {
    let levels: Vec<Vec<usize>> =
        table.factors.iter().map(|factor| ranks(&in_order(&factor.levels.all))).collect();
    let grid_position = |arm: usize| -> Vec<usize> {
        table.arms.all[arm].iter().zip(&levels).map(|(&level, rank)| rank[level]).collect()
    };
    let mut arms: Vec<usize> = (0..table.arms.all.len()).collect();
    arms.sort_by_cached_key(|&arm| grid_position(arm));
    ranks(&arms)
}

fn ranks(order: &[usize]) -> Vec<usize> {
    let mut ranks = vec![0; order.len()];
    order.iter().enumerate().for_each(|(rank, &number)| ranks[number] = rank);
    ranks
}

/// Number of an arm, and the trials of one of its series.
type ArmTrials = (usize, Vec<TrialValue>);

fn series(table: TrialTable, primaries: &[usize]) -> Vec<Series> {
    let positions = arm_positions(&table);
    let mut arm_trials: BTreeMap<(usize, usize, usize), ArmTrials> = BTreeMap::new();
    for row in table.rows {
        let arm = row.arm as usize;
        let key = (row.workload as usize, positions[arm], row.metric as usize);
        arm_trials.entry(key).or_insert_with(|| (arm, Vec::new())).1.push(trial(row));
    }
    let mut series = Vec::with_capacity(arm_trials.len());
    for ((workload, _, metric), (arm_number, mut trials)) in arm_trials {
        // By time, or if unknown, by replicate with the warm-up first.
        trials.sort_by_key(|one| (one.order, one.status != Status::Warmup, one.replicate));
        let declared = &table.metrics.all[metric];
        let (workload, primary) = (&table.workloads.all[workload], primaries[workload] == metric);
        let arm = arm(&table.factors, &table.arms.all[arm_number]);
        let bare = Series::bare(workload, arm, &declared.name, declared.better());
        series.push(Series { scale: declared.scale(), primary, trials, ..bare });
    }
    series
}

fn trial(row: TrialLine) -> TrialValue {
    let value = row.value.filter(|_| row.status != Status::Failed);
    TrialValue {
        reason: row.reason.map(String::from),
        ..TrialValue::bare(row.replicate, row.order, value, row.status)
    }
}

/// The primary metric of each workload: the requested one, else the first.
fn primary_metrics(table: &TrialTable, wanted: Option<&str>) -> Vec<usize> {
    let wanted =
        wanted.and_then(|name| table.metrics.all.iter().position(|metric| metric.name == name));
    let mut first: Vec<Option<usize>> = vec![wanted; table.workloads.all.len()];
    for row in &table.rows {
        first[row.workload as usize].get_or_insert(row.metric as usize);
    }
    // A workload is known from its rows, so it has a metric.
    first.into_iter().map(Option::unwrap_or_default).collect()
}

fn notes(
    table: &TrialTable,
    options: &Options,
    primaries: &[usize],
    placed: &[OrderedTrial],
) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(compared_note(table, options));
    notes.extend(reference_note(table, options));
    notes.extend(primary_notes(table, options, primaries));
    let has_ignored_value = |row: &&TrialLine| row.status == Status::Failed && row.value.is_some();
    match table.rows.iter().filter(has_ignored_value).count() {
        0 => {}
        1 => notes.push("Assay ignores the value of a failed trial".to_owned()),
        count => notes.push(format!("Assay ignores the values of {count} failed trials")),
    }
    let same = listed(order::fixed_order(placed).into_iter().map(|at| &table.workloads.all[at]));
    if !same.is_empty() {
        notes.push(format!(
            "every replicate of {same} runs its configurations in the same order, so carry-over always affects the \
             same configuration"
        ));
    }
    notes
}

/// Says why no arms are compared, or names the default baseline.
fn compared_note(table: &TrialTable, options: &Options) -> Option<String> {
    if table.factors.is_empty() {
        return Some("no factor column; nothing to compare".to_owned());
    }
    if table.arms.all.len() == 1 {
        return Some("all rows have the same levels; nothing to compare".to_owned());
    }
    let named = arm_words(&first_arm(table));
    let text = format!("the baseline is {named} (the first row); --baseline sets another");
    options.baseline.is_empty().then_some(text)
}

/// Names the reference levels of main effects for factors without a level in the user's baseline.
fn reference_note(table: &TrialTable, options: &Options) -> Option<String> {
    let is_unset = |factor: &&FactorColumn| {
        !options.baseline.contains_key(&factor.name) && factor.levels.all.len() > 1
    };
    let first_level = |factor: &FactorColumn| {
        let level = in_order(&factor.levels.all).first().map(|&level| &factor.levels.all[level]);
        format!("{}={}", factor.name, level.map(String::as_str).unwrap_or_default())
    };
    let levels: Vec<String> = table.factors.iter().filter(is_unset).map(first_level).collect();
    (!levels.is_empty() && !options.baseline.is_empty()).then(|| {
        format!("effects are relative to {}, unless --baseline sets another", listed(&levels))
    })
}

/// Names the primary metric if a workload has several or lacks the requested one.
fn primary_notes(table: &TrialTable, options: &Options, primaries: &[usize]) -> Vec<String> {
    if table.arms.all.len() < 2 {
        return Vec::new();
    }
    let mut metrics: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); table.workloads.all.len()];
    for row in &table.rows {
        metrics[row.workload as usize].insert(row.metric as usize);
    }
    let names = table.workloads.all.iter().map(String::as_str).enumerate();
    if let Some(wanted) = &options.primary {
        let lacking = |workload: &usize| !metrics[*workload].contains(&primaries[*workload]);
        let lacking: Vec<&str> =
            names.filter(|(workload, _)| lacking(workload)).map(|(_, name)| name).collect();
        let note = || format!("no verdict for {}: metric {wanted} is missing", listed(&lacking));
        return (!lacking.is_empty()).then(note).into_iter().collect();
    }
    let mut by_metric: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (workload, name) in names.filter(|(workload, _)| metrics[*workload].len() > 1) {
        by_metric.entry(primaries[workload]).or_default().push(name);
    }
    let note = |(metric, workloads): (usize, Vec<&str>)| {
        format!(
            "verdicts for {} use {}, the first metric in the table; --primary-metric sets another",
            listed(&workloads),
            table.metrics.all[metric].name
        )
    };
    by_metric.into_iter().map(note).collect()
}
