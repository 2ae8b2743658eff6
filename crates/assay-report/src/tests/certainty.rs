//! No output is more certain than its evidence: over random studies, with differences and ratios, zeros, trials that
//! are missing, disturbed, repeated or failed, and doubtful numbers, each value is within its interval, a number is the
//! same everywhere, and no question, advice or verdict uses suspect numbers silently.

use std::ops::Range;

use super::fixtures;
use crate::document::{self, Block, Detail};
use crate::evidence::Evidence;
use crate::html::{self, PagePlace};
use crate::{markdown, text};
use assay_analysis::inference;
use assay_analysis::rules::only_slowed;
use assay_core::draws::Draws;
use assay_core::quantity::{Better, Scale};
use assay_study::findings::answers::Claim;
use assay_study::findings::measurements::{Measurements, Series};
use assay_study::findings::{
    Because, Comparison, EnvironmentFacts, Findings, Measurement, StudyFacts, TrialValue, Trust,
    Verdict,
};
use assay_study::results::design::{Ask, AskKind, Design, Factor, Order};
use assay_study::results::plan::Arm;
use assay_study::results::record::{Repeats, Status};
use assay_testkit::certain;
use assay_testkit::needs::sample;
use assay_workloads::WorkFacts;
use assay_workloads::sustained::{self, RateLevel, Rests, WriteTimeline};

const STUDIES: u64 = 1000;
/// Rounding of sums in another order.
const NEAR: f64 = 1e-9;

const fn least(in_all: u64, of: &Range<u64>, all: u64) -> usize {
    (in_all * (of.end - of.start) / all) as usize
}

fn pick<T: Copy>(draws: &mut Draws, of: &[T]) -> T {
    of[draws.below(of.len() as u64) as usize]
}

