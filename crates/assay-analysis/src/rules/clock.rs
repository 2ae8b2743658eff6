//! `clock`: the clock was set, or the machine slept.

use assay_core::{catalogue::About, quantity::units::show};
use assay_machine::probes::clock;
use assay_study::results::record::Trial;
use assay_workloads::io;

use super::{Rule, RuleCheck, RuleRemark};

/// Steps up to this size are routine corrections, nanoseconds.
const SMALL_STEP_NS: u64 = 10_000_000;

pub static RULE: Rule = Rule {
    about: About {
        name: "clock",
        summary: "the wall clock was set, or the machine slept, during the trial",
        text: "Assay reads the wall clock and the monotonic clock together before and after each trial. If they \
               diverge by more than 10 ms, or if the machine slept, the trial is disturbed: drives and other programs \
               ran for a time that Assay did not measure. The limit is 10 ms because routine clock corrections can \
               reach 10 ms. Numbers from a trace without times are invalid.",
    },
    check: RuleCheck::Event(|_, trial| disturbance(trial)),
    ..Rule::NONE
};

/// Returns the remark on a recording whose requests have no times.
pub(super) fn of_recording(trials: &[&Trial]) -> Option<RuleRemark> {
    for trial in trials {
        let counted = trial.measured.as_ref().and_then(io::IoDetail::of);
        let recorded = counted.and_then(|counted| counted.requests.as_ref());
        if recorded.is_some_and(|own| own.span_ns == 0 && own.requests > 0) {
            let text = "the trace has no times: its rates and latencies are unknown";
            return Some(RuleRemark::invalid(text));
        }
    }
    None
}

/// Sleep of the machine, or a step of its clock, during the trial.
fn disturbance(trial: &Trial) -> Option<String> {
    let clock::ClockChange { stepped_ns, suspended_ns } = *trial.evidence.clock.value()?;
    if suspended_ns > 0 {
        return Some(format!("the machine slept for {}", show::duration(suspended_ns as f64)));
    }
    let step_ns = stepped_ns.unsigned_abs();
    let way = if stepped_ns < 0 { "back" } else { "forward" };
    (step_ns > SMALL_STEP_NS)
        .then(|| format!("the clock was set {way} by {}", show::duration(step_ns as f64)))
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;

    use assay_core::calc::requests::Recorded;
    use assay_study::findings::Trust;

    use super::super::testing::{Bench, counted};
    use super::*;

    fn told(stepped_ns: i64, suspended_ns: u64) -> Option<String> {
        let bench = Bench::read().first(1, |trial| {
            let clock = clock::ClockChange { stepped_ns, suspended_ns };
            trial.evidence.clock = Presence::Present(clock);
        });
        let remark = bench.judge(&RULE).map(|remark| remark.text);
        let disturbed = bench.disturbances(&RULE)[0].clone();
        assert_eq!(remark, disturbed.clone().map(|text| text + ", in 1 of 3 trials"));
        disturbed
    }

    #[test]
    fn speaks_of_steps_and_of_sleep() {
        assert_eq!(told(-2_000_000_000, 0).as_deref(), Some("the clock was set back by 2 s"));
        assert_eq!(told(11_000_000, 0).as_deref(), Some("the clock was set forward by 11 ms"));
        assert_eq!(told(0, 60_000_000_000).as_deref(), Some("the machine slept for 60 s"));
    }

    #[test]
    fn silent_on_small_steps_and_where_nothing_is_told() {
        assert_eq!(told(9_000_000, 0), None);
        assert_eq!(told(-10_000_000, 0), None);
        assert_eq!(Bench::read().judge(&RULE), None);
    }

    #[test]
    fn traces_without_times_are_invalid() {
        let trust = |span_ns, requests| {
            let bench = Bench::read().each(|trial| {
                let recorded = Recorded { span_ns, requests, ..Recorded::default() };
                counted(trial).requests = Some(Box::new(recorded));
            });
            let trials: Vec<&Trial> = bench.trials.iter().collect();
            of_recording(&trials).map(|remark| remark.trust)
        };
        assert_eq!(trust(0, 2), Some(Trust::Invalid));
        assert_eq!([trust(1, 2), trust(0, 0)], [None; 2]);
    }
}
