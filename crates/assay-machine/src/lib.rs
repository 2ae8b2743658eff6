//! The machine as a trait ([`system::System`]) with its fakes, its settings, and its observations.
//!
//! This crate contains factors (levels, requirements, checks), the layers on a target, the guard that changes and
//! restores, and the probes with their stored observations. `assay-workloads` contains the workloads, `assay-analysis`
//! the trust rules for observations. This crate does not depend on studies and does not open files, read clocks or
//! start processes: the real machine is `assay_runner::real`.
//!
//! Main types: [`factors::Factor`], [`factors::guard::Guard`], [`factors::layers::Layer`], [`probes::Probe`],
//! [`probes::Evidence`] (observations around a trial).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod factors;
pub mod probes;
pub mod system;
