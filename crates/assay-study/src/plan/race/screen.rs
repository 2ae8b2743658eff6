//! The screen before a race (R15): some arms of a large grid run first, in passes with balanced levels. Main effects
//! are fitted by least squares on logarithms; levels behind another of their factor leave. Interactions are ignored.

use std::collections::{BTreeMap, BTreeSet};

use assay_core::draws::Draws;
use assay_core::stats::{FittedEffects, fit_effects, t_quantile};

use super::{Left, RaceState, Run, Why, counted};
use crate::plan::{budget, order};
use crate::results::design::{ALPHA, Design, Factor};
use crate::results::plan::{Arm, Plan, PlannedWorkload};

/// Maximum number of passes; comparisons are within passes, as within replicates.
const MOST_PASSES: u32 = 6;

/// How often a pass has each level of the factor that has the most.
const TIMES_EACH: usize = 2;

/// A level without a value after this many trials is dropped if others of its factor have values.
const TRIES: usize = 3;

/// Passes of the screen for so many arms: no more trials than arms, except for a single pass.
pub fn passes(factors: &[Factor], arms: usize) -> u32 {
    let whole = arms / trials_of_pass(factors).max(1);
    u32::try_from(whole).unwrap_or(MOST_PASSES).clamp(1, MOST_PASSES)
}

fn trials_of_pass(factors: &[Factor]) -> usize {
    let most = factors.iter().map(|factor| factor.levels.len()).max().unwrap_or(1);
    TIMES_EACH.saturating_mul(most)
}

/// The trials of the screen, with the number of the pass as their replicate; empty without a screen.
pub(in crate::plan) fn turns(
    asked: &budget::Turns<'_>,
    design: &Design,
    workloads: &[PlannedWorkload],
    seed: u64,
) -> Vec<order::Turn> {
    let passes = design.stopping.passes();
    if passes == 0 {
        return Vec::new();
    }
    let mut draws = Draws::new(seed, "screen");
    let mut turns = Vec::new();
    for (pass, arms) in (1..).zip(draw_arms(&design.factors, workloads, passes, &mut draws)) {
        let mut groups: Vec<Vec<usize>> = asked.groups.to_vec();
        for group in &mut groups {
            group.retain(|arm| arms.contains(arm));
        }
        groups.retain(|group| !group.is_empty());
        let of_pass = order::turns(asked.rules, &groups, 1, &mut draws);
        turns.extend(of_pass.into_iter().map(|turn| order::Turn { replicate: pass, ..turn }));
    }
    turns
}

/// Draws the arms of each pass: rarest levels first, no arm twice before all came once.
fn draw_arms(
    factors: &[Factor],
    workloads: &[PlannedWorkload],
    passes: u32,
    draws: &mut Draws,
) -> Vec<BTreeSet<usize>> {
    let levels: Vec<Vec<Option<usize>>> =
        workloads.iter().map(|entry| levels_of(factors, &entry.arm)).collect();
    let mut counts: Vec<Vec<usize>> =
        factors.iter().map(|factor| vec![0; factor.levels.len()]).collect();
    let size = trials_of_pass(factors).min(workloads.len());
    let mut left: Vec<usize> = Vec::new();
    let mut draw_arm = |_| {
        if left.is_empty() {
            left = (0..workloads.len()).collect();
            draws.shuffle(&mut left);
        }
        let times_drawn = |arm: usize| -> usize {
            let pairs = levels[arm].iter().zip(&counts);
            pairs.filter_map(|(level, counts)| level.map(|level| counts[level])).sum()
        };
        let rarest = (0..left.len()).min_by_key(|at| times_drawn(left[*at]))?;
        let arm = left.remove(rarest);
        count_levels(&mut counts, &levels[arm]);
        Some(arm)
    };
    (0..passes).map(|_| (0..size).filter_map(&mut draw_arm).collect()).collect()
}

/// Index of the arm's level of each factor; `None` for a factor that the arm does not have.
fn levels_of(factors: &[Factor], arm: &Arm) -> Vec<Option<usize>> {
    let level = |factor: &Factor| {
        let text = arm.get(&factor.name)?;
        factor.levels.iter().position(|level| level == text)
    };
    factors.iter().map(level).collect()
}

/// Differences of logarithms below this are of arithmetic.
const ROUNDING: f64 = 1e-9;

