//! Whether a study has shown enough at a declared look (R8): intervals as narrow as was asked, or else
//! a verdict on every comparison; of a gate, that it is decided. Never the spread itself.

use assay_study::findings::gate::Gated;
use assay_study::findings::{Comparison, Findings, Verdict};
use assay_study::results::design::Stopping;

/// What a study has shown enough of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Enough {
    /// Every comparison has its verdict.
    Decided,
    /// Every interval is within this share of its middle.
    Narrow(f64),
    /// Every row of the gate is surely beyond it or surely within it.
    Gated,
}

/// Judges a look by the findings of all replicates so far; none where the study goes on. A study that ends by
/// its gate ends by nothing else.
pub fn enough(found: &Findings, stopping: &Stopping) -> Option<Enough> {
    if let Some(gate) = found.gate.as_ref().filter(|gate| gate.replicates.is_some()) {
        let is_decided = !gate.rows.is_empty() && !gate.rows.iter().any(Gated::is_silent);
        return is_decided.then_some(Enough::Gated);
    }
    let half_width = match stopping {
        Stopping::Fixed => return None,
        Stopping::Looks { half_width, .. } | Stopping::Open { half_width } => *half_width,
    };
    let mut primary = found.comparisons.iter().filter(|one| one.primary).peekable();
    primary.peek()?;
    let (is_enough, enough): (bool, Enough) = match half_width {
        Some(wanted) => (primary.all(|one| is_narrow(one, wanted)), Enough::Narrow(wanted)),
        None => (primary.all(is_decided), Enough::Decided),
    };
    is_enough.then_some(enough)
}

fn is_decided(one: &Comparison) -> bool {
    one.verdict.is_some_and(|verdict| verdict != Verdict::Inconclusive)
}

fn is_narrow(one: &Comparison, wanted: f64) -> bool {
    one.ci95_family.is_some_and(|[low, high]| (high / low).ln() / 2.0 <= wanted.ln_1p())
}
