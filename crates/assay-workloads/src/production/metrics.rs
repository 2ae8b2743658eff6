//! Metrics of the load and of the machine's utilization, in addition to class latencies.

use assay_core::presence::Presence;
use assay_core::quantity::Metric;

use super::detail::Period;
use super::look::DevicePressure;
use crate::metrics::{higher, lower};

/// Only for production work: the number of arrived requests.
pub const ARRIVALS: &str = "device_arrivals_per_s";

pub const METRICS: &[Metric] = &[
    lower(
        "device_latency_mean_ns",
        "mean latency of all requests",
        "mean latency of requests of all classes; also depends on the mix",
    ),
    higher(
        "device_requests_per_s",
        "requests per second",
        "requests that the devices completed per second",
    ),
    higher(
        ARRIVALS,
        "arriving requests per second",
        "request arrivals per second: completed requests plus the increase in requests in flight",
    ),
    higher("device_bytes_per_s", "bytes per second", "bytes that the devices moved per second"),
    higher("device_request_bytes", "mean request size", "mean size of requests that carry data"),
    higher("device_read_share", "read share", "share of reads among reads and writes"),
    lower("device_in_flight", "requests in flight", "mean number of requests in flight"),
    lower(
        "io_pressure_some_share",
        "I/O pressure (some)",
        "share of time in which at least one task waited for a device",
    ),
    lower(
        "io_pressure_full_share",
        "I/O pressure (full)",
        "share of time in which all tasks waited for a device",
    ),
    lower("cpu_busy_share", "CPU load", "busy share of the CPU time"),
];

/// Returns the metric called `name` over a period, or why it has no value; `None` for an unknown metric.
pub(super) fn value(name: &str, period: &Period) -> Option<Result<f64, String>> {
    const IDLE: &str = "the devices completed no request";
    let seconds = period.seconds().ok_or_else(|| "the period was empty".to_owned());
    let served = period.served();
    let per_s = |amount: f64| seconds.clone().map(|seconds| amount / seconds);
    let class_of = |class: &str| period.classes.get(class).copied().unwrap_or_default();
    let moving = class_of("read").plus(&class_of("write"));
    let share = |part: f64, whole: u64, none: &str| {
        if whole > 0 { Ok(part / whole as f64) } else { Err(none.to_owned()) }
    };
    let pressure = |pick: fn(&DevicePressure) -> u64| {
        value_of(&period.pressure.clone().map(|waited| pick(&waited) as f64 / 1e9)).and_then(per_s)
    };
    let [in_flight_before, in_flight_after] = period.in_flight.map(|count| count as f64);
    let arrivals = (served.requests as f64 + in_flight_after - in_flight_before).max(0.0);
    Some(match name {
        "device_latency_mean_ns" => share(served.sum_ns as f64, served.requests, IDLE),
        "device_requests_per_s" => per_s(served.requests as f64),
        ARRIVALS => per_s(arrivals),
        "device_bytes_per_s" => per_s(moving.bytes as f64),
        "device_request_bytes" => share(moving.bytes as f64, moving.requests, IDLE),
        "device_read_share" => share(class_of("read").requests as f64, moving.requests, IDLE),
        "device_in_flight" => per_s(period.under_way_ns as f64 / 1e9),
        "io_pressure_some_share" => pressure(|waited| waited.some_ns),
        "io_pressure_full_share" => pressure(|waited| waited.full_ns),
        "cpu_busy_share" => value_of(&period.busy_ns).and_then(|ns| per_s(ns / 1e9)),
        _ => return None,
    })
}

