//! Parses numbers with an optional unit, pairs and rates. Each error is one line that says what to write instead.

use crate::quantity::Bytes;

/// A number above zero, with its unit or without: `165`, `165 MHz`.
pub fn number(text: &str, unit: &str) -> Result<f64, String> {
    let text = text.trim();
    let digits = match text.split_at_checked(text.len().saturating_sub(unit.len())) {
        Some((digits, end)) if end.eq_ignore_ascii_case(unit) => digits,
        _ => text,
    };
    let value: f64 = digits.trim().parse().map_err(|_| {
        format!("`{text}` is not a number of {unit}; use a value such as 60 {unit}")
    })?;
    if value.is_finite() && value > 0.0 {
        Ok(value)
    } else {
        Err(format!("`{text}` is not above zero; use a value such as 60 {unit}"))
    }
}

/// Two whole numbers above zero with an `x` between them: `1920x1080`.
pub fn pair(text: &str, what: &str, example: &str) -> Result<[u32; 2], String> {
    let wrong = || format!("`{text}` is not a {what}; use a value such as {example}");
    let (first, second) = text.trim().split_once(['x', 'X']).ok_or_else(wrong)?;
    let read = |number: &str| number.trim().parse::<u32>().map_err(|_| wrong());
    let pair = [read(first)?, read(second)?];
    if pair.contains(&0) {
        return Err(format!("`{text}` contains a zero; use a value such as {example}"));
    }
    Ok(pair)
}

/// Pixels and lines of a picture, as many as a display driver can count.
pub fn size_of(text: &str) -> Result<[u32; 2], String> {
    const MOST: u32 = 32_767;
    let size = pair(text, "size in pixels and lines", "1920x1080")?;
    if size.iter().any(|one| *one > MOST) {
        return Err(format!("`{text}` is too large; the limit is {MOST} pixels and {MOST} lines"));
    }
    Ok(size)
}

/// Bytes per second: `100 MB/s`; the `/s` may be left out.
pub fn bytes_per_s(text: &str) -> Result<f64, String> {
    let bare = text.trim();
    let bare = bare.strip_suffix("/s").unwrap_or(bare);
    let Bytes(bytes) = bare.parse::<Bytes>().map_err(|error| error.0)?;
    if bytes == 0 {
        return Err(format!("`{text}` is zero; use a value such as 100 MB/s"));
    }
    Ok(bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_and_without_their_unit() {
        assert_eq!(number("165", "MHz"), Ok(165.0));
        assert_eq!(number(" 59.94 hz ", "Hz"), Ok(59.94));
        for wrong in ["", "0", "-1", "NaN", "inf", "60 kHz", "sixty", "\u{20ac}"] {
            let told = number(wrong, "Hz").unwrap_err();
            assert!(told.contains("60 Hz"), "{told}");
        }
    }

    #[test]
    fn pairs_and_rates() {
        assert_eq!(size_of("3840x2400"), Ok([3840, 2400]));
        for wrong in ["3840", "0x0", "3840x", "x", "-1x5", "1e3x5", "70000x4"] {
            assert!(size_of(wrong).is_err(), "{wrong}");
        }
        assert_eq!(bytes_per_s("100MB/s"), Ok(1e8));
        assert_eq!(bytes_per_s("1 KiB"), Ok(1024.0));
        assert!(bytes_per_s("0/s").is_err() && bytes_per_s("100").is_err());
    }
}
