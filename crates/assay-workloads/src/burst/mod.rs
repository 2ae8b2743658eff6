//! How long a volume runs at its burst rate, its baseline rate, and its refill rate.

mod planned;
mod running;
mod tell;
#[cfg(test)]
mod tests;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::Form;
use assay_core::quantity::{Bytes, Metric, Time};
use serde::{Deserialize, Serialize};

use super::io::{self, Content};
use super::keys::{choice, keys, names, parse_choice, runtime, work};
use super::measured::Counts;
use super::place::Offer;
use super::workload::{Basis, Needs, Touch, WorkloadKind, WorkloadSpec};
use crate::metrics::{higher, lower};

pub use assay_core::stats::bucket::{AfterRest, Bucket, Course, Estimate, course};
pub use planned::BurstPlan;
pub use tell::BurstFacts;

const TRIAL: Time = Time(900_000_000_000);
const QUICK: Time = Time(60_000_000_000);
const MOST_DEPTH: u64 = 4096;
const LARGEST: Bytes = Bytes(1 << 24);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BurstDirection {
    Read,
    #[default]
    Write,
}

names!(BurstDirection: Read = "read", Write = "write");

keys! {
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct BurstSpec {
        mix: BurstDirection = BurstDirection::Write => {
            words: "direction: read or write",
            form: Form::Word(BurstDirection::names),
            example: "mix = \"write\"",
            factor: work(
                "`read` or `write`; a volume may count credits for reads, writes or both.",
                "[\"read\", \"write\"]",
                |own, text| Ok(own.mix = parse_choice(text, "read or write")?),
            ),
        }
        block_size: Bytes = Bytes(4096) => {
            words: "block size",
            form: Form::Size { least: Bytes(512), most: LARGEST },
            example: "block_size = \"4 KiB\"",
            factor: choice(
                "An amount with its unit. Compare two sizes to see whether the volume limits operations or bytes.",
                "[\"4 KiB\", \"64 KiB\"]",
                |own, text| Ok(own.block_size = text.parse()?),
            ),
        }
        queue_depth: u32 = 32 => {
            words: "queue depth; 32 by default",
            form: Form::Whole { least: 1, most: MOST_DEPTH },
            example: "queue_depth = 32",
        }
        #[serde(skip_serializing_if = "Option::is_none")]
        runtime: Option<Time> = None => {
            words: "duration of a trial; 15 minutes by default; must be at least 2.5 times the burst duration",
            form: Form::Time { least: Time(1) },
            example: "runtime = \"1 h\"",
        }
    }
}

const FIRST: Metric = higher(
    "burst_iops",
    "burst rate",
    "burst IOPS before the rate dropped, or over the whole load if the rate did not drop",
);
const HELD: Metric = higher(
    "burst_duration_s",
    "burst duration",
    "seconds at the burst rate; absent if the rate did not drop",
);
const BASE: Metric = higher(
    "burst_baseline_iops",
    "baseline rate",
    "baseline IOPS after the rate dropped; absent if the rate did not drop",
);
const CREDIT: Metric = higher(
    "burst_credits",
    "burst credits",
    "available credits: operations above the baseline rate until the rate dropped",
);
const REFILL: Metric = higher(
    "burst_refill_iops",
    "credit refill rate",
    "credits refilled per second of idle time; absent if no refill was measured",
);
const BACK: Metric = lower(
    "burst_refill_s",
    "refill time",
    "idle seconds until all credits are refilled; absent if no refill was measured",
);

