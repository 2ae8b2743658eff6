//! Main effects and interactions (amendment to R5): means of logarithms over the other factors' levels within a
//! replicate, paired over replicates. The effects of a workload are one family (R5b), and those of several workloads
//! until one is significant. The classes of a workload stay one family.

use assay_core::quantity::Scale;
use assay_core::stats::{FEWEST_FOR_INTERVAL, Sample};
use assay_study::findings::{Effect, Effects, Interaction, Verdict};
use assay_study::results::design::{Design, Factor};
use assay_study::results::plan::Arm;

use super::arms::{Question, Runs};
use super::bound::{ErrorBound, exp};
use super::comparisons::{IntervalBounds, replicates_needed, verdict_of_stats};
use super::{pairs::levels_in, ranks::mean, words};

/// The main effects of all factors, averaged over the other factors, and the interactions between two factors.
pub(super) fn factor_effects(design: &Design, questions: &[&Question<'_>]) -> Effects {
    if !design.order.tells_arms_from_time() {
        return Effects::default();
    }
    let questions: Vec<&Question<'_>> =
        questions.iter().copied().filter(|question| question.scale == Scale::Ratio).collect();
    let effects_in_family = |workloads: usize| {
        let mut all = Effects::default();
        for question in &questions {
            let bounds = EffectBounds::new(design, workloads.max(question.sharing));
            all.main.extend(main_effects(design, question, &bounds.effects));
            all.interactions.extend(interactions(design, question, &bounds.interactions));
        }
        all
    };
    // The first significant effect frees the workloads from the common family (R5b).
    let strict = effects_in_family(questions.len());
    if questions.len() > 1 && shows_anything(&strict) { effects_in_family(1) } else { strict }
}

fn shows_anything(found: &Effects) -> bool {
    let differs = |main: &Effect| matches!(main.verdict, Some(Verdict::Better | Verdict::Worse));
    !found.interactions.is_empty() || found.main.iter().any(differs)
}

/// Share of the error for main effects: they are the purpose of a grid.
const EFFECTS_SHARE: f64 = 0.8;

struct EffectBounds {
    effects: ErrorBound,
    interactions: ErrorBound,
}

impl EffectBounds {
    /// Divides the error by the numbers of main effects (one per other level) and interactions (per pair of those).
    fn new(design: &Design, workloads: usize) -> Self {
        let other_levels: Vec<usize> = design
            .varied()
            .map(|factor| reference(design, factor).map_or(0, |(_, others)| others.len()))
            .collect();
        let mut interactions = 0;
        for (index, count) in other_levels.iter().enumerate() {
            interactions += count * other_levels[index + 1..].iter().sum::<usize>();
        }
        let bound = |share: f64, statements: usize| {
            ErrorBound::with_share(design, share / (statements * workloads).max(1) as f64)
        };
        Self {
            effects: bound(EFFECTS_SHARE, other_levels.iter().sum()),
            interactions: bound(1.0 - EFFECTS_SHARE, interactions),
        }
    }
}

fn main_effects(design: &Design, question: &Question<'_>, family: &ErrorBound) -> Vec<Effect> {
    let bounds = IntervalBounds::with(design, family.clone(), question.better);
    let factors = design.factors.iter();
    factors.flat_map(|factor| effects_of_factor(design, question, factor, &bounds)).collect()
}

/// The reference level of a factor, and the other levels.
fn reference<'a>(design: &'a Design, factor: &'a Factor) -> Option<(&'a String, Vec<&'a String>)> {
    let base = design.baseline.get(&factor.name).or(factor.levels.first())?;
    Some((base, factor.levels.iter().filter(|level| *level != base).collect()))
}

/// The main effect of each level of a factor, averaged over the levels of the others.
fn effects_of_factor(
    design: &Design,
    question: &Question<'_>,
    factor: &Factor,
    bounds: &IntervalBounds,
) -> Vec<Effect> {
    let Some((base, others)) = reference(design, factor) else { return Vec::new() };
    let name = &factor.name;
    let mut effects = Vec::new();
    for level in others {
        let corners = Corners::new(question, &[(name, base)], &[&[], &[(name, level)]]);
        let sample = Sample::of(&corners.by_replicate(|means| means[1] - means[0]));
        let Some(sample) = sample.filter(|sample| sample.n >= FEWEST_FOR_INTERVAL) else {
            continue;
        };
        let [ci95, family] = bounds.intervals(&sample);
        let judged =
            bounds.verdict(&sample, question.scale).map(|judged| verdict_of_stats(judged.verdict));
        let verdict = judged.unwrap_or(Verdict::Inconclusive);
        let is_open = verdict == Verdict::Inconclusive;
        let mut effect = Effect {
            workload: question.workload.to_owned(),
            metric: question.metric.to_owned(),
            better: question.better,
            factor: name.clone(),
            baseline: base.clone(),
            level: level.clone(),
            n: sample.n,
            ratio: sample.mean.exp(),
            ci95: ci95.and_then(exp),
            ci95_simultaneous: family.and_then(exp),
            verdict: Some(verdict),
            replicates_needed: replicates_needed(design, &sample, bounds).filter(|_| is_open),
            text: String::new(),
        };
        effect.text = words::effect(&effect);
        effects.push(effect);
    }
    effects
}

