//! Metrics per class of requests in a replay: a setting that helps reads may starve writes, and totals hide it.

use super::metric::{Better, Metric, metric, of_latencies};

#[derive(Debug)]
pub struct PlayedClass {
    pub key: &'static str,
    pub words: &'static str,
    /// Name of the replayed class in rows.
    pub played: &'static str,
    pub metrics: &'static [Metric],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlayedMetric {
    /// Operations per second.
    Rate,
    /// Response time from the intended start; open loop only.
    Response(LatencyPoint),
    /// Times from submissions.
    Service(LatencyPoint),
    /// Bandwidth of classes that transfer data.
    Bytes,
}

/// Which of all times of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyPoint {
    Mean,
    P50,
    P99,
    P999,
}

/// Statistics of each class, in the order of its metrics.
const STATISTICS: [PlayedMetric; 10] = [
    PlayedMetric::Rate,
    PlayedMetric::Response(LatencyPoint::Mean),
    PlayedMetric::Response(LatencyPoint::P50),
    PlayedMetric::Response(LatencyPoint::P99),
    PlayedMetric::Response(LatencyPoint::P999),
    PlayedMetric::Service(LatencyPoint::Mean),
    PlayedMetric::Service(LatencyPoint::P50),
    PlayedMetric::Service(LatencyPoint::P99),
    PlayedMetric::Service(LatencyPoint::P999),
    PlayedMetric::Bytes,
];

impl PlayedMetric {
    pub const fn is_response(self) -> bool {
        matches!(self, Self::Response(_))
    }

    /// Statistic of a latency; `None` for sums.
    pub const fn point(self) -> Option<LatencyPoint> {
        match self {
            Self::Response(point) | Self::Service(point) => Some(point),
            Self::Rate | Self::Bytes => None,
        }
    }
}

impl LatencyPoint {
    /// The share of all operations that take less time; `None` for the mean.
    pub const fn quantile(self) -> Option<f64> {
        match self {
            Self::Mean => None,
            Self::P50 => Some(0.5),
            Self::P99 => Some(0.99),
            Self::P999 => Some(0.999),
        }
    }
}

/// Metrics of a class: key, words, direction and the verb of its bytes.
macro_rules! metrics {
    ($key:literal, $words:literal, $side:ident $(, $bytes:literal)?) => {
        &[
            metric(
                concat!($key, "_iops"),
                Better::Higher,
                concat!("played ", $words, " per second"),
                concat!("replayed ", $words, " per second"),
            )
            .$side(),
            metrics!(@response $key, $words, $side, "mean", "mean", "mean time"),
            metrics!(@response $key, $words, $side, "p50", "median", "median time"),
            metrics!(@response $key, $words, $side, "p99", "p99", "p99 time"),
            metrics!(@response $key, $words, $side, "p999", "p99.9", "p99.9 time"),
            metrics!(@service $key, $words, $side, "mean", "mean", "mean time"),
            metrics!(@service $key, $words, $side, "p50", "median", "median time"),
            metrics!(@service $key, $words, $side, "p99", "p99", "p99 time"),
            metrics!(@service $key, $words, $side, "p999", "p99.9", "p99.9 time"),
            $(metric(
                concat!($key, "_bandwidth_bytes_per_s"),
                Better::Higher,
                concat!("bandwidth of ", $words),
                concat!("bytes per second that replayed ", $words, " ", $bytes),
            )
            .$side(),)?
        ]
    };
    (@response $key:literal, $words:literal, $side:ident, $name:literal, $noun:literal, $what:literal) => {
        of_latencies(
            concat!($key, "_response_", $name, "_ns"),
            Better::Lower,
            concat!($noun, " response of ", $words),
            concat!($what, " of replayed ", $words, ", from intended start to completion"),
        )
        .$side()
    };
    (@service $key:literal, $words:literal, $side:ident, $name:literal, $noun:literal, $what:literal) => {
        of_latencies(
            concat!($key, "_latency_", $name, "_ns"),
            Better::Lower,
            concat!($noun, " latency of ", $words),
            concat!($what, " of replayed ", $words, ", from submission to completion"),
        )
        .$side()
    };
}

pub const READS: &[Metric] = metrics!("read", "reads", of_reads, "moved");
pub const WRITES: &[Metric] = metrics!("write", "writes", of_writes, "moved");
pub const FLUSHES: &[Metric] = metrics!("flush", "flushes", of_writes);
pub const TRIMS: &[Metric] = metrics!("trim", "trims", of_writes, "discarded");
pub const ZEROINGS: &[Metric] = metrics!("zero", "zeroings", of_writes, "zeroed");

/// Reads and writes first: most ask for them.
pub static CLASSES: [PlayedClass; 5] = [
    PlayedClass { key: "read", words: "reads", played: "replayed reads", metrics: READS },
    PlayedClass { key: "write", words: "writes", played: "replayed writes", metrics: WRITES },
    PlayedClass { key: "flush", words: "flushes", played: "replayed flushes", metrics: FLUSHES },
    PlayedClass { key: "trim", words: "trims", played: "replayed trims", metrics: TRIMS },
    PlayedClass { key: "zero", words: "zeroings", played: "replayed zeroings", metrics: ZEROINGS },
];

impl PlayedClass {
    pub fn metric(&self, wanted: PlayedMetric) -> Option<&'static Metric> {
        self.metrics.get(STATISTICS.iter().position(|statistic| *statistic == wanted)?)
    }
}

/// Returns class and statistic of a metric; `None` for other metrics.
pub fn find(name: &str) -> Option<(&'static PlayedClass, PlayedMetric)> {
    for class in &CLASSES {
        if let Some(index) = class.metrics.iter().position(|metric| metric.name == name) {
            return Some((class, STATISTICS[index]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::metric::{Of, Side};
    use super::*;

    #[test]
    fn each_metric_is_of_its_class_and_of_what_its_name_says() {
        for class in &CLASSES {
            assert!(class.played.ends_with(class.words));
            for metric in class.metrics {
                let (found, told) = find(metric.name).unwrap();
                assert_eq!(found.key, class.key);
                assert_eq!(class.metric(told).unwrap().name, metric.name);
                let rest = metric.name.strip_prefix(class.key).unwrap();
                let expected = match told {
                    PlayedMetric::Rate => "_iops".to_owned(),
                    PlayedMetric::Bytes => "_bandwidth_bytes_per_s".to_owned(),
                    PlayedMetric::Response(point) => {
                        format!("_response_{}_ns", format!("{point:?}").to_lowercase())
                    }
                    PlayedMetric::Service(point) => {
                        format!("_latency_{}_ns", format!("{point:?}").to_lowercase())
                    }
                };
                assert_eq!(rest, expected);
                assert_eq!(metric.of == Of::Latencies, told.point().is_some(), "{rest}");
                let reads = class.key == "read";
                assert_eq!(metric.side() == Side::Reads, reads, "{}", metric.name);
                assert_ne!(metric.side(), Side::Both, "{}", metric.name);
            }
        }
    }

    #[test]
    fn metrics_of_all_classes_together_are_of_none() {
        for name in ["iops", "response_p99_ns", "read_per_s", "block_read_mean_ns", "read_", ""] {
            assert!(find(name).is_none(), "{name}");
        }
        // A flush transfers no data.
        let flush = &CLASSES[2];
        assert!(
            flush.metric(PlayedMetric::Bytes).is_none()
                && flush.metric(PlayedMetric::Rate).is_some()
        );
    }
}
