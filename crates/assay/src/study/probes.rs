//! Names of the probes, which stand above the study: those that a study may ask for.

/// Looks at every request of the target's devices by class; it costs some time of each of them.
pub const BLOCK_LATENCY: &str = "block-latency";

/// Tells energy; a study that names it rests first, to know what the idle machine uses.
pub const ENERGY: &str = "energy";

/// All of them.
pub const NAMES: &[&str] = &[
    "block-latency",
    "clock",
    "cpu",
    "disk",
    "drive-health",
    "energy",
    "kernel-log",
    "load",
    "members",
    "memory",
    "own-traffic",
    "page-cache",
    "power-supply",
    "pressure",
    "processors",
    "temperature",
];

/// The same as a list.
pub fn names() -> Vec<&'static str> {
    NAMES.to_vec()
}
