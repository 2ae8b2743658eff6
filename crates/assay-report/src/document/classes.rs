//! Classes of requests where nothing is compared: a table of what the devices completed.

use super::{Column, Measurement, Table, value_in_row};
use assay_core::exhibit::Unit;
use assay_core::quantity::metric::{Statistic, class, of_requests};
use assay_core::quantity::units::show;
use assay_study::findings::Findings;
use assay_study::results::plan::Arm;

pub(super) const LEGEND: &str = "Classes: requests from any program that the devices completed, timed from their \
     arrival in the block layer to completion.";

/// The classes of one arm; none where they were not looked at.
pub(super) fn table(findings: &Findings, title: &str, arm: &Arm) -> Option<Table> {
    let own = |cell: &&Measurement| cell.configuration == *arm && !cell.control;
    let mut rates: Vec<(&Measurement, &str)> = Vec::new();
    for cell in findings.measurements.iter().filter(own) {
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
    for (heading, what) in times {
        table.add(Column::new(heading, Unit::Nanoseconds), &rates, |(cell, class)| {
            value_in_row(findings, cell, of_requests(class, what)?.name)
        });
    }
    (!rates.is_empty()).then_some(table)
}
