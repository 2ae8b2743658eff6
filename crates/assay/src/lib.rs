//! Assay: carefully controlled performance studies of storage and the machine around it.
//!
//! The product: its commands, and what is kept. What runs a study lies in
//! `assay_runner`, what is decided in the crates below that, what is shown in `assay_report`. `ARCHITECTURE.md` says
//! which room a line belongs in.
//!
//! Here belongs what parses, calls and keeps. What runs a trial or touches the machine does not, nor what is
//! decided: a rule, a verdict or a sentence about numbers has no place here.
//!
//! The types to know: `cli::CommandLine` (a line that was typed), `store::progress::StudyProgress` (a study that is looked at
//! while it runs), `watch::sampler::Sampler` (the counters of now),
//! `revisions::trees::Tree` (a commit that was built).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

#[macro_use]
extern crate assay_core;

pub mod cli;
pub mod revisions;
pub mod store;
pub mod watch;
