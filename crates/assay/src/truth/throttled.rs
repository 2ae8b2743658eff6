//! `throttled`: the processor or its control group held the tool back.

use super::evidence::in_trials;
use super::{Case, Remark, TruthRule};
use crate::catalogue::About;
use crate::quantity::units::show;
use crate::results::record::TrialRecord;

/// The rule.
pub struct Throttled;

static ABOUT: About = About {
    name: "throttled",
    summary: "the processor slowed down for heat, or a control group held the tool back",
    text: "The kernel counts thermal throttle events of processors (where the driver tells) and the \
           periods in which a control group's processor limit stopped this process. Either of them \
           during a trial marks it disturbed.",
};

impl TruthRule for Throttled {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn judge(&self, case: &Case<'_>) -> Option<Remark> {
        let hit: Vec<&TrialRecord> =
            case.trials.iter().copied().filter(|trial| events(trial) != (0, 0)).collect();
        let (heat, group) = hit
            .iter()
            .map(|trial| events(trial))
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (!hit.is_empty()).then(|| {
            Remark::suspect(format!("{}{}", words(heat, group), in_trials(hit.len(), case)))
        })
    }

    fn disturbance(&self, _case: &Case<'_>, trial: &TrialRecord) -> Option<String> {
        let (heat, group) = events(trial);
        ((heat, group) != (0, 0)).then(|| words(heat, group))
    }
}

/// Throttle events by heat and by the control group.
fn events(trial: &TrialRecord) -> (u64, u64) {
    let evidence = &trial.evidence;
    let value = |seen: &crate::seen::Seen<u64>| seen.value().copied().unwrap_or(0);
    (value(&evidence.throttle_events), value(&evidence.group_throttled))
}

fn words(heat: u64, group: u64) -> String {
    let heat_words = match heat {
        0 => None,
        1 => Some("the processor throttled once for heat".to_owned()),
        _ => Some(format!("the processor throttled {} times for heat", show::count(heat))),
    };
    let group_words = match group {
        0 => None,
        1 => Some("the control group stopped the tool once".to_owned()),
        _ => Some(format!("the control group stopped the tool {} times", show::count(group))),
    };
    heat_words.into_iter().chain(group_words).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::testing::Bench;
    use super::*;
    use crate::results::findings::Trust;
    use crate::seen::Seen;

    #[test]
    fn speaks_of_heat_and_marks_the_trial() {
        let bench = Bench::read().first(1, |t| t.evidence.throttle_events = Seen::Present(5));
        let remark = bench.judge(&Throttled).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(remark.text, "the processor throttled 5 times for heat, in 1 of 3 trials");
        assert_eq!(
            bench.disturbances(&Throttled),
            [Some("the processor throttled 5 times for heat".to_owned()), None, None]
        );
    }

    #[test]
    fn speaks_of_the_control_group() {
        let bench = Bench::read().each(|t| t.evidence.group_throttled = Seen::Present(1));
        assert_eq!(
            bench.judge(&Throttled).unwrap().text,
            "the control group stopped the tool 3 times"
        );
    }

    #[test]
    fn silent_without_events_and_where_nothing_is_told() {
        assert_eq!(Bench::read().judge(&Throttled), None);
        let unknown = Bench::read().each(|trial| {
            trial.evidence.throttle_events = Seen::absent("no counter");
            trial.evidence.group_throttled = Seen::absent("no control group");
        });
        assert_eq!(unknown.judge(&Throttled), None);
        assert_eq!(unknown.disturbances(&Throttled), [None, None, None]);
    }
}
