//! `throttled`: CPU frequency or its control group limited the tool.

use assay_core::{catalogue::About, presence::Presence, quantity::units::show};
use assay_machine::probes::temperature::LEAST_LIMIT_MC;
use assay_study::results::record::Trial;

use super::{Case, Rule, RuleCheck, RuleRemark, evidence::in_trials};

pub static RULE: Rule = Rule {
    about: About {
        name: "throttled",
        summary: "a CPU or drive throttled because of heat, or a control group throttled the tool",
        text: "The kernel counts thermal throttle events of CPUs (if the driver reports them) and the periods in which \
               a control group's CPU limit throttled this process. One such event marks the trial as disturbed, as \
               does a sensor that reaches the slowdown temperature of its CPU or drive (if known). One event is \
               enough, because the clock stays reduced for a while and the counter does not show by how much.",
    },
    check: RuleCheck::Custom(judge),
    disturbance: Some(|_, trial| disturbance(trial)),
    ..Rule::NONE
};

/// Counted throttling by heat or the control group, else sensors that reached their limits.
fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let (mut heat, mut group, mut count) = (0_u64, 0_u64, 0);
    for (own_heat, own_group) in case.trials.iter().filter_map(|trial| throttle_counts(trial)) {
        (heat, group) = (heat.saturating_add(own_heat), group.saturating_add(own_group));
        count += 1;
    }
    if count == 0 {
        let hot: Vec<String> = case.trials.iter().filter_map(|trial| overheated(trial)).collect();
        let first = hot.first()?;
        return Some(RuleRemark::suspect(format!("{first}{}", in_trials(hot.len(), case))));
    }
    Some(RuleRemark::suspect(format!("{}{}", words(heat, group), in_trials(count, case))))
}

fn disturbance(trial: &Trial) -> Option<String> {
    throttle_counts(trial)
        .map_or_else(|| overheated(trial), |(heat, group)| Some(words(heat, group)))
}

/// The sensor furthest above its limit, if any reached it.
fn overheated(trial: &Trial) -> Option<String> {
    let above = trial.evidence.temperature.value()?.sensors.iter().filter_map(|(name, sensor)| {
        let most = sensor.before_mc.max(sensor.after_mc);
        // Bundles of earlier versions contain limits that were not set.
        let limit = sensor.limit_mc.filter(|mc| *mc > LEAST_LIMIT_MC)?;
        Some((most.saturating_sub(limit), name, most)).filter(|(above, ..)| *above >= 0)
    });
    let (above, name, most) = above.max_by_key(|(above, ..)| *above)?;
    let degrees = |mc: i64| show::three_digits(mc as f64 / 1e3);
    let (most, limit) = (degrees(most), degrees(most.saturating_sub(above)));
    Some(format!("{name} reached {most} \u{b0}C; it throttles at {limit} \u{b0}C"))
}

/// Throttle events by heat and by the control group; `None` without any.
fn throttle_counts(trial: &Trial) -> Option<(u64, u64)> {
    let cpus = trial.evidence.processors.value()?;
    let count = |seen: &Presence<u64>| seen.value().copied().unwrap_or(0);
    let counts = (count(&cpus.throttle_events), count(&cpus.group_throttled));
    (counts != (0, 0)).then_some(counts)
}

fn words(heat: u64, group: u64) -> String {
    let times = |count: u64| match count {
        1 => "once".to_owned(),
        count => format!("{} times", show::count(count)),
    };
    let by_heat = format!("the CPU throttled {} because of heat", times(heat));
    let by_group = format!("the control group throttled the tool {}", times(group));
    match (heat, group) {
        (_, 0) => by_heat,
        (0, _) => by_group,
        _ => format!("{by_heat}; {by_group}"),
    }
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_study::findings::Trust;

    use super::super::testing::{Bench, throttling};
    use super::*;

    #[test]
    fn speaks_of_heat_and_marks_the_trial() {
        let bench =
            Bench::read().first(1, |t| throttling(t).throttle_events = Presence::Present(5));
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(remark.text, "the CPU throttled 5 times because of heat, in 1 of 3 trials");
        assert_eq!(
            bench.disturbances(&RULE),
            [Some("the CPU throttled 5 times because of heat".to_owned()), None, None]
        );
    }

    #[test]
    fn speaks_of_the_control_group() {
        let bench = Bench::read().each(|t| throttling(t).group_throttled = Presence::Present(1));
        assert_eq!(
            bench.judge(&RULE).unwrap().text,
            "the control group throttled the tool 3 times"
        );
    }

    #[test]
    fn speaks_of_a_drive_at_its_limit() {
        use assay_machine::probes::temperature::{Sensor, Temperature};
        let at = |after_mc: i64| {
            Bench::read().first(1, move |trial| {
                let sensor = Sensor { before_mc: 40_000, after_mc, limit_mc: Some(81_850) };
                let none = Sensor { limit_mc: None, ..sensor };
                let sensors = [("nvme0 Composite".to_owned(), sensor), ("x".to_owned(), none)];
                let sensors = sensors.into();
                trial.evidence.temperature =
                    Presence::Present(Temperature { sensors, slow_processors: None });
            })
        };
        let said = "nvme0 Composite reached 82.5 \u{b0}C; it throttles at 81.8 \u{b0}C";
        assert_eq!(at(82_500).disturbances(&RULE)[0].as_deref(), Some(said));
        let judged = at(82_500).judge(&RULE).unwrap().text;
        assert_eq!(judged, format!("{said}, in 1 of 3 trials"));
        assert_eq!(at(80_000).judge(&RULE), None);
    }

    #[test]
    fn limits_that_were_never_set_and_sums_beyond_all_numbers_do_no_harm() {
        use assay_machine::probes::temperature::{Sensor, Temperature};
        let at = |after_mc: i64, limit_mc: i64| {
            Bench::read().first(1, move |trial| {
                let sensor = Sensor { before_mc: 30_000, after_mc, limit_mc: Some(limit_mc) };
                trial.evidence.temperature = Presence::Present(Temperature {
                    sensors: [("jc42 temp1".to_owned(), sensor)].into(),
                    slow_processors: None,
                });
            })
        };
        assert_eq!(at(31_000, 0).disturbances(&RULE), [None, None, None]);
        assert_eq!(at(31_000, i64::MIN).judge(&RULE), None);
        assert!(at(i64::MAX, 50_000).judge(&RULE).is_some());
        let bench =
            Bench::read().each(|t| throttling(t).throttle_events = Presence::Present(u64::MAX));
        assert!(bench.judge(&RULE).is_some());
    }

    #[test]
    fn silent_without_events_and_where_nothing_is_told() {
        assert_eq!(Bench::read().judge(&RULE), None);
        let unknown = Bench::read().each(|trial| {
            throttling(trial).throttle_events = Presence::absent("no counter");
            throttling(trial).group_throttled = Presence::absent("no control group");
        });
        assert_eq!(unknown.judge(&RULE), None);
        assert_eq!(unknown.disturbances(&RULE), [None, None, None]);
    }
}
