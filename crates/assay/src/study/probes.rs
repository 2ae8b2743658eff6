//! Names of the probes, which stand above the study: those that a study may ask for.

/// Looks at every request of the target's devices by class; it costs some time of each of them.
pub const BLOCK_LATENCY: &str = "block-latency";

/// All of them.
pub const NAMES: &[&str] =
    &["block-latency", "cpu", "disk", "members", "own-traffic", "page-cache", "processors"];

/// The same as a list.
pub fn names() -> Vec<&'static str> {
    NAMES.to_vec()
}
