//! Every figure from small handmade evidence, compared with viewable files, and checks on all figures.
#![allow(clippy::disallowed_methods, reason = "these tests read and rewrite fixtures")]

mod hosts;
pub(crate) mod leads;
mod phases;
mod raced;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use regex_lite::Regex;

use super::table::table;
use super::{FIGURES, Ordered, all, ordered};
use crate::evidence::{Evidence, RowLatencies, TrialEvidence};
use crate::svg::{Theme, file, inline};
use crate::tests::fixture;
use assay_analysis::inference::published::{self, Published, PublishedUnit};
use assay_analysis::inference::surfaces::{self, Accesses, Band, Extremes, Surface};
use assay_core::exhibit::figure::{AxisScale, Figure, Look};
use assay_study::findings::{Findings, OfKinds, Trust};
use assay_study::results::plan::Arm;
use assay_study::results::record::Status;
use assay_study::results::series::SeriesRow;
use assay_study::results::tally::Tally;
use assay_testkit::expected::Expected;
use assay_testkit::kinds::kept;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Two arms of one workload with all kinds of records: series, latencies, a surface.
fn recorded() -> Evidence {
    let mut evidence = Evidence::bare(fixture("study-two-arms"));
    let arms: Vec<Arm> =
        ["mq-deadline", "none"].map(|level| Arm::from([("scheduler".into(), level.into())])).into();
    for order in 1..=6_u32 {
        let arm = arms[(order as usize + 1) % 2].clone();
        evidence.trials.push(trial(order, arm, if order == 4 { 3 } else { 1 }));
    }
    evidence.latencies =
        arms.iter().flat_map(|arm| ["read", "write"].map(|class| latencies(arm, class))).collect();
    let published = published(&evidence.findings);
    let exhibit = published::exhibit(&evidence.findings, &published);
    evidence.findings.exhibits.extend(exhibit);
    let surfaces: Vec<Surface> = arms.iter().map(surface).collect();
    let exhibit =
        surfaces::exhibit(&evidence.findings, &published, &surfaces, &[accesses(&arms[0])]);
    evidence.findings.exhibits.extend(exhibit);
    evidence
}

fn trial(order: u32, arm: Arm, slow: u64) -> TrialEvidence {
    let row = |second: u32| SeriesRow {
        second,
        class: "write".to_owned(),
        operations: 20_000 / slow + u64::from(second % 3) * 500,
        bytes: 4096 * 20_000 / slow,
        latency_sum_ns: 1_000_000_000,
        latency_max_ns: 900_000 * slow + u64::from(second) * 70_000,
        latency_buckets: vec![
            [13 + second % 3, 9000],
            [15, 10_000 / slow as u32],
            [16, 900 + second],
            [22, 1 + second % 2],
        ],
    };
    let disturbed = slow > 1;
    TrialEvidence {
        runs_ns: Vec::new(),
        hosts: Vec::new(),
        order,
        replicate: order.div_ceil(2),
        workload: Arc::new("random-write".to_owned()),
        arm: Arc::new(arm),
        control: false,
        status: if disturbed { Status::Disturbed } else { Status::Ok },
        reason: disturbed.then(|| "another program wrote 40 MiB".to_owned()),
        repeats: None,
        started: "2026-11-20T10:31:12Z".to_owned(),
        ramp_ns: 1_500_000_000,
        ramp_counts: false,
        series: (0..7).map(row).collect(),
    }
}

fn commands() -> Evidence {
    let mut evidence = Evidence::bare(fixture("study-commands"));
    let cells = evidence.findings.measurements.iter().filter(|cell| cell.metric == "duration_s");
    let own: Vec<(Arm, Vec<f64>)> = cells
        .map(|cell| {
            (cell.configuration.clone(), cell.trials.iter().filter_map(|one| one.value).collect())
        })
        .collect();
    for (order, (arm, seconds)) in (1..).zip(own) {
        let spread = |run: u32| 1e9 * (0.96 + f64::from(run) / 100.0);
        let each = |seconds: f64| (0..9).map(move |run| seconds * spread(run));
        let runs_ns = seconds.into_iter().flat_map(each).collect();
        let workload = Arc::new("command".to_owned());
        evidence.trials.push(TrialEvidence { workload, runs_ns, ..trial(order, arm, 1) });
    }
    evidence
}

