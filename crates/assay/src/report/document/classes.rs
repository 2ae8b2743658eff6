//! Classes of requests where nothing is compared: a table of what the devices completed.

use super::{NONE, Row, Table, centre, find};
use crate::quantity::units::show;
use crate::report::table::columns;
use crate::results::findings::Findings;
use crate::results::plan::Arm;

/// How the table is read.
pub(super) const LEGEND: &str = "Classes: requests that the devices completed, whoever asked for them, from their arrival in the \
     block layer until their end.";

/// What stands before the name of a class, and what makes of it the name of a rate.
const ENDS: (&str, &str) = ("block_", "_iops");

/// The classes of one arm; none where they were not looked at.
pub(super) fn table(findings: &Findings, arm: &Arm) -> Option<Table> {
    let classes = findings.cells.iter().filter(|cell| cell.arm == *arm && !cell.control);
    let rows = classes.filter_map(|cell| {
        let class = cell.metric.strip_prefix(ENDS.0)?.strip_suffix(ENDS.1)?;
        let of = |what: &str| {
            let metric = format!("{}{class}_{what}_ns", ENDS.0);
            let found = find(findings, &cell.workload, arm, false, &metric).and_then(centre);
            found.map_or_else(|| NONE.to_owned(), show::duration)
        };
        let rate = centre(cell).map_or_else(|| NONE.to_owned(), show::per_second);
        let words = [cell.workload.clone(), rate, of("mean"), of("p50"), of("p90"), of("p99")];
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