/// Approximately normal, standard deviation 1.
fn normal(draws: &mut Draws) -> f64 {
    (0..12).map(|_| draws.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0
}

struct Random {
    draws: Draws,
    factors: Vec<Factor>,
    replicates: u32,
}

impl Random {
    fn new(seed: u64) -> Self {
        let mut draws = Draws::new(seed, "certainty");
        let numbers = ["1", "2", "4", "8"];
        let words = ["off", "on", "auto"];
        let depth = 2 + draws.below(3) as usize;
        let mut factors = vec![Factor {
            name: "queue_depth".to_owned(),
            levels: numbers[..depth].iter().map(|level| (*level).to_owned()).collect(),
        }];
        if draws.below(2) == 0 {
            let levels = 2 + draws.below(2) as usize;
            factors.push(Factor {
                name: "turbo".to_owned(),
                levels: words[..levels].iter().map(|level| (*level).to_owned()).collect(),
            });
        }
        let replicates = 1 + draws.below(8) as u32;
        Self { draws, factors, replicates }
    }

    fn arms(&self) -> Vec<Arm> {
        let mut arms = vec![Arm::new()];
        for factor in &self.factors {
            let with = |arm: &Arm, level: &String| {
                let mut arm = arm.clone();
                arm.insert(factor.name.clone(), level.clone());
                arm
            };
            let all = arms.iter();
            arms = all
                .flat_map(|arm| factor.levels.iter().map(move |level| with(arm, level)))
                .collect();
        }
        arms
    }

    fn trial(
        &mut self,
        replicate: u32,
        order: u32,
        scale: Scale,
        level: f64,
        sd: f64,
    ) -> TrialValue {
        let value = match scale {
            Scale::Ratio => (level + sd * normal(&mut self.draws)).exp(),
            Scale::Difference => (level + 4.0 * sd * normal(&mut self.draws)).round().max(0.0),
        };
        let zero = self.draws.below(60) == 0;
        let status = match self.draws.below(20) {
            0 => Status::Failed,
            1 | 2 => Status::Disturbed,
            _ => Status::Ok,
        };
        let value = (status != Status::Failed).then_some(if zero { 0.0 } else { value });
        let reason = (status != Status::Ok).then(|| "something happened".to_owned());
        TrialValue {
            replicate,
            order: Some(order),
            value,
            status,
            reason,
            repeats: None,
            outlier: false,
        }
    }

    fn trials(
        &mut self,
        place: u32,
        arms: u32,
        scale: Scale,
        level: f64,
        sd: f64,
    ) -> Vec<TrialValue> {
        let mut trials = Vec::new();
        for replicate in 1..=self.replicates {
            if self.draws.below(25) == 0 {
                continue;
            }
            let order = (replicate - 1) * arms + place + 1;
            trials.push(self.trial(replicate, order, scale, level, sd));
        }
        let again: Vec<TrialValue> =
            trials.iter().filter(|trial| trial.status == Status::Disturbed).cloned().collect();
        for (at, first) in (1..).zip(again) {
            let replicate = self.replicates + at;
            let order = self.replicates * arms + at * arms + place;
            let repeats = Some(Repeats { replicate: first.replicate, order: first.order.unwrap() });
            let own = self.trial(replicate, order, scale, level, sd);
            trials.push(TrialValue { repeats, ..own });
        }
        trials
    }

    fn series(&mut self) -> Vec<Series> {
        let arms = self.arms();
        let sd = pick(&mut self.draws, &[0.0, 0.001, 0.02, 0.2, 1.0]);
        let doubted = self.draws.below(3) == 0;
        let mut series = Vec::new();
        for (workload, metric, scale, better) in [
            ("read", "iops", Scale::Ratio, Better::Higher),
            ("build", "duration_s", Scale::Ratio, Better::Lower),
            ("count", "errors", Scale::Difference, Better::Lower),
        ] {
            for (place, arm) in (0..).zip(&arms) {
                let level = match scale {
                    Scale::Ratio => 5.0 + 0.1 * self.draws.below(8) as f64,
                    Scale::Difference => self.draws.below(12) as f64,
                };
                let trials = self.trials(place, arms.len() as u32, scale, level, sd);
                let trust = match self.draws.below(12) {
                    0 if doubted => Trust::Invalid,
                    1..=3 if doubted => Trust::Suspect,
                    _ => Trust::Trusted,
                };
                let rule = |trust| Because {
                    rule: "cpu-starved".to_owned(),
                    trust,
                    text: "it waited".to_owned(),
                };
                series.push(Series {
                    workload: workload.to_owned(),
                    arm: arm.clone(),
                    control: false,
                    class_of: None,
                    metric: metric.to_owned(),
                    better,
                    scale,
                    primary: true,
                    trials,
                    trust: Some(trust),
                    because: Some(trust)
                        .filter(|own| *own != Trust::Trusted)
                        .map(rule)
                        .into_iter()
                        .collect(),
                    evidence: Vec::new(),
                });
            }
        }
        series
    }

    fn findings(mut self, (study, environment): (StudyFacts, EnvironmentFacts)) -> Findings {
        let series = self.series();
        let design = Design {
            baseline: self.arms().swap_remove(0),
            margin: Some(0.05),
            order: pick(&mut self.draws, &[Order::Chained, Order::Random]),
            questions: questions(),
            factors: self.factors,
            ..Design::default()
        };
        let measured = Measurements { design, series, unfinished: false, live: Vec::new() };
        inference::judge(study, environment, measured)
    }
}

fn questions() -> Vec<Ask> {
    let kinds = [
        AskKind::Better,
        AskKind::Equivalent,
        AskKind::Best,
        AskKind::Peak,
        AskKind::Flat,
        AskKind::Bound,
    ];
    let ask = |kind: AskKind, workload: &str| Ask {
        kind,
        ask: format!("{kind:?}?"),
        published: None,
        workloads: vec![workload.to_owned()],
        metric: None,
        factor: (kind != AskKind::Bound).then(|| "queue_depth".to_owned()),
        at: Arm::new(),
        level: Some("2".to_owned()),
        versus: Some("1".to_owned()),
        between: vec!["2".to_owned(), "2".to_owned()],
        min: (kind == AskKind::Bound).then(|| "100 IOPS".parse().unwrap()),
        max: None,
        slo: None,
    };
    let both = kinds.into_iter().flat_map(|kind| [ask(kind, "read"), ask(kind, "build")]);
    both.filter(|ask| ask.kind != AskKind::Bound || ask.workloads == ["read"]).collect()
}

fn within(what: &str, value: f64, ends: Option<[f64; 2]>) {
    let Some([low, high]) = ends else { return };
    let room = NEAR * (1.0 + value.abs());
    assert!(low - room <= value && value <= high + room, "{what}: {value} not in {low} to {high}");
}

fn same(what: &str, one: f64, other: f64) {
    assert!((one - other).abs() <= NEAR * (1.0 + one.abs()), "{what}: {one} and {other}");
}

fn cell<'a>(found: &'a Findings, of: &Comparison, arm: &Arm) -> &'a Measurement {
    let own = |cell: &&Measurement| {
        (&cell.workload, &cell.metric, &cell.configuration) == (&of.workload, &of.metric, arm)
    };
    found.measurements.iter().find(own).unwrap()
}

