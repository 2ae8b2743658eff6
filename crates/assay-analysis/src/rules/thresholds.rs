//! Rules that compare one value of each trial with a limit.

use assay_core::{catalogue::About, quantity::units::show};
use assay_study::results::record::Trial;

use super::{ALL, Case, Rule, RuleCheck, RuleRemark, evidence::in_trials};

/// A trial with a value above the limit is disturbed, and its row is suspect.
#[derive(Clone, Copy)]
pub(super) struct Threshold {
    pub value: fn(&Case<'_>, &Trial) -> Option<f64>,
    pub limit: f64,
    pub combine: fn(f64, f64) -> f64,
    /// The message for the combined value of a number of trials.
    pub message: fn(f64, usize) -> String,
}

pub static STEAL: Rule = Rule {
    about: About {
        name: "steal",
        summary: "steal time exceeded 2.5% of the CPU time",
        text: "In a virtual machine, the kernel counts steal time: a virtual CPU was ready, but the hypervisor ran \
               something else. Above 2.5%, the trial is disturbed, because steal can change a rate by about the same \
               percentage, half of the usual margin.",
    },
    check: RuleCheck::Threshold(Threshold {
        value: |_, trial| stolen_percent(trial),
        limit: 2.5,
        combine: f64::max,
        message: |most, trials| {
            let up_to = if trials > 1 { "up to " } else { "" };
            let most = show::percent(most);
            format!("the hypervisor took {up_to}{most} of the CPU time for other work (steal)")
        },
    }),
    ..Rule::NONE
};

pub static OOM: Rule = Rule {
    about: About {
        name: "oom",
        summary: "the kernel's out-of-memory (OOM) killer killed a process during the trial",
        text: "The kernel counts out-of-memory (OOM) kills. One kill during a trial marks the trial as disturbed, \
               because all programs stall while the kernel tries to reclaim memory.",
    },
    changes: ALL,
    check: RuleCheck::Threshold(Threshold {
        value: oom_kills,
        limit: 0.0,
        combine: |one, other| one + other,
        message: |kills, _| match kills as u64 {
            1 => "the OOM killer killed a process".to_owned(),
            kills => format!("the OOM killer killed {} processes", show::count(kills)),
        },
    }),
    ..Rule::NONE
};

const FEWEST_TICKS: u64 = 20;

fn stolen_percent(trial: &Trial) -> Option<f64> {
    let ticks = trial.evidence.processors.value()?.ticks.value()?;
    (ticks.total >= FEWEST_TICKS).then(|| 100.0 * ticks.steal as f64 / ticks.total as f64)
}

fn oom_kills(case: &Case<'_>, trial: &Trial) -> Option<f64> {
    if case.workload.work.wants_memory() {
        return None;
    }
    Some(trial.evidence.memory.value()?.machine.value()?.oom_kills as f64)
}

impl Threshold {
    fn excess(&self, case: &Case<'_>, trial: &Trial) -> Option<f64> {
        (self.value)(case, trial).filter(|value| *value > self.limit)
    }

    pub fn judge(&self, case: &Case<'_>) -> Option<RuleRemark> {
        let excess = case.trials.iter().filter_map(|trial| self.excess(case, trial));
        let values: Vec<f64> = excess.collect();
        let combined = values.iter().copied().reduce(self.combine)?;
        let message = (self.message)(combined, values.len());
        Some(RuleRemark::suspect(format!("{message}{}", in_trials(values.len(), case))))
    }

    pub fn disturbance(&self, case: &Case<'_>, trial: &Trial) -> Option<String> {
        self.excess(case, trial).map(|value| (self.message)(value, 1))
    }
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_machine::probes::memory::Memory;
    use assay_study::findings::Trust;
    use assay_study::results::record::ProcessorTicks;

    use super::super::testing::{Bench, processors};
    use super::*;

    #[test]
    fn speaks_above_its_limit_and_marks_the_trial() {
        let bench = Bench::read()
            .first(2, |trial| *processors(trial) = ProcessorTicks { total: 200, steal: 24 });
        let remark = bench.judge(&STEAL).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(
            remark.text,
            "the hypervisor took up to 12% of the CPU time for other work (steal), in 2 of 3 trials"
        );
        assert_eq!(
            bench.disturbances(&STEAL)[0].as_deref(),
            Some("the hypervisor took 12% of the CPU time for other work (steal)")
        );
        assert_eq!(bench.disturbances(&STEAL)[2], None);
    }

    #[test]
    fn silent_at_the_limit_and_with_few_ticks() {
        let ticks = |total, steal| {
            Bench::read().each(move |trial| *processors(trial) = ProcessorTicks { total, steal })
        };
        assert_eq!(ticks(200, 5).judge(&STEAL), None);
        assert_eq!(ticks(19, 10).judge(&STEAL), None);
    }

    fn killed(oom_kills: u64) -> Bench {
        Bench::write().first(1, move |trial| {
            let memory = Memory { oom_kills, ..Memory::default() };
            trial.evidence.memory = Presence::Present(memory.into());
        })
    }

    #[test]
    fn speaks_of_kills_and_marks_the_trial() {
        let bench = killed(2);
        let said = "the OOM killer killed 2 processes, in 1 of 3 trials";
        assert_eq!(bench.judge(&OOM).unwrap().text, said);
        let one = killed(1).disturbances(&OOM);
        let said = "the OOM killer killed a process".to_owned();
        assert_eq!(one, [Some(said), None, None]);
        let beyond = killed(u64::MAX).each(|trial| {
            let memory = Memory { oom_kills: u64::MAX, ..Memory::default() };
            trial.evidence.memory = Presence::Present(memory.into());
        });
        assert!(beyond.judge(&OOM).is_some());
    }

    #[test]
    fn silent_without_kills() {
        assert_eq!(killed(0).judge(&OOM), None);
        assert_eq!(Bench::write().judge(&OOM), None);
    }
}
