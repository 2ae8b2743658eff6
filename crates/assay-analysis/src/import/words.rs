//! Words for messages: what was written, and what may have been meant.

pub(super) use assay_core::catalogue::nearest;

const SHOWN: usize = 40;
const NAMED: usize = 8;

/// A field as messages repeat it: short, and on one line.
pub(super) fn quoted(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    let mut shown: String = text.chars().take(SHOWN).map(plain).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}

/// What to do about a word that is none of the choices.
pub(super) fn advice<'a>(word: &str, choices: impl Iterator<Item = &'a str> + Clone) -> String {
    if let Some(choice) = nearest(word, choices.clone()) {
        return format!("did you mean `{}`?", quoted(choice));
    }
    let more = choices.clone().count().saturating_sub(NAMED);
    let named: Vec<_> = choices.take(NAMED).map(|choice| format!("`{}`", quoted(choice))).collect();
    let end = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("use {}{end}", named.join(", "))
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(names: impl IntoIterator<Item: AsRef<str>>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Digits with at most one point, a sign and an exponent: no words, no other separators.
pub(super) fn is_plain(text: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let body = unsigned(text);
    let (mantissa, exponent) = body.split_once(['e', 'E']).unwrap_or((body, "0"));
    let exponent = unsigned(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let counted = whole.len() + fraction.len() > 0 && !exponent.is_empty();
    counted && digits(whole) && digits(fraction) && digits(exponent)
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_far_word_is_answered_with_the_choices() {
        let levels = ["ext2", "ext4", "xfs"];
        assert_eq!(advice("zfs2000", levels.into_iter()), "use `ext2`, `ext4`, `xfs`");
        let many: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        assert!(advice("x", many.iter().map(String::as_str)).ends_with("`7` and 2 more"));
    }

    #[test]
    fn long_and_odd_fields_stay_on_one_line() {
        assert_eq!(quoted("a\nb\u{7}"), "a b ");
        assert_eq!(quoted(&"x".repeat(41)), format!("{}...", "x".repeat(40)));
    }
}
