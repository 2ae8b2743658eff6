//! The plan of reads and writes: the part of a request that a target supports.

use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::time::Duration;

use assay_core::presence::Presence;
use assay_core::quantity::Bytes;
use assay_core::quantity::metric::{BANDWIDTH, IOPS, RESPONSE_P99};
use assay_core::quantity::units::show;
use assay_load::{EngineKind, Job, Law};
use serde::{Deserialize, Serialize};

use super::parameters::{self, StoredIoPlan};
use super::{
    Apart, AskedEngine, IoSpec, Pattern, content_words, depth_prefix, describe, fio_line, fits,
    operations, poll, run, touch, verify,
};
use crate::keys::names;
use crate::measured::{Measured, RunResult};
use crate::place::{Area, DirectUse, ONLY_READ, Offer, Run};
use crate::workload::{ManualCommand, ManualRun, PlannedWork, Touch};

/// From this block size on, bandwidth is the primary metric (amendment to R5).
const LARGE: Bytes = Bytes(64 << 10);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    Simulated,
    /// `pread` and `pwrite`, one operation in flight in each thread.
    Psync,
    IoUring,
    /// None: other programs' work was observed.
    None,
}

names!(Engine: Simulated = "simulated", Psync = "psync", IoUring = "io_uring", None = "none");

impl fmt::Display for Engine {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Reads and writes of blocks in the nearest form that the target supports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredIoPlan", into = "StoredIoPlan")]
pub struct IoPlan {
    /// Without its engine and times, which are recorded separately.
    granted: IoSpec,
    pub engine: Engine,
    /// Requested number of operations in flight, over all threads.
    pub asked_depth: u32,
}

impl Deref for IoPlan {
    type Target = IoSpec;

    fn deref(&self) -> &IoSpec {
        &self.granted
    }
}

impl DerefMut for IoPlan {
    fn deref_mut(&mut self) -> &mut IoSpec {
        &mut self.granted
    }
}

impl IoPlan {
    pub(crate) fn can_be_cut(&self) -> bool {
        // Not work that ends by itself or needs a prepared cache, nor a tail latency, which needs many operations.
        self.operations.is_none() && self.arrival_rate.is_none() && self.direct
    }

    pub fn is_only_watched(&self) -> bool {
        self.engine == Engine::None
    }

    pub fn new(asked: IoSpec, engine: Engine) -> Self {
        let asked_depth = asked.in_flight();
        let granted = IoSpec { engine: AskedEngine::Auto, runtime: None, ramp_time: None, ..asked };
        Self { granted, engine, asked_depth }
    }

    /// The plan of a trial that runs nothing and only observes other programs.
    pub fn watched() -> Self {
        let nothing = IoSpec {
            block_size: Bytes(0).into(),
            queue_depth: 0,
            threads: 0,
            direct: false,
            ..IoSpec::default()
        };
        Self::new(nothing, Engine::None)
    }

    /// The same with one parameter at another level; `None` without this parameter.
    pub fn at(&self, parameter: &str, level: &str) -> Option<Result<Self, String>> {
        let mut planned = self.clone();
        Some(crate::set(&mut planned.granted, parameter, level)?.map(|()| planned))
    }

    pub fn job(&self, area: &Area, ramp_ns: u64, time_ns: u64, seed: u64) -> Job {
        let mut job = Job {
            ramp: Duration::from_nanos(ramp_ns),
            time: Duration::from_nanos(time_ns),
            ..Job::base(self.pattern, self.mix, self.size_bytes(), self.whole_blocks(area), seed)
        };
        for set_parameter in parameters::JOB {
            set_parameter(self, &mut job);
        }
        job
    }

    /// The part of an area with whole operations; the plan is not trusted.
    fn whole_blocks(&self, area: &Area) -> Range<u64> {
        let unit = self.block_size.largest().0.max(1);
        area.start..area.start.saturating_add(area.length / unit * unit)
    }
}

/// Offset in bytes of operation `index` of a trial from the start of its area; `None` unless the pattern is `spaced`,
/// where the plan determines it: the `index`-th of evenly spaced blocks, one per operation.
pub fn sample_offset(planned: &IoPlan, area: &Area, index: u64) -> Option<u64> {
    let samples = planned.operations.filter(|_| planned.pattern == Pattern::Spaced)?;
    let area = planned.whole_blocks(area);
    Some(assay_load::spread_offset(&area, planned.size_bytes(), samples, index))
}

/// The offsets of a random trial with one thread, one operation at a time; `None` for other trials.
pub fn random_offsets(
    planned: &IoPlan,
    area: &Area,
    seed: u64,
) -> Option<impl Iterator<Item = u64> + use<>> {
    let is_single = planned.threads == 1 && planned.queue_depth == 1;
    let is_uniform = planned.pattern == Pattern::Random && !planned.is_shaped();
    if !is_single || !is_uniform || planned.operations.is_none() {
        return None;
    }
    Some(assay_load::random_offsets(&planned.whole_blocks(area), planned.size_bytes(), seed))
}

impl PlannedWork for IoPlan {
    /// `random writes of 4 KiB, 32 in flight, io_uring, direct`.
    fn words(&self) -> String {
        if self.is_only_watched() {
            return "Assay only observed the production workload".to_owned();
        }
        let mix = operations::planned_words(self.mix);
        let sync = operations::sync_words(self.sync, " with");
        let content = content_words(self.compressibility);
        let way = if self.direct { "direct" } else { "through the page cache" };
        format!(
            "{} {mix} of {}{sync}{content}, {}{} in flight{}, {}, {way}",
            self.pattern.name(),
            self.block_size,
            depth_prefix(self),
            show::count(u64::from(self.in_flight())),
            describe(self),
            self.engine
        )
    }

