//! Names of metrics from programs' output: lower case, with the unit at the end like all metrics.

use regex_lite::Regex;

const UNNAMED: &str = "number";

/// Suffixes of metric names, and their usual spellings.
const UNITS: [(&str, &[&str]); 9] = [
    ("percent", &["%"]),
    ("ns", &["nsec", "nanoseconds"]),
    ("us", &["\u{b5}s", "\u{3bc}s", "usec", "microseconds"]),
    ("ms", &["msec", "milliseconds"]),
    ("s", &["sec", "secs", "second", "seconds"]),
    ("bytes", &["B", "byte"]),
    ("bytes_per_s", &["B/s", "byte/s"]),
    ("bits_per_s", &["bit/s"]),
    ("per_s", &["1/s"]),
];

/// A text as a part of a metric name: lower case, digits and single underscores.
pub fn slug(text: &str) -> String {
    let text = text.replace('/', " per ").to_lowercase();
    let words = text.split(|sign: char| !sign.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let whole = words.join("_");
    for end in ["_per_seconds", "_per_second", "_per_sec"] {
        if let Some(stem) = whole.strip_suffix(end) {
            return format!("{stem}_per_s");
        }
    }
    whole
}

/// The name of a metric from the name and unit of its number.
pub(super) fn metric_name(name: &str, unit: Option<&str>) -> String {
    let stem = slug(name);
    let end = unit.map(unit_end).unwrap_or_default();
    if stem.is_empty() && end.is_empty() {
        return UNNAMED.to_owned();
    }
    if end.is_empty() || stem == end || stem.ends_with(&format!("_{end}")) {
        return stem;
    }
    // `ops` in `ops/s` is one word.
    if stem.is_empty() || end.starts_with(&format!("{stem}_")) {
        return end;
    }
    format!("{stem}_{end}")
}

fn unit_end(unit: &str) -> String {
    let known = UNITS.iter().find(|(_, written)| written.contains(&unit));
    known.map_or_else(|| slug(unit), |(end, _)| (*end).to_owned())
}

/// Names of the numeric groups of a pattern; one `None` for a pattern without names.
pub(super) fn group_names(regex: &Regex) -> Vec<Option<String>> {
    let named: Vec<Option<String>> =
        regex.capture_names().flatten().map(|name| Some(name.to_owned())).collect();
    if named.is_empty() { vec![None] } else { named }
}

/// The last key of a JSON pointer, skipping list indices.
pub(super) fn last_token(pointer: &str) -> &str {
    let is_key = |token: &&str| !token.is_empty() && token.parse::<u64>().is_err();
    pointer.rsplit('/').find(is_key).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_small_letters_with_the_unit_at_the_end() {
        for (name, unit, told) in [
            ("ops", Some("ops/s"), "ops_per_s"),
            ("Total Time", Some("seconds"), "total_time_s"),
            ("p99", Some("\u{b5}s"), "p99_us"),
            ("", Some("1/s"), "per_s"),
            ("rate", Some("/s"), "rate_per_s"),
            ("written", Some("B"), "written_bytes"),
            ("time_ms", Some("ms"), "time_ms"),
            ("events per second", None, "events_per_s"),
            ("MB", Some("MB/s"), "mb_per_s"),
            ("hit", Some("%"), "hit_percent"),
            ("", None, "number"),
            ("\u{202e}\u{1b}[31m", None, "31m"),
        ] {
            assert_eq!(metric_name(name, unit), told);
        }
    }

    #[test]
    fn groups_with_names_are_the_numbers_else_the_first_else_the_whole() {
        let of = |pattern: &str| group_names(&Regex::new(pattern).unwrap());
        assert_eq!(of("([0-9]) ([a-z])"), [None]);
        assert_eq!(of("[0-9]"), [None]);
        assert_eq!(of("(x)(?<b>[0-9])(?<a>[0-9])"), [Some("b".to_owned()), Some("a".to_owned())]);
    }

    #[test]
    fn a_place_in_a_list_is_no_name() {
        assert_eq!(last_token("/jobs/0/read/iops"), "iops");
        assert_eq!(last_token("/rows/3"), "rows");
        assert_eq!(last_token(""), "");
    }
}
