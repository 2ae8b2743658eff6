//! A document as text of at most 80 columns. Tables that do not fit are written entry by entry; nothing is cut.

use super::document::{self, Block, Document, Remark, Row, Section, Table, Tone};
use super::layout::{clean, glued, text_of, width_of, wrap};
use super::table::aligned;
use assay_core::exhibit::{Column, NONE, Role, Unit};
use assay_study::findings::Findings;

/// Maximum width of a block, however wide the terminal is.
const WIDEST: usize = 80;
pub const FORUM_COLUMNS: usize = 46;
/// Forums turn this prefix into a link.
const WWW: &str = "www.";
/// Below this width, facts follow their name instead of a column.
pub(super) const NARROW: usize = 60;

/// A document as text at a width; `colour` colors verdicts.
pub fn render(document: &Document, width: usize, colour: bool) -> String {
    let page = TextPage::new(width, colour);
    let mut parts = vec![page.title(&document.title)];
    parts.extend(document.sections.iter().flat_map(|section| page.section(section)));
    joined(&parts)
}

/// The share for forums, without links: names in a result may be from strangers.
pub fn forum(findings: &Findings) -> String {
    let text = render(&document::forum(findings), FORUM_COLUMNS, false);
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        plain.push(letter);
        let next = letters.peek().copied().unwrap_or(' ');
        // A space breaks links such as https://x, javascript:x and [a](b).
        let is_scheme = letter == ':' && !next.is_whitespace() && !next.is_ascii_digit();
        if is_scheme || (letter == ']' && next == '(') {
            plain.push(' ');
        }
    }
    plain.replace(WWW, "www .")
}

/// The parts as text, separated by empty lines.
pub(super) fn joined(parts: &[Vec<String>]) -> String {
    let parts = parts.iter().filter(|lines| !lines.is_empty());
    parts.map(|lines| text_of(lines)).collect::<Vec<_>>().join("\n")
}

pub(super) struct TextPage {
    pub width: usize,
    colour: bool,
}

impl TextPage {
    pub fn new(width: usize, colour: bool) -> Self {
        Self { width: width.clamp(1, WIDEST), colour }
    }

    /// The heading has two spaces before the date if it fits.
    pub fn title(&self, title: &str) -> Vec<String> {
        if title.is_empty() {
            Vec::new()
        } else if width_of(title) <= self.width {
            vec![clean(title)]
        } else {
            wrap(title, "", 2, self.width)
        }
    }

    /// The parts of a section, separated by empty lines: a table alone, everything else directly below the heading.
    pub fn section(&self, section: &Section) -> Vec<Vec<String>> {
        let caption = section.caption.iter().flat_map(|text| wrap(text, "", 2, self.width));
        let mut parts = Vec::new();
        let mut part: Vec<String> = caption.collect();
        for block in &section.blocks {
            if matches!(block, Block::Table(_)) {
                parts.push(std::mem::take(&mut part));
            }
            part.extend(self.block(block));
            parts.push(std::mem::take(&mut part));
        }
        parts.push(part);
        parts.retain(|lines| !lines.is_empty());
        parts
    }

    fn block(&self, block: &Block) -> Vec<String> {
        match block {
            Block::Facts(facts) => self.facts(facts),
            Block::Text(texts) => self.wrapped(texts, "", 0),
            Block::List(sentences) => self.wrapped(sentences, "- ", 2),
            Block::Remarks(remarks) => {
                self.wrapped(&remarks.iter().map(remark).collect::<Vec<_>>(), "", 2)
            }
            Block::Table(table) => self.table(table),
        }
    }

    fn wrapped(&self, texts: &[String], first: &str, indent: usize) -> Vec<String> {
        texts.iter().flat_map(|text| wrap(text, first, indent, self.width)).collect()
    }

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

