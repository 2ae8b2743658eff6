//! Handmade races, a small one and one with a thousand settings, and their output.

use super::super::{all, ordered};
use crate::document::{self, Detail};
use crate::evidence::Evidence;
use crate::html::{self, PagePlace};
use crate::tests::fixture;
use crate::text;
use assay_core::exhibit::figure::Figure;
use assay_core::quantity::Better;
use assay_study::findings::race::{
    Behind, Departure, DroppedLevel, RaceAnswer, RaceEnd, Runner, ScreenAnswer, ScreenedLevel,
};
use assay_study::findings::{Findings, Measurement, Sentence, SentenceRole, Trust};
use assay_study::results::plan::Arm;

/// The first wins, the second remains, the third is the baseline, the last has no number, and the others are eliminated
/// one after the other.
fn race(workload: &str, metric: &str, arms: &[Arm]) -> RaceAnswer {
    let last = arms.len() - 1;
    let runner = |(index, arm): (usize, &Arm)| {
        let beside = 1.0 - 0.02 * index.min(40) as f64;
        let ends = [beside - 0.01, beside + 0.01];
        let behind = Some(Behind { leader: arms[0].clone(), ratio: beside, ends });
        let left = match index {
            0..=2 => None,
            _ if index == last => Some(Departure { after: 3, ..Departure::default() }),
            _ => Some(Departure {
                after: 3 + index as u32 % 5,
                ratio_to_leader: behind,
                ..Departure::default()
            }),
        };
        let is_silent = index == last;
        Runner {
            configuration: arm.clone(),
            n: if is_silent { 0 } else { 5 },
            mean: (!is_silent).then_some(50_000.0 * beside),
            ratio_to_winner: (!is_silent).then_some(beside),
            eliminated: left,
        }
    };
    RaceAnswer {
        workload: workload.to_owned(),
        metric: metric.to_owned(),
        better: Better::Higher,
        indifference_zone: 0.02,
        baseline: arms[2].clone(),
        replicates: 9,
        trials: 5 * arms.len(),
        screen: None,
        end: Some(RaceEnd::WithinZone),
        winner: Some(arms[0].clone()),
        trust: Some(Trust::Trusted),
        winner_ratio: Some(1.0 / 0.96),
        baseline_eliminated: true,
        entries: arms.iter().enumerate().map(runner).collect(),
        text: format!("It won the race among {} settings.", arms.len()),
    }
}

fn raced(mut found: Findings, race: RaceAnswer) -> Evidence {
    found.comparisons.clear();
    found.effects.main.clear();
    found.effects.interactions.clear();
    found.effects.trends.clear();
    found.effects.ranks.clear();
    found.advice.clear();
    found.answers.all.clear();
    found.effects.noise_floor = None;
    found.summary = vec![Sentence::new(SentenceRole::Answer, "race", &*race.text)];
    found.race = Some(race);
    Evidence::bare(found)
}

fn first(found: &Findings) -> &Measurement {
    found.measurements.iter().find(|cell| cell.metric == "iops" && !cell.control).unwrap()
}

pub(crate) fn evidence() -> Evidence {
    let found = fixture("study-eight-arms");
    let (workload, metric) = (first(&found).workload.clone(), "iops");
    let own =
        |cell: &&Measurement| cell.workload == workload && cell.metric == metric && !cell.control;
    let arms: Vec<Arm> =
        found.measurements.iter().filter(own).map(|cell| cell.configuration.clone()).collect();
    let race = race(&workload, metric, &arms);
    raced(found, race)
}

fn large(settings: usize) -> Evidence {
    let mut found = fixture("study-eight-arms");
    let cell = first(&found).clone();
    let (factor, _) = cell.configuration.first_key_value().unwrap();
    let arms: Vec<Arm> = (0..settings)
        .map(|index| Arm::from([(factor.clone(), format!("level {index}"))]))
        .collect();
    found.measurements =
        arms.iter().map(|arm| Measurement { configuration: arm.clone(), ..cell.clone() }).collect();
    found.workloads.clear();
    found.absent.clear();
    let race = race(&cell.workload, &cell.metric, &arms);
    raced(found, race)
}

fn drawn(evidence: &Evidence) -> Vec<Figure> {
    all(evidence).into_iter().filter(|figure| figure.id.starts_with("race")).collect()
}

#[test]
fn a_race_is_drawn_by_who_left_when_and_leads_its_page() {
    let evidence = evidence();
    let figures = drawn(&evidence);
    let [figure] = figures.as_slice() else { panic!("{}", figures.len()) };
    let names: Vec<&str> = figure.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["won", "remaining", "eliminated", "baseline (never eliminated)"]);
    // One of the eight has no number, and so no mark.
    assert_eq!(figure.marks(), 7);
    let left = &figure.series[2].points[0];
    assert!(left.interval.is_some() && left.text.contains("eliminated after"), "{}", left.text);
    assert!(figure.series[0].points[0].interval.is_none());
    assert_eq!(
        ordered(&evidence).lead.first().map(|lead| lead.id.clone()),
        Some(figure.id.clone())
    );
}

