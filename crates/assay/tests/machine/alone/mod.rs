//! Sequential tests: those that change settings of the machine (two such studies refuse each other), and those that
//! need no parallel test of this folder. Other work may still run.

mod advice;
mod burst;
mod clean;
mod cold;
mod factors;
mod fleet;
mod impatience;
mod interrupted;
mod live;
mod memory;
mod network;
mod presets;
mod slow_member;
mod starvation;
mod tune;