    /// The first form that fits: sentences, all columns, several parts, or each row as a stack of entries.
    fn table(&self, table: &Table) -> Vec<String> {
        let rows: Vec<&Row> = table.rows.iter().filter(|row| !row.cells.is_empty()).collect();
        if rows.is_empty() {
            return table.rows.iter().flat_map(|row| self.absent_lines(row)).collect();
        }
        if let Some(lines) = self.sentence_table(table, &rows) {
            return lines;
        }
        if let Some(lines) = self.all_columns(table, &rows) {
            return self.with_notes(table, lines);
        }
        if let Some(parts) = self.split_table(table, &rows) {
            let mut parts = parts.into_iter();
            let mut lines = self.with_notes(table, parts.next().unwrap_or_default());
            for part in parts {
                lines.push(String::new());
                lines.extend(part);
            }
            return lines;
        }
        table.rows.iter().flat_map(|row| self.stacked_row(table, row)).collect()
    }

    /// All columns of a table; `None` if they do not fit.
    fn all_columns(&self, table: &Table, rows: &[&Row]) -> Option<Vec<String>> {
        let indices: Vec<usize> = (0..table.columns.len()).collect();
        self.one_line_rows(table, rows, &indices)
    }

    pub fn has_room(&self, table: &Table) -> bool {
        let rows: Vec<&Row> = table.rows.iter().filter(|row| !row.cells.is_empty()).collect();
        self.all_columns(table, &rows).is_some()
    }

    /// A table whose last column has wrapped sentences; `None` for others, with notes, or if it does not fit.
    fn sentence_table(&self, table: &Table, rows: &[&Row]) -> Option<Vec<String>> {
        let role = table.columns.last().map(|column| column.role);
        let is_plain = rows.len() == table.rows.len() && rows.iter().all(|it| it.notes.is_empty());
        if role != Some(Role::Text) || !is_plain {
            return None;
        }
        let indices: Vec<usize> = (0..table.columns.len()).collect();
        self.chosen_columns(table, rows, &indices)
    }

    /// The columns with these indices; `None` if they do not fit.
    fn chosen_columns(
        &self,
        table: &Table,
        rows: &[&Row],
        chosen: &[usize],
    ) -> Option<Vec<String>> {
        let columns = &table.columns;
        let cell = |row: &Row, index: usize| {
            row.cells.get(index).map_or_else(String::new, |cell| cell.text(columns[index].unit))
        };
        let words: Vec<Vec<String>> =
            rows.iter().map(|row| chosen.iter().map(|index| cell(row, *index)).collect()).collect();
        let columns: Vec<Column> = chosen.iter().map(|index| columns[*index].clone()).collect();
        let paint = |row: usize, column: usize, word: &str| {
            let tone = rows[row].cells.get(chosen[column]).map_or(Tone::Plain, |cell| cell.tone);
            self.painted(word, tone)
        };
        aligned(&columns, &words, self.width, &paint)
    }

    /// The same with one line per row, without wrapping.
    fn one_line_rows(&self, table: &Table, rows: &[&Row], chosen: &[usize]) -> Option<Vec<String>> {
        self.chosen_columns(table, rows, chosen).filter(|lines| lines.len() == rows.len() + 1)
    }

    /// Splits a wide table into parts with the same keys; later ones omit empty rows. `None` if a part is too wide.
    fn split_table(&self, table: &Table, rows: &[&Row]) -> Option<Vec<Vec<String>>> {
        let columns = &table.columns;
        if self.width < NARROW || !columns.iter().any(|column| column.breaks) {
            return None;
        }
        let is_key = |index: &usize| *index == 0 || columns[*index].role == Role::Key;
        let keys: Vec<usize> = (0..columns.len()).filter(is_key).collect();
        // Columns that stay together: each group begins at a break.
        let mut groups: Vec<Vec<usize>> = vec![Vec::new()];
        for index in (0..columns.len()).filter(|index| !is_key(index)) {
            match groups.last_mut() {
                Some(group) if !columns[index].breaks || group.is_empty() => group.push(index),
                _ => groups.push(vec![index]),
            }
        }
        let mut parts: Vec<Vec<String>> = Vec::new();
        // The columns of the last part; as long as groups of columns fit, they join this part.
        let mut chosen = keys.clone();
        for group in groups {
            let longer: Vec<usize> = chosen.iter().chain(&group).copied().collect();
            let filled = if parts.len() > 1 {
                with_values(rows, &longer[keys.len()..])
            } else {
                rows.to_vec()
            };
            if let Some(lines) = self.one_line_rows(table, &filled, &longer) {
                // Replace the last part by the longer one.
                if chosen.len() > keys.len() {
                    parts.pop();
                }
                parts.push(lines);
                chosen = longer;
            } else {
                chosen = keys.iter().chain(&group).copied().collect();
                let filled = with_values(rows, &group);
                parts.push(self.one_line_rows(table, &filled, &chosen)?);
            }
        }
        Some(parts)
    }

