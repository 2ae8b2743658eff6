//! What another tool tells of its runs, before it is known what varies among them.

use std::collections::BTreeMap;

use assay_base::quantity::Better;
use assay_kinds::work::metrics;

/// One number of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub metric: String,
    /// Direction.
    pub better: Better,
    /// In the metric's unit; absent where the tool tells none.
    pub value: Option<f64>,
}

/// One run of one workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// What was done.
    pub workload: String,
    /// What the file says of how it was done. What differs among runs of a workload is a factor.
    pub settings: BTreeMap<String, String>,
    /// When it began and ended, in ms of one clock that all files share.
    pub span_ms: Option<(u64, u64)>,
    /// What was measured, the most important first.
    pub values: Vec<Told>,
    /// Why it counts for nothing, where it does.
    pub failed: Option<String>,
}

impl Run {
    /// A run without settings and numbers so far.
    pub fn of(workload: impl Into<String>) -> Self {
        Self { workload: workload.into(), ..Self::default() }
    }

    /// A setting of it.
    pub fn set(&mut self, name: &str, level: impl Into<String>) {
        self.settings.insert(name.to_owned(), level.into());
    }

    /// A number of it.
    pub fn tell(&mut self, metric: &str, value: Option<f64>) {
        self.tell_as(metric, Better::Unknown, value);
    }

    /// A metric of which the tool may say which direction is better; else its name does, or nobody.
    pub fn tell_as(&mut self, metric: &str, said: Better, value: Option<f64>) {
        let own = metrics::better(metric);
        let is_ours = metrics::find(metric).is_some();
        let better = if said.is_known() && !is_ours { said } else { own };
        self.values.push(Told { metric: metric.to_owned(), better, value });
    }
}

/// What one file holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs {
    pub runs: Vec<Run>,
    /// Whether they stand in the order in which they ran.
    pub in_order: bool,
    /// What was taken for granted, one sentence each.
    pub notes: Vec<String>,
}

impl Runs {
    /// Runs that stand in the order in which they ran.
    pub fn in_order(runs: Vec<Run>) -> Self {
        Self { runs, in_order: true, notes: Vec::new() }
    }
}
