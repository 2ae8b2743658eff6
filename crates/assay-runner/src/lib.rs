//! Runs a study on the real machine: trial after trial, each one stored before the next, and all is put back.
//!
//! Here belongs what brings a machine into the state that a trial asks for, and the one place that touches files,
//! devices, processes and clocks: `real`. What is parsed, shown or served does not, nor what is decided: a rule, a
//! verdict or a sentence about numbers has no place here.
//!
//! [`fleet`] is what can be said of several hosts without a socket and without a clock.
//!
//! The types to know: `run::Request` (a study that is to run), `run::conductor::Conductor` (one that runs),
//! `run::bed::TestBed` (what its trials stand on), `run::Event` (what is told meanwhile), `real::Real` (the
//! machine).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod fleet;
pub mod real;
pub mod run;
pub mod vm;