fn cells(found: &Findings) {
    for one in &found.measurements {
        let what = format!("{} {:?}", one.workload, one.configuration);
        let Some(value) = one.value() else {
            assert_eq!(one.n, 0, "{what}");
            continue;
        };
        within(&what, value, one.min.zip(one.max).map(|(low, high)| [low, high]));
        within(&what, value, one.ci95);
        // Documents of earlier versions do not have the field.
        assert!(one.is_wide() || !one.wide, "{what}");
        assert_eq!(one.mean.is_some(), one.scale == Scale::Difference, "{what}");
        assert!(one.mean.is_none() || one.geometric_mean.is_none(), "{what}");
    }
}

fn comparisons(found: &Findings) {
    for one in &found.comparisons {
        let what = &one.id;
        for ends in [one.ci95, one.ci95_simultaneous, one.ci_equivalence] {
            one.ratio.into_iter().for_each(|ratio| within(what, ratio, ends));
        }
        if let Some(own) = &one.difference {
            within(what, own.value, own.ci95);
            within(what, own.value, own.ci95_simultaneous);
        }
        let sides = [cell(found, one, &one.configuration), cell(found, one, &one.baseline)];
        let worst = sides.iter().filter_map(|cell| cell.trust).max();
        assert!(one.means.is_none() || one.compared_means.is_none(), "{what}");
        if let Some(means) = one.own_means() {
            for (mean, cell) in means.into_iter().zip(sides) {
                within(what, mean, cell.min.zip(cell.max).map(|(low, high)| [low, high]));
                if one.means.is_some() {
                    same(what, mean, cell.value().unwrap());
                }
            }
            match (one.ratio, &one.difference) {
                (Some(ratio), _) => same(what, means[0] / means[1], ratio),
                (None, Some(own)) => same(what, means[0] - means[1], own.value),
                (None, None) => {}
            }
        }
        let decided = matches!(one.verdict, Some(Verdict::Better | Verdict::Worse));
        let zero = one.difference.as_ref().map(|own| own.ci95_simultaneous);
        let ends = zero.unwrap_or(one.ci95_simultaneous);
        let none = if one.difference.is_some() { 0.0 } else { 1.0 };
        if decided {
            let [low, high] = ends.unwrap();
            assert!(low > none || high < none, "{what}: {:?} from {low} to {high}", one.verdict);
            assert_ne!(worst, Some(Trust::Invalid), "{what}");
        }
        if worst == Some(Trust::Suspect) && one.verdict.is_some() {
            assert!(
                one.notes.iter().any(|note| note.contains("suspect")),
                "{what}: {:?}",
                one.notes
            );
        }
    }
}

