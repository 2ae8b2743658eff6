//! The sentences of a summary: readers choose among them by role and order.

use serde::{Deserialize, Serialize};

use super::{Comparison, Findings, Kind, Verdict};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SentenceRole {
    /// Answers the question of the study.
    Answer,
    /// Limits every number: the headline if no sentence answers the question.
    Caveat,
    /// Summarizes several comparisons: the headline if there is no advice either.
    Conclusion,
    Finding,
    Warning,
    /// Reports background load: readers see it first, but it is the last choice for a headline.
    Disturbance,
    Trust,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricRef {
    pub workload: String,
    pub metric: String,
}

impl MetricRef {
    pub fn new(workload: &str, metric: &str) -> Self {
        Self { workload: workload.to_owned(), metric: metric.to_owned() }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sentence {
    pub text: String,
    pub role: SentenceRole,
    /// Subject: `gate`, `race`, `comparison`, ..., or the key of a kind of work.
    pub topic: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<MetricRef>,
    /// Ids of the comparisons that it reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<String>,
    #[serde(default, skip_serializing_if = "assay_core::json::is_default")]
    pub interval: bool,
}

impl Sentence {
    pub fn new(role: SentenceRole, topic: &str, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            role,
            topic: topic.to_owned(),
            about: Vec::new(),
            comparisons: Vec::new(),
            interval: false,
        }
    }

    pub fn finding(topic: &str, text: impl Into<String>) -> Self {
        Self::new(SentenceRole::Finding, topic, text)
    }

    pub fn of_comparison(found: &Comparison, text: impl Into<String>) -> Self {
        Self {
            about: vec![MetricRef::new(&found.workload, &found.metric)],
            comparisons: vec![found.id.clone()],
            interval: found.states_interval(),
            ..Self::finding("comparison", text)
        }
    }
}

pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

pub fn as_sentence(text: &str) -> String {
    capitalized(text) + "."
}

impl Findings {
    pub fn summary_texts(&self) -> Vec<String> {
        self.summary.iter().map(|sentence| sentence.text.clone()).collect()
    }

    pub fn comparison(&self, id: &str) -> Option<&Comparison> {
        self.comparisons.iter().find(|comparison| comparison.id == id)
    }

    pub fn metric_of(&self, id: &str) -> Option<MetricRef> {
        if let Some(found) = self.comparison(id) {
            return Some(MetricRef::new(&found.workload, &found.metric));
        }
        let effect = self.effects.main.iter().find(|effect| effect.id() == id)?;
        Some(MetricRef::new(&effect.workload, &effect.metric))
    }
}

impl Comparison {
    /// Returns whether the sentence states a 95% interval: equivalence uses another, previews none.
    pub fn states_interval(&self) -> bool {
        let by_tests = self.kind == Kind::Paired
            && self.verdict == Some(Verdict::Equivalent)
            && self.ci_equivalence.is_some();
        let known = match &self.difference {
            Some(difference) => difference.ci95_simultaneous.or(difference.ci95).is_some(),
            None => self.ratio.is_some() && self.ci95_simultaneous.or(self.ci95).is_some(),
        };
        known && !by_tests && !self.withheld
    }
}
