//! What is measured of a link: latencies of each phase, what load adds to them, rates and losses.

use assay_base::quantity::metric::metric;
use assay_base::quantity::{Better, Metric};
use assay_system::system::network::Load;

/// The metrics of a phase.
pub struct Of {
    /// Which way the link is loaded.
    pub load: Load,
    /// What half of the probes stay below.
    pub half: Metric,
    /// What all but one in twenty stay below.
    pub tail: Metric,
    /// What all but one in a hundred stay below.
    pub far: Metric,
    /// The slowest.
    pub most: Metric,
    /// What the load adds to half of an idle link, where it is loaded.
    pub added: Option<Metric>,
    /// What all but one in twenty of its probes have more than half of an idle link.
    pub added_tail: Option<Metric>,
    /// Share of the probes that did not come back.
    pub lost: Metric,
}

/// What load adds, mean of up and down.
pub const ADDED: Metric = metric(
    "added_latency_ns",
    Better::Lower,
    "latency that load adds",
    "median round trip under load less that of the idle link, mean of the ways that were loaded alone; at \
     least 0.1 ms, which is as fine as it is told",
);
/// The same of the 95th percentile of the worst way.
pub const ADDED_TAIL: Metric = metric(
    "added_latency_p95_ns",
    Better::Lower,
    "p95 of the latency that load adds",
    "95th percentile of the round trip under load less the median of the idle link, of the way in which it is \
     most; at least 0.1 ms",
);
const TRIPS: Metric = metric(
    "round_trips_per_min",
    Better::Higher,
    "round trips per minute under load",
    "60 s over the median round trip, mean of the ways that were loaded alone (RPM): about 100 is poor",
);
/// What reached the peer while the link was loaded up alone.
pub const UP_RATE: Metric = rate(
    "up_bits_per_s",
    "rate up",
    "bits of data that reached the peer per second, loaded up alone, its ramp included",
);
const DOWN_RATE: Metric = rate(
    "down_bits_per_s",
    "rate down",
    "bits of data that came from the peer per second, loaded down alone, its ramp included",
);
const BOTH_UP: Metric =
    rate("both_up_bits_per_s", "rate up of both", "the same up while both ways were loaded");
const BOTH_DOWN: Metric =
    rate("both_down_bits_per_s", "rate down of both", "the same down while both ways were loaded");

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

/// All metrics of a phase.
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

/// The metrics of each phase.
pub const fn of(load: Load) -> &'static Of {
    match load {
        Load::Idle => &IDLE,
        Load::Up => &UP,
        Load::Down => &DOWN,
        Load::Both => &BOTH,
    }
}

const IDLE: Of = Of {
    load: Load::Idle,
    half: time(
        "idle_rtt_p50_ns",
        "median round trip of the idle link",
        "round trip that half of the probes stay below, of the idle link",
    ),
    tail: time(
        "idle_rtt_p95_ns",
        "p95 round trip of the idle link",
        "round trip that 95 % of the probes stay below, of the idle link",
    ),
    far: time(
        "idle_rtt_p99_ns",
        "p99 round trip of the idle link",
        "round trip that 99 % of the probes stay below, of the idle link",
    ),
    most: time(
        "idle_rtt_max_ns",
        "longest round trip of the idle link",
        "the slowest probe, of the idle link",
    ),
    added: None,
    added_tail: None,
    lost: metric(
        "idle_lost_share",
        Better::Lower,
        "probes lost of the idle link",
        "share of the probes that did not come back, of the idle link",
    ),
};

const UP: Of = Of {
    load: Load::Up,
    half: time(
        "up_rtt_p50_ns",
        "median round trip loaded up",
        "round trip that half of the probes stay below, loaded up",
    ),
    tail: time(
        "up_rtt_p95_ns",
        "p95 round trip loaded up",
        "round trip that 95 % of the probes stay below, loaded up",
    ),
    far: time(
        "up_rtt_p99_ns",
        "p99 round trip loaded up",
        "round trip that 99 % of the probes stay below, loaded up",
    ),
    most: time("up_rtt_max_ns", "longest round trip loaded up", "the slowest probe, loaded up"),
    added: Some(time(
        "up_added_ns",
        "latency added loaded up",
        "median round trip less that of the idle link, loaded up",
    )),
    added_tail: Some(time(
        "up_added_p95_ns",
        "p95 latency added loaded up",
        "95th percentile of the round trip less the median of the idle link, loaded up",
    )),
    lost: metric(
        "up_lost_share",
        Better::Lower,
        "probes lost loaded up",
        "share of the probes that did not come back, loaded up",
    ),
};

const DOWN: Of = Of {
    load: Load::Down,
    half: time(
        "down_rtt_p50_ns",
        "median round trip loaded down",
        "round trip that half of the probes stay below, loaded down",
    ),
    tail: time(
        "down_rtt_p95_ns",
        "p95 round trip loaded down",
        "round trip that 95 % of the probes stay below, loaded down",
    ),
    far: time(
        "down_rtt_p99_ns",
        "p99 round trip loaded down",
        "round trip that 99 % of the probes stay below, loaded down",
    ),
    most: time(
        "down_rtt_max_ns",
        "longest round trip loaded down",
        "the slowest probe, loaded down",
    ),
    added: Some(time(
        "down_added_ns",
        "latency added loaded down",
        "median round trip less that of the idle link, loaded down",
    )),
    added_tail: Some(time(
        "down_added_p95_ns",
        "p95 latency added loaded down",
        "95th percentile of the round trip less the median of the idle link, loaded down",
    )),
    lost: metric(
        "down_lost_share",
        Better::Lower,
        "probes lost loaded down",
        "share of the probes that did not come back, loaded down",
    ),
};

const BOTH: Of = Of {
    load: Load::Both,
    half: time(
        "both_rtt_p50_ns",
        "median round trip loaded both ways",
        "round trip that half of the probes stay below, loaded both ways",
    ),
    tail: time(
        "both_rtt_p95_ns",
        "p95 round trip loaded both ways",
        "round trip that 95 % of the probes stay below, loaded both ways",
    ),
    far: time(
        "both_rtt_p99_ns",
        "p99 round trip loaded both ways",
        "round trip that 99 % of the probes stay below, loaded both ways",
    ),
    most: time(
        "both_rtt_max_ns",
        "longest round trip loaded both ways",
        "the slowest probe, loaded both ways",
    ),
    added: Some(time(
        "both_added_ns",
        "latency added loaded both ways",
        "median round trip less that of the idle link, loaded both ways",
    )),
    added_tail: Some(time(
        "both_added_p95_ns",
        "p95 latency added loaded both ways",
        "95th percentile of the round trip less the median of the idle link, loaded both ways",
    )),
    lost: metric(
        "both_lost_share",
        Better::Lower,
        "probes lost loaded both ways",
        "share of the probes that did not come back, loaded both ways",
    ),
};

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
