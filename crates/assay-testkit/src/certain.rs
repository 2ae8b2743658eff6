//! Invariants of every page and document: values are within their intervals, equal names have equal values, and no
//! sentence is more certain than its rows.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Rounding of sums in another order.
const NEAR: f64 = 1e-9;
/// Printed numbers have three digits, so two of them may differ by rounding.
const ROUNDED: f64 = 0.01;
/// Text before an interval in a sentence.
const INTERVAL: &str = "95% CI ";

/// Keys of numbers, each with those of its intervals.
const PAIRS: [(&str, &[&str]); 9] = [
    ("ratio", &["ci95", "ci95_simultaneous", "ci_equivalence"]),
    ("value", &["ci95", "ci95_simultaneous"]),
    ("rate_bytes_per_s", &["rate_ci95"]),
    ("from_bytes", &["from_ci95_bytes"]),
    ("usable_bytes", &["usable_ci95_bytes"]),
    ("peak", &["peak_range"]),
    ("knee", &["knee_range"]),
    ("slope", &["ci95"]),
    ("percent", &["percent_ci95", "percent_ci95_simultaneous"]),
];

/// Looks through a printed or served document, page or text. How many intervals there were.
pub fn all_of(printed: &str) -> Result<usize, String> {
    if let Ok(document) = serde_json::from_str::<Value>(printed) {
        return document_of(&document);
    }
    let bare = if printed.contains("</html>") { without_tags(printed) } else { printed.to_owned() };
    text_of(&bare)
}

pub fn document_of(document: &Value) -> Result<usize, String> {
    let mut seen = intervals(document, "")?;
    if let Some(cells) = document["measurements"].as_array() {
        seen += equal(document, cells)?;
        doubted(document, cells)?;
    }
    Ok(seen)
}

fn within(at: &str, value: f64, ends: &Value) -> Result<usize, String> {
    let Some([low, high]) = ends_of(ends) else { return Ok(0) };
    let room = NEAR * (1.0 + value.abs());
    if low - room <= value && value <= high + room {
        return Ok(1);
    }
    Err(format!("{at}: {value} is outside of {low} to {high}"))
}

fn ends_of(ends: &Value) -> Option<[f64; 2]> {
    let ends = ends.as_array()?;
    Some([ends.first()?.as_f64()?, ends.get(1)?.as_f64()?])
}

/// Checks every number with an interval.
fn intervals(value: &Value, at: &str) -> Result<usize, String> {
    match value {
        Value::Array(all) => {
            let each = all.iter().enumerate();
            each.map(|(index, one)| intervals(one, &format!("{at}/{index}"))).sum()
        }
        Value::Object(own) => {
            let mut seen = of_object(own, at)?;
            for (key, one) in own {
                seen += intervals(one, &format!("{at}/{key}"))?;
            }
            Ok(seen)
        }
        _ => Ok(0),
    }
}

fn of_object(own: &Map<String, Value>, at: &str) -> Result<usize, String> {
    let mut seen = 0;
    for (key, ends) in PAIRS {
        let Some(value) = own.get(key).and_then(Value::as_f64) else { continue };
        for name in ends.iter().filter_map(|name| own.get(*name)) {
            seen += within(&format!("{at}/{key}"), value, name)?;
        }
    }
    if own.contains_key("trials") && own.contains_key("ci95") {
        let Some(value) = value_of(own) else { return Ok(seen) };
        seen += within(at, value, &own["ci95"])?;
        seen += within(at, value, &Value::from(vec![own["min"].clone(), own["max"].clone()]))?;
    }
    Ok(seen + histogram(own, at)?)
}

fn value_of(cell: &Map<String, Value>) -> Option<f64> {
    ["mean", "geometric_mean", "median"].iter().find_map(|key| cell.get(*key)?.as_f64())
}

