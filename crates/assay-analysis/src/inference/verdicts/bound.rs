//! Widths of CIs: Student's t, its share of the error at declared looks, or a confidence sequence (R5, R8).

use std::{cell::RefCell, collections::BTreeMap};

use assay_core::stats::{
    FEWEST_FOR_INTERVAL, MIXTURE_G, Sample, bonferroni, confidence_sequence_half_width, look_alpha,
    t_quantile,
};
use assay_study::results::design::{ALPHA, Design, Stopping};

/// Intervals at one level of error, for one comparison or for a family of them.
#[derive(Clone)]
pub(super) struct ErrorBound {
    /// Error that each interval may have, two-sided.
    pub alpha: f64,
    sequence: bool,
    /// Half-widths in standard deviations by number of pairs: quantiles are dear.
    known: RefCell<BTreeMap<usize, Option<f64>>>,
}

impl ErrorBound {
    /// The bound of a study for `comparisons` comparisons at once.
    pub fn new(design: &Design, comparisons: usize) -> Self {
        Self::with_share(design, bonferroni(1.0, comparisons))
    }

    /// The bound of one of the statements of a study that has this share of its error.
    pub fn with_share(design: &Design, share: f64) -> Self {
        let (alpha, sequence) = match &design.stopping {
            Stopping::Fixed | Stopping::Race { .. } => (ALPHA, false),
            Stopping::Looks { at, .. } => (look_alpha(ALPHA, at.len()), false),
            Stopping::Open { .. } => (ALPHA, true),
        };
        Self::with_alpha(alpha * share, sequence)
    }

    pub fn t(alpha: f64) -> Self {
        Self::with_alpha(alpha, false)
    }

    fn with_alpha(alpha: f64, sequence: bool) -> Self {
        Self { alpha, sequence, known: RefCell::default() }
    }

    /// The bound for the two one-sided tests of equivalence; a confidence sequence is already conservative.
    pub fn equivalence(&self) -> Self {
        Self::with_alpha(if self.sequence { self.alpha } else { 2.0 * self.alpha }, self.sequence)
    }

    /// Half-width in standard deviations of one difference.
    fn half_width(&self, n: usize) -> Option<f64> {
        if n < FEWEST_FOR_INTERVAL {
            return None;
        }
        *self.known.borrow_mut().entry(n).or_insert_with(|| {
            if self.sequence {
                return confidence_sequence_half_width(n, self.alpha, MIXTURE_G);
            }
            let t = t_quantile(1.0 - self.alpha / 2.0, (n - 1) as f64)?;
            Some(t / (n as f64).sqrt())
        })
    }

    pub fn interval(&self, sample: &Sample) -> Option<[f64; 2]> {
        let half = self.half_width(sample.n)? * sample.sd?;
        let ends = [sample.mean - half, sample.mean + half];
        ends.iter().all(|end| end.is_finite()).then_some(ends)
    }
}

/// An interval carried back from logarithms.
pub(super) fn exp(ends: [f64; 2]) -> Option<[f64; 2]> {
    let ends = ends.map(f64::exp);
    (ends[0] > 0.0 && ends[1].is_finite()).then_some(ends)
}
