//! Others at work: where they were during most of the trials, that is the first thing to know.

use assay_study::findings::{Sentence, SentenceRole};

use super::super::rows::WorkloadTrials;

const BLAMED: [(&str, &str); 5] = [
    ("foreign-io", "other programs used the drive"),
    ("cpu-starved", "other programs used the CPUs"),
    ("steal", "the hypervisor ran other VMs on the CPUs"),
    ("swap", "the machine swapped"),
    ("throttled", "the CPUs or the drive throttled"),
];

/// More replicates than this would take longer than to wait for a quiet machine.
const MOST_ADVISED: u32 = 100;

/// One sentence where more than half of the trials were not alone, and what to do about it: so many
/// replicates would tell what was left open, where the study may take them.
pub(super) fn sentence(rows: &[WorkloadTrials<'_>], needed: Option<u32>) -> Option<Sentence> {
    let all: usize = rows.iter().map(|row| row.unquiet.of).sum();
    let hit: usize = rows.iter().map(|row| row.unquiet.trials).sum();
    if 2 * hit <= all {
        return None;
    }
    let speaks = |rule: &str| rows.iter().any(|row| row.unquiet.rules.contains(&rule));
    let told: Vec<String> = BLAMED
        .iter()
        .filter(|(rule, _)| speaks(rule))
        .map(|(_, words)| (*words).to_owned())
        .collect();
    let told = if told.is_empty() { "unknown cause".to_owned() } else { super::listed(&told) };
    let more = needed
        .filter(|count| *count <= MOST_ADVISED)
        .map(|count| format!(", or run more replicates (--replicates {count})"));
    let text = format!(
        "Disturbed: {told}, in {hit} of {all} trials. Stop other load and measure again{}.",
        more.unwrap_or_default()
    );
    Some(Sentence::new(SentenceRole::Disturbance, "background-load", text))
}