/// Checks that mean and percentiles are within their histogram, and in order.
fn histogram(own: &Map<String, Value>, at: &str) -> Result<usize, String> {
    let number = |key: &str| own.get(key).and_then(Value::as_f64);
    let Some(buckets) = own.get("histogram").and_then(Value::as_array) else { return Ok(0) };
    let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else { return Ok(0) };
    let ends = Value::from(vec![first["from_ns"].clone(), last["to_ns"].clone()]);
    let mut seen = 0;
    for key in ["mean_ns", "p50_ns", "p99_ns"] {
        if let Some(value) = number(key) {
            seen += within(&format!("{at}/{key}"), value, &ends)?;
        }
    }
    if number("p50_ns").zip(number("p99_ns")).is_some_and(|(half, most)| half > most) {
        return Err(format!("{at}: half lie above what 99% lie below"));
    }
    let counted: u64 = buckets.iter().filter_map(|bucket| bucket["count"].as_u64()).sum();
    if own.get("count").and_then(Value::as_u64).is_some_and(|all| all < counted) {
        return Err(format!("{at}: more in the histogram than there are"));
    }
    Ok(seen)
}

/// A row by its workload, its arm and its metric.
type Key = (String, String, String);

fn key(one: &Value, arm: &str, metric: &str) -> Key {
    let workload = one["workload"].as_str().unwrap_or_default();
    (workload.to_owned(), one[arm].to_string(), metric.to_owned())
}

/// Reported rows: without the A/A control, which serves the noise floor only.
fn arms(cells: &[Value]) -> impl Iterator<Item = &Value> {
    cells.iter().filter(|cell| cell["control"] != Value::Bool(true))
}

fn rows(cells: &[Value]) -> BTreeMap<Key, &Map<String, Value>> {
    let named = arms(cells).filter_map(|cell| {
        Some((key(cell, "configuration", cell["metric"].as_str()?), cell.as_object()?))
    });
    named.collect()
}

/// Checks that a number has the same value everywhere.
fn equal(document: &Value, cells: &[Value]) -> Result<usize, String> {
    let rows = rows(cells);
    let mut seen = 0;
    // Bytes may be rounded in text, but a mean of bytes is not an integer.
    let room = |told: &Value| if told.is_u64() { 0.5 } else { 0.0 };
    let mut same = |what: &str, told: &Value, key: &Key, n: Option<u64>| -> Result<(), String> {
        let room = room(told);
        let (Some(told), Some(cell)) = (told.as_f64(), rows.get(key)) else { return Ok(()) };
        let is_own = n.is_none() || cell["n"].as_u64() == n;
        let Some(value) = value_of(cell).filter(|_| is_own) else { return Ok(()) };
        seen += 1;
        if (told - value).abs() > room + NEAR * (1.0 + value.abs()) {
            return Err(format!("{what} of {key:?} is {told}, its row says {value}"));
        }
        Ok(())
    };
    for one in list(document, "comparisons") {
        let metric = one["metric"].as_str().unwrap_or_default();
        let keys = ["configuration", "baseline"].map(|arm| key(one, arm, metric));
        // Values over other trials than those of the row have another name.
        for (at, key) in keys.iter().enumerate() {
            same("a mean", &one["means"][at], key, None)?;
        }
    }
    for one in list(document, "ranks") {
        for place in list(one, "ranks") {
            let name = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
            let own = (name("workload"), place["configuration"].to_string(), name("metric"));
            same("a place", &place["geometric_mean"], &own, None)?;
        }
    }
    for one in list(document, "capacity") {
        let own = key(one, "configuration", "capacity_usable_bytes");
        same("held", &one["usable_bytes"], &own, None)?;
    }
    for one in list(document, "sustained") {
        let own = key(one, "configuration", "sustained_bytes_per_s");
        same("a rate of all", &one["several"]["sustained_bytes_per_s"], &own, None)?;
        let levels = list(&one["timeline"], "levels");
        for (metric, level) in
            [("burst_bytes_per_s", levels.first()), ("sustained_bytes_per_s", levels.last())]
        {
            let Some(level) = level else { continue };
            let own = key(one, "configuration", metric);
            same("a rate", &level["rate_bytes_per_s"], &own, Some(1))?;
        }
    }
    Ok(seen)
}

