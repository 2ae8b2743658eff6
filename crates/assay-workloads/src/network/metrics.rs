//! Metrics of a link: latencies of each phase, latency under load, rates and losses.

use crate::metrics::{higher, lower};
use assay_core::quantity::Metric;
use assay_machine::system::network::Load;

pub const ADDED: Metric = lower(
    "added_latency_ns",
    "added latency under load",
    "median round-trip time under load minus the idle median, mean of upload and download; at least 0.1 ms",
);
pub const ADDED_TAIL: Metric = lower(
    "added_latency_p95_ns",
    "p95 added latency under load",
    "p95 round-trip time under load minus the idle median, in the worse direction; at least 0.1 ms",
);
pub(super) const TRIPS: Metric = higher(
    "round_trips_per_min",
    "round trips per minute under load",
    "60 s divided by the median round-trip time, mean of upload and download (RPM); about 100 is poor",
);
pub const UP_RATE: Metric = higher(
    "up_bits_per_s",
    "upload rate",
    "upload rate at the peer in bits per second, including the ramp",
);
const DOWN_RATE: Metric = higher(
    "down_bits_per_s",
    "download rate",
    "download rate in bits per second, including the ramp",
);
const BOTH_UP: Metric = higher(
    "both_up_bits_per_s",
    "bidirectional upload rate",
    "upload rate under bidirectional load",
);
const BOTH_DOWN: Metric = higher(
    "both_down_bits_per_s",
    "bidirectional download rate",
    "download rate under bidirectional load",
);

pub(super) const fn rates(load: Load) -> [Option<Metric>; 2] {
    match load {
        Load::Idle => [None, None],
        Load::Up => [Some(UP_RATE), None],
        Load::Down => [None, Some(DOWN_RATE)],
        Load::Both => [Some(BOTH_UP), Some(BOTH_DOWN)],
    }
}

pub(super) fn of_phase(load: Load) -> impl Iterator<Item = Metric> {
    for_load(load).iter().copied().chain(rates(load).into_iter().flatten())
}

/// Indices into the metrics of a phase.
pub(super) const P50: usize = 0;
pub(super) const P95: usize = 1;
pub(super) const P99: usize = 2;
pub(super) const MAX: usize = 3;
pub(super) const LOST: usize = 4;
pub(super) const ADDED_P50: usize = 5;
pub(super) const ADDED_P95: usize = 6;

/// Metrics of a phase: round-trip times (p50, p95, p99, maximum), loss and, under load, p50 and p95 above the idle p50.
pub const fn for_load(load: Load) -> &'static [Metric] {
    match load {
        Load::Idle => IDLE,
        Load::Up => UP,
        Load::Down => DOWN,
        Load::Both => BOTH,
    }
}

macro_rules! round_trip {
    ($name:literal, $key:literal, $words:literal, $how:literal) => {
        lower(
            concat!($name, "_rtt_", $key, "_ns"),
            concat!($words, " round-trip time ", $how),
            concat!($words, " round-trip time ", $how),
        )
    };
}

/// The metrics of a phase, from a name prefix and a description of its load.
macro_rules! phase {
    ($name:literal, $how:literal $(, $added:expr)*) => {
        &[
            round_trip!($name, "p50", "median", $how),
            round_trip!($name, "p95", "p95", $how),
            round_trip!($name, "p99", "p99", $how),
            round_trip!($name, "max", "maximum", $how),
            lower(
                concat!($name, "_lost_share"),
                concat!("probe loss ", $how),
                concat!("share of lost probes ", $how),
            ),
            $($added),*
        ]
    };
}

macro_rules! loaded_phase {
    ($name:literal, $how:literal) => {
        phase!(
            $name,
            $how,
            lower(
                concat!($name, "_added_ns"),
                concat!("added latency ", $how),
                concat!("median round-trip time minus the idle median ", $how),
            ),
            lower(
                concat!($name, "_added_p95_ns"),
                concat!("p95 added latency ", $how),
                concat!("p95 round-trip time minus the idle median ", $how),
            )
        )
    };
}

const IDLE: &[Metric] = phase!("idle", "on the idle link");
const UP: &[Metric] = loaded_phase!("up", "under upload");
const DOWN: &[Metric] = loaded_phase!("down", "under download");
const BOTH: &[Metric] = loaded_phase!("both", "under bidirectional load");

pub(super) const METRICS: &[&[Metric]] =
    &[&[ADDED, ADDED_TAIL, TRIPS, UP_RATE, DOWN_RATE, BOTH_UP, BOTH_DOWN], IDLE, UP, DOWN, BOTH];
