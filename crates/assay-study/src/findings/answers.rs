//! Answers to the claims that a study asked about, and a card's row of the flash table: parts of
//! the findings.

use serde::{Deserialize, Serialize};

use super::Trust;
use super::fitness::Fitness;
use super::gate::GateAnswer;
use super::most_load::MostLoad;
use crate::results::plan::is_false;

/// Answers to all questions of a study: those of the gate first, those of the requirements last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answers {
    /// Result of the gate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateAnswer>,
    /// Whether the target meets the requirements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<Fitness>,
    /// One answer per question.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "answers")]
    pub all: Vec<Answer>,
}

/// What the numbers say of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// The question in words.
    pub ask: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    /// The answer in one sentence.
    pub answer: String,
    /// What becomes of the claim.
    pub verdict: Claim,
    /// What it rests on, case by case.
    pub reasons: Vec<String>,
    /// Ids of comparisons of the same arms.
    pub evidence: Vec<String>,
    /// Where it is asked how much load there can be: the rates, and what became of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<MostLoad>,
}

/// What becomes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Claim {
    /// The numbers show it, in every case that it is about.
    #[serde(rename = "supported")]
    Supported,
    /// The numbers show that it does not hold, in one case at least.
    #[serde(rename = "contradicted")]
    Contradicted,
    /// The numbers do not tell.
    #[serde(rename = "not-shown")]
    NotShown,
    /// Nothing was measured that could tell.
    #[serde(rename = "no-data")]
    NoData,
}

impl Claim {
    /// All, in the order in which they are counted.
    pub const ALL: [Self; 4] = [Self::Supported, Self::Contradicted, Self::NotShown, Self::NoData];

    pub fn word(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Contradicted => "contradicted",
            Self::NotShown => "not shown",
            Self::NoData => "no data",
        }
    }
}

/// A card's row of the flash table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CardRow {
    pub device: String,
    /// Bytes of it, as printed on it or as the kernel says.
    pub capacity_bytes: Option<u64>,
    /// Linear reading, bytes per second.
    pub sequential_read: Option<CardNumber>,
    /// Linear writing, bytes per second.
    pub sequential_write: Option<CardNumber>,
    /// Random reads per second.
    pub random_read: Option<CardNumber>,
    /// Random writes per second.
    pub random_write: Option<CardNumber>,
    /// The target as the user wrote it, where there are several.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// All that is printed on it, held against the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratings: Vec<CardClaim>,
    /// Speed that is printed on it, bytes per second.
    pub rated_bytes_per_s: Option<f64>,
    /// Linear reading over that speed.
    pub share_of_rating: Option<f64>,
    /// Price and currency.
    pub price: Option<crate::study::Price>,
    /// Random writes per second and unit of currency.
    pub iops_per_unit: Option<f64>,
    /// Price of 10^9 bytes.
    pub price_per_gb: Option<f64>,
    /// Its place against published figures, the line of the article first.
    pub published: Vec<Beside>,
    /// The same in sentences.
    pub text: Vec<String>,
}

/// Something printed on a card, held against what was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CardClaim {
    /// As it is printed.
    pub rating: String,
    /// Above: reached. Below: not reached.
    pub outcome: Standing,
    /// The same in a sentence, with the numbers.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CardNumber {
    /// Geometric mean of the trials.
    pub value: f64,
    /// 95% CI.
    pub ci95: Option<[f64; 2]>,
    pub trust: Option<Trust>,
}

impl CardNumber {
    /// What stands beside it in a sentence where something speaks against it.
    pub fn doubt(&self) -> &'static str {
        self.trust.map_or("", Trust::doubt)
    }
}

/// A card beside a published figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beside {
    /// What was published.
    pub item: String,
    /// What was counted there.
    pub metric: String,
    /// Operations per second.
    pub iops: f64,
    /// Where the figure comes from: measured, vendor, the author's rule.
    pub kind: String,
    /// Where the card lies.
    pub place: Standing,
    /// Whether it is of random writes, and not of random reads.
    #[serde(default, skip_serializing_if = "is_false")]
    pub writes: bool,
    /// Whether it is the line that the article draws, and no device that somebody measured.
    #[serde(default, skip_serializing_if = "is_false")]
    pub line: bool,
}

/// Where a number lies against another, by its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Standing {
    /// Surely above.
    #[serde(rename = "above")]
    Above,
    /// Surely below.
    #[serde(rename = "below")]
    Below,
    /// The interval holds it, or there is none.
    #[serde(rename = "inconclusive")]
    Open,
}
