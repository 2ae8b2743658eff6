//! What the sentences of a summary are about: readers choose among sentences by this.

use assay_kinds::work::Facts;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::{Comparison, Findings, Kind, Verdict};

/// What a sentence is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Said {
    /// How the gate of the study ended.
    Gate,
    /// Whether the place is good enough for something.
    Fitness,
    /// Who won the race that the study was, or leads it.
    Race,
    /// Which levels left before a race.
    Screen,
    /// What a race promised, beside what fresh trials of its winner give.
    Promised,
    /// Others were at work during most of the trials.
    NotAlone,
    /// Rows that are invalid.
    Invalid,
    /// One drive against yardsticks that an owner knows.
    Owner,
    /// Which classes of SD cards a card reaches.
    CardClass {
        /// The target as the user wrote it.
        target: String,
    },
    /// A program carried out each instruction in the place of a processor.
    Emulated,
    /// Nothing but the tool was measured.
    Simulated,
    /// What a grid says of a factor as a whole.
    Factor {
        factor: String,
    },
    /// Two identical arms look different.
    Bench {
        /// Workload where they do most.
        workload: String,
        metric: String,
    },
    /// What happened to the classes of requests of a workload.
    Classes {
        workload: String,
        /// Whether it tells a ratio with its interval.
        #[serde(default, skip_serializing_if = "crate::results::plan::is_false")]
        interval: bool,
    },
    /// What threads with stacks of several sizes reserve, and what of it they use.
    Reserved {
        workload: String,
    },
    /// How fast an array brought its members in line.
    Synchronised,
    /// How long it took to encrypt a device with what lay on it.
    Converted,
    /// What a limit of memory held, and at what cost.
    Memory {
        workload: String,
    },
    /// The most load below a limit.
    MostLoad,
    /// A level that was taken back because it hurt others' work.
    TakenBack {
        workload: String,
    },
    /// Who ranks first.
    Rank {
        workload: String,
        metric: String,
    },
    Comparison {
        id: String,
    },
    /// Comparisons of which the numbers tell nothing yet, in one sentence.
    Undecided {
        ids: Vec<String>,
    },
    /// Comparisons that all say the same.
    Alike,
    /// Fresh trials do not show what the first ones did.
    NotConfirmed,
    /// There is more in the tables.
    More,
    /// How many comparisons ended how.
    Counts,
    /// How far the whole can be trusted.
    Trust,
    /// What a kind of work says of its own.
    #[serde(untagged)]
    OfKind {
        /// The key of its facts.
        #[serde(deserialize_with = "key_of_a_kind")]
        kind: String,
    },
}

/// For serde: a word that nothing here is called by is the key of a kind of work that tells something.
fn key_of_a_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let key = String::deserialize(deserializer)?;
    let is_known = Facts::is_key(&key);
    is_known.then_some(key).ok_or_else(|| Error::custom("nothing is said of this kind"))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    pub said: Said,
    pub text: String,
}

impl Sentence {
    pub fn new(said: Said, text: impl Into<String>) -> Self {
        Self { said, text: text.into() }
    }
}

impl Findings {
    /// The sentences of the summary in the place of those before.
    pub fn say(&mut self, sentences: Vec<Sentence>) {
        let parts = sentences.into_iter().map(|one| (one.said, one.text));
        (self.summary_facts, self.summary) = parts.unzip();
    }

    /// The sentences of the summary; those that were stored without the data are left out.
    pub fn sentences(&self) -> impl Iterator<Item = (&Said, &String)> {
        self.summary_facts.iter().zip(&self.summary)
    }

    pub fn comparison(&self, id: &str) -> Option<&Comparison> {
        self.comparisons.iter().find(|one| one.id == id)
    }

    /// Whether a sentence tells an interval of 95%.
    pub fn tells_interval(&self, said: &Said) -> bool {
        match said {
            Said::Bench { .. } | Said::Promised => true,
            Said::Classes { interval, .. } => *interval,
            Said::Comparison { id } => self.comparison(id).is_some_and(Comparison::tells_interval),
            _ => false,
        }
    }
}

impl Comparison {
    /// Whether its sentence tells an interval of 95%: *equivalent* is read from another one, and a
    /// study that goes on has none yet.
    pub fn tells_interval(&self) -> bool {
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
