//! Production work: nothing is run, existing activity is observed period by period.

mod by_hand;
mod detail;
pub mod harm;
pub mod look;
pub mod metrics;
mod planned;
mod run;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::Form;
use assay_core::quantity::{Bytes, Metric, Time};
use serde::{Deserialize, Serialize};

use super::Work;
use super::keys::keys;
use super::place::Offer;
use super::workload::{Basis, Complaints, InStudy, WorkloadKind, WorkloadSpec};

pub use detail::{Period, ProductionDetail, Second};
pub use harm::{Breach, Harm, HarmKind, HarmLimits};
pub use look::{ClassRequests, DevicePressure, Glance, Lookout};
pub use planned::ProductionPlan;

pub const PERIOD: Time = Time(120_000_000_000);
/// Default settling time after a change, which is not counted.
pub const SETTLE: Time = Time(5_000_000_000);
/// The shortest period: observations take a second each.
const SHORTEST: Time = Time(3_000_000_000);
const QUICK_PERIOD: Time = Time(10_000_000_000);
const QUICK_SETTLE: Time = Time(2_000_000_000);

keys! {
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct ProductionSpec {
        #[serde(skip_serializing_if = "Option::is_none")]
        runtime: Option<Time> = None => {
            words: "measurement window per level; 2 min by default",
            form: Form::Time { least: SHORTEST },
            example: "runtime = \"2 min\"",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        settle_time: Option<Time> = None => {
            words: "settling time after a change; 5 s by default",
            form: Form::Time { least: Time(0) },
            example: "settle_time = \"5 s\"",
        }
        rollback_threshold: Harm = Harm::default() => {
            words: "roll a level back if it exceeds the baseline's worst value by this factor for three seconds in a row; or \
                    off",
            form: Form::Word(harm::words),
            example: "rollback_threshold = \"2x\"",
        }
    }
}

impl ProductionSpec {
    fn period(&self) -> Time {
        self.runtime.unwrap_or(PERIOD)
    }

    fn settling(&self) -> Time {
        self.settle_time.unwrap_or(SETTLE)
    }
}

impl WorkloadKind for ProductionSpec {
    const ABOUT: About = About {
        name: "production",
        summary: "the production workload under changing settings",
        text: "Assay generates no load. Assay observes the production workload on the target in periods, each with a \
               different level. Each period starts after a settling time (`settle_time`). Assay measures both the load \
               and the latency, so a lighter load is not mistaken for a better setting (rule `unequal-load`). Assay \
               rolls a harmful level back within a second and does not retry that level (`rollback_threshold`).",
    };
    const EXAMPLE: &'static str =
        "production = { runtime = \"2 min\", settle_time = \"5 s\", rollback_threshold = \"2x\" }";
    const METRICS: &'static [&'static [Metric]] = &[metrics::METRICS];
    const JUDGED: &'static [Basis] = &[Basis::Machine];
}

impl WorkloadSpec for ProductionSpec {
    fn words(&self) -> String {
        format!(
            "production workload: {} per level, excluding the first {} after a change{}",
            self.period(),
            self.settling(),
            self.rollback_threshold.words()
        )
    }

    fn complain(&self, _path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
        if study.factors.contains_key("target") {
            let message =
                "cannot compare two targets, because their loads differ; use one target per study";
            to.key("factors/target", message.to_owned(), None);
        }
    }

    fn time(&self) -> Option<Time> {
        Some(self.period())
    }

    fn ramp(&self) -> Option<Time> {
        Some(self.settling())
    }

    fn set_span(&mut self, time: Option<Time>, ramp: Option<Time>) {
        self.runtime = time;
        self.settle_time = ramp;
    }

    fn ends_by_time(&self) -> bool {
        // Production patterns determine its time: neither a budget nor a quick check divides it.
        false
    }

    fn settle(&mut self) {
        self.runtime = Some(self.period());
        self.settle_time = Some(self.settling());
    }

    fn make_quick(&mut self, _area: Option<Bytes>) {
        self.runtime = Some(self.period().min(QUICK_PERIOD));
        self.settle_time = Some(self.settling().min(QUICK_SETTLE));
    }

    fn plan(&self, offer: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        planned::plan(self, offer).map(|planned| (planned.into(), None))
    }

    fn costs_like(&self, other: &Work) -> bool {
        Self::of(other).is_some()
    }
}
