//! Text tables: aligned columns if they fit, else one entry below the other.

use assay_core::exhibit::Column;

use super::layout::{clean, text_of, width_of, wrap};

/// Width needed to wrap a last column in place.
const LEAST_LAST: usize = 20;
/// Width needed to cut a last column.
const LEAST_CUT: usize = 16;

/// Columns from their headings; a leading `>` aligns a column to the right.
pub fn columns(titles: &[&str]) -> Vec<Column> {
    let column = |title: &&str| match title.strip_prefix('>') {
        Some(title) => Column::right(title),
        None => Column::left(*title),
    };
    titles.iter().map(column).collect()
}

/// A table of at most `width` columns, with a wrapped last column of words; if it does not fit, one entry per line.
pub fn table(columns: &[Column], rows: &[Vec<String>], width: usize) -> String {
    let lines = aligned(columns, rows, width, &|_, _, word| word.to_owned());
    let lines = lines.unwrap_or_else(|| stacked(columns, rows, width));
    text_of(&lines)
}

/// A table with one line per row, whose last cell is cut to fit. Without space for it, its full text is below the row.
pub fn one_line_each(columns: &[Column], mut rows: Vec<Vec<String>>, width: usize) -> String {
    let last = columns.len().saturating_sub(1);
    let mut room = width;
    for (index, column) in columns.iter().enumerate().take(last) {
        let cells = rows.iter().filter_map(|row| row.get(index)).chain([&column.title]);
        room = room.saturating_sub(cells.map(|cell| width_of(cell)).max().unwrap_or(0) + 2);
    }
    if room >= LEAST_CUT {
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(last)) {
            *cell = cut(cell, room);
        }
        return table(columns, &rows, width);
    }
    let others: Vec<_> = rows.iter().map(|row| row[..row.len().min(last)].to_vec()).collect();
    match aligned(&columns[..last], &others, width, &|_, _, word| word.to_owned()) {
        // The heading, and one line per row.
        Some(aligned) if aligned.len() == rows.len() + 1 => {
            let mut aligned = aligned.into_iter();
            let mut lines: Vec<String> = aligned.next().into_iter().collect();
            for (line, row) in aligned.zip(&rows) {
                lines.push(line);
                lines.extend(row.get(last).into_iter().flat_map(|cell| wrap(cell, "  ", 2, width)));
            }
            text_of(&lines)
        }
        _ => table(columns, &rows, width),
    }
}

const CUT: &str = "...";

/// Cuts a text at a word, so that it has `room` columns with its ellipsis.
pub fn cut(text: &str, room: usize) -> String {
    if width_of(text) <= room {
        return text.to_owned();
    }
    let short: String = text.chars().take(room.saturating_sub(CUT.len())).collect();
    let words = short.rfind([' ', ',']).map_or(short.as_str(), |end| &short[..end]);
    format!("{}{CUT}", words.trim_end_matches([' ', ',', ';', ':', '(']))
}

pub(super) type Paint<'a> = dyn Fn(usize, usize, &str) -> String + 'a;

