//! How the rows of a table are called that has one for each workload and arm.

use std::collections::BTreeSet;

use crate::table::Column;
use assay_study::findings::{Cell, Findings};
use assay_study::results::plan::Arm;

/// What tells the rows of a table apart: workloads, arms, or both.
pub(super) struct Named<'f> {
    findings: &'f Findings,
    by_workload: bool,
    by_arm: bool,
}

impl<'f> Named<'f> {
    /// For rows of these workloads and arms.
    pub(super) fn of<'r>(
        findings: &'f Findings,
        rows: impl Iterator<Item = (&'r str, &'r Arm)>,
    ) -> Self {
        let (workloads, arms): (BTreeSet<&str>, BTreeSet<&Arm>) = rows.unzip();
        let by_arm = arms.len() > 1;
        Self { findings, by_workload: workloads.len() > 1 || !by_arm, by_arm }
    }

    /// For a row a cell.
    pub(super) fn of_cells(findings: &'f Findings, cells: &[&Cell]) -> Self {
        Self::of(findings, cells.iter().map(|cell| (cell.workload.as_str(), &cell.configuration)))
    }

    /// The columns that say which row it is.
    pub(super) fn columns(&self) -> Vec<Column> {
        let column = |wanted: bool, title: &'static str| wanted.then(|| Column::left(title).key());
        let columns = [column(self.by_workload, "workload"), column(self.by_arm, "setting")];
        columns.into_iter().flatten().collect()
    }

    /// What stands in them.
    pub(super) fn words(&self, workload: &str, arm: &Arm) -> Vec<String> {
        let workload = self.by_workload.then(|| workload.to_owned());
        workload.into_iter().chain(self.by_arm.then(|| self.findings.arm_words(arm))).collect()
    }

    /// The row in a line.
    pub(super) fn name(&self, workload: &str, arm: &Arm) -> String {
        self.words(workload, arm).join(" ").trim_end().to_owned()
    }
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
            let named = Named::of(&findings, rows.iter().copied());
            assert_eq!(named.columns().len(), named.words(rows[0].0, rows[0].1).len());
            rows.iter().map(|row| named.name(row.0, row.1)).collect::<Vec<_>>()
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
