//! Measurements from any source, a study or an import: verdicts are derived only from these.

use std::collections::BTreeSet;

use assay_core::exhibit::parts::distinct;
use assay_core::quantity::{Better, Scale};
use assay_workloads::command::ImportEvidence;

use super::{Because, Measurement, TrialValue, Trust};
use crate::results::design::Design;
use crate::results::plan::Arm;

#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    pub design: Design,
    /// One entry per workload, arm and metric, in report order.
    pub series: Vec<Series>,
    /// Whether trials are pending: a verdict now would be an undeclared interim analysis.
    pub unfinished: bool,
    /// Production workloads: their load may differ between arms.
    pub live: Vec<String>,
}

impl Measurements {
    /// Compares metrics that `is_meant` selects by differences if a value is zero; returns workload and metric of each.
    pub fn compare_zeros_by_difference(
        &mut self,
        is_meant: impl Fn(&str) -> bool,
    ) -> BTreeSet<(String, String)> {
        let mut found = BTreeSet::new();
        for series in self.series.iter().filter(|series| series.scale == Scale::Ratio) {
            let mut counting = series.trials.iter().filter(|trial| trial.status.counts());
            if is_meant(&series.metric) && counting.any(|trial| trial.value == Some(0.0)) {
                found.insert((series.workload.clone(), series.metric.clone()));
            }
        }
        for series in &mut self.series {
            if found.contains(&(series.workload.clone(), series.metric.clone())) {
                series.scale = Scale::Difference;
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
    /// Trust; absent without measurements or rules to judge them.
    pub trust: Option<Trust>,
    pub because: Vec<Because>,
    /// Per run of another tool: data of its file besides the numbers; trust rules use it.
    pub evidence: Vec<Vec<ImportEvidence>>,
}

impl Series {
    /// A series that is compared by ratios, without a trust rating.
    pub fn bare(workload: &str, arm: Arm, metric: &str, better: Better) -> Self {
        Self {
            workload: workload.to_owned(),
            arm,
            metric: metric.to_owned(),
            better,
            ..Self::default()
        }
    }

    /// A series with other trials for the first row, with the reasons and the worst trust rating of all source rows.
    pub fn again(first: &Measurement, of: &[&Measurement], trials: Vec<TrialValue>) -> Self {
        Self {
            scale: first.scale,
            primary: first.primary,
            trials,
            trust: of.iter().filter_map(|cell| cell.trust).max(),
            because: distinct(of.iter().flat_map(|cell| cell.reasons.clone())),
            ..Self::bare(&first.workload, first.configuration.clone(), &first.metric, first.better)
        }
    }
}
