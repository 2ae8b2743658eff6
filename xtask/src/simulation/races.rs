//! S16: races (R15): how close the winner is to the best, the number of trials, whether the race drops the best, and
//! races among equals. The product's plan and rule select the trials of each replicate.

use assay_study::file::{Study, text};
use assay_study::findings::Verdict;
use assay_study::plan;
use assay_study::plan::race::{self, Race, Run};
use assay_study::results::plan::{Area, Plan, PlannedTrial, Survey};
use assay_study::results::record::Status;
use assay_testkit::Done;

use super::chance::Chance;
use super::experiment::{Bound, Experiment, count};
use super::seam::{self, Question};
use super::world::{self, World};

/// Standard deviations of a trial, and of the common part of the trials in a replicate.
const TRIAL_SD: f64 = 0.03;
const REPLICATE_SD: f64 = 0.02;
const REPLICATES: u32 = 20;
const CLOSENESS: f64 = 0.02;
/// Allowed factor above the trials in the table of R15.
const SPARE: f64 = 1.2;
/// The configuration with a carry-over effect on the next trial.
const CARRIER: usize = 1;
/// Replicates per 5% of drift.
const DRIFT_REPLICATES: f64 = 5.0;
const DISTURBANCE: f64 = 1.5;

/// True logarithms of the configurations.
#[derive(Clone, Copy)]
pub enum Truth {
    /// Normal, with this standard deviation.
    Spread(f64),
    /// All equal, except one that leads by this.
    One(f64),
    Equal,
}

/// Configurations with three times the noise.
#[derive(Clone, Copy, PartialEq)]
pub enum Noisy {
    None,
    Third,
    Best,
}

/// A race on a simulated machine.
#[derive(Clone, Copy)]
pub struct Case {
    pub arms: usize,
    pub truth: Truth,
    pub noisy: Noisy,
    pub heavy: bool,
    /// With drift, carry-over, a periodic disturbance, failed and disturbed trials.
    pub rough: bool,
}

impl Case {
    pub fn new(arms: usize, truth: Truth) -> Self {
        Self { arms, truth, noisy: Noisy::None, heavy: false, rough: false }
    }

    fn truths(&self, chance: &mut Chance) -> Vec<f64> {
        match self.truth {
            Truth::Spread(sd) => (0..self.arms).map(|_| sd * chance.normal()).collect(),
            Truth::One(ahead) => {
                let best = chance.below(self.arms);
                (0..self.arms).map(|arm| if arm == best { ahead } else { 0.0 }).collect()
            }
            Truth::Equal => vec![0.0; self.arms],
        }
    }
}

struct Bench<'a> {
    case: &'a Case,
    truths: Vec<f64>,
    best: usize,
    /// Common part of the trials, per replicate.
    common: Vec<f64>,
    phase: f64,
    /// Trials so far; a lead-in counts half.
    passed: f64,
    before: Option<usize>,
}

impl<'a> Bench<'a> {
    fn new(case: &'a Case, truths: Vec<f64>, replicates: u32, chance: &mut Chance) -> Self {
        let best = (0..truths.len()).max_by(|one, other| truths[*one].total_cmp(&truths[*other]));
        let common = (0..=replicates).map(|_| REPLICATE_SD * chance.normal()).collect();
        let phase = chance.uniform();
        Self { case, best: best.unwrap_or(0), truths, common, phase, passed: 0.0, before: None }
    }

    fn run(
        &mut self,
        planned: &PlannedTrial,
        replicate: u32,
        chance: &mut Chance,
    ) -> (Status, f64) {
        let (arm, case) = (planned.workload, self.case);
        let noisy = match case.noisy {
            Noisy::None => false,
            Noisy::Third => arm % 3 == 0,
            Noisy::Best => arm == self.best,
        };
        let sd = if noisy { 3.0 * TRIAL_SD } else { TRIAL_SD };
        let drawn = if case.heavy { chance.student3() / 3.0_f64.sqrt() } else { chance.normal() };
        let mut log = self.truths[arm] + self.common[replicate as usize] + sd * drawn;
        if case.rough {
            log += 0.05 * self.passed / (DRIFT_REPLICATES * case.arms as f64);
            log -= if self.before == Some(CARRIER) { 0.03 } else { 0.0 };
            log += 0.05 * ((self.passed / 7.3 + self.phase) * std::f64::consts::TAU).sin();
        }
        self.passed += if planned.is_lead_in() { 0.5 } else { 1.0 };
        self.before = Some(arm);
        let fate = if case.rough && !planned.is_lead_in() { chance.uniform() } else { 1.0 };
        match fate {
            _ if planned.is_lead_in() => (Status::Warmup, log),
            fate if fate < 0.05 => (Status::Failed, log),
            fate if fate < 0.15 => (Status::Disturbed, log + DISTURBANCE.ln()),
            _ => (Status::Ok, log),
        }
    }
}

