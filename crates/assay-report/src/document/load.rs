//! Served requests of each class next to their latency: count, latency with its deviation, and the rates, each against
//! the baseline.

use super::numbers::ratio_and_interval;
use super::study::StudyPage;
use super::study_tables::{ComparedCell, ComparisonRole, WorkloadRows, add_factors, arm_name};
use super::{Column, NONE, Table, text_in_row};
use assay_core::quantity::metric::{Statistic, class, of_requests};
use assay_study::findings::Comparison;

/// The columns, and whether each has a column with the ratio to the baseline.
const COLUMNS: [(&str, Statistic, bool); 6] = [
    ("requests per trial", Statistic::Requests, false),
    ("mean", Statistic::Mean, false),
    ("stddev", Statistic::Deviation, false),
    ("per second", Statistic::Rate, true),
    ("throughput", Statistic::Bytes, false),
    ("size", Statistic::Size, false),
];

/// The column at which a narrow page breaks the table.
const NEXT: &str = "throughput";
pub(super) const LEGEND: &str = "The table shows the load per class, because lower latency with fewer requests is not \
    an improvement. The 95% CI of each rate ratio is individual.";

/// The table of a class of requests; `None` for other workloads.
pub(super) fn table(page: &StudyPage<'_>, workload: &WorkloadRows<'_>) -> Option<Table> {
    let (class, _) = class(workload.metric).filter(|(_, what)| *what == Statistic::Mean)?;
    let is_measured = |metric: &str| {
        let mut cells = page.findings.measurements.iter();
        cells.any(|cell| cell.workload == workload.name && cell.metric == metric)
    };
    let shown: Vec<(&str, &str, bool)> = COLUMNS
        .into_iter()
        .filter_map(|(name, what, ratio)| Some((name, of_requests(class, what)?.name, ratio)))
        .filter(|(_, metric, _)| is_measured(metric))
        .collect();
    let is_control = |line: &&ComparedCell<'_>| matches!(line.role, ComparisonRole::Control);
    let lines: Vec<_> = workload.arms.iter().filter(|line| !is_control(line)).collect();
    let mut table = Table::default();
    add_factors(&mut table, page, &lines, |line| &line.cell.configuration);
    for (name, metric, ratio) in &shown {
        let mut column = Column::right(*name);
        column.breaks = *name == NEXT;
        table.add(column, &lines, |line| text_in_row(page.findings, line.cell, metric));
        if *ratio {
            let column = Column::right("ratio").detail();
            table.add(column, &lines, |line| ratio_text(page, workload, line, metric));
        }
    }
    for (row, line) in table.rows.iter_mut().zip(&lines) {
        row.name = arm_name(&line.cell.configuration);
    }
    (lines.len() > 1 && shown.len() > 1).then_some(table)
}

/// `0.61 (0.55 to 0.68)`.
fn ratio_text(
    page: &StudyPage<'_>,
    workload: &WorkloadRows<'_>,
    line: &ComparedCell<'_>,
    metric: &str,
) -> String {
    let is_its = |comparison: &&Comparison| {
        comparison.workload == workload.name
            && comparison.metric == metric
            && comparison.configuration == line.cell.configuration
    };
    match (line.role, page.findings.comparisons.iter().find(is_its)) {
        (ComparisonRole::Baseline, _) => "1".to_owned(),
        (_, Some(comparison)) => {
            let [ratio, ends] = ratio_and_interval(comparison.ratio, comparison.ci95);
            if ends == NONE { ratio } else { format!("{ratio} ({ends})") }
        }
        (_, None) => NONE.to_owned(),
    }
}
