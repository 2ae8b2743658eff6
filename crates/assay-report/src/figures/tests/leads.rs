//! Evidence of studies that name a leading figure, and the resulting order.

use std::collections::BTreeSet;

use super::super::{FIGURES, Ordered};
use super::{accesses, latencies, of, surface};
use crate::evidence::{Evidence, RowLatencies};
use crate::figures::{all, ordered};
use crate::tests::fixture;
use assay_analysis::inference::RESULT;
use assay_analysis::inference::card::{self, CardNumber, CardRow, FlashRow, RatingResult};
use assay_analysis::inference::surfaces;
use assay_core::exhibit::Exhibit;
use assay_core::exhibit::figure::{AxisScale, Layout};
use assay_study::file::{lead, presets};
use assay_study::findings::{Findings, Measurement, Trust, WINDOWS};
use assay_study::results::plan::Arm;

fn lead_of(preset: &str) -> Option<String> {
    presets::find(preset).unwrap().unwrap().lead_figure
}

/// Large numbers of one drive: a check.
fn checked() -> Findings {
    let mut found = fixture("card");
    found.measurements.iter_mut().for_each(|cell| cell.primary = cell.metric == "iops");
    found
}

pub(crate) fn whole_surface() -> Evidence {
    let mut evidence = Evidence::bare(checked());
    evidence.latencies =
        vec![RowLatencies { workload: "surface".to_owned(), ..latencies(&Arm::new(), "read") }];
    let found = &mut evidence.findings;
    found.study.kind = "study".to_owned();
    found.study.lead_figure = lead_of("surface");
    let exhibit = surfaces::exhibit(found, &[], &[surface(&Arm::new())], &[accesses(&Arm::new())]);
    found.exhibits.extend(exhibit);
    evidence
}

fn number(value: f64) -> CardNumber {
    CardNumber { value, ci95: Some([0.9 * value, 1.1 * value]), trust: Some(Trust::Trusted) }
}

pub(crate) fn flash() -> Evidence {
    let mut found = checked();
    found.study.lead_figure = lead_of("flash");
    let beside = |item: &str, iops: f64, kind: &str, writes: bool| FlashRow {
        item: item.to_owned(),
        iops,
        kind: kind.to_owned(),
        place: RatingResult::Below,
        writes,
        line: item == "5400 rpm laptop disk",
    };
    let card = CardRow {
        device: "SD16G, mmc".to_owned(),
        sequential_read: Some(number(82.4e6)),
        sequential_write: Some(number(21e6)),
        random_read: Some(number(1820.0)),
        random_write: Some(number(19.3)),
        target: String::new(),
        rated_bytes_per_s: Some(95e6),
        share_of_rating: Some(82.4 / 95.0),
        price: Some("12.50 GBP".parse().unwrap()),
        iops_per_unit: Some(19.3 / 12.5),
        price_per_gb: Some(12.5 / 16.0),
        published: vec![
            beside("5400 rpm laptop disk", 90.0, "author's rule", true),
            beside("5400 rpm laptop disk", 90.0, "author's rule", false),
            beside("poor card", 1.0, "prose", true),
            beside("best SD card (part 1)", 19.0, "measured", true),
            beside("SuperTalent RC8", 2000.0, "author ~", true),
            beside("InnoDisk miniDOM-U", 1440.0, "vendor", false),
        ],
        text: vec!["Random writes are below the disk's.".to_owned()],
    };
    found.exhibits.extend(card::exhibit(&[card]));
    Evidence::bare(found)
}

