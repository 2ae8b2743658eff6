//! Whether the compared commands did the same work: a single row cannot show a difference.

use assay_study::findings::measurements::Series;
use assay_study::results::plan::{Arm, arm_in_words};
use assay_study::results::record::Trial;

use super::{distinct, rows::RowTrials};
use crate::rules::{self, Worked};

const COMMAND: &str = "command";

pub(super) struct WorkOfRow {
    row: usize,
    group: (String, Arm),
    worked: Worked,
}

/// What the commands of a row did, with the group to compare it in; `None` for other work, and if nothing was measured.
pub(super) fn work_of_row(index: usize, row: &RowTrials<'_>) -> Option<WorkOfRow> {
    let counting: Vec<&Trial> = row.counting().map(|trial| trial.record).collect();
    let name = match arm_in_words(row.arm.iter()) {
        words if words.is_empty() => row.workload.name.clone(),
        words => words,
    };
    let worked = Worked::new(&name, &counting).filter(|_| row.trust.is_some())?;
    let group = (row.workload.name.clone(), shared_settings(&row.arm));
    Some(WorkOfRow { row: index, group, worked })
}

/// Compares the work of the rows in each group; a difference is a remark on all of them.
pub(super) fn add_remarks(all: &[WorkOfRow], rows: &mut [RowTrials<'_>], series: &mut [Series]) {
    for group in distinct(all.iter().map(|one| &one.group)) {
        let members = || all.iter().filter(|one| one.group == *group);
        let work: Vec<&Worked> = members().map(|one| &one.worked).collect();
        for remark in rules::between(&work) {
            for member in members() {
                rows[member.row].add_remark(rules::DIFFERENT_WORK, &remark, series);
            }
        }
    }
}

/// The settings that compared rows share: with several commands, all except the command.
fn shared_settings(arm: &Arm) -> Arm {
    let mut others = arm.clone();
    others.remove(COMMAND).map(|_| others).unwrap_or_default()
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
            shared_settings(&arm(&[("command", "a"), ("block_size", "1")])),
            arm(&[("block_size", "1")])
        );
        assert_eq!(shared_settings(&arm(&[("command", "a")])), arm(&[]));
        // Without several commands, nothing has to do the same work.
        assert_eq!(shared_settings(&arm(&[("filesystem", "ext4")])), arm(&[]));
    }
}
