//! Levels from the names of files: `{scheduler}-qd{depth}-*.json`.

use assay_core::failure::{Failure, Outcome};
use assay_study::results::plan::Arm;

enum PatternPart<'p> {
    Plain(&'p str),
    Any,
    Level(&'p str),
}

/// Returns the levels that a name has at the wildcards of a pattern; `None` if the name does not match.
pub fn levels(pattern: &str, name: &str) -> Outcome<Option<Arm>> {
    let parts = parts(pattern)?;
    Ok(match_parts(&parts, name).map(|found| {
        found.into_iter().map(|(name, level)| (name.to_owned(), level.to_owned())).collect()
    }))
}

/// Splits a pattern at its placeholders; fails without a level, or if two placeholders are adjacent.
fn parts(pattern: &str) -> Outcome<Vec<PatternPart<'_>>> {
    let wrong = |what: &str| Failure::mistake(format!("--filename-pattern {pattern}: {what}"));
    let mut parts = Vec::new();
    let mut rest = pattern;
    let mut follows_placeholder = false;
    let mut has_level = false;
    while !rest.is_empty() {
        let end = rest.find(['{', '*']).unwrap_or(rest.len());
        if end > 0 {
            parts.push(PatternPart::Plain(&rest[..end]));
            rest = &rest[end..];
            follows_placeholder = false;
            continue;
        }
        if follows_placeholder {
            return Err(wrong("two placeholders are adjacent; put a letter between them"));
        }
        follows_placeholder = true;
        if let Some(after) = rest.strip_prefix('*') {
            parts.push(PatternPart::Any);
            rest = after;
        } else {
            let inner = rest[1..].split_once('}').filter(|(name, _)| !name.is_empty());
            let (name, after) = inner.ok_or_else(|| wrong("write {NAME} for a level"))?;
            parts.push(PatternPart::Level(name));
            has_level = true;
            rest = after;
        }
    }
    if !has_level {
        return Err(wrong("it has no level; write {NAME} in place of a level"));
    }
    Ok(parts)
}

/// Names and texts of the levels if the parts match. A wildcard matches as little as possible; a level needs a letter.
fn match_parts<'p>(parts: &[PatternPart<'p>], text: &'p str) -> Option<Vec<(&'p str, &'p str)>> {
    let Some((first, rest)) = parts.split_first() else { return text.is_empty().then(Vec::new) };
    let least = match first {
        PatternPart::Plain(plain) => return match_parts(rest, text.strip_prefix(plain)?),
        PatternPart::Any => 0,
        PatternPart::Level(_) => 1,
    };
    // Two wildcards are never adjacent, so a fixed part or the end follows.
    let ends =
        text.char_indices().map(|(at, _)| at).chain([text.len()]).filter(|end| *end >= least);
    for end in ends {
        let may_end_here = match rest.first() {
            Some(PatternPart::Plain(plain)) => text[end..].starts_with(plain),
            _ => end == text.len(),
        };
        if may_end_here && let Some(mut found) = match_parts(rest, &text[end..]) {
            if let PatternPart::Level(name) = first {
                found.insert(0, (name, &text[..end]));
            }
            return Some(found);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(pattern: &str, name: &str) -> Option<String> {
        let found = levels(pattern, name).unwrap()?;
        let words: Vec<_> = found.iter().map(|(name, level)| format!("{name}={level} ")).collect();
        Some(words.concat())
    }

    #[test]
    fn names_are_taken_apart() {
        assert_eq!(
            told("{s}-qd{d}-*.json", "mq-deadline-qd8-2.json").unwrap(),
            "d=8 s=mq-deadline "
        );
        assert_eq!(told("{s}.json", "none.json").unwrap(), "s=none ");
        assert_eq!(told("{s}-qd{d}.json", "none.json"), None);
        assert_eq!(told("{s}.json", ".json"), None);
    }

    #[test]
    fn a_pattern_without_a_level_is_none() {
        for pattern in ["*.json", "a", "{}x", "{a", "{a}{b}", "{a}*"] {
            assert!(levels(pattern, "x").is_err(), "{pattern}");
        }
    }
}
