//! Classes of requests without a comparison: a table of the requests that the devices completed.

use super::{Column, Measurement, Table, value_in_row};
use assay_core::exhibit::Unit;
use assay_core::quantity::metric::{Statistic, class, of_requests};
use assay_core::quantity::units::show;
use assay_study::{findings::Findings, results::plan::Arm};

pub(super) const LEGEND: &str = "Classes: requests from any program that the devices completed, timed from their \
     arrival in the block layer to completion.";

/// The rate and latencies of each class of requests of one arm (configuration); `None` if no requests were measured.
pub(super) fn table(findings: &Findings, title: &str, arm: &Arm) -> Option<Table> {
    let is_of_arm = |cell: &&Measurement| cell.configuration == *arm && !cell.control;
    let mut rates: Vec<(&Measurement, &str)> = Vec::new();
    for cell in findings.measurements.iter().filter(is_of_arm) {
        if let Some((class, Statistic::Rate)) = class(&cell.metric) {
            rates.push((cell, class));
        }
    }
    let mut table = Table::new(title);
    table.add(Column::left("class"), &rates, |(cell, _)| &cell.workload);
    table.add(Column::right("per second"), &rates, |(cell, _)| cell.value().map(show::per_second));
    let times = [
        ("mean", Statistic::Mean),
        ("p50", Statistic::P50),
        ("p90", Statistic::P90),
        ("p99", Statistic::P99),
    ];
    for (heading, statistic) in times {
        table.add(Column::new(heading, Unit::Nanoseconds), &rates, |(cell, class)| {
            value_in_row(findings, cell, of_requests(class, statistic)?.name)
        });
    }
    (!rates.is_empty()).then_some(table)
}