pub(crate) fn list<'a>(document: &'a Value, key: &str) -> &'a [Value] {
    document[key].as_array().map_or(&[], Vec::as_slice)
}

/// Checks that statements about untrusted numbers say so.
fn doubted(document: &Value, cells: &[Value]) -> Result<(), String> {
    let suspect = |workload: &Value, metric: &Value| {
        arms(cells).any(|cell| {
            let own = cell["workload"] == *workload && cell["metric"] == *metric;
            own && cell["trust"] == "suspect" && cell["n"].as_u64() > Some(0)
        })
    };
    let silent = |one: &Value| !one["text"].as_str().unwrap_or_default().contains("suspect");
    for kind in ["effects", "ranks", "trends"] {
        for one in list(document, kind) {
            if suspect(&one["workload"], &one["metric"]) && silent(one) {
                return Err(format!(
                    "{kind}: suspect numbers, and {} does not say so",
                    one["text"]
                ));
            }
        }
    }
    for one in list(document, "sustained") {
        let text = one["text"].as_str().unwrap_or_default();
        if one["timeline"]["rests"].is_object() && text.contains("the rate did not drop") {
            return Err(format!("sustained: the drive rested, and yet {text}"));
        }
    }
    let rows = rows(cells);
    let trust = |key: &Key| rows.get(key).and_then(|row| row["trust"].as_str());
    for one in list(document, "comparisons") {
        let metric = one["metric"].as_str().unwrap_or_default();
        let sides = ["configuration", "baseline"].map(|arm| trust(&key(one, arm, metric)));
        let decided = ["better", "worse"].iter().any(|verdict| one["verdict"] == **verdict);
        if decided && sides.contains(&Some("invalid")) {
            return Err(format!("a verdict of invalid numbers: {}", one["text"]));
        }
        let told = one["notes"].to_string().contains("suspect");
        if decided && sides.contains(&Some("suspect")) && !told {
            return Err(format!("a verdict of suspect numbers without a note: {}", one["text"]));
        }
    }
    for (kind, metric) in
        [("capacity", "capacity_usable_bytes"), ("sustained", "sustained_bytes_per_s")]
    {
        for one in list(document, kind) {
            let trust = trust(&key(one, "configuration", metric)).unwrap_or("trusted");
            let text = one["text"].as_str().unwrap_or_default();
            if trust != "trusted" && !text.contains(trust) {
                return Err(format!("{kind}: {trust} numbers, and {text:?} does not say so"));
            }
        }
    }
    Ok(())
}

/// A number with its unit, as printed.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    number: f64,
    unit: String,
    /// Half of its last digit.
    room: f64,
}

impl Told {
    /// Parses a number with an optional unit.
    fn of(text: &str) -> Option<Self> {
        let (number, unit) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let digits = number.replace(',', "");
        let parsed: f64 = digits.trim_start_matches('+').parse().ok()?;
        let decimals = digits.split_once('.').map_or(0, |(_, after)| after.len() as i32);
        let (room, unit) = (0.5 * 10_f64.powi(-decimals), unit.to_owned());
        (!unit.contains(' ')).then_some(Self { number: parsed, unit, room })
    }

    /// Converts to the smallest unit of its kind, with the unit's name.
    fn plain(&self, unit: &str) -> (f64, f64, String) {
        let (factor, kind) = factor(if self.unit.is_empty() { unit } else { &self.unit });
        (self.number * factor, self.room * factor, kind)
    }
}

/// How many of the smallest unit of its kind a unit is.
fn factor(unit: &str) -> (f64, String) {
    let times = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];
    if let Some((_, factor)) = times.iter().find(|(name, _)| *name == unit) {
        return (*factor, "time".to_owned());
    }
    let (size, rate) = unit.strip_suffix("/s").map_or((unit, ""), |size| (size, "/s"));
    let binary = ["B", "KiB", "MiB", "GiB", "TiB"].iter().position(|name| *name == size);
    let decimal = ["B", "kB", "MB", "GB", "TB"].iter().position(|name| *name == size);
    match (binary, decimal) {
        (Some(power), _) => (1024_f64.powi(power as i32), format!("B{rate}")),
        (None, Some(power)) => (1000_f64.powi(power as i32), format!("B{rate}")),
        (None, None) => (1.0, unit.to_owned()),
    }
}

