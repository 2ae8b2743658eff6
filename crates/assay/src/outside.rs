//! Text from outside is text: names and levels of results that others made, names of files, what
//! programs print. A terminal obeys some signs of it, a configuration file others.

use std::borrow::Cow;

/// Signs of a text from outside that are shown at most, in one piece.
const LONGEST: usize = 200;

/// Refuses a name that holds what a terminal or a configuration file would obey: line ends, escapes.
///
/// # Errors
/// In one line what it is that has such a name, with the signs spelled out.
pub fn plain(what: &str, name: &str) -> Result<(), String> {
    if !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(format!("{what} is called {}: names have no control characters", spelled(name)))
}

/// A text as it would be typed, with signs that cannot be seen spelled out and its end cut off.
pub fn spelled(text: &str) -> Cow<'_, str> {
    let short = text.chars().nth(LONGEST).is_none();
    if short && !text.chars().any(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    for sign in text.chars().take(LONGEST) {
        if is_unseen(sign) {
            out.extend(sign.escape_default());
        } else {
            out.push(sign);
        }
    }
    out.push_str(if short { "" } else { "..." });
    Cow::Owned(out)
}

/// Whether a sign does something other than being seen: control characters, and those that turn
/// the direction of what follows.
pub const fn is_unseen(sign: char) -> bool {
    sign.is_control()
        || matches!(
            sign,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
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
            assert!(told.starts_with("a level is called ") && !told.contains(char::is_control));
        }
        assert!(plain("a level", "a\nb").unwrap_err().contains("a\\nb"));
    }

    #[test]
    fn what_turns_the_direction_is_spelled_out_too_and_long_texts_end() {
        assert_eq!(spelled("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(spelled(&"x".repeat(LONGEST)).len(), LONGEST);
        assert_eq!(spelled(&"x".repeat(LONGEST + 1)).len(), LONGEST + 3);
    }
}
