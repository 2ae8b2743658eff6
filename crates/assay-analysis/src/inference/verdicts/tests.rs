//! From measurements to verdicts.

use assay_core::quantity::{Better, Scale};
use assay_study::findings::facts::{PlaceFacts, PlaceSort};
use assay_study::findings::measurements::{Measurements, Series};
use assay_study::findings::{
    AdviceKind, Comparison, EnvironmentFacts, Findings, StudyFacts, TrialValue, Verdict,
};
use assay_study::results::design::{Design, Factor, Order, Stopping};
use assay_study::results::plan::Arm;
use assay_study::results::record::Status;

/// A study of one workload and one factor, arm by arm.
pub(crate) struct Study {
    pub measured: Measurements,
    pub emulated: bool,
}

pub(crate) fn arm(pairs: &[(&str, &str)]) -> Arm {
    pairs.iter().map(|(factor, level)| ((*factor).to_owned(), (*level).to_owned())).collect()
}

pub(super) fn trial(replicate: u32, order: u32, value: f64) -> TrialValue {
    TrialValue {
        replicate,
        order: Some(order),
        value: Some(value),
        status: Status::Ok,
        reason: None,
        repeats: None,
        outlier: false,
    }
}

/// Two factors: `values` gives the mean of first and second level.
pub(super) fn grid(
    first: &[&str],
    second: &[&str],
    n: usize,
    values: impl Fn(usize, usize) -> f64,
) -> Study {
    let names: Vec<String> = (0..first.len() * second.len()).map(|arm| format!("l{arm}")).collect();
    let numbers: Vec<Vec<f64>> = (0..names.len())
        .map(|one| {
            let mean = values(one / second.len(), one % second.len());
            (0..n).map(|turn| mean * (1.0 + 0.003 * ((one * 5 + turn * 3) % 7) as f64)).collect()
        })
        .collect();
    let arms: Vec<(&str, &[f64])> =
        names.iter().zip(&numbers).map(|(name, own)| (name.as_str(), own.as_slice())).collect();
    let mut study = Study::of(&arms);
    let levels = |levels: &[&str]| levels.iter().map(|level| (*level).to_owned()).collect();
    study.measured.design.factors = vec![
        Factor { name: "filesystem".to_owned(), levels: levels(first) },
        Factor { name: "threads".to_owned(), levels: levels(second) },
    ];
    for (one, series) in study.measured.series.iter_mut().enumerate() {
        let (one, other) = (first[one / second.len()], second[one % second.len()]);
        series.arm = arm(&[("filesystem", one), ("threads", other)]);
    }
    study.measured.design.baseline = study.measured.series[0].arm.clone();
    study
}

impl Study {
    /// Arms of the factor `setting` with their values, the first one being the baseline.
    pub fn of(arms: &[(&str, &[f64])]) -> Self {
        let factor = Factor {
            name: "setting".to_owned(),
            levels: arms.iter().map(|(level, _)| (*level).to_owned()).collect(),
        };
        let design = Design {
            factors: vec![factor],
            baseline: arm(&[("setting", arms[0].0)]),
            margin: Some(0.05),
            order: Order::Chained,
            ..Design::default()
        };
        let count = arms.len() as u32;
        let series = arms
            .iter()
            .zip(0..)
            .map(|((level, values), place)| Series {
                class_of: None,
                workload: "work".to_owned(),
                arm: arm(&[("setting", level)]),
                control: false,
                metric: "iops".to_owned(),
                better: Better::Higher,
                scale: Scale::Ratio,
                primary: true,
                trials: (1..)
                    .zip(*values)
                    .map(|(replicate, value)| {
                        let turn = if replicate % 2 == 0 { count - 1 - place } else { place };
                        trial(replicate, (replicate - 1) * count + turn + 1, *value)
                    })
                    .collect(),
                trust: None,
                because: Vec::new(),
                evidence: Vec::new(),
            })
            .collect();
        let measured = Measurements { design, series, unfinished: false, live: Vec::new() };
        Self { measured, emulated: false }
    }

