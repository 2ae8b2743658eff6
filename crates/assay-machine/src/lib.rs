//! The machine as a trait ([`system::System`]) with its fakes, what a study may change of it, and what it observes.
//!
//! Here belongs a factor (how a level is written, what it needs, how it is seen to have taken effect), the
//! layers that are built on a target, the guard that changes and puts back, and a probe with what it reads
//! and what is stored of it. What is measured does not (`assay-workloads`), nor whether an observation makes a
//! number doubtful (`assay-analysis`). Nothing here knows of studies, opens a file, reads
//! a clock or starts a process: the real machine is `assay_runner::real`.
//!
//! The types to know: [`factors::Factor`], [`factors::guard::Guard`], [`factors::layers::Layer`],
//! [`probes::Probe`], [`probes::Evidence`] (what was
//! observed around a trial).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod factors;
pub mod probes;
pub mod system;
