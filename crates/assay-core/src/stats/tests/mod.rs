//! Every public function against vectors of an independent oracle (the first field of each file in `tests/reference`
//! names the source), and laws of the results.
//!
//! Tests named simulation repeat a simulation of the protocol; their random numbers are fixed.

#![allow(clippy::disallowed_methods, reason = "these tests read the source and its vectors")]

mod bucket;
mod common;
mod completeness;
mod drift;
mod effects;
mod equivalence;
mod exact;
mod intervals;
mod multiple;
mod outlier;
mod power;
mod race;
mod ratio;
mod sample;
mod session;
mod steady_state;
mod stopping;
mod verdict;
mod welch;
