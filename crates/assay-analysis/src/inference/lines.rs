//! The lines that bring a machine to an advised arm, from what was recorded of its target.

use assay_machine::factors::{cautions, permanent};
use assay_study::findings::{AdviceKind, Findings, Verdict};
use assay_study::results::environment::Environment;
use assay_study::results::plan::{Arm, Plan};

/// Adds to each advice for an arm what one would type to have it.
pub(super) fn add(found: &mut Findings, plan: &Plan, environment: &Environment) {
    let comparisons = &found.comparisons;
    for advice in found.advice.iter_mut().filter(|advice| advice.kind == AdviceKind::Use) {
        let better = comparisons
            .iter()
            .find(|one| one.verdict == Some(Verdict::Better) && advice.evidence.contains(&one.id));
        let Some(arm) = better.map(|one| &one.configuration) else { continue };
        let (lines, lost) = lines(arm, plan, environment);
        if !lines.is_empty() {
            advice.text = format!("{} To apply: {}.", advice.text, lines.join("; "));
        }
        // Who copies the lines alone reads it, too.
        advice.lines = lost.iter().map(|lost| format!("# {lost}")).chain(lines).collect();
        let cautions = cautions(arm).into_iter().map(str::to_owned);
        let cautions: Vec<String> = lost.into_iter().chain(cautions).collect();
        if !cautions.is_empty() {
            advice.text = format!("{} Caution: {}.", advice.text, cautions.join("; "));
        }
    }
}

fn lines(arm: &Arm, plan: &Plan, environment: &Environment) -> (Vec<String>, Option<String>) {
    let own = plan.workloads.iter().find(|work| work.arm == *arm);
    let site = own.and_then(|work| environment.sites.get(work.target));
    let told = site.map(|site| (permanent::typed(arm, site), permanent::lost(arm, site)));
    told.unwrap_or_default()
}
