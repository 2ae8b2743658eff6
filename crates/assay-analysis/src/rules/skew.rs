//! `host-skew`: the windows of a fleet's hosts do not overlap enough.

use assay_core::{catalogue::About, quantity::units::show};
use assay_study::results::fleet::{Share, Together};
use assay_workloads::Basis;

use super::{Case, Rule, RuleCheck, RuleRemark};

/// Share of the longest window that must be common to all hosts.
const SHARED: f64 = 0.95;

pub static RULE: Rule = Rule {
    about: About {
        name: "host-skew",
        summary: "the hosts did not measure at the same time",
        text: "Assay can add the rates of hosts only while all hosts run, so it uses the time that all measurement \
               windows share. If the shared time is less than 95% of the longest window, fewer hosts loaded the \
               storage for a while, and the sum is suspect. Assay reports when the first and the last host finished.",
    },
    looks_at: Basis::Operations,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let trials: Vec<_> = case.trials.iter().filter_map(|trial| trial.together.as_ref()).collect();
    let overlaps = trials.iter().filter_map(|trial| Some((trial.shared()?, *trial)));
    let skewed: Vec<(f64, &Together)> = overlaps.filter(|(overlap, _)| *overlap < SHARED).collect();
    let (least, worst) = skewed.iter().min_by(|(one, _), (other, _)| one.total_cmp(other))?;
    let first = worst.hosts.iter().min_by_key(|share| share.ended_ns())?;
    let last = worst.hosts.iter().max_by_key(|share| share.ended_ns())?;
    let words = |share: &Share| {
        let name = assay_study::results::fleet::words(share.rank, &share.name);
        format!("{name} {} after the start", show::duration(share.ended_ns() as f64))
    };
    Some(RuleRemark::suspect(format!(
        "in {} of {} trials, the hosts' windows overlap by less than 95% of the longest window (minimum {}); \
         finished first: {}, last: {}",
        skewed.len(),
        trials.len(),
        show::percent(100.0 * least),
        words(first),
        words(last)
    )))
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Trust;

    use super::super::testing::Bench;
    use super::*;

    const S: u64 = 1_000_000_000;

    fn bench(late_ns: u64) -> Bench {
        Bench::read().each(move |trial| {
            let share = |rank: u32, since_go_ns| Share {
                rank,
                name: format!("n{rank}"),
                since_go_ns,
                window_ns: 10 * S,
                ..Share::default()
            };
            let hosts = vec![share(0, 0), share(1, late_ns)];
            trial.together = Some(Together { since_go_ns: late_ns, of: 2, hosts });
        })
    }

    #[test]
    fn silent_where_windows_lie_above_each_other() {
        assert_eq!(Bench::read().judge(&RULE), None);
        assert_eq!(bench(0).judge(&RULE), None);
        assert_eq!(bench(S / 2).judge(&RULE), None, "95% are enough");
    }

    #[test]
    fn windows_beside_each_other_are_told_with_who_was_done_first_and_last() {
        let remark = bench(2 * S).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        let text = remark.text;
        assert!(text.contains("minimum 80%"), "{text}");
        assert!(
            text.ends_with(
                "rank 0 (n0) 10 s after the start, last: rank 1 (n1) 12 s after the start"
            ),
            "{text}"
        );
    }
}