    pub fn margin(mut self, margin: f64) -> Self {
        self.measured.design.margin = Some(margin);
        self
    }

    pub fn findings(self) -> Findings {
        let place = self.emulated.then(|| PlaceFacts {
            name: "emulated (QEMU TCG)".to_owned(),
            kind: PlaceSort::Emulator,
            signs: Vec::new(),
            frequency: None,
            mitigations: None,
            clocksource: None,
            steal_share: None,
        });
        let environment = EnvironmentFacts { platform: place, ..environment() };
        crate::inference::judge(facts(), environment, self.measured)
    }
}

fn facts() -> StudyFacts {
    StudyFacts {
        id: "20261120-120000-abcd".to_owned(),
        title: "Which setting?".to_owned(),
        kind: "study".to_owned(),
        plan_sha256: "0".repeat(64),
        started: "2026-11-20T12:00:00Z".to_owned(),
        seed: 42,
        ..StudyFacts::default()
    }
}

fn environment() -> EnvironmentFacts {
    EnvironmentFacts {
        assay: "0.1.0".to_owned(),
        kernel: "6.18".to_owned(),
        cpu: "Example".to_owned(),
        cpus: Some(2),
        virtualization: "none".to_owned(),
        ..EnvironmentFacts::default()
    }
}

const BASE: [f64; 5] = [500.0, 512.0, 495.0, 505.0, 498.0];
const ARM: [f64; 5] = [520.0, 540.0, 510.0, 531.0, 515.0];

fn close(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-6, "{left} is not {right}");
}

#[test]
fn the_known_answer_of_r4() {
    let found = Study::of(&[("old", &BASE), ("new", &ARM)]).findings();
    let one = &found.comparisons[0];
    close(one.ratio.unwrap(), 1.042_079);
    close(one.ci95.unwrap()[0], 1.028_950);
    close(one.ci95.unwrap()[1], 1.055_375);
    close(one.p_holm.unwrap(), 0.000_834_541);
    close(one.p_sign_flip.unwrap(), 0.0625);
    close(one.sd_log.unwrap(), 0.010_211);
    assert_eq!(one.ci95, one.ci95_simultaneous);
    assert_eq!(one.verdict, Some(Verdict::Better));
    assert_eq!(
        one.text,
        "new is better than old: 4.2% more IOPS (ratio 1.042, 95% CI 1.029-1.055, n = 5)."
    );
}

/// The same numbers on an emulated machine: times and rates get no verdict; amounts of memory are valid.
#[test]
fn an_emulated_machine_judges_amounts_alone() {
    let study = |metric: &str| {
        let mut study = Study::of(&[("old", &BASE), ("new", &ARM), ("other", &ARM)]);
        study.measured.series.iter_mut().for_each(|one| one.metric = metric.to_owned());
        study.emulated = true;
        study.findings()
    };
    let found = study("iops");
    let one = &found.comparisons[0];
    assert_eq!((one.verdict, one.within_margin), (None, false));
    assert_eq!(
        one.text,
        "new against old: 4.2% more IOPS (ratio 1.042, 95% CI 1.026-1.059, n = 5); no verdict: \
         times and rates of an emulated machine do not describe hardware."
    );
    assert!(one.note_facts.contains(&assay_study::findings::notes::Note::Emulated));
    assert!(
        found.effects.ranks.is_empty()
            && found.advice.is_empty()
            && found.effects.trends.is_empty()
    );
    let memory = study("peak_rss_bytes");
    assert_eq!(memory.comparisons[0].verdict, Some(Verdict::Better));
    assert_eq!(memory.effects.ranks.len(), 1);
    assert_eq!(study("a_metric_of_somebody").comparisons[0].verdict, None);
}

