use assay_workloads::Claims;
use proptest::prelude::*;

use super::*;

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn planned() -> PlannedTrial {
    PlannedTrial {
        order: 3,
        host: 0,
        replicate: 1,
        lead_in: false,
        workload: 0,
        arm: BTreeMap::new(),
        seed: 0,
    }
}

fn merged(hosts: &[OneHost]) -> FleetRecord {
    merge(&planned(), 0, 2, "", hosts, None)
}

/// A host whose window began this long after the release, with operations of these latencies in nanoseconds.
fn host(rank: u32, since_go_ns: u64, latencies: &[u64]) -> OneHost {
    let operations = latencies.len() as u64;
    let count = Count { operations, bytes: operations * 4096 };
    let mut tally = Tally::default();
    for ns in latencies {
        tally.record(*ns, 1);
    }
    let detail = io::IoDetail {
        classes: BTreeMap::from([("read".to_owned(), count)]),
        longest_ns: latencies.iter().max().copied(),
        sample_latencies_ns: latencies.to_vec(),
        ..io::IoDetail::default()
    };
    let measured = Measured {
        window_ns: 10 * S,
        elapsed_ns: 10 * S + u64::from(rank),
        cpu_ns: 5,
        waited_ns: Some(1),
        claims: Claims { read: count, ..Claims::default() },
        values: BTreeMap::new(),
        absent: BTreeMap::new(),
        notes: vec!["a note".to_owned()],
        detail: detail.into(),
    };
    let ran = HostRecord {
        status: Status::Ok,
        reason: None,
        started: format!("2026-11-26T10:00:0{}", rank % 10),
        measured: Some(measured),
        flush_ns: Some(u64::from(rank)),
        since_go_ns,
        series: Vec::new(),
    };
    let latency_ns = BTreeMap::from([("read".to_owned(), tally)]);
    OneHost { rank, name: format!("n{rank}"), ran, latency_ns }
}

fn together(whole: &FleetRecord) -> &Together {
    whole.trial.together.as_ref().unwrap()
}

#[test]
fn total_is_the_sum_of_ranks_and_the_count_of_the_histogram() {
    let hosts = [host(0, 0, &[100; 400]), host(1, 0, &[900; 600])];
    let whole = merged(&hosts);
    let record = &whole.trial;
    let measured = record.measured.as_ref().unwrap();
    assert_eq!((record.status, measured.operations()), (Status::Ok, 1000));
    assert_eq!(whole.histograms["read"].len(), 1000);
    assert_eq!(together(&whole).hosts.iter().map(|own| own.operations).sum::<u64>(), 1000);
    assert_eq!(together(&whole).rate("iops"), Some(100.0));
    assert_eq!(measured.claims.read.operations, 1000);
    assert_eq!((measured.cpu_ns, measured.waited_ns), (10, Some(2)));
    assert_eq!((measured.elapsed_ns, record.flush_ns), (10 * S + 1, Some(1)));
    assert_eq!(measured.notes, ["a note"]);
    assert!(io::IoDetail::of(measured).unwrap().sample_latencies_ns.is_empty());
    assert_eq!(record.started, "2026-11-26T10:00:00");
}

#[test]
fn percentiles_come_from_the_sum_and_are_no_mean() {
    let hosts = [host(0, 0, &[100; 1000]), host(1, 0, &[10_000; 1000])];
    let whole = merged(&hosts);
    let all = &whole.trial.latency_ns["read"];
    assert_eq!((all.percentile_ns(0.5), all.percentile_ns(0.9)), (Some(100), Some(10_007)));
}

