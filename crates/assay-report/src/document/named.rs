//! How the rows of a table are called that has one for each workload and arm.

use std::collections::BTreeSet;

use super::{Column, Measured, Table};
use assay_study::findings::Findings;
use assay_study::results::plan::Arm;

/// A table whose columns tell its rows apart: by their workloads, their settings, or both.
pub(super) fn of<'a, T>(
    findings: &Findings,
    items: &'a [T],
    row: impl Fn(&'a T) -> (&'a str, &'a Arm),
) -> Table {
    let (workloads, arms): (BTreeSet<&str>, BTreeSet<&Arm>) = items.iter().map(&row).unzip();
    let mut table = Table::default();
    if workloads.len() > 1 || arms.len() < 2 {
        table.add(Column::key("workload"), items, |item| row(item).0);
    }
    if arms.len() > 1 {
        table.add(Column::key("setting"), items, |item| findings.arm_words(row(item).1));
    }
    table
}

/// The same of a row a cell.
pub(super) fn of_cells(findings: &Findings, cells: &[&Measured]) -> Table {
    of(findings, cells, |cell| (cell.workload.as_str(), &cell.configuration))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_study::results::design::Factor;

    #[test]
    fn rows_are_called_by_what_tells_them_apart() {
        let arm = |scheduler: &str| {
            let level = |(name, level): (&str, &str)| (name.to_owned(), level.to_owned());
            Arm::from([("filesystem", "ext4"), ("scheduler", scheduler)].map(level))
        };
        let factor = |name: &str, levels: &[&str]| Factor {
            name: name.to_owned(),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        };
        let factors = vec![factor("filesystem", &["ext4"]), factor("scheduler", &["none", "bfq"])];
        let findings = Findings { factors, ..crate::tests::fixture("card") };
        let (none, bfq) = (arm("none"), arm("bfq"));
        let words = |rows: &[(&str, &Arm)]| {
            let table = of(&findings, rows, |row| *row);
            table.rows.iter().map(|row| table.name_of(row)).collect::<Vec<_>>()
        };
        assert_eq!(words(&[("read", &none), ("read", &bfq)]), ["scheduler none", "bfq"]);
        assert_eq!(words(&[("read", &none), ("write", &none)]), ["read", "write"]);
        assert_eq!(
            words(&[("read", &none), ("write", &bfq)]),
            ["read scheduler none", "write bfq"]
        );
        assert_eq!(words(&[("read", &none)]), ["read"]);
    }
}
