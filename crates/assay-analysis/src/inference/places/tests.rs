//! Platforms: the output must contain all of the input.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::import::{self, Options};
use assay_study::findings::Verdict;
use assay_study::findings::facts::PlaceFacts;
use assay_study::findings::places::{NameSource, PlaceRow, PlatformUnit};
use assay_testkit::expected::{expect, filled};

use super::super::judge;
use super::super::tests::Bench;
use super::*;

/// A result of a platform with these rates of one workload.
fn measured(id: &str, place: (&str, PlaceSort), rates: &[u64]) -> LabeledResult {
    of_bench(id, place, &Bench::new(&["."]).row(0, "random-read-q1", 4096, rates))
}

fn of_bench(id: &str, (name, kind): (&str, PlaceSort), bench: &Bench) -> LabeledResult {
    let mut findings = bench.findings();
    findings.study.id = id.to_owned();
    // Classes of requests and latencies are not the subject here.
    findings.measurements.retain(|cell| cell.metric == "iops");
    findings.environment.platform = Some(PlaceFacts {
        name: name.to_owned(),
        kind,
        signs: Vec::new(),
        frequency: None,
        mitigations: None,
        clocksource: None,
        steal_share: None,
    });
    LabeledResult { findings, label: None }
}

const BARE: (&str, PlaceSort) = ("bare metal", PlaceSort::BareMetal);
const KVM: (&str, PlaceSort) = ("KVM", PlaceSort::Hypervisor);
const TCG: (&str, PlaceSort) = ("QEMU TCG", PlaceSort::Emulator);

fn compared(brought: &[LabeledResult]) -> Findings {
    by_place(brought, PlatformQuery::default()).unwrap()
}

fn refused(brought: &[LabeledResult], question: PlatformQuery) -> String {
    by_place(brought, question).unwrap_err().message
}

fn of(found: &Findings) -> &Places {
    found.platforms.as_ref().unwrap()
}

fn row<'a>(found: &'a Findings, place: &str) -> &'a PlaceRow {
    of(found).rows.iter().find(|row| row.platform == place).unwrap()
}

fn verdict(found: &Findings, place: &str) -> Option<Verdict> {
    found.comparison(row(found, place).comparison.as_ref()?)?.verdict
}

fn told<'a>(found: &'a Findings, check: &str) -> Vec<&'a str> {
    let own = found.checks.iter().filter(|one| one.name == check);
    own.map(|one| one.text.as_str()).collect()
}

/// Rates around one with a scatter of about 1%.
fn around(rate: u64) -> Vec<u64> {
    [990, 1000, 1010, 1005].map(|share| rate * share / 1000).to_vec()
}

/// Tidy trials of a table with one row per platform: platform, a metric and possibly published values.
fn tidy(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let mut tidy = "replicate,workload,metric,value,factor_place\n".to_owned();
    let mut replicates: BTreeMap<&str, u32> = BTreeMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let replicate = replicates.entry(fields[0]).or_default();
        *replicate += 1;
        for (name, value) in header.iter().zip(&fields) {
            let metric = match *name {
                "seconds" => "duration_s:lower",
                "iops" => "iops:higher",
                "published_percent" => "published_percent:higher",
                _ => continue,
            };
            writeln!(tidy, "{replicate},work,{metric},{value},{}", fields[0]).unwrap();
        }
    }
    tidy
}

fn table(text: &str) -> LabeledResult {
    let text = &tidy(text);
    let bytes = text.as_bytes().to_vec();
    let name = "t.csv".to_owned();
    let files = [import::ImportedFile { name, bytes, ..import::ImportedFile::default() }];
    let imported =
        import::read(import::of_bytes("", text.as_bytes()).unwrap(), &files, &Options::default())
            .unwrap();
    let mut findings = Bench::new(&["."]).row(0, "random-read-q1", 4096, &[1]).findings();
    findings.environment.unknown = Unknown::ALL.to_vec();
    findings.study.id = "table".to_owned();
    let findings = judge(findings.study, findings.environment, imported.measurements);
    LabeledResult { findings, label: None }
}