    fn touches(&self) -> Touch {
        touch(self)
    }

    fn run(&self, run: &Run<'_>) -> Result<RunResult, String> {
        let job = self.job(&run.medium.area, run.ramp_ns, run.time_ns, run.seed);
        // Verified writes contain the start time of their run.
        let job = Job { verify: verify::stamps(self).then(|| run.system.wall_ns().max(1)), ..job };
        let outcome = run::run_job(self.engine, &job, &run.medium, run.bystanders, run.stop)?;
        Ok(run::run_result(&outcome))
    }

    fn value(&self, metric: &str, measured: &Measured) -> Option<Result<f64, String>> {
        let detail = super::IoDetail::of(measured)?;
        match metric {
            "iops" => Some(measured.per_second(measured.operations())),
            "bandwidth_bytes_per_s" => Some(measured.per_second(detail.bytes())),
            _ => None,
        }
    }

    fn primary(&self, varies: &dyn Fn(&str) -> bool) -> &'static str {
        if self.arrival_rate.is_some() {
            // The rate was requested: the result is the response time.
            return RESPONSE_P99;
        }
        let large = varies("block_size") || self.block_size.smallest() >= LARGE;
        if large { BANDWIDTH.name } else { IOPS.name }
    }

    fn operations(&self) -> Option<u64> {
        self.operations
    }

    fn most_bytes(&self, seconds: f64) -> f64 {
        let by_rate = self.arrival_rate.map(|rate| rate.per_s() as f64 * seconds);
        let by_count = self.operations.map(|count| count as f64);
        let requests = by_rate.into_iter().chain(by_count).fold(f64::INFINITY, f64::min);
        requests * self.block_size.largest().0 as f64
    }

    fn is_by_clock(&self) -> bool {
        self.arrival_rate.is_some()
    }

    fn half(&self) -> Option<crate::WorkPlan> {
        let mut half = self.clone();
        half.operations = self.operations.map(|operations| operations.div_ceil(2));
        Some(half.into())
    }

    fn asked_in_flight(&self) -> u32 {
        self.asked_depth
    }

    fn in_flight(&self) -> u32 {
        self.queue_depth.saturating_mul(self.threads)
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn drain_within(
        &mut self,
        operation_ns: u64,
        trial_ns: u64,
        is_level: &dyn Fn(&str) -> bool,
    ) -> Option<String> {
        // One operation after the other: so many complete within the trial.
        let affordable = (trial_ns / operation_ns.max(1)).clamp(1, u64::from(u32::MAX)) as u32;
        let asked = self.in_flight();
        if asked <= affordable {
            return None;
        }
        let ms = operation_ns as f64 / 1e6;
        if ["queue_depth", "threads"].into_iter().any(is_level) {
            // The trial ends late instead.
            return Some(format!(
                "one operation takes {ms:.1} ms, so {asked} operations in flight may not complete within the trial"
            ));
        }
        if self.threads > 1 && self.queue_depth == 1 {
            self.threads = affordable;
        } else {
            self.queue_depth = (affordable / self.threads).max(1);
        }
        Some(format!(
            "queue depth {} instead of {asked}: one operation takes {ms:.1} ms, so a deeper queue would not complete \
             in time",
            self.in_flight()
        ))
    }

    fn by_hand(&self, how: &ManualRun<'_>) -> ManualCommand {
        fio_line::command(self, how)
    }

    fn not_said(&self) -> &'static [&'static str] {
        fio_line::NOT_SAID
    }
}

/// The plan of a request on a target, and the deviations with reasons.
pub fn plan(io: &IoSpec, offer: &Offer<'_>) -> Result<(IoPlan, Option<String>), String> {
    if let Some(reason) = obstacle(io, offer) {
        return Err(reason);
    }
    let mut granted = io.clone();
    let engine = choose_engine(io, offer);
    let mut engine_note = None;
    if engine == Engine::Psync && io.engine == AskedEngine::Auto && needs_ring(io) {
        // Threads provide the operations in flight instead of the ring.
        granted.threads = io.in_flight();
        granted.queue_depth = 1;
        engine_note.clone_from(&offer.engine.note);
    }
    granted.direct = io.direct && offer.direct.value().is_some();
    let no_direct = offer.direct.reason().filter(|_| io.direct);
    let direct_note = no_direct.map(|reason| format!("through the page cache: {reason}"));
    let planned = IoPlan { asked_depth: io.in_flight(), ..IoPlan::new(granted, engine) };
    let notes: Vec<String> = engine_note.into_iter().chain(direct_note).collect();
    Ok((planned, (!notes.is_empty()).then(|| notes.join("; "))))
}

