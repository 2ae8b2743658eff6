//! Levels that were taken back because they hurt the work that went on: they stand in the result with
//! their reason, and without a ratio.

use assay_core::quantity::units::show;
use assay_study::findings::{Sentence, SentenceRole};
use assay_study::results::plan::arm_in_words;
use assay_study::results::record::Trial;
use assay_workloads::production::Detail;

/// A sentence for the first trial in which the level of a row was taken back.
pub(super) fn sentence(workload: &str, trials: &[&Trial]) -> Option<Sentence> {
    let first = trials.iter().find_map(|&record| {
        let measured = record.measured.as_ref()?;
        Some((record, measured.elapsed_ns, Detail::of(measured)?.harm.as_ref()?))
    });
    let (record, after_ns, breach): (&Trial, u64, _) = first?;
    Some(Sentence::new(
        SentenceRole::Warning,
        "rollback",
        format!(
            "{workload}: Assay rolled back {} after {} (trial {}) because it harmed the production workload for three \
             seconds ({}). Assay did not retry it, so it has no ratio.",
            arm_in_words(record.arm.iter()),
            show::duration(after_ns as f64),
            record.order,
            breach.words()
        ),
    ))
}
