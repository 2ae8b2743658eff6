//! The highest load under a limit (R16): search trials, five rates around the result, and more if one side of the limit
//! is missing. The course follows only from the plan and the trials so far, so a resumed study continues the same way.

#[cfg(test)]
mod tests;

use std::fmt;

use assay_core::draws::Draws;
use assay_core::quantity::Time;
use assay_core::stats::observations_needed;
use assay_load::MOST_PER_S;
use assay_workloads::io::{self, Arrivals};

use super::allocation::Quick;
use super::order::{self, Rules};
use crate::file::Study;
use crate::file::limit::Limit;
use crate::file::limit::bracket::{self, Bracket, RateSample, Standing};
use crate::results::course::{self, FIRST, SEARCHES, STEPS};
use crate::results::design::{Ask, AskKind, Design, Factor};
use crate::results::plan::{Arm, Plan, PlannedTrial, PlannedWorkload};
use crate::results::record::{Status, Trial};

/// The first five rates, as shares of the search result.
const AROUND: [f64; FIRST] = [0.78, 0.87, 0.95, 1.04, 1.14];
/// The next lower rate, as a share of the lowest.
const LOWER: f64 = 0.88;
/// The next higher rate, as a share of the highest.
const HIGHER: f64 = 1.12;
/// The search begins between the highest rate and this share of it.
const LOWEST_SHARE: f64 = 1.0 / 32.0;
/// Length of a trial in a quick check, and its ramp.
const QUICK: Time = Time(1_000_000_000);
const QUICK_RAMP: Time = Time(100_000_000);
/// Below this rate, shares are indistinguishable, because rates are integers.
const SLOWEST: f64 = 20.0;
/// Lowest rate to try, as a share of the lowest searched rate: three steps below the first of five.
const DOWN_TO: f64 = 0.5;
/// Highest rate of the search, which leaves room for the last of five rates and three higher ones.
const FASTEST: f64 = MOST_PER_S as f64 / 2.0;
/// Minimum random starts per trial: four standard deviations are the allowed fifth.
const FEWEST_DRAWN: u64 = 400;
/// Trial length in limits: a queue exceeds the limit within it at a rate 5% too high.
const TIMES_THE_LIMIT: u64 = 20;
pub const RATE_METRIC: &str = "iops";

pub fn asked(design: &Design) -> Option<(&Ask, Limit)> {
    let ask = design.questions.iter().find(|ask| ask.kind == AskKind::MaxRate)?;
    Some((ask, ask.slo.as_deref()?.parse().ok()?))
}

pub fn limit(study: &Study) -> Option<Limit> {
    let ask = study.question.iter().find(|ask| ask.kind == AskKind::MaxRate)?;
    ask.slo.as_deref()?.parse().ok()
}

pub fn factor() -> Factor {
    let levels = (0..STEPS).filter_map(|step| course::step(step).remove(course::FACTOR));
    Factor { name: course::FACTOR.to_owned(), levels: levels.collect() }
}

pub fn has_steps(workloads: &[PlannedWorkload]) -> bool {
    workloads.first().is_some_and(|workload| workload.arm == course::step(0))
}

pub const fn shortest_ns(limit: Limit) -> u64 {
    limit.below_ns().saturating_mul(TIMES_THE_LIMIT)
}

/// Sets time and replicates for a quick search for the highest rate.
#[must_use]
pub fn quick(mut study: Study, quick: Quick) -> Study {
    let time = limit(&study).map_or(QUICK, |limit| QUICK.max(Time(shortest_ns(limit))));
    for workload in &mut study.workload {
        workload.work.set_span(Some(time), Some(QUICK_RAMP));
    }
    study.replicates = quick.replicates.unwrap_or(study.replicates);
    study
}

/// Every possible trial in order: closed loop, search, first steps, then each further step.
pub fn trials(rules: Rules, replicates: usize, seed: u64) -> Vec<PlannedTrial> {
    let mut seeds = Draws::new(seed, "trials");
    let draws = &mut Draws::new(seed, "order");
    let search_turn = order::Turn { replicate: 0, item: 0, lead_in: false };
    let mut turns: Vec<(order::Turn, Arm)> = vec![(search_turn, course::search(None))];
    turns.extend((0..SEARCHES).map(|search| (search_turn, course::search(Some(search)))));
    let mut add_steps = |rules: Rules, steps: Vec<usize>| {
        let drawn = order::turns(rules, &[steps], replicates, draws);
        turns.extend(drawn.into_iter().map(|turn| (turn, course::step(turn.item))));
    };
    add_steps(rules, (0..FIRST).collect());
    // One step alone follows itself: a warm-up before its first trial is enough.
    for step in FIRST..STEPS {
        add_steps(Rules { compared: false, ..rules }, vec![step]);
    }
    let trial = |(order, (turn, arm)): (u32, (order::Turn, Arm))| {
        super::planned_trial(order, turn, arm, seeds.bits())
    };
    (0..).zip(turns).map(trial).collect()
}

#[derive(Clone, Debug, PartialEq)]
pub struct RateTrial {
    pub order: u32,
    pub replicate: u32,
    pub workload: usize,
    /// Whether its number counts: undisturbed, and not a warm-up.
    pub counts: bool,
    pub seen: RateSample,
}

