//! Parses amounts. Each error is one line that says what to write instead.

use super::UnitError;

pub(super) struct UnitName {
    pub name: &'static str,
    pub factor: u64,
    /// Other spellings, compared without regard to case.
    any_case: &'static [&'static str],
    /// Other spellings, compared letter by letter.
    exact_case: &'static [&'static str],
}

pub(super) struct UnitFamily {
    pub units: &'static [UnitName],
    /// For messages: "unit of time".
    noun: &'static str,
    /// For messages: the units to choose from.
    choice: &'static str,
    /// Three units to offer when none was given.
    offer: [&'static str; 3],
    /// For messages: the largest amount.
    most: &'static str,
}

const fn unit(
    name: &'static str,
    factor: u64,
    any_case: &'static [&'static str],
    exact_case: &'static [&'static str],
) -> UnitName {
    UnitName { name, factor, any_case, exact_case }
}

/// Units of bytes: powers of 1024 first, because the first exact unit wins.
pub(super) static BYTES: UnitFamily = UnitFamily {
    units: &[
        unit("B", 1, &["byte", "bytes"], &["B"]),
        unit("KiB", 1 << 10, &["KiB", "Ki", "k"], &[]),
        unit("MiB", 1 << 20, &["MiB", "Mi", "M"], &[]),
        unit("GiB", 1 << 30, &["GiB", "Gi", "G"], &[]),
        unit("TiB", 1 << 40, &["TiB", "Ti", "T"], &[]),
        unit("PiB", 1 << 50, &["PiB", "Pi", "P"], &[]),
        unit("EiB", 1 << 60, &["EiB", "Ei", "E"], &[]),
        unit("kB", 1_000, &[], &["kB", "KB"]),
        unit("MB", 1_000_000, &[], &["MB"]),
        unit("GB", 1_000_000_000, &[], &["GB"]),
        unit("TB", 1_000_000_000_000, &[], &["TB"]),
        unit("PB", 1_000_000_000_000_000, &[], &["PB"]),
        unit("EB", 1_000_000_000_000_000_000, &[], &["EB"]),
    ],
    noun: "unit of size",
    choice: "B, KiB, MiB, GiB, TiB, or the powers of ten kB, MB, GB, TB",
    offer: ["KiB", "MiB", "GiB"],
    most: "16 EiB",
};

pub(super) static TIME: UnitFamily = UnitFamily {
    units: &[
        unit("ns", 1, &["ns", "nsec", "nanosecond", "nanoseconds"], &[]),
        unit(
            "us",
            1_000,
            &["us", "\u{b5}s", "\u{3bc}s", "usec", "microsecond", "microseconds"],
            &[],
        ),
        unit("ms", 1_000_000, &["ms", "msec", "millisecond", "milliseconds"], &[]),
        unit("s", 1_000_000_000, &["s", "sec", "secs", "second", "seconds"], &[]),
        unit("min", 60_000_000_000, &["min", "mins", "minute", "minutes"], &["m"]),
        unit("h", 3_600_000_000_000, &["h", "hr", "hour", "hours"], &[]),
    ],
    noun: "unit of time",
    choice: "ns, us, ms, s, min, h",
    offer: ["s", "min", "h"],
    most: "584 years",
};

/// Parses an amount, rounded to whole smallest units.
pub(super) fn amount(text: &str, measure: &UnitFamily) -> Result<u64, UnitError> {
    let (number, name) = split_number(text, measure.offer)?;
    if name.is_empty() {
        return if number.is_zero() { Ok(0) } else { Err(without_unit(number.text, measure)) };
    }
    let unit = find_unit(name, measure).ok_or_else(|| wrong_unit(number.text, name, measure))?;
    number.times(unit.factor).ok_or_else(|| {
        UnitError(format!("`{}` is too large; the limit is {}", text.trim(), measure.most))
    })
}

pub(super) fn percent(text: &str) -> Result<f64, UnitError> {
    let (number, name) = split_number(text, ["%", "%", "%"])?;
    let shown = number.text;
    match name {
        "%" | "percent" => {}
        "" => return Err(UnitError(format!("`{shown}` has no unit; use {shown}%"))),
        _ => {
            return Err(UnitError(format!("`{name}` is not a percentage; use `{shown}%`")));
        }
    }
    let value: f64 = shown.parse().unwrap_or(f64::INFINITY);
    if value.is_finite() {
        Ok(value)
    } else {
        Err(UnitError(format!("`{}` is too large for a percentage", text.trim())))
    }
}

