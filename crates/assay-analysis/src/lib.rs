//! From records to findings, by pure functions: the same records give the same bytes.
//!
//! It contains every trust rule ([`rules`], one per file) and every verdict with its sentence ([`inference`]);
//! importers of other tools' output files ([`import`]); claims of articles ([`articles`], [`beside`]) and the table of
//! many results ([`collection`]). Statistics without a study are in `assay_core::stats`, the layout of findings in
//! `assay-report`. `assay-study` defines the data of findings.
//!
//! Main types: [`rules::Rule`], [`inference::Analysis`], [`inference::StopReason`] (why a study may stop early),
//! [`inference::Foresight`] (what a study will be able to detect), and [`Findings`](assay_study::findings::Findings),
//! which [`inference::judge`] draws.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod articles;
pub mod beside;
pub mod collection;
pub mod import;
pub mod inference;
pub mod rules;