#[derive(Clone, Debug, PartialEq)]
pub struct ScreenResult {
    pub trials: usize,
    /// Each level of each factor that varies, in their order.
    pub levels: Vec<ScreenLevel>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScreenLevel {
    pub factor: usize,
    pub level: usize,
    pub n: usize,
    /// Difference from the best level of its factor; `None` if the trials do not determine it.
    pub beside: Option<LevelDifference>,
    pub left: bool,
}

/// A difference of logarithms, and its half-width: 95% simultaneous for all levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelDifference {
    pub by: f64,
    pub width: f64,
}

impl ScreenResult {
    /// Judges the levels by the runs of all passes. Drops no level if all arms except the baseline would leave.
    pub(super) fn new(plan: &Plan, passes: &BTreeMap<u32, Vec<Run>>) -> Self {
        let levels = |planned: &PlannedWorkload| levels_of(&plan.design.factors, &planned.arm);
        let arms: Vec<Vec<Option<usize>>> = plan.workloads.iter().map(levels).collect();
        let mut found = ScreenTrials::new(plan, passes, &arms).judge();
        if found.leaves_nobody(plan, &arms) {
            for level in &mut found.levels {
                level.left = false;
            }
        }
        found
    }

    /// Returns whether only the baseline would remain, because the best levels cannot be combined.
    fn leaves_nobody(&self, plan: &Plan, arms: &[Vec<Option<usize>>]) -> bool {
        let is_in = |arm: &Vec<Option<usize>>| self.dropped_level(arm).is_none();
        let baseline = super::baseline(plan);
        let mut others = arms.iter().enumerate().filter(|(arm, _)| Some(*arm) != baseline);
        let holds_lost = baseline.is_none_or(|index| !is_in(&arms[index]));
        holds_lost && !others.any(|(_, arm)| is_in(arm))
    }

    /// The first dropped level among the levels of an arm.
    fn dropped_level(&self, arm: &[Option<usize>]) -> Option<&ScreenLevel> {
        self.levels
            .iter()
            .find(|level| level.left && arm.get(level.factor) == Some(&Some(level.level)))
    }

    /// Drops the arms with a dropped level from the race; the baseline and arms that already left stay unchanged.
    pub(super) fn drop_arms(&self, plan: &Plan, baseline: usize, race: &mut RaceState) {
        for (arm, (planned, left)) in plan.workloads.iter().zip(&mut race.left).enumerate() {
            let levels = levels_of(&plan.design.factors, &planned.arm);
            if let Some(dropped) = self.dropped_level(&levels).filter(|_| arm != baseline) {
                let why = Why::Level { factor: dropped.factor, level: dropped.level };
                left.get_or_insert(Left { after: 0, why });
            }
        }
    }
}

struct ScreenTrials<'a> {
    /// Pass, levels and logarithm of each that counted.
    rows: Vec<(u32, &'a [Option<usize>], f64)>,
    /// Trials of each level by factor: all, and those that counted.
    tried: Vec<Vec<usize>>,
    counted: Vec<Vec<usize>>,
}

impl<'a> ScreenTrials<'a> {
    /// Collects the trials of the passes, and counts those of each level.
    fn new(plan: &Plan, passes: &BTreeMap<u32, Vec<Run>>, arms: &'a [Vec<Option<usize>>]) -> Self {
        let zero_counts: Vec<Vec<usize>> =
            plan.design.factors.iter().map(|factor| vec![0; factor.levels.len()]).collect();
        let mut found = Self { rows: Vec::new(), tried: zero_counts.clone(), counted: zero_counts };
        let runs = passes.iter().flat_map(|(pass, runs)| runs.iter().map(move |run| (*pass, run)));
        for (pass, run) in runs.filter(|(_, run)| !run.is_lead_in()) {
            let Some(levels) = arms.get(run.arm).map(Vec::as_slice) else { continue };
            count_levels(&mut found.tried, levels);
            if let Some(log) = counted(run) {
                count_levels(&mut found.counted, levels);
                found.rows.push((pass, levels, log));
            }
        }
        found
    }

    /// Drops levels that are behind the best level of their factor, and those without a value in enough trials.
    fn judge(&self) -> ScreenResult {
        let model = EffectModel::new(self);
        let fit = model.fit(&self.rows);
        let mut levels = Vec::new();
        let varied = self.counted.iter().enumerate().filter(|(_, counts)| counts.len() > 1);
        for (factor, counts) in varied {
            let best = fit.as_ref().and_then(|(fit, _)| model.best(fit, factor));
            let has_values = counts.iter().any(|n| *n > 0);
            for (level, n) in counts.iter().copied().enumerate() {
                let fit_and_best = fit.as_ref().zip(best).filter(|_| n > 0);
                let from_best = fit_and_best
                    .and_then(|((fit, t), best)| model.difference(fit, *t, factor, [level, best]));
                let is_behind = from_best
                    .is_some_and(|difference| difference.by + difference.width < -ROUNDING);
                let is_silent = n == 0 && has_values && self.tried[factor][level] >= TRIES;
                let left = is_behind || is_silent;
                levels.push(ScreenLevel { factor, level, n, beside: from_best, left });
            }
        }
        ScreenResult { trials: self.rows.len(), levels }
    }
}

