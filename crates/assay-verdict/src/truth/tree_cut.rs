//! `tree-cut`: a phase of small files ended before it came to all of them.

use assay_base::catalogue::About;
use assay_base::quantity::metric::Nature;
use assay_base::quantity::units::show;
use assay_kinds::work::files::{Detail, Phase};
use assay_kinds::work::{Judged, files};

use super::evidence::in_trials;
use super::{Case, MOVED, Remark, TruthRule};

/// The rule.
pub struct TreeCut;

static ABOUT: About = About {
    name: "tree-cut",
    summary: "a phase of small files ended before it came to all of them",
    text: "Each phase has a share of a trial's time and begins no file after it. Where that ended it, its \
           rate is of fewer files than were asked for; where creating ended early, all that follows is \
           done in a smaller tree. Give the workload more time, or fewer files.",
};

impl TruthRule for TreeCut {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn looks_at(&self) -> Judged {
        Judged::Machine
    }

    fn changes(&self) -> &'static [Nature] {
        MOVED
    }

    fn judge(&self, case: &Case<'_>) -> Option<Remark> {
        let asked = u64::from(files::Planned::of(&case.workload.work)?.files);
        let details = case.trials.iter().filter_map(|trial| Detail::of(trial.measured.as_ref()?));
        let cut: Vec<&Phase> = details.filter_map(least).collect();
        let worst = cut.iter().min_by_key(|phase| phase.operations)?;
        Some(Remark::suspect(format!(
            "the time for {} was over after {} of {} files{}: give it more time, or fewer files",
            doing(worst.act),
            show::count(worst.operations),
            show::count(asked),
            in_trials(cut.len(), case)
        )))
    }
}

/// The phase that ended with the fewest files, if any ended early.
fn least(detail: &Detail) -> Option<&Phase> {
    detail.phases.iter().filter(|phase| phase.left > 0).min_by_key(|phase| phase.operations)
}

fn doing(act: files::FileAct) -> &'static str {
    match act {
        files::FileAct::Create => "creating",
        files::FileAct::Stat => "looking",
        files::FileAct::Read => "reading",
        files::FileAct::Rename => "renaming",
        files::FileAct::Delete => "deleting",
    }
}

#[cfg(test)]
mod tests {
    use assay_kinds::work::Kind as _;
    use assay_kinds::work::files::{Asked, FileAct};

    use super::super::testing::Bench;
    use super::*;

    /// Three trials, of which each left so many of 10,000 files uncreated.
    fn left(each: [u64; 3]) -> Option<Remark> {
        let mut bench = Bench::command();
        bench.workload.work = Asked::sample().planned().into();
        for (trial, left) in bench.trials.iter_mut().zip(each) {
            let phase = |act, left| Phase {
                act,
                operations: 10_000 - left,
                bytes: 0,
                elapsed_ns: 1,
                sync_ns: 0,
                left,
            };
            let phases = vec![phase(FileAct::Create, left), phase(FileAct::Stat, 0)];
            let detail = Detail { phases, emptied_bytes: None };
            trial.measured.as_mut()?.detail = detail.into();
        }
        bench.judge(&TreeCut)
    }

    #[test]
    fn a_whole_tree_is_no_remark() {
        assert_eq!(left([0, 0, 0]), None);
        assert_eq!(Bench::command().judge(&TreeCut), None);
    }

    #[test]
    fn what_was_not_come_to_is_told() {
        let remark = left([0, 9_000, 2_000]).unwrap();
        assert_eq!(
            remark.text,
            "the time for creating was over after 1,000 of 10,000 files, in 2 of 3 trials: give it more \
             time, or fewer files"
        );
    }
}
