//! Escapes untrusted text (names from results, file names, output of programs) for terminals and configuration files.

use std::borrow::Cow;

/// Maximum number of characters of an untrusted text in a message.
const LONGEST: usize = 200;
/// Maximum number of characters per line of a message.
const LONGEST_LINE: usize = 4000;

/// Fails if a name contains control characters, such as line ends; the message contains `what` and the escaped name.
pub fn plain(what: &str, name: &str) -> Result<(), String> {
    if !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(format!("{what} has the name {}; names cannot contain control characters", spelled(name)))
}

/// Returns an untrusted text with invisible characters escaped, cut after [`LONGEST`] characters.
pub fn spelled(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LONGEST) {
        None => escape_except(text, |_| false),
        Some((end, _)) => Cow::Owned(format!("{}...", escape_except(&text[..end], |_| false))),
    }
}

/// Returns text for a terminal: keeps newlines and tabs, escapes other invisible characters.
pub fn page(text: &str) -> Cow<'_, str> {
    escape_except(text, |sign| sign == '\n' || sign == '\t')
}

/// Returns a page that Assay has colored for a terminal: like [`page`], but keeps the escape sequences of [`PAINT`].
pub fn painted(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|sign| is_unseen(sign) && sign != '\n') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&page(&rest[..at]));
        rest = &rest[at..];
        if let Some(paint) = PAINT.iter().find(|paint| rest.starts_with(**paint)) {
            out.push_str(paint);
            rest = &rest[paint.len()..];
        } else {
            out.push_str(&spelled("\u{1b}"));
            rest = &rest[1..];
        }
    }
    out.push_str(&page(rest));
    Cow::Owned(out)
}

/// Escape sequences that `report::text` uses for colors.
const PAINT: [&str; 4] = ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[0m"];

/// Returns a message of one or more lines for a terminal, like [`page`], with long lines cut.
pub fn message(text: &str) -> String {
    let short = |line: &str| match line.char_indices().nth(LONGEST_LINE) {
        None => page(line).into_owned(),
        Some((end, _)) => format!("{}...", page(&line[..end])),
    };
    text.split('\n').map(short).collect::<Vec<_>>().join("\n")
}

/// Returns JSON of the same meaning with invisible characters escaped.
pub fn json(text: &str) -> Cow<'_, str> {
    // Invisible characters are below U+FFFF: one UTF-16 unit each.
    let escape = |sign: char| format!("\\u{:04x}", u32::from(sign));
    replace_each(text, |sign| is_unseen(sign) && sign != '\n', escape)
}

fn escape_except(text: &str, is_allowed: impl Fn(char) -> bool) -> Cow<'_, str> {
    let is_escaped = |sign: char| is_unseen(sign) && !is_allowed(sign);
    replace_each(text, is_escaped, |sign| sign.escape_default().to_string())
}

/// Replaces single characters; copies the text only if it contains one.
fn replace_each(
    text: &str,
    is_replaced: impl Fn(char) -> bool,
    replacement: impl Fn(char) -> String,
) -> Cow<'_, str> {
    if !text.chars().any(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        if is_replaced(sign) {
            out.push_str(&replacement(sign));
        } else {
            out.push(sign);
        }
    }
    Cow::Owned(out)
}

/// Returns whether a character is invisible: control characters, bidirectional overrides and characters of zero width.
pub fn is_unseen(sign: char) -> bool {
    sign.is_control()
        || matches!(
            sign,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200d}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_line_end_or_an_escape_is_refused_and_spelled_out() {
        assert!(plain("a level", "write-back \u{e9}").is_ok());
        for name in ["a\nb", "a\u{1b}[31mb", "\u{9b}1m", "\u{7f}"] {
            let told = plain("a level", name).unwrap_err();
            assert!(told.starts_with("a level has the name ") && !told.contains(char::is_control));
        }
        assert!(plain("a level", "a\nb").unwrap_err().contains("a\\nb"));
    }

    #[test]
    fn what_turns_the_direction_is_spelled_out_too_and_long_texts_end() {
        assert_eq!(spelled("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(spelled("a\u{200b}b\u{feff}\u{ad}"), "a\\u{200b}b\\u{feff}\\u{ad}");
        assert_eq!(spelled(&"x".repeat(LONGEST)).len(), LONGEST);
        assert_eq!(spelled(&"x".repeat(LONGEST + 1)).len(), LONGEST + 3);
    }

    #[test]
    fn pages_keep_their_lines_and_nothing_else_that_a_terminal_obeys() {
        assert_eq!(page("a\n\tb\u{e9}"), "a\n\tb\u{e9}");
        assert_eq!(page("a\u{1b}[2Jb\r\u{9b}"), "a\\u{1b}[2Jb\\r\\u{9b}");
        let own = "a \u{1b}[31mbad\u{1b}[0m\n";
        assert_eq!(painted(own), own);
        assert_eq!(painted("\u{1b}[2J\u{202e}"), "\\u{1b}[2J\\u{202e}");
        assert_eq!(painted("\u{1b}[31mx\u{1b}]0;y\u{7}"), "\u{1b}[31mx\\u{1b}]0;y\\u{7}");
    }

    #[test]
    fn messages_have_lines_that_end() {
        assert_eq!(message("a\u{1b}\nb"), "a\\u{1b}\nb");
        assert_eq!(message(&"x".repeat(LONGEST_LINE + 9)).len(), LONGEST_LINE + 3);
    }

    #[test]
    fn json_means_the_same() {
        let value = serde_json::json!({ "a": "\u{202e}\u{9b}\u{1b}\n\u{7f}\u{e9}" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let clean = json(&text);
        assert!(!clean.chars().any(|sign| is_unseen(sign) && sign != '\n'), "{clean}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&clean).unwrap(), value);
    }
}