fn latencies(arm: &Arm, class: &str) -> RowLatencies {
    let mut nanoseconds = Tally::default();
    let slow = if arm.values().any(|level| level == "none") { 1 } else { 3 };
    for step in 0..20_000_u64 {
        let tail = if step % 1000 == 0 { 40 * slow } else { 1 };
        nanoseconds.record((40_000 + step % 90 * 700) * tail, 1);
    }
    RowLatencies {
        workload: "random-write".to_owned(),
        arm: arm.clone(),
        control: false,
        class: class.to_owned(),
        trials: 6,
        nanoseconds,
    }
}

fn accesses(arm: &Arm) -> Accesses {
    let dots: Vec<(f64, u64)> = (0..90_u32)
        .map(|step| (f64::from(step) * 1.1, 40_000 + u64::from(step * step % 70) * 900))
        .collect();
    let ns = dots.iter().map(|(_, ns)| *ns as f64);
    let whole = Extremes {
        lowest: ns.clone().fold(f64::INFINITY, f64::min),
        mean: ns.clone().sum::<f64>() / dots.len() as f64,
        highest: ns.fold(0.0, f64::max),
    };
    Accesses {
        workload: "access".to_owned(),
        configuration: arm.clone(),
        trust: Some(Trust::Trusted),
        n: 3,
        whole,
        dots,
    }
}

/// Published numbers of a workload: a sound one, and an impossible one.
fn published(findings: &Findings) -> Vec<Published> {
    let cell =
        findings.measurements.iter().find(|cell| cell.metric == "iops" && !cell.control).unwrap();
    let one = |of: &str, digits: f64, flags: &[&str]| Published {
        article: "Intel SSD 520 Goodness".to_owned(),
        table: "schedulers.csv:3".to_owned(),
        of: of.to_owned(),
        workload: cell.workload.clone(),
        configuration: Arm::new(),
        metric: cell.metric.clone(),
        text: format!("{digits} IOPS"),
        value: Some(digits),
        unit: Some(PublishedUnit { name: "IOPS".to_owned(), size: 1.0 }),
        ratio: None,
        statistic: "mean of 5 runs, spread not published".to_owned(),
        flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
    };
    vec![
        one("noop", 19_000.5, &[]),
        one("deadline", 65_000.0, &["it could not have been the drive's"]),
    ]
}

fn surface(arm: &Arm) -> Surface {
    let band = |index: u32| {
        let rate = 2e8 - 7e6 * f64::from(index * index) / 9.0;
        let measured = index != 4;
        Band {
            from_percent: 10 * index,
            to_percent: 10 * index + 10,
            n: if measured { 3 } else { 0 },
            bandwidth_bytes_per_s: measured.then_some(rate),
            ends: measured.then_some([0.93 * rate, 1.05 * rate]),
        }
    };
    Surface {
        workload: "surface".to_owned(),
        configuration: arm.clone(),
        trust: Some(Trust::Suspect),
        bands: (0..10).map(band).collect(),
        positions: Vec::new(),
        whole: Some(Extremes { lowest: 1.3e8, mean: 1.7e8, highest: 2e8 }),
        note: Some("the time of 5 min ended 1 of 3 trials early".to_owned()),
    }
}

fn told_by_kinds() -> Vec<(String, Evidence)> {
    let mut evidences = Vec::new();
    for (kind, text) in kept("told.json").unwrap() {
        let mut findings = fixture("study-two-arms");
        findings.of_kinds = serde_json::from_str(&text).unwrap();
        evidences.push((kind, Evidence::bare(findings)));
    }
    evidences
}

