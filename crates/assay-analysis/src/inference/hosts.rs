//! Several hosts that ran a study together: the work and the trust rules of each, and lost hosts.

use std::collections::{BTreeMap, BTreeSet};

use assay_machine::system::site::Site;
use assay_study::findings::hosts::{HostFindings, HostRange, HostRow};
use assay_study::findings::{Check, Trust};
use assay_study::results::fleet::{Fleet, Lost, words};
use assay_study::results::plan::{Plan, PlannedWorkload};
use assay_study::results::record::Trial;

use super::rows::{MeasuredTrial, RowTrials};
use super::verdicts::AdviceStage;
use crate::rules::{self, Case, RuleRemark};

const MOST_NAMES: usize = 4;

/// The fleet of a combined result; `None` for the result of one host, even of a fleet.
fn combined_fleet(fleet: Option<&Fleet>) -> Option<&Fleet> {
    fleet.filter(|fleet| fleet.is_of_all())
}

/// The stage of a fleet's numbers: fresh trials on one machine cannot confirm them.
pub(super) fn advice_stage(fleet: Option<&Fleet>, stage: AdviceStage) -> AdviceStage {
    if fleet.is_some() && stage == AdviceStage::Measured { AdviceStage::Together } else { stage }
}

/// The remarks of the trust rules on a row that several hosts ran together; `None` for one host.
pub(super) fn remarks(
    fleet: Option<&Fleet>,
    plan: &Plan,
    workload: &PlannedWorkload,
    site: Option<&Site>,
    trials: &[MeasuredTrial<'_>],
) -> Option<Vec<(&'static str, RuleRemark)>> {
    let fleet = combined_fleet(fleet)?;
    let counting: Vec<&Trial> =
        trials.iter().filter(|trial| trial.counts()).map(|trial| trial.record).collect();
    let mut found = host_remarks(fleet, plan, workload);
    if let Some((site, survey)) = site.zip(plan.surveys.get(workload.target)) {
        let case = Case { site, survey, workload, trials: &counting, emulator: None };
        found.extend(rules::remarks_on_hosts(&case));
    }
    Some(found)
}

/// Remarks of the hosts' own rules on a workload: each rule once, from the first host with the lowest trust.
fn host_remarks(
    fleet: &Fleet,
    plan: &Plan,
    workload: &PlannedWorkload,
) -> Vec<(&'static str, RuleRemark)> {
    // Hosts refer to a workload by its index in the plan.
    let Some(index) = plan.workloads.iter().position(|one| std::ptr::eq(one, workload)) else {
        return Vec::new();
    };
    let mut by_rule: BTreeMap<&'static str, (RuleRemark, BTreeSet<u32>)> = BTreeMap::new();
    for host in &fleet.hosts {
        for said in host.said.iter().filter(|said| said.workload == index) {
            let trust = if said.trust == "invalid" { Trust::Invalid } else { Trust::Suspect };
            let remark = RuleRemark::new(trust, format!("{}: {}", host.words(), said.text));
            let (worst, ranks) = by_rule
                .entry(rules::known_name(&said.rule))
                .or_insert_with(|| (remark.clone(), BTreeSet::new()));
            ranks.insert(host.rank);
            if remark.trust > worst.trust {
                *worst = remark;
            }
        }
    }
    let mut remarks = Vec::new();
    for (rule, (mut remark, ranks)) in by_rule {
        if ranks.len() > 1 {
            remark.text = format!("{} (and {} more hosts)", remark.text, ranks.len() - 1);
        }
        remarks.push((rule, remark));
    }
    remarks
}

/// Replicates that do not count: some of their trials had more hosts than others.
pub(super) fn incomplete_replicates(fleet: Option<&Fleet>, plan: &Plan) -> BTreeSet<u32> {
    let Some(fleet) = combined_fleet(fleet) else { return BTreeSet::new() };
    // A host lost between two replicates breaks none.
    let is_within_replicate = |lost: &Lost| {
        let mut trials = plan.trials.iter().filter(|trial| trial.replicate == lost.replicate);
        trials.any(|trial| trial.order < lost.order && !trial.is_lead_in())
            || lost.order as usize >= plan.trials.len()
    };
    let lost = fleet.lost().map(|(_, lost)| lost);
    lost.filter(|lost| is_within_replicate(lost)).map(|lost| lost.replicate).collect()
}

pub(super) const BROKEN: &str =
    "the replicate lost a host: Assay does not compare trials with different numbers of hosts";

#[derive(Default)]
pub(super) struct HostRates {
    /// By rank, its rate divided by the mean over the hosts of a trial.
    paces: BTreeMap<u32, Vec<f64>>,
    /// Time between the first and the last start of a trial.
    starts_ns: Vec<u64>,
    ranges: Vec<HostRange>,
}

impl HostRates {
    /// Adds a row: in each trial the rate of each host relative to the mean host, and the slowest and fastest host.
    pub fn add(&mut self, row: &RowTrials<'_>) {
        let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
        let mut rates_by_rank: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for trial in row.counting() {
            let hosts = trial.record.together.as_ref().map_or(&[][..], |together| &together.hosts);
            let starts_ns = hosts.iter().map(|host| host.since_go_ns);
            let Some(first_ns) = starts_ns.clone().min() else { continue };
            self.starts_ns.push(starts_ns.max().unwrap_or(first_ns) - first_ns);
            let host_rates: Vec<f64> = hosts.iter().map(|host| host.operations_per_s).collect();
            let mean_rate = mean(&host_rates);
            for host in hosts {
                rates_by_rank.entry(host.rank).or_default().push(host.operations_per_s);
                if mean_rate > 0.0 {
                    let pace = host.operations_per_s / mean_rate;
                    self.paces.entry(host.rank).or_default().push(pace);
                }
            }
        }
        let means: Vec<_> =
            rates_by_rank.iter().map(|(rank, rates)| (*rank, mean(rates))).collect();
        let slowest = means.iter().min_by(|(_, one), (_, other)| one.total_cmp(other));
        let fastest = means.iter().max_by(|(_, one), (_, other)| one.total_cmp(other));
        let (Some(slowest), Some(fastest)) = (slowest, fastest) else { return };
        if !row.workload.control {
            self.ranges.push(HostRange {
                workload: row.workload.name.clone(),
                configuration: row.arm.clone(),
                slowest_per_s: slowest.1,
                slowest_rank: slowest.0,
                fastest_per_s: fastest.1,
                fastest_rank: fastest.0,
            });
        }
    }

    /// The facts on each host over all added rows; `None` if one host ran the study.
    pub fn finish(mut self, fleet: Option<&Fleet>) -> Option<HostFindings> {
        let fleet = combined_fleet(fleet)?;
        let row = |host: &assay_study::results::fleet::Host| {
            let mut paces = self.paces.remove(&host.rank).unwrap_or_default();
            paces.sort_by(f64::total_cmp);
            let ends = paces.first().zip(paces.last());
            HostRow {
                rank: host.rank,
                name: host.name.clone(),
                targets: host.targets.clone(),
                trials: paces.len() as u32,
                relative_rate: ends.map(|(least, most)| [*least, paces[paces.len() / 2], *most]),
                lost: host.lost.as_ref().map(Lost::words),
            }
        };
        let rows: Vec<HostRow> = fleet.hosts.iter().map(row).collect();
        self.starts_ns.sort_unstable();
        // Of an even number, the upper of the two in the middle.
        let median = self.starts_ns.get(self.starts_ns.len() / 2).copied();
        let worst = self.starts_ns.last().copied();
        Some(HostFindings {
            started: fleet.ranks,
            finished: rows.iter().filter(|row| row.lost.is_none()).count() as u32,
            order_sha256: fleet.order_sha256.clone(),
            rejected: (fleet.turned_away > 0).then_some(fleet.turned_away),
            rows,
            ranges: self.ranges,
            starts_ns: median.zip(worst).map(|(median, worst)| [median, worst]),
        })
    }
}

/// How many hosts took part, and what limits their sum; for one host's result, that it is only a part.
pub(super) fn checks(hosts: Option<&HostFindings>, fleet: Option<&Fleet>) -> Vec<Check> {
    let Some(hosts) = hosts else {
        let Some((fleet, rank)) = fleet.and_then(|fleet| Some((fleet, fleet.rank?))) else {
            return Vec::new();
        };
        // The result of one host of a fleet.
        let name = words(rank, fleet.name.as_deref().unwrap_or_default());
        let of = fleet.ranks;
        let text = format!("only {name} of {of} hosts; rank 0 has the combined result");
        return vec![Check::new("hosts", text)];
    };
    let (finished, started) = (hosts.finished, hosts.started);
    let names = first_names(hosts.rows.iter().map(|row| row.name.clone()));
    let mut texts =
        vec![format!("{finished} of {started} hosts ({names}): every number combines these hosts")];
    for row in &hosts.rows {
        let name = words(row.rank, &row.name);
        texts.extend(row.lost.as_ref().map(|why| format!("{name} was lost in {why}")));
    }
    for ranks in fleet.map_or(&[][..], |fleet| &fleet.on_one_machine) {
        let names = first_names(ranks.iter().map(u32::to_string));
        texts.push(format!(
            "ranks {names} ran on one machine and shared its resources, so their sum does not represent separate hosts"
        ));
    }
    if let Some(count) = hosts.rejected {
        texts.push(format!("Assay rejected {count} connections with a wrong token"));
    }
    texts.into_iter().map(|text| Check::new("hosts", text)).collect()
}

fn first_names(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = if names.len() > MOST_NAMES { ", ..." } else { "" };
    names.take(MOST_NAMES).collect::<Vec<_>>().join(", ") + more
}

#[cfg(test)]
mod tests {
    use assay_study::findings::Findings;
    use assay_study::results::fleet::{Host, HostSaid, Share, Together};

    use super::super::tests::Bench;
    use super::*;

    /// Random reads on two hosts; the second has half the rate of the first.
    fn bench() -> Bench {
        let mut bench =
            Bench::new(&["."]).row(0, "random-read", 4096, &[300, 600, 900]).each(|trial| {
                let share = |rank: u32, rate: f64| Share {
                    rank,
                    name: format!("n{rank}"),
                    since_go_ns: u64::from(rank) * 1000,
                    window_ns: 1_000_000_000,
                    operations_per_s: rate,
                    bytes_per_s: 4096.0 * rate,
                    ..Share::default()
                };
                let rate = f64::from(trial.replicate) * 100.0;
                let hosts = vec![share(0, 2.0 * rate), share(1, rate)];
                trial.together = Some(Together { since_go_ns: 1000, of: 2, hosts });
            });
        let host = |rank: u32| Host {
            rank,
            name: format!("n{rank}"),
            targets: vec!["/mnt".to_owned()],
            lost: None,
            said: Vec::new(),
        };
        bench.environment.fleet = Some(Fleet {
            id: "f".to_owned(),
            ranks: 2,
            rank: None,
            name: None,
            order_sha256: "ab".repeat(32),
            hosts: vec![host(0), host(1)],
            on_one_machine: Vec::new(),
            turned_away: 0,
        });
        bench
    }

    fn hosts_of(bench: &mut Bench) -> &mut Fleet {
        bench.environment.fleet.as_mut().unwrap()
    }

    fn iops(found: &Findings) -> Vec<Option<f64>> {
        let cell = found.measurements.iter().find(|cell| cell.metric == "iops").unwrap();
        cell.trials.iter().map(|trial| trial.value).collect()
    }

    #[test]
    fn numbers_are_those_of_all_hosts_and_each_has_its_pace() {
        let found = bench().findings();
        assert_eq!(iops(&found), [Some(300.0), Some(600.0), Some(900.0)]);
        let hosts = found.environment.hosts.as_ref().unwrap();
        assert_eq!((hosts.started, hosts.finished, hosts.starts_ns), (2, 2, Some([1000, 1000])));
        let [fast, slow] = hosts.rows.as_slice() else { panic!("{hosts:?}") };
        let pace = |row: &HostRow| row.relative_rate.unwrap().map(|own| (own * 1000.0).round());
        assert_eq!((pace(fast), pace(slow)), ([1333.0; 3], [667.0; 3]));
        let [range] = hosts.ranges.as_slice() else { panic!("{hosts:?}") };
        assert_eq!((range.slowest_rank, range.fastest_rank), (1, 0));
        let cell = found.measurements.iter().find(|cell| cell.metric == "iops").unwrap();
        let rules: Vec<&str> = cell.reasons.iter().map(|own| own.rule.as_str()).collect();
        assert_eq!(rules, ["slow-host"], "no rule reads evidence of one machine");
        assert_eq!(cell.trust, Some(Trust::Trusted));
        assert!(
            found
                .checks
                .iter()
                .any(|own| own.name == "hosts" && own.text.starts_with("2 of 2 hosts"))
        );
    }

    #[test]
    fn what_a_host_said_of_itself_stands_below_the_number_of_all() {
        let mut bench = bench();
        for host in &mut hosts_of(&mut bench).hosts {
            host.said.push(HostSaid {
                workload: 0,
                rule: "cached".to_owned(),
                trust: if host.rank == 1 { "invalid" } else { "suspect" }.to_owned(),
                text: "the cache answered".to_owned(),
            });
        }
        let found = bench.findings();
        let cell = found.measurements.iter().find(|cell| cell.metric == "iops").unwrap();
        let own = cell.reasons.iter().find(|own| own.rule == "cached").unwrap();
        assert_eq!((cell.trust, own.trust), (Some(Trust::Invalid), Trust::Invalid));
        assert_eq!(own.text, "rank 1 (n1): the cache answered (and 1 more hosts)");
    }

    #[test]
    fn ranks_of_one_machine_are_told_and_no_fresh_trials_of_one_are_asked_for() {
        let mut bench = bench();
        let says = |found: &Findings| {
            found.checks.iter().any(|own| own.text.contains("ran on one machine"))
        };
        assert!(!says(&bench.findings()));
        hosts_of(&mut bench).on_one_machine = vec![vec![0, 1]];
        let found = bench.findings();
        assert!(says(&found));
        assert!(found.checks.iter().any(|own| own.text.starts_with("ranks 0, 1 ran")));
        let fleet = bench.environment.fleet.as_ref();
        assert_eq!(advice_stage(fleet, AdviceStage::Measured), AdviceStage::Together);
        assert_eq!(advice_stage(None, AdviceStage::Measured), AdviceStage::Measured);
    }

    #[test]
    fn a_replicate_in_which_a_host_was_lost_does_not_count() {
        let mut bench = bench();
        let lost = |order| Lost { order, replicate: 2, why: "the connection is closed".to_owned() };
        // Trials count from 1: no trial of the second replicate ran before this one.
        hosts_of(&mut bench).hosts[1].lost = Some(lost(2));
        assert_eq!(iops(&bench.findings()), [Some(300.0), Some(600.0), Some(900.0)]);
        hosts_of(&mut bench).hosts[1].lost = Some(lost(3));
        let found = bench.findings();
        assert_eq!(iops(&found), [Some(300.0), None, Some(900.0)]);
        assert_eq!(found.environment.hosts.as_ref().unwrap().finished, 1);
        let told = |own: &&Check| own.text.starts_with("rank 1 (n1) was lost in trial 4");
        assert!(found.checks.iter().any(|own| told(&own)), "{:?}", found.checks);
    }

    #[test]
    fn a_rank_alone_says_so_and_one_host_says_nothing() {
        let mut bench = bench();
        let fleet = hosts_of(&mut bench);
        (fleet.rank, fleet.name, fleet.hosts) = (Some(1), Some("n1".to_owned()), Vec::new());
        let found = bench.findings();
        assert_eq!(found.environment.hosts, None);
        let told = found.checks.iter().find(|own| own.name == "hosts").unwrap();
        assert!(told.text.starts_with("only rank 1 (n1) of 2 hosts"), "{}", told.text);
        bench.environment.fleet = None;
        let found = bench.findings();
        assert!(
            found.environment.hosts.is_none() && found.checks.iter().all(|own| own.name != "hosts")
        );
    }
}
