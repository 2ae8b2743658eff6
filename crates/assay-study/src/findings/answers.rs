//! Answers to the questions of a study.

use serde::{Deserialize, Serialize};

use super::fitness::Fitness;
use super::gate::GateAnswer;
use super::most_load::MostLoad;

/// Answers to all questions of a study: those of the gate first, those of the requirements last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answers {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateAnswer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<Fitness>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "answers")]
    pub all: Vec<Answer>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    pub ask: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    pub answer: String,
    pub verdict: Claim,
    /// Evidence, per case.
    pub reasons: Vec<String>,
    pub evidence: Vec<String>,
    /// For the search for the highest rate: the rates and their results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<MostLoad>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Claim {
    /// Supported in every case.
    #[serde(rename = "supported")]
    Supported,
    /// Contradicted in one case at least.
    #[serde(rename = "contradicted")]
    Contradicted,
    #[serde(rename = "not-shown")]
    NotShown,
    /// No measurement can answer the question.
    #[serde(rename = "no-data")]
    NoData,
}

impl Claim {
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
