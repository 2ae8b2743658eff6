//! Collects all mistakes of a file and reports them together.

use assay_core::failure::{Failure, Outcome};

use super::words::quoted;

/// Mistakes to report in full; the rest are only counted.
const REPORTED: usize = 20;
/// Mistakes to store: a large broken file must not fill the memory.
const MOST_STORED: usize = 10_000;

#[derive(Clone, Copy, Debug)]
pub(super) struct Field<'a> {
    /// Starts at 1.
    pub line: usize,
    /// Starts at 1.
    pub column: usize,
    /// Name in the header; empty if it has none.
    pub name: &'a str,
    pub text: &'a str,
}

pub(super) struct Mistakes<'a> {
    file: &'a str,
    found: Vec<(usize, usize, String)>,
    count: usize,
}

impl<'a> Mistakes<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self { file, found: Vec::new(), count: 0 }
    }

    /// Reports a mistake in a field; beyond a limit, mistakes are only counted.
    pub(super) fn at(&mut self, cell: &Field<'_>, text: &str) {
        self.count += 1;
        if self.found.len() < MOST_STORED {
            let name = match cell.name {
                "" => String::new(),
                name => format!(" ({})", quoted(name)),
            };
            let (line, column) = (cell.line, cell.column);
            let text = format!("{}:{line}:{column}{name}: {text}", self.file);
            self.found.push((line, column, text));
        }
    }

    /// Returns the value of a field, or reports the mistake and returns `None`.
    pub(super) fn read<T>(&mut self, cell: &Field<'_>, read: Result<T, String>) -> Option<T> {
        read.map_err(|text| self.at(cell, &text)).ok()
    }

    pub(super) fn on(&mut self, line: usize, text: &str) {
        self.at(&Field { line, column: 1, name: "", text: "" }, text);
    }

    /// Fails with all mistakes, one per line, if there are any.
    pub(super) fn outcome(mut self) -> Outcome<()> {
        if self.count == 0 {
            return Ok(());
        }
        self.found.sort_by_key(|(line, column, _)| (*line, *column));
        let mut texts: Vec<String> =
            self.found.into_iter().take(REPORTED).map(|(_, _, text)| text).collect();
        if self.count > REPORTED {
            texts.push(format!("and {} more", self.count - REPORTED));
        }
        Err(Failure::mistake(texts.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(places: &[(usize, usize)]) -> String {
        let mut mistakes = Mistakes::new("t.csv");
        for (line, column) in places {
            let name = if *column == 1 { "" } else { "value" };
            let cell = Field { line: *line, column: *column, name, text: "x" };
            mistakes.at(&cell, "it is none");
        }
        mistakes.outcome().map_or_else(|failure| failure.message, |()| "nothing".to_owned())
    }

    #[test]
    fn mistakes_are_told_in_the_order_of_the_file() {
        assert_eq!(told(&[]), "nothing");
        let lines =
            "t.csv:1:1: it is none\nt.csv:1:9 (value): it is none\nt.csv:3:2 (value): it is none";
        assert_eq!(told(&[(3, 2), (1, 9), (1, 1)]), lines);
    }

    #[test]
    fn of_many_mistakes_the_first_are_told_and_the_others_counted() {
        let places: Vec<(usize, usize)> = (1..=REPORTED + 3).map(|line| (line, 1)).collect();
        let some = told(&places[..REPORTED]);
        assert!(some.lines().count() == REPORTED && !some.contains("more"), "{some}");
        let many = told(&places);
        assert!(many.ends_with("\nand 3 more") && many.lines().count() == REPORTED + 1, "{many}");
        // The number of stored mistakes is limited.
        let most: Vec<(usize, usize)> = (1..=MOST_STORED + 9).map(|line| (line, 1)).collect();
        assert!(told(&most).ends_with(&format!("and {} more", MOST_STORED + 9 - REPORTED)));
    }
}
