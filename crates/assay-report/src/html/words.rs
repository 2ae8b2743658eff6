//! Links the first use of each term on a page to its definition at the end of the page.

use maud::{Markup, PreEscaped, html};

use assay_core::catalogue::words::{WORDS, Word};

/// Elements with unchanged text: links, copied text, pictures, headings.
const CLOSED: [&str; 14] = [
    "a", "button", "code", "h1", "h2", "h3", "h4", "pre", "script", "style", "summary", "svg",
    "table", "title",
];

/// A body with links, and the section with definitions; `None` if no term was used.
pub(super) fn linked(body: &Markup) -> (Markup, Option<Markup>) {
    let mut left: Vec<&'static Word> = WORDS.iter().collect();
    let (mut done, mut rest) = (String::with_capacity(body.0.len() + 4096), body.0.as_str());
    let mut closed: Vec<&str> = Vec::new();
    while let Some(start) = rest.find('<') {
        let (text, tagged) = rest.split_at(start);
        let end = tagged.find('>').map_or(tagged.len(), |end| end + 1);
        let (tag, after) = tagged.split_at(end);
        if closed.is_empty() {
            link(text, &mut left, &mut done);
        } else {
            done.push_str(text);
        }
        follow(tag, &mut closed);
        done.push_str(tag);
        rest = after;
    }
    done.push_str(rest);
    let used: Vec<&Word> =
        WORDS.iter().filter(|word| !left.iter().any(|one| std::ptr::eq(*one, *word))).collect();
    let section = (!used.is_empty()).then(|| meanings(&used));
    (PreEscaped(done), section)
}

fn follow<'a>(tag: &'a str, closed: &mut Vec<&'a str>) {
    let inner = tag.trim_start_matches('<').trim_end_matches('>');
    let name = inner.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap_or_default();
    if !CLOSED.contains(&name) {
        return;
    }
    if inner.starts_with('/') {
        if closed.last() == Some(&name) {
            closed.pop();
        }
    } else if !inner.ends_with('/') {
        closed.push(name);
    }
}

/// Writes a text, with a link on the first use of each remaining term.
fn link(text: &str, left: &mut Vec<&'static Word>, done: &mut String) {
    let mut rest = text;
    while let Some((at, length, word)) = first(rest, left) {
        let (before, from) = rest.split_at(at);
        let (own, after) = from.split_at(length);
        let anchor = word.anchor();
        done.push_str(before);
        done.push_str(&html! { a.word href={ "#word-" (anchor) } { (PreEscaped(own)) } }.0);
        left.retain(|one| !std::ptr::eq(*one, word));
        rest = after;
    }
    done.push_str(rest);
}

/// Position and length of the next term, the longest one at that position.
fn first(text: &str, left: &[&'static Word]) -> Option<(usize, usize, &'static Word)> {
    let found = left.iter().flat_map(|word| word.all().map(move |form| (form, *word)));
    let found = found.filter_map(|(form, word)| Some((whole(text, form)?, form.len(), word)));
    found.min_by_key(|(at, length, _)| (*at, std::cmp::Reverse(*length)))
}

/// Position of a form as a separate word.
fn whole(text: &str, form: &str) -> Option<usize> {
    text.match_indices(form).map(|(at, _)| at).find(|&at| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + form.len()..].chars();
        let joins = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
        let next = after.next();
        let number = next == Some('.') && after.next().is_some_and(|one| one.is_ascii_digit());
        !before.is_some_and(joins) && !next.is_some_and(joins) && !number
    })
}

fn meanings(used: &[&Word]) -> Markup {
    html! {
        section aria-labelledby="words-h" {
            details.section {
                summary { h2 id="words-h" { "Glossary" } }
                dl id="words" {
                    @for word in used {
                        dt id={ "word-" (word.anchor()) } { (word.about.name) }
                        dd { (word.about.summary) ". " (word.about.text) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_use_of_a_word_is_linked_and_no_other() {
        let body = html! {
            h1 { "The baseline" }
            p { "A baseline, its p99.9 and a baseline; sub-area, areas." }
            pre { "IOPS" }
        };
        let (done, section) = linked(&body);
        assert_eq!(done.0.matches("<a class").count(), 2, "{}", done.0);
        assert!(done.0.contains("A <a class=\"word\" href=\"#word-baseline\">baseline</a>, its"));
        assert!(done.0.contains(">p99.9</a> and a baseline;"), "{}", done.0);
        let section = section.unwrap().0;
        assert!(
            section.contains("id=\"word-baseline\"") && section.contains("id=\"word-percentile\"")
        );
        assert!(!section.contains("word-iops"), "{section}");
        assert!(linked(&html! { p { "nothing" } }).1.is_none());
    }

    #[test]
    fn what_was_escaped_stays_so() {
        let (done, _) = linked(&html! { p title="baseline" { "<b> baseline" } });
        assert!(done.0.starts_with("<p title=\"baseline\">&lt;b&gt; <a class"), "{}", done.0);
    }
}
