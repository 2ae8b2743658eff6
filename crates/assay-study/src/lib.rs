//! A study as data, from the file to what was found: each step of the pipeline is a type here.
//!
//! Here belongs what is asked ([`file`]), what is planned ([`plan`], a pure function), what was recorded
//! ([`results`], the bundle that keeps it) and the form of what is concluded ([`findings`]). How verdicts come
//! about does not: that is `assay-analysis`. Who runs a plan is `assay_runner::run`.
//!
//! The types to know: [`file::Study`], [`results::plan::Plan`], [`results::record::Trial`],
//! [`findings::measurements::Measurements`], [`findings::Findings`].

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod file;
pub mod findings;
pub mod plan;
pub mod results;