pub(crate) fn evidences() -> &'static [(String, Evidence)] {
    static READ: OnceLock<Vec<(String, Evidence)>> = OnceLock::new();
    READ.get_or_init(|| {
        let mut read = vec![
            ("recorded".to_owned(), recorded()),
            ("hostile".to_owned(), hostile()),
            ("commands".to_owned(), commands()),
            ("whole-surface".to_owned(), leads::whole_surface()),
            ("flash".to_owned(), leads::flash()),
            ("energy".to_owned(), leads::power()),
            ("windows".to_owned(), leads::windows()),
            ("race".to_owned(), raced::evidence()),
            ("fleet".to_owned(), hosts::evidence()),
        ];
        let bare = |(name, findings)| (name, Evidence::bare(findings));
        read.extend(crate::tests::fixtures().into_iter().map(bare));
        read.extend(phases::of_kinds());
        read.extend(told_by_kinds());
        read.sort_by(|left, right| left.0.cmp(&right.0));
        read
    })
}

fn figures() -> impl Iterator<Item = (&'static str, Figure)> {
    let own = |(name, evidence): &'static (String, Evidence)| {
        all(evidence).into_iter().map(|figure| (name.as_str(), figure))
    };
    evidences().iter().flat_map(own)
}

fn of(name: &str) -> &'static Evidence {
    &evidences().iter().find(|(own, _)| own == name).unwrap().1
}

fn only(evidence: &str, id: &str) -> Figure {
    let found = all(of(evidence)).into_iter().find(|figure| figure.id == id);
    found.unwrap_or_else(|| panic!("{evidence} has no {id}"))
}

#[test]
fn figures_look_as_their_files() {
    let pictures = [
        ("boots", only("study-boots", "boots-boot")),
        ("convergence", only("steady_state", "convergence-rounds")),
        ("trace", only("io", "trace-watched")),
        ("trace-sizes", only("io", "trace-watched-3")),
        ("replay", only("replay", "replay-evening")),
        ("replay-sizes", only("replay", "replay-evening-5")),
        ("crash-points", only("durability", "crash-points-log")),
        ("platforms", only("places", "platforms-percent")),
        ("platforms-compile", only("places", "platforms-compile-duration-s")),
        ("sweep", only("study-grid", "sweep-random-write-threads-iops")),
        ("sweep-latency", only("study-grid", "sweep-random-write-threads-latency-p99-ns")),
        ("effects", only("study-eight-arms", "effects-iops-random-write")),
        ("effects-factors", only("study-many-arms", "effects-iops-random-write")),
        ("bars", only("study-eight-arms", "bars-random-write-iops")),
        ("bars-two-targets", only("study-two-targets", "bars-iops")),
        ("grid", only("study-grid", "grid-random-write-iops")),
        ("surface", only("recorded", "surface-surface")),
        ("surface-access", only("recorded", "surface-access")),
        ("published", only("recorded", "published-random-write-iops")),
        ("runs", only("commands", "runs-command")),
        ("percentiles", only("recorded", "percentiles-random-write-write")),
        ("classes", only("recorded", "classes-random-write-latencies-of-read-operations")),
        ("heatmap", only("recorded", "heatmap-random-write-scheduler-none")),
        ("series", only("recorded", "series-rate-random-write-scheduler-none")),
        ("series-latency", only("recorded", "series-latency-random-write-scheduler-none")),
        ("order", only("study-eight-arms", "order-random-write")),
        ("card", only("flash", "card-iops")),
        ("energy", only("energy", "energy-energy-j")),
        ("windows", only("windows", "classes-watched-reads-latencies")),
        ("race", only("race", "race-random-write")),
        ("hosts", only("fleet", "hosts")),
    ];
    let mut files = Expected::default();
    let named = pictures.into_iter().map(|(name, figure)| (name.to_owned(), figure));
    for (name, figure) in named.chain(phases::pictures()) {
        for (theme, word) in [(Theme::Light, "light"), (Theme::Dark, "dark")] {
            // The dark theme only differs in colors; one file shows them.
            if theme == Theme::Light || name == "effects" {
                hold(&mut files, &format!("{name}.{word}.svg"), &file(&figure, theme));
            }
        }
    }
}

fn hold(files: &mut Expected, name: &str, found: &str) {
    assert!(found.len() < 40_000, "{name} has {} bytes", found.len());
    files.hold(fixtures().join("figures").join(name), found);
}

