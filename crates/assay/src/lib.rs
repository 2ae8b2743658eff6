//! Assay: carefully controlled performance studies of storage and the machine around it.
//!
//! One one-way pipeline of serialisable types: study -> survey -> plan -> trials -> findings ->
//! document. `ARCHITECTURE.md` says which room a line belongs in.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod analysis;
pub mod articles;
pub mod calc;
pub mod catalogue;
pub mod cli;
pub mod digest;
pub mod factors;
pub mod failure;
pub mod importers;
pub mod outside;
pub mod plan;
pub mod probes;
pub mod quantity;
pub mod report;
pub mod results;
pub mod runner;
pub mod seen;
pub mod shelf;
pub mod study;
pub mod system;
pub mod truth;
pub mod watch;
#[cfg(feature = "serve")]
pub mod web;
pub mod workloads;
