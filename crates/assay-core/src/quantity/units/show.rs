//! Formats amounts for tables and sentences: at most three significant digits. Files contain exact numbers.

use crate::outside::is_unseen;

const BINARY: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// Returns an untrusted text (a model name, a path) without control and bidirectional characters, on one line.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if is_unseen(c) { '?' } else { c }).collect()
}

/// Bytes in powers of 1024, at most 8 columns: `16 MiB`, `1.46 TiB`, `1023 KiB`.
pub fn bytes(amount: u64) -> String {
    binary(amount as f64)
}

/// Bits per second, as links are sold by: `4.77 Mbit/s`.
pub fn bit_rate(bits_per_s: f64) -> String {
    let units = [("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)];
    let fitting = units.into_iter().find(|(_, factor)| bits_per_s >= *factor);
    let (name, factor) = fitting.unwrap_or(("bit/s", 1.0));
    format!("{} {name}", three_digits(bits_per_s / factor))
}

/// Bytes per second, at most 10 columns below 2^70: `812 MiB/s`.
pub fn rate(bytes_per_s: f64) -> String {
    format!("{}/s", binary(bytes_per_s))
}

/// Decimal megabytes per second, without the unit, as they are printed on cards: `95`, `0.25`, `4,109`.
pub fn mb_per_s(bytes_per_s: f64) -> String {
    whole_from_1000(bytes_per_s / 1e6)
}

/// MiB per second, without the unit: `90.6`, `3,919`.
pub fn mib_per_s(bytes_per_s: f64) -> String {
    whole_from_1000(bytes_per_s / f64::from(1 << 20))
}

fn whole_from_1000(value: f64) -> String {
    if (999.5..1e15).contains(&value) { count(value.round() as u64) } else { three_digits(value) }
}

/// A block size as fio takes it: `4k`, `1m`, `512`.
pub fn block_size(bytes: u64) -> String {
    match (bytes % (1 << 20), bytes % (1 << 10)) {
        (0, _) => format!("{}m", bytes >> 20),
        (_, 0) => format!("{}k", bytes >> 10),
        _ => bytes.to_string(),
    }
}

/// A whole count with thousands separators: `36,887`.
pub fn count(amount: u64) -> String {
    separated(&amount.to_string())
}

/// Events per second, at most 7 columns below a million: `0.25`, `19`, `64,100`, `577,000`.
pub fn per_second(events: f64) -> String {
    if !events.is_finite() {
        return "-".to_owned();
    }
    if events < 999.5 {
        return three_digits(events);
    }
    let unit = 10_f64.powi(events.log10().floor() as i32 - 2);
    separated(&format!("{:.0}", (events / unit).round() * unit))
}

/// Time from nanoseconds, at most 8 columns below 1000 h: `85 us`, `9.1 ms`, `2.5 min`.
pub fn duration(ns: f64) -> String {
    const STEPS: [(f64, &str); 6] =
        [(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s"), (60e9, "min"), (3600e9, "h")];
    if !ns.is_finite() {
        return "-".to_owned();
    }
    // The next unit begins at 999.5 of this one (119.5 for s and min), so numbers never round up to four digits.
    let limit = |name: &str| if matches!(name, "s" | "min") { 119.5 } else { 999.5 };
    let last = STEPS[STEPS.len() - 1];
    let (unit, name) =
        STEPS.into_iter().find(|(unit, name)| ns / unit < limit(name)).unwrap_or(last);
    format!("{} {name}", three_digits(ns / unit))
}

/// Time left or elapsed in whole seconds, rounded up: `20 s`, `1 min 20 s`, `2 h 5 min`.
pub fn clock(ns: u64) -> String {
    match ns.div_ceil(1_000_000_000) {
        s @ ..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3600, s / 60 % 60),
    }
}

/// A share in percent: one decimal below 1, whole above: `0.4%`, `4%`, `33%`.
pub fn percent(share: f64) -> String {
    percent_or(share, "under ")
}

/// The same for narrow columns: `<0.1%`.
pub fn brief_percent(share: f64) -> String {
    percent_or(share, "<")
}

/// Formats a percentage; a positive one below 0.05 as less than 0.1%, after `under`.
fn percent_or(share: f64, under: &str) -> String {
    if !share.is_finite() {
        return "-".to_owned();
    }
    if share > 0.0 && share < 0.05 {
        return format!("{under}0.1%");
    }
    if share.abs() < 0.95 { format!("{}%", trimmed(share, 1)) } else { format!("{share:.0}%") }
}

/// A share as percent with three digits: 0.0207 is `2.07%`.
pub fn share(share: f64) -> String {
    format!("{}%", three_digits(100.0 * share))
}

/// Estimates above this number are not useful.
pub const MANY: u64 = 1000;

/// A count that is an estimate: `about 14`.
pub fn about(amount: u64) -> String {
    match amount {
        0..=MANY => format!("about {}", count(amount)),
        _ => format!("more than {}", count(MANY)),
    }
}

/// Formats two amounts: `about 14 to 20`, or `about 14` if both print alike.
pub fn about_between(least: u64, most: u64) -> String {
    if about(least) == about(most) {
        return about(most);
    }
    let most = if most > MANY { about(most) } else { count(most) };
    format!("{} to {most}", about(least))
}

/// How many times: `1.04`, `33`, `1,200`.
pub fn times(ratio: f64) -> String {
    per_second(ratio)
}

/// Formats a ratio: `1.042`, `0.87`, `33`. Near 1, it has enough digits to differ from 1 as the verdict does.
pub fn ratio(value: f64) -> String {
    // A ratio is never zero.
    if 0.0 < value && value < 0.0005 {
        return "<0.001".to_owned();
    }
    if !(0.9..1.1).contains(&value) {
        return per_second(value);
    }
    let is_distinct =
        |digits: &usize| value == 1.0 || format!("{value:.digits$}").parse() != Ok(1.0);
    let digits = (3..9).find(is_distinct).unwrap_or(9);
    let text = format!("{value:.digits$}");
    if text.parse() == Ok(1.0) { "1".to_owned() } else { text }
}

/// Formats a ratio and the ends of its interval with the same number of decimals: two digits of the width, and enough
/// to distinguish the ends from 1 and 0.
pub fn ratios(value: f64, ends: [f64; 2]) -> [String; 3] {
    let [low, high] = ends;
    let numbers = [value, low, high];
    let width = high - low;
    let are_finite = numbers.iter().all(|number| number.is_finite());
    if !are_finite || width <= 1e-6 * high || high > 1000.0 * low {
        return numbers.map(ratio);
    }
    // Two digits of the width: a width of 0.03 gives three decimals, which also suffice for widths from 0.002.
    let most = if width < 0.002 { 9.0 } else { 3.0 };
    let enough = (1.0 - width.log10().floor()).clamp(0.0, most) as usize;
    let text = |number: f64, digits: usize| {
        if number < 999.5 { format!("{number:.digits$}") } else { per_second(number) }
    };
    let is_distinct = |digits: &usize| {
        let reads_as = |number: f64, other: f64| text(number, *digits).parse() == Ok(other);
        // A ratio is never zero.
        ends.iter().all(|end| *end == 1.0 || !reads_as(*end, 1.0))
            && numbers.iter().all(|number| *number == 0.0 || !reads_as(*number, 0.0))
    };
    let digits = (enough..9).find(is_distinct).unwrap_or(9);
    numbers.map(|number| text(number, digits))
}

/// Formats percentages and the ends of their interval, without the sign: decimals as the width allows and enough to
/// distinguish the ends from 100; without an interval two decimals, as in tables.
pub fn percents(value: f64, ends: Option<[f64; 2]>) -> [String; 3] {
    let Some([low, high]) = ends else {
        return [format!("{value:.2}"), String::new(), String::new()];
    };
    let width = high - low;
    let enough =
        if width > 1e-6 * high { (1.0 - width.log10().floor()).clamp(0.0, 2.0) } else { 2.0 };
    let is_distinct = |digits: &usize| {
        let reads_as_100 = |end: f64| format!("{end:.digits$}").parse() == Ok(100.0);
        [low, high].iter().all(|end| *end == 100.0 || !reads_as_100(*end))
    };
    let digits = (enough as usize..6).find(is_distinct).unwrap_or(6);
    [value, low, high].map(|number| format!("{number:.digits$}"))
}

/// Three significant digits without a unit or trailing zeros: `0.25`, `9.1`, `85`, `812`.
pub fn three_digits(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 99.95 {
        format!("{value:.0}")
    } else if magnitude >= 9.995 {
        trimmed(value, 1)
    } else if magnitude >= 0.0995 || magnitude == 0.0 {
        trimmed(value, 2)
    } else {
        trimmed(value, 3)
    }
}

/// Formats an amount with the largest prefix that leaves at least 1: `12 MiB`.
fn binary(amount: f64) -> String {
    if !amount.is_finite() {
        return "-".to_owned();
    }
    let mut value = amount;
    let mut step = 0;
    while value >= 1023.5 && step + 1 < BINARY.len() {
        value /= 1024.0;
        step += 1;
    }
    format!("{} {}", three_digits(value), BINARY[step])
}

/// Formats a value without trailing zeros.
fn trimmed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Inserts a comma before each group of three digits.
fn separated(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