#[test]
fn rates_are_per_cent_of_the_baseline_and_its_interval_lies_around_them() {
    let found =
        compared(&[measured("b", KVM, &around(5_000)), measured("a", BARE, &around(10_000))]);
    let places = of(&found);
    assert_eq!(
        (places.baseline.as_str(), places.chosen),
        ("bare metal", BaselineChoice::BareMetal)
    );
    let kvm = row(&found, "KVM");
    assert!((kvm.percent.unwrap() - 50.0).abs() < 0.1, "{kvm:?}");
    let [low, high] = kvm.percent_interval().unwrap();
    // Trials vary by 1%, days by 3%.
    assert!(45.0 < low && low < 48.0 && 52.0 < high && high < 55.0, "{low} {high}");
    assert_eq!((kvm.n, kvm.unit), (4, PlatformUnit::Trials));
    assert_eq!(row(&found, "bare metal").percent, Some(100.0));
    // One result per side: only the detectable difference.
    assert_eq!(verdict(&found, "KVM"), Some(Verdict::Inconclusive));
    let text = &found.comparisons[0].text;
    assert!(
        text.contains(
            "day-to-day variation). Inconclusive: fewer than three results per side; smallest detectable loss 1"
        ),
        "{text}"
    );
    assert!(!text.contains("this suggests"), "{text}");
    let days = told(&found, "sessions");
    assert!(days[0].contains("day-to-day variation 3%"), "{days:?}");
    let asked = PlatformQuery { days: Days::asked(0.2), ..PlatformQuery::default() };
    let wide = by_place(
        &[measured("b", KVM, &around(5_000)), measured("a", BARE, &around(10_000))],
        asked,
    );
    let [wider, _] = row(&wide.unwrap(), "KVM").percent_interval().unwrap();
    assert!(wider < low, "{wider} {low}");
    // No single number: nothing in the findings is a mean over workloads.
    assert!(found.effects.ranks.is_empty() && found.effects.main.is_empty());
}

#[test]
fn a_place_has_the_number_that_its_result_tells() {
    use assay_study::results::record::Status;
    // With two undisturbed trials of five, which are too few, all of them count.
    for disturbed in [0, 1, 3] {
        let mut bench = Bench::new(&["."]).row(
            0,
            "random-read-q1",
            4096,
            &[10_000, 12_000, 9_000, 15_000, 8_000],
        );
        for trial in bench.trials.iter_mut().take(disturbed) {
            trial.status = Status::Disturbed;
        }
        let own = of_bench("a", BARE, &bench);
        let value = own.findings.measurements.iter().find(|cell| cell.primary).unwrap().value();
        let found = compared(&[own, measured("b", KVM, &around(5_000))]);
        let told = row(&found, "bare metal").value;
        assert!((told.unwrap() / value.unwrap() - 1.0).abs() < 1e-9, "{told:?} {value:?}");
    }
}

#[test]
fn of_times_less_is_faster() {
    let rows = |place: &str, times: [f64; 3]| -> String {
        let rows = times.iter().map(|time| format!("{place},{time}"));
        rows.collect::<Vec<_>>().join("\n") + "\n"
    };
    let text = format!(
        "place,seconds\n{}{}",
        rows("old", [10.0, 10.1, 9.9]),
        rows("new", [5.0, 5.05, 4.95])
    );
    let found = compared(&[table(&text)]);
    assert_eq!((of(&found).baseline.as_str(), of(&found).chosen), ("old", BaselineChoice::Table));
    let new = row(&found, "new");
    assert!((new.percent.unwrap() - 200.0).abs() < 0.1);
    let [low, high] = new.percent_interval().unwrap();
    assert!(180.0 < low && low < 200.0 && 200.0 < high && high < 220.0, "{low} {high}");
    let text = &found.comparisons[0].text;
    // As for rates, a loss is a lower speed.
    assert!(text.contains("smallest detectable loss 1"), "{text}");
}

/// The published table of article 000 in the form of a user's import.
const ARTICLE: &str = include_str!("../../../../../reference/virtualisation.csv");

#[test]
fn the_numbers_of_the_article_give_its_percentages_to_the_digit() {
    let found = compared(&[table(ARTICLE)]);
    let places = of(&found);
    assert_eq!((places.baseline.as_str(), places.platforms.len()), ("bare metal", 8));
    for line in ARTICLE.lines().skip(2) {
        let fields: Vec<&str> = line.split(',').collect();
        let row = row(&found, fields[0]);
        assert_eq!(row.value, Some(fields[1].parse().unwrap()), "{line}");
        assert_eq!(format!("{:.2}", row.percent.unwrap()), fields[3], "{line}");
        let doubted = fields[4].contains("disagree");
        assert_eq!(row.printed.unwrap().follows, !doubted, "{line}");
        assert_eq!(verdict(&found, fields[0]), None);
    }
    assert_eq!(
        told(&found, "published"),
        [
            "work in VirtualBox 4.1.18: published as 19.06%, but 1042.523 of 8876.945 s is 11.74%; 19.06% would be \
             5470 s, so at least one of the two published numbers is wrong"
        ]
    );
}

