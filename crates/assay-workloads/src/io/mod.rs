//! Reads and writes of blocks.

#[macro_use]
mod table;

mod check;
mod detail;
mod fio_line;
mod fits;
mod forms;
mod operations;
mod parameters;
mod pilot;
mod planned;
pub mod poll;
mod rate;
pub mod requests;
mod run;
pub mod size;
#[cfg(test)]
mod told;
pub mod verify;
mod wait;

use assay_core::catalogue::About;
use assay_core::catalogue::keys::Fields;
use assay_core::quantity::metric::{BANDWIDTH, FDATASYNC, IOPS, LATENCY, RESPONSE};
use assay_core::quantity::{Bytes, Metric, Time};
use serde::{Deserialize, Serialize};

pub use assay_load::{
    Access, Apart, Arrivals, Class, Compressible, Content, Duplicates, Mix, Pace, Pattern, Poll,
    WriteSync,
};

use super::Work;
use super::place::{Offer, Run};
use super::workload::{Basis, Complaints, InStudy, Needs, Touch, WorkloadKind, WorkloadSpec};

pub use detail::IoDetail;
pub use parameters::IoSpec;
pub use planned::{Engine, IoPlan, plan, random_offsets, sample_offset};
pub use rate::{ArrivalRate, tolerance};
pub use requests::TraceFacts;
pub use run::{claims, of_response, run_job};
pub(crate) use run::{class_counts, run_result, series};
pub use size::Size;

const TRIAL: Time = Time(5_000_000_000);
const RAMP: Time = Time(1_000_000_000);
/// Time of a trial in a quick check, before the pilot determines it.
const QUICK: Time = Time(500_000_000);
/// Time limit if operations are counted.
const QUICK_BOUND: Time = Time(5_000_000_000);
/// Ramp of a timed trial, which is not counted.
const QUICK_RAMP: Time = Time(30_000_000);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedEngine {
    /// `io_uring` for more than one operation in flight if the kernel allows it, else threads.
    #[default]
    Auto,
    Psync,
    IoUring,
}

/// Keys of `background`: those of `io` without an end condition.
pub static BACKGROUND: Fields = Fields { label: "background", rows: parameters::BACKGROUND };

impl IoSpec {
    pub fn in_flight(&self) -> u32 {
        self.queue_depth.saturating_mul(self.threads)
    }

    /// Whether a clock or pauses start operations: then rates do not show the drive's limit.
    pub fn is_held_back(&self) -> bool {
        self.arrival_rate.is_some() || self.think_time.is_some()
    }

    /// The largest block size, at most 1 GiB.
    pub fn size_bytes(&self) -> u32 {
        self.block_size.largest().0 as u32
    }

    /// Whether offsets or sizes are special: several sizes, hot spots, strides, or separate areas.
    pub fn is_shaped(&self) -> bool {
        self.block_size.one().is_none()
            || !self.distribution.is_uniform()
            || self.aligned().is_some()
            || self.pattern == Pattern::Stride
            || self.rw_split != Apart::None
    }

    fn aligned(&self) -> Option<Bytes> {
        self.align.filter(|_| self.pattern == Pattern::Random)
    }

    fn strides(&self) -> Option<Bytes> {
        self.stride.filter(|_| self.pattern == Pattern::Stride)
    }
}

impl WorkloadKind for IoSpec {
    const ABOUT: About = About {
        name: "io",
        summary: "block reads and writes",
        text: "Assay reads, writes, rewrites, trims or zeroes blocks in an area of the target. The workload sets the \
               access pattern, the queue depth, and one or several block sizes. With several sizes, bandwidth counts \
               the bytes of each operation, and the latency distribution covers all sizes.",
    };
    const EXAMPLE: &'static str =
        "io = { pattern = \"random\", mix = \"read\", block_size = \"4 KiB\" }";
    const METRICS: &'static [&'static [Metric]] =
        &[&[IOPS, BANDWIDTH], LATENCY, RESPONSE, FDATASYNC];
    const JUDGED: &'static [Basis] =
        &[Basis::Machine, Basis::Bytes, Basis::Medium, Basis::Operations];
}

