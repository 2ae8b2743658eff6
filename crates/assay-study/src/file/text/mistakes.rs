//! Collects the errors of a study file with their places, to print all at once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;

use super::typed::{TypedWords, in_typed_words};

const MOST_SHOWN: usize = 50;
const WIDEST_SOURCE: usize = 96;
/// Maximum length of a printed message, which may quote the file.
const LONGEST_MESSAGE: usize = 300;

#[derive(Clone, Debug, Default)]
pub struct ValuePlace {
    pub key: Range<usize>,
    pub value: Range<usize>,
}

/// Places by path: `workload/0/io/block_size`.
#[derive(Debug, Default)]
pub struct ValuePlaces(BTreeMap<String, ValuePlace>);

impl ValuePlaces {
    pub fn insert(&mut self, path: &str, place: ValuePlace) {
        self.0.insert(path.to_owned(), place);
    }

    /// Returns the place of a path, or of the nearest path around it.
    pub fn find(&self, path: &str) -> ValuePlace {
        let mut path = path;
        loop {
            if let Some(place) = self.0.get(path) {
                return place.clone();
            }
            match path.rsplit_once('/') {
                Some((around, _)) => path = around,
                None => return ValuePlace::default(),
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mistake {
    path: String,
    span: Range<usize>,
    message: String,
    hint: Option<String>,
}

#[derive(Debug, Default)]
pub struct Mistakes {
    list: Vec<Mistake>,
    wrong: BTreeSet<String>,
}

impl Mistakes {
    /// Adds a mistake. A value in or around which there is one already is not judged again.
    pub fn add(
        &mut self,
        path: &str,
        span: Range<usize>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        if !self.is_wrong(path) {
            self.wrong.insert(path.to_owned());
            let (path, message) = (path.to_owned(), message.into());
            self.list.push(Mistake { path, span, message, hint });
        }
    }

    pub fn append(&mut self, mut other: Self) {
        self.list.append(&mut other.list);
        self.wrong.append(&mut other.wrong);
    }

    /// Returns whether the value of a path, or one around it, has a mistake.
    pub fn is_wrong(&self, path: &str) -> bool {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        ends.into_iter().any(|end| self.wrong.contains(&path[..end]))
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn render(self, name: &str, text: &str) -> String {
        self.list_in_order(|mistake| render_mistake(mistake, name, text))
    }

    /// Renders the mistakes by the options of the command line that caused them.
    pub fn by_option(self, study: &str, typed: &[TypedWords]) -> String {
        self.list_in_order(|mistake| {
            let hint = mistake.hint.as_deref();
            let (message, hint) =
                in_typed_words(&mistake.path, &mistake.message, hint, study, typed);
            let mut out = clean(&message, LONGEST_MESSAGE);
            add_hint(&mut out, hint.as_deref());
            out
        })
    }

    /// Lists the mistakes in the order of the file: the first [`MOST_SHOWN`], and their number.
    fn list_in_order(mut self, describe: impl Fn(&Mistake) -> String) -> String {
        self.list.sort_by_key(|mistake| (mistake.span.start, mistake.span.end));
        let shown: Vec<String> = self.list.iter().take(MOST_SHOWN).map(describe).collect();
        let mut out = shown.join("\n");
        match self.list.len() {
            0 | 1 => {}
            count if count > MOST_SHOWN => {
                let _ = write!(out, "\n{count} mistakes; the first {MOST_SHOWN} are shown");
            }
            count => {
                let _ = write!(out, "\n{count} mistakes");
            }
        }
        out
    }
}

/// Renders a mistake with its source line, a mark below the word, and the hint.
fn render_mistake(mistake: &Mistake, name: &str, text: &str) -> String {
    let start = char_boundary(text, mistake.span.start);
    let end = char_boundary(text, mistake.span.end.max(start));
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let line = text[..line_start].matches('\n').count() + 1;
    let column = text[line_start..start].chars().count() + 1;
    let mut out = format!("{name}:{line}:{column}: {}", clean(&mistake.message, LONGEST_MESSAGE));
    // A missing key has no line to print.
    if !mistake.span.is_empty() || line_start < start {
        let marked = text[start..end.min(line_end)].chars().count().max(1);
        let (source, before) = window(&text[line_start..line_end], column - 1, marked);
        let marked = marked.min(WIDEST_SOURCE.saturating_sub(before)).max(1);
        let _ = write!(out, "\n    {source}\n    {}{}", " ".repeat(before), "^".repeat(marked));
    }
    add_hint(&mut out, mistake.hint.as_deref());
    out
}

fn add_hint(out: &mut String, hint: Option<&str>) {
    if let Some(hint) = hint {
        let _ = write!(out, "\n    {}", clean(hint, LONGEST_MESSAGE));
    }
}

/// Returns the part of a line around the marked word, and the number of characters before the word.
fn window(line: &str, before: usize, marked: usize) -> (String, usize) {
    let letters: Vec<char> = clean(line, usize::MAX).chars().collect();
    let indent = letters.iter().take(before).take_while(|letter| **letter == ' ').count();
    let from = if before + marked > WIDEST_SOURCE + indent {
        // Shows some letters before the word, too.
        before.saturating_sub(WIDEST_SOURCE / 3)
    } else {
        indent
    };
    let shown: String = letters.iter().skip(from).take(WIDEST_SOURCE).collect();
    (shown.trim_end().to_owned(), before - from)
}

/// Replaces control characters by spaces, and cuts the text after `most` characters.
fn clean(text: &str, most: usize) -> String {
    let mut letters = text.chars();
    let mut out: String =
        letters.by_ref().take(most).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if letters.next().is_some() {
        out.push_str("...");
    }
    out
}

/// Returns the last character boundary up to a byte.
fn char_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, spans: &[(usize, usize)]) -> String {
        let mut mistakes = Mistakes::default();
        for (index, (start, end)) in spans.iter().enumerate() {
            mistakes.add(&index.to_string(), *start..*end, format!("mistake {index}"), None);
        }
        mistakes.render("f", text)
    }

    #[test]
    fn the_mark_stands_below_the_word() {
        assert_eq!(told("a = 1\n  b = x\n", &[(12, 13)]), "f:2:7: mistake 0\n    b = x\n        ^");
        assert_eq!(
            told("\u{e4} = \u{fc}\n", &[(5, 7)]),
            "f:1:5: mistake 0\n    \u{e4} = \u{fc}\n        ^"
        );
    }

    #[test]
    fn mistakes_stand_in_the_order_of_the_file_and_are_counted() {
        let text = told("a\nb\n", &[(2, 3), (0, 1)]);
        assert_eq!(
            text,
            "f:1:1: mistake 1\n    a\n    ^\nf:2:1: mistake 0\n    b\n    ^\n2 mistakes"
        );
    }

    #[test]
    fn what_cannot_be_pointed_at_breaks_nothing() {
        for span in [(0, 0), (3, 9), (99, 100), (1, 1)] {
            assert!(told("\u{20ac}\n", &[span]).starts_with("f:"));
        }
        let long = format!("x = \"{}\" # \u{1b}[31m", "y".repeat(500));
        let text = told(&long, &[(508, 510)]);
        assert!(text.lines().all(|line| line.chars().count() <= 102), "{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn a_place_is_judged_once() {
        let mut mistakes = Mistakes::default();
        mistakes.add("io", 0..1, "first", None);
        mistakes.add("io/block_size", 0..1, "second", None);
        mistakes.add("ios", 0..1, "third", None);
        assert!(mistakes.is_wrong("io/block_size") && !mistakes.is_wrong("i"));
        assert!(mistakes.render("f", "x").ends_with("2 mistakes"));
    }

    #[test]
    fn a_flood_is_cut() {
        let spans = [(0, 1); 60];
        assert!(told("x", &spans).ends_with("60 mistakes; the first 50 are shown"));
    }
}
