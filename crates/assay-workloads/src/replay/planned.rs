//! The plan of a replay.

use crate::replay::{Placing, ReplayFit, slot_bytes};
use assay_core::quantity::Bytes;
use assay_core::quantity::metric::{BANDWIDTH, IOPS, RESPONSE_P99};
use assay_core::quantity::played::PlayedClass;
use assay_core::quantity::units::show;
use assay_load::Act;
use serde::{Deserialize, Serialize};

use super::{Clock, ReplayDetail, ReplaySpec, TimeScale, TraceSource, pace_words, playing, touch};
use crate::io::Engine;
use crate::measured::{Measured, RunResult};
use crate::place::{Area, ONLY_READ, Offer, Run};
use crate::workload::{ManualCommand, ManualRun, PlannedWork, Touch};

/// The smallest unit of rounding: trims and zeroing are multiples of sectors.
const SECTOR: u64 = 512;
const MOST_MEMORY: u64 = 1 << 30;
/// Time limit of closed and dependent replays: a multiple of the recorded time, but at least [`LEAST_LIMIT_NS`].
const LIMIT_FACTOR: u64 = 4;
const LEAST_LIMIT_NS: u64 = 60_000_000_000;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayPlan {
    pub source: TraceSource,
    pub clock: Clock,
    pub scale: TimeScale,
    /// Nanoseconds of the recording to replay, from its first request.
    pub length_ns: u64,
    pub engine: Engine,
    pub depth: u32,
    pub direct: bool,
    pub unit_bytes: u64,
    pub placing: Placing,
}

/// Duration of a replay of so much of a recording; for other clocks than `Open`, its time limit.
pub(super) fn replay_ns(clock: Clock, scale: TimeScale, length_ns: u64) -> u64 {
    let span_ns = if clock == Clock::Closed { length_ns } else { scale.time_ns(length_ns) };
    if clock == Clock::Open {
        // The last request must start within this time.
        return span_ns.saturating_add(1);
    }
    span_ns.saturating_mul(LIMIT_FACTOR).max(LEAST_LIMIT_NS)
}

/// Plans a replay on this target; the note says what differs from the request.
pub(super) fn plan(
    asked: &ReplaySpec,
    offer: &Offer<'_>,
) -> Result<(ReplayPlan, Option<String>), String> {
    let Some(source) = &asked.source else {
        return Err(format!("the trace {} was not loaded", asked.trace));
    };
    if asked.timing == Clock::Dependent && source.queued_ns == 0 {
        return Err("the trace has no completion times (like all fio logs), so dependencies are unknown; use timing = \
                    \"open\" or \"closed\""
            .to_owned());
    }
    if source.changes() && !offer.area.written {
        return Err(ONLY_READ.to_owned());
    }
    for (act, reason) in
        [(Act::Discard, &offer.clears.no_trim), (Act::WriteZeroes, &offer.clears.no_zeroing)]
    {
        if let Some(reason) = reason.as_ref().filter(|_| source.has(act)) {
            return Err(reason.clone());
        }
    }
    let alignment = offer.direct.value().map_or(1, |direct| u64::from(direct.offset_alignment));
    let unit_bytes = alignment.max(SECTOR);
    if !offer.area.start.is_multiple_of(unit_bytes) {
        return Err(format!("the area does not start at a multiple of {}", Bytes(unit_bytes)));
    }
    let placing = Placing::new(source, offer.area.length, unit_bytes)?;
    let memory = slot_bytes(source, unit_bytes).saturating_mul(u64::from(asked.queue_depth));
    if memory > MOST_MEMORY {
        return Err(format!(
            "{} requests of up to {} in flight need {} of memory, more than the limit of {}; use a smaller queue_depth",
            asked.queue_depth,
            Bytes(source.largest_bytes),
            Bytes(memory),
            Bytes(MOST_MEMORY)
        ));
    }
    let planned = ReplayPlan {
        source: source.clone(),
        clock: asked.timing,
        scale: asked.speed,
        length_ns: source.length_ns,
        engine: offer.engine.name,
        depth: asked.queue_depth,
        direct: offer.direct.value().is_some(),
        unit_bytes,
        placing,
    };
    let is_slow = offer.engine.name == Engine::Psync && asked.queue_depth > 1;
    let note = is_slow.then(|| {
        "without io_uring, Assay replays one request at a time, so other requests wait".to_owned()
    });
    Ok((planned, note))
}

