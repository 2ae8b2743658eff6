//! Rules of single kinds of work, which define their evidence and their objections.

use assay_workloads::tell::OwnRule;

use super::{Case, Rule, RuleCheck, RuleRemark, evidence::in_trials};

pub(super) fn rule(own: &'static OwnRule) -> Rule {
    let OwnRule { about, looks_at, changes, .. } = *own;
    Rule { about, looks_at, changes, check: RuleCheck::Kind(own), ..Rule::NONE }
}

pub(super) fn remark(own: &OwnRule, case: &Case<'_>) -> Option<RuleRemark> {
    let doubt = (own.doubt)(&case.workload.work, &case.measured().collect::<Vec<_>>())?;
    let trials = in_trials(doubt.trials, case);
    let text = format!("{}{trials}: {}", doubt.what, doubt.why);
    Some(if doubt.invalid { RuleRemark::invalid(text) } else { RuleRemark::suspect(text) })
}

#[cfg(test)]
mod tests {
    use assay_workloads::KINDS;
    use assay_workloads::files::{FileAct, FilePhase, FilesDetail, FilesSpec};

    use super::super::RULES;
    use super::super::testing::Bench;
    use super::*;

    /// The remark on three trials, each of which left this many of 10,000 files uncreated.
    fn left(each: [u64; 3]) -> Option<RuleRemark> {
        let mut bench = Bench::command();
        bench.workload.work = FilesSpec::default().planned().into();
        for (trial, left) in bench.trials.iter_mut().zip(each) {
            let phase = FilePhase {
                act: FileAct::Create,
                operations: 10_000 - left,
                bytes: 0,
                elapsed_ns: 1,
                sync_ns: 0,
                left,
            };
            let detail = FilesDetail { phases: vec![phase], emptied_bytes: None };
            trial.measured.as_mut()?.detail = detail.into();
        }
        let rule = RULES.iter().find(|rule| rule.about.name == "truncated-tree")?;
        bench.judge(rule)
    }

    #[test]
    fn what_a_kind_doubts_is_told_with_the_trials_that_it_is_of() {
        assert_eq!(
            left([0, 9_000, 2_000]).unwrap(),
            RuleRemark::suspect(
                "creating ended after 1,000 of 10,000 files, in 2 of 3 trials: use a longer runtime, or fewer files"
            )
        );
        let all = left([9_000, 9_000, 9_000]).unwrap().text;
        assert!(all.contains("of 10,000 files: use a longer runtime"), "{all}");
    }

    #[test]
    fn silent_where_nothing_is_doubted_and_of_work_of_another_kind() {
        assert_eq!(left([0, 0, 0]), None);
        for rule in KINDS.iter().flat_map(|kind| kind.rules).map(rule) {
            assert_eq!(Bench::command().judge(&rule), None, "{}", rule.about.name);
        }
    }
}
