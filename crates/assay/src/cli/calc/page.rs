//! A calculation as a document, followed by text to copy.

use std::fmt::Write;

use serde::Serialize;

use super::super::output;
use assay_core::calc::CalcAnswer;
use assay_machine::system::System;
use assay_report::document::{Block, Document, Row, Section, Table};
use assay_report::{table, text};

pub struct CalcPage {
    document: Document,
    copied: Vec<(String, String)>,
}

impl CalcPage {
    pub fn new(title: impl Into<String>) -> Self {
        let document = Document { title: title.into(), sections: Vec::new() };
        Self { document, copied: Vec::new() }
    }

    fn add_block(&mut self, caption: Option<&str>, block: Block) {
        let caption = caption.map(str::to_owned);
        self.document.sections.push(Section { caption, blocks: vec![block], ..Section::default() });
    }

    pub fn facts(&mut self, facts: Vec<(&str, String)>) {
        let owned = facts.into_iter().map(|(name, value)| (name.to_owned(), value));
        self.add_block(None, Block::Facts(owned.collect()));
    }

    pub fn text(&mut self, texts: Vec<String>) {
        if !texts.is_empty() {
            self.add_block(None, Block::Text(texts));
        }
    }

    /// Adds a list with one item per sentence; nothing if there are none.
    pub fn list(&mut self, caption: &str, sentences: Vec<String>) {
        if !sentences.is_empty() {
            self.add_block(Some(caption), Block::List(sentences));
        }
    }

    /// Adds a table; a `>` before a title aligns its column to the right.
    pub fn table(&mut self, caption: &str, titles: &[&str], rows: Vec<Row>) {
        let columns = table::columns(titles);
        let table = Table { title: caption.to_owned(), columns, rows, notes: Vec::new() };
        self.document.sections.push(table.into());
    }

    /// Adds text to copy, printed under its name after the document without line breaks.
    pub fn copy(&mut self, name: &str, text: impl Into<String>) {
        self.copied.push((name.to_owned(), text.into()));
    }

    pub fn render<T: Serialize>(
        &self,
        system: &dyn System,
        json: bool,
        calculation: &'static str,
        result: &T,
    ) -> String {
        if json {
            let answer = CalcAnswer::new(calculation, result);
            return serde_json::to_string_pretty(&answer).unwrap_or_default();
        }
        self.rendered(output::columns(system), output::colour(system))
    }

    fn rendered(&self, columns: usize, colour: bool) -> String {
        let mut page = text::render(&self.document, columns, colour);
        for (name, copied) in &self.copied {
            let _ = write!(page, "\n# {name}\n{}\n", copied.trim_end());
        }
        page
    }
}

/// Formats a number with at most `digits` decimals, without trailing zeros.
pub fn decimal(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats bytes in powers of 1024, with the decimal amount if that is exact and short: `8.19 TiB (9 TB)`.
pub fn bytes(amount: u64) -> String {
    let short = assay_core::quantity::units::size(amount);
    let exact = assay_core::quantity::Bytes(amount).to_string();
    if exact == short || exact.len() > "1000 TB".len() {
        short
    } else {
        format!("{short} ({exact})")
    }
}
