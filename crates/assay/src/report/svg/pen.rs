//! Text and numbers as SVG has them.

use std::fmt::Write;

/// Room of a letter at 12 px, by a wide common font (DejaVu Sans), so that others fit as well.
fn letter(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '\'' | '|' => 3.6,
        'I' | 't' | 'f' | 'r' | '.' | ',' | ':' | ';' | ' ' | '(' | ')' | '-' | '/' | '!' => 4.7,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 11.5,
        'A'..='Z' => 8.4,
        '=' | '+' | '<' | '>' | '~' | '#' => 10.0,
        _ if letter.is_ascii() => 7.5,
        '\u{2026}' => 12.0,
        _ if letter < '\u{1100}' => 8.0,
        _ => 13.0,
    }
}

/// Pixels that a text takes, rather too many than too few.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().map(letter).sum()
}

/// The text in so many pixels: where it is too long its middle is left out.
pub(super) fn shortened(text: &str, room: f64) -> String {
    if width_of(text) <= room {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().take(400).collect();
    let tail: Vec<char> = text.chars().rev().take(400).collect();
    let mut kept = 0;
    let mut used = letter('\u{2026}');
    while kept < letters.len().min(tail.len()) {
        used += letter(if kept % 2 == 0 { letters[kept / 2] } else { tail[kept / 2] });
        if used > room {
            break;
        }
        kept += 1;
    }
    let begin: String = letters[..kept.div_ceil(2)].iter().collect();
    let end: String = tail[..kept / 2].iter().rev().collect();
    format!("{}\u{2026}{}", begin.trim_end(), end.trim_start())
}

/// Safe between tags and in attributes.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // XML has no word for them, and marks of direction would turn what follows around.
            '\u{fffe}' | '\u{ffff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                safe.push('?')
            }
            letter if letter.is_control() => safe.push('?'),
            letter => safe.push(letter),
        }
    }
    safe
}

/// A coordinate to a tenth of a pixel, as short as it can be.
pub(super) fn px(value: f64) -> String {
    let tenths = if value.is_finite() { (value * 10.0).round() as i64 } else { 0 };
    let sign = if tenths < 0 { "-" } else { "" };
    match (tenths.abs() / 10, tenths.abs() % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (whole, tenth) => format!("{sign}{whole}.{tenth}"),
    }
}

/// A line of a path: `M1 2L3 4`.
pub(super) fn segment([x1, y1]: [f64; 2], [x2, y2]: [f64; 2]) -> String {
    format!("M{} {}L{} {}", px(x1), px(y1), px(x2), px(y2))
}

/// A text at a place. `anchor` is `start`, `middle` or `end`, `class` may be empty.
pub(super) fn text(
    out: &mut String,
    [x, y]: [f64; 2],
    anchor: &str,
    class: &str,
    shown: &str,
    full: &str,
) {
    let _ = write!(out, "<text x=\"{}\" y=\"{}\"{class}", px(x), px(y));
    if anchor != "start" {
        let _ = write!(out, " text-anchor=\"{anchor}\"");
    }
    let title =
        if shown == full { String::new() } else { format!("<title>{}</title>", escaped(full)) };
    let _ = write!(out, ">{title}{}</text>", escaped(shown));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_never_odd() {
        let told = [1.0, 1.04, 1.05, -0.04, -3.25, f64::NAN, f64::INFINITY, 759.96].map(px);
        assert_eq!(told, ["1", "1", "1.1", "0", "-3.3", "0", "0", "760"]);
    }

    #[test]
    fn nothing_gets_out_of_its_place() {
        let told = escaped("<script>\"a\" & 'b'\u{0}\u{202e}\n");
        assert_eq!(told, "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;???");
    }

    #[test]
    fn long_words_lose_their_middle() {
        let word = "filesystem=btrfs,threads=128";
        assert_eq!(shortened(word, 300.0), word);
        let short = shortened(word, 120.0);
        assert!(short.starts_with("filesys") && short.ends_with("=128"), "{short}");
        assert!(width_of(&short) <= 120.0);
        assert!(shortened(&"x".repeat(10_000_000), 50.0).chars().count() < 10);
    }
}
