//! Renders findings: a document without layout, and its renderers. Pure functions.
//!
//! It only presents findings and evidence: conclusions and their sentences are in `assay-analysis`.
//!
//! Main types: [`Document`], [`document::Block`] (its parts), `Figure` (data, which [`svg`] draws),
//! [`evidence::Evidence`] (data of figures besides the findings), [`exporters::Exporter`].

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

/// The findings as one pretty JSON document, `assay-findings/1`. Every number in it is finite: the analysis produces no
/// other, and JSON cannot express them.
pub fn json(findings: &Findings) -> String {
    // Findings only contain what JSON can express: maps with text keys, finite numbers.
    serde_json::to_string_pretty(findings).unwrap_or_default()
}
