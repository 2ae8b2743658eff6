//! `missing-hosts`: hosts of a fleet were lost while it ran.

use assay_core::catalogue::About;
use assay_workloads::Basis;

use super::{Case, MOVED, Rule, RuleCheck, RuleRemark};

pub const NAME: &str = "missing-hosts";

pub static RULE: Rule = Rule {
    about: About {
        name: NAME,
        summary: "not all hosts participated in all trials",
        text: "If Assay loses a host and the others continue, the number is suspect because it averages sums over \
               different numbers of hosts. Assay reports how many hosts ran in how many trials, and excludes the \
               replicate in which it lost the host. Assay also names each host that did not send its rule results at \
               the end, because that host may have been disturbed.",
    },
    looks_at: Basis::Operations,
    changes: MOVED,
    check: RuleCheck::Custom(judge),
    ..Rule::NONE
};

fn judge(case: &Case<'_>) -> Option<RuleRemark> {
    let together = case.trials.iter().filter_map(|trial| trial.together.as_ref());
    let counts = together.map(|together| (together.hosts.len(), together.of as usize));
    let counts: Vec<(usize, usize)> = counts.filter(|(hosts, _)| *hosts > 0).collect();
    let incomplete = || counts.iter().filter(|(hosts, planned)| hosts < planned);
    let (hosts, planned) = incomplete().min()?;
    let (hit, all) = (incomplete().count(), counts.len());
    Some(RuleRemark::suspect(format!(
        "only {hosts} of {planned} hosts in {hit} of {all} trials: the sum excludes the lost hosts"
    )))
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Trust;
    use assay_study::results::fleet::{Share, Together};

    use super::super::testing::Bench;
    use super::*;

    fn bench(hosts: usize) -> Bench {
        Bench::read().each(move |trial| {
            let hosts = vec![Share::default(); hosts];
            trial.together = Some(Together { since_go_ns: 0, of: 4, hosts });
        })
    }

    #[test]
    fn silent_of_one_host_and_of_all() {
        assert_eq!(Bench::read().judge(&RULE), None);
        assert_eq!(bench(4).judge(&RULE), None);
        assert_eq!(bench(0).judge(&RULE), None, "the own record of one of them");
    }

    #[test]
    fn lost_hosts_are_told() {
        let lose = |trial: &mut assay_study::results::record::Trial| {
            trial.together.as_mut().unwrap().hosts.pop();
        };
        let remark = bench(4).first(1, lose).judge(&RULE).unwrap();
        assert_eq!(remark.trust, Trust::Suspect);
        assert!(remark.text.starts_with("only 3 of 4 hosts in 1 of "), "{}", remark.text);
    }
}
