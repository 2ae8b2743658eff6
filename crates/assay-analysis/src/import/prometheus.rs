//! Prometheus histograms: buckets give ranges of percentiles, not numbers, so Assay refuses them with these ranges.

use std::collections::BTreeMap;

/// The metric of etcd for which its documentation asks for a 99th percentile (etcd.io, "What does the etcd warning
/// 'failed to send out heartbeat on time' mean?"), and that bound in seconds.
const ETCD: (&str, f64) = ("etcd_disk_wal_fsync_duration_seconds", 0.01);
/// Cumulative counts of a histogram: the upper ends of its buckets in their order, each with its count.
type Buckets = Vec<(f64, f64)>;

/// One histogram of a file: its name, and the labels shared by all its buckets.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Histogram<'a> {
    name: &'a str,
    labels: Vec<&'a str>,
}

/// Describes the 99th percentiles of the histograms in a text; `None` without histograms.
pub(super) fn p99_ranges(text: &str) -> Option<String> {
    let mut histograms: BTreeMap<Histogram<'_>, Buckets> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some((histogram, end, count)) = bucket(line) {
            histograms.entry(histogram).or_default().push((end, count));
        }
    }
    let ranges: Vec<String> =
        histograms.iter().filter_map(|(histogram, buckets)| p99_of(histogram, buckets)).collect();
    (!ranges.is_empty()).then(|| {
        format!(
            "Prometheus histograms, which give ranges and not numbers: {}. Measure with assay \
             check --for etcd, or import recorded requests",
            ranges.join("; ")
        )
    })
}

/// Reads `NAME_bucket{instance="a:2379",le="0.001"} 102`: the histogram, the upper end of the bucket and its count.
fn bucket(line: &str) -> Option<(Histogram<'_>, f64, f64)> {
    let (name, rest) = line.split_once("_bucket{")?;
    let (labels, count) = rest.rsplit_once('}')?;
    // A comma ends a label only after the closing quote of its value.
    let (ends, mut labels): (Vec<&str>, Vec<&str>) = labels
        .split_inclusive("\",")
        .map(|label| label.trim().trim_end_matches(','))
        .partition(|label| label.starts_with("le=\""));
    labels.sort_unstable();
    let end = ends.first()?.strip_prefix("le=\"")?.strip_suffix('"')?;
    let end = end.replace("+Inf", "inf").parse().ok()?;
    Some((Histogram { name, labels }, end, count.split_whitespace().next()?.parse().ok()?))
}

/// A sentence on the limits of the 99th percentile, and on etcd's bound; `None` if the histogram is empty.
fn p99_of(histogram: &Histogram<'_>, buckets: &Buckets) -> Option<String> {
    let total = buckets.iter().find(|(end, _)| end.is_infinite())?.1;
    if total <= 0.0 {
        return None;
    }
    // Counts are cumulative: each bucket includes those before it.
    let p99 = buckets.iter().position(|(_, count)| *count >= 0.99 * total)?;
    let low = p99.checked_sub(1).map_or(0.0, |before| buckets[before].0);
    let high = buckets[p99].0;
    let name = histogram.name;
    let labels = match histogram.labels.as_slice() {
        [] => String::new(),
        labels => format!("{{{}}}", labels.join(",")),
    };
    let text = format!("the 99th percentile of {name}{labels} is between {low} and {high}");
    let (etcd, bound) = ETCD;
    if name != etcd {
        return Some(text);
    }
    let verdict = if high <= bound {
        "met"
    } else if low >= bound {
        "not met"
    } else {
        "inconclusive"
    };
    Some(format!("{text} s (etcd requires less than {bound} s: {verdict})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Histogram of 1,000 requests: cumulative counts at these bounds in seconds.
    fn etcd(counts: &[(f64, u32)]) -> String {
        let name = ETCD.0;
        let buckets =
            counts.iter().map(|(end, count)| format!("{name}_bucket{{le=\"{end}\"}} {count}\n"));
        buckets.collect::<String>()
            + &format!("{name}_bucket{{le=\"+Inf\"}} 1e+03\n{name}_count 1000\n")
    }

    #[test]
    fn ranges_are_judged_by_both_their_ends() {
        let verdict = |counts: &[(f64, u32)]| {
            let text = p99_ranges(&etcd(counts)).unwrap();
            let found =
                ["inconclusive", "not met", "met"].into_iter().find(|word| text.contains(word));
            found.unwrap()
        };
        assert_eq!(verdict(&[(0.008, 989), (0.016, 999)]), "inconclusive");
        assert_eq!(verdict(&[(0.008, 990), (0.016, 999)]), "met");
        assert_eq!(verdict(&[(0.005, 980), (0.01, 990)]), "met");
        assert_eq!(verdict(&[(0.01, 989), (0.02, 999)]), "not met");
        assert_eq!(verdict(&[(0.008, 989), (0.016, 989)]), "not met", "more than the last bucket");
    }

    #[test]
    fn other_histograms_have_ranges_and_no_bound() {
        let text =
            "# TYPE a histogram\na_bucket{le=\"0.5\"} 99 1700000000\na_bucket{le=\"+Inf\"} 100\n";
        let found = p99_ranges(text).unwrap();
        assert!(found.contains("the 99th percentile of a is between 0 and 0.5. "), "{found}");
        assert_eq!(p99_ranges("a_bucket{le=\"1\"} 5\n"), None, "no bucket of all");
        assert_eq!(p99_ranges("a_bucket{le=\"+Inf\"} 0\n"), None, "no requests");
        assert_eq!(p99_ranges("a 1\n"), None);
    }
    #[test]
    fn members_of_a_cluster_have_their_own_ranges() {
        let member = |instance: &str, counts: [u32; 2]| {
            let one = |labels: String, count| format!("a_bucket{{{labels}}} {count}\n");
            one(format!("instance=\"{instance}\", le=\"0.5\", path=\"a,b\""), counts[0])
                + &one(format!("instance=\"{instance}\", path=\"a,b\", le=\"1\""), counts[1])
                + &one(format!("path=\"a,b\",instance=\"{instance}\",le=\"+Inf\""), 100)
        };
        let found = p99_ranges(&(member("fast", [99, 100]) + &member("slow", [10, 99]))).unwrap();
        assert!(
            found.contains(
                "the 99th percentile of a{instance=\"fast\",path=\"a,b\"} is between 0 and 0.5;"
            ),
            "{found}"
        );
        assert!(
            found.contains(
                "the 99th percentile of a{instance=\"slow\",path=\"a,b\"} is between 0.5 and 1."
            ),
            "{found}"
        );
    }
}