/// Checks each value before an interval in brackets.
fn text_of(text: &str) -> Result<usize, String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut seen = 0;
    for (at, _) in text.match_indices(INTERVAL) {
        let rest = &text[at + INTERVAL.len()..];
        if ratio_holds(&text[..at], rest)? {
            seen += 1;
            continue;
        }
        let Some(before) = text[..at].strip_suffix(" (") else { continue };
        // The number of a level, such as `compared with queue_depth 1`, is not the amount.
        let before = match before.rsplit_once(" compared with ") {
            Some((amount, level)) if !level.contains(". ") => amount,
            _ => before,
        };
        let Some((low, high)) = rest.split(')').next().and_then(|own| own.split_once(" to "))
        else {
            continue;
        };
        let high = high.split([';', ':']).next().unwrap_or(high);
        let high = high.split(", ").next().unwrap_or(high);
        let (Some(low), Some(high)) = (Told::of(low), Told::of(high)) else { continue };
        let bare = low.unit.is_empty() && high.unit.is_empty();
        let Some(value) = value_before(before, bare) else { continue };
        let unit = [&high.unit, &value.unit].into_iter().find(|unit| !unit.is_empty());
        let unit = unit.cloned().unwrap_or_default();
        let (value, room, kind) = value.plain(&unit);
        let ends = [low, high].map(|end| end.plain(&unit));
        if ends.iter().any(|(_, _, own)| *own != kind && kind != "times" && !kind.is_empty()) {
            continue;
        }
        let [low, high] = ends.map(|(end, room, _)| (end, room));
        seen += 1;
        // Rounding to equally many digits preserves the order; in different units half a digit is tolerated.
        let room = |end: (f64, f64)| room.max(end.1).min(ROUNDED * end.0.abs());
        if value < low.0 - room(low) || value > high.0 + room(high) {
            let from = before.char_indices().rev().nth(80).map_or(0, |(at, _)| at);
            return Err(format!(
                "{}({INTERVAL}{}",
                &before[from..],
                rest.split(')').next().unwrap_or(rest)
            ));
        }
    }
    Ok(seen)
}

/// Checks a ratio before its interval: `ratio 1.68, 95% CI 1.41-1.99`.
fn ratio_holds(before: &str, rest: &str) -> Result<bool, String> {
    let ratio = before.strip_suffix(", ").and_then(|before| before.rsplit_once("ratio "));
    let Some(ratio) = ratio.and_then(|(_, ratio)| Told::of(ratio)) else { return Ok(false) };
    let ends = rest.split([',', ')', ';', ' ']).next().and_then(|ends| ends.split_once('-'));
    let Some((Some(low), Some(high))) = ends.map(|(low, high)| (Told::of(low), Told::of(high)))
    else {
        return Ok(false);
    };
    let room = ratio.room.max(low.room).max(high.room);
    if ratio.number < low.number - room || ratio.number > high.number + room {
        return Err(format!(
            "ratio {}: {INTERVAL}{}",
            ratio.number,
            rest.split(')').next().unwrap_or(rest)
        ));
    }
    Ok(true)
}

/// The number of an interval in brackets: right before it, or the last ratio or percentage of its sentence; these first
/// if the interval has no unit, because the text before it may be a level.
fn value_before(text: &str, bare: bool) -> Option<Told> {
    let words: Vec<&str> = text.split(' ').collect();
    let last = |count: usize| words[words.len().saturating_sub(count)..].join(" ");
    let direct = Told::of(&last(2)).filter(|own| !own.unit.is_empty());
    let pairs = words.windows(2).rev();
    let mut same = pairs.take_while(|pair| !pair[0].ends_with(['.', ';', ':']));
    let told = same.find_map(|pair| {
        let percent = pair[1].strip_suffix('%').and_then(Told::of);
        percent.or_else(|| Told::of(&pair.join(" ")).filter(|own| own.unit == "times"))
    });
    let known = if bare { told.or(direct) } else { direct.or(told) };
    known.or_else(|| Told::of(&last(1)))
}