impl ReplayPlan {
    pub(crate) fn missing_class(&self, class: &PlayedClass) -> Option<String> {
        let is_of = |act: &Act| act.class().name() == class.key;
        let has = Act::ALL.into_iter().filter(is_of).any(|act| self.source.has(act));
        (!has).then(|| format!("the trace contains no {}", class.words))
    }

    pub(super) fn fit(&self, area: &Area) -> ReplayFit {
        let Area { start, length, .. } = *area;
        ReplayFit { start, length, unit: self.unit_bytes.max(1), placing: self.placing }
    }

    pub(super) fn slot_bytes(&self) -> u32 {
        u32::try_from(slot_bytes(&self.source, self.unit_bytes.max(1))).unwrap_or(u32::MAX)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.length_ns == self.source.length_ns
    }
}

impl PlannedWork for ReplayPlan {
    fn words(&self) -> String {
        let way = if self.direct { "direct" } else { "through the page cache" };
        format!(
            "{} requests of {}, recorded in {} ({}), {}, at most {} in flight, {}, {}, {way}",
            show::count(self.source.requests()),
            self.source.device,
            show::duration(self.source.length_ns as f64),
            self.source.id,
            pace_words(self.clock, self.scale),
            show::count(u64::from(self.depth)),
            self.placing.words(),
            self.engine
        )
    }

    fn touches(&self) -> Touch {
        touch(Some(&self.source), self.direct)
    }

    /// The recorded reads or writes, whichever are more.
    fn most_bytes(&self, _: f64) -> f64 {
        let bytes = |act: Act| self.source.acts[act as usize].bytes;
        bytes(Act::Read).max(bytes(Act::Write) + bytes(Act::Fua)) as f64
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        playing::play(self, run)
    }

    /// Checks that the recording still exists unchanged, by reading it.
    fn ready_again(&self, run: &Run<'_>) -> Result<Option<String>, String> {
        (run.programs.recall)(run.system, &self.source, &mut |_, _| {}).map(|()| None)
    }

    fn value(&self, metric: &str, measured: &Measured) -> Option<Result<f64, String>> {
        let detail = ReplayDetail::of(measured)?;
        let amount = if metric == IOPS.name {
            Ok(measured.operations())
        } else if metric == BANDWIDTH.name {
            Ok(detail.bytes())
        } else {
            detail.amount(metric)?
        };
        Some(amount.and_then(|amount| measured.per_second(amount)))
    }

    fn primary(&self, _: &dyn Fn(&str) -> bool) -> &'static str {
        match self.clock {
            // The recording determines the rate.
            Clock::Open => RESPONSE_P99,
            Clock::Dependent | Clock::Closed => IOPS.name,
        }
    }

    fn is_by_clock(&self) -> bool {
        self.clock == Clock::Open
    }

    fn ends_by_time(&self) -> bool {
        false
    }

    fn expected_ns(&self, _: u64) -> Option<u64> {
        Some(match self.clock {
            Clock::Open => replay_ns(self.clock, self.scale, self.length_ns),
            Clock::Dependent => self.scale.time_ns(self.length_ns),
            Clock::Closed => self.length_ns,
        })
    }

    fn half(&self) -> Option<crate::WorkPlan> {
        Some(Self { length_ns: self.length_ns / 2, ..self.clone() }.into())
    }

    fn in_flight(&self) -> u32 {
        self.depth
    }

    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand {
        let words = vec![
            "fio".to_owned(),
            format!("--name={}", how.name),
            format!("--read_iolog={}.log", self.source.id),
            format!("--replay_redirect={}", how.path),
            format!("--replay_no_stall={}", u8::from(self.clock == Clock::Closed)),
            format!("--iodepth={}", self.depth),
            "--ioengine=io_uring".to_owned(),
            format!("--direct={}", u8::from(self.direct)),
        ];
        let mut remarks = vec![
            format!(
                "to create the log: assay export {0} --format fio-iolog > {0}.log",
                self.source.id
            ),
            "fio replays recorded offsets and does not fold them into the area".to_owned(),
        ];
        if self.clock == Clock::Dependent {
            remarks
                .push("fio starts requests at recorded times and ignores dependencies".to_owned());
        }
        if !self.source.parts.is_empty() {
            remarks.push("fio uses one target for all devices of the log".to_owned());
        }
        ManualCommand { words, remarks }
    }

    fn not_said(&self) -> &'static [&'static str] {
        &["a fio log cannot contain write-zeroes"]
    }
}
