//! Whether a target has its claimed capacity.

#[cfg(test)]
mod certain_tests;
mod detail;
mod limit;
mod option;
mod planned;
mod rule;
mod tell;
#[cfg(test)]
mod testing;
mod verdict;
mod words;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::Form;
use assay_core::quantity::{Bytes, Metric, Time};
use assay_load::{CapacityShape, capacity_costs};
use serde::{Deserialize, Serialize};

use super::Work;
use super::check_option::CheckOption;
use super::io::Content;
use super::keys::{keys, names, runtime};
use super::place::{Offer, Run};
use super::tell::OwnRule;
use super::workload::{Basis, Needs, Touch, WorkloadKind, WorkloadSpec};
use crate::metrics::{higher, lower};

pub use detail::CapacityDetail;
pub use limit::DetectionLimit;
pub use planned::CapacityPlan;
pub use tell::CapacityFacts;
pub use verdict::{Finding, Verdict, judge_check};

const FAST_BOUND: Time = Time(600_000_000_000);
/// Time limit of a full check, which takes days on a large card.
const FULL_BOUND: Time = Time(30 * 86_400 * 1_000_000_000);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityMode {
    /// A sample of the whole, and a zone at its beginning.
    #[default]
    Fast,
    Full,
}

names!(CapacityMode: Fast = "fast", Full = "full");

keys! {
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct CapacitySpec {
        mode: CapacityMode = CapacityMode::Fast => {
            words: "fast: check a sample in minutes; full: write and read every block; fast by default",
            form: Form::Word(CapacityMode::names),
            example: "mode = \"full\"",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        runtime: Option<Time> = None => {
            words: "maximum duration of a trial; Assay then checks the data written so far; 10 minutes by default for fast",
            form: Form::Time { least: Time(1) },
            example: "runtime = \"5 min\"",
        }
    }
}

pub const CLAIMED: Metric = higher(
    "capacity_announced_bytes",
    "claimed capacity",
    "announced capacity of the target, or free space of a filesystem",
)
.amount();
pub const HELD: Metric = higher("capacity_usable_bytes", "capacity",
    "usable capacity, with a bound if sampled; absent if Assay could not locate its end or memory may have served the \
     reads",
)
.amount();
const CHECKED: Metric = higher(
    "capacity_checked_blocks",
    "checked blocks",
    "number of 4 KiB blocks that Assay wrote and read back",
)
.amount();
const WRONG: Metric = lower(
    "capacity_wrong_blocks",
    "wrong blocks",
    "number of checked blocks with wrong data, before any retry",
)
.amount();

impl WorkloadKind for CapacitySpec {
    const ABOUT: About = About {
        name: "capacity",
        summary: "test for counterfeit capacity",
        text: "Assay writes blocks whose 512-byte sectors contain a run ID, their position and a checksum, then reads \
               the blocks with direct I/O. Fast mode divides the device into equal segments and writes one block per \
               segment twice. Fast mode then writes a contiguous zone, longer than a segment, at the start, so that a \
               wraparound anywhere overwrites at least one block. Full mode writes every block, and a sample of blocks \
               twice. Before Assay counts a wrong block, it rewrites and retests the block, with the same amount of \
               data written in between. Assay then locates the end of the usable capacity. Data from another offset \
               indicates an address wraparound; zeros or old data indicate lost writes; the first version indicates a \
               lost rewrite; a few flipped bits indicate corruption. The result is inconclusive if memory may have \
               served the reads: on a loop device with a page cache, without direct I/O, or with an unknown host \
               cache. A result from a sample includes a confidence bound. Assay overwrites a target device (requires \
               --destroy). In a directory, Assay fills 98% of the free space with a temporary file. If the directory \
               is on a counterfeit card, writing may destroy its existing data.",
    };
    const EXAMPLE: &'static str = "capacity = { mode = \"fast\" }";
    const METRICS: &'static [&'static [Metric]] = &[&[HELD, CLAIMED, CHECKED, WRONG]];
    const JUDGED: &'static [Basis] = &[Basis::Machine, Basis::Medium];
    const CHECK_OPTION: Option<&'static CheckOption> = Some(&option::OPTION);
    const RULES: &'static [OwnRule] = &[rule::NOT_READ];
}

const TOUCH: Touch =
    Touch { reads: true, writes: Some(Content::Random), finds: None, clears: false, direct: true };

impl WorkloadSpec for CapacitySpec {
    fn words(&self) -> String {
        match self.mode {
            CapacityMode::Fast => "writes a sample of all blocks and reads it back".to_owned(),
            CapacityMode::Full => "writes every block and reads it back".to_owned(),
        }
    }

    fn needs(&self) -> Needs {
        Needs::Whole
    }

    fn touches(&self) -> Touch {
        TOUCH
    }

    runtime!();

    fn settle(&mut self) {
        let bound = if self.mode == CapacityMode::Full { FULL_BOUND } else { FAST_BOUND };
        self.runtime = self.runtime.or(Some(bound));
    }

    fn make_quick(&mut self, _: Option<Bytes>) {
        self.mode = CapacityMode::Fast;
        self.runtime = Some(self.runtime.map_or(FAST_BOUND, |runtime| runtime.min(FAST_BOUND)));
    }

    fn plan(&self, offer: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        if !offer.area.written {
            return Err("cannot overwrite the whole target: no consent given".to_owned());
        }
        let bytes = whole_blocks(offer.area.length);
        let between = offer.between.cloned();
        Ok((CapacityPlan { full: self.mode == CapacityMode::Full, bytes, between }.into(), None))
    }

    /// Mean time of a step, in the planned ratio of pieces to single blocks.
    fn pilot(&self, run: &Run<'_>) -> Result<Option<u64>, String> {
        let area = run.medium.area;
        if !area.written {
            return Ok(None);
        }
        let shape = CapacityShape::new(whole_blocks(area.length), self.mode == CapacityMode::Full);
        let job = planned::capacity_job(run, shape, 0);
        let (piece_ns, block_ns) =
            capacity_costs(&job, &run.medium.target(), run.medium.law.as_ref())?;
        let whole_ns = planned::whole_ns(&shape, piece_ns, block_ns);
        Ok(Some((whole_ns / planned::count_steps(&shape)).max(1)))
    }

    fn costs_like(&self, other: &Work) -> bool {
        Self::of(other).is_some_and(|other| other.mode == self.mode)
    }
}

fn whole_blocks(bytes: u64) -> u64 {
    bytes / assay_load::BLOCK_BYTES * assay_load::BLOCK_BYTES
}
