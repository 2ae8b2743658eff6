//! `truncated-tree`: a phase of small files ended before it reached all of them.

use assay_core::catalogue::About;
use assay_core::quantity::metric::Nature;
use assay_core::quantity::units::show;

use super::{FileAct, FilePhase, FilesDetail, FilesPlan};
use crate::tell::{Doubt, OwnRule};
use crate::{Basis, Measured};

pub(super) const TREE_CUT: OwnRule = OwnRule {
    about: About {
        name: "truncated-tree",
        summary: "a phase of small files ended before it processed all files",
        text: "The number is suspect. Each phase has a share of a trial's time. The rate of a phase that runs out of \
               time covers fewer files than requested. If the create phase ends early, all later phases use the \
               smaller tree. Increase the runtime of the workload, or use fewer files.",
    },
    looks_at: Basis::Machine,
    changes: &[Nature::Speed, Nature::Traffic],
    doubt,
};

/// Doubts a row if a phase ended before it had processed all files.
fn doubt(work: &crate::WorkPlan, trials: &[&Measured]) -> Option<Doubt> {
    let asked = u64::from(FilesPlan::of(work)?.files);
    let details = trials.iter().filter_map(|measured| FilesDetail::of(measured));
    let cut: Vec<&FilePhase> = details.filter_map(find_cut_phase).collect();
    let worst = cut.iter().min_by_key(|phase| phase.operations)?;
    Some(Doubt {
        what: format!(
            "{} ended after {} of {} files",
            doing(worst.act),
            show::count(worst.operations),
            show::count(asked)
        ),
        trials: cut.len(),
        why: "use a longer runtime, or fewer files".to_owned(),
        invalid: false,
    })
}

/// The phase that ended with the fewest files, if any ended early.
fn find_cut_phase(detail: &FilesDetail) -> Option<&FilePhase> {
    detail.phases.iter().filter(|phase| phase.left > 0).min_by_key(|phase| phase.operations)
}

fn doing(act: FileAct) -> &'static str {
    match act {
        FileAct::Create => "creating",
        FileAct::Stat => "looking",
        FileAct::Read => "reading",
        FileAct::Rename => "renaming",
        FileAct::Delete => "deleting",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FilesSpec;

    /// The doubt on trials that each left this many of 10,000 files uncreated.
    fn left(each: &[u64]) -> Option<Doubt> {
        let trial = |left: &u64| {
            let phase = |act, left| FilePhase {
                act,
                operations: 10_000 - left,
                bytes: 0,
                elapsed_ns: 1,
                sync_ns: 0,
                left,
            };
            let phases = vec![phase(FileAct::Create, *left), phase(FileAct::Stat, 0)];
            super::super::tests::measured_of(FilesDetail { phases, emptied_bytes: None })
        };
        let trials: Vec<Measured> = each.iter().map(trial).collect();
        let trials: Vec<&Measured> = trials.iter().collect();
        doubt(&FilesSpec::default().planned().into(), &trials)
    }

    #[test]
    fn a_whole_tree_is_no_remark() {
        assert_eq!(left(&[0, 0, 0]), None);
        assert_eq!(left(&[]), None);
    }

    #[test]
    fn what_was_not_come_to_is_told() {
        let found = left(&[0, 9_000, 2_000]).unwrap();
        assert_eq!(found.what, "creating ended after 1,000 of 10,000 files");
        assert_eq!((found.trials, found.why.as_str()), (2, "use a longer runtime, or fewer files"));
    }
}
