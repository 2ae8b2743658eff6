//! S14: a gate in a study (R13c): how often it fails without a loss, with the allowed loss and with twice this loss; and
//! how soon a study stops that runs until its gate is decided.

use assay_analysis::inference;
use assay_study::findings::Findings;
use assay_study::findings::gate::{GateAnswer, GateEnd};
use assay_study::results::design::{Gate, Stopping};
use assay_testkit::Done;

use super::chance::Chance;
use super::experiment::{Bound, Count, Experiment, count};
use super::seam::{self, Question};
use super::world::{self, Trial, World};

const ALLOWED: f64 = 0.05;
/// Loss that a gate must find.
const LOST: f64 = 0.1;
const REPLICATES: usize = 10;
/// Replicates of the fixed study that an open one is compared with, and its maximum.
const MOST: u32 = 30;
/// Interim analyses of an open study: before the first, its confidence sequence is infinite.
const LOOKS: std::ops::RangeInclusive<u32> = 4..=MOST;
/// Raises a standard deviation of 2% to 3%.
const POWER: f64 = 1.5;

/// Metrics of the comparison: lower is better for a time, higher for a rate.
const TIME: &str = "duration_s";
const RATE: &str = "iops";

/// A study with a gate, in which all configurations but the baseline lost a share.
struct Case {
    metric: &'static str,
    world: World,
    question: Question,
}

impl Case {
    fn new(metric: &'static str, arms: usize, replicates: usize, loss: f64) -> Self {
        let shift = if metric == TIME { loss.ln_1p() } else { (1.0 - loss).ln() };
        let world = World { shift: shift / POWER, ..World::null(arms, replicates) };
        let gate = Gate {
            max_regression: ALLOWED,
            more: None,
            must_detect: None,
            metric: None,
            until_decided: false,
            allow_inconclusive: false,
        };
        let question = Question { gate: Some(gate), ..Question::about(&world) };
        Self { metric, world, question }
    }

    /// The same, analyzed after every replicate until its gate is decided.
    fn until_decided(mut self) -> Self {
        self.question.stopping = Stopping::Open { half_width: None };
        self.question.gate = self.question.gate.map(|gate| Gate { until_decided: true, ..gate });
        self
    }

    fn trials(&self, chance: &mut Chance) -> Vec<Trial> {
        let trials = world::run(&self.world, chance).into_iter();
        trials.map(|trial| Trial { value: trial.value.powf(POWER), ..trial }).collect()
    }

    fn judge(&self, trials: &[Trial]) -> Done<Findings> {
        let text = seam::table(trials, &self.question.labels);
        let text = text.replace(",iops,", &format!(",{},", self.metric));
        Ok(seam::judge(seam::read(&text, &self.question)?))
    }
}

fn gate(found: &Findings) -> Done<&GateAnswer> {
    found.answers.gate.as_ref().ok_or_else(|| "the gate has no result".to_owned())
}

pub fn experiments() -> Vec<Experiment> {
    let two = |metric, loss| Case::new(metric, 2, REPLICATES, loss);
    let open = |loss| Case::new(TIME, 2, MOST as usize, loss).until_decided();
    let mut all = vec![
        fixed("S14-null", "time, nothing lost, n = 10", two(TIME, 0.0), green()),
        fixed("S14-rate", "rate, 10% lost, n = 10", two(RATE, LOST), red(95.0)),
        // The logarithm of a 10% longer time is smaller than that of a 10% lower rate.
        fixed("S14-time", "time, 10% lost, n = 10", two(TIME, LOST), red(90.0)),
        fixed("S14-time-12", "time, 10% lost, n = 12", Case::new(TIME, 2, 12, LOST), red(95.0)),
        fixed("S14-edge", "time, 5% lost, n = 10", two(TIME, ALLOWED), edge()),
        fixed(
            "S14-edge-4",
            "rate, 5% lost by 3 configurations, n = 10",
            Case::new(RATE, 4, REPLICATES, ALLOWED),
            edge(),
        ),
        until("S14-until-null", "time, nothing lost", open(0.0), sooner(green())),
        until("S14-until-loss", "time, 10% lost", open(LOST), sooner(red(95.0))),
        until(
            "S14-until-edge",
            "time, 5% lost",
            open(ALLOWED),
            vec![
                count(FAILS, Bound::at_most(5.0)),
                count(PASSES, Bound::at_most(5.0)),
                count(TAKEN, Bound::Free),
            ],
        ),
    ];
    for one in &mut all {
        one.setting = format!("gate of 5%, sd 3%: {}", one.setting);
        if one.purpose.starts_with("S14-until") {
            // A study with many interim analyses takes as long as many others.
            one.one_in = 4;
        }
    }
    all
}

const FAILS: &str = "gate of 5% fails";
const PASSES: &str = "gate of 5% passes";
const TAKEN: &str = "of 30 fixed replicates used";

fn green() -> Vec<Count> {
    vec![count(FAILS, Bound::at_most(5.0)), count(PASSES, Bound::at_least(90.0))]
}

/// For a loss above the limit.
fn red(least: f64) -> Vec<Count> {
    vec![count(FAILS, Bound::at_least(least)), count(PASSES, Bound::Free)]
}

/// For a loss equal to the limit: half of the runs of a correct 5% test exceed 5.0%.
fn edge() -> Vec<Count> {
    vec![count(FAILS, Bound::at_most(7.2)), count(PASSES, Bound::Free)]
}

/// Adds the share of a fixed study that ran.
fn sooner(mut counts: Vec<Count>) -> Vec<Count> {
    counts.push(count(TAKEN, Bound::at_most(60.0)));
    counts
}

fn fixed(purpose: &str, setting: &str, case: Case, counts: Vec<Count>) -> Experiment {
    Experiment::new("S14", purpose, setting, counts, move |chance| {
        let found = case.judge(&case.trials(chance))?;
        let ended = gate(&found)?.outcome;
        Ok(vec![ended == GateEnd::Fail, ended == GateEnd::Pass])
    })
}

fn until(purpose: &str, setting: &str, case: Case, counts: Vec<Count>) -> Experiment {
    let setting = format!("until decided, {setting}");
    Experiment::new("S14", purpose, setting, counts, move |chance| {
        let trials = case.trials(chance);
        let (mut ended, mut taken) = (GateEnd::Inconclusive, MOST);
        for replicates in LOOKS {
            let until = trials.iter().filter(|trial| trial.replicate <= replicates).count();
            let found = case.judge(&trials[..until])?;
            if inference::enough(&found, &case.question.stopping).is_some() {
                (ended, taken) = (gate(&found)?.outcome, replicates);
                break;
            }
        }
        // Whether the study ran a replicate that is drawn from those of the fixed study.
        let is_taken = chance.below(MOST as usize) < taken as usize;
        Ok(vec![ended == GateEnd::Fail, ended == GateEnd::Pass, is_taken])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_judged_by_its_metric() {
        let mut chance = Chance::new(1, 0, "test").unwrap_or_else(|error| panic!("{error}"));
        for metric in [RATE, TIME] {
            let case = Case::new(metric, 2, REPLICATES, 0.5);
            let found = case.judge(&case.trials(&mut chance)).unwrap_or_else(|e| panic!("{e}"));
            let told = gate(&found).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!((told.outcome, told.rows.len()), (GateEnd::Fail, 1), "{told:?}");
            assert!(found.comparisons.iter().all(|one| one.metric == metric));
            let loss = told.rows[0].loss.unwrap_or_default();
            assert!((loss - 0.5).abs() < 0.1, "{loss}");
        }
    }
}
