//! Assay: carefully controlled performance studies of storage and the machine around it.
//!
//! The product: its commands, the runner of studies, and the real machine. What is decided lies in the
//! crates below it, what is shown in `assay_report`. `ARCHITECTURE.md` says which room a line belongs in.
//!
//! Here belongs what parses, runs, serves, keeps and touches. What is decided does not: a rule, a verdict or a
//! sentence about numbers has no place here.
//!
//! The types to know: `runner::start::Request` (a study that is to run), `runner::session::Session` (one that
//! runs), `runner::bed::TestBed` (what its trials stand on), `runner::event::Event` (what is told meanwhile),
//! `real::Real` (the machine).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod bisect;
pub mod cli;
pub mod real;
pub mod revisions;
pub mod runner;
pub mod store;
pub mod watch;
#[cfg(feature = "serve")]
pub mod web;