    /// Inserts the notes below the rows; `lines` are the heading, and one line per row that is present.
    fn with_notes(&self, table: &Table, lines: Vec<String>) -> Vec<String> {
        let mut lines = lines.into_iter();
        let mut out: Vec<String> = lines.next().into_iter().collect();
        for row in &table.rows {
            if row.cells.is_empty() {
                out.extend(self.absent_lines(row));
                continue;
            }
            out.extend(lines.next());
            out.extend(self.wrapped(&row.notes, "  ", 2));
        }
        out
    }

    /// `random-write-q1  absent: the file is only read`.
    fn absent_lines(&self, row: &Row) -> Vec<String> {
        let (name, reason) = (&row.name, row.notes.join("; "));
        if self.width < NARROW {
            return wrap(&format!("{name} {reason}"), "", 2, self.width);
        }
        // Workload names of `check` are at most 16 columns wide.
        let begin = format!("{name:16}  ");
        let indent = width_of(&begin);
        wrap(&reason, &begin, indent, self.width)
    }

    /// A row as a name with its numbers below it, and one line per verdict.
    fn stacked_row(&self, table: &Table, row: &Row) -> Vec<String> {
        if row.cells.is_empty() {
            return self.absent_lines(row);
        }
        // Verdicts and the like have their own lines.
        let (mut numbers, mut separate) = (Vec::new(), Vec::new());
        for (column, cell) in table.columns.iter().zip(&row.cells).skip(1) {
            let text = cell.text(column.unit);
            if column.role == Role::Key || text.is_empty() {
                continue;
            }
            if column.is_alone() {
                separate.push((text, cell.tone));
            } else {
                numbers.push(glued(&format!("{} {text}", column.name)));
            }
        }
        let mut lines = wrap(&table.name_of(row), "", 2, self.width);
        if !numbers.is_empty() {
            lines.extend(wrap(&numbers.join(", "), "  ", 2, self.width));
        }
        for (text, tone) in separate {
            for line in wrap(&text, "  ", 2, self.width) {
                let word = line.trim_start();
                let indent = &line[..line.len() - word.len()];
                lines.push(format!("{indent}{}", self.painted(word, tone)));
            }
        }
        lines.extend(self.wrapped(&row.notes, "  ", 2));
        lines
    }

    fn painted(&self, word: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Good => 32,
            Tone::Doubtful => 33,
            Tone::Bad => 31,
            Tone::Plain => return word.to_owned(),
        };
        if self.colour { format!("\u{1b}[{code}m{word}\u{1b}[0m") } else { word.to_owned() }
    }
}

/// `steal: the hypervisor gave up to 4% of the time to others [sync-write]`.
fn remark(remark: &Remark) -> String {
    let rows = remark.rows.join(", ");
    let rows = if rows.is_empty() { rows } else { format!(" [{rows}]") };
    format!("{}: {}{rows}", remark.rule, remark.text)
}

/// The rows with a value in one of these columns.
fn with_values<'a>(rows: &[&'a Row], columns: &[usize]) -> Vec<&'a Row> {
    let has_value = |row: &Row| {
        let mut cells = columns.iter().filter_map(|index| row.cells.get(*index));
        cells.any(|cell| cell.text(Unit::Words) != NONE)
    };
    rows.iter().copied().filter(|row| has_value(row)).collect()
}
