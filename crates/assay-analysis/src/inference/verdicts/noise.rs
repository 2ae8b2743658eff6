//! The noise floor: differences between two identical arms (R7).

use assay_core::quantity::Scale;
use assay_core::stats::{FEWEST_FOR_INTERVAL, Sample, bonferroni};
use assay_study::findings::NoiseFloor;
use assay_study::results::design::{Design, Stopping};

use super::bound::{ErrorBound, exp};
use super::{arms::Question, pairs::pairs, words};

/// Significance level for a difference between two identical arms, over all workloads.
const SIGNIFICANCE: f64 = 0.01;

/// The noise floor of the workload in which it is largest; `None` without a control arm.
pub(super) fn largest_floor(design: &Design, questions: &[&Question<'_>]) -> Option<NoiseFloor> {
    let controls: Vec<(&Question<'_>, Sample)> = questions
        .iter()
        .filter_map(|question| Some((*question, noise_sample(question)?)))
        .collect();
    let bound = match design.stopping {
        Stopping::Fixed | Stopping::Race { .. } => {
            ErrorBound::t(bonferroni(SIGNIFICANCE, controls.len()))
        }
        Stopping::Looks { .. } | Stopping::Open { .. } => ErrorBound::new(design, controls.len()),
    };
    let is_different =
        |sample: &Sample| bound.interval(sample).is_some_and(|ends| ends[0] > 0.0 || ends[1] < 0.0);
    // A significant difference exceeds any that is not.
    let (question, sample) = controls.into_iter().max_by(|(_, a), (_, b)| {
        let by_significance = is_different(a).cmp(&is_different(b));
        by_significance.then(a.mean.abs().total_cmp(&b.mean.abs()))
    })?;
    let ends = ErrorBound::new(design, 1).interval(&sample).and_then(exp)?;
    let mut floor = NoiseFloor {
        workload: question.workload.to_owned(),
        metric: question.metric.to_owned(),
        n: sample.n,
        ratio: sample.mean.exp(),
        ci95: Some(ends),
        different: is_different(&sample),
        text: String::new(),
    };
    floor.text = words::noise_floor(&floor, ends);
    Some(floor)
}

/// The possible difference between two identical arms in a workload, on the scale of logarithms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    half_width: f64,
    different: bool,
}

/// The noise floor of a workload; `None` without a control arm, or with too few pairs for a CI.
pub(super) fn reach(design: &Design, question: &Question<'_>) -> Option<Reach> {
    let sample = noise_sample(question)?;
    let [low, high] = ErrorBound::new(design, 1).interval(&sample)?;
    let [strict_low, strict_high] = ErrorBound::t(SIGNIFICANCE).interval(&sample)?;
    let different = strict_low > 0.0 || strict_high < 0.0;
    Some(Reach { half_width: low.abs().max(high.abs()), different })
}

impl Reach {
    /// Whether a ratio is beyond the floor: by its estimate, or by its whole CI if identical arms differ.
    pub fn is_exceeded_by(self, ratio: f64, ends: Option<[f64; 2]>) -> bool {
        let is_far = |ratio: f64| ratio.ln().abs() > self.half_width;
        match ends {
            Some([low, high]) if self.different => {
                let is_on_one_side = (low > 1.0) == (high > 1.0);
                is_on_one_side && is_far(low) && is_far(high)
            }
            _ => is_far(ratio) && !self.different,
        }
    }
}

fn noise_sample(question: &Question<'_>) -> Option<Sample> {
    let control = question.control.as_ref().filter(|_| question.scale == Scale::Ratio)?;
    let first = question.find(control.arm)?;
    let sample = Sample::of(&pairs(first, control).differences())?;
    (sample.n >= FEWEST_FOR_INTERVAL).then_some(sample)
}
