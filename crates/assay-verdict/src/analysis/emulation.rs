//! What a study can still tell on an emulated machine: said before it runs there, not after it.

use std::collections::BTreeSet;

use assay_kinds::work::metrics::is_of_speed;
use assay_study::results::plan::{Plan, PlannedWorkload};

/// The metric that the verdicts of a workload are about.
fn primary<'p>(plan: &'p Plan, workload: &PlannedWorkload) -> &'p str {
    let varies = |name: &str| plan.design.factors.iter().any(|factor| factor.name == name);
    plan.design.primary.as_deref().unwrap_or_else(|| workload.work.primary(&varies))
}

/// Whether an emulated machine gives verdicts on a workload: not on times and rates.
pub fn is_judged_when_emulated(plan: &Plan, workload: &str) -> bool {
    let mut own = plan.workloads.iter().filter(|own| own.name == workload);
    own.any(|own| !is_of_speed(primary(plan, own)))
}

/// What of a plan an emulated machine gives no verdict on, and what is left.
pub fn emulated(plan: &Plan) -> String {
    let primaries = plan.workloads.iter().map(|own| primary(plan, own));
    let asked = plan.design.questions.iter().filter_map(|ask| ask.metric.as_deref());
    let (speeds, amounts): (BTreeSet<&str>, BTreeSet<&str>) =
        primaries.chain(asked).partition(|metric| is_of_speed(metric));
    let names = |all: BTreeSet<&str>| all.into_iter().collect::<Vec<_>>().join(", ");
    let none = "times and rates get no verdict there";
    match (speeds.is_empty(), amounts.is_empty()) {
        (_, true) => format!("{none}, and this study compares nothing else ({})", names(speeds)),
        (true, false) => {
            format!("{none}, amounts do, and this study compares those ({})", names(amounts))
        }
        (false, false) => format!("{none} ({}), amounts do ({})", names(speeds), names(amounts)),
    }
}

#[cfg(test)]
mod tests {
    use assay_study::study::{Study, presets};

    use super::*;
    use crate::truth::testing::survey;

    fn plan(study: Study) -> Plan {
        assay_study::plan::make(&study.settled(), vec![survey()], 1)
    }

    #[test]
    fn of_rates_alone_nothing_is_left_and_of_amounts_they_are() {
        let mut study = presets::find("depth").unwrap().unwrap();
        let rates = plan(study.clone());
        let told = emulated(&rates);
        assert!(told.contains("compares nothing else (iops"), "{told}");
        let name = rates.workloads[0].name.clone();
        assert!(!is_judged_when_emulated(&rates, &name));
        study.primary = Some("device_bytes_per_operation".to_owned());
        study.question.clear();
        let amounts = plan(study);
        let told = emulated(&amounts);
        assert!(told.ends_with("compares those (device_bytes_per_operation)"), "{told}");
        assert!(is_judged_when_emulated(&amounts, &name));
        assert!(!is_judged_when_emulated(&amounts, "another"));
    }
}
