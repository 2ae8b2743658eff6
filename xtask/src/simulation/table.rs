//! What is printed and kept.

use std::fmt::Write;

use super::experiment::{ExperimentCell, ExperimentRow};

pub fn head() -> String {
    format!("{:4}  {:57}  {:33} {:>7} {:>8}  bounds", "", "setting", "counted", "studies", "rate %")
}

/// The scenario that is no simulation.
pub const KNOWN_ANSWERS: &str = "S9: the known answers are tests of assay_core::stats (crates/assay-core/src/stats/tests/reference)";

pub fn line(row: &ExperimentRow) -> String {
    format!(
        "{:4}  {:57}  {:33} {:7} {:8.2}  {:16} {}",
        row.scenario,
        row.setting,
        row.count.what,
        row.studies,
        row.rate(),
        row.count.bound.words(),
        row.count.bound.word(row.rate()),
    )
}

/// False verdicts by setting and disturbance, the default order and chained order beside it.
fn returning(rows: &[ExperimentRow]) -> String {
    let placed: Vec<(&ExperimentCell, &ExperimentRow)> =
        rows.iter().filter_map(|row| Some((row.cell.as_ref()?, row))).collect();
    let mut columns: Vec<&str> = placed.iter().map(|(cell, _)| cell.column).collect();
    let mut settings: Vec<&str> = placed.iter().map(|(cell, _)| cell.row.as_str()).collect();
    settings.dedup();
    dedup_all(&mut columns);
    if placed.is_empty() {
        return String::new();
    }
    let rate = |setting: &str, column: &str, beside: bool| {
        let own = |(cell, _): &&(&ExperimentCell, &ExperimentRow)| {
            cell.row == setting && cell.column == column && cell.beside == beside
        };
        let found = placed.iter().find(own);
        found.map_or("-".to_owned(), |(_, row)| {
            let fails = if row.holds() { "" } else { " FAIL" };
            format!("{:.1}{fails}", row.rate())
        })
    };
    let mut text = format!("\n{RETURNING}\n\n| | {} |\n", columns.join(" | "));
    let _ = writeln!(text, "|---|{}", "---:|".repeat(columns.len()));
    for setting in settings {
        let cells = columns.iter().map(|column| {
            format!("{} / {}", rate(setting, column, false), rate(setting, column, true))
        });
        let _ = writeln!(text, "| {setting} | {} |", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

fn dedup_all(words: &mut Vec<&str>) {
    let mut seen = std::collections::BTreeSet::new();
    words.retain(|word| seen.insert(*word));
}

const RETURNING: &str = "\
S2, periodic disturbances (period in trials, random phase; amplitude five trial sd): percentage of
studies of equal configurations with a better or worse verdict, random order with lead-ins / chained
order. Bounds for random order: 9% from six replicates and 10% at five; for two configurations 10.5%
at six and 13% at five. With three or four replicates, no order is safe, and the findings say so.";

pub fn page(command: &str, head: &[String], rows: &[ExperimentRow], told: &[String]) -> String {
    let mut page = format!("# Simulated studies\n\n{ABOUT}\n\n`{command}`, release build.\n\n");
    for line in head {
        let _ = writeln!(page, "{line}");
    }
    page.push_str("\n| | setting | counted | studies | rate % | bounds | |\n");
    page.push_str("|---|---|---|---:|---:|---|---|\n");
    for row in rows.iter().filter(|row| row.cell.is_none()) {
        // Writing to a String cannot fail.
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {:.2} | {} | {} |",
            row.scenario,
            row.setting,
            row.count.what,
            row.studies,
            row.rate(),
            row.count.bound.words(),
            row.count.bound.word(row.rate()),
        );
    }
    page.push_str(&returning(rows));
    page.push('\n');
    for line in told {
        let _ = writeln!(page, "- {line}");
    }
    page
}

const ABOUT: &str = "\
Studies with a known truth, analyzed by Assay: the suite simulates trials in the order of a plan,
including lead-ins, writes a table, and passes the table through the importer and the analysis. A
trial has an sd of 2% (normal on the log scale), so the difference of two trials has an sd of 2.83%
(`sd of d`). Rows without bounds are for information; a rate in parentheses is from the simulations
for the design of the statistics.";
