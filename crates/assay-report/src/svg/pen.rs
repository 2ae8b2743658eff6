//! Text, numbers and elements in SVG.

use super::theme::Theme;
use crate::xml::escaped;

pub(super) struct Pen {
    pub out: String,
    /// The theme of a file; `None` on a page, whose style sheet has the colors.
    pub theme: Option<Theme>,
    pub titles: bool,
}

impl Pen {
    /// `class="x"`; in a file also the color of that name, because viewers may ignore style sheets.
    pub fn paint(&self, class: &str, attribute: &str) -> String {
        format!("class=\"{class}\"{}", self.colour(attribute, class))
    }

    /// ` fill="#1b1f24"` in a file, empty on a page.
    pub fn colour(&self, attribute: &str, name: &str) -> String {
        let colour = self.theme.map(|theme| theme.colour(name));
        colour.map_or_else(String::new, |colour| format!(" {attribute}=\"{colour}\""))
    }

    pub fn add(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Draws a rectangle of left, top, width and height; `title` is its title unless empty.
    pub fn rect(&mut self, attributes: &str, rectangle: [f64; 4], title: &str) {
        let [x, y, wide, tall] = rectangle;
        let place = format!("x=\"{}\" y=\"{}\"", px(x), px(y));
        let size = format!("width=\"{}\" height=\"{}\"", px(wide.max(0.1)), px(tall.max(0.1)));
        self.add(&format!("<rect {attributes} {place} {size}{}", self.element_end("rect", title)));
    }

    pub fn path(&mut self, attributes: &str, path: &str, title: &str) {
        self.add(&format!("<path {attributes} d=\"{path}\"{}", self.element_end("path", title)));
    }

    /// The end of an element: with its title unless this is empty, or the medium has no titles.
    fn element_end(&self, element: &str, title: &str) -> String {
        if title.is_empty() || !self.titles {
            "/>".to_owned()
        } else {
            format!(">{}</{element}>", title_element(title))
        }
    }

    /// Writes a text; `anchor` is `start`, `middle` or `end`. A text wider than `room` is cut; its title is then complete.
    pub fn text(&mut self, place: [f64; 2], anchor: &str, attributes: &str, text: &str, room: f64) {
        let shown = shortened(text, room);
        let title = if shown == text { String::new() } else { title_element(text) };
        let anchor = match anchor {
            "start" => String::new(),
            anchor => format!(" text-anchor=\"{anchor}\""),
        };
        let ([x, y], shown) = (place.map(px), escaped(&shown));
        self.add(&format!("<text x=\"{x}\" y=\"{y}\"{anchor} {attributes}>{title}{shown}</text>"));
    }

    pub fn muted(&self) -> String {
        self.paint("muted", "fill")
    }
}

fn title_element(text: &str) -> String {
    format!("<title>{}</title>", escaped(text))
}

/// Width of a letter at 12 pixels in DejaVu Sans, a wide font: texts in other common fonts fit as well.
fn letter_width(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '\'' | '|' => 3.6,
        'I' | 't' | 'f' | 'r' | '.' | ',' | ':' | ';' | ' ' | '(' | ')' | '-' | '/' | '!' => 4.7,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 11.5,
        'A'..='Z' => 8.4,
        '=' | '+' | '<' | '>' | '~' | '#' => 10.0,
        _ if letter.is_ascii() => 7.5,
        '\u{2026}' => 12.0,
        _ if letter < '\u{1100}' => 8.0,
        _ => 13.0,
    }
}

/// Width of a text in pixels, an overestimate.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().map(letter_width).sum()
}

/// Breaks a text into lines of at most `room` pixels; a longer word has its own line.
pub(super) fn wrapped(text: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width_of(line) + width_of(" ") + width_of(word) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Replaces the middle of a text with an ellipsis if it is wider than `room` pixels or has 200 letters or more.
pub(super) fn shortened(text: &str, room: f64) -> String {
    const LONGEST: usize = 200;
    let first: Vec<char> = text.chars().take(LONGEST).collect();
    if first.len() < LONGEST && width_of(text) <= room {
        return text.to_owned();
    }
    let last: Vec<char> = text.chars().rev().take(LONGEST).collect();
    // Take letters from both ends in turn until the room is used up.
    let mut taken = 0;
    let mut width = letter_width('\u{2026}');
    while taken < first.len() {
        width += letter_width(if taken % 2 == 0 { first[taken / 2] } else { last[taken / 2] });
        if width > room {
            break;
        }
        taken += 1;
    }
    let begin: String = first[..taken.div_ceil(2)].iter().collect();
    let end: String = last[..taken / 2].iter().rev().collect();
    format!("{}\u{2026}{}", begin.trim_end(), end.trim_start())
}

/// A coordinate to a tenth of a pixel, in its shortest form.
pub(super) fn px(value: f64) -> String {
    let tenths = if value.is_finite() { (value * 10.0).round() as i64 } else { 0 };
    let sign = if tenths < 0 { "-" } else { "" };
    match (tenths.abs() / 10, tenths.abs() % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (whole, tenth) => format!("{sign}{whole}.{tenth}"),
    }
}

/// A line of a path: `M1 2L3 4`.
pub(super) fn segment(from: [f64; 2], to: [f64; 2]) -> String {
    let ([x1, y1], [x2, y2]) = (from.map(px), to.map(px));
    format!("M{x1} {y1}L{x2} {y2}")
}