#[test]
fn windows_are_cut_to_what_all_share() {
    // The second host began 2.5 s later: they share 7.5 s, with three quarters of the operations of each.
    let hosts = [host(0, 0, &[1; 1000]), host(1, 2500 * MS, &[1; 1000])];
    let whole = merged(&hosts);
    assert_eq!(whole.trial.measured.as_ref().unwrap().window_ns, 7500 * MS);
    assert_eq!(together(&whole).rate("iops"), Some(200.0));
    assert_eq!(together(&whole).since_go_ns, 2500 * MS);
    assert_eq!(together(&whole).shared(), Some(0.75));
    // According to its seconds, the first was idle before that.
    let mut hosts = hosts;
    let row = |second| SeriesRow {
        second,
        class: "read".to_owned(),
        operations: if second < 3 { 0 } else { 100 },
        bytes: 4096,
        latency_sum_ns: 0,
        latency_max_ns: 0,
        latency_buckets: vec![[3, 1]],
    };
    hosts[0].ran.series = (0..10).map(row).collect();
    let whole = merged(&hosts);
    let first = &together(&whole).hosts[0];
    assert!((first.operations_per_s - 1000.0 / 7.5).abs() < 1e-9, "{first:?}");
    assert_eq!(whole.series.len(), 10);
}

#[test]
fn the_last_second_of_a_run_may_be_a_short_one() {
    // A run of 1.5 s at 100 operations per second; the other one begins 0.3 s later.
    let mut hosts = [host(0, 0, &[1; 150]), host(1, 300 * MS, &[1; 120])];
    for (own, window_ns) in hosts.iter_mut().zip([1500 * MS, 1200 * MS]) {
        own.ran.measured.as_mut().unwrap().window_ns = window_ns;
    }
    let row = |(second, operations)| SeriesRow {
        second,
        class: "read".to_owned(),
        operations,
        bytes: 4096 * operations,
        latency_sum_ns: 0,
        latency_max_ns: 0,
        latency_buckets: Vec::new(),
    };
    hosts[0].ran.series = [(0, 100), (1, 50)].map(row).into();
    let whole = merged(&hosts);
    let rates: Vec<f64> = together(&whole).hosts.iter().map(|own| own.operations_per_s).collect();
    assert!(rates.iter().all(|rate| (rate - 100.0).abs() < 1e-9), "{rates:?}");
}

#[test]
fn a_class_is_no_path() {
    let mut hosts = [host(0, 0, &[1; 9]), host(1, 0, &[1; 9])];
    let own = hosts[1].latency_ns.remove("read").unwrap();
    hosts[1].latency_ns.insert("a/../../x".to_owned(), own);
    let whole = merged(&hosts);
    assert_eq!(whole.trial.status, Status::Failed);
    let why = whole.trial.reason.unwrap();
    assert!(why.starts_with("rank 1 (n1): unknown operation class a/../../x"), "{why}");
    assert!(whole.histograms.is_empty());
    assert!(is_class("read") && is_class("write-response"));
    assert!(!is_class("") && !is_class("..") && !is_class(&"x".repeat(LONGEST_CLASS + 1)));
}

#[test]
fn rows_per_second_are_added_up() {
    let row = |operations, max| SeriesRow {
        second: 1,
        class: "read".to_owned(),
        operations,
        bytes: 10,
        latency_sum_ns: 5,
        latency_max_ns: max,
        latency_buckets: vec![[3, 1], [9, operations as u32]],
    };
    let mut hosts = [host(0, 0, &[1; 9]), host(1, 0, &[1; 9])];
    hosts[0].ran.series = vec![row(4, 70)];
    hosts[1].ran.series = vec![row(6, 50)];
    let whole = merged(&hosts);
    let [one] = whole.series.as_slice() else { panic!("{:?}", whole.series) };
    assert_eq!((one.operations, one.bytes, one.latency_max_ns), (10, 20, 70));
    assert_eq!(one.latency_buckets, [[3, 2], [9, 10]]);
}

#[test]
fn a_host_without_a_number_makes_the_trial_failed_by_name() {
    let mut hosts = [host(0, 0, &[1]), host(2, 0, &[1])];
    (hosts[1].ran.status, hosts[1].ran.reason) =
        (Status::Failed, Some("no such scheduler".to_owned()));
    let record = merged(&hosts).trial;
    assert_eq!(record.status, Status::Failed);
    assert_eq!(record.reason.as_deref(), Some("rank 2 (n2): no such scheduler"));
    assert!(record.measured.is_none() && record.together.is_none());
    let lost = merge(&planned(), 0, 2, "now", &[], Some("rank 2 (n2) was lost".to_owned())).trial;
    assert_eq!((lost.status, lost.started.as_str()), (Status::Failed, "now"));
    let apart = merged(&[host(0, 0, &[1]), host(1, 11 * S, &[1])]).trial;
    assert!(apart.reason.unwrap().contains("do not overlap"));
}