pub struct FinishedRace {
    pub race: Race,
    pub best: usize,
    truths: Vec<f64>,
    /// Trials without lead-ins and repeats.
    pub trials: usize,
}

impl FinishedRace {
    pub fn is_within(&self) -> bool {
        let winner = self.race.standing.leader;
        winner.is_some_and(|arm| self.truths[self.best] - self.truths[arm] <= CLOSENESS.ln_1p())
    }

    /// Whether the race dropped the best configuration.
    fn lost_the_best(&self) -> bool {
        !self.race.standing.is_in(self.best)
    }
}

/// Runs a race to its end, as the runner does.
fn run_case(case: &Case, study: &Study, chance: &mut Chance) -> Done<FinishedRace> {
    let plan = plan::make(study, vec![survey()], chance.bits());
    let truths = case.truths(chance);
    run(case, truths, &plan, chance)
}

/// Runs the race of a plan whose configurations have these true logarithms.
pub fn run(case: &Case, truths: Vec<f64>, plan: &Plan, chance: &mut Chance) -> Done<FinishedRace> {
    let mut bench = Bench::new(case, truths, plan.replicates, chance);
    let mut runs: Vec<Run> = Vec::new();
    loop {
        let race = race::race(plan, &runs).ok_or("the plan is not a race")?;
        if race.next.is_empty() {
            let counted = |run: &&Run| run.status != Status::Warmup && run.repeats.is_none();
            let trials = runs.iter().filter(counted).count();
            return Ok(FinishedRace { race, best: bench.best, truths: bench.truths, trials });
        }
        for (planned, repeats) in &race.next {
            let replicate = repeats.map_or(planned.replicate, |repeated| repeated.replicate);
            let (status, log) = bench.run(planned, replicate, chance);
            runs.push(Run {
                order: planned.order,
                replicate: planned.replicate,
                arm: planned.workload,
                status,
                repeats: *repeats,
                log: status.counts().then_some(log),
                harmed: false,
            });
        }
    }
}

/// A race among this number of configurations.
fn study(arms: usize) -> Done<Study> {
    let copies: Vec<String> = (0..arms).map(|arm| format!("\"c{arm}\"")).collect();
    let copies = copies.join(", ");
    let text = format!(
        "format = \"assay-study/1\"\ntitle = \"race\"\nreplicates = {REPLICATES}\nmargin = \"2%\"\n\
         stop = {{ rule = \"best\" }}\n[factors]\naa_copy = [{copies}]\n[[workload]]\nname = \"work\"\n\
         io = {{ pattern = \"random\", mix = \"read\", block_size = \"4 KiB\", runtime = \"1 s\" }}\n"
    );
    text::parse("simulated", &text).map_err(|failure| failure.message)
}

pub fn survey() -> Survey {
    Survey {
        area: Area { start: 0, length: 1 << 30, asked: 1 << 30, written: true, fill_ns: 0 },
        ..Survey::untaken("simulated", "simulated")
    }
}

pub const WITHIN: &str = "winner within 2% of the best";
const THROWN_OUT: &str = "best configuration dropped";
const TAKEN: &str = "of 20 full replicates used";
/// The bound is 1.2 times the table, which is 66.7% of this.
const TAKEN_OF_BOUND: &str = "of 1.8 times the trials in the table";
/// Up to this number of configurations, the length of a race varies much.
const FEW: usize = 8;
const TOLD_APART: &str = "baseline differs from the winner";
const CONFIRMED: &str = "fresh trials of the winner are better";

pub fn experiments() -> Vec<Experiment> {
    let spread = |arms, sd| Case::new(arms, Truth::Spread(sd));
    let third = Case { noisy: Noisy::Third, ..spread(32, 0.1) };
    let best = Case { noisy: Noisy::Best, ..spread(200, 0.1) };
    let heavy = Case { heavy: true, ..spread(32, 0.1) };
    let rough = |arms| Case { rough: true, ..spread(arms, 0.1) };
    // Last: trials per configuration in the table of R15.
    let mut all = vec![
        found("S16-8", "8 configs, spread 10%", spread(8, 0.1), (97.0, Some(5.4))),
        found("S16-32", "32 configs, spread 10%", spread(32, 0.1), (97.0, Some(4.3))),
        found("S16-200", "200 configs, spread 10%", spread(200, 0.1), (97.0, Some(3.5))),
        found("S16-32-near", "32 configs, spread 3%", spread(32, 0.03), (97.0, Some(9.2))),
        found("S16-200-near", "200 configs, spread 3%", spread(200, 0.03), (97.0, Some(7.4))),
        found(
            "S16-one",
            "32 configs, one best by 5%",
            Case::new(32, Truth::One(0.05)),
            (97.0, Some(10.3)),
        ),
        found("S16-third", "32 configs, a third three times as noisy", third, (93.0, Some(6.2))),
        found("S16-best", "200 configs, the best three times as noisy", best, (93.0, Some(4.4))),
        found("S16-heavy", "32 configs, t3 tails", heavy, (97.0, Some(5.2))),
        found(
            "S16-rough",
            "32 configs; drift, carry-over, a sine, 5% failed, 10% disturbed",
            rough(32),
            (93.0, None),
        ),
        found("S16-8-rough", "8 configs; the same disturbances", rough(8), (93.0, None)),
        found("S16-200-rough", "200 configs; the same disturbances", rough(200), (93.0, None)),
        equals("S16-equal", "32 configs, all equal", Case::new(32, Truth::Equal)),
    ];
    for one in &mut all {
        // A race takes as long as many studies, and one among many or similar configurations as long as many races.
        one.one_in = 4;
        one.setting = format!("race, sd 3%, closeness 2%: {}", one.setting);
        one.daily = ["S16-8", "S16-32", "S16-rough"].contains(&one.purpose.as_str());
    }
    all
}

