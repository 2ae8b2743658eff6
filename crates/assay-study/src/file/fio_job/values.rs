//! Values as fio writes them: numbers, shares, amounts, times and names.

use super::{Job, PortNotes};

pub(super) fn number(job: &Job, key: &str, notes: &mut PortNotes) -> Option<u64> {
    let setting = job.settings.get(key)?;
    // A flag alone means yes.
    let value = if setting.value.is_empty() { "1" } else { setting.value.as_str() };
    let found = value.parse::<u64>().ok();
    if found.is_none() {
        let written = &setting.written;
        notes.refuse(setting.line, format!("{written}={value}: not a whole number"));
    }
    found
}

pub(super) fn percent(job: &Job, key: &str, notes: &mut PortNotes) -> Option<u64> {
    let share = number(job, key, notes)?;
    let line = job.settings.get(key).map_or(job.line, |setting| setting.line);
    if share > 100 {
        notes.refuse(line, format!("{key}={share}: more than 100%"));
    }
    Some(share.min(100))
}

pub(super) fn amount(job: &Job, key: &str, notes: &mut PortNotes) -> Option<u64> {
    let setting = job.settings.get(key)?;
    let found = bytes(&setting.value);
    if found.is_none() {
        notes.refuse(
            setting.line,
            format!(
                "{}={}: use one size, such as 4k or 1g; ranges, lists and percentages are not supported",
                setting.written, setting.value
            ),
        );
    }
    found
}

/// Parses a size as fio does; `None` for other texts and 0.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let lower = text.to_lowercase();
    let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let (number, unit) = lower.split_at(digits);
    let power = match unit.chars().next() {
        None | Some('b') => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some(_) => return None,
    };
    // Without kb_base=1000, fio swaps the units: kib is 1000.
    let base = match unit.get(1..).unwrap_or_default() {
        "" | "b" | "i" => 1024_u64,
        "ib" => 1000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(base.pow(power)).filter(|bytes| *bytes > 0)
}

/// Parses equal amounts with one of these separators.
pub(super) fn parse_equal_amounts(text: &str, between: &[char]) -> Option<u64> {
    let mut amounts = text.split(between).map(|amount| bytes(amount.trim()));
    let first = amounts.next()??;
    amounts.all(|amount| amount == Some(first)).then_some(first)
}

/// The single named file, without fio's backslashes before colons; `None` for several files.
pub(super) fn one_name(text: &str) -> Option<String> {
    let mut name = String::new();
    let mut signs = text.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '\\' if signs.next_if_eq(&':').is_some() => name.push(':'),
            ':' => return None,
            _ => name.push(sign),
        }
    }
    Some(name)
}

/// A time in ns; a number alone is seconds.
pub(super) fn duration(job: &Job, key: &str, notes: &mut PortNotes) -> Option<u64> {
    let setting = job.settings.get(key)?;
    let found = ns(&setting.value);
    if found.is_none() {
        let (written, value) = (&setting.written, &setting.value);
        notes.refuse(setting.line, format!("{written}={value}: not a duration"));
    }
    found.filter(|ns| *ns > 0)
}

/// Parses a time as fio does, in nanoseconds; a number alone is seconds.
pub(super) fn ns(text: &str) -> Option<u64> {
    let text = text.to_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "" | "s" | "sec" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// A name as studies have them: small letters, digits, and hyphens between them.
pub(super) fn plain_name(name: &str) -> String {
    let letters: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let parts: Vec<&str> = letters.split('-').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "job".to_owned() } else { parts.join("-").to_lowercase() }
}

/// A text as study files have it: escapes of JSON are escapes of TOML.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