#[test]
fn an_emulated_place_has_numbers_and_no_verdict_wherever_it_stands() {
    let two = [measured("a", BARE, &around(10_000)), measured("b", KVM, &around(9_000))];
    let emulated = measured("t", TCG, &around(1_000));
    let [bare, kvm] = two.clone();
    let found = compared(&[emulated, bare, kvm]);
    let order: Vec<&str> = of(&found).platforms.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(order, ["bare metal", "KVM", "QEMU TCG"]);
    let emulated = row(&found, "QEMU TCG");
    assert!(emulated.emulated && (emulated.percent.unwrap() - 10.0).abs() < 0.1);
    assert!(emulated.percent_ci95.is_some() && emulated.percent_ci95_simultaneous.is_none());
    assert_eq!(verdict(&found, "QEMU TCG"), None);
    // It gets no share of the error.
    assert_eq!(row(&found, "KVM"), row(&compared(&two), "KVM"));
    assert_eq!(told(&found, "emulated").len(), 1);
    let asked = PlatformQuery { baseline: Some("qemu tcg".to_owned()), ..PlatformQuery::default() };
    let [bare, kvm] = two;
    let found = by_place(&[bare, kvm, measured("t", TCG, &around(1_000))], asked).unwrap();
    assert_eq!(of(&found).baseline, "QEMU TCG");
    assert!(found.comparisons.iter().all(|one| one.verdict.is_none()));
}

#[test]
fn three_results_of_a_place_are_sessions_and_two_are_taken_together() {
    let day = |id: &str, place, rate: u64| measured(id, place, &around(rate));
    let two = compared(&[day("a", BARE, 10_000), day("b", BARE, 10_100), day("k", KVM, 9_000)]);
    let bare = row(&two, "bare metal");
    assert_eq!((bare.unit, bare.n), (PlatformUnit::TrialsOfResults, 8));
    assert!(told(&two, "sessions")[0].starts_with("bare metal: 2 results from one day"));
    let sides = |rates: [u64; 3]| {
        let [one, two, three] = rates;
        vec![
            day("a", BARE, 10_000),
            day("b", BARE, 10_050),
            day("c", BARE, 9_950),
            day("x", KVM, one),
            day("y", KVM, two),
            day("z", KVM, three),
        ]
    };
    let margin = PlatformQuery { margin: Some(0.05), ..PlatformQuery::default() };
    let alike = by_place(&sides([10_000, 10_040, 9_960]), margin.clone()).unwrap();
    let kvm = row(&alike, "KVM");
    assert_eq!((kvm.unit, kvm.n), (PlatformUnit::Sessions, 3));
    assert_eq!(verdict(&alike, "KVM"), Some(Verdict::Equivalent));
    let apart = by_place(&sides([8_000, 8_040, 7_960]), margin.clone()).unwrap();
    assert_eq!(verdict(&apart, "KVM"), Some(Verdict::Worse));
    let text = &apart.comparisons[0].text;
    assert!(text.ends_with("this suggests that KVM is slower."), "{text}");
    // Two results on one side and three on the other are still too few, but the interval is narrower.
    let few = by_place(&sides([8_000, 8_040, 7_960])[..5], margin.clone()).unwrap();
    assert_eq!(verdict(&few, "KVM"), Some(Verdict::Inconclusive));
    let fewer = by_place(&sides([8_000, 8_040, 7_960])[..4], margin.clone()).unwrap();
    let width = |found: &Findings| {
        let [low, high] = row(found, "KVM").percent_interval().unwrap();
        high - low
    };
    assert!(width(&few) < width(&fewer), "{} {}", width(&few), width(&fewer));
    // Variation between days hides differences that the trials alone would show.
    let wild = by_place(&sides([11_000, 9_000, 8_000]), margin).unwrap();
    assert_eq!(verdict(&wild, "KVM"), Some(Verdict::Inconclusive));
    // One day is never equivalent, however alike.
    let one = compared(&[day("a", BARE, 10_000), day("k", KVM, 10_000)]);
    assert_eq!(verdict(&one, "KVM"), Some(Verdict::Inconclusive));
}

