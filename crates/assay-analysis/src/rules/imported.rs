//! Rules on runs of other tools, by the evidence in their files.

use assay_core::catalogue::About;
use assay_study::findings::measurements::Series;
use assay_workloads::{Basis, command::ImportEvidence, metrics::nature};

use super::{MOVED, RULES, Rule, RuleRemark};

/// Lowers the trust of an imported series by each rule that its evidence triggers.
pub fn apply_import_rules(series: &mut Series) {
    if series.evidence.iter().all(Vec::is_empty) {
        return;
    }
    for rule in RULES.iter() {
        let name = rule.about.name;
        let Some(remark) = (rule.judge_import)(&series.evidence) else { continue };
        if remark.is_about(name, nature(&series.metric)) {
            series.trust = series.trust.max(Some(remark.trust));
            series.because.push(remark.because(name));
        }
    }
}

/// Returns the objection of a rule to the first affected run, with the share of affected runs.
pub(super) fn first_objection(
    runs: &[Vec<ImportEvidence>],
    object: impl Fn(&ImportEvidence) -> Option<String>,
) -> Option<String> {
    let objections = || runs.iter().filter_map(|run| run.iter().find_map(&object));
    let (count, all) = (objections().count(), runs.len());
    let share = if count == all { String::new() } else { format!(", in {count} of {all} runs") };
    objections().next().map(|text| text + &share)
}

pub static TOOL_FAULT: Rule = Rule {
    about: About {
        name: "tool-fault",
        summary: "the tool version that printed the number has a known bug",
        text: "The number is suspect. Applies to imported numbers. KDiskMark before 3.3.0 can print half the rate of a \
               multi-threaded test.",
    },
    looks_at: Basis::Bytes,
    changes: MOVED,
    judge_import,
    ..Rule::NONE
};

fn judge_import(runs: &[Vec<ImportEvidence>]) -> Option<RuleRemark> {
    let text = first_objection(runs, |own| match own {
        ImportEvidence::Fault(text) => Some(text.clone().into_owned()),
        _ => None,
    });
    text.map(RuleRemark::suspect)
}

#[cfg(test)]
mod tests;
