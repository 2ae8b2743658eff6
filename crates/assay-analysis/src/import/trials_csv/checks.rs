//! Checks across rows: contradicting rows, and options that fit no row.

use std::collections::HashSet;

use assay_core::quantity::Scale;
use assay_study::results::{plan::Arm, record::Status};

use super::header::Header;
use super::table::{FactorColumn, TrialLine, TrialTable};
use crate::import::words::{advice, quoted};
use crate::{import::Options, import::mistakes::Mistakes};

pub(super) fn check(
    header: &Header,
    table: &TrialTable,
    options: &Options,
    mistakes: &mut Mistakes<'_>,
) {
    if table.lines == 0 {
        mistakes.on(header.line, "no rows below the header; add a row for each trial and metric");
        return;
    }
    report_duplicates(header, table, mistakes);
    report_clashes(header, table, mistakes);
    report_negative_values(header, table, mistakes);
    check_baseline(header, table, &options.baseline, mistakes);
    check_primary(header, table, options.primary.as_deref(), mistakes);
}

/// Returns each row that repeats a key, after the first row with it. Sorting needs less memory than a map of all rows.
fn repeated<K: Ord>(
    rows: &[TrialLine],
    key: impl Fn(&TrialLine) -> Option<K>,
) -> Vec<[&TrialLine; 2]> {
    let mut keyed: Vec<(K, u32)> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        keyed.extend(key(row).map(|key| (key, index as u32)));
    }
    keyed.sort_unstable();
    let mut pairs = Vec::new();
    for group in keyed.chunk_by(|one, next| one.0 == next.0) {
        let [(_, first), repeats @ ..] = group else { continue };
        for (_, repeat) in repeats {
            pairs.push([&rows[*first as usize], &rows[*repeat as usize]]);
        }
    }
    pairs
}

fn report_duplicates(header: &Header, table: &TrialTable, mistakes: &mut Mistakes<'_>) {
    for [first, row] in repeated(&table.rows, |row| Some((row.trial(), row.metric))) {
        let text = format!(
            "same trial and metric as in line {} ({}, {}); remove a row or use another replicate",
            first.line,
            trial_words(table, row),
            quoted(&table.metrics.all[row.metric as usize].name),
        );
        mistakes.at(&header.cell(row.line as usize, header.replicate.unwrap_or(0), ""), &text);
    }
}

/// Reports two trials at one position in time. The metrics of one trial share its position.
fn report_clashes(header: &Header, table: &TrialTable, mistakes: &mut Mistakes<'_>) {
    let Some(column) = header.order else { return };
    let mut reported = HashSet::new();
    for [first, row] in repeated(&table.rows, |row| row.order) {
        if first.trial() != row.trial() && reported.insert((row.order, row.trial())) {
            let text = format!(
                "position {} is already used in line {} ({}); number all trials of the file \
                 1, 2, 3, ... in run order, or remove the column",
                row.order.unwrap_or_default(),
                first.line,
                trial_words(table, first),
            );
            mistakes.at(&header.cell(row.line as usize, column, ""), &text);
        }
    }
}

/// A trial in words: `random-write, filesystem=ext4, replicate 2`.
fn trial_words(table: &TrialTable, row: &TrialLine) -> String {
    let workload = quoted(&table.workloads.all[row.workload as usize]);
    let levels = table.factors.iter().zip(&table.arms.all[row.arm as usize]);
    let levels = levels.map(|(factor, &level)| {
        format!(", {}={}", quoted(&factor.name), quoted(&factor.levels.all[level]))
    });
    let kind = if row.status == Status::Warmup { "lead-in, replicate" } else { "replicate" };
    format!("{workload}{}, {kind} {}", levels.collect::<String>(), row.replicate)
}

/// Rejects negative values, which have no ratio, unless the trial failed.
fn report_negative_values(header: &Header, table: &TrialTable, mistakes: &mut Mistakes<'_>) {
    let Some(column) = header.value else { return };
    for row in table.rows.iter().filter(|row| row.status != Status::Failed) {
        let metric = &table.metrics.all[row.metric as usize];
        let Some(value) = row.value.filter(|&value| value < 0.0) else { continue };
        if metric.scale() == Scale::Ratio {
            let text = format!(
                "{value} has no ratio to other values; write the metric as `{}` to compare by \
                 differences, or correct the value",
                quoted(&metric.by_difference())
            );
            mistakes.at(&header.cell(row.line as usize, column, ""), &text);
        }
    }
}

/// Reports each option --baseline that fits no row.
fn check_baseline(header: &Header, table: &TrialTable, wanted: &Arm, mistakes: &mut Mistakes<'_>) {
    let mut is_sound = true;
    let mut options = Vec::new();
    for (name, level) in wanted {
        let option = format!("--baseline {}={}", quoted(name), quoted(level));
        let factor = table.factors.iter().find(|factor| factor.name == *name);
        let is_known = factor.is_some_and(|factor| factor.levels.has(level));
        if let Some(factor) = factor.filter(|_| !is_known) {
            let advice = advice(level, factor.levels.iter());
            let text = format!("{option}: no row has this level; {advice}");
            mistakes.at(&header.cell(header.line, factor.column, ""), &text);
        } else if !is_known {
            let text = format!("{option}: no such factor; {}", factor_advice(name, &table.factors));
            mistakes.on(header.line, &text);
        }
        is_sound &= is_known;
        options.push(option);
    }
    let fits = |arm: &Vec<usize>| {
        let mut levels = table.factors.iter().zip(arm);
        levels.all(|(factor, level)| {
            wanted.get(&factor.name).is_none_or(|wanted| *wanted == factor.levels.all[*level])
        })
    };
    if is_sound && !wanted.is_empty() && !table.arms.all.iter().any(fits) {
        let options = options.join(" ");
        let text =
            format!("{options}: no row has this combination of levels; use the levels of a row");
        mistakes.on(header.line, &text);
    }
}

fn factor_advice(name: &str, factors: &[FactorColumn]) -> String {
    if factors.is_empty() {
        return format!("rename the column of the factor to `factor_{}`", quoted(name));
    }
    advice(name, factors.iter().map(|factor| factor.name.as_str()))
}

fn check_primary(
    header: &Header,
    table: &TrialTable,
    wanted: Option<&str>,
    mistakes: &mut Mistakes<'_>,
) {
    let Some(wanted) = wanted else { return };
    let names = table.metrics.all.iter().map(|metric| metric.name.as_str());
    // If no row has a metric, other mistakes matter more.
    if names.clone().any(|name| name == wanted) || table.metrics.all.is_empty() {
        return;
    }
    let (option, advice) = (quoted(wanted), advice(wanted, names));
    let text = format!("--primary-metric {option}: no row has this metric; {advice}");
    mistakes.at(&header.cell(header.line, header.metric.unwrap_or(0), ""), &text);
}
