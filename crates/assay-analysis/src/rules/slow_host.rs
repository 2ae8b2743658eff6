//! `slow-host`: one host of a fleet is far slower than the others in most trials.

use assay_core::{catalogue::About, quantity::units::show, stats::median};
use assay_study::results::fleet::{Share, Together, words};
use assay_workloads::Basis;

use super::{Case, Rule, RuleCheck, RuleRemark};

/// A host is slow in a trial if the others' median is this many times its rate.
const TIMES: f64 = 2.0;
/// Fewest trials; the host must be slow in all but a fifth of them.
const FEWEST: usize = 3;

pub static RULE: Rule = Rule {
    about: About {
        name: "slow-host",
        summary: "one host is at most half as fast as the others",
        text: "The sum over hosts does not show which host is slow. Assay names a host whose rate is at most half the \
               median rate of the other hosts in four of five trials (at least three trials). Check the host's cable, \
               port, path and disk. The number stays trusted.",
    },
    looks_at: Basis::Operations,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let trials: Vec<_> = case.trials.iter().filter_map(|trial| trial.together.as_ref()).collect();
    let hosts = &trials.last()?.hosts;
    let remarks: Vec<_> = hosts.iter().filter_map(|host| slow_host_remark(host, &trials)).collect();
    (!remarks.is_empty()).then(|| RuleRemark::note(remarks.join("; ")))
}

fn slow_host_remark(host: &Share, trials: &[&Together]) -> Option<String> {
    let behind: Vec<_> = trials.iter().filter_map(|trial| times_behind(trial, host.rank)).collect();
    let slow: Vec<f64> = behind.iter().copied().filter(|times| *times >= TIMES).collect();
    // A slow host is behind in at least 80% of the trials.
    if behind.len() < FEWEST || 5 * slow.len() < 4 * behind.len() {
        return None;
    }
    let name = words(host.rank, &host.name);
    let least = slow.iter().copied().fold(f64::INFINITY, f64::min);
    let (hit, of) = (slow.len(), behind.len());
    Some(if least.is_finite() {
        let times = show::times(least);
        format!(
            "{name} is slow: the other hosts are at least {times} times as fast in {hit} of {of} trials"
        )
    } else {
        format!("{name} makes no progress in {hit} of {of} trials while the other hosts do")
    })
}

/// The median rate of the others divided by that of a rank.
fn times_behind(trial: &Together, rank: u32) -> Option<f64> {
    let rate = trial.hosts.iter().find(|share| share.rank == rank)?.operations_per_s;
    let others = trial.hosts.iter().filter(|share| share.rank != rank);
    let others = median(&others.map(|share| share.operations_per_s).collect::<Vec<f64>>())?;
    // If the other hosts are idle, no host is slow.
    (others > 0.0).then(|| if rate > 0.0 { others / rate } else { f64::INFINITY })
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Trust;

    use super::super::testing::Bench;
    use super::*;

    fn bench(rates: &[f64]) -> Bench {
        Bench::read().each(|trial| {
            let share = |(rank, rate): (u32, &f64)| Share {
                rank,
                name: format!("n{rank}"),
                window_ns: 1,
                operations_per_s: *rate,
                ..Share::default()
            };
            let hosts = (0..).zip(rates).map(share).collect();
            trial.together = Some(Together { since_go_ns: 0, of: rates.len() as u32, hosts });
        })
    }

    #[test]
    fn silent_where_hosts_are_alike_and_where_there_is_one() {
        assert_eq!(Bench::read().judge(&RULE), None);
        assert_eq!(bench(&[100.0]).judge(&RULE), None);
        assert_eq!(bench(&[100.0, 90.0, 60.0, 110.0]).judge(&RULE), None);
        // A single occurrence is chance.
        let once = bench(&[100.0, 100.0, 100.0]).first(1, |trial| {
            trial.together.as_mut().unwrap().hosts[1].operations_per_s = 10.0;
        });
        assert_eq!(once.judge(&RULE), None);
    }

    #[test]
    fn a_host_that_is_half_as_fast_trial_after_trial_is_named() {
        let remark = bench(&[100.0, 110.0, 40.0, 90.0]).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Trusted, "the sum is what it is");
        assert!(
            remark.text.starts_with("rank 2 (n2) is slow: the other hosts are at least 2.5 times"),
            "{}",
            remark.text
        );
        // Of two hosts, the slower one.
        let two = bench(&[100.0, 40.0]).judge(&RULE).unwrap();
        assert!(
            two.text.starts_with("rank 1 (n1)") && !two.text.contains("rank 0"),
            "{}",
            two.text
        );
    }

    #[test]
    fn a_host_that_stands_still_is_told_as_that_and_where_all_do_nobody_is() {
        let remark = bench(&[100.0, 0.0, 100.0]).judge(&RULE).unwrap();
        assert!(remark.text.starts_with("rank 1 (n1) makes no progress"), "{}", remark.text);
        assert_eq!(bench(&[0.0, 0.0, 0.0]).judge(&RULE), None);
    }
}
