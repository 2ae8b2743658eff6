//! What is told of a capacity, and of writing for long, beside their metrics.

use serde::{Deserialize, Serialize};

use crate::results::plan::Arm;
use crate::work::capacity::{Limit, Verdict};
use crate::work::sustained::Course;

/// What looks at what a target holds say: the gravest of them, where there are several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CapacityFacts {
    /// Workload.
    pub workload: String,
    /// Its arm.
    pub arm: Arm,
    /// What is said of the target.
    pub verdict: Verdict,
    /// What it says that it holds, or what a file system has free.
    pub claimed_bytes: u64,
    /// What it holds, where that is known: the number of its row, whatever single looks found.
    pub held_bytes: Option<u64>,
    /// The least and the most that several looks found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks_held_bytes: Option<[u64; 2]>,
    /// Its bound, with 95 %, where that comes from a sample; none of several looks that differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_ci95_bytes: Option<[u64; 2]>,
    /// Whether every block was looked at.
    pub full: bool,
    /// Whether it was looked at through a file in free space.
    pub in_free_space: bool,
    /// Blocks that were looked at.
    pub checked_blocks: u64,
    /// Those of them that were wrong before they were tried again.
    pub wrong_blocks: u64,
    /// Blocks that had been written twice.
    #[serde(default)]
    pub rewritten_blocks: u64,
    /// Those that were tried again, and those of them that were wrong again.
    pub again_blocks: [u64; 2],
    /// What a look that found nothing would have found.
    pub limit: Limit,
    /// The answer, in a sentence.
    pub text: String,
    /// What it would have missed, in sentences.
    pub limit_text: String,
    /// Why nothing is said where nothing was wrong: what may have answered for the medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_told: Option<String>,
}

/// What writing for long says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SustainedFacts {
    /// Workload.
    pub workload: String,
    /// Its arm.
    pub arm: Arm,
    /// The course of the rate.
    pub course: Course,
    /// It in a sentence.
    pub text: String,
}
