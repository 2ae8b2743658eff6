//! Which direction of a number is better, by its name alone: by words that have one meaning in the field, and by
//! standard units. A name that has no such word, or words of both directions, has no known direction: a wrong guess
//! calls a loss a gain.

use super::Better;

/// Lists of words, each line `LIST: WORDS`.
const LISTS: &str = include_str!("direction.txt");

fn has(list: &str, word: &str) -> bool {
    let lines = LISTS.lines().filter_map(|line| line.split_once(": "));
    let mut own = lines.filter(|(name, _)| *name == list);
    own.any(|(_, words)| words.split_whitespace().any(|known| known == word))
}

/// The words of a name: `p99LatencyMs`, `ops/sec` and `read_bytes_per_s` alike.
fn words(name: &str) -> Vec<String> {
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
fn parts(words: &[String]) -> (&[String], &[String]) {
    match words.iter().position(|word| word == "per") {
        Some(at) => (&words[..at], &words[at + 1..]),
        None => (words, &[]),
    }
}

fn any(list: &str, words: &[String]) -> bool {
    words.iter().any(|word| has(list, word))
}

pub fn of_name(name: &str) -> Better {
    let words = words(name);
    let (counted, per) = parts(&words);
    if any("turns", &words) {
        return Better::Unknown;
    }
    let per_time = per.first().is_some_and(|word| has("short", word) || has("long", word));
    let per_operation = per.first().is_some_and(|word| has("operation", word));
    let per_work = per.first().is_some_and(|word| has("work", word));
    let harm = any("harm", &words);
    let timed = any("times", counted)
        || counted.last().is_some_and(|last| {
            // A bare `s` may be of anything; `s/op` is a time.
            has("short", last) || per_work && has("long", last)
        });
    let paid = any("costs", counted) || per_operation && any("spent", counted);
    let rate = any("rates", counted) || per_time && any("work", counted);
    match () {
        // Retransmitted packets per second are harmful in any unit.
        () if harm && (timed || any("rates", counted)) => Better::Unknown,
        () if harm => Better::Lower,
        () if (timed || paid) && rate => Better::Unknown,
        () if timed || paid => Better::Lower,
        () if rate => Better::Higher,
        () => Better::Unknown,
    }
}

/// Returns whether a name is that of a measured time.
pub fn is_time(name: &str) -> bool {
    let words = words(name);
    let (counted, per) = parts(&words);
    let per_time = per.first().is_some_and(|word| has("short", word) || has("long", word));
    let last = counted.last().is_some_and(|last| has("short", last) || has("long", last));
    !per_time && (last || any("times", counted))
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
