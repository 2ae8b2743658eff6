//! Assay: carefully controlled performance studies of storage and the machine around it.
//!
//! This crate has the commands and the stored results. `assay_runner` runs studies, the crates below decide,
//! `assay_report` presents. `ARCHITECTURE.md` says which room a line belongs in.
//!
//! This crate parses, calls and stores. It does not run trials, touch the machine, or contain rules, verdicts or
//! sentences about numbers.
//!
//! Main types: `cli::CommandLine` (a parsed line), `store::progress::StudyProgress` (a study observed while it runs),
//! `watch::sampler::Sampler` (current counters), `revisions::trees::Tree` (a built commit).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[macro_use]
extern crate assay_core;

pub mod cli;
pub mod revisions;
pub mod store;
pub mod watch;
