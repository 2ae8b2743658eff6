//! Assay: carefully controlled performance studies of storage and the machine around it.
//!
//! The product: its commands, the runner of studies, and the real machine. What is decided lies in
//! `assay_core`, what is shown in `assay_report`. `ARCHITECTURE.md` says which room a line belongs in.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod cli;
pub mod real;
pub mod runner;
pub mod store;
pub mod watch;
#[cfg(feature = "serve")]
pub mod web;
