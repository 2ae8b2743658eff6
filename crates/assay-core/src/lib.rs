//! What Assay decides, and nothing that it touches: studies and their plans, kinds of work, factors,
//! probes, records, rules of trust, verdicts.
//!
//! The machine exists here as the trait [`system::System`] alone: this crate opens no file, reads no
//! clock and starts no process. Handles that a system opened are passed on to the engine.
//! `ARCHITECTURE.md` says which room a line belongs in.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod analysis;
pub mod articles;
pub mod calc;
pub mod catalogue;
pub mod collection;
pub mod digest;
pub mod draws;
pub mod exhibit;
pub mod factors;
pub mod failure;
pub mod findings;
pub mod importers;
pub mod lines;
pub mod outside;
pub mod plan;
pub mod presence;
pub mod probes;
pub mod quantity;
pub mod reference;
pub mod results;
pub mod study;
pub mod system;
pub mod truth;
pub mod work;