impl RateTrial {
    pub fn new(record: &Trial, seen: RateSample) -> Self {
        let Trial { order, replicate, workload, status, .. } = *record;
        Self { order, replicate, workload, counts: status == Status::Ok, seen }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum SearchEnd {
    NoRate,
    /// The highest rate is too low for the percentile in one trial.
    TooSlow {
        per_s: f64,
        percentile: &'static str,
    },
    /// Rates on both sides of the limit were found; the number of rates.
    Whole {
        rates: usize,
    },
}

impl fmt::Display for SearchEnd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRate => write!(
                out,
                "ended after the first trial: the closed loop measured no rate to start from"
            ),
            Self::TooSlow { per_s, percentile } => write!(
                out,
                "ended after the first trial: {per_s:.0} IOPS are too few to estimate {percentile} in trials of this \
                 length; set a longer runtime"
            ),
            Self::Whole { rates } => {
                write!(out, "ended after {rates} rates: found the limit")
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aim {
    pub limit: Limit,
    pub time_ns: u64,
    pub at_random: bool,
}

impl Aim {
    fn limit_ns(self) -> f64 {
        self.limit.below_ns() as f64
    }

    /// The lowest rate at which a trial has enough operations for the percentile.
    fn slowest(self) -> f64 {
        let needed = observations_needed(self.limit.share()).unwrap_or(u64::MAX);
        let drawn = if self.at_random { FEWEST_DRAWN } else { 0 };
        needed.max(drawn) as f64 / (self.time_ns.max(1) as f64 / 1e9)
    }
}

/// Rate of a trial, operations per second, `None` for the closed loop; or the reason to end before it.
pub fn rate(ran: &[RateTrial], trial: &PlannedTrial, aim: Aim) -> Result<Option<f64>, SearchEnd> {
    match (trial.replicate, trial.order.checked_sub(1)) {
        (0, None) => Ok(None),
        (0, Some(number)) => search_rate(ran, number, aim).map(Some),
        _ => step_rate(ran, trial.workload, aim).map(Some),
    }
}

/// Rate of a search trial, numbered from 0: each trial halves the remaining interval on a log scale.
fn search_rate(ran: &[RateTrial], number: u32, aim: Aim) -> Result<f64, SearchEnd> {
    let search = |order: u32| ran.iter().find(|trial| trial.order == order && trial.replicate == 0);
    // The first trial, a closed loop, shows the highest rate.
    let most = search(0).and_then(|trial| trial.seen.done_per_s).filter(|most| *most > 0.0);
    let mut high = most.ok_or(SearchEnd::NoRate)?.min(FASTEST);
    let mut low = (high * LOWEST_SHARE).max(aim.slowest().max(SLOWEST) / DOWN_TO);
    if low >= high {
        return Err(SearchEnd::TooSlow { per_s: high, percentile: aim.limit.percentile() });
    }
    for earlier in 1..=number {
        let rate = rounded((low * high).sqrt());
        if search(earlier).is_some_and(|trial| trial.seen.passes(rate, aim.limit_ns())) {
            low = rate;
        } else {
            high = rate;
        }
    }
    Ok(rounded((low * high).sqrt()))
}

/// Rate of a step, from 0: five around the search result, then further ones until both sides of the limit are found.
fn step_rate(ran: &[RateTrial], number: usize, aim: Aim) -> Result<f64, SearchEnd> {
    let middle = search_rate(ran, SEARCHES, aim)?;
    let mut rates: Vec<f64> = AROUND.map(|share| rounded(middle * share)).to_vec();
    // Alternates between both directions if both sides are missing.
    let mut last_was_lower = false;
    while rates.len() <= number {
        let bracket = Bracket::from_outcomes(&ascending_standings(ran, &rates, aim.limit_ns()));
        if bracket.is_whole() {
            return Err(SearchEnd::Whole { rates: rates.len() });
        }
        let is_lower = bracket.holds.is_none() && (bracket.fails.is_some() || !last_was_lower);
        let lowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = rates.iter().copied().fold(0.0, f64::max);
        rates.push(rounded(if is_lower { lowest * LOWER } else { highest * HIGHER }));
        last_was_lower = is_lower;
    }
    Ok(rates[number])
}

/// Judges each rate by the trials of its step; returns the standings in ascending order of rate.
fn ascending_standings(ran: &[RateTrial], rates: &[f64], limit_ns: f64) -> Vec<Standing> {
    let mut by_rate: Vec<(f64, Standing)> = Vec::with_capacity(rates.len());
    for (step, rate) in rates.iter().enumerate() {
        let counting = ran.iter().filter(|trial| trial.replicate > 0 && trial.counts);
        let of_step = counting.filter(|trial| trial.workload == step);
        let samples: Vec<RateSample> = of_step.map(|trial| trial.seen).collect();
        by_rate.push((*rate, bracket::judge(&samples, *rate, limit_ns).standing));
    }
    by_rate.sort_by(|(rate, _), (other, _)| rate.total_cmp(other));
    by_rate.into_iter().map(|(_, standing)| standing).collect()
}

fn rounded(per_s: f64) -> f64 {
    course::rate(&course::at_rate(per_s)).unwrap_or(per_s)
}

/// Returns a trial with its rate, or why the study ends. Trials of other studies stay unchanged.
pub fn with_rate(
    plan: &Plan,
    ran: &[RateTrial],
    trial: &PlannedTrial,
) -> Result<PlannedTrial, SearchEnd> {
    let Some(((_, limit), workload)) = asked(&plan.design).zip(plan.workloads.first()) else {
        return Ok(trial.clone());
    };
    let at_random =
        io::IoPlan::of(&workload.work).is_some_and(|io| io.arrival_process == Arrivals::Poisson);
    let arm = rate(ran, trial, Aim { limit, time_ns: workload.time_ns, at_random })?
        .map_or_else(|| trial.arm.clone(), course::at_rate);
    Ok(PlannedTrial { arm, ..trial.clone() })
}
