//! Which direction of a number is better, by its name alone: by words that have one meaning in the field, and by
//! standard units. A name that has no such word, or words of both directions, has no known direction: a wrong guess
//! calls a loss a gain.

use super::Better;

/// Lists of words, each line `LIST: WORDS`.
const LISTS: &str = include_str!("direction.txt");

fn list_has(list: &str, word: &str) -> bool {
    let lines = LISTS.lines().filter_map(|line| line.split_once(": "));
    let mut matching = lines.filter(|(name, _)| *name == list);
    matching.any(|(_, words)| words.split_whitespace().any(|known| known == word))
}

/// Splits a name into words: `p99LatencyMs`, `ops/sec` and `read_bytes_per_s` alike.
fn split_words(name: &str) -> Vec<String> {
    // The capital B of KiB and kB does not begin a word.
    let plain = name.replace("iB", "ib").replace("kB", "kb").replace('/', " per ");
    let mut spaced = String::new();
    let mut before = ' ';
    for sign in plain.chars() {
        if !sign.is_alphanumeric() || before.is_lowercase() && sign.is_uppercase() {
            spaced.push(' ');
        }
        if sign.is_alphanumeric() {
            spaced.extend(sign.to_lowercase());
        }
        before = sign;
    }
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// Splits the words of a name into quantity and divisor.
fn split_at_per(words: &[String]) -> (&[String], &[String]) {
    match words.iter().position(|word| word == "per") {
        Some(at) => (&words[..at], &words[at + 1..]),
        None => (words, &[]),
    }
}

fn list_has_any(list: &str, words: &[String]) -> bool {
    words.iter().any(|word| list_has(list, word))
}

/// The better direction of a number by its name: lower for times, costs and harm, higher for rates, else unknown.
pub fn of_name(name: &str) -> Better {
    let words = split_words(name);
    // `bytes per s`: what is counted, and the unit that it is counted per.
    let (counted, per) = split_at_per(&words);
    if list_has_any("turns", &words) {
        return Better::Unknown;
    }
    let is_per = |list: &str| per.first().is_some_and(|word| list_has(list, word));
    let is_last = |list: &str| counted.last().is_some_and(|word| list_has(list, word));
    let is_harm = list_has_any("harm", &words);
    // A bare `s` may be of anything; `s/op` is a time.
    let is_time =
        list_has_any("times", counted) || is_last("short") || is_per("work") && is_last("long");
    let is_cost =
        list_has_any("costs", counted) || is_per("operation") && list_has_any("spent", counted);
    let is_per_time = is_per("short") || is_per("long");
    let is_rate = list_has_any("rates", counted) || is_per_time && list_has_any("work", counted);
    if is_harm {
        // Retransmitted packets per second are harmful in any unit.
        let is_unclear = is_time || list_has_any("rates", counted);
        return if is_unclear { Better::Unknown } else { Better::Lower };
    }
    match (is_time || is_cost, is_rate) {
        (true, false) => Better::Lower,
        (false, true) => Better::Higher,
        (true, true) | (false, false) => Better::Unknown,
    }
}

/// Returns whether a name is that of a measured time.
pub fn is_time(name: &str) -> bool {
    let words = split_words(name);
    let (counted, per) = split_at_per(&words);
    let is_time_unit = |word: &String| list_has("short", word) || list_has("long", word);
    let is_rate = per.first().is_some_and(is_time_unit);
    !is_rate && (counted.last().is_some_and(is_time_unit) || list_has_any("times", counted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_meaning_have_their_direction() {
        for name in [
            "p99_latency_ms",
            "time_s",
            "errors",
            "time_per_op_ns",
            "ns/op",
            "sec/op",
            "B/op",
            "allocs/op",
            "TCP retransmits",
            "UDP jitter",
            "packets_lost",
            "drop_rate",
            "errors/s",
            "retransmits_per_s",
            "timeouts/op",
            "p99LatencyMs",
            "elapsedSeconds",
            "parse_ms",
            "p50-us/op",
            "read_wait_ms",
            "cache_misses",
            "page faults",
            "wait time",
            "entry_latency_mean_ns",
            "allocations_per_op",
            "ms/query",
            "sec/request",
            "cpu time (s)",
            "Ping (ms) ICMP",
            "peak rss",
            "loss %",
        ] {
            assert_eq!(of_name(name), Better::Lower, "{name}");
        }
        for name in [
            "ops/sec",
            "MB/s",
            "MBytes/sec",
            "bw_mib",
            "MiB/s",
            "opsPerSec",
            "req/s",
            "requests_per_second",
            "iops",
            "throughput",
            "bandwidth_mb",
            "reported_tps",
            "Mbits/s",
            "rate_mbits_per_s",
            "reads_per_s",
            "written_bytes_per_s",
            "kB/s",
            "rows/min",
            "events per second",
            "iops_at_1ms",
            "TCP download Mbits/s",
            "GFLOPS",
            "bytes/ns",
        ] {
            assert_eq!(of_name(name), Better::Higher, "{name}");
        }
    }

    #[test]
    fn names_of_no_or_two_meanings_have_none() {
        for name in [
            "",
            "value",
            "score",
            "widgets/s",
            "GC/s",
            "hits/op",
            "queue_length",
            "uptime_s",
            "battery_life_min",
            "time_between_failures_s",
            "time_to_failure",
            "errors_corrected",
            "hit_ratio",
            "build_s",
            "throughput_loss",
            "latency_slo_met_percent",
            "latency score",
            "timeout_ms",
            "throughput_at_latency",
            "frames",
            "cpu",
            "memory",
            "speedup",
            "idle time",
            "time_steps_per_s",
            "wakeups/s",
            "swapped_in_bytes_per_s",
            "bytes_allocated/s",
            "%",
            "error-free requests/s",
            "timestamp",
            "fan_speed",
        ] {
            assert_eq!(of_name(name), Better::Unknown, "{name}");
        }
    }

    #[test]
    fn times_are_told_from_counts_and_rates() {
        for name in [
            "time_per_op_ns",
            "ns/op",
            "duration_s",
            "reported_p99_ms",
            "wait",
            "build_s",
            "elapsedSeconds",
        ] {
            assert!(is_time(name), "{name}");
        }
        for name in
            ["iops", "ops/sec", "bytes_per_op", "allocs/op", "errors", "reads_per_s", "value"]
        {
            assert!(!is_time(name), "{name}");
        }
    }
}
