//! Classes of requests where nothing is compared: a table of what the devices completed.

use super::{Measured, NONE, Row, Table, find};
use crate::table::columns;
use assay_base::quantity::metric::{Statistic, class, of_requests};
use assay_base::quantity::units::show;
use assay_study::findings::Findings;
use assay_study::results::plan::Arm;

/// How the table is read.
pub(super) const LEGEND: &str = "Classes: requests from any program that the devices completed, timed from their \
     arrival in the block layer to completion.";

/// The classes of one arm; none where they were not looked at.
pub(super) fn table(findings: &Findings, arm: &Arm) -> Option<Table> {
    let classes =
        findings.measurements.iter().filter(|cell| cell.configuration == *arm && !cell.control);
    let rows = classes.filter_map(|cell| {
        let (class, _) = class(&cell.metric).filter(|(_, what)| *what == Statistic::Rate)?;
        let of = |what: Statistic| {
            let metric = of_requests(class, what);
            let found = metric
                .and_then(|metric| find(findings, &cell.workload, arm, false, metric.name))
                .and_then(Measured::value);
            found.map_or_else(|| NONE.to_owned(), show::duration)
        };
        let rate = cell.value().map_or_else(|| NONE.to_owned(), show::per_second);
        let words = [
            cell.workload.clone(),
            rate,
            of(Statistic::Mean),
            of(Statistic::P50),
            of(Statistic::P90),
            of(Statistic::P99),
        ];
        Some(Row {
            name: cell.workload.clone(),
            cells: words.map(super::Cell::from).into(),
            notes: Vec::new(),
        })
    });
    let rows: Vec<Row> = rows.collect();
    let columns = columns(&["class", ">per second", ">mean", ">p50", ">p90", ">p99"]);
    (!rows.is_empty()).then_some(Table { columns, rows })
}
