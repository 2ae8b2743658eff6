//! Every metric by name: of the kinds of work, and common to all work.

use std::collections::BTreeSet;

use assay_core::quantity::metric::{CLASS_METRICS, Nature, OTHERS, SHARED, Side, metric};
use assay_core::quantity::{Better, Metric, direction};

use super::KINDS;
use super::workload::{Basis, KindEntry};

pub use super::command::readings::TOLD;

/// Declares a metric with "higher is better": its name, its noun and its summary.
pub(crate) const fn higher(name: &'static str, noun: &'static str, about: &'static str) -> Metric {
    metric(name, Better::Higher, noun, about)
}

pub(crate) const fn lower(name: &'static str, noun: &'static str, about: &'static str) -> Metric {
    metric(name, Better::Lower, noun, about)
}

/// All metrics of studies: those of kinds of work first, each name once.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    of_work().chain(CLASS_METRICS)
}

/// Metrics of trials, from their work and from the probes.
pub fn of_work() -> impl Iterator<Item = &'static Metric> {
    let mut seen = BTreeSet::new();
    of_kinds().filter(move |metric| seen.insert(metric.name)).chain(SHARED)
}

pub fn of_kind(kind: &'static KindEntry) -> impl Iterator<Item = &'static Metric> {
    // Energy is measured for all work, the other shared metrics only for work that counts its bytes.
    let counts_bytes = kind.judged.contains(&Basis::Bytes);
    let shared = SHARED.iter().filter(move |metric| counts_bytes || is_of_energy(metric.name));
    kind.metrics.iter().copied().flatten().chain(shared)
}

/// Whether it is measured by an energy meter or CPU counters for all work.
pub fn is_of_energy(name: &str) -> bool {
    SHARED.iter().any(|metric| metric.by == Some("energy") && metric.name == name)
}

/// Metrics of the kinds of work; two kinds may share some.
fn of_kinds() -> impl Iterator<Item = &'static Metric> {
    KINDS.iter().flat_map(|kind| kind.metrics).copied().flatten()
}

pub fn names() -> Vec<&'static str> {
    all().map(|metric| metric.name).collect()
}

pub fn is_known(name: &str) -> bool {
    of_kinds().chain(SHARED).chain(CLASS_METRICS).any(|metric| metric.name == name)
}

pub fn find(name: &str) -> Option<&'static Metric> {
    of_kinds().chain(SHARED).chain(CLASS_METRICS).chain(OTHERS).find(|metric| metric.name == name)
}

/// The full name of a metric: `p99.9` is short for `latency_p999_ns`.
pub fn full(name: &str) -> String {
    let latency = format!("latency_{}_ns", name.replace('.', ""));
    if find(&latency).is_some() { latency } else { name.to_owned() }
}

/// Suggestions for an unknown metric name: a few names with a common part.
pub fn instead(name: &str, known: &[&str]) -> String {
    let shares = |other: &&str| name.split('_').any(|part| part.len() > 2 && other.contains(part));
    let (like, others): (Vec<&str>, Vec<&str>) = known.iter().copied().partition(shares);
    let names: Vec<&str> = like.into_iter().chain(others).take(5).collect();
    format!("use one of {}; assay list metrics lists all", names.join(", "))
}

/// The better direction of a metric: from the registry, else from its name.
pub fn better(name: &str) -> Better {
    find(name).map_or_else(|| direction::of_name(noun(name)), |metric| metric.better)
}

/// What a metric depends on; unknown ones count as speed.
pub fn nature(name: &str) -> Nature {
    find(name).map_or(Nature::Speed, |metric| metric.nature)
}

/// The I/O direction of a metric; unknown ones count as both.
pub fn side(name: &str) -> Side {
    find(name).map_or(Side::Both, Metric::side)
}

/// Whether a metric depends on the machine's speed: then an emulated machine gives no result.
pub fn is_of_speed(name: &str) -> bool {
    nature(name) == Nature::Speed
}

pub fn is_told(name: &str) -> bool {
    let sign = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.strip_prefix(TOLD).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(sign))
}

/// Units of rates in metric names, in bytes.
const UNITS: [(&str, f64); 8] = [
    ("bytes", 1.0),
    ("kb", 1e3),
    ("kib", 1024.0),
    ("mb", 1e6),
    ("mib", 1_048_576.0),
    ("gb", 1e9),
    ("gib", 1_073_741_824.0),
    ("tb", 1e12),
];

/// Returns the bytes of the unit of a rate that a program prints (`reported_read_mib_per_s`), or `None` for other metrics.
pub fn printed_bytes_per_s(name: &str) -> Option<f64> {
    let unit = name.strip_prefix(TOLD)?.strip_suffix("_per_s")?.rsplit('_').next()?;
    UNITS.iter().find(|(known, _)| *known == unit).map(|(_, bytes)| *bytes)
}

/// The noun for a metric in a sentence; an unknown name stays as it is.
pub fn noun(name: &str) -> &str {
    let bare_name = || if is_told(name) { &name[TOLD.len()..] } else { name };
    find(name).map_or_else(bare_name, |metric| metric.noun)
}

