//! Statistics of Assay: pure functions, no I/O, no clock, no global random numbers.
//!
//! Rule numbers (R3, R4, R12) are those of the protocol; every public function names
//! its source and is tested against vectors in `tests/reference/`.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod interval;
pub mod order_statistics;

pub use interval::{GeometricMean, PairedRatio, geometric_mean, paired_ratio};
pub use order_statistics::{
    QuantileRanks, median, observations_needed, percentile_is_supported, quantile_ranks,
};
