//! Whether commands that are compared did the same work: no row can say it alone.

use assay_study::findings::measurements::Series;
use assay_study::results::plan::{Arm, arm_in_words};
use assay_study::results::record::TrialRecord;

use super::rows::Row;
use crate::truth::{self, Remark, Worked};

/// The factor whose levels are commands.
const COMMAND: &str = "command";

/// What is known of the rows so far.
#[derive(Default)]
pub(super) struct Gathered {
    /// The place of a row, what it is compared with, and what its runs did.
    rows: Vec<(usize, (String, Arm), Worked)>,
}

impl Gathered {
    /// Looks at the next row, the `at`th.
    pub fn look(&mut self, at: usize, row: &Row<'_>) {
        let counting: Vec<&TrialRecord> = row.counting().map(|trial| trial.record).collect();
        let name = match arm_in_words(row.arm.iter()) {
            words if words.is_empty() => row.workload.name.clone(),
            words => words,
        };
        if let Some(worked) = Worked::of(&name, &counting).filter(|_| row.trust.is_some()) {
            self.rows.push((at, (row.workload.name.clone(), compared(&row.arm)), worked));
        }
    }

    /// Tells all rows that were compared, and their series.
    pub fn tell(&self, rows: &mut [Row<'_>], series: &mut [Series]) {
        let mut told: Vec<&(String, Arm)> = Vec::new();
        for (_, group, _) in &self.rows {
            if told.contains(&group) {
                continue;
            }
            told.push(group);
            let own = || self.rows.iter().filter(|(_, of, _)| of == group);
            let sides: Vec<&Worked> = own().map(|(.., worked)| worked).collect();
            for remark in truth::between(&sides) {
                for (at, ..) in own() {
                    put(&mut rows[*at], series, &remark);
                }
            }
        }
    }
}

/// What settings have in common that are compared with each other: where commands are, all but the command.
fn compared(arm: &Arm) -> Arm {
    if !arm.contains_key(COMMAND) {
        return Arm::new();
    }
    arm.iter()
        .filter(|(name, _)| *name != COMMAND)
        .map(|(name, level)| (name.clone(), level.clone()))
        .collect()
}

fn put(row: &mut Row<'_>, series: &mut [Series], remark: &Remark) {
    let rule = truth::DIFFERENT_WORK;
    row.remarks.push((rule, remark.clone()));
    row.trust = row.trust.max(Some(remark.trust));
    let is_own = |one: &&mut Series| {
        let workload = one.class_of.as_ref().unwrap_or(&one.workload);
        (workload, &one.arm, one.control) == (&row.workload.name, &row.arm, row.workload.control)
    };
    for one in series.iter_mut().filter(is_own) {
        one.trust = one.trust.max(Some(remark.trust));
        one.because.push(remark.because(rule));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_compared_at_equal_levels_of_all_else() {
        let arm = |pairs: &[(&str, &str)]| -> Arm {
            pairs.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect()
        };
        assert_eq!(
            compared(&arm(&[("command", "a"), ("block_size", "1")])),
            arm(&[("block_size", "1")])
        );
        assert_eq!(compared(&arm(&[("command", "a")])), arm(&[]));
        // Without several commands every setting is to do the same.
        assert_eq!(compared(&arm(&[("filesystem", "ext4")])), arm(&[]));
    }
}
