//! Words for messages: what was written, and what may have been meant.

/// Letters of a field that a message repeats.
const SHOWN: usize = 40;
/// Choices that a message names.
const NAMED: usize = 8;
/// Letters from which the beginning of a word stands for it.
const BEGINNING: usize = 3;

/// A field as messages repeat it: short, and on one line.
pub(super) fn shown(text: &str) -> String {
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    let mut shown: String = text.chars().take(SHOWN).map(plain).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}

/// The choice that is most like a word, if one is: a third of its letters may be wrong. Numbers are
/// like none: 12 is no slip for 16.
pub(super) fn nearest<'a>(
    word: &str,
    choices: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_lowercase();
    if word.parse::<f64>().is_ok() {
        return None;
    }
    let length = word.chars().count();
    let rated = choices.into_iter().filter_map(|choice| {
        let lower = choice.to_lowercase();
        let distance = strsim::damerau_levenshtein(&word, &lower);
        let longer = length.max(lower.chars().count());
        let begun = length >= BEGINNING && lower.starts_with(&word);
        let alike = begun || (distance <= longer.div_ceil(3) && distance < longer);
        alike.then_some((distance, choice))
    });
    // Of equals the first, so that the message does not depend on chance.
    rated.min_by_key(|(distance, _)| *distance).map(|(_, choice)| choice)
}

/// What to do about a word that is none of the choices.
pub(super) fn advice<'a>(word: &str, choices: impl Iterator<Item = &'a str> + Clone) -> String {
    if let Some(choice) = nearest(word, choices.clone()) {
        return format!("did you mean `{}`?", shown(choice));
    }
    let more = choices.clone().count().saturating_sub(NAMED);
    let named: Vec<String> =
        choices.take(NAMED).map(|choice| format!("`{}`", shown(choice))).collect();
    let end = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("there is {}{end}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_offered() {
        let levels = ["ext2", "ext4", "xfs"];
        assert_eq!(nearest("ext44", levels), Some("ext4"));
        assert_eq!(nearest("EXT4", levels), Some("ext4"));
        assert_eq!(nearest("btrfs", levels), None);
        assert_eq!(nearest("lat", ["iops", "latency_p99_ns"]), Some("latency_p99_ns"));
        assert_eq!(nearest("ok", ["workload", "metric"]), None);
        assert_eq!(nearest("12", ["1", "16"]), None);
        assert_eq!(advice("zfs2000", levels.into_iter()), "there is `ext2`, `ext4`, `xfs`");
        let many: Vec<String> = (0..10).map(|n| n.to_string()).collect();
        assert!(advice("x", many.iter().map(String::as_str)).ends_with("`7` and 2 more"));
    }

    #[test]
    fn long_and_odd_fields_stay_on_one_line() {
        assert_eq!(shown("a\nb\u{7}"), "a b ");
        assert_eq!(shown(&"x".repeat(41)), format!("{}...", "x".repeat(40)));
    }
}