#[test]
fn nothing_is_said_across_results_where_a_side_is_emulated() {
    let of = |emulated: bool, metric: &str| {
        let mut study = Study::of(&[("old", &BASE), ("new", &ARM)]);
        study.measured.series.iter_mut().for_each(|one| one.metric = metric.to_owned());
        study.emulated = emulated;
        study.findings()
    };
    let compared = |sides: [bool; 2], metric| {
        let [first, later] = sides.map(|side| of(side, metric));
        crate::inference::compare(&first, &[later], crate::inference::days::Days::default())
    };
    for sides in [[false, true], [true, false], [true, true]] {
        let found = compared(sides, "iops");
        assert!(!found.comparisons.is_empty());
        for one in &found.comparisons {
            assert_eq!(one.verdict, None);
            let why =
                "no verdict: times and rates of an emulated machine do not describe hardware.";
            assert!(one.text.ends_with(why), "{}", one.text);
        }
        assert!(
            compared(sides, "peak_rss_bytes").comparisons.iter().all(|one| one.verdict.is_some())
        );
    }
    assert!(compared([false, false], "iops").comparisons.iter().all(|one| one.verdict.is_some()));
}

#[test]
fn the_known_answer_of_r5() {
    let arms: [(&str, &[f64]); 3] = [
        ("a", &[500.0, 512.0, 495.0, 505.0]),
        ("b", &[520.0, 540.0, 510.0, 531.0]),
        ("c", &[480.0, 490.0, 470.0, 488.0]),
    ];
    let found = Study::of(&arms).findings();
    let [first, second] = found.comparisons.as_slice() else { panic!("two comparisons") };
    close(first.ratio.unwrap(), 1.044_074);
    close(first.ci95_simultaneous.unwrap()[0], 1.020_989);
    close(first.ci95_simultaneous.unwrap()[1], 1.067_681);
    close(second.ratio.unwrap(), 0.958_197);
    close(second.ci95.unwrap()[0], 0.947_133);
    close(second.p_holm.unwrap(), 2.0 * 0.001_340_94);
    assert_eq!((first.verdict, second.verdict), (Some(Verdict::Better), Some(Verdict::Worse)));
}

#[test]
fn the_known_answer_of_r6() {
    let same = [502.0, 509.0, 497.0, 506.0, 495.0];
    let verdict = |margin: f64| {
        let study = Study::of(&[("old", &BASE), ("new", &same)]).margin(margin);
        study.findings().comparisons[0].verdict
    };
    assert_eq!(verdict(0.05), Some(Verdict::Equivalent));
    assert_eq!(verdict(0.01), Some(Verdict::Equivalent));
    assert_eq!(verdict(0.005), Some(Verdict::Inconclusive));
}

#[test]
fn arms_that_ran_one_after_the_other_get_no_verdict() {
    let mut study = Study::of(&[("old", &BASE), ("new", &ARM)]);
    study.measured.design.order = Order::Sequential;
    let found = study.findings();
    assert_eq!(found.comparisons[0].verdict, Some(Verdict::Inconclusive));
    assert!(found.comparisons[0].text.contains("no verdict"), "{}", found.comparisons[0].text);
    assert!(found.checks.iter().any(|check| check.name == "sequential"));
}

#[test]
fn looks_and_open_stopping_widen_the_intervals() {
    let width = |stopping: Stopping| {
        let mut study = Study::of(&[("old", &BASE), ("new", &ARM)]);
        study.measured.design.stopping = stopping;
        let ends = study.findings().comparisons[0].ci95_simultaneous.unwrap();
        (ends[1] / ends[0]).ln() / 2.0 / 0.010_211_f64
    };
    let root = 5_f64.sqrt();
    let looks = width(Stopping::Looks { at: vec![5, 7, 10, 14, 20, 28], half_width: None });
    assert!((width(Stopping::Fixed) - 2.776_445 / root).abs() < 1e-3);
    assert!((looks - 4.851 / root).abs() < 1e-3, "{looks}");
    let open = width(Stopping::Open { half_width: None });
    assert!((open - 2.382_348).abs() < 1e-3, "{open}");
}