#[test]
fn no_other_figure_sets_the_settings_of_a_race_side_by_side() {
    let evidence = evidence();
    let own = ["race", "order"];
    for figure in all(&evidence) {
        assert!(own.iter().any(|name| figure.id.starts_with(name)), "{}", figure.id);
    }
    let told = text::forum(&evidence.findings);
    assert!(!told.contains("better") && !told.contains("worse"), "{told}");
    let mut plain = evidence;
    plain.findings.race = None;
    assert!(drawn(&plain).is_empty());
    assert!(all(&plain).iter().any(|figure| figure.id.starts_with("bars")));
}

/// An emulator's times cannot rank settings: then the race has no entries.
#[test]
fn a_race_without_runners_has_no_figure_and_no_table() {
    let mut evidence = evidence();
    let told = |found: &Findings| text::render(&document::build(found, Detail::Usual), 80, false);
    assert!(told(&evidence.findings).contains("vs. winner"));
    evidence.findings.race.as_mut().unwrap().entries.clear();
    assert!(drawn(&evidence).is_empty());
    let told = told(&evidence.findings);
    assert!(!told.contains("vs. winner") && !told.contains("is better"), "{told}");
}

fn screened(race: &mut RaceAnswer) {
    let level = |level: &str, beside_best: Option<f64>, left: bool| ScreenedLevel {
        factor: "read_ahead".to_owned(),
        level: level.to_owned(),
        n: if beside_best.is_some() { 12 } else { 0 },
        ratio_to_best: beside_best,
        ends: beside_best.filter(|own| *own < 1.0).map(|own| [own - 0.02, own + 0.02]),
        eliminated: left,
    };
    let lost = race.entries.len() - 3;
    for runner in &mut race.entries[lost..] {
        let (factor, level) = ("read_ahead".to_owned(), "16 KiB".to_owned());
        let dropped = Some(DroppedLevel { factor, level });
        runner.eliminated = Some(Departure { dropped, ..Departure::default() });
        (runner.n, runner.mean, runner.ratio_to_winner) = (0, None, None);
    }
    race.screen = Some(ScreenAnswer {
        passes: 6,
        trials: 48,
        settings: 3,
        levels: vec![
            level("16 KiB", Some(0.8), true),
            level("1 MiB", Some(1.0), false),
            level("4 MiB", Some(0.99), false),
            level("8 MiB", None, true),
        ],
        text: "A screen of 48 trials.".to_owned(),
    });
}

#[test]
fn a_screen_is_told_beside_its_race_with_what_was_not_looked_at() {
    let mut evidence = evidence();
    let told = |found: &Findings| {
        let full = text::render(&document::build(found, Detail::Usual), 80, false);
        full.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(!told(&evidence.findings).contains("screen"));
    assert!(!html::page(&evidence, PagePlace::Alone).contains("screen before the race"));
    screened(evidence.findings.race.as_mut().unwrap());
    let figures = drawn(&evidence);
    let [figure] = figures.as_slice() else { panic!("{}", figures.len()) };
    // One of the eight has no number and was also eliminated before.
    assert_eq!(figure.marks(), 5);
    assert!(figure.notes.iter().any(|note| note.contains("3 configurations with levels")));
    let text = told(&evidence.findings);
    for words in [
        "The screen ignores interactions",
        "eliminated in the screen",
        "0.800, 0.780 to 0.820",
        "eliminated: no valid trial",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = html::page(&evidence, PagePlace::Alone);
    assert!(page.contains("screen before the race"));
    assert!(page.contains("The screen ignores interactions"));
    let stored = serde_json::to_string(&evidence.findings).unwrap();
    let again: Findings = serde_json::from_str(&stored).unwrap();
    assert_eq!(again.race, evidence.findings.race);
}

#[test]
#[ignore = "nightly: 1 s"]
fn the_page_of_a_thousand_settings_stays_small() {
    let evidence = large(1000);
    let figures = drawn(&evidence);
    assert!(figures.iter().all(|figure| figure.marks() <= 600), "{}", figures.len());
    let notes: Vec<&String> = figures.iter().flat_map(|figure| &figure.notes).collect();
    assert!(notes.iter().any(|note| note.contains("Omitted")), "{notes:?}");
    let page = html::page(&evidence, PagePlace::Alone);
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let usual = document::build(&evidence.findings, Detail::Usual);
    let lines = text::render(&usual, 80, false).lines().count();
    assert!(lines < 400, "{lines} lines");
}
