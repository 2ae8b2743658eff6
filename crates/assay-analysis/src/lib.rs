//! From records to findings, by pure functions: the same records give the same bytes.
//!
//! Here belongs every rule of trust ([`rules`], one a file) and every verdict with the sentence that tells it
//! ([`inference`]); output files of other tools as measurements ([`import`]); claims of articles ([`articles`],
//! [`beside`]) and the table of many results ([`collection`]). Statistics without a study do not (`assay_core::stats`),
//! nor how findings look on a page (`assay-report`). The form of findings is data of `assay-study`.
//!
//! The types to know: [`rules::Rule`], [`inference::Analysis`], [`inference::Enough`] (whether more trials are needed),
//! [`inference::Foresight`] (what a study will be able to see), and [`Findings`](assay_study::findings::Findings),
//! which [`inference::judge`] draws.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod articles;
pub mod beside;
pub mod collection;
pub mod import;
pub mod inference;
pub mod rules;