/// A race among different configurations that needs this number of trials per configuration.
fn found(
    purpose: &str,
    setting: &str,
    case: Case,
    (least, trials): (f64, Option<f64>),
) -> Experiment {
    // The closer this maximum is to the used trials, the smaller is the random error of the count.
    let all = f64::from(REPLICATES);
    let most = trials.filter(|_| case.arms > FEW).map(|trials| 1.5 * SPARE * trials);
    let (what, most) = most.map_or((TAKEN, all), |most| (TAKEN_OF_BOUND, most.min(all)));
    let share = |trials: f64| 100.0 * SPARE * trials / most;
    let taken = trials.map_or(Bound::Free, |trials| Bound::at_most(share(trials)));
    let counts = vec![
        count(WITHIN, Bound::at_least(least)),
        count(THROWN_OUT, Bound::Free),
        count(what, taken),
    ];
    let study = study(case.arms);
    Experiment::new("S16", purpose, setting, counts, move |chance| {
        let ended = run_case(&case, study.as_ref().map_err(Clone::clone)?, chance)?;
        // Whether the race ran a trial that is drawn from this number.
        let is_taken = chance.uniform() * most * (case.arms as f64) < ended.trials as f64;
        Ok(vec![ended.is_within(), ended.lost_the_best(), is_taken])
    })
}

/// A race among equals: Assay gives no advice, and new trials of the winner show no difference.
fn equals(purpose: &str, setting: &str, case: Case) -> Experiment {
    let counts =
        vec![count(TOLD_APART, Bound::at_most(5.0)), count(CONFIRMED, Bound::at_most(5.0))];
    let study = study(case.arms);
    Experiment::new("S16", purpose, setting, counts, move |chance| {
        let ended = run_case(&case, study.as_ref().map_err(Clone::clone)?, chance)?;
        let standing = &ended.race.standing;
        let world = World::null(2, 6);
        let question = Question::about(&world);
        let fresh = seam::findings(&world::run(&world, chance), &question)?;
        let verdict = question.comparison(&fresh, 1)?.verdict;
        let is_other = standing.leader.is_some_and(|arm| arm != 0);
        let is_confirmed = is_other && verdict == Some(Verdict::Better);
        Ok(vec![standing.baseline_behind.is_some(), is_confirmed])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chance() -> Chance {
        Chance::new(1, 0, "test").unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_race_is_run_by_the_product_up_to_its_end() {
        let study = study(8).unwrap_or_else(|error| panic!("{error}"));
        let ended = run_case(&Case::new(8, Truth::One(0.5)), &study, &mut chance());
        let ended = ended.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(ended.race.standing.leader, Some(ended.best));
        assert!(ended.is_within() && !ended.lost_the_best());
        // Three of each at least, and far from twenty.
        assert!((24..80).contains(&ended.trials), "{}", ended.trials);
    }

    #[test]
    fn a_rough_bench_has_trials_of_every_fate() {
        let case = Case { rough: true, ..Case::new(32, Truth::Equal) };
        let mut chance = chance();
        let study = study(32).unwrap_or_else(|error| panic!("{error}"));
        let plan = plan::make(&study, vec![survey()], 1);
        let truths = case.truths(&mut chance);
        let mut bench = Bench::new(&case, truths, plan.replicates, &mut chance);
        let fates: Vec<Status> = (plan.trials.iter())
            .map(|planned| bench.run(planned, planned.replicate, &mut chance).0)
            .collect();
        let count = |status| fates.iter().filter(|own| **own == status).count();
        assert_eq!(count(Status::Warmup), 20);
        assert!((20..50).contains(&count(Status::Failed)), "{}", count(Status::Failed));
        assert!((40..90).contains(&count(Status::Disturbed)), "{}", count(Status::Disturbed));
    }
}
