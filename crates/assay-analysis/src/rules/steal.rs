//! `steal`: the hypervisor gave the processors to others.

use assay_core::catalogue::About;
use assay_core::quantity::units::show;
use assay_study::results::record::TrialRecord;

use super::evidence::in_trials;
use super::{Case, Remark, Rule};

/// Percent of processor time from which on a trial is disturbed: what was stolen can change a rate by
/// about as much, and half of the usual margin of 5% must not come from others.
const MOST_PERCENT: f64 = 2.5;

/// Ticks below which a share means nothing.
const FEWEST_TICKS: u64 = 20;

pub static RULE: Rule = Rule {
    about: About {
        name: "steal",
        summary: "steal time exceeded 2.5% of the CPU time",
        text: "In a virtual machine, the kernel counts steal time: a virtual CPU was ready, but the hypervisor ran \
               something else. Above 2.5%, the trial is disturbed, because steal can change a rate by about the same \
               percentage, half of the usual margin.",
    },
    judge,
    disturbance: Some(disturbance),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<Remark> {
    let shares: Vec<f64> = case.trials.iter().filter_map(|trial| stolen(trial)).collect();
    let most = shares.iter().copied().fold(0.0, f64::max);
    let up_to = if shares.len() > 1 { "up to " } else { "" };
    (!shares.is_empty()).then(|| {
        Remark::suspect(format!(
            "the hypervisor took {up_to}{} of the CPU time for other work (steal){}",
            show::percent(most),
            in_trials(shares.len(), case)
        ))
    })
}

fn disturbance(_case: &Case<'_>, trial: &TrialRecord) -> Option<String> {
    let percent = show::percent(stolen(trial)?);
    Some(format!("the hypervisor took {percent} of the CPU time for other work (steal)"))
}

/// Percent of the processor time that was stolen, where it is too much.
fn stolen(trial: &TrialRecord) -> Option<f64> {
    let ticks = trial.evidence.processors.value()?.ticks.value()?;
    if ticks.total < FEWEST_TICKS {
        return None;
    }
    let percent = 100.0 * ticks.steal as f64 / ticks.total as f64;
    (percent > MOST_PERCENT).then_some(percent)
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Trust;
    use assay_study::results::record::ProcessorTicks;

    use super::super::testing::{Bench, processors};
    use super::*;

    #[test]
    fn speaks_above_its_limit_and_marks_the_trial() {
        let bench = Bench::read()
            .first(2, |trial| *processors(trial) = ProcessorTicks { total: 200, steal: 24 });
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(
            remark.text,
            "the hypervisor took up to 12% of the CPU time for other work (steal), in 2 of 3 trials"
        );
        assert_eq!(
            bench.disturbances(&RULE)[0].as_deref(),
            Some("the hypervisor took 12% of the CPU time for other work (steal)")
        );
        assert_eq!(bench.disturbances(&RULE)[2], None);
    }

    #[test]
    fn silent_at_the_limit_and_with_few_ticks() {
        let ticks = |total, steal| {
            Bench::read().each(move |trial| *processors(trial) = ProcessorTicks { total, steal })
        };
        assert_eq!(ticks(200, 5).judge(&RULE), None);
        assert_eq!(ticks(19, 10).judge(&RULE), None);
    }
}