pub(crate) fn power() -> Evidence {
    let mut found = fixture("study-two-targets");
    found.study.lead_figure = lead_of("energy");
    let joules = |cell: &Measurement| Measurement {
        metric: "energy_j".to_owned(),
        primary: false,
        geometric_mean: cell.geometric_mean.map(|mean| 4e6 / mean.sqrt()),
        ci95: cell.geometric_mean.map(|mean| [3.8e6 / mean.sqrt(), 4.2e6 / mean.sqrt()]),
        ..cell.clone()
    };
    let told = found.measurements.iter().filter(|cell| cell.primary && !cell.control).map(joules);
    let told: Vec<Measurement> = told.collect();
    found.measurements.extend(told);
    found.environment.activity.idle_w = Some(9.5);
    found.environment.activity.energy_of =
        Some("powercap: processor packages, not the drive".to_owned());
    Evidence::bare(found)
}

pub(crate) fn windows() -> Evidence {
    let mut found = fixture("study-compare");
    let ids = [&found.comparisons[0].baseline, &found.comparisons[0].configuration];
    let ids = ids.map(|arm| arm[RESULT].clone());
    let of_id = |id: &str| Arm::from([(RESULT.to_owned(), id.to_owned())]);
    let arms = ids.each_ref().map(|id| of_id(id));
    found.comparisons.truncate(1);
    let compared = &mut found.comparisons[0];
    [compared.baseline, compared.configuration] = arms.clone();
    "watched, reads".clone_into(&mut compared.workload);
    "block_read_mean_ns".clone_into(&mut compared.metric);
    let plain = found.measurements[0].clone();
    let cell = |metric: &str, value: f64, arm: &Arm| Measurement {
        workload: "watched, reads".to_owned(),
        metric: metric.to_owned(),
        configuration: arm.clone(),
        primary: metric.ends_with("_mean_ns"),
        geometric_mean: Some(value),
        ..plain.clone()
    };
    found.measurements = Vec::new();
    for (arm, slow) in arms.iter().zip([3.0, 1.0]) {
        for (metric, value) in [
            ("block_read_iops", 812.0),
            ("block_read_mean_ns", 2.1e6 * slow),
            ("block_read_p50_ns", 1.2e6 * slow),
            ("block_read_p99_ns", 9e6 * slow),
        ] {
            found.measurements.push(cell(metric, value, arm));
        }
    }
    found.study.lead_figure = Some("classes".to_owned());
    let notes = vec![
        "earlier: a.".to_owned(),
        "CPU pressure: tasks waited for a CPU in 2% of the time before and 45% after.".to_owned(),
    ];
    let topic = WINDOWS.to_owned();
    found.exhibits.push(Exhibit { topic, notes, ..Exhibit::default() });
    let own = |(arm, slow): (&Arm, bool)| RowLatencies {
        workload: "watched, reads".to_owned(),
        arm: arm.clone(),
        ..latencies(
            &Arm::from([("scheduler".into(), if slow { "bfq" } else { "none" }.into())]),
            "read",
        )
    };
    let latencies = arms.iter().zip([true, false]).map(own).collect();
    Evidence { latencies, ..Evidence::bare(found) }
}

#[test]
fn a_study_may_name_every_figure_but_those_of_places() {
    let drawn: BTreeSet<&str> = FIGURES.iter().map(|kind| kind.about().name).collect();
    let mut named: BTreeSet<&str> = lead::names().into_iter().collect();
    assert_eq!(named.len(), lead::names().len());
    named.insert("platforms");
    assert_eq!(named, drawn);
}

fn leading(evidence: &Evidence) -> Vec<String> {
    ordered(evidence).lead.into_iter().map(|figure| figure.id).collect()
}

fn without_lead(evidence: &Evidence) -> Evidence {
    let mut evidence = evidence.clone();
    evidence.findings.study.lead_figure = None;
    evidence
}

#[test]
fn what_the_study_says_leads_and_nothing_is_lost() {
    for (name, said, else_) in [
        (
            "whole-surface",
            vec!["surface-surface", "surface-access"],
            vec!["bars-iops", "percentiles"],
        ),
        ("flash", vec!["card-iops"], vec!["bars-iops"]),
        ("energy", vec!["energy-energy-j"], vec!["effects-iops-random-write"]),
    ] {
        let evidence = of(name);
        assert_eq!(leading(evidence), said, "{name}");
        let Ordered { lead, others, .. } = ordered(evidence);
        let others: usize = others.iter().map(|own| own.figures.len()).sum();
        assert_eq!(lead.len() + others, all(evidence).len(), "{name}");
        // Without a setting in the study file.
        assert_eq!(leading(&without_lead(evidence)), else_, "{name}");
    }
}