#[test]
fn a_disturbed_host_disturbs_all_and_a_lead_in_counts_in_no_case() {
    let mut hosts = [host(0, 0, &[1]), host(1, 0, &[1])];
    (hosts[1].ran.status, hosts[1].ran.reason) =
        (Status::Disturbed, Some("others wrote".to_owned()));
    let record = merged(&hosts).trial;
    assert_eq!(record.status, Status::Disturbed);
    assert_eq!(record.reason.as_deref(), Some("rank 1 (n1): others wrote"));
    assert!(record.measured.is_some(), "it is kept and counted");
    let led = PlannedTrial { lead_in: true, ..planned() };
    assert_eq!(merge(&led, 0, 2, "", &hosts, None).trial.status, Status::Warmup);
    let failed = merge(&led, 0, 2, "", &[], None).trial;
    assert_eq!((failed.status, failed.measured.is_none()), (Status::Warmup, true));
}

#[test]
fn many_reasons_are_cut() {
    let mut hosts: Vec<OneHost> = (0..9).map(|rank| host(rank, 0, &[1])).collect();
    for own in &mut hosts {
        own.ran.status = Status::Failed;
    }
    let reason = merged(&hosts).trial.reason.unwrap();
    assert!(reason.ends_with("; and 6 more hosts"), "{reason}");
}

#[test]
fn histograms_of_other_settings_are_refused_by_name() {
    let documents = r#"[{"format":"assay-histogram/1","class":"read","unit":"ns","significant_digits":3,
        "lowest":1,"highest":3600000000000,"count":1,"v2_deflate_base64":"AAAA"}]"#;
    let ran = HostRecord { measured: None, ..host(1, 0, &[]).ran };
    let part = TrialPart { order: 0, ran, histograms: serde_json::from_str(documents).unwrap() };
    let one = part.histograms[0].clone();
    let many = TrialPart { histograms: vec![one; MOST_CLASSES + 1], ..part.clone() };
    assert!(OneHost::of_part(1, "n1", part).unwrap_err().contains("damaged"));
    assert!(OneHost::of_part(1, "n1", many).unwrap_err().contains("more histograms"));
}

proptest! {
    /// Operations and histograms are sums over ranks, in any order.
    #[test]
    fn sums_do_not_depend_on_the_order_of_hosts(
        counts in proptest::collection::vec(
            (0_u64..3 * S, proptest::collection::vec(1_u64..1_000_000, 1..40)), 1..8
        ),
    ) {
        let hosts: Vec<OneHost> =
            (0..).zip(&counts).map(|(rank, (begin, own))| host(rank, *begin, own)).collect();
        let whole = merged(&hosts);
        let mut back = hosts.clone();
        back.reverse();
        let other = merged(&back);
        let all: u64 = counts.iter().map(|(_, own)| own.len() as u64).sum();
        let measured = whole.trial.measured.as_ref().unwrap();
        prop_assert_eq!(measured.operations(), all);
        prop_assert_eq!(whole.trial.latency_ns["read"].len(), all);
        prop_assert_eq!(whole.histograms["read"].len(), all);
        prop_assert_eq!(&whole.trial.latency_ns, &other.trial.latency_ns);
        let [one, two] = [&whole, &other].map(|own| together(own).rate("iops").unwrap());
        prop_assert!((one - two).abs() <= 1e-9 * one.abs());
        let shared = together(&whole).shared().unwrap();
        prop_assert!(shared > 0.0 && shared <= 1.0);
        // At a constant rate, each host is as fast in the common window as in its whole window.
        let evenly: f64 = counts.iter().map(|(_, own)| own.len() as f64 / 10.0).sum();
        prop_assert!((one - evenly).abs() <= 1e-6 * evenly);
    }
}
