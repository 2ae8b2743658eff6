//! The built program on real storage: loop devices, filesystems and control groups that these tests create and remove.
//! They need root and some programs; a test whose needs are not met skips and prints the reason (`assay_testkit::needs`).
//!
//! Tests below `alone` change settings of the machine and run one after the other (`turn::require`).

#![allow(clippy::disallowed_methods, reason = "these tests look at the real machine")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

#[path = "machine/alone/mod.rs"]
mod alone;
#[path = "machine/block_latency.rs"]
mod block_latency;
#[path = "machine/capacity.rs"]
mod capacity;
#[path = "machine/commands.rs"]
mod commands;
#[path = "machine/consent.rs"]
mod consent;
#[path = "machine/devices.rs"]
mod devices;
#[path = "machine/endings.rs"]
mod endings;
#[path = "machine/filesystems.rs"]
mod filesystems;
#[path = "machine/findings.rs"]
mod findings;
#[path = "machine/fitness.rs"]
mod fitness;
#[path = "machine/full.rs"]
mod full;
#[path = "machine/laws.rs"]
mod laws;
#[path = "machine/locks.rs"]
mod locks;
#[path = "machine/most_load.rs"]
mod most_load;
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
#[path = "machine/studies.rs"]
mod studies;
#[path = "machine/trace.rs"]
mod trace;
#[path = "machine/turn.rs"]
mod turn;
#[path = "machine/verify.rs"]
mod verify;
#[path = "machine/watch.rs"]
mod watch;