/// A decimal number as written: digits with at most one point.
struct Number<'a> {
    text: &'a str,
}

impl Number<'_> {
    fn is_zero(&self) -> bool {
        self.text.bytes().all(|byte| matches!(byte, b'0' | b'.'))
    }

    /// The number times a factor, rounded to the nearest integer; `None` if that does not fit.
    fn times(&self, factor: u64) -> Option<u64> {
        let (whole, fraction) = self.text.split_once('.').unwrap_or((self.text, ""));
        // Digits beyond the 19th after the point are below one part of any unit here.
        let fraction = &fraction[..fraction.len().min(19)];
        let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let mut total = whole.checked_mul(u128::from(factor))?;
        if !fraction.is_empty() {
            let scale = 10_u128.pow(fraction.len() as u32);
            let part = fraction.parse::<u128>().ok()? * u128::from(factor);
            total = total.checked_add((part + scale / 2) / scale)?;
        }
        u64::try_from(total).ok()
    }
}

/// Splits an amount into its number and the name of its unit, which may be empty.
fn split_number<'a>(text: &'a str, offer: [&str; 3]) -> Result<(Number<'a>, &'a str), UnitError> {
    let text = text.trim();
    let example = if offer[0] == "%" { "10%".to_owned() } else { format!("10 {}", offer[0]) };
    if text.is_empty() {
        return Err(UnitError(format!("the amount is empty; use a value such as {example}")));
    }
    if text.starts_with('-') {
        return Err(UnitError(format!("`{text}` is negative; use an amount above zero")));
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, name) = text.split_at(end);
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 || number.bytes().filter(|byte| *byte == b'.').count() > 1 {
        return Err(UnitError(format!(
            "`{text}` does not start with a number; use a value such as {example}"
        )));
    }
    if name.starts_with(',') {
        return Err(UnitError(format!(
            "`{text}` contains a comma; use digits only, with a decimal point"
        )));
    }
    Ok((Number { text: number }, name.trim()))
}

fn find_unit<'m>(name: &str, measure: &'m UnitFamily) -> Option<&'m UnitName> {
    measure.units.iter().find(|unit| {
        unit.exact_case.contains(&name)
            || unit.any_case.iter().any(|spelling| spelling.to_lowercase() == name.to_lowercase())
    })
}

fn without_unit(number: &str, measure: &UnitFamily) -> UnitError {
    let [first, second, third] = measure.offer;
    UnitError(format!(
        "`{number}` has no unit; use {number} {first}, {number} {second} or {number} {third}"
    ))
}

/// The message on an unknown unit: what to use instead of a prefix with `b`, or else the nearest unit.
fn wrong_unit(number: &str, name: &str, measure: &UnitFamily) -> UnitError {
    if let Some(power) = ambiguous_prefix(name, measure) {
        return UnitError(format!(
            "`{name}` may mean bits; use {number} {power}iB (powers of 1024) or {number} {}B (powers of ten)",
            if power == "K" { "k" } else { power }
        ));
    }
    UnitError(format!(
        "`{name}` is not a {}; use `{}` ({})",
        measure.noun,
        nearest(name, measure),
        measure.choice
    ))
}

/// Returns the prefix of a unit whose `b` may mean bits: `Mb`, `mb`, `kb`.
fn ambiguous_prefix(name: &str, measure: &UnitFamily) -> Option<&'static str> {
    let is_of_bytes = measure.units.iter().any(|unit| unit.name == "KiB");
    let letter = name.strip_suffix(['b', 'B']).filter(|_| is_of_bytes)?;
    ["K", "M", "G", "T", "P", "E"].into_iter().find(|power| power.eq_ignore_ascii_case(letter))
}

/// Returns the unit with the spelling nearest to `name`.
fn nearest(name: &str, measure: &UnitFamily) -> &'static str {
    let name = name.to_lowercase();
    let distance_to = |unit: &UnitName| {
        let spellings = unit.any_case.iter().chain(unit.exact_case).chain([&unit.name]);
        spellings.map(|spelling| strsim::levenshtein(&name, &spelling.to_lowercase())).min()
    };
    measure.units.iter().min_by_key(|unit| distance_to(unit)).map_or("", |unit| unit.name)
}
