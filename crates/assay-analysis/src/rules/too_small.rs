//! `too-small`: too little area, or too few operations.

use assay_core::{catalogue::About, quantity::units::show};
use assay_workloads::Basis;

use super::{Case, MOVED, Rule, RuleCheck, RuleRemark};

/// Smallest area, bytes: below it the drive's own cache may hold all of it.
const SMALLEST_AREA: u64 = 16 << 20;
const FEWEST_OPERATIONS: u64 = 30;

pub static RULE: Rule = Rule {
    about: About {
        name: "too-small",
        summary: "the area is smaller than 16 MiB, or fewer than 30 operations ran",
        text: "The number is suspect. A small area can fit in a drive's internal cache, and a few operations predict \
               little. Even small drives have a 16 MiB cache. If the standard deviation equals the mean, 30 operations \
               determine the mean only with a precision of about ±35%.",
    },
    looks_at: Basis::Bytes,
    changes: MOVED,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    if case.trials.is_empty() {
        return None;
    }
    let texts: Vec<_> = [small_area(case), few_operations(case)].into_iter().flatten().collect();
    (!texts.is_empty()).then(|| RuleRemark::suspect(texts.join("; ")))
}

fn small_area(case: &Case<'_>) -> Option<String> {
    let area = &case.survey.area;
    if area.length >= SMALLEST_AREA {
        return None;
    }
    let (length, asked) = (show::bytes(area.length), show::bytes(area.asked));
    let of =
        if area.asked > area.length { format!(" of {asked} requested") } else { String::new() };
    Some(format!("the area is {length}{of}: the area can fit in the drive's own cache"))
}

fn few_operations(case: &Case<'_>) -> Option<String> {
    let operations = case.measured().fold(0, |sum: u64, one| sum.saturating_add(one.operations()));
    let trials = case.trials.len();
    let noun = if operations == 1 { "operation" } else { "operations" };
    let trials = if trials == 1 { "1 trial".to_owned() } else { format!("{trials} trials") };
    (operations < FEWEST_OPERATIONS).then(|| format!("only {operations} {noun} in {trials}"))
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Trust;

    use super::super::testing::{Bench, counted};
    use super::*;

    #[test]
    fn speaks_of_a_small_area() {
        let bench = Bench::write().survey(|survey| survey.area.length = 4 << 20);
        let remark = bench.judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(
            remark.text,
            "the area is 4 MiB of 1 GiB requested: the area can fit in the drive's own cache"
        );
        let file = bench.survey(|survey| survey.area.asked = 4 << 20);
        assert_eq!(
            file.judge(&RULE).unwrap().text,
            "the area is 4 MiB: the area can fit in the drive's own cache"
        );
    }

    #[test]
    fn speaks_of_few_operations_in_all_trials_together() {
        let each = |operations| {
            Bench::write().each(move |trial| {
                counted(trial).classes.get_mut("write").unwrap().operations = operations;
            })
        };
        assert_eq!(each(9).judge(&RULE).unwrap().text, "only 27 operations in 3 trials");
        assert_eq!(each(10).judge(&RULE), None);
    }

    #[test]
    fn silent_from_16_mib_on() {
        let bench = Bench::read().survey(|survey| survey.area.length = 16 << 20);
        assert_eq!(bench.judge(&RULE), None);
    }
}
