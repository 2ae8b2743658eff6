//! The only door to the machine, as the trait [`system::System`], with three machines that are none: of
//! text, which only notes, and one that fails at the k-th call.
//!
//! Here belongs what is read of a machine and how it is changed and put back: devices, mounts, sites,
//! identities, consent, the journal. The real machine does not: it lies in `assay_runner::real`. Why something is
//! changed or watched belongs in `assay-machine`, and what is run on it in `assay-kinds`. This crate opens
//! no file, reads no clock and starts no process.
//!
//! The types to know: [`system::System`], [`system::Fake`], [`system::site::Site`],
//! [`system::identity::Consent`] and [`system::journal::Warrant`], without which nothing is changed.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod system;