#[test]
fn every_kind_draws_and_the_names_are_unique() {
    let names: BTreeSet<&str> = FIGURES.iter().map(|kind| kind.about().name).collect();
    assert_eq!(names.len(), FIGURES.len());
    let drawn: Vec<String> = figures().map(|(_, figure)| figure.id).collect();
    for name in names {
        assert!(drawn.iter().any(|id| id.starts_with(name)), "nothing drew {name}");
    }
    for (name, evidence) in evidences() {
        let ids: Vec<String> = all(evidence).into_iter().map(|figure| figure.id).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{name}: {ids:?}");
        let safe =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        assert!(ids.iter().all(|id| !id.is_empty() && id.chars().all(safe)), "{name}: {ids:?}");
        assert_eq!(all(evidence), all(evidence));
    }
}

#[test]
fn the_lead_shows_the_answer() {
    let leads = [
        ("study-grid", "sweep-random-write-threads-iops"),
        ("study-eight-arms", "effects-iops-random-write"),
        ("card", "bars-iops"),
        ("recorded", "published-random-write-iops"),
        ("places", "platforms-percent"),
        ("io", "trace-watched"),
        // Figures that compare a replay with its recording follow the answer.
        ("replay", "effects-iops-random-write"),
    ];
    for (name, id) in leads {
        let lead: Vec<String> =
            ordered(of(name)).lead.into_iter().map(|figure| figure.id).collect();
        assert_eq!(lead, [id], "{name}");
    }
}

/// Each class has separate metrics with equal titles: all ratios are in one figure.
#[test]
fn classes_of_requests_stand_in_one_figure_of_effects() {
    let own = |name: &str| -> Vec<Figure> {
        let figures = all(&Evidence::bare(fixture(name))).into_iter();
        figures.filter(|figure| figure.id.starts_with("effects-")).collect()
    };
    let live = own("study-live");
    assert_eq!(live.len(), 1, "{live:?}");
    let AxisScale::Category(slots) = &live[0].along.scale else { panic!("names") };
    let headings: Vec<&str> =
        slots.iter().filter(|slot| slot.heading).map(|slot| slot.name.as_str()).collect();
    assert_eq!(headings, ["live, reads", "live, writes"]);
    assert_eq!((live[0].metric.as_deref(), slots.len()), (None, 6));
    assert!(own("study-eight-arms").iter().all(|figure| figure.metric.is_some()));
}

#[test]
fn a_second_copy_of_the_baseline_is_not_drawn_in_seconds() {
    let mut evidence = recorded();
    let drawn = |evidence: &Evidence| {
        all(evidence).iter().filter(|figure| figure.id.starts_with("series")).count()
    };
    assert!(drawn(&evidence) > 0);
    evidence.trials.iter_mut().for_each(|trial| trial.control = true);
    assert_eq!(drawn(&evidence), 0);
}

/// For any name of a byte rate.
#[test]
fn seconds_of_what_is_known_by_bytes_are_told_in_bytes() {
    let mut evidence = recorded();
    let titles = |evidence: &Evidence| -> Vec<String> {
        let rates = all(evidence).into_iter().filter(|one| one.id.starts_with("series-rate"));
        rates.map(|figure| figure.title).collect()
    };
    let before = titles(&evidence);
    let metrics = evidence.findings.measurements.iter_mut().map(|cell| &mut cell.metric);
    let compared = evidence.findings.comparisons.iter_mut().map(|found| &mut found.metric);
    for metric in metrics.chain(compared).filter(|metric| *metric == "iops") {
        assay_workloads::sustained::SUSTAINED.name.clone_into(metric);
    }
    let after = titles(&evidence);
    for (titles, end) in
        [(before, "operations in each second"), (after, "bandwidth in each second")]
    {
        assert!(!titles.is_empty());
        assert!(titles.iter().all(|title| title.ends_with(end)), "{titles:?}");
    }
}

/// The first second with an operation is not the ramp just because it is first.
#[test]
fn only_the_ramp_is_called_so() {
    let mut evidence = recorded();
    let ramp = |evidence: &Evidence| {
        let figures = all(evidence);
        let found = figures.iter().find(|figure| figure.id.starts_with("series-latency")).unwrap();
        let points = &found.series[0].points;
        points.iter().filter(|point| point.text.ends_with("ramp, not counted")).count()
    };
    assert!(ramp(&evidence) > 0);
    let mut counted = recorded();
    counted.trials.iter_mut().for_each(|trial| trial.ramp_counts = true);
    assert_eq!(ramp(&counted), 0);
    for trial in &mut evidence.trials {
        trial.series[..2].iter_mut().for_each(|row| row.latency_max_ns = 0);
    }
    assert_eq!(ramp(&evidence), 0);
}