#[test]
fn results_of_two_days_and_machines_are_told() {
    let mut later = measured("b", BARE, &around(10_000));
    later.findings.study.started = "2026-08-02T09:00:00Z".to_owned();
    later.findings.environment.kernel = "6.13".to_owned();
    let found = compared(&[
        measured("a", BARE, &around(10_000)),
        later,
        measured("k", KVM, &around(9_000)),
    ]);
    assert!(told(&found, "sessions")[0].contains("2 results from 2026-07-30 and 2026-08-02"));
    assert_eq!(told(&found, "machines"), ["bare metal: the results come from different kernels"]);
    // Two platforms may have different kernels; two results with one kernel are one platform.
    let mut guest = measured("k", KVM, &around(9_000));
    guest.findings.environment.kernel = "6.13".to_owned();
    let bare = |id| measured(id, BARE, &around(10_000));
    let alike = compared(&[bare("a"), bare("b"), guest]);
    assert_eq!(self::told(&alike, "sessions").len(), 2, "it has two results, and days scatter");
    assert_eq!(self::told(&alike, "machines"), [""; 0]);
}

/// Too many comparisons for one sentence each are counted by verdict.
#[test]
fn of_many_places_verdicts_are_counted() {
    let rates = [("a", 5_000), ("b", 5_100), ("c", 5_200), ("d", 20_000), ("e", 10_000)];
    let named = |(id, rate): (&str, u64)| {
        let place = LabeledResult {
            label: Some(format!("place {id}")),
            ..measured(id, KVM, &around(rate))
        };
        (place, rate)
    };
    let bare = measured("0", BARE, &around(10_000));
    let all = |rates: &[(&str, u64)]| -> Vec<LabeledResult> {
        std::iter::once(bare.clone()).chain(rates.iter().map(|one| named(*one).0)).collect()
    };
    let sentences = |found: &Findings| -> Vec<String> { found.summary_texts().clone() };
    let found = sentences(&compared(&all(&rates)));
    let [one] = &found[..] else { panic!("{found:#?}") };
    assert!(one.contains("place d is fastest with 200% of the speed"), "{one}");
    let counts =
        "5 comparisons across machines (suggestive only): 5 inconclusive (too few results).";
    assert!(one.ends_with(counts), "{one}");
    // Few have a sentence each, and nothing is counted.
    let few = sentences(&compared(&all(&rates[1..])));
    assert!(few.len() == 4 && few.iter().all(|one| !one.contains("across machines (")), "{few:#?}");
    // A comparison without an interval is not counted.
    let single = |id: &str, rate| LabeledResult {
        label: Some(format!("place {id}")),
        ..measured(id, KVM, &[rate])
    };
    let alone: Vec<LabeledResult> = std::iter::once(measured("0", BARE, &[10_000]))
        .chain(rates.map(|(id, rate)| single(id, rate)))
        .collect();
    let told = sentences(&compared(&alone));
    assert!(told[0].ends_with("too few trials for CIs and verdicts."), "{told:#?}");
}

/// A platform with several workloads gets one sentence with the verdicts of these alone.
#[test]
fn of_many_workloads_the_verdicts_of_a_place_are_counted() {
    let names = ["random-read-q1", "random-write-q1", "sync-write"];
    let place = |id: &str, place, rates: [u64; 3]| {
        let rows = names.iter().zip(rates);
        let bench = rows.fold(Bench::new(&["."]), |bench, (name, rate)| {
            bench.row(0, name, 4096, &around(rate))
        });
        of_bench(id, place, &bench)
    };
    let found = compared(&[
        place("a", BARE, [10_000; 3]),
        place("k", KVM, [5_000, 20_000, 2_500]),
        place("t", TCG, [100; 3]),
    ]);
    let [kvm, emulated] = &found.summary_texts()[..] else {
        panic!("{:#?}", found.summary_texts())
    };
    assert!(kvm.starts_with("KVM has 25.0% (sync-write) to 200% (random-write-q1)"), "{kvm}");
    let counts =
        "3 comparisons across machines (suggestive only): 3 inconclusive (too few results).";
    assert!(kvm.ends_with(counts), "{kvm}");
    assert!(emulated.ends_with("no verdict, because the platform is emulated."), "{emulated}");
}

