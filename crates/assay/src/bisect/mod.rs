//! The search for the first commit that is worse than a good one: the commit in the middle is compared with the
//! good one, pair by pair, until a gate inside of the study decides (R8, R13c); what no study decided is
//! never called good. Which commit is in the middle git says (`git rev-list --bisect-all`).
//!
//! Here belongs what is known so far, and what follows from it. What compares two commits does not
//! (`cli/bisect.rs`), nor how a tree of a commit is made (`revisions`).

mod kept;
mod told;

use serde::{Deserialize, Serialize};

use assay_study::findings::gate::{Ended, GateAnswer, percent};

use crate::revisions::Commit;

pub use kept::{forget, keep, place, read};
pub use told::{Ending, text};

/// The format of what is kept, and of `--json`.
pub const FORMAT: &str = "assay-bisect/1";

/// What of GOOD and BAD differ a commit is judged by, where no gate was named: a commit is as fast as the one or as
/// the other, and half of the way lies as far from both.
const HALF: f64 = 0.5;

/// What was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The repository, as it was found.
    pub repository: String,
    /// The commit that all are compared with.
    pub good: Commit,
    /// One after it that is worse.
    pub bad: Commit,
    /// What is measured.
    pub command: String,
    /// What makes a tree ready for it.
    pub build: Option<String>,
    /// The loss above which a commit is bad, as a share; half of what GOOD and BAD differ by where none was named.
    pub gate: Option<f64>,
    /// The options of the command, as they would be typed: with others it is another search.
    pub options: String,
}

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fate", content = "reason", rename_all = "kebab-case")]
pub enum Fate {
    /// Surely not worse than GOOD by more than is allowed.
    Good,
    /// Surely worse by more.
    Bad,
    /// Neither, in all the replicates that there may be.
    Undecided(String),
    /// It has no tree to be measured in.
    NoBuild(String),
    /// A study of it and GOOD was refused, and one of GOOD alone was not: its command fails.
    NoRun(String),
}

impl Fate {
    /// Whether there is nothing of it to be measured.
    pub const fn is_left_out(&self) -> bool {
        matches!(self, Self::NoBuild(_) | Self::NoRun(_))
    }
}

/// A commit that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub commit: Commit,
    #[serde(flatten)]
    pub fate: Fate,
    /// By how much it is worse, as a share; below zero where it is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// The loss that it surely has at least where it is bad, and at most where it is good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surely: Option<f64>,
    /// Replicates that it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicates: Option<u32>,
    /// Why its numbers are suspect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect: Option<String>,
    /// The result that it rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
}

/// A search, as far as it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    pub format: String,
    pub asked: Asked,
    /// BAD against GOOD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<Step>,
    /// Commits between them, in the order in which they were looked at.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The first bad commit against the one before it, in fresh replicates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once_more: Option<OnceMore>,
}

/// The commit that is blamed, at the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnceMore {
    /// What it was compared with: the one before it, or GOOD where that cannot be measured.
    pub before: Commit,
    pub step: Step,
}

impl Step {
    /// One without numbers.
    pub fn unmeasured(commit: Commit, fate: Fate) -> Self {
        Self {
            commit,
            fate,
            loss: None,
            surely: None,
            replicates: None,
            suspect: None,
            study: None,
        }
    }

    /// What the gate of a study says of a commit, against another one; `replicates` are those that it took.
    pub fn of_gate(commit: Commit, gate: &GateAnswer, replicates: u32, study: String) -> Self {
        let study = Some(study);
        let Some(row) = gate.rows.first() else {
            let fate = Fate::Undecided("nothing was compared".to_owned());
            return Self { study, ..Self::unmeasured(commit, fate) };
        };
        let fate = match &row.ended {
            Ended::Pass => Fate::Good,
            Ended::Fail => Fate::Bad,
            Ended::NoStatement(why) => Fate::Undecided(why.clone()),
        };
        let (loss, surely, suspect) = (row.loss, row.surely, row.suspect.clone());
        Self { commit, fate, loss, surely, replicates: Some(replicates), suspect, study }
    }

    /// What is known of it, in a few words.
    pub fn words(&self) -> String {
        let worse = |loss: f64| {
            let way = if loss >= 0.0 { "worse" } else { "better" };
            format!("{way} by {}", percent(loss.abs()))
        };
        let mut parts: Vec<String> = self.loss.map(worse).into_iter().collect();
        parts.extend(self.surely.map(|loss| match self.fate {
            Fate::Bad => format!("at least {} worse", percent(loss)),
            _ if loss <= 0.0 => "surely not worse".to_owned(),
            _ => format!("at most {} worse", percent(loss)),
        }));
        parts.extend(self.replicates.map(|count| format!("{count} replicates")));
        parts.extend(self.suspect.clone());
        let measured = parts.join(", ");
        match &self.fate {
            Fate::Good => format!("good: {measured}"),
            Fate::Bad => format!("bad: {measured}"),
            Fate::Undecided(why) if measured.is_empty() => format!("undecided: {why}"),
            Fate::Undecided(why) => format!("undecided: {why} ({measured})"),
            Fate::NoBuild(why) | Fate::NoRun(why) => format!("skipped: {why}"),
        }
    }
}

impl Search {
    /// One that begins.
    pub fn new(asked: Asked) -> Self {
        let (ends, steps, once_more) = (None, Vec::new(), None);
        Self { format: FORMAT.to_owned(), asked, ends, steps, once_more }
    }

    /// The loss above which a commit is bad, as a share, once it is known.
    pub fn allowed(&self) -> Option<f64> {
        let half = || Some(HALF * self.ends.as_ref()?.loss?);
        self.asked.gate.or_else(half)
    }

    /// Whether BAD was found worse than GOOD, without which there is nothing to look for.
    pub fn is_about_something(&self) -> bool {
        self.ends.as_ref().is_some_and(|step| step.fate == Fate::Bad)
    }

    /// The earliest commit that is known to be bad.
    pub fn bad(&self) -> &Commit {
        let bad = self.steps.iter().rev().find(|step| step.fate == Fate::Bad);
        bad.map_or(&self.asked.bad, |step| &step.commit)
    }

    /// All commits that are known to be good.
    pub fn goods(&self) -> Vec<&Commit> {
        let good = self.steps.iter().filter(|step| step.fate == Fate::Good);
        std::iter::once(&self.asked.good).chain(good.map(|step| &step.commit)).collect()
    }

    /// The next one to be looked at, of those that may be the first bad one, the one that parts them best first.
    pub fn next<'c>(&self, candidates: &'c [Commit]) -> Option<&'c Commit> {
        let is_new = |commit: &&Commit| {
            commit.id != self.bad().id && !self.steps.iter().any(|step| step.commit.id == commit.id)
        };
        candidates.iter().find(is_new)
    }

    /// Those of the candidates that may be the first bad one when nothing is left to be looked at: the bad one, and
    /// those before it that nobody could judge.
    pub fn suspects<'c>(&self, candidates: &'c [Commit]) -> Vec<&'c Commit> {
        let is_unjudged = |commit: &&Commit| {
            let of = |step: &&Step| step.commit.id == commit.id;
            let step = self.steps.iter().find(of);
            step.is_some_and(|step| !matches!(step.fate, Fate::Good | Fate::Bad))
        };
        candidates.iter().filter(is_unjudged).collect()
    }
}

#[cfg(test)]
mod tests;
