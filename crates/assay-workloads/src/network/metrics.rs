//! What is measured of a link: latencies of each phase, what load adds to them, rates and losses.

use assay_core::quantity::metric::metric;
use assay_core::quantity::{Better, Metric};
use assay_machine::system::network::Load;

pub struct Of {
    /// What half of the probes stay below.
    pub half: Metric,
    /// What all but one in twenty stay below.
    pub tail: Metric,
    /// What all but one in a hundred stay below.
    pub far: Metric,
    pub most: Metric,
    /// What the load adds to half of an idle link, where it is loaded.
    pub added: Option<Metric>,
    /// What all but one in twenty of its probes have more than half of an idle link.
    pub added_tail: Option<Metric>,
    pub lost: Metric,
}

pub const ADDED: Metric = metric(
    "added_latency_ns",
    Better::Lower,
    "added latency under load",
    "median round-trip time under load minus the idle median, mean of upload and download; at least 0.1 ms",
);
pub const ADDED_TAIL: Metric = metric(
    "added_latency_p95_ns",
    Better::Lower,
    "p95 added latency under load",
    "p95 round-trip time under load minus the idle median, in the worse direction; at least 0.1 ms",
);
const TRIPS: Metric = metric(
    "round_trips_per_min",
    Better::Higher,
    "round trips per minute under load",
    "60 s divided by the median round-trip time, mean of upload and download (RPM); about 100 is poor",
);
pub const UP_RATE: Metric = rate(
    "up_bits_per_s",
    "upload rate",
    "upload rate at the peer in bits per second, including the ramp",
);
const DOWN_RATE: Metric = rate(
    "down_bits_per_s",
    "download rate",
    "download rate in bits per second, including the ramp",
);
const BOTH_UP: Metric =
    rate("both_up_bits_per_s", "bidirectional upload rate", "upload rate under bidirectional load");
const BOTH_DOWN: Metric = rate(
    "both_down_bits_per_s",
    "bidirectional download rate",
    "download rate under bidirectional load",
);

const fn rate(name: &'static str, noun: &'static str, summary: &'static str) -> Metric {
    metric(name, Better::Higher, noun, summary)
}

const fn time(name: &'static str, noun: &'static str, summary: &'static str) -> Metric {
    metric(name, Better::Lower, noun, summary)
}

/// Rates of a phase: up, then down.
pub(super) const fn rates(load: Load) -> [Option<Metric>; 2] {
    match load {
        Load::Idle => [None, None],
        Load::Up => [Some(UP_RATE), None],
        Load::Down => [None, Some(DOWN_RATE)],
        Load::Both => [Some(BOTH_UP), Some(BOTH_DOWN)],
    }
}

pub(super) fn of_phase(load: Load) -> impl Iterator<Item = Metric> {
    let own = of(load);
    let always = [own.half, own.tail, own.far, own.most, own.lost];
    always
        .into_iter()
        .chain(own.added)
        .chain(own.added_tail)
        .chain(rates(load).into_iter().flatten())
}

pub(super) const TRIPS_PER_MINUTE: Metric = TRIPS;

pub const fn of(load: Load) -> &'static Of {
    match load {
        Load::Idle => &IDLE,
        Load::Up => &UP,
        Load::Down => &DOWN,
        Load::Both => &BOTH,
    }
}

type AddedByLoad = [Option<Metric>; 2];

/// The metrics of a phase, by what their names begin with and what is said of its load.
macro_rules! phase {
    ($name:literal, $how:literal, $added:expr) => {{
        let [added, added_tail]: AddedByLoad = $added;
        Of {
            half: time(
                concat!($name, "_rtt_p50_ns"),
                concat!("median round-trip time ", $how),
                concat!("median round-trip time ", $how),
            ),
            tail: time(
                concat!($name, "_rtt_p95_ns"),
                concat!("p95 round-trip time ", $how),
                concat!("p95 round-trip time ", $how),
            ),
            far: time(
                concat!($name, "_rtt_p99_ns"),
                concat!("p99 round-trip time ", $how),
                concat!("p99 round-trip time ", $how),
            ),
            most: time(
                concat!($name, "_rtt_max_ns"),
                concat!("maximum round-trip time ", $how),
                concat!("maximum round-trip time ", $how),
            ),
            added,
            added_tail,
            lost: metric(
                concat!($name, "_lost_share"),
                Better::Lower,
                concat!("probe loss ", $how),
                concat!("share of lost probes ", $how),
            ),
        }
    }};
    ($name:literal, $how:literal) => {
        phase!(
            $name,
            $how,
            [
                Some(time(
                    concat!($name, "_added_ns"),
                    concat!("added latency ", $how),
                    concat!("median round-trip time minus the idle median ", $how),
                )),
                Some(time(
                    concat!($name, "_added_p95_ns"),
                    concat!("p95 added latency ", $how),
                    concat!("p95 round-trip time minus the idle median ", $how),
                )),
            ]
        )
    };
}

const IDLE: Of = phase!("idle", "on the idle link", [None, None]);
const UP: Of = phase!("up", "under upload");
const DOWN: Of = phase!("down", "under download");
const BOTH: Of = phase!("both", "under bidirectional load");

const fn some(metric: Option<Metric>) -> Metric {
    match metric {
        Some(metric) => metric,
        None => ADDED,
    }
}

pub(super) static METRICS: &[Metric] = &[
    ADDED,
    ADDED_TAIL,
    TRIPS,
    UP_RATE,
    DOWN_RATE,
    BOTH_UP,
    BOTH_DOWN,
    IDLE.half,
    IDLE.tail,
    IDLE.far,
    IDLE.most,
    IDLE.lost,
    UP.half,
    UP.tail,
    UP.far,
    UP.most,
    UP.lost,
    some(UP.added),
    some(UP.added_tail),
    DOWN.half,
    DOWN.tail,
    DOWN.far,
    DOWN.most,
    DOWN.lost,
    some(DOWN.added),
    some(DOWN.added_tail),
    BOTH.half,
    BOTH.tail,
    BOTH.far,
    BOTH.most,
    BOTH.lost,
    some(BOTH.added),
    some(BOTH.added_tail),
];