#[test]
fn invalid_arms_stand_in_the_table_and_nowhere_else() {
    let better: Vec<f64> = BASE.iter().map(|value| value * 2.0).collect();
    let mut study = Study::of(&[("1", &BASE), ("2", &ARM), ("4", &better), ("8", &BASE)]);
    study.measured.series[2].trust = Some(assay_study::findings::Trust::Invalid);
    let found = study.margin(0.01).findings();
    assert_eq!(found.comparisons[1].verdict, None);
    let four = arm(&[("setting", "4")]);
    assert!(found.effects.ranks[0].ranks.iter().all(|place| place.configuration != four));
    assert!((found.effects.trends[0].peak - 4.0).abs() > 1e-9);
    assert!(found.advice[0].evidence[0].ends_with("setting=2"), "{:?}", found.advice);
    assert!(found.checks.iter().any(|check| check.name == "invalid"));
}

#[test]
fn a_study_with_trials_to_come_says_nothing_yet() {
    let mut study = Study::of(&[("old", &BASE), ("new", &ARM), ("third", &BASE)]);
    study.measured.unfinished = true;
    let found = study.findings();
    assert!(found.comparisons.iter().all(|one| one.verdict == Some(Verdict::Inconclusive)));
    assert!(found.comparisons[0].text.contains("no verdict before"));
    assert!(
        found.advice.is_empty()
            && found.effects.ranks.is_empty()
            && found.effects.trends.is_empty()
    );
}

#[test]
fn looks_and_open_stopping_print_no_plain_p() {
    let mut study = Study::of(&[("old", &BASE), ("new", &ARM)]);
    study.measured.design.stopping = Stopping::Open { half_width: None };
    let found = study.findings();
    assert_eq!((found.comparisons[0].p_holm, found.comparisons[0].p_sign_flip), (None, None));
}

#[test]
fn an_arm_with_a_single_trial_has_no_place_among_the_others() {
    let mut study = Study::of(&[("a", &BASE), ("b", &ARM), ("c", &BASE), ("d", &ARM)]);
    let lucky = &mut study.measured.series[3].trials;
    for trial in lucky {
        trial.value = trial.value.map(|value| 2.0 * value);
    }
    let few = |keep: usize, study: &mut Study| {
        for trial in study.measured.series[3].trials.iter_mut().skip(keep) {
            (trial.value, trial.status) = (None, Status::Failed);
        }
    };
    few(2, &mut study);
    let placed = |study: &Study| {
        let again = Study { measured: study.measured.clone(), emulated: false };
        again.findings().effects.ranks[0].ranks.len()
    };
    assert_eq!(placed(&study), 4);
    few(1, &mut study);
    assert_eq!(placed(&study), 3);
}

/// An arm that beats its baseline, at a level that is slow throughout.
#[test]
fn advice_names_no_arm_that_another_one_beats() {
    let slow = BASE.map(|value| value / 10.0);
    let less_slow = ARM.map(|value| value / 10.0);
    let mut study = Study::of(&[("a", &BASE), ("b", &slow), ("c", &less_slow), ("d", &slow)]);
    let design = &mut study.measured.design;
    design.factors = vec![
        Factor { name: "queue_depth".to_owned(), levels: vec!["1".to_owned(), "2".to_owned()] },
        Factor { name: "setting".to_owned(), levels: vec!["x".to_owned(), "y".to_owned()] },
    ];
    design.baseline = arm(&[("setting", "x")]);
    let arms = [("1", "x"), ("2", "x"), ("2", "y"), ("1", "y")];
    for (series, (depth, setting)) in study.measured.series.iter_mut().zip(arms) {
        series.arm = arm(&[("queue_depth", depth), ("setting", setting)]);
    }
    let found = study.findings();
    let better = found.comparisons.iter().filter(|one| one.verdict == Some(Verdict::Better));
    assert_eq!(better.count(), 1);
    let used = found.advice.iter().filter(|one| one.kind == AdviceKind::Use);
    assert_eq!(used.count(), 0, "{:?}", found.advice);
}

