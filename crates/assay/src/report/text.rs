//! A document as text. From 80 columns on it is a block of at most 80 columns to be pasted into a
//! forum; below that, entries stand one below the other. Nothing is cut.

use super::document::{Document, Row, Section};
use super::layout::{clean, glued, text_of, width_of, wrap};
use super::table::aligned;
use crate::results::findings::Trust;

/// A block is never wider, however wide the terminal is.
const WIDEST: usize = 80;

/// Below this width facts stand behind their name and not in a column.
const NARROW: usize = 60;

/// A document as text at a width; `colour` paints the words of trust.
pub fn render(document: &Document, width: usize, colour: bool) -> String {
    let page = Page { width: width.clamp(1, WIDEST), colour };
    let mut parts = vec![wrap_title(&document.title, page.width)];
    parts.push(page.facts(&document.facts));
    for section in &document.sections {
        let caption = section.caption.iter().flat_map(|text| wrap(text, "", 2, page.width));
        parts.push(caption.chain(page.facts(&section.facts)).collect());
        parts.push(page.table(section));
    }
    let legend = document.legend.iter().flat_map(|text| wrap(text, "", 0, page.width));
    parts.push(legend.collect());
    parts.push(page.remarks(document));
    let sentences = document.sentences.iter().flat_map(|text| wrap(text, "- ", 2, page.width));
    parts.push(sentences.collect());
    parts.retain(|lines| !lines.is_empty());
    parts.iter().map(|lines| text_of(lines)).collect::<Vec<_>>().join("\n")
}

/// The heading keeps its two blanks before the date where it fits.
fn wrap_title(title: &str, width: usize) -> Vec<String> {
    if width_of(title) <= width { vec![clean(title)] } else { wrap(title, "", 2, width) }
}

struct Page {
    width: usize,
    colour: bool,
}

impl Page {
    fn facts(&self, facts: &[(String, String)]) -> Vec<String> {
        let widest = facts.iter().map(|(name, _)| width_of(name)).max().unwrap_or(0);
        let line = |(name, value): &(String, String)| {
            if self.width < NARROW {
                wrap(&format!("{name}: {value}"), "", 2, self.width)
            } else {
                let begin = format!("{name:widest$}  ");
                wrap(value, &begin, widest + 2, self.width)
            }
        };
        facts.iter().flat_map(line).collect()
    }

    fn table(&self, section: &Section) -> Vec<String> {
        let rows: Vec<Vec<String>> = section
            .rows
            .iter()
            .filter(|row| row.cells.len() > 1)
            .map(|row| row.cells.clone())
            .collect();
        if rows.is_empty() {
            return section.rows.iter().flat_map(|row| self.absent(row)).collect();
        }
        match aligned(&section.columns, &rows, self.width) {
            // One line a row: the last column holds one word and never wraps.
            Some(lines) if lines.len() == rows.len() + 1 => self.columns(section, lines),
            _ => section.rows.iter().flat_map(|row| self.stacked(section, row)).collect(),
        }
    }

    /// Aligned lines with the notes of their rows between them.
    fn columns(&self, section: &Section, lines: Vec<String>) -> Vec<String> {
        let mut lines = lines.into_iter();
        let mut out: Vec<String> = lines.next().into_iter().collect();
        for row in &section.rows {
            if row.cells.len() < 2 {
                out.extend(self.absent(row));
                continue;
            }
            out.extend(lines.next().map(|line| self.painted(line, row)));
            out.extend(self.notes(row));
        }
        out
    }

    /// `random-write-q1  absent: the file is only read`.
    fn absent(&self, row: &Row) -> Vec<String> {
        let name = row.cells.first().map_or("", String::as_str);
        let reason = row.notes.join("; ");
        if self.width < NARROW {
            return wrap(&format!("{name} {reason}"), "", 2, self.width);
        }
        // Workload names of `check` are at most 16 columns wide.
        let begin = format!("{name:16}  ");
        let indent = width_of(&begin);
        wrap(&reason, &begin, indent, self.width)
    }

    fn notes(&self, row: &Row) -> Vec<String> {
        row.notes.iter().flat_map(|note| wrap(note, "  ", 2, self.width)).collect()
    }

    /// A row as a name with its numbers below it.
    fn stacked(&self, section: &Section, row: &Row) -> Vec<String> {
        if row.cells.len() < 2 {
            return self.absent(row);
        }
        let last = row.cells.len() - 1;
        let pairs: Vec<String> = section.columns[1..last]
            .iter()
            .zip(&row.cells[1..last])
            .filter(|(_, cell)| !cell.is_empty())
            .map(|(column, cell)| glued(&format!("{} {cell}", column.title)))
            .collect();
        let name = row.cells.first().map_or("", String::as_str);
        let mut lines = wrap(name, "", 2, self.width);
        lines.extend(wrap(&pairs.join(", "), "  ", 2, self.width));
        let trust = wrap(&row.cells[last], "  ", 2, self.width);
        lines.extend(trust.into_iter().map(|line| self.painted(line, row)));
        lines.extend(self.notes(row));
        lines
    }

    /// The line with its last word, the trust, in colour.
    fn painted(&self, line: String, row: &Row) -> String {
        let code = match row.trust {
            Some(Trust::Trusted) => 32,
            Some(Trust::Suspect) => 33,
            Some(Trust::Invalid) => 31,
            None => return line,
        };
        match line.rfind(' ').map(|blank| line.split_at(blank + 1)) {
            Some((begin, word)) if self.colour => format!("{begin}\u{1b}[{code}m{word}\u{1b}[0m"),
            _ => line,
        }
    }

    fn remarks(&self, document: &Document) -> Vec<String> {
        let remarks = document
            .remarks
            .iter()
            .map(|remark| format!("{}: {} [{}]", remark.rule, remark.text, remark.rows.join(", ")));
        let warnings = document.warnings.iter().map(|text| format!("note: {text}"));
        remarks.chain(warnings).flat_map(|text| wrap(&text, "", 2, self.width)).collect()
    }
}
