//! What single rows cannot show: rows that contradict each other, and wishes that fit no row.

use std::collections::{HashMap, HashSet};

use assay_core::quantity::Scale;
use assay_study::results::plan::Arm;
use assay_study::results::record::Status;

use super::header::Header;
use super::table::{Factor, TrialLine, TrialTable};
use crate::import::Options;
use crate::import::mistakes::Mistakes;
use crate::import::words::{advice, quoted};

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
    duplicates(header, table, mistakes);
    clashes(header, table, mistakes);
    below_zero(header, table, mistakes);
    baseline(header, table, &options.baseline, mistakes);
    primary(header, table, options.primary.as_deref(), mistakes);
}

fn duplicates(header: &Header, table: &TrialTable, mistakes: &mut Mistakes<'_>) {
    let mut seen = HashMap::new();
    for row in &table.rows {
        let first = *seen.entry((row.trial(), row.metric)).or_insert(row.line);
        if first != row.line {
            let text = format!(
                "same trial and metric as in line {first} ({}, {}); remove a row or use another replicate",
                trial_words(table, row),
                quoted(&table.metrics.all[row.metric].name),
            );
            mistakes.at(&header.cell(row.line, header.replicate.unwrap_or(0), ""), &text);
        }
    }
}

/// Two trials at one position in time. Several metrics of one trial share theirs.
fn clashes(header: &Header, table: &TrialTable, mistakes: &mut Mistakes<'_>) {
    let Some(column) = header.order else { return };
    let mut taken: HashMap<u32, &TrialLine> = HashMap::new();
    let mut told = HashSet::new();
    for row in &table.rows {
        let Some(order) = row.order else { continue };
        let first = *taken.entry(order).or_insert(row);
        if first.trial() != row.trial() && told.insert((order, row.trial())) {
            let text = format!(
                "position {order} is already used in line {} ({}); number all trials of the file \
                 1, 2, 3, ... in run order, or remove the column",
                first.line,
                trial_words(table, first),
            );
            mistakes.at(&header.cell(row.line, column, ""), &text);
        }
    }
}

/// A trial for people: `random-write, filesystem=ext4, replicate 2`.
fn trial_words(table: &TrialTable, row: &TrialLine) -> String {
    let workload = quoted(&table.workloads.all[row.workload]);
    let levels = table.factors.iter().zip(&table.arms.all[row.arm]);
    let levels = levels.map(|(factor, &level)| {
        format!(", {}={}", quoted(&factor.name), quoted(&factor.levels.all[level]))
    });
    let kind = if row.status == Status::Warmup { "lead-in, replicate" } else { "replicate" };
    format!("{workload}{}, {kind} {}", levels.collect::<String>(), row.replicate)
}

/// Values below zero have no ratio; what failed is not compared.
fn below_zero(header: &Header, table: &TrialTable, mistakes: &mut Mistakes<'_>) {
    let Some(column) = header.value else { return };
    for row in table.rows.iter().filter(|row| row.status != Status::Failed) {
        let metric = &table.metrics.all[row.metric];
        let Some(value) = row.value.filter(|&value| value < 0.0) else { continue };
        if metric.scale() == Scale::Ratio {
            let text = format!(
                "{value} has no ratio to other values; write the metric as `{}` to compare by \
                 differences, or correct the value",
                quoted(&metric.by_difference())
            );
            mistakes.at(&header.cell(row.line, column, ""), &text);
        }
    }
}

fn baseline(header: &Header, table: &TrialTable, wanted: &Arm, mistakes: &mut Mistakes<'_>) {
    let mut levels: Vec<Option<usize>> = vec![None; table.factors.len()];
    let mut sound = true;
    for (name, level) in wanted {
        let found = table.factors.iter().position(|factor| factor.name == *name);
        let text = match found.map(|index| (index, &table.factors[index])) {
            None => unknown_factor(name, level, &table.factors),
            Some((index, factor)) if factor.levels.has(level) => {
                levels[index] = factor.levels.all.iter().position(|known| known == level);
                continue;
            }
            Some((_, factor)) => {
                let column = factor.column;
                let text = format!(
                    "--baseline {}={}: no row has this level; {}",
                    quoted(name),
                    quoted(level),
                    advice(level, factor.levels.iter())
                );
                mistakes.at(&header.cell(header.line, column, ""), &text);
                sound = false;
                continue;
            }
        };
        mistakes.on(header.line, &text);
        sound = false;
    }
    let fits = |arm: &Vec<usize>| {
        levels.iter().zip(arm).all(|(wanted, level)| wanted.is_none_or(|wanted| wanted == *level))
    };
    if sound && !wanted.is_empty() && !table.arms.all.iter().any(fits) {
        let named: Vec<String> = wanted
            .iter()
            .map(|(name, level)| format!("{}={}", quoted(name), quoted(level)))
            .collect();
        mistakes.on(
            header.line,
            &format!(
                "--baseline {}: no row has this combination of levels; use the levels of a row",
                named.join(" --baseline ")
            ),
        );
    }
}

fn unknown_factor(name: &str, level: &str, factors: &[Factor]) -> String {
    let advice = if factors.is_empty() {
        format!("rename the column of the factor to `factor_{}`", quoted(name))
    } else {
        advice(name, factors.iter().map(|factor| factor.name.as_str()))
    };
    format!("--baseline {}={}: no such factor; {advice}", quoted(name), quoted(level))
}

fn primary(header: &Header, table: &TrialTable, wanted: Option<&str>, mistakes: &mut Mistakes<'_>) {
    let Some(wanted) = wanted else { return };
    let names = table.metrics.all.iter().map(|metric| metric.name.as_str());
    // Without a metric in any row there are worse mistakes to tell.
    if names.clone().any(|name| name == wanted) || table.metrics.all.is_empty() {
        return;
    }
    let text = format!(
        "--primary-metric {}: no row has this metric; {}",
        quoted(wanted),
        advice(wanted, names)
    );
    mistakes.at(&header.cell(header.line, header.metric.unwrap_or(0), ""), &text);
}
