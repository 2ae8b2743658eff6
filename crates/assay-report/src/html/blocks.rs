//! Parts of a document as markup.

use maud::{Markup, html};

use crate::document::{Block, Cell, Column, Remark, Row, Section, SectionRole, Table, Tone};
use assay_core::exhibit;

const MOST_REMARKS: usize = 12;
/// From this number of rows on, a table is folded: more than a screen.
const LONG: usize = 36;
/// Up to this number of rows, paper shows a folded table.
const ON_PAPER: usize = 200;

pub(super) fn section(section: &Section) -> Markup {
    with_heading(section, |caption| html! { h3 { (sentence(caption)) } })
}

/// The same for the first screen, one heading level up.
pub(super) fn leading_section(section: &Section) -> Markup {
    with_heading(section, |caption| html! { h2 { (sentence(caption)) } })
}

/// A section below its heading; details are folded, and shown on paper.
fn with_heading(section: &Section, heading: fn(&str) -> Markup) -> Markup {
    let caption = section.caption.as_deref();
    let name = caption.unwrap_or("numbers");
    let blocks = html! { @for block in &section.blocks { (self::block(block, name)) } };
    let heading = caption.map(heading);
    html! {
        section.part {
            @match (section.role, heading) {
                (SectionRole::Closer, Some(heading)) => details.paper { summary { (heading) } (blocks) },
                (_, heading) => { @if let Some(heading) = heading { (heading) } (blocks) }
            }
        }
    }
}

/// One block; `name` is the label of a table without a heading.
pub(super) fn block(block: &Block, name: &str) -> Markup {
    match block {
        Block::Facts(facts) => html! {
            dl { @for (name, value) in facts { div { dt { (name) } dd { (value) } } } }
        },
        Block::Text(texts) => html! { @for text in texts { p { (text) } } },
        Block::List(texts) => html! { ul { @for text in texts { li { (text) } } } },
        Block::Remarks(remarks) => html! {
            @if remarks.len() > MOST_REMARKS {
                details.paper { summary { (remarks.len()) " remarks" } (list(remarks)) }
            } @else if !remarks.is_empty() { (list(remarks)) }
        },
        Block::Table(table) => self::table(table, name),
    }
}

fn list(remarks: &[Remark]) -> Markup {
    html! { ul { @for entry in remarks { (remark(entry)) } } }
}

fn remark(remark: &Remark) -> Markup {
    html! {
        li {
            strong { (remark.rule) } ": " (remark.text)
            @if !remark.rows.is_empty() { " " small { "(" (remark.rows.join("; ")) ")" } }
        }
    }
}

pub(super) fn table(table: &Table, name: &str) -> Markup {
    if table.rows.len() <= LONG {
        return open_table(table, name);
    }
    html! {
        details class=[(table.rows.len() <= ON_PAPER).then_some("paper")] {
            summary { "Table: " (table.rows.len()) " rows" } (open_table(table, name))
        }
    }
}

fn open_table(table: &Table, name: &str) -> Markup {
    html! {
        div.scroll role="region" tabindex="0" aria-label={ "Table: " (name) } {
            table {
                caption.unseen { (name) }
                thead { tr { @for column in &table.columns { (heading(column)) } } }
                tbody { @for row in &table.rows { (self::row(&table.columns, row)) } }
            }
        }
    }
}

fn heading(column: &Column) -> Markup {
    // Without a space, a narrow page would show the title and no value.
    let is_long = column.title.split(' ').any(|word| word.len() > 14);
    let class = match (column.is_right(), is_long) {
        (false, false) => None,
        (true, false) => Some("n"),
        (false, true) => Some("long"),
        (true, true) => Some("n long"),
    };
    html! { th scope="col" class=[class] { (column.title) } }
}

fn row(columns: &[Column], row: &Row) -> Markup {
    if row.cells.is_empty() {
        let rest = columns.len().saturating_sub(1).max(1);
        return html! {
            tr { th scope="row" { (row.name) } td.absent colspan=(rest) { (row.notes.join("; ")) } }
        };
    }
    html! {
        tr {
            @for (index, (column, cell)) in columns.iter().zip(&row.cells).enumerate() {
                @if index == 0 {
                    th scope="row" class=[class(column, cell)] {
                        (cell.text(column.unit))
                        @if !row.notes.is_empty() { br; small { (row.notes.join("; ")) } }
                    }
                } @else { td class=[class(column, cell)] { (cell.text(column.unit)) } }
            }
        }
    }
}

fn class(column: &Column, cell: &Cell) -> Option<&'static str> {
    match cell.tone {
        Tone::Good if column.is_right() => Some("good n"),
        Tone::Doubtful if column.is_right() => Some("doubtful n"),
        Tone::Bad if column.is_right() => Some("bad n"),
        Tone::Good => Some("good"),
        Tone::Doubtful => Some("doubtful"),
        Tone::Bad => Some("bad"),
        Tone::Plain if column.is_right() => Some("n"),
        Tone::Plain if column.role == exhibit::Role::Text => Some("w"),
        Tone::Plain => None,
    }
}

/// The text with a capital first letter.
pub(super) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
