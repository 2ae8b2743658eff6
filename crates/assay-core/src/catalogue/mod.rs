//! Descriptions of registry entries. Assay generates help, reference pages and `assay list` from them.

pub mod keys;
pub mod words;

#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Name: lower case, words joined by `-`.
    pub name: &'static str,
    pub summary: &'static str,
    pub text: &'static str,
}

/// Minimum length of a prefix that matches a choice.
const BEGINNING: usize = 3;

/// Returns the choice most similar to a word, or `None` if more than a third of the letters differ. Numbers never
/// match: 12 is not a typo of 16.
pub fn nearest<'a>(word: &str, choices: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    if word.parse::<f64>().is_ok() {
        return None;
    }
    let length = word.chars().count();
    let similar = choices.into_iter().filter_map(|choice| {
        let lower = choice.to_lowercase();
        let distance = strsim::damerau_levenshtein(&word, &lower);
        let longer = length.max(lower.chars().count());
        let is_prefix = length >= BEGINNING && lower.starts_with(&word);
        let is_similar = is_prefix || (distance <= longer.div_ceil(3) && distance < longer);
        is_similar.then_some((distance, choice))
    });
    // The first of equals, so the message is deterministic.
    similar.min_by_key(|(distance, _)| *distance).map(|(_, choice)| choice)
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
    }
}
