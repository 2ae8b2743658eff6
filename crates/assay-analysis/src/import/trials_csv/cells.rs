//! Single fields: numbers and words.

use assay_study::results::record::Status;

use crate::import::words::{advice, is_plain, quoted};

const STATUSES: [(&str, Status); 6] = [
    ("ok", Status::Ok),
    ("", Status::Ok),
    ("failed", Status::Failed),
    ("disturbed", Status::Disturbed),
    ("superseded", Status::Disturbed),
    ("warmup", Status::Warmup),
];

pub(super) fn status(text: &str) -> Result<Status, String> {
    STATUSES.iter().find(|(name, _)| *name == text).map(|(_, status)| *status).ok_or_else(|| {
        let names = STATUSES.iter().map(|(name, _)| *name).filter(|name| !name.is_empty());
        format!("unknown status `{}`; {}", quoted(text), advice(text, names))
    })
}

/// A replicate; 0 only where it may be that of a warm-up.
pub(super) fn replicate(text: &str, zero: bool) -> Result<u32, String> {
    let number = whole(text, "number the replicates 1, 2, 3, ...")?;
    let advice =
        "replicate 0 is for warm-ups; number other trials from 1, or use `warmup` as the `status`";
    if number > 0 || zero { Ok(number) } else { Err(advice.to_owned()) }
}

pub(super) fn whole(text: &str, advice: &str) -> Result<u32, String> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = word(text, advice)?.parse().ok().filter(|_| digits);
    let what = if digits { "too large" } else { "not a whole number" };
    number.ok_or_else(|| format!("`{}` is {what}; {advice}", quoted(text)))
}

pub(super) fn word<'a>(text: &'a str, advice: &str) -> Result<&'a str, String> {
    if text.is_empty() { Err(format!("the field is empty; {advice}")) } else { Ok(text) }
}

/// Reads the value of a trial, which may be absent from a failed one.
pub(super) fn value(text: &str, may_be_absent: bool) -> Result<Option<f64>, String> {
    let missing = "the value is missing; write the number, or `failed` in the column `status`";
    match text {
        "" if may_be_absent => Ok(None),
        "" => Err(missing.to_owned()),
        text => number(text).map(Some),
    }
}

/// Parses a plain finite number; the message on any other text says how to write it.
pub(super) fn number(text: &str) -> Result<f64, String> {
    let written = quoted(text);
    if is_plain(text) {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        return number.ok_or_else(|| format!("`{written}` is too large; use a larger unit"));
    }
    let bare = text.trim_start_matches(['+', '-']).to_lowercase();
    let advice = if ["nan", "inf", "infinity", "", "na", "n/a", "null", "none"]
        .contains(&bare.as_str())
    {
        "is not a number; leave the value empty and write `failed` in the column `status`"
    } else if text.contains(',') {
        "contains a comma; use a decimal point, such as 1234.5"
    } else if bare.starts_with(|letter: char| letter.is_ascii_digit()) {
        "is not a plain number; write all digits (1200, not 1.2k), and put the unit in the metric name"
    } else {
        "is not a number; use digits and a decimal point, such as 1234.5"
    };
    Err(format!("`{written}` {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_are_read() {
        for (text, value) in [
            ("12", 12.0),
            ("-0.5", -0.5),
            ("+1.25e3", 1250.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("1E-3", 0.001),
            ("0", 0.0),
        ] {
            assert_eq!(number(text), Ok(value), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_advice() {
        for (text, advice) in [
            ("1,234", "comma"),
            ("1.234,5", "comma"),
            ("12 MB/s", "unit"),
            ("1.2k", "unit"),
            ("0x10", "unit"),
            ("1_000", "unit"),
            ("1.2.3", "unit"),
            ("1e", "unit"),
            ("NaN", "failed"),
            ("--1", "unit"),
            ("+-1e5", "unit"),
            ("-inf", "failed"),
            ("Infinity", "failed"),
            ("-", "failed"),
            ("fast", "digits"),
            (".", "digits"),
            ("1e999", "too large"),
        ] {
            let refusal = number(text).unwrap_err();
            assert!(refusal.contains(advice), "{text}: {refusal}");
        }
    }
}
