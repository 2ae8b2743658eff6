//! Which direction of a number is better, by its name alone: by words that have one meaning in the field, and by
//! standard units. A name that has no such word, or words of both directions, has no known direction: a wrong guess
//! calls a loss a gain.

use super::Better;

/// Counts of harm, however they are counted: `errors`, `retransmits/s`, `packets_lost`.
const HARM: &str = "\
    error errors err errs fail fails failed failure failures retransmit retransmits retransmission retransmissions \
    retransmitted retrans retry retries loss losses lost drop drops dropped miss misses missed fault faults \
    timeout timeouts collision collisions overrun overruns underrun underruns overflow overflows rejected corrupt \
    corrupted leaked aborted aborts deadlock deadlocks violation violations crashes oom";
/// Times.
const TIMES: &str = "\
    latency latencies lat clat slat time times duration durations elapsed delay delays wait waits await ping rtt \
    runtime walltime jitter stall stalls lateness staleness";
/// What is paid.
const COSTS: &str = "rss alloc allocs allocations overhead cost costs";
/// Rates.
const RATES: &str = "throughput bandwidth bw goodput iops tps qps rps fps kops mops kbps mbps gbps bps flops kflops \
    mflops gflops tflops mips";
/// Work that is done, of which more in a time is better.
const WORK: &str = "\
    op ops operation operations iop io ios req reqs request requests query queries transaction transactions txn txns \
    byte bytes kbytes mbytes gbytes b kb mb gb tb kib mib gib tib bit bits kbit kbits mbit mbits gbit gbits record \
    records row rows message messages msg msgs packet packets pkt pkts file files item items iteration iterations \
    iter iters frame frames image images token tokens sample samples read reads r write writes w transfer transfers \
    entry entries key keys job jobs task tasks call calls insert inserts lookup lookups get gets put puts event \
    events line lines block blocks step steps loop loops connection connections conn conns seek seeks create creates \
    stat stats delete deletes hash hashes point points page pages";
/// Units of time that nobody measures a lifetime in.
const SHORT: &str = "ns nsec nsecs nanoseconds us \u{b5}s \u{3bc}s usec usecs microseconds ms msec msecs milliseconds";
/// The others.
const LONG: &str = "s sec secs second seconds min minute minutes h hr hour hours day days";
/// What an operation costs besides time.
const SPENT: &str =
    "b byte bytes kb mb gb kib mib gib alloc allocs allocations cycles instructions joules j mj";
/// One operation.
const OPERATION: &str = "op operation iter iteration";
/// Words that turn the meaning of a word next to them: `time_between_failures`, `errors_corrected`, `uptime`.
const TURNS: &str = "\
    between until before without free avoided saved left remaining life lifetime battery up uptime idle not non no \
    detected detection corrected recovered fixed tolerance tolerated coverage resistance margin headroom budget \
    limit target interval reduction improvement speedup swap swapped paged evicted evictions reclaimed throttled \
    allocated spilled wasted gc met within below under slo share score rating savings";

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
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

/// What is counted or timed, and per what.
fn parts(words: &[String]) -> (&[String], &[String]) {
    match words.iter().position(|word| word == "per") {
        Some(at) => (&words[..at], &words[at + 1..]),
        None => (words, &[]),
    }
}

fn any(list: &str, words: &[String]) -> bool {
    words.iter().any(|word| has(list, word))
}

/// The direction that a name tells.
pub fn of_name(name: &str) -> Better {
    let words = words(name);
    let (counted, per) = parts(&words);
    if any(TURNS, &words) {
        return Better::Unknown;
    }
    let per_time = per.first().is_some_and(|word| has(SHORT, word) || has(LONG, word));
    let per_operation = per.first().is_some_and(|word| has(OPERATION, word));
    let per_work = per.first().is_some_and(|word| has(WORK, word));
    let harm = any(HARM, &words);
    let timed = any(TIMES, counted)
        || counted.last().is_some_and(|last| {
            // A bare `s` may be of anything; `s/op` is a time.
            has(SHORT, last) || per_work && has(LONG, last)
        });
    let paid = any(COSTS, counted) || per_operation && any(SPENT, counted);
    let rate = any(RATES, counted) || per_time && any(WORK, counted);
    match () {
        // Retransmitted packets per second are harm, whatever they are counted by.
        () if harm => match timed || any(RATES, counted) {
            true => Better::Unknown,
            false => Better::Lower,
        },
        () if (timed || paid) && rate => Better::Unknown,
        () if timed || paid => Better::Lower,
        () if rate => Better::Higher,
        () => Better::Unknown,
    }
}

/// Whether a name is that of a time, which some clock measured.
pub fn is_time(name: &str) -> bool {
    let words = words(name);
    let (counted, per) = parts(&words);
    let per_time = per.first().is_some_and(|word| has(SHORT, word) || has(LONG, word));
    let last = counted.last().is_some_and(|last| has(SHORT, last) || has(LONG, last));
    !per_time && (last || any(TIMES, counted))
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
            "told_tps",
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
            "told_p99_ms",
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
