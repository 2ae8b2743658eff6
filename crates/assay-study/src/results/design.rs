//! The comparison of a study and its rules: fixed before the first trial, hashed with the plan.

use assay_core::json::is_default;
use serde::{Deserialize, Serialize};

use super::plan::Arm;
pub use crate::file::{Ask, AskKind, Card, Fresh, LeadIn, Order, Pointer};

/// Chance of a false better or worse that a study accepts, over one family of comparisons (R5).
pub const ALPHA: f64 = 0.05;

/// The question in a form that verdicts can be made from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Design {
    pub factors: Vec<Factor>,
    pub baseline: Arm,
    /// Equivalence margin, as a fraction; no verdicts without it.
    pub margin: Option<f64>,
    /// The metric that verdicts are about; none leaves the choice to each workload.
    pub primary: Option<String>,
    pub order: Order,
    #[serde(default, skip_serializing_if = "is_default")]
    pub lead_in: LeadIn,
    #[serde(default)]
    pub stopping: Stopping,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// How many replicates may be run again because something disturbed them.
    #[serde(default)]
    pub repeats: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub fresh: Fresh,
    /// Purpose of a fitness check: questions are bounds then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Ask>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Pointer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
}

impl Design {
    pub fn before_factors() -> Self {
        Self { order: Order::Chained, ..Self::default() }
    }

    pub fn varied(&self) -> impl Iterator<Item = &Factor> {
        self.factors.iter().filter(|factor| factor.varies())
    }

    pub fn tells(&self, factor: &str) -> bool {
        tells(&self.factors, factor)
    }
}

/// The gate of a study (R13c). The study defines the exit code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    pub max_regression: f64,
    /// Absolute limit in the unit of a metric that may be zero, instead of a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<f64>,
    /// A row must detect a loss of this share to be conclusive; by default the usual share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_detect: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Whether the study ends as soon as each row is above or below the limit (95% confidence).
    #[serde(default, skip_serializing_if = "is_default")]
    pub until_decided: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub allow_inconclusive: bool,
}

impl Gate {
    /// Returns whether the gate judges a metric; `primary` says whether verdicts are about it.
    pub fn is_about(&self, metric: &str, primary: bool) -> bool {
        self.metric.as_ref().map_or(primary, |asked| asked == metric)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factor {
    pub name: String,
    pub levels: Vec<String>,
}

pub fn tells(factors: &[Factor], name: &str) -> bool {
    factors.iter().all(|factor| factor.name != name || factor.varies())
}

impl Factor {
    pub fn varies(&self) -> bool {
        self.levels.len() > 1
    }
}

/// When a study ends (R8). Never on the spread that was seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopping {
    #[default]
    Fixed,
    /// After one of the declared replicates; each interim analysis uses its share of the error.
    Looks {
        at: Vec<u32>,
        /// Half-width at which the study ends, as a fraction; only a verdict ends it if absent.
        half_width: Option<f64>,
    },
    /// After any replicate, by a confidence sequence valid for all of them at once.
    Open { half_width: Option<f64> },
    /// Arms leave after replicates in which they are worse (95% confidence), until one is left (R15).
    Race {
        /// Also ends if no remaining arm can be better than the leader by more than this share.
        closeness: f64,
        /// Passes of the screen before the race: the first replicates of the plan.
        #[serde(default, skip_serializing_if = "is_default")]
        screen: u32,
    },
}

impl Stopping {
    pub fn passes(&self) -> u32 {
        match self {
            Self::Race { screen, .. } => *screen,
            _ => 0,
        }
    }
}