#[test]
fn equal_names_of_other_machines_are_other_places() {
    let mut large = measured("large", KVM, &around(9_000));
    large.findings.environment.cpus = Some(16);
    let found = compared(&[
        measured("a", BARE, &around(10_000)),
        measured("small", KVM, &around(5_000)),
        large.clone(),
    ]);
    let names: Vec<&str> = of(&found).platforms.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["bare metal", "KVM (4 processors)", "KVM (16 processors)"]);
    // Equal names from the user are one platform, with a note.
    let mut small = measured("small", KVM, &around(5_000));
    (small.label, large.label) = (Some("guest".to_owned()), Some("guest".to_owned()));
    let found = compared(&[measured("a", BARE, &around(10_000)), small, large]);
    assert_eq!(of(&found).platforms.len(), 2);
    assert_eq!(of(&found).platforms[1].named, NameSource::Given);
    assert_eq!(
        told(&found, "machines"),
        ["guest: the results come from machines with different CPUs or memory"]
    );
}

#[test]
fn what_a_place_lacks_is_absent_with_its_reason() {
    let both = |name: &str| {
        let bench = Bench::new(&["."]).row(0, "random-read-q1", 4096, &around(10_000));
        of_bench(name, BARE, &bench.row(0, "sequential-write", 4096, &around(100)))
    };
    let mut guest = measured("k", KVM, &around(9_000));
    let found = compared(&[both("a"), guest.clone()]);
    let lacking = of(&found).rows.iter().find(|row| row.absent.is_some()).unwrap();
    assert_eq!((lacking.platform.as_str(), lacking.workload.as_str()), ("KVM", "sequential-write"));
    assert_eq!(lacking.absent.as_deref(), Some("the workload did not run on that platform"));
    guest.findings.absent.push(AbsentCell {
        workload: "sequential-write".to_owned(),
        configuration: assay_study::results::plan::Arm::new(),
        metric: None,
        reason: "left out: no compiler".to_owned(),
        obstacle: Some("no compiler".to_owned()),
    });
    let found = compared(&[both("a"), guest]);
    let lacking = of(&found).rows.iter().find(|row| row.absent.is_some()).unwrap();
    assert_eq!(lacking.absent.as_deref(), Some("no compiler"));
    assert_eq!(found.absent.len(), 1);
}

#[test]
fn failed_trials_are_told_and_a_workload_without_others_has_its_reason() {
    let fails = |all: bool| {
        let mut guest = measured("k", KVM, &around(9_000));
        let cell = guest.findings.measurements.iter_mut().find(|cell| cell.primary).unwrap();
        let count = if all { cell.trials.len() } else { 1 };
        for trial in &mut cell.trials[..count] {
            trial.status = assay_study::results::record::Status::Failed;
            (trial.value, trial.reason) = (None, Some("it was killed".to_owned()));
        }
        compared(&[measured("a", BARE, &around(10_000)), guest, measured("c", TCG, &around(9))])
    };
    assert_eq!(told(&fails(false), "failed"), ["random-read-q1 in KVM: 1 of 4 trials failed"]);
    assert_eq!(
        row(&fails(true), "KVM").absent.as_deref(),
        Some("none of 4 trials is valid: it was killed")
    );
}

#[test]
fn another_protocol_is_told() {
    let mut other = measured("k", KVM, &around(9_000));
    other.findings.workloads[0].text = "4 KiB at random, another engine".to_owned();
    other.findings.environment.assay = "9.9.9".to_owned();
    let found = compared(&[measured("a", BARE, &around(10_000)), other]);
    let told = told(&found, "protocol").join("\n");
    assert!(told.contains("KVM against bare metal: Assay version 9.9.9 instead of"), "{told}");
    assert!(told.contains("another engine instead of"), "{told}");
    let same =
        compared(&[measured("a", BARE, &around(10_000)), measured("k", KVM, &around(9_000))]);
    assert_eq!(self::told(&same, "protocol"), [""; 0]);
}

