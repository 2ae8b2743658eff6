//! What rules of trust say of one host of a fleet, by what it recorded itself.

use assay_analysis::rules::{self, Case};
use assay_study::findings::Trust;
use assay_study::results::environment::Environment;
use assay_study::results::fleet::HostSaid;
use assay_study::results::plan::Plan;
use assay_study::results::record::TrialRecord;

/// What speaks against the numbers of each workload on this host.
pub fn rows(plan: &Plan, environment: &Environment, trials: &[&TrialRecord]) -> Vec<HostSaid> {
    (0..plan.workloads.len())
        .flat_map(|index| {
            let own = trials.iter().filter(|trial| trial.workload == index);
            words_of_rules(plan, environment, index, &own.copied().collect::<Vec<_>>())
        })
        .collect()
}

fn words_of_rules(
    plan: &Plan,
    environment: &Environment,
    index: usize,
    trials: &[&TrialRecord],
) -> Vec<HostSaid> {
    let counting: Vec<&TrialRecord> =
        trials.iter().copied().filter(|trial| trial.status.counts()).collect();
    let Some(workload) = plan.workloads.get(index).filter(|_| !counting.is_empty()) else {
        return Vec::new();
    };
    let places = environment.sites.get(workload.target).zip(plan.surveys.get(workload.target));
    let Some((site, survey)) = places else { return Vec::new() };
    let emulator = environment.machine.emulator();
    let case = Case { site, survey, workload, trials: &counting, emulator };
    let said = rules::remarks(&case).into_iter().filter_map(|(rule, remark)| {
        let trust = match remark.trust {
            Trust::Trusted => return None,
            Trust::Suspect => "suspect",
            Trust::Invalid => "invalid",
        };
        Some(HostSaid {
            workload: index,
            rule: rule.to_owned(),
            trust: trust.to_owned(),
            text: remark.text,
        })
    });
    said.collect()
}