/// Adds a trial to the count of each of its levels.
fn count_levels(counts: &mut [Vec<usize>], levels: &[Option<usize>]) {
    for (counts, level) in counts.iter_mut().zip(levels) {
        if let Some(count) = level.and_then(|level| counts.get_mut(level)) {
            *count += 1;
        }
    }
}

/// The fitted effects: one per pass, and per level with numbers but the first of a factor.
struct EffectModel {
    passes: BTreeMap<u32, usize>,
    effects: Vec<Vec<EffectSlot>>,
    /// Number of fitted effects.
    count: usize,
    /// Pairs of levels, one of which may be the best.
    pairs: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum EffectSlot {
    Nowhere,
    /// The level to compare others with.
    First,
    At(usize),
}

impl EffectModel {
    fn new(trials: &ScreenTrials<'_>) -> Self {
        let passes: BTreeSet<u32> = trials.rows.iter().map(|(pass, ..)| *pass).collect();
        let passes: BTreeMap<u32, usize> = passes.into_iter().zip(0..).collect();
        let mut count = passes.len();
        let mut pairs = 0;
        // The first level with values is the reference of its factor; only further levels have an effect.
        let mut effects = Vec::new();
        for counts in &trials.counted {
            let mut slots: Vec<EffectSlot> = Vec::with_capacity(counts.len());
            for trials in counts {
                slots.push(if *trials == 0 {
                    EffectSlot::Nowhere
                } else if !slots.contains(&EffectSlot::First) {
                    EffectSlot::First
                } else {
                    (count, pairs) = (count + 1, pairs + 1);
                    EffectSlot::At(count - 1)
                });
            }
            effects.push(slots);
        }
        Self { passes, effects, count, pairs }
    }

    /// The effects and the quantile for dropping levels. `None` if effects cannot be separated.
    fn fit(&self, rows: &[(u32, &[Option<usize>], f64)]) -> Option<(FittedEffects, f64)> {
        // A logarithm is the sum of the effects of its pass and its levels.
        let mut effects_of_rows = Vec::with_capacity(rows.len());
        for (pass, levels, _) in rows {
            let mut row = vec![*self.passes.get(pass)?];
            for (effects, level) in self.effects.iter().zip(*levels) {
                if let Some(EffectSlot::At(effect)) = level.and_then(|level| effects.get(level)) {
                    row.push(*effect);
                }
            }
            effects_of_rows.push(row);
        }
        let logs: Vec<f64> = rows.iter().map(|(.., log)| *log).collect();
        let fit = fit_effects(self.count, &effects_of_rows, &logs)?;
        let alpha = ALPHA / self.pairs.max(1) as f64;
        // The upper quantile from the lower tail, which is numerically more precise.
        let t = -t_quantile(alpha, fit.freedom as f64)?;
        Some((fit, t))
    }

    fn place(&self, factor: usize, level: usize) -> EffectSlot {
        let slot = self.effects.get(factor).and_then(|slots| slots.get(level));
        slot.copied().unwrap_or(EffectSlot::Nowhere)
    }

    /// The level of a factor with the largest effect, the first of equal ones; `None` without values.
    fn best(&self, fit: &FittedEffects, factor: usize) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for level in 0..self.effects.get(factor)?.len() {
            let effect = match self.place(factor, level) {
                EffectSlot::Nowhere => continue,
                EffectSlot::First => 0.0,
                EffectSlot::At(at) => *fit.effects.get(at)?,
            };
            if best.is_none_or(|(_, most)| effect > most) {
                best = Some((level, effect));
            }
        }
        best.map(|(level, _)| level)
    }

    /// Effect of the first level minus that of the second; `None` if the trials do not determine the difference.
    fn difference(
        &self,
        fit: &FittedEffects,
        t: f64,
        factor: usize,
        levels: [usize; 2],
    ) -> Option<LevelDifference> {
        let [effect, other] = levels.map(|level| match self.place(factor, level) {
            EffectSlot::At(at) => Some(at),
            // The reference level has no fitted effect.
            _ => None,
        });
        let (by, error) = fit.difference(effect, other)?;
        Some(LevelDifference { by, width: t * error })
    }
}
