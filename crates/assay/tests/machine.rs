//! The built program on real storage: loop devices, filesystems and control groups that these tests create and remove.
//! They need root and some programs; a test whose needs are not met skips and prints the reason (`assay_testkit::needs`).
//!
//! Tests that change settings of the machine, and those that need the storage to themselves, start with `turn::require`
//! and run one after the other. The others run next to them, so the names of both are mixed.

#![allow(clippy::disallowed_methods, reason = "these tests look at the real machine")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "logs show which studies ran; rows of docs/data are printed")]

#[path = "machine/advice.rs"]
mod advice;
#[path = "machine/block_latency.rs"]
mod block_latency;
#[path = "machine/burst.rs"]
mod burst;
#[path = "machine/capacity.rs"]
mod capacity;
#[path = "machine/clean.rs"]
mod clean;
#[path = "machine/cold.rs"]
mod cold;
#[path = "machine/commands.rs"]
mod commands;
#[path = "machine/consent.rs"]
mod consent;
#[path = "machine/devices.rs"]
mod devices;
#[path = "machine/endings.rs"]
mod endings;
#[path = "machine/factors.rs"]
mod factors;
#[path = "machine/filesystems.rs"]
mod filesystems;
#[path = "machine/findings.rs"]
mod findings;
#[path = "machine/fitness.rs"]
mod fitness;
#[path = "machine/fleet.rs"]
mod fleet;
#[path = "machine/full.rs"]
mod full;
#[path = "machine/impatience.rs"]
mod impatience;
#[path = "machine/interrupted.rs"]
mod interrupted;
#[path = "machine/laws.rs"]
mod laws;
#[path = "machine/live.rs"]
mod live;
#[path = "machine/locks.rs"]
mod locks;
#[path = "machine/memory.rs"]
mod memory;
#[path = "machine/most_load.rs"]
mod most_load;
#[path = "machine/network.rs"]
mod network;
#[path = "machine/open_loop.rs"]
mod open_loop;
#[path = "machine/operations.rs"]
mod operations;
#[path = "machine/pace.rs"]
mod pace;
#[path = "machine/places.rs"]
mod places;
#[path = "machine/polling.rs"]
mod polling;
#[path = "machine/presets.rs"]
mod presets;
#[path = "machine/probes.rs"]
mod probes;
#[path = "machine/refusals.rs"]
mod refusals;
#[path = "machine/replay.rs"]
mod replay;
#[path = "machine/rules.rs"]
mod rules;
#[path = "machine/shortages.rs"]
mod shortages;
#[path = "machine/slow_device.rs"]
mod slow_device;
#[path = "machine/slow_member.rs"]
mod slow_member;
#[path = "machine/starvation.rs"]
mod starvation;
#[path = "machine/studies.rs"]
mod studies;
#[path = "machine/trace.rs"]
mod trace;
#[path = "machine/tune.rs"]
mod tune;
#[path = "machine/turn.rs"]
mod turn;
#[path = "machine/verify.rs"]
mod verify;
#[path = "machine/watch.rs"]
mod watch;