fn others(found: &Findings) {
    for one in &found.effects.main {
        within(&one.text, one.ratio, one.ci95);
        within(&one.text, one.ratio, one.ci95_simultaneous);
    }
    for one in &found.effects.interactions {
        within(&one.text, one.ratio, Some(one.ci95_simultaneous));
    }
    for one in &found.effects.trends {
        one.slope.into_iter().for_each(|slope| within(&one.text, slope, one.ci95));
        within(&one.text, one.peak, Some(one.peak_range));
        one.knee.into_iter().for_each(|knee| within(&one.text, knee, one.knee_range));
    }
    for place in found.effects.ranks.iter().flat_map(|rank| &rank.ranks) {
        let [best, worst] = place.rank_range;
        assert!(1 <= best && best <= worst, "{place:?}");
    }
    let doubtful = |workload: &str| {
        let mut own =
            found.measurements.iter().filter(|cell| cell.workload == workload && cell.n > 0);
        own.any(|cell| cell.trust == Some(Trust::Suspect))
    };
    let effects = found.effects.main.iter().map(|one| (&one.workload, &one.text));
    let ranks = found.effects.ranks.iter().map(|one| (&one.workload, &one.text));
    let trends = found.effects.trends.iter().map(|one| (&one.workload, &one.text));
    for (workload, text) in effects.chain(ranks).chain(trends) {
        assert!(text.contains("suspect") || !doubtful(workload), "{text}");
    }
    let suspect = |id: &String| {
        let one = found.comparisons.iter().find(|one| one.id == *id);
        one.is_some_and(|one| {
            // Invalid numbers never appear in questions.
            [&one.configuration, &one.baseline]
                .iter()
                .any(|arm| cell(found, one, arm).trust == Some(Trust::Suspect))
        })
    };
    for one in &found.answers.all {
        // A supported claim depends on every case, a contradicted one on at least one.
        match one.verdict {
            Claim::Supported => {
                // A lower bound also holds for rates that their rules can only lower.
                let own = found.measurements.iter().filter(|cell| cell.workload == "read");
                let reasons = own.flat_map(|cell| &cell.reasons).collect();
                let is_lowered = one.ask == "Bound?" && only_slowed(reasons).is_some();
                assert!(is_lowered || !one.evidence.iter().any(suspect), "{one:?}");
            }
            Claim::Contradicted => {
                // With another factor, each case has its baseline among the arms.
                let lone = found.study.factors.len() == 1 && !one.evidence.is_empty();
                assert!(!lone || !one.evidence.iter().all(suspect), "{one:?}");
            }
            Claim::NotShown | Claim::NoData => {}
        }
    }
    for one in &found.advice {
        assert!(one.text.contains("suspect") || !one.evidence.iter().any(suspect), "{one:?}");
    }
}

/// A number as a table has it: bare, or with a sign.
fn number(text: &str) -> Option<f64> {
    text.trim_start_matches('+').replace(',', "").parse().ok()
}

/// Tables as a reader compares them: the ratio and its interval, rounded.
fn tables(found: &Findings) {
    let page = document::build(found, Detail::Full);
    let mut seen = 0;
    for block in page.sections.iter().flat_map(|section| &section.blocks) {
        let Block::Table(table) = block else { continue };
        let column = |title: &str| table.columns.iter().position(|one| one.title == title);
        let Some(interval) = column("95% CI") else { continue };
        let Some(value) = column("ratio").or_else(|| column("difference")) else { continue };
        for row in &table.rows {
            let texts = table.texts(row);
            let ends = texts[interval].split_once(" to ");
            let ends = ends.and_then(|(low, high)| Some([number(low)?, number(high)?]));
            let (Some(value), Some(_)) = (number(&texts[value]), ends) else { continue };
            within(&table.name_of(row), value, ends);
            seen += 1;
        }
    }
    let some = found
        .comparisons
        .iter()
        .any(|one| one.primary && one.ratio.is_some() && !one.cannot_tell());
    assert!(seen > 0 || !some, "no table of ratios");
    for width in [80, 40] {
        assert!(!text::render(&page, width, false).contains("NaN"));
    }
    assert!(!markdown::comment(found).contains("NaN"));
}

/// Every view of findings is no more certain than its evidence, by the same check as for pages and documents.
fn every_view(name: &str, found: &Findings) -> usize {
    let full = document::build(found, Detail::Full);
    let page = html::page(&Evidence::bare(found.clone()), PagePlace::Alone);
    let views = [
        crate::json(found),
        text::render(&document::usual(found), 80, false),
        text::render(&full, 80, false),
        text::render(&full, 40, false),
        markdown::comment(found),
        page,
    ];
    let told =
        |view: &String| certain::all_of(view).unwrap_or_else(|error| panic!("{name}: {error}"));
    views.iter().map(told).sum()
}

