//! What is counted of reads and writes beside what all work measures.

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
    /// Nanoseconds during which new operations were submitted.
    pub submitting_ns: u64,
    /// The slowest operation in nanoseconds, ramp and drain included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<u64>,
    /// Whole seconds of the run in which no operation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still_s: Option<u32>,
    /// Operations looked at right after their submission returned.
    pub looked_at: u64,
    pub already_complete: u64,
    /// Of an open loop how far its schedule was held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// For the pattern `spaced`: service times in order, ten thousand at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sample_latencies_ns: Vec<u64>,
    /// Of what was watched with its requests recorded: what the recording comes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<Box<Recorded>>,
    /// Where what was written is verified: what is known of the order of the writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Written>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verified>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unverified: Option<String>,
}

impl IoDetail {
    /// Bytes inside the window, all classes.
    pub fn bytes(&self) -> u64 {
        self.classes.values().fold(0, |sum, count| sum.saturating_add(count.bytes))
    }
}

impl Counts for IoDetail {
    fn operations(&self) -> u64 {
        self.classes.values().fold(0, |sum, count| sum.saturating_add(count.operations))
    }
}
