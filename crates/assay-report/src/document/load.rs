//! Served requests of each class next to their latency: count, latency with its deviation, and the rates.

use super::numbers::ratio_and_interval;
use super::study::StudyPage;
use super::study_tables::{ComparedCell, ComparisonRole, WorkloadRows, add_factors};
use super::{Column, NONE, Table, text_in_row};
use assay_core::quantity::metric::{Statistic, class, of_requests};
use assay_study::{findings::Comparison, results::plan::arm_in_words};

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

/// The load of a workload that is a class of requests, a row per configuration; `None` for other workloads.
pub(super) fn table(page: &StudyPage<'_>, workload: &WorkloadRows<'_>) -> Option<Table> {
    let (class, _) = class(workload.metric).filter(|(_, what)| *what == Statistic::Mean)?;
    let is_measured = |metric: &str| {
        let mut cells = page.findings.measurements.iter();
        cells.any(|cell| cell.workload == workload.name && cell.metric == metric)
    };
    let mut lines: Vec<&ComparedCell<'_>> = workload.arms.iter().collect();
    lines.retain(|line| !matches!(line.role, ComparisonRole::Control));
    let mut table = Table::default();
    add_factors(&mut table, page, &lines, |line| &line.cell.configuration);
    let mut metric_count = 0;
    for (name, statistic, has_ratio) in COLUMNS {
        let Some(metric) = of_requests(class, statistic) else { continue };
        if !is_measured(metric.name) {
            continue;
        }
        metric_count += 1;
        let mut column = Column::right(name);
        column.breaks = name == NEXT;
        table.add(column, &lines, |line| text_in_row(page.findings, line.cell, metric.name));
        if has_ratio {
            let column = Column::right("ratio").detail();
            table.add(column, &lines, |line| ratio_text(page, workload, line, metric.name));
        }
    }
    for (row, line) in table.rows.iter_mut().zip(&lines) {
        row.name = arm_in_words(line.cell.configuration.iter());
    }
    (lines.len() > 1 && metric_count > 1).then_some(table)
}

/// The ratio to the baseline with its 95% CI: `0.61 (0.55 to 0.68)`; `1` for the baseline itself.
fn ratio_text(
    page: &StudyPage<'_>,
    workload: &WorkloadRows<'_>,
    line: &ComparedCell<'_>,
    metric: &str,
) -> String {
    if let ComparisonRole::Baseline = line.role {
        return "1".to_owned();
    }
    let is_of_line = |comparison: &&Comparison| {
        comparison.workload == workload.name
            && comparison.metric == metric
            && comparison.configuration == line.cell.configuration
    };
    let Some(comparison) = page.findings.comparisons.iter().find(is_of_line) else {
        return NONE.to_owned();
    };
    let [ratio, ends] = ratio_and_interval(comparison.ratio, comparison.ci95);
    if ends == NONE { ratio } else { format!("{ratio} ({ends})") }
}
