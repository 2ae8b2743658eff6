//! The plan of observed periods.

use assay_core::quantity::Time;
use serde::{Deserialize, Serialize};

use super::{Harm, ProductionDetail, ProductionSpec, by_hand, metrics, run};
use crate::io::Engine;
use crate::measured::{Measured, RunResult};
use crate::place::{Offer, Run};
use crate::workload::{ManualCommand, ManualRun, PlannedWork};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProductionPlan {
    pub settle: Time,
    pub harm: Harm,
}

pub(super) fn plan(asked: &ProductionSpec, offer: &Offer<'_>) -> Result<ProductionPlan, String> {
    if offer.engine.name == Engine::Simulated {
        return Err(
            "a simulated drive has no production workload; use a directory or a device".to_owned()
        );
    }
    Ok(ProductionPlan { settle: asked.settling(), harm: asked.rollback_threshold })
}

impl PlannedWork for ProductionPlan {
    fn words(&self) -> String {
        format!(
            "observed the production workload, excluding the first {} after each change{}",
            self.settle,
            self.harm.words()
        )
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        run::run(run)
    }

    fn value(&self, metric: &str, measured: &Measured) -> Option<Result<f64, String>> {
        metrics::value(metric, &ProductionDetail::of(measured)?.period)
    }

    fn primary(&self, _varies: &dyn Fn(&str) -> bool) -> &'static str {
        // Each class has a separate verdict; a mean over all classes changes with the mix.
        ""
    }

    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand {
        by_hand::command_line(how)
    }

    fn not_said(&self) -> &'static [&'static str] {
        by_hand::NOT_SAID
    }
}