#[test]
fn what_cannot_be_drawn_does_not_lead() {
    for lead in ["energy", "boots", "of another version"] {
        let mut evidence = of("whole-surface").clone();
        evidence.findings.study.lead_figure = Some(lead.to_owned());
        assert_eq!(leading(&evidence), ["bars-iops", "percentiles"], "{lead}");
    }
}

#[test]
fn energy_that_nothing_tells_has_no_bars() {
    let mut evidence = of("energy").clone();
    evidence.findings.measurements.retain(|cell| cell.metric != "energy_j");
    let drawn = |evidence: &Evidence| {
        all(evidence).iter().filter(|figure| figure.id.starts_with("energy")).count()
    };
    assert_eq!([drawn(of("energy")), drawn(&evidence)], [1, 0]);
    let mut invalid = of("energy").clone();
    for cell in invalid.findings.measurements.iter_mut().filter(|cell| cell.metric == "energy_j") {
        cell.trust = Some(assay_study::findings::Trust::Invalid);
    }
    assert_eq!(drawn(&invalid), 0, "invalid numbers lead");
    invalid
        .findings
        .measurements
        .iter_mut()
        .for_each(|cell| cell.trust = cell.trust.map(|_| assay_study::findings::Trust::Suspect));
    assert_eq!(drawn(&invalid), 1);
}

/// Published devices are next to the card; the article's rule is a line.
#[test]
fn a_card_stands_beside_others_and_the_disk_is_a_line() {
    let figure = ordered(of("flash")).lead.remove(0);
    let counts: Vec<(&str, usize)> =
        figure.series.iter().map(|one| (one.name.as_str(), one.points.len())).collect();
    assert_eq!(counts, [("here", 2), ("published", 4)]);
    assert_eq!(figure.guides.len(), 1);
    assert!(figure.guides[0].name.starts_with("5400 rpm laptop disk: 90"));
}

#[test]
fn windows_stand_side_by_side_on_one_linear_axis() {
    let figures = all(of("windows"));
    let classes = figures.iter().find(|figure| figure.id.starts_with("classes")).unwrap();
    assert_eq!((classes.layout, &classes.value.scale), (Layout::Lying, &AxisScale::Linear));
    assert!(classes.value.from_zero);
    let names: Vec<&str> = classes.series.iter().map(|one| one.name.as_str()).collect();
    let title = "Which scheduler is best for this drive?";
    let dated = ["2026-11-20 10:31", "2027-01-07 09:00"].map(|day| format!("{title} {day}"));
    assert_eq!(names, dated);
    for series in &classes.series {
        let shares: f64 = series.points.iter().map(|bar| bar.value).sum();
        assert!((shares - 1.0).abs() < 1e-9 && series.points.len() > 1, "{shares}");
    }
    let percentiles = figures.iter().find(|one| one.id.starts_with("percentiles")).unwrap();
    let names: Vec<&str> = percentiles.series.iter().map(|one| one.name.as_str()).collect();
    let title = "Which scheduler is best for this drive?";
    let dated = ["2026-11-20 10:31", "2027-01-07 09:00"].map(|day| format!("{title} {day}"));
    assert_eq!(names, dated);
}

#[test]
fn idle_machine_is_a_row_of_the_energy_table() {
    let text = crate::text::render(&crate::document::usual(&of("energy").findings), 80, false);
    let idle: Vec<&str> =
        text.lines().filter(|line| line.trim_start().starts_with("idle ")).collect();
    assert!(idle.len() == 1 && idle[0].contains("9.5"), "{text}");
    assert!(text.contains("lasts 5.26 h at"), "{text}");
}