/// A page as its reader sees it.
fn without_tags(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    for (at, part) in page.split('<').enumerate() {
        let seen = if at == 0 { part } else { part.split_once('>').map_or("", |(_, after)| after) };
        text.push(' ');
        text.push_str(seen);
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_outside_of_its_interval_is_found_wherever_it_stands() {
        let of = |low: f64| {
            let level = json!({"rate_bytes_per_s": 4.0, "rate_ci95": [low, 5.0]});
            document_of(&json!({"sustained": [{"timeline": {"levels": [level]}}]}))
        };
        assert_eq!(of(3.0), Ok(1));
        assert!(of(4.5).is_err_and(|error| error.contains("4 is outside of 4.5 to 5")));
        let cell = |ci95: [f64; 2]| {
            let own =
                json!({"trials": [], "ci95": ci95, "geometric_mean": 2.0, "min": 1.0, "max": 3.0});
            document_of(&json!({"rows": [own]}))
        };
        assert_eq!(cell([1.9, 2.1]), Ok(2));
        assert!(cell([2.05, 2.1]).is_err());
    }

    #[test]
    fn of_a_drive_that_rested_no_fall_is_no_finding() {
        let of = |rests: Value| {
            let text = "It writes 4 B/s; the rate did not drop in 9 B.";
            let one = json!({"timeline": {"levels": [], "rests": rests}, "text": text});
            document_of(&json!({"measurements": [], "sustained": [one]}))
        };
        assert_eq!(of(Value::Null), Ok(0));
        assert!(of(json!({"share": 0.5})).is_err_and(|error| error.contains("the drive rested")));
    }

    #[test]
    fn a_histogram_holds_its_mean_and_its_percentiles() {
        let of = |mean: f64, p99: f64| {
            let bucket = json!({"from_ns": 10, "to_ns": 20, "count": 3});
            document_of(&json!({"read": {
                "count": 3, "mean_ns": mean, "p50_ns": 14.0, "p99_ns": p99, "histogram": [bucket],
            }}))
        };
        assert_eq!(of(15.0, 19.0), Ok(3));
        assert!(of(9.0, 19.0).is_err() && of(15.0, 12.0).is_err());
        // A few requests have no p99.
        let bucket = json!({"from_ns": 10, "to_ns": 20, "count": 3});
        let few = json!({"count": 3, "p50_ns": 14.0, "p99_ns": null, "histogram": [bucket]});
        assert_eq!(document_of(&few), Ok(1));
    }

    #[test]
    fn what_rests_on_suspect_numbers_says_so_and_nothing_rests_on_the_second_baseline() {
        let of = |is_control: bool, text: &str| {
            let row = |trust: &str, control: bool| {
                json!({
                    "workload": "w", "configuration": {"queue_depth": "1"}, "metric": "iops", "n": 3,
                    "trust": trust, "control": control,
                })
            };
            let effect = json!({"workload": "w", "metric": "iops", "text": text});
            let cells = [row("trusted", false), row("suspect", is_control)];
            document_of(&json!({"measurements": cells, "effects": [effect]}))
        };
        let found = of(false, "w: depth 8 has more.");
        assert!(found.is_err_and(|error| error.contains("effects: suspect numbers")));
        assert!(of(false, "w: depth 8 has more (from suspect numbers).").is_ok());
        assert!(of(true, "w: depth 8 has more.").is_ok());
    }

    #[test]
    fn one_name_has_one_value_and_what_is_suspect_says_so() {
        let of = |held: f64, trust: &str, text: &str| {
            let cell = json!({
                "workload": "capacity", "configuration": {}, "metric": "capacity_usable_bytes", "n": 1,
                "median": 7.0, "trust": trust,
            });
            let facts = json!({"workload": "capacity", "configuration": {}, "usable_bytes": held, "text": text});
            document_of(&json!({"measurements": [cell], "capacity": [facts]}))
        };
        assert_eq!(of(7.0, "trusted", "It holds 7."), Ok(1));
        let other = of(8.0, "trusted", "It holds 8.");
        assert!(other.is_err_and(|error| error.contains("its row says 7")));
        assert!(of(7.0, "suspect", "It holds 7.").is_err());
        assert_eq!(of(7.0, "suspect", "It holds 7; its numbers are suspect."), Ok(1));
        let compared = |name: &str, repeats: Value| {
            let row = |depth: &str| {
                json!({
                    "workload": "w", "configuration": {"queue_depth": depth}, "metric": "iops", "n": 1,
                    "geometric_mean": 5.0, "trust": "trusted", "trials": [{"value": 5.0, "repeats": repeats}],
                })
            };
            let comparison = json!({
                "workload": "w", "metric": "iops", "n": 1, name: [6.0, 5.0],
                "configuration": {"queue_depth": "8"}, "baseline": {"queue_depth": "1"},
            });
            document_of(&json!({"measurements": [row("1"), row("8")], "comparisons": [comparison]}))
        };
        for repeats in [Value::Null, json!({"order": 3})] {
            let other = compared("means", repeats.clone());
            assert!(other.is_err_and(|error| error.contains("a mean of")));
            assert!(compared("compared_means", repeats).is_ok());
        }
        let rank = |text: &str| {
            let cell = json!({
                "workload": "w", "configuration": {}, "metric": "iops", "n": 3, "trust": "suspect",
            });
            let rank = json!({"workload": "w", "metric": "iops", "text": text});
            document_of(&json!({"measurements": [cell], "ranks": [rank]}))
        };
        assert!(rank("A is first.").is_err() && rank("A is first (suspect numbers).").is_ok());
        let placed = |number: f64| {
            let cell = json!({
                "workload": "w", "configuration": {"queue_depth": "8"}, "metric": "iops", "n": 1,
                "geometric_mean": 5.0, "trust": "trusted", "trials": [{"value": 5.0}],
            });
            let place = json!({"configuration": {"queue_depth": "8"}, "geometric_mean": number});
            let rank = json!({"workload": "w", "metric": "iops", "text": "A.", "ranks": [place]});
            document_of(&json!({"measurements": [cell], "ranks": [rank]}))
        };
        assert!(placed(5.0).is_ok());
        assert!(placed(6.0).is_err_and(|error| error.contains("a place of")));
    }

    #[test]
    fn sentences_are_read_with_their_units() {
        let bad = [
            "It writes 458 MiB/s (95% CI 647 MiB/s to 1.33 GiB/s).",
            "a: 150% more bandwidth (ratio 2.5, 95% CI 2.6-2.8, including day-to-day variation).",
            "KVM has 50% of the speed of bare metal (95% CI 60 to 70).",
            "it took 91.1 ms (95% CI 1 ns to 63.8 ms)",
            "size 1 MiB has 150% more bandwidth (ratio 2.5, 95% CI 0.5-2.4, n = 3)",
        ];
        let good = [
            "It writes 858 MiB/s (95% CI 647 MiB/s to 1.33 GiB/s).",
            "a has 170% more bandwidth (ratio 2.7, 95% CI 2.6-2.8; no significant difference).",
            "depth 2 has 65% higher time (ratio 1.65, 95% CI 1.64-1.66)",
            "KVM has 65% of the speed of bare metal (95% CI 60 to 70).",
            "size 1 MiB has 10% more bandwidth (ratio 1.1, 95% CI 0.5-2.4)",
            "1,234 IOPS (95% CI 1,230 to 1,240)",
        ];
        for text in bad {
            assert!(text_of(text).is_err(), "{text}");
        }
        for text in good {
            assert_eq!(text_of(text), Ok(1), "{text}");
        }
        let page =
            "<html><p>It writes <b>458 MiB/s</b> (95% CI 647 MiB/s to 1.33 GiB/s)</p></html>";
        assert!(all_of(page).is_err());
        assert_eq!(all_of("nothing is told"), Ok(0));
    }
}
