//! Everything that is wrong with a file, told at once.

use super::words::quoted;
use crate::failure::{Failure, Outcome};

/// Mistakes that are told; of the others, only how many there are.
const TOLD: usize = 20;
/// Mistakes that are kept, so that a large file that is wrong throughout does not fill the memory.
const KEPT: usize = 10_000;

/// One field with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell<'a> {
    /// Line from 1.
    pub line: usize,
    /// Number of the field from 1.
    pub column: usize,
    /// Its name in the header; empty where it has none.
    pub name: &'a str,
    /// What it holds.
    pub text: &'a str,
}

/// Mistakes in one file.
pub(super) struct Mistakes<'a> {
    file: &'a str,
    found: Vec<(usize, usize, String)>,
    count: usize,
}

impl<'a> Mistakes<'a> {
    pub(super) fn of(file: &'a str) -> Self {
        Self { file, found: Vec::new(), count: 0 }
    }

    /// What is wrong with a field, and what to do.
    pub(super) fn at(&mut self, cell: &Cell<'_>, text: &str) {
        self.count += 1;
        if self.found.len() < KEPT {
            let name = match cell.name {
                "" => String::new(),
                name => format!(" ({})", quoted(name)),
            };
            let (line, column) = (cell.line, cell.column);
            let text = format!("{}:{line}:{column}{name}: {text}", self.file);
            self.found.push((line, column, text));
        }
    }

    /// What is wrong with a line as a whole.
    pub(super) fn on(&mut self, line: usize, text: &str) {
        self.at(&Cell { line, column: 1, name: "", text: "" }, text);
    }

    /// A failure with all of them, a line each, unless there are none.
    pub(super) fn outcome(mut self) -> Outcome<()> {
        if self.count == 0 {
            return Ok(());
        }
        self.found.sort_by_key(|(line, column, _)| (*line, *column));
        let mut told: Vec<String> =
            self.found.into_iter().take(TOLD).map(|(_, _, text)| text).collect();
        if self.count > TOLD {
            told.push(format!("and {} more", self.count - TOLD));
        }
        Err(Failure::mistake(told.join("\n")))
    }
}
