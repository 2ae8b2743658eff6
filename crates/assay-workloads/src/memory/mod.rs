//! Memory pages under a limit: filled once, then accessed repeatedly, each access timed. An OOM kill is a result.

mod child;
mod detail;
mod metrics;
mod others_swapped;
mod parameters;
mod planned;
mod run;
#[cfg(test)]
mod tests;

use assay_core::catalogue::About;
use assay_core::quantity::{Bytes, Metric, Time};
use assay_machine::system::execute::MemoryLimit;

pub use super::io::Content;
use super::place::{Offer, Run};
use super::tell::OwnRule;
use super::workload::{Basis, Complaints, InStudy, WorkloadKind, WorkloadSpec};

pub use assay_core::quantity::sets::{SetSize, Skew};
pub use child::{ChildJob, hold};
pub use detail::{HeldMemory, KillStage, MemoryDetail};
pub use metrics::{EXPECTED, FULL, HELD, KILLED, LONGEST, P99, PROCESSOR, RATE, REACHED};
pub use parameters::MemorySpec;
pub use planned::MemoryPlan;

/// The factor for swap, and its level without swap.
pub const SWAP: &str = "swap";
pub const NO_SWAP: &str = "none";

const TRIAL: Time = Time(3_000_000_000);
const QUICK: Time = Time(600_000_000);
/// Divisor: this share of it is an uncounted ramp.
const RAMP_SHARE: u64 = 5;
/// Smaller limits and sets have little more space than the process itself.
const LEAST: Bytes = Bytes(16 << 20);

impl MemorySpec {
    /// Plans the work; fails if the working set is too small or has no size.
    fn planned(&self) -> Result<MemoryPlan, String> {
        let limit = self.memory_limit;
        let set_bytes = self.working_set.bytes(limit)?;
        if set_bytes < LEAST.0 {
            return Err(format!(
                "a working set of {} is too small; use at least {LEAST}",
                Bytes(set_bytes)
            ));
        }
        Ok(MemoryPlan {
            limit: limit.map(|Bytes(bytes)| MemoryLimit { bytes, may_swap: !self.without_swap }),
            set_bytes,
            content: self.compressibility,
            skew: self.distribution,
            writes_percent: self.write_share,
        })
    }
}

impl WorkloadKind for MemorySpec {
    const ABOUT: About = About {
        name: "memory",
        summary: "random memory accesses with a memory limit",
        text: "A separate process in a memory-limited control group fills a working set of pages with data of a given \
               compressibility. The process then accesses the pages in random order: it reads one word of a page and, \
               for a write access, writes the word back. Assay times each access, including swap-in. If the working \
               set exceeds the limit and there is no swap, the kernel kills the process, and the result reports the \
               bytes filled until then. Compressed swap in memory (zram, zswap) is outside the control group's limit, \
               except for zswap with cgroup version 2. The metric working_set_per_memory includes this memory. \
               Creating control groups requires root. The process uses no huge pages.",
    };
    const EXAMPLE: &'static str = "memory = { memory_limit = \"384 MiB\", working_set = \"150%\", compressibility = \"50%\" }";
    const METRICS: &'static [&'static [Metric]] = &[metrics::METRICS];
    const JUDGED: &'static [Basis] = &[Basis::Machine];
    const RULES: &'static [OwnRule] = &[others_swapped::OTHERS_SWAPPED];
}

impl WorkloadSpec for MemorySpec {
    fn words(&self) -> String {
        self.planned().map_or_else(|error| error, |planned| planned.set_words())
    }

    fn complain(&self, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
        // Varied values are checked under each arm.
        let varies =
            ["working_set", "memory_limit"].iter().any(|name| study.factors.contains_key(*name));
        if let Some(wrong) = self.planned().err().filter(|_| !varies) {
            to.key(path, wrong, None);
        }
    }

    fn take(&mut self, factor: &str, level: &str) {
        if factor == SWAP {
            self.without_swap = level == NO_SWAP;
        }
    }

    fn time(&self) -> Option<Time> {
        self.runtime
    }

    fn ends_by_time(&self) -> bool {
        true
    }

    fn ramp(&self) -> Option<Time> {
        self.ramp_time
    }

    fn set_span(&mut self, time: Option<Time>, ramp: Option<Time>) {
        (self.runtime, self.ramp_time) = (time, ramp);
    }

    fn settle(&mut self) {
        let time = self.runtime.unwrap_or(TRIAL);
        self.runtime = Some(time);
        self.ramp_time = self.ramp_time.or(Some(Time(time.0 / RAMP_SHARE)));
    }

    fn make_quick(&mut self, _: Option<Bytes>) {
        let time = self.runtime.map_or(QUICK, |time| time.min(QUICK));
        self.runtime = Some(time);
        let ramp = Time(time.0 / RAMP_SHARE);
        self.ramp_time = Some(self.ramp_time.map_or(ramp, |known| known.min(ramp)));
    }

    fn plan(&self, _: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        self.planned().map(|planned| (planned.into(), None))
    }

    /// Tests a fitting set under the limit: whether limits work.
    fn pilot(&self, run: &Run<'_>) -> Result<Option<u64>, String> {
        self.planned().and_then(|planned| run::pilot(&planned, run)).map(Some)
    }

    fn costs_like(&self, other: &super::Work) -> bool {
        let limited = |spec: &Self| spec.memory_limit.is_some();
        Self::of(other).is_some_and(|other| limited(other) == limited(self))
    }
}
