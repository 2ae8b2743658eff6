//! Long writes: where the rate of a drive falls, and the sustained rate.

mod cause;
#[cfg(test)]
mod certain_tests;
mod judge;
mod planned;
mod rests;
mod tell;
#[cfg(test)]
mod tests;
mod writing;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::Form;
use assay_core::quantity::{Bytes, Metric, Time};
use serde::{Deserialize, Serialize};

use super::check_option::CheckOption;
use super::io::Content;
use super::keys::{keys, runtime};
use super::measured::Counts;
use super::place::Offer;
use super::tell::OwnRule;
use super::workload::{Basis, Needs, Touch, WorkloadKind, WorkloadSpec};
use crate::metrics::higher;

pub use cause::{Again, Retried};
pub use judge::{RateLevel, Rated, WriteTimeline, course};
pub use planned::SustainedPlan;
pub use rests::Rests;
#[cfg(test)]
pub(crate) use tell::words;
pub use tell::{Several, SustainedFacts};

const TRIAL: Time = Time(300_000_000_000);
const QUICK: Time = Time(30_000_000_000);

const SECOND_NS: u64 = 1_000_000_000;
const MOST_SECONDS: u64 = 86_400;

keys! {
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct SustainedSpec {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runtime: Option<Time> = None => {
            words: "duration of a trial; 5 minutes by default; Assay cannot detect a cache that does not fill in this \
                    time",
            form: Form::Time { least: Time(1) },
            example: "runtime = \"10 min\"",
        }
    }
}

static OPTION: CheckOption = CheckOption {
    help: "Measure sustained writes instead of speed: when the rate drops, and how far",
    values: None,
    examples: &[],
    // Writes of other work would already fill the cache.
    goes_first: true,
    gates: &[],
};

pub const SUSTAINED: Metric = higher(
    "sustained_bytes_per_s",
    "sustained write rate",
    "write bandwidth after the last rate change",
);
const BURST: Metric = higher(
    "burst_bytes_per_s",
    "initial write rate",
    "write bandwidth before the first rate change",
);

// In bytes, but derived from rates: these determine the position.
const FALL: Metric = higher(
    "fall_after_bytes",
    "bytes before the drop",
    "bytes written before the rate dropped permanently; absent if the rate did not drop, or only gradually",
);
const CACHE: Metric = higher(
    "fast_cache_bytes",
    "fast cache",
    "bytes written before the drop, if confirmed as a cache: slow at every position, and fast again after an idle \
     period",
);

impl WorkloadKind for SustainedSpec {
    const ABOUT: About = About {
        name: "sustained",
        summary: "sustained writes: when the rate drops, and how far",
        text: "Assay writes random data sequentially, 1 MiB per operation at queue depth 8, to the whole target \
               repeatedly, until the trial ends. Assay times slices of equal size. Without direct I/O, it syncs each \
               slice and includes the sync in its time; otherwise, Assay writes slices of 8 MiB or more back to back, \
               in runs of about a second. Assay records the idle time between slices and flags more than 5% (rule \
               `write-gaps`). A change point is a rate change of 25% or more, found by binary segmentation that allows \
               for autocorrelated slices. The CI of the position covers all splits that explain the series nearly as \
               well. Each rate is the total bytes of its slices divided by their total time; the CI comes from ten \
               batches of slices. The sustained rate is the rate after the last change point. If the rate dropped \
               permanently, Assay uses the last seventh of the trial to rewrite the first positions, immediately and \
               after an idle period. A target that is slow immediately but fast after the idle period has a fast \
               cache; slow inner tracks or other load do not cause this pattern. Assay overwrites a target device \
               (requires --destroy). In a directory, Assay fills 98% of the free space with a temporary file.",
    };
    const EXAMPLE: &'static str = "sustained = { runtime = \"5 min\" }";
    const METRICS: &'static [&'static [Metric]] = &[&[SUSTAINED, BURST, FALL, CACHE]];
    const JUDGED: &'static [Basis] = &[Basis::Machine, Basis::Medium];
    const CHECK_OPTION: Option<&'static CheckOption> = Some(&OPTION);
    const RULES: &'static [OwnRule] = &[rests::RESTED];
}

const TOUCH: Touch =
    Touch { reads: false, writes: Some(Content::Random), finds: None, clears: false, direct: true };

impl WorkloadSpec for SustainedSpec {
    fn words(&self) -> String {
        "sustained sequential writes, 1 MiB per operation".to_owned()
    }

    fn needs(&self) -> Needs {
        Needs::Whole
    }

    fn touches(&self) -> Touch {
        TOUCH
    }

    runtime!(TRIAL, QUICK);

    fn ends_by_time(&self) -> bool {
        true
    }

    fn plan(&self, offer: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        if !offer.area.written {
            return Err("cannot overwrite the whole target: no consent given".to_owned());
        }
        let planned = SustainedPlan {
            engine: offer.engine.name,
            bytes: offer.area.length,
            synced: offer.direct.value().is_none(),
        };
        Ok((planned.into(), offer.engine.note.clone()))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SustainedDetail {
    /// Bytes written before the first slice, to measure the speed.
    pub before_bytes: u64,
    pub slice_bytes: u64,
    pub slices_ns: Vec<u64>,
    /// Nanoseconds between slices without writes; `None` in older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rests_ns: Option<u64>,
    /// Places at the beginning, written again after the drop of the rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried: Option<Retried>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

impl SustainedDetail {
    /// Bytes written in each second without rests; a slice across several seconds counts in each by its time share.
    pub fn bytes_by_second(&self) -> Vec<u64> {
        let mut bytes: Vec<f64> = Vec::new();
        let mut from_ns = 0_u64;
        for slice_ns in self.slices_ns.iter().map(|ns| (*ns).max(1)) {
            let to_ns = from_ns.saturating_add(slice_ns);
            let (first, last) = (from_ns / SECOND_NS, to_ns / SECOND_NS);
            if last >= MOST_SECONDS {
                break;
            }
            bytes.resize(last as usize + 1, 0.0);
            for second in first..=last {
                let begin_ns = from_ns.max(second * SECOND_NS);
                let end_ns = to_ns.min((second + 1) * SECOND_NS);
                let share = (end_ns - begin_ns) as f64 / slice_ns as f64;
                bytes[second as usize] += share * self.slice_bytes as f64;
            }
            from_ns = to_ns;
        }
        bytes.into_iter().map(|bytes| bytes.round() as u64).collect()
    }
}

impl Counts for SustainedDetail {
    fn operations(&self) -> u64 {
        self.slices_ns.len() as u64
    }

    fn keeps_what_it_has(&self) -> bool {
        !self.slices_ns.is_empty()
    }
}