/// The heading and the rows, wrapping only a last column of words; `None` if they do not fit. `paint` colors words.
pub(super) fn aligned(
    columns: &[Column],
    rows: &[Vec<String>],
    width: usize,
    paint: &Paint<'_>,
) -> Option<Vec<String>> {
    let rows: Vec<Vec<_>> =
        rows.iter().map(|row| row.iter().map(|it| clean(it)).collect()).collect();
    let cell_width = |index: usize| {
        let cells = rows.iter().filter_map(|row| row.get(index)).map(|cell| width_of(cell));
        cells.chain([width_of(&columns[index].title)]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(cell_width).collect();
    let (last, before) = widths.split_last()?;
    // Only a last column of words can be narrower than its cells, down to its longest word.
    let last_is_text = columns.last().is_some_and(|column| !column.is_right());
    let last_cells = rows.iter().filter_map(|row| row.get(before.len()));
    let word_widths = last_cells.flat_map(|cell| cell.split_whitespace()).map(width_of);
    let least = word_widths.fold(LEAST_LAST, usize::max);
    // Two blanks between columns, or one if only that fits.
    let (gap, last) = [2, 1].into_iter().find_map(|gap| {
        let room = width.checked_sub(before.iter().sum::<usize>() + gap * before.len())?;
        let fits = room >= *last || last_is_text && room >= least;
        fits.then_some((gap, (*last).min(room)))
    })?;
    let titles: Vec<String> = columns.iter().map(|column| column.title.clone()).collect();
    let mut lines = row_lines(columns, &titles, before, gap, last, &|_, word| word.to_owned());
    for (index, row) in rows.iter().enumerate() {
        let paint_cell = |column: usize, word: &str| paint(index, column, word);
        lines.extend(row_lines(columns, row, before, gap, last, &paint_cell));
    }
    Some(lines)
}

/// The lines of a row: several if its last cell is wrapped. `before` are the widths of all columns but the last.
fn row_lines(
    columns: &[Column],
    row: &[String],
    before: &[usize],
    gap: usize,
    last: usize,
    paint: &dyn Fn(usize, &str) -> String,
) -> Vec<String> {
    let mut begin = String::new();
    for (index, room) in before.iter().enumerate() {
        let cell = row.get(index).map_or("", String::as_str);
        begin.push_str(&padded(cell, *room, columns[index].is_right(), |word| paint(index, word)));
        begin.push_str(&" ".repeat(gap));
    }
    let indent = before.iter().sum::<usize>() + gap * before.len();
    let (index, cell) = (before.len(), row.get(before.len()).map_or("", String::as_str));
    if columns[index].is_right() || width_of(cell) <= last {
        begin.push_str(&padded(cell, last, columns[index].is_right(), |word| paint(index, word)));
        return vec![begin.trim_end().to_owned()];
    }
    let mut lines = wrap(cell, "", 0, last);
    for (index, line) in lines.iter_mut().enumerate() {
        let prefix = if index == 0 { begin.clone() } else { " ".repeat(indent) };
        line.insert_str(0, &prefix);
    }
    lines
}

fn padded(cell: &str, room: usize, right: bool, paint: impl Fn(&str) -> String) -> String {
    let blanks = " ".repeat(room.saturating_sub(width_of(cell)));
    let cell = if cell.is_empty() { String::new() } else { paint(cell) };
    if right { blanks + &cell } else { cell + &blanks }
}

/// Each row as its first cell, and below it one line per other cell.
fn stacked(columns: &[Column], rows: &[Vec<String>], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        for (index, (column, cell)) in columns.iter().zip(row).enumerate() {
            if index == 0 {
                lines.extend(wrap(cell, "", 2, width));
            } else if !cell.is_empty() {
                lines.extend(wrap(&format!("{}: {cell}", column.title), "  ", 4, width));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows() -> Vec<Vec<String>> {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        vec![
            row(["cached", "7", "the bytes came from memory, not from the device"]),
            row(["steal", "12", "short"]),
        ]
    }

    #[test]
    fn columns_are_aligned_where_they_fit() {
        assert_eq!(
            table(&columns(&["rule", ">n", "text"]), &rows(), 80),
            "rule     n  text\ncached   7  the bytes came from memory, not from the device\nsteal   12  short\n"
        );
    }

    #[test]
    fn a_last_column_of_words_is_wrapped() {
        assert_eq!(
            table(&columns(&["rule", ">n", "text"]), &rows(), 40),
            "rule     n  text\n\
             cached   7  the bytes came from memory,\n            not from the device\n\
             steal   12  short\n"
        );
    }

    #[test]
    fn entries_are_stacked_where_columns_do_not_fit() {
        assert_eq!(
            table(&columns(&["rule", ">n", "text"]), &rows(), 24),
            "cached\n  n: 7\n  text: the bytes came\n    from memory, not\n    from the device\n\
             steal\n  n: 12\n  text: short\n"
        );
    }

    proptest! {
        #[test]
        fn no_line_is_too_long_unless_one_word_is(
            rows in proptest::collection::vec(proptest::collection::vec("[a-z ]{0,30}", 3), 0..6),
            width in 10_usize..100,
        ) {
            let text = table(&columns(&["a", ">b", "c"]), &rows, width);
            for line in text.lines() {
                prop_assert!(width_of(line) <= width || !line.trim().contains(' '), "{line:?}");
            }
        }
    }
}
