//! From records to findings, by pure functions: the same records give the same bytes.
//!
//! Here belongs every rule of trust ([`truth`], one a file) and every verdict with the sentence that tells it
//! ([`analysis`]); output files of other tools as measurements ([`importers`]); claims of articles ([`articles`],
//! [`beside`]) and the table of many results ([`collection`]). Statistics without a study do not (`assay_core::stats`), nor how findings look on a page
//! (`assay-report`). The form of findings is data of `assay-study`.
//!
//! The types to know: [`truth::Rule`], [`analysis::Analysis`], [`analysis::Enough`] (whether more trials are
//! needed), [`analysis::Foresight`] (what a study will be able to see), and
//! [`Findings`](assay_study::findings::Findings), which [`analysis::judge`] draws.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod analysis;
pub mod articles;
pub mod beside;
pub mod collection;
pub mod importers;
pub mod truth;
