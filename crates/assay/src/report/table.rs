//! Plain tables for lists: columns as wide as they need to be, the widest wrapped, and one entry
//! under the other where even that does not fit.

/// A column.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    title: &'static str,
    right: bool,
}

/// Columns from titles; one that begins with `>` is set flush right.
pub fn columns(titles: &[&'static str]) -> Vec<Column> {
    titles
        .iter()
        .map(|title| Column { title: title.trim_start_matches('>'), right: title.starts_with('>') })
        .collect()
}

/// The least width that a wrapped column is left.
const NARROWEST: usize = 16;
const GAP: usize = 2;

/// Rows as text, at most `width` columns wide.
pub fn table(columns: &[Column], rows: &[Vec<String>], width: usize) -> String {
    match widths(columns, rows, width) {
        Some(widths) => side_by_side(columns, rows, &widths),
        None => stacked(columns, rows, width),
    }
}

/// Width of each column, or none where even wrapped columns do not fit.
fn widths(columns: &[Column], rows: &[Vec<String>], width: usize) -> Option<Vec<usize>> {
    let mut widths: Vec<usize> = (0..columns.len())
        .map(|index| {
            let cells = rows.iter().filter_map(|row| row.get(index)).map(|cell| length(cell));
            cells.chain([length(columns[index].title)]).max().unwrap_or(0)
        })
        .collect();
    loop {
        let total = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
        if total <= width {
            return Some(widths);
        }
        let widest = widths.iter_mut().max()?;
        let spare = total - width;
        if *widest <= NARROWEST {
            return None;
        }
        *widest = widest.saturating_sub(spare.min(4)).max(NARROWEST);
    }
}

fn side_by_side(columns: &[Column], rows: &[Vec<String>], widths: &[usize]) -> String {
    let titles: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&titles).chain(rows) {
        let cells: Vec<Vec<String>> =
            row.iter().zip(widths).map(|(cell, &width)| wrap(cell, width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let parts: Vec<String> = cells
                .iter()
                .zip(widths.iter().zip(columns))
                .map(|(cell, (&width, column))| {
                    let part = cell.get(line).map_or("", String::as_str);
                    if column.right { format!("{part:>width$}") } else { format!("{part:<width$}") }
                })
                .collect();
            text.push_str(parts.join(&" ".repeat(GAP)).trim_end());
            text.push('\n');
        }
    }
    text
}

fn stacked(columns: &[Column], rows: &[Vec<String>], width: usize) -> String {
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        for (cell, column) in row.iter().zip(columns) {
            for (line, part) in wrap(&format!("{}: {cell}", column.title), width.saturating_sub(2)).iter().enumerate() {
                let indent = if line == 0 { "" } else { "  " };
                text.push_str(&format!("{indent}{part}\n"));
            }
        }
    }
    text
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Text broken at spaces into lines of at most `width` columns; a longer word is broken anywhere.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let mut rest = word;
        loop {
            let last = lines.len() - 1;
            let line = &mut lines[last];
            let joint = usize::from(!line.is_empty());
            if length(line) + joint + length(rest) <= width {
                if joint == 1 {
                    line.push(' ');
                }
                line.push_str(rest);
                break;
            }
            if line.is_empty() {
                let cut = rest.char_indices().nth(width).map_or(rest.len(), |(index, _)| index);
                line.push_str(&rest[..cut]);
                rest = &rest[cut..];
                if rest.is_empty() {
                    break;
                }
            }
            lines.push(String::new());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_stand_flush_right() {
        let rows = vec![vec!["a".to_owned(), "1".to_owned()], vec!["b".to_owned(), "100".to_owned()]];
        assert_eq!(table(&columns(&["x", ">n"]), &rows, 40), "x    n\na    1\nb  100\n");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_asked(words in prop::collection::vec("[a-z]{1,30}", 1..20), width in 20_usize..80) {
            let rows = vec![vec![words.join(" "), words.concat()], vec![String::new(), "x".to_owned()]];
            for line in table(&columns(&["first", ">second"]), &rows, width).lines() {
                prop_assert!(line.chars().count() <= width, "{line}");
            }
        }

        #[test]
        fn wrapping_loses_nothing(text in "[a-z ]{0,200}", width in 1_usize..40) {
            let joined: String = wrap(&text, width).concat();
            let plain: String = text.split_whitespace().collect();
            prop_assert_eq!(joined.replace(' ', ""), plain);
        }
    }
}
