//! Links the first use of each term on a page to its definition at the end of the page.

use maud::{Markup, PreEscaped, html};

use assay_core::catalogue::words::{WORDS, Word};

/// Elements with unchanged text: links, copied text, pictures, headings.
const CLOSED: [&str; 14] = [
    "a", "button", "code", "h1", "h2", "h3", "h4", "pre", "script", "style", "summary", "svg",
    "table", "title",
];

/// Links the first use of each glossary term in a body; also returns the glossary of used terms, `None` without any.
pub(super) fn linked(body: &Markup) -> (Markup, Option<Markup>) {
    let mut unused: Vec<&'static Word> = WORDS.iter().collect();
    let (mut linked, mut remaining) = (String::with_capacity(body.0.len() + 4096), body.0.as_str());
    let mut open_elements: Vec<&str> = Vec::new();
    // Copy tag by tag; only the text between tags gets links.
    while let Some(start) = remaining.find('<') {
        let (text, tagged) = remaining.split_at(start);
        let end = tagged.find('>').map_or(tagged.len(), |end| end + 1);
        let (tag, after) = tagged.split_at(end);
        if open_elements.is_empty() {
            link(text, &mut unused, &mut linked);
        } else {
            linked.push_str(text);
        }
        track_element(tag, &mut open_elements);
        linked.push_str(tag);
        remaining = after;
    }
    linked.push_str(remaining);
    let used: Vec<&Word> =
        WORDS.iter().filter(|word| !unused.iter().any(|it| std::ptr::eq(*it, *word))).collect();
    let section = (!used.is_empty()).then(|| meanings(&used));
    (PreEscaped(linked), section)
}

/// Updates `open_elements`, in whose text there are no links, by a start or end tag.
fn track_element<'a>(tag: &'a str, open_elements: &mut Vec<&'a str>) {
    let inner = tag.trim_start_matches('<').trim_end_matches('>');
    let name = inner.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap_or_default();
    if !CLOSED.contains(&name) {
        return;
    }
    if inner.starts_with('/') {
        if open_elements.last() == Some(&name) {
            open_elements.pop();
        }
    } else if !inner.ends_with('/') {
        open_elements.push(name);
    }
}

/// Writes a text, with a link on the first use of each remaining term.
fn link(text: &str, unused: &mut Vec<&'static Word>, linked: &mut String) {
    let mut remaining = text;
    while let Some((index, length, word)) = next_term(remaining, unused) {
        let (before, used) = remaining.split_at(index);
        let (used_form, after) = used.split_at(length);
        let anchor = word.anchor();
        linked.push_str(before);
        linked.push_str(&html! { a.word href={ "#word-" (anchor) } { (PreEscaped(used_form)) } }.0);
        unused.retain(|other| !std::ptr::eq(*other, word));
        remaining = after;
    }
    linked.push_str(remaining);
}

/// Position and length of the next term, the longest one at that position.
fn next_term(text: &str, unused: &[&'static Word]) -> Option<(usize, usize, &'static Word)> {
    let forms = unused.iter().flat_map(|word| word.all().map(move |form| (form, *word)));
    let forms = forms.filter_map(|(form, word)| Some((position_of(text, form)?, form.len(), word)));
    forms.min_by_key(|(at, length, _)| (*at, std::cmp::Reverse(*length)))
}

/// Position of a form of a term as a separate word; `None` if it only occurs within other words or numbers.
fn position_of(text: &str, form: &str) -> Option<usize> {
    text.match_indices(form).map(|(at, _)| at).find(|&at| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + form.len()..].chars();
        let is_joined = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
        let next = after.next();
        let is_decimal = next == Some('.') && after.next().is_some_and(|it| it.is_ascii_digit());
        !before.is_some_and(is_joined) && !next.is_some_and(is_joined) && !is_decimal
    })
}

fn meanings(used: &[&Word]) -> Markup {
    html! {
        section aria-labelledby="words-h" { details.section {
            summary { h2 id="words-h" { "Glossary" } }
            dl id="words" { @for word in used {
                dt id={ "word-" (word.anchor()) } { (word.about.name) }
                dd { (word.about.summary) ". " (word.about.text) }
            } }
        } }
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
