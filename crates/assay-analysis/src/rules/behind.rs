//! `late-submission`: an open loop missed its schedule.

use assay_core::{catalogue::About, quantity::units::show};
use assay_workloads::io::{Pace, tolerance};
use assay_workloads::{Basis, io};

use super::{Case, Rule, RuleCheck, RuleRemark};

/// Share of the scheduled operations that may be late or missing.
const MOST_LATE: f64 = 0.005;

pub static RULE: Rule = Rule {
    about: About {
        name: "late-submission",
        summary: "operations did not start at their intended time",
        text: "In an open loop, each operation has an intended start time. If more than 0.5% of the operations start \
               more than 1 ms late, Assay reports the delay and its cause. If all slots were in use, the drive was too \
               slow: response times include the wait and stay trusted. If a slot was free, this machine was too slow: \
               response times include its delay and are suspect. After the measured time, Assay waits another quarter \
               of that time. If more than 0.5% of the schedule is still unissued then, response times are also \
               suspect: Assay counts their wait up to that point, which is a lower bound. The limit is 1 ms because a \
               sleeping thread wakes within 0.1 ms if a CPU is free.",
    },
    looks_at: Basis::Operations,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let own = case.measured().filter_map(|measured| io::IoDetail::of(measured)?.pace);
    let pace = own.reduce(Pace::plus)?;
    unissued_remark(&pace).or_else(|| late_remark(&pace))
}

/// A share of the scheduled operations in words; `None` if it is within the limit.
fn share_above_limit(part: u64, pace: &Pace) -> Option<String> {
    let share = part as f64 / pace.scheduled.max(1) as f64;
    (share > MOST_LATE).then(|| show::percent(100.0 * share))
}

fn unissued_remark(pace: &Pace) -> Option<RuleRemark> {
    let missing = share_above_limit(pace.unissued(), pace)?;
    Some(RuleRemark::suspect(format!(
        "of {} scheduled operations, {} ({missing}) were never issued: the target cannot sustain the rate, and \
         response times are lower bounds",
        show::count(pace.scheduled),
        show::count(pace.unissued())
    )))
}

fn late_remark(pace: &Pace) -> Option<RuleRemark> {
    let late = share_above_limit(pace.late, pace)?;
    let what = format!(
        "of {} scheduled operations, {} ({late}) were issued more than {} late, at most {}",
        show::count(pace.scheduled),
        show::count(pace.late),
        tolerance(),
        show::duration(pace.max_delay_ns as f64)
    );
    // Late operations with a free slot waited for this machine.
    let late_with_free_slot = pace.late.saturating_sub(pace.full);
    Some(match share_above_limit(late_with_free_slot, pace) {
        None => RuleRemark::note(format!(
            "{what}, because all slots were in use: response times include the wait, service times do not"
        )),
        Some(idle) => RuleRemark::suspect(format!(
            "{what}; for {idle}, a slot was free: this machine was too slow, and response times include its delay"
        )),
    })
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Trust;

    use super::super::testing::{Bench, counted};
    use super::*;

    /// Three trials of an open loop, each of 1,000 operations.
    fn paced(change: impl Fn(&mut Pace)) -> Option<RuleRemark> {
        let bench = Bench::write().each(move |trial| {
            let mut pace = Pace { scheduled: 1_000, issued: 1_000, ..Pace::default() };
            change(&mut pace);
            counted(trial).pace = Some(pace);
        });
        bench.judge(&RULE)
    }

    #[test]
    fn silent_in_a_closed_loop_and_where_the_schedule_was_held() {
        assert_eq!(Bench::write().judge(&RULE), None);
        assert_eq!(Bench::read().without_trials().judge(&RULE), None);
        assert_eq!(paced(|_| {}), None);
        // 0.5% is within the limit.
        assert_eq!(paced(|pace| (pace.late, pace.max_delay_ns) = (5, 9_000_000)), None);
        assert_eq!(paced(|pace| pace.issued = 995), None);
    }

    #[test]
    fn a_drive_that_is_behind_is_told_and_keeps_its_trust() {
        let late =
            |pace: &mut Pace| (pace.late, pace.full, pace.max_delay_ns) = (200, 200, 2 << 30);
        let remark = paced(late).unwrap();
        assert_eq!(remark.trust, Trust::Trusted);
        assert_eq!(
            remark.text,
            "of 3,000 scheduled operations, 600 (20%) were issued more than 1 ms late, at most 2.15 s, because all \
             slots were in use: response times include the wait, service times do not"
        );
    }

    #[test]
    fn a_machine_that_is_behind_takes_trust_away() {
        let remark = paced(|pace| (pace.late, pace.full) = (200, 100)).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert!(remark.text.contains("for 10%, a slot was free"), "{}", remark.text);
    }

    #[test]
    fn what_was_never_issued_takes_trust_away() {
        let remark = paced(|pace| pace.issued = 900).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert_eq!(
            remark.text,
            "of 3,000 scheduled operations, 300 (10%) were never issued: the target cannot sustain the rate, and \
             response times are lower bounds"
        );
    }
}
