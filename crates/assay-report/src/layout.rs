//! Line breaking.

/// A no-break space within a piece, such as `9.1 ms`, that stays on one line if it fits.
pub(super) const GLUE: char = '\u{a0}';

pub(super) fn width_of(text: &str) -> usize {
    text.chars().count()
}

pub(super) fn text_of(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}

pub(super) use assay_core::quantity::units::show::clean;

pub(super) fn glued(text: &str) -> String {
    text.replace(' ', &GLUE.to_string())
}

/// Units that stay on the line of their number.
const UNITS: [&str; 15] = [
    "%", "B", "KiB", "MiB", "GiB", "TiB", "KiB/s", "MiB/s", "GiB/s", "ns", "us", "ms", "s", "min",
    "h",
];

/// Joins numbers and their units with a character that wrapping does not break.
fn units_glued(text: &str) -> String {
    let mut glued = String::with_capacity(text.len());
    let mut last_word: Option<&str> = None;
    for word in text.split(' ') {
        if let Some(last_word) = last_word {
            let is_number = last_word.ends_with(|c: char| c.is_ascii_digit());
            let is_unit = UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']));
            glued.push(if is_number && is_unit { GLUE } else { ' ' });
        }
        glued.push_str(word);
        last_word = Some(word);
    }
    glued
}

/// Wraps a text to `width` columns: the first line begins with `first`, the others with `indent` spaces.
pub fn wrap(text: &str, first: &str, indent: usize, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = clean(first);
    let mut blank = "";
    for word in pieces(&units_glued(&clean(text)), width.saturating_sub(indent)) {
        if width_of(&line) + blank.len() + width_of(&word) > width {
            if !line.trim().is_empty() {
                lines.push(line.trim_end().to_owned());
            }
            // A word that fits the line but not after the indent gets a smaller one.
            line = " ".repeat(indent.min(width.saturating_sub(width_of(&word))));
            blank = "";
        }
        line.push_str(blank);
        line.push_str(&word);
        blank = " ";
    }
    lines.push(line.trim_end().to_owned());
    lines.into_iter().map(|line| line.replace(GLUE, " ")).collect()
}

/// Splits a text into words; a number and its unit stay together if they fit in `room` columns.
fn pieces(text: &str, room: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    for word in text.split([' ', '\t', '\n']).filter(|word| !word.is_empty()) {
        if width_of(word) <= room {
            pieces.push(word.to_owned());
        } else {
            pieces.extend(word.split(GLUE).filter(|part| !part.is_empty()).map(str::to_owned));
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_texts_get_a_hanging_indent() {
        assert_eq!(
            wrap("one two three four", "a: ", 4, 11),
            ["a: one two", "    three", "    four"]
        );
        assert_eq!(wrap("", "a:", 2, 10), ["a:"]);
    }

    #[test]
    fn glued_pieces_stay_together_while_there_is_room() {
        let text = format!("{}, {}", glued("p50 9.1 ms"), glued("p99 12 ms"));
        assert_eq!(wrap(&text, "  ", 2, 14), ["  p50 9.1 ms,", "  p99 12 ms"]);
        assert_eq!(wrap(&text, "", 0, 6), ["p50", "9.1", "ms,", "p99 12", "ms"]);
    }

    #[test]
    fn a_unit_stays_with_its_number() {
        assert_eq!(wrap("it moves 572 MiB/s.", "", 0, 14), ["it moves", "572 MiB/s."]);
        assert_eq!(wrap("a 95% CI", "", 0, 5), ["a 95%", "CI"]);
        assert_eq!(units_glued("no s here"), "no s here");
    }

    #[test]
    fn a_word_that_only_fits_without_the_indent_gets_less_of_it() {
        assert_eq!(wrap("it abcdefgh", "    ", 4, 10), ["    it", "  abcdefgh"]);
        assert_eq!(wrap("abcdefgh", "label: ", 4, 10), ["label:", "  abcdefgh"]);
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(wrap("a\u{1b}[2Jb", "", 0, 20), ["a?[2Jb"]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_long_unless_one_word_is(
            text in "[a-z \u{a0}]{0,80}",
            first in "[a-z]{0,6}",
            indent in 0_usize..6,
            width in 6_usize..60,
        ) {
            for line in wrap(&text, &first, indent, width) {
                let one_word = !line.trim().contains(' ');
                prop_assert!(width_of(&line) <= width || one_word, "{line:?}");
                if one_word && width_of(line.trim()) <= width {
                    prop_assert!(width_of(&line) <= width, "{line:?}");
                }
            }
        }

        #[test]
        fn no_word_is_lost(text in "[a-z ]{0,80}", width in 1_usize..40) {
            let lines = wrap(&text, "", 0, width).join(" ");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&lines), words(&text));
        }
    }
}
