//! Counters of reads and writes besides those of all work.

use std::collections::BTreeMap;

use assay_core::calc::requests::Recorded;
use assay_load::{Verified, Written};
use serde::{Deserialize, Serialize};

use super::Pace;
use crate::measured::{Count, Counts};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct IoDetail {
    /// By class (`read`, `write`, `rewrite`, `trim`, `zero`), inside the window.
    pub classes: BTreeMap<String, Count>,
    /// Time during which new operations were submitted, nanoseconds.
    pub submitting_ns: u64,
    /// The slowest operation in nanoseconds, including ramp and drain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<u64>,
    /// Whole seconds of the run without a completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still_s: Option<u32>,
    /// Operations checked right after their submission returned.
    pub looked_at: u64,
    pub already_complete: u64,
    /// Schedule deviations of an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// For the pattern `spaced`: service times in order, at most ten thousand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sample_latencies_ns: Vec<u64>,
    /// Totals of the recording, for observed work with recorded requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Box<Recorded>>,
    /// For verified work: the known order of its writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Written>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
}

impl IoDetail {
    pub fn bytes(&self) -> u64 {
        self.classes.values().fold(0, |sum, count| sum.saturating_add(count.bytes))
    }
}

impl Counts for IoDetail {
    fn operations(&self) -> u64 {
        self.classes.values().fold(0, |sum, count| sum.saturating_add(count.operations))
    }
}