/// Returns a ratio of a metric as a change: `68% more bandwidth`, `49.5% lower mean latency`, `25x the IOPS`.
pub fn change(ratio: &str, metric: &str) -> String {
    let noun = noun(metric);
    let is_unit = is_told(metric) && ["ns", "us", "ms", "s", "bytes", "percent"].contains(&noun);
    let noun = &*if is_unit { format!("value in {noun}") } else { noun.to_owned() };
    let value: f64 = ratio.replace(',', "").parse().unwrap_or(f64::INFINITY);
    if value >= 10.0 {
        return format!("{ratio}x the {noun}");
    }
    // The percentage has the ratio's precision: two decimals fewer.
    let decimals = ratio.split_once('.').map_or(0, |(_, digits)| digits.len().saturating_sub(2));
    let percent = format!("{:.decimals$}", (100.0 * (value - 1.0)).abs());
    if percent.parse::<f64>() == Ok(0.0) {
        return format!("no change in {noun}");
    }
    let [more, less] = match noun {
        "bandwidth" => ["more", "less"],
        _ if noun == "IOPS" || noun.ends_with(" per second") => ["more", "fewer"],
        _ => ["higher", "lower"],
    };
    format!("{percent}% {} {noun}", if value > 1.0 { more } else { less })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_become_changes_in_percent() {
        for (ratio, metric, text) in [
            ("1.68", "bandwidth_bytes_per_s", "68% more bandwidth"),
            ("0.505", "latency_mean_ns", "49.5% lower mean latency"),
            ("0.7", "iops", "30% fewer IOPS"),
            ("1", "iops", "no change in IOPS"),
            ("1.00", "iops", "no change in IOPS"),
            ("25.1", "iops", "25.1x the IOPS"),
            ("1,234", "iops", "1,234x the IOPS"),
            ("0.94", "reported_ms", "6% lower value in ms"),
        ] {
            assert_eq!(change(ratio, metric), text);
        }
    }

    #[test]
    fn what_a_sentence_calls_a_metric_means_one_thing() {
        let classes: Vec<&str> = CLASS_METRICS.iter().map(|metric| metric.noun).collect();
        for kind in KINDS {
            let own = kind.metrics.iter().copied().flatten().chain(SHARED);
            let mut nouns: Vec<&str> = own.map(|metric| metric.noun).collect();
            let count = nouns.len();
            assert!(nouns.iter().all(|noun| !classes.contains(noun)), "{}", kind.about.name);
            nouns.sort_unstable();
            nouns.dedup();
            assert_eq!(nouns.len(), count, "{}: two metrics are called the same", kind.about.name);
        }
    }

    /// A host's read cache does not affect writes.
    #[test]
    fn metrics_are_of_their_direction_and_of_what_they_depend_on() {
        for name in ["read_per_s", "read_p99_ns", "stat_per_s", "block_read_mean_ns"] {
            assert_eq!(side(name), Side::Reads, "{name}");
        }
        for name in ["create_per_s", "rename_p50_ns", "delete_p99_ns", "block_write_mean_ns"] {
            assert_eq!(side(name), Side::Writes, "{name}");
        }
        for name in ["iops", "bandwidth_bytes_per_s", "files_per_s", "not known here"] {
            assert_eq!(side(name), Side::Both, "{name}");
        }
        assert_eq!(nature("files_per_s"), Nature::Speed);
        assert_eq!(nature("peak_memory_bytes"), Nature::Amount);
    }

    /// A name with the wrong direction would invert verdicts on tables.
    #[test]
    fn no_name_contradicts_its_metric() {
        for metric in all().chain(OTHERS) {
            let told = direction::of_name(metric.name);
            assert!(!told.is_known() || told == metric.better, "{}: {told:?}", metric.name);
            assert_eq!(better(metric.name), metric.better);
        }
        assert_eq!(better("reported_ops_per_s"), Better::Higher);
        assert_eq!(better("reported_p99_latency_ms"), Better::Lower);
        assert_eq!(better("reported_score"), Better::Unknown);
    }

    #[test]
    fn what_programs_tell_has_names_that_none_of_ours_has() {
        assert!(all().chain(OTHERS).all(|metric| !metric.name.starts_with(TOLD)));
        assert!(is_told("reported_ops_per_s") && is_told("reported_2"));
        for name in [
            "reported_",
            "told",
            "iops",
            "Reported_a",
            "reported_a b",
            "reported_\u{e9}",
            "unreported_a",
        ] {
            assert!(!is_told(name), "{name}");
        }
        assert_eq!(
            (noun("reported_ops_per_s"), noun("reported_"), noun("x")),
            ("ops_per_s", "reported_", "x")
        );
    }

    #[test]
    fn names_are_unique_and_lower_case() {
        let mut found = names();
        let count = found.len();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), count);
        assert!(found.iter().all(|name| {
            name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        }));
    }
}