#[test]
fn what_cannot_be_compared_is_refused_with_what_to_do() {
    let [bare, kvm] = [measured("a", BARE, &around(10)), measured("k", KVM, &around(9))];
    let none = PlatformQuery::default;
    let alone = refused(std::slice::from_ref(&bare), none());
    assert_eq!(
        alone,
        "all numbers are from platform bare metal; add a result from another platform"
    );
    assert!(refused(&[bare.clone(), bare.clone()], none()).starts_with("a was given twice"));
    let other =
        of_bench("k", KVM, &Bench::new(&["."]).row(0, "sequential-write", 4096, &around(9)));
    let nothing = refused(&[bare.clone(), other], none());
    assert!(
        nothing.ends_with("bare metal has random-read-q1; KVM has sequential-write"),
        "{nothing}"
    );
    let asked = PlatformQuery { baseline: Some("moon".to_owned()), ..none() };
    let unknown = refused(&[bare.clone(), kvm.clone()], asked);
    assert!(unknown.ends_with("use one of bare metal and KVM"), "{unknown}");
    let mut nowhere = kvm;
    nowhere.findings.environment.platform = None;
    nowhere.findings.environment.unknown = Unknown::ALL.to_vec();
    assert!(refused(&[bare.clone(), nowhere], none()).contains("--platform k=NAME"));
    let mut named = table("place,seconds\nx,1\ny,2\n");
    named.label = Some("z".to_owned());
    assert!(refused(&[bare, named], none()).contains("already contains platform names (x and y)"));
}

#[test]
fn results_of_versions_before_places_tell_bare_metal_from_guests() {
    let old = |id: &str, virtualisation: &str| {
        let mut one = measured(id, BARE, &around(10_000));
        one.findings.environment.platform = None;
        virtualisation.clone_into(&mut one.findings.environment.virtualization);
        one
    };
    let found = compared(&[old("g", "kvm guest"), old("b", "none")]);
    let names: Vec<&str> = of(&found).platforms.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["bare metal", "kvm guest"]);
}

#[test]
fn the_first_place_is_the_baseline_where_none_is_bare_metal_and_that_is_told() {
    let found = compared(&[measured("t", TCG, &around(10)), measured("k", KVM, &around(9)), {
        measured("c", ("container (docker)", PlaceSort::Container), &around(8))
    }]);
    assert_eq!((of(&found).baseline.as_str(), of(&found).chosen), ("KVM", BaselineChoice::First));
    assert!(told(&found, "baseline")[0].contains("the baseline is the first platform, KVM;"));
}

/// Platforms with three workloads each: similar, different, and missing.
fn grid() -> Vec<LabeledResult> {
    let place = |id: &str, place, rates: [u64; 3]| {
        let bench = Bench::new(&["."]);
        let names = ["random-read-q1", "random-write-q1", "seq-read"];
        let own = names.into_iter().zip(rates).filter(|(_, rate)| *rate > 0);
        let bench = own.fold(bench, |bench, (name, rate)| bench.row(0, name, 4096, &around(rate)));
        of_bench(id, place, &bench)
    };
    let mut all = vec![
        place("20261101-a", BARE, [10_000, 4_000, 900]),
        place("20261102-b", KVM, [10_005, 2_000, 1_800]),
        place("20261103-c", ("Xen", PlaceSort::Hypervisor), [9_000, 4_300, 0]),
        place("20261104-d", TCG, [900, 80, 70]),
        place("20261105-e", ("LXC", PlaceSort::Container), [10_000, 4_000, 900]),
    ];
    all[3].label = Some("a program".to_owned());
    all
}

