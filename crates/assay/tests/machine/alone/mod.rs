//! One test after the other: what changes settings of the machine (two studies that do refuse each other), and
//! what expects no other test of this folder beside it. Work of others may go on all the same.

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