impl WorkloadKind for BurstSpec {
    const ABOUT: About = About {
        name: "burst",
        summary: "burst credits of a cloud volume: burst duration, baseline rate and refill time",
        text: "The volume idles for 5% of the trial, then Assay loads it at random offsets as fast as possible for 40% \
               of the trial. Assay detects a permanent rate drop of at least 25% by change-point analysis of the \
               per-second rates, allowing for autocorrelation. Operations above the baseline rate before the drop are \
               the burst credits; divided by the rate difference, they give the burst duration. Three idle periods \
               follow, each twice as long as the previous one and followed by load until the credits are used up. \
               Operations above the baseline rate after each idle period are refilled credits; a least-squares line \
               through the origin gives the refill rate. The 95% CIs come from batches of seconds and from differences \
               between idle periods. A single block size cannot show whether the volume limits operations or bytes; \
               use two block sizes as a factor. The test cannot detect credits that last less than 10 s or more than \
               40% of the trial. Assay only reads a device unless --destroy names the device; in a directory, it uses \
               a temporary file.",
    };
    const EXAMPLE: &'static str = "burst = { mix = \"write\", block_size = \"4 KiB\" }";
    const METRICS: &'static [&'static [Metric]] = &[&[FIRST, HELD, BASE, CREDIT, REFILL, BACK]];
    const JUDGED: &'static [Basis] = &[Basis::Machine, Basis::Medium];
}

/// The operations of a load; `in_flight` has the threads, and the queue depth of each.
fn io_spec(mix: BurstDirection, block_size: Bytes, in_flight: [u32; 2]) -> io::IoSpec {
    let [threads, queue_depth] = in_flight;
    io::IoSpec {
        pattern: io::Pattern::Random,
        mix: if mix == BurstDirection::Read { io::Mix::READS } else { io::Mix::WRITES },
        block_size: block_size.into(),
        queue_depth,
        threads,
        ..io::IoSpec::default()
    }
}

/// What a load does to the target; it reads or writes random data.
fn touch(mix: BurstDirection) -> Touch {
    let (reads, writes) = (mix == BurstDirection::Read, mix == BurstDirection::Write);
    Touch {
        reads,
        writes: writes.then_some(Content::Random),
        finds: reads.then_some(Content::Random),
        clears: false,
        direct: true,
    }
}

impl WorkloadSpec for BurstSpec {
    fn words(&self) -> String {
        format!(
            "random {}s of {}, queue depth {}, until the rate drops, and again after three idle periods",
            self.mix.name(),
            self.block_size,
            self.queue_depth
        )
    }

    /// Writes need a whole device, or an area of a directory; reads change nothing.
    fn needs(&self) -> Needs {
        if self.mix == BurstDirection::Write { Needs::Whole } else { Needs::Area }
    }

    fn touches(&self) -> Touch {
        touch(self.mix)
    }

    runtime!(TRIAL, QUICK);

    fn plan(&self, offer: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        let asked = io_spec(self.mix, self.block_size, [1, self.queue_depth]);
        let (granted, note) = io::plan(&asked, offer)?;
        let planned = BurstPlan {
            mix: self.mix,
            size_bytes: self.block_size.0,
            engine: granted.engine,
            in_flight: [granted.threads, granted.queue_depth],
            asked_in_flight: self.queue_depth,
            direct: granted.direct,
        };
        Ok((planned.into(), note))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BurstDetail {
    /// Operations of each second of the first load.
    pub first: Vec<u64>,
    /// The rests and the load after each of them, in order.
    pub rests: Vec<Rested>,
    /// Duration of the rest before the first load, nanoseconds.
    pub before_ns: u64,
    /// Why some or all rests are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rested {
    pub rest_ns: u64,
    /// Operations of each second of the following load.
    pub operations: Vec<u64>,
}

impl BurstDetail {
    /// The course of the load; `None` if it is too short for a rate.
    pub fn course(&self) -> Option<Course> {
        let numbers = |counts: &[u64]| counts.iter().map(|count| *count as f64).collect::<Vec<_>>();
        let after_rest = |rested: &Rested| AfterRest {
            rest_s: rested.rest_ns as f64 / 1e9,
            operations: numbers(&rested.operations),
        };
        course(&numbers(&self.first), &self.rests.iter().map(after_rest).collect::<Vec<_>>())
    }
}

impl Counts for BurstDetail {
    fn operations(&self) -> u64 {
        let rests = self.rests.iter().flat_map(|rest| &rest.operations);
        self.first.iter().chain(rests).copied().fold(0, u64::saturating_add)
    }

    /// A load stopped before a drop of the rate gives no result.
    fn keeps_what_it_has(&self) -> bool {
        matches!(self.course(), Some(Course::Fell(_)))
    }
}