/// `UPDATE_EXPECT=1` rewrites the file.
#[test]
#[allow(clippy::disallowed_methods, reason = "a fixture of a test")]
fn all_that_is_said_of_places() {
    let one = |id: &str, place, rate| measured(id, place, &around(rate));
    let many = ["a", "b", "c", "d", "e", "f"].map(|name| {
        let rate = 5_000 + 1_000 * u64::from(name.as_bytes()[0] - b'a');
        one(name, (name, PlaceSort::Hypervisor), rate)
    });
    let named =
        |name: &str| PlatformQuery { baseline: Some(name.to_owned()), ..PlatformQuery::default() };
    let alike = |places: &mut Vec<LabeledResult>| {
        places.extend(["g", "h"].map(|id| one(id, ("a", PlaceSort::Hypervisor), 5_050)));
        places.extend(["i", "j"].map(|id| one(id, ("b", PlaceSort::Hypervisor), 6_050)));
    };
    let mut sessions = many[..2].to_vec();
    alike(&mut sessions);
    let margin = PlatformQuery { margin: Some(0.3), ..PlatformQuery::default() };
    let mut found = String::new();
    for (title, brought, question) in [
        ("the article", vec![table(ARTICLE)], PlatformQuery::default()),
        ("a grid", grid(), PlatformQuery::default()),
        ("a grid by another baseline", grid(), named("kvm")),
        ("two of it", grid()[..2].to_vec(), PlatformQuery::default()),
        ("many places of one workload", many.to_vec(), named("c")),
        ("sessions", sessions.clone(), PlatformQuery::default()),
        ("sessions with a margin", sessions, margin),
    ] {
        let told = by_place(&brought, question).unwrap();
        let mut value = serde_json::to_value(&told).unwrap();
        let own = value.as_object_mut().unwrap();
        own.retain(|name, _| {
            !["environment", "measurements", "comparisons", "format"].contains(&name.as_str())
        });
        // The machine's facts are the same in each of them.
        if title != "a grid" {
            for place in own["platforms"]["platforms"].as_array_mut().unwrap() {
                place.as_object_mut().unwrap().remove("machine");
            }
        }
        let comparisons =
            told.comparisons.iter().map(|one| format!("{:?} {}\n", one.verdict, one.text));
        let comparisons: String = comparisons.collect();
        let value = serde_json::to_string_pretty(&value).unwrap();
        let value = filled(&value.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
        found.extend([format!("# {title}\n{comparisons}{value}")]);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/told/places.txt");
    expect(path, &found);
}

#[test]
fn rates_that_were_printed_are_held_against_rates() {
    let text = "place,iops,published_percent\nbare metal,1000,100\na,800,80\nb,500,60.5\n";
    let found = compared(&[table(text)]);
    assert_eq!(
        told(&found, "published"),
        [
            "work in b: published as 60.5%, but 500 of 1000 is 50.00%; 60.5% would be 605, so at least one of the \
             two published numbers is wrong"
        ]
    );
    let printed = |place: &str| row(&found, place).printed.unwrap();
    assert_eq!(
        (printed("a").percent, printed("a").computed, printed("a").follows),
        (80.0, 80.0, true)
    );
    assert!(!printed("b").follows);
    // Without the platform of 100%, the percentages have no reference.
    let unknown =
        compared(&[table("place,iops,published_percent\nbare metal,1000,99\na,800,80\n")]);
    assert_eq!((row(&unknown, "a").printed, told(&unknown, "published")), (None, vec![]));
}

#[test]
fn machines_are_alike_that_have_as_much_memory_to_a_tenth() {
    let with = |bytes: Option<u64>| {
        let mut one = measured("x", KVM, &[1]).findings.environment;
        one.memory_bytes = bytes;
        one
    };
    let same =
        |one: Option<u64>, other: Option<u64>| spots::is_same_machine(&with(one), &with(other));
    assert!(same(Some(1000), Some(900)) && same(Some(900), Some(1000)));
    assert!(!same(Some(1000), Some(899)) && !same(Some(899), Some(1000)));
    assert!(same(None, Some(1)) && same(Some(1), None) && same(None, None));
    let mut other = with(None);
    other.cpu = "another".to_owned();
    assert!(!spots::is_same_machine(&with(None), &other));
    other = with(None);
    other.cpus = None;
    assert!(!spots::is_same_machine(&with(None), &other));
}

#[test]
fn places_of_one_name_are_told_apart_by_what_differs() {
    let names = |change: &dyn Fn(&mut EnvironmentFacts)| {
        let mut large = measured("large", KVM, &around(9_000));
        change(&mut large.findings.environment);
        let small = measured("small", KVM, &around(5_000));
        let found = compared(&[measured("a", BARE, &around(10_000)), small, large]);
        of(&found).platforms.iter().map(|one| one.name.clone()).collect::<Vec<_>>()
    };
    let cpu = names(&|own| own.cpu = "Another CPU".to_owned());
    assert!(cpu[2] == "KVM (Another CPU)" && cpu[1].starts_with("KVM ("), "{cpu:?}");
    let memory = names(&|own| own.memory_bytes = Some(1 << 30));
    assert_eq!(memory[2], "KVM (1 GiB memory)");
    let untold = names(&|own| own.cpus = None);
    assert_eq!(untold[2], "KVM (CPUs not recorded)");
    assert_eq!(names(&|_| ()).len(), 2, "the same machine is the same place");
    assert_eq!(
        [words::processors(Some(1)), words::memory(None)],
        ["1 processor", "memory not recorded"]
    );
}

#[test]
fn four_places_are_named_in_a_title_and_five_are_counted() {
    let title = |count: usize| {
        let names = ["a", "b", "c", "d", "e"];
        let one = |(at, name): (usize, &&'static str)| {
            let id = format!("r{at}");
            measured(&id, (name, PlaceSort::Hypervisor), &around(100 + at as u64))
        };
        let all: Vec<LabeledResult> = names[..count].iter().enumerate().map(one).collect();
        let found = compared(&all);
        (found.study.title.clone(), found.study.id.clone())
    };
    assert_eq!(title(4).0, "Comparison of 4 platforms: a, b, c and d");
    assert_eq!(title(5), ("Comparison of 5 platforms".to_owned(), "r0..r1+r2+r3+r4".to_owned()));
    assert_eq!(compared(&[table("place,seconds\nx,1\ny,2\n")]).study.id, "table-by-place");
}

#[test]
fn a_baseline_is_found_by_its_name_or_by_a_result_of_it() {
    let all =
        || [measured("20261101-a", BARE, &around(10)), measured("20261102-k", KVM, &around(9))];
    let by = |name: &str| {
        let asked = PlatformQuery { baseline: Some(name.to_owned()), ..PlatformQuery::default() };
        by_place(&all(), asked).map(|found| (of(&found).baseline.clone(), of(&found).chosen))
    };
    for name in ["KVM", "kvm", "20261102"] {
        assert_eq!(by(name).unwrap(), ("KVM".to_owned(), BaselineChoice::Asked), "{name}");
    }
    assert!(by("2026").is_err(), "that fits both");
    assert_eq!(told(&by_place(&all(), PlatformQuery::default()).unwrap(), "baseline"), [""; 0]);
}

#[test]
fn failed_trials_of_sessions_and_of_whole_places_are_not_told() {
    let failed = |cell: &mut assay_study::findings::Measurement| {
        cell.trials[0].status = assay_study::results::record::Status::Failed;
        cell.trials[0].value = None;
    };
    let day = |id: &str, rate: u64| {
        let mut own = measured(id, KVM, &around(rate));
        failed(own.findings.measurements.iter_mut().find(|cell| cell.primary).unwrap());
        own
    };
    let bare = measured("a", BARE, &around(10_000));
    let two = compared(&[bare.clone(), day("x", 9_000), day("y", 9_010)]);
    assert_eq!(told(&two, "failed"), ["random-read-q1 in KVM: 2 of 8 trials failed"]);
    let three = compared(&[bare, day("x", 9_000), day("y", 9_010), day("z", 8_990)]);
    assert_eq!(told(&three, "failed"), [""; 0], "their numbers are those of days");
    assert_eq!((row(&three, "KVM").failed, row(&three, "KVM").n), (3, 3));
    assert_eq!(row(&two, "KVM").n, 6);
}

#[test]
fn lists_are_read_as_one_writes_them() {
    let list = |names: &[&str]| listed(names);
    assert_eq!([list(&[]), list(&["a"]), list(&["a", "b"])], ["", "a", "a and b"]);
    assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    assert_eq!(words::not_there(Some("iops")), "the metric on that platform is iops");
}

#[test]
fn a_table_of_two_rows_a_place_has_two_trials_and_no_interval() {
    let text = "place,seconds\nold,10\nold,10.2\nnew,5\nnew,5.1\n";
    let found = compared(&[table(text)]);
    let new = row(&found, "new");
    assert_eq!((new.n, new.percent_interval(), verdict(&found, "new")), (2, None, None));
    assert!(found.comparisons[0].text.contains("Too few trials for a CI and a verdict; run"));
    assert!((new.value.unwrap() - (5.0_f64 * 5.1).sqrt()).abs() < 1e-9, "the geometric mean");
    let three =
        compared(&[table("place,seconds\nold,10\nold,10.2\nold,10.1\nnew,5\nnew,5.1\nnew,5.05\n")]);
    assert!(row(&three, "new").percent_interval().is_some());
    assert_eq!(row(&three, "old").percent, Some(100.0));
}

#[test]
fn what_each_place_has_is_told_once_where_nothing_is_in_common() {
    let bare = |id| measured(id, BARE, &around(10));
    let mut other = measured("k", KVM, &around(9));
    let workloads = |change: &dyn Fn(&mut assay_study::findings::Measurement),
                     other: &mut LabeledResult| {
        other.findings.measurements.iter_mut().for_each(change);
        refused(&[bare("a"), bare("b"), other.clone()], PlatformQuery::default())
    };
    let aside = workloads(&|cell| cell.primary = false, &mut other);
    assert!(aside.ends_with("bare metal has random-read-q1; KVM has no numbers"), "{aside}");
}
