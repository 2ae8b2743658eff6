//! The noise floor: what the bench makes of two identical arms (R7).

use assay_stats::{Sample, bonferroni};

use super::arms::Question;
use super::bound::{Bound, exp};
use super::pairs::pairs;
use super::words;
use crate::quantity::Scale;
use crate::results::design::{Design, Stopping};
use crate::results::findings::NoiseFloor;

/// Error at which two identical arms count as told apart, over all workloads.
const ERROR: f64 = 0.01;

/// The noise floor of the workload in which it is largest; none without a control arm.
pub(super) fn floor(design: &Design, questions: &[&Question<'_>]) -> Option<NoiseFloor> {
    let controlled: Vec<(&Question<'_>, Sample)> =
        questions.iter().filter_map(|question| Some((*question, of(question)?))).collect();
    let bound = match design.stopping {
        Stopping::Fixed => Bound::t(bonferroni(ERROR, controlled.len())),
        Stopping::Looks { .. } | Stopping::Open { .. } => Bound::of(design, controlled.len()),
    };
    let different =
        |sample: &Sample| bound.interval(sample).is_some_and(|ends| ends[0] > 0.0 || ends[1] < 0.0);
    let (question, sample) = controlled.into_iter().max_by(|(_, a), (_, b)| {
        let key = |sample: &Sample| (different(sample), sample.mean.abs());
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })?;
    let mut floor = NoiseFloor {
        workload: question.workload.to_owned(),
        metric: question.metric.to_owned(),
        n: sample.n,
        ratio: sample.mean.exp(),
        ci95: Bound::of(design, 1).interval(&sample).and_then(exp),
        different: different(&sample),
        text: String::new(),
    };
    floor.text = words::noise_floor(&floor);
    Some(floor)
}

/// The differences of the second copy from the first.
fn of(question: &Question<'_>) -> Option<Sample> {
    let control = question.control.as_ref().filter(|_| question.scale == Scale::Ratio)?;
    let first = question.find(control.arm)?;
    Sample::of(&pairs(first, control).differences())
}
