//! Levels against the baseline's, in one form for comparisons and main effects.

use assay_core::quantity::Better;
use assay_study::findings::{Comparison, Effect, Verdict};
use assay_study::plan::arms::matches;
use assay_study::results::{design::Design, plan::Arm};
use assay_workloads::is_work;

use super::noise::{Reach, reach};
use super::{advice::AdviceInput, arms::Question, pairs::pairs, ranks::mean};

/// The comparison of one level, or one arm, with another in a workload.
pub(super) struct Contrast {
    pub id: String,
    pub workload: String,
    pub metric: String,
    pub levels: Arm,
    pub baseline: Arm,
    pub ratio: f64,
    pub ends: [f64; 2],
    pub verdict: Verdict,
    pub beyond_margin: bool,
    pub suspect: bool,
    pub averaged: bool,
}

/// How levels differ from the baseline's: in a grid by main effects, else by comparisons of single arms.
pub(super) fn contrasts(evidence: &AdviceInput<'_, '_>) -> Vec<Contrast> {
    let mut contrasts = Vec::new();
    for question in evidence.questions {
        let scale = ContrastScale {
            design: evidence.design,
            question,
            reach: reach(evidence.design, question),
            margin: evidence.design.margin.unwrap_or(0.0),
        };
        let effects = evidence.effects.iter().filter(|effect| {
            let is_compared = evidence.design.baseline.contains_key(&effect.factor);
            effect.workload == question.workload && is_compared
        });
        let of_effects: Vec<_> = effects.filter_map(|one| scale.contrast_of_effect(one)).collect();
        let comparisons = evidence.of_workload(question);
        if of_effects.is_empty() {
            contrasts.extend(comparisons.filter_map(|one| scale.contrast_of_comparison(one)));
            continue;
        }
        let bad: Vec<&Arm> =
            of_effects.iter().filter(|one| one.is_bad()).map(|one| &one.levels).collect();
        // Arms that are worse because of a level without a bad main effect.
        let unexplained = comparisons.filter(|one| {
            differs_in_one_factor(one)
                && !bad.iter().any(|levels| matches(&one.configuration, levels))
        });
        let of_comparisons = unexplained.filter_map(|one| scale.contrast_of_comparison(one));
        let of_comparisons: Vec<Contrast> = of_comparisons.filter(Contrast::is_bad).collect();
        contrasts.extend(of_effects.into_iter().chain(of_comparisons));
    }
    contrasts.retain(|one| !is_other_work(&one.levels, &one.baseline));
    contrasts
}

/// Whether two arms do different work: then neither can replace the other.
pub(super) fn is_other_work(arm: &Arm, baseline: &Arm) -> bool {
    arm.iter().any(|(name, level)| is_work(name) && baseline.get(name).is_some_and(|b| b != level))
}

fn differs_in_one_factor(found: &Comparison) -> bool {
    let differs = |(name, level): (&String, &String)| found.baseline.get(name) != Some(level);
    found.configuration.iter().filter(|pair| differs(*pair)).count() == 1
}

impl Contrast {
    pub fn is_bad(&self) -> bool {
        self.verdict == Verdict::Worse && self.beyond_margin
    }
}

struct ContrastScale<'a, 'q> {
    design: &'a Design,
    question: &'a Question<'q>,
    reach: Option<Reach>,
    margin: f64,
}

impl ContrastScale<'_, '_> {
    fn contrast_of_comparison(&self, found: &Comparison) -> Option<Contrast> {
        let (ratio, ends) = found.ratio.zip(found.ci95_simultaneous)?;
        let verdict = if found.within_margin { Verdict::Inconclusive } else { found.verdict? };
        let suspect = |arm: &Arm| self.question.is_suspect(arm);
        Some(Contrast {
            id: found.id.clone(),
            workload: found.workload.clone(),
            metric: found.metric.clone(),
            levels: self.varied(&found.configuration),
            baseline: self.varied(&found.baseline),
            ratio,
            ends,
            verdict: self.limit_verdict(verdict, ratio, ends),
            beyond_margin: self.is_beyond_margin(ends),
            suspect: suspect(&found.configuration) || suspect(&found.baseline),
            averaged: false,
        })
    }

    fn varied(&self, arm: &Arm) -> Arm {
        let varied = arm.iter().filter(|(name, _)| self.design.tells(name));
        varied.map(|(name, level)| (name.clone(), level.clone())).collect()
    }

    /// An effect that is better at some levels of the other factors and worse at others is inconclusive.
    fn contrast_of_effect(&self, effect: &Effect) -> Option<Contrast> {
        let (ratio, ends) = (effect.ratio, effect.ci95_simultaneous?);
        let level = |level: &String| Arm::from([(effect.factor.clone(), level.clone())]);
        let mut verdict = effect.verdict?;
        if !self.has_same_direction_everywhere(effect, verdict) {
            verdict = Verdict::Inconclusive;
        }
        let mut arms = self.question.arms.iter().filter(|runs| {
            let level = runs.arm.get(&effect.factor);
            level == Some(&effect.level) || level == Some(&effect.baseline)
        });
        Some(Contrast {
            id: effect.id(),
            workload: effect.workload.clone(),
            metric: effect.metric.clone(),
            levels: level(&effect.level),
            baseline: level(&effect.baseline),
            ratio,
            ends,
            verdict: self.limit_verdict(verdict, ratio, ends),
            beyond_margin: self.is_beyond_margin(ends),
            suspect: arms.any(|runs| self.question.is_suspect(runs.arm)),
            averaged: true,
        })
    }

    /// The verdict, or inconclusive if the difference is within the noise floor or the margin.
    fn limit_verdict(&self, verdict: Verdict, ratio: f64, ends: [f64; 2]) -> Verdict {
        let is_noise = self.reach.is_some_and(|reach| !reach.is_exceeded_by(ratio, Some(ends)));
        let is_in_margin = ends[0] > 1.0 / (1.0 + self.margin) && ends[1] < 1.0 + self.margin;
        if is_noise || is_in_margin { Verdict::Inconclusive } else { verdict }
    }

    fn is_beyond_margin(&self, ends: [f64; 2]) -> bool {
        ends[0] > 1.0 + self.margin || ends[1] < 1.0 / (1.0 + self.margin)
    }

    /// Whether an effect has the same direction at every combination of the other factors' levels.
    fn has_same_direction_everywhere(&self, effect: &Effect, verdict: Verdict) -> bool {
        let must_rise = match verdict {
            Verdict::Better => self.question.better == Better::Higher,
            Verdict::Worse => self.question.better == Better::Lower,
            Verdict::Equivalent | Verdict::Inconclusive => return true,
        };
        let arms = self.question.arms.iter();
        arms.filter(|runs| runs.arm.get(&effect.factor) == Some(&effect.level)).all(|runs| {
            let base_arm = crate::inference::at_level(runs.arm, &effect.factor, &effect.baseline);
            let Some(base) = self.question.find(&base_arm) else { return true };
            let differences = pairs(base, runs).differences();
            differences.is_empty() || (mean(&differences) > 0.0) == must_rise
        })
    }
}
