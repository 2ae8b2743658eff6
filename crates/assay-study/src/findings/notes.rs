//! Remarks on a comparison as data; other modules format them.

use serde::{Deserialize, Serialize};

use super::{Comparison, Trust, Verdict};
use crate::results::design::Order;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NoteSide {
    /// The baseline; for two results the earlier one.
    Baseline,
    /// The compared arm; for two results the later one.
    Arm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failures {
    pub failed: u64,
    pub started: u64,
}

/// A remark that limits the interpretation of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Note {
    /// The number of a side is suspect or invalid.
    Trust {
        of: NoteSide,
        trust: Trust,
    },
    /// The same of a number of another day or machine.
    TrustOfResult {
        of: NoteSide,
        trust: Trust,
    },
    Failed {
        arm: Failures,
        baseline: Failures,
        /// The side that fails more often, if significant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        more: Option<NoteSide>,
    },
    /// The study requests no verdict.
    RatioOnly {
        pairs: usize,
    },
    /// Not a primary metric.
    Secondary,
    /// An emulator ran one side: its times do not describe hardware.
    Emulated,
    /// The order of the trials leaves no verdict.
    NoOrder {
        order: Order,
    },
    /// The better direction of the metric is unknown.
    NoDirection {
        metric: String,
    },
    /// The clock's resolution is as coarse as the difference.
    CoarseClock {
        metric: String,
        /// Resolution in the unit of the metric.
        step: f64,
    },
    TooFew {
        pairs: usize,
    },
    /// Few pairs: the interval rests on an assumed distribution.
    Provisional {
        pairs: usize,
    },
    LeftOut {
        pairs: usize,
    },
    /// Zero or negative values allow no ratio.
    NoRatio {
        of: NoteSide,
        /// Number of such trials.
        trials: usize,
    },
    /// Trials far off on the bad side.
    FarOff {
        of: NoteSide,
        trials: usize,
        all: usize,
    },
    /// Omitting one of these replicates would change the verdict.
    Fragile {
        replicates: Vec<u32>,
    },
    /// Including the disturbed trials would change the verdict.
    Disturbed {
        verdict: Verdict,
    },
    /// The load of the sides differed and may explain the difference (rule `unequal-load`).
    UnequalLoad {
        /// The rate at which requests were served.
        metric: String,
        ratio: f64,
        /// Its interval, all comparisons of a workload at once.
        ci95_family: [f64; 2],
    },
    /// One arm affects the next trial: the ratio depends on which arm ran first.
    TwoOrders {
        /// Arm against baseline if the arm ran first: a ratio, or a difference.
        first: f64,
        /// The same if it ran second.
        second: f64,
        /// Replicates of each order.
        replicates: [usize; 2],
        /// p value of equal results in both orders.
        p: f64,
    },
    /// The sides had different queue depths although the study sets one.
    InFlight {
        arm: u32,
        baseline: u32,
    },
}

impl Note {
    pub fn is_of_the_verdict(&self) -> bool {
        matches!(self, Self::Fragile { .. } | Self::Disturbed { .. })
    }
}

impl Comparison {
    pub fn add(&mut self, note: Note, words: String) {
        self.note_facts.push(note);
        self.notes.push(words);
    }

    pub fn keep_notes(&mut self, wanted: impl Fn(&Note) -> bool) {
        let notes = std::mem::take(&mut self.note_facts);
        let texts = std::mem::take(&mut self.notes);
        for (note, text) in notes.into_iter().zip(texts).filter(|(note, _)| wanted(note)) {
            self.add(note, text);
        }
    }

    /// The remarks with their words; findings that were stored without the data have words alone.
    pub fn remarks(&self) -> impl Iterator<Item = (Option<&Note>, &String)> {
        self.notes.iter().enumerate().map(|(at, words)| (self.note_facts.get(at), words))
    }
}
