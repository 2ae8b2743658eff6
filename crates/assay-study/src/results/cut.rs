//! Truncates texts of a bundle that are longer than Assay writes, with a mark at the end.

use std::borrow::Cow;

use assay_core::digest::{hexadecimal, sha256};
use assay_core::json::from_value;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum length of an unchanged text, bytes.
pub const LONGEST: usize = 2000;
const KEPT: usize = 200;
/// Digits of the largest count: three years of nanoseconds, a hundred petabytes.
const MOST_DIGITS: i32 = 17;
const DIGITS: usize = 8;

/// Returns a text, or its beginning with a mark if it is too long. Different texts stay different.
pub fn text(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST {
        return Cow::Borrowed(text);
    }
    let beginning: String = text.chars().take(KEPT).collect();
    let digits = &hexadecimal(&sha256(text))[..DIGITS];
    Cow::Owned(format!("{beginning} [... cut: {} bytes, {digits}]", text.len()))
}

pub fn lines(whole: &str) -> Cow<'_, str> {
    if whole.split('\n').all(|line| line.len() <= LONGEST) {
        return Cow::Borrowed(whole);
    }
    let short: Vec<Cow<'_, str>> = whole.split('\n').map(text).collect();
    Cow::Owned(short.join("\n"))
}

pub fn json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    if !has_long_text(text) {
        return serde_json::from_str(text);
    }
    let mut value: Value = serde_json::from_str(text)?;
    shorten(&mut value);
    from_value(&value)
}

/// The same for a study file; lines without a long text stay unchanged.
pub fn toml(text: &str) -> Cow<'_, str> {
    if !has_long_text(text) {
        return Cow::Borrowed(text);
    }
    let Ok(mut value) = toml::from_str::<Value>(text) else { return Cow::Borrowed(text) };
    shorten(&mut value);
    toml::to_string(&value).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns whether JSON has an integer beyond any real quantity; sums of such numbers would overflow.
pub fn has_giant(text: &str) -> bool {
    let (mut in_text, mut escaped, mut digits) = (false, false, 0);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'0'..=b'9' if !in_text => digits += 1,
            // Digits after a decimal point are not an integer: starts too low to ever reach the limit.
            b'.' if !in_text => digits = i32::MIN / 2,
            _ if digits > MOST_DIGITS => return true,
            _ => digits = 0,
        }
    }
    false
}

/// Returns whether a quoted text could be too long; escapes may cause false positives.
fn has_long_text(text: &str) -> bool {
    // From each mark, find the last mark within the limit, which reads few bytes.
    let mut rest = text.as_bytes();
    while rest.len() > LONGEST {
        match rest[..=LONGEST].iter().rposition(|byte| matches!(byte, b'"' | b'\'')) {
            Some(mark) => rest = &rest[mark + 1..],
            None => return true,
        }
    }
    false
}

/// Cuts all long texts and names in a value.
fn shorten(value: &mut Value) {
    match value {
        Value::String(long) => {
            if let Cow::Owned(short) = text(long) {
                *long = short;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(shorten),
        Value::Object(fields) => {
            fields.values_mut().for_each(shorten);
            let long: Vec<String> =
                fields.keys().filter(|name| name.len() > LONGEST).cloned().collect();
            for name in long {
                if let Some(value) = fields.remove(&name) {
                    fields.insert(text(&name).into_owned(), value);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_long_text_is_seen_wherever_it_stands() {
        for (before, after) in [(0, 0), (1, 5000), (1999, 1), (2000, 2000), (5000, 0), (4001, 3)] {
            let with = |length: usize| {
                format!("{}{}{}", "\"a'".repeat(before), "x".repeat(length), "'b\"".repeat(after))
            };
            assert!(has_long_text(&with(LONGEST + 1)), "{before} {after}");
            // Letters outside of the delimiters do not count.
            assert!(!has_long_text(&with(LONGEST)), "{before} {after}");
        }
    }

    #[test]
    fn a_usual_text_stays_and_a_long_one_says_that_it_was_cut() {
        assert!(matches!(text(&"x".repeat(LONGEST)), Cow::Borrowed(_)));
        let [one, other] = ["a", "b"].map(|end| text(&("\u{e9}".repeat(5000) + end)).into_owned());
        assert!(one.chars().count() < KEPT + 60, "{one}");
        assert!(one.contains("cut: 10001 bytes"), "{one}");
        assert_ne!(one, other);
    }

    #[test]
    fn giants_are_seen_outside_of_texts() {
        for good in [
            "{\"a\":99999999999999999}",
            "{\"123456789012345678\":\"\\\"1234567890123456789\"}",
            "[0.123456789012345678]",
        ] {
            assert!(!has_giant(good), "{good}");
        }
        for bad in ["{\"a\":999999999999999999}", "[\"x\",18446744073709551615]"] {
            assert!(has_giant(bad), "{bad}");
        }
    }

    #[test]
    fn names_and_values_are_cut_wherever_they_stand() {
        let long = "y".repeat(3000);
        let json_text = format!("{{\"a\":[{{\"{long}\":\"{long}\"}}],\"b\":1.5}}");
        let found: Value = json(&json_text).unwrap();
        assert!(found.to_string().len() < 700, "{found}");
        assert_eq!(found["b"], 1.5);
        let short: BTreeMap<String, String> = json(r#"{"a":"b"}"#).unwrap();
        assert_eq!(short["a"], "b");
        assert!(json::<Value>("{\"a\": NaN}").is_err());
        let study = format!("title = \"{long}\"\n[factors]\nqueue_depth = [1, 2]\n");
        let cut = toml(&study);
        assert!(cut.contains("cut: 3000 bytes") && cut.contains("queue_depth = [1, 2]"), "{cut}");
        assert_eq!(lines(&format!("a\n{long}\nb")).lines().count(), 3);
    }
}
