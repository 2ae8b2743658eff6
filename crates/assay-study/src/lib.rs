//! A study as data: each step of the pipeline from file to findings is a type here.
//!
//! This crate contains the study file ([`file`]), the plan ([`plan`], a pure function), the records ([`results`], the
//! bundle) and the form of conclusions ([`findings`]). `assay-analysis` computes them; `assay_runner::run` runs a plan.
//!
//! Main types: [`file::Study`], [`results::plan::Plan`], [`results::record::Trial`],
//! [`findings::measurements::Measurements`], [`findings::Findings`].

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod file;
pub mod findings;
pub mod plan;
pub mod results;
