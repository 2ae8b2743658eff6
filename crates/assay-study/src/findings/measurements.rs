//! Measurements from any source, a study or an import: verdicts are derived only from these.

use std::collections::BTreeSet;

use assay_core::quantity::{Better, Scale};
use assay_workloads::command::ImportEvidence;

use super::{Because, Measurement, TrialValue, Trust};
use crate::results::design::Design;
use crate::results::plan::Arm;

#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    pub design: Design,
    /// One entry a workload, arm and metric, in the order in which they are to be told.
    pub series: Vec<Series>,
    /// Whether trials are still to come: a verdict now would be an undeclared interim analysis.
    pub unfinished: bool,
    /// Workloads that were others' work: what of it there was may differ between arms.
    pub live: Vec<String>,
}

impl Measurements {
    /// Switches metrics with a zero value to differences; returns what changed by this.
    pub fn compare_zeros_by_difference(
        &mut self,
        is_meant: impl Fn(&str) -> bool,
    ) -> BTreeSet<(String, String)> {
        let mut found = BTreeSet::new();
        for one in self.series.iter().filter(|one| one.scale == Scale::Ratio) {
            let mut counting = one.trials.iter().filter(|trial| trial.status.counts());
            if is_meant(&one.metric) && counting.any(|trial| trial.value == Some(0.0)) {
                found.insert((one.workload.clone(), one.metric.clone()));
            }
        }
        for one in &mut self.series {
            if found.contains(&(one.workload.clone(), one.metric.clone())) {
                one.scale = Scale::Difference;
            }
        }
        found
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    pub workload: String,
    pub arm: Arm,
    pub control: bool,
    /// The workload of this class of requests. The classes of a workload share one error rate.
    pub class_of: Option<String>,
    pub metric: String,
    pub better: Better,
    pub scale: Scale,
    pub primary: bool,
    /// Every trial that was started, lead-in and repeats included, in order.
    pub trials: Vec<TrialValue>,
    /// Trust; absent where nothing was measured, or where nobody could judge.
    pub trust: Option<Trust>,
    pub because: Vec<Because>,
    /// Of each run of another tool what its file says beside the numbers; trust rules weigh it.
    pub evidence: Vec<Vec<ImportEvidence>>,
}

impl Series {
    /// One that is compared by ratios, of which nobody has judged anything.
    pub fn bare(workload: &str, arm: Arm, metric: &str, better: Better) -> Self {
        Self {
            workload: workload.to_owned(),
            arm,
            metric: metric.to_owned(),
            better,
            ..Self::default()
        }
    }

    /// Other trials of the first of these rows, with all that speaks against those that they are made of.
    pub fn again(first: &Measurement, of: &[&Measurement], trials: Vec<TrialValue>) -> Self {
        let mut because: Vec<Because> = of.iter().flat_map(|cell| cell.reasons.clone()).collect();
        because.dedup();
        Self {
            scale: first.scale,
            primary: first.primary,
            trials,
            trust: of.iter().filter_map(|cell| cell.trust).max(),
            because,
            ..Self::bare(&first.workload, first.configuration.clone(), &first.metric, first.better)
        }
    }
}
