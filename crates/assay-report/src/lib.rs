//! Findings for readers: a document without a look of its own, and its renderers. Pure functions.
//!
//! Here belongs how findings and evidence look: documents, figures, tables, text, Markdown, pages. What is
//! concluded does not (`assay-analysis`), nor the sentences that tell it. Nothing is computed here that a finding does
//! not say.
//!
//! The types to know: [`Document`], [`document::Block`] (what a document is made of), `Figure` (data, which
//! [`svg`] draws), [`evidence::Evidence`] (what figures show beside findings), [`exporters::Exporter`].

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod aa_test;
pub mod articles;
pub mod collection;
pub mod document;
pub mod evidence;
pub mod exporters;
pub mod figures;
pub mod html;
mod layout;
pub mod markdown;
pub mod preview;
pub mod screen;
pub mod svg;
pub mod table;
#[cfg(test)]
mod tests;
pub mod text;
mod xml;

use assay_study::findings::Findings;

pub use document::Document;
pub use layout::wrap;

/// The findings as one pretty JSON document, `assay-findings/1`. Every number in it is finite: the
/// analysis makes no other, and JSON has no word for them.
pub fn json(findings: &Findings) -> String {
    // Findings hold nothing that JSON cannot say: maps have text keys and numbers are finite.
    serde_json::to_string_pretty(findings).unwrap_or_default()
}