/// Returns why the target cannot run the work.
fn obstacle(io: &IoSpec, offer: &Offer<'_>) -> Option<String> {
    if io.mix.writes() && !offer.area.written {
        return Some(ONLY_READ.to_owned());
    }
    let parts = if io.rw_split == Apart::Halves { 2 } else { 1 };
    let needed = io.block_size.largest().0 * u64::from(io.threads) * parts;
    if offer.area.length < needed {
        return Some(format!(
            "the area ({}) is too small: {} are needed for one block per thread; increase area.size",
            Bytes(offer.area.length),
            Bytes(needed)
        ));
    }
    spread_obstacle(io, offer.area.length)
        .or_else(|| fits::obstacle(io).map(|unfit| unfit.message))
        .or_else(|| fits::oversized_step(io, offer.area.length / parts))
        .or_else(|| alignment_obstacle(io, offer.direct))
        .or_else(|| operations::obstacle(io, offer))
        .or_else(|| poll::obstacle(io, offer))
        .or_else(|| verify_obstacle(io, offer))
}

/// Explains why this work cannot be verified on the target, if it cannot.
fn verify_obstacle(io: &IoSpec, offer: &Offer<'_>) -> Option<String> {
    if !verify::stamps(io) {
        return None;
    }
    if offer.engine.name == Engine::Simulated {
        return Some("verify: a simulated drive stores no data".to_owned());
    }
    if !offer.area.start.is_multiple_of(verify::SECTOR_BYTES) {
        return Some(format!(
            "verify: the area must start at a multiple of the sector size ({})",
            Bytes(verify::SECTOR_BYTES)
        ));
    }
    verify::obstacle(io).map(|unfit| unfit.message)
}

/// Explains which size or step does not have the alignment that direct I/O needs, if any.
fn alignment_obstacle(io: &IoSpec, direct: &Presence<DirectUse>) -> Option<String> {
    if !io.direct {
        return None;
    }
    let unit = direct.value().map_or(1, |direct| u64::from(direct.offset_alignment));
    let needs = format!("direct I/O requires multiples of {}", Bytes(unit));
    if !io.block_size.is_multiple_of(unit) {
        return Some(format!("{needs}, but block_size is {}", io.block_size));
    }
    // A pattern uses at most one of them.
    let (name, step) = match io.strides() {
        Some(stride) => ("stride", stride),
        None => ("align", io.aligned()?),
    };
    (!step.0.is_multiple_of(unit)).then(|| format!("{needs}, but {name} is {step}"))
}

/// Explains why evenly spaced operations are impossible, if so.
fn spread_obstacle(io: &IoSpec, area_bytes: u64) -> Option<String> {
    if io.pattern != Pattern::Spaced {
        return None;
    }
    let Some(operations) = io.operations else {
        return Some("pattern spaced requires operations".to_owned());
    };
    if io.in_flight() > 1 {
        return Some("pattern spaced runs one operation at a time".to_owned());
    }
    let blocks = area_bytes / io.block_size.largest().0.max(1);
    (blocks < operations).then(|| {
        format!(
            "the area of {} has only {} blocks of {}, too few for {} operations",
            Bytes(area_bytes),
            show::count(blocks),
            io.block_size,
            show::count(operations)
        )
    })
}

/// Whether only `io_uring` can do it in one thread; polling is a property of the ring.
fn needs_ring(io: &IoSpec) -> bool {
    io.queue_depth > 1 || io.poll.is_some()
}

/// Selects the engine; `auto` selects the ring, if available, only for work that needs it.
fn choose_engine(io: &IoSpec, offer: &Offer<'_>) -> Engine {
    if offer.engine.name == Engine::Simulated {
        return Engine::Simulated;
    }
    match io.engine {
        AskedEngine::Auto if needs_ring(io) => offer.engine.name,
        AskedEngine::Auto | AskedEngine::Psync => Engine::Psync,
        AskedEngine::IoUring => Engine::IoUring,
    }
}

/// The engine in terms of `assay-load`; a target with a model is simulated.
pub(super) fn load_engine(engine: Engine, law: Option<Law>) -> Result<EngineKind, String> {
    match (law, engine) {
        (Some(law), _) => Ok(EngineKind::Simulated(law)),
        (None, Engine::Psync) => Ok(EngineKind::Psync),
        (None, Engine::IoUring) => Ok(EngineKind::IoUring),
        (None, Engine::Simulated) => Err("the simulated drive has no model".to_owned()),
        (None, Engine::None) => Err("there is nothing to run".to_owned()),
    }
}
