//! `oom`: a process was killed for want of memory.

use assay_core::catalogue::About;
use assay_core::quantity::units::show;
use assay_study::results::record::TrialRecord;

use super::evidence::in_trials;
use super::{ALL, Case, Remark, Rule};

pub static RULE: Rule = Rule {
    about: About {
        name: "oom",
        summary: "the kernel's out-of-memory (OOM) killer killed a process during the trial",
        text: "The kernel counts out-of-memory (OOM) kills. One kill during a trial marks the trial as disturbed, \
               because all programs stall while the kernel tries to reclaim memory.",
    },
    changes: ALL,
    judge,
    disturbance: Some(disturbance),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<Remark> {
    if case.workload.work.wants_memory() {
        return None;
    }
    let hit: Vec<u64> = case.trials.iter().filter_map(|trial| kills(trial)).collect();
    (!hit.is_empty()).then(|| {
        Remark::suspect(format!(
            "{}{}",
            words(hit.iter().fold(0, |sum, one| sum.saturating_add(*one))),
            in_trials(hit.len(), case)
        ))
    })
}

fn disturbance(case: &Case<'_>, trial: &TrialRecord) -> Option<String> {
    if case.workload.work.wants_memory() {
        return None;
    }
    kills(trial).map(words)
}

fn kills(trial: &TrialRecord) -> Option<u64> {
    let kills = trial.evidence.memory.value()?.machine.value()?.oom_kills;
    (kills > 0).then_some(kills)
}

fn words(kills: u64) -> String {
    match kills {
        1 => "the OOM killer killed a process".to_owned(),
        _ => format!("the OOM killer killed {} processes", show::count(kills)),
    }
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_machine::probes::memory::Memory;

    use super::super::testing::Bench;
    use super::*;

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
        assert_eq!(bench.judge(&RULE).unwrap().text, said);
        let one = killed(1).disturbances(&RULE);
        let said = "the OOM killer killed a process".to_owned();
        assert_eq!(one, [Some(said), None, None]);
        let beyond = killed(u64::MAX).each(|trial| {
            let memory = Memory { oom_kills: u64::MAX, ..Memory::default() };
            trial.evidence.memory = Presence::Present(memory.into());
        });
        assert!(beyond.judge(&RULE).is_some());
    }

    #[test]
    fn silent_without_kills() {
        assert_eq!(killed(0).judge(&RULE), None);
        assert_eq!(Bench::write().judge(&RULE), None);
    }
}
