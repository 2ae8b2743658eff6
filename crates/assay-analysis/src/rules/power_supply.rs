//! `power-supply`: the machine was plugged in or unplugged.

use assay_core::catalogue::About;
use assay_study::results::record::Trial;

use super::{Case, Rule, RuleCheck, RuleRemark, evidence::in_trials};

pub static RULE: Rule = Rule {
    about: About {
        name: "power-supply",
        summary: "the machine was plugged in or unplugged during the trial",
        text: "Machines with a battery change CPU clocks, and often the power saving of their drives, when mains power \
               changes. If mains power appears or disappears during a trial, the trial is disturbed. If only some of \
               the trials ran on battery, Assay adds a note.",
    },
    check: RuleCheck::Custom(judge),
    disturbance: Some(|_, trial| change(trial)),
    ..Rule::NONE
};

/// A change of the power supply is suspect; trials on battery and others on mains are a note.
fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let changes: Vec<String> = case.trials.iter().filter_map(|trial| change(trial)).collect();
    if let Some(first) = changes.first() {
        return Some(RuleRemark::suspect(format!("{first}{}", in_trials(changes.len(), case))));
    }
    let unplugged = case.trials.iter().filter(|trial| mains(trial) == Some(false)).count();
    let mixed = unplugged > 0 && case.trials.iter().any(|trial| mains(trial) == Some(true));
    mixed.then(|| {
        RuleRemark::note(format!("the machine ran on battery{}", in_trials(unplugged, case)))
    })
}

/// Whether the machine was plugged in at the end; `None` if unknown.
fn mains(trial: &Trial) -> Option<bool> {
    trial.evidence.power_supply.value()?.after.mains
}

fn change(trial: &Trial) -> Option<String> {
    let supply = trial.evidence.power_supply.value()?;
    match (supply.before.mains, supply.after.mains) {
        (Some(true), Some(false)) => Some("the machine was unplugged".to_owned()),
        (Some(false), Some(true)) => Some("the machine was plugged in".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use assay_core::presence::Presence;
    use assay_machine::probes::power_supply::{PowerSupply as Both, Supply};
    use assay_study::findings::Trust;

    use super::super::testing::Bench;
    use super::*;

    fn supply(before: bool, after: bool) -> impl Fn(&mut Trial) {
        move |trial| {
            let of = |mains| Supply { mains: Some(mains), ..Supply::default() };
            let both = Both { before: of(before), after: of(after) };
            trial.evidence.power_supply = Presence::Present(both);
        }
    }

    #[test]
    fn speaks_of_the_plug() {
        let bench = Bench::read().each(supply(true, true)).first(1, supply(true, false));
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(remark.text, "the machine was unplugged, in 1 of 3 trials");
        assert!(bench.disturbances(&RULE)[0].is_some());
        let back = Bench::read().each(supply(false, true));
        assert_eq!(back.judge(&RULE).unwrap().text, "the machine was plugged in");
    }

    #[test]
    fn trials_on_battery_among_others_are_noted_and_count() {
        let bench = Bench::read().each(supply(true, true)).first(1, supply(false, false));
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Trusted);
        assert_eq!(bench.disturbances(&RULE), [None, None, None]);
    }

    #[test]
    fn silent_on_one_supply_throughout() {
        assert_eq!(Bench::read().each(supply(false, false)).judge(&RULE), None);
        assert_eq!(Bench::read().judge(&RULE), None);
    }
}