#[test]
fn every_mark_says_what_its_table_says() {
    let title = Regex::new("class=\"mark[^>]*><title>([^<]*)</title>").unwrap();
    for (name, figure) in figures() {
        let (drawn, table) = (inline(&figure), table(&figure));
        let told: Vec<String> =
            title.captures_iter(&drawn).map(|found| found[1].to_owned()).collect();
        let id = &figure.id;
        assert_eq!(told.len(), figure.marks(), "{name} {id}");
        // Once for wide windows, once for narrow ones.
        assert_eq!(drawn.matches("class=\"mark").count(), 2 * figure.marks(), "{name} {id}");
        assert_eq!(table.rows.len(), figure.marks(), "{name} {id}");
        assert!(told.iter().all(|text| !text.is_empty()), "{name} {id}");
        assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()), "{name} {id}");
        for (index, series) in figure.series.iter().enumerate() {
            assert!(
                drawn.contains(&format!("data-series=\"{index}\"")),
                "{name} {id} {}",
                series.name
            );
        }
    }
}

#[test]
fn values_and_intervals_of_a_table_are_those_of_the_findings() {
    let table = table(&only("study-eight-arms", "effects-iops-random-write"));
    let row = |name: &str| {
        let mut rows = table.rows.iter().map(|row| table.texts(row));
        rows.find(|texts| texts[0] == name).unwrap().join(" | ")
    };
    // As in `study-eight-arms.80.txt`.
    assert_eq!(row("btrfs"), "btrfs | worse | 0.70 | 0.59 to 0.83 | worse");
    assert!(row("jfs").ends_with("suspect"), "{}", row("jfs"));
}

#[test]
fn emulated_places_are_hatched_and_published_ones_have_their_own_colour() {
    let figure = only("places", "platforms-percent");
    let names: Vec<&str> = figure.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["platforms", "emulated: no verdict", "published"]);
    let looks = |at: usize| figure.series[at].points.iter().map(|point| point.look);
    assert!(looks(0).all(|look| look == Look::Solid) && looks(1).all(|look| look == Look::Hatched));
    // Bars that never overlap get the whole width of a name.
    assert_eq!([0, 1, 2].map(|at| figure.bars_beside(at)), [[1, 0]; 3]);
    let doubted = figure.series[2].points.iter().filter(|point| point.remark.is_some());
    let doubted: Vec<&str> = doubted.map(|point| point.text.as_str()).collect();
    assert_eq!(doubted, ["article 000, VirtualBox 4.1.18: 8876.945 s, 19.06%"]);
    // Platforms have no other figure: it would repeat the content.
    let drawn = all(of("places"));
    assert!(drawn.iter().all(|figure| figure.id.starts_with("platforms-")), "{drawn:?}");
    assert!(
        drawn.iter().any(|figure| figure.notes.iter().any(|note| note.contains("no compiler")))
    );
}

#[test]
#[ignore = "nightly: 1 s"]
fn svg_is_well_formed_and_carries_no_style_and_no_nonsense() {
    for (name, figure) in figures() {
        for drawn in [inline(&figure), file(&figure, Theme::Dark)] {
            for word in ["NaN", "inf ", "style=\"", "<script", "onload", "javascript:", "--</"] {
                assert!(!drawn.contains(word), "{name} {} has {word}", figure.id);
            }
            balanced(&drawn);
            assert!(
                drawn.contains("role=\"img\"")
                    && drawn.contains(&format!("id=\"{}-desc\"", figure.id))
            );
            assert!(drawn.len() < 100_000, "{name} {}: {} bytes", figure.id, drawn.len());
        }
    }
}