impl WorkloadSpec for IoSpec {
    fn words(&self) -> String {
        let (pattern, mix) = (self.pattern.name(), self.mix.words());
        let sync = operations::sync_words(self.sync, ",");
        format!(
            "{pattern} {mix} of {}{}, {}{} in flight{sync}{}",
            self.block_size,
            content_words(self.compressibility),
            depth_prefix(self),
            self.in_flight(),
            describe(self)
        )
    }

    fn needs(&self) -> Needs {
        Needs::Area
    }

    fn touches(&self) -> Touch {
        touch(self)
    }

    fn complain(&self, path: &str, study: &InStudy<'_>, to: &mut dyn Complaints) {
        check::complain(self, path, study, to);
    }

    fn time(&self) -> Option<Time> {
        self.runtime
    }

    fn ramp(&self) -> Option<Time> {
        self.ramp_time
    }

    fn set_span(&mut self, time: Option<Time>, ramp: Option<Time>) {
        self.runtime = time;
        self.ramp_time = ramp;
    }

    fn ends_by_time(&self) -> bool {
        self.operations.is_none()
    }

    fn settle(&mut self) {
        if self.runtime.is_none() {
            self.runtime = Some(TRIAL);
            // Counted operations have no ramp.
            self.ramp_time = self.ramp_time.or(Some(RAMP)).filter(|_| self.ends_by_time());
        }
    }

    fn make_quick(&mut self, area: Option<Bytes>) {
        let Some(count) = self.operations else {
            self.runtime = Some(self.arrival_rate.map_or(QUICK, quick_time));
            self.ramp_time = Some(QUICK_RAMP);
            return;
        };
        // The operations end the trial: the time is only an upper bound.
        self.runtime = Some(self.runtime.unwrap_or(QUICK_BOUND).min(QUICK_BOUND));
        self.ramp_time = None;
        if let (Some(area), Pattern::Sequential) = (area, self.pattern) {
            // At most one pass over the area, which a quick check shrinks.
            self.operations = Some(count.min(area.0 / self.block_size.largest().0.max(1)).max(1));
        }
    }

    fn plan(&self, offer: &Offer<'_>) -> Result<(super::WorkPlan, Option<String>), String> {
        let (planned, note) = planned::plan(self, offer)?;
        Ok((planned.into(), note))
    }

    fn pilot(&self, run: &Run<'_>) -> Result<Option<u64>, String> {
        pilot::pilot(self, run)
    }

    fn costs_like(&self, other: &Work) -> bool {
        Self::of(other).is_some_and(|other| pilot::costs_like(self, other))
    }
}

/// Time of a quick check with an arrival rate: long enough for a p99.
fn quick_time(rate: ArrivalRate) -> Time {
    const REQUESTS: u64 = 1_200;
    Time((REQUESTS * 1_000_000_000 / rate.per_s()).clamp(QUICK.0, QUICK_BOUND.0))
}

/// Returns words for all other settings that are not the default, each after `, `.
fn describe(io: &IoSpec) -> String {
    let parts = parameters::TOLD.iter().filter_map(|words| words(io));
    parts.fold(String::new(), |text, part| text + ", " + &part)
}

/// Prefix of the queue depth: in an open loop it is a limit.
fn depth_prefix(io: &IoSpec) -> &'static str {
    if io.arrival_rate.is_some() { "at most " } else { "" }
}

/// Words for the content in a list of workloads; empty for the default.
fn content_words(content: Content) -> String {
    match content {
        Content::Random => String::new(),
        Content::Zero => ", zeros".to_owned(),
        Content::Partly(_) => format!(", {content} compressible"),
    }
}

fn touch(io: &IoSpec) -> Touch {
    let IoSpec { mix, compressibility: content, direct, .. } = *io;
    // Trims need existing data.
    let finds = (mix.reads() || mix.clears()).then_some(content);
    let clears = mix.clears() || operations::copies(io);
    Touch { reads: mix.reads(), writes: mix.writes().then_some(content), finds, clears, direct }
}
