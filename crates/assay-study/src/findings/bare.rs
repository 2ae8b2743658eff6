//! Trials and comparisons of which nothing more is told: what they are told with differs from these.

use assay_base::quantity::Better;

use super::{CellTrial, Comparison, Kind};
use crate::results::plan::{Arm, arm_words};
use crate::results::record::Status;

impl CellTrial {
    /// One with nothing that speaks against it.
    pub fn bare(replicate: u32, order: Option<u32>, value: Option<f64>, status: Status) -> Self {
        Self { replicate, order, value, status, reason: None, repeats: None, outlier: false }
    }
}

impl Comparison {
    /// One of two arms, baseline first, of which nothing is known yet.
    pub fn bare(
        kind: Kind,
        [workload, metric]: [&str; 2],
        better: Better,
        [baseline, arm]: [Arm; 2],
    ) -> Self {
        Self {
            id: format!("{workload}:{metric}:{}", arm_words(&arm)),
            kind,
            workload: workload.to_owned(),
            class_of: None,
            metric: metric.to_owned(),
            better,
            primary: false,
            baseline,
            configuration: arm,
            n: 0,
            means: None,
            compared_means: None,
            ratio: None,
            ci95: None,
            ci95_simultaneous: None,
            ci_equivalence: None,
            difference: None,
            sd_log: None,
            p_holm: None,
            p_sign_flip: None,
            verdict: None,
            withheld: false,
            within_margin: false,
            margin: None,
            replicates_needed: None,
            min_detectable_ratios: None,
            text: String::new(),
            notes: Vec::new(),
            note_facts: Vec::new(),
        }
    }
}
