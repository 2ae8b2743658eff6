//! Minimal trials and comparisons as a base for others.

use assay_core::quantity::Better;

use super::{AbsentCell, Comparison, Kind, TrialValue};
use crate::results::plan::{Arm, arm_words};
use crate::results::record::Status;

impl TrialValue {
    pub fn bare(replicate: u32, order: Option<u32>, value: Option<f64>, status: Status) -> Self {
        Self { replicate, order, value, status, reason: None, repeats: None, outlier: false }
    }
}

impl AbsentCell {
    pub fn new(workload: &str, arm: &Arm, metric: Option<&str>, reason: String) -> Self {
        Self {
            workload: workload.to_owned(),
            configuration: arm.clone(),
            metric: metric.map(str::to_owned),
            reason,
            obstacle: None,
        }
    }
}

impl Comparison {
    pub fn bare(kind: Kind, workload: &str, metric: &str, better: Better, arms: [Arm; 2]) -> Self {
        let [baseline, arm] = arms;
        Self {
            id: format!("{workload}:{metric}:{}", arm_words(&arm)),
            kind,
            workload: workload.to_owned(),
            metric: metric.to_owned(),
            better,
            baseline,
            configuration: arm,
            ..Self::default()
        }
    }
}
