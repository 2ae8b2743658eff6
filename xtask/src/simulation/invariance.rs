//! S10: findings do not depend on the names of configurations, the order of rows, the unit of the values, and the choice
//! of the baseline.

use super::chance::Chance;
use super::experiment::{Bound, Conclusions, Experiment, count};
use super::seam::{self, Question};
use super::world::{self, Trial, World};
use assay_study::findings::Findings;
use assay_study::findings::{Comparison, Measurement, Verdict};
use assay_study::results::plan::Arm;
use assay_testkit::Done;

/// Random studies; each is analyzed five times.
const STUDIES: u32 = 200;
/// Relative difference of equal numbers.
const SAME: f64 = 1e-12;

pub fn experiment() -> Experiment {
    let none = |what| count(what, Bound::at_most(0.0));
    let counts = vec![
        none("shuffled rows: any change"),
        none("renamed configurations: any change"),
        none("scaled values: any change"),
        none("swapped baseline: not the inverse"),
    ];
    let mut experiment = Experiment::new(
        "S10",
        "S10",
        "2 to 5 configurations, n = 3 to 10, shifted, some disturbed".to_owned(),
        counts,
        study,
    );
    experiment.most = STUDIES;
    experiment
}

fn study(chance: &mut Chance) -> Done<Conclusions> {
    let (arms, replicates) = (2 + chance.below(4), 3 + chance.below(8));
    let shift = 0.03 * chance.normal();
    let world = World { shift, disturbed: 0.05, ..World::null(arms, replicates) };
    let trials = world::run(&world, chance);
    let unit = (10.0 * chance.normal()).exp();
    let question = Question::about(&world);
    let plain = Picture::new(&seam::findings(&trials, &question)?, &question, 1.0)?;
    let same = |trials: &[Trial], question: &Question, unit: f64| -> Done<bool> {
        Ok(Picture::new(&seam::findings(trials, question)?, question, unit)?.is_same(&plain))
    };
    Ok(vec![
        !same(&shuffled(&trials, chance), &question, 1.0)?,
        !same(&trials, &renamed(&question, chance), 1.0)?,
        !same(&scaled(&trials, unit), &question, unit)?,
        !is_inverse(&trials, &question, 1 + chance.below(arms - 1))?,
    ])
}

fn shuffled(trials: &[Trial], chance: &mut Chance) -> Vec<Trial> {
    let mut trials = trials.to_vec();
    chance.shuffle(&mut trials);
    trials
}

fn renamed(question: &Question, chance: &mut Chance) -> Question {
    let mut question = question.clone();
    chance.shuffle(&mut question.labels);
    question
}

fn scaled(trials: &[Trial], unit: f64) -> Vec<Trial> {
    let one = |trial: &Trial| Trial { value: trial.value * unit, ..trial.clone() };
    trials.iter().map(one).collect()
}

/// Whether the comparison of configuration 0 with another one is the inverse of the opposite comparison.
fn is_inverse(trials: &[Trial], question: &Question, other: usize) -> Done<bool> {
    let plain = seam::findings(trials, question)?;
    let plain = question.comparison(&plain, other)?;
    let question = Question { baseline: other, ..question.clone() };
    let swapped = seam::findings(trials, &question)?;
    let swapped = question.comparison(&swapped, 0)?;
    let inverse = |ends: Option<[f64; 2]>| ends.map(|[low, high]| [1.0 / high, 1.0 / low]);
    let mut wanted = plain.clone();
    wanted.ratio = plain.ratio.map(f64::recip);
    wanted.ci95 = inverse(plain.ci95);
    wanted.ci95_simultaneous = inverse(plain.ci95_simultaneous);
    wanted.verdict = plain.verdict.map(|verdict| match verdict {
        Verdict::Better => Verdict::Worse,
        Verdict::Worse => Verdict::Better,
        other => other,
    });
    if question.labels.len() > 2 {
        // Holm's correction depends on the other comparisons, which differ here.
        wanted.p_holm = swapped.p_holm;
    }
    Ok(wanted.verdict == swapped.verdict && all_same(&numbers(&wanted), &numbers(swapped)))
}

/// Everything that findings state in numbers and single words, by the number of the configuration.
struct Picture {
    numbers: Vec<Option<f64>>,
    words: Vec<String>,
}

impl Picture {
    /// Values of the metric are divided by `unit`.
    fn new(findings: &Findings, question: &Question, unit: f64) -> Done<Self> {
        let number = |arm: &Arm| {
            let known = |label: &String| arm.values().any(|level| level == label);
            question.labels.iter().position(known).unwrap_or(usize::MAX)
        };
        let mut all = Vec::new();
        let mut words: Vec<String> =
            findings.checks.iter().map(|check| check.name.clone()).collect();
        for arm in (0..question.labels.len()).filter(|arm| *arm != question.baseline) {
            let found = question.comparison(findings, arm)?;
            words.push(format!("{:?}", found.verdict));
            all.extend(numbers(found));
        }
        let mut cells: Vec<&Measurement> = findings.measurements.iter().collect();
        cells.sort_by_key(|cell| number(&cell.configuration));
        for cell in cells {
            let [low, high] = ends(cell.ci95);
            let values = [cell.geometric_mean, cell.min, cell.median, cell.max, low, high];
            all.extend(values.map(|value| value.map(|value| value / unit)));
            let outliers = cell.trials.iter().filter(|trial| trial.outlier);
            let outliers: Vec<_> = outliers.map(|trial| trial.order).collect();
            words.push(format!("{} {outliers:?}", cell.n));
        }
        let places = findings.effects.ranks.iter().flat_map(|rank| &rank.ranks);
        let mut places: Vec<_> =
            places.map(|place| (number(&place.configuration), place.rank_range)).collect();
        places.sort_unstable();
        words.push(format!("{places:?}"));
        Ok(Self { numbers: all, words })
    }

    fn is_same(&self, other: &Self) -> bool {
        self.words == other.words && all_same(&self.numbers, &other.numbers)
    }
}

fn ends(ends: Option<[f64; 2]>) -> [Option<f64>; 2] {
    [ends.map(|ends| ends[0]), ends.map(|ends| ends[1])]
}

fn numbers(found: &Comparison) -> Vec<Option<f64>> {
    let mut numbers = vec![
        Some(found.n as f64),
        found.ratio,
        found.sd_log,
        found.p_holm,
        found.p_sign_flip,
        found.replicates_needed.map(f64::from),
    ];
    numbers.extend(ends(found.ci95));
    numbers.extend(ends(found.ci95_simultaneous));
    numbers
}

fn all_same(left: &[Option<f64>], right: &[Option<f64>]) -> bool {
    let same = |(left, right): (&Option<f64>, &Option<f64>)| match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => (left - right).abs() <= SAME * left.abs().max(right.abs()),
        _ => false,
    };
    left.len() == right.len() && left.iter().zip(right).all(same)
}
