//! The result of a race (R15): who won, who is left, who left when and why; not a verdict.

use assay_core::quantity::Better;
use serde::{Deserialize, Serialize};

use super::Trust;
use crate::results::plan::Arm;

/// A race, over or under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RaceAnswer {
    pub workload: String,
    /// The metric that decides the race.
    pub metric: String,
    pub better: Better,
    /// The share of the best within which the winner is good enough.
    pub indifference_zone: f64,
    /// The setting that never leaves.
    pub baseline: Arm,
    /// Complete replicates, the passes of a screen apart.
    pub replicates: u32,
    /// Trials that were run, warm-ups apart.
    pub trials: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<ScreenAnswer>,
    /// Reason of the end; absent before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RaceEnd>,
    /// The winner, or the current leader; `None` before the first interim analysis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<Arm>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Ratio of the winner's mean to the baseline's, over common replicates; biased upward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner_ratio: Option<f64>,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub baseline_eliminated: bool,
    /// Every configuration, in the order of the plan; empty if an emulator determined the speed.
    pub entries: Vec<Runner>,
    /// Summary in a few sentences.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Runner {
    pub configuration: Arm,
    pub n: usize,
    /// Geometric mean of these values; arms that stayed longer have more replicates.
    pub mean: Option<f64>,
    /// Its mean over the winner's, of the replicates that have both.
    pub ratio_to_winner: Option<f64>,
    /// When and why it left; absent if it did not leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eliminated: Option<Departure>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Departure {
    /// The replicate after which it left; 0 for the screen.
    pub after: u32,
    /// Ratio to the leader at that time, with its confidence sequence; `None` without numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_to_leader: Option<Behind>,
    /// Whether it harmed the production workload and was rolled back.
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub rolled_back: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<DroppedLevel>,
}

/// A level of a factor that left, and all settings with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DroppedLevel {
    pub factor: String,
    pub level: String,
}

/// The result of a screen: main effects of levels, some dropped before the race; no interactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScreenAnswer {
    /// Passes over subsets of the configurations.
    pub passes: u32,
    /// Number of counting trials in them.
    pub trials: usize,
    /// Settings that left with a level.
    pub settings: usize,
    /// Every level of the factors that vary.
    pub levels: Vec<ScreenedLevel>,
    /// Summary in one or two sentences.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScreenedLevel {
    pub factor: String,
    pub level: String,
    pub n: usize,
    /// Main effect: ratio to the best level of its factor, all else equal; `None` if not estimable.
    pub ratio_to_best: Option<f64>,
    /// Simultaneous 95% CI for all levels; absent for the best level.
    pub ends: Option<[f64; 2]>,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub eliminated: bool,
}

/// How far behind a setting was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Behind {
    pub leader: Arm,
    pub ratio: f64,
    /// The confidence sequence of that ratio.
    pub ends: [f64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RaceEnd {
    OneLeft,
    /// None that was left could be better than the winner by more than was declared.
    WithinZone,
    Replicates,
    /// The time limit or the user ended the race.
    Budget,
}

impl RaceAnswer {
    pub fn left_in(&self) -> impl Iterator<Item = &Runner> {
        self.entries.iter().filter(|entry| entry.eliminated.is_none())
    }

    /// Returns whether fresh trials can confirm the winner's gain over the baseline.
    pub fn can_be_confirmed(&self) -> bool {
        let is_other = self.winner.as_ref().is_some_and(|arm| *arm != self.baseline);
        is_other && self.end.is_some() && self.trust != Some(Trust::Invalid)
    }
}
