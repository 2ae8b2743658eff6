//! Runs a study on the real machine: trial after trial, each stored before the next, and restores the machine.
//!
//! It contains the code that puts a machine into the state for a trial, and the only module that touches files,
//! devices, processes and clocks: `real`. [`fleet`] is the part of a multi-host study that needs none of them.
//!
//! Main types: `run::Request` (a study to run), `run::conductor::Conductor` (a running study), `run::bed::TestBed` (the
//! device stack of its trials), `run::Event` (progress), `real::Real` (the machine).

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod fleet;
pub mod real;
pub mod run;
pub mod vm;