/// Ranks compare all pairs, the table only those with the baseline: if the table shows more differences, the sentence
/// on ranks explains it.
#[test]
fn the_sentence_of_the_places_does_not_contradict_the_table() {
    let base = [100.0; 6];
    // Six paired logarithms of -shift +- 0.02: t is shift times sqrt(5) divided by 0.02. The critical value is 3.81 for
    // 4 comparisons and 4.77 for 10 pairs.
    let near = |shift: f64| -> [f64; 6] {
        let value = |sign: f64| 100.0 * (sign * 0.02 - shift).exp();
        [1.0, -1.0, 1.0, -1.0, 1.0, -1.0].map(value)
    };
    let far = |level: f64| [1.0, 1.001, 0.999, 1.0, 0.999, 1.001].map(|one| level * one);
    let told = |shift: f64| {
        let (b, c, d, e) = (near(shift), far(50.0), far(40.0), far(30.0));
        let found =
            Study::of(&[("a", &base), ("b", &b), ("c", &c), ("d", &d), ("e", &e)]).findings();
        let setting = arm(&[("setting", "b")]);
        let verdict =
            found.comparisons.iter().find(|one| one.configuration == setting).unwrap().verdict;
        (verdict.unwrap(), found.effects.ranks[0].text.clone())
    };
    let head = "work: setting a is the best of 5 configurations in IOPS";
    let end = "no significant difference from setting b";
    let (verdict, text) = told(0.0385);
    assert_eq!(verdict, Verdict::Worse);
    assert_eq!(text, format!("{head}; {end} (all pairs, simultaneous 95% CIs)."));
    let (verdict, text) = told(0.03);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert_eq!(text, format!("{head}; {end}."));
    let (verdict, text) = told(0.06);
    assert_eq!(verdict, Verdict::Worse);
    assert_eq!(
        text,
        format!("{head}, significantly better than each of the others (95% confidence).")
    );
}

/// A repeat pairs with the repeat of another arm, never with its first run.
#[test]
fn effects_take_all_arms_from_the_same_time() {
    use assay_study::results::record::Repeats;
    let values = [100.0, 101.0, 99.0, 100.0, 102.0];
    let mut study = Study::of(&[("a", &values), ("b", &values), ("c", &values), ("d", &values)]);
    let design = &mut study.measured.design;
    design.factors = vec![
        Factor { name: "queue_depth".to_owned(), levels: vec!["1".to_owned(), "2".to_owned()] },
        Factor { name: "setting".to_owned(), levels: vec!["x".to_owned(), "y".to_owned()] },
    ];
    design.baseline = arm(&[("queue_depth", "1"), ("setting", "x")]);
    let arms = [("1", "x"), ("1", "y"), ("2", "x"), ("2", "y")];
    for (place, (series, (depth, setting))) in
        study.measured.series.iter_mut().zip(arms).enumerate()
    {
        series.arm = arm(&[("queue_depth", depth), ("setting", setting)]);
        if place == 0 {
            series.trials[2].status = Status::Disturbed;
        }
        // The machine was twice as fast at the time of the repeat.
        let mut again = trial(6, 30 + place as u32, 200.0);
        again.repeats = Some(Repeats { replicate: 3, order: 1 });
        series.trials.push(again);
    }
    let found = study.findings();
    for effect in &found.effects.main {
        assert_eq!(effect.n, 5);
        assert!((effect.ratio - 1.0).abs() < 1e-9, "{effect:?}");
    }
}

/// The baseline of replicate 3 was disturbed and ran again with its arms: every number on the page is that of the
/// pairs.
#[test]
fn a_mean_is_the_same_wherever_the_page_tells_it() {
    use assay_study::results::record::Repeats;
    let values = [100.0, 101.0, 99.0, 100.0, 102.0];
    let other = values.map(|value| value * 1.3);
    let mut study = Study::of(&[("a", &values), ("b", &other), ("c", &values)]);
    for (place, series) in study.measured.series.iter_mut().enumerate() {
        if place == 0 {
            series.trials[2].status = Status::Disturbed;
        }
        let mut lead_in = trial(3, 50, 40.0);
        lead_in.status = Status::Warmup;
        let mut again = trial(6, 30 + place as u32, 200.0);
        again.repeats = Some(Repeats { replicate: 3, order: 1 });
        series.trials.extend([lead_in, again]);
    }
    let found = study.findings();
    let near = |one: f64, other: f64| assert!((one / other - 1.0).abs() < 1e-9, "{one} {other}");
    for compared in &found.comparisons {
        let means = compared.means.unwrap();
        let of =
            |arm: &Arm| found.measurements.iter().find(|cell| cell.configuration == *arm).unwrap();
        let (own, base) = (of(&compared.configuration), of(&compared.baseline));
        assert_eq!((own.n, base.n, compared.n), (5, 5, 5));
        near(own.geometric_mean.unwrap(), means[0]);
        near(base.geometric_mean.unwrap(), means[1]);
        let places = &found.effects.ranks[0].ranks;
        let place =
            places.iter().find(|place| place.configuration == compared.configuration).unwrap();
        near(place.geometric_mean, means[0]);
    }
}