fn balanced(drawn: &str) {
    let tag = Regex::new("<(/?)([a-z]+)[^<>]*?(/?)>").unwrap();
    let mut open: Vec<&str> = Vec::new();
    for found in tag.captures_iter(drawn) {
        let name = found.get(2).unwrap().as_str();
        if &found[1] == "/" {
            assert_eq!(open.pop(), Some(name));
        } else if &found[3] != "/" {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    assert_eq!(drawn.matches('<').count(), tag.find_iter(drawn).count());
}

/// Names with markup, nonfinite numbers, unlimited lengths and counts.
fn hostile() -> Evidence {
    let mut evidence = recorded();
    let script = "<script>alert(1)</script>\" style=\"x\u{202e}\u{0}";
    let long = "x".repeat(10_000_000);
    let rename = |text: &mut String| *text = format!("{script}{text}");
    let findings = &mut evidence.findings;
    for cell in &mut findings.measurements {
        rename(&mut cell.workload);
        cell.configuration.values_mut().for_each(rename);
    }
    for found in &mut findings.comparisons {
        rename(&mut found.workload);
        found.configuration.values_mut().chain(found.baseline.values_mut()).for_each(rename);
        (found.ratio, found.ci95_simultaneous) =
            (Some(f64::NAN), Some([f64::NEG_INFINITY, f64::INFINITY]));
    }
    findings.measurements[0].ci95 = Some([f64::NAN, f64::INFINITY]);
    findings.measurements[1].geometric_mean = Some(f64::INFINITY);
    findings.measurements[4].configuration.values_mut().for_each(|level| level.clone_from(&long));
    let mut surface = surface(&findings.measurements[0].configuration);
    surface.bands[0].ends = surface.bands[0].ends.map(|[low, _]| [low, f64::NAN]);
    surface.workload = long;
    findings.exhibits = surfaces::exhibit(findings, &[], &[surface], &[]).into_iter().collect();
    findings.study.factors.clear();
    for trial in &mut evidence.trials {
        rename(Arc::make_mut(&mut trial.workload));
        Arc::make_mut(&mut trial.arm).values_mut().for_each(rename);
        trial.series[0].second = u32::MAX;
        trial.series[1].operations = u64::MAX;
        trial.series[1].latency_buckets = vec![[u32::MAX, u32::MAX], [0, 1]];
        trial.ramp_ns = u64::MAX;
    }
    for one in &mut evidence.latencies {
        rename(&mut one.workload);
        one.arm.values_mut().for_each(rename);
    }
    evidence
}

fn large() -> Evidence {
    let grid = fixture("study-grid");
    let mut evidence = Evidence::bare(Findings { measurements: Vec::new(), ..grid.clone() });
    let (names, threads) =
        (["ext2", "ext3", "ext4", "xfs", "btrfs"], [1, 2, 4, 8, 16, 32, 64, 128]);
    evidence.findings.study.factors[0].levels = names.map(str::to_owned).into();
    evidence.findings.study.factors[1].levels = threads.map(|count| count.to_string()).into();
    let mut order = 0;
    for workload in ["sequential-read", "sequential-write", "random-read", "random-write"] {
        for (place, name) in names.iter().enumerate() {
            for count in threads {
                let arm = Arm::from([
                    ("filesystem".into(), (*name).into()),
                    ("threads".into(), count.to_string()),
                ]);
                for plain in grid.measurements.iter().take(4) {
                    let mut cell = plain.clone();
                    let factor = (1.0 + place as f64) * f64::from(count).sqrt();
                    (cell.workload, cell.configuration) = (workload.to_owned(), arm.clone());
                    cell.geometric_mean = cell.geometric_mean.map(|mean| mean * factor);
                    cell.ci95 = cell.ci95.map(|ends| ends.map(|end| end * factor));
                    for trial in &mut cell.trials {
                        order += 1;
                        trial.order = Some(order);
                        trial.value = trial.value.map(|value| value * factor);
                    }
                    evidence.findings.measurements.push(cell);
                }
                let mut compared = grid.comparisons[0].clone();
                (compared.workload, compared.configuration) = (workload.to_owned(), arm.clone());
                evidence.findings.comparisons.push(compared);
                evidence
                    .latencies
                    .push(RowLatencies { workload: workload.into(), ..latencies(&arm, "write") });
                evidence.trials.extend((0..6).map(|replicate| TrialEvidence {
                    workload: Arc::new(workload.to_owned()),
                    ..trial(order - replicate, arm.clone(), 1)
                }));
            }
        }
    }
    evidence
}

#[test]
#[ignore = "nightly: 1 s"]
fn a_large_study_stays_small_on_the_page() {
    let evidence = large();
    assert_eq!((evidence.trials.len(), evidence.latencies.len()), (960, 160));
    let figures = all(&evidence);
    let sizes: Vec<(usize, String)> =
        figures.iter().map(|figure| (inline(figure).len(), figure.id.clone())).collect();
    let total: usize = sizes.iter().map(|(size, _)| size).sum();
    assert!(total < 500_000, "{total} bytes: {sizes:?}");
    let drawn = |name: &str| figures.iter().any(|one| one.id.starts_with(name));
    let kinds = FIGURES.iter().filter(|kind| drawn(kind.about().name));
    assert!(kinds.count() >= 7, "{sizes:?}");
    let left_out =
        figures.iter().flat_map(|figure| &figure.notes).any(|note| note.contains("Omitted"));
    assert!(left_out);
}

/// With too few undisturbed trials, a row summarizes the disturbed ones and figures show them; they show no trial that
/// the row excludes.
#[test]
fn what_a_row_sums_up_is_drawn_of_it() {
    let counted = |mut evidence: Evidence, from: usize| {
        for trial in &mut evidence.trials {
            trial.status = Status::Disturbed;
        }
        for cell in &mut evidence.findings.measurements {
            let own = cell.trials.iter_mut().filter(|trial| trial.status == Status::Ok);
            own.for_each(|trial| trial.status = Status::Disturbed);
            let places = cell.trials.iter().enumerate();
            let counting = places.filter(|(_, trial)| trial.status.counts()).map(|(at, _)| at);
            cell.counted = Some(counting.skip(from).collect());
        }
        evidence
    };
    for (name, evidence) in phases::of_kinds().chain([("runs".to_owned(), commands())]) {
        let drawn = |evidence: &Evidence| -> Vec<usize> {
            let own = all(evidence).into_iter().filter(|figure| figure.id.starts_with(&name));
            own.map(|figure| figure.marks()).collect()
        };
        let plain = drawn(&evidence);
        assert!(!plain.is_empty(), "{name}");
        assert_eq!(drawn(&counted(evidence.clone(), 0)), plain, "{name}");
        // The only trial with records is that of the first replicate.
        assert_eq!(drawn(&counted(evidence, 1)), Vec::<usize>::new(), "{name}");
    }
}

/// The primary metric may be a number that a program prints, which is not in seconds.
#[test]
fn dots_of_runs_have_the_mean_of_their_times_whatever_verdicts_are_about() {
    const TOLD: &str = "reported_tps";
    let means_ns = |evidence: &Evidence| -> Vec<u64> {
        let drawn = all(evidence).into_iter().find(|figure| figure.id.starts_with("runs"));
        let means = drawn.unwrap().series.into_iter().find(|series| series.name == "mean");
        let points = means.map(|series| series.points).unwrap_or_default();
        points.iter().map(|point| (1e9 * point.value).round() as u64).collect()
    };
    let plain = commands();
    let mut told = commands();
    let is_time = |metric: &str| metric == "duration_s";
    let compared = told.findings.comparisons.iter_mut().filter(|found| found.primary);
    compared.for_each(|found| TOLD.clone_into(&mut found.metric));
    let times = told.findings.measurements.iter().filter(|cell| is_time(&cell.metric));
    let own: Vec<_> = times.cloned().collect();
    for mut cell in own {
        (cell.metric, cell.geometric_mean) = (TOLD.to_owned(), Some(100.0));
        told.findings.measurements.push(cell);
    }
    assert_eq!(means_ns(&told), means_ns(&plain));
    // Unknown times have no mean, and the printed number does not replace it.
    told.findings.measurements.retain(|cell| !is_time(&cell.metric));
    assert_eq!((means_ns(&plain).len(), means_ns(&told).len()), (2, 0));
}

/// Trials far from each other at one point: the line leaves the axis.
#[test]
fn intervals_beyond_the_axis_of_the_order_are_told() {
    let notes = |times: f64| {
        let mut evidence = recorded();
        let cell = &mut evidence.findings.measurements[0];
        let plain = cell.trials[0].clone();
        let one = |order: u32| assay_study::findings::TrialValue {
            order: Some(order),
            replicate: order.div_ceil(2),
            ..plain.clone()
        };
        cell.trials = (1..=200).map(one).collect();
        cell.trials[7].value = plain.value.map(|value| times * value);
        let figures = all(&evidence);
        figures.into_iter().find(|figure| figure.id.starts_with("order")).unwrap().notes
    };
    let beyond = "Some intervals extend beyond the figure; see the table.".to_owned();
    assert!(notes(30.0).contains(&beyond), "{:?}", notes(30.0));
    assert!(!notes(3.0).contains(&beyond), "{:?}", notes(3.0));
}

#[test]
fn ten_thousand_trials_are_few_points() {
    let mut evidence = recorded();
    let cell = &mut evidence.findings.measurements[0];
    let plain = cell.trials[0].clone();
    cell.trials = (1..=10_000)
        .map(|order| assay_study::findings::TrialValue {
            order: Some(order),
            replicate: order.div_ceil(2),
            ..plain.clone()
        })
        .collect();
    let arm = evidence.trials[0].arm.clone();
    evidence.trials = (1..=10_000).map(|order| trial(order, Arm::clone(&arm), 1)).collect();
    let figures = all(&evidence);
    for figure in &figures {
        assert!(figure.marks() <= 400, "{}: {}", figure.id, figure.marks());
        assert!(inline(figure).len() < 100_000, "{}", figure.id);
    }
    let order = figures.iter().find(|figure| figure.id.starts_with("order")).unwrap();
    assert!(order.notes[0].contains("a point averages up to 251"), "{:?}", order.notes);
    let points = &order.series[0].points;
    assert!(points.iter().all(|point| point.interval.is_some()));
}

#[test]
fn evidence_without_anything_draws_nothing() {
    let mut empty = fixture("study-two-arms");
    empty.measurements.clear();
    empty.comparisons.clear();
    empty.effects.main.clear();
    let evidence = Evidence::bare(empty);
    let Ordered { lead, others, .. } = ordered(&evidence);
    assert_eq!((all(&evidence), lead, others.len()), (Vec::new(), Vec::new(), 0));
}

fn of_evidence(kind: &str, evidence: &str, change: impl Fn(&mut Findings)) -> Vec<Figure> {
    let (_, known) = evidences().iter().find(|(name, _)| name == evidence).unwrap();
    let mut evidence = known.clone();
    change(&mut evidence.findings);
    FIGURES.iter().find(|own| own.about().name == kind).unwrap().draw(&evidence)
}

#[test]
fn lines_over_time_stand_in_the_middle_of_their_steps_and_bars_have_one_of_each_group() {
    let found = of_evidence("replay", "replay", |_| ());
    let (starts, sizes) = (&found[0], &found[3]);
    assert_eq!(starts.id, "replay-evening");
    let names = |of: &Figure| of.series.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(starts), ["recorded", "replayed"]);
    assert_eq!(names(sizes), names(starts));
    let points = &starts.series[0].points;
    assert!(points.len() > 2 && points[0].at > 0.0, "{points:?}");
    assert!((points[1].at - 3.0 * points[0].at).abs() < 1e-9, "{points:?}");
    let AxisScale::Category(rows) = &sizes.along.scale else { panic!("{:?}", sizes.along) };
    let [recorded, played] = [0, 1].map(|index| &sizes.series[index].points);
    assert!(recorded.len() <= rows.len() && !played.is_empty());
    assert!(recorded.iter().all(|bar| bar.value > 0.0));
}

#[test]
fn nothing_is_drawn_without_an_exhibit_without_numbers_and_across_results() {
    let boots = |change: fn(&mut Findings)| of_evidence("boots", "study-boots", change).len();
    assert_eq!(boots(|_| ()), 1);
    assert_eq!(boots(|found| found.of_kinds = OfKinds::default()), 0);
    assert_eq!(boots(|found| found.measurements.clear()), 0);
    assert_eq!(boots(|found| found.study.kind = "compare".to_owned()), 0);
}
