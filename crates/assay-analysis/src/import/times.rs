//! Times of other tools in ms since 1970, without a time zone as UTC: only their order counts.

/// Milliseconds of `2026-11-24T05:01:02.5+00:00`, `2026-11-24 05:01:02` or `2026/11/24 05:01:02`, all taken as UTC.
pub(super) fn iso_ms(text: &str) -> Option<u64> {
    const LENGTH: usize = "2026-11-24T05:01:02".len();
    let to_seconds: String = text.trim().chars().take(LENGTH).collect();
    let time: jiff::civil::DateTime =
        to_seconds.replace('/', "-").replace(' ', "T").parse().ok()?;
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    let ms = u64::try_from(zoned.timestamp().as_millisecond()).ok()?;
    let decimals = text.trim().get(LENGTH..).and_then(|rest| rest.strip_prefix('.')).unwrap_or("");
    let digits: String = decimals.chars().take_while(char::is_ascii_digit).take(3).collect();
    Some(ms + format!("{digits:0<3}").parse::<u64>().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::iso_ms;

    #[test]
    fn times_are_read() {
        assert_eq!(iso_ms("1970-01-01T00:00:01.25+00:00"), Some(1250));
        assert_eq!(iso_ms("1970/01/01 00:00:02"), Some(2000));
        assert_eq!(iso_ms("yesterday"), None);
        assert_eq!(iso_ms("1969-12-31 23:59:59"), None);
    }
}