fn value_of(seen: &Presence<f64>) -> Result<f64, String> {
    seen.value().copied().ok_or_else(|| seen.reason().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::production::ClassRequests;

    fn period() -> Period {
        let served =
            |requests, bytes, sum_ns| ClassRequests { requests, bytes, sum_ns, p99_ns: None };
        Period {
            span_ns: 4_000_000_000,
            classes: [
                ("read".to_owned(), served(30, 120_000, 90_000_000)),
                ("write".to_owned(), served(10, 80_000, 110_000_000)),
                ("flush".to_owned(), served(10, 0, 200_000_000)),
            ]
            .into(),
            untraced: None,
            in_flight: [3, 9],
            under_way_ns: 8_000_000_000,
            pressure: Presence::Present(DevicePressure {
                some_ns: 2_000_000_000,
                full_ns: 1_000_000_000,
            }),
            busy_ns: Presence::Present(3e9),
        }
    }

    fn all(period: &Period) -> Vec<(&'static str, Result<f64, String>)> {
        METRICS.iter().map(|one| (one.name, value(one.name, period).unwrap())).collect()
    }

    #[test]
    fn every_metric_is_what_its_words_say() {
        let told: Vec<_> =
            all(&period()).into_iter().map(|(name, told)| (name, told.unwrap())).collect();
        let expected = [
            ("device_latency_mean_ns", 8_000_000.0),
            ("device_requests_per_s", 12.5),
            ("device_arrivals_per_s", 14.0),
            ("device_bytes_per_s", 50_000.0),
            ("device_request_bytes", 5_000.0),
            ("device_read_share", 0.75),
            ("device_in_flight", 2.0),
            ("io_pressure_some_share", 0.5),
            ("io_pressure_full_share", 0.25),
            ("cpu_busy_share", 0.75),
        ];
        assert_eq!(told, expected);
        assert_eq!(value("iops", &period()), None);
        let drained = Period { in_flight: [90, 0], ..period() };
        assert_eq!(value(ARRIVALS, &drained), Some(Ok(0.0)), "nothing arrives backwards");
    }

    #[test]
    fn what_cannot_be_told_says_why() {
        let idle = Period { classes: [].into(), ..period() };
        for name in ["device_latency_mean_ns", "device_request_bytes", "device_read_share"] {
            let why = Some(Err("the devices completed no request".to_owned()));
            assert_eq!(value(name, &idle), why, "{name}");
        }
        assert_eq!(value("device_requests_per_s", &idle), Some(Ok(0.0)));
        let empty = Period { span_ns: 0, ..period() };
        let why = Some(Err("the period was empty".to_owned()));
        assert_eq!(value("device_bytes_per_s", &empty), why);
        assert_eq!(value("io_pressure_some_share", &empty), why);
        let blind = Period {
            pressure: Presence::absent("no PSI"),
            busy_ns: Presence::absent("no stat"),
            ..period()
        };
        assert_eq!(value("io_pressure_full_share", &blind), Some(Err("no PSI".to_owned())));
        assert_eq!(value("cpu_busy_share", &blind), Some(Err("no stat".to_owned())));
    }

    #[test]
    fn periods_add_up() {
        let glance = |requests, in_flight, busy| crate::production::Glance {
            span_ns: 2_000_000_000,
            classes: [(
                "read".to_owned(),
                ClassRequests { requests, bytes: 100, sum_ns: 7, p99_ns: Some(1.0) },
            )]
            .into(),
            untraced: (requests == 5).then(|| "lost".to_owned()),
            in_flight,
            under_way_ns: 40,
            oldest_ns: 3,
            pressure: Presence::Present(DevicePressure { some_ns: 500_000_000, full_ns: 1 }),
            busy: Presence::Present(busy),
            rows: Vec::new(),
        };
        let mut sum = Period::beginning(4);
        sum.add(&glance(2, 6, 0.5));
        sum.add(&glance(5, 8, 0.25));
        let served = ClassRequests { requests: 7, bytes: 200, sum_ns: 14, p99_ns: None };
        assert_eq!(sum.classes, [("read".to_owned(), served)].into());
        assert_eq!((sum.span_ns, sum.in_flight, sum.under_way_ns), (4_000_000_000, [4, 8], 80));
        assert_eq!(sum.untraced.as_deref(), Some("lost"));
        assert_eq!(sum.busy_ns, Presence::Present(1.5e9));
        let waited = DevicePressure { some_ns: 1_000_000_000, full_ns: 2 };
        assert_eq!(sum.pressure, Presence::Present(waited));
        let second = crate::production::Second::from(&glance(2, 6, 0.5));
        assert_eq!((second.oldest_ns, second.pressure), (3, Some(0.25)));
    }
}
