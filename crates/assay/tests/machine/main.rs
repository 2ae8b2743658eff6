//! The built program on real storage: loop devices, filesystems and control groups that these tests create and remove.
//! They need root and some programs; a test whose needs are not met skips and prints the reason (`assay_testkit::needs`).
//!
//! Tests that change settings of the machine, and those that need the storage to themselves, start with `turn::require`
//! and run one after the other. The others run next to them, so the names of both are mixed.

#![allow(clippy::disallowed_methods, reason = "these tests look at the real machine")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]
#![allow(
    clippy::print_stdout,
    reason = "logs show which studies ran; rows of docs/data are printed"
)]

mod advice;
mod block_latency;
mod burst;
mod capacity;
mod clean;
mod cold;
mod commands;
mod consent;
mod devices;
mod endings;
mod factors;
mod filesystems;
mod findings;
mod fitness;
mod fleet;
mod full;
mod impatience;
mod interrupted;
mod laws;
mod live;
mod locks;
mod memory;
mod most_load;
mod network;
mod open_loop;
mod operations;
mod pace;
mod places;
mod polling;
mod presets;
mod probes;
mod refusals;
mod replay;
mod rules;
mod shortages;
mod slow_device;
mod slow_member;
mod starvation;
mod studies;
mod trace;
mod tune;
mod turn;
mod verify;
mod watch;
