//! The lines that bring a machine to an advised arm, from what was recorded of its target.

use crate::factors::{cautions, permanent};
use crate::findings::{AdviceKind, Findings, Verdict};
use crate::results::environment::Environment;
use crate::results::plan::{Arm, Plan};

/// Adds to each advice for an arm what one would type to have it.
pub(super) fn add(found: &mut Findings, plan: &Plan, environment: &Environment) {
    let comparisons = &found.comparisons;
    for advice in found.advice.iter_mut().filter(|advice| advice.kind == AdviceKind::Use) {
        let better = comparisons
            .iter()
            .find(|one| one.verdict == Some(Verdict::Better) && advice.evidence.contains(&one.id));
        let Some(arm) = better.map(|one| &one.arm) else { continue };
        advice.lines = lines(arm, plan, environment);
        if !advice.lines.is_empty() {
            advice.text = format!("{} To set it: {}.", advice.text, advice.lines.join("; "));
        }
        let cautions = cautions(arm);
        if !cautions.is_empty() {
            advice.text = format!("{} Caution: {}.", advice.text, cautions.join("; "));
        }
    }
}

fn lines(arm: &Arm, plan: &Plan, environment: &Environment) -> Vec<String> {
    let own = plan.workloads.iter().find(|work| work.arm == *arm);
    let site = own.and_then(|work| environment.sites.get(work.target));
    site.map(|site| permanent::typed(arm, site)).unwrap_or_default()
}