/// Interactions, one entry per pair of factors with a significant one.
fn interactions(design: &Design, question: &Question<'_>, family: &ErrorBound) -> Vec<Interaction> {
    let factors: Vec<&Factor> = design.varied().collect();
    let mut found = Vec::new();
    for (index, first) in factors.iter().enumerate() {
        for second in &factors[index + 1..] {
            found.extend(clearest_interaction(design, question, [first, second], family));
        }
    }
    found
}

/// Of all pairs of levels of two factors, the significant interaction that stands out most from its error, if any.
fn clearest_interaction(
    design: &Design,
    question: &Question<'_>,
    factors: [&Factor; 2],
    family: &ErrorBound,
) -> Option<Interaction> {
    let [first, second] = factors;
    let (base1, others1) = reference(design, first)?;
    let (base2, others2) = reference(design, second)?;
    let mut clearest: Option<(f64, Interaction)> = None;
    for level1 in &others1 {
        for level2 in &others2 {
            let corner = [(&first.name, base1), (&second.name, base2)];
            let moved = [(&first.name, *level1), (&second.name, *level2)];
            let Some((strength, interaction)) = interaction(question, corner, moved, family) else {
                continue;
            };
            if clearest.as_ref().is_none_or(|(known, _)| strength > *known) {
                clearest = Some((strength, interaction));
            }
        }
    }
    clearest.map(|(_, interaction)| interaction)
}

/// How the first factor's effect differs between two levels of the second, and how clearly; `None` if not significant.
fn interaction(
    question: &Question<'_>,
    corner: [Setting<'_>; 2],
    moved: [Setting<'_>; 2],
    bound: &ErrorBound,
) -> Option<(f64, Interaction)> {
    let [first, second] = moved;
    let corners = Corners::new(question, &corner, &[&[], &[first], &[second], &[first, second]]);
    // The effect of the first factor at the baseline (`low`) and at the other level of the second one.
    let sample_of = |value: fn([f64; 2]) -> f64| {
        let effects = |means: &[f64]| value([means[1] - means[0], means[3] - means[2]]);
        Sample::of(&corners.by_replicate(effects))
    };
    let sample = sample_of(|[low, high]| high - low)?;
    let ends = bound.interval(&sample)?;
    if ends[0] <= 0.0 && ends[1] >= 0.0 {
        return None;
    }
    let effects = [sample_of(|[low, _]| low)?, sample_of(|[_, high]| high)?];
    let mut interaction = Interaction {
        workload: question.workload.to_owned(),
        metric: question.metric.to_owned(),
        factors: [first.0.clone(), second.0.clone()],
        levels: [first.1.clone(), second.1.clone()],
        n: sample.n,
        ratio: sample.mean.exp(),
        ci95_simultaneous: exp(ends)?,
        text: String::new(),
    };
    let corner = corner.map(|(_, level)| level.as_str());
    interaction.text = words::interaction(&interaction, corner, effects);
    let nearest_to_zero = ends[0].abs().min(ends[1].abs());
    Some((nearest_to_zero / sample.sd?.max(f64::MIN_POSITIVE), interaction))
}

type Setting<'a> = (&'a String, &'a String);
const ROUNDING: f64 = 1e-12;

/// The arms behind an effect: at each corner (levels of its factors) the same combinations of the other levels.
struct Corners<'a> {
    arms: Vec<&'a Runs<'a>>,
    contexts: usize,
}

impl<'a> Corners<'a> {
    /// For each arm at the fixed levels, the arms at all corners; combinations without all of them are left out.
    fn new(question: &'a Question<'a>, fixed: &[Setting<'_>], corners: &[&[Setting<'_>]]) -> Self {
        let is_at_fixed_levels =
            |arm: &Arm| fixed.iter().all(|(name, level)| arm.get(*name) == Some(*level));
        let arms_at_corners = |arm: &Arm| -> Option<Vec<&'a Runs<'a>>> {
            corners.iter().map(|moved| question.find(&with_settings(arm, moved))).collect()
        };
        let fixed_arms = question.arms.iter().filter(|runs| is_at_fixed_levels(runs.arm));
        let contexts: Vec<Vec<_>> =
            fixed_arms.filter_map(|runs| arms_at_corners(runs.arm)).collect();
        // Corner by corner, so that `by_replicate` can split them into equal parts.
        let mut arms = Vec::new();
        for corner in 0..corners.len() {
            arms.extend(contexts.iter().map(|context| context[corner]));
        }
        Self { arms, contexts: contexts.len() }
    }

    /// One value per replicate from the mean of each corner, for replicates with all arms.
    fn by_replicate(&self, value: impl Fn(&[f64]) -> f64) -> Vec<f64> {
        // The first arm has every replicate that all arms have.
        let Some(first) = self.arms.first().filter(|_| self.contexts > 0) else {
            return Vec::new();
        };
        let of_replicate = |replicate: &u32| {
            let levels = levels_in(&self.arms, *replicate)?;
            let means: Vec<f64> = levels.chunks(self.contexts).map(mean).collect();
            let result = value(&means);
            Some(if result.abs() < ROUNDING { 0.0 } else { result })
        };
        first.first.keys().filter_map(of_replicate).collect()
    }
}

fn with_settings(arm: &Arm, settings: &[Setting<'_>]) -> Arm {
    let mut arm = arm.clone();
    arm.extend(settings.iter().map(|(name, level)| ((*name).clone(), (*level).clone())));
    arm
}