/// An interval in a table belongs to the number before it, in any unit.
fn in_tables(name: &str, found: &Findings) -> usize {
    let page = document::build(found, Detail::Full);
    let mut seen = 0;
    for block in page.sections.iter().flat_map(|section| &section.blocks) {
        let Block::Table(table) = block else { continue };
        let intervals =
            (1..table.columns.len()).filter(|at| table.columns[*at].title.starts_with("95% CI"));
        for at in intervals {
            // A row that only names the following ones has no cells.
            for row in table.rows.iter().filter(|row| row.cells.len() > at) {
                let texts = table.texts(row);
                let told = format!("{} (95% CI {})", texts[at - 1], texts[at]);
                seen += certain::all_of(&told).unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
    }
    seen
}

/// Tables and pages of long writes and capacities, which no fixture has.
#[test]
#[ignore = "nightly: 2 s"]
fn what_is_shown_of_long_writes_and_capacities_lies_within_its_intervals() {
    let known = fixtures().into_iter().find(|(name, _)| name == "card").unwrap().1;
    let mut seen = 0;
    let part = sample(STUDIES / 5, 4);
    for seed in part.clone() {
        let mut draws = Draws::new(seed, "long writes");
        let mut found = known.clone();
        let mut from_bytes = 0;
        let mut level = |draws: &mut Draws| {
            let rate = 1e6 * (1 + draws.below(2_000_000)) as f64 / 1e3;
            let wide = 1.0 + draws.below(300) as f64 / 100.0;
            let at = from_bytes;
            from_bytes += draws.below(1 << 40);
            let low = at - draws.below(at / 2 + 1);
            RateLevel {
                from_bytes: at,
                from_ci95_bytes: (at > 0).then(|| [low, at + draws.below(at)]),
                rate_bytes_per_s: rate,
                rate_ci95: (draws.below(4) > 0).then(|| [rate / wide, rate * wide]),
            }
        };
        let levels = (0..=draws.below(4)).map(|_| level(&mut draws)).collect();
        let rests = (draws.below(2) > 0).then(|| Rests {
            share: draws.below(100) as f64 / 100.0,
            whole_bytes_per_s: draws.below(1 << 32) as f64,
        });
        let facts = sustained::SustainedFacts {
            workload: "sustained".to_owned(),
            configuration: Arm::new(),
            timeline: WriteTimeline {
                written_bytes: 1 << 41,
                levels,
                declines: None,
                rests,
                again: None,
            },
            several: None,
            text: "It was written to.".to_owned(),
        };
        found.of_kinds = vec![WorkFacts::from(facts)].into();
        seen += every_view("long writes", &found) + in_tables("long writes", &found);
    }
    assert!(seen > least(1000, &part, STUDIES / 5), "{seen}");
}

/// Fixtures, which are pages of real or artificial studies.
#[test]
#[ignore = "nightly: 1 s"]
fn no_page_has_a_value_outside_its_interval() {
    let mut seen = 0;
    for (name, found) in fixtures() {
        cells(&found);
        seen += found.measurements.len();
        every_view(&name, &found);
        in_tables(&name, &found);
        for one in &found.comparisons {
            for ends in [one.ci95, one.ci95_simultaneous, one.ci_equivalence] {
                one.ratio.into_iter().for_each(|ratio| within(&one.id, ratio, ends));
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

#[test]
#[ignore = "nightly: 3 s"]
fn nothing_is_more_certain_than_what_it_rests_on() {
    let (mut decided, mut answered, mut doubted, mut shown) = (0, 0, 0, 0);
    let known = fixtures().into_iter().find(|(name, _)| name == "study-two-arms").unwrap().1;
    let part = sample(STUDIES, 4);
    for seed in part.clone() {
        let around = (known.study.clone(), known.environment.clone());
        let found = Random::new(seed).findings(around);
        cells(&found);
        assert!(found.measurements.iter().all(|one| one.wide == one.is_wide()), "{seed}");
        comparisons(&found);
        others(&found);
        if seed % 4 == 0 {
            tables(&found);
        }
        if seed % 10 == 0 {
            shown += every_view(&seed.to_string(), &found);
        }
        let better = |one: &&Comparison| one.verdict == Some(Verdict::Better);
        decided += found.comparisons.iter().filter(better).count();
        let is = |claim: Claim| {
            move |one: &&assay_study::findings::answers::Answer| one.verdict == claim
        };
        answered += found.answers.all.iter().filter(is(Claim::Supported)).count();
        doubted +=
            found.answers.all.iter().filter(|one| one.answer.contains("but are suspect")).count();
    }
    let least = |in_all| least(in_all, &part, STUDIES);
    assert!(shown > least(1000), "{shown}");
    assert!(
        decided > least(500) && answered > least(500) && doubted > least(100),
        "{decided} {answered} {doubted}"
    );
}
