//! The interface of a probe: times of its readings, and the resulting observation.

use std::collections::BTreeMap;
use std::fs::File;
use std::mem;
use std::ops::Range;

use crate::system::System;
use crate::system::site::{Site, TargetKind};
use assay_core::catalogue::About;
use assay_core::presence::Presence;
use assay_core::quantity::metric::SHARED;
use assay_core::quantity::units::show;

#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub about: About,
    pub fields: &'static [ProbeField],
    /// Names of the rules of trust that judge its observations.
    pub rules: &'static [&'static str],
    pub presentation: Presentation,
    /// Finding on this machine, or why there is none. `None` for probes of the target itself.
    pub here: Option<fn(&dyn System) -> Presence<String>>,
}

impl Entry {
    /// Names of the metrics derived from its observations.
    pub fn metrics(&self) -> Vec<&'static str> {
        let made = SHARED.iter().filter(|metric| metric.by == Some(self.about.name));
        made.map(|metric| metric.name).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presentation {
    /// Field by field, with the descriptions of the entry.
    FieldByField,
    /// By special metrics, rules or tables, or not at all.
    Tailored,
}

#[derive(Clone, Copy, Debug)]
pub struct ProbeField {
    /// Path in the stored observation, names joined by dots; `*` matches any name or list index.
    pub path: &'static str,
    pub unit: Unit,
    pub summary: &'static str,
}

pub const fn field(path: &'static str, unit: Unit, summary: &'static str) -> ProbeField {
    ProbeField { path, unit, summary }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Count,
    Bytes,
    Nanoseconds,
    Milliseconds,
    /// Hundredths of a second of one processor.
    Ticks,
    Millidegrees,
    Joules,
    Word,
}

impl Unit {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::Nanoseconds => "ns",
            Self::Milliseconds => "ms",
            Self::Ticks => "ticks of 10 ms",
            Self::Millidegrees => "thousandths of a \u{b0}C",
            Self::Joules => "J",
            Self::Word => "text",
        }
    }

    pub fn show(self, amount: f64) -> String {
        match self {
            Self::Count | Self::Word => show::three_digits(amount),
            Self::Bytes => show::bytes(amount.max(0.0).round() as u64),
            Self::Nanoseconds => show::duration(amount),
            Self::Milliseconds => show::duration(amount * 1e6),
            Self::Ticks => show::duration(amount * 1e7),
            Self::Millidegrees => format!("{} \u{b0}C", show::three_digits(amount / 1e3)),
            Self::Joules => format!("{} J", show::three_digits(amount)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Before everything else: slow preparation.
    Ready,
    BeforeRest,
    /// After all others, right before the run.
    BeforeRun,
    AfterRun,
    Settled,
    Last,
}

impl Moment {
    pub const ALL: [Self; 6] =
        [Self::Ready, Self::BeforeRest, Self::BeforeRun, Self::AfterRun, Self::Settled, Self::Last];

    pub fn is_before(self) -> bool {
        self <= Self::BeforeRun
    }
}

/// Observations that a study requests in addition to the usual ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbeRequest<'a> {
    pub probes: &'a [String],
    pub meter: Option<&'a str>,
}

impl ProbeRequest<'_> {
    pub fn names(&self, entry: &Entry) -> bool {
        self.probes.iter().any(|name| name == entry.about.name)
    }
}

#[derive(Clone)]
pub struct Scene<'a> {
    pub system: &'a dyn System,
    pub site: &'a Site,
    /// The bytes that may be touched, and the file in which they are; a simulated target has none.
    pub file: Option<(&'a File, Range<u64>)>,
    pub asked: ProbeRequest<'a>,
}

impl Scene<'_> {
    pub fn is_simulated(&self) -> bool {
        self.site.kind == TargetKind::Simulated
    }
}

/// Observes something around each trial, never within the measured time.
pub trait Probe: Default {
    type Observed;
    const MOMENTS: &'static [Moment];

    fn look(&mut self, moment: Moment, scene: &Scene<'_>);

    fn observed(&mut self, scene: &Scene<'_>) -> Presence<Self::Observed>;

    /// Value to store if the probe read nothing: absent, perhaps with the reason.
    fn nothing(_reason: &str) -> Presence<Self::Observed> {
        not_recorded()
    }
}

/// A probe of the machine with the same reading before and after, as most are. See [`Twice`].
pub trait Pair {
    type Reading;
    type Observed;
    const MOMENTS: [Moment; 2] = [Moment::BeforeRun, Moment::Settled];
    /// Whether records contain the reason for missing readings; most probes omit it.
    const GIVES_REASON: bool = false;

    fn read(system: &dyn System) -> Self::Reading;

    fn between(before: &Self::Reading, after: &Self::Reading) -> Presence<Self::Observed>;
}

/// Two readings of a [`Pair`]. Reads nothing around simulated targets.
pub struct Twice<P: Pair> {
    before: Option<P::Reading>,
    after: Option<P::Reading>,
}

impl<P: Pair> Default for Twice<P> {
    fn default() -> Self {
        Self { before: None, after: None }
    }
}

impl<P: Pair> Probe for Twice<P> {
    type Observed = P::Observed;
    const MOMENTS: &'static [Moment] = &P::MOMENTS;

    fn look(&mut self, moment: Moment, scene: &Scene<'_>) {
        if scene.is_simulated() {
            return;
        }
        let reading = Some(P::read(scene.system));
        if moment == P::MOMENTS[0] { self.before = reading } else { self.after = reading }
    }

    fn observed(&mut self, _scene: &Scene<'_>) -> Presence<P::Observed> {
        match (self.before.take(), self.after.take()) {
            (Some(before), Some(after)) => P::between(&before, &after),
            _ => Self::nothing(SIMULATED),
        }
    }

    fn nothing(reason: &str) -> Presence<P::Observed> {
        if P::GIVES_REASON { Presence::absent(reason) } else { not_recorded() }
    }
}

pub const SIMULATED: &str = "simulated";

/// Reason for unobserved values (older version, simulated target, not requested). Not stored.
const NOT_RECORDED: &str = "not recorded by the Assay version that ran the trial";

pub fn not_recorded<T>() -> Presence<T> {
    Presence::absent(NOT_RECORDED)
}

pub fn is_not_recorded<T>(seen: &Presence<T>) -> bool {
    seen.reason() == Some(NOT_RECORDED)
}

/// Nanoseconds that readings took, by the name of the probe.
#[derive(Clone, Debug, Default)]
pub struct Costs(BTreeMap<String, u64>);

impl Costs {
    pub fn time<T>(&mut self, system: &dyn System, entry: &Entry, read: impl FnOnce() -> T) -> T {
        let start_ns = system.monotonic_ns();
        let result = read();
        let took_ns = system.monotonic_ns().saturating_sub(start_ns);
        *self.0.entry(entry.about.name.to_owned()).or_default() += took_ns;
        result
    }

    /// Returns the sums and resets them.
    pub fn take(&mut self) -> BTreeMap<String, u64> {
        mem::take(&mut self.0)
    }
}

/// Runs a probe if this is one of its moments, and adds its cost.
pub(super) fn timed<P: Probe>(
    entry: &Entry,
    probe: &mut P,
    costs: &mut Costs,
    moment: Moment,
    scene: &Scene<'_>,
) {
    if P::MOMENTS.contains(&moment) {
        costs.time(scene.system, entry, || probe.look(moment, scene));
    }
}