/// The last baseline trial failed, so the other arms have no pair there; rows and ranks include these trials.
#[test]
fn a_place_has_the_number_of_its_row() {
    let values = [100.0, 101.0, 99.0, 100.0, 102.0];
    let other = [130.0, 131.0, 129.0, 130.0, 190.0];
    let mut study = Study::of(&[("a", &values), ("b", &other), ("c", &values)]);
    let failed = &mut study.measured.series[0].trials[4];
    (failed.status, failed.value) = (Status::Failed, None);
    let found = study.findings();
    let rank = &found.effects.ranks[0];
    assert_eq!(rank.ranks.len(), 3);
    for place in &rank.ranks {
        let row = found
            .measurements
            .iter()
            .find(|cell| cell.configuration == place.configuration)
            .unwrap();
        let number = row.geometric_mean.unwrap();
        assert!((place.geometric_mean / number - 1.0).abs() < 1e-9, "{place:?} {number}");
    }
    // The comparison covers only its pairs, with another label.
    let b = found
        .comparisons
        .iter()
        .find(|one| one.configuration == rank.ranks[0].configuration)
        .unwrap();
    assert!(b.means.is_none() && b.n == 4, "{b:?}");
    assert!(b.compared_means.unwrap()[0] < 0.99 * rank.ranks[0].geometric_mean, "{b:?}");
}

/// The baseline of replicate 3 ran again twice, because an arm was disturbed in the first repeat: this arm's comparison
/// uses another baseline run than the row, and has a note.
#[test]
fn a_mean_that_is_not_that_of_its_row_has_another_name() {
    use assay_study::results::record::Repeats;
    let values = [100.0, 101.0, 99.0, 100.0, 102.0];
    let other = values.map(|value| value * 1.3);
    let mut study = Study::of(&[("a", &values), ("b", &other), ("c", &values)]);
    for (place, series) in study.measured.series.iter_mut().enumerate() {
        if place == 0 {
            series.trials[2].status = Status::Disturbed;
        }
        for (round, value) in [(6, 200.0), (7, 150.0)] {
            let mut again = trial(round, 10 * round + place as u32, value);
            again.repeats = Some(Repeats { replicate: 3, order: 1 });
            if place == 2 && round == 6 {
                again.status = Status::Disturbed;
            }
            series.trials.push(again);
        }
    }
    let found = study.findings();
    let of = |level: &str| {
        let own = |one: &&Comparison| one.configuration.values().any(|own| own == level);
        found.comparisons.iter().find(own).unwrap()
    };
    let row = |arm: &Arm| {
        let own = found.measurements.iter().find(|cell| cell.configuration == *arm).unwrap();
        own.geometric_mean.unwrap()
    };
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
    let (b, c) = (of("b"), of("c"));
    assert!(b.compared_means.is_none() && near(b.means.unwrap()[1], row(&b.baseline)), "{b:?}");
    assert!(c.means.is_none() && c.n == 5, "{c:?}");
    let [arm, baseline] = c.compared_means.unwrap();
    assert!(near(arm, row(&c.configuration)) && !near(baseline, row(&c.baseline)), "{c:?}");
    assert!(near(arm / baseline, c.ratio.unwrap()), "{c:?}");
}
