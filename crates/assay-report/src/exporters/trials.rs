//! The trials of findings as rows: what each table of them is written from.

use std::collections::BTreeSet;

use assay_study::findings::{Cell, CellTrial, Findings};
use assay_study::results::record::Status;

/// All trials with the names of the factors.
pub(super) struct Trials<'f> {
    /// Factors, a column each.
    pub factors: Vec<&'f str>,
    /// A row for each trial and metric.
    pub rows: Vec<Row<'f>>,
}

/// One trial of one metric.
pub(super) struct Row<'f> {
    /// What it is of.
    pub cell: &'f Cell,
    pub trial: &'f CellTrial,
}

impl<'f> Row<'f> {
    /// How the trial ended: the word alone.
    pub fn status(&self) -> &'static str {
        match self.trial.status {
            Status::Ok if self.trial.value.is_some() => "ok",
            Status::Ok | Status::Failed => "failed",
            Status::Disturbed => "disturbed",
            Status::LeadIn => "lead-in",
        }
    }

    /// Why it does not count, where it does not.
    pub fn reason(&self) -> Option<&'f str> {
        let told = self.trial.reason.as_deref().filter(|reason| !reason.is_empty());
        told.filter(|_| self.status() != "ok")
    }

    pub fn level(&self, factor: &str) -> Option<&'f str> {
        self.cell.arm.get(factor).map(String::as_str)
    }
}

impl<'f> Trials<'f> {
    /// Whether each of them has its position in time.
    pub fn is_ordered(&self) -> bool {
        self.rows.iter().all(|row| row.trial.order.is_some())
    }

    /// The trials of findings. A second copy of the baseline has no name of its own in a table.
    pub fn of(findings: &'f Findings) -> Self {
        let cells: Vec<&Cell> = findings.cells.iter().filter(|cell| !cell.control).collect();
        let factors: BTreeSet<&str> =
            cells.iter().flat_map(|cell| cell.arm.keys()).map(String::as_str).collect();
        let rows = cells.into_iter().flat_map(of_cell).collect();
        Self { factors: factors.into_iter().collect(), rows }
    }
}

/// A trial that another one repeats would stand there twice.
fn of_cell(cell: &Cell) -> impl Iterator<Item = Row<'_>> {
    let again = cell.trials.iter().filter(|one| one.repeats.is_some());
    let repeated: BTreeSet<u32> = again.map(|one| one.replicate).collect();
    let own = move |trial: &&CellTrial| {
        trial.repeats.is_some()
            || !repeated.contains(&trial.replicate)
            || trial.status == Status::LeadIn
    };
    cell.trials.iter().filter(own).map(move |trial| Row { cell, trial })
}
