//! Runs of other tools: rules that weigh what their files say beside the numbers.

use assay_study::findings::measurements::Series;
use assay_workloads::command::ImportEvidence;
use assay_workloads::metrics::nature;

use super::RULES;

/// Adds to a row of imported numbers what the rules say about the evidence of its runs.
pub fn weigh(series: &mut Series) {
    if series.evidence.iter().all(Vec::is_empty) {
        return;
    }
    for rule in RULES.iter() {
        let name = rule.about.name;
        let Some(remark) = (rule.judge_import)(&series.evidence) else {
            continue;
        };
        if remark.is_about(name, nature(&series.metric)) {
            series.trust = series.trust.max(Some(remark.trust));
            series.because.push(remark.because(name));
        }
    }
}

/// What a rule says of the first run that it objects to, with the share of the runs.
pub(super) fn first_objection(
    runs: &[Vec<ImportEvidence>],
    object: impl Fn(&ImportEvidence) -> Option<String>,
) -> Option<(String, String)> {
    let mut first = None;
    let mut count = 0;
    for run in runs {
        if let Some(text) = run.iter().find_map(&object) {
            first.get_or_insert(text);
            count += 1;
        }
    }
    let all = runs.len();
    let share = if count == all { String::new() } else { format!(", in {count} of {all} runs") };
    first.map(|text| (text, share))
}

#[cfg(test)]
mod tests;
