//! Whether a place meets requirements: published bounds against confidence intervals.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// The whole interval is within the bound, and the numbers are trusted.
    Pass,
    /// The whole interval is beyond the bound, and the numbers are trusted.
    Fail,
    Inconclusive,
}

impl Fit {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// Combines several results: one failure (95% confidence) is enough to fail.
    pub fn of_all(all: impl IntoIterator<Item = Self>) -> Self {
        let all: Vec<Self> = all.into_iter().collect();
        if all.contains(&Self::Fail) {
            Self::Fail
        } else if all.is_empty() || all.contains(&Self::Inconclusive) {
            Self::Inconclusive
        } else {
            Self::Pass
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FitBound {
    pub ask: String,
    pub outcome: Fit,
    /// Value with interval per case; and the obstacle if it is undecided.
    pub reasons: Vec<String>,
    /// Publisher and source of the bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<String>,
    pub workloads: Vec<String>,
    /// Metric; by default the primary one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fitness {
    #[serde(rename = "for")]
    pub purpose: String,
    pub outcome: Fit,
    /// The same in words, with the bounds that decided it.
    pub text: String,
    pub bounds: Vec<FitBound>,
}

impl Fitness {
    pub fn new(purpose: String, bounds: Vec<FitBound>) -> Self {
        let outcome = Fit::of_all(bounds.iter().map(|bound| bound.outcome));
        let deciding = bounds.iter().filter(|bound| bound.outcome == outcome);
        let reasons: Vec<&str> = deciding.filter_map(|bound| bound.first_reason()).collect();
        let why =
            if reasons.is_empty() { "nothing was measured".to_owned() } else { reasons.join("; ") };
        let text = format!("good enough for {purpose}: {} ({why})", outcome.words());
        Self { purpose, outcome, text, bounds }
    }
}

impl FitBound {
    /// The first reason, without its final period.
    fn first_reason(&self) -> Option<&str> {
        self.reasons.first().map(|text| text.trim_end_matches('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(ended: Fit, because: &str) -> FitBound {
        FitBound {
            ask: "Is it so?".to_owned(),
            outcome: ended,
            reasons: vec![because.to_owned()],
            published: None,
            workloads: vec!["work".to_owned()],
            metric: None,
        }
    }

    #[test]
    fn one_failure_decides_and_a_pass_needs_all() {
        use Fit::{Fail, Inconclusive, Pass};
        for (all, together) in [
            (vec![Pass, Pass], Pass),
            (vec![Pass, Inconclusive], Inconclusive),
            (vec![Inconclusive, Fail, Pass], Fail),
            (vec![], Inconclusive),
        ] {
            assert_eq!(Fit::of_all(all), together);
        }
    }

    #[test]
    fn the_sentence_tells_the_bounds_that_decided_it_and_no_other() {
        let bounds = vec![bound(Fit::Pass, "a is 1 ms."), bound(Fit::Fail, "b is 20 ms.")];
        let told = Fitness::new("it".to_owned(), bounds);
        assert_eq!(told.text, "good enough for it: fail (b is 20 ms)");
        let none = Fitness::new("it".to_owned(), Vec::new());
        assert_eq!(none.text, "good enough for it: inconclusive (nothing was measured)");
    }

    #[test]
    fn it_comes_back_from_json() {
        let told = Fitness::new("it".to_owned(), vec![bound(Fit::Inconclusive, "too few")]);
        let json = serde_json::to_value(&told).unwrap();
        assert_eq!(
            (json["for"].as_str(), json["outcome"].as_str()),
            (Some("it"), Some("inconclusive"))
        );
        assert!(json["bounds"][0].get("published").is_none());
        assert_eq!(serde_json::from_value::<Fitness>(json).unwrap(), told);
    }
}
