//! Whether a study may end at a declared look (R8): narrow CIs, a verdict on each comparison, or a decided gate.

use assay_study::findings::gate::{FEWEST_TO_END, GateAnswer, Gated};
use assay_study::findings::{Comparison, Findings, Verdict};
use assay_study::results::design::Stopping;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StopReason {
    Decided,
    /// Every interval is within this fraction of its center.
    Narrow(f64),
    /// Every row of the gate is significantly beyond or within the limit.
    Gated,
    /// The same, except for rows that no replicate can decide.
    GatedBut,
}

/// Why a study may end at an interim analysis; `None` if it continues. A study with a gate ends only by that gate.
pub fn enough(found: &Findings, stopping: &Stopping) -> Option<StopReason> {
    if let Some(gate) = &found.answers.gate
        && let Some(replicates) = gate.replicates
    {
        return gate_stop_reason(gate, replicates);
    }
    let half_width = match stopping {
        // A race has a separate rule.
        Stopping::Fixed | Stopping::Race { .. } => return None,
        Stopping::Looks { half_width, .. } | Stopping::Open { half_width } => *half_width,
    };
    let is_decided =
        |one: &Comparison| one.verdict.is_some_and(|verdict| verdict != Verdict::Inconclusive);
    let mut primary = found.comparisons.iter().filter(|one| one.primary).peekable();
    primary.peek()?;
    match half_width {
        Some(wanted) => {
            primary.all(|one| is_narrow(one, wanted)).then_some(StopReason::Narrow(wanted))
        }
        None => primary.all(is_decided).then_some(StopReason::Decided),
    }
}

/// Whether a gate that ends its study is decided as far as possible.
fn gate_stop_reason(gate: &GateAnswer, replicates: u32) -> Option<StopReason> {
    if replicates < FEWEST_TO_END || gate.rows.is_empty() || gate.rows.iter().any(Gated::is_open) {
        return None;
    }
    let is_whole = !gate.rows.iter().any(Gated::is_silent);
    Some(if is_whole { StopReason::Gated } else { StopReason::GatedBut })
}

fn is_narrow(one: &Comparison, wanted: f64) -> bool {
    one.ci95_simultaneous.is_some_and(|[low, high]| (high / low).ln() / 2.0 <= wanted.ln_1p())
}
