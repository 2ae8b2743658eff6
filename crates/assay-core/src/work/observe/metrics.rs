//! What the load did, and how busy the machine was: measured beside the latencies of the classes.

use super::detail::Period;
use super::look::Waited;
use crate::presence::Presence;
use crate::quantity::Metric;
use crate::quantity::metric::{Better, metric};

/// What only others' work has: how many requests arrived.
pub const ARRIVALS: &str = "device_arrivals_per_s";

/// Metrics of others' work, all classes of requests together.
pub const METRICS: &[Metric] = &[
    metric(
        "device_latency_mean_ns",
        Better::Lower,
        "mean latency of all requests",
        "mean time that requests of any class took; it changes with the mix, too",
    ),
    metric(
        "device_requests_per_s",
        Better::Higher,
        "requests per second",
        "requests that the devices completed per second",
    ),
    metric(
        ARRIVALS,
        Better::Higher,
        "arriving requests per second",
        "requests that arrived per second: those that ended, and by how many more were under way \
         at the end",
    ),
    metric(
        "device_bytes_per_s",
        Better::Higher,
        "bytes per second",
        "bytes that the devices moved per second",
    ),
    metric(
        "device_request_bytes",
        Better::Higher,
        "size of requests",
        "mean bytes of a request that moves any",
    ),
    metric(
        "device_read_share",
        Better::Higher,
        "share of reads",
        "share of reads among reads and writes",
    ),
    metric(
        "device_in_flight",
        Better::Lower,
        "requests under way",
        "requests under way on average",
    ),
    metric(
        "io_some_share",
        Better::Lower,
        "time waiting for devices",
        "share of the time in which some task waited for a device",
    ),
    metric(
        "io_full_share",
        Better::Lower,
        "time all waited for devices",
        "share of the time in which all tasks waited for a device",
    ),
    metric(
        "processors_busy_share",
        Better::Lower,
        "processors' load",
        "share of the processors' time in which they worked",
    ),
];

/// One of them; none where it is not known here.
pub(super) fn value(name: &str, period: &Period) -> Option<Result<f64, String>> {
    const IDLE: &str = "the devices completed no request";
    let seconds = period.seconds().ok_or_else(|| "the period had no length".to_owned());
    let all = period.served();
    let per_s = |amount: f64| seconds.clone().map(|seconds| amount / seconds);
    let of = |class: &str| period.classes.get(class).copied().unwrap_or_default();
    let moving = of("read").plus(&of("write"));
    let share = |part: f64, whole: u64, none: &str| {
        if whole > 0 { Ok(part / whole as f64) } else { Err(none.to_owned()) }
    };
    let pressure = |pick: fn(&Waited) -> u64| {
        told(&period.pressure.clone().map(|waited| pick(&waited) as f64 / 1e9)).and_then(per_s)
    };
    let [began, ended] = period.in_flight.map(|own| own as f64);
    Some(match name {
        "device_latency_mean_ns" => share(all.sum_ns as f64, all.requests, IDLE),
        "device_requests_per_s" => per_s(all.requests as f64),
        ARRIVALS => per_s((all.requests as f64 + ended - began).max(0.0)),
        "device_bytes_per_s" => per_s(moving.bytes as f64),
        "device_request_bytes" => share(moving.bytes as f64, moving.requests, IDLE),
        "device_read_share" => share(of("read").requests as f64, moving.requests, IDLE),
        "device_in_flight" => per_s(period.under_way_ns as f64 / 1e9),
        "io_some_share" => pressure(|waited| waited.some_ns),
        "io_full_share" => pressure(|waited| waited.full_ns),
        "processors_busy_share" => told(&period.busy_ns).and_then(|ns| per_s(ns / 1e9)),
        _ => return None,
    })
}

fn told(seen: &Presence<f64>) -> Result<f64, String> {
    seen.value().copied().ok_or_else(|| seen.reason().unwrap_or_default().to_owned())
}
